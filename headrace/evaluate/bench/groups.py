"""The groups of benchmarks, and how they are run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headrace.evaluate.bench import (
    Row,
    bridge,
    capture,
    cost,
    emulator,
    filter,
    fit,
    host,
    parts,
    rpu,
    simulator,
    size,
    switch,
)
from headrace.evaluate.points import Progress, quiet

Run = Callable[[bool, str | None, Progress], list[Row]]


def _here(run: Callable[[bool, Progress], list[Row]]) -> Run:
    """What runs on no cluster."""
    return lambda quick, _address, progress: run(quick, progress)


_RUNS: dict[str, Run] = {
    "filter": filter.run,
    "capture": capture.run,
    "bridge": bridge.run,
    "rpu": rpu.run,
    "switch": switch.run,
    "host": host.run,
    "emulator": emulator.run,
    "size": _here(size.run),
    "stream": _here(parts.stream),
    "sim": _here(simulator.run),
    # These take some hours each
    "conformance": switch.conformance,
    **{name: _here(partial(fit.run, name)) for name in fit.DESIGNS},
}
GROUPS = tuple(_RUNS)
COST = "cost"  # a group that wants git and the commit to compare with, and so stands alone


def run(
    groups: list[str],
    quick: bool = False,
    address: str | None = None,
    progress: Progress = quiet,
    beside: str | None = None,
) -> list[Row]:
    """Runs benchmarks by group. ``quick`` takes samples where the full run takes every packet size; ``beside`` is the
    commit that costs are compared with."""
    runs = _RUNS | {COST: lambda quick, _address, progress: cost.run(quick, progress, beside)}
    return [row for group in groups for row in runs[group](quick, address, progress)]
