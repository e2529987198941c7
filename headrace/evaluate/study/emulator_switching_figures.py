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
    digits,
    from_to,
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
        ("Open vSwitch (measured here), packets", COLOURS[1], "-", lambda row: row.ovs_gbit_s),
        ("Open vSwitch (measured here), 64 KB that the kernel cuts", COLOURS[1], "--", lambda row: row.ovs_cut_gbit_s),
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
    axes.set_ylim(bottom=0.02)
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
    first = found.small[0]
    theirs = "" if first.published_gbit_s is None else f"; published: FPGA {first.published_gbit_s} Gb/s"
    return f"Packets of {first.size:,} bytes: {_both(first.card_gbit_s, first.ovs_gbit_s)}{theirs} (figure 6.3)", figure


def six(found: Switching) -> Drawn:
    """Streams among six nodes (figure 6.4)."""
    if not found.six:
        return "", None
    figure, [axes] = panels(ONE)
    names = [f"n{row.source} to n{row.destination}" for row in found.six]
    series = (
        ("card (modelled)", COLOURS[0], [row.card_gbit_s for row in found.six]),
        ("Open vSwitch (measured here)", COLOURS[1], [row.ovs_gbit_s for row in found.six]),
        ("the kernel (measured here)", COLOURS[2], [row.software_gbit_s for row in found.six]),
    )
    bars(axes, names, series, "{:.2g}".format)
    axes.set_ylabel("Gb/s of images, all at the same time")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)
    totals = [None if None in values else sum(each or 0 for each in values) for _, _, values in series]
    kernel = "" if totals[2] is None else f", the kernel {digits(totals[2])}"
    return f"{len(names)} streams of images together: {_both(totals[0], totals[1])}{kernel} (figure 6.4)", figure


def filtered(found: Switching) -> Drawn:
    """A filter in the card or in the node (figure 6.6)."""
    if not found.filtered:
        return "", None
    figure, [axes] = panels(ONE)
    series: Sequence[tuple[str, Callable[[FilterRow], float | None]]] = (
        ("in the card, a line (modelled)", lambda row: row.card_gbit_s),
        ("not filtered by the node (measured here)", lambda row: row.none_gbit_s),
        ("in the node, C++ (measured here)", lambda row: row.cpp_gbit_s),
        ("in the node, NumPy (measured here)", lambda row: row.numpy_gbit_s),
    )
    for (label, value), colour, marker in zip(series, COLOURS, MARKERS, strict=False):
        points = [(row.samples, value(row)) for row in found.filtered if value(row) is not None]
        line(axes, points, lambda point: point, **OURS, color=colour, marker=marker, label=label)
    bytes_axis(axes, (row.samples for row in found.filtered), "samples of a packet")
    log_axis(axes, "Gb/s of samples")
    axes.legend(fontsize=8)
    pairs = [(row.none_gbit_s / row.cpp_gbit_s) for row in found.filtered if row.none_gbit_s and row.cpp_gbit_s]
    card = [row.card_gbit_s for row in found.filtered if row.card_gbit_s is not None]
    lines = [f"The card filters {from_to(card)} Gb/s (modelled)"] if card else []
    lines += [f"filtering costs a node here a factor of {from_to(pairs)} in C++"] if pairs else []
    return f"{'; '.join(lines)}: a FIR filter of 4 taps (figure 6.6)", figure


def _both(card: float | None, beside: float | None) -> str:
    parts = [f"the card {digits(card)} Gb/s (modelled)"] if card is not None else []
    return ", ".join(parts + ([f"Open vSwitch {digits(beside)} (measured here)"] if beside is not None else []))
