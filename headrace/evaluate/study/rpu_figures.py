"""The figures of the RPU card's study: the thesis' figures 4.2 and 4.3 on Headrace's RTL, and the stay in the card."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.evaluate.study.drawing import (
    COLOURS,
    MARKERS,
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
from headrace.evaluate.study.published import RPU_CRC_GBIT_S
from headrace.evaluate.study.rpu_rows import RateRow, RpuStudy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BYTES = "packet in bytes, with FCS"
_FULL = 0.99  # of what a line has room for: all but its begin and end


def draw(study: RpuStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    forwarding = [("forwarded", "our forwarder"), ("the original's", "the original's firmware"), ("generated", "made")]
    checking = [("CRC checked", "CRC checked"), ("forwarded", "forwarded")]
    figures: dict[str, Callable[[], Drawn]] = {
        "figure_4_2": partial(_forwarding, study, forwarding),
        "figure_4_3": partial(_checking, study, checking),
        "stay": partial(_stays, study),
    }
    return save(figures, folder)


def _carried(rows: Iterable[RateRow]) -> str:
    """From which size on units carry all that a line has room for."""
    chosen = sorted(rows, key=lambda row: row.size)
    short = [row.size for row in chosen if row.gbit_s < _FULL * row.line_gbit_s]
    sizes = [row.size for row in chosen if not short or row.size > short[-1]]
    return f"a full line from {sizes[0]:,} bytes on" if sizes else f"at most {max(r.gbit_s for r in chosen):.0f} Gb/s"


def _forwarding(study: RpuStudy, programs: list[tuple[str, str]]) -> Drawn:
    ours = [row for row in study.rates if row.what == "forwarded"]
    if not ours:
        return "", None
    carried = [
        f"{_units(n)} forward{'s' * (n == 1)} {_carried(r for r in ours if r.units == n)}" for n in _numbers(ours)
    ]
    least = min(ours, key=lambda row: (row.units, row.size))
    rates = (
        f"{least.gbit_s:.1f} Gb/s of {least.size:,} bytes, one of Rosebud's {least.rosebud_gbit_s or 0:.1f} (simulated)"
    )
    return f"{', '.join(carried)}; {_units(least.units)} {rates} (figure 4.2)", _rates(study, programs)


def _checking(study: RpuStudy, programs: list[tuple[str, str]]) -> Drawn:
    ours = [row for row in study.rates if row.what == "CRC checked"]
    if not ours:
        return "", None
    carried = [
        f"{_units(n)} carr{'ies' if n == 1 else 'y'} {_carried(r for r in ours if r.units == n)}"
        for n in _numbers(ours)
    ]
    return f"With CRC, {', '.join(carried)}; published peak {RPU_CRC_GBIT_S:.0f} Gb/s (figure 4.3)", _rates(
        study, programs
    )


def _numbers(rows: Iterable[RateRow]) -> list[int]:
    return sorted({row.units for row in rows}, reverse=True)


def _units(number: int) -> str:
    return f"{number} unit{'s' * (number > 1)}"


def _rates(study: RpuStudy, programs: list[tuple[str, str]]) -> Figure:
    rows = [row for row in study.rates if row.what in dict(programs)]
    figure, [axes] = panels(ONE)
    for units, dashes in ((8, "-"), (1, "--")):
        for (what, label), colour, marker in zip(programs, COLOURS, MARKERS, strict=False):
            chosen = [row for row in rows if (row.what, row.units) == (what, units)]
            style: dict[str, Any] = {**OURS, "color": colour, "marker": marker, "linestyle": dashes}
            named = f"{label}, {_units(units)}"
            line(axes, chosen, lambda row: (row.size, row.gbit_s), **style, label=named)
        forwards = programs[0][0] == "forwarded"
        theirs = [row for row in rows if forwards and row.units == units and row.what == "forwarded"]
        label = f"Rosebud's RTL, simulated, {_units(units)}"
        style = {**THEIRS, "color": "#777777", "marker": "s" if units == 1 else "o", "label": label}
        line(axes, theirs, lambda row: (row.size, row.rosebud_gbit_s or 0), **style)
    first = [row for row in rows if row.what == programs[0][0] and row.units == rows[0].units]
    line(axes, first, lambda row: (row.size, row.line_gbit_s), color="#bbbbbb", label="room in a line of 100 Gb/s")
    if programs[0][0] == "CRC checked":
        axes.axhline(RPU_CRC_GBIT_S, color="#777777", linestyle=":", label="published peak on a board, 8 units")
    bytes_axis(axes, (row.size for row in rows), _BYTES)
    axes.set_ylabel("Gb/s of frames, modelled: cycles at 250 MHz")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
    return figure


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
    log_axis(axes, "ns in the card, modelled; band: least to most")
    axes.legend()
    least, most = (pick(row.size for row in study.stays) for pick in (min, max))
    times = [from_to(row.mean_ns for row in study.stays if row.size == size) for size in (least, most)]
    loads = from_to((row.load for row in study.stays), "{:.0%}".format)
    stay = (
        f"A packet of {least:,} bytes stays {times[0]} ns in the card in the mean, one of {most:,} bytes {times[1]} ns"
    )
    return f"{stay}, at {loads} of a line; 8 units, first beat in to first beat out", figure
