"""Drives emulated links: what each direction does to packets, its random numbers, its host memory, its counters.

A card has them one behind the other, as ``card.regs.direction`` of the link card."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.card import Card
from headrace.engines.netem import Netem, jitter_step, netem_text, table_of
from headrace.errors import HeadraceError

_MAGIC = 0x4C4B
_NONE, _RANDOM, _GEMODEL = range(3)
_ALWAYS = (1 << 32) - 1
_BYTE_TIME = 8 * 10**9 * (1 << 24)  # of 1 bit/s: ns in 2**-24
_MEMORY = 4  # of the control register


class LinkCounters(NamedTuple):
    """Packets of a direction since the card's reset: that came in; of these dropped since they were bad, too long, or
    came faster than they are decided on; lost by what is set; dropped by the limit or for want of memory; copies that
    duplication added; changed in a bit; sent at once by reordering; lost by host memory; that went out, and their
    bytes; and those that are held now. ``received + duplicated = bad + too_long + no_room + lost + limited + failed +
    sent + queued`` when nothing moves."""

    received: int
    bad: int
    too_long: int
    no_room: int
    lost: int
    limited: int
    duplicated: int
    corrupted: int
    reordered: int
    failed: int
    sent: int
    sent_bytes: int
    queued: int

    @property
    def balance(self) -> int:
        """What came in or was added, and is accounted for nowhere: 0 when nothing moves."""
        gone = self.bad + self.too_long + self.no_room + self.lost + self.limited + self.failed + self.sent
        return self.received + self.duplicated - gone - self.queued


class Links:
    """The emulated links of an open card: a direction each, numbered from 0."""

    def __init__(self, card: Card, registers: Sequence[Any], seed: int = 1) -> None:
        """``registers``: the directions'. Gives each its host memory, and random numbers by ``seed``. Raises
        HeadraceError when the card has no such links."""
        self.card = card
        self._regs = registers
        self._tables: dict[int, str] = {}
        self._written: dict[int, int] = {}  # of the registers of settings, by their addresses
        self.settings = [Netem()] * len(registers)
        for regs in registers:
            if regs.engine.magic != _MAGIC:
                raise HeadraceError("this card has no emulated links")
            size = regs.sizes.slots * regs.sizes.frame_kb * 1024
            base = card.memory.allocate(size)
            regs.base_low.write(base & 0xFFFF_FFFF)
            regs.base_high.write(base >> 32)
            regs.control.write(_MEMORY)
        self.seed(seed)

    def __len__(self) -> int:
        return len(self._regs)

    def seed(self, seed: int) -> None:
        """Begins the random numbers of all directions anew: the same seed makes the same decisions about the same
        packets."""
        numbers = random.Random(seed)
        for regs in self._regs:
            for word in regs.seed:
                word.write(numbers.getrandbits(32))

    def hold_link(self, number: int, on: bool) -> None:
        """Whether a direction's sender is held off while there is no room, instead of losing packets."""
        self._check(number)
        self._regs[number].control.hold_link = int(on)

    def set(self, number: int, settings: Netem) -> None:
        """What a direction does from the next packet on; packets that it holds leave when they would have. Raises
        HeadraceError for a direction that isn't there."""
        self._check(number)
        regs = self._regs[number]
        every = self._writes(number, settings)
        if writes := [each for each in every if self._written.get(each[0]) != each[1]]:  # the card's cycles are dear
            regs.control.hold = 1
            while not regs.status.held:
                pass  # each read lets the card go on
            self.card.write_many(writes)
            regs.control.hold = 0
            self._written.update(writes)
        self.settings[number] = settings

    def counters(self, number: int) -> LinkCounters:
        """Of a direction."""
        self._check(number)
        regs = self._regs[number]
        return LinkCounters._make(getattr(regs, name).read() for name in LinkCounters._fields)

    def status(self, number: int) -> dict[str, Any]:
        """A direction's settings in netem's words, and its counters."""
        return {"netem": netem_text(self.settings[number]), **self.counters(number)._asdict()}

    def _check(self, number: int) -> None:
        if not 0 <= number < len(self._regs):
            raise HeadraceError(f"link {number}: the card has 0 to {len(self._regs) - 1}", 2)

    def _writes(self, number: int, made: Netem) -> list[tuple[int, int]]:
        regs = self._regs[number]
        byte_time = round(_BYTE_TIME / made.rate_bps) if made.rate_bps else 0
        shaped = made.jitter_ns != 0 and made.distribution != "uniform"
        loss = made.loss
        models = {"random": _RANDOM, "gemodel": _GEMODEL}
        rho = (
            loss.correlation if loss else 0.0,
            made.duplicate_correlation,
            made.corrupt_correlation,
            made.reorder_correlation,
        )
        words = [
            (regs.delay, made.delay_ns),
            (regs.jitter, made.jitter_ns | shaped << 31),
            (regs.byte_time_low, byte_time & 0xFFFF_FFFF),
            (regs.byte_time_high, byte_time >> 32 | (made.overhead & 0xFFFF) << 16),
            (regs.limit, made.limit),
            (regs.loss, models[loss.model] if loss else _NONE),
            (regs.loss_p, _threshold(loss.p if loss else 0.0)),
            (regs.loss_r, _threshold(loss.r if loss else 0.0)),
            (regs.loss_bad, _threshold(loss.bad if loss else 0.0)),
            (regs.loss_good, _threshold(loss.good if loss else 0.0)),
            (regs.duplicate, _threshold(made.duplicate)),
            (regs.corrupt, _threshold(made.corrupt)),
            (regs.reorder, _threshold(made.reorder)),
            (regs.gap, made.gap),
            *zip(regs.correlation, map(_threshold, rho), strict=True),
            (regs.jitter_step, jitter_step(made.delay_correlation, made.distribution)),
        ]
        writes = [(register.address, value) for register, value in words]
        if shaped and self._tables.get(number) != made.distribution:
            table = table_of(made.distribution)
            writes += [(regs.entry.address, index << 16 | (value & 0xFFFF)) for index, value in enumerate(table)]
            self._tables[number] = made.distribution
        return writes


def _threshold(probability: float) -> int:
    return round(probability * _ALWAYS)
