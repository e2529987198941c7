"""Drives bpf_core_loaded: loads programs, sends frames, takes verdicts in any rhythm, fetches and releases rows."""

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Event, RisingEdge
from filter.loader import SLOTS, Loader, Slots

from headrace.net import bpf
from headrace.testing.streams import PERIOD_PS, Stalls, never

MEASURES = 1024
MAX_BUDGET = 65535
LONGEST = 0x1FFFF  # that a length can say

# Cycles from a frame's last beat until in_ready speaks of that frame too.
SETTLE = 4
# Cycles from a verdict's pop until the monitor could use the frame's rows.
MONITOR_DELAY = 4


@dataclass(frozen=True)
class Frame:
    """What arrives at a core. `wire_len` None: as long as `data`."""

    data: bytes
    wire_len: int | None = None
    set: int = 0
    bad: bool = False

    @property
    def wire(self) -> int:
        """Length on the wire in bytes."""
        return len(self.data) if self.wire_len is None else self.wire_len


@dataclass(frozen=True)
class Verdict:
    """What a core says of a frame; masks have a bit for each slot, `values` what each one that matched returned."""

    matched: int = 0
    snaplen: int = 0
    measure: int = 0
    errors: int = 0
    values: tuple[int, ...] = (0,) * SLOTS


def judge(frames: Sequence[Frame], slots: Slots, measure: int | None = None) -> list[Verdict]:
    """libpcap's verdicts on frames by the programs in `slots`, of which the slot `measure` holds a measurement."""
    packets = [(frame.data, frame.wire) for frame in frames]
    values = {slot: bpf.run_many(program, packets) for slot, program in slots.items()}
    return [
        Verdict() if frame.bad else combine({slot: values[slot][index] for slot in slots}, measure)
        for index, frame in enumerate(frames)
    ]


def combine(values: Mapping[int, int], measure: int | None = None, errors: int = 0) -> Verdict:
    """The verdict on a frame for which the programs in the slots returned `values`."""
    accepted = {slot: value for slot, value in values.items() if value and slot != measure}
    return Verdict(
        matched=sum(1 << slot for slot in accepted),
        snaplen=min(max(accepted.values(), default=0), LONGEST),
        measure=0 if measure is None else min(values[measure], MEASURES),
        errors=errors,
        values=tuple(accepted.get(slot, 0) for slot in range(SLOTS)),
    )


@dataclass
class Core:
    """A core and its surroundings.

    The patterns say when the arrival of beats, the taking of verdicts and the fetching of rows stall. `forward` is the
    share of the accepted frames whose rows are fetched, and compared, before they are released.
    """

    dut: Any
    arrive: Stalls = field(default_factory=never)
    take: Stalls = field(default_factory=never)
    fetch: Stalls = field(default_factory=never)
    forward: float = 1.0
    verdicts: list[Verdict] = field(default_factory=list)
    longest_wait: int = 0  # cycles that a row waited for its turn at the memory
    rows_compared: int = 0
    _sent: deque[Frame] = field(default_factory=deque)
    _kept: deque[tuple[Frame, int, int, int]] = field(default_factory=deque)  # its row, its number, its verdict's place
    _keeps: Event = field(default_factory=Event)
    _expected: int = 0

    def __post_init__(self) -> None:
        loader = Loader(self.dut)
        self.load, self.load_slot = loader.load, loader.load_slot

    async def start(self, budget: int = MAX_BUDGET) -> None:
        """Start the clock, reset the core, and let verdicts be taken and rows be released."""
        dut = self.dut
        self.edge = RisingEdge(dut.clk)
        self.row_bytes = int(dut.DATA_W.value) // 8
        self.rows = int(dut.PACKET_KB.value) * 1024 // self.row_bytes
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for signal in (dut.instr_we, dut.program_we, dut.in_valid, dut.finished_ready, dut.release_en, dut.forward_req):
            signal.value = 0
        dut.budget.value = budget
        dut.rst.value = 1
        await self.cycles(3)
        dut.rst.value = 0
        cocotb.start_soon(self._take_verdicts())
        cocotb.start_soon(self._use_rows())

    async def cycles(self, count: int) -> None:
        """Wait for `count` clock edges."""
        for _ in range(count):
            await self.edge

    async def send(self, frames: Sequence[Frame]) -> None:
        """Send frames, each as soon as the core is ready for it."""
        dut = self.dut
        for frame in frames:
            while not dut.in_ready.value or next(self.arrive):
                await self.edge
            parts = [frame.data[at : at + self.row_bytes] for at in range(0, len(frame.data), self.row_bytes)] or [b""]
            for part in parts:
                last = part is parts[-1]
                while next(self.arrive):
                    dut.in_valid.value = 0
                    await self.edge
                dut.in_valid.value = 1
                dut.in_last.value = last
                dut.in_data.value = int.from_bytes(part + random.randbytes(self.row_bytes - len(part)), "little")
                # Beside other beats than the last they mean nothing.
                dut.in_len.value = len(frame.data) & LONGEST if last else random.getrandbits(17)
                dut.in_wire_len.value = frame.wire
                dut.in_set.value = frame.set if last else random.getrandbits(1)
                dut.in_bad.value = frame.bad if last else random.getrandbits(1)
                if last:
                    self._sent.append(frame)
                    self._expected += 1
                await self.edge
            dut.in_valid.value = 0
            await self.cycles(SETTLE)

    async def run(self, frames: Sequence[Frame], limit: int = 100_000) -> list[Verdict]:
        """Send frames and return their verdicts when all rows are released; fails after `limit` cycles without any."""
        before = len(self.verdicts)
        await self.send(frames)
        idle = 0
        state: tuple[int, int] = (0, 0)
        while len(self.verdicts) < self._expected or self._kept:
            await self.edge
            idle = idle + 1 if state == (len(self.verdicts), len(self._kept)) else 0
            state = (len(self.verdicts), len(self._kept))
            assert idle < limit, f"no verdict on {self._sent[0]}"
        return self.verdicts[before:]

    async def _take_verdicts(self) -> None:
        dut = self.dut
        ready = False
        while True:
            await self.edge
            if ready and dut.finished_valid.value:
                self._take()
            stalled = next(self.take)
            if ready == stalled:
                ready = not stalled
                dut.finished_ready.value = ready

    def _take(self) -> None:
        dut = self.dut
        assert self._sent, "a verdict too many"
        frame = self._sent.popleft()
        verdict = Verdict(
            matched=int(dut.finished_matched.value),
            snaplen=int(dut.finished_snaplen.value),
            measure=int(dut.finished_measure.value),
            errors=int(dut.finished_errors.value),
        )
        self.verdicts.append(verdict)
        assert bool(dut.finished_bad.value) == frame.bad
        assert int(dut.finished_set.value) == frame.set
        if not frame.bad:
            assert int(dut.finished_len.value) == len(frame.data)
            assert int(dut.finished_wire_len.value) == frame.wire
        if verdict.matched:
            place = (int(dut.finished_row.value), int(dut.finished_id.value), len(self.verdicts) - 1)
            self._kept.append((frame, *place))
            self._keeps.set()

    async def _use_rows(self) -> None:
        dut = self.dut
        while True:
            if not self._kept:
                self._keeps.clear()
                await self._keeps.wait()
                await self.cycles(MONITOR_DELAY - 1)
            while next(self.fetch):
                await self.edge
            frame, row, number, place = self._kept[0]
            count = -(-len(frame.data) // self.row_bytes)
            verdict = self.verdicts[place]
            self.verdicts[place] = replace(verdict, values=await self._values(number, verdict.matched))
            if count and random.random() < self.forward:
                fetched = await self._fetch(row, random.randint(1, count))
                assert fetched[: len(frame.data)] == frame.data[: len(fetched)], "rows of another frame"
            dut.release_en.value = 1
            dut.release_row.value = (row + count) % (1 << len(dut.release_row))
            dut.release_id.value = number
            await self.edge
            dut.release_en.value = 0
            self._kept.popleft()

    async def _values(self, number: int, matched: int) -> tuple[int, ...]:
        """What each program that matched returned for the packet of this number, 0 for the others."""
        dut = self.dut
        dut.value_id.value = number
        values = []
        for ahead in range(SLOTS + 2):
            dut.value_slot.value = min(ahead, SLOTS - 1)
            await self.edge
            values.append(int(dut.value_data.value))
        # At the edge after that of a question it is taken, two later its answer is there.
        return tuple(value if matched >> slot & 1 else 0 for slot, value in enumerate(values[2:]))

    async def _fetch(self, row: int, count: int) -> bytes:
        """The content of `count` rows from `row` on, one a cycle where the memory gives them."""
        dut = self.dut
        rows: list[int] = []
        due: deque[int] = deque()
        asked = now = waited = 0
        while len(rows) < count:
            asking = asked < count
            dut.forward_req.value = asking
            dut.forward_row.value = row + asked
            await self.edge
            now += 1
            if due and due[0] == now:
                due.popleft()
                rows.append(int(dut.forward_data.value))
            if asking and dut.forward_grant.value:
                asked += 1
                due.append(now + 2)
                waited = 0
            elif asking:
                waited += 1
                self.longest_wait = max(self.longest_wait, waited)
        dut.forward_req.value = 0
        self.rows_compared += count
        return b"".join(content.to_bytes(self.row_bytes, "little") for content in rows)
