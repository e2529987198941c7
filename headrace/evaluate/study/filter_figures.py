"""The figure of the filter card's study: FFShark's insertion latency (its figure 11), and what of it storing takes."""

from __future__ import annotations

from pathlib import Path

from headrace.evaluate.study.drawing import (
    COLOURS,
    ONE,
    OURS,
    THEIRS,
    Drawn,
    bytes_axis,
    from_to,
    line,
    log_axis,
    panels,
    save,
)
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
    ours = {
        **OURS,
        "color": COLOURS[0],
        "marker": "s",
        "label": "our card, between its MACs' streams (modelled: cycles at 322 MHz)",
    }
    line(axes, rows, lambda row: (int(row.size), row.ns), **ours)
    bytes_axis(axes, sizes, "frame in bytes")
    log_axis(axes, "insertion latency in ns")
    axes.set_ylim(top=8000)  # room for the legend
    axes.legend(fontsize=7)
    cycles = [row.latency_cycles for row in rows]
    added = f"Our card adds {from_to(cycles)} cycle{'s' * (max(cycles) > 1)} to a packet's way"
    theirs_ns = from_to(row.published_ns or 0 for row in rows)
    left = sum(row.lost + row.uninspected for row in study.sizes)
    kept = f"{left:,} packets lost or not inspected at full lines"
    return f"{added}, FFShark {theirs_ns} ns (published, figure 11); {kept}", figure
