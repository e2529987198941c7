"""A unit with firmware: what comes out is what software sent, byte for byte and in order; no slot is lost."""

import random
import struct
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from rpu_unit.unit import Sent, Unit

from headrace.testing.streams import PATTERNS, behaviour, bursts, cycles, mostly, never, together

HEADERS = 0x0080_4000
PROGRAM = 0x0200_0000
PACKETS = 0x0100_0000
SLOWER = 12  # cycles for a packet's four loads, with registers around the bus


def some_packets(count: int, longest: int = 700) -> list[tuple[bytes, int]]:
    """Payloads of all lengths and the ports they come from."""
    lengths = [
        random.choice((1, 2, 59, 60, 63, 64, 65, 127, 128, 129, random.randint(1, longest))) for _ in range(count)
    ]
    return [(random.randbytes(length), random.randrange(2)) for length in lengths]


@behaviour()
@cocotb.parametrize((("program", "stalls"), together(["bounce", "bounce2", "bounce10", "bounce61"], PATTERNS)))
async def packets_go_through_slots_at_any_address(dut: Any, program: str, stalls: Any) -> None:
    unit = Unit(dut, out_stalls=stalls(), in_stalls=stalls())
    await unit.start()
    await unit.boot(program)
    packets = some_packets(60)
    unit.give.extend(packets)
    await unit.until(len(packets))
    assert [(sent.payload, sent.port) for sent in unit.sent] == [(payload, port ^ 1) for payload, port in packets]
    await unit.settle()


@behaviour()
@cocotb.parametrize(
    slots=[("bounce0step64", 64), ("bounce61step64", 64), ("bounce10step200", 200)], stalls=[never, mostly, bursts]
)
async def a_packet_that_its_slot_is_too_short_for_is_dropped_whole(
    dut: Any, slots: tuple[str, int], stalls: Any
) -> None:
    program, size = slots
    unit = Unit(dut, out_stalls=stalls(), in_stalls=stalls())
    await unit.start()
    await unit.boot(program)
    packets = some_packets(60)
    packets += [(random.randbytes(size + longer), 0) for longer in (0, 1, -1, 0, size)]
    random.shuffle(packets)
    unit.give.extend(packets)
    fitting = [(payload, port ^ 1) for payload, port in packets if len(payload) <= size]
    assert 0 < len(fitting) < len(packets)
    await unit.until(len(fitting))
    await cycles(dut.clk, 2000)
    assert [(sent.payload, sent.port) for sent in unit.sent] == fitting
    assert (unit.too_long, int(dut.slot_bytes.value)) == (len(packets) - len(fitting), size)
    assert int(dut.status.value) >> 49 & 0xF_FFFF == 0, "software has done nothing wrong"
    await unit.settle()


@behaviour()
async def packets_of_many_slots_lengths_overwrite_nothing(dut: Any) -> None:
    unit = Unit(dut, out_stalls=mostly())
    await unit.start()
    await unit.boot("forwarder")
    lengths = (28_014, 60, 16_384, 16_385, 1500, 65_535, 60, 28_014, 9000)
    packets = [(random.randbytes(length), 0) for length in lengths]
    unit.give.extend(packets)
    fitting = [payload for payload, _ in packets if len(payload) <= 16_384]
    await unit.until(len(fitting), 60_000)
    assert [sent.payload for sent in unit.sent] == fitting
    assert unit.too_long == len(packets) - len(fitting)
    behind, unused = PACKETS + 16_384 * (len(lengths) + 1), random.randbytes(256)
    await unit.write(behind, unused)
    unit.give.append((random.randbytes(28_014), 0))  # into the slot before
    await unit.settle(2500)
    assert unit.too_long == len(packets) - len(fitting) + 1
    assert await unit.read(behind, len(unused)) == unused


@behaviour()
async def slots_of_64_kb_take_all_packets(dut: Any) -> None:
    unit = Unit(dut)
    await unit.start()
    await unit.boot("bounce2step65536")
    packets = [(random.randbytes(length), 0) for length in (65_535, 60)]
    unit.give.extend(packets)
    await unit.until(2, 60_000)
    assert [sent.payload for sent in unit.sent] == [payload for payload, _ in packets]
    assert unit.too_long == 0


@behaviour()
@cocotb.parametrize(program=["bounce", "bounce10"])
async def a_packets_beginning_is_in_its_header_slot(dut: Any, program: str) -> None:
    unit = Unit(dut)
    await unit.start()
    await unit.boot(program)
    start = 10 if program == "bounce10" else 0
    packets = some_packets(16)
    unit.give.extend(packets)
    await unit.until(len(packets))
    for number, (payload, _) in enumerate(packets):
        header = payload[: 128 - start]
        at = HEADERS + 128 * number + start
        assert (await unit.read(at & ~3, len(header) + 4))[at & 3 :][: len(header)] == header


@behaviour()
@cocotb.parametrize(
    (
        ("program", "length", "most"),
        [("forward", 60, 14), ("fast", 60, 12), ("forwarder", 60, 8), ("forwarder", 1500, 98)],
    )
)
async def a_packet_takes_few_cycles(dut: Any, program: str, length: int, most: int) -> None:
    unit = Unit(dut)
    await unit.start()
    await unit.boot(program)
    unit.give.extend((random.randbytes(length), 0) for _ in range(150))
    await unit.until(150)
    took = (unit.sent[-1].cycle - unit.sent[49].cycle) / 100
    dut._log.info(f"{program}: {took} cycles a packet of {length} bytes")
    assert took <= most + SLOWER * int(dut.BUS_REGS.value)


@behaviour()
async def the_host_reads_what_it_wrote(dut: Any) -> None:
    unit = Unit(dut)
    await unit.start()
    for address in (0x0200_0010, 0x0080_0020, 0x0100_0044):
        data = random.randbytes(400)
        await unit.write(address, data)
        assert await unit.read(address, len(data)) == data


@behaviour()
async def registers_say_what_the_unit_is(dut: Any) -> None:
    unit = Unit(dut)
    await unit.start(core_id=5)
    dut.debug_in.value = 0xCAFE_F00D_1234_5678
    await unit.boot("report")
    await unit.until(2)
    words = struct.unpack("<12I3s", unit.sent[0].payload)
    assert words[:6] == (5, 16 << 10, 32 << 10, 512 << 10, 8 << 10, 32)
    assert words[6] == 0xFFF0
    assert words[7:10] == (0x1234_5678, 0xCAFE_F00D, 0x0DF0_FECA)
    assert 0 < words[10] < unit.cycle
    assert words[11] >> 8 == 0, "no write, read or message waits"
    assert words[12] == bytes([0x5A, words[12][1], 0xEF])
    assert (unit.sent[0].port, unit.sent[0].to_unit) == (2, False)
    assert int(dut.debug_out.value) == 0x0123_4567_89AB_CDEF
    data_memory = Sent(bytes(range(51)), 7, True, unit.sent[1].cycle)
    assert unit.sent[1] == data_memory
    assert unit.slots == 4


# What a packet makes the program do wrong, the flag that tells it, and whether the packet is sent nonetheless
FAULTS = {0: (12, False), 1: (12, False), 2: (12, True), 3: (10, False), 4: (11, True), 5: (12, True)}
WRONG_ADDRESSES = {1: 0x0108_0000 - 59, 4: 0x0100_0140, 6: 0x0081_0000, 7: 0x0108_0000, 8: 0x300, 9: 0x0200_0000}
WRONG_ADDRESSES[10] = 0x0040_0000
FAULTS |= {6: (17, True), 7: (18, True), 8: (19, True), 9: (16, True), 10: (19, True), 11: (10, True), 12: (10, True)}


@behaviour()
async def what_software_does_wrong_is_flagged_and_costs_no_slot(dut: Any) -> None:
    unit = Unit(dut)
    await unit.start()
    dut.accel_there.value, dut.reg_ready.value, dut.reg_rdata.value = 0, 1, 0
    await unit.boot("faults")
    order = random.sample(sorted(FAULTS), len(FAULTS))
    sent = seen = 0
    for number, fault in enumerate(order):
        flag, comes = FAULTS[fault]
        payload = bytes([fault]) + random.randbytes(3) + (number + 1).to_bytes(4, "little") + random.randbytes(52)
        mark = int.from_bytes(payload[4:8], "little")
        unit.give.append((payload, 1))
        for _ in range(1000):
            await RisingEdge(dut.clk)
            flags = int(dut.debug_out.value) & 0xFFFF_FFFF
            if int(dut.debug_out.value) >> 32 == mark and flags:
                break
        assert flags == 1 << flag, f"fault {fault}"
        sent += comes
        assert len(unit.sent) == sent
        if comes:
            assert unit.sent[-1].payload == payload
        await unit.settle()
        seen |= 1 << flag
        assert int(dut.status.value) >> 49 & 0xF_FFFF == seen, "acknowledged, but not forgotten"
        if fault in WRONG_ADDRESSES:
            assert int(dut.error_addr.value) == WRONG_ADDRESSES[fault]
        assert PROGRAM <= int(dut.error_pc.value) < PROGRAM + (16 << 10)
    dut.core_rst.value = 1
    await cycles(dut.clk, 2)
    assert int(dut.status.value) >> 49 & 0xF_FFFF == int(dut.error_addr.value) == int(dut.error_pc.value) == 0


@behaviour()
async def interrupts_reach_software_and_an_evicted_unit_is_empty(dut: Any) -> None:
    unit = Unit(dut)
    await unit.start()
    await unit.boot("interrupts")

    async def counts() -> tuple[int, ...]:
        return struct.unpack("<13I", await unit.read(0x0080_3000, 52))

    while (await counts())[12] != 1:
        await cycles(dut.clk, 20)
    found = await counts()
    assert found[8:10] == (5, 0x0081_0000), "a load of what isn't there is an exception"
    assert unit.broadcasts == [(0x6020, 0x1234_5678)]

    before, cycle = found[0], unit.cycle
    await cycles(dut.clk, 2500)
    assert abs((await counts())[0] - before - (unit.cycle - cycle) / 500) <= 1, "the timer rings each 500 * 4 ns"

    for address in (0x6010, 0x6110, 0x6020):  # the filter wants the first two
        dut.message_valid.value = 1
        dut.message.value = address << 36 | 0xABCD_0000 << 4 | 0xF
        await RisingEdge(dut.clk)
        while not dut.message_ready.value:
            await RisingEdge(dut.clk)
        dut.message_valid.value = 0
        await cycles(dut.clk, 300)
    found = await counts()
    assert (found[3], found[10]) == (2, 0x0080_6110)
    assert await unit.read(0x0080_6020, 4) == b"\x00\x00\xcd\xab"

    dut.poke.value = 1
    await RisingEdge(dut.clk)
    dut.poke.value = 0
    unit.give.extend(some_packets(10))
    await cycles(dut.clk, 3000)
    assert (await counts())[4] == 1
    assert unit.sent == []
    await unit.settle(sleeps=False)

    unit.give.extend(some_packets(6))
    await cycles(dut.clk, 30)
    dut.evict.value = 1
    await RisingEdge(dut.clk)
    dut.evict.value = 0
    await cycles(dut.clk, 1500)
    assert int(dut.status.value) & 1, "ready to be evicted"
    await unit.settle(sleeps=False)
    dut.core_rst.value = 1
    await cycles(dut.clk, 2)
    assert not int(dut.status.value) & 1


@behaviour()
async def a_reset_core_forgets_and_boots_again(dut: Any) -> None:
    unit = Unit(dut, out_stalls=mostly())
    await unit.start()
    await unit.boot("bounce")
    unit.give.extend(some_packets(8))
    await unit.until(3)
    unit.give.clear()
    await cycles(dut.clk, 200)
    dut.core_rst.value = 1
    await cycles(dut.clk, 10)
    assert dut.idle.value
    unit.free.clear()
    await unit.boot("report")
    sent = len(unit.sent)
    await unit.until(sent + 2)
    assert (unit.slots, sorted(unit.free)) == (4, [1, 2, 3, 4])


@behaviour()
async def the_core_reads_and_writes_the_accelerators_registers(dut: Any) -> None:
    unit = Unit(dut)
    await unit.start()
    await unit.boot("accelerator")
    written, wait, reads = {}, 0, 0
    for _ in range(4000):
        await RisingEdge(dut.clk)
        if dut.debug_out.value != 0:
            break
        if dut.reg_ready.value:
            assert dut.reg_valid.value
            if dut.reg_write.value:
                written[int(dut.reg_addr.value)] = (int(dut.reg_wdata.value), int(dut.reg_wstrb.value))
            else:
                reads += 1
            dut.reg_ready.value, wait = 0, random.randrange(5)
        elif dut.reg_valid.value and wait == 0:
            dut.reg_ready.value = 1
            dut.reg_rdata.value = int(dut.reg_addr.value) * 3
        wait -= wait > 0
    assert int(dut.debug_out.value) == sum(3 * address for address in range(0, 64, 4))
    assert reads == 16
    assert {address: data for address, (data, _) in written.items()} == {4 * i: 0x1000 + i for i in range(16)}


# The debug port: control register, instructions, hardware breakpoints; bits of control and status
CONTROL, INSTRUCTION, BREAKPOINT = 0x00, 0x04, 0x40
STEP, HALT, NO_EBREAK, GO = 1 << 4, 1 << 17, 1 << 18, 1 << 25
HALTED, BUSY, BY_BREAK = 1 << 1, 1 << 2, 1 << 3
EBREAK = 0x0010_0073


class Port:
    """The debug port of a unit's core."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut

    async def _access(self, register: int, write: bool, value: int = 0) -> int:
        dut = self.dut
        dut.debug_valid.value, dut.debug_write.value = 1, write
        dut.debug_addr.value, dut.debug_wdata.value = register, value
        await RisingEdge(dut.clk)
        while not dut.debug_ready.value:
            await RisingEdge(dut.clk)
        dut.debug_valid.value = 0
        await RisingEdge(dut.clk)
        return int(dut.debug_rdata.value)

    async def control(self, bits: int) -> None:
        await self._access(CONTROL, True, bits)

    async def halted(self, limit: int = 200) -> int:
        """Waits until the core stands still, and gives the program counter."""
        for _ in range(limit):
            status = await self._access(CONTROL, False)
            if status & HALTED and not status & BUSY:
                return await self._access(INSTRUCTION, False) if status & BY_BREAK else await self.execute(0x17)
        raise AssertionError(f"the core does not halt in {limit} looks")

    async def execute(self, instruction: int) -> int:
        """Has the halted core execute an instruction; what that writes."""
        await self._access(INSTRUCTION, True, instruction)
        await cycles(self.dut.clk, 4)
        return await self._access(INSTRUCTION, False)

    async def read(self, number: int) -> int:
        return await self.execute(0x13 | number << 15)

    async def write(self, number: int, value: int) -> None:
        await self.execute(0x37 | number << 7 | value + 0x800 & 0xFFFF_F000)
        await self.execute(0x13 | number << 7 | number << 15 | (value & 0xFFF) << 20)

    async def go(self, pc: int, how: int = 0) -> None:
        saved = await self.read(1)
        await self.write(1, pc)
        await self.execute(0x67 | 1 << 15)
        await self.write(1, saved)
        await self.control(GO | how)

    async def set_breakpoint(self, number: int, pc: int | None) -> None:
        await self._access(BREAKPOINT + 4 * number, True, 0 if pc is None else pc | 1)


@behaviour()
@cocotb.parametrize(sleeps=[True, False])
async def a_core_is_halted_and_goes_on_as_if_nothing_had_been(dut: Any, sleeps: bool) -> None:
    """Asleep, and at any moment of its work; between, its registers are read, changed and put back."""
    unit, port = Unit(dut), Port(dut)
    await unit.start()
    await unit.boot("bounce")
    packets = some_packets(40)
    if sleeps:
        while not (unit.slots and dut.idle.value):
            await RisingEdge(dut.clk)
        unit.give.extend(packets)
    else:
        unit.give.extend(packets)
        await unit.until(3)
    for _ in range(8):
        await cycles(dut.clk, random.randrange(60))
        await port.control(HALT)
        pc = await port.halted()
        assert PROGRAM <= pc < PROGRAM + (16 << 10)
        registers = [await port.read(number) for number in range(32)]
        assert registers[0] == 0 and 0x0080_5F00 < registers[2] <= 0x0080_6000
        for number in random.sample(range(1, 32), 5):
            value = random.getrandbits(32)
            await port.write(number, value)
            assert await port.read(number) == value
            await port.write(number, registers[number])
        sent = len(unit.sent)
        await cycles(dut.clk, 100)
        assert len(unit.sent) <= sent + 16, "what was sent before goes out; the core sends nothing"
        assert [await port.read(number) for number in range(32)] == registers
        await port.go(pc, NO_EBREAK)
    await unit.until(len(packets))
    assert [(sent.payload, sent.port) for sent in unit.sent] == [(payload, port_ ^ 1) for payload, port_ in packets]
    await unit.settle()


@behaviour()
@cocotb.parametrize(hardware=[True, False])
async def a_core_halts_at_breakpoints_and_steps(dut: Any, hardware: bool) -> None:
    unit, port = Unit(dut), Port(dut)
    await unit.start()
    await unit.boot("bounce")
    while not (unit.slots and dut.idle.value):
        await RisingEdge(dut.clk)
    # The loop that waits for packets: a step goes to each of its instructions, and round it.
    await port.control(HALT)
    pc, loop = await port.halted(), []
    for _ in range(40):
        loop.append(pc)
        await port.go(pc, STEP)
        pc = await port.halted()
    turns = len(set(loop))
    assert 2 <= turns <= 12 and loop[turns:] == loop[:-turns], "it goes round"
    # Where a packet takes it, a breakpoint stops it, once a packet.
    unit.give.append((random.randbytes(80), 0))
    path = []
    while not path or path[-1] in loop:
        await port.go(pc, STEP)
        pc = await port.halted()
        path.append(pc)
    place = pc
    original = int.from_bytes(await unit.read(place, 4), "little")
    if not hardware:
        await unit.write(place, EBREAK.to_bytes(4, "little"))
        await port.execute(0x100F)  # fence.i
    for count in range(1, 5):
        if hardware:
            await port.set_breakpoint(~count & 1, None)  # where it stands
        else:
            await unit.write(place, original.to_bytes(4, "little"))
            await port.execute(0x100F)
        await port.go(pc, STEP)
        pc = await port.halted()
        if hardware:
            await port.set_breakpoint(count & 1, place)
        else:
            await unit.write(place, EBREAK.to_bytes(4, "little"))
            await port.execute(0x100F)
        await port.go(pc)
        await cycles(dut.clk, 600)
        assert len(unit.sent) == count
        unit.give.append((random.randbytes(80), 0))
        pc = await port.halted()
        assert pc == place and int(dut.program_counter.value) in range(PROGRAM, PROGRAM + (16 << 10))
    if hardware:
        for number in range(2):
            await port.set_breakpoint(number, None)
    else:
        await unit.write(place, original.to_bytes(4, "little"))
        await port.execute(0x100F)
    await port.go(pc, NO_EBREAK)
    await unit.until(5)
    await unit.settle()
