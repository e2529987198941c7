"""The switch card's RTL under its driver: what comes out for a packet is what OpenFlow says."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from openflow_random import flow as random_flow
from openflow_random import group as random_group
from openflow_random import packet as random_packet
from openflow_spec import Outcome, SpecSwitch
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from headrace.card import Card
from headrace.cards.switch import flows
from headrace.cards.switch.card import CardHardware, open_switch_card
from headrace.cards.switch.flows import (
    Action,
    ActionKind,
    Band,
    Expired,
    Flow,
    Group,
    GroupKind,
    Instructions,
    Meter,
    Oxm,
    PacketIn,
    RefusedError,
)
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.layout import ENTRY, FLOW_COMMAND, MATCH, NO_TABLE, FlowOp
from headrace.cards.switch.registers import Answer
from headrace.errors import HeadraceError
from headrace.evaluate.conformance import cases
from headrace.evaluate.conformance.card import CardDevice
from headrace.evaluate.conformance.runner import run
from headrace.evaluate.loads.switch_network import PARAMETERS

PORTS: int = PARAMETERS["PORTS"]
GROUPS = (7, 8, 9)
SETTLE = 50_000  # cycles
IN_PORT, ETH_DST = 0, 3


@pytest.fixture
def card() -> Iterator[Card]:
    """A card whose ports are fed by ``send``, and keep what they send."""
    with open_switch_card(parameters=PARAMETERS, progress=False) as opened:
        for port in range(PORTS):
            opened.source(port, "queue")
            opened.sink(port, "memory")
        yield opened


@pytest.fixture
def datapath(card: Card) -> HardwareDatapath:
    """Its driver."""
    return HardwareDatapath(CardHardware(card), claim=2)


def output(*ports: int) -> Instructions:
    """Sends a packet to ports."""
    return Instructions(apply=tuple(Action(ActionKind.OUTPUT, port, flows.MAX_LENGTH) for port in ports))


def frame(destination: int, size: int = 60) -> bytes:
    """A frame of no known type."""
    return destination.to_bytes(6, "big") + bytes.fromhex("0200000000ff88b5") + bytes(size - 14)


def passed(card: Card, data: bytes, in_port: int) -> dict[int, list[bytes]]:
    """What ports send of a packet that comes in by a port."""
    card.send(in_port - 1, [data])
    card.run(cycles=SETTLE)
    return sent(card)


def sent(card: Card) -> dict[int, list[bytes]]:
    """What ports have sent since it was last asked."""
    found = {port + 1: [each.data for each in card.received(port)] for port in range(PORTS)}
    return {port: data for port, data in found.items() if data}


def packet_ins(datapath: HardwareDatapath) -> list[PacketIn]:
    """What controllers get. The card tells the metadata that the last table left."""
    return [event._replace(metadata=0) for event in datapath.events() if isinstance(event, PacketIn)]


def due_packet_ins(outcome: Outcome) -> list[PacketIn]:
    """What they should get."""
    return [
        PacketIn(one.data, len(one.data), one.reason, one.in_port, 0, one.flow, one.tunnel_id)
        for one in outcome.to_controller
    ]


@pytest.mark.parametrize("seed", range(6))
def test_random_flows_do_to_random_packets_what_openflow_says(
    card: Card, datapath: HardwareDatapath, seed: int
) -> None:
    rng = random.Random(seed)
    random.seed(seed)
    mpls = seed % 2 == 1  # a packet that is resubmitted comes later
    groups = [random_group(rng, number, PORTS, mpls) for number in GROUPS]
    for group in groups:
        datapath.set_group(group)
    added = []
    for table in range(4):
        for priority in [0, *rng.sample(range(1, 1000), 20)]:
            entry = random_flow(rng, table, priority, 4, PORTS, list(GROUPS), mpls)
            try:
                datapath.add(entry)
            except RefusedError as error:
                assert (error.kind, error.code) == (5, 1), "only a table that is full refuses a flow"
            else:
                added.append(entry)
    assert len(added) > 60
    for _ in range(100):
        data, in_port = random_packet(rng), rng.randrange(1, PORTS + 1)
        found, told = passed(card, data, in_port), sorted(packet_ins(datapath), key=repr)
        assert any(
            _same(found, told, spec.run(data, in_port), in_order=not mpls) for spec in _choices(added, groups)
        ), f"{data.hex()} by port {in_port}: {found}\n{datapath.trace(data, in_port).text()}"


def _choices(added: list[Flow], groups: list[Group]) -> Iterator[SpecSwitch]:
    """The specification's switch with each choice that groups may make."""
    for buckets in itertools.product(range(3), repeat=len(groups)):
        chosen = dict(zip(GROUPS, buckets, strict=True))

        def choose(group: Group, chosen: dict[int, int] = chosen) -> int:
            return chosen[group.number] % len(group.buckets)

        yield SpecSwitch(PORTS, added, groups, choose=choose, live=set(range(1, PORTS + 1)))


def _same(found: dict[int, list[bytes]], told: list[PacketIn], due: Outcome, *, in_order: bool) -> bool:
    expected = due.by_port()
    if not in_order:
        found, expected = ({port: sorted(data) for port, data in each.items()} for each in (found, expected))
    return found == expected and told == sorted(due_packet_ins(due), key=repr)


def test_packets_are_counted_where_they_go_and_where_they_are_lost(card: Card, datapath: HardwareDatapath) -> None:
    to_two = Flow(0, 10, (Oxm(ETH_DST, 2),), output(2))
    everywhere = Flow(0, 5, (Oxm(ETH_DST, 0xFFFF_FFFF_FFFF),), output(flows.FLOOD))
    for entry in (to_two, everywhere):
        datapath.add(entry)
    count = 300
    for port in range(PORTS):
        card.send(port, [frame(2)] * count + [frame(0xFFFF_FFFF_FFFF, 200)] * 10 + [frame(3)] * 5)
    stats = card.run().stats
    ports = [datapath.count_port(port + 1) for port in range(PORTS)]
    assert [each.rx_packets for each in ports] == [mac.rx_frames for mac in stats.ports] == [count + 15] * PORTS
    assert [each.tx_packets for each in ports] == [mac.tx_frames for mac in stats.ports]
    assert [each.tx_bytes for each in ports] == [mac.tx_bytes for mac in stats.ports]
    dropped_in = sum(each.rx_dropped for each in ports)
    assert datapath.count_table(0).looked_up == PORTS * (count + 15) - dropped_in
    hits, floods = (each.packets for each in datapath.count([to_two, everywhere]))
    in_port_two = hits + 3 * floods - sum(each.tx_packets + each.tx_dropped for each in ports)
    assert count - dropped_in <= in_port_two <= count, "of those to port 2, what came by it goes nowhere"
    assert sent(card).keys() == {1, 2, 3, 4}


def test_what_a_ports_queue_and_the_host_have_no_room_for_is_counted(card: Card, datapath: HardwareDatapath) -> None:
    datapath.add(Flow(0, 10, (Oxm(ETH_DST, 2),), output(2)))
    datapath.add(Flow(0, 5, (), output(flows.CONTROLLER)))
    for port in (1, 2):
        card.set_rate(port, 20e9)
    card.send(0, [frame(2, 1500)] * 100)
    card.send(2, [frame(3, 200)] * 600)
    card.run(until=None, cycles=30_000)
    two, *origins = (datapath.count_port(number) for number in (2, 1, 3))
    came = [origin.rx_packets - origin.rx_dropped for origin in origins]
    assert two.tx_dropped > 0
    assert two.tx_packets + two.tx_dropped == came[0]
    told = 0
    while found := packet_ins(datapath):
        told += len(found)
        card.run(until=None, cycles=10_000)  # what has waited for buffers comes
    dropped = CardHardware(card).host_dropped()
    assert dropped > 0
    assert told + dropped == came[1]


def test_a_packet_out_leaves_and_a_packet_in_says_where_it_came(card: Card, datapath: HardwareDatapath) -> None:
    to_controller = Flow(0, 0, (), output(flows.CONTROLLER))
    datapath.add(to_controller)
    data = frame(7, 1500)
    datapath.packet_out(data, flows.CONTROLLER, [Action(ActionKind.OUTPUT, 3)])
    card.run(cycles=SETTLE)
    assert sent(card) == {3: [data]}
    assert passed(card, data, 2) == {}
    assert packet_ins(datapath) == [PacketIn(data, 1500, 0, 2, 0, to_controller)]


@pytest.mark.parametrize("time_ns", [0, 1_795_000_000_000_000_000], ids=["from 0", "of day"])
def test_flows_expire_in_the_cards_time(card: Card, datapath: HardwareDatapath, time_ns: int) -> None:
    card.set_time(time_ns or card.stats().time_ns)
    idle, hard = (
        Flow(0, 9, (Oxm(ETH_DST, number),), output(2), idle_s=idle_s, hard_s=hard_s, created_ns=datapath.now_ns())
        for number, idle_s, hard_s in ((1, 2, 0), (2, 0, 3))
    )
    for entry in (idle, hard):
        datapath.add(entry)
    begun = datapath.now_ns()
    card.run(until=None, seconds=1.0)
    assert passed(card, frame(1), 1) == {2: [frame(1)]}
    assert begun + 990_000_000 <= datapath.count([idle])[0].used_ns <= datapath.now_ns()
    assert list(datapath.events()) == []
    card.run(until=None, until_ns=begun + 2_500_000_000)
    assert list(datapath.events()) == []
    card.run(until=None, until_ns=begun + 3_500_000_000)
    assert sorted(datapath.events(), key=repr) == sorted([Expired(idle, False), Expired(hard, True)], key=repr)


def test_a_meter_lets_its_rate_through(card: Card, datapath: HardwareDatapath) -> None:
    datapath.set_meter(Meter(5, (Band(1000, 10),), packets=True))
    datapath.add(Flow(0, 1, (), Instructions(meter=5, goto=1)))
    last = Flow(1, 1, (), output(2))
    datapath.add(last)
    for _ in range(50):
        card.send(0, [frame(1)] * 4)
        card.run(until=None, seconds=0.001)
    through = len(sent(card)[2])
    assert 55 <= through <= 65, "10 at first, and one a millisecond"
    arrived, (band, *_) = datapath.count_meter(5)
    assert (arrived.packets, band.packets) == (200, 200 - through)
    assert datapath.count([last])[0].packets == 200, "packets are judged after all tables"


def test_a_group_fails_over_to_the_port_that_is_live(card: Card, datapath: HardwareDatapath) -> None:
    buckets = tuple(flows.Bucket((Action(ActionKind.OUTPUT, port),), watch_port=port) for port in (2, 3))
    datapath.set_group(Group(1, GroupKind.FAST_FAILOVER, buckets))
    datapath.add(Flow(0, 1, (), Instructions(apply=(Action(ActionKind.GROUP, 1),))))
    assert passed(card, frame(1), 1).keys() == {2}
    datapath.set_port(2, flows.PortState(live=False))
    assert passed(card, frame(1), 1).keys() == {3}


def test_a_changed_flow_is_seen_by_the_next_packet(card: Card, datapath: HardwareDatapath) -> None:
    entry = Flow(0, 1, (Oxm(IN_PORT, 1),), output(2))
    datapath.add(entry)
    for turn in range(100):
        port = 3 if turn % 2 == 0 else 2
        datapath.change(entry, output(port))
        assert passed(card, frame(turn), 1) == {port: [frame(turn)]}


def test_what_is_written_behind_an_operation_waits_for_it(card: Card) -> None:
    """Operations right behind each other, of which the host waits for the last one only."""
    regs = card.regs.engine
    CardHardware(card)  # all words of the operation are 0
    words, before = -(-FLOW_COMMAND.width // 32), 0

    def writes(**members: int) -> list[tuple[int, int]]:
        nonlocal before
        old, before = before, FLOW_COMMAND.pack(**members)
        parts = [(old >> 32 * i & 0xFFFF_FFFF, before >> 32 * i & 0xFFFF_FFFF) for i in range(words)]
        changed = [(regs.flow.word[i].address, new) for i, (was, new) in enumerate(parts) if was != new]
        return [*changed, (regs.operation.start.address, 1)]

    def answers(**members: int) -> Answer:
        card.write_many(writes(**members))
        return Answer(card.read(regs.operation.answer.address))

    keys = [MATCH.pack(eth_dst=number * 0x0100_0001) for number in range(1, 30)]
    mask = MATCH.pack(eth_dst=MATCH.ones("eth_dst"))
    behind = writes(op=FlowOp.SET_MASK, mask=mask)
    for key in keys[:-1]:
        behind += writes(op=FlowOp.EXACT_ADD, value=key, entry=ENTRY.pack(next=NO_TABLE))
    card.write_many(behind)
    assert card.read(regs.operation.answer.address) == Answer.DONE
    assert [answers(op=FlowOp.EXACT_REMOVE, value=key) for key in keys] == [Answer.DONE] * 28 + [Answer.NOT_FOUND]


def test_the_filter_has_the_coefficients_that_it_is_told(card: Card) -> None:
    hardware = CardHardware(card)
    apply = (Action(ActionKind.EXPERIMENTER, 1), Action(ActionKind.OUTPUT, 2, flows.MAX_LENGTH))
    HardwareDatapath(hardware).add(Flow(0, 1, (), Instructions(apply=apply)))
    headers = bytes(Ether(dst="02:00:00:00:00:01") / IP() / UDP() / bytes(32))[:42]
    samples = np.array([1000, -2000, 3000, 4000, 5000, -6000, 7000, 8000], ">i4")
    for taps in ((0.5, 0, 0, 0), (1, -1, 0.25, 1.5), (0, 0, 0, -2)):
        hardware.set_filter(taps, carry=False)
        [out] = passed(card, headers + samples.tobytes(), 1)[2]
        assert np.frombuffer(out[42:], ">i4").tolist() == np.convolve(samples, taps)[:8].tolist()
    for taps, what in (
        ((1, 0, 0), "4 coefficients, not 3"),
        ((0, 2, 0, 0), "coefficient 2"),
        ((-2.1, 0, 0, 0), "-2.1"),
    ):
        with pytest.raises(HeadraceError, match=what):
            hardware.set_filter(taps, carry=False)


class FullSpeed(CardDevice):
    """Packets of a load come one soon after the other: no group minds how fast, and fewer cycles are evaluated."""

    def send(self, port: int, frames: Sequence[bytes], every_ns: float = 0) -> None:
        super().send(port, frames, every_ns and 400)


def test_os_kens_conformance_tests_pass() -> None:
    chosen = [case for case in cases.load(("match", "action", "group")) if not case.needs_pbb][::12]
    report = FullSpeed(dict(PARAMETERS)).run(lambda device: run(device, chosen))
    assert len(chosen) > 50
    assert not report.failures, str(report)
