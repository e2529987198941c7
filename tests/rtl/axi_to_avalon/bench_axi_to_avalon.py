"""What the adapter promises: all bytes arrive, answers in order, full rate, and good manners on Avalon."""

import random
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import cocotb
from avalon import DECERR, OKAY, SLVERR, Agent
from cocotbext.avalon import AvalonMMBus, AvalonMMMemoryBFM

from headrace.testing.streams import (
    PAIRS,
    PATTERNS,
    Channel,
    Sink,
    Source,
    Stalls,
    Word,
    behaviour,
    bursts,
    cycles,
    gaps,
    never,
    until,
)
from headrace.testing.streams import start as start_streams


@dataclass(frozen=True)
class Access:
    """A burst of the manager: address in bytes, words, and for a write the lanes of each."""

    address: int
    words: list[int]
    lanes: list[int]

    @property
    def beats(self) -> int:
        return len(self.words)


class Manager:
    """The AXI side: everything is sent as fast as the stalls allow, answers are collected."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.size = len(dut.s_axi_wstrb)
        self.waits = bool(dut.READ_BUFFER.value)  # may hold read data off

    def channel(self, prefix: str, *payload: str) -> Channel:
        valid, ready, *signals = (getattr(self.dut, f"s_axi_{prefix}{name}") for name in ("valid", "ready", *payload))
        return Channel(self.dut.clk, valid, ready, tuple(signals))

    async def write(self, accesses: list[Access], stalls: Any = never) -> tuple[list[int], Source]:
        """Write all and return the answers and the data's source."""
        answers = Sink(self.channel("b", "resp"), stalls())
        addresses = Source(self.channel("aw", "addr", "len"), [(a.address, a.beats - 1) for a in accesses], stalls())
        data = Source(
            self.channel("w", "data", "strb", "last"),
            [
                (word, lanes, int(index == a.beats - 1))
                for a in accesses
                for index, (word, lanes) in enumerate(zip(a.words, a.lanes, strict=True))
            ],
            stalls(),
        )
        taker = cocotb.start_soon(answers.run())
        sender = cocotb.start_soon(addresses.run())
        await data.run()
        await sender
        await until(self.dut.clk, lambda: len(answers.taken) >= len(accesses), 2000)
        await cycles(self.dut.clk, 20)
        taker.cancel()
        assert len(answers.taken) == len(accesses)
        return [word[0] for word in answers.taken], data

    async def read(self, wanted: list[tuple[int, int]], stalls: Any = never) -> tuple[list[list[Word]], Sink]:
        """Read (address, beats) each and return the (data, response) of each, and the sink."""
        taken = Sink(self.channel("r", "data", "resp", "last"), stalls() if self.waits else never())
        asked = Source(self.channel("ar", "addr", "len"), [(a, beats - 1) for a, beats in wanted], stalls())
        taker = cocotb.start_soon(taken.run())
        await cycles(self.dut.clk, 1)
        await asked.run()
        total = sum(beats for _, beats in wanted)
        await until(self.dut.clk, lambda: len(taken.taken) >= total, 20 * total + 1000)
        await cycles(self.dut.clk, 20)
        taker.cancel()
        assert len(taken.taken) == total
        ends = list(accumulate(beats for _, beats in wanted))
        assert [index + 1 for index, word in enumerate(taken.taken) if word[2]] == ends, "rlast in a wrong place"
        answers = [
            [word[:2] for word in taken.taken[end - beats : end]] for (_, beats), end in zip(wanted, ends, strict=True)
        ]
        return answers, taken


async def start(dut: Any) -> Manager:
    for name in ("readdatavalid", "readdata", "response"):
        getattr(dut, f"avm_read_{name}").value = 0
    dut.avm_write_writeresponsevalid.value = 0
    dut.avm_write_response.value = 0
    dut.avm_read_waitrequest.value = dut.avm_write_waitrequest.value = 1
    await start_streams(dut)
    return Manager(dut)


def stalling(dut: Any, stalls: Any, latency: int) -> Agent:
    """An agent that waits everywhere by the same pattern."""
    return Agent(dut, read_stalls=stalls(), write_stalls=stalls(), gaps=stalls(), latency=latency)


def somewhere(manager: Manager, beats: int) -> int:
    """An address from where a burst fits into its page."""
    page = random.randrange(1 << len(manager.dut.avm_read_address) - 12) << 12
    return page + random.randrange(4096 // manager.size - beats + 1) * manager.size


def accesses(manager: Manager, count: int, lanes: bool = True, longest: int = 256) -> list[Access]:
    """Random bursts; with `lanes`, of some bytes only."""
    size = manager.size
    made = []
    for _ in range(count):
        most = min(int(manager.dut.BURST.value), 4096 // size, longest)
        beats = random.choice((1, most, random.randint(1, most)))
        strobes = [
            random.choice(((1 << size) - 1, random.getrandbits(size))) if lanes else (1 << size) - 1
            for _ in range(beats)
        ]
        made.append(Access(somewhere(manager, beats), [random.getrandbits(8 * size) for _ in range(beats)], strobes))
    return made


def model(manager: Manager, made: list[Access]) -> dict[int, int]:
    """The words of a memory after the writes."""
    words: dict[int, int] = {}
    for access in made:
        for index, (word, lanes) in enumerate(zip(access.words, access.lanes, strict=True)):
            place = access.address + index * manager.size
            mask = sum(0xFF << 8 * lane for lane in range(manager.size) if lanes >> lane & 1)
            words[place] = words.get(place, 0) & ~mask | word & mask
    return words


@behaviour()
@cocotb.parametrize((("manager_stalls", "agent_stalls"), PAIRS))
async def every_byte_goes_to_its_place_and_comes_from_there(dut: Any, manager_stalls: Any, agent_stalls: Any) -> None:
    manager = await start(dut)
    agent = Agent(
        dut, read_stalls=agent_stalls(), write_stalls=agent_stalls(), gaps=agent_stalls(), latency=random.randint(1, 9)
    )
    cocotb.start_soon(agent.run())
    made = [*accesses(manager, 20, longest=32), *accesses(manager, 2)]
    answers, _ = await manager.write(made, manager_stalls)
    assert answers == [OKAY] * len(made)
    assert agent.words == model(manager, made)
    assert [(burst.address, burst.beats) for burst in agent.writes] == [(a.address, a.beats) for a in made]
    asked = [(a.address, a.beats) for a in made]
    data, _ = await manager.read(asked, manager_stalls)
    assert data == [
        [(agent.words[address + index * manager.size], OKAY) for index in range(beats)] for address, beats in asked
    ]
    assert [(burst.address, burst.beats) for burst in agent.reads] == asked


@behaviour()
async def write_wantedfollow_each_other_without_a_gap(dut: Any) -> None:
    manager = await start(dut)
    agent = Agent(dut)
    cocotb.start_soon(agent.run())
    made = accesses(manager, 40, lanes=False, longest=8)
    _, data = await manager.write(made)
    assert gaps(data.times_ps) == 0
    assert agent.writes[-1].last - agent.writes[0].first + 1 == sum(a.beats for a in made)


@behaviour()
async def reads_are_asked_for_ahead(dut: Any) -> None:
    manager = await start(dut)
    agent = Agent(dut, latency=40)
    cocotb.start_soon(agent.run())
    beats = min(int(dut.BURST.value), 8)
    count = 3 * int(dut.READS.value)
    _, taken = await manager.read([(somewhere(manager, beats), beats) for _ in range(count)])
    buffer = int(dut.READ_BUFFER.value) or 1 << 30
    expected = min(int(dut.READS.value), buffer // beats)
    assert agent.most_under_way in (expected, expected + 1)  # one leaves the books as its last data come
    if expected * beats > 60:
        assert gaps(taken.times_ps) == 0


@behaviour()
@cocotb.parametrize(stalls=[never, bursts])
async def errors_come_back_with_their_burst(dut: Any, stalls: Any) -> None:
    manager = await start(dut)
    bad = lambda address: address >> 12 & 1 == 1  # noqa: E731
    agent = stalling(dut, stalls, 5)
    agent.bad = bad
    cocotb.start_soon(agent.run())
    made = accesses(manager, 40, longest=8)
    answers, _ = await manager.write(made, stalls)
    known = bool(dut.WRITE_RESPONSES.value)
    assert answers == [SLVERR if known and bad(a.address) else OKAY for a in made]
    data, _ = await manager.read([(a.address, a.beats) for a in made], stalls)
    assert [{response for _, response in burst} for burst in data] == [
        {SLVERR if bad(a.address) else OKAY} for a in made
    ]


@behaviour()
@cocotb.parametrize(stalls=[never, bursts])
async def a_burst_beyond_the_addresses_is_refused_in_its_turn(dut: Any, stalls: Any) -> None:
    manager = await start(dut)
    agent = stalling(dut, stalls, 7)
    cocotb.start_soon(agent.run())
    width = len(dut.avm_read_address)
    made, outside = [], []
    for access in accesses(manager, 60, longest=6):
        beyond = width < 64 and random.random() < 0.5
        outside.append(beyond)
        high = random.choice((1, 1 << 63 - width, random.getrandbits(64 - width) | 1)) << width if beyond else 0
        made.append(Access(access.address + high, access.words, access.lanes))
    answers, _ = await manager.write(made, stalls)
    assert answers == [DECERR if beyond else OKAY for beyond in outside]
    good = [a for a, beyond in zip(made, outside, strict=True) if not beyond]
    assert agent.words == model(manager, good)
    data, _ = await manager.read([(a.address, a.beats) for a in made], stalls)
    for burst, access, beyond in zip(data, made, outside, strict=True):
        if beyond:
            assert [response for _, response in burst] == [DECERR] * access.beats
        else:
            assert burst == [(agent.words[access.address + i * manager.size], OKAY) for i in range(access.beats)]
    assert len(agent.reads) == len(agent.writes) == len(good)


@behaviour()
async def a_write_is_answered_when_it_is_taken_or_when_it_is_done(dut: Any) -> None:
    manager = await start(dut)
    agent = Agent(dut, latency=30, write_stalls=iter([True] * 40 + [False] * 10000))
    cocotb.start_soon(agent.run())
    answers = Sink(manager.channel("b", "resp"), never())
    cocotb.start_soon(answers.run())
    word: Word = (1, 1, 1)
    cocotb.start_soon(Source(manager.channel("aw", "addr", "len"), [(0, 0)], never()).run())
    await Source(manager.channel("w", "data", "strb", "last"), [word], never()).run()
    await until(dut.clk, lambda: bool(agent.writes), 100)
    assert not answers.taken
    await cycles(dut.clk, 5)
    known = bool(dut.WRITE_RESPONSES.value)
    assert len(answers.taken) == int(not known)
    if known:
        await until(dut.clk, lambda: bool(answers.taken), 40)
        assert agent.responses == 1


@behaviour()
async def reset_makes_it_forget(dut: Any) -> None:
    manager = await start(dut)
    addresses = Source(manager.channel("aw", "addr", "len"), [(0, 0)] * 3, never())
    await addresses.run()
    dut.s_axi_arvalid.value = 1
    await cycles(dut.clk, 2)
    dut.s_axi_arvalid.value = 0
    dut.rst.value = 1
    await cycles(dut.clk, 2)
    assert not dut.avm_read_read.value and not dut.avm_write_write.value
    assert not dut.s_axi_rvalid.value and not dut.s_axi_bvalid.value
    dut.rst.value = 0
    agent = Agent(dut)
    cocotb.start_soon(agent.run())
    made = accesses(manager, 5, longest=8)
    answers, _ = await manager.write(made)
    assert answers == [OKAY] * 5 and agent.words == model(manager, made)


class Bytes:
    """Memory as cocotbext-avalon wants it."""

    def __init__(self) -> None:
        self.bytes: dict[int, int] = {}

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.bytes.get(address + index, 0) for index in range(length))

    def write(self, address: int, data: bytes) -> None:
        self.bytes.update(zip(range(address, address + len(data)), data, strict=True))


@behaviour()
@cocotb.parametrize(stalls=PATTERNS)
async def cocotbext_avalon_agrees(dut: Any, stalls: Any) -> None:
    manager = await start(dut)
    memory = Bytes()
    for side in ("avm_read", "avm_write"):
        bus = AvalonMMBus.from_prefix(dut, side)
        bus.writeresponsevalid = None  # the model drives it, but never high
        agent = AvalonMMMemoryBFM(bus, dut.clk, dut.rst, memory=memory, read_latency=6)
        agent.set_pause_generator(stalls())
        agent.start()
    made = accesses(manager, 20, longest=32)
    if dut.WRITE_RESPONSES.value:
        dut.avm_write_writeresponsevalid.value = 0
        cocotb.start_soon(respond(dut, stalls()))
    answers, _ = await manager.write(made, stalls)
    assert answers == [OKAY] * len(made)
    expected = model(manager, made)
    for address, word in expected.items():
        assert int.from_bytes(memory.read(address, manager.size), "little") == word
    data, _ = await manager.read([(a.address, a.beats) for a in made], stalls)
    assert [[word for word, _ in burst] for burst in data] == [
        [expected[a.address + index * manager.size] for index in range(a.beats)] for a in made
    ]


async def respond(dut: Any, stalls: Stalls) -> None:
    """The responses that the model does not give: one for each burst that is through, some cycles later."""
    owed, left = 0, 0
    while True:
        await cycles(dut.clk, 1)
        if dut.avm_write_write.value and not dut.avm_write_waitrequest.value:
            left = (left or int(dut.avm_write_burstcount.value)) - 1
            owed += left == 0
        gives = owed > 0 and not next(stalls)
        dut.avm_write_writeresponsevalid.value = gives
        owed -= gives
