"""What the reader promises: each command's bytes, in order, in bursts that the bus may carry, at the bus's rate."""

import logging
import random
from typing import Any

import cocotb
from capture.host import DECERR, OKAY, PAGE, SLVERR, Host, start
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiRamRead, AxiReadBus

from headrace.testing.streams import (
    PAIRS,
    Channel,
    Sink,
    Source,
    Stalls,
    behaviour,
    bursts,
    cycles,
    frames_of,
    gaps,
    never,
    seldom,
    until,
)

Command = tuple[int, int, int]  # address, bytes, direct


class Bench:
    """A reader between a host's memory and a sink, and notes of what arrived and of the direct words."""

    def __init__(self, dut: Any, host: Host | None, sink_stalls: Stalls) -> None:
        self.dut = dut
        self.host = host
        self.size = len(dut.m_axis_tkeep)
        self.sink = Sink(Channel.axis(dut, "m"), sink_stalls)
        self.arrived: list[tuple[int, int]] = []  # direct, error
        self.words: list[int] = []

    async def watch(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            await edge
            assert dut.m_axi_rready.value
            if dut.arrived.value:
                self.arrived.append((int(dut.arrived_direct.value), int(dut.arrived_error.value)))
            if dut.direct_valid.value:
                self.words.append(int(dut.direct_data.value))

    async def run(self, commands: list[Command], stalls: Stalls) -> None:
        """Give all commands and wait until everything is out."""
        dut = self.dut
        valid, ready = dut.cmd_valid, dut.cmd_ready
        payload = (dut.cmd_addr, dut.cmd_bytes, dut.cmd_direct)
        await start(dut, "cmd_valid", "m_axis_tready", "m_axi_arready", "m_axi_rvalid", "m_axi_rid")
        if self.host:
            cocotb.start_soon(self.host.run())
        cocotb.start_soon(self.watch())
        cocotb.start_soon(self.sink.run())
        await cycles(dut.clk, 2)
        assert dut.idle.value
        await Source(Channel(dut.clk, valid, ready, payload), list(commands), stalls).run()
        await until(dut.clk, lambda: len(self.arrived) >= len(commands), 100_000)
        await until(dut.clk, lambda: bool(dut.idle.value), 100_000)
        await cycles(dut.clk, 5)
        assert dut.idle.value

    def check(self, commands: list[Command], memory: Any) -> None:
        """Everything came out once, in order and unchanged, and the bursts are as few as can be."""
        bad = [any(memory.bad_read(word) for word in self.covered(c)) if self.host else False for c in commands]
        assert self.arrived == [(direct, int(b)) for (_, _, direct), b in zip(commands, bad, strict=True)]
        frames = frames_of(self.sink.taken)
        streamed = [(c, b) for c, b in zip(commands, bad, strict=True) if not c[2]]
        assert len(frames) == len(streamed)
        for (data, users), ((address, count, _), error) in zip(frames, streamed, strict=True):
            assert len(data) == count
            assert users[-1] == int(error)
            assert error or data == memory.read(address, count)
        words = [word for c in commands if c[2] for word in self.covered(c)]
        assert self.words == [int.from_bytes(memory.read(word, self.size), "little") for word in words]
        if self.host:
            assert [(b.address, b.beats) for b in self.host.read_bursts] == [
                b for c in commands for b in self.bursts(c)
            ]

    def covered(self, command: Command) -> range:
        """Addresses of the words in which the command's bytes lie."""
        address, count, _ = command
        return range(address // self.size * self.size, address + count, self.size)

    def bursts(self, command: Command) -> list[tuple[int, int]]:
        """The fewest bursts for a command."""
        longest, made = int(self.dut.BURST.value), []
        words = list(self.covered(command))
        while words:
            count = min(len(words), longest, (PAGE - words[0] % PAGE) // self.size)
            made.append((words[0], count))
            del words[:count]
        return made


def somewhere(count: int, direct: float = 0.0, longest: int = 600) -> list[Command]:
    """Commands at random places, some of them around a page's end."""
    made = []
    for _ in range(count):
        page = random.randrange(1 << 52) * PAGE
        address = page + random.choice((random.randrange(PAGE), PAGE - random.randrange(200)))
        length = random.choice((1, random.randint(1, 16), random.randint(1, longest)))
        made.append((min(address, (1 << 64) - length), length, int(random.random() < direct)))
    return made


@behaviour()
async def every_offset_and_length(dut: Any) -> None:
    host = Host(dut=dut)
    bench = Bench(dut, host, never())
    size = bench.size
    lengths = {1, 2, size - 1, size, size + 1, 2 * size - 1, 2 * size, 3 * size + 1}
    lengths |= set(range(1, 12)) if size < 16 else {random.randint(1, 4 * size)}
    commands = [(0x1000 * index + offset, n, 0) for index, n in enumerate(sorted(lengths)) for offset in range(size)]
    random.shuffle(commands)
    await bench.run(commands, never())
    bench.check(commands, host)


@behaviour()
@cocotb.parametrize((("host_stalls", "sink_stalls"), PAIRS))
async def any_commands_under_any_stalls(dut: Any, host_stalls: Any, sink_stalls: Any) -> None:
    host = Host(dut=dut, stalls=host_stalls, latency=lambda: random.randint(1, 20))
    bench = Bench(dut, host, sink_stalls())
    commands = somewhere(25, direct=0.2)
    await bench.run(commands, seldom())
    bench.check(commands, host)


@behaviour()
async def a_long_command_moves_a_beat_a_cycle(dut: Any) -> None:
    buffer, burst = int(dut.BUFFER.value), int(dut.BURST.value)
    host = Host(dut=dut, latency=lambda: buffer // 4)
    bench = Bench(dut, host, never())
    commands = [(PAGE - 5 * bench.size, 200 * bench.size, 0)]
    await bench.run(commands, never())
    bench.check(commands, host)
    # A burst takes some cycles to be planned, and a long one waits for room.
    if 4 <= burst <= buffer // 4:
        assert gaps(bench.sink.times_ps) == 0
        assert host.most_reads > 1


@behaviour()
async def short_commands_follow_each_other_at_full_rate(dut: Any) -> None:
    host = Host(dut=dut, latency=lambda: 8)
    bench = Bench(dut, host, never())
    commands = [(index * 8 * bench.size, 4 * bench.size, 0) for index in range(60)]
    await bench.run(commands, never())
    bench.check(commands, host)
    if int(dut.COMMANDS.value) > 12 and int(dut.BURST.value) >= 4:
        assert gaps(bench.sink.times_ps) == 0


@behaviour()
async def no_more_is_asked_for_than_has_room(dut: Any) -> None:
    host = Host(dut=dut)
    bench = Bench(dut, host, iter([True] * 400 + [False] * 100_000))
    buffer = int(dut.BUFFER.value)
    commands = [(PAGE * index, 2 * bench.size, 0) for index in range(buffer)]
    run = cocotb.start_soon(bench.run(commands, never()))
    await cycles(dut.clk, 390)
    assert host.read_beats <= buffer + 4
    await run
    bench.check(commands, host)


@behaviour()
async def direct_words_pass_a_stalled_stream(dut: Any) -> None:
    host = Host(dut=dut)
    bench = Bench(dut, host, iter([True] * 200 + [False] * 100_000))
    commands = [(0, bench.size, 0), (PAGE, 3 * bench.size, 1), (2 * PAGE - 1, 2, 1)]
    run = cocotb.start_soon(bench.run(commands, never()))
    await cycles(dut.clk, 100)
    assert len(bench.words) == 5 and not bench.sink.taken
    await run
    bench.check(commands, host)


@behaviour()
@cocotb.parametrize(stalls=[never, bursts])
async def an_error_belongs_to_its_command_alone(dut: Any, stalls: Any) -> None:
    commands = somewhere(60, direct=0.2)
    bad: dict[int, int] = {}
    host = Host(dut=dut, stalls=stalls, bad_read=lambda word: bad.get(word, OKAY))
    bench = Bench(dut, host, stalls())
    for command in commands:
        if not command[2] and random.random() < 0.4:
            bad[random.choice(list(bench.covered(command)))] = random.choice((SLVERR, DECERR))
    await bench.run(commands, never())
    bench.check(commands, host)
    assert {error for _, error in bench.arrived} == {0, 1}


@behaviour()
async def the_longest_command(dut: Any) -> None:
    host = Host(dut=dut)
    bench = Bench(dut, host, never())
    commands = [(0x1000 + bench.size - 1, (1 << int(dut.LEN_W.value)) - 1, 0), (0x5000, 1, 0)]
    await bench.run(commands, never())
    bench.check(commands, host)


@behaviour()
@cocotb.parametrize(stalls=[never, seldom])
async def cocotbext_axi_agrees(dut: Any, stalls: Any) -> None:
    logging.getLogger(f"cocotb.{dut._name}.m_axi").setLevel(logging.WARNING)
    ram = AxiRamRead(AxiReadBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, size=1 << 16)
    ram.log.setLevel(logging.WARNING)
    ram.write(0, random.randbytes(1 << 16))
    ram.r_channel.set_pause_generator(stalls())
    ram.ar_channel.set_pause_generator(stalls())
    bench = Bench(dut, None, stalls())
    commands = [(address % 60_000, count, direct) for address, count, direct in somewhere(25, 0.2, 300)]
    await bench.run(commands, never())
    bench.check(commands, ram)
