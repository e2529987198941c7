"""What a synthesis run found, as data, as JSON and as tables."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Usage:
    """Resources in the target's own units (see ``cells.py`` for what counts as how much).

    ``luts`` includes ``lutram``, the LUTs that serve as memory or shift register. ``rams`` are BRAM36 on xcup (a BRAM18
    is half a one), DP16KD on ecp5, M10K on cyclonev. ``alms`` is an estimate and 0 except on cyclonev.
    """

    luts: int = 0
    lutram: int = 0
    ffs: int = 0
    rams: float = 0
    dsps: float = 0
    alms: float = 0

    def __add__(self, other: Usage) -> Usage:
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in dataclasses.fields(Usage)}
        return Usage(**sums)


@dataclass(frozen=True)
class Level:
    """One module instance: what is in itself (``own``) and with everything below it (``total``).

    ``path`` is the instance path below the top module, "" for the top itself.
    """

    path: str
    module: str
    own: Usage
    total: Usage


@dataclass(frozen=True)
class Seed:
    """One run of place and route. ``fmax_mhz`` is the slowest clock's, None when no path lies between registers."""

    seed: int
    fmax_mhz: float | None
    critical_from: str = ""
    critical_to: str = ""
    logic_ns: float = 0
    routing_ns: float = 0


@dataclass(frozen=True)
class Placement:
    """Place and route on one device, out of context (no pins), with several seeds.

    ``luts``, ``ffs``, ``rams`` and ``dsps`` are what the placer used, carry chains and feed-throughs included.
    ``error`` says why there is no result, such as a design that does not fit; then ``seeds`` is empty.
    """

    device: str
    speed_grade: str
    seeds: list[Seed]
    luts: int = 0
    ffs: int = 0
    rams: int = 0
    dsps: int = 0
    error: str = ""

    @property
    def fmax_mhz(self) -> float | None:
        """The median over the seeds."""
        found = sorted(s.fmax_mhz for s in self.seeds if s.fmax_mhz is not None)
        if not found:
            return None
        middle = len(found) // 2
        return found[middle] if len(found) % 2 else (found[middle - 1] + found[middle]) / 2

    @property
    def spread_mhz(self) -> tuple[float, float] | None:
        """Slowest and fastest seed."""
        found = [s.fmax_mhz for s in self.seeds if s.fmax_mhz is not None]
        return (min(found), max(found)) if found else None


@dataclass(frozen=True)
class SynthReport:
    """Resources of one module for one target.

    ``total`` and ``cells`` come from the flattened design. ``hierarchy`` comes from a second synthesis that keeps
    module boundaries: its levels add up exactly, to ``hierarchy[0].total``, which is not ``total`` (mostly a little
    more) because nothing is optimised across boundaries. ``memories`` says what each RAM of the source became in the
    flattened design: "block", "distributed" or "registers".

    With ``boundaries`` there is one synthesis only, with module boundaries kept so many levels down; ``total`` is
    ``hierarchy[0].total`` then.
    """

    name: str
    target: str
    parameters: dict[str, str]
    total: Usage
    cells: dict[str, int]
    hierarchy: list[Level]
    memories: dict[str, str]
    placement: Placement | None
    tools: dict[str, str]
    flags: list[str]
    seconds: float
    notes: list[str] = field(default_factory=list)
    boundaries: int = 0

    def to_json(self) -> dict[str, Any]:
        """A plain structure for ``json.dump``; ``placement`` also has ``fmax_mhz`` (median) and ``spread_mhz``."""
        data = dataclasses.asdict(self)
        if self.placement is not None:
            data["placement"]["fmax_mhz"] = self.placement.fmax_mhz
            data["placement"]["spread_mhz"] = self.placement.spread_mhz
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SynthReport:
        values = dict(data)
        values["total"] = Usage(**values["total"])
        values["hierarchy"] = [
            Level(v["path"], v["module"], Usage(**v["own"]), Usage(**v["total"])) for v in values["hierarchy"]
        ]
        if values["placement"] is not None:
            placement = {k: v for k, v in values["placement"].items() if k not in ("fmax_mhz", "spread_mhz")}
            placement["seeds"] = [Seed(**seed) for seed in placement["seeds"]]
            values["placement"] = Placement(**placement)
        return SynthReport(**values)


RAM_NAMES = {"xcup": "BRAM36", "ecp5": "DP16KD", "cyclonev": "M10K"}
DEVICE_NAMES = {"xcup": "UltraScale+ (xcup)", "ecp5": "ECP5", "cyclonev": "Cyclone V"}


def print_report(report: SynthReport, console: Console | None = None, depth: int | None = None) -> None:
    """Prints the hierarchy (``depth`` levels of it), the flattened totals and the result of place and route."""
    from rich.console import Console
    from rich.table import Table

    console = console or Console()
    parameters = " ".join(f"{name}={value}" for name, value in report.parameters.items())
    table = Table(title=f"{report.name} {parameters} on {DEVICE_NAMES[report.target]}".replace("  ", " "))
    table.add_column("instance", no_wrap=True)
    table.add_column("module")
    for heading in _headings(report.target):
        table.add_column(heading, justify="right")
    for name, module, usage in _rows(report, depth):
        table.add_row(name, module, *_numbers(usage, report.target))
    table.add_section()
    table.add_row(_TOTALS[bool(report.boundaries)], report.name, *_numbers(report.total, report.target), style="bold")
    console.print(table)
    for line in _closing_lines(report):
        console.print(line, markup=False, highlight=False)


def _headings(target: str) -> list[str]:
    return ["LUT", "LUTRAM", "FF", RAM_NAMES[target], "DSP", *(["ALM (est.)"] if target == "cyclonev" else [])]


def _numbers(usage: Usage, target: str) -> list[str]:
    numbers = [usage.luts, usage.lutram, usage.ffs, usage.rams, usage.dsps]
    if target == "cyclonev":
        numbers.append(round(usage.alms))
    return [f"{number:,.4g}" if isinstance(number, float) else f"{number:,}" for number in numbers]


def _rows(report: SynthReport, depth: int | None) -> Iterator[tuple[str, str, Usage]]:
    """Indented instance names; instances that differ only in an index and have equal totals become one row, "xN".

    N is how many of them there are in each of the row above it; the figures are those of one.
    """
    known = {level.path: level for level in report.hierarchy}
    groups: dict[_Likeness, list[Level]] = {}
    for level in report.hierarchy:
        groups.setdefault(_likeness(level), []).append(level)
    for levels in groups.values():
        first = levels[0]
        above = _parents(first.path, known)
        if depth is not None and len(above) > depth:
            continue
        name = first.path or report.name
        each = len(levels)
        if above:
            name = name[len(above[0]) + 1 :] if above[0] else name
            each //= len(groups[_likeness(known[above[0]])])
        if each > 1:
            name = re.sub(r"\[\d+\]", "[*]", name) + f" x{each}"
        yield "  " * len(above) + name, first.module, first.total


_TOTALS = ("flattened", "total")
_Likeness = tuple[str, str, Usage]


def _likeness(level: Level) -> _Likeness:
    return re.sub(r"\[\d+\]", "[]", level.path), level.module, level.total


def _parents(path: str, known: Mapping[str, Level]) -> list[str]:
    """The instances above ``path``, the closest first; generate blocks in between belong to an instance's own name."""
    above = []
    while path:
        path = path.rpartition(".")[0]
        if path in known:
            above.append(path)
    return above


def _closing_lines(report: SynthReport) -> Iterator[str]:
    if report.hierarchy and report.boundaries:
        yield (
            f"Module boundaries kept down to level {report.boundaries}, flattened below: nothing is optimised across "
            "them. A row xN shows one of N alike."
        )
    elif report.hierarchy:
        kept = report.hierarchy[0].total.luts
        yield (
            f"Instances: synthesised with module boundaries kept, so that they add up ({kept:,} LUTs); "
            f"flattened: optimised across boundaries ({report.total.luts:,} LUTs). A row xN shows one of N alike."
        )
    in_registers = [name for name, kind in report.memories.items() if kind == "registers"]
    if in_registers:
        yield f"Memories that became registers: {', '.join(in_registers)}"
    placement = report.placement
    if placement is not None and placement.error:
        yield f"Not placed and routed on {placement.device}: {placement.error}"
    elif placement is not None:
        yield from _placement_lines(placement)
    yield from report.notes
    tools = ", ".join(f"{name} {version}" for name, version in report.tools.items())
    flags = f" with {' '.join(report.flags)}" if report.flags else ""
    yield f"{tools}{flags}; {report.seconds:.0f} s. Open tools: vendor tools give other numbers."


def _placement_lines(placement: Placement) -> Iterator[str]:
    fmax, spread = placement.fmax_mhz, placement.spread_mhz
    where = f"{placement.device} speed grade {placement.speed_grade}"
    if fmax is None or spread is None:
        yield f"Placed on {where}; no path between registers, so no Fmax."
        return
    count = len(placement.seeds)
    yield (
        f"Placed and routed on {where}: Fmax {fmax:.1f} MHz, median of {count} "
        f"seed{'s' if count > 1 else ''} ({spread[0]:.1f} to {spread[1]:.1f}); {placement.luts:,} LUT4 sites."
    )
    slowest = min((s for s in placement.seeds if s.fmax_mhz is not None), key=lambda s: s.fmax_mhz or 0)
    yield (
        f"Slowest path of seed {slowest.seed}: {slowest.critical_from} -> {slowest.critical_to}, "
        f"{slowest.logic_ns:.1f} ns logic + {slowest.routing_ns:.1f} ns routing."
    )
