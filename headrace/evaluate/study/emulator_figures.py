"""The figures of the emulator's study: coverage by PHYs, what is left of it when links are jammed, and
bandwidth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from headrace.evaluate.study import emulator_switching_figures as switching
from headrace.evaluate.study.drawing import (
    COLOURS,
    MARKERS,
    ONE,
    THEIRS,
    TWO,
    Drawn,
    bytes_axis,
    from_to,
    line,
    log_axis,
    panels,
    save,
    spread,
)
from headrace.evaluate.study.emulator_points import RUNS
from headrace.evaluate.study.emulator_rows import EmulatorStudy, SingleRow


def draw(study: EmulatorStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    figures: dict[str, Callable[[], Drawn]] = {
        "coverage": partial(_coverage, study),
        "resiliency": partial(_resiliency, study),
        "bandwidth": partial(_bandwidth, study),
        "streams": partial(_streams, study),
        "small": partial(switching.small, study.switching),
        "six": partial(switching.six, study.switching),
        "filtered": partial(switching.filtered, study.switching),
    }
    return save(figures, folder)


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
            spread(axes, chosen, lambda row: (row.phys, 100 * row.least, 100 * row.mean, 100 * row.mean), color=colour)
        axes.set_xlabel("PHYs of a node")
        axes.set_title("without an endpoint" if not endpoint else "with an endpoint of one PHY", loc="left")
        axes.set_xticks(sorted({row.phys for row in rows}))
        axes.set_ylim(0, 105)
    both[0].set_ylabel("% of 32 nodes reached: mean, bars to the least")
    both[0].legend()
    most = max(_ranges(rows))
    reached = [row for row in rows if (row.range_m, row.endpoint) == (most, 0)]
    shares = ", ".join(f"{row.mean:.0%}" for row in sorted(reached, key=_phys))
    phys = ", ".join(f"{row.phys}" for row in sorted(reached, key=_phys))
    return f"A coordinator of one PHY reaches {shares} of 32 nodes with {phys} PHYs each (range {most:g} m)", figure


def _phys(row: object) -> int:
    return int(row.phys)  # type: ignore[attr-defined]


def _ranges(rows: Sequence[object]) -> list[float]:
    return sorted({row.range_m for row in rows})  # type: ignore[attr-defined]


def _bandwidth(study: EmulatorStudy) -> Drawn:
    if not study.singles:
        return "", None
    figure, [axes] = panels(ONE)
    kinds = (
        ("between nodes, TCP (figure 3.1)", "between"),
        ("within a node, UDP (figure 3.2)", "within"),
        ("whole messages (figure 3.3)", "messages"),
    )
    for nodes, dashes in zip(sorted({row.nodes for row in study.singles}), ("-", "--"), strict=False):
        rows = [row for row in study.singles if row.nodes == nodes]
        for (what, name), colour, marker in zip(kinds, COLOURS, MARKERS, strict=False):
            style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dashes}
            line(axes, rows, _rates(name, "_"), **style, label=f"{nodes} nodes, {what}")
            spread(axes, rows, _rates(name, "_least_", "_", "_most_"), color=colour)
    bytes_axis(axes, (row.payload for row in study.singles), "payload in bytes")
    log_axis(axes, f"Mb/s of payload, measured here:\nmedian of {RUNS} runs, bars least to most")
    axes.legend(fontsize=7)
    largest = [row for row in study.singles if row.payload == max(row.payload for row in study.singles)]
    rates = [
        f"{from_to(getattr(row, f'{name}_mbit_s') for row in largest)} Mb/s {what.partition(' (')[0]}"
        for what, name in kinds
    ]
    return f"A stream alone carries {', '.join(rates)}, with {largest[0].payload:,} bytes of payload", figure


def _rates(name: str, *parts: str) -> Callable[[SingleRow], Any]:
    """A row's payload and its rates of a kind: the least of the runs, their median, the most."""
    return lambda row: (row.payload, *(getattr(row, f"{name}{part}mbit_s") for part in parts))


def _streams(study: EmulatorStudy) -> Drawn:
    rows = [row for row in study.streams if row.published_mbit_s is not None]
    if not rows:
        return "", None
    figure, [axes] = panels(ONE)
    axes.plot(
        [row.hops for row in rows],
        [row.mbit_s for row in rows],
        MARKERS[0],
        color=COLOURS[0],
        label=f"measured here: median of {RUNS} runs, bars least to most",
    )
    spread(axes, rows, lambda row: (row.hops, row.least_mbit_s, row.mbit_s, row.most_mbit_s), color=COLOURS[0])
    theirs = [row.published_mbit_s or 0.0 for row in rows]
    style: dict[str, Any] = {"color": "#777777", "markerfacecolor": "white", "label": "published, on 20 cores"}
    axes.plot([row.hops + 0.1 for row in rows], theirs, "X", **style)
    axes.set_xlabel("hops")
    axes.set_ylabel("Mb/s of each of 20 streams")
    axes.set_xticks(sorted({row.hops for row in rows}))
    axes.set_ylim(bottom=0)
    axes.legend()
    least, most = (pick(row.hops for row in rows) for pick in (min, max))
    means = []
    for rates in ([row.mbit_s for row in rows], theirs):
        first, last = (
            fmean(rate for row, rate in zip(rows, rates, strict=True) if row.hops == hops) for hops in (least, most)
        )
        means.append(f"{first:.1f} Mb/s over {least} hop{'s' * (least > 1)} and {last:.1f} over {most}")
    return (
        f"Of {len(rows)} streams at once, one carries {means[0]} in the mean; published {means[1]} (table 3.1)",
        figure,
    )


def _resiliency(study: EmulatorStudy) -> Drawn:
    if not study.resiliency:
        return "", None
    figure, [axes] = panels(ONE)
    for range_m, colour, marker in zip(_ranges(study.resiliency), COLOURS, MARKERS, strict=False):
        rows = [row for row in study.resiliency if row.range_m == range_m]
        style = {"color": colour, "marker": marker}
        spread(
            axes,
            rows,
            lambda row: (row.jammed, 100 * row.least, 100 * row.after, 100 * row.most),
            color=colour,
        )
        line(axes, rows, lambda row: (row.jammed, 100 * row.after), **style, label=f"range {range_m:g} m, others found")
        line(axes, rows, lambda row: (row.jammed, 100 * row.left), **style, linestyle="--", label="none found")
    first = study.resiliency[0].range_m
    published = [row for row in study.resiliency if row.published is not None and row.range_m == first]
    style = {**THEIRS, "color": "#777777", "marker": "X"}
    line(
        axes,
        published,
        lambda row: (row.jammed, 100 * row.published),
        **style,
        label="published: the thesis' table 3.3",
    )
    axes.set_xlabel("links jammed, of 32 nodes with 4 PHYs")
    axes.set_ylabel("% of the nodes reached: mean, bars least to most")
    axes.set_ylim(0, 105)
    axes.legend(fontsize=7)
    widest = [row for row in study.resiliency if row.range_m == max(_ranges(study.resiliency))]
    last = max((row for row in widest if row.published is not None), key=lambda row: row.jammed, default=widest[-1])
    ours = f"{last.after:.0%} of the nodes are still reached once others are found, {last.left:.0%} before"
    theirs = f"; published {last.published:.0%}" if last.published is not None else ""
    return f"With {last.jammed} links jammed {ours} (range {last.range_m:g} m){theirs} (table 3.3)", figure
