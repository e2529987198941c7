"""The figures of the bridge card's study: EmbedNet's figures 5.2 to 5.10 on Headrace's RTL, and what lies beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.cards.bridge.host import PROFILES
from headrace.evaluate.loads.bridge import SINGLE
from headrace.evaluate.study import alternation
from headrace.evaluate.study.bridge_points import LOADS, MODES
from headrace.evaluate.study.bridge_rows import BridgeStudy, LatencyRow, ThroughputRow, TraceRow
from headrace.evaluate.study.drawing import (
    COLOURS,
    MARKERS,
    ONE,
    THEIRS,
    TWO,
    Drawn,
    bytes_axis,
    digits,
    from_to,
    line,
    log_axis,
    panels,
    plain,
    save,
)
from headrace.traffic.triangle import Triangle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DIRECTIONS = {"h2s": "hardware to software", "s2h": "software to hardware"}
_FOUR = (12.8, 4.6)  # inches
_MODE_NAMES = {"single": "single packets"}
_TIMEOUTS = ("64 KB, 10 ms", "64 KB, 1 ms")
_MODE_COLOURS = {
    "adaptive": COLOURS[0],
    "single": COLOURS[1],
    "64 KB, 10 ms": COLOURS[2],
    "64 KB, 1 ms": COLOURS[3],
    "64 KB, 100 ms": COLOURS[5],
}


def draw(study: BridgeStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    figures: dict[str, Callable[[], Drawn]] = {
        "figure_5_2": partial(_throughput, study, "h2s", 2),
        "figure_5_3": partial(_throughput, study, "s2h", 3),
        "figure_5_4": partial(_latency, study, "h2s", 4),
        "figure_5_5": partial(_latency, study, "s2h", 5),
        "figure_5_6": partial(_timeout, study),
        "figure_5_7": partial(_trace, study, "wide", ("single",), "5.7"),
        "figure_5_8": partial(_trace, study, "wide", ("64 KB, 10 ms",), "5.8"),
        "figure_5_9": partial(_trace, study, "high", _TIMEOUTS, "5.9", by_turns=True),
        "figure_5_10": partial(_trace, study, "low", ("64 KB, 100 ms",), "5.10"),
        "adaptive": partial(_adaptive, study),
        "wire": partial(_wire, study),
    }
    return save(figures, folder)


def _throughput(study: BridgeStudy, direction: str, number: int) -> Drawn:
    rows = [row for row in study.throughput if row.direction == direction]
    if not rows:
        return "", None
    hosts = list(dict.fromkeys(row.host for row in rows))
    figure, all_axes = panels(TWO, len(hosts))
    for host, axes in zip(hosts, all_axes, strict=True):
        here = [row for row in rows if row.host == host]
        buffers = sorted({row.buffer_kb for row in here})
        for size, colour, marker in zip(sorted({row.size for row in here}), COLOURS, MARKERS, strict=False):
            chosen = sorted((row for row in here if row.size == size), key=lambda row: row.buffer_kb)
            _points(axes, chosen, buffers, color=colour, marker=marker, label=f"{size:,} bytes")
        published = [(row.buffer_kb, row.published_mbit_s) for row in here if row.published_mbit_s is not None]
        if published:
            axes.plot(
                [buffers.index(buffer_kb) for buffer_kb, _ in published],
                [mbit_s for _, mbit_s in published],
                color="#444444",
                marker="*",
                markersize=9,
                **THEIRS,
                label="published, 1,500 bytes",
            )
        axes.set_xticks(range(len(buffers)), [f"{kb}" if kb else "single" for kb in buffers])
        axes.set_xlabel("KB of a buffer")
        axes.set_title(f"{_DIRECTIONS[direction]}, {host} host", loc="left")
        log_axis(axes, "Mb/s of payload, modelled")
        axes.legend(loc="lower right", fontsize=8)
    largest = max(row.buffer_kb for row in rows)
    best = [row for row in rows if (row.host, row.buffer_kb) == ("embednet", largest)] or rows[-1:]
    gains = " and ".join(f"{row.gain:.0f} times (of {row.size:,} bytes)" for row in best)
    caption = f"Batches of {largest} KB carry {gains} what single packets do, {_DIRECTIONS[direction]}"
    return f"{caption}, {best[0].host} host (modelled; figure 5.{number})", figure


def _points(axes: Axes, rows: Sequence[ThroughputRow], buffers: Sequence[int], **style: Any) -> None:
    line(axes, rows, lambda row: (buffers.index(row.buffer_kb), row.mbit_s), **style)


def _latency(study: BridgeStudy, direction: str, number: int) -> Drawn:
    rows = [row for row in study.latency if row.direction == direction and row.timeout_ms == 0]
    if not rows:
        return "", None
    figure, [axes] = panels(ONE)
    for size, colour, marker in zip(sorted({row.size for row in rows}), COLOURS, MARKERS, strict=False):
        for single, style in ((False, {"linestyle": "-"}), (True, THEIRS)):
            chosen = [row for row in rows if row.size == size and (row.buffer_kb == SINGLE) == single]
            label = f"{size:,} bytes, {'single packets' if single else 'batches'}"
            _rates(axes, chosen, color=colour, marker=marker, label=label, **style)
    _latency_axes(axes)
    slow = [row for row in rows if row.rate_mbit_s == min(row.rate_mbit_s for row in rows)]
    batches = _longest(row for row in slow if row.buffer_kb != SINGLE)
    alone = _longest(row for row in slow if row.buffer_kb == SINGLE)
    caption = f"At {slow[0].rate_mbit_s:g} Mb/s a packet waits up to {batches} in a batch without timeout"
    return f"{caption}, {alone} alone, {_DIRECTIONS[direction]} (figure 5.{number})", figure


def _longest(rows: Iterable[LatencyRow]) -> str:
    return f"{digits(max((row.max_us for row in rows), default=0.0) / 1000)} ms"


def _rates(axes: Axes, rows: Sequence[LatencyRow], **style: Any) -> None:
    ordered = sorted(rows, key=lambda row: row.rate_mbit_s)
    line(axes, ordered, lambda row: (row.rate_mbit_s, row.max_us / 1000), **style)


def _latency_axes(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(plain)
    axes.yaxis.set_major_formatter(plain)
    axes.set_xlabel("rate in Mb/s")
    axes.set_ylabel("longest latency in ms, modelled")
    axes.legend(fontsize=8)


def _timeout(study: BridgeStudy) -> Drawn:
    sizes = {row.size for row in study.latency if row.timeout_ms}
    rows = [row for row in study.latency if row.direction == "h2s" and row.size in sizes]
    if not sizes or not rows:
        return "", None
    figure, [axes] = panels(ONE)
    kinds = sorted({(row.buffer_kb, row.timeout_ms) for row in rows})
    for (buffer_kb, timeout_ms), colour, marker in zip(kinds, COLOURS, MARKERS, strict=False):
        chosen = [row for row in rows if (row.buffer_kb, row.timeout_ms) == (buffer_kb, timeout_ms)]
        name = "single packets" if buffer_kb == SINGLE else f"{buffer_kb} KB, "
        if buffer_kb != SINGLE:
            name += f"timeout {timeout_ms:g} ms" if timeout_ms else "no timeout"
        _rates(axes, chosen, color=colour, marker=marker, label=name)
    _latency_axes(axes)
    batches = [row for row in rows if row.buffer_kb != SINGLE]
    timed, free = (_longest(row for row in batches if bool(row.timeout_ms) == bounded) for bounded in (True, False))
    return f"With a timeout a packet of a batch takes up to {timed}, without one {free} (figure 5.6)", figure


def _trace(study: BridgeStudy, load: str, modes: Sequence[str], number: str, by_turns: bool = False) -> Drawn:
    rows = [row for row in study.traces if row.load == load and row.mode in modes]
    if not rows:
        return "", None
    figure, [axes] = panels(ONE)
    _offered(axes, [row for row in rows if row.mode == rows[0].mode])
    offered = sum(row.offered_mbit_s for row in rows if row.mode == rows[0].mode)
    parts = []
    for mode in modes:
        chosen = [row for row in rows if row.mode == mode]
        delivered = sum(row.delivered_mbit_s for row in chosen)
        part = f"{delivered / offered:.0%} by {_MODE_NAMES.get(mode, f'batches of {mode}')}"
        style = {"color": _MODE_COLOURS[mode], "label": f"delivered, {mode}"}
        line(axes, chosen, lambda row: (row.time_s, row.delivered_mbit_s), **style)
        if by_turns:
            part += f" (taking turns, a model: {_by_turns(axes, load, mode, rows[0].time_s) / offered:.0%})"
        parts.append(part)
    axes.set_xlabel("time in s")
    axes.set_ylabel("Mb/s, modelled")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    rates = [row.offered_mbit_s for row in rows]
    return f"Of {from_to(rates)} Mb/s, software gets {', '.join(parts)} (figure {number})", figure


def _by_turns(axes: Axes, name: str, mode: str, begin_s: float) -> float:
    """The model of EmbedNet's own interface at the same load, in the same steps; gives the sum of its rates."""
    load = LOADS[name]
    waves = Triangle(length=load.size, lower=load.lower_pps, upper=load.upper_pps, intervals=load.intervals_s)
    timeout_ns = MODES[mode]["timeout_ns"]
    times = waves.times(load.seconds)
    found = alternation.batches(1e9 * times[times >= begin_s], load.size, timeout_ns, PROFILES[load.host])
    ends, counts = np.array(found).T
    edges = np.arange(begin_s, load.seconds + load.step_s / 2, load.step_s)
    delivered = np.histogram(ends / 1e9, edges, weights=counts)[0] * load.size * 8 / load.step_s / 1e6
    label = f"by turns (a model), {mode.partition(', ')[2]}"
    axes.plot(edges[:-1], delivered, linestyle=":", color=_MODE_COLOURS[mode], label=label)
    return float(delivered.sum())


def _offered(axes: Axes, rows: Sequence[TraceRow]) -> None:
    line(axes, rows, lambda row: (row.time_s, row.offered_mbit_s), color="#bbbbbb", linewidth=3, label="offered")


def _adaptive(study: BridgeStudy) -> Drawn:
    summaries = [row for row in study.modes if row.mode == "adaptive"]
    if not summaries:
        return "", None
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, all_axes = panels(_FOUR, len(summaries))
    for summary, axes in zip(summaries, all_axes, strict=True):
        rows = [row for row in study.traces if row.load == summary.load]
        for mode in dict.fromkeys(row.mode for row in rows):
            chosen = [row for row in rows if row.mode == mode and row.p99_us]
            style = {"color": _MODE_COLOURS[mode], "linewidth": 2.2 if mode == "adaptive" else 1.2, "label": mode}
            line(axes, chosen, lambda row: (row.time_s, row.p99_us), **style)
        axes.axhline(summary.target_us, color="#444444", linestyle=":", label="target")
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(plain)
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("time in s")
        axes.locator_params(axis="x", nbins=4)
        axes.set_title(f"load {summary.load}, {summary.host} host", loc="left")
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    all_axes[0].set_ylabel("p99 latency in us, modelled")
    worst = ", ".join(f"{row.worst_p99_us:,.1f} of {row.target_us:,.0f} us ({row.load})" for row in summaries)
    return f"Adaptive batches: the worst step's p99 latency beside its target is {worst}", figure


def _wire(study: BridgeStudy) -> Drawn:
    if not study.wire:
        return "", None
    figure, [axes] = panels(ONE)
    rows = sorted(study.wire, key=lambda row: row.size)
    line(axes, rows, lambda row: (row.size, 100 * row.h2s_share), color=COLOURS[0], label="hardware to software")
    line(axes, rows, lambda row: (row.size, 100 * row.s2h_share), color=COLOURS[1], label="software to hardware")
    axes.axhline(95, color="#444444", linestyle=":", linewidth=1)
    bytes_axis(axes, (60, 128, 256, 512, 1024, 1514), "bytes of a frame without FCS")
    axes.set_ylim(80, 101)
    axes.set_ylabel("% of a 10 Gb/s line")
    axes.legend(loc="lower right")
    shares = [min(row.h2s_share, row.s2h_share) for row in rows]
    lost = sum(row.dropped for row in rows)
    caption = f"Both directions at once carry at least {min(shares):.1%} of a 10 Gb/s line"
    caption += f", {rows[0].size} to {rows[-1].size:,} bytes; {lost:,} packets dropped"
    return f"{caption} (batches of 16 KB, PCIe host)", figure
