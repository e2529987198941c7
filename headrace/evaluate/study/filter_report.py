"""The report of the filter card's study: markdown, and a short table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.evaluate.study.files import figure, grid, grid_or_nothing, or_nothing, report, terminal_table
from headrace.evaluate.study.filter_rows import FilterStudy

if TYPE_CHECKING:
    from rich.table import Table

_KNOWN = """\
- **measured**: packets and cycles of the RTL, LUTs and RAMs by Yosys.
- **modelled**: ns, which are cycles at a nominal clock of 322.265625 MHz; a frame's bytes at 100 Gb/s.
- **published**: FFShark's tables II to V and section V, on a Zynq UltraScale+, sizes by Vivado. Its insertion latency
  is calculated from table IV as section V-A says; figure 11's column of a Dell Z9100-ON has no numbers."""


def markdown(study: FilterStudy, figures: dict[str, str]) -> str:
    """The whole report. ``figures``: captions by file name without suffix."""
    parts = [
        "## Packets at a full line (section V-B)",
        sizes_table(study),
        "## Insertion latency (table IV, figure 11)",
        figure("insertion", figures),
        insertion_table(study),
        "## Instructions of a packet (tables II and III)",
        classes_table(study),
        "## Cores (section IV-E)",
        cores_table(study),
        "## What it takes (table V)",
        parts_table(study),
    ]
    return report(study, "filter", "The filter card beside FFShark", _KNOWN, parts)


def _name(size: str) -> str:
    first, _, last = size.partition("-")
    return f"{int(first):,} to {int(last):,} bytes at random" if last else f"{int(first):,} bytes"


def sizes_table(study: FilterStudy) -> str:
    """Packets that were lost or not inspected, by size."""
    lines = [[_name(row.size), f"{row.packets:,}", f"{row.lost:,}", f"{row.uninspected:,}"] for row in study.sizes]
    return grid_or_nothing(["a full line of 100 Gb/s", "packets", "lost", "not inspected"], lines)


def insertion_table(study: FilterStudy) -> str:
    """The card's cycles beside FFShark's insertion latency, and what of that isn't storing the frame."""
    lines = [
        [
            _name(row.size),
            f"{row.published_ns:,.0f}",
            f"{row.store_ns:,.0f}",
            f"{row.published_ns - row.store_ns:,.0f}",
            f"{row.latency_cycles}",
            f"{row.ns:.1f}",
        ]
        for row in study.sizes
        if row.published_ns is not None and row.store_ns is not None
    ]
    head = ["ns", "FFShark", "of it storing the frame", "the rest: MACs, transceivers, clock crossings"]
    return grid_or_nothing([*head, "our card, cycles", "our card, ns"], lines)


def classes_table(study: FilterStudy) -> str:
    """Instructions of a packet of each class."""
    lines = [
        [f"table {row.table}: {row.name}", f"{row.share:.0%}", f"{row.published}", f"{row.instructions:g}"]
        for row in study.classes
    ]
    return grid_or_nothing(["packets of 680 bytes", "of all", "FFShark's instructions", "ours"], lines)


def cores_table(study: FilterStudy) -> str:
    """Cores that a mix takes."""
    lines = [
        [
            f"table {row.table}, {row.cores} core{'s' * (row.cores > 1)} of ours",
            f"{row.published}",
            f"{row.by_rates}",
            f"{row.by_times}",
            f"{row.packets:,}",
            f"{row.uninspected:,}",
            f"{row.cpi:.2f}",
        ]
        for row in study.cores
    ]
    head = ["a full line of 100 Gb/s", "FFShark's cores", "by its equations", "by a packet's mean time"]
    return grid_or_nothing([*head, "packets", "not inspected", "our cycles an instruction"], lines)


def parts_table(study: FilterStudy) -> str:
    """LUTs, flip-flops, RAMs and DSPs by part."""
    lines = [
        [
            *(f"{row.part}: {row.what}", f"{row.luts:,}", f"{row.flip_flops:,}", f"{row.brams:g}"),
            or_nothing(row.dsps, ","),
        ]
        for row in study.parts
    ]
    lines.append(["whole: Headrace, six cores", "by `headrace bench size-fit`", "", "", ""])
    return grid(["UltraScale+", "LUTs", "flip-flops", "BRAM36", "DSPs"], lines)


def summary_table(study: FilterStudy) -> Table:
    """The most important figures, for the terminal."""
    head = ("bytes", "packets", "lost", "not inspected", "ns in the card", "FFShark's ns")
    rows = [
        (
            *(row.size, f"{row.packets:,}", f"{row.lost:,}", f"{row.uninspected:,}", f"{row.ns:.1f}"),
            or_nothing(row.published_ns, ",.0f"),
        )
        for row in study.sizes
    ]
    return terminal_table("A full line of 100 Gb/s", head, rows)
