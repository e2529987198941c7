"""A profile of firmware: in which functions a core's cycles go.

The host reads the core's program counter, a register of the card, at random distances of some cycles, so that samples
keep no step with the program's loops. It is that of the oldest instruction under way: an instruction that waits for a
memory, or for a packet, has the cycles that it waits.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from headrace.card import Card, HangError
from headrace.cards.rpu.driver import RpuDriver
from headrace.cards.rpu.elf import Program

_SPACING = 64  # cycles between samples, on average


@dataclass(frozen=True)
class Share:
    """A function or source line: its part of all cycles, the standard error of that, and cycles a packet."""

    name: str
    samples: int
    share: float
    error: float
    cycles_per_packet: float | None


@dataclass(frozen=True)
class Profile:
    """Samples by program counter, over so many cycles in which so many packets came to the unit."""

    program: Program
    samples: Counter[int]
    cycles: int
    packets: int

    def functions(self) -> list[Share]:
        """By function, the one with the most cycles first. What the compiler has put into another one is that one's."""

        def name(pc: int) -> str:
            function = self.program.function_at(pc)
            return function.name if function else f"{pc:#x}"

        return self._by(name)

    def lines(self) -> list[Share]:
        """By source line."""
        return self._by(lambda pc: str(self.program.line_at(pc) or f"{pc:#x}"))

    def _by(self, name: Callable[[int], str]) -> list[Share]:
        counts: Counter[str] = Counter()
        for pc, count in self.samples.items():
            counts[name(pc)] += count
        total = counts.total()
        shares = []
        for text, count in counts.most_common():
            share = count / total
            each = share * self.cycles / self.packets if self.packets else None
            shares.append(Share(text, count, share, math.sqrt(share * (1 - share) / total), each))
        return shares


def sample(
    card: Card,
    driver: RpuDriver,
    unit: int,
    program: Program,
    samples: int | None = None,
    go_on: Callable[[int], bool] = lambda _: True,
    seed: int = 1,
) -> Profile:
    """Runs the card until all packets are through, or for so many samples, and takes them. ``go_on`` gets the number of
    samples so far, and may end it."""
    rng, found = random.Random(seed), Counter[int]()
    start, before = card.stats().cycles, driver.counters(unit).rx_packets
    while (samples is None or found.total() < samples) and go_on(found.total()):
        try:
            result = card.run(cycles=rng.randint(_SPACING // 2, 3 * _SPACING // 2))
        except HangError:
            break
        if result.idle:
            break
        found[driver.program_counter(unit)] += 1
    return Profile(program, found, card.stats().cycles - start, driver.counters(unit).rx_packets - before)
