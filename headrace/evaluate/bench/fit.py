"""What designs take of an FPGA, and their Fmax, placed and routed there: all of them take hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from headrace import synth
from headrace.evaluate.bench import MEASURED, MODELLED, Row, designs
from headrace.evaluate.bench.designs import Design
from headrace.evaluate.bench.filter import EXPRESSION, PATH
from headrace.evaluate.points import Progress

LEAST_GAIN = 10
FFSHARK_CYCLES = 20  # of 20 to 22 for the same path

_AT_ONCE = 2  # each takes a processor, and some GB


def switch(progress: Progress) -> list[Row]:
    """The switch's parts and its pipeline."""
    return _rows("switch-fit", designs.SWITCH, progress)


def host(progress: Progress) -> list[Row]:
    """The host interface's engines."""
    return _rows("host-fit", designs.HOST, progress)


def rpu(progress: Progress) -> list[Row]:
    """The RPU card's parts."""
    return _rows("rpu-fit", designs.RPU, progress)


def bridge(progress: Progress) -> list[Row]:
    """The bridge's blocks."""
    return _rows("bridge-fit", designs.BRIDGE, progress)


def stream(progress: Progress) -> list[Row]:
    """The narrow parts of the stream layer on an ECP5."""
    return _rows("stream-fit", designs.STREAM, progress)


def size(progress: Progress) -> list[Row]:
    """Filter core and capture engine on an ECP5, and how much work the core's LUTs buy, beside FFShark's."""
    rows = _rows("size-fit", designs.SIZE, progress)
    luts, mhz = (row.value for row in rows[:2])
    assert isinstance(luts, int)
    ours = mhz * 1e6 / PATH / luts if isinstance(mhz, float) else 0.0
    theirs = designs.FFSHARK_MHZ * 1e6 / FFSHARK_CYCLES / designs.FFSHARK_LUT4
    what, note = f"verdicts of {EXPRESSION}", f"Fmax / {PATH} cycles / LUT4"
    shown = (
        f"FFShark {theirs:,.0f}: {designs.FFSHARK_MHZ} MHz / {FFSHARK_CYCLES} cycles / {designs.FFSHARK_LUT4:,} LUT4"
    )
    gain, must = ours / theirs, f"at least {LEAST_GAIN}"
    return [
        *rows,
        Row("size-fit", what, "-", ours, "a second and LUT4", None, MODELLED, note),
        Row("size-fit", "work per LUT beside FFShark's", must, gain, "times", gain >= LEAST_GAIN, MODELLED, shown),
    ]


GROUPS: dict[str, Callable[[Progress], list[Row]]] = {
    "switch-fit": switch,
    "host-fit": host,
    "rpu-fit": rpu,
    "bridge-fit": bridge,
    "stream-fit": stream,
    "size-fit": size,
}


def _rows(group: str, chosen: Sequence[Design], progress: Progress) -> list[Row]:
    """The size of each design, and the Fmax of those that are placed."""

    def report(run: tuple[Design, str]) -> synth.SynthReport:
        design, grade = run
        return synth.run(
            design.module,
            design.target,
            design.parameters,
            pnr=design.least_mhz is not None,
            seeds=design.seeds,
            speed_grade=grade,
            router=design.router,
            hierarchy=False,
            boundaries=design.boundaries,
        )

    rows = []
    runs = [(design, grade) for design in chosen for grade in design.grades]
    progress(f"size of {chosen[0].what}", 0)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for number, ((design, grade), found) in enumerate(zip(runs, pool.map(report, runs), strict=True), 1):
            progress(f"size of {design.what}", number / len(runs))
            if grade == design.grades[0]:
                rows.append(_size(group, design, found))
            if design.least_mhz is not None:
                rows.append(_fmax(group, design, grade, design.least_mhz, found))
    return rows


def _size(group: str, design: Design, report: synth.SynthReport) -> Row:
    found = report.total
    fpga, luts, rams = ("UltraScale+", "LUTs", "BRAM36") if design.target == "xcup" else ("ECP5", "LUT4", "DP16KD")
    note = f"{found.lutram:,} of them RAM, {found.ffs:,} flip-flops, {found.rams:g} {rams}; "
    note += f"{design.beside}; " * bool(design.beside)
    return Row(group, f"{design.what}, {fpga}", "-", found.luts, luts, None, MEASURED, note + design.command())


def _fmax(group: str, design: Design, grade: str, least: float, report: synth.SynthReport) -> Row:
    placement = report.placement
    mhz = placement.fmax_mhz if placement else None
    of_grade = f" of speed grade {grade}" * (len(design.grades) > 1)
    what, must = f"{design.what}, ECP5{of_grade}: Fmax, placed and routed", f"at least {least:g}" if least else "-"
    command = f"{design.beside}; " * bool(design.beside) + design.command(grade)
    if placement is None or mhz is None:
        reason = placement.error if placement and placement.error else "no path between registers"
        return Row(group, what, must, "not placed and routed", "", False, MEASURED, f"{reason}; {command}")
    slowest, fastest = placement.spread_mhz or (mhz, mhz)
    count = len(placement.seeds)
    known = f"median of {count} seeds ({slowest:.0f} to {fastest:.0f})" if count > 1 else "one seed"
    ok = mhz >= least if least else None
    return Row(group, what, must, mhz, "MHz", ok, MEASURED, f"{known}; {command}")
