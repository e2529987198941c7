"""What MSI-X promises: each interrupt becomes the write that the host's table names, at once or when it is unmasked."""

import random
from collections import Counter
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie.bench_pcie_registers import REQ, RSP
from pcie.tlp import Request, pack, unpack

from headrace.testing.streams import (
    PERIOD_PS,
    Channel,
    Sink,
    Stalls,
    behaviour,
    bursts,
    cycles,
    mostly,
    never,
    seldom,
    until,
)

CONTROL = 12


class Bench:
    """The block between its functions, a host's accesses and the requests that it makes."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.functions, self.vectors = int(dut.FUNCTIONS.value), int(dut.VECTORS.value)
        self.pending_at = int(dut.PENDING.value)
        self.refused = 0
        self.table: dict[tuple[int, int], tuple[int, int]] = {}

    async def start(self, stalls: Stalls, enabled: int | None = None) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in ("irq_valid", "clear_valid", "axil_req", "masked", "req_ready", "func"):
            getattr(dut, name).value = 0
        dut.enabled.value = (1 << self.functions) - 1 if enabled is None else enabled
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        self.sink = Sink(Channel(dut.clk, dut.req_valid, dut.req_ready, (dut.req_header, dut.req_data)), stalls)
        cocotb.start_soon(self.sink.run())
        cocotb.start_soon(self.watch())
        await cycles(dut.clk, 2)
        await self.quiet(20 * self.functions * self.vectors + 100)

    async def watch(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.refused += int(self.dut.refused.value)

    async def quiet(self, limit: int | None = None) -> None:
        """Wait until nothing more comes without the host."""
        limit = limit or 20 * self.functions * self.vectors + 500
        await cycles(self.dut.clk, 2)
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), limit)
        await cycles(self.dut.clk, 2)

    async def access(self, func: int, **request: int) -> dict[str, int]:
        """One access by the host; gives the answer."""
        dut = self.dut
        dut.func.value = func
        dut.axil_req.value = pack(REQ, **request)
        taken = False
        while True:
            await RisingEdge(dut.clk)
            answer = unpack(RSP, int(dut.axil_rsp.value))
            if not taken and (answer["awready"] or answer["arready"]):
                taken = True
                dut.axil_req.value = pack(REQ, bready=request["bready"], rready=request["rready"])
            elif taken and (answer["bvalid"] or answer["rvalid"]):
                dut.axil_req.value = 0
                return answer

    async def write(self, func: int, offset: int, data: int, strobes: int = 15) -> None:
        request = {"awaddr": offset, "awvalid": 1, "wdata": data, "wstrb": strobes, "wvalid": 1}
        assert (await self.access(func, **request, bready=1, rready=0))["bresp"] == 0

    async def read(self, func: int, offset: int) -> int:
        return (await self.access(func, araddr=offset, arvalid=1, bready=0, rready=1))["rdata"]

    async def program(self, func: int, vector: int, control: int = 0) -> None:
        """Give a vector a random address and data."""
        address, data = random.getrandbits(62) << 2, random.getrandbits(32)
        self.table[func, vector] = (address, data)
        for offset, word in ((0, address % (1 << 32)), (4, address >> 32), (8, data), (CONTROL, control)):
            await self.write(func, 16 * vector + offset, word)

    async def interrupt(self, func: int, vector: int) -> None:
        dut = self.dut
        dut.irq_func.value, dut.irq_vector.value, dut.irq_valid.value = func, vector, 1
        await RisingEdge(dut.clk)
        while not dut.irq_ready.value:
            await RisingEdge(dut.clk)
        dut.irq_valid.value = 0

    async def pending(self, func: int) -> int:
        words = [await self.read(func, self.pending_at + 4 * number) for number in range((self.vectors + 31) // 32)]
        return sum(word << 32 * number for number, word in enumerate(words))

    def sent(self) -> list[tuple[int, int]]:
        """Functions and vectors of the requests up to now, each of which is as the table has it."""
        made = []
        for header, data in self.sink.taken:
            request = Request.of(header)
            assert (request.write, request.dwords, request.first_be) == (1, 1, 15)
            found = [key for key, entry in self.table.items() if entry == (request.addr, data)]
            assert len(found) == 1 and found[0][0] == request.func
            made += found
        return made


@behaviour()
@cocotb.parametrize(stalls=[never, seldom, bursts])
async def an_interrupt_is_the_write_that_its_entry_names(dut: Any, stalls: Any) -> None:
    bench = Bench(dut)
    await bench.start(stalls())
    vectors = [(random.randrange(bench.functions), random.randrange(bench.vectors)) for _ in range(20)]
    for one in set(vectors):
        await bench.program(*one)
    for one in vectors:
        await bench.interrupt(*one)
    await bench.quiet()
    assert bench.sent() == vectors and not bench.refused


@behaviour()
async def the_table_reads_as_it_was_written_byte_by_byte(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(never())
    model: dict[tuple[int, int], int] = {}
    places = [
        (random.randrange(bench.functions), 16 * random.randrange(bench.vectors) + 4 * word) for word in range(4)
    ] * 2
    for func, offset in places:
        await bench.write(func, offset, 0xFFFFFFFF if offset % 16 == CONTROL else 0)
        model[func, offset] = 1 if offset % 16 == CONTROL else 0
    for _ in range(60):
        func, offset = random.choice(places)
        data, strobes = random.getrandbits(32), random.getrandbits(4)
        await bench.write(func, offset, data, strobes)
        mask = sum(255 << 8 * lane for lane in range(4) if strobes >> lane & 1)
        mixed = (model[func, offset] & ~mask) | (data & mask)
        model[func, offset] = mixed & 1 if offset % 16 == CONTROL else mixed
        func, offset = random.choice(places)
        assert await bench.read(func, offset) == model[func, offset]


@behaviour()
async def all_vectors_are_masked_after_reset(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(never())
    for func in {0, bench.functions - 1, random.randrange(bench.functions)}:
        for vector in range(bench.vectors):
            assert await bench.read(func, 16 * vector + CONTROL) == 1
        assert await bench.pending(func) == 0


@behaviour()
async def a_masked_vector_is_pending_until_it_is_unmasked(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(never())
    func, vector = bench.functions - 1, random.randrange(bench.vectors)
    other = (0, (vector + 1) % bench.vectors)
    await bench.program(func, vector, control=1)
    await bench.program(*other)
    for _ in range(3):
        await bench.interrupt(func, vector)
        await bench.interrupt(*other)
    await bench.quiet()
    assert bench.sent() == [other] * 3
    assert await bench.pending(func) == 1 << vector
    await bench.write(func, bench.pending_at, 0)
    await bench.write(func, 16 * vector + CONTROL, 0)
    await bench.quiet()
    assert bench.sent() == [other] * 3 + [(func, vector)]
    assert await bench.pending(func) == 0
    await bench.interrupt(func, vector)
    await bench.quiet()
    assert len(bench.sent()) == 5


@behaviour()
async def a_masked_function_keeps_all_its_interrupts(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(never())
    func = random.randrange(bench.functions)
    for vector in range(bench.vectors):
        await bench.program(func, vector)
    dut.masked.value = 1 << func
    await bench.quiet()
    for vector in range(bench.vectors):
        await bench.interrupt(func, vector)
    await bench.quiet()
    assert not bench.sent() and await bench.pending(func) == (1 << bench.vectors) - 1
    await bench.write(func, CONTROL, 1)
    dut.masked.value = 0
    await bench.quiet()
    assert sorted(bench.sent()) == [(func, vector) for vector in range(1, bench.vectors)]
    assert await bench.pending(func) == 1


@behaviour()
async def a_disabled_function_and_one_that_is_not_there_send_nothing(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(never(), enabled=0)
    await bench.program(0, 1)
    await bench.interrupt(0, 1)
    await bench.interrupt(bench.functions, 0)
    await bench.interrupt(0, bench.vectors)
    await bench.interrupt(0, 0xFFFF)
    await bench.quiet()
    dut.enabled.value = 1
    await bench.quiet()
    assert not bench.sent() and bench.refused == 4
    assert await bench.pending(0) == 0


@behaviour()
async def a_function_that_is_cleared_leaves_the_others_alone(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(never())
    last = bench.functions - 1
    for func in (0, last):
        await bench.program(func, 0)
        await bench.program(func, 1, control=1)
        await bench.interrupt(func, 1)
    dut.clear_func.value, dut.clear_valid.value = last, 1
    await RisingEdge(dut.clk)
    while not dut.clear_ready.value:
        await RisingEdge(dut.clk)
    dut.clear_valid.value = 0
    for func in (0, last):
        await bench.interrupt(func, 0)
    await bench.quiet()
    assert bench.sent() == ([(0, 0)] if last else [])
    assert await bench.pending(last) == 1
    assert await bench.read(last, CONTROL) == 1
    if last:
        assert await bench.pending(0) == 2


@behaviour()
async def a_host_that_takes_nothing_can_still_write_the_table(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start(iter(lambda: True, None))
    await bench.program(0, 0)

    async def many() -> None:
        for _ in range(12):
            await bench.interrupt(0, 0)

    task = cocotb.start_soon(many())
    await cycles(dut.clk, 100)
    assert not task.done(), "more interrupts than the queue takes"
    await bench.write(0, CONTROL, 1)
    await bench.write(0, CONTROL, 0)
    assert await bench.read(0, CONTROL) == 0


@behaviour()
@cocotb.parametrize(stalls=[never, mostly])
async def none_is_lost_while_the_host_masks_and_unmasks(dut: Any, stalls: Any) -> None:
    bench = Bench(dut)
    await bench.start(stalls())
    vectors = [(func, vector) for func in {0, bench.functions - 1} for vector in range(min(bench.vectors, 4))]
    for one in vectors:
        await bench.program(*one)
    asked: Counter[tuple[int, int]] = Counter()

    async def interrupts() -> None:
        for _ in range(80):
            one = random.choice(vectors)
            asked[one] += 1
            await bench.interrupt(*one)
            await cycles(dut.clk, random.choice((0, 0, 5, 20)))

    task = cocotb.start_soon(interrupts())
    while not task.done():
        func, vector = random.choice(vectors)
        if random.random() < 0.3:
            dut.masked.value = random.choice((0, 1 << func))
        await bench.write(func, 16 * vector + CONTROL, 1)
        await cycles(dut.clk, random.randint(0, 30))
        before = Counter(bench.sent())
        await cycles(dut.clk, random.randint(0, 30))
        if stalls is never:
            assert Counter(bench.sent())[func, vector] == before[func, vector], "sent while it is masked"
        if random.random() < 0.8:
            await bench.write(func, 16 * vector + CONTROL, 0)
    dut.masked.value = 0
    await bench.quiet()
    before = Counter(bench.sent())
    for func, vector in vectors:
        await bench.write(func, 16 * vector + CONTROL, 0)
    await bench.quiet()
    sent = Counter(bench.sent())
    assert all(sent[one] <= asked[one] for one in vectors)
    assert all(sent[one] for one in vectors if asked[one])
    for func in {0, bench.functions - 1}:
        assert await bench.pending(func) == 0
