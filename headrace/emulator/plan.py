"""What a scenario will be, without its nodes: links, coverage and changes of each step, as fast as it goes."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.emulator import timeline
from headrace.emulator.linking import Course
from headrace.emulator.scenario import Scenario
from headrace.emulator.timeline import Record, Step
from headrace.emulator.wiring import next_hops
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PlannedStep:
    """``found``, ``lost``: links that are new and gone; ``coverage``: the part of the pairs of nodes that have a way,
    and ``hops`` of that in the mean; ``rate_bps`` and ``loss`` of the links in the mean, both ways."""

    time_s: float
    links: int
    found: int
    lost: int
    coverage: float
    hops: float
    rate_bps: float
    loss: float


@dataclass(frozen=True)
class Plan:
    """All steps, and the first and the last of them with positions and links."""

    nodes: tuple[str, ...]
    steps: tuple[PlannedStep, ...]
    first: Step
    last: Step

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        steps = [asdict(step) for step in self.steps]
        return {"nodes": list(self.nodes), "coverage": self.coverage, "changes": self.changes, "steps": steps}

    @property
    def coverage(self) -> float:
        """In the mean of all steps."""
        return sum(step.coverage for step in self.steps) / len(self.steps)

    @property
    def changes(self) -> int:
        """Links that are new or gone, behind the first step."""
        return sum(step.found + step.lost for step in self.steps[1:])


def plan(
    scenario: Scenario,
    steps: int | None = None,
    record: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """Of a scenario until its end, or of so many steps. ``record``: writes them into a file, for ``headrace emulate run
    --replay``; ``progress`` gets how much is done. Raises HeadraceError."""
    if steps is None and math.isinf(scenario.duration_s):
        raise HeadraceError("the scenario has no end: duration_s in it, or a number of steps", 2)
    count = math.floor(scenario.duration_s / scenario.step_s) + 1 if steps is None else steps
    found: list[PlannedStep] = []
    last: Step | None = None
    first: Step | None = None
    course = Course(scenario, timeline.Computed(scenario))
    with ExitStack() as stack:
        written = None if record is None else stack.enter_context(closing(Record(record, scenario.nodes)))
        while steps is None or len(found) < steps:
            change = course.next()
            if change is None:
                break
            step = change.step
            found.append(_planned(len(scenario.nodes), step, last))
            first, last = first or step, step
            if written is not None:
                written.add(step)
            if progress is not None:
                progress(min(len(found) / count, 1.0))
    assert first is not None and last is not None
    return Plan(scenario.nodes, tuple(found), first, last)


def _planned(nodes: int, step: Step, before: Step | None) -> PlannedStep:
    old = before.links.keys() if before else set()
    hops = _hops(nodes, step)
    ways = [way for state in step.links.values() for way in state.arriving()]
    pairs = nodes * (nodes - 1)
    return PlannedStep(
        step.time_s,
        len(step.links),
        len(step.links.keys() - old),
        len(old - step.links.keys()),
        len(hops) / pairs if pairs else 1.0,
        sum(hops) / len(hops) if hops else 0.0,
        sum(way.rate_bps for way in ways) / len(ways) if ways else 0.0,
        sum(way.loss for way in ways) / len(ways) if ways else 0.0,
    )


def _hops(nodes: int, step: Step) -> list[int]:
    """Of each ordered pair of nodes with a way."""
    following = next_hops(nodes, step.links)
    found = []
    for here in range(nodes):
        for there in following[here]:
            at, count = here, 0
            while at != there:
                at, count = following[at][there], count + 1
            found.append(count)
    return found


def draw(found: Plan, scenario: Scenario, path: Path) -> None:
    """Links and coverage over time, and the map of the first step: a picture (PNG, SVG, PDF by its name). Raises
    HeadraceError."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    over_time, chart = figure.subplots(1, 2)
    times = [step.time_s for step in found.steps]
    over_time.plot(times, [step.links for step in found.steps], color="#0072B2", label="links")
    share = sum(step.coverage for step in found.steps) / max(len(found.steps), 1)
    title = f"On average {share:.0%} of the pairs of nodes have a way"
    over_time.set(xlabel="time in s", ylabel="links", title=title)
    right = over_time.twinx()
    right.plot(times, [step.coverage * 100 for step in found.steps], color="#D55E00", label="coverage")
    right.set(ylabel="% of the pairs of nodes that have a way", ylim=(0, 105))
    figure.legend(*_legend(over_time, right), loc="outside upper left", ncols=2, frameon=False)
    _map(chart, found.first, scenario)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise HeadraceError(f"{path}: {str(error).splitlines()[0]}", 2) from None


def _legend(*axes: Axes) -> tuple[list[Any], list[str]]:
    handles, labels = zip(*(each.get_legend_handles_labels() for each in axes), strict=True)
    return [each for group in handles for each in group], [each for group in labels for each in group]


def _map(axes: Axes, step: Step, scenario: Scenario) -> None:
    for obstacle in scenario.radio.obstacles:
        axes.fill(*obstacle.corners.T, color="#bbbbbb")
    for a, b in step.links:
        axes.plot(*zip(step.positions[a][:2], step.positions[b][:2], strict=True), color="#56B4E9", linewidth=0.8)
    x, y, _ = zip(*step.positions, strict=True)
    axes.plot(x, y, "o", color="#0072B2", markersize=4)
    for jammer in step.jammers:
        axes.plot(*jammer["position_m"][:2], "X" if jammer["on"] else "x", color="#D55E00")
    axes.set(aspect="equal", xlabel="x in m", ylabel="y in m", title=f"Nodes and links at {step.time_s:g} s")
