"""What the writer promises: each command's bytes where they belong and no others, in bursts that the bus may carry."""

import logging
import random
from typing import Any

import cocotb
from capture.host import DECERR, OKAY, PAGE, SLVERR, Host, start
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiRamWrite, AxiWriteBus

from headrace.testing.streams import (
    PAIRS,
    Channel,
    Source,
    Stalls,
    Word,
    behaviour,
    bursts,
    cycles,
    frame_words,
    never,
    seldom,
    until,
)

Command = tuple[int, bytes, int]  # address, what the frame has, length of the command


class Bench:
    """A writer with commands and frames, and a host's memory; what memory must hold in the end."""

    def __init__(self, dut: Any, host: Host | None = None) -> None:
        self.dut = dut
        self.host = host
        self.size = len(dut.s_axis_tkeep)
        self.done: list[int] = []

    async def watch(self) -> None:
        edge = RisingEdge(self.dut.clk)
        while True:
            await edge
            if self.dut.done.value:
                self.done.append(int(self.dut.done_error.value))

    async def run(self, commands: list[Command], command_stalls: Stalls, stalls: Stalls, blank: bool = False) -> int:
        """Gives all commands and their frames, and waits until all is written; gives the cycles. ``blank``: the last
        beat of a frame that is too short has no bytes."""
        dut = self.dut
        await start(dut, "cmd_valid", "s_axis_tvalid", "m_axi_awready", "m_axi_wready", "m_axi_bvalid", "m_axi_bid")
        cocotb.start_soon(self.watch())
        if self.host:
            cocotb.start_soon(self.host.run())
        await cycles(dut.clk, 2)
        assert dut.idle.value
        words: list[Word] = []
        for _, data, length in commands:
            beats = frame_words(data, 8 * self.size, lambda: 0)
            if blank and len(data) < length:
                beats[-1] = (beats[-1][0], 0, 1, 0)
            words += beats
        payload = (dut.cmd_addr, dut.cmd_bytes)
        given = [(address, length) for address, _, length in commands]
        cocotb.start_soon(Source(Channel(dut.clk, dut.cmd_valid, dut.cmd_ready, payload), given, command_stalls).run())
        cocotb.start_soon(Source(Channel.axis(dut, "s"), words, stalls).run())
        count = 0
        while len(self.done) < len(commands):
            await RisingEdge(dut.clk)
            count += 1
            assert count < 100_000
        await until(dut.clk, lambda: bool(dut.idle.value), 100)
        await cycles(dut.clk, 5)
        assert dut.idle.value and len(self.done) == len(commands)
        return count

    def covered(self, command: Command) -> range:
        address, _, length = command
        return range(address // self.size * self.size, address + length, self.size)


def expected(host: Host, commands: list[Command], blank: int = 0) -> dict[int, bytearray]:
    """Pages as they must be: the commands' bytes, in order, where words may be written. ``blank``: bytes of a beat that
    the last one of a frame that is too short has none of."""
    pages: dict[int, bytearray] = {}
    for address, data, length in commands:
        end = (len(data) - 1) // blank * blank if blank and len(data) < length else len(data)
        for offset, byte in enumerate(data[:end]):
            place = address + offset
            page = pages.setdefault(place // PAGE, bytearray(random.Random(place // PAGE).randbytes(PAGE)))
            if host.bad_write(place // host.size * host.size) == OKAY:
                page[place % PAGE] = byte
    return pages


def check(host: Host, pages: dict[int, bytearray]) -> None:
    for number, page in pages.items():
        assert host.page(number) == page


def somewhere(count: int, longest: int = 600) -> list[Command]:
    """Commands at random places, some of them around a page's end, and some over others."""
    made: list[Command] = []
    for _ in range(count):
        page = random.choice((0, 1, 7, random.randrange(1 << 52))) * PAGE
        address = page + random.choice((random.randrange(PAGE), PAGE - random.randrange(200)))
        length = random.choice((1, random.randint(1, 16), random.randint(1, longest)))
        made.append((min(address, (1 << 64) - length), random.randbytes(length), length))
    return made


@behaviour()
async def every_offset_and_length(dut: Any) -> None:
    host = Host(dut=dut)
    bench = Bench(dut, host)
    size = bench.size
    lengths = {1, 2, size - 1, size, size + 1, 2 * size - 1, 2 * size, 3 * size + 1}
    lengths |= set(range(1, 12)) if size < 16 else {random.randint(1, 4 * size)}
    offsets = range(size) if size < 64 else random.sample(range(size), 16)
    commands = [
        (0x1000 * index + offset, random.randbytes(n), n)
        for index, n in enumerate(sorted(lengths))
        for offset in offsets
    ]
    random.shuffle(commands)
    await bench.run(commands, never(), never())
    check(host, expected(host, commands))


@behaviour()
@cocotb.parametrize((("host_stalls", "stalls"), PAIRS))
async def any_commands_under_any_stalls(dut: Any, host_stalls: Any, stalls: Any) -> None:
    host = Host(dut=dut, stalls=host_stalls, latency=lambda: random.randint(1, 20))
    bench = Bench(dut, host)
    commands = somewhere(25)
    await bench.run(commands, seldom(), stalls())
    assert not any(bench.done)
    check(host, expected(host, commands))
    longest = int(dut.BURST.value)
    for burst in host.write_bursts:
        end = burst.address + burst.beats * bench.size
        ends = any(command[0] < end <= command[0] + command[2] + bench.size for command in commands)
        assert burst.beats == longest or end % PAGE == 0 or ends, "a burst is shorter than it could be"


@behaviour()
@cocotb.parametrize(blank=[False, True])
async def a_frame_that_ends_early_leaves_the_rest_as_it_was(dut: Any, blank: bool) -> None:
    host = Host(dut=dut, stalls=bursts)
    bench = Bench(dut, host)
    commands = [
        (address, data[: random.randint(1, len(data))], len(data)) for address, data, _ in somewhere(40)
    ] + somewhere(5)
    await bench.run(commands, never(), seldom(), blank)
    check(host, expected(host, commands, bench.size if blank else 0))


@behaviour()
async def a_long_command_moves_a_beat_a_cycle(dut: Any) -> None:
    host = Host(dut=dut)
    bench = Bench(dut, host)
    beats = 200
    commands = [(PAGE - 5 * bench.size + 1, random.randbytes(beats * bench.size), beats * bench.size)]
    count = await bench.run(commands, never(), never())
    check(host, expected(host, commands))
    if int(dut.BURST.value) >= 4:
        assert count <= beats + 30


@behaviour()
@cocotb.parametrize(stalls=[never, bursts])
async def an_error_belongs_to_its_command_alone(dut: Any, stalls: Any) -> None:
    commands = [(PAGE * (index + 1) - 40, *command[1:]) for index, command in enumerate(somewhere(60))]
    bad: dict[int, int] = {}
    host = Host(dut=dut, stalls=stalls, bad_write=lambda word: bad.get(word, OKAY))
    bench = Bench(dut, host)
    wrong = []
    for command in commands:
        wrong.append(int(random.random() < 0.4))
        if wrong[-1]:
            bad[random.choice(list(bench.covered(command)))] = random.choice((SLVERR, DECERR))
    host.size = bench.size
    wrong = [int(any(word in bad for word in bench.covered(command))) for command in commands]
    await bench.run(commands, never(), stalls())
    assert bench.done == wrong
    check(host, expected(host, commands))


@behaviour()
async def the_longest_command(dut: Any) -> None:
    host = Host(dut=dut)
    bench = Bench(dut, host)
    length = (1 << 14) - 1
    commands = [(0x1000 + bench.size - 1, random.randbytes(length), length), (0x9000, b"x", 1)]
    await bench.run(commands, never(), never())
    check(host, expected(host, commands))


@behaviour()
@cocotb.parametrize(stalls=[never, seldom])
async def cocotbext_axi_agrees(dut: Any, stalls: Any) -> None:
    logging.getLogger(f"cocotb.{dut._name}.m_axi").setLevel(logging.WARNING)
    ram = AxiRamWrite(AxiWriteBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=1 << 16)
    ram.log.setLevel(logging.WARNING)
    image = bytearray(random.randbytes(1 << 16))
    ram.write(0, bytes(image))
    ram.aw_channel.set_pause_generator(stalls())
    ram.w_channel.set_pause_generator(stalls())
    ram.b_channel.set_pause_generator(stalls())
    commands = [(address % 60_000, data, length) for address, data, length in somewhere(25, 300)]
    await Bench(dut).run(commands, never(), stalls())
    for address, data, _ in commands:
        image[address : address + len(data)] = data
    assert ram.read(0, 1 << 16) == image
