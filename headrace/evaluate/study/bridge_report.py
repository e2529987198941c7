"""The report of the bridge card's study: markdown, and a short table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.cards.bridge.host import PROFILES
from headrace.evaluate.loads.bridge import SINGLE
from headrace.evaluate.study import bridge_text
from headrace.evaluate.study.bridge_points import FASTER, TRACE_BEGIN_S, TRACE_SECONDS
from headrace.evaluate.study.bridge_published import published_rows, published_table
from headrace.evaluate.study.bridge_rows import BridgeStudy, ThroughputRow
from headrace.evaluate.study.files import figure, grid, report, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

_DIRECTIONS = {"h2s": "hardware to software", "s2h": "software to hardware"}


def markdown(study: BridgeStudy, figures: dict[str, str]) -> str:
    """The whole report. ``figures``: captions by file name without suffix."""
    embednet = PROFILES["embednet"]
    parts = [
        f"Every packet was compared with what was sent: {study.faults} wrong, out of order or unaccounted for.",
        *_published(study),
        "## The hosts",
        bridge_text.HOSTS.format(
            h2s_us=embednet.h2s_message_ns / 1000, s2h_us=embednet.s2h_message_ns / 1000, byte_ns=embednet.byte_ns
        ),
        *_throughput(study, figures),
        *_latency(study, figures),
        *_traces(study, figures),
        *_adaptive(study, figures),
        *_critical(study),
        *_wire(study, figures),
        *_sizes(study),
    ]
    return report(study, "bridge", "The bridge card beside EmbedNet's interface", bridge_text.KNOWN, parts)


def _published(study: BridgeStudy) -> list[str]:
    rows = published_rows(study)
    return ["## Every published number", bridge_text.PUBLISHED, published_table(rows)] if rows else []


def buffer_name(buffer_kb: int) -> str:
    """How tables name a buffer."""
    return "single" if buffer_kb == SINGLE else f"{buffer_kb} KB"


def _throughput(study: BridgeStudy, figures: dict[str, str]) -> list[str]:
    if not study.throughput:
        return []
    parts = ["## High load (figures 5.2 and 5.3)", bridge_text.THROUGHPUT]
    for host, direction in dict.fromkeys((row.host, row.direction) for row in study.throughput):
        rows = [row for row in study.throughput if (row.host, row.direction) == (host, direction)]
        parts += [f"### {_DIRECTIONS[direction].capitalize()}, {host} host", _throughput_table(rows)]
    return [*parts, figure("figure_5_2", figures), figure("figure_5_3", figures)]


def _throughput_table(rows: Sequence[ThroughputRow]) -> str:
    buffers = sorted({row.buffer_kb for row in rows})
    lines = []
    for size in sorted({row.size for row in rows}):
        found = {row.buffer_kb: row for row in rows if row.size == size}
        most = found[max(found)]
        lines.append([f"{size:,} bytes", *(f"{found[kb].mbit_s:,.1f}" for kb in buffers), f"{most.gain:,.1f}"])
    published = {row.buffer_kb: row.published_mbit_s for row in rows if row.published_mbit_s is not None}
    if published:
        shown = [f"{published[kb]:,.0f}" if kb in published else "" for kb in buffers]
        gain = f"{published[max(published)] / published[SINGLE]:,.1f}" if SINGLE in published else ""
        lines.append(["published, 1,500 bytes", *shown, gain])
    return grid(["Mb/s of payload", *map(buffer_name, buffers), "largest / single"], lines)


def _latency(study: BridgeStudy, figures: dict[str, str]) -> list[str]:
    if not study.latency:
        return []
    lines = [
        [
            f"{row.direction}, {buffer_name(row.buffer_kb)}" + (f", {row.timeout_ms:g} ms" if row.timeout_ms else ""),
            f"{row.size:,}",
            f"{row.rate_mbit_s:g}",
            *(f"{value / 1000:,.3f}" for value in (row.min_us, row.median_us, row.p99_us, row.max_us)),
        ]
        for row in study.latency
    ]
    head = ["embednet host", "bytes", "Mb/s", "shortest, ms", "median", "p99", "longest"]
    names = ("figure_5_4", "figure_5_5", "figure_5_6")
    parts = ["## Low load (figures 5.4 to 5.6)", bridge_text.LATENCY, *(figure(name, figures) for name in names)]
    return [*parts, grid(head, lines)]


def _traces(study: BridgeStudy, figures: dict[str, str]) -> list[str]:
    if not study.traces:
        return []
    begin_s = 0 if study.full else TRACE_BEGIN_S
    text = bridge_text.TRACES.format(scale=FASTER, begin=begin_s, seconds=TRACE_SECONDS)
    return [
        "## Dynamic load (figures 5.7 to 5.10)",
        text,
        *(figure(f"figure_5_{number}", figures) for number in (7, 8, 9, 10)),
    ]


def _adaptive(study: BridgeStudy, figures: dict[str, str]) -> list[str]:
    if not study.modes:
        return []
    head = ["host, load, mode", "target", "p99", "worst step's p99", "longest", "messages", "packets a message"]
    head += ["delivered", "Mb/s"]
    lines = [
        [
            f"{row.host}, {row.load}, {row.mode}",
            *(f"{value:,.0f}" for value in (row.target_us, row.p99_us, row.worst_p99_us, row.max_us)),
            f"{row.messages:,}",
            f"{row.packets * row.delivered / row.messages:,.1f}",
            f"{row.delivered:.2%}",
            f"{row.mbit_s:,.1f}",
        ]
        for row in study.modes
    ]
    parts = ["## Adaptive batches", bridge_text.ADAPTIVE, "Latencies in us:", grid(head, lines)]
    return [*parts, figure("adaptive", figures)]


def _critical(study: BridgeStudy) -> list[str]:
    if not study.critical:
        return []
    lines = [
        [
            f"{row.mode}, {row.burst}",
            f"{row.packets:,}",
            *(f"{value:,.3f}" for value in (row.median_us, row.p99_us, row.max_us, row.allowed_us)),
        ]
        for row in study.critical
    ]
    head = ["latency-critical packets", "packets", "median, us", "p99", "longest", "allowed p99"]
    return ["## Latency-critical packets", bridge_text.CRITICAL, grid(head, lines)]


def _wire(study: BridgeStudy, figures: dict[str, str]) -> list[str]:
    if not study.wire:
        return []
    worst_h2s = min(study.wire, key=lambda row: row.h2s_share)
    worst_s2h = min(study.wire, key=lambda row: row.s2h_share)
    text = (
        f"{len(study.wire):,} sizes, batches of 16 KB, PCIe host, both directions at once. Least share of the line's "
        f"packets: {worst_h2s.h2s_share:.2%} at {worst_h2s.size:,} bytes from hardware to software, "
        f"{worst_s2h.s2h_share:.2%} at {worst_s2h.size:,} bytes "
        f"the other way; {sum(row.dropped for row in study.wire):,} packets dropped."
    )
    return ["## A full line of 10 Gb/s", text, figure("wire", figures)]


def _sizes(study: BridgeStudy) -> list[str]:
    if not study.sizes:
        return []
    lines = [
        [f"{row.block}, {row.what}", row.tool, *(f"{value:,g}" for value in (row.luts, row.flip_flops, row.brams))]
        for row in study.sizes
    ]
    head = ["", "how it is known", "LUTs", "flip-flops", "BRAM36"]
    return ["## Resources (tables 5.1 and 5.2)", bridge_text.SIZES, grid(head, lines)]


def summary_table(study: BridgeStudy) -> Table:
    """Throughput of the largest buffers beside single packets, for the terminal."""
    head = ("host, direction", "bytes", "single packets", "64 KB", "gain", "published gain")
    largest = max((row.buffer_kb for row in study.throughput), default=SINGLE)
    rows = [
        (
            *(f"{row.host}, {_DIRECTIONS[row.direction]}", f"{row.size:,}"),
            *(f"{row.mbit_s / row.gain:,.1f}", f"{row.mbit_s:,.1f}", f"{row.gain:,.1f}"),
            {1500: "10 to 13", 64: "over 100"}.get(row.size, "") if row.host == "embednet" else "",
        )
        for row in study.throughput
        if row.buffer_kb == largest
    ]
    return terminal_table("Mb/s of payload at full load", head, rows, left=1)
