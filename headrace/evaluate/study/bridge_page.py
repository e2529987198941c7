"""The figures of docs/study-bridge.md, by the names of their slots."""

from __future__ import annotations

from headrace.cards.bridge.host import PROFILES
from headrace.evaluate.study.bridge_points import BUFFERS_KB, LOADS
from headrace.evaluate.study.bridge_published import published_rows, published_table
from headrace.evaluate.study.bridge_report import buffer_name
from headrace.evaluate.study.bridge_rows import BridgeStudy
from headrace.evaluate.study.files import grid

_WAYS = {"h2s": "to software", "s2h": "to hardware"}
_CRITICAL = {
    ("single", "alone"): "single packets, no other traffic",
    ("express", "in a full line"): "express lane, in a full line",
    ("flush", "in a full line"): "critical packets close their batch, in a full line",
    ("plain", "in a full line"): "not marked, in a full line",
}

FIGURES = {
    "figure_5_2": "study-bridge-throughput",
    "figure_5_9": "study-bridge-timeouts",
    "adaptive": "study-bridge-adaptive",
}
"""Those that the page shows, and their names there."""


def values(study: BridgeStudy) -> dict[str, str | None]:
    """Of a whole study."""
    host = PROFILES["embednet"]
    loads = {(row.load, row.mode): row for row in study.modes}
    wire = [share for row in study.wire for share in (row.h2s_share, row.s2h_share)]
    found = {
        "published": published_table(published_rows(study)),
        "host": f"{host.h2s_message_ns / 1000:,.0f} us to software, {host.s2h_message_ns / 1000:,.0f} us to hardware",
        "byte": f"{host.byte_ns:.1f} ns",
        "throughput": _throughput(study),
        "modes": _modes(study),
        "critical": _critical(study),
        "wire": f"at least {min(wire):.1%}",
        "dropped": f"{sum(row.dropped for row in study.wire):,}",
        "single_delivered": f"{loads['wide', 'single'].delivered:.0%}",
        "messages": f"{loads['high', '64 KB, 1 ms'].messages / loads['high', 'adaptive'].messages:.1f}",
        "sizes": _sizes(study),
    }
    return {f"bridge.{name}": f"\n\n{value}\n\n" if value.startswith("|") else value for name, value in found.items()}


def _throughput(study: BridgeStudy) -> str:
    lines = []
    for direction, way in _WAYS.items():
        for size in (64, 1500):
            found = {
                row.buffer_kb: row
                for row in study.throughput
                if (row.host, row.direction, row.size) == ("embednet", direction, size)
            }
            rates = [f"{found[kb].mbit_s:,.1f}" for kb in BUFFERS_KB]
            lines.append([f"{way}, {size:,} bytes", *rates, f"{found[BUFFERS_KB[-1]].gain:,.0f}"])
    return grid(["Mb/s", *map(buffer_name, BUFFERS_KB), "64 KB / single"], lines)


def _modes(study: BridgeStudy) -> str:
    lines = []
    for row in study.modes:
        load, slow = LOADS[row.load], row.host == "embednet"
        low, high = (8 * load.size * pps / 1e6 for pps in (load.lower_pps, load.upper_pps))
        name = f"**{row.mode}**" if row.mode == "adaptive" else row.mode
        worst = f"{row.worst_p99_us / 1000:.2f} ms" if slow else f"{row.worst_p99_us:.1f} us"
        each = row.packets * row.delivered / row.messages
        what = f"{low:,.3g} to {high:,.3g} Mb/s, {row.host}, {name}" if slow else f"0.8 to 9 Gb/s, {row.host}, {name}"
        lines.append([what, worst, f"{each:.1f}", f"{row.delivered:.0%}"])
    return grid(["load, host, mode", "worst p99 of a step", "packets a message", "delivered"], lines)


def _critical(study: BridgeStudy) -> str:
    found = {(row.mode, row.burst): row for row in study.critical}
    lines = [
        [name, *(_time(value) for value in (found[key].median_us, found[key].p99_us, found[key].max_us))]
        for key, name in _CRITICAL.items()
    ]
    return grid(["", "median", "p99", "longest"], lines)


def _time(time_us: float) -> str:
    if time_us >= 1000:
        return f"{time_us / 1000:.1f} ms"
    return f"{time_us:.3f} us" if time_us < 10 else f"{time_us:.1f} us"


def _sizes(study: BridgeStudy) -> str:
    lines = [
        [f"{row.block}, {row.what}", *(f"{value:,g}" for value in (row.luts, row.flip_flops, row.brams))]
        for row in study.sizes
        if row.what != "EmbedNet, single packets"
    ]
    lines.append(["their control, and other blocks", "by `headrace bench bridge-fit`", "", ""])
    return grid(["bus of 32 bits", "LUTs", "flip-flops", "BRAM36"], lines)
