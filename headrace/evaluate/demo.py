"""The demo: real traffic through the filter card, C firmware on the RPU card and flows of the switch card, and limits;
tcpdump beside them."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.cards.filter import measurements
from headrace.cards.filter.run import (
    LINE_RATE,
    WEST,
    FilterJob,
    FilterOutput,
    FilterReport,
    driver_of,
    open_filter_card,
    run_filter,
    run_measure,
)
from headrace.cards.rpu.run import RpuJob, RpuReport
from headrace.cards.rpu.run import run as run_rpu
from headrace.cards.switch.card import open_switch_card
from headrace.cards.switch.controllers import Controllers
from headrace.cards.switch.ofctl import load_flows
from headrace.cards.switch.service import Service
from headrace.engines.filter import Slot
from headrace.errors import HeadraceError
from headrace.evaluate import report
from headrace.evaluate.loads.switch import Switch
from headrace.net import bpf
from headrace.traffic import realistic_capture
from headrace.traffic.capture import Traffic

FILTERS = {
    "web": "tcp port 80",
    "names": "udp port 53",
    "connections": "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "ipv6": "ip6",
}
LENGTHS = (5, 11, 15, 17, 18, 20, 25, 35, 50)  # instructions a packet, for the limits
SMALLEST = 60  # bytes without FCS
WIRE_OVERHEAD = 24  # FCS, preamble and gap
UNITS = 4  # of the RPU card
FLOWS = {
    "table=0,priority=30,tcp,tp_dst=80,actions=goto_table:1": "ip and tcp dst port 80",
    "table=0,priority=20,udp,tp_dst=53,actions=push_vlan:0x8100,set_field:4149->vlan_vid,output:2": (
        "ip and udp dst port 53"
    ),
    "table=0,priority=10,icmp,actions=output:2": "icmp",
    "table=1,priority=10,ip,actions=dec_ttl,output:2": "ip and tcp dst port 80",
}
"""Of the switch card, as ovs-ofctl reads them, and what tcpdump calls the packets that they take; by table and
priority."""
SWITCH = {
    "PORTS": 2, "TABLES": 2, "DATA_W": 256, "EXACT": 64, "TERNARY": 16, "NARROW": 1, "PROGRAM_WORDS": 1024,
    "METERS": 16,
}  # fmt: skip
"""A small card: it is built in a minute."""

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class Comparison:
    """A file of the card beside tcpdump's."""

    name: str
    expression: str
    path: Path
    packets: int
    same: bool


@dataclass(frozen=True)
class Limit:
    """Share of 60-byte packets at 100 Gb/s that 8 cores inspect when a program takes so many instructions a packet."""

    instructions: int
    inspected: float


@dataclass(frozen=True)
class Firewall:
    """The traffic through a firewall in C on the RPU card. ``same``: what passed is what tcpdump lets pass."""

    blocked: list[str]
    path: Path
    report: RpuReport
    same: bool


@dataclass(frozen=True)
class FlowCount:
    """A flow of the switch card: its packets by the card's counter, and by tcpdump."""

    table: int
    match: str
    instructions: str
    packets: int
    by_tcpdump: int


@dataclass(frozen=True)
class Switched:
    """The traffic through the switch card: its flows, packets that came and that left, the file of these, and what the
    card does to one packet, table by table."""

    flows: list[FlowCount]
    received: int
    sent: int
    path: Path
    trace: str

    @property
    def same(self) -> bool:
        """Whether card and tcpdump count the same, and nothing else has left."""
        return all(flow.packets == flow.by_tcpdump for flow in self.flows) and self.sent == sum(
            flow.packets for flow in self.flows if "output" in flow.instructions
        )


@dataclass(frozen=True)
class Demo:
    """All that the demo found."""

    traffic: Traffic
    report: FilterReport
    comparisons: list[Comparison]
    protocols: dict[int, tuple[int, int]]
    limits: list[Limit]
    firewall: Firewall
    switched: Switched


def run(folder: Path, packets: int = 30_000, progress: Progress | None = None) -> Demo:
    """Records traffic, filters it with four programs, compares with tcpdump, measures, looks for the limits, and sends
    it through a firewall and a switch.

    Files go to ``folder``, which is made. Raises HeadraceError where tcpdump or a compiler is missing.
    """
    show = progress or (lambda _what, _done: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadraceError(f"{folder}: {error.strerror}") from None
    capture = folder / "traffic.pcap"
    show("recording traffic", 0.0)
    traffic = realistic_capture(capture, packets, progress=lambda n: show("recording traffic", min(n / packets, 1.0)))
    show("building the filter card (half a minute, once)", None)
    outputs = [
        FilterOutput(bpf.compile(expression), str(folder / f"{name}.pcap")) for name, expression in FILTERS.items()
    ]
    found = run_filter(FilterJob(outputs, str(capture)), show)
    if found.fault:
        raise HeadraceError(found.fault)
    show("comparing with tcpdump", None)
    comparisons = [
        _compare(name, capture, output, program.matched)
        for name, output, program in zip(FILTERS, outputs, found.programs, strict=True)
    ]
    show("counting protocols", None)
    measurement = measurements.find("ip-proto")
    *_, protocols = run_measure(measurement.program, str(capture))
    report.measurement_plot(measurement, protocols, str(folder / "protocols.png"))
    show("looking for the limits", None)
    limits = find_limits()
    show("a firewall in C on the RPU card (its card is built once, in two minutes)", None)
    firewall = run_firewall(capture, folder)
    show("flows on the switch card (its card is built once, in a minute)", None)
    return Demo(traffic, found, comparisons, protocols, limits, firewall, run_switch(capture, folder))


def run_firewall(capture: Path, folder: Path) -> Firewall:
    """Drops what the source of most IPv4 packets sends, on four units with the accelerator for blocklists."""
    blocked = [address for address, _ in Counter(_sources(capture)).most_common(1)]
    blocklist, output = folder / "drop.txt", folder / "passed.pcap"
    blocklist.write_text("".join(f"{address}\n" for address in blocked))
    units = range(UNITS)
    found = run_rpu(
        RpuJob(
            programs=dict.fromkeys(units, "firewall"),
            accelerators=dict.fromkeys(units, "blacklist"),
            sources={0: str(capture)},
            sinks={1: str(output)},
            units=UNITS,
            policy="flow_hash",
            blocklist=str(blocklist),
        )
    )
    beside = folder / "passed-tcpdump.pcap"
    _tcpdump(capture, beside, f"not (ip and ({' or '.join(f'src host {address}' for address in blocked)}))")
    same = Counter(_packets(output)) == Counter(_packets(beside))
    if same:
        beside.unlink()
    return Firewall(blocked, output, found, same)


def run_switch(capture: Path, folder: Path) -> Switched:
    """Puts the traffic into port 1 of a switch of two tables, without loss; what port 2 sends goes to a file."""
    flows, output = folder / "flows.txt", folder / "switched.pcap"
    flows.write_text("".join(f"{flow}\n" for flow in FLOWS))
    with open_switch_card(parameters=SWITCH, progress=False) as card:
        switch = Switch(card)
        switch.hold()
        load_flows(switch.agent, flows)
        card.source(0, f"pcap:{capture}")
        card.sink(1, f"pcap:{output}")
        ports = card.run().stats.ports
        with Controllers(switch.agent) as controllers:
            service = Service(switch.agent, switch.datapath, controllers, switch.hardware)
            rows: list[dict[str, Any]] = service.flows()
            trace = service.trace(next(filter(_is_to_web, _packets(capture))).hex(), 1)["text"]
    counted = [
        FlowCount(row["table"], row["match"], row["instructions"], row["packets"], _count(capture, folder, expression))
        for row, expression in zip(rows, FLOWS.values(), strict=True)
    ]
    return Switched(counted, ports[0].rx_frames, ports[1].tx_frames, output, trace)


def _count(capture: Path, folder: Path, expression: str) -> int:
    """Packets that tcpdump finds."""
    found = folder / "found-tcpdump.pcap"
    _tcpdump(capture, found, expression)
    count = sum(1 for _ in _packets(found))
    found.unlink()
    return count


def _packets(capture: Path) -> Iterator[bytes]:
    from scapy.utils import RawPcapReader

    with RawPcapReader(str(capture)) as reader:
        yield from (data for data, _ in reader)


def _is_to_web(data: bytes) -> bool:
    """Of a frame: IPv4 without options, TCP to port 80."""
    return data[12:15] == b"\x08\x00\x45" and data[23] == 6 and data[36:38] == b"\x00\x50"


def _sources(capture: Path) -> Iterator[str]:
    for data in _packets(capture):
        if data[12:14] == b"\x08\x00":
            yield ".".join(map(str, data[26:30]))


def find_limits(lengths: tuple[int, ...] = LENGTHS, packets: int = 25_000) -> list[Limit]:
    """Runs programs of growing length on 60-byte packets at line rate, without flow control."""
    limits = []
    with open_filter_card(progress=False) as card:
        driver = driver_of(card)
        for length in lengths:
            add = bpf.Instruction(0x04, 0, 0, 1)
            driver.load({0: Slot(bpf.Program((*([add] * (length - 1)), bpf.Instruction(bpf.RET_K, 0, 0, 0))))})
            before = driver.counters()
            card.source(WEST, f"gen:size={SMALLEST},count={packets}")
            card.run()
            after = driver.counters()
            limits.append(Limit(length, (after.inspected - before.inspected) / packets))
    return limits


def instructions_per_packet(size: int, cores: int, clock_hz: float) -> float:
    """Instructions that a packet of ``size`` bytes can cost at 100 Gb/s: one a cycle and core."""
    return cores * clock_hz * (max(size, SMALLEST) + WIRE_OVERHEAD) * 8 / LINE_RATE


def _compare(name: str, capture: Path, output: FilterOutput, packets: int) -> Comparison:
    beside = capture.with_name(f"{name}-tcpdump.pcap")
    _tcpdump(capture, beside, FILTERS[name])
    path = Path(str(output.path))
    same = path.read_bytes() == beside.read_bytes()
    if same:
        beside.unlink()
    return Comparison(name, FILTERS[name], path, packets, same)


def _tcpdump(capture: Path, output: Path, expression: str) -> None:
    try:
        subprocess.run(
            ["tcpdump", "-r", str(capture), "-w", str(output), expression], check=True, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise HeadraceError("tcpdump is not installed: apt-get install tcpdump") from None
    except subprocess.CalledProcessError as error:
        raise HeadraceError(f"tcpdump: {error.stderr.strip().splitlines()[-1]}") from None
