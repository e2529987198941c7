"""How faithful a run was: whether the machine kept up with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.emulator.fabric.delays import LATE_PART

_SATURATED = 0.95
_LATE_PART = 0.1  # of a time step
_MANY = 0.05  # of the steps
_SOFTNET = Path("/proc/net/softnet_stat")


def _processor_times() -> tuple[int, int]:
    """Ticks of all processors since the machine began: idle ones, all."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def _queueing() -> tuple[int, int]:
    """Of the queues that processors have for what goes from one interface of the machine to another, since it began:
    packets dropped as one was full, and times that packets were left in one as the kernel's turn was over."""
    rows = [line.split() for line in _SOFTNET.read_text().splitlines()]
    return sum(int(row[1], 16) for row in rows), sum(int(row[2], 16) for row in rows)


@dataclass
class Fidelity:
    """Notes each time step; ``report`` says what was found. ``step_s``: seconds between steps."""

    step_s: float
    late_s: list[float] = field(default_factory=list)
    busy_s: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)
    dropped: int = 0  # packets, as a processor's queue was full
    waited: int = 0  # steps in which packets waited for a processor
    _before: tuple[int, int] = field(default_factory=_processor_times)
    _queued: tuple[int, int] = field(default_factory=_queueing)

    def step(self, late_s: float, busy_s: float) -> None:
        """A step that began so late and took the controller so long."""
        idle, ticks = _processor_times()
        if ticks > self._before[1]:
            self.load.append(1 - (idle - self._before[0]) / (ticks - self._before[1]))
        self._before = idle, ticks
        dropped, left = _queueing()
        self.dropped += dropped - self._queued[0]
        self.waited += left > self._queued[1]
        self._queued = dropped, left
        self.late_s.append(late_s)
        self.busy_s.append(busy_s)

    def report(self, delayed: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Seconds, parts of all processors, queueing that no scenario asked for, and in words what it makes doubtful.
        ``delayed``: how frames were, if there is a delay line (see ``DelayLine``).

        Processors and queues are the whole machine's: what other programs do to them counts, as it does to the nodes.
        """
        late = sum(each > _LATE_PART * self.step_s for each in self.late_s)
        full = sum(each > _SATURATED for each in self.load)
        doubtful = []
        if self.late_s and late > _MANY * len(self.late_s):
            doubtful.append(
                f"{late} of {len(self.late_s)} steps began late by more than {_LATE_PART:.0%} of a step: links came "
                "and went later than the scenario says"
            )
        if self.load and full > _MANY * len(self.load):
            doubtful.append(
                f"all processors were busy in {full} of {len(self.load)} steps: delays, and rates beyond what the "
                "machine can carry, are the machine's, not the scenario's"
            )
        if self.dropped:
            doubtful.append(
                f"{self.dropped:,} packets were dropped in the machine's own queues: not all losses are the scenario's"
            )
        if self.waited > _MANY * len(self.late_s):
            doubtful.append(
                f"packets waited for a processor in {self.waited} of {len(self.late_s)} steps: delays are longer than "
                "the scenario says"
            )
        if delayed is not None:
            doubtful += _delay_doubts(delayed)
        return {
            "processors": os.cpu_count(),
            "late_s": _summary(self.late_s),
            "controller_s": _summary(self.busy_s),
            "processor_load": _summary(self.load),
            "queueing": {"packets_dropped": self.dropped, "steps_waited": self.waited},
            "delay_line": delayed,
            "doubtful": doubtful,
        }


def _delay_doubts(delayed: Mapping[str, Any]) -> list[str]:
    found = []
    if delayed["late"] > _MANY * delayed["frames"]:
        found.append(
            f"{delayed['late']:,} of {delayed['frames']:,} frames left the delay line late by more than "
            f"{LATE_PART:.0%} of their delay: delays are longer than the scenario says"
        )
    if lost := delayed["dropped"] + delayed["missed"]:
        found.append(
            f"{lost:,} frames were dropped before the delay line, which had too many: not all losses are the scenario's"
        )
    return found


def _summary(values: list[float]) -> dict[str, float]:
    return {"mean": sum(values) / len(values), "max": max(values)} if values else {"mean": 0.0, "max": 0.0}
