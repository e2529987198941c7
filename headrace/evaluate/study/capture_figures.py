"""The figures of the capture card's study: bpfcap's figures 5.1 to 5.4 with Headrace's points, and what lies beyond."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.evaluate.loads.capture import READ_BUFFER
from headrace.evaluate.study.capture_points import BURSTS, CLOCKS_MHZ, HEADERS, WIDTHS
from headrace.evaluate.study.capture_rows import CaptureStudy, FlowRow, SingleRow, TableRow
from headrace.evaluate.study.drawing import (
    COLOURS,
    MARKERS,
    ONE,
    OURS,
    THEIRS,
    TWO,
    Drawn,
    bytes_axis,
    digits,
    from_to,
    line,
    lines_legend,
    log_axis,
    panels,
    plain,
    save,
    spread,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(study: CaptureStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    figures: dict[str, Callable[[], Drawn]] = {
        f"figure_5_{number}": partial(_capturing_time, study, burst) for number, burst in enumerate(BURSTS, start=1)
    }
    figures["figure_5_4"] = partial(_time_per_byte, study)
    figures |= {"burst_length": partial(_burst_length, study), "memory_latency": partial(_memory_latency, study)}
    figures |= {"streams": partial(_streams, study), "wire": partial(_wire, study)}
    return save(figures, folder)


def _log_ns(axes: Axes, label: str) -> None:
    log_axis(axes, label)
    axes.yaxis.set_minor_formatter(lambda value, _position: f"{value:,g}" if str(value)[0] in "235" else "")


def _capturing_time(study: CaptureStudy, burst: int) -> Drawn:
    figure, [axes] = panels(ONE)
    rows = [row for row in study.table_5_1 if row.burst_words == burst and row.memory == "bridge"]
    if not rows:
        return "", None
    for clock, colour, marker in zip(CLOCKS_MHZ, COLOURS, MARKERS, strict=False):
        points = [row for row in rows if row.clock_mhz == clock]
        sizes = [row.payload_bytes for row in points]
        style: dict[str, Any] = {"color": colour, "marker": marker}
        axes.plot(sizes, [row.published_mean_ns for row in points], **style, **THEIRS)
        axes.plot(sizes, [row.mean_ns for row in points], **style, **OURS, label=f"{clock} MHz")
        spread(
            axes,
            points,
            lambda row: (row.payload_bytes, row.published_min_ns, row.published_mean_ns, row.published_max_ns),
            color=colour,
            alpha=0.5,
        )
        spread(axes, points, lambda row: (row.payload_bytes, row.min_ns, row.mean_ns, row.max_ns), color=colour)
        ideal = [row for row in study.table_5_1 if (row.burst_words, row.clock_mhz) == (burst, clock)]
        ideal = [row for row in ideal if row.memory == "ideal"]
        axes.plot(
            [row.payload_bytes for row in ideal], [row.mean_ns for row in ideal], color=colour, linewidth=0.9, ls="--"
        )
    bytes_axis(axes, (row.payload_bytes for row in rows), f"payload in bytes (the packet has {HEADERS} more)")
    _log_ns(axes, "ns to capture a packet; bars: least to most")
    axes.set_title(f"Bursts of {burst} words", loc="left")
    axes.legend(loc="upper left")
    styles: list[tuple[str, dict[str, Any]]] = [
        ("published (bpfcap, on the board)", {**THEIRS, "marker": "o"}),
        ("Headrace, bridge (modelled)", {**OURS, "marker": "o"}),
        ("Headrace, ideal memory (modelled)", {"linestyle": "--", "linewidth": 0.9}),
    ]
    lines_legend(axes, styles, "lower right")
    times = from_to(row.ratio for row in rows)
    what = f"{times} times Headrace's with a memory like the board's"
    return (
        f"bpfcap's published time for a packet is {what}, bursts of {burst} words (figure 5.{BURSTS.index(burst) + 1})",
        figure,
    )


def _time_per_byte(study: CaptureStudy) -> Drawn:
    rows = [row for row in study.table_5_1 if row.memory == "bridge"]
    if not rows:
        return "", None
    figure, all_axes = panels(TWO, 3, sharey=True)
    for clock, axes in zip(CLOCKS_MHZ, all_axes, strict=True):
        for burst, colour, marker in zip(BURSTS, COLOURS, MARKERS, strict=False):
            points = [row for row in rows if (row.clock_mhz, row.burst_words) == (clock, burst)]
            sizes = [row.payload_bytes for row in points]
            style: dict[str, Any] = {"color": colour, "marker": marker}
            axes.plot(sizes, [_per_byte(row, row.published_mean_ns) for row in points], **style, **THEIRS)
            axes.plot(sizes, [_per_byte(row, row.mean_ns) for row in points], **style, **OURS, label=f"{burst} words")
        bytes_axis(axes, (row.payload_bytes for row in rows), "payload in bytes")
        axes.tick_params(axis="x", labelsize=8)
        axes.set_title(f"{clock} MHz", loc="left")
    _log_ns(all_axes[0], "ns per byte of the packet")
    all_axes[0].legend(title="bursts of", loc="lower left")
    lines_legend(
        all_axes[-1],
        [("published", {**THEIRS, "marker": "o"}), ("Headrace, bridge", {**OURS, "marker": "o"})],
        "upper right",
    )
    fastest = max(row.clock_mhz for row in rows)
    ends = [_end([row for row in rows if row.clock_mhz == fastest], pick) for pick in (min, max)]
    shown = [f"{digits(ours)} ns for {size:,} bytes (published {digits(theirs)})" for size, ours, theirs in ends]
    return f"A byte takes {' and '.join(shown)} at best, {fastest} MHz (figure 5.4)", figure


def _end(rows: Sequence[TableRow], pick: Callable[..., int]) -> tuple[int, float, float]:
    """The smallest or the largest packet, and the least time per byte of it, ours and published."""
    payload = pick(row.payload_bytes for row in rows)
    chosen = [row for row in rows if row.payload_bytes == payload]
    ours, theirs = (min(_per_byte(row, time(row)) for row in chosen) for time in (_mean_ns, _published_ns))
    return payload + HEADERS, ours, theirs


def _mean_ns(row: TableRow) -> float:
    return row.mean_ns


def _published_ns(row: TableRow) -> float:
    return row.published_mean_ns


def _per_byte(row: TableRow, time_ns: float) -> float:
    return time_ns / (row.payload_bytes + HEADERS)


def _burst_length(study: CaptureStudy) -> Drawn:
    singles = [row for row in study.single_packets if row.sweep == "burst length" and row.size == 1064]
    flows = [row for row in study.streams if row.sweep == "burst length" and row.size == "1514"]
    if not singles or not flows:
        return "", None
    figure, (left, right) = panels(TWO, 2)
    for mem_w, colour, marker in zip(WIDTHS, COLOURS, MARKERS, strict=False):
        for memory, dashes in (("ideal", "--"), ("bridge", "-")):
            line(
                left,
                [row for row in singles if (row.mem_w, row.memory) == (mem_w, memory)],
                lambda row: (row.burst, row.mean_cycles),
                color=colour,
                marker=marker,
                linestyle=dashes,
                label=f"{mem_w} bits, {memory}",
            )
        line(
            right,
            [row for row in flows if row.mem_w == mem_w],
            lambda row: (row.burst, 100 * row.share),
            color=colour,
            marker=marker,
            label=f"{mem_w} bits",
        )
    bursts = [row.burst for row in singles]
    for axes in (left, right):
        bytes_axis(axes, bursts, "longest burst in words")
        axes.legend()
    _log_ns(left, "cycles for one packet")
    left.set_title("One packet of 1,064 bytes", loc="left")
    _share_axis(right)
    right.set_title("Stream of 1,514-byte packets, 1 wait per write burst", loc="left")
    narrow = [row for row in flows if row.mem_w == min(row.mem_w for row in flows)]
    shares = ", ".join(f"{row.share:.0%} at bursts of {row.burst}" for row in (narrow[0], narrow[-1]))
    return f"A stream of 1,514-byte packets gets {shares} words of a {narrow[0].mem_w}-bit bus", figure


def _share_axis(axes: Axes) -> None:
    axes.set_ylabel("% of the bus's bandwidth")
    axes.set_ylim(0, 103)


def _memory_latency(study: CaptureStudy) -> Drawn:
    singles = [row for row in study.single_packets if row.sweep == "memory latency" and row.size == 1024]
    flows = [row for row in study.streams if row.sweep == "memory latency"]
    if not singles or not flows:
        return "", None
    figure, (left, right) = panels(TWO, 2)
    for mem_w, colour, marker in zip(WIDTHS, COLOURS, MARKERS, strict=False):
        clock = next((f"{row.clock_mhz:.0f} MHz" for row in singles if row.mem_w == mem_w), "")
        line(
            left,
            [row for row in singles if row.mem_w == mem_w],
            lambda row: (row.latency_ns, row.mean_ns),
            color=colour,
            marker=marker,
            label=f"{mem_w} bits, {clock}",
        )
        for size, dashes in (("60", ":"), ("256", "--"), ("1514", "-")):
            rows = [row for row in flows if (row.mem_w, row.size, row.read_buffer) == (mem_w, size, READ_BUFFER)]
            style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dashes}
            line(right, rows, lambda row: (row.latency_ns, 100 * row.share), **style)
    for size, dashes in (("60", ":"), ("256", "--"), ("1514", "-")):
        rows = [row for row in flows if row.size == size and row.read_buffer > READ_BUFFER]
        style = {"color": COLOURS[-1], "marker": MARKERS[-1], "linestyle": dashes}
        line(right, rows, lambda row: (row.latency_ns, 100 * row.share), **style)
    if any(row.read_buffer > READ_BUFFER for row in flows):
        left.plot([], [], color=COLOURS[-1], marker=MARKERS[-1], label="512 bits, READ_BUFFER=512 (streams)")
    left.set_ylabel("ns for one packet, modelled")
    left.set_ylim(0, 1.5 * max(row.mean_ns for row in singles))  # room for the legend
    left.yaxis.set_major_formatter(plain)
    left.legend()
    left.set_title("One packet of 1,024 bytes", loc="left")
    _share_axis(right)
    right.set_title("Streams", loc="left")
    sizes = (("1,514 bytes", "-"), ("256 bytes", "--"), ("60 bytes", ":"))
    lines_legend(right, [(label, {"linestyle": dashes}) for label, dashes in sizes], "lower left")
    for axes in (left, right):
        axes.set_xlabel("memory latency in ns, reads and writes")
        axes.xaxis.set_major_formatter(plain)
    wide = max(row.mem_w for row in flows)
    large = [row for row in flows if (row.mem_w, row.size) == (wide, "1514")]
    far = [row for row in large if row.latency_ns == max(row.latency_ns for row in large)]
    shares = ", ".join(f"{row.share:.0%} with READ_BUFFER={row.read_buffer}" for row in far)
    where = f"of a {wide}-bit bus when memory answers after {far[0].latency_ns:,} ns" if far else ""
    return f"Streams of 1,514 bytes get {shares} {where}", figure


def _streams(study: CaptureStudy) -> Drawn:
    flows = [row for row in study.streams if row.sweep == "packet size"]
    if not flows:
        return "", None
    figure, all_axes = panels(TWO, 2, sharey=True)
    for offset, axes, title in zip(
        (0, 2), all_axes, ("Packets at multiples of 64 bytes", "2 bytes beside them"), strict=True
    ):
        for mem_w, colour, marker in zip(WIDTHS, COLOURS, MARKERS, strict=False):
            rows = [row for row in flows if (row.mem_w, row.offset) == (mem_w, offset)]
            line(
                axes,
                rows,
                lambda row: (int(row.size), 100 * row.share),
                color=colour,
                marker=marker,
                label=f"{mem_w} bits",
            )
        bytes_axis(axes, (int(row.size) for row in flows), "bytes of a packet")
        axes.tick_params(axis="x", labelsize=8)
        axes.set_title(title, loc="left")
    _share_axis(all_axes[0])
    all_axes[0].legend(loc="lower right")
    large = [row for row in flows if int(row.size) >= 256]
    even, beside = (min((row.share for row in large if row.offset == offset), default=0.0) for offset in (0, 2))
    least = f"at least {even:.1%} of the bus at multiples of 64 bytes, {beside:.1%} 2 bytes beside them"
    return f"Streams of 256 bytes and more get {least}; read latency 100 ns", figure


def _wire(study: CaptureStudy) -> Drawn:
    ordered = sorted((row for row in study.wire if row.size.isdigit()), key=lambda row: (_size(row), row.packets))
    flows = list({(row.ports, row.size): row for row in ordered}.values())  # the longest run of each
    if not flows:
        return "", None
    figure, (left, right) = panels(TWO, 2)
    bus = flows[0].mem_w * flows[0].clock_mhz / 1e3
    names = {1: "1 port, 100 Gb/s", 2: "2 ports, 200 Gb/s"}
    for (ports, name), colour, marker in zip(names.items(), COLOURS, MARKERS, strict=False):
        rows = [row for row in flows if row.ports == ports]
        style = {"color": colour, "marker": marker, "markersize": 3.5, "label": name}
        line(left, rows, lambda row: (_size(row), row.share * bus), **style)
        line(right, rows, lambda row: (_size(row), 100 * row.dropped / row.packets), **style)
    left.axhline(bus, color="#444444", linestyle=":", linewidth=1)
    left.annotate(f"the bus: {bus:.0f} Gb/s", (60, bus), (0, 3), textcoords="offset points", fontsize=8)
    left.set_ylim(0, 1.12 * bus)
    left.set_ylabel("Gb/s of records into host memory")
    left.set_title("Records, headers counted in", loc="left")
    right.set_ylabel("% of packets")
    right.set_title("Dropped, and counted", loc="left")
    right.set_ylim(bottom=-1)
    for axes in (left, right):
        bytes_axis(axes, (60, 128, 256, 512, 1514, 9000), "bytes of a frame without FCS")
        axes.tick_params(axis="x", labelsize=8)
        axes.legend(loc="center right" if axes is right else "lower right")
    parts = []
    for ports, name in names.items():
        if rows := [row for row in flows if row.ports == ports]:
            dropped, packets = (sum(values) for values in zip(*((r.dropped, r.packets) for r in rows), strict=True))
            parts.append(f"{name} into memory: {dropped:,} of {packets:,} packets dropped")
    return f"{'; '.join(parts)}; {flows[0].mem_w} bits at {flows[0].clock_mhz:.0f} MHz", figure


def _size(row: FlowRow | SingleRow) -> int:
    return int(row.size)
