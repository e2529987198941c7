"""The switch's datapath on a model of its card: what comes out for a packet is what OpenFlow says, also while flows
change under it; and how flows lie in the card's tables."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from openflow_packet import Packet
from openflow_random import flow as random_flow
from openflow_random import group as random_group
from openflow_random import instructions as random_instructions
from openflow_random import packet as random_packet
from openflow_spec import Outcome, SpecSwitch
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from switch_model import ModelCard

from headrace.cards.switch import flows
from headrace.cards.switch.checks import Checks
from headrace.cards.switch.fields import FIELDS
from headrace.cards.switch.flow_tables import FlowTables
from headrace.cards.switch.flows import (
    Action,
    ActionKind,
    Bucket,
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
from headrace.cards.switch.openflow.constants import NO_BUFFER, FlowCommand, FlowFlag
from headrace.cards.switch.openflow.requests import FlowMod

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
        PacketIn(one.data, len(one.data), one.reason, one.in_port, 0, one.flow, one.tunnel_id)
        for one in outcome.to_controller
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


# ---------------------------------------------------------------------------------------- where flows lie in tables


def to(*ports: int) -> Instructions:
    """Sends a packet there."""
    return Instructions(apply=tuple(Action(ActionKind.OUTPUT, port, flows.MAX_LENGTH) for port in ports))


def frame(dst: int = 1, port: int = 9) -> bytes:
    """A packet to a MAC address and a UDP port."""
    addresses = {"dst": dst.to_bytes(6, "big").hex(":"), "src": "02:00:00:00:00:99"}
    return bytes(Ether(**addresses) / IP(dst="10.0.0.2") / UDP(sport=9, dport=port))


def station(dst: int, priority: int = 10, out: int = 2, table: int = 0, **others: int) -> Flow:
    """What a learning switch installs."""
    return Flow(table, priority, (Oxm(3, dst),), to(out), **others)


def goes_to(card: ModelCard, data: bytes, in_port: int = 1) -> list[int]:
    """The ports that a packet comes out of."""
    card.run(data, in_port)
    return sorted(sent_by_port(card))


class Watched(ModelCard):
    """After each command, flows that are there must be found."""

    there: list[tuple[bytes, int]]

    def command(self, table: int, **members: int) -> int:
        answer = super().command(table, **members)
        for data, out in getattr(self, "there", ()):
            assert goes_to(self, data) == [out]
        return answer


def test_flows_of_one_mask_move_to_the_exact_part_and_are_always_found() -> None:
    card = Watched(PORTS, 1, exact=64, ternary=32, full=0.2)
    datapath = HardwareDatapath(card, claim=8)
    card.there = []
    random.seed(3)
    for number in range(40):
        datapath.add(station(number, out=2 + number % 3))
        card.there.append((frame(number), 2 + number % 3))
    assert len(card.table[0].exact) > 20
    assert len(card.table[0].ternary) < 20


def test_the_exact_part_goes_to_the_mask_with_most_flows() -> None:
    card = Watched(PORTS, 1, exact=64, ternary=32)
    datapath = HardwareDatapath(card, claim=8)
    card.there = []
    first = [station(number) for number in range(10)]
    for entry in first:
        datapath.add(entry)
    card.there += [(frame(number), 2) for number in range(10)]
    assert len(card.table[0].exact) == 10
    for port in range(30):
        match = (Oxm(5, 0x800), Oxm(10, 17), Oxm(16, 100 + port))
        datapath.add(Flow(0, 20, match, to(3)))
        card.there.append((frame(200, 100 + port), 3))
    assert len(card.table[0].exact) == 30
    card.there = card.there[10:]
    for entry in first:
        datapath.remove(entry)
    assert len(card.table[0].ternary) == 1


def test_of_flows_that_differ_in_priority_only_the_highest_wins_until_it_goes() -> None:
    card = ModelCard(PORTS, 1, exact=64, ternary=32)
    datapath = HardwareDatapath(card, claim=0)
    entries = {out: station(1, priority, out) for out, priority in ((2, 5), (3, 9), (4, 7))}
    for entry in entries.values():
        datapath.add(entry)
    assert len(card.table[0].exact) == 1
    assert goes_to(card, frame()) == [3]
    datapath.remove(entries[3])
    assert goes_to(card, frame()) == [4]
    datapath.change(entries[2], to(1))
    assert goes_to(card, frame(), in_port=3) == [4]
    datapath.remove(entries[4])
    assert goes_to(card, frame(), in_port=3) == [1]
    datapath.remove(entries[2])
    assert goes_to(card, frame()) == []
    assert not card.table[0].exact


def test_the_higher_priority_wins_between_both_parts() -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card, claim=0)
    datapath.add(station(1, priority=10, out=2))
    assert card.table[0].exact
    datapath.add(Flow(0, 5, (), to(3)))
    assert goes_to(card, frame()) == [2]
    datapath.add(Flow(0, 15, (Oxm(3, 0, 0xF0),), to(4)))
    assert goes_to(card, frame()) == [4]


def test_a_full_table_refuses_a_flow_and_is_as_it_was() -> None:
    card = ModelCard(PORTS, 1, exact=16, ternary=8, words=64)
    datapath = HardwareDatapath(card, claim=4)
    there = [station(number) for number in range(16 + 7)]
    for entry in there:
        datapath.add(entry)
    assert datapath.entries == 22 < len(there)
    for _ in range(100):  # a refused flow leaves nothing behind
        with pytest.raises(RefusedError) as error:
            datapath.add(station(99))
        assert (error.value.kind, error.value.code) == (5, 1)
    assert all(goes_to(card, frame(number)) == [2] for number in range(23))
    datapath.remove(there[3])
    datapath.add(station(99, out=4))
    assert goes_to(card, frame(99)) == [4]


def test_a_full_program_memory_refuses_a_flow_a_change_a_group_and_a_packet_out() -> None:
    card = ModelCard(PORTS, 2, words=4)
    datapath = HardwareDatapath(card)
    datapath.add(station(1))
    datapath.add(station(2, out=3))
    with pytest.raises(RefusedError, match="table 0 is full"):
        datapath.add(station(3, out=4))
    for entry in (station(1, out=1), station(2, out=4)):
        with pytest.raises(RefusedError, match="table 0 is full"):
            datapath.change(entry_like(datapath, entry), entry.instructions)
    with pytest.raises(RefusedError) as error:
        datapath.set_group(Group(1, GroupKind.ALL, (Bucket(()),)))
    assert (error.value.kind, error.value.code) == (6, 4)
    with pytest.raises(RefusedError) as error:
        datapath.packet_out(frame(), 1, to(1, 2).apply or ())
    assert (error.value.kind, error.value.code) == (2, 7)
    assert (goes_to(card, frame(1)), goes_to(card, frame(2))) == ([2], [3])


def test_flows_that_do_the_same_share_a_program_until_the_last_of_them_goes() -> None:
    card = ModelCard(PORTS, 1, words=4)  # one is the drop's, two are free
    datapath = HardwareDatapath(card)
    same = [station(number) for number in range(20)]
    for entry in same:
        datapath.add(entry)
    datapath.add(station(30, out=3))
    for entry in same[1:]:
        datapath.remove(entry)
    with pytest.raises(RefusedError, match="table 0 is full"):
        datapath.add(station(31, out=4))
    assert goes_to(card, frame(0)) == [2]
    datapath.remove(same[0])
    datapath.add(station(31, out=4))
    assert goes_to(card, frame(31)) == [4]


def test_flows_that_may_send_packets_to_controllers_have_programs_of_their_own() -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    there = [station(number, out=flows.CONTROLLER) for number in range(3)]
    for entry in there:
        datapath.add(entry)
    for number, entry in enumerate(there):
        card.run(frame(number), 1)
        [event] = datapath.events()
        assert isinstance(event, PacketIn) and event.flow is entry


def entry_like(datapath: HardwareDatapath, wanted: Flow) -> Flow:
    """The flow that is there with the same match."""
    return next(
        entry.flow for table in datapath._tables for entry in table.entries.values() if entry.flow.match == wanted.match
    )


def test_a_flow_mod_costs_few_commands_however_many_flows_there_are() -> None:
    card = ModelCard(PORTS, 1, exact=8192, ternary=128, words=16384)
    datapath = HardwareDatapath(card)
    there = []
    for number in range(4000):
        there.append(station(number))
        datapath.add(there[-1])
    assert card.commands < 4000 + 64
    card.commands = 0
    for entry in there:
        datapath.change(entry, to(3))
        datapath.remove(entry)
    assert card.commands == 2 * 4000


# ---------------------------------------------------------------------------------------------------------- misses


def test_a_packet_that_a_later_table_does_not_know_is_dropped_with_what_was_written_for_it() -> None:
    card = ModelCard(PORTS, 3)
    datapath = HardwareDatapath(card)
    write = Instructions(apply=to(2).apply, write=to(3).apply, goto=1)
    datapath.add(Flow(0, 5, (), write))
    assert goes_to(card, frame()) == [2]
    datapath.add(Flow(1, 0, (), Instructions()))
    assert goes_to(card, frame()) == [2, 3]
    assert datapath.count_table(0) == (2, 2)
    assert datapath.count_table(1) == (2, 1)
    assert datapath.count_table(2) == (0, 0)


def test_packets_that_come_while_a_table_is_counted_are_in_no_count_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    for name in ("count_table", "count_entry"):
        read = getattr(card, name)

        def reads(*where: int, read: Any = read) -> Any:
            found = read(*where)
            card.run(frame(), 1)  # no flow matches it
            return found

        monkeypatch.setattr(card, name, reads)
    found = datapath.count_table(0)
    assert 0 <= found.matched <= found.looked_up


# -------------------------------------------------------------------------------------------------- counts and times


def test_counts_of_flows_begin_anew_when_told() -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    entry, other = station(1), station(2)
    datapath.add(entry)
    datapath.add(other)
    data = frame()
    card.time_ns = 5
    for _ in range(3):
        card.run(data, 1)
    assert datapath.count([entry, other]) == [(3, 3 * len(data), 5), (0, 0, 10**9)]
    datapath.reset_count(entry)
    card.run(data, 1)
    assert datapath.count([entry]) == [(1, len(data), 5)]
    datapath.change(entry, to(3))
    assert datapath.count([entry]) == [(1, len(data), 5)]


def test_timeouts_are_the_cards_and_expired_flows_are_told_once_they_are_due() -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    entry = station(1, idle_s=3, hard_s=10, created_ns=card.time_ns)
    datapath.add(entry)
    (number,) = (number for number, found in card.table[0].entries.items() if found["idle"])
    tick = 1 << 20
    found = card.table[0].entries[number]
    assert 3 * 10**9 <= found["idle"] * tick < 3 * 10**9 + tick
    assert 11 * 10**9 - tick <= found["hard_at"] * tick < 11 * 10**9 + tick
    card.time_ns = 7 * 10**9
    datapath.change(entry, to(3))
    assert card.table[0].entries[number]["hard_at"] == found["hard_at"]
    card.time_ns = 11 * 10**9 + tick
    card.timed_out.append((0, number, True))
    assert list(datapath.events()) == [Expired(entry, True)]
    card.timed_out.append((0, number, False))
    datapath.remove(entry)
    assert list(datapath.events()) == []
    assert (card.table[0].entries[number]["idle"], card.table[0].entries[number]["hard_at"]) == (0, 0)


@pytest.mark.parametrize(("first", "second"), [(2, 0), (3, 8), (8, 3), (0, 2)])
def test_a_flow_that_is_added_again_has_the_timeouts_of_the_new_one(first: int, second: int) -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    tables = FlowTables(datapath, Checks(range(1, PORTS + 1), 1, FIELDS, (), ()), lambda *_: None)
    mod = FlowMod(0, 0, 0, FlowCommand.ADD, 5, first, 9, NO_BUFFER, 0, 0, 0, (Oxm(3, 1),), to(2))
    tables.apply(mod)
    (installed,) = tables
    (number,) = (number for number, found in card.table[0].entries.items() if found["idle"])
    card.time_ns += 2 * 10**9
    card.timed_out.append((0, number, True))  # what the first one's timeout would be is already on its way
    tables.apply(mod._replace(hard_s=second))
    found, tick = card.table[0].entries[number], 1 << 20
    due = card.time_ns + second * 10**9 if second else 0
    assert due - tick < found["hard_at"] * tick < due + 2 * tick
    assert list(datapath.events()) == []
    card.time_ns = due + 2 * tick
    card.timed_out.append((0, number, True))
    assert list(datapath.events()) == [Expired(installed, True)] * bool(second)


def test_a_timeout_that_was_told_too_early_is_still_to_come() -> None:
    """The card tells a timeout once, and forgets it. A packet that comes before the driver hears of it is a use."""
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    entry = Flow(0, 5, (), to(2), idle_s=2, created_ns=card.time_ns)
    datapath.add(entry)
    card.pass_time(2_100_000_000)
    card.run(frame(), 1)
    assert list(datapath.events()) == []
    card.pass_time(1_900_000_000)
    assert list(datapath.events()) == []
    card.pass_time(200_000_000)
    assert list(datapath.events()) == [Expired(entry, False)]


@pytest.mark.parametrize("reset", [False, True])
def test_a_flow_added_again_is_as_idle_as_it_was(reset: bool) -> None:
    """Whether or not its counts begin anew: so it is in Open vSwitch."""
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    tables = FlowTables(datapath, Checks(range(1, PORTS + 1), 1, FIELDS, (), ()), lambda *_: None)
    mod = FlowMod(0, 0, 0, FlowCommand.ADD, 0, 0, 9, NO_BUFFER, 0, 0, FlowFlag.RESET_COUNTS * reset, (), to(2))
    tables.apply(mod)
    (flow,) = tables
    card.run(frame(), 1)
    card.pass_time(3_000_000_000)
    tables.apply(mod._replace(idle_s=2))
    assert datapath.count([flow])[0].packets == (not reset)
    card.pass_time(0)
    assert list(datapath.events()) == [Expired(flow, False)]


def test_what_a_gone_flow_left_behind_is_not_told_of_the_one_in_its_place() -> None:
    card = ModelCard(PORTS, 1, exact=4, ternary=2, words=3)
    datapath = HardwareDatapath(card, claim=1)
    first = Flow(0, 5, (), to(flows.CONTROLLER), idle_s=1)
    datapath.add(first)
    (number,) = (number for number, found in card.table[0].entries.items() if found["idle"])
    card.arrive(frame(), 1)
    card.timed_out.append((0, number, False))
    datapath.remove(first)
    second = Flow(0, 5, (), to(flows.CONTROLLER), idle_s=1)
    datapath.add(second)
    (event,) = datapath.events()
    assert isinstance(event, PacketIn) and event.flow is first


# ------------------------------------------------------------------------------------------------ groups and meters


def outputs(*ports: int, **others: int) -> list[Bucket]:
    """A bucket for each port."""
    return [Bucket((Action(ActionKind.OUTPUT, port),), weight=1, **others) for port in ports]


def with_group(number: int) -> Instructions:
    """Sends a packet to a group."""
    return Instructions(apply=(Action(ActionKind.GROUP, number),))


def test_a_group_changes_under_its_flows_and_counts() -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    datapath.set_group(Group(1000, GroupKind.ALL, tuple(outputs(2, 3))))
    datapath.add(Flow(0, 5, (), with_group(1000)))
    data = frame()
    assert goes_to(card, data) == [2, 3]
    size = len(data)
    assert datapath.count_group(1000) == ((1, size, 0), [(1, size, 0), (1, size, 0)])
    datapath.set_group(Group(1000, GroupKind.ALL, tuple(outputs(4))))
    assert goes_to(card, data) == [4]
    assert datapath.count_group(1000) == ((2, 2 * size, 0), [(1, size, 0)])


def test_a_packet_inside_may_still_run_the_old_group() -> None:
    card = ModelCard(PORTS, 1, words=15)
    datapath = HardwareDatapath(card)
    group = Group(1, GroupKind.ALL, tuple(outputs(2, 3)))
    datapath.set_group(group)
    datapath.add(Flow(0, 5, (), with_group(1)))
    for turn in range(40):
        card.arrive(frame(turn), 1)
        card.arrive(frame(turn), 1)
        datapath.set_group(Group(1, GroupKind.ALL, tuple(outputs(*((2, 3) if turn % 2 else (4,))))))
    card.finish_all()
    sent = [(Packet.read(data).dst, port) for port, data, _ in card.sent]
    assert {dst for dst, _ in sent} == set(range(40))
    for turn in range(40):
        assert [port for dst, port in sent if dst == turn] == ([4, 4] if turn % 2 else [2, 3, 2, 3])


def test_a_bucket_watches_ports_and_other_groups() -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    (first,) = outputs(2, watch_group=8)
    (second,) = outputs(3, watch_port=3)
    (last,) = outputs(4, watch_port=1, watch_group=9)
    datapath.set_group(Group(7, GroupKind.FAST_FAILOVER, (first, second, last)))
    datapath.add(Flow(0, 5, (), with_group(7)))
    assert goes_to(card, frame()) == [3]
    datapath.set_group(Group(8, GroupKind.FAST_FAILOVER, tuple(outputs(4, watch_port=4))))
    assert goes_to(card, frame()) == [2]
    datapath.set_port(4, flows.PortState(live=False))
    assert goes_to(card, frame()) == [3]
    datapath.set_port(3, flows.PortState(live=False))
    assert goes_to(card, frame()) == [4]
    datapath.set_port(1, flows.PortState(live=False))
    assert goes_to(card, frame()) == []
    datapath.set_group(Group(8, GroupKind.ALL, tuple(outputs(4))))
    assert goes_to(card, frame()) == [2]
    datapath.remove_group(8)
    assert goes_to(card, frame()) == []


def test_groups_and_counters_run_out_and_come_back() -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    for number in range(16):
        datapath.set_group(Group(number, GroupKind.ALL, tuple(outputs(1, 2))))
    with pytest.raises(RefusedError) as error:
        datapath.set_group(Group(16, GroupKind.ALL, ()))
    assert (error.value.kind, error.value.code) == (6, 3)
    with pytest.raises(RefusedError) as error:
        datapath.set_group(Group(1, GroupKind.ALL, tuple(outputs(*range(1, 5)) * 20)))
    assert (error.value.kind, error.value.code) == (6, 4)
    with pytest.raises(RefusedError) as error:
        datapath.set_group(Group(1, GroupKind.FAST_FAILOVER, tuple(outputs(1, watch_port=5))))
    assert (error.value.kind, error.value.code) == (6, 13)
    datapath.remove_group(3)
    datapath.set_group(Group(1000, GroupKind.ALL, tuple(outputs(1, 2))))


@pytest.mark.parametrize(("rate", "packets", "burst"), [(5000, False, 500), (9, False, 73), (5, True, 1)])
def test_a_band_without_a_burst_gets_one_that_lets_packets_through(rate: int, packets: bool, burst: int) -> None:
    card = ModelCard(PORTS, TABLES)
    meter = Meter(1, (flows.Band(rate, 0), flows.Band(rate, 7)), packets)
    HardwareDatapath(card).set_meter(meter)
    [written] = card.meter.values()
    assert [band.burst for band in written.bands] == [burst, 7]
    assert meter.bands[0].burst == 0, "it is told as it was set"


@pytest.mark.parametrize("bands", [0, 1, 2])
def test_a_meter_counts_the_bands_that_it_has(bands: int) -> None:
    datapath = HardwareDatapath(ModelCard(PORTS, TABLES))
    datapath.set_meter(Meter(1, (flows.Band(5, 1),) * (2 - bands)))
    datapath.set_meter(Meter(1, (flows.Band(5, 1),) * bands))
    assert len(datapath.count_meter(1).bands) == bands


def test_meters_have_any_number() -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    meters = [Meter(1000 + number, (flows.Band(1000, 100),)) for number in range(8)]
    for meter in meters:
        datapath.set_meter(meter)
    assert sorted(meter.number for meter in card.meter.values()) == [meter.number for meter in meters]
    with pytest.raises(RefusedError) as error:
        datapath.set_meter(Meter(1, ()))
    assert (error.value.kind, error.value.code) == (12, 10)
    with pytest.raises(RefusedError) as error:
        datapath.set_meter(Meter(1000, (flows.Band(1, 1),) * 3))
    assert (error.value.kind, error.value.code) == (12, 11)
    datapath.add(Flow(0, 5, (), Instructions(meter=1003, apply=to(2).apply)))
    assert goes_to(card, frame()) == [2]
    datapath.remove_meter(1004)
    datapath.set_meter(Meter(1, ()))


# -------------------------------------------------------------------------------------------------------- packet-outs


def test_a_packet_out_does_its_actions_or_goes_to_the_tables() -> None:
    card = ModelCard(PORTS, 2)
    datapath = HardwareDatapath(card)
    datapath.add(Flow(0, 5, (Oxm(0, 3),), to(flows.IN_PORT)))
    datapath.add(Flow(0, 4, (Oxm(0, flows.CONTROLLER),), to(1)))
    sent = []
    edit = Action(ActionKind.SET_FIELD, 7, 3)
    for in_port, *actions in (
        (3, Action(ActionKind.OUTPUT, flows.FLOOD)),
        (flows.CONTROLLER, edit, Action(ActionKind.OUTPUT, flows.ALL)),
        (3, Action(ActionKind.OUTPUT, flows.TABLE)),
        (flows.CONTROLLER, edit, Action(ActionKind.OUTPUT, flows.TABLE)),
        (3,),
    ):
        datapath.packet_out(frame(), in_port, actions)
        card.finish_all()
        sent.append({port: Packet.read(data).dst for port, data, _ in card.sent})
        card.sent.clear()
    assert sent == [{1: 1, 2: 1, 4: 1}, {1: 7, 2: 7, 3: 7, 4: 7}, {3: 1}, {1: 7}, {}]
    with pytest.raises(RefusedError) as error:
        datapath.packet_out(frame(), 5, ())
    assert (error.value.kind, error.value.code) == (1, 11)


def test_programs_of_packet_outs_stay_for_a_while_and_make_room() -> None:
    card = ModelCard(PORTS, 1, words=300)
    datapath = HardwareDatapath(card)
    for turn in range(3):
        for number in range(300):
            actions = (Action(ActionKind.SET_FIELD, number, 3), Action(ActionKind.OUTPUT, 2))
            datapath.packet_out(frame(), flows.CONTROLLER, actions)
            if turn == 2:
                card.finish_all()
    card.finish_all()
    assert [Packet.read(data).dst for _, data, _ in card.sent] == [*range(300)] * 3


def test_a_packet_in_has_the_flow_the_reason_and_the_metadata() -> None:
    card = ModelCard(PORTS, 2)
    datapath = HardwareDatapath(card)
    host = Action(ActionKind.OUTPUT, flows.CONTROLLER, 20)
    miss = Flow(1, 0, (), Instructions(apply=(host,)))
    datapath.add(Flow(0, 1, (), Instructions(metadata=(0x55, 0xFF), goto=1)))
    datapath.add(miss)
    data = bytes(Ether(dst="00:00:00:00:00:01") / Dot1Q(vlan=3) / IP())
    card.run(data, 4)
    assert list(datapath.events()) == [PacketIn(data, len(data), 0, 4, 0x55, miss)]
    datapath.packet_out(data, flows.CONTROLLER, (host,))
    card.finish_all()
    assert list(datapath.events()) == [PacketIn(data, len(data), 1, flows.CONTROLLER, 0, None)]


def test_what_a_port_may_do_is_the_cards() -> None:
    card = ModelCard(PORTS, 1)
    datapath = HardwareDatapath(card)
    assert (card.enabled, card.receiving, card.live, card.quiet) == (15, 15, 15, 0)
    datapath.set_port(2, flows.PortState(receives=False, packet_ins=False))
    datapath.set_port(4, flows.PortState(sends=False, live=False))
    assert (card.enabled, card.receiving, card.live, card.quiet) == (7, 13, 7, 2)


def test_custom_actions_that_the_card_does_not_have_are_refused() -> None:
    card = ModelCard(PORTS, 1)
    card.custom = 0
    datapath = HardwareDatapath(card)
    filtered = flows.Instructions(apply=(Action(ActionKind.EXPERIMENTER, 1), Action(ActionKind.OUTPUT, 1)))
    with pytest.raises(RefusedError) as error:
        datapath.check(Flow(0, 1, (), filtered))
    assert (error.value.kind, error.value.code) == (2, 3)  # OFPBAC_BAD_EXP_TYPE
    with pytest.raises(RefusedError):
        datapath.packet_out(bytes(60), 1, filtered.apply or ())
    datapath.check(Flow(0, 1, (), to(1)))


def test_what_was_written_before_a_label_is_popped_is_done_with_the_packet_as_it_is_then() -> None:
    card = ModelCard(PORTS, 2)
    datapath = HardwareDatapath(card)
    datapath.add(Flow(0, 1, (), Instructions(write=(Action(ActionKind.OUTPUT, 3),), goto=1)))
    below = (Action(ActionKind.POP_MPLS, 0x0800), Action(ActionKind.SET_FIELD, 0x0A00_0001, 12))
    datapath.add(Flow(1, 1, (Oxm(5, 0x8847),), Instructions(apply=(*below, Action(ActionKind.OUTPUT, 2)))))
    head, packet = bytes(12), bytes(IP(dst="192.0.2.1") / UDP())
    card.run(head + b"\x88\x47" + bytes.fromhex("00064140") + packet, 1)
    sent = sent_by_port(card)
    assert sent == {3: [head + b"\x08\x00" + packet], 2: sent[2]}
    assert sent[2][0][30:34] == bytes([10, 0, 0, 1])


def test_a_table_that_is_not_there_is_refused() -> None:
    datapath = HardwareDatapath(ModelCard(PORTS, 1))
    with pytest.raises(RefusedError) as error:
        datapath.check(Flow(1, 1, (), to(1)))
    assert (error.value.kind, error.value.code) == (5, 2)
