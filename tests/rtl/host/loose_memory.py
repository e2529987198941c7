"""Memory behind an AXI4 manager that promises no more than AXI4 does: what has different IDs comes in any order, and a
write shows at any moment between its data and its answer."""

import itertools
import random
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from capture.host import OKAY, Memory

from headrace.testing.streams import Stalls, never


@dataclass
class Access:
    """A write or read on its way. `due` is the cycle from which it may be answered."""

    number: int
    user: int
    address: int
    due: int
    shows: int = 0
    data: int = 0
    strobes: int = 0
    response: int = OKAY


@dataclass
class LooseMemory(Memory):
    """The memory at the ports m_axi_* of `dut`, single beats only.

    stalls         makes a pattern for each channel
    latency        cycles until an access of a function is answered
    bad_write, bad_read  responses to accesses by address and function; 0 is good. A bad word is not written, and read
                   as noise.
    shown          is told of each write when it shows: address of its first byte, bytes, function
    asked          is told of each access when its address is taken: "aw" or "ar", the access
    answered       is told of each access when it is answered: "b" or "r", the access
    """

    dut: Any = None
    stalls: Callable[[], Stalls] = never
    latency: Callable[[int], int] = lambda _: 1
    bad_write: Callable[[int, int], int] = lambda *_: OKAY
    bad_read: Callable[[int, int], int] = lambda *_: OKAY
    shown: Callable[[int, bytes, int], None] = lambda *_: None
    asked: Callable[[str, Access], None] = lambda *_: None
    answered: Callable[[str, Access], None] = lambda *_: None
    writes: int = 0
    reads: int = 0
    most: int = 0  # accesses under way
    cycle: int = 0

    async def run(self, edge: Any) -> None:
        """Serve for ever."""
        channels = []
        if hasattr(self.dut, "m_axi_bvalid"):
            channels.append(self.serve_writes())
        if hasattr(self.dut, "m_axi_rvalid"):
            channels.append(self.serve_reads())
        for channel in channels:
            next(channel)
        while True:
            await edge
            self.cycle += 1
            for channel in channels:
                next(channel)

    def _pick(self, waiting: dict[int, deque[Access]], ready: Callable[[Access], bool]) -> Access | None:
        """Any of those that are the first of their ID, taken out."""
        heads = [queue for queue in waiting.values() if queue and ready(queue[0])]
        return random.choice(heads).popleft() if heads else None

    def serve_writes(self) -> Iterator[None]:
        dut = self.dut
        size = len(dut.m_axi_wstrb)
        address_stalls, data_stalls, answer_stalls = self.stalls(), self.stalls(), self.stalls()
        addresses: deque[Access] = deque()
        beats: deque[tuple[int, int]] = deque()
        waiting: dict[int, deque[Access]] = {}
        hidden: list[Access] = []
        for _ in itertools.count():
            address_ready, data_ready = int(not next(address_stalls)), int(not next(data_stalls))
            dut.m_axi_awready.value, dut.m_axi_wready.value = address_ready, data_ready
            answer = None
            if not next(answer_stalls):
                answer = self._pick(waiting, lambda access: access.due <= self.cycle and access not in hidden)
            dut.m_axi_bvalid.value = int(answer is not None)
            dut.m_axi_bid.value = answer.number if answer else random.getrandbits(8)
            dut.m_axi_bresp.value = answer.response if answer else random.getrandbits(2)
            yield
            assert dut.m_axi_bready.value, "answers are always taken"
            if answer:
                self.answered("b", answer)
            if address_ready and dut.m_axi_awvalid.value:
                address, user = int(dut.m_axi_awaddr.value), int(dut.m_axi_awuser.value)
                assert (int(dut.m_axi_awlen.value), int(dut.m_axi_awburst.value)) == (0, 1)
                assert 1 << int(dut.m_axi_awsize.value) == size and address % size == 0
                addresses.append(Access(int(dut.m_axi_awid.value), user, address, 0))
                self.asked("aw", addresses[-1])
            if data_ready and dut.m_axi_wvalid.value:
                assert dut.m_axi_wlast.value
                beats.append((int(dut.m_axi_wdata.value), int(dut.m_axi_wstrb.value)))
            while addresses and beats:
                access = addresses.popleft()
                access.data, access.strobes = beats.popleft()
                access.due = self.cycle + self.latency(access.user)
                access.shows = random.randint(self.cycle, access.due)
                lowest = (access.strobes & -access.strobes).bit_length() - 1
                access.response = self.bad_write(access.address + lowest, access.user)
                waiting.setdefault(access.number, deque()).append(access)
                hidden.append(access)
                self.writes += 1
                self.most = max(self.most, sum(map(len, waiting.values())))
            for access in [access for access in hidden if access.shows <= self.cycle]:
                hidden.remove(access)
                self._show(access, size)

    def _show(self, access: Access, size: int) -> None:
        """Runs of bytes are seen in any order, each as a whole."""
        if access.response != OKAY:
            return
        data = access.data.to_bytes(size, "little")
        runs = [run.span() for run in re.finditer("1+", f"{access.strobes:0{size}b}"[::-1])]
        for begin, end in random.sample(runs, len(runs)):
            self.write(access.address + begin, data[begin:end])
            self.shown(access.address + begin, data[begin:end], access.user)

    def serve_reads(self) -> Iterator[None]:
        dut = self.dut
        size = len(dut.m_axi_rdata) // 8
        address_stalls, data_stalls = self.stalls(), self.stalls()
        waiting: dict[int, deque[Access]] = {}
        for _ in itertools.count():
            ready = int(not next(address_stalls))
            dut.m_axi_arready.value = ready
            answer = None if next(data_stalls) else self._pick(waiting, lambda access: access.due <= self.cycle)
            dut.m_axi_rvalid.value = int(answer is not None)
            dut.m_axi_rid.value = answer.number if answer else random.getrandbits(8)
            dut.m_axi_rresp.value = answer.response if answer else random.getrandbits(2)
            dut.m_axi_rlast.value = 1 if answer else random.getrandbits(1)
            dut.m_axi_rdata.value = answer.data if answer else random.getrandbits(8 * size)
            yield
            assert dut.m_axi_rready.value, "data are always taken"
            if answer:
                self.answered("r", answer)
            for access in (access for queue in waiting.values() for access in queue):
                if access.shows == self.cycle:
                    self._sample(access, size)
            if ready and dut.m_axi_arvalid.value:
                address, user = int(dut.m_axi_araddr.value), int(dut.m_axi_aruser.value)
                assert (int(dut.m_axi_arlen.value), int(dut.m_axi_arburst.value)) == (0, 1)
                assert 1 << int(dut.m_axi_arsize.value) == size and address % size == 0
                access = Access(int(dut.m_axi_arid.value), user, address, self.cycle + self.latency(user))
                access.shows = random.randint(self.cycle, access.due)
                waiting.setdefault(access.number, deque()).append(access)
                self.asked("ar", access)
                if access.shows == self.cycle:
                    self._sample(access, size)
                self.reads += 1
                self.most = max(self.most, sum(map(len, waiting.values())))

    def _sample(self, access: Access, size: int) -> None:
        """The moment at which memory is read."""
        access.response = self.bad_read(access.address, access.user)
        data = self.read(access.address, size) if access.response == OKAY else random.randbytes(size)
        access.data = int.from_bytes(data, "little")


@dataclass
class Settings:
    """virtq_t as host_pkg has it, from its lowest bit on."""

    enabled: bool = True
    mergeable: bool = False
    indirect: bool = False
    event_index: bool = False
    checksum: bool = False
    segment: bool = False
    wrap: int = 1
    index: int = 0
    size: int = 256
    vector: int = 0
    ring: int = 0
    driver: int = 0
    device: int = 0
    order: tuple[tuple[str, int], ...] = field(
        default=(
            *(("device", 64), ("driver", 64), ("ring", 64), ("vector", 16), ("size", 16), ("index", 15), ("wrap", 1)),
            *(("segment", 1), ("checksum", 1), ("event_index", 1), ("indirect", 1), ("mergeable", 1), ("enabled", 1)),
        ),
        repr=False,
    )

    def packed(self) -> int:
        """The value of the port."""
        value = at = 0
        for name, width in self.order:
            value |= int(getattr(self, name)) << at
            at += width
        return value
