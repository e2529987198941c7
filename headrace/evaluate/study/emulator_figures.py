"""The figures of the emulator's study: coverage by PHYs, and what is left of it when links are jammed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.evaluate.study.drawing import COLOURS, MARKERS, ONE, THEIRS, TWO, Drawn, line, panels, save

if TYPE_CHECKING:
    from headrace.evaluate.study.emulator import EmulatorStudy


def draw(study: EmulatorStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    figures: dict[str, Callable[[], Drawn]] = {
        "coverage": partial(_coverage, study),
        "resiliency": partial(_resiliency, study),
    }
    return save(figures, folder, study.measured_on)


def _coverage(study: EmulatorStudy) -> Drawn:
    rows = [row for row in study.coverage if row.coordinator == 1 and row.endpoint <= 1]
    if not rows:
        return "", None
    figure, both = panels(TWO, 2, sharey=True)
    for axes, endpoint in zip(both, (0, 1), strict=True):
        for range_m, colour, marker in zip(_ranges(rows), COLOURS, MARKERS, strict=False):
            chosen = sorted((row for row in rows if (row.range_m, row.endpoint) == (range_m, endpoint)), key=_phys)
            style = {"color": colour, "marker": marker, "label": f"range {range_m:g} m"}
            line(axes, chosen, lambda row: (row.phys, 100 * row.mean), **style)
        axes.set_xlabel("PHYs of a node")
        axes.set_title("without an endpoint" if not endpoint else "with an endpoint of one PHY")
        axes.set_ylim(0, 105)
    both[0].set_ylabel("% of the nodes reached, in the mean")
    both[0].legend()
    return "Nodes that a coordinator of one PHY reaches, of 32", figure


def _phys(row: object) -> int:
    return int(row.phys)  # type: ignore[attr-defined]


def _ranges(rows: Sequence[object]) -> list[float]:
    return sorted({row.range_m for row in rows})  # type: ignore[attr-defined]


def _resiliency(study: EmulatorStudy) -> Drawn:
    if not study.resiliency:
        return "", None
    figure, [axes] = panels(ONE)
    for range_m, colour, marker in zip(_ranges(study.resiliency), COLOURS, MARKERS, strict=False):
        rows = [row for row in study.resiliency if row.range_m == range_m]
        style = {"color": colour, "marker": marker}
        line(axes, rows, lambda row: (row.jammed, 100 * row.after), **style, label=f"range {range_m:g} m, others found")
        line(axes, rows, lambda row: (row.jammed, 100 * row.left), **style, linestyle="--", label="none found")
    first = study.resiliency[0].range_m
    published = [row for row in study.resiliency if row.published is not None and row.range_m == first]
    style = {**THEIRS, "color": "#777777", "marker": "X"}
    line(axes, published, lambda row: (row.jammed, 100 * row.published), **style, label="the thesis' table 3.3")
    axes.set_xlabel("links jammed, of 32 nodes with 4 PHYs")
    axes.set_ylabel("% of the nodes reached, in the mean of the seeds")
    axes.set_ylim(0, 105)
    axes.legend(fontsize=7)
    return "Nodes that are reached when links are jammed (the thesis' table 3.3)", figure
