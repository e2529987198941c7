"""What the filter card's registers promise: what a host writes is loaded once, what happens is counted once."""

import logging
import random
from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Combine, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from headrace.testing.streams import PERIOD_PS, Stalls, behaviour, bursts, cycles, mostly, never, seldom

# Byte addresses of regs/filter.rdl
CARD, CORES, IMEM_WORDS, MAX_FRAME, DATA_W = range(0x000, 0x014, 4)
CONTROL, STATUS, BUDGET = 0x020, 0x024, 0x028
IMEM_ADDR, IMEM_K, IMEM_CODE = 0x030, 0x034, 0x038
PROGRAM_SLOT = 0x040
MEASUREMENT = 0x8000

SLOTS = 8
MEASURES = 1024
CODES = (0x00, 0x04, 0x06, 0x0C, 0x15, 0x20, 0x28, 0x30, 0x35, 0x50, 0x54, 0x60, 0x74, 0x80, 0x87, 0xB1, 0xFF, 0x1234)

# Counter -> its address, the event (signal, bit) that counts it up, and the signal that says by how much if not by 1
COUNTERS: dict[str, tuple[int, tuple[str, int] | None, str | None]] = {
    "inspected": (0x300, ("inspected", 0), None),
    "accepted": (0x308, ("accepted", 0), None),
    "forwarded": (0x310, ("forwarded", 0), None),
    "monitor_dropped": (0x318, ("monitor_dropped", 0), None),
    "forwarded_bytes": (0x320, ("forwarded", 0), "forwarded_bytes"),
    "slots_used": (0x328, None, "slots_used"),
    "instructions": (0x330, None, "instructions"),
    "measure_out_of_range": (0x338, ("measure_out_of_range", 0), None),
    "monitor_ignored": (0x340, ("monitor_ignored", 0), None),
}
for port in range(2):
    base = 0x100 + 0x40 * port
    COUNTERS[f"packets {port}"] = (base, ("packet", port), None)
    COUNTERS[f"bytes {port}"] = (base + 0x08, ("packet", port), f"packet_bytes_{port}")
    COUNTERS[f"uninspected {port}"] = (base + 0x10, ("uninspected", port), None)
    COUNTERS[f"bad {port}"] = (base + 0x18, ("bad", port), None)
    COUNTERS[f"held {port}"] = (base + 0x20, ("held", port), None)
for program in range(4):
    base = 0x200 + 0x20 * program
    COUNTERS[f"matched {program}"] = (base, ("matched", program), None)
    COUNTERS[f"matched bytes {program}"] = (base + 0x08, ("matched", program), "wire_bytes")
    COUNTERS[f"errors {program}"] = (base + 0x10, ("errors", program), None)

INPUTS = sorted({event[0] for _, event, _ in COUNTERS.values() if event} | {by for *_, by in COUNTERS.values() if by})


class Bench:
    """The registers with a host that waits at random, what is loaded, and a measurement that answers late."""

    def __init__(self, dut: Any, stalls: Sequence[Stalls] = ()) -> None:
        self.dut = dut
        self.edge = RisingEdge(dut.clk)
        self.stalls = stalls or [seldom() for _ in range(5)]
        self.instructions: list[tuple[int, int]] = []  # (address, decoded instruction)
        self.programs: list[tuple[int, int, int, int]] = []  # (slot, mode, length, base)
        self.asked: list[int] = []  # entries of the measurement
        self.entries: dict[int, tuple[int, int]] = {}

    async def start(self) -> None:
        """Reset with no event and start to watch."""
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in (*INPUTS, "set_busy", "ready", "measure_read_done"):
            getattr(dut, name).value = 0
        logging.getLogger("cocotb.filter_control_fields.s_axil").setLevel(logging.WARNING)
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        write, read = self.host.write_if, self.host.read_if
        channels = (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)
        for channel, stalls in zip(channels, self.stalls, strict=True):
            channel.set_pause_generator(stalls)
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        await cycles(dut.clk, 2)
        cocotb.start_soon(self._watch())
        cocotb.start_soon(self._measure())

    async def write(self, *writes: tuple[int, int]) -> None:
        """Write (address, value) in order, as fast as the registers take it; all must be answered with OKAY."""
        tasks = [cocotb.start_soon(self.host.write(at, value.to_bytes(4, "little"))) for at, value in writes]
        for task in tasks:
            assert (await task).resp == AxiResp.OKAY

    async def read(self, address: int, words: int = 1) -> int:
        """Read words, the low one first."""
        value = 0
        for word in range(words):
            answer = await self.host.read(address + 4 * word, 4)
            assert answer.resp == AxiResp.OKAY
            value |= int.from_bytes(answer.data, "little") << 32 * word
        return value

    async def decoded(self, code: int, jt: int, jf: int, k: int) -> int:
        """What an instruction is loaded as."""
        dut = self.dut
        dut.code.value, dut.jt.value, dut.jf.value, dut.k.value = code, jt, jf, k
        await self.edge
        await self.edge
        return int(dut.decoded.value)

    async def _watch(self) -> None:
        dut = self.dut
        while True:
            await self.edge
            if dut.instr_we.value:
                self.instructions.append((int(dut.instr_addr.value), int(dut.instr.value)))
            if dut.program_we.value:
                fields = (dut.program_addr, dut.program_mode, dut.program_length, dut.program_base)
                slot, mode, length, start = (int(field.value) for field in fields)
                self.programs.append((slot, mode, length, start))

    async def _measure(self) -> None:
        """Answer after 3 to 12 cycles with the entry, which stays until the next one; before, there is noise."""
        dut = self.dut
        while True:
            await self.edge
            if not dut.measure_read_req.value:
                continue
            index = int(dut.measure_read_index.value)
            self.asked.append(index)
            dut.measure_read_packets.value = random.getrandbits(64)
            dut.measure_read_bytes.value = random.getrandbits(64)
            for _ in range(random.randint(2, 11)):
                await self.edge
                assert not dut.measure_read_req.value, "asked again before it was answered"
            dut.measure_read_packets.value, dut.measure_read_bytes.value = self.entries[index]
            dut.measure_read_done.value = 1
            await self.edge
            dut.measure_read_done.value = 0


def random_instructions(count: int) -> list[tuple[int, int, int, int]]:
    """(code, jt, jf, k), codes that are known and some that are not."""
    return [
        (random.choice(CODES), random.getrandbits(8), random.getrandbits(8), random.getrandbits(32))
        for _ in range(count)
    ]


def writes_of(code: int, jt: int, jf: int, k: int) -> list[tuple[int, int]]:
    return [(IMEM_K, k), (IMEM_CODE, code | jt << 16 | jf << 24)]


@behaviour()
async def the_card_says_what_it_is(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    assert await bench.read(CARD) == 0x4652_0001
    for address, name in ((CORES, "CORES"), (IMEM_WORDS, "IMEM_WORDS"), (MAX_FRAME, "MAX_FRAME"), (DATA_W, "DATA_W")):
        assert await bench.read(address) == int(getattr(dut, name).value)


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, mostly, bursts])
async def each_instruction_is_loaded_once_at_the_next_address(dut: Any, stalls: Any) -> None:
    bench = Bench(dut, [stalls() for _ in range(5)])
    await bench.start()
    for start in (0, 700, 3):
        bench.instructions.clear()
        program = random_instructions(20)
        await bench.write((IMEM_ADDR, start), *(write for instruction in program for write in writes_of(*instruction)))
        await cycles(dut.clk, 4)
        expected = [(start + offset, await bench.decoded(*each)) for offset, each in enumerate(program)]
        assert bench.instructions == expected
        assert await bench.read(IMEM_ADDR) == start + len(program)
    assert bench.programs == []


@behaviour()
async def an_address_that_is_written_right_after_an_instruction_is_kept(dut: Any) -> None:
    bench = Bench(dut, [never() for _ in range(5)])
    await bench.start()
    program = random_instructions(20)
    places = random.sample(range(1 << 15), len(program))
    for place, (code, jt, jf, k) in zip(places, program, strict=True):
        await bench.write((IMEM_K, k))
        await bench.write((IMEM_ADDR, place), (IMEM_CODE, code | jt << 16 | jf << 24), (IMEM_ADDR, place ^ 1))
        assert await bench.read(IMEM_ADDR) == place ^ 1
    expected = [(place, await bench.decoded(*each)) for place, each in zip(places, program, strict=True)]
    assert bench.instructions == expected


@behaviour()
async def what_is_written_right_after_an_instruction_does_not_change_it(dut: Any) -> None:
    bench = Bench(dut, [never() for _ in range(5)])
    await bench.start()
    program = random_instructions(20)
    await bench.write((IMEM_ADDR, 5))
    for instruction in program:
        await bench.write(*writes_of(*instruction), (IMEM_K, random.getrandbits(32)), (BUDGET, 1))
    expected = [(5 + offset, await bench.decoded(*each)) for offset, each in enumerate(program)]
    assert bench.instructions == expected


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, mostly])
async def each_program_slot_is_loaded_once_with_its_fields(dut: Any, stalls: Any) -> None:
    bench = Bench(dut, [stalls() for _ in range(5)])
    await bench.start()
    expected = []
    for _ in range(4):
        slots = random.sample(range(SLOTS), SLOTS)
        loads = [(s, random.randrange(3), random.getrandbits(13), random.getrandbits(15)) for s in slots]
        words = [(PROGRAM_SLOT + 4 * s, mode << 30 | length << 16 | start) for s, mode, length, start in loads]
        await bench.write(*words)
        for address, word in words:
            assert await bench.read(address) == word
        expected += loads
    await cycles(dut.clk, 4)
    assert bench.programs == expected
    assert bench.instructions == []


@behaviour()
async def reads_load_nothing(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for address in (IMEM_ADDR, IMEM_K, IMEM_CODE, *range(PROGRAM_SLOT, PROGRAM_SLOT + 4 * SLOTS, 4)):
        assert await bench.read(address) == 0
    assert bench.instructions == [] and bench.programs == []


@behaviour()
async def the_budget_is_what_was_written_and_16384_before(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    assert await bench.read(BUDGET) == int(dut.budget.value) == 16384
    for budget in (0, 1, 0xFFFF):
        await bench.write((BUDGET, budget))
        await cycles(dut.clk, 2)
        assert await bench.read(BUDGET) == int(dut.budget.value) == budget


@behaviour()
async def control_bits_reach_the_engine(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for control in (0, 1, 3, 2, 0):
        await bench.write((CONTROL, control))
        assert await bench.read(CONTROL) == control
        assert (bool(dut.flow_control.value), bool(dut.active_set.value)) == (bool(control & 1), bool(control & 2))


@behaviour()
async def status_bits_come_from_the_engine(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for status in random.sample(range(8), 8):
        dut.ready.value = status & 1
        dut.set_busy.value = status >> 1
        assert await bench.read(STATUS) == status


class Events:
    """Drives events at random and counts along; `history` has what each counter said after each cycle."""

    def __init__(self, dut: Any, names: Sequence[str], rate: float) -> None:
        self.dut = dut
        self.names = names
        self.rate = rate
        self.history: dict[str, list[int]] = {name: [0] for name in COUNTERS}
        self.running = True

    async def run(self) -> None:
        """Until `running` falls."""
        signals = {name: getattr(self.dut, name) for name in INPUTS}
        events = {event for name in self.names if (event := COUNTERS[name][1])}
        amounts = {by for *_, by in COUNTERS.values() if by}
        free = {COUNTERS[name][2] for name in self.names if COUNTERS[name][1] is None}
        silent = {by for _, event, by in COUNTERS.values() if event is None} - free
        while self.running:
            values = dict.fromkeys(INPUTS, 0)
            for signal, bit in events:
                values[signal] |= (random.random() < self.rate) << bit
            for by in amounts - silent:
                values[by] = random.choice((random.getrandbits(len(signals[by])), (1 << len(signals[by])) - 1, 0))
            for name, value in values.items():
                signals[name].value = value
            await RisingEdge(self.dut.clk)
            for name, (_, event, by) in COUNTERS.items():
                counted = event is None or values[event[0]] >> event[1] & 1
                step = (values[by] if by else 1) if counted else 0
                self.history[name].append(self.history[name][-1] + step)
        for signal in signals.values():
            signal.value = 0
        await RisingEdge(self.dut.clk)


@behaviour()
@cocotb.parametrize(name=list(COUNTERS))
async def a_counter_counts_its_events_and_no_others(dut: Any, name: str) -> None:
    bench = Bench(dut, [never() for _ in range(5)])
    await bench.start()
    signal, bit = COUNTERS[name][1] or (COUNTERS[name][2], -1)
    shared = [each for each, (_, event, by) in COUNTERS.items() if (event or (by, -1)) == (signal, bit)]
    events = Events(dut, shared, 0.5)
    running = cocotb.start_soon(events.run())
    await cycles(dut.clk, 100)
    events.running = False
    await running
    assert events.history[name][-1] > 0
    for each, (address, *_) in COUNTERS.items():
        assert await bench.read(address, 2) == (events.history[each][-1] if each in shared else 0), each


@behaviour()
async def all_counters_count_at_once_while_they_are_read(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    events = Events(dut, list(COUNTERS), 0.8)
    running = cocotb.start_soon(events.run())
    for name in random.sample(list(COUNTERS), len(COUNTERS)):
        await bench.read(COUNTERS[name][0], 2)
    events.running = False
    await running
    for name, (address, *_) in COUNTERS.items():
        assert await bench.read(address, 2) == events.history[name][-1], name


@behaviour()
async def both_words_of_a_counter_tell_of_one_moment(dut: Any) -> None:
    # These bytes carry into the high word every other cycle, and the high word is read many cycles after the low one.
    bench = Bench(dut, [mostly() for _ in range(5)])
    await bench.start()
    name = "matched bytes 2"
    events = Events(dut, [name], 1.0)
    running = cocotb.start_soon(events.run())
    for _ in range(30):
        history = events.history[name]
        before = len(history) - 1
        value = await bench.read(COUNTERS[name][0], 2)
        assert value in history[before:]
    assert value >> 32 > 100
    events.running = False
    await running


def random_entries() -> dict[int, tuple[int, int]]:
    return {index: (random.getrandbits(64), random.getrandbits(64)) for index in range(MEASURES)}


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, mostly])
async def the_first_word_of_an_entry_asks_for_it_and_holds_the_others(dut: Any, stalls: Any) -> None:
    bench = Bench(dut, [stalls() for _ in range(5)])
    bench.entries = random_entries()
    await bench.start()
    indices = [0, 1, MEASURES - 1, *(random.randrange(MEASURES) for _ in range(40))]
    for index in indices:
        packets, size = bench.entries[index]
        address = MEASUREMENT + 16 * index
        assert await bench.read(address) == packets & 0xFFFFFFFF
        # What is counted meanwhile is not seen.
        bench.entries[index] = (random.getrandbits(64), random.getrandbits(64))
        for word in random.sample((1, 2, 3), 3):
            assert await bench.read(address + 4 * word) == (size << 64 | packets) >> 32 * word & 0xFFFFFFFF
    assert bench.asked == indices


@behaviour()
async def reads_of_the_measurement_may_follow_each_other_at_once(dut: Any) -> None:
    bench = Bench(dut, [never() for _ in range(5)])
    bench.entries = random_entries()
    await bench.start()
    first, count = 500, 20
    tasks = [cocotb.start_soon(bench.host.read(MEASUREMENT + 16 * first + 4 * n, 4)) for n in range(4 * count)]
    await Combine(*tasks)
    entries = [bench.entries[index] for index in range(first, first + count)]
    expected = b"".join(value.to_bytes(8, "little") for entry in entries for value in entry)
    assert b"".join(task.result().data for task in tasks) == expected
    assert bench.asked == list(range(first, first + count))


@behaviour()
async def writes_of_the_measurement_are_answered_and_change_nothing(dut: Any) -> None:
    bench = Bench(dut)
    bench.entries = random_entries()
    await bench.start()
    for index in (0, 9, MEASURES - 1):
        packets, size = bench.entries[index]
        assert await bench.read(MEASUREMENT + 16 * index) == packets & 0xFFFFFFFF
        await bench.write(*((MEASUREMENT + 16 * at + 4 * word, 1) for at in (index, 5) for word in range(4)))
        for word in (1, 2, 3):
            expected = (size << 64 | packets) >> 32 * word & 0xFFFFFFFF
            assert await bench.read(MEASUREMENT + 16 * index + 4 * word) == expected
    assert bench.asked == [0, 9, MEASURES - 1]
    assert bench.instructions == [] and bench.programs == []
