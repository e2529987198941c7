"""What the split of a register bus promises: each access reaches its block once, and its answer comes back."""

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PAIRS, PERIOD_PS, Channel, Sink, Source, Stalls, behaviour, cycles, never, until


@dataclass
class Block:
    """A register block behind port `index`: notes what reaches it, and answers."""

    dut: Any
    index: int
    stalls: Stalls
    writes: list[tuple[int, int, int, int]] = field(default_factory=list)  # address, prot, data, strobes
    reads: list[tuple[int, int]] = field(default_factory=list)  # address, prot
    answers: list[int] = field(default_factory=list)
    values: list[tuple[int, int]] = field(default_factory=list)


class Blocks:
    """All blocks. Their ports are bits of the same signals, so one process drives them."""

    def __init__(self, dut: Any, stalls: Any) -> None:
        self.dut = dut
        self.blocks = [Block(dut, index, stalls()) for index in range(int(dut.BLOCKS.value))]
        self.most = int(dut.MOST.value)  # writes under way

    async def run(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        names = ("awready", "wready", "arready", "bvalid", "rvalid")
        state: list[dict[str, Any]] = [
            {"addresses": deque(), "data": deque(), "read": None, "b": None, "r": None} for _ in self.blocks
        ]
        while True:
            bits = dict.fromkeys(names, 0)
            bresp = rresp = rdata = 0
            for block, now in zip(self.blocks, state, strict=True):
                for name in names[:3]:
                    bits[name] |= (not next(block.stalls)) << block.index
                if now["addresses"] and now["data"] and now["b"] is None and not next(block.stalls):
                    now["b"] = random.choice((0, 2, 3))
                if now["read"] and now["r"] is None and not next(block.stalls):
                    now["r"] = (random.getrandbits(32), random.choice((0, 2, 3)))
                bits["bvalid"] |= (now["b"] is not None) << block.index
                bits["rvalid"] |= (now["r"] is not None) << block.index
                bresp |= (random.getrandbits(2) if now["b"] is None else now["b"]) << 2 * block.index
                value, response = (random.getrandbits(32), random.getrandbits(2)) if now["r"] is None else now["r"]
                rdata |= value << 32 * block.index
                rresp |= response << 2 * block.index
            for name, value in bits.items():
                getattr(dut, f"m_axil_{name}").value = value
            dut.m_axil_bresp.value, dut.m_axil_rresp.value, dut.m_axil_rdata.value = bresp, rresp, rdata
            await edge
            for block, now in zip(self.blocks, state, strict=True):

                def moves(valid: str, ready: str, index: int = block.index) -> bool:
                    both = int(getattr(dut, f"m_axil_{valid}").value) & int(getattr(dut, f"m_axil_{ready}").value)
                    return bool(both >> index & 1)

                def given(name: str, index: int = block.index) -> int:
                    width = len(getattr(dut, f"m_axil_{name}")) // len(self.blocks)
                    return int(getattr(dut, f"m_axil_{name}").value) >> width * index & (1 << width) - 1

                if moves("awvalid", "awready"):
                    assert len(now["addresses"]) < self.most, "a write while others are under way"
                    assert not any(other["addresses"] for other in state if other is not now)
                    now["addresses"].append((given("awaddr"), given("awprot")))
                if moves("wvalid", "wready"):
                    assert len(now["data"]) < self.most
                    now["data"].append((given("wdata"), given("wstrb")))
                if moves("arvalid", "arready"):
                    assert now["read"] is None, "a second read while one is under way"
                    now["read"] = (given("araddr"), given("arprot"))
                if moves("bvalid", "bready"):
                    block.writes.append((*now["addresses"].popleft(), *now["data"].popleft()))
                    block.answers.append(now["b"])
                    now["b"] = None
                if moves("rvalid", "rready"):
                    block.reads.append(now["read"])
                    block.values.append(now["r"])
                    now["read"] = now["r"] = None


def channel(dut: Any, name: str, *payload: str) -> Channel:
    """A channel of the bus that is split."""
    valid, ready, *signals = (getattr(dut, f"s_axil_{name}{part}") for part in ("valid", "ready", *payload))
    return Channel(dut.clk, valid, ready, tuple(signals))


async def start(dut: Any) -> None:
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    for name in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
        getattr(dut, f"s_axil_{name}").value = 0
    for name in ("awready", "wready", "bvalid", "arready", "rvalid"):
        getattr(dut, f"m_axil_{name}").value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 3)
    dut.rst.value = 0


def bases(dut: Any) -> list[int]:
    """Where the blocks begin."""
    first, step = int(dut.FIRST.value), int(dut.STEP.value)
    return [0, *(first + number * step for number in range(int(dut.BLOCKS.value) - 1))]


def addresses(dut: Any, count: int) -> list[int]:
    """Addresses all over, and at both sides of the boundaries."""
    edges = [base + offset for base in bases(dut) for offset in (-4, -1, 0, 4) if base + offset >= 0]
    return [random.choice((random.choice(edges), random.getrandbits(16), random.getrandbits(32))) for _ in range(count)]


@behaviour()
@cocotb.parametrize((("stalls", "block_stalls"), PAIRS))
async def each_access_reaches_its_block_and_its_answer_comes_back(dut: Any, stalls: Any, block_stalls: Any) -> None:
    await start(dut)
    blocks = Blocks(dut, block_stalls)
    cocotb.start_soon(blocks.run())
    places = bases(dut)
    writes = [(address, random.getrandbits(3)) for address in addresses(dut, 40)]
    data = [(random.getrandbits(32), random.getrandbits(4)) for _ in writes]
    reads = [(address, random.getrandbits(3)) for address in addresses(dut, 40)]
    answers, values = Sink(channel(dut, "b", "resp"), stalls()), Sink(channel(dut, "r", "data", "resp"), stalls())
    for end in (
        Source(channel(dut, "aw", "addr", "prot"), list(writes), stalls()),
        Source(channel(dut, "w", "data", "strb"), list(data), stalls()),
        Source(channel(dut, "ar", "addr", "prot"), list(reads), stalls()),
        answers,
        values,
    ):
        cocotb.start_soon(end.run())
    await until(dut.clk, lambda: len(answers.taken) == len(values.taken) == 40, 20_000)
    await cycles(dut.clk, 3)
    assert dut.idle.value
    for block in blocks.blocks:
        begin = places[block.index]
        end = [*places, 1 << 32][block.index + 1]
        here = [begin <= address < end for address, _ in writes]
        local = [address - begin for address, _ in writes]
        expected = [
            (place, prot, *word) for place, (_, prot), word, mine in zip(local, writes, data, here, strict=True) if mine
        ]
        assert block.writes == expected
        assert block.answers == [word[0] for word, mine in zip(answers.taken, here, strict=True) if mine]
        here = [begin <= address < end for address, _ in reads]
        assert block.reads == [(address - begin, prot) for address, prot in reads if begin <= address < end]
        assert block.values == [word for word, mine in zip(values.taken, here, strict=True) if mine]


@behaviour()
async def it_is_idle_only_without_an_access(dut: Any) -> None:
    await start(dut)
    await cycles(dut.clk, 2)
    assert dut.idle.value
    dut.s_axil_awaddr.value = 0
    await Source(channel(dut, "aw", "addr"), [(0,)], never()).run()
    await cycles(dut.clk, 5)
    assert not dut.idle.value
    dut.rst.value = 1
    await cycles(dut.clk, 2)
    dut.rst.value = 0
    await cycles(dut.clk, 2)
    assert dut.idle.value and not dut.m_axil_awvalid.value


@behaviour()
async def writes_to_a_block_follow_each_other(dut: Any) -> None:
    """One a cycle, where enough of them may be under way."""
    await start(dut)
    blocks = Blocks(dut, never)
    cocotb.start_soon(blocks.run())
    writes = [(4 * random.randrange(8), 0) for _ in range(40)]
    answers = Sink(channel(dut, "b", "resp"), never())
    cocotb.start_soon(Source(channel(dut, "aw", "addr", "prot"), list(writes), never()).run())
    cocotb.start_soon(Source(channel(dut, "w", "data", "strb"), [(n, 15) for n in range(40)], never()).run())
    cocotb.start_soon(answers.run())
    most = blocks.most
    await until(dut.clk, lambda: len(answers.taken) == 40, 40 + 10 if most >= 4 else 4 * 40 + 10)
    assert [word[2] for word in blocks.blocks[0].writes] == list(range(40))
