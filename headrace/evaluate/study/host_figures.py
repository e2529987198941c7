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
    line,
    log_axis,
    panels,
    plain,
    save,
)
from headrace.evaluate.study.host_published import PCIE4_GBIT_S, PCIE4_LINK_GBIT_S, TRANSFER_GBIT_S
from headrace.evaluate.study.host_rows import HostStudy

_GREY = "#777777"


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
    return "Transfers over PCIe 3.0 x8 by their size (the thesis' figures 5.8 and 6.1)", figure


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
    return "Reads in flight (figure 5.8), and the payload of a TLP (figure 5.7), PCIe 3.0 x8", figure


def _links(study: HostStudy) -> Drawn:
    if not study.links:
        return "", None
    figure, [axes] = panels((9.6, 4.2))
    rows = study.links
    names = [f"{row.generation}.0 x{row.lanes}" for row in rows]
    series = (
        ("the link", "#dddddd", [row.link_gbit_s for row in rows]),
        ("limit of payload, writes", "#bbbbbb", [row.limit_writes_gbit_s for row in rows]),
        ("writes, 512 bits at 250 MHz", COLOURS[1], [row.writes_gbit_s for row in rows]),
        ("reads, 512 bits at 250 MHz", COLOURS[0], [row.reads_gbit_s for row in rows]),
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
    return "PCI Express by generation and lanes (the thesis' figure 6.7)", figure


def _interrupts(study: HostStudy) -> Drawn:
    if not study.moderations:
        return "", None
    figure, both = panels(TWO, 2)
    names = [
        f"{packets} / {ns // 1000} us"
        for packets, ns in dict.fromkeys((r.packets, r.time_ns) for r in study.moderations)
    ]
    for number, gap in enumerate(dict.fromkeys(row.gap_ns for row in study.moderations)):
        rows = [row for row in study.moderations if row.gap_ns == gap]
        label = f"a packet in {gap / 1000:g} us"
        style = {**OURS, "color": COLOURS[number], "marker": MARKERS[number], "label": label}
        line(both[0], list(enumerate(rows)), lambda each: (each[0], each[1].interrupts_s / 1000), **style)
        line(both[1], list(enumerate(rows)), lambda each: (each[0], each[1].p99_ns / 1000), **style)
    for axes, label in zip(both, ("thousands of interrupts a second", "us to the driver, p99"), strict=True):
        axes.set_xticks(range(len(names)), names)
        axes.set_xlabel("packets that an interrupt waits for / at most")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plain)
        axes.yaxis.set_minor_formatter("")
        axes.set_ylabel(label)
        axes.legend(fontsize=8)
    return "Interrupts and latency by moderation", figure
