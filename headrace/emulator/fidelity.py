"""How faithful a run was: whether the machine kept up with it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SATURATED = 0.95
_LATE_PART = 0.1  # of a time step
_MANY = 0.05  # of the steps


def _processor_times() -> tuple[int, int]:
    """Ticks of all processors since the machine began: idle ones, all."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


@dataclass
class Fidelity:
    """Notes each time step; ``report`` says what was found. ``step_s``: seconds between steps."""

    step_s: float
    late_s: list[float] = field(default_factory=list)
    busy_s: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)
    _before: tuple[int, int] = field(default_factory=_processor_times)

    def step(self, late_s: float, busy_s: float) -> None:
        """A step that began so late and took the controller so long."""
        idle, ticks = _processor_times()
        if ticks > self._before[1]:
            self.load.append(1 - (idle - self._before[0]) / (ticks - self._before[1]))
        self._before = idle, ticks
        self.late_s.append(late_s)
        self.busy_s.append(busy_s)

    def report(self) -> dict[str, Any]:
        """Seconds, parts of all processors, and in words what it makes doubtful."""
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
        return {
            "processors": os.cpu_count(),
            "late_s": _summary(self.late_s),
            "controller_s": _summary(self.busy_s),
            "processor_load": _summary(self.load),
            "doubtful": doubtful,
        }


def _summary(values: list[float]) -> dict[str, float]:
    return {"mean": sum(values) / len(values), "max": max(values)} if values else {"mean": 0.0, "max": 0.0}
