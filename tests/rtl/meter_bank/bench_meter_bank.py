"""What meters promise: each packet judged by exact token buckets, and counted."""

import random
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from headrace.cards.switch.layout import BAND, METER, METER_BANDS, BandKind
from headrace.testing.streams import behaviour, cycles, start, until

LATENCY = 10
APART = 4  # cycles from a request to the next one

Answer = tuple[bool, int]


@dataclass
class Band:
    """A band as a controller gives it."""

    kind: BandKind
    rate: int
    burst: int
    raise_: int = 0


@dataclass
class Meter:
    """A meter by the text of OpenFlow 1.3.5, 5.7: token buckets of bits or packets, in fractions."""

    packets: bool
    bands: list[Band]
    now_ns: int
    counts: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)] * (1 + METER_BANDS))
    buckets: list[Fraction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unit = 1 if self.packets else 1000
        self.buckets = [Fraction(band.burst * self.unit) for band in self.bands]

    def judge(self, size: int, now_ns: int) -> Answer:
        """Whether a packet is dropped, and how many levels of drop precedence it is raised by."""
        cost = 1 if self.packets else 8 * size
        over: list[tuple[int, int]] = []  # rate, and earlier bands first
        for i, band in enumerate(self.bands):
            earned = Fraction(band.rate * self.unit * (now_ns - self.now_ns), 10**9)
            self.buckets[i] = min(self.buckets[i] + earned, Fraction(band.burst * self.unit))
            if self.buckets[i] >= cost:
                self.buckets[i] -= cost
            elif band.kind != BandKind.NONE:
                over.append((band.rate, -i))
        self.now_ns = now_ns
        self._count(0, size)
        if not over:
            return False, 0
        applied = -max(over)[1]
        self._count(1 + applied, size)
        band = self.bands[applied]
        return band.kind == BandKind.DROP, band.raise_ if band.kind == BandKind.DSCP_REMARK else 0

    def _count(self, index: int, size: int) -> None:
        packets, total = self.counts[index]
        self.counts[index] = (packets + 1, total + size)


class Bank:
    """Drives the block and has the meters that it should be."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.size = int(dut.METERS.value)
        self.meters: dict[int, Meter] = {}
        self.now_ns = random.getrandbits(62)
        self.due: list[tuple[int, Answer]] = []  # cycle and answer
        self.at = 0
        self.answers: list[Answer] = []
        self.taken_at: list[int] = []

    async def begin(self) -> None:
        """Reset the block and wait until all meters are off."""
        dut = self.dut
        for name in ("meter_valid", "config_valid", "read"):
            getattr(dut, name).value = 0
        dut.time_ns.value = self.now_ns
        await start(dut)
        await RisingEdge(dut.clk)
        assert not dut.meter_ready.value and not dut.idle.value
        await until(dut.clk, lambda: bool(dut.idle.value), self.size + 5)

    async def tick(self, step_ns: int = 3) -> None:
        """A cycle of so many nanoseconds."""
        await RisingEdge(self.dut.clk)
        self.now_ns += step_ns
        self.dut.time_ns.value = self.now_ns
        self.at += 1
        if self.dut.meter_answer.value:
            answer = (bool(self.dut.meter_drop.value), int(self.dut.meter_raise.value))
            assert self.due and self.due[0] == (self.at, answer), f"{self.due[:1]}, not {(self.at, answer)}"
            self.answers.append(self.due.pop(0)[1])
        else:
            assert not self.due or self.due[0][0] > self.at

    async def request(self, number: int, size: int, step_ns: int = 3) -> None:
        """Ask for a packet; each cycle until it is taken takes `step_ns`."""
        dut = self.dut
        dut.meter_valid.value, dut.meter_number.value, dut.meter_bytes.value = 1, number, size
        await self.tick(step_ns)
        while not dut.meter_ready.value:
            await self.tick(step_ns)
        dut.meter_valid.value = 0
        now_ns = self.now_ns - step_ns
        answer = self.meters[number].judge(size, now_ns) if number in self.meters else (False, 0)
        self.due.append((self.at + LATENCY, answer))
        self.taken_at.append(self.at)

    async def write(self, number: int, *, packets: bool, bands: list[Band], on: bool = True) -> None:
        """Write a meter, at a moment when none waits."""
        dut = self.dut
        assert dut.config_ready.value
        words = [BAND.pack(kind=b.kind, rate=b.rate, burst=b.burst, raise_=b.raise_) for b in bands]
        both = sum(word << BAND.width * i for i, word in enumerate(words))
        dut.config_meter.value = METER.pack(on=int(on), packets=int(packets), band=both)
        dut.config_valid.value, dut.config_number.value = 1, number
        await self.tick()
        dut.config_valid.value = 0
        dut.config_meter.value = random.getrandbits(METER.width)
        waited = 0
        await self.tick()
        while not dut.config_ready.value:
            await self.tick()
            waited += 1
        assert waited <= APART
        self.meters.pop(number, None)
        if on and number < self.size:
            # Taken in the cycle before the one in which config_ready was seen, in the time of then.
            self.meters[number] = Meter(packets, bands, self.now_ns - 6)

    async def settle(self) -> None:
        """Wait for what is under way."""
        await self.tick()
        while not self.dut.idle.value:
            await self.tick()
        assert not self.due

    async def read(self, number: int) -> list[tuple[int, int]]:
        """The counters of a meter: its own, then those of bands."""
        dut = self.dut
        dut.read.value, dut.read_number.value = 1, number
        await self.tick()
        dut.read.value = 0
        for _ in range(20):
            await self.tick()
            if dut.read_valid.value:
                break
        else:
            raise AssertionError("no answer to a read")
        found = [(int(dut.packets.value), int(dut.bytes.value))]
        for i in range(METER_BANDS):
            found.append(
                tuple(int(port.value) >> 64 * i & (1 << 64) - 1 for port in (dut.band_packets, dut.band_bytes))
            )
        return found

    async def check_counters(self) -> None:
        """Compare all."""
        await self.settle()
        for number, meter in self.meters.items():
            assert await self.read(number) == meter.counts


def values(dut: Any) -> list[tuple[int, int]]:
    """What a read tells: packets and bytes of the meter, then of bands."""
    packets, total = int(dut.band_packets.value), int(dut.band_bytes.value)
    bands = [(packets >> 64 * i & (1 << 64) - 1, total >> 64 * i & (1 << 64) - 1) for i in range(METER_BANDS)]
    return [(int(dut.packets.value), int(dut.bytes.value)), *bands]


RATES = (0, 1, 1000, 100_000, 1 << 20, 12_345_678, (1 << 32) - 1)


def some_bands() -> list[Band]:
    """Two bands of any kind, slow or fast ones, with small or large buckets."""
    rates = [random.choice(RATES) for _ in range(METER_BANDS)]
    if random.random() < 0.1:
        rates[1] = rates[0]
    return [
        Band(random.choice(list(BandKind)), rate, random.choice((0, 1, 12, 300, (1 << 32) - 1)), random.getrandbits(3))
        for rate in rates
    ]


@behaviour()
@cocotb.parametrize(packets=[False, True])
async def every_packet_is_judged_as_by_exact_buckets(dut: Any, packets: bool) -> None:
    bank = Bank(dut)
    await bank.begin()
    steps = (0, 1, 3, 1000, 100_000, 10**7, 10**10, 1 << 45)
    for _ in range(200):
        await bank.write(random.randrange(bank.size), packets=packets, bands=some_bands())
        for _ in range(random.randrange(20)):
            number = random.choice((*bank.meters, random.getrandbits(16)))
            size = random.choice((1, 64, 1518, random.getrandbits(17)))
            await bank.request(number, size, random.choice(steps[: random.choice((3, 5, len(steps)))]))
    await bank.check_counters()
    judged = set(bank.answers)
    assert (True, 0) in judged and (False, 0) in judged and len(judged) > 5


@behaviour()
async def a_rate_is_kept_to_the_bit_over_a_long_time(dut: Any) -> None:
    """Of a stream at more than the rate, exactly the burst and rate times time pass, less than a packet missing."""
    bank = Bank(dut)
    await bank.begin()
    rate, burst, size, step = 1_000_003, 20, 700, 997
    await bank.write(0, packets=False, bands=[Band(BandKind.DROP, rate, burst), Band(BandKind.NONE, 0, 0)])
    begin_ns = bank.meters[0].now_ns
    for _ in range(2000):
        await bank.request(0, size, step)
    end_ns = bank.meters[0].now_ns
    await bank.settle()
    passed = 8 * size * sum(not drop for drop, _ in bank.answers)
    allowed = burst * 1000 + Fraction(rate * 1000 * (end_ns - begin_ns), 10**9)
    assert allowed - 8 * size < passed <= allowed
    assert 0 < passed < 8 * size * len(bank.answers)


@behaviour()
async def a_bucket_stays_full_however_long_it_waits(dut: Any) -> None:
    bank = Bank(dut)
    await bank.begin()
    bank.now_ns = 1 << 40
    bands = [Band(BandKind.DROP, 1 << 20, 1), Band(BandKind.DSCP_REMARK, (1 << 32) - 1, 1, 3)]
    await bank.write(0, packets=True, bands=bands)
    await bank.request(0, 64)
    for bit in range(63):
        await bank.settle()
        bank.now_ns = bank.meters[0].now_ns + (1 << bit)
        dut.time_ns.value = bank.now_ns
        await bank.request(0, 64, 0)
        await bank.request(0, 64, 0)
    await bank.settle()
    assert bank.answers[-2:] == [(False, 0), (False, 3)]


@behaviour()
async def of_two_bands_that_are_exceeded_the_faster_one_applies(dut: Any) -> None:
    bank = Bank(dut)
    await bank.begin()
    slow, fast = Band(BandKind.DSCP_REMARK, 1000, 8, 2), Band(BandKind.DROP, 2000, 16)
    for number, bands in enumerate(([slow, fast], [fast, slow])):
        await bank.write(number, packets=False, bands=bands)
        for _ in range(4):
            await bank.request(number, 1000, 0)
    await bank.settle()
    assert bank.answers == [(False, 0), (False, 2), (True, 0), (True, 0)] * 2
    assert await bank.read(0) == [(4, 4000), (1, 1000), (2, 2000)]
    assert await bank.read(1) == [(4, 4000), (2, 2000), (1, 1000)]


@behaviour()
async def writing_a_meter_fills_its_buckets_and_clears_its_counters(dut: Any) -> None:
    bank = Bank(dut)
    await bank.begin()
    bands = [Band(BandKind.DROP, 0, 2), Band(BandKind.NONE, 0, 0)]
    for _ in range(2):
        await bank.write(5, packets=True, bands=bands)
        for _ in range(3):
            await bank.request(5, 100)
    await bank.settle()
    assert bank.answers == [(False, 0), (False, 0), (True, 0)] * 2
    assert await bank.read(5) == [(3, 300), (1, 100), (0, 0)]


@behaviour()
async def a_meter_that_is_off_passes_all_and_counts_nothing(dut: Any) -> None:
    bank = Bank(dut)
    await bank.begin()
    bands = [Band(BandKind.DROP, 0, 0)] * METER_BANDS
    await bank.request(1, 100)
    await bank.write(1, packets=True, bands=bands)
    await bank.request(1, 100)
    await bank.write(1 | bank.size, packets=True, bands=[Band(BandKind.NONE, 0, 0)] * METER_BANDS)
    await bank.request(1, 100)
    await bank.write(1, packets=True, bands=bands, on=False)
    await bank.request(1, 100)
    await bank.request(1 | bank.size, 100)
    await bank.settle()
    assert bank.answers == [(drop, 0) for drop in (False, True, True, False, False)]
    assert await bank.read(1) == [(0, 0)] * (1 + METER_BANDS)
    assert await bank.read(1 | bank.size) == [(0, 0)] * (1 + METER_BANDS)


@behaviour()
async def a_request_is_taken_every_four_cycles_while_counters_are_read(dut: Any) -> None:
    bank = Bank(dut)
    await bank.begin()
    bands = [Band(BandKind.DSCP_REMARK, 1, 1, 1), Band(BandKind.DROP, 2, 1)]
    await bank.write(0, packets=False, bands=bands)
    for _ in range(4):
        await bank.request(0, 64)
    await bank.settle()
    passed = bank.meters[0].counts[0][0] - sum(packets for packets, _ in bank.meters[0].counts[1:])
    bank.taken_at.clear()
    asking = cocotb.start_soon(keep_asking(bank))
    for pause in range(40):
        await cycles(dut.clk, pause % 9)
        dut.read.value, dut.read_number.value = 1, 0
        await RisingEdge(dut.clk)
        dut.read.value = 0
        await RisingEdge(dut.clk)
        while not dut.read_valid.value:
            await RisingEdge(dut.clk)
        (packets, total), *bands = values(dut)
        assert total == 64 * packets and packets == passed + sum(count for count, _ in bands)
    asking.cancel()
    assert {later - taken for taken, later in zip(bank.taken_at, bank.taken_at[1:], strict=False)} == {APART}


async def keep_asking(bank: Bank) -> None:
    """Requests without a pause, in no time."""
    while True:
        await bank.request(0, 64, 0)


@behaviour()
async def a_reset_turns_all_meters_off(dut: Any) -> None:
    bank = Bank(dut)
    await bank.begin()
    for number in range(bank.size):
        await bank.write(number, packets=True, bands=[Band(BandKind.DROP, 0, 0)] * METER_BANDS)
    await bank.settle()
    again = Bank(dut)
    await again.begin()
    for number in range(again.size):
        await again.request(number, 100)
    await again.settle()
    assert again.answers == [(False, 0)] * again.size
