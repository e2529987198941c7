"""The switch's datapath on a model of its card: what comes out for a packet is what OpenFlow says, also while flows
change under it; and how flows lie in the card's tables."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from openflow_random import flow as random_flow
from openflow_random import group as random_group
from openflow_random import instructions as random_instructions
from openflow_random import packet as random_packet
from openflow_spec import Outcome, SpecSwitch
from switch_model import ModelCard

from headrace.cards.switch import flows
from headrace.cards.switch.flows import (
    Flow,
    PacketIn,
    RefusedError,
)
from headrace.cards.switch.hardware import HardwareDatapath

PORTS, TABLES = 4, 4


def same(found: dict[int, list[bytes]], due: dict[int, list[bytes]], in_order: bool = True) -> None:
    """Compare what ports sent."""
    told, expected = (
        {port: [data.hex() for data in (sent if in_order else sorted(sent))] for port, sent in each.items()}
        for each in (found, due)
    )
    assert told == expected


def sent_by_port(card: ModelCard) -> dict[int, list[bytes]]:
    """What the card has sent since it was last asked."""
    outcome = Outcome([(port, data) for port, data, _ in card.sent])
    card.sent.clear()
    return outcome.by_port()


def told(datapath: HardwareDatapath) -> list[PacketIn]:
    """What controllers get. The card tells the metadata that the last table left."""
    return [event._replace(metadata=0) for event in datapath.events() if isinstance(event, PacketIn)]


def due_packet_ins(outcome: Outcome) -> list[PacketIn]:
    """What they should get."""
    return [
        PacketIn(packet.data[: packet.max_length], len(packet.data), packet.reason, packet.in_port, 0, packet.flow)
        for packet in outcome.to_controller
    ]


def random_flows(rng: random.Random, count: int, groups: list[int], mpls: bool = True) -> list[Flow]:
    """For all tables, no two with the same priority in a table, each table with its miss."""
    found = []
    for table in range(TABLES):
        priorities = [0, *rng.sample(range(1, 1000), count)]
        found += [random_flow(rng, table, priority, TABLES, PORTS, groups, mpls) for priority in priorities]
    rng.shuffle(found)
    return found


def add_all(datapath: HardwareDatapath, wanted: Iterable[Flow]) -> list[Flow]:
    """Those that there is room for."""
    added = []
    for entry in wanted:
        try:
            datapath.add(entry)
        except RefusedError as error:
            assert (error.kind, error.code) == (5, 1)
        else:
            added.append(entry)
    return added


@pytest.mark.parametrize("seed", range(12))
def test_random_flows_do_to_random_packets_what_openflow_says(seed: int) -> None:
    rng = random.Random(seed)
    random.seed(seed)
    card = ModelCard(PORTS, TABLES, exact=64, ternary=32, full=0.1)
    datapath = HardwareDatapath(card, claim=2)
    mpls = seed % 2 == 1  # a packet that is resubmitted comes later
    groups = [random_group(rng, number, PORTS, mpls) for number in (7, 8, 9)]
    for group in groups:
        datapath.set_group(group)
    down = rng.randrange(PORTS + 1)
    if down:
        datapath.set_port(down, flows.PortState(live=False))
    added = add_all(datapath, random_flows(rng, 40, [7, 8, 9], mpls))
    assert len(added) > 100
    for _ in range(150):
        data, in_port = random_packet(rng), rng.randrange(1, PORTS + 1)
        live = set(range(1, PORTS + 1)) - {down}
        spec = SpecSwitch(PORTS, added, groups, choose=lambda group, at=in_port: at % len(group.buckets), live=live)
        due = spec.run(data, in_port)
        card.run(data, in_port)
        same(sent_by_port(card), due.by_port(), in_order=not mpls)
        assert sorted(told(datapath), key=repr) == sorted(due_packet_ins(due), key=repr)


@pytest.mark.parametrize("seed", range(6))
def test_packets_inside_are_not_harmed_by_changes(seed: int) -> None:
    rng = random.Random(seed)
    random.seed(seed)
    card = ModelCard(PORTS, TABLES, exact=32, ternary=16, words=120, full=0.1)
    datapath = HardwareDatapath(card, claim=2)
    there: list[Flow] = []
    pending: list[Flow] = []
    due = Outcome()
    for _ in range(800):
        pending = pending or random_flows(rng, 30, [], mpls=False)
        choice = rng.random()
        if choice < 0.4 and pending:
            wanted = pending.pop()
            if all((wanted.table, wanted.priority) != (other.table, other.priority) for other in there):
                there += add_all(datapath, [wanted])
        elif choice < 0.6 and there:
            datapath.remove(there.pop(rng.randrange(len(there))))
        elif choice < 0.7 and there:
            changed = rng.choice(there)
            others = random_instructions(rng, changed.table, changed.match, TABLES, PORTS, [], mpls=False)
            try:
                datapath.change(changed, others)
            except RefusedError as error:
                assert (error.kind, error.code) == (5, 1)
        else:
            data, in_port = random_packet(rng), rng.randrange(1, PORTS + 1)
            found = SpecSwitch(PORTS, there).run(data, in_port)
            due.sent += found.sent
            due.to_controller += found.to_controller
            card.arrive(data, in_port)
    card.finish_all()
    same(sent_by_port(card), due.by_port())
    assert told(datapath) == due_packet_ins(due)
