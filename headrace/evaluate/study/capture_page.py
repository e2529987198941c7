"""The figures of docs/study-capture.md, by the names of their slots."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from headrace.evaluate.study.capture_points import BURSTS, HEADERS, PAYLOADS
from headrace.evaluate.study.capture_report import BPFCAP_RTL
from headrace.evaluate.study.capture_rows import CaptureStudy, FlowRow
from headrace.evaluate.study.files import grid

FIGURES = {"figure_5_3": "study-capture-time", "streams": "study-capture-streams"}
"""Those that the page shows, and their names there."""

_WAYS = {
    "blocking AF_PACKET socket": "the same, processor time a packet in all",
    "tcpdump (libpcap)": "tcpdump (libpcap)",
    "AF_PACKET ring (iface: link)": "AF_PACKET ring, the `iface:` link",
    "AF_XDP (xdp: link)": "AF_XDP, the `xdp:` link",
}


def values(study: CaptureStudy) -> dict[str, str | None]:
    """Of a whole study. None: not measured, because the software path takes root."""
    found: dict[str, str | None] = {
        "table": _table(study),
        **_fetch(study),
        **_streams(study),
        **_widths(study),
        **_wire(study),
    }
    found["software"] = _software(study)
    return {
        f"capture.{name}": f"\n\n{value}\n\n" if value and value.startswith("|") else value
        for name, value in found.items()
    }


def _table(study: CaptureStudy) -> str:
    rows = study.table_5_1
    lines = []
    for payload, theirs in zip(PAYLOADS, BPFCAP_RTL, strict=True):
        here = [row for row in rows if row.payload_bytes == payload]
        long = [row for row in here if row.burst_words == 16]
        board = statistics.fmean(row.published_mean_ns * row.clock_mhz / 1000 for row in long)
        ours = [
            statistics.fmean(row.mean_cycles for row in long if row.memory == name)
            for name in ("ideal", "one wait", "bridge")
        ]
        ratios = [
            statistics.fmean(row.ratio for row in here if (row.memory, row.burst_words) == ("bridge", burst))
            for burst in BURSTS
        ]
        line = [f"{payload + HEADERS:,} bytes", f"{board:.0f}", f"{theirs}", *(f"{value:.0f}" for value in ours)]
        lines.append([*line, ", ".join(f"{ratio:.2f}" for ratio in ratios)])
    head = ["packet", "bpfcap, board", "its RTL, one wait", "ideal", "one wait", "bridge"]
    return grid([*head, "published / bridge at bursts of 4, 8, 16"], lines)


def _fetch(study: CaptureStudy) -> dict[str, str | None]:
    rows = [row for row in study.table_5_1 if row.burst_words == 16]
    by_size = {(row.memory, row.payload_bytes): row for row in rows}

    def more(memory: str) -> str:
        return f"{statistics.fmean(r.doorbell_mean_cycles - r.mean_cycles for r in rows if r.memory == memory):.0f}"

    return {
        "fetch_ideal": more("ideal"),
        "fetch_bridge": more("bridge"),
        "fetch_ratio": f"{by_size['bridge', 32].doorbell_ratio:.2f}",
        "one_wait": f"{by_size['one wait', 1024].mean_cycles:.0f}",
    }


def _streams(study: CaptureStudy) -> dict[str, str | None]:
    def least(rows: Iterable[FlowRow]) -> float:
        return min(row.share for row in rows)

    sizes = [row for row in study.streams if row.sweep == "packet size"]
    even = [row for row in sizes if row.offset == 0]
    odd = {(row.mem_w, row.size): row for row in sizes if row.offset}
    wide = {row.size: row for row in even if row.mem_w == 512}
    bursts = {
        row.burst: row.share
        for row in study.streams
        if (row.sweep, row.mem_w, row.size) == ("burst length", 32, "1514")
    }
    far = {
        (row.latency_ns, row.size, row.read_buffer): row
        for row in study.streams
        if row.sweep == "memory latency" and row.mem_w == 512
    }
    near = [row for row in study.streams if row.sweep == "memory latency" and row.latency_ns <= 200]
    return {
        "stream_share": f"{least(row for row in even if int(row.size) >= 256):.1%}",
        "payload_share": f"{max(row.payload_share / row.share for row in even if row.size == '256'):.0%}",
        "beside_512": f"{odd[512, '256'].share:.0%}",
        "beside_128": f"{odd[128, '256'].share:.0%}",
        "cycles_60": f"{wide['60'].cycles / wide['60'].packets:.2f}",
        "burst_4": f"{bursts[4]:.0%}",
        "burst_16": f"{bursts[16]:.0%}",
        "burst_32": f"{bursts[32]:.0%}",
        "near": f"{least(row for row in near if int(row.size) >= 256):.1%}",
        "near_60": f"{far[200, '60', 128].share:.0%}",
        "far": f"{far[1000, '1514', 128].share:.0%}",
        "far_512": f"{far[1000, '1514', 512].share:.0%}",
    }


def _widths(study: CaptureStudy) -> dict[str, str | None]:
    cycles = {
        (row.mem_w, row.size): row.mean_cycles
        for row in study.single_packets
        if (row.sweep, row.memory) == ("bus width", "ideal")
    }
    more = {row.mem_w: row.second_adds for row in study.back_to_back if (row.memory, row.size) == ("ideal", 1064)}

    def three(size: int) -> str:
        return ", ".join(f"{cycles[mem_w, size]:,.0f}" for mem_w in (32, 128, 512))

    return {
        "width_1064": three(1064),
        "width_9000": three(9000),
        "second_32": f"{more[32]:,}",
        "second_512": f"{more[512]:,}",
    }


def _wire(study: CaptureStudy) -> dict[str, str | None]:
    one = [row for row in study.wire if row.ports == 1]
    two = {row.size: row for row in study.wire if row.ports == 2}
    dropped = [row.dropped / row.packets for size, row in two.items() if size != "60"]
    least = two["60"]
    return {
        "wire_dropped": f"{sum(row.dropped for row in one):,}",
        "wire_lag": f"{max(row.lag_cycles for row in one):,}",
        "two_dropped": f"{min(dropped):.0%} to {max(dropped):.0%}",
        "two_dropped_60": f"{least.dropped / least.packets:.0%}",
        "two_cycles_60": f"{least.cycles / (least.packets - least.dropped):.2f}",
    }


def _software(study: CaptureStudy) -> str | None:
    if not study.kernel_path:
        return None
    found = {(row.way, row.size): row for row in study.kernel_path}
    sizes = sorted({row.size for row in study.kernel_path})
    latency = [found["blocking AF_PACKET socket", size].latency_ns for size in sizes]
    name = "blocking AF_PACKET socket (Python), from arrival to user space, one packet a millisecond"
    lines = [[name, *("-" if time is None else f"{time / 1000:.1f} µs" for time in latency)]]
    for way, shown in _WAYS.items():
        lines.append([shown, *(f"{max(0.0, found[way, size].total_ns) / 1000:.1f} µs" for size in sizes)])
    return grid(["receiver, over a veth pair", *(f"{size:,} bytes" for size in sizes)], lines)
