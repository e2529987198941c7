"""Loads for the switch card, and what becomes of them: full lines, packets' time in the card, flow changes.

Sizes count the FCS, as those of published figures do. Cycles are counted in the RTL, the same on every machine.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from headrace.card import Card
from headrace.card.stats import Stats
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware, open_switch_card
from headrace.cards.switch.controllers import Controllers
from headrace.cards.switch.flows import Action, ActionKind, Flow, Instructions, Oxm
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.ports import PortInfo
from headrace.evaluate.loads import openflow
from headrace.evaluate.loads.fir import TAPS, Samples, by_numpy
from headrace.evaluate.loads.flow_sets import PORTS, FlowSet, Packet, random_flow_set, random_packet
from headrace.evaluate.loads.openflow import FlowMods, Stale
from headrace.evaluate.loads.ovs_rates import (
    FCS,
    HEADERS,
    connection_flows,
    connection_packets,
    ends,
    tcp_packet,
)
from headrace.evaluate.loads.ovs_trace import OvsOracle, Sent, install
from headrace.net import pcap
from headrace.net.ovs import ofctl, open_vswitch

T = TypeVar("T")

LINE = 100e9  # bit/s
GAP = 20  # bytes of preamble and gap
MOST_LAG = 1_000  # cycles from the last byte in to the end of all work; what can't keep up ends later

CONNECTIONS = 250

_WARM = 3_000  # cycles
_SPAN = 20_000
_BUSY_S = 0.001  # of wall time between looks at controllers
_FIR = 1  # of an experimenter action
_UDP_HEADERS = 42
_EXPERIMENT = 0x88B5


@dataclass(frozen=True)
class Full:
    """Full lines of packets of one size into ports: what was lost, and how long the card was behind at the end."""

    tables: int
    size: int
    packets: int
    lost: int
    lag_cycles: int

    @property
    def kept_up(self) -> bool:
        """Whether nothing was lost, and the card wasn't behind at the end."""
        return not self.lost and self.lag_cycles <= MOST_LAG


@dataclass(frozen=True)
class Limit:
    """More of the smallest packets than the pipeline can take: those that went through in a span of cycles."""

    tables: int
    packets: int
    cycles: int
    clock_hz: int


@dataclass(frozen=True)
class Latency:
    """Cycles from a packet's first beat into the card to its first beat out of it, by the packet's way through the
    tables; one packet at a time."""

    tables: int
    size: int
    packets: int
    least: int
    most: int
    clock_hz: int


@dataclass(frozen=True)
class Carried:
    """Packets of a size, into two ports, that came out in so many cycles; no port was given more than it takes."""

    tables: int
    size: int
    packets: int
    cycles: int
    clock_hz: int

    @property
    def packets_s(self) -> float:
        """At the nominal clock."""
        return self.packets * self.clock_hz / self.cycles


@dataclass(frozen=True)
class Filtered:
    """Packets of so many samples through the FIR filter, in so many cycles."""

    samples: int
    packets: int
    cycles: int
    clock_hz: int


@dataclass(frozen=True)
class Insertions:
    """Flows added by ovs-ofctl, and cycles of the card meanwhile."""

    flows: int
    cycles: int


@dataclass(frozen=True)
class Compared:
    """Random packets through random flows, beside Open vSwitch: those that did not become the same."""

    flow_sets: int
    packets: int
    sent: int  # that came out
    different: int
    first: str  # of these; empty: none


def run(kind: str, **arguments: Any) -> Any:
    """One of this module's loads by its name, for a list of points that has several kinds."""
    loads: dict[str, Callable[..., Any]] = {
        "build": build, "full": full, "limit": limit, "latency": latency, "carried": carried,
        "connections": connections, "fir": fir, "stale_packets": stale_packets,
        "compare": compare, "flow_mods": flow_mods, "insertions": insertions,
    }  # fmt: skip
    return loads[kind](**arguments)


def parameters(tables: int) -> dict[str, Any]:
    """Of the card."""
    return {"PORTS": PORTS, "TABLES": tables}


def build(tables: int) -> None:
    """Builds the card, if need be."""
    open_switch_card(parameters=parameters(tables), progress=False).close()


class Switch:
    """A card with the agent on it, and what programs say to that."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.hardware = CardHardware(card)
        self.datapath = HardwareDatapath(self.hardware)
        infos = [
            PortInfo(n, f"port{n}", bytes((2, 0, 0, 0, 0, n)), 100_000_000) for n in range(1, self.datapath.ports + 1)
        ]
        self.agent = OpenFlowSwitch(self.datapath, 1, infos)

    def hold(self) -> None:
        """Ports hold their links off while they have no room, and drop nothing."""
        for port in range(self.card.ports):
            self.card.flow_control(port, True)
        self.hardware.hold((1 << self.card.ports) - 1)

    def serve(
        self,
        work: Callable[[str], T],
        turn: Callable[[Controllers], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> T:
        """What ``work`` gives of the address that controllers find the switch at. It runs in a thread, the card in this
        one: between looks at controllers it goes on, or ``turn`` is called. What ``work`` raises is raised here.
        ``clock``: as ``Controllers``'."""
        turn = turn or (lambda _: self.card.run("interrupt", wall_s=_BUSY_S))
        found: list[T] = []
        failed: list[BaseException] = []

        def run_work(address: str) -> None:
            try:
                found.append(work(address))
            except BaseException as error:
                failed.append(error)

        with Controllers(self.agent, listens=["ptcp:0:127.0.0.1"], clock=clock) as controllers:
            thread = threading.Thread(target=run_work, args=controllers.listening)
            thread.start()
            while thread.is_alive():
                controllers.poll(_BUSY_S)
                turn(controllers)
            thread.join()
        if failed:
            raise failed[0]
        return found[0]

    def install(self, flow_set: FlowSet) -> None:
        """Makes these the only groups and flows. Raises HeadraceError where they are refused."""
        self.serve(lambda address: install(address, flow_set))


@contextmanager
def running(tables: int) -> Iterator[Switch]:
    """A card whose ports drop what they have no room for."""
    with open_switch_card(parameters=parameters(tables), progress=False) as card:
        yield Switch(card)


# Traffic


def full(tables: int, size: int = 64, cycles: int = 10 * _SPAN) -> Full:
    """Two full lines for so many cycles: packets of all connections, in any order."""
    with running(tables) as switch:
        switch.install(FlowSet("", connection_flows(CONNECTIONS, tables)))
        count = round(cycles / switch.card.clock_hz * LINE / 8 / (size + GAP))
        taken, sent = _pass(switch.card, {port: _mixed(port, size, count) for port in (1, 2)})
        lag = taken - count * (size + GAP) * 8 / LINE * switch.card.clock_hz
        return Full(tables, size, 2 * count, 2 * count - sent, round(lag))


def carried(tables: int, sizes: Sequence[int]) -> list[Carried]:
    """Two lines as full as the card lets them be, size by size."""
    found = []
    with running(tables) as switch:
        switch.install(FlowSet("", connection_flows(CONNECTIONS, tables)))
        switch.hold()
        for size in sizes:
            count = max(300, round(_SPAN / switch.card.clock_hz * LINE / 8 / (size + GAP)))
            cycles, sent = _pass(switch.card, {port: _mixed(port, size, count) for port in (1, 2)})
            found.append(Carried(tables, size, sent, cycles, switch.card.clock_hz))
    return found


def limit(tables: int) -> Limit:
    """Full lines of the smallest packets into all four ports, nearly two packets a cycle."""
    rest = [f"table=0,priority=1,in_port={port},actions=output:{7 - port}" for port in (3, 4)]
    with running(tables) as switch:
        switch.install(FlowSet("", "\n".join([connection_flows(CONNECTIONS, tables), *rest])))
        card, size = switch.card, 64
        count = round((_WARM + 1.2 * _SPAN) / card.clock_hz * LINE / 8 / (size + GAP))
        with tempfile.TemporaryDirectory() as folder:
            _feed(card, {port: _mixed(min(port, 2), size, count) for port in range(1, 5)}, Path(folder))
            before = card.run(until=None, cycles=_WARM).stats
            after = card.run(until=None, cycles=_SPAN).stats
        return Limit(tables, _sent(after) - _sent(before), after.cycles - before.cycles, card.clock_hz)


def latency(tables: int, size: int = 64) -> Latency:
    """Packets far from each other: of the exact part and of the ternary one, that see one table or all of them."""
    last = "goto_table:1" if tables > 1 else "output:2"
    masked = f"dl_type={_EXPERIMENT},dl_dst=02:00:00:00:00:00/02:00:00:00:00:00"
    flows = [
        connection_flows(1, tables),
        f"table=0,priority=200,ip,in_port=1,nw_src=172.16.0.0/255.240.0.0,actions={last}",
        "table=0,priority=300,arp,in_port=1,actions=output:2",
        f"table=0,priority=301,in_port=1,{masked},actions=output:2",
    ]
    rng, payload = random.Random(size), size - FCS - HEADERS
    kinds = [
        tcp_packet(*ends(0)[0], 0x18, payload),
        tcp_packet("172.20.1.1", "10.1.0.1", 9, 9, 0x18, payload),
        bytes.fromhex("ffffffffffff0200000000010806") + bytes(size - FCS - 14),
        bytes.fromhex("020000000001020000000002") + _EXPERIMENT.to_bytes(2, "big") + bytes(size - FCS - 14),
    ]
    with running(tables) as switch:
        switch.install(FlowSet("", "\n".join(flows)))
        frames = [rng.choice(kinds) for _ in range(100)]
        switch.card.expect_passthrough(0, 1)
        switch.card.sink(1, "null")
        switch.card.source(0, frames, timing=LINE / 50)
        switch.card.run(until=None, packets=len(frames))
        stats = switch.card.run(until=None, cycles=_WARM).stats
        assert stats.latency_cycles is not None and _sent(stats) == len(frames)
        return Latency(tables, size, len(frames), *stats.latency_cycles, switch.card.clock_hz)


def connections(tables: int, data: int, payload: int, times: int = 12) -> Carried:
    """Each connection so many times, both ways at lines as full as the card lets them be."""
    with running(tables) as switch:
        switch.install(FlowSet("", connection_flows(CONNECTIONS, tables)))
        switch.hold()
        packets = [each for number in range(CONNECTIONS) for each in connection_packets(number, data, payload)] * times
        frames = {port: [frame for in_port, frame in packets if in_port == port] for port in (1, 2)}
        cycles, sent = _pass(switch.card, frames)
        assert sent == len(packets)
        return Carried(tables, HEADERS + payload + FCS, sent, cycles, switch.card.clock_hz)


def fir(samples: int, tables: int = 1) -> Filtered:
    """A line of UDP packets through the FIR filter, as full as the card lets it be, all of whose samples are right."""
    rng = np.random.default_rng(samples)
    with running(tables) as switch:
        switch.hold()
        for register, tap in zip(switch.card.regs.engine.fir.coefficient, TAPS, strict=True):
            register.write(tap & 0xFFFF_FFFF)
        apply = (Action(ActionKind.EXPERIMENTER, _FIR), Action(ActionKind.OUTPUT, 2))
        match = (Oxm(5, 0x0800), Oxm(10, 17))
        switch.datapath.add(Flow(0, 100, match, Instructions(apply=apply)))
        size = _UDP_HEADERS + 4 * samples + FCS
        count = max(50, round(_SPAN / switch.card.clock_hz * LINE / 8 / (size + GAP)))
        packets = rng.integers(-(1 << 31), 1 << 31, (count, samples), np.int64).astype(np.int32)
        switch.card.sink(1, "memory")
        before = switch.card.stats()
        switch.card.source(0, [_udp(packet) for packet in packets])
        after = switch.card.run().stats
        out = [np.frombuffer(frame.data[_UDP_HEADERS:], ">i4") for frame in switch.card.received(1)]
        assert all((mine == right).all() for mine, right in zip(out, by_numpy(packets), strict=True))
        return Filtered(samples, count, after.cycles - before.cycles, switch.card.clock_hz)


def _pass(card: Card, frames: Mapping[int, Sequence[bytes]]) -> tuple[int, int]:
    """Frames into ports by their OpenFlow numbers, one right after the other: cycles until all is done, and packets
    that came out."""
    before = card.stats()
    with tempfile.TemporaryDirectory() as folder:
        _feed(card, frames, Path(folder))
        after = card.run().stats
    return after.cycles - before.cycles, _sent(after) - _sent(before)


def _feed(card: Card, frames: Mapping[int, Sequence[bytes]], folder: Path) -> None:
    for port in range(card.ports):
        card.sink(port, "null")
    for port, packets in frames.items():
        path = folder / f"{port}.pcap"
        with path.open("wb") as file, pcap.begin(file) as writer:
            for packet in packets:
                writer.write_packet(packet, sec=0, usec=0)
        card.source(port - 1, f"pcap:{path}")


def _mixed(port: int, size: int, count: int) -> list[bytes]:
    """Packets of connections' flows into port 1 or 2, in any order."""
    rng = random.Random(size)
    numbers = rng.choices(range(CONNECTIONS), k=count)
    return [tcp_packet(*ends(number)[port - 1], 0x18, size - FCS - HEADERS) for number in numbers]


def _udp(samples: Samples) -> bytes:
    length = 8 + 4 * len(samples)
    ip = b"\x45\0" + (20 + length).to_bytes(2, "big") + bytes(4) + b"\x40\x11\0\0\x0a\0\0\1\x0a\0\0\2"
    udp = b"\0\x09\0\x09" + length.to_bytes(2, "big") + b"\0\0"
    return bytes.fromhex("0200000000020200000000010800") + ip + udp + samples.astype(">i4").tobytes()


def _sent(stats: Stats) -> int:
    return sum(port.tx_frames for port in stats.ports)


# Changes of flows


def flow_mods(count: int, tables: int = 4, bundle: bool = False) -> FlowMods:
    """``openflow.flow_mods`` of the card."""
    with running(tables) as switch:
        return switch.serve(lambda address: openflow.flow_mods(address, count, tables, bundle))


def insertions(count: int, tables: int = 4) -> Insertions:
    """The same flows, one right after the other in the card's time."""
    with running(tables) as switch:
        before = switch.card.stats().cycles
        switch.serve(lambda address: ofctl(address, "add-flows", "-", text=openflow.flows(count, tables)))
        return Insertions(count, switch.card.stats().cycles - before)


def stale_packets(trials: int, replace: bool, tables: int = 4) -> Stale:
    """``openflow.stale_packets`` of the card. Not a cycle goes by between the barrier's answer and the packet."""
    with running(tables) as switch, Controllers(switch.agent, listens=["ptcp:0:127.0.0.1"]) as controllers:
        [address] = controllers.listening
        return openflow.stale_packets(address, _CardWire(switch.card), trials, replace, controllers.poll)


class _CardWire:
    """The ports of a card, which runs while something is to be received."""

    def __init__(self, card: Card) -> None:
        self._card = card
        for port in range(card.ports):
            card.sink(port, "memory")
            card.source(port, [])

    def send(self, port: int, packets: Sequence[bytes]) -> None:
        self._card.send(port - 1, packets)

    def receive(self, port: int, timeout_s: float = 0.0) -> list[bytes]:  # noqa: ARG002
        """What the card has sent once it is idle."""
        self._card.run()
        return [frame.data for frame in self._card.received(port - 1)]


# The simulator


def simulated(source: Path, folder: Path, tables: int) -> float:
    """Packets a wall second from a capture into each of the four ports to captures of what they send."""
    with running(tables) as switch:
        flows = [f"table={table},actions=goto_table:{table + 1}" for table in range(tables - 1)]
        flows += [
            f"table={tables - 1},in_port={port},actions=output:{port % PORTS + 1}" for port in range(1, PORTS + 1)
        ]
        switch.install(FlowSet("", "\n".join(flows)))
        switch.hold()
        for port in range(PORTS):
            switch.card.source(port, f"pcap:{source}")
            switch.card.sink(port, f"pcap:{folder / f'{port}.pcap'}")
        before = switch.card.stats()
        after = switch.card.run().stats
        return (_sent(after) - _sent(before)) / (after.wall_s - before.wall_s)


# Beside Open vSwitch


def compare(flow_sets: int, packets: int, seed: int, tables: int = 4) -> Compared:
    """So many random sets of flows, so many random packets each."""
    rng = random.Random(seed)
    sent = different = 0
    first = ""
    with running(tables) as switch, open_vswitch() as beside, OvsOracle(beside) as oracle:
        wire = _CardWire(switch.card)
        for number in range(flow_sets):
            flow_set = random_flow_set(rng, tables)
            chosen = sorted((random_packet(rng) for _ in range(packets)), key=lambda packet: packet.in_port)
            switch.install(flow_set)
            for packet, right in zip(chosen, oracle.results(flow_set, chosen), strict=True):
                mine = _results(wire, packet)
                sent += len(right)
                different += mine != right
                if mine != right and not first:
                    first = f"set {number}, port {packet.in_port}, {packet.data.hex()}"
    return Compared(flow_sets, flow_sets * packets, sent, different, first)


def _results(wire: _CardWire, packet: Packet) -> list[Sent]:
    wire.send(packet.in_port, [packet.data])
    return [(port, data) for port in range(1, PORTS + 1) for data in wire.receive(port)]
