"""What the IDP table promises: the first match wins, two cycles later, and no lookup sees half an entry."""

import random
from collections import deque
from typing import Any

import cocotb
from bridge.noc_packets import Entry, Header, look_up, table_write
from cocotb.triggers import RisingEdge

from headrace.testing.streams import behaviour, start

MASKS = (0xFFFFFFFF, 0xFFFF0000, 0x0000FFFF, 0xFF, 1 << 31, 0)
HERE = 0b0110


def some_entry() -> Entry:
    return Entry(random.getrandbits(2) << 30 | random.getrandbits(3), random.choice(MASKS), Header.random())


@behaviour()
@cocotb.parametrize(write_share=[0.02, 0.5, 1.0])
async def every_lookup_sees_the_entries_as_they_are_in_its_cycle(dut: Any, write_share: float) -> None:
    """Writes to here and elsewhere, lookups in nearly every cycle."""
    await start(dut)
    dut.here.value = HERE
    dut.key_valid.value = dut.write.value = 0
    entries = int(dut.ENTRIES.value)
    table = [Entry(valid=0)] * entries
    due: deque[tuple[bool, Header | None]] = deque([(False, None)] * 2)
    hits = misses = 0
    for _ in range(4000):
        address, index = random.choice((HERE, HERE, HERE ^ 1 << random.randrange(6))), random.randrange(8)
        entry = Entry(some_entry().key, some_entry().mask, Header.random(), random.randint(0, 1))
        write = random.random() < write_share
        value = table_write(address, index, entry)
        dut.write.value = value if write else value & ~(1 << 148)
        asked, key = random.random() < 0.8, some_entry().key
        dut.key_valid.value, dut.key.value = asked, key
        await RisingEdge(dut.clk)
        valid, expected = due.popleft()
        assert dut.result_valid.value == valid
        if valid:
            assert dut.hit.value == (expected is not None)
            hits, misses = hits + (expected is not None), misses + (expected is None)
            if expected:
                assert int(dut.header.value) == expected.bits
        due.append((asked, look_up(table, key)))
        if write and address == HERE and index < entries:
            table[index] = entry
    assert hits > 20 and (misses > 20 or entries > 1)


@behaviour()
async def a_result_stays_until_the_next(dut: Any) -> None:
    await start(dut)
    dut.here.value = HERE
    dut.key_valid.value = 0
    entry = Entry(7, header=Header.random())
    dut.write.value = table_write(HERE, 0, entry)
    await RisingEdge(dut.clk)
    dut.write.value = 0
    dut.key_valid.value, dut.key.value = 1, 7
    await RisingEdge(dut.clk)
    dut.key_valid.value = 0
    for cycle in range(8):
        dut.key.value = random.getrandbits(32)
        await RisingEdge(dut.clk)
        assert dut.result_valid.value == (cycle == 1)
        if cycle >= 1:
            assert dut.hit.value and int(dut.header.value) == entry.header.bits
            dut.write.value = table_write(HERE, 0, Entry(valid=0))
