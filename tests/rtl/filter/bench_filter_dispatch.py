"""What the dispatch of packets to cores promises."""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from headrace.testing.streams import PERIOD_PS, Stalls, behaviour, bursts, mostly, never, seldom

# Cycles from a frame's beat at the port to the same beat at the core, and from its last there until in_ready counts it.
TAP = 2
SETTLE = 4

Frames = Iterator[int]  # beats of each frame


@dataclass
class Port:
    """A port that has a frame whenever `gaps` says so, and waits for a core only if `waits`."""

    frames: Frames
    gaps: Stalls = field(default_factory=never)
    stalls: Stalls = field(default_factory=never)  # of the way on, at a frame's first beat
    waits: bool = False
    left: int = 0  # beats of the frame that is passing
    core: int | None = None
    length: int = 0  # beats of the frame that is wanted
    inspected: int = 0
    missed: int = 0
    streak: int = 0  # cycles that this frame has waited
    longest: int = 0


@dataclass
class Bench:
    """Two ports, and cores that take `work()` cycles for a frame before they are ready for another."""

    dut: Any
    ports: tuple[Port, Port]
    work: Callable[[], int] = lambda: 0
    assigned: set[int] = field(default_factory=set)
    used: Counter[int] = field(default_factory=Counter)
    cycle: int = 0

    def __post_init__(self) -> None:
        self.cores = int(self.dut.CORES.value)
        self.settled = [0] * self.cores  # from this cycle on core_ready is what `ready` says
        self.ready = [0] * self.cores  # from this cycle on the core is ready
        self.listings: Counter[tuple[int, int]] = Counter()  # cycle, core

    async def start(self) -> None:
        dut = self.dut
        Clock(dut.clk, PERIOD_PS, "ps", impl="gpi").start()
        for signal in (dut.core_ready, dut.core_listed, dut.wanted, dut.go):
            signal.value = 0
        dut.rst.value = 1
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0

    def _core_ready(self, core: int) -> bool:
        """What the core says in this cycle: anything as long as it does not have to be right."""
        if core in self.assigned or self.cycle < self.settled[core]:
            return random.random() < 0.5
        return self.cycle >= self.ready[core]

    def _free(self, core: int) -> bool:
        return core not in self.assigned and self.cycle >= max(self.settled[core], self.ready[core])

    async def run(self, cycles: int) -> None:
        """Drive for a number of cycles and check every offer."""
        dut = self.dut
        edge = RisingEdge(dut.clk)
        for _ in range(cycles):
            self.cycle += 1
            listed = 0
            for core in range(self.cores):
                if self.listings.pop((self.cycle, core), 0):
                    self.assigned.discard(core)
                    self.settled[core] = self.cycle + SETTLE
                    self.ready[core] = self.settled[core] + self.work()
                    listed |= 1 << core
            wanted = go = 0
            for number, port in enumerate(self.ports):
                if not port.left and not port.length and not next(port.gaps):
                    port.length = next(port.frames)
                wanted |= (not port.left and port.length > 0) << number
                go |= (not next(port.stalls)) << number
            dut.wanted.value, dut.go.value, dut.core_listed.value = wanted, go, listed
            dut.core_ready.value = sum(self._core_ready(core) << core for core in range(self.cores))
            await edge
            self._check(wanted, go, int(dut.offered.value), (int(dut.core_0.value), int(dut.core_1.value)))
            assert bool(dut.idle.value) == (int(dut.offered.value) == 0b11)

    def _check(self, wanted: int, go: int, offered: int, cores: tuple[int, int]) -> None:
        taken = []
        for number, port in enumerate(self.ports):
            if not wanted >> number & 1:
                self._pass_beat(port)
                continue
            core = cores[number]
            if offered >> number & 1:
                assert core < self.cores and self._free(core), f"core {core} is not free"
                assert core not in taken, f"core {core} is offered to both ports"
                taken.append(core)
            port.streak += 1
            port.longest = max(port.longest, port.streak)
            if not go >> number & 1 or (port.waits and not offered >> number & 1):
                continue
            port.streak = 0
            port.left, port.length = port.length, 0
            port.core = core if offered >> number & 1 else None
            if port.core is None:
                port.missed += 1
            else:
                port.inspected += 1
                self.used[core] += 1
                self.assigned.add(core)
            self._pass_beat(port)

    def _pass_beat(self, port: Port) -> None:
        if not port.left:
            return
        port.left -= 1
        if not port.left and port.core is not None:
            self.listings[self.cycle + TAP, port.core] = 1


def beats(longest: int) -> Frames:
    """Frames of 1 to `longest` beats."""
    while True:
        yield random.randint(1, longest)


def single() -> Frames:
    """Frames of one beat."""
    return itertools.repeat(1)


@behaviour()
async def an_offered_core_is_free_and_offered_to_one_port_only(dut: Any) -> None:
    patterns = (never, seldom, mostly, bursts)
    bench = Bench(dut, (Port(beats(4)), Port(beats(4))), lambda: random.choice((0, 0, 1, 5, 30)))
    await bench.start()
    for gaps_0, gaps_1 in itertools.product(patterns, patterns):
        for port, gaps in zip(bench.ports, (gaps_0, gaps_1), strict=True):
            port.gaps, port.stalls, port.waits = gaps(), random.choice(patterns)(), random.random() < 0.5
            port.frames = random.choice((single(), beats(4), beats(30)))
        await bench.run(400)
    assert len(bench.used) == bench.cores
    assert all(port.inspected for port in bench.ports)


@behaviour()
async def one_port_gets_a_core_every_cycle(dut: Any) -> None:
    bench = Bench(dut, (Port(single()), Port(iter(()), gaps=itertools.repeat(True))))
    await bench.start()
    await bench.run(10)
    bench.ports[0].missed = 0
    await bench.run(400)
    if bench.cores >= 8:
        assert bench.ports[0].missed == 0
        for half in (0, 1):  # they take turns
            counts = [bench.used[core] for core in range(half, bench.cores, 2)]
            assert max(counts) - min(counts) <= 2
    # A core has its next frame 7 cycles after the last at best: no cycle is wasted.
    assert bench.ports[0].inspected >= 400 * min(bench.cores, 8) // 8


@behaviour()
async def two_ports_get_a_core_every_second_cycle(dut: Any) -> None:
    def second(phase: int) -> Stalls:
        return itertools.islice(itertools.cycle((False, True)), phase, None)

    for phase in (0, 1):
        bench = Bench(dut, (Port(single(), second(0)), Port(single(), second(phase))))
        await bench.start()
        await bench.run(10)
        for port in bench.ports:
            port.missed = 0
        await bench.run(400)
        if bench.cores >= 8:
            assert [port.missed for port in bench.ports] == [0, 0]
        dut.rst.value = 1
        await RisingEdge(dut.clk)


@behaviour()
async def every_core_gets_its_share(dut: Any) -> None:
    bench = Bench(dut, (Port(beats(9), waits=True), Port(beats(9), waits=True)), lambda: random.randint(0, 40))
    await bench.start()
    await bench.run(6000)
    assert min(bench.used.values()) > 0.6 * max(bench.used.values())


@behaviour()
async def cores_take_turns_under_a_light_load(dut: Any) -> None:
    rare = (cycle % 20 > 0 for cycle in itertools.count())
    bench = Bench(dut, (Port(single(), rare), Port(iter(()), gaps=itertools.repeat(True))))
    await bench.start()
    await bench.run(2400)
    # The even and the odd ones take turns, and each of them among themselves.
    for core, count in bench.used.items():
        assert abs(count - 120 / min(bench.cores, 2) / len(range(core % 2, bench.cores, 2))) <= 2


@behaviour()
async def neither_port_starves_when_cores_are_scarce(dut: Any) -> None:
    for waits in (False, True):
        bench = Bench(dut, (Port(single(), waits=waits), Port(single(), waits=waits)), lambda: 40)
        await bench.start()
        await bench.run(4000)
        counts = [port.inspected for port in bench.ports]
        assert min(counts) > 0.4 * sum(counts), counts
        assert bench.cores > 1 or abs(counts[0] - counts[1]) <= 1
        dut.rst.value = 1
        await RisingEdge(dut.clk)
