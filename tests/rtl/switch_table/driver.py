"""Sends packets through a flow table while operations change it, and judges each one by the states that it may see."""

import itertools
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import cocotb
from cocotb.triggers import Event, RisingEdge
from switch_table.model import ALL_BITS, NARROW_BITS, Operation, Table, fields

from headrace.cards.switch.layout import ENTRY, FLOW_COUNT, LOOKUP, MATCH, NO_TABLE, FlowOp
from headrace.testing.streams import PATTERNS, Stalls, start, until

Packet = tuple[int, tuple[int, ...]]  # lookup_t, programs

PROGRAM_BITS = 16
# Those that packets and flows of these benches differ in.
NAMES = ("in_port", "eth_type", "vlan_vid", "src", "dst", "l4_dst")


class Answer(IntEnum):
    """``table_answer_t``"""

    DONE = 0
    EXISTS = 1
    NOT_FOUND = 2
    FULL = 3


@dataclass
class Count:
    """What an entry must have counted."""

    packets: int = 0
    bytes: int = 0


@dataclass
class Travel:
    """A packet in the table."""

    begun: int
    packet: Packet
    states: list[Table]


class Driver:
    """The table under test, and what must be in it."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.tables = int(dut.TABLES.value)
        self.number = random.randrange(self.tables)
        dut.own_number.value = self.number
        self.exact, self.ternary = int(dut.EXACT.value), int(dut.TERNARY.value)
        self.effects, self.numbers = int(dut.EFFECTS.value), self.exact + self.ternary
        bits = NARROW_BITS if int(dut.NARROW.value) else ALL_BITS
        self.table = Table(self.number, bits)
        self.states = [self.table]
        self.stalls: tuple[Stalls, Stalls] = (PATTERNS[0](), PATTERNS[0]())
        self.draw: Callable[[], Packet] = self.packet
        self.left: float = 0  # packets to be sent
        self.given: Packet | None = None  # offered to the table
        self.inside: deque[Travel] = deque()
        self.now = self.judged = self.hits = self.misses = self.undecided = self.looked_up = self.matched = 0
        self.latencies: list[int] = []
        self.coming: list[Table] = []
        self.done = Event()
        self.task = cocotb.start_soon(self.run())
        self.answer = Answer.DONE
        self.programs = itertools.count(1)
        self.owners: dict[int, tuple[int, Count]] = {}  # by program
        self.counts: dict[int, Count] = {}  # by number

    def latency(self, effects: int = 0) -> int:
        """Cycles of a packet that nothing stalls."""
        return int(self.dut.FOUND.value) + 5 + (effects + 1 if effects else 0)

    def packet(self) -> Packet:
        """A packet that may hit, mostly for this table."""
        mine = random.random() < 0.9
        lookup = LOOKUP.pack(
            fields=fields(NAMES) | random.getrandbits(1) * MATCH.pack(target=random.getrandbits(128)),
            tags=random.randrange(4),
            inner=random.getrandbits(16),
            bytes=random.getrandbits(17),
            next=self.number if mine else random.choice([n for n in range(16) if n != self.number]),
        )
        return lookup, tuple(random.getrandbits(PROGRAM_BITS) for _ in range(self.tables))

    def entry(self, **members: int) -> int:
        """An entry with a program of its own."""
        some = {
            "program_at": next(self.programs),
            "next": random.choice((NO_TABLE, random.randrange(14))),
            "metadata": random.getrandbits(64),
            "metadata_mask": random.choice((0, random.getrandbits(64))),
        }
        return ENTRY.pack(**some | members)

    async def operate(self, kind: FlowOp, refused: bool = False, **members: Any) -> Answer:
        """An operation until it is done; what it answers. It changes the table if the answer is DONE.

        refused  it can't be done
        """
        operation = Operation(kind, **members)
        adds = kind in (FlowOp.EXACT_ADD, FlowOp.TERNARY_ADD)
        writes = adds or kind in (FlowOp.SET_ENTRY, FlowOp.CHANGE_ENTRY)
        if writes:
            kept = self.counts.get(operation.number, Count())
            program = ENTRY.get(operation.entry, "program_at")
            self.owners[program] = operation.number, kept if kind == FlowOp.CHANGE_ENTRY else Count()
        self.dut.op.value = operation.pack()
        self.coming = [self.table] if refused else operation.states(self.table)
        self.done.clear()
        self.dut.op_valid.value = 1
        await RisingEdge(self.dut.clk)
        while not self.dut.op_ready.value:
            assert not self.dut.op_done.value
            await RisingEdge(self.dut.clk)
        self.dut.op_valid.value = 0
        self.dut.op.value = random.getrandbits(len(self.dut.op))
        await self.done.wait()
        if adds and self.answer in (Answer.EXISTS, Answer.FULL):  # the entry is written all the same
            self.table = operation.states(self.table)[0]
            self.states = [self.table]
        if writes and self.answer != Answer.NOT_FOUND:
            self.counts[operation.number] = self.owners[program][1]
        return self.answer

    async def read(self, number: int) -> dict[str, int]:
        """An entry's counters."""
        self.dut.count_read.value, self.dut.count_number.value = 1, number
        await RisingEdge(self.dut.clk)
        self.dut.count_read.value, self.dut.count_number.value = 0, random.getrandbits(16)
        await until(self.dut.clk, lambda: bool(self.dut.count_valid.value), 110)
        return FLOW_COUNT.unpack(int(self.dut.count.value))

    async def send(self, count: int) -> None:
        """Send so many packets and wait until all are through."""
        self.left = count
        await self.through()

    async def through(self) -> None:
        """Wait until no packet is inside and none is to be sent."""
        await until(self.dut.clk, lambda: not self.left and not self.given and not self.inside, 4000)

    def follow_operations(self) -> None:
        """An operation that begins or ends in this cycle."""
        if self.dut.op_done.value:
            self.answer = Answer(int(self.dut.op_answer.value))
            assert len(self.states) > 1, "an operation is done that has not begun"
            if self.answer == Answer.DONE:
                self.table = self.states[-1]
            self.states = [self.table]
            self.done.set()
        elif self.dut.op_valid.value and self.coming:
            self.states = [self.table, *self.coming]
            for travel in self.inside:
                if self.now - travel.begun < self.latency():
                    travel.states = [*travel.states, *self.coming]
            self.coming = []

    def judge(self, word: Packet) -> None:
        assert self.inside, "a packet that nobody sent"
        travel = self.inside.popleft()
        lookup, programs = travel.packet
        outcomes = [state.passed(lookup, programs) for state in travel.states]
        assert word in [outcome[:2] for outcome in outcomes], f"{travel.packet} became {word}, not one of {outcomes}"
        self.judged += 1
        self.undecided += len({outcome[:2] for outcome in outcomes}) > 1
        self.latencies.append(self.now - travel.begun - self.latency(outcomes[0][2]))
        if LOOKUP.get(lookup, "next") != self.number:
            return
        program = word[1][self.number]
        self.misses += program == 0
        if program:
            self.hits += 1
            count = self.owners[program][1]
            count.packets += 1
            count.bytes += LOOKUP.get(lookup, "bytes")

    async def run(self) -> None:
        """Drive packets, and watch, for ever."""
        dut = self.dut
        shifts = [PROGRAM_BITS * n for n in range(self.tables)]
        offered: Packet | None = None
        while True:
            if not self.given and self.left and not next(self.stalls[0]):
                lookup, programs = self.given = self.draw()
                self.left -= 1
                dut.s_lookup.value = lookup
                dut.s_programs.value = sum(program << shift for program, shift in zip(programs, shifts, strict=True))
            dut.s_valid.value = int(self.given is not None)
            ready = not next(self.stalls[1])
            dut.m_ready.value = int(ready)
            await RisingEdge(dut.clk)
            self.now += 1
            self.looked_up += int(dut.looked_up.value)
            self.matched += int(dut.matched.value)
            self.follow_operations()
            if self.given and dut.s_ready.value:
                self.inside.append(Travel(self.now, self.given, self.states))
                self.given = None
            if dut.m_valid.value:
                left = int(dut.m_programs.value)
                word = int(dut.m_lookup.value), tuple(left >> shift & 0xFFFF for shift in shifts)
                assert offered in (None, word), "an offered packet changed"
                offered = None if ready else word
                if ready:
                    self.judge(word)
            else:
                assert offered is None, "an offered packet went"


async def begin(dut: Any) -> Driver:
    """A table after its first reset."""
    for name in ("op_valid", "count_read", "time_ns", "expired_ready"):
        getattr(dut, name).value = 0
    await start(dut)
    return Driver(dut)
