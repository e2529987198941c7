"""A host's memory behind an AXI4 manager: stalls on every channel, latency, errors, and an eye on the protocol."""

import itertools
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, Stalls, cycles, never

PAGE = 4096
OKAY, SLVERR, DECERR = 0, 2, 3


async def start(dut: Any, *inputs: str) -> None:
    """Start the clock, hold the named inputs low and reset the block."""
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    for name in inputs:
        getattr(dut, name).value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    dut.rst.value = 0


@dataclass
class Burst:
    """A burst as it was asked for, in bytes and beats, and the cycle; of a write, what became of it.

    first_lane  the lowest lane that its first beat writes
    """

    address: int
    beats: int
    cycle: int
    response: int = OKAY
    first_lane: int = 0


@dataclass
class Memory:
    """Bytes by address; what was never written reads as a pattern of the address."""

    pages: dict[int, bytearray] = field(default_factory=dict)

    def page(self, number: int) -> bytearray:
        """The bytes of a page."""
        if number not in self.pages:
            self.pages[number] = bytearray(random.Random(number).randbytes(PAGE))
        return self.pages[number]

    def read(self, address: int, count: int) -> bytes:
        """`count` bytes from `address` on."""
        data = b""
        while count:
            start = address % PAGE
            part = bytes(self.page(address // PAGE)[start : start + count])
            data, address, count = data + part, address + len(part), count - len(part)
        return data

    def write(self, address: int, data: bytes) -> None:
        """Put `data` at `address`."""
        while data:
            start = address % PAGE
            part = data[: PAGE - start]
            self.page(address // PAGE)[start : start + len(part)] = part
            address, data = address + len(part), data[len(part) :]


@dataclass
class Host(Memory):
    """The memory at the ports m_axi_* of `dut`. Fails when the manager breaks a rule of AXI4.

    stalls         makes a pattern for each channel
    latency        cycles from an address to its first data, and from the last data to the response
    bad_read, bad_write  responses, by the address of a word; 0 is good. A bad word is not written, and read as noise.
    times_read     how often each word has been read; bad_read may ask, to fail a certain read of a word
    """

    dut: Any = None
    stalls: Callable[[], Stalls] = never
    latency: Callable[[], int] = lambda: 1
    bad_read: Callable[[int], int] = lambda _: OKAY
    bad_write: Callable[[int], int] = lambda _: OKAY
    times_read: Counter[int] = field(default_factory=Counter)
    read_bursts: list[Burst] = field(default_factory=list)
    write_bursts: list[Burst] = field(default_factory=list)
    most_reads: int = 0
    read_beats: int = 0
    write_beats: int = 0
    responses: int = 0

    async def run(self) -> None:
        """Serve for ever."""
        for name in ("arready", "rvalid", "awready", "wready", "bvalid"):
            if hasattr(self.dut, f"m_axi_{name}"):
                getattr(self.dut, f"m_axi_{name}").value = 0
        self.size = len(self.dut.m_axi_rdata) // 8
        serve = [_serve_reads(self)]
        if hasattr(self.dut, "m_axi_awaddr"):
            serve.append(_serve_writes(self))
        edge = RisingEdge(self.dut.clk)
        while self.dut.rst.value:
            await edge
        for channels in serve:
            next(channels)
        while True:
            await edge
            for channels in serve:
                next(channels)

    def check(self, address: int, beats: int, size: int, burst: int) -> None:
        """What AXI4 asks of an address."""
        assert 1 <= beats <= int(self.dut.BURST.value)
        assert (1 << size, burst) == (self.size, 1), "not INCR, or not as wide as the bus"
        assert address % self.size == 0
        assert address // PAGE == (address + beats * self.size - 1) // PAGE, "a burst crosses 4 KB"


class _Offer:
    """Watches that what is offered stays until it is taken."""

    def __init__(self, valid: Any, *payload: Any) -> None:
        self.valid, self.payload = valid, payload
        self.before: tuple[int, ...] | None = None

    def taken(self, ready: int) -> tuple[int, ...] | None:
        """The payload, if it is taken at this edge."""
        if not self.valid.value:
            assert self.before is None, "valid fell before the word was taken"
            return None
        word = tuple(int(signal.value) for signal in self.payload)
        assert self.before in (None, word), "an offered word changed before it was taken"
        self.before = None if ready else word
        return word if ready else None


def _serve_reads(host: Host) -> Any:
    dut = host.dut
    names = ("addr", "len", "size", "burst")
    offer = _Offer(dut.m_axi_arvalid, *(getattr(dut, f"m_axi_ar{name}") for name in names))
    address_stalls, data_stalls = host.stalls(), host.stalls()
    due: deque[tuple[int, int, bool]] = deque()  # cycle, address, last
    offered = False
    for cycle in itertools.count():
        ready = int(not next(address_stalls))
        dut.m_axi_arready.value = ready
        if not offered and due and due[0][0] <= cycle and not next(data_stalls):
            _, address, last = due[0]
            response = host.bad_read(address)
            host.times_read[address] += 1
            dut.m_axi_rvalid.value = offered = True
            data = host.read(address, host.size)
            dut.m_axi_rdata.value = int.from_bytes(data if response == OKAY else random.randbytes(host.size), "little")
            dut.m_axi_rresp.value = response
            dut.m_axi_rlast.value = int(last)
        elif not offered:
            dut.m_axi_rvalid.value = 0
            dut.m_axi_rdata.value = random.getrandbits(8 * host.size)
            dut.m_axi_rlast.value = random.getrandbits(1)
            dut.m_axi_rresp.value = random.getrandbits(2)
        yield
        word = offer.taken(ready)
        if word:
            address, length, size, burst = word
            beats = length + 1
            host.check(address, beats, size, burst)
            host.read_bursts.append(Burst(address, beats, cycle))
            first = cycle + host.latency()
            due.extend((first, address + beat * host.size, beat == beats - 1) for beat in range(beats))
            host.most_reads = max(host.most_reads, sum(last for _, _, last in due))
        if offered and dut.m_axi_rready.value:
            due.popleft()
            host.read_beats += 1
            offered = False


def _serve_writes(host: Host) -> Any:
    dut = host.dut
    names = ("addr", "len", "size", "burst")
    addresses = _Offer(dut.m_axi_awvalid, *(getattr(dut, f"m_axi_aw{name}") for name in names))
    data = _Offer(dut.m_axi_wvalid, *(getattr(dut, f"m_axi_w{name}") for name in ("data", "strb", "last")))
    address_stalls, data_stalls, answer_stalls = host.stalls(), host.stalls(), host.stalls()
    bursts: deque[Burst] = deque()
    beats: deque[tuple[int, ...]] = deque()
    answers: deque[tuple[int, int]] = deque()  # cycle, response
    beat = 0
    offered = False
    for cycle in itertools.count():
        address_ready, data_ready = int(not next(address_stalls)), int(not next(data_stalls))
        dut.m_axi_awready.value = address_ready
        dut.m_axi_wready.value = data_ready
        if not offered and answers and answers[0][0] <= cycle and not next(answer_stalls):
            dut.m_axi_bvalid.value = offered = True
            dut.m_axi_bresp.value = answers[0][1]
        elif not offered:
            dut.m_axi_bvalid.value = 0
            dut.m_axi_bresp.value = random.getrandbits(2)
        yield
        word = addresses.taken(address_ready)
        if word:
            address, length, size, burst = word
            host.check(address, length + 1, size, burst)
            bursts.append(Burst(address, length + 1, cycle))
            host.write_bursts.append(bursts[-1])
        word = data.taken(data_ready)
        if word:
            beats.append(word)
            host.write_beats += 1
        while bursts and beats:
            value, lanes, last = beats.popleft()
            current = bursts[0]
            place = current.address + beat * host.size
            bad = host.bad_write(place)
            current.response = max(current.response, bad)
            if beat == 0:
                current.first_lane = (lanes & -lanes).bit_length() - 1
            if not bad:
                old = bytearray(host.read(place, host.size))
                new = value.to_bytes(host.size, "little")
                for lane in range(host.size):
                    if lanes >> lane & 1:
                        old[lane] = new[lane]
                host.write(place, bytes(old))
            beat += 1
            assert bool(last) == (beat == current.beats), "wlast in a wrong place"
            if last:
                answers.append((cycle + host.latency(), current.response))
                bursts.popleft()
                beat = 0
        if offered and dut.m_axi_bready.value:
            answers.popleft()
            host.responses += 1
            offered = False
