"""The report of the emulator's study: markdown, and a short table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.evaluate.study import emulator_switching_report as switching
from headrace.evaluate.study.emulator_points import RANGE_M
from headrace.evaluate.study.emulator_published import COVERAGE
from headrace.evaluate.study.emulator_rows import CoverageRow, EmulatorStudy
from headrace.evaluate.study.files import figure, grid, grid_or_nothing, report, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

_KNOWN = """\
- **measured**: nodes and links of the emulator's own assignment, by movement and radio, counted; the same everywhere.
- **modelled**: the switch card's RTL at 250 MHz (its FIR filter at 322 MHz); host memory answers after 1 us, nodes take
  no time.
- **wall clock**: Mb/s and Gb/s of payload through nodes' processes, on this machine.
- **published**: the thesis' tables 3.1 to 3.3, of its emulator with 32 nodes, on 20 cores; its figures 3.1 to 3.4, 6.2
  and 6.4 have no numbers.

Nothing is fitted. Places, movement and range are assumed: the thesis has none."""


def markdown(study: EmulatorStudy, figures: dict[str, str]) -> str:
    """The whole report. ``figures``: captions by file name without suffix."""
    parts = [
        "## Coverage (table 3.2)",
        coverage_table(study),
        figure("coverage", figures),
        phys_table(study),
        "## Resiliency (table 3.3)",
        figure("resiliency", figures),
        resiliency_table(study),
        "### With nodes",
        healed_table(study),
        "## Bandwidth of a stream alone (figures 3.1 to 3.3)",
        f"Not measured: {study.without_traffic}." if study.without_traffic else "",
        figure("bandwidth", figures),
        singles_table(study),
        "## Streams beside each other (figure 3.4 and table 3.1)",
        five_table(study),
        figure("streams", figures),
        grid_table(study),
        "## Two nodes on the card and on Open vSwitch (figure 6.2)",
        *(f"{fabric}: not measured: {why}." for fabric, why in study.switching.without.items()),
        switching.pairs_table(study.switching),
        "## Small packets (figure 6.3)",
        figure("small", figures),
        switching.small_table(study.switching),
        "## Six nodes (figure 6.4)",
        figure("six", figures),
        switching.six_table(study.switching),
        "## A filter in the card or in the node (figure 6.6)",
        figure("filtered", figures),
        switching.filter_table(study.switching),
        "The thesis' other figures and tables of chapter 6 are in `headrace study switch` and `headrace study host`.",
    ]
    return report(study, "emulator", "The emulator beside a thesis'", _KNOWN, parts)


def _ranges(study: EmulatorStudy) -> list[float]:
    return sorted({row.range_m for row in study.coverage} | {row.range_m for row in study.resiliency})


def _cell(row: CoverageRow) -> str:
    return f"{'T' if row.full == row.possible > 0 else 'F'}: {row.full} of {row.possible}, {row.mean:.1%}"


def coverage_table(study: EmulatorStudy) -> str:
    """The cells of table 3.2 at each range."""
    rows = {(row.phys, row.endpoint, row.coordinator, row.range_m): row for row in study.coverage}
    lines = []
    for cell, published in COVERAGE.items():
        found = [rows.get((*cell, range_m)) for range_m in _ranges(study)]
        if any(found):
            lines.append(
                [*(f"{each}" for each in cell), "T" if published else "F", *(_cell(r) if r else "" for r in found)]
            )
    scenes = max((row.scenes for row in study.coverage), default=0)
    head = ["PHYs of a node", "of the endpoint", "of the coordinator", "published"]
    return grid([*head, *(f"range {range_m:g} m, {scenes} moments" for range_m in _ranges(study))], lines)


def phys_table(study: EmulatorStudy) -> str:
    """The part of the nodes that is reached, by PHYs."""
    lines = []
    for endpoint in (0, 1):
        for phys in sorted({row.phys for row in study.coverage if row.phys}):
            rows = {
                row.range_m: row
                for row in study.coverage
                if (row.phys, row.endpoint, row.coordinator) == (phys, endpoint, 1)
            }
            if rows:
                values = [
                    f"{rows[range_m].mean:.1%} ({rows[range_m].least:.0%})" if range_m in rows else ""
                    for range_m in _ranges(study)
                ]
                lines.append([f"{phys}, {'one' if endpoint else 'no'} endpoint", *values])
    return grid(["PHYs of a node", *(f"range {range_m:g} m: mean (least)" for range_m in _ranges(study))], lines)


def resiliency_table(study: EmulatorStudy) -> str:
    """Coverage and links found again beside table 3.3."""
    lines = [
        [
            f"{row.range_m:g} m, {row.jammed} jammed",
            f"{row.left:.1%}",
            f"{row.after:.1%}",
            f"{row.least:.1%} to {row.most:.1%}",
            "" if row.published is None else f"{row.published:.1%}",
            f"{row.found:.1f}",
            "" if row.published_found is None else f"{row.published_found}",
            f"{row.jammed / 2:g}",
        ]
        for row in study.resiliency
    ]
    head = ["range and links jammed", "nodes reached by what is left", "with links found", "least to most", "published"]
    return grid([*head, "links found", "published", "PHYs set free, by twos"], lines)


def healed_table(study: EmulatorStudy) -> str:
    """Links that nodes found again beside the counted number; empty: none."""
    lines = []
    for jammed in sorted({row.jammed for row in study.healed}):
        rows = [row for row in study.healed if row.jammed == jammed]
        counted, lived = (sum(getattr(row, name) for row in rows) / len(rows) for name in ("counted", "lived"))
        same = sum(row.counted == row.lived for row in rows)
        lines.append([f"{jammed}", f"{counted:.2f}", f"{lived:.2f}", f"{same} of {len(rows)}"])
    head = ["links jammed", "links found, counted", "by nodes", "seeds in which both are the same"]
    return grid_or_nothing(head, lines)


def singles_table(study: EmulatorStudy) -> str:
    """Mb/s of one stream by payload; empty: none."""
    lines = [
        [
            f"{row.nodes} nodes, {row.payload:,} bytes",
            f"{row.between_mbit_s:,.1f}",
            f"{row.within_mbit_s:,.1f}",
            f"{row.within_lost:.1%}",
            f"{row.messages_mbit_s:,.1f}",
        ]
        for row in study.singles
    ]
    head = ["Mb/s of payload", "between nodes (TCP)", "within a node (UDP)", "lost of that", "whole messages"]
    return grid_or_nothing(head, lines)


def five_table(study: EmulatorStudy) -> str:
    """Mb/s of five streams at the same time; empty: none."""
    lines = [
        [f"{row.nodes} nodes, n{row.source} to n{row.destination}", f"{row.hops}", f"{row.mbit_s:,.1f}", f"{row.lost}"]
        for row in study.streams
        if row.what == "five streams"
    ]
    return grid_or_nothing(["five streams", "hops", "Mb/s", "messages lost"], lines)


def grid_table(study: EmulatorStudy) -> str:
    """Mb/s of the streams of table 3.1 beside the published values; empty: none."""
    rows = [row for row in study.streams if row.published_mbit_s is not None]
    lines = [
        [
            f"n{row.source} to n{row.destination}",
            f"{row.hops}",
            f"{row.mbit_s:,.1f}",
            f"{row.published_mbit_s:.1f}",
            f"{row.mbit_s / (row.published_mbit_s or 1):.2f}",
            f"{row.lost}",
        ]
        for row in rows
    ]
    return grid_or_nothing(["20 streams", "hops", "Mb/s", "published", "ratio", "messages lost"], lines)


def summary_table(study: EmulatorStudy) -> Table:
    """The most important figures, for the terminal."""
    rows = [
        (
            f"{row.phys}, {row.endpoint} and {row.coordinator} PHYs of node, endpoint, coordinator: all reached",
            f"{row.full} of {row.possible}",
            "all" if row.published else "never",
        )
        for row in study.coverage
        if row.range_m == RANGE_M and row.published is not None
    ]
    rows += [
        (f"{row.jammed} links jammed: nodes reached", f"{row.after:.1%}", f"{row.published:.1%}")
        for row in study.resiliency
        if row.range_m == RANGE_M and row.published is not None
    ]
    rows += [
        (
            f"packets of {row.size} bytes, two nodes on the card (modelled), Gb/s",
            f"{row.card_gbit_s:.1f}",
            f"{row.published_gbit_s:.2f}",
        )
        for row in study.switching.small
        if row.card_gbit_s is not None and row.published_gbit_s is not None
    ]
    return terminal_table(f"32 nodes, range {RANGE_M:g} m", ("", "is", "published"), rows, left=1)
