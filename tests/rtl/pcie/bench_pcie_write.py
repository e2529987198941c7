"""What writes promise: every byte that a strobe names where it belongs and no other, in requests as PCIe wants them."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie.tlp import LIMIT, Request, pack

from headrace.testing.streams import (
    PAIRS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    Stalls,
    behaviour,
    bursts,
    cycles,
    never,
    together,
    until,
)

PAGE = 4096
Bytes = dict[tuple[int, int], int]  # by function and address


@dataclass
class Write:
    """A burst: data and strobes of its beats."""

    id: int
    address: int
    func: int
    beats: list[tuple[bytes, int]]

    def bytes(self, width: int) -> Bytes:
        """What it writes."""
        base = self.address // width * width
        return {
            (self.func, base + width * number + lane): data[lane]
            for number, (data, strobes) in enumerate(self.beats)
            for lane in range(width)
            if strobes >> lane & 1
        }


@dataclass
class Host:
    """Takes write requests: credits, and a link that is as fast as it is.

    headers, data  credits that it has room for, of headers and of 16 bytes of data; None: any
    wire           bytes that the link moves in a cycle; None: any
    """

    dut: Any
    mps: int
    stalls: Stalls
    headers: int | None = None
    data: int | None = None
    wire: float | None = None
    requests: list[Request] = field(default_factory=list)
    written: Bytes = field(default_factory=dict)
    count: int = 0  # bytes written
    cycle: int = 0
    used: int = 0
    returned: tuple[int, int] = (0, 0)
    gaps: int = 0
    wire_ends: list[float] = field(default_factory=list)  # when each request has left on the link

    def grant(self) -> None:
        """Show the limits."""
        headers, data = self.returned
        self.dut.limit.value = pack(
            LIMIT,
            ph_infinite=int(self.headers is None),
            pd_infinite=int(self.data is None),
            ph=(headers + (self.headers or 0)) % 256,
            pd=(data + (self.data or 0)) % 4096,
        )

    async def run(self) -> None:
        """Take requests for ever."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        owed: list[tuple[int, int, int]] = []  # credits that come back, and when
        payload, held, wire_free = b"", None, 0.0
        sent_headers = sent_data = 0
        self.grant()
        while True:
            ready = not next(self.stalls) and wire_free - self.cycle < 16  # what the hard IP stores
            dut.req_ready.value = int(ready)
            await edge
            self.cycle += 1
            while owed and owed[0][0] <= self.cycle:
                _, headers, data = owed.pop(0)
                self.returned = (self.returned[0] + headers, self.returned[1] + data)
                self.grant()
            if not dut.req_valid.value:
                assert held is None, "valid fell before the beat was taken"
                self.gaps += bool(payload)
                continue
            beat = (int(dut.req_header.value), int(dut.req_data.value), int(dut.req_last.value))
            assert held in (None, beat), "a beat changed before it was taken"
            held = None if ready else beat
            if not ready:
                continue
            payload += beat[1].to_bytes(len(dut.req_data) // 8, "little")
            if not beat[2]:
                continue
            request = Request.of(beat[0], self.cycle)
            assert request.write
            assert -(-4 * request.dwords // (len(dut.req_data) // 8)) == len(payload) * 8 // len(dut.req_data)
            request.data, payload = payload[: 4 * request.dwords], b""
            sent_headers, sent_data = sent_headers + 1, sent_data + -(-request.dwords // 4)
            assert self.headers is None or sent_headers <= self.returned[0] + self.headers, "no header credit"
            assert self.data is None or sent_data <= self.returned[1] + self.data, "no data credit"
            owed.append((self.cycle + random.randint(1, 30), 1, -(-request.dwords // 4)))
            owed.sort()
            if self.wire:  # framing, sequence number and LCRC 8 bytes, header 16
                wire_free = max(wire_free, float(self.cycle)) + (len(request.data) + 24) / self.wire
                self.wire_ends.append(wire_free)
            self.take(request)

    def take(self, request: Request) -> None:
        """A request is complete."""
        assert request.addr // self.mps == (request.addr + 4 * request.dwords - 1) // self.mps, "too long"
        self.requests.append(request)
        for number in range(request.dwords):
            enables = request.last_be if number == request.dwords - 1 and number else request.first_be
            if 0 < number < request.dwords - 1:
                enables = 15
            for lane in range(4):
                if enables >> lane & 1:
                    place = 4 * number + lane
                    self.written[request.func, request.addr + place] = request.data[place]
                    self.count += 1


@dataclass
class Bench:
    """The block between a manager that writes and the host."""

    dut: Any
    mps: int = 256
    stalls: Callable[[], Stalls] = never
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.width = len(self.dut.s_axi_wdata) // 8
        self.host = Host(self.dut, self.mps, self.stalls(), **self.options)

    async def run(self, writes: list[Write], stalls: Callable[[], Stalls], limit: int = 60_000) -> None:
        """Do all writes and check what came of them."""
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in ("s_axi_awvalid", "s_axi_wvalid", "s_axi_bready", "req_ready", "msg_valid"):
            getattr(dut, name).value = 0
        dut.max_payload.value = (self.mps // 128).bit_length() - 1
        dut.limit.value = 0
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        cocotb.start_soon(self.host.run())
        await cycles(dut.clk, 3)
        assert dut.idle.value
        size = self.width.bit_length() - 1
        addresses = [(one.id, one.address, len(one.beats) - 1, size, 1, one.func) for one in writes]
        names = ("awid", "awaddr", "awlen", "awsize", "awburst", "awuser")
        payload = tuple(getattr(dut, f"s_axi_{name}") for name in names)
        aw = Source(Channel(dut.clk, dut.s_axi_awvalid, dut.s_axi_awready, payload), addresses, stalls())
        words = [
            (int.from_bytes(data, "little"), strobes, int(number == len(one.beats) - 1))
            for one in writes
            for number, (data, strobes) in enumerate(one.beats)
        ]
        payload = (dut.s_axi_wdata, dut.s_axi_wstrb, dut.s_axi_wlast)
        w = Source(Channel(dut.clk, dut.s_axi_wvalid, dut.s_axi_wready, payload), words, stalls())
        answers = Channel(dut.clk, dut.s_axi_bvalid, dut.s_axi_bready, (dut.s_axi_bid, dut.s_axi_bresp))
        b = Sink(answers, stalls())
        for task in (aw, w, b):
            cocotb.start_soon(task.run())
        written = [one.bytes(self.width) for one in writes]
        due = answered = 0
        while answered < len(writes):
            begun = len(aw.sent)
            await RisingEdge(dut.clk)
            assert not (dut.idle.value and begun > answered), "idle while a burst is under way"
            if dut.s_axi_bvalid.value and dut.s_axi_bready.value:
                due += len(written[answered])
                answered += 1
                assert self.host.count >= due, "answered before its last request was taken"
            limit -= 1
            assert limit, "no end"
        await cycles(dut.clk, 3)
        assert b.taken == [(one.id, 0) for one in writes]
        expected: Bytes = {}
        for one in written:
            expected.update(one)
        assert self.host.written == expected and self.host.count == due
        await until(dut.clk, lambda: bool(dut.idle.value), 20)


def strobes_of(width: int, first: int, last: int) -> int:
    """Strobes of the bytes from `first` to `last`."""
    return (1 << (last + 1)) - (1 << first)


def run_of(width: int, address: int, count: int, id: int = 0, func: int = 0) -> Write:
    """A burst that writes `count` bytes from `address` on."""
    beats = []
    place = address
    while place < address + count:
        end = min(place // width * width + width, address + count)
        beats.append((random.randbytes(width), strobes_of(width, place % width, (end - 1) % width)))
        place = end
    return Write(id, address, func, beats)


def somewhere(count: int, width: int, longest: int = 512) -> list[Write]:
    """Bursts of any length and alignment, many up to a page's end; some have holes, some beats without a byte."""
    made = []
    for _ in range(count):
        length = random.choice((1, 4, 8, width, longest - width, random.randint(1, longest - width)))
        offset = random.choice((0, PAGE - length, random.randint(0, PAGE - length)))
        page = random.choice((0, 1, 5, random.randrange(1 << 52))) * PAGE
        one = run_of(width, page + offset, length, random.randrange(256), random.choice((0, 1, 300)))
        for number in range(len(one.beats)):
            holes = random.choice(("none",) * 6 + ("few", "many", "all"))
            mask = (1 << 8 * width) - 1
            if holes != "none":
                mask = {"few": ~(1 << random.randrange(width)), "many": random.getrandbits(width), "all": 0}[holes]
            one.beats[number] = (one.beats[number][0], one.beats[number][1] & mask)
        made.append(one)
    return made


@behaviour()
@cocotb.parametrize((("host_stalls", "stalls"), PAIRS))
async def any_writes_under_any_stalls(dut: Any, host_stalls: Any, stalls: Any) -> None:
    bench = Bench(dut, random.choice((128, 256, 512)), host_stalls)
    await bench.run(somewhere(40, bench.width), stalls)
    assert not bench.host.gaps, "a gap within a request"


@behaviour()
@cocotb.parametrize(mps=[128, 256, 512, 1024, 4096])
async def bursts_are_split_as_the_host_wants_and_no_more(dut: Any, mps: int) -> None:
    bench = Bench(dut, mps)
    longest = min(PAGE, 256 * bench.width)
    writes, requests = [], 0
    for _ in range(25):
        count = random.randint(1, longest - bench.width)
        address = random.randrange(1 << 40) * PAGE + random.randint(0, PAGE - count)
        writes.append(run_of(bench.width, address, count))
        requests += (address + count - 1) // mps - address // mps + 1
    await bench.run(writes, never)
    assert len(bench.host.requests) == requests


@behaviour()
async def every_run_of_bytes_in_a_beat(dut: Any) -> None:
    bench = Bench(dut)
    width = bench.width
    ranges = [(first, last) for first in range(width) for last in range(first, width)]
    if len(ranges) > 300:
        ranges = random.sample(ranges, 300)
    writes = [
        Write(index % 256, 2 * width * index, 0, [(random.randbytes(width), strobes_of(width, *one))])
        for index, one in enumerate(ranges)
    ]
    await bench.run(writes, never)
    assert len(bench.host.requests) == len(writes)


@behaviour()
async def a_run_goes_on_over_beats_and_a_hole_ends_it(dut: Any) -> None:
    bench = Bench(dut, 4096)
    width = bench.width
    full, low, high = (1 << width) - 1, strobes_of(width, 0, 5), strobes_of(width, width - 3, width - 1)
    shapes = [[high, full, low], [low, full], [full, high], [high, 0, low], [0, full, 0], [0], [full, full, 0]]
    writes = [
        Write(index, PAGE * index, 1, [(random.randbytes(width), strobes) for strobes in shape])
        for index, shape in enumerate(shapes)
    ]
    await bench.run(writes, never, 200)
    assert [request.addr // PAGE for request in bench.host.requests] == [0, 1, 1, 2, 2, 3, 3, 4, 6]


@behaviour()
@cocotb.parametrize((("limits", "stalls"), together([(1, None), (None, 32), (3, 40), (100, 2000)], [bursts, never])))
async def no_request_goes_without_credits(dut: Any, limits: Any, stalls: Any) -> None:
    bench = Bench(dut, 512, options={"headers": limits[0], "data": limits[1]})
    writes = somewhere(60, bench.width) + [run_of(bench.width, PAGE * index, 512) for index in range(30)]
    await bench.run(writes, stalls)


@behaviour()
async def short_writes_take_a_cycle_each(dut: Any) -> None:
    bench = Bench(dut)
    writes = [run_of(bench.width, 64 * index + index % 4, 12) for index in range(200)]
    await bench.run(writes, never)
    taken = bench.host.requests
    assert taken[-1].cycle - taken[0].cycle <= 1.05 * len(writes) + 5


@behaviour()
@cocotb.parametrize(offset=[0, 20])
async def writes_of_1_kb_fill_the_link(dut: Any, offset: int) -> None:
    wire = 8 * 8 * 128 / 130 / 8 * 4  # PCIe 3.0, 8 lanes: bytes in a cycle of 250 MHz
    bench = Bench(dut, 256, options={"wire": wire})
    writes = [run_of(bench.width, 2048 * index + offset, 1024, index % 16) for index in range(60)]
    await bench.run(writes, never)
    taken = bench.host.requests
    ends = bench.host.wire_ends
    payload = sum(len(one.data) for one in taken[1:]) / (ends[-1] - ends[0])
    limit = min(wire * 256 / (256 + 24), bench.width)
    dut._log.info(f"writes of 1 KB: {payload:.2f} bytes a cycle, {payload / limit:.1%} of {limit:.2f}")
    assert payload > (0.95 if offset == 0 else 0.9) * limit


@behaviour()
async def a_long_run_moves_a_beat_a_cycle(dut: Any) -> None:
    bench = Bench(dut, 512)
    writes = [run_of(bench.width, PAGE * index, 1024) for index in range(20)]
    await bench.run(writes, never)
    taken = bench.host.requests
    beats = sum(len(one.data) for one in taken[1:]) // bench.width
    assert taken[-1].cycle - taken[0].cycle <= beats + 5
