"""Turns what a run found into something to look at: rich tables, JSON, a plot.

Every figure says what it is: cycles are measured in the simulated card, times on the card are modelled (cycles divided
by the nominal clock), wall-clock figures are the simulator's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from headrace.cards.filter.measurements import Measurement

Counts = Mapping[int, tuple[int, int]]  # counter -> (packets, bytes)


def write_json(data: Mapping[str, Any], target: str) -> None:
    """Write ``data`` to a file, or to the standard output for ``-``. Raises HeadraceError when it can't be written."""
    text = json.dumps(data, indent=2) + "\n"
    if target == "-":
        print(text, end="", flush=True)
        return
    try:
        Path(target).write_text(text)
    except OSError as error:
        raise HeadraceError(f"{target}: {error.strerror}") from None


def filter_report(data: Mapping[str, Any]) -> RenderableType:
    """The panel of a filter run, from the mapping that ``FilterReport.to_json`` returns."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    parts: list[RenderableType] = [_programs(data), "", filter_figures(data)]
    parts += [Text.assemble(("warning: ", "yellow"), warning) for warning in data["warnings"]]
    title = f"headrace filter, {data['cores']} core{'s' * (data['cores'] != 1)}"
    return Panel(Group(*parts), title=title, title_align="left", expand=False)


def _taken(row: Mapping[str, Any], count: int | None) -> str | None:
    """The packets of a filter that are in its file, or were wanted (``count``), where the card had matched more when
    it stopped."""
    if row["written"] is not None:
        return None if row["written"] == row["matched"] else f"{row['written']:,} in the file"
    return f"{count:,} wanted" if count is not None and row["matched"] > count else None


def _matched(row: Mapping[str, Any], count: int | None) -> str:
    taken = _taken(row, count)
    return f"{row['matched']:,}" if taken is None else f"{taken}; {row['matched']:,} matched until the card stopped"


def _programs(data: Mapping[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, justify in (("filter", "left"), ("to", "left"), ("packets", "right"), ("of all", "right")):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    table.add_column("bytes", justify="right")
    table.add_column("errors", justify="right")
    for row in data["programs"]:
        table.add_row(
            Text(row["expression"] or "(everything)"),
            Text(row["path"] or "counted only"),
            _matched(row, data.get("count")),
            _share(row["matched"], data["packets"]),
            _size(row["bytes"]),
            f"{row['errors']:,}",
        )
    return table


def filter_figures(data: Mapping[str, Any]) -> Table:
    """Packets, cycles, rates and losses of a filter run, each with how it is known."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column()
    table.add_column(style="dim")
    packets, cycles = data["packets"], data["cycles"]
    seconds = cycles / data["clock_hz"]
    # Where not all was taken, packets were still on their way through the card: the filters' own counts say more.
    all_taken = all(_taken(row, data.get("count")) is None for row in data["programs"])
    matched = f", {data['matched']:,} matched" if all_taken else ""
    table.add_row("packets", f"{packets:,} ({_size(data['bytes'])}){matched}", "measured")
    table.add_row("not inspected", _loss(data["uninspected"], packets), "measured")
    table.add_row("lost", _loss(data["lost"], packets), "measured")
    if by_interface := data.get("dropped_by_interface"):
        by_kernel, offered = max(0, data["missed"] - by_interface), packets + data["missed"]
        table.add_row("dropped by kernel", _loss(by_kernel, offered), "measured")
        table.add_row("dropped by interface", _loss(by_interface, offered), "measured")
    elif data.get("missed"):
        table.add_row("missed before the card", _loss(data["missed"], packets + data["missed"]), "measured")
    if data["held_ns"]:
        table.add_row("link held off", f"{data['held_ns'] / 1e6:,.3f} ms", "measured")
    if data["latency_cycles"]:
        shortest, longest = data["latency_cycles"]
        latency = f"{shortest}" if shortest == longest else f"{shortest} to {longest}"
        table.add_row("passthrough latency", f"{latency} cycle{'s' * (longest != 1)}", "measured")
    if not data["live"]:
        table.add_row("cycles", f"{cycles:,}, {_ratio(data['cycles_per_packet'])} a packet", "measured")
    table.add_row("core CPI", _ratio(data["core_cpi"]), "measured")
    if packets and seconds and not data["live"]:
        rate = f"{packets / seconds / 1e6:,.2f} million packets/s, {data['bytes'] * 8 / seconds / 1e9:,.2f} Gb/s"
        table.add_row(f"on a card at {data['clock_hz'] / 1e6:.2f} MHz", rate, "modelled")
    wall = f"{data['wall_s']:.2f} s, {data['packets_per_wall_s']:,.0f} packets/s"
    table.add_row("this simulation", wall, "wall clock")
    return table


def measurement_table(measurement: Measurement, counts: Counts, top: int = 20, by: str = "packets") -> Table:
    """Counters that counted something, as bars; ``by`` is "packets", "bytes" (largest first) or "counter"."""
    from rich.bar import Bar
    from rich.table import Table
    from rich.text import Text

    from headrace.cards.filter.measurements import OUT_OF_RANGE

    total = sum(packets for packets, _ in counts.values())
    column = 1 if by == "bytes" else 0
    rows = _ordered(counts, by)
    table = Table(box=None, pad_edge=False, header_style="bold", title=Text(measurement.name), title_justify="left")
    table.add_column("counter", justify="right")
    table.add_column("")
    table.add_column("packets", justify="right")
    table.add_column("share", justify="right")
    table.add_column("bytes", justify="right")
    table.add_column("")
    longest = max((values[column] for _, values in rows), default=0)
    for counter, values in rows[:top]:
        number = "" if counter == OUT_OF_RANGE else str(counter)
        label = Text(measurement.describe(counter))
        bar = Bar(longest or 1, 0, values[column], width=30)
        table.add_row(number, label, f"{values[0]:,}", _share(values[0], total), _size(values[1]), bar)
    if len(rows) > top:
        rest = [values for _, values in rows[top:]]
        packets = sum(values[0] for values in rest)
        size = _size(sum(values[1] for values in rest))
        table.add_row("", f"{len(rest)} more", f"{packets:,}", _share(packets, total), size, "")
    return table


def measurement_json(measurement: Measurement, counts: Counts) -> dict[str, Any]:
    """The counters that counted something, in order of their numbers; out-of-range values apart."""
    from headrace.cards.filter.measurements import COUNTERS, OUT_OF_RANGE

    beyond = counts.get(OUT_OF_RANGE, (0, 0))
    return {
        "measurement": measurement.name,
        "packets": sum(packets for packets, _ in counts.values()),
        "bytes": sum(size for _, size in counts.values()),
        "counters": [
            {"counter": counter, "label": measurement.describe(counter), "packets": packets, "bytes": size}
            for counter, (packets, size) in sorted(counts.items())
            if counter < COUNTERS and packets
        ],
        "out_of_range": {"packets": beyond[0], "bytes": beyond[1]},
    }


def measurement_plot(measurement: Measurement, counts: Counts, path: str, top: int = 20, by: str = "packets") -> None:
    """Draw the counters as bars into a file whose suffix (png, svg, pdf) says the format.

    Raises HeadraceError when the file can't be written or its suffix isn't known.
    """
    from matplotlib.figure import Figure

    rows = _ordered(counts, by)[:top][::-1]
    column = 1 if by == "bytes" else 0
    what = ("packets", "bytes")[column]
    figure = Figure(figsize=(8, 1.2 + 0.3 * max(len(rows), 3)), layout="constrained")
    axes = figure.subplots()
    axes.barh([measurement.describe(counter) for counter, _ in rows], [values[column] for _, values in rows])
    axes.set_xlabel(what)
    whole = sum(values[column] for values in counts.values())
    most = max(rows, key=lambda row: row[1][column], default=None)
    if most is not None:
        share = _share(most[1][column], whole)
        axes.set_title(f"{measurement.name}: {share} of the {what} are {measurement.describe(most[0])}")
    axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(path)
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # matplotlib names the formats that it knows
        raise HeadraceError(f"{path}: {error}", exit_code=2) from None


def _ordered(counts: Counts, by: str) -> list[tuple[int, tuple[int, int]]]:
    counted = [(counter, values) for counter, values in counts.items() if values[0]]
    if by == "counter":
        return sorted(counted)
    column = 1 if by == "bytes" else 0
    return sorted(counted, key=lambda row: (-row[1][column], row[0]))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _loss(count: int, packets: int) -> str:
    return f"[bold red]{count:,}[/] ({_share(count, packets)})" if count else "0"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _size(count: int) -> str:
    """Bytes for a person, in powers of 1,000."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"
