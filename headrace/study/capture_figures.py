"""The figures of the capture card's study: bpfcap's figures 5.1 to 5.4 with Headrace's points, and what lies beyond."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.bench.capture_loads import READ_BUFFER
from headrace.study.capture_points import BURSTS, CLOCKS_MHZ, WIDTHS
from headrace.study.capture_rows import HEADERS, FlowRow, SingleRow, TableRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headrace.study.capture import CaptureStudy

# Okabe and Ito's colours, which the colour-blind tell apart, on markers of different shapes
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_MARKERS = ("o", "s", "^", "D", "v", "P")
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
_ONE = (6.4, 4.2)  # inches
_TWO = (9.6, 4.2)


def draw(study: CaptureStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    from matplotlib import rc_context

    with rc_context(_STYLE):
        captions = {}
        for number, burst in enumerate(BURSTS, start=1):
            captions[f"figure_5_{number}"] = _capturing_time(study, burst)
        captions["figure_5_4"] = _time_per_byte(study)
        captions |= {"burst_length": _burst_length(study), "memory_latency": _memory_latency(study)}
        captions |= {"streams": _streams(study), "wire": _wire(study)}
        found = {}
        for name, (caption, figure) in captions.items():
            if figure is None:
                continue
            for suffix, extra in (("png", {}), ("svg", {"metadata": {"Date": None}})):
                figure.savefig(folder / f"{name}.{suffix}", dpi=160, **extra)  # type: ignore[arg-type]
            found[name] = caption
        return found


_Drawn = tuple[str, "Figure | None"]


def _panels(size: tuple[float, float], count: int = 1, **shared: Any) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False, **shared)[0])


def _bytes_axis(axes: Axes, sizes: Iterable[float], label: str) -> None:
    ticks = sorted(set(sizes))
    axes.set_xscale("log", base=2)
    after = [*ticks[1:], float("inf")]  # two labels need some room between them
    axes.set_xticks(
        ticks, [f"{tick:,.0f}" if 1.6 * tick < next_ else "" for tick, next_ in zip(ticks, after, strict=True)]
    )
    axes.minorticks_off()
    axes.set_xlabel(label)


def _plain(value: float, _position: float) -> str:
    return f"{value:,g}"


def _log_ns(axes: Axes, label: str) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(_plain)
    axes.yaxis.set_minor_formatter(lambda value, _position: f"{value:,g}" if str(value)[0] in "235" else "")
    axes.set_ylabel(label)


def _lines_legend(axes: Axes, how: Sequence[tuple[str, dict[str, Any]]], location: Any) -> None:
    """A second legend, of line styles."""
    from matplotlib.lines import Line2D

    first = axes.get_legend()
    handles = [Line2D([], [], color="#444444", label=label, **style) for label, style in how]
    axes.legend(handles=handles, loc=location)
    if first is not None:
        axes.add_artist(first)


_THEIRS: dict[str, Any] = {"linestyle": ":", "markerfacecolor": "white"}
_OURS: dict[str, Any] = {"linestyle": "-"}


def _capturing_time(study: CaptureStudy, burst: int) -> _Drawn:
    figure, [axes] = _panels(_ONE)
    rows = [row for row in study.table_5_1 if row.burst_words == burst and row.memory == "bridge"]
    if not rows:
        return "", None
    for clock, colour, marker in zip(CLOCKS_MHZ, _COLOURS, _MARKERS, strict=False):
        points = [row for row in rows if row.clock_mhz == clock]
        sizes = [row.payload_bytes for row in points]
        style: dict[str, Any] = {"color": colour, "marker": marker}
        axes.plot(sizes, [row.published_mean_ns for row in points], **style, **_THEIRS)
        axes.plot(sizes, [row.mean_ns for row in points], **style, **_OURS, label=f"{clock} MHz")
        ideal = [row for row in study.table_5_1 if (row.burst_words, row.clock_mhz) == (burst, clock)]
        ideal = [row for row in ideal if row.memory == "ideal"]
        axes.plot(
            [row.payload_bytes for row in ideal], [row.mean_ns for row in ideal], color=colour, linewidth=0.9, ls="--"
        )
    _bytes_axis(axes, (row.payload_bytes for row in rows), f"payload in bytes (the packet has {HEADERS} more)")
    _log_ns(axes, "time to capture a packet in ns")
    axes.set_title(f"Bursts of {burst} words", loc="left")
    axes.legend(loc="upper left")
    styles: list[tuple[str, dict[str, Any]]] = [
        ("published (bpfcap, on the board)", {**_THEIRS, "marker": "o"}),
        ("Headrace, bridge", {**_OURS, "marker": "o"}),
        ("Headrace, ideal memory", {"linestyle": "--", "linewidth": 0.9}),
    ]
    _lines_legend(axes, styles, "lower right")
    return f"Time to capture a packet, bursts of {burst} words (bpfcap's figure 5.{BURSTS.index(burst) + 1})", figure


def _time_per_byte(study: CaptureStudy) -> _Drawn:
    rows = [row for row in study.table_5_1 if row.memory == "bridge"]
    if not rows:
        return "", None
    figure, panels = _panels(_TWO, 3, sharey=True)
    for clock, axes in zip(CLOCKS_MHZ, panels, strict=True):
        for burst, colour, marker in zip(BURSTS, _COLOURS, _MARKERS, strict=False):
            points = [row for row in rows if (row.clock_mhz, row.burst_words) == (clock, burst)]
            sizes = [row.payload_bytes for row in points]
            style: dict[str, Any] = {"color": colour, "marker": marker}
            axes.plot(sizes, [_per_byte(row, row.published_mean_ns) for row in points], **style, **_THEIRS)
            axes.plot(sizes, [_per_byte(row, row.mean_ns) for row in points], **style, **_OURS, label=f"{burst} words")
        _bytes_axis(axes, (row.payload_bytes for row in rows), "payload in bytes")
        axes.tick_params(axis="x", labelsize=8)
        axes.set_title(f"{clock} MHz", loc="left")
    _log_ns(panels[0], "ns per byte of the packet")
    panels[0].legend(title="bursts of", loc="lower left")
    _lines_legend(
        panels[-1],
        [("published", {**_THEIRS, "marker": "o"}), ("Headrace, bridge", {**_OURS, "marker": "o"})],
        "upper right",
    )
    return "Time per byte for all parameters (bpfcap's figure 5.4)", figure


def _per_byte(row: TableRow, time_ns: float) -> float:
    return time_ns / (row.payload_bytes + HEADERS)


def _burst_length(study: CaptureStudy) -> _Drawn:
    singles = [row for row in study.single_packets if row.sweep == "burst length" and row.size == 1064]
    flows = [row for row in study.streams if row.sweep == "burst length" and row.size == "1514"]
    if not singles or not flows:
        return "", None
    figure, (left, right) = _panels(_TWO, 2)
    for mem_w, colour, marker in zip(WIDTHS, _COLOURS, _MARKERS, strict=False):
        for memory, line in (("ideal", "--"), ("bridge", "-")):
            _line(
                left,
                [row for row in singles if (row.mem_w, row.memory) == (mem_w, memory)],
                lambda row: (row.burst, row.mean_cycles),
                color=colour,
                marker=marker,
                linestyle=line,
                label=f"{mem_w} bits, {memory}",
            )
        _line(
            right,
            [row for row in flows if row.mem_w == mem_w],
            lambda row: (row.burst, 100 * row.share),
            color=colour,
            marker=marker,
            label=f"{mem_w} bits",
        )
    bursts = [row.burst for row in singles]
    for axes in (left, right):
        _bytes_axis(axes, bursts, "longest burst in words")
        axes.legend()
    _log_ns(left, "cycles")
    left.set_title("One packet of 1,064 bytes", loc="left")
    _share_axis(right)
    right.set_title("Stream of 1,514-byte packets, 1 wait per write burst", loc="left")
    return "Burst length: time for one packet, and what a stream gets of the bus", figure


def _line(axes: Axes, rows: Sequence[Any], point: Callable[[Any], tuple[float, float]], **style: Any) -> None:
    if rows:
        axes.plot(*zip(*map(point, rows), strict=True), **style)


def _share_axis(axes: Axes) -> None:
    axes.set_ylabel("% of the bus's bandwidth")
    axes.set_ylim(0, 103)


def _memory_latency(study: CaptureStudy) -> _Drawn:
    singles = [row for row in study.single_packets if row.sweep == "memory latency" and row.size == 1024]
    flows = [row for row in study.streams if row.sweep == "memory latency"]
    if not singles or not flows:
        return "", None
    figure, (left, right) = _panels(_TWO, 2)
    for mem_w, colour, marker in zip(WIDTHS, _COLOURS, _MARKERS, strict=False):
        clock = next((f"{row.clock_mhz:.0f} MHz" for row in singles if row.mem_w == mem_w), "")
        _line(
            left,
            [row for row in singles if row.mem_w == mem_w],
            lambda row: (row.latency_ns, row.mean_ns),
            color=colour,
            marker=marker,
            label=f"{mem_w} bits, {clock}",
        )
        for size, line in (("60", ":"), ("256", "--"), ("1514", "-")):
            rows = [row for row in flows if (row.mem_w, row.size, row.read_buffer) == (mem_w, size, READ_BUFFER)]
            style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": line}
            _line(right, rows, lambda row: (row.latency_ns, 100 * row.share), **style)
    for size, line in (("60", ":"), ("256", "--"), ("1514", "-")):
        rows = [row for row in flows if row.size == size and row.read_buffer > READ_BUFFER]
        style = {"color": _COLOURS[-1], "marker": _MARKERS[-1], "linestyle": line}
        _line(right, rows, lambda row: (row.latency_ns, 100 * row.share), **style)
    if any(row.read_buffer > READ_BUFFER for row in flows):
        left.plot([], [], color=_COLOURS[-1], marker=_MARKERS[-1], label="512 bits, READ_BUFFER=512 (streams)")
    left.set_ylabel("ns")
    left.set_ylim(0, 1.5 * max(row.mean_ns for row in singles))  # room for the legend
    left.yaxis.set_major_formatter(_plain)
    left.legend()
    left.set_title("One packet of 1,024 bytes", loc="left")
    _share_axis(right)
    right.set_title("Streams", loc="left")
    sizes = (("1,514 bytes", "-"), ("256 bytes", "--"), ("60 bytes", ":"))
    _lines_legend(right, [(label, {"linestyle": line}) for label, line in sizes], "lower left")
    for axes in (left, right):
        axes.set_xlabel("memory latency in ns, reads and writes")
        axes.xaxis.set_major_formatter(_plain)
    return "Memory latency: time for one packet, and what streams get of the bus", figure


def _streams(study: CaptureStudy) -> _Drawn:
    flows = [row for row in study.streams if row.sweep == "packet size"]
    if not flows:
        return "", None
    figure, panels = _panels(_TWO, 2, sharey=True)
    for offset, axes, title in zip(
        (0, 2), panels, ("Packets at multiples of 64 bytes", "2 bytes beside them"), strict=True
    ):
        for mem_w, colour, marker in zip(WIDTHS, _COLOURS, _MARKERS, strict=False):
            rows = [row for row in flows if (row.mem_w, row.offset) == (mem_w, offset)]
            _line(
                axes,
                rows,
                lambda row: (int(row.size), 100 * row.share),
                color=colour,
                marker=marker,
                label=f"{mem_w} bits",
            )
        _bytes_axis(axes, (int(row.size) for row in flows), "bytes of a packet")
        axes.tick_params(axis="x", labelsize=8)
        axes.set_title(title, loc="left")
    _share_axis(panels[0])
    panels[0].legend(loc="lower right")
    return "Streams out of memory: what records get of the bus, read latency 100 ns", figure


def _wire(study: CaptureStudy) -> _Drawn:
    ordered = sorted((row for row in study.wire if row.size.isdigit()), key=lambda row: (_size(row), row.packets))
    flows = list({(row.ports, row.size): row for row in ordered}.values())  # the longest run of each
    if not flows:
        return "", None
    figure, (left, right) = _panels(_TWO, 2)
    bus = flows[0].mem_w * flows[0].clock_mhz / 1e3
    names = {1: "1 port, 100 Gb/s", 2: "2 ports, 200 Gb/s"}
    for (ports, name), colour, marker in zip(names.items(), _COLOURS, _MARKERS, strict=False):
        rows = [row for row in flows if row.ports == ports]
        style = {"color": colour, "marker": marker, "markersize": 3.5, "label": name}
        _line(left, rows, lambda row: (_size(row), row.share * bus), **style)
        _line(right, rows, lambda row: (_size(row), 100 * row.dropped / row.packets), **style)
    left.axhline(bus, color="#444444", linestyle=":", linewidth=1)
    left.annotate(f"the bus: {bus:.0f} Gb/s", (60, bus), (0, 3), textcoords="offset points", fontsize=8)
    left.set_ylim(0, 1.12 * bus)
    left.set_ylabel("Gb/s of records into host memory")
    left.set_title("Records, headers counted in", loc="left")
    right.set_ylabel("% of packets")
    right.set_title("Dropped, and counted", loc="left")
    right.set_ylim(bottom=-1)
    for axes in (left, right):
        _bytes_axis(axes, (60, 128, 256, 512, 1514, 9000), "bytes of a frame without FCS")
        axes.tick_params(axis="x", labelsize=8)
        axes.legend(loc="center right" if axes is right else "lower right")
    return "Wire to memory, 512 bits at 322 MHz", figure


def _size(row: FlowRow | SingleRow) -> int:
    return int(row.size)
