"""The groups of benchmarks, and how they are run."""

from __future__ import annotations

from collections.abc import Callable

from headrace.evaluate.bench import (
    Row,
    bridge,
    capture,
    cost,
    emulator,
    filter,
    fit,
    host,
    live,
    parts,
    rpu,
    simulator,
    size,
    switch,
)
from headrace.evaluate.points import Progress, quiet

Run = Callable[[bool, str | None, Progress], list[Row]]


def _one(run: Callable[[Progress], list[Row]]) -> Run:
    """What runs on no cluster, and has one form."""
    return lambda _full, _address, progress: run(progress)


_RUNS: dict[str, Run] = {
    "filter": filter.run,
    "capture": capture.run,
    "bridge": bridge.run,
    "rpu": rpu.run,
    "switch": switch.run,
    "host": host.run,
    "emulator": emulator.run,
    "size": _one(size.run),
    "stream": _one(parts.stream),
    "sim": _one(simulator.run),
    "live": _one(live.run),
    "conformance": switch.conformance,
    **{name: _one(run) for name, run in fit.GROUPS.items()},
}
GROUPS = tuple(_RUNS)
ALL = tuple(group for group in GROUPS if group not in fit.GROUPS)
"""Those without place and route."""
COST = "cost"  # a group that wants git and the commit to compare with, and so stands alone


def run(
    groups: list[str],
    full: bool = False,
    address: str | None = None,
    progress: Progress = quiet,
    beside: str | None = None,
) -> list[Row]:
    """Runs benchmarks by group. ``full``: more points, sizes and seconds than docs show;
    ``beside``: the commit that costs are compared with."""
    runs = _RUNS | {COST: lambda full, _address, progress: cost.run(full, progress, beside)}
    return [row for group in groups for row in runs[group](full, address, progress)]
