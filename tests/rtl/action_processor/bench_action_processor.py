"""What the action processor promises: each packet has the copies that OpenFlow says, in order, the last one marked."""

import random
from collections.abc import Callable
from typing import Any

import cocotb
from action_processor.model import Arrival, Run, Surroundings, Values, told, word
from action_processor.programs import Programs, arrival
from cocotb.triggers import RisingEdge
from streams import (
    PATTERNS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    Stalls,
    behaviour,
    bursts,
    cycles,
    mostly,
    never,
    seldom,
    start,
    until,
    watch_no_path,
)

from headrace.cards.switch.layout import ACTION, LAYERS, MATCH, REASON_TTL, Act

LATENCY = 16
ALL_PORTS = (1 << 64) - 1


def meter_answer(number: int) -> tuple[bool, int]:
    """What the bench's meters say."""
    return number % 16 == 0, number % 7


class Bench:
    """Packets in, copies out; memory, groups and meters beside it."""

    def __init__(self, dut: Any, stalls: Stalls | None = None, taking: Stalls | None = None) -> None:
        self.dut = dut
        self.tables = int(dut.TABLES.value)
        names = ("fields", "layers", "bytes", "metadata", "first", "programs")
        payload = tuple(getattr(dut, f"s_{name}") for name in names)
        self.source = Source(Channel(dut.clk, dut.s_valid, dut.s_ready, payload), [], stalls or never())
        self.sink = Sink(Channel(dut.clk, dut.m_valid, dut.m_ready, (dut.m_copy,)), taking or never())
        self.around = Surroundings({}, {}, ALL_PORTS, ALL_PORTS, 0, meter_answer)
        self.hashes: list[int] = []
        self.meters: list[tuple[int, int]] = []
        self.counts: list[tuple[int, int]] = []

    async def begin(self, memory: dict[int, Values] | None = None, groups: dict[int, int] | None = None) -> None:
        """Reset it and write programs and groups, a word a cycle and in any order."""
        dut, around = self.dut, self.around
        for name in ("write_valid", "group_write", "meter_ready", "meter_answer"):
            getattr(dut, name).value = 0
        for name in ("enabled", "live", "quiet"):
            getattr(dut, name).value = getattr(around, name)
        await start(dut)
        around.memory, around.groups = memory or {}, groups or {}
        dut.write_valid.value = 1
        for address, members in random.sample(list(around.memory.items()), len(around.memory)):
            dut.write_address.value, dut.write_word.value = address, ACTION.pack(**members)
            await cycles(dut.clk, 1)
        dut.write_valid.value = 0
        for number, program in around.groups.items():
            dut.group_write.value, dut.group_number.value, dut.group_program.value = 1, number, program
            await cycles(dut.clk, 1)
        dut.group_write.value = 0
        await cycles(dut.clk, 4)
        for task in (self.sink.run(), self.watch(), self.serve_meters()):
            cocotb.start_soon(task)

    async def watch(self) -> None:
        """Note counts, and the hash of each packet, which is only told inside."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.count_valid.value:
                self.counts.append((int(dut.count_number.value), int(dut.count_bytes.value)))
            if dut.summed.value:
                self.hashes.append(int(dut.hash.value))

    async def serve_meters(self) -> None:
        """Answer, sooner or later."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            dut.meter_ready.value = int(random.random() < 0.7)
            await edge
            if dut.meter_valid.value and dut.meter_ready.value:
                self.meters.append((int(dut.meter_number.value), int(dut.meter_bytes.value)))
                dut.meter_ready.value = 0
                await cycles(dut.clk, random.choice((0, 1, 2, 6)))
                dut.meter_answer.value = 1
                dut.meter_drop.value, dut.meter_raise.value = meter_answer(self.meters[-1][0])
                await edge
                dut.meter_answer.value = 0

    async def send(self, packets: list[Arrival]) -> None:
        """Send them and wait until all is done."""
        lasts = sum(told(raw)["last"] for (raw,) in self.sink.taken) + len(packets)
        self.source.words = [
            (
                *(MATCH.pack(**packet.fields), LAYERS.pack(**packet.layers), packet.bytes, packet.metadata),
                *(packet.first, sum(program << 16 * i for i, program in enumerate(packet.programs))),
            )
            for packet in packets
        ]
        await self.source.run()
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), 5000 + 100 * len(packets))
        await cycles(self.dut.clk, 2)
        assert not self.dut.m_valid.value
        assert sum(told(raw)["last"] for (raw,) in self.sink.taken) == lasts

    def copies(self) -> list[list[dict[str, Any]]]:
        """Of each packet; the last one only if it goes anywhere."""
        packets: list[list[dict[str, Any]]] = [[]]
        for (raw,) in self.sink.taken:
            copy = told(raw)
            goes = copy["ports"] or copy["host"] or copy["resubmit"]
            assert goes or copy["last"], "a copy to nowhere that is not the last one"
            if goes:
                packets[-1].append(copy)
            if copy["last"]:
                packets.append([])
        return packets[:-1]

    def check(self, packets: list[Arrival]) -> list[Run]:
        """Compare all with the model."""
        found = self.copies()
        assert len(found) == len(packets) == len(self.hashes)
        runs = [Run(packet, self.around, hashed) for packet, hashed in zip(packets, self.hashes, strict=True)]
        for run, copies in zip(runs, found, strict=True):
            assert len(copies) == len(run.copies), f"{run.packet}: {copies} instead of {run.copies}"
            for copy, due in zip(copies, run.copies, strict=True):
                wrong = {name: (copy[name], value) for name, value in due.items() if copy[name] != value}
                assert not wrong, f"{run.packet}: found, expected: {wrong}"
        assert self.meters == [asked for run in runs for asked in run.meters]
        assert self.counts == [counted for run in runs for counted in run.counts]
        return runs


def program_of(*words: Values, at: int = 16) -> dict[int, Values]:
    """The memory of one program."""
    words[-1]["last"] = 1
    return dict(enumerate(words, at))


def output(port: int = 1) -> Values:
    """To one port."""
    return word(Act.NONE, out=1, port=port - 1)


@behaviour()
@cocotb.parametrize(stalls=PATTERNS, taking=[never, mostly, bursts])
async def random_programs_do_to_random_packets_what_openflow_says(
    dut: Any, stalls: Callable[[], Stalls], taking: Callable[[], Stalls]
) -> None:
    bench = Bench(dut, stalls(), taking())
    programs = Programs(int(dut.PROGRAM_WORDS.value), int(dut.GROUPS.value))
    bench.around.enabled = random.getrandbits(64) | 7
    bench.around.live, bench.around.quiet = random.getrandbits(64), random.getrandbits(64) & ~2
    await bench.begin(programs.memory, programs.group_starts)

    def program() -> int:
        return random.choice(programs.starts) if random.random() < 1.5 / bench.tables else 0

    packets = [arrival([program() for _ in range(bench.tables)], program()) for _ in range(300)]
    await bench.send(packets)
    runs = bench.check(packets)
    assert sum(len(run.copies) for run in runs) > 500
    assert any(run.meters for run in runs) and any(run.counts for run in runs)
