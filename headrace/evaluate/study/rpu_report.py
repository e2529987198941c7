"""The report of the RPU card's study: markdown, and a short table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.evaluate.study.files import figure, grid, report, terminal_table
from headrace.evaluate.study.published import (
    ICAP_MBYTE_S,
    MCAP_MBYTE_S,
    RPU_RECONFIGURATION_S,
    rosebud_cycles,
)
from headrace.evaluate.study.rpu_rows import RateRow, RpuStudy

if TYPE_CHECKING:
    from rich.table import Table

_KNOWN = """\
- **measured**: cycles of the RTL, the same on every machine.
- **modelled**: Gb/s and ns, which are cycles at a nominal clock of 250 MHz.
- **published**: the thesis on Rosebud on an Alveo U55C (chapter 4: figures 4.2 and 4.3 have no numbers but those in its
  text, table 4.1 has), and Rosebud's own cycles a packet, simulated.
- **estimated**: how long a board's configuration port takes for a partial bitstream."""


def markdown(study: RpuStudy, figures: dict[str, str]) -> str:
    """The whole report. ``figures``: captions by file name without suffix."""
    parts = [
        "## Forwarding (figure 4.2) and CRC (figure 4.3)",
        figure("figure_4_2", figures),
        rates_table(study),
        figure("figure_4_3", figures),
        crc_table(study),
        "## Cycles a packet and unit",
        cycles_table(study),
        "## A packet's time in the card",
        figure("stay", figures),
        stays_table(study),
        "## Changing accelerators (table 4.1)",
        swaps_table(study),
    ]
    return report(study, "rpu", "The RPU card beside Rosebud", _KNOWN, parts)


def _by_size(study: RpuStudy, columns: list[tuple[str, int]]) -> list[tuple[int, list[RateRow]]]:
    rows = {(row.what, row.units, row.size): row for row in study.rates}
    sizes = list(dict.fromkeys(row.size for row in study.rates))
    wanted = [(size, [rows.get((what, units, size)) for what, units in columns]) for size in sizes]
    return [(size, [row for row in found if row is not None]) for size, found in wanted if None not in found]


def rates_table(study: RpuStudy) -> str:
    """Gb/s of the forwarders by size."""
    columns = [(what, units) for units in (8, 1) for what in ("forwarded", "the original's", "generated")]
    lines = []
    for size, row in _by_size(study, columns):
        theirs = [f"{row[at].rosebud_gbit_s or 0:.1f}" for at in (0, 3)]
        values = [f"{each.gbit_s:.1f}" for each in row]
        lines.append([f"{size:,} bytes", f"{row[0].line_gbit_s:.1f}", *values[:3], theirs[0], *values[3:], theirs[1]])
    eight = ["8 units: our forwarder", "the original's firmware", "made by the units", "Rosebud's cycles"]
    return grid(["Gb/s of frames", "room in the line", *eight, "1 unit: ours", *eight[1:]], lines)


def crc_table(study: RpuStudy) -> str:
    """Gb/s of frames whose CRC is checked."""
    lines = [
        [f"{size:,} bytes", f"{row[0].line_gbit_s:.1f}", *(f"{each.gbit_s:.1f}" for each in row)]
        for size, row in _by_size(study, [("CRC checked", 8), ("CRC checked", 1)])
    ]
    return grid(["Gb/s of frames", "room in the line", "8 units", "1 unit"], lines)


def cycles_table(study: RpuStudy) -> str:
    """Cycles a packet and unit, of one unit."""
    columns = [(what, 1) for what in ("forwarded", "the original's", "generated", "CRC checked")]
    lines = [
        [f"{size:,} bytes", f"{rosebud_cycles(size)}", *(f"{each.cycles:.1f}" for each in row)]
        for size, row in _by_size(study, columns)
    ]
    head = ["one unit, a full line", "Rosebud", "our forwarder", "the original's firmware", "made", "CRC checked"]
    return grid(head, lines)


def stays_table(study: RpuStudy) -> str:
    """Mean and worst time in the card, by load."""
    loads = list(dict.fromkeys(row.load for row in study.stays))
    lines = []
    for size in dict.fromkeys(row.size for row in study.stays):
        rows = [row for row in study.stays if row.size == size]
        lines.append(
            [
                f"{size:,} bytes",
                *(f"{row.mean_ns:,.0f} ({row.least_cycles:.0f} to {row.most_cycles:,.0f})" for row in rows),
            ]
        )
    return grid(["mean ns (cycles: least to most)", *(f"{load:.0%} of a line" for load in loads)], lines)


def swaps_table(study: RpuStudy) -> str:
    """Times of a change of accelerators beside table 4.1."""
    one = RPU_RECONFIGURATION_S[1]
    sizes = [one * rate for rate in MCAP_MBYTE_S]
    lines = []
    for row in study.swaps:
        ours = row.drain_us + row.swap_us + row.boot_us
        board = [row.units * size / ICAP_MBYTE_S * 1000 for size in sizes]
        lines.append(
            [
                f"{row.units}",
                f"{row.drain_us:,.1f}",
                f"{row.swap_us:,.1f}",
                f"{row.boot_us:,.1f}",
                f"{ours:,.1f}",
                f"{board[0]:.0f} to {board[1]:.0f}",
                f"{RPU_RECONFIGURATION_S[row.units]:.2f}",
                f"{row.lost}",
                f"{row.most_cycles:.0f}, {row.most_cycles_without:.0f}",
            ]
        )
    head = ["units changed", "drain, us", "isolate and swap, us", "load and boot, us", "in the card, us"]
    head += ["bitstreams by ICAP, ms (estimated)", "published by MCAP, s", "others' packets lost"]
    return grid([*head, "others' worst stay, cycles: with a change, without"], lines)


def summary_table(study: RpuStudy) -> Table:
    """The most important figures, for the terminal."""
    head = ("bytes", "room", "forwarded", "CRC checked", "forwarded", "CRC checked", "Rosebud, 1 unit")
    columns = [(what, units) for units in (8, 1) for what in ("forwarded", "CRC checked")]
    rows = []
    for size, row in _by_size(study, columns):
        values = (row[0].line_gbit_s, *(each.gbit_s for each in row), row[2].rosebud_gbit_s or 0)
        rows.append((f"{size:,}", *(f"{value:.1f}" for value in values)))
    return terminal_table("Gb/s of frames, 8 units and 1", head, rows)
