"""What accel_matcher promises, against a search that knows nothing but what a pattern is."""

import itertools
import random
from pathlib import Path
from typing import Any

import cocotb
from cocotb.utils import get_sim_time
from rpu_accel.patterns import cases, naive, rule_patterns, web_payload
from rpu_accel.unit import ADDR, IDENTIFICATION, LEN, PATIENCE, START, Unit
from simulation import ROOT

from headrace.cards.rpu.tables import Pattern, matcher_words
from headrace.testing.streams import PERIOD_PS, behaviour, bursts, cycles, mostly, never, seldom, until

SLOT, RULE, POSITION, NEXT, LEN_START, INTERRUPT = 0x18, 0x1C, 0x20, 0x24, 0x2C, 0x30
JOBS = 8
DOCUMENT, PROGRAM = ROOT / "LICENSE", Path("/bin/sh")
Found = list[tuple[int, int]]


async def begin(dut: Any, stalls: Any = never, job_stalls: Any = never) -> Unit:
    return await Unit.begin(dut, bytes(1 << 17), stalls(), job_stalls())


async def load(unit: Unit, patterns: list[Pattern]) -> None:
    words = matcher_words(patterns, int(unit.dut.ROWS.value))
    await unit.load([words[0], *random.sample(words[1:-1], len(words) - 2), words[-1]])


async def submit(unit: Unit, address: int, payload: bytes, slot: int = 0) -> None:
    unit.memory[address : address + len(payload)] = payload
    await unit.write(ADDR, address)
    await unit.write(SLOT, slot, 1)
    if random.random() < 0.5:
        await unit.write(LEN_START, len(payload))
    else:
        await unit.write(LEN, len(payload))
        await unit.write(START, 1, 1)


async def entry(unit: Unit) -> tuple[int, int]:
    value = await unit.read(NEXT)
    return value & 0xFFFF, value >> 16


async def entry_as_the_original(unit: Unit, slot: int) -> tuple[int, int]:
    """Poll, look, release."""
    for _ in range(PATIENCE):
        if await unit.read(START, 1):
            break
    assert await unit.read(SLOT, 1) == slot
    found = await unit.read(RULE), await unit.read(POSITION)
    await unit.write(START, 2, 1)
    await cycles(unit.dut.clk, 2)
    return found


async def report(unit: Unit, payload: bytes, original: bool = False, slot: int = 0) -> Found:
    """The matches of the oldest job."""
    found = []
    while True:
        number, position = await (entry_as_the_original(unit, slot) if original else entry(unit))
        if not number:
            assert position == len(payload)
            return found
        found.append((number, position))


@behaviour()
async def says_what_it_is_and_finds_nothing_without_tables(dut: Any) -> None:
    unit = await begin(dut)
    assert (await unit.read(IDENTIFICATION)).to_bytes(4, "little") == b"MTCH"
    await submit(unit, 0, b"abc" * 30)
    assert await report(unit, b"abc" * 30) == []
    assert await unit.read(START) == JOBS << 8
    assert dut.idle.value
    await load(unit, [])
    await cycles(dut.clk, 3)
    assert await unit.read(START) == JOBS << 8 | 1 << 24


@behaviour()
@cocotb.parametrize(case=range(len(cases())), stalls=[never, bursts])
async def each_match_is_reported_once_and_nothing_else(dut: Any, case: int, stalls: Any) -> None:
    unit = await begin(dut, stalls, stalls)
    patterns, payloads = cases()[case]
    await load(unit, patterns)
    for payload in payloads:
        await submit(unit, random.randrange(1 << 16), payload)
        assert await report(unit, payload) == naive(patterns, payload)


@behaviour()
@cocotb.parametrize(distance=[40, 200, 400])
async def matches_far_apart_wait_for_software(dut: Any, distance: int) -> None:
    """More than there is room for: matching stops amid bytes that are looked at later, however far it got."""
    unit = await begin(dut)
    patterns = [Pattern(random.randbytes(length)) for length in (4, 8, 33, 64)]
    await load(unit, patterns)
    payloads = []
    for index in range(JOBS):
        parts = [random.choice(patterns).content + random.randbytes(distance) for _ in range(7800 // (distance + 64))]
        payloads.append(b"".join(parts))
        await submit(unit, 8192 * index, payloads[-1])
    for payload in payloads:
        await cycles(dut.clk, 2000)
        assert await report(unit, payload) == naive(patterns, payload)


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, mostly])
async def queued_jobs_are_reported_in_order_and_keep_their_slot(dut: Any, stalls: Any) -> None:
    unit = await begin(dut, stalls, bursts)
    patterns = [*rule_patterns(200), Pattern(b"e"), Pattern(b"po", True)]
    await load(unit, patterns)
    for _ in range(3):
        lengths = [random.choice((0, 1, 16, 60, 200)) for _ in range(random.randint(1, JOBS))]
        jobs = [(random.randrange(1, 256), web_payload(length, patterns, 0.2)) for length in lengths]
        for index, (slot, payload) in enumerate(jobs):
            await submit(unit, 512 * index, payload, slot)
        for slot, payload in jobs:
            assert await report(unit, payload, True, slot) == naive(patterns, payload)
    await cycles(dut.clk, 3)
    assert dut.idle.value


@behaviour()
async def a_match_may_end_anywhere_in_a_beat(dut: Any) -> None:
    unit = await begin(dut)
    for length in (1, 2, 3, 4, 8, 9, 64):
        content = random.randbytes(length)
        patterns = [Pattern(content)]
        await load(unit, patterns)
        for offset in range(0, 131 if length == 9 else 20):
            payload = bytes(byte ^ 0xFF for byte in content[:1]) * offset + content
            await submit(unit, offset, payload)
            assert await report(unit, payload) == naive(patterns, payload)


@behaviour()
async def nothing_of_the_job_before_is_seen(dut: Any) -> None:
    unit = await begin(dut)
    patterns = [Pattern(b"abcdefghijklmnopqrstuvwxyz"[:length]) for length in (2, 3, 4, 20)]
    await load(unit, patterns)
    whole = b"abcdefghijklmnopqrst"
    for cut in range(len(whole) + 1):
        await submit(unit, 0, whole[:cut])
        await submit(unit, 64, whole[cut:])
        for payload in (whole[:cut], whole[cut:]):
            assert await report(unit, payload) == naive(patterns, payload)


@behaviour()
async def a_reader_that_is_late_loses_nothing(dut: Any) -> None:
    """One byte patterns that match everywhere: matching waits when its entries aren't taken."""
    unit = await begin(dut)
    patterns = [Pattern(bytes([byte])) for byte in b"abcd"] + [Pattern(b"a"), Pattern(b"A", True)]
    await load(unit, patterns)
    payloads = [bytes(random.choices(b"abcde", k=200)) for _ in range(3)]
    for index, payload in enumerate(payloads):
        await submit(unit, 256 * index, payload)
    await cycles(dut.clk, 1000)
    assert not dut.idle.value
    for payload in payloads:
        found = []
        for number in itertools.count():
            found.append(await entry(unit))
            if not found[-1][0]:
                break
            if number % 50 == 0:
                await cycles(dut.clk, random.randint(0, 150))
        assert found == [*naive(patterns, payload), (0, len(payload))]


@behaviour()
async def too_many_jobs_and_reads_of_nothing_are_flagged_and_harm_nothing(dut: Any) -> None:
    unit = await begin(dut)
    await load(unit, [Pattern(b"ab")])
    assert await entry(unit) == (0, 0)
    assert await unit.read(START + 2, 1) == 2
    await unit.write(START, 0x80, 1)
    await unit.write(INTERRUPT, 2)
    for index in range(JOBS + 2):
        await submit(unit, 32 * index, b"xab" * (index + 1))
    assert dut.interrupt.value
    assert await unit.read(START + 2, 1) == 1
    await unit.write(START, 0x80, 1)
    await unit.write(INTERRUPT, 1)
    await cycles(dut.clk, 40)
    for index in range(JOBS):
        assert dut.interrupt.value
        payload = b"xab" * (index + 1)
        assert await report(unit, payload) == naive([Pattern(b"ab")], payload)
    await cycles(dut.clk, 5)
    assert not dut.interrupt.value
    assert len(unit.jobs) == JOBS


def pieces(data: bytes) -> list[bytes]:
    """Some of a file, as long as what packets carry."""
    return [data[start : start + 1460] for start in random.sample(range(len(data) - 1460), 6)]


async def bytes_a_cycle(unit: Unit, payloads: list[bytes]) -> float:
    """From the first beat that is taken to the last job's end, with a reader that takes entries at once."""
    await unit.write(INTERRUPT, 0)
    for index, payload in enumerate(payloads):
        await submit(unit, 2048 * index, payload)
    await until(unit.dut.clk, lambda: bool(unit.dut.idle.value), 20_000)
    taken = int(get_sim_time("ps")) // PERIOD_PS - unit.beats[-sum(-(-len(p) // 64) for p in payloads)]
    return sum(map(len, payloads)) / taken


@behaviour()
async def takes_16_bytes_a_cycle_where_little_matches(dut: Any) -> None:
    unit = await begin(dut)
    rules = rule_patterns(1000)
    await load(unit, rules)
    if len(dut.s_axis_tdata) != 512:
        return
    files = {"noise": random.randbytes(1 << 15), "text": DOCUMENT.read_bytes(), "program": PROGRAM.read_bytes()}
    traffic = {name: pieces(data) for name, data in files.items()}
    traffic["attacks"] = [payload[:700] + random.choice(rules).content + payload[700:] for payload in traffic["text"]]
    figures = {}
    for name, payloads in traffic.items():
        matches = [naive(rules, payload) for payload in payloads]
        assert sum(map(len, matches)) < 50, name
        figures[name] = await bytes_a_cycle(unit, payloads)
        assert [await report(unit, payload) for payload in payloads] == matches
    dut._log.info("bytes a cycle: %s", {name: round(value, 2) for name, value in figures.items()})
    assert figures["noise"] > 14
