"""A root complex behind the card's requests: functions' memory, credits, completions in pieces and in any order."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cocotb.triggers import RisingEdge
from pcie.tlp import ABORTED, COMPLETION, LIMIT, SUCCESSFUL, UNSUPPORTED, Request, beats_of, pack

from headrace.testing.streams import Stalls, Word, never

PAGE = 4096
RCB = 64


def page_of(func: int, number: int) -> bytes:
    """What a page of a function's memory holds that was never written."""
    return random.Random(func << 64 | number).randbytes(PAGE)


@dataclass
class Pending:
    """A read that is being answered: what is left of it, from when on, and what goes wrong with it."""

    request: Request
    place: int
    end: int
    due: int
    fault: str = ""


@dataclass
class Root:
    """Takes requests and answers reads.

    mrrs, mps    bytes of a read request, of a completion's or a write's payload at most
    latency      cycles from a request to its first completion
    fault        of a request: "" (none), "UR", "CA", "poisoned", "silent" (no answer), "partial" (some, then UR)
    anywhere     pieces end at any DW, not at multiples of the read completion boundary alone
    in_order     requests are answered one after the other
    credits      non-posted headers that it has room for; None: any
    wire         bytes that the link moves in a cycle; None: any
    """

    dut: Any
    mrrs: int = 512
    mps: int = 256
    stalls: Callable[[], Stalls] = never
    cpl_stalls: Callable[[], Stalls] = never
    latency: Callable[[], int] = lambda: random.randint(1, 60)
    fault: Callable[[Request], str] = lambda _: ""
    anywhere: bool = False
    in_order: bool = False
    credits: int | None = None
    wire: float | None = None
    pending: list[Pending] = field(default_factory=list)
    silent: list[Pending] = field(default_factory=list)
    strays: list[list[Word]] = field(default_factory=list)  # completions to be sent beside
    seen: list[Request] = field(default_factory=list)
    pages: dict[tuple[int, int], bytes] = field(default_factory=dict)
    cycle: int = 0
    most_pending: int = 0
    granted: int = 0

    def read(self, func: int, address: int, count: int) -> bytes:
        """Bytes of a function's memory."""
        data = b""
        while count:
            key = (func, address // PAGE)
            page = self.pages.setdefault(key, page_of(*key))
            part = page[address % PAGE :][:count]
            data, address, count = data + part, address + len(part), count - len(part)
        return data

    def limit(self) -> int:
        """The credit limit as the card is to see it."""
        infinite = int(self.credits is None)
        return pack(LIMIT, ph_infinite=1, pd_infinite=1, nph_infinite=infinite, nph=self.granted % 256)

    async def run(self) -> None:
        """Take requests and answer them for ever."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        stalls, cpl_stalls = self.stalls(), self.cpl_stalls()
        self.granted = self.credits or 0
        dut.limit.value = self.limit()
        beats: list[Word] = []
        dut.cpl_valid.value = 0
        wire_free = 0.0
        while True:
            ready = not next(stalls)
            dut.req_ready.value = int(ready)
            await edge
            self.cycle += 1
            if ready and dut.req_valid.value:
                self.take(Request.of(dut.req_header.value, self.cycle))
            if not beats and self.cycle >= wire_free:
                beats, size = (self.strays.pop(0), 0) if self.strays else self.answer()
                if beats and self.wire:
                    # framing, sequence number and LCRC 8 bytes, header of a completion 12
                    wire_free = max(wire_free, self.cycle - 1.0) + (size + 20) / self.wire
            offer = bool(beats) and not next(cpl_stalls)
            dut.cpl_valid.value = int(offer)
            if offer:
                header, data, last = beats.pop(0)
                dut.cpl_header.value = header
                dut.cpl_data.value = data
                dut.cpl_last.value = last

    def take(self, request: Request) -> None:
        """A request has come."""
        assert not request.write and request.dwords * 4 <= self.mrrs
        assert request.first_be == 15 and request.last_be in (0, 15)
        assert all(other.request.tag != request.tag for other in self.pending + self.silent), "a tag is used twice"
        self.seen.append(request)
        assert self.credits is None or len(self.seen) <= self.granted, "a request without a credit"
        made = Pending(
            request,
            request.addr,
            request.addr + 4 * request.dwords,
            self.cycle + self.latency(),
            self.fault(request),
        )
        (self.silent if made.fault == "silent" else self.pending).append(made)
        self.most_pending = max(self.most_pending, len(self.pending))

    def answer(self) -> tuple[list[Word], int]:
        """The beats of a piece of a read that is due, and bytes of its payload."""
        due = [one for one in self.pending if one.due <= self.cycle]
        if self.in_order:
            due = [one for one in self.pending[:1] if one.due <= self.cycle]
        if not due:
            return [], 0
        return self.piece(due[0] if self.in_order else random.choice(due))

    def piece(self, one: Pending) -> tuple[list[Word], int]:
        """The next piece of a read; its last one ends it."""
        left = one.end - one.place
        status, data = SUCCESSFUL, b""
        broken = one.fault in ("UR", "CA") or (one.fault == "partial" and one.place > one.request.addr)
        if broken:
            status = ABORTED if one.fault == "CA" else UNSUPPORTED
        else:
            data = self.read(one.request.func, one.place, self.length(one))
        header = pack(
            COMPLETION,
            tag=one.request.tag,
            status=status,
            poisoned=int(one.fault == "poisoned" and (random.random() < 0.5 or len(data) == left)),
            bytes=left,
            lower_addr=one.place % 128,
            dwords=len(data) // 4,
        )
        one.place += len(data)
        if broken or one.place == one.end:
            if one in self.pending:
                self.pending.remove(one)
            if self.credits is not None:
                self.granted += 1
                self.dut.limit.value = self.limit()
        return beats_of(data, header, len(self.dut.cpl_data) // 32), len(data)

    def length(self, one: Pending) -> int:
        """Bytes of the next piece: up to a multiple of the boundary, as 2.3.1.1 has it, or to the end."""
        left = one.end - one.place
        if self.anywhere:
            most = min(left, self.mps) // 4
            return 4 * random.choice((1, most, random.randint(1, most)))
        to_boundary = RCB - one.place % RCB
        most = min(left, self.mps - one.place % RCB)
        lengths = [*range(to_boundary, most, RCB), most]
        if self.wire:  # as large as can be
            return most
        return random.choice((lengths[0], lengths[-1], random.choice(lengths)))
