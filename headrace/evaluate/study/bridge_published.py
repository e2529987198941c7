"""EmbedNet's published numbers beside the study's: the worst first, fitted ones last."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from headrace.cards.bridge.host import PROFILES
from headrace.evaluate.loads.bridge import SINGLE
from headrace.evaluate.study import alternation
from headrace.evaluate.study.bridge_points import LARGEST_KB, TRACE_SIZE
from headrace.evaluate.study.bridge_rows import BridgeStudy, PublishedRow
from headrace.evaluate.study.files import grid
from headrace.evaluate.study.published import EMBEDNET_MBIT_S

_BY_TURNS = "a model of EmbedNet's taking turns"


def published_rows(study: BridgeStudy) -> list[PublishedRow]:
    """All numbers of sections 5.2 to 5.5 that the study has a counterpart for."""
    rows = [*_throughput(study), *_latency(study), *_traces(study), *_by_turns(study), *_sizes(study)]
    return sorted(rows, key=lambda row: (row.fitted, -abs(math.log(row.ratio))))


def published_table(rows: Iterable[PublishedRow]) -> str:
    """In markdown."""
    lines = [
        [
            f"{row.where}: {row.what}",
            f"{row.published:,g} {row.unit}",
            f"{row.ours:,.{_digits(row.ours)}f}",
            f"{row.ratio:.2f}" + (" (fitted)" if row.fitted else ""),
            row.note,
        ]
        for row in rows
    ]
    return grid(["EmbedNet's", "published", "ours", "ours / published", ""], lines)


def _digits(value: float) -> int:
    return 0 if value >= 200 or value == round(value) else 1 if value >= 3 else 2


def _throughput(study: BridgeStudy) -> Iterator[PublishedRow]:
    found = {(row.direction, row.buffer_kb, row.size): row for row in study.throughput if row.host == "embednet"}
    for (direction, kb), published in EMBEDNET_MBIT_S.items():
        row = found.get((direction, kb, 1500))
        if row is None:
            continue
        fitted = (direction, kb) != ("s2h", LARGEST_KB)
        where = "figure 5.2" if direction == "h2s" else "figure 5.3"
        name = "single packets" if kb == SINGLE else f"{kb} KB"
        what = f"{name}, 1,500 bytes, {'to software' if direction == 'h2s' else 'to hardware'}"
        yield PublishedRow(where, what, "Mb/s", published, row.mbit_s, fitted)
    if row := found.get(("h2s", LARGEST_KB, 64)):
        yield PublishedRow(
            "figure 5.2", "64 KB beside single packets, 64 bytes", "times", 100, row.gain, note='published as "over"'
        )
    if row := found.get(("h2s", 2, 64)):
        yield PublishedRow(
            "figure 5.2",
            "2 KB beside single packets, 64 bytes",
            "times",
            10,
            row.gain,
            note='published of "small buffers"',
        )


def _latency(study: BridgeStudy) -> Iterator[PublishedRow]:
    found = {
        (row.buffer_kb, row.timeout_ms, row.size, row.rate_mbit_s): row
        for row in study.latency
        if (row.host, row.direction) == ("embednet", "h2s")
    }
    if row := found.get((LARGEST_KB, 0.0, 1024, 10)):
        yield PublishedRow(
            "figure 5.4",
            "longest wait, 64 KB, 1,024 bytes at 10 Mb/s",
            "ms",
            490,
            row.max_us / 1000,
            note="64 KB at 10 Mb/s are 52 ms: the text's 490 must be those of 1 Mb/s (next row)",
        )
    if row := found.get((LARGEST_KB, 0.0, 1024, 1)):
        yield PublishedRow("figure 5.4", "the same at 1 Mb/s", "ms", 490, row.max_us / 1000)
    if row := found.get((SINGLE, 0.0, 1024, 3)):
        yield PublishedRow("figure 5.4", "shortest wait: single packets, 1,024 bytes", "ms", 0.7, row.max_us / 1000)
    if row := found.get((LARGEST_KB, 10.0, 1500, 1)):
        yield PublishedRow(
            "figure 5.6",
            "longest wait with a timeout of 10 ms",
            "ms",
            10,
            row.max_us / 1000,
            note="and the host's time",
        )


def _traces(study: BridgeStudy) -> Iterator[PublishedRow]:
    def most(load: str, mode: str) -> float:
        return max((row.delivered_mbit_s for row in study.traces if (row.load, row.mode) == (load, mode)), default=0)

    modes = {(row.load, row.mode): row for row in study.modes}
    if ("wide", "single") in modes:
        yield PublishedRow(
            "figure 5.7", "single packets of 1,024 bytes end at", "Mb/s", 10, most("wide", "single"), note='"around"'
        )
    if row := modes.get(("high", "64 KB, 1 ms")):
        yield PublishedRow(
            "figure 5.9",
            "20 to 40 Mb/s, a timeout of 1 ms ends at",
            "Mb/s",
            35,
            most("high", row.mode),
            note=f"does not come out: {row.delivered:.0%} delivered, it doesn't end",
        )
    if row := modes.get(("high", "64 KB, 10 ms")):
        yield PublishedRow(
            "figure 5.9",
            "20 to 40 Mb/s, a timeout of 10 ms can't follow from",
            "Mb/s",
            20,
            most("high", row.mode),
            note=f"does not come out: {row.delivered:.0%} delivered, it follows all the way",
        )
    if row := modes.get(("low", "64 KB, 100 ms")):
        yield PublishedRow(
            "figure 5.10", "a low rate is followed with a long timeout", "%", 100, 100 * row.delivered, note="delivered"
        )


def _by_turns(study: BridgeStudy) -> Iterator[PublishedRow]:
    if not study.traces:
        return
    host = PROFILES["embednet"]
    yield PublishedRow(
        "figure 5.9",
        "a timeout of 1 ms ends at",
        "Mb/s",
        35,
        alternation.carried_mbit_s(40, TRACE_SIZE, 1e6, host),
        fitted=True,
        note=f"{_BY_TURNS}: room for {alternation.STORE_PACKETS} packets while software works",
    )
    yield PublishedRow(
        "figure 5.9",
        "a timeout of 10 ms can't follow from",
        "Mb/s",
        20,
        alternation.followed_mbit_s(TRACE_SIZE, 1e7, host) + 1,
        note=f"{_BY_TURNS}, not fitted to this",
    )


def _sizes(study: BridgeStudy) -> Iterator[PublishedRow]:
    for row in study.sizes:
        if row.what != "Headrace, 64 KB":
            continue
        theirs = next(other for other in study.sizes if (other.block, other.what) == (row.block, "EmbedNet, 64 KB"))
        name = f"{row.block.upper()}, 64 KB of local memory"
        yield PublishedRow("table 5.2", f"{name}, LUTs", "", theirs.luts, row.luts)
        yield PublishedRow("table 5.2", f"{name}, flip-flops", "", theirs.flip_flops, row.flip_flops)
        yield PublishedRow("table 5.2", f"{name}, BRAM36", "", theirs.brams, row.brams)
