"""The figure of the filter card's study: FFShark's insertion latency (its figure 11), and what of it storing takes."""

from __future__ import annotations

from pathlib import Path

from headrace.evaluate.study.drawing import COLOURS, ONE, OURS, THEIRS, Drawn, bytes_axis, line, panels, save
from headrace.evaluate.study.filter_rows import FilterStudy


def draw(study: FilterStudy, folder: Path) -> dict[str, str]:
    """Writes the figure as insertion.png and insertion.svg; gives its caption by name, if there are points for it."""
    return save({"insertion": lambda: _insertion(study)}, folder)


def _insertion(study: FilterStudy) -> Drawn:
    rows = [row for row in study.sizes if row.published_ns is not None]
    if not rows:
        return "", None
    figure, [axes] = panels(ONE)
    sizes = [int(row.size) for row in rows]
    theirs = {**THEIRS, "color": "#777777", "marker": "o", "label": "FFShark, between its ports (published)"}
    line(axes, rows, lambda row: (int(row.size), row.published_ns), **theirs)
    stored = {"color": "#bbbbbb", "label": "of that, storing the frame (modelled)"}
    line(axes, rows, lambda row: (int(row.size), row.store_ns), **stored)
    ours = {**OURS, "color": COLOURS[0], "marker": "s", "label": "our card, between its MACs' streams"}
    line(axes, rows, lambda row: (int(row.size), row.ns), **ours)
    bytes_axis(axes, sizes, "frame in bytes")
    axes.set_yscale("log")
    axes.set_ylabel("ns")
    axes.legend(fontsize=7)
    return "Insertion latency (FFShark's figure 11)", figure
