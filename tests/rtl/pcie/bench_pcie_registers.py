"""What register accesses promise: in their order, byte by byte, to the function and range that the host asked for."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie.tlp import ABORTED, ACCESS, ANSWER, ID, SUCCESSFUL, UNSUPPORTED, beats_of, pack, unpack

from headrace.testing.streams import (
    PAIRS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    Stalls,
    Word,
    behaviour,
    cycles,
    never,
    until,
)

READ, WRITE, OTHER = range(3)
OKAY, SLVERR, DECERR = 0, 2, 3
REQ = {
    **{"awaddr": 32, "awprot": 3, "awvalid": 1, "wdata": 32, "wstrb": 4, "wvalid": 1, "bready": 1},
    **{"araddr": 32, "arprot": 3, "arvalid": 1, "rready": 1},
}
RSP = {"awready": 1, "wready": 1, "bresp": 2, "bvalid": 1, "arready": 1, "rdata": 32, "rresp": 2, "rvalid": 1}
Place = tuple[int, int, int]  # function, BAR, address


@dataclass
class Registers:
    """AXI4-Lite registers of every function and BAR, and what was done to them, in order."""

    dut: Any
    stalls: Stalls
    bad: Callable[[Place], int] = lambda _: OKAY
    words: dict[Place, int] = field(default_factory=dict)
    done: list[tuple[str, Place]] = field(default_factory=list)

    def read(self, place: Place) -> int:
        """A register, which nobody wrote: a pattern."""
        return self.words.setdefault(place, random.Random(repr(place)).getrandbits(32))

    async def run(self) -> None:
        """Answer for ever."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        write: dict[str, tuple[int, ...]] = {}
        answer: dict[str, int] = {}
        while True:
            ready = {name: int(not next(self.stalls)) for name in ("awready", "wready", "arready")}
            dut.axil_rsp.value = pack(RSP, **ready, **answer)
            await edge
            request = unpack(REQ, int(dut.axil_req.value))
            beside = (int(dut.func.value), int(dut.bar.value))
            if any(answer.get(f"{side}valid") and request[f"{side}ready"] for side in "br"):
                answer = {}
            if request["awvalid"] and ready["awready"]:
                assert "address" not in write
                write["address"] = (*beside, request["awaddr"])
            if request["wvalid"] and ready["wready"]:
                assert "data" not in write
                write["data"] = (request["wdata"], request["wstrb"])
            if request["arvalid"] and ready["arready"]:
                assert not answer and not write, "one at a time"
                place = (*beside, request["araddr"])
                self.done.append(("read", place))
                answer = {"rvalid": 1, "rdata": self.read(place), "rresp": self.bad(place)}
            if len(write) == 2:
                func, bar, address = write["address"]
                place, (data, strobes) = (func, bar, address), write["data"]
                assert strobes, "a write of no bytes"
                mask = sum(255 << 8 * lane for lane in range(4) if strobes >> lane & 1)
                self.words[place] = (self.read(place) & ~mask) | (data & mask)
                self.done.append(("write", place))
                answer = {"bvalid": 1, "bresp": self.bad(place)}
                write = {}


def accesses(count: int, kinds: tuple[int, ...] = (READ, WRITE), poisoned: bool = False) -> list[dict[str, Any]]:
    """Accesses of 1 and 2 DWs to a few registers of a few functions; all byte enables that there can be."""
    made = []
    for _ in range(count):
        dwords = random.choice((1, 2))
        made.append(
            {
                "kind": random.choice(kinds),
                **{name: random.getrandbits(width) for name, width in ID.items()},
                "func": random.choice((0, 1, 300)),
                "bar": random.choice((0, 2)),
                "addr": random.getrandbits(48) << 16 | 4 * random.choice((0, 1, 2, 3, 0x3FFE)),
                "dwords": dwords,
                "first_be": random.choice((15, 15, random.getrandbits(4))),
                "last_be": random.choice((15, random.getrandbits(4))) if dwords == 2 else 0,
                "poisoned": int(poisoned and random.random() < 0.3),
                "data": random.randbytes(4 * dwords),
            }
        )
    return made


def span(first_be: int, last_be: int, dwords: int) -> tuple[int, int]:
    """Number of bytes from the first to the last that is enabled, and how many come before: table 2-36."""
    bits = first_be | (last_be << 4 * (dwords - 1) if dwords > 1 else 0)
    if not bits:
        return 1, 0
    if dwords > 1:  # the first DW counts from its first byte, the last one to its last
        lead = (first_be & -first_be).bit_length() - 1 if first_be else 0
        end = last_be.bit_length() if last_be else 1
        return 4 * (dwords - 1) + end - lead, lead
    lead = (bits & -bits).bit_length() - 1
    return bits.bit_length() - lead, lead


class Bench:
    """The block between a host and registers, and a second set of registers that says what must come."""

    def __init__(self, dut: Any, stalls: Stalls, bad: Callable[[Place], int] = lambda _: OKAY) -> None:
        self.dut = dut
        self.registers = Registers(dut, stalls, bad)
        self.model = Registers(dut, stalls, bad)
        self.refused = 0

    async def watch(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.refused += int(self.dut.refused.value)

    def expect(self, one: dict[str, Any]) -> tuple[dict[str, int], list[int | None]] | None:
        """What an access does, and the answer to it: DWs, None without an enabled byte."""
        wide = one["dwords"] > 2
        identity = {name: one[name] for name in ID}
        if one["kind"] == WRITE and (wide or one["poisoned"]):
            return None
        if one["kind"] == OTHER:
            return {**identity, "status": UNSUPPORTED, "bytes": 4, "lower_addr": 0, "dwords": 0}, []
        count, lead = span(one["first_be"], one["last_be"], one["dwords"])
        answer = {**identity, "bytes": count, "lower_addr": (one["addr"] + lead) % 128}
        if wide:
            return {**answer, "status": UNSUPPORTED, "dwords": 0}, []
        data: list[int | None] = []
        failed = False
        for number in range(one["dwords"]):
            enables = one["last_be"] if number else one["first_be"]
            place = (one["func"], one["bar"], (one["addr"] + 4 * number) % (1 << 16))
            if not enables:
                data.append(None)
                continue
            self.model.done.append(("write" if one["kind"] == WRITE else "read", place))
            failed |= self.model.bad(place) != OKAY
            data.append(self.model.read(place))
            old = self.model.read(place).to_bytes(4, "little")
            if one["kind"] == WRITE:
                new = one["data"][4 * number :]
                mixed = bytes(new[lane] if enables >> lane & 1 else old[lane] for lane in range(4))
                self.model.words[place] = int.from_bytes(mixed, "little")
        if one["kind"] == WRITE:
            return None
        if failed:
            return {**answer, "status": ABORTED, "dwords": 0}, []
        return {**answer, "status": SUCCESSFUL, "dwords": one["dwords"]}, data

    async def run(self, given: list[dict[str, Any]], stalls: Callable[[], Stalls]) -> None:
        """Do all accesses and check answers and registers."""
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for name in ("access_valid", "answer_ready", "axil_rsp"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        await cycles(dut.clk, 3)
        dut.rst.value = 0
        lanes = len(dut.access_data) // 32
        words: list[Word] = []
        for one in given:
            header = pack(ACCESS, **{name: one[name] for name in ACCESS})
            words += beats_of(b"" if one["kind"] == READ else one["data"], header, lanes)
        payload = (dut.access_header, dut.access_data, dut.access_last)
        source = Source(Channel(dut.clk, dut.access_valid, dut.access_ready, payload), words, stalls())
        channel = Channel(dut.clk, dut.answer_valid, dut.answer_ready, (dut.answer_header, dut.answer_data))
        sink = Sink(channel, stalls())
        for task in (self.registers, sink, source, self):
            cocotb.start_soon(task.watch() if task is self else task.run())
        expected = [answer for one in given if (answer := self.expect(one))]
        await until(dut.clk, lambda: len(source.sent) == len(words), 100 * len(words))
        dut.access_valid.value = 0
        await until(dut.clk, lambda: bool(dut.idle.value), 200)
        await cycles(dut.clk, 3)
        assert len(sink.taken) == len(expected)
        for (header, data), (fields, answer) in zip(sink.taken, expected, strict=True):
            assert unpack(ANSWER, header) == fields
            for number, word in enumerate(answer):
                assert word is None or data >> 32 * number & 0xFFFFFFFF == word
        assert self.registers.done == self.model.done
        assert self.registers.words == self.model.words


@behaviour()
@cocotb.parametrize((("register_stalls", "stalls"), PAIRS))
async def any_accesses_under_any_stalls(dut: Any, register_stalls: Any, stalls: Any) -> None:
    bench = Bench(dut, register_stalls())
    await bench.run(accesses(60), stalls)
    assert not bench.refused


@behaviour()
async def an_error_of_a_register_aborts_the_read(dut: Any) -> None:
    bench = Bench(dut, never(), lambda place: random.Random(repr(place)).choice((OKAY, OKAY, SLVERR, DECERR)))
    await bench.run(accesses(80), never)


@behaviour()
async def what_is_not_supported_has_no_effect(dut: Any) -> None:
    bench = Bench(dut, never())
    given = accesses(120, (READ, WRITE, OTHER), poisoned=True)
    for one in given:
        if random.random() < 0.3:
            one["dwords"] = random.choice((3, 4, 17, 64, 1024))
            one["first_be"], one["last_be"] = 15, random.choice((1, 15))
            one["data"] = random.randbytes(4 * one["dwords"])
    await bench.run(given, never)
    refused = [one for one in given if one["dwords"] > 2 or one["kind"] == OTHER]
    refused += [one for one in given if one not in refused and one["kind"] == WRITE and one["poisoned"]]
    assert bench.refused == len(refused)


@behaviour()
async def a_doorbell_takes_four_cycles(dut: Any) -> None:
    bench = Bench(dut, never())
    given = [{**one, "dwords": 1, "first_be": 15, "last_be": 0} for one in accesses(50, (WRITE,))]
    cocotb.start_soon(bench.run(given, never))
    await RisingEdge(dut.access_valid)
    count = 0
    while len(bench.registers.done) < len(given):
        await RisingEdge(dut.clk)
        count += 1
    assert count <= 4 * len(given) + 5
