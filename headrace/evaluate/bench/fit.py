"""What the switch's and the host interface's engines take of an FPGA, and their Fmax: the whole of them takes hours."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from headrace import synth
from headrace.evaluate.bench import MEASURED, Row
from headrace.evaluate.points import Progress
from headrace.evaluate.study.switch_published import KEY_BITS, cam_bits
from headrace.synth.placement import ROUTERS, SPEED_GRADES

_BRAM36_BITS = 36_864
_ENDS = (SPEED_GRADES[0], SPEED_GRADES[-1])  # both of which ECP5s with the SERDES of PCI Express come in


@dataclass(frozen=True)
class Design:
    """A design to synthesise, and to place where ``least_mhz`` says what its Fmax must be. ``cam``: the size of as
    many entries by the formula of the thesis stands beside it; ``boundaries``: levels that aren't flattened;
    ``router``: nextpnr's; ``seeds``: that it places with, a single one where it takes an hour; ``grades``: that it is
    placed on, the slowest first."""

    what: str
    module: str
    target: str
    parameters: dict[str, int] = field(default_factory=dict)
    least_mhz: float | None = None
    cam: bool = False
    boundaries: int = 0
    router: str = ROUTERS[0]
    seeds: int = 3
    grades: tuple[str, ...] = SPEED_GRADES[:1]

    def command(self, grade: str = SPEED_GRADES[0]) -> str:
        """That repeats it."""
        options = f" --boundaries {self.boundaries}" * bool(self.boundaries)
        options += f" --router {self.router}" * (self.router != ROUTERS[0])
        options += f" --seeds {self.seeds}" * (self.seeds != 3)
        options += f" --speed-grade {grade}" * (grade != SPEED_GRADES[0])
        options += " --no-pnr" * (self.target == "ecp5" and self.least_mhz is None)
        settings = "".join(f" -P {name}={value}" for name, value in self.parameters.items())
        return f"headrace synth {self.module} --target {self.target}{options}{settings}"


def _functions(count: int, target: str) -> Design:
    """Too large to be flattened in whole."""
    parameters = {"FUNCTIONS": count}
    if target == "xcup":
        return Design(f"function engine, {count} functions, 512 bits", "host_engine", target, parameters, boundaries=1)
    parameters |= {"DATA_W": 128, "STORE_KB": 32, "SEGMENT": 0}
    what = f"function engine, {count} functions, 128 bits"
    if count > 16:
        return Design(what, "host_engine", target, parameters, boundaries=1)
    return Design(what, "host_engine", target, parameters, least_mhz=100, boundaries=1, seeds=1, grades=_ENDS)


_SWITCH = (
    Design("exact part of a table, 4,096 entries of 264 bits", "exact_table", "xcup",
           {"KEY_W": KEY_BITS, "ENTRIES": 4096}, cam=True),
    Design("ternary part of a table, 128 entries of 264 bits", "ternary_table", "xcup",
           {"KEY_W": KEY_BITS, "ENTRIES": 128, "CHUNK_W": 5}, cam=True),
    # A pipeline that fits an ECP5: without custom actions, for its LUTs and multipliers; 4 KB a port each way, for its
    # 208 block RAMs; its LUTs are RAMs of 16 words.
    Design("the switch's whole pipeline, 256 bits", "switch_engine", "ecp5",
           {"PORTS": 2, "DATA_W": 256, "TABLES": 1, "EXACT": 256, "TERNARY": 16, "CHUNK_W": 4, "NARROW": 1,
            "CUSTOM": 0, "PROGRAM_WORDS": 1024, "COUNTERS": 512, "METERS": 16, "STORE_KB": 4},
           least_mhz=80, router=ROUTERS[1], seeds=1),
)  # fmt: skip
_HOST = (
    _functions(16, "xcup"),
    _functions(256, "xcup"),
    _functions(16, "ecp5"),
    _functions(256, "ecp5"),
    Design("PCI Express transactions, 256 bits", "pcie_core", "xcup"),
    Design("PCI Express transactions, 128 bits", "pcie_core", "ecp5", {"DATA_W": 128}, least_mhz=100, grades=_ENDS),
)

DESIGNS = {"switch-fit": _SWITCH, "host-fit": _HOST}
"""By group."""
_AT_ONCE = 2  # each takes a processor, and some GB


def run(group: str, quick: bool, progress: Progress) -> list[Row]:
    """The size of each of a group's designs, and the Fmax of those that must have one. ``quick``: one seed only."""
    designs = DESIGNS[group]

    def report(run: tuple[Design, str]) -> synth.SynthReport:
        design, grade = run
        return synth.run(
            design.module,
            design.target,
            design.parameters,
            pnr=design.least_mhz is not None,
            seeds=1 if quick else design.seeds,
            speed_grade=grade,
            router=design.router,
            hierarchy=False,
            boundaries=design.boundaries,
        )

    rows = []
    runs = [(design, grade) for design in designs for grade in design.grades]
    progress(f"size of {designs[0].what}", 0)
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
    if design.cam:
        note += f"a CAM by the thesis' formula {cam_bits(design.parameters['ENTRIES'], 5) / _BRAM36_BITS:,.0f}; "
    return Row(group, f"{design.what}, {fpga}", "-", found.luts, luts, None, MEASURED, note + design.command())


def _fmax(group: str, design: Design, grade: str, least: float, report: synth.SynthReport) -> Row:
    placement = report.placement
    mhz = placement.fmax_mhz if placement else None
    of_grade = f" of speed grade {grade}" * (len(design.grades) > 1)
    what, must = f"{design.what}, ECP5{of_grade}: Fmax, placed and routed", f"at least {least:g}"
    command = design.command(grade)
    if placement is None or mhz is None:
        reason = placement.error if placement and placement.error else "no path between registers"
        return Row(group, what, must, "not placed and routed", "", False, MEASURED, f"{reason}; {command}")
    slowest, fastest = placement.spread_mhz or (mhz, mhz)
    count = len(placement.seeds)
    known = f"median of {count} seeds ({slowest:.0f} to {fastest:.0f})" if count > 1 else "one seed"
    return Row(group, what, must, mhz, "MHz", mhz >= least, MEASURED, f"{known}; {command}")
