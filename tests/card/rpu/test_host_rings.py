"""The host port's rings: every packet goes through once and whole, or is counted, whatever host and memory do."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.card import Card
from headrace.card.rings import Receiver, Ring
from headrace.cards.rpu import elf, program
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.driver import RpuDriver

UNITS = 4
SMALL = {"PMEM_KB": 512}
ACCELERATORS = {1: "crc", 2: "blacklist"}  # as in test_rpu_card, whose model this is
BOTH_WAYS = Path(__file__).parent / "programs" / "host.c"
RECEIVED, SENT = 0, 1  # vectors


@pytest.fixture
def card() -> Iterator[Card]:
    with open_rpu_card(UNITS, ACCELERATORS, parameters=SMALL, progress=False) as opened:
        yield opened


@pytest.fixture
def driver(card: Card) -> RpuDriver:
    driver = driver_of(card)
    driver.load(elf.read(program.build([BOTH_WAYS])))
    driver.boot()
    assert driver.ready()
    return driver


def packets_of(seed: int, count: int, most: int = 1500) -> list[bytes]:
    rng = random.Random(seed)
    return [rng.randbytes(rng.choice([60, 64, 65, 128, rng.randint(60, most)])) for _ in range(count)]


def taken(card: Card, receiver: Receiver) -> list[bytes]:
    """What has come, without its buffers being given back."""
    packets = receiver.take()
    return [card.memory.read(*each) for each in zip(packets.address, packets.length, strict=True)]


def post(card: Card, ring: Ring, packets: list[bytes], rng: random.Random) -> None:
    """Posts packets that lie at any byte."""
    base = card.memory.allocate(sum(len(packet) + 64 for packet in packets))
    addresses = []
    for packet in packets:
        addresses.append(base + rng.randrange(64))
        card.memory.write(addresses[-1], packet)
        base += len(packet) + 64
    ring.post(addresses, [len(packet) for packet in packets])


def troubled(card: Card) -> None:
    card.memory.configure(read_latency_ns=700, write_latency_ns=300, stalls=3, out_of_order=9)


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("entries", [4, 16, 256])
def test_packets_of_units_come_into_buffers(card: Card, driver: RpuDriver, slow: bool, entries: int) -> None:
    if slow:
        troubled(card)
    receiver = Receiver(card, driver.rings.receive, entries=entries, buffer=2048)
    given = packets_of(entries, 300)
    card.source(0, given, timing=10e9 if entries > 16 else 1e9)
    found: list[bytes] = []
    times: list[int] = []
    for _ in range(1000):
        card.run("interrupt", cycles=50_000)
        card.irqs()
        times += receiver.take().timestamp_ns
        found += taken(card, receiver)
        receiver.release()
        if len(found) == len(given):
            break
    assert Counter(found) == Counter(given)
    assert times == sorted(times) and 0 < times[0] <= times[-1] <= card.stats().time_ns
    counters = receiver.ring.counters()
    assert (counters.packets, counters.errors, counters.too_long, counters.dropped) == (len(given), 0, 0, 0)
    assert driver.source_counters()["eth0"].dropped == 0
    assert card.run().idle


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("entries", [4, 256])
def test_packets_of_the_host_go_to_units(card: Card, driver: RpuDriver, slow: bool, entries: int) -> None:
    if slow:
        troubled(card)
    rng, given = random.Random(7), packets_of(entries + slow, 300, 9000)
    ring = Ring(card, driver.rings.transmit, entries)
    card.sink(1, "memory")
    left = list(given)
    for _ in range(1000):
        ring.seen += ring.fresh()
        batch, left = left[: ring.room], left[ring.room :]
        if batch:
            post(card, ring, batch, rng)
        ring.arm()
        card.run("interrupt")
        card.irqs()
        if not left and ring.fresh() == ring.posted - ring.seen:
            break
    assert card.run().idle
    assert Counter(frame.data for frame in card.received(1)) == Counter(given)
    assert ring.counters().packets == len(given)


@pytest.mark.parametrize(("size", "waiting"), [(60, 62), (1500, 42)])  # 42 of 24 beats each are 64 KB
def test_packets_wait_while_there_is_no_buffer(card: Card, driver: RpuDriver, size: int, waiting: int) -> None:
    receiver = Receiver(card, driver.rings.receive, entries=4, buffer=2048)
    given = [number.to_bytes(2, "big") * (size // 2) for number in range(120)]
    card.source(0, given, timing=25e9)
    driver.set_flow_control(True)
    card.flow_control(0, True)
    card.run(until=None, seconds=0.0001)
    assert receiver.ring.fresh() == 4
    assert receiver.ring.counters().dropped == 0
    counters = [driver.counters(unit) for unit in driver.all_units()]
    assert sum(unit.rx_packets - unit.tx_packets for unit in counters) == 8 * UNITS, "units wait, too"
    sent = sum(unit.tx_packets for unit in counters)
    assert 4 + waiting <= sent <= 4 + waiting + 4, "and some under way"
    found: list[bytes] = []
    while len(found) < len(given):
        found += taken(card, receiver)
        receiver.release()
        card.run(until=None, cycles=1000)
    assert Counter(found) == Counter(given)


def test_a_ring_that_is_off_drops_and_counts(card: Card, driver: RpuDriver) -> None:
    card.source(0, packets_of(2, 30))
    assert card.run().idle
    assert driver.host_dropped() == 30
    receiver = Receiver(card, driver.rings.receive, entries=4, buffer=2048)
    card.source(0, packets_of(3, 10), timing=1e9)
    card.run(until=None, seconds=0.0003)
    assert receiver.ring.fresh() == 4
    receiver.ring.off()
    assert card.run().idle
    assert not receiver.ring.busy
    assert driver.host_dropped() == 36
    again = Receiver(card, driver.rings.receive, entries=64, buffer=2048)
    more = packets_of(4, 40)
    card.source(0, more, timing=10e9)
    card.run(until=None, seconds=0.0002)
    assert Counter(taken(card, again)) == Counter(more)


def test_a_ring_that_is_off_is_busy_until_the_memory_has_answered(card: Card, driver: RpuDriver) -> None:
    card.memory.configure(read_latency_ns=5_000)
    ring = Ring(card, driver.rings.transmit, 16)
    post(card, ring, packets_of(6, 10), random.Random(6))
    ring.off()
    assert ring.busy
    assert card.run().idle
    assert not ring.busy


def test_a_packet_longer_than_its_buffer_is_dropped_and_the_buffer_stays(card: Card, driver: RpuDriver) -> None:
    receiver = Receiver(card, driver.rings.receive, entries=16, buffer=1000)
    given = [bytes([number]) * (1001 if number % 3 == 0 else 1000 - number) for number in range(12)]
    card.source(0, given, timing=1e9)
    assert card.run().idle
    assert sorted(taken(card, receiver)) == sorted(packet for packet in given if len(packet) <= 1000)
    assert receiver.ring.counters().too_long == driver.host_dropped() == 4


def test_what_is_not_mapped_is_counted_and_others_go_on(card: Card, driver: RpuDriver) -> None:
    buffers = Ring(card, driver.rings.receive, 8)
    base = card.memory.allocate(8 * 2048)
    addresses = [0x77_0000_0000 if number == 2 else base + 2048 * number for number in range(8)]
    buffers.post(addresses, [2048] * 8)
    given = [bytes([number]) * 100 for number in range(8)]
    card.source(0, given, timing=1e9)
    card.run(until=None, seconds=0.0001)
    assert buffers.fresh() == 8
    assert [buffers.descriptor(number)[2] for number in range(8)] == [1, 1, 3, 1, 1, 1, 1, 1]
    assert {card.memory.read(addresses[at], 100) for at in range(8) if at != 2} < set(given)
    assert buffers.counters().errors == driver.host_dropped() == 1
    ring = Ring(card, driver.rings.transmit, 16)
    card.sink(1, "memory")
    good = card.memory.allocate(4096)
    card.memory.write(good, bytes(range(200)))
    ring.post([good, 0x77_0000_0000, good, good, good], [64, 64, 0, 1 << 16, 200])
    card.run(until=None, seconds=0.0001)
    assert ring.fresh() == 5
    assert sorted(frame.data for frame in card.received(1)) == [bytes(range(64)), bytes(range(200))]
    assert (ring.counters().packets, ring.counters().errors) == (2, 3)


def test_interrupts_come_for_enough_packets_or_after_a_time(card: Card, driver: RpuDriver) -> None:
    receiver = Receiver(card, driver.rings.receive, entries=64, buffer=2048)
    receiver.ring.moderate(10, 0)
    card.source(0, packets_of(5, 25), timing=10e9)
    assert card.run("interrupt").reason == "interrupt"
    assert [irq.vector for irq in card.irqs()] == [RECEIVED]
    assert 10 <= receiver.ring.fresh() < 25
    assert card.run("interrupt").idle, "none comes unless it is armed"
    receiver.ring.arm()
    assert card.run("interrupt").reason == "interrupt"
    card.irqs()
    receiver.take()
    receiver.release()
    receiver.ring.moderate(10, 5_000)
    start = card.stats().time_ns
    card.source(0, [bytes(100)])
    assert card.run("interrupt").reason == "interrupt"
    assert 5_000 <= card.stats().time_ns - start < 8_000
    assert receiver.ring.fresh() == 1
