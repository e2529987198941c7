"""What two ways to registers promise: each access once, to its function and BAR, with its own answer; in turn."""

import itertools
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie.bench_pcie_registers import REQ, RSP
from pcie.tlp import pack, unpack

from headrace.testing.streams import PAIRS, PERIOD_PS, Stalls, behaviour, cycles, never, until


class Bench:
    """Two sides with accesses, and registers that answer with what was asked."""

    def __init__(self, dut: Any, stalls: Stalls) -> None:
        self.dut, self.stalls = dut, stalls
        self.requests, self.beside = [0, 0], [0, 0]
        self.done: list[tuple[int, int]] = []  # side and number

    async def start(self) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in ("s_func", "s_bar", "s_req", "m_rsp"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        cocotb.start_soon(self.registers())

    async def registers(self) -> None:
        """One access at a time. An access's address says its side and number, and so do function and BAR."""
        dut = self.dut
        while True:
            request = unpack(REQ, int(dut.m_req.value))
            kind = "aw" if request["awvalid"] else "ar" if request["arvalid"] else ""
            if kind and not next(self.stalls):
                address = request[f"{kind}addr"]
                side, number = address >> 31, address & 0x7FFF_FFFF
                assert (int(dut.m_func.value), int(dut.m_bar.value)) == (number % 65536, number % 6)
                assert kind == "ar" or (request["wvalid"] and request["wdata"] == address)
                self.done.append((side, number))
                taken = {"awready": 1, "wready": 1} if kind == "aw" else {"arready": 1}
                dut.m_rsp.value = pack(RSP, **taken)
                await RisingEdge(dut.clk)
                dut.m_rsp.value = 0
                while next(self.stalls):
                    await RisingEdge(dut.clk)
                answer = {"bvalid": 1} if kind == "aw" else {"rvalid": 1, "rdata": address}
                dut.m_rsp.value = pack(RSP, **answer)
                await RisingEdge(dut.clk)
                while not unpack(REQ, int(dut.m_req.value))["bready" if kind == "aw" else "rready"]:
                    await RisingEdge(dut.clk)
                dut.m_rsp.value = 0
            await RisingEdge(dut.clk)

    def drive(self, side: int, number: int, **request: int) -> None:
        """The sides share signals."""
        self.requests[side], self.beside[side] = pack(REQ, **request), number
        width = sum(REQ.values())
        self.dut.s_req.value = self.requests[1] << width | self.requests[0]
        self.dut.s_func.value = self.beside[1] % 65536 << 16 | self.beside[0] % 65536
        self.dut.s_bar.value = self.beside[1] % 6 << 3 | self.beside[0] % 6

    async def side(self, side: int, count: int, gaps: Stalls) -> None:
        """So many accesses, reads and writes."""
        dut, width = self.dut, sum(RSP.values())
        for number in range(count):
            while next(gaps):
                await RisingEdge(dut.clk)
            address = side << 31 | number
            write = random.random() < 0.5
            ready = {"bready": 1, "rready": 1}
            ask = {"awaddr": address, "wdata": address, "awvalid": 1, "wvalid": 1}
            self.drive(side, number, **(ask if write else {"araddr": address, "arvalid": 1}), **ready)
            while True:
                await RisingEdge(dut.clk)
                answer = unpack(RSP, int(dut.s_rsp.value) >> side * width & ((1 << width) - 1))
                if answer["awready"] or answer["arready"]:
                    self.drive(side, number, **ready)
                if answer["bvalid"] or answer["rvalid"]:
                    assert answer["bvalid"] == int(write) and answer["rdata"] in (0 if write else address,)
                    self.drive(side, number)
                    break


@behaviour()
@cocotb.parametrize((("stalls", "gaps"), PAIRS))
async def each_access_is_made_once_and_answered(dut: Any, stalls: Any, gaps: Any) -> None:
    bench = Bench(dut, stalls())
    await bench.start()
    tasks = [cocotb.start_soon(bench.side(side, 100, gaps())) for side in range(2)]
    for task in tasks:
        await task
    assert [number for side, number in bench.done if side == 0] == list(range(100))
    assert [number for side, number in bench.done if side == 1] == list(range(100))
    await until(dut.clk, lambda: bool(dut.idle.value), 5)


@behaviour()
async def sides_that_always_ask_take_turns(dut: Any) -> None:
    bench = Bench(dut, never())
    await bench.start()
    tasks = [cocotb.start_soon(bench.side(side, 50, never())) for side in range(2)]
    for task in tasks:
        await task
    sides = [side for side, _ in bench.done]
    assert all(first != second for first, second in itertools.pairwise(sides[:90]))
