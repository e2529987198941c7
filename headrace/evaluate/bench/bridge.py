"""What the bridge card gains by its batches, and what they cost in time: points of its study, beside what must be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from headrace.evaluate.bench import MEASURED, MODELLED, Row
from headrace.evaluate.loads.bridge import SINGLE
from headrace.evaluate.points import Progress
from headrace.evaluate.study import Point
from headrace.evaluate.study.bridge import measure
from headrace.evaluate.study.bridge_points import LARGEST_KB, all_points, wire_points
from headrace.evaluate.study.bridge_rows import BridgeStudy, ModeRow

LEAST_GAIN = {1500: 10, 64: 100}  # by packet size
LEAST_LINE = 0.95
LEAST_THROUGHPUT = 0.95

_FIXED = "64 KB, 10 ms"
_DIRECTIONS = {"h2s": "hardware to software", "s2h": "software to hardware"}


def run(full: bool, address: str | None, progress: Progress) -> list[Row]:
    """All rows of the bridge card. ``full``: every size on a full line."""
    study = measure(full, address, progress, [*_points(), *wire_points(every=full)])
    return [*_gain(study), *_line(study), *_adaptive(study), *_critical(study), _faults(study)]


def _points() -> Iterator[Point]:
    """Those of the study that something is demanded of."""
    points = all_points(full=False)
    adaptive = {point.names["load"] for point in points if point.names.get("mode") == "adaptive"}
    for point in points:
        wanted = {
            "throughput": point.names.get("host") == "embednet"
            and point.names.get("buffer_kb") in (SINGLE, LARGEST_KB)
            and point.arguments.get("size") in LEAST_GAIN,
            "traces": point.names.get("load") in adaptive and point.names["mode"] in ("adaptive", _FIXED),
            "critical": True,
        }
        if wanted.get(point.table):
            yield point


_row = partial(Row, "bridge")


def _gain(study: BridgeStudy) -> Iterator[Row]:
    for row in study.throughput:
        if row.buffer_kb == SINGLE:
            continue
        yield _row(
            f"64 KB beside single packets, {row.size:,} bytes, {_DIRECTIONS[row.direction]}, EmbedNet's host",
            f"at least {LEAST_GAIN[row.size]}",
            row.gain,
            "times",
            row.gain >= LEAST_GAIN[row.size],
            MODELLED,
            f"{row.mbit_s / row.gain:,.2f} and {row.mbit_s:,.0f} Mb/s",
        )


def _line(study: BridgeStudy) -> Iterator[Row]:
    shares = {"h2s": [row.h2s_share for row in study.wire], "s2h": [row.s2h_share for row in study.wire]}
    for direction, found in shares.items():
        worst, share = min(zip((row.size for row in study.wire), found, strict=True), key=lambda pair: pair[1])
        yield _row(
            f"10 Gb/s both ways at once, {len(study.wire):,} sizes, 16 KB, PCIe host: least, {_DIRECTIONS[direction]}",
            f"at least {LEAST_LINE:.0%}",
            100 * share,
            "% of the line",
            share >= LEAST_LINE,
            MODELLED,
            f"at {worst:,} bytes; {sum(row.dropped for row in study.wire):,} packets dropped in all",
        )


def _adaptive(study: BridgeStudy) -> Iterator[Row]:
    for row in study.modes:
        if row.mode != "adaptive":
            continue
        fixed = next(other for other in study.modes if (other.load, other.mode) == (row.load, _FIXED))
        where = f"load {row.load}, {row.host} host"
        yield _row(
            f"adaptive, {where}: worst p99 of all steps",
            f"at most {row.target_us:,.0f}",
            row.worst_p99_us,
            "us",
            row.worst_p99_us <= row.target_us,
            MODELLED,
            f"{_FIXED}: {fixed.worst_p99_us:,.0f}; per message {_per_message(row):.1f}, {_per_message(fixed):.1f}",
        )
        yield _row(
            f"adaptive, {where}: throughput beside {_FIXED}",
            f"at least {LEAST_THROUGHPUT:.0%}",
            100 * row.mbit_s / fixed.mbit_s,
            "%",
            row.mbit_s >= LEAST_THROUGHPUT * fixed.mbit_s,
            MODELLED,
            f"{row.mbit_s:,.1f} Mb/s; delivered {row.delivered:.2%} and {fixed.delivered:.2%}",
        )


def _per_message(row: ModeRow) -> float:
    return row.packets * row.delivered / row.messages


def _critical(study: BridgeStudy) -> Iterator[Row]:
    for row in study.critical:
        demanded = row.mode == "express" and row.burst != "alone"
        yield _row(
            f"latency-critical packets {row.burst}, {row.mode}: p99",
            f"at most {row.allowed_us:.2f}" if demanded else "-",
            row.p99_us,
            "us",
            row.p99_us <= row.allowed_us if demanded else None,
            MODELLED,
            "single packets alone, and the transfer of 1,514 bytes" if demanded else "",
        )


def _faults(study: BridgeStudy) -> Row:
    return _row("packets wrong, out of order or unaccounted for", "0", study.faults, "", study.faults == 0, MEASURED)
