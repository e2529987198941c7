"""What an emulated link does to each frame, as tc-netem(8) and its source (net/sched/sch_netem.c) say it: an oracle
that shares nothing with the card but the random generator's definition and the order in which numbers are drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

ONES = 0xFFFF_FFFF
UNIT = 1 << 24
"""Of a byte's time: in a nanosecond."""


class Lfsr113:
    """L'Ecuyer's generator, from his paper of 1999: four shift registers of 32 bits."""

    PARTS = ((6, 13, ONES - 1, 18), (2, 27, ONES - 7, 2), (13, 21, ONES - 15, 7), (3, 12, ONES - 127, 13))

    def __init__(self, seed: list[int]) -> None:
        self.words = [word | least for word, least in zip(seed, (2, 8, 16, 128), strict=True)]

    def next(self) -> int:
        """The number that is up; the following one is next."""
        value = 0
        for number, (q, s, mask, t) in enumerate(self.PARTS):
            word = self.words[number]
            value ^= word
            fresh = ((word << q & ONES) ^ word) >> s
            self.words[number] = ((word & mask) << t & ONES) ^ fresh
        return value


@dataclass(frozen=True)
class Settings:
    """Of a direction: probabilities are thresholds out of 2**32, ``byte_time`` in 2**-24 ns, ``rho`` those of loss,
    duplicate, corrupt, reorder; ``jitter_step`` of the whole circle."""

    delay_ns: int = 0
    jitter_ns: int = 0
    jitter_step: int = 0
    shaped: bool = False
    byte_time: int = 0
    overhead: int = 0
    limit: int = 1000
    loss: int = 0  # none, random, gemodel
    p: int = 0
    r: int = 0
    bad_loss: int = 0
    good_loss: int = 0
    duplicate: int = 0
    corrupt: int = 0
    reorder: int = 0
    gap: int = 0
    rho: tuple[int, int, int, int] = (0, 0, 0, 0)
    lead_ns: int = 2000

    def packed(self) -> int:
        """As link_pkg's settings_t."""
        fields = [
            (self.delay_ns, 32),
            (self.jitter_ns, 31),
            (self.jitter_step, 32),
            (int(self.shaped), 1),
            (self.byte_time, 48),
            (self.overhead & 0xFFFF, 16),
            (self.limit, 32),
            (self.loss, 2),
            *((value, 32) for value in (self.p, self.r, self.bad_loss, self.good_loss)),
            *((value, 32) for value in (self.duplicate, self.corrupt, self.reorder)),
            (self.gap, 16),
            *((value, 32) for value in reversed(self.rho)),
            (self.lead_ns, 16),
        ]
        word = 0
        for value, width in fields:
            assert 0 <= value < 1 << width
            word = word << width | value
        return word


@dataclass(frozen=True)
class Leaving:
    """A copy of a frame: when it leaves, and its bytes then."""

    leave_ns: int
    data: bytes


@dataclass
class LinkModel:
    """A direction. ``table``: of the distribution."""

    settings: Settings
    seed: list[int]
    table: list[int] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = Lfsr113(self.seed)
        self.before = list(self.seed)
        self.place = ONES - self.seed[0]  # of the last jitter on its circle
        self.bad = False
        self.since = 0  # frames since one was reordered
        self.last = 0  # when the last one leaves, in 2**-24 ns

    def arrive(self, time_ns: int, data: bytes) -> list[Leaving]:
        """A frame that was in whole at a time; gives the copies that leave. Call it in order."""
        self.counts["received"] += 1
        copies = 1
        if self._hits(1, self.settings.duplicate):
            copies += 1
            self.counts["duplicated"] += 1
        if self._loses():
            copies -= 1
        found = [self._place(time_ns, data)] if copies else []
        if copies == 2 and not self._loses():
            found.append(self._place(time_ns, data))
        return found

    def _draw(self, kind: int) -> int:
        value, rho = self.random.next(), self.settings.rho[kind]
        if rho:
            value = (value * ((1 << 32) - rho) + self.before[kind] * rho) >> 32
            self.before[kind] = value
        return value

    def _hits(self, kind: int, threshold: int) -> bool:
        return threshold != 0 and self._draw(kind) <= threshold

    def _loses(self) -> bool:
        made = self.settings
        if made.loss == 1:
            lost = self._hits(0, made.p)
        elif made.loss == 2:
            was = self.bad
            self.bad ^= self.random.next() < (made.r if was else made.p)
            lost = self.random.next() < (made.bad_loss if was else made.good_loss)
        else:
            lost = False
        self.counts["lost"] += lost
        return lost

    def _place(self, time_ns: int, data: bytes) -> Leaving:
        made = self.settings
        if self._hits(2, made.corrupt):
            place = self.random.next() * 8 * len(data) >> 32
            changed = bytearray(data)
            changed[place // 8] ^= 1 << place % 8
            data = bytes(changed)
            self.counts["corrupted"] += 1
        if made.gap and self.since >= made.gap - 1 and self._draw(3) <= made.reorder:
            self.since = 0
            self.counts["reordered"] += 1
            return Leaving(time_ns, data)
        self.since += 1
        at = time_ns + max(0, made.delay_ns + self._jitter())
        if not made.byte_time:
            self.last = max(self.last, at * UNIT)
            return Leaving(at, data)
        self.last = max(self.last, at * UNIT) + made.byte_time * max(0, len(data) + made.overhead)
        return Leaving(self.last // UNIT, data)

    def _jitter(self) -> int:
        made = self.settings
        if not made.jitter_ns:
            return 0
        value = self.random.next()
        if made.jitter_step:
            self.place = (self.place + (value * made.jitter_step >> 32) - made.jitter_step // 2) & ONES
            value = 2 * min(self.place, ONES - self.place)
        if not made.shaped:
            return (value * 2 * made.jitter_ns >> 32) - made.jitter_ns
        entry = self.table[value >> 20]
        size = (abs(entry) * made.jitter_ns + 4096) // 8192
        return size if entry >= 0 else -size
