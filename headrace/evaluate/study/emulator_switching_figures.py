"""The figures of what the emulator's study has of chapter 6."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.evaluate.study.drawing import (
    COLOURS,
    MARKERS,
    ONE,
    OURS,
    THEIRS,
    Drawn,
    bars,
    bytes_axis,
    line,
    log_axis,
    panels,
)
from headrace.evaluate.study.emulator_rows import FilterRow, SmallRow, Switching

_GREY = "#777777"


def small(found: Switching) -> Drawn:
    """Small packets (figure 6.3)."""
    if not found.small:
        return "", None
    figure, [axes] = panels(ONE)
    series: Sequence[tuple[str, str, str, Callable[[SmallRow], float | None]]] = (
        ("card (modelled), packets", COLOURS[0], "-", lambda row: row.card_gbit_s),
        ("card (modelled), 64 KB that it cuts", COLOURS[0], "--", lambda row: row.card_cut_gbit_s),
        ("Open vSwitch here, packets", COLOURS[1], "-", lambda row: row.ovs_gbit_s),
        ("Open vSwitch here, 64 KB that the kernel cuts", COLOURS[1], "--", lambda row: row.ovs_cut_gbit_s),
    )
    for (label, colour, dashes, value), marker in zip(series, MARKERS, strict=False):
        points = [(row.size, value(row)) for row in found.small if value(row) is not None]
        style = {"color": colour, "linestyle": dashes, "marker": marker, "label": label}
        line(axes, points, lambda point: point, **style)
    published: Sequence[tuple[str, str, Callable[[SmallRow], float | None]]] = (
        ("published: Open vSwitch", "s", lambda row: row.published_ovs_gbit_s),
        ("published: FPGA", "D", lambda row: row.published_gbit_s),
    )
    for label, marker, value in published:
        points = [(row.size, value(row)) for row in found.small if value(row) is not None]
        line(axes, points, lambda point: point, **THEIRS, color=_GREY, marker=marker, label=label)
    bytes_axis(axes, (row.size for row in found.small), "bytes of data in a packet")
    log_axis(axes, "Gb/s of data between two nodes")
    axes.legend(fontsize=7)
    return "Small packets between two nodes (the thesis' figure 6.3)", figure


def six(found: Switching) -> Drawn:
    """Streams among six nodes (figure 6.4)."""
    if not found.six:
        return "", None
    figure, [axes] = panels(ONE)
    names = [f"n{row.source} to n{row.destination}" for row in found.six]
    series = (
        ("card (modelled)", COLOURS[0], [row.card_gbit_s for row in found.six]),
        ("Open vSwitch here", COLOURS[1], [row.ovs_gbit_s for row in found.six]),
        ("the kernel here", COLOURS[2], [row.software_gbit_s for row in found.six]),
    )
    bars(axes, names, series, "{:.2g}".format)
    axes.set_ylabel("Gb/s of images, all at the same time")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)
    return "Streams of images among six nodes (the thesis' figure 6.4)", figure


def filtered(found: Switching) -> Drawn:
    """A filter in the card or in the node (figure 6.6)."""
    if not found.filtered:
        return "", None
    figure, [axes] = panels(ONE)
    series: Sequence[tuple[str, Callable[[FilterRow], float | None]]] = (
        ("in the card, a line (modelled)", lambda row: row.card_gbit_s),
        ("not filtered by the node", lambda row: row.none_gbit_s),
        ("in the node, C++", lambda row: row.cpp_gbit_s),
        ("in the node, NumPy", lambda row: row.numpy_gbit_s),
    )
    for (label, value), colour, marker in zip(series, COLOURS, MARKERS, strict=False):
        points = [(row.samples, value(row)) for row in found.filtered if value(row) is not None]
        line(axes, points, lambda point: point, **OURS, color=colour, marker=marker, label=label)
    bytes_axis(axes, (row.samples for row in found.filtered), "samples of a packet")
    log_axis(axes, "Gb/s of samples")
    axes.legend(fontsize=8)
    return "A FIR filter of 4 taps in the card or in the sending node (the thesis' figure 6.6)", figure
