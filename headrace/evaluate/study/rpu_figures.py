"""The figures of the RPU card's study: the thesis' figures 4.2 and 4.3 on Headrace's RTL, and the stay in the card."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from headrace.evaluate.study.drawing import (
    COLOURS,
    MARKERS,
    ONE,
    OURS,
    THEIRS,
    Drawn,
    bytes_axis,
    line,
    log_axis,
    panels,
    save,
)
from headrace.evaluate.study.published import RPU_CRC_GBIT_S
from headrace.evaluate.study.rpu_rows import RpuStudy

_BYTES = "packet in bytes, with FCS"


def draw(study: RpuStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    forwarding = [("forwarded", "our forwarder"), ("the original's", "the original's firmware"), ("generated", "made")]
    checking = [("CRC checked", "CRC checked"), ("forwarded", "forwarded")]
    figures: dict[str, Callable[[], Drawn]] = {
        "figure_4_2": partial(_rates, study, forwarding, "Packets forwarded (the thesis' figure 4.2)"),
        "figure_4_3": partial(_rates, study, checking, "Packets whose CRC is checked (the thesis' figure 4.3)"),
        "stay": partial(_stays, study),
    }
    return save(figures, folder)


def _rates(study: RpuStudy, programs: list[tuple[str, str]], caption: str) -> Drawn:
    rows = [row for row in study.rates if row.what in dict(programs)]
    if not rows:
        return "", None
    figure, [axes] = panels(ONE)
    for units, dashes in ((8, "-"), (1, "--")):
        for (what, label), colour, marker in zip(programs, COLOURS, MARKERS, strict=False):
            chosen = [row for row in rows if (row.what, row.units) == (what, units)]
            style: dict[str, Any] = {**OURS, "color": colour, "marker": marker, "linestyle": dashes}
            named = f"{label}, {units} unit{'s' * (units > 1)}"
            line(axes, chosen, lambda row: (row.size, row.gbit_s), **style, label=named)
        forwards = programs[0][0] == "forwarded"
        theirs = [row for row in rows if forwards and row.units == units and row.what == "forwarded"]
        label = f"Rosebud's cycles, {units} unit{'s' * (units > 1)}"
        style = {**THEIRS, "color": "#777777", "marker": "s" if units == 1 else "o", "label": label}
        line(axes, theirs, lambda row: (row.size, row.rosebud_gbit_s or 0), **style)
    first = [row for row in rows if row.what == programs[0][0] and row.units == rows[0].units]
    line(axes, first, lambda row: (row.size, row.line_gbit_s), color="#bbbbbb", label="room in a line of 100 Gb/s")
    if programs[0][0] == "CRC checked":
        axes.axhline(RPU_CRC_GBIT_S, color="#777777", linestyle=":", label="published peak, 8 units")
    bytes_axis(axes, (row.size for row in rows), _BYTES)
    axes.set_ylabel("Gb/s of frames at 250 MHz")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7)
    return caption, figure


def _stays(study: RpuStudy) -> Drawn:
    if not study.stays:
        return "", None
    figure, [axes] = panels(ONE)
    for load, colour, marker in zip(dict.fromkeys(row.load for row in study.stays), COLOURS, MARKERS, strict=False):
        rows = [row for row in study.stays if row.load == load]
        label = f"{load:.0%} of a line"
        line(axes, rows, lambda row: (row.size, row.mean_cycles * 4), color=colour, marker=marker, label=label)
        axes.fill_between(
            [row.size for row in rows],
            [row.least_cycles * 4 for row in rows],
            [row.most_cycles * 4 for row in rows],
            color=colour,
            alpha=0.15,
            linewidth=0,
        )
    bytes_axis(axes, (row.size for row in study.stays), _BYTES)
    log_axis(axes, "ns in the card: mean, least to most")
    axes.legend()
    return "A packet's time in the card, from its first beat in to its first beat out, 8 units", figure
