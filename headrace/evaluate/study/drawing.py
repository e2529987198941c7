"""What the figures of all studies share: style, panels, axes, files. A figure's title says what its points show, in
numbers that are computed from them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawn = tuple[str, "Figure | None"]
"""A caption and its figure, if there are points for it."""

# Okabe and Ito's colours, which the colour-blind tell apart, on markers of different shapes
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = ("o", "s", "^", "D", "v", "P")
ONE = (6.4, 4.2)  # inches
TWO = (9.6, 4.2)

THEIRS: dict[str, Any] = {"linestyle": ":", "markerfacecolor": "white"}  # published points
OURS: dict[str, Any] = {"linestyle": "-"}

_STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 5,
    "svg.fonttype": "path",
    "svg.hashsalt": "headrace",  # so that the same figures give the same files
}


def save(figures: Mapping[str, Callable[[], Drawn]], folder: Path) -> dict[str, str]:
    """Draws each figure into NAME.png and NAME.svg; gives the captions, which are the titles as well, by name of
    those that there are points for."""
    from matplotlib import rc_context

    found = {}
    with rc_context(_STYLE):
        for name, draw in figures.items():
            caption, figure = draw()
            if figure is None:
                continue
            columns = int(11 * figure.get_figwidth())  # of this size in an inch
            figure.suptitle("\n".join(textwrap.wrap(caption, columns)), fontsize=10, fontweight="bold")
            figure.savefig(folder / f"{name}.png", dpi=160)
            figure.savefig(folder / f"{name}.svg", dpi=160, metadata={"Date": None})
            found[name] = caption
    return found


def panels(size: tuple[float, float], count: int = 1, **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure with ``count`` panels beside each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False, **shared)[0])


def line(axes: Axes, rows: Sequence[Any], point: Callable[[Any], tuple[float, float]], **style: Any) -> None:
    """The points of rows, joined; nothing without rows."""
    if rows:
        axes.plot(*zip(*map(point, rows), strict=True), **style)


def spread(
    axes: Axes, rows: Sequence[Any], point: Callable[[Any], tuple[float, float, float, float]], **style: Any
) -> None:
    """Bars from the least to the most around values. ``point``: x, least, value, most."""
    if rows:
        x, least, value, most = zip(*map(point, rows), strict=True)
        below, above = (
            [high - low for low, high in zip(*pair, strict=True)] for pair in ((least, value), (value, most))
        )
        axes.errorbar(x, value, (below, above), fmt="none", capsize=2, elinewidth=0.8, **style)


def digits(value: float) -> str:
    """With three digits, or all of a larger number's."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def from_to(values: Iterable[float], shown: Callable[[float], str] = digits) -> str:
    """The least and the most of them, or the one that both are."""
    found = list(values)
    least, most = shown(min(found)), shown(max(found))
    return least if least == most else f"{least} to {most}"


def bytes_axis(axes: Axes, sizes: Iterable[float], label: str) -> None:
    """A logarithmic x axis with ticks at the given sizes."""
    ticks = sorted(set(sizes))
    axes.set_xscale("log", base=2)
    after = [*ticks[1:], float("inf")]  # two labels need some room between them
    axes.set_xticks(
        ticks, [f"{tick:,.0f}" if 1.5 * tick < next_ else "" for tick, next_ in zip(ticks, after, strict=True)]
    )
    axes.minorticks_off()
    axes.set_xlabel(label)


def log_axis(axes: Axes, label: str = "") -> None:
    """A logarithmic y axis, its numbers without exponents."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(lambda value, _position: _between(value, axes))
    axes.set_ylabel(label)


def _between(value: float, axes: Axes) -> str:
    """The label of a logarithmic axis between powers of ten, where it has few of these."""
    low, high = axes.get_ylim()
    return f"{value:,g}" if high < 100 * low and f"{value:.0e}"[0] in "25" else ""


def bars(
    axes: Axes,
    names: Sequence[str],
    series: Sequence[tuple[str, str, Sequence[float | None]]],
    shown: Callable[[float], str] = "".format,
    **names_style: Any,
) -> None:
    """Groups of bars on a logarithmic scale, by their ``names``. ``series``: label, colour and heights, None: no bar.
    ``shown``: what stands on a bar of that height. What is modelled is hatched."""
    width = 0.8 / len(series)
    for number, (label, colour, values) in enumerate(series):
        there = [(place, value) for place, value in enumerate(values) if value is not None]
        if there:
            places = [place + (number - (len(series) - 1) / 2) * width for place, _ in there]
            hatch = "////" if "modelled" in label else None
            heights = [value for _, value in there]
            drawn = axes.bar(places, heights, width, color=colour, label=label, hatch=hatch, edgecolor="white")
            axes.bar_label(drawn, [shown(value) for _, value in there], fontsize=6, padding=1)
    axes.set_xticks(range(len(names)), names, **names_style)
    log_axis(axes)
    axes.grid(axis="x", visible=False)
    axes.set_axisbelow(True)


def plain(value: float, _position: float) -> str:
    """A tick's label without exponents."""
    return f"{value:,g}"


def lines_legend(axes: Axes, how: Sequence[tuple[str, dict[str, Any]]], location: Any) -> None:
    """A second legend, of line styles."""
    from matplotlib.lines import Line2D

    first = axes.get_legend()
    handles = [Line2D([], [], color="#444444", label=label, **style) for label, style in how]
    axes.legend(handles=handles, loc=location)
    if first is not None:
        axes.add_artist(first)
