"""The report of the capture card's study: markdown, and a short table for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from headrace.evaluate.loads.capture import MOST_LAG
from headrace.evaluate.study import capture_text
from headrace.evaluate.study.capture_points import BURSTS, CLOCKS_MHZ, HEADERS, PAYLOADS
from headrace.evaluate.study.capture_rows import CaptureStudy, FlowRow, TableRow
from headrace.evaluate.study.files import figure, grid, report, terminal_table
from headrace.evaluate.study.published import BPFCAP_KERNEL_NS

if TYPE_CHECKING:
    from rich.table import Table


_SIGMA = "\N{GREEK SMALL LETTER SIGMA}"
_TOGETHER_SIZES = (72, 296, 1064)  # the others are in the CSV file
BPFCAP_RTL = (49, 57, 77, 117, 197, 357)  # cycles with one wait per write burst, simulated


def markdown(study: CaptureStudy, figures: dict[str, str]) -> str:
    """The whole report. ``figures``: captions by file name without suffix."""
    parts = [
        f"All captured bytes were compared with the packets: {study.faults} wrong, or packets unaccounted for.",
        *_table_5_1(study, figures),
        *_beyond(study, figures),
        *_software(study),
    ]
    return report(study, "capture", "The capture card beside bpfcap", capture_text.KNOWN, parts)


def _table_5_1(study: CaptureStudy, figures: dict[str, str]) -> list[str]:
    if not study.table_5_1:
        return []
    rows = study.table_5_1
    parts = [
        "## Table 5.1 again",
        capture_text.TABLE.format(headers=HEADERS),
        capture_text.MEMORIES,
        capture_text.SPREAD.format(count=max(row.packets for row in rows)),
        "### How many times as long the published packets took",
        _summary(rows),
        "### In cycles",
        _cycles(rows),
    ]
    parts += [figure(f"figure_5_{number}", figures) for number in range(1, 5)]
    for clock in CLOCKS_MHZ:
        for burst in BURSTS:
            chosen = [row for row in rows if (row.clock_mhz, row.burst_words) == (clock, burst)]
            if chosen:
                parts.append(f"### {clock} MHz, bursts of {burst} words, ns")
                parts.append(_one_table(chosen))
    return [part for part in parts if part]


def _key(row: TableRow) -> tuple[int, int, int]:
    return row.clock_mhz, row.burst_words, row.payload_bytes


def _summary(rows: Sequence[TableRow]) -> str:
    lines = []
    for memory in dict.fromkeys(row.memory for row in rows):
        for burst in BURSTS:
            chosen = [row for row in rows if (row.memory, row.burst_words) == (memory, burst)]
            if not chosen:
                continue
            ratios = [_mean(row.ratio for row in chosen if row.payload_bytes == payload) for payload in PAYLOADS]
            lines.append([f"{memory}, bursts of {burst}", *(f"{ratio:.2f}" for ratio in ratios)])
    for burst in BURSTS:
        chosen = [row for row in rows if (row.memory, row.burst_words) == ("bridge", burst)]
        if chosen:
            ratios = [_mean(row.doorbell_ratio for row in chosen if row.payload_bytes == size) for size in PAYLOADS]
            lines.append([f"bridge, bursts of {burst}, from the doorbell", *(f"{ratio:.2f}" for ratio in ratios)])
    head = ["published mean / ours (mean of three clocks), payload", *(f"{payload:,}" for payload in PAYLOADS)]
    return grid(head, lines)


def _cycles(rows: Sequence[TableRow]) -> str:
    """Ours and theirs at bursts of 16, whatever the clock."""
    chosen = [row for row in rows if row.burst_words == 16]
    memories = list(dict.fromkeys(row.memory for row in chosen))
    lines = []
    for payload, theirs in zip(PAYLOADS, BPFCAP_RTL, strict=True):
        same = [row for row in chosen if row.payload_bytes == payload]
        if not same:
            continue
        board = _mean(row.published_mean_ns * row.clock_mhz / 1000 for row in same)
        ours = [_mean(row.mean_cycles for row in same if row.memory == memory) for memory in memories]
        ours += [_mean(row.doorbell_mean_cycles for row in same if row.memory == memory) for memory in memories]
        lines.append([f"{payload + HEADERS:,} bytes", f"{board:.0f}", f"{theirs}", *(f"{value:.1f}" for value in ours)])
    head = ["bursts of 16", "bpfcap, board", "its RTL, one wait", *(f"ours, {memory}" for memory in memories)]
    head += [f"{memory}, from the doorbell" for memory in memories]
    return grid(head, lines)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else float("nan")


def _one_table(rows: Sequence[TableRow]) -> str:
    head = ["payload", "published mean", _SIGMA, "median", "min", "max"]
    memories = list(dict.fromkeys(row.memory for row in rows))
    for memory in memories:
        head += [f"ours, {memory}: mean", _SIGMA, "median", "min", "max", "from the doorbell", "published / ours"]
    lines = []
    for payload in PAYLOADS:
        chosen = {row.memory: row for row in rows if row.payload_bytes == payload}
        if not chosen:
            continue
        first = next(iter(chosen.values()))
        published = (
            first.published_mean_ns,
            first.published_sigma_ns,
            first.published_median_ns,
            first.published_min_ns,
            first.published_max_ns,
        )
        line = [f"{payload:,}", *(f"{value:,}" for value in published)]
        for memory in memories:
            row = chosen[memory]
            ours = (row.mean_ns, row.sigma_ns, row.median_ns, row.min_ns, row.max_ns, row.doorbell_mean_ns)
            line += [*(f"{value:,.0f}" for value in ours), f"{row.ratio:.2f}"]
        lines.append(line)
    return grid(head, lines)


def _beyond(study: CaptureStudy, figures: dict[str, str]) -> list[str]:
    parts = ["## Beyond it"]
    widths = [row for row in study.single_packets if row.sweep == "bus width"]
    if widths:
        sizes = sorted({row.size for row in widths})
        lines = []
        for mem_w, memory in dict.fromkeys((row.mem_w, row.memory) for row in widths):
            chosen = {row.size: row for row in widths if (row.mem_w, row.memory) == (mem_w, memory)}
            cycles = (f"{chosen[size].mean_cycles:,.0f}" for size in sizes)
            lines.append([f"{mem_w} bits, {memory}", *cycles])
        head = ["mean cycles for one packet, bursts of 16, bytes", *(f"{size:,}" for size in sizes)]
        parts += ["### Bus width", grid(head, lines)]
    parts += ["### Burst length", figure("burst_length", figures)]
    parts += ["### Memory latency", capture_text.LATENCY, figure("memory_latency", figures)]
    if study.back_to_back:
        parts += ["### Packets back to back", capture_text.TOGETHER, _together(study)]
    flows = [row for row in study.streams if row.sweep == "packet size"]
    if flows:
        parts += ["### Streams out of memory", capture_text.STREAMS, figure("streams", figures), _stream_table(flows)]
    if study.wire:
        parts += ["### Wire to memory", _wire_text(study.wire), figure("wire", figures), _both_ports(study.wire)]
    return [part for part in parts if part]


def _together(study: CaptureStudy) -> str:
    head = ["", "bytes", "one", "two", "eight", "the second adds", "each later one adds", "record in words"]
    lines = [
        [
            f"{row.mem_w} bits, {row.memory}",
            f"{row.size:,}",
            *(f"{value:,}" for value in (row.one, row.two, row.eight, row.second_adds)),
            f"{row.later_add:.1f}",
            f"{(row.size + 16) * 8 / row.mem_w:.1f}",
        ]
        for row in study.back_to_back
        if row.size in _TOGETHER_SIZES
    ]
    return grid(head, lines)


def _stream_table(flows: Sequence[FlowRow]) -> str:
    head = ["", *dict.fromkeys(f"{int(row.size):,} bytes" for row in flows)]
    lines = []
    for mem_w, clock, offset in dict.fromkeys((row.mem_w, row.clock_mhz, row.offset) for row in flows):
        chosen = [row for row in flows if (row.mem_w, row.offset) == (mem_w, offset)]
        shares = [f"{row.share:.1%} ({row.payload_share:.1%}), {row.gbit_s:.1f}" for row in chosen]
        lines.append([f"{mem_w} bits, {clock:.0f} MHz{', 2 bytes beside' if offset else ''}", *shares])
    return "Share (payload), Gb/s of packets:\n\n" + grid(head, lines)


def _wire_text(flows: Sequence[FlowRow]) -> str:
    one = [row for row in flows if row.ports == 1]
    packets, dropped = sum(row.packets for row in one), sum(row.dropped for row in one)
    lag = max((row.lag_cycles for row in one), default=0)
    sizes = len({row.size for row in one})
    lossy = sorted({int(row.size) if row.size.isdigit() else 0 for row in one if row.dropped})
    where = f" (at {', '.join(f'{size:,}' if size else 'imix' for size in lossy)} bytes)" if lossy else ""
    meaning = ": nothing piles up" if lag < MOST_LAG else ""
    return capture_text.WIRE.format(
        packets=packets, sizes=sizes, dropped=dropped, where=where, lag=lag, meaning=meaning
    )


def _both_ports(flows: Sequence[FlowRow]) -> str:
    both = [row for row in flows if row.ports == 2]
    lines = [
        [
            f"{int(row.size):,}" if row.size.isdigit() else row.size,
            f"{row.share:.1%}",
            f"{row.dropped / row.packets:.1%}",
            f"{row.cycles / (row.packets - row.dropped):.2f}",
        ]
        for row in both
    ]
    head = ["two ports, bytes", "of the bus's bandwidth", "dropped", "cycles a record"]
    return grid(head, lines) if both else ""


def _software(study: CaptureStudy) -> list[str]:
    parts = ["## The software path"]
    if not study.kernel_path:
        return [*parts, f"Not measured: {study.no_kernel_path}."]
    rows = [
        [
            row.way,
            f"{row.size:,}",
            f"{row.received:,} of {row.packets:,}",
            f"{row.receiver_ns:,.0f}",
            f"{row.sender_ns:,.0f}",
            f"{row.total_ns:,.0f}",
            "-" if row.latency_ns is None else f"{row.latency_ns / 1000:,.1f} µs",
        ]
        for row in study.kernel_path
    ]
    head = ["", "bytes", "received", "receiver, ns", "sender, ns", "in all, ns", "latency"]
    text = capture_text.SOFTWARE.format(published_us=BPFCAP_KERNEL_NS // 1000)
    return [*parts, text, grid(head, rows)]


def summary_table(study: CaptureStudy) -> Table:
    """Published means beside ours at bursts of 16, for the terminal."""
    head = ("payload", "MHz", "published", "bridge", "ideal memory", "published / bridge")
    ideal = {_key(row): row.mean_ns for row in study.table_5_1 if row.memory == "ideal"}
    rows = [
        (
            *(f"{row.payload_bytes:,}", f"{row.clock_mhz}"),
            *(f"{value:,.0f}" for value in (row.published_mean_ns, row.mean_ns, ideal[_key(row)])),
            f"{row.ratio:.2f}",
        )
        for row in study.table_5_1
        if row.memory == "bridge" and row.burst_words == 16
    ]
    return terminal_table("ns to capture a packet, bursts of 16 words", head, rows)
