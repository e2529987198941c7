"""What the fabric promises: every packet to one unit, whole, in a free slot, and from the unit to its port."""

import itertools
import random
from collections import Counter
from functools import cache
from typing import Any

import cocotb
from rpu_fabric.cards import (
    FLOW_HASH,
    HOST,
    LEAST_LOADED,
    LOOPBACK,
    ROUND_ROBIN,
    TO_UNIT,
    Arrival,
    Card,
    Unit,
    host_port,
    numbered,
)
from rpu_fabric.flows import frame, toeplitz, tuple_of

from headrace.testing.streams import PATTERNS, behaviour, bursts, mostly, never, seldom, together

SIZES = [8, 15, 16, 17, 60, 64, 65, 100, 300]


def got(card: Card) -> dict[bytes, list[tuple[int, int]]]:
    """Unit and source port of every packet that came to a unit, of each content."""
    found: dict[bytes, list[tuple[int, int]]] = {}
    for unit in card.units:
        for arrival in unit.arrivals:
            found.setdefault(arrival.data, []).append((unit.number, arrival.port))
    return found


def flow_packet(flow: int, number: int, size: int = 60) -> bytes:
    """A packet of a flow of UDP, with a number in its payload."""
    head = frame("10.0.0.1", f"10.1.{flow >> 8}.{flow & 255}", (1000, 2000))[12:]
    return bytes(12) + head + number.to_bytes(4, "big") + bytes(max(size - 42, 0))


@cache
def flow_hash(flow: int) -> int:
    """Its hash."""
    return toeplitz(tuple_of("10.0.0.1", f"10.1.{flow >> 8}.{flow & 255}", (1000, 2000)))


def flow_of(data: bytes) -> tuple[int, int]:
    """Flow and number of such a packet."""
    return int.from_bytes(data[32:34], "big"), int.from_bytes(data[38:42], "big")


@behaviour()
@cocotb.parametrize((("policy", "stalls"), together([ROUND_ROBIN, LEAST_LOADED, FLOW_HASH], PATTERNS)))
async def every_packet_comes_to_one_unit_and_from_there_to_its_port(dut: Any, policy: int, stalls: Any) -> None:
    card, functions = Card(dut, slots=random.choice([1, 3, 8])), int(dut.FUNCTIONS.value)
    card.settings.policy = policy
    for unit in card.units:
        unit.ready, unit.valid, unit.work = stalls(), stalls(), lambda: random.randrange(30)
        unit.answer = lambda _, arrival: (random.choice([0, 1, host_port(random.randrange(functions))]), arrival.data)
    card.stalls = [stalls() for _ in range(3)]
    card.gaps = [mostly() for _ in range(3)]
    card.function = lambda data: data[-1] % functions
    await card.start()
    sent = [[numbered(random.choice(SIZES)) for _ in range(25)] for _ in range(3)]
    for port in range(3):
        card.queues[port].extend(sent[port])
    await card.empty()
    arrived = got(card)
    for port, packets in enumerate(sent):
        lost = [data for data in packets if data not in arrived]
        assert len(lost) == card.dropped[port]
        for data in packets:
            named = port if port != HOST else host_port(card.function(data))
            assert data in lost or [came for _, came in arrived[data]] == [named]
    assert sum(map(len, arrived.values())) + sum(card.dropped.values()) == 75
    for port in range(3):
        assert Counter(card.out[port]) == Counter(
            data for unit in card.units for where, data in unit.sent if where % 8 == port
        )
        for unit in card.units:
            mine = [data for where, data in unit.sent if where % 8 == port]
            assert [data for data in card.out[port] if data in set(mine)] == mine, (
                "a unit's packets changed their order"
            )
    sent_to = {data: where for unit in card.units for where, data in unit.sent}
    assert card.out_ports == [sent_to[data] for data in card.out[HOST]]
    assert card.events["assigned"] == Counter({u.number: len(u.arrivals) for u in card.units}) + Counter()
    assert not any(sum(card.events[name].values()) for name in ("slot_error", "discarded", "cut", "bad_port"))


@behaviour()
async def round_robin_goes_round(dut: Any) -> None:
    card = Card(dut)
    await card.start()
    for _ in range(5 * card.count):
        card.queues[random.randrange(2)].append(numbered(60))
        await card.run(random.randrange(1, 20))
    await card.empty()
    arrivals = sorted((arrival.cycle, unit.number) for unit in card.units for arrival in unit.arrivals)
    counts = [len(unit.arrivals) for unit in card.units]
    assert counts == [5] * card.count, arrivals


@behaviour()
async def least_loaded_avoids_the_slow_unit(dut: Any) -> None:
    card = Card(dut, slots=16)
    card.settings.policy = LEAST_LOADED
    for unit in card.units:
        unit.work = lambda: 40
    card.units[1 % card.count].work = lambda: 4000
    await card.start()
    load: list[list[int]] = []
    for index in range(60):
        load.append([card.status(unit)[1] for unit in range(card.count)])
        before = [len(unit.arrivals) for unit in card.units]
        card.queues[index % 2].append(numbered(60))
        await card.run(26)  # two units of four would be enough
        after = [len(unit.arrivals) for unit in card.units]
        [chosen] = [unit for unit in range(card.count) if after[unit] > before[unit]]
        assert load[-1][chosen] == min(load[-1])
    assert len(card.units[1 % card.count].arrivals) < 60 / card.count or card.count == 1


@behaviour()
async def a_unit_without_a_free_slot_gets_nothing_and_packets_wait(dut: Any) -> None:
    card = Card(dut, slots=2)
    for unit in card.units:
        unit.work = lambda: 400
    await card.start()
    card.queues[HOST].extend(numbered(60) for _ in range(2 * card.count + 5))
    await card.run(200)
    assert [len(unit.arrivals) for unit in card.units] == [2] * card.count
    assert [card.status(unit) for unit in range(card.count)] == [(2, 2)] * card.count
    await card.empty()
    assert sum(len(unit.arrivals) for unit in card.units) == 2 * card.count + 5
    assert [card.status(unit) for unit in range(card.count)] == [(2, 0)] * card.count


@behaviour()
async def masks_decide_who_gets_packets(dut: Any) -> None:
    for policy in (ROUND_ROBIN, LEAST_LOADED, FLOW_HASH):
        card = Card(dut)
        card.settings.policy = policy
        await card.start()
        for _ in range(6):
            card.settings.enable = random.randrange(1, 1 << card.count)
            card.settings.receive = [random.getrandbits(card.count) for _ in range(4)]
            await card.run(10)
            for unit in card.units:
                unit.arrivals.clear()
            for number in range(20):
                card.queues[HOST].append(flow_packet(random.getrandbits(16), number))
            await card.run(150)
            allowed = card.settings.enable & card.settings.receive[HOST]
            for unit in card.units:
                assert bool(unit.arrivals) <= bool(allowed >> unit.number & 1)
            if policy != FLOW_HASH:
                assert allowed.bit_count() == sum(bool(unit.arrivals) for unit in card.units)
            card.settings.enable, card.settings.receive = 0xFFFF, [0xFFFF] * 4
            await card.empty()
            assert sum(len(unit.arrivals) for unit in card.units) == 20


@behaviour()
async def messages_come_to_the_unit_that_they_name(dut: Any) -> None:
    card = Card(dut, slots=4)
    units = card.count

    def answer(unit: Unit, arrival: Arrival) -> tuple[int, bytes] | None:
        kind = arrival.data[-1] % 4
        if arrival.port == LOOPBACK or kind == 3:
            return (0, arrival.data)
        if kind == 2:
            return (LOOPBACK, arrival.data)  # to the balancer again
        return (TO_UNIT | arrival.data[-2] % (units + 1), arrival.data)

    for unit in card.units:
        unit.answer, unit.valid, unit.work = answer, seldom(), lambda: random.randrange(10)
    card.stalls[0] = seldom()
    await card.start()
    # Few enough that units always have a slot for them.
    sent = [numbered(random.choice(SIZES)) for _ in range(60)]
    for data in sent:
        card.queues[random.randrange(3)].append(data)
        await card.run(random.randrange(30))
    await card.empty()
    arrived = got(card)
    refused = 0
    for data in sent:
        places = arrived[data]
        if data[-1] % 4 == 3:
            assert len(places) == 1
        elif data[-1] % 4 == 2:
            assert [port for _, port in sorted(places, key=lambda place: place[1])][1:] == [LOOPBACK]
        elif data[-2] % (units + 1) == units:
            refused += 1
            assert len(places) == 1
        else:
            assert (data[-2] % (units + 1), LOOPBACK) in places and len(places) == 2
    assert card.refused[LOOPBACK] == refused > 0
    assert len(card.out[0]) == len(sent) - refused


@behaviour()
async def messages_wait_for_room(dut: Any) -> None:
    card, messages = Card(dut, slots=2), [numbered(300) for _ in range(40)]
    if card.count == 1:
        return
    card.settings.receive = [0xFFFE] * 4
    card.units[0].ready = itertools.repeat(True)
    for unit in card.units:
        unit.answer = lambda unit, arrival: (1 if unit.number == 0 else TO_UNIT | 0, arrival.data)
    await card.start()
    card.queues[HOST].extend(messages)
    await card.run(1500)
    full = [card.status(unit) for unit in range(1, card.count)]
    assert full == [(2, 2)] * (card.count - 1) and card.queues[HOST], "units wait, too"
    card.units[0].ready = never()
    await card.empty()
    assert Counter(card.out[1]) == Counter(messages)
    assert sum(card.dropped.values()) == 0


@behaviour()
async def messages_to_a_disabled_unit_are_refused(dut: Any) -> None:
    card = Card(dut)
    if card.count == 1:
        return
    card.settings.enable = 0xFFFE
    for unit in card.units:
        unit.answer = lambda _, arrival: (TO_UNIT | 0, arrival.data) if arrival.data[0] else (1, arrival.data)
    await card.start()
    card.queues[0].extend(bytes([number % 2]) + numbered(80) for number in range(10))
    await card.empty()
    assert card.refused[LOOPBACK] == 5 and len(card.out[1]) == 5


@behaviour()
async def packets_to_no_port_are_thrown_away(dut: Any) -> None:
    card = Card(dut)
    for unit in card.units:
        unit.answer = lambda _, arrival: (arrival.data[0], arrival.data)
    await card.start()
    card.queues[0].extend(bytes([port]) + numbered(100) for port in [6, 0, 200, 5, 1, 255] * 4)
    card.queues[0].extend(bytes([host_port(number)]) + numbered(100) for number in range(32))
    await card.empty()
    functions = int(dut.FUNCTIONS.value)
    assert [len(packets) for packets in card.out] == [4, 4, functions]
    assert sum(card.events["bad_port"].values()) == 16 + 32 - functions


@behaviour()
async def a_source_that_is_closed_waits_for_nobody(dut: Any) -> None:
    card = Card(dut)
    await card.start(init=False)
    card.queues[HOST].extend(numbered(300) for _ in range(60))
    await card.run(3000)
    waiting = len(card.queues[HOST])
    assert waiting
    card.settings.open = 15 & ~(1 << HOST)
    await card.until(lambda: not card.queues[HOST] and not card.beats[HOST])
    for unit in card.units:
        unit.init()
    await card.empty()
    came = sum(len(unit.arrivals) for unit in card.units)
    assert came + card.dropped[HOST] == 60
    assert waiting <= card.dropped[HOST] <= waiting + 1, "those that were there before come to units"


@behaviour()
async def releases_that_cannot_be_change_nothing(dut: Any) -> None:
    card = Card(dut, slots=3)
    await card.start()
    for wrong in (1, 3, 0, 4, 33, 200):
        card.units[0].releases.append(wrong)
    await card.run(20)
    assert card.events["slot_error"] == Counter({0: 6})
    assert [card.status(unit) for unit in range(card.count)] == [(3, 0)] * card.count
    card.queues[HOST].extend(numbered(40) for _ in range(40))
    await card.empty()
    assert sum(len(unit.arrivals) for unit in card.units) == 40


@behaviour()
@cocotb.parametrize(policy=[ROUND_ROBIN, FLOW_HASH])
async def the_hash_is_put_before_packets_of_sources_that_say_so(dut: Any, policy: int) -> None:
    card = Card(dut)
    card.settings.policy = policy
    card.settings.prefix = 0b0101
    await card.start()
    sent: dict[bytes, tuple[int, int]] = {}
    for number in range(60):
        flow, port = random.getrandbits(16), random.randrange(3)
        data = flow_packet(flow, number, random.choice([42, 44, 45, 48, 60, 61, 62, 64, 76, 80, 124, 125, 300]))
        sent[data] = (port, flow_hash(flow))
        card.queues[port].append(data)
        await card.run(8)
    await card.empty()
    arrivals = [arrival for unit in card.units for arrival in unit.arrivals]
    assert len(arrivals) == 60
    for arrival in arrivals:
        if arrival.port == 1:
            assert sent.pop(arrival.data)[0] == 1
        else:
            assert sent.pop(arrival.data[4:]) == (arrival.port, int.from_bytes(arrival.data[:4], "little"))
    assert not sent


@behaviour()
async def flows_go_where_the_table_says(dut: Any) -> None:
    card = Card(dut)
    card.settings.policy = FLOW_HASH
    await card.start()
    table = [entry % card.count for entry in range(128)]
    flows = [random.getrandbits(16) for _ in range(80)]
    for _ in range(2):
        for number, flow in enumerate(flows):
            card.queues[HOST].append(flow_packet(flow, number))
        await card.empty()
        for unit in card.units:
            for arrival in unit.arrivals:
                assert table[flow_hash(flow_of(arrival.data)[0]) % 128] == unit.number
            unit.arrivals.clear()
        table = [random.randrange(card.count) for _ in range(128)]
        card.writes.extend(enumerate(table))
        await card.run(130)


@behaviour()
async def only_flows_of_a_disabled_unit_move_and_to_all_others(dut: Any) -> None:
    card = Card(dut, slots=32)
    card.settings.policy = FLOW_HASH
    await card.start()
    flows = random.sample(range(1 << 16), 60 * card.count)

    async def places() -> dict[int, int]:
        for flow in flows:
            card.queues[HOST].append(flow_packet(flow, 0))
        await card.empty()
        found = {flow_of(a.data)[0]: unit.number for unit in card.units for a in unit.arrivals}
        for unit in card.units:
            unit.arrivals.clear()
        return found

    if card.count == 1:
        return
    before = await places()
    gone = random.randrange(card.count)
    card.settings.enable = 0xFFFF ^ 1 << gone
    after = await places()
    ways = {(flow_hash(flow) % 128, unit) for flow, unit in after.items()}
    assert len(ways) == len({entry for entry, _ in ways}), "flows of an entry go to the same unit"
    moved = Counter(after[flow] for flow in flows if before[flow] == gone)
    assert all(after[flow] == before[flow] for flow in flows if before[flow] != gone)
    assert set(moved) == set(range(card.count)) - {gone}
    assert max(moved.values()) < 4 * min(moved.values()) + 10
    card.settings.enable = 0xFFFF
    assert await places() == before


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, bursts])
async def a_flow_keeps_its_order_while_units_come_and_go(dut: Any, stalls: Any) -> None:
    """Also when units are very unlike in speed, when the table is written, and among flows of one entry of it."""
    card = Card(dut, slots=6)
    card.settings.policy = FLOW_HASH
    functions = int(dut.FUNCTIONS.value)
    card.function = lambda data: flow_of(data)[1] % functions
    for unit in card.units:
        unit.ready = stalls()
        unit.answer = lambda _, arrival: (0, arrival.data)
        slow = random.choice([1, 10, 60])
        unit.work = lambda slow=slow: random.randrange(1, 2 * slow)
    await card.start()
    entries = random.sample(range(128), 3)
    flows = random.sample([flow for flow in range(1 << 16) if flow_hash(flow) % 128 in entries], 12)
    numbers: Counter[tuple[int, int]] = Counter()
    moved = 0
    for _ in range(120):
        for port in (0, HOST):
            for _ in range(random.randrange(4)):
                flow = random.choice(flows[:6] if port else flows[6:])
                numbers[port, flow] += 1
                card.queues[port].append(flow_packet(flow, numbers[port, flow], random.choice([50, 60, 100, 200])))
        if random.random() < 0.3:
            card.settings.enable = random.randrange(1, 1 << card.count)
            moved += 1
        if random.random() < 0.3:
            card.writes.extend((random.randrange(128), random.randrange(card.count)) for _ in range(40))
        await card.run(random.randrange(1, 60))
    await card.empty(60000)
    seen: dict[int, list[int]] = {}
    for data in card.out[0]:
        flow, number = flow_of(data)
        seen.setdefault(flow, []).append(number)
    for flow, order in seen.items():
        assert order == sorted(order), f"flow {flow:04x}: {order}"
    for unit in card.units:
        for arrival in unit.arrivals:
            of_host = flow_of(arrival.data)[0] in flows[:6]
            assert arrival.port == (host_port(card.function(arrival.data)) if of_host else 0)
    assert len(card.out[0]) + card.dropped[0] == sum(numbers.values())
    assert moved


@behaviour()
async def flows_of_one_entry_keep_their_order_when_its_unit_comes_back(dut: Any) -> None:
    """One that is held up elsewhere does, too, though others of its entry are not."""
    card = Card(dut, slots=16)
    if card.count < 3:
        return
    card.settings.policy = FLOW_HASH
    await card.start()
    flows = [flow for flow in range(1 << 16) if flow_hash(flow) % 128 == 0][:12]
    for slow in range(1, card.count):
        for unit in card.units:
            unit.work = lambda cycles=3000 * (unit.number == slow): cycles
        card.settings.enable = 0xFFFE
        card.queues[1] += [flow_packet(flow, 0) for flow in flows]
        await card.run(100)
        card.settings.enable = 0xFFFF
        card.queues[1] += [flow_packet(flow, 1) for flow in flows]
        await card.empty()
        for flow in flows:
            assert [number for each, number in map(flow_of, card.out[1]) if each == flow] == [0, 1]
        card.out[1].clear()


@behaviour()
async def others_are_not_delayed_while_a_flow_waits_for_its_old_unit(dut: Any) -> None:
    card = Card(dut, slots=8)
    if card.count == 1:
        return
    card.settings.policy = FLOW_HASH
    card.units[0].work = lambda: 3000
    await card.start()
    mine = next(flow for flow in range(1 << 16) if flow_hash(flow) % 128 % card.count == 0)
    other = next(flow for flow in range(1 << 16) if flow_hash(flow) % 128 % card.count == 1)
    card.queues[1].append(flow_packet(mine, 0))
    await card.run(60)
    assert len(card.units[0].arrivals) == 1
    card.settings.enable = 0xFFFE
    for number in range(1, 11):
        card.queues[1] += [flow_packet(mine, number), flow_packet(other, number)]
    await card.run(300)
    assert [flow_of(data) for data in card.out[1]] == [(other, number) for number in range(1, 11)]
    assert card.status(0) == (8, 1)
    await card.empty()
    assert [flow_of(data)[1] for data in card.out[1] if flow_of(data)[0] == mine] == list(range(11))


@behaviour()
@cocotb.parametrize(policy=[ROUND_ROBIN, FLOW_HASH])
async def a_flush_takes_one_unit_out_and_harms_no_other(dut: Any, policy: int) -> None:
    """In the middle of whatever it is doing, without being disabled before."""
    card = Card(dut, slots=4)
    card.settings.policy = policy
    for unit in card.units:
        unit.work, unit.ready, unit.valid = (lambda: random.randrange(60)), seldom(), seldom()
    await card.start()
    sent: list[bytes] = []
    for _ in range(12):
        for _ in range(12):
            port = random.randrange(3)
            data = flow_packet(random.getrandbits(16), len(sent), random.choice([60, 200, 400]))
            sent.append(data)
            card.queues[port].append(data)
        await card.run(random.randrange(20, 60))
        unit = random.choice(card.units)
        if unit.begun:
            card.flushed += 1
        card.flush = 1 << unit.number
        unit.reset()
        await card.run(64)
        assert card.status(unit.number) == (0, 0)
        await card.run(random.randrange(40))
        card.flush = 0
        unit.init()
        await card.run(random.randrange(20))
    await card.empty(60000)
    arrived = got(card)
    assert all(len(places) == 1 for places in arrived.values()) and set(arrived) <= set(sent)
    missing = len(sent) - len(arrived) - sum(card.dropped.values())
    # Thrown away on the way, or in the queue or half in the unit when it was flushed.
    assert sum(card.events["discarded"].values()) <= missing
    cut = [data for port in range(3) for data in card.out_cut[port]]
    assert len(cut) == sum(card.events["cut"].values()) <= card.flushed
    assert all(any(whole.startswith(data[:-1]) for whole in sent) for data in cut)
    assert all(data in arrived for port in range(3) for data in card.out[port])
    for unit in card.units:
        unit.arrivals.clear()
        unit.work = lambda: 0
    card.queues[HOST].extend(flow_packet(random.getrandbits(16), 0) for _ in range(100))
    await card.empty(60000)
    assert sum(len(unit.arrivals) for unit in card.units) == 100
    assert [card.status(unit) for unit in range(card.count)] == [(4, 0)] * card.count


@behaviour()
async def a_packet_marked_as_bad_is_dropped(dut: Any) -> None:
    card = Card(dut)
    await card.start()
    card.cut = {0}
    card.queues[0].extend(numbered(100) for _ in range(5))
    card.queues[1].extend(numbered(100) for _ in range(5))
    await card.empty()
    assert {arrival.port for unit in card.units for arrival in unit.arrivals} == {1}
    assert card.dropped[0] == 5


@behaviour()
async def a_slot_of_before_a_flush_is_not_used(dut: Any) -> None:
    """Its packet is held up behind one for another unit until the flush is over."""
    card = Card(dut)
    card.settings.policy = FLOW_HASH
    await card.start()
    ways = [next(flow for flow in range(1 << 16) if flow_hash(flow) % 128 % card.count == way) for way in range(2)]
    card.units[0].ready = itertools.repeat(True)
    card.queues[HOST].extend(flow_packet(ways[0], number, 400) for number in range(2))
    card.queues[HOST].append(flow_packet(ways[1], 3))
    await card.run(200)
    assert card.status(1) == (8, 1), "the packet for the other unit has its slot already"
    card.flush = 2
    card.units[1].reset()
    await card.run(64)
    card.flush = 0
    card.units[1].init()
    await card.run(10)
    card.units[0].ready = never()
    await card.empty()
    assert card.events["discarded"] == Counter({1: 1}) and not card.units[1].arrivals
    card.queues[HOST].append(flow_packet(ways[1], 4))
    await card.empty()
    assert [flow_of(arrival.data) for arrival in card.units[1].arrivals] == [(ways[1], 4)]


@behaviour()
async def a_packet_that_a_flush_cut_off_is_ended_before_the_next(dut: Any) -> None:
    """Also if its port can't take the end before the flush is over."""
    card = Card(dut)
    card.settings.enable = 1
    await card.start()
    first, second = numbered(400), numbered(400)
    card.queues[0].append(first)
    await card.until(lambda: len(card.partial[0]) >= 64)
    card.stalls[0] = itertools.repeat(True)
    await card.run(10)
    card.flush = 1
    card.units[0].reset()
    await card.run(64)
    card.flush = 0
    card.units[0].init()
    card.queues[0].append(second)
    await card.run(100)
    card.stalls[0] = never()
    await card.empty()
    assert card.out[0] == [second]
    [cut] = card.out_cut[0]
    assert first.startswith(cut[:-1]) and 64 < len(cut) < 400
    assert card.events["cut"] == Counter({0: 1})
