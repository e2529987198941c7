"""Light drivers for valid/ready streams: a source, a sink that checks the handshake, stall patterns and frames.

A word is a tuple of the values of a channel's payload signals. After RisingEdge cocotb reads what was there before it.
"""

import itertools
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

from headrace.testing.handles import install

install()

PERIOD_PS = 2000
SOAK = bool(os.environ.get("HEADRACE_SOAK"))  # conftest.py says so

# A test that takes longer hangs: none needs a tenth of it.
LIMIT_US = 500

Word = tuple[int, ...]
Stalls = Iterator[bool]


def behaviour() -> Callable[[Any], Any]:
    """Decorator of a cocotb test: one thing that the block promises."""
    return cocotb.test(timeout_time=LIMIT_US, timeout_unit="us")


def never() -> Stalls:
    """No stall."""
    return itertools.repeat(False)


def seldom() -> Stalls:
    """A stall in one cycle of five."""
    while True:
        yield random.random() < 0.2


def mostly() -> Stalls:
    """A stall in four cycles of five."""
    while True:
        yield random.random() < 0.8


def bursts() -> Stalls:
    """Runs of 1 to 12 stalled cycles and runs of 1 to 12 free ones."""
    for stalled in itertools.cycle((False, True)):
        yield from itertools.repeat(stalled, random.randint(1, 12))


Pattern = Callable[[], Stalls]
PATTERNS: list[Pattern] = [never, seldom, mostly, bursts]


def together(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Values of two parameters: in a soak all combinations, else few, in which each value has its turn."""
    if SOAK:
        return list(itertools.product(first, second))
    count = max(len(first), len(second))
    return list(itertools.islice(zip(itertools.cycle(first), itertools.cycle(second), strict=True), count))


# Patterns of two sides; the four corners are what fills a block, starves it and does both
PAIRS: list[tuple[Pattern, Pattern]] = (
    together(PATTERNS, PATTERNS)
    if SOAK
    else [*itertools.product((never, mostly), (never, mostly)), (seldom, bursts), (bursts, seldom)]
)


@dataclass(frozen=True)
class Channel:
    """The signals of a stream at a port of the block."""

    clk: Any
    valid: Any
    ready: Any
    payload: tuple[Any, ...]

    @classmethod
    def generic(cls, dut: Any, side: str, clk: Any = None, payload: Sequence[str] = ("data",)) -> "Channel":
        """Channel of the ports <side>_valid, <side>_ready and those that a word consists of, such as <side>_data."""
        valid, ready, *word = (getattr(dut, f"{side}_{name}") for name in ("valid", "ready", *payload))
        return cls(dut.clk if clk is None else clk, valid, ready, tuple(word))

    @classmethod
    def axis(cls, dut: Any, side: str, clk: Any = None) -> "Channel":
        """Channel of the ports <side>_axis_*: a word is (tdata, tkeep, tlast, tuser)."""
        valid, ready, *payload = (
            getattr(dut, f"{side}_axis_t{name}") for name in ("valid", "ready", "data", "keep", "last", "user")
        )
        return cls(dut.clk if clk is None else clk, valid, ready, tuple(payload))

    def read(self) -> Word:
        """The payload at this moment."""
        return tuple(int(signal.value) for signal in self.payload)

    def write(self, word: Word) -> None:
        """Drive the payload."""
        for signal, value in zip(self.payload, word, strict=True):
            signal.value = value


@dataclass
class Source:
    """Sends words in order; once offered, a word stays until it is taken. `sent` and `times_ps` note what was taken."""

    channel: Channel
    words: list[Word]
    stalls: Stalls
    beside: Callable[[int], None] | None = None  # called with the number of each word when it is offered
    sent: list[Word] = field(default_factory=list)
    times_ps: list[int] = field(default_factory=list)

    async def run(self) -> None:
        """Send all words and return."""
        channel, edge = self.channel, RisingEdge(self.channel.clk)
        for number, word in enumerate(self.words):
            while next(self.stalls):
                channel.valid.value = 0
                await edge
            channel.write(word)
            if self.beside:
                self.beside(number)
            channel.valid.value = 1
            await edge
            while not channel.ready.value:
                await edge
            self.sent.append(word)
            self.times_ps.append(int(get_sim_time("ps")))
        channel.valid.value = 0


@dataclass
class Sink:
    """Takes words and fails when an offered word changes or goes before it is taken."""

    channel: Channel
    stalls: Stalls
    taken: list[Word] = field(default_factory=list)
    times_ps: list[int] = field(default_factory=list)

    async def run(self) -> None:
        """Take words for ever."""
        channel, edge = self.channel, RisingEdge(self.channel.clk)
        offered: Word | None = None
        while True:
            ready = not next(self.stalls)
            channel.ready.value = int(ready)
            await edge
            if not channel.valid.value:
                assert offered is None, "valid fell before the word was taken"
                continue
            word = channel.read()
            assert offered in (None, word), "an offered word changed before it was taken"
            offered = None if ready else word
            if ready:
                self.taken.append(word)
                self.times_ps.append(int(get_sim_time("ps")))


async def start(dut: Any, offered: int = 4) -> None:
    """Start the clock, and reset the block while it has something inside, all inputs low: it is empty then.

    offered  cycles before the reset in which every stream offers ones, for blocks that may get them
    """
    Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
    ports = [signal for signal in dut if signal._name.startswith(("s_", "m_"))]
    inputs = [port for port in ports if port._name.startswith("m_") == port._name.endswith("ready")]
    for reset, count in ((1, 1), (0, offered), (1, 3)):
        dut.rst.value = reset
        for port in inputs:
            port.value = 0 if reset or port._name.endswith("ready") else (1 << len(port)) - 1
        await cycles(dut.clk, count)
    dut.rst.value = 0
    assert not any(port.value for port in ports if port._name.endswith("valid") and port not in inputs)


async def cycles(clk: Any, count: int) -> None:
    """Wait for `count` rising edges of `clk`."""
    for _ in range(count):
        await RisingEdge(clk)


async def until(clk: Any, condition: Callable[[], bool], limit: int) -> None:
    """Wait until `condition` holds after a rising edge of `clk`; fail after `limit` cycles."""
    for _ in range(limit):
        if condition():
            return
        await RisingEdge(clk)
    raise AssertionError(f"did not come about in {limit} cycles")


async def transfer(dut: Any, source: Source, sink: Sink, expected: list[Word]) -> None:
    """Run both ends until `expected` has arrived and nothing more comes."""
    cocotb.start_soon(sink.run())
    await source.run()
    await until(dut.clk, lambda: len(sink.taken) >= len(expected), 20 * len(expected) + 100)
    await cycles(dut.clk, 50)
    assert sink.taken == expected


def gaps(times_ps: list[int], period_ps: int = PERIOD_PS) -> int:
    """Cycles without a word between the first and the last one."""
    return (times_ps[-1] - times_ps[0]) // period_ps + 1 - len(times_ps)


async def watch_no_path(clk: Any, m_ready: Any, s_ready: Any) -> None:
    """Flip m_ready in the middle of every cycle: s_ready must not follow before the next edge. Never returns."""
    ones = (1 << len(m_ready)) - 1
    while True:
        await FallingEdge(clk)
        before, ready = int(s_ready.value), int(m_ready.value)
        m_ready.value = ready ^ ones
        await Timer(1, "ps")
        await ReadOnly()
        assert int(s_ready.value) == before, "s_ready follows m_ready within a cycle"
        await Timer(1, "ps")
        m_ready.value = ready


def random_words(count: int, *widths: int) -> list[Word]:
    """Words of signals of the given widths in bits, with random values."""
    return [tuple(random.getrandbits(width) for width in widths) for _ in range(count)]


def frame_words(data: bytes, width: int, user: Callable[[], int]) -> list[Word]:
    """The beats of a frame on an AXI-Stream of `width` bits, `user()` beside each; spare lanes carry random bytes."""
    step = width // 8
    words: list[Word] = []
    for offset in range(0, max(len(data), 1), step):
        part = data[offset : offset + step]
        lanes = part + random.randbytes(step - len(part))
        last = offset + step >= len(data)
        words.append((int.from_bytes(lanes, "little"), (1 << len(part)) - 1, int(last), user()))
    return words


def frames_of(words: Iterable[Word]) -> list[tuple[bytes, list[int]]]:
    """Bytes of each complete frame and the tuser of each of its beats; checks that tkeep has no holes."""
    frames = []
    data, users = b"", []
    for tdata, tkeep, tlast, tuser in words:
        count = tkeep.bit_count()
        assert tkeep == (1 << count) - 1, "tkeep has holes"
        data += (tdata & ((1 << 8 * count) - 1)).to_bytes(count, "little")
        users.append(tuser)
        if tlast:
            frames.append((data, users))
            data, users = b"", []
    return frames
