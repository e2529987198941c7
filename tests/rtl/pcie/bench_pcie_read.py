"""What reads promise: each ID's data in its order, whatever the root complex does, and errors where they belong."""

import random
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie.root import PAGE, Root
from pcie.tlp import COMPLETION, LIMIT, Request, beats_of, pack

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
    seldom,
    until,
)

OKAY, SLVERR = 0, 2


@dataclass
class Read:
    """A burst, and its beats' answers as they come."""

    id: int
    address: int
    beats: int
    func: int
    size: int | None = None
    data: bytes = b""
    responses: list[int] = field(default_factory=list)


class Bench:
    """The block between a manager that reads and a root complex."""

    def __init__(self, dut: Any, **root: Any) -> None:
        self.dut = dut
        self.width = len(dut.s_axi_rdata) // 8
        self.root = Root(dut, **root)
        self.ends: list[int] = []  # IDs in the order in which bursts ended
        self.counts: Counter[str] = Counter()
        self.tick_ns = 0

    async def start(self, timeout: int = 0) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in ("s_axi_arvalid", "s_axi_rready", "req_ready", "cpl_valid"):
            getattr(dut, name).value = 0
        dut.time_ns.value = 1 << 35
        dut.timeout.value = timeout
        dut.limit.value = pack(LIMIT)
        dut.max_read_size.value = (self.root.mrrs // 128).bit_length() - 1
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        cocotb.start_soon(self.root.run())
        cocotb.start_soon(self.watch())
        await cycles(dut.clk, 3)
        assert dut.idle.value

    async def watch(self) -> None:
        now = 1 << 35
        while True:
            await RisingEdge(self.dut.clk)
            if self.tick_ns:
                now += self.tick_ns
                self.dut.time_ns.value = now
            for name in ("failed", "timed_out", "unexpected"):
                self.counts[name] += int(getattr(self.dut, name).value)

    async def run(self, reads: list[Read], stalls: Stalls, r_stalls: Stalls, limit: int = 60_000) -> int:
        """Do all reads; gives the cycles from the first address to the last beat."""
        dut = self.dut
        names = ("arid", "araddr", "arlen", "arsize", "arburst", "aruser")
        payload = tuple(getattr(dut, f"s_axi_{name}") for name in names)
        usual = self.width.bit_length() - 1
        words = [
            (one.id, one.address, one.beats - 1, usual if one.size is None else one.size, 1, one.func) for one in reads
        ]
        cocotb.start_soon(Source(Channel(dut.clk, dut.s_axi_arvalid, dut.s_axi_arready, payload), words, stalls).run())
        beats = tuple(getattr(dut, f"s_axi_r{name}") for name in ("id", "data", "resp", "last"))
        sink = Sink(Channel(dut.clk, dut.s_axi_rvalid, dut.s_axi_rready, beats), r_stalls)
        taking = cocotb.start_soon(sink.run())
        await until(dut.clk, lambda: len(sink.taken) >= sum(one.beats for one in reads), limit)
        taking.cancel()
        dut.s_axi_rready.value = 0
        open_reads: dict[int, deque[Read]] = {}
        for one in reads:
            open_reads.setdefault(one.id, deque()).append(one)
        for number, data, response, last in sink.taken:
            one = open_reads[number][0]
            one.data += data.to_bytes(self.width, "little")
            one.responses.append(response)
            assert last == (len(one.responses) == one.beats), "rlast"
            if last:
                self.ends.append(number)
                open_reads[number].popleft()
        assert not any(open_reads.values())
        return (sink.times_ps[-1] - sink.times_ps[0]) // PERIOD_PS + 1

    async def quiet(self, limit: int = 3000) -> None:
        """Wait until the block says that nothing is in flight."""
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), limit)
        await cycles(self.dut.clk, 5)
        assert self.dut.idle.value and not self.root.pending

    def check(self, one: Read) -> None:
        """Data of the lanes that a burst asked for."""
        size = self.width if one.size is None else 1 << one.size
        skip = one.address % self.width
        end = len(one.data) if one.size is None else skip // size * size + size
        expected = self.root.read(one.func, one.address, end - skip)
        assert one.data[skip:end] == expected, hex(one.address)


def somewhere(count: int, width: int, ids: int = 256, longest: int = 512) -> list[Read]:
    """Reads of any length and alignment, many up to a page's end, of a few functions."""
    made = []
    for _ in range(count):
        page = random.choice((0, 1, 5, random.randrange(1 << 52))) * PAGE
        beats = random.choice((1, 2, longest // width, random.randint(1, longest // width)))
        room = PAGE // width - beats
        row = random.choice((0, room, random.randint(0, room)))
        offset = random.choice((0, random.randrange(width)))
        address = page + row * width + offset
        made.append(Read(random.randrange(ids), address, beats, random.choice((0, 1, 77, 65535))))
    return made


@behaviour()
@cocotb.parametrize((("root_stalls", "stalls"), PAIRS))
async def any_reads_under_any_stalls(dut: Any, root_stalls: Any, stalls: Any) -> None:
    bench = Bench(dut, stalls=root_stalls, cpl_stalls=stalls, anywhere=random.random() < 0.5)
    await bench.start()
    reads = somewhere(40, bench.width)
    await bench.run(reads, seldom(), stalls())
    for one in reads:
        bench.check(one)
        assert set(one.responses) == {OKAY}
    await bench.quiet()
    assert not any(bench.counts.values())


@behaviour()
@cocotb.parametrize(mrrs=[128, 256, 512, 1024, 4096])
async def bursts_are_split_as_the_host_wants(dut: Any, mrrs: int) -> None:
    bench = Bench(dut, mrrs=mrrs)
    await bench.start()
    longest = min(PAGE, 256 * bench.width)
    reads = somewhere(25, bench.width, longest=longest)
    await bench.run(reads, never(), never())
    most = min(mrrs, int(dut.READ_BYTES.value))
    for one in reads:
        bench.check(one)
    expected = sum(-(-one.beats * bench.width // most) for one in reads)
    assert len(bench.root.seen) == expected, "more requests than it takes"


@behaviour()
async def a_beat_that_is_narrower_asks_for_no_more(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    reads = []
    for _ in range(60):
        size = random.randrange(bench.width.bit_length())
        address = random.randrange(1 << 40)
        reads.append(Read(random.randrange(256), address, 1, 3, size))
    await bench.run(reads, never(), never())
    for one, request in zip(reads, bench.root.seen, strict=True):
        bench.check(one)
        size = 1 << (one.size or 0)
        end = one.address // size * size + size
        assert (request.addr, request.func) == (one.address // 4 * 4, 3)
        assert request.addr + 4 * request.dwords == -(-end // 4) * 4


@behaviour()
async def ids_do_not_wait_for_each_other(dut: Any) -> None:
    slow = 7
    addresses: set[int] = set()
    bench = Bench(dut)
    bench.root.latency = lambda: 600 if bench.root.seen[-1].addr in addresses else 5
    await bench.start()
    reads = [Read(slow if index % 4 == 0 else index % 4, PAGE * index, 1, 0) for index in range(12)]
    addresses |= {one.address for one in reads if one.id == slow}
    await bench.run(reads, never(), never())
    for one in reads:
        bench.check(one)
    assert bench.ends[-3:] == [slow] * 3, "the others' data come first"


@behaviour()
async def all_tags_are_in_flight_at_once(dut: Any) -> None:
    tags = int(dut.TAGS.value)
    bench = Bench(dut, latency=lambda: 3 * tags)
    await bench.start()
    reads = [Read(index % 256, 64 * index, 1, 0) for index in range(3 * tags)]
    await bench.run(reads, never(), never())
    for one in reads:
        bench.check(one)
    assert bench.root.most_pending == tags


@behaviour()
@cocotb.parametrize(credits=[1, 2, 7])
async def no_request_goes_without_a_credit(dut: Any, credits: int) -> None:
    bench = Bench(dut, credits=credits, stalls=seldom)
    await bench.start()
    reads = somewhere(270, bench.width, longest=bench.width)
    await bench.run(reads, never(), never())
    for one in reads:
        bench.check(one)
    assert bench.root.most_pending == min(credits, int(dut.TAGS.value))


@behaviour()
@cocotb.parametrize(stalls=[never, bursts])
async def an_error_is_its_bursts_alone_and_lasts_to_its_end(dut: Any, stalls: Any) -> None:
    faults: dict[int, str] = {}

    def fault(request: Request) -> str:
        kind = random.choice(("", "", "UR", "CA", "poisoned", "partial"))
        if kind == "partial" and request.dwords < 33:
            kind = "UR"
        faults[request.addr] = kind
        return kind

    bench = Bench(dut, mrrs=128, stalls=stalls, fault=fault)
    bench.root.mps = 128 if random.random() < 0.5 else 64
    await bench.start()
    reads = [
        Read(random.randrange(6), PAGE * index + random.randrange(bench.width), 512 // bench.width, 1)
        for index in range(60)
    ]
    await bench.run(reads, never(), stalls())
    per_request = 128 // bench.width
    for one in reads:
        expected, broken = [], False
        for beat in range(one.beats):
            if beat % per_request == 0:
                address = one.address // 4 * 4 if beat == 0 else (one.address // bench.width + beat) * bench.width
                broken |= bool(faults[address])
            expected.append(SLVERR if broken else OKAY)
        assert one.responses == expected
        good = expected.count(OKAY) * bench.width
        skip = one.address % bench.width
        assert one.data[skip:good] == bench.root.read(1, one.address, max(good - skip, 0))
    await bench.quiet()
    assert bench.counts["failed"] >= sum(map(bool, faults.values())) and not bench.counts["unexpected"]


@behaviour()
async def a_request_without_an_answer_ends_in_time_and_its_tag_rests(dut: Any) -> None:
    lost: set[int] = set()
    bench = Bench(dut, fault=lambda request: "silent" if request.addr in lost else "")
    bench.tick_ns = 64
    await bench.start(timeout=40)  # 40,960 ns, 640 cycles
    reads = [Read(index % 5, PAGE * index, 2, 1) for index in range(min(40, int(dut.TAGS.value)))]
    lost |= {one.address for one in reads if random.random() < 0.25}
    await bench.run(reads, never(), seldom())
    for one in reads:
        if one.address in lost:
            assert one.responses == [SLVERR] * 2
        else:
            bench.check(one)
            assert one.responses == [OKAY] * 2
    assert bench.counts["timed_out"] == len(lost) and not bench.counts["unexpected"]
    took = bench.root.cycle - min(request.cycle for request in bench.root.seen)
    assert 640 <= took < 640 + 200 + 2 * int(dut.TAGS.value)

    count = len(lost)
    lost.clear()

    # Answers that come too late are dropped, and the tags are not used for other reads.
    late = bench.root.silent[:]
    for one in late:
        one.due, one.fault = bench.root.cycle + 100, ""
    bench.root.pending += late
    bench.root.mps = PAGE
    more = somewhere(30, bench.width)
    await bench.run(more, never(), never())
    await until(dut.clk, lambda: not bench.root.pending, 2000)
    for one in more:
        bench.check(one)
    await cycles(dut.clk, 10)
    assert bench.counts["unexpected"] >= count
    assert not dut.idle.value, "tags rest"
    bench.root.silent.clear()
    await bench.quiet()
    again = somewhere(2 * int(dut.TAGS.value), bench.width, longest=bench.width)
    await bench.run(again, never(), never())
    for one in again:
        bench.check(one)
    assert {request.tag for request in bench.root.seen[-len(again) :]} == set(range(int(dut.TAGS.value)))


@behaviour()
async def completions_that_fit_no_request_are_dropped(dut: Any) -> None:
    bench = Bench(dut, latency=lambda: 200)
    await bench.start()
    reads = somewhere(20, bench.width)
    task = cocotb.start_soon(bench.run(reads, never(), never()))
    await until(dut.clk, lambda: len(bench.root.pending) >= 3, 500)
    root, sent = bench.root, 0
    unused = 255  # tags are first used in their order
    for one in root.pending[:3]:
        dwords = one.request.dwords
        right = {"tag": one.request.tag, "bytes": 4 * dwords, "lower_addr": one.place % 128, "dwords": dwords}
        lane = (one.place + 4) % 128
        for wrong in ({"bytes": 4 * dwords + 4}, {"dwords": dwords + 1}, {"lower_addr": lane}, {"tag": unused}):
            fields = {**right, **wrong}
            data = random.randbytes(4 * fields["dwords"])
            root.strays.append(beats_of(data, pack(COMPLETION, **fields), bench.width // 4))
            sent += 1
    await task
    for one in reads:
        bench.check(one)
        assert set(one.responses) == {OKAY}
    assert bench.counts["unexpected"] == sent and not bench.counts["failed"]


def paced(dut: Any, latency: int) -> Bench:
    """A link of PCIe 3.0, 8 lanes: 8 GT/s, 128 of 130 bits, in bytes a cycle of 250 MHz; 250 cycles are 1 us."""
    return Bench(dut, wire=8 * 8 * 128 / 130 / 8 * 4, latency=lambda: latency, in_order=True)


@behaviour()
async def reads_of_1_kb_fill_the_link(dut: Any) -> None:
    bench = paced(dut, 250)
    await bench.start()
    half = 512 // bench.width
    reads = [Read(index // 2 % 16, 512 * index, half, 0) for index in range(160)]
    await bench.run(reads, never(), never())
    for one in reads:
        bench.check(one)
    first = bench.root.seen[0].cycle
    count = bench.root.cycle - first - 250
    payload = 512 * len(reads) / count
    most = min(256, int(dut.READ_BYTES.value))
    limit = min(bench.root.wire * most / (most + 20), bench.width)
    dut._log.info(f"reads of 1 KB: {payload:.2f} bytes a cycle, {payload / limit:.1%} of {limit:.2f}")
    assert payload > 0.95 * limit


@behaviour()
async def short_reads_of_many_ids_take_a_cycle_each(dut: Any) -> None:
    bench = Bench(dut, latency=lambda: 20, in_order=True)
    await bench.start()
    reads = [Read(index % 64, index * bench.width, 1, 0) for index in range(200)]
    took = await bench.run(reads, never(), never())
    for one in reads:
        bench.check(one)
    turn = 20 + 14  # cycles in which a tag is in use
    assert took <= len(reads) * max(1.0, turn / int(dut.TAGS.value)) * 1.1 + 10
