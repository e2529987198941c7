"""The figures of the host interface's study."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from headrace.evaluate.study.drawing import (
    COLOURS,
    MARKERS,
    ONE,
    OURS,
    THEIRS,
    TWO,
    Drawn,
    bars,
    bytes_axis,
    digits,
    line,
    log_axis,
    panels,
    plain,
    save,
)
from headrace.evaluate.study.host_published import PCIE4_GBIT_S, PCIE4_LINK_GBIT_S, TRANSFER_GBIT_S
from headrace.evaluate.study.host_rows import HostStudy

_GREY = "#777777"
_FULL = 0.95  # of the most: more reads in flight bring little


def draw(study: HostStudy, folder: Path) -> dict[str, str]:
    """Writes each figure as NAME.png and NAME.svg; gives their captions by name, those that there are points for."""
    figures: dict[str, Callable[[], Drawn]] = {
        "transfers": partial(_transfers, study),
        "windows": partial(_windows, study),
        "links": partial(_links, study),
        "interrupts": partial(_interrupts, study),
    }
    return save(figures, folder)


def _transfers(study: HostStudy) -> Drawn:
    if not study.transfers:
        return "", None
    figure, [axes] = panels(ONE)
    usual = [row for row in study.transfers if row.reads_gbit_s]
    series = (
        ("reads, pipelined", lambda row: (row.size, row.reads_gbit_s)),
        ("writes", lambda row: (row.size, row.writes_gbit_s)),
        ("reads, one at a time", lambda row: (row.size, row.single_gbit_s)),
    )
    for (label, point), colour, marker in zip(series, COLOURS, MARKERS, strict=False):
        line(axes, usual, point, **OURS, color=colour, marker=marker, label=label)
    style = {
        **OURS,
        "color": COLOURS[3],
        "marker": MARKERS[3],
        "label": "the thesis' way, modelled: a descriptor first",
    }
    line(axes, study.transfers, lambda row: (row.size, row.described_gbit_s), **style)
    points = list(TRANSFER_GBIT_S.items())
    axes.plot(
        *zip(*points, strict=True), linestyle="", marker="D", color=_GREY, markerfacecolor="white", label="published"
    )
    bytes_axis(axes, (row.size for row in study.transfers), "transfer in bytes")
    log_axis(axes, "Gb/s, modelled")
    axes.legend(fontsize=8)
    described = {row.size: row for row in study.transfers if row.published_gbit_s is not None}
    theirs = ", ".join(
        f"{r.described_gbit_s:.1f} of {size:,} bytes (published {r.published_gbit_s:.0f})"
        for size, r in described.items()
    )
    best = usual[-1] if usual else study.transfers[-1]
    rates = f"reads of {best.size:,} bytes get {best.reads_gbit_s:.1f}, writes {best.writes_gbit_s:.1f} Gb/s"
    caption = f"On PCIe 3.0 x8, {rates}"
    return f"{caption}; the thesis' way, modelled, {theirs} (figure 6.1)", figure


def _windows(study: HostStudy) -> Drawn:
    if not study.windows or not study.payloads:
        return "", None
    figure, (windows, payloads) = panels(TWO, 2)
    style = {**OURS, "color": COLOURS[0], "marker": MARKERS[0], "label": "reads of 64 KB"}
    line(windows, study.windows, lambda row: (row.window, row.gbit_s), **style)
    style = {"color": "#bbbbbb", "label": "limit of the link"}
    line(windows, study.windows, lambda row: (row.window, row.limit_gbit_s), **style)
    bytes_axis(windows, (row.window for row in study.windows), "reads of 512 bytes in flight")
    series = (
        ("writes", COLOURS[1], MARKERS[1], OURS, lambda row: (row.payload, row.writes_gbit_s)),
        ("reads", COLOURS[0], MARKERS[0], OURS, lambda row: (row.payload, row.reads_gbit_s)),
        ("formula, 32-bit addresses", _GREY, "v", THEIRS, lambda row: (row.payload, row.limit_32_gbit_s)),
        ("formula, 64-bit addresses", _GREY, "D", THEIRS, lambda row: (row.payload, row.limit_64_gbit_s)),
    )
    for label, colour, marker, way, point in series:
        line(payloads, study.payloads, point, **{**way, "color": colour, "marker": marker, "label": label})
    bytes_axis(payloads, (row.payload for row in study.payloads), "bytes of a TLP at most (MPS)")
    for axes in (windows, payloads):
        axes.set_ylabel("Gb/s, modelled")
        axes.legend(fontsize=8)
    windows.set_ylim(bottom=0)
    shares = {row.window: row.gbit_s / row.limit_gbit_s for row in study.windows}
    first = next((window for window, share in shares.items() if share >= _FULL * max(shares.values())), max(shares))
    one = min(shares)
    caption = f"{first} reads of 512 bytes in flight reach {shares[first]:.0%} of the link's limit"
    return f"{caption}, {one} reaches {shares[one]:.0%} (PCIe 3.0 x8, modelled; figures 5.8 and 5.7)", figure


def _links(study: HostStudy) -> Drawn:
    if not study.links:
        return "", None
    figure, [axes] = panels((9.6, 4.2))
    rows = study.links
    names = [f"{row.generation}.0 x{row.lanes}" for row in rows]
    series = (
        ("the link, by formula", "#dddddd", [row.link_gbit_s for row in rows]),
        ("limit of payload of writes, by formula", "#bbbbbb", [row.limit_writes_gbit_s for row in rows]),
        ("writes, modelled: 512 bits at 250 MHz", COLOURS[1], [row.writes_gbit_s for row in rows]),
        ("reads, modelled: 512 bits at 250 MHz", COLOURS[0], [row.reads_gbit_s for row in rows]),
    )
    bars(axes, names, series, fontsize=7)
    published = [(at, row.published_gbit_s) for at, row in enumerate(rows) if row.published_gbit_s is not None]
    if published:
        axes.plot(*zip(*published, strict=True), linestyle="", marker="D", color=_GREY, label="published: the link")
    fourth = [at for at, row in enumerate(rows) if row.link_gbit_s and (row.generation, row.lanes) == (4, 8)]
    for at in fourth:
        label = f"published: expected of {PCIE4_LINK_GBIT_S:.0f}"
        axes.plot([at], [PCIE4_GBIT_S], linestyle="", marker="v", color=_GREY, markerfacecolor="white", label=label)
    axes.set_ylabel("Gb/s each way")
    axes.legend(fontsize=8)
    shares = [
        (
            f"{row.generation}.0 x{row.lanes}",
            min(row.reads_gbit_s / row.limit_reads_gbit_s, row.writes_gbit_s / row.limit_writes_gbit_s),
        )
        for row in rows
    ]
    full = sum(share >= _FULL for _, share in shares)
    name, least = min(shares, key=lambda each: each[1])
    caption = f"On {full} of {len(rows)} links, reads and writes reach {_FULL:.0%} and more of the limit of payload"
    return f"{caption}; least on {name}: {least:.0%} (modelled; figure 6.7)", figure


def _interrupts(study: HostStudy) -> Drawn:
    if not study.moderations:
        return "", None
    figure, both = panels(TWO, 2)
    names = [
        f"{packets} / {ns // 1000} us"
        for packets, ns in dict.fromkeys((r.packets, r.time_ns) for r in study.moderations)
    ]
    for at, gap in enumerate(dict.fromkeys(row.gap_ns for row in study.moderations)):
        rows = [row for row in study.moderations if row.gap_ns == gap]
        label = f"a packet in {gap / 1000:g} us"
        style = {**OURS, "color": COLOURS[at], "marker": MARKERS[at], "label": label}
        line(both[0], list(enumerate(rows)), lambda each: (each[0], each[1].interrupts_s / 1000), **style)
        line(both[1], list(enumerate(rows)), lambda each: (each[0], each[1].p99_ns / 1000), **style)
    for axes, label in zip(both, ("thousands of interrupts a second", "time to the driver in us, p99"), strict=True):
        axes.set_xticks(range(len(names)), names)
        axes.set_xlabel("packets that an interrupt waits for / at most")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plain)
        axes.yaxis.set_minor_formatter("")
        axes.set_ylabel(label)
        axes.legend(fontsize=8)
    rows = [row for row in study.moderations if row.gap_ns == min(row.gap_ns for row in study.moderations)]
    ends = [pick(rows, key=lambda row: row.packets) for pick in (min, max)]
    interrupts = " to ".join(digits(row.interrupts_s / 1000) for row in ends)
    p99 = " to ".join(digits(row.p99_ns / 1000) for row in ends)
    caption = f"Waiting for {ends[1].packets} packets instead of {ends[0].packets} takes interrupts"
    caption += f" from {interrupts} thousand a second and p99 to the driver from {p99} us"
    return f"{caption} ({rows[0].gap_ns / 1000:g} us between packets)", figure
