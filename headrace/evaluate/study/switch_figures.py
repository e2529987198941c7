"""The figures of the switch card's study."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.evaluate.study.drawing import (
    COLOURS,
    MARKERS,
    ONE,
    OURS,
    THEIRS,
    TWO,
    Drawn,
    bars,
    bytes_axis,
    line,
    log_axis,
    panels,
    plain,
    save,
)
from headrace.evaluate.study.switch_published import FIR_GBIT_S, SMALL_GBIT_S
from headrace.evaluate.study.switch_rows import SwitchStudy

if TYPE_CHECKING:
    pass


_BRAM36_BITS = 36_864
_LUT_BITS = 64


def draw(study: SwitchStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    figures: dict[str, Callable[[], Drawn]] = {
        "sizes": partial(_sizes, study),
        "connections": partial(_connections, study),
        "small": partial(_small, study),
        "fir": partial(_fir, study),
    }
    return save(figures, folder)


def _sizes(study: SwitchStudy) -> Drawn:
    if not study.sizes:
        return "", None
    figure, (luts, rams) = panels(TWO, 2)
    for part, colour, marker in zip(("exact", "ternary"), COLOURS, MARKERS, strict=False):
        rows = [row for row in study.sizes if row.part == part]
        style = {**OURS, "color": colour, "marker": marker, "label": part}
        line(luts, rows, lambda row: (row.entries, row.luts), **style)
        line(rams, rows, lambda row: (row.entries, row.bram36 * _BRAM36_BITS + row.lutram * _LUT_BITS), **style)
    style = {**THEIRS, "color": "#777777", "marker": "D", "label": "the thesis' CAM (formula)"}
    line(rams, sorted(study.sizes, key=lambda row: row.entries), lambda row: (row.entries, row.cam_bits), **style)
    for axes, label in ((luts, "LUTs of UltraScale+"), (rams, "bits of RAM: block RAMs and LUTs")):
        bytes_axis(axes, (row.entries for row in study.sizes), "entries of 264 bits")
        axes.set_ylabel(label)
        axes.legend()
    luts.set_ylim(bottom=0)
    luts.yaxis.set_major_formatter(plain)
    rams.set_yscale("log")
    return "What a table's exact part and its ternary one take, by entries", figure


def _connections(study: SwitchStudy) -> Drawn:
    if not study.connections:
        return "", None
    figure, both = panels(TWO, 2, sharey=True)
    for axes, data in zip(both, dict.fromkeys(row.data for row in study.connections), strict=False):
        rows = [row for row in study.connections if row.data == data]
        names = [f"{row.payload:,}" for row in rows]
        bars(
            axes,
            names,
            [
                ("card (modelled)", COLOURS[0], [row.card_kpps for row in rows]),
                ("Open vSwitch, a core here", COLOURS[1], [row.ovs_core_kpps for row in rows]),
                ("published: FPGA", "#777777", [row.published_kpps for row in rows]),
                ("published: Open vSwitch", "#bbbbbb", [row.published_ovs_kpps for row in rows]),
            ],
            lambda value: f"{value:,.0f}" if value >= 100 else f"{value:.1f}",
        )
        axes.set_title(f"{data} packet{'s' * (data > 1)} of data a connection")
        axes.set_xlabel("payload in bytes")
    both[0].set_ylabel("thousands of packets a second")
    both[0].legend(fontsize=8)
    return "Connections that begin and end (the thesis' table 6.1)", figure


def _small(study: SwitchStudy) -> Drawn:
    if not study.small:
        return "", None
    figure, [axes] = panels(ONE)
    rows = study.small
    style = {**OURS, "color": COLOURS[0], "marker": MARKERS[0]}
    line(axes, rows, lambda row: (row.size, row.card_gbit_s), **style, label="card, two ports (modelled)")
    line(axes, rows, lambda row: (row.size, row.lines_gbit_s), color="#bbbbbb", label="room in two lines of 100 Gb/s")
    beside = [row for row in rows if row.ovs_core_gbit_s is not None]
    style = {**OURS, "color": COLOURS[1], "marker": MARKERS[1]}
    line(
        axes, beside, lambda row: (row.size, row.ovs_core_gbit_s), **style, label="Open vSwitch, a core here, one flow"
    )
    for at, (label, marker) in enumerate((("published: Open vSwitch", "s"), ("published: FPGA", "D"))):
        points = [(size, values[at]) for size, values in SMALL_GBIT_S.items()]
        line(axes, points, lambda point: point, **THEIRS, color="#777777", marker=marker, label=label)
    bytes_axis(axes, (row.size for row in rows), "packet in bytes, with FCS")
    log_axis(axes, "Gb/s of frames")
    axes.legend(fontsize=8)
    return "Small packets (the thesis' figure 6.3)", figure


def _fir(study: SwitchStudy) -> Drawn:
    if not study.fir:
        return "", None
    figure, [axes] = panels(ONE)
    series = (
        ("card, a line of 100 Gb/s (modelled)", lambda row: (row.samples, row.card_gbit_s)),
        ("C++ on a core here", lambda row: (row.samples, row.cpp_gbit_s)),
        ("NumPy", lambda row: (row.samples, row.numpy_gbit_s)),
    )
    for (label, point), colour, marker in zip(series, COLOURS, MARKERS, strict=False):
        line(axes, study.fir, point, **OURS, color=colour, marker=marker, label=label)
    axes.axhline(FIR_GBIT_S, color="#777777", linestyle=":", label="published: the FPGA's filter")
    bytes_axis(axes, (row.samples for row in study.fir), "samples of a packet")
    log_axis(axes, "Gb/s of samples")
    axes.legend(fontsize=8)
    return "A FIR filter of 4 taps (the thesis' figure 6.6)", figure
