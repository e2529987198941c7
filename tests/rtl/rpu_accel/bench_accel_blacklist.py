"""What accel_blacklist promises, against Python's ipaddress."""

import random
from ipaddress import IPv4Network
from typing import Any

import cocotb
from rpu_accel.prefixes import apart, hosts, longest, random_prefixes
from rpu_accel.unit import IDENTIFICATION, Unit

from headrace.cards.rpu.tables import blacklist_words
from headrace.testing.streams import behaviour, cycles, never

SRC_IP, VERDICT, NUMBER, STATUS = 0, 4, 8, 12
LATENCY = 8


def swap(address: int) -> int:
    """As a little-endian core loads it from a packet."""
    return int.from_bytes(address.to_bytes(4, "big"), "little")


async def begin(dut: Any) -> Unit:
    return await Unit.begin(dut, b"", never(), never())


async def load(unit: Unit, prefixes: list[IPv4Network], order: bool = True) -> None:
    words = blacklist_words(prefixes, int(unit.dut.CAPACITY.value))
    if not order:
        words = [*random.sample(words[:-1], len(words) - 1), words[-1]]
    await unit.load(words, lambda: random.random() < 0.1)
    await cycles(unit.dut.clk, 3)


async def check(unit: Unit, prefixes: list[IPv4Network], count: int) -> None:
    for address in hosts(prefixes, count):
        await unit.write(SRC_IP, swap(address))
        expected = longest(prefixes, address)
        assert await unit.read(VERDICT, 1) == (expected is not None), hex(address)
        assert unit.last_cycles <= LATENCY + 1
        assert await unit.read(NUMBER) == (0xFFFF_FFFF if expected is None else expected), hex(address)


@behaviour()
async def without_a_table_nothing_matches(dut: Any) -> None:
    unit = await begin(dut)
    assert (await unit.read(IDENTIFICATION)).to_bytes(4, "little") == b"BLST"
    assert await unit.read(STATUS) == 0
    await check(unit, [], 20)
    await load(unit, [])
    assert await unit.read(STATUS) == 1
    await check(unit, [], 20)
    assert dut.idle.value


@behaviour()
async def the_longest_prefix_is_found_in_any_set(dut: Any) -> None:
    unit = await begin(dut)
    capacity = int(dut.CAPACITY.value)
    few = [["0.0.0.0/0"], ["255.255.255.255/32"], ["0.0.0.0/32", "255.255.255.255/32", "128.0.0.0/1"]]
    sets = [[IPv4Network(text) for text in texts] for texts in few]
    sets += [random_prefixes(capacity), apart(capacity), random_prefixes(capacity, range(24, 33))]
    for prefixes in sets:
        await load(unit, prefixes, random.random() < 0.5)
        await check(unit, prefixes, 300)


@behaviour()
async def a_new_table_is_used_whole_or_not_at_all(dut: Any) -> None:
    """Lookups while one is loaded find what the old one says; a verdict read after it is the new one's."""
    unit = await begin(dut)
    before, after = (random_prefixes(100) for _ in range(2))
    await load(unit, before)
    words = blacklist_words(after, int(dut.CAPACITY.value))
    loading = cocotb.start_soon(unit.load(words[:-1]))
    await check(unit, before, 200)
    await loading
    address = next(a for a in hosts([*before, *after], 10_000) if longest(before, a) != longest(after, a))
    tables = [(prefixes, blacklist_words(prefixes, int(dut.CAPACITY.value))) for prefixes in (after, before)]
    for wait in (0, 1, 3, 5, 6, 7, 8, 9, 20):
        (prefixes, words), (_, others) = tables
        await unit.load(words[:-1])
        await unit.write(SRC_IP, swap(address))
        await cycles(dut.clk, wait)
        await unit.load([words[-1], *others[:100]])
        expected = longest(prefixes, address)
        assert await unit.read(NUMBER) == (0xFFFF_FFFF if expected is None else expected)
        tables.reverse()


@behaviour()
async def the_last_address_written_counts(dut: Any) -> None:
    unit = await begin(dut)
    prefixes = [IPv4Network("10.0.0.0/8")]
    await load(unit, prefixes)
    for _ in range(40):
        for _ in range(random.randint(1, 5)):
            address = random.choice((0x0A01_0203, 0x0B01_0203))
            await unit.write(SRC_IP, swap(address))
            await cycles(dut.clk, random.choice((0, 0, 1, 7)))
        assert await unit.read(VERDICT) == (address >> 24 == 10)


@behaviour()
async def an_address_may_be_written_in_halves_or_bytes(dut: Any) -> None:
    unit = await begin(dut)
    await load(unit, [IPv4Network("1.2.3.4/32")])
    for size in (1, 2, 4):
        await unit.write(SRC_IP, 0)
        assert await unit.read(VERDICT) == 0
        for lane in range(0, 4, size):
            await unit.write(SRC_IP + lane, int.from_bytes(bytes([1, 2, 3, 4])[lane : lane + size], "little"), size)
        assert await unit.read(SRC_IP) == 0x04030201
        assert await unit.read(VERDICT) == 1
