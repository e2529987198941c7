"""The study of the switch card: what a thesis measured of its OpenFlow switch on an FPGA, on Headrace's RTL, with Open
vSwitch in user space beside it, measured in the same run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from headrace import synth
from headrace.errors import HeadraceError
from headrace.evaluate.loads import fir, openflow, ovs_rates
from headrace.evaluate.loads import switch as switch_loads
from headrace.evaluate.loads.openflow import Stale
from headrace.evaluate.loads.ovs_rates import Connections, Flood
from headrace.evaluate.loads.switch import Carried, Filtered, Latency, Limit
from headrace.evaluate.points import PointsFile, run_points
from headrace.evaluate.study import files
from headrace.evaluate.study.switch_published import CONNECTIONS_KPPS, KEY_BITS, cam_bits
from headrace.net import ovs

Progress = Callable[[str, float | None], None]
Rate = TypeVar("Rate", Connections, Flood)

DEPTHS = (1, 4, 8)
SIZES = (64, 100, 256, 512, 1024, 1518)
SAMPLES = (16, 64, 256, 1024, 2048)
PARTS: tuple[tuple[str, int], ...] = (
    *(("exact", entries) for entries in (1024, 4096, 16384)),
    *(("ternary", entries) for entries in (32, 64, 128, 256)),
)
CHUNK_W = 5
TRIALS = 1_000
_RUNS = 3  # of Open vSwitch


@dataclass(frozen=True)
class DepthRow:
    """A pipeline of so many tables: cycles in the card of a packet that sees all of them, and of the smallest packets
    at their limit; Open vSwitch's processor time for a packet of a new connection and of one that it knows."""

    tables: int
    least_cycles: int
    most_cycles: int
    ns: float
    cycles_per_packet: float
    ovs_new_ns: float | None
    ovs_known_ns: float | None


@dataclass(frozen=True)
class SizeRow:
    """A part of a table on UltraScale+: ``ram_bits`` are those of its entries, ``cam_bits`` those of the thesis' CAM
    with as many."""

    part: str
    entries: int
    luts: int
    lutram: int
    ffs: int
    bram36: float
    cam_bits: int


@dataclass(frozen=True)
class ConnectionRow:
    """Connections that begin and end, thousands of packets a second. ``data``: packets of each beside the two that open
    it. The card's are modelled, ``ovs`` those of this machine, wall clock and a core's processor time."""

    data: int
    payload: int
    card_kpps: float
    ovs_kpps: float | None
    ovs_core_kpps: float | None
    ovs_known_core_kpps: float | None
    published_ovs_kpps: float
    published_kpps: float


@dataclass(frozen=True)
class SmallRow:
    """Packets of a size, Gb/s of frames: the card's two lines are modelled; Open vSwitch's on a core of this machine,
    of one flow, wall clock and processor time."""

    size: int
    card_gbit_s: float
    lines_gbit_s: float
    ovs_gbit_s: float | None
    ovs_core_gbit_s: float | None


@dataclass(frozen=True)
class FirRow:
    """A FIR filter of 4 taps on packets of so many samples, Gb/s of samples: the card's are modelled, the others a
    core's of this machine."""

    samples: int
    card_gbit_s: float
    cpp_gbit_s: float
    numpy_gbit_s: float


@dataclass(frozen=True)
class BarrierRow:
    """Packets sent when a barrier was answered, behind a change of their flow: modified, or deleted and added."""

    switch: str
    change: str
    trials: int
    stale: int
    lost: int


@dataclass(frozen=True)
class SwitchStudy:
    """What the study found. ``without_ovs``: why there are no rates of Open vSwitch's, if there are none."""

    quick: bool
    depths: list[DepthRow]
    sizes: list[SizeRow]
    connections: list[ConnectionRow]
    small: list[SmallRow]
    fir: list[FirRow]
    barriers: list[BarrierRow]
    without_ovs: str
    wall_s: float
    measured_on: str = ""

    @property
    def tables(self) -> dict[str, Sequence[Any]]:
        """All rows by their table's name."""
        return {
            "depths": self.depths,
            "sizes": self.sizes,
            "connections": self.connections,
            "small": self.small,
            "fir": self.fir,
            "barriers": self.barriers,
        }

    @property
    def faults(self) -> int:
        """Packets that the card sent the old way, or lost, behind a barrier's answer."""
        return sum(row.stale + row.lost for row in self.barriers if row.switch == "card")

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**asdict(self), "faults": self.faults}


@dataclass(frozen=True)
class Point:
    """Work for one worker: the ``arguments`` of ``run``, and the table that it is for."""

    table: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Size:
    """What a part of a table takes."""

    luts: int
    lutram: int
    ffs: int
    rams: float


def all_points(quick: bool) -> list[Point]:
    """All of them. ``quick``: fewer depths, sizes and trials."""
    depths, sizes, samples = (DEPTHS[:2], SIZES[::3], SAMPLES[::2]) if quick else (DEPTHS, SIZES, SAMPLES)
    found = [Point("depths", {"kind": kind, "tables": tables}) for tables in depths for kind in ("latency", "limit")]
    found += [Point("small", {"kind": "carried", "tables": 4, "sizes": sizes})]
    found += [
        Point("connections", {"kind": "connections", "tables": 1, "data": data, "payload": payload})
        for data, payload in CONNECTIONS_KPPS
    ]
    found += [Point("fir", {"kind": "fir", "samples": count}) for count in samples]
    trials = 100 if quick else TRIALS
    found += [
        Point("barriers", {"kind": "stale_packets", "trials": trials, "replace": replace}) for replace in (False, True)
    ]
    parts = [each for each in PARTS if each[1] in (1024, 32, 128)] if quick else PARTS
    return found + [Point("sizes", {"kind": "size", "part": part, "entries": entries}) for part, entries in parts]


def run(kind: str, **arguments: Any) -> Any:
    """A load of the card, or what a part of it costs."""
    return size(**arguments) if kind == "size" else switch_loads.run(kind, **arguments)


def size(part: str, entries: int) -> Size:
    """A part of a table with the thesis' key on UltraScale+."""
    module = {"exact": "exact_table", "ternary": "ternary_table"}[part]
    more = {"CHUNK_W": CHUNK_W} if part == "ternary" else {}
    total = synth.run(module, "xcup", {"KEY_W": KEY_BITS, "ENTRIES": entries, **more}, hierarchy=False).total
    return Size(total.luts, total.lutram, total.ffs, total.rams)


def measure(
    quick: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> SwitchStudy:
    """Measures everything, or only ``points`` of the card, with what stands beside them; the rest as
    ``headrace.evaluate.study.capture.measure``. What this machine itself takes is measured last, while it does nothing
    else."""
    report = progress or (lambda _what, _done: None)
    start = time.monotonic()
    chosen = all_points(quick) if points is None else points
    with ExitStack() as stack:
        modules = [switch_loads, openflow, sys.modules[__name__]]
        known = stack.enter_context(PointsFile(store, measured_on, modules)) if store else None
        if address is None:
            for tables in sorted({point.arguments.get("tables", 4) for point in chosen}):
                report(f"card with {tables} tables", None)
                switch_loads.build(tables)
        results = run_points(
            run,
            [point.arguments for point in chosen],
            address,
            lambda done, all_: report("switch card", done / all_),
            known,
        )
    found: dict[str, list[Any]] = {"depths": [], "small": [], "connections": [], "fir": [], "barriers": [], "sizes": []}
    for point, result in zip(chosen, results, strict=True):
        found[point.table].append((point.arguments, result))
    report("Open vSwitch", None)
    beside, why = _beside(quick, found)
    report("FIR filter of this machine", None)
    return SwitchStudy(
        quick,
        depths=_depths(found["depths"], beside),
        sizes=[_size(arguments, each) for arguments, each in found["sizes"]],
        connections=[_connection(arguments, each, beside) for arguments, each in found["connections"]],
        small=[_small(each, beside) for _, each_size in found["small"] for each in each_size],
        fir=[_fir(each) for _, each in found["fir"]],
        barriers=_barriers(found["barriers"]),
        without_ovs=why,
        wall_s=time.monotonic() - start,
        measured_on=measured_on,
    )


@dataclass(frozen=True)
class _Beside:
    """What Open vSwitch carries on this machine: connections by tables, packets of data and payload; floods of one flow
    by size."""

    connections: Mapping[tuple[int, int, int], Connections]
    floods: Mapping[int, Flood]


def _beside(quick: bool, found: Mapping[str, Sequence[tuple[dict[str, Any], Any]]]) -> tuple[_Beside, str]:
    """It, and why there is nothing in it, if so."""
    cases = [(arguments["tables"], 1, 100) for arguments, _ in found["depths"]]
    cases += [(1, arguments["data"], arguments["payload"]) for arguments, _ in found["connections"]]
    sizes = [each.size for _, result in found["small"] for each in result]
    try:
        connections = _best(ovs_rates.connections, list(dict.fromkeys(cases)))
        floods = _best(ovs_rates.floods, sizes, 1 << (13 if quick else 16))
    except HeadraceError as error:
        return _Beside({}, {}), str(error)
    by_case = {(each.tables, each.data, each.payload): each for each in connections}
    return _Beside(by_case, {each.size: each for each in floods if each.flows == "one"}), ""


def _best(measured: Callable[..., list[Rate]], *arguments: Any) -> list[Rate]:
    """Of some runs, that with the least processor time for each case: what else the machine does only adds to it."""
    runs = [measured(*arguments) for _ in range(_RUNS)]
    return [min(case, key=lambda each: each.cpu_ns) for case in zip(*runs, strict=True)]


def _depths(found: Sequence[tuple[dict[str, Any], Any]], beside: _Beside) -> list[DepthRow]:
    rows = []
    latencies: list[Latency] = [result for _, result in found if isinstance(result, Latency)]
    limits: dict[int, Limit] = {result.tables: result for _, result in found if isinstance(result, Limit)}
    for each in latencies:
        limit, ovs = limits[each.tables], beside.connections.get((each.tables, 1, 100))
        ns = each.most * 1e9 / each.clock_hz
        new = None if ovs is None else 1.5 * ovs.cpu_ns - 0.5 * ovs.again_cpu_ns  # two of three packets are new
        known = None if ovs is None else ovs.again_cpu_ns
        cycles = limit.cycles / limit.packets
        rows.append(DepthRow(each.tables, each.least, each.most, ns, cycles, new, known))
    return rows


def _size(arguments: dict[str, Any], found: Size) -> SizeRow:
    part, entries = arguments["part"], arguments["entries"]
    return SizeRow(part, entries, found.luts, found.lutram, found.ffs, found.rams, cam_bits(entries, CHUNK_W))


def _connection(arguments: dict[str, Any], carried: Carried, beside: _Beside) -> ConnectionRow:
    data, payload = arguments["data"], arguments["payload"]
    ovs = beside.connections.get((1, data, payload))
    theirs, published = CONNECTIONS_KPPS[data, payload]
    return ConnectionRow(
        data,
        payload,
        carried.packets_s / 1e3,
        None if ovs is None else ovs.packets_s / 1e3,
        None if ovs is None else 1e6 / ovs.cpu_ns,
        None if ovs is None else 1e6 / ovs.again_cpu_ns,
        theirs,
        published,
    )


def _small(carried: Carried, beside: _Beside) -> SmallRow:
    ovs, bits = beside.floods.get(carried.size), 8 * carried.size
    return SmallRow(
        carried.size,
        carried.packets_s * bits / 1e9,
        2 * carried.size / (carried.size + switch_loads.GAP) * switch_loads.LINE / 1e9,
        None if ovs is None else ovs.packets_s * bits / 1e9,
        None if ovs is None else bits / ovs.cpu_ns,
    )


def _fir(found: Filtered) -> FirRow:
    beside = {each.way: each.gbit_s for each in fir.measure(found.samples)}
    card = 32 * found.samples * found.packets * found.clock_hz / found.cycles / 1e9
    return FirRow(found.samples, card, beside["C++"], beside["NumPy"])


def _barriers(found: Sequence[tuple[dict[str, Any], Stale]]) -> list[BarrierRow]:
    rows = [_barrier("card", arguments["replace"], result) for arguments, result in found]
    if rows and ovs.available() is None:
        for arguments, result in found:
            with ovs.open_vswitch() as switch, ovs.StreamPorts(switch, 3) as ports:
                stale = openflow.stale_packets(switch.listen(), ports, result.trials, arguments["replace"])
            rows.append(_barrier("Open vSwitch", arguments["replace"], stale))
    return rows


def _barrier(switch: str, replace: bool, found: Stale) -> BarrierRow:
    change = "deleted and added" if replace else "modified"
    return BarrierRow(switch, change, found.trials, found.stale, found.lost)


def write(study: SwitchStudy, folder: Path) -> None:
    """Writes report.md, a CSV file for each table and the figures (PNG, SVG) into a folder, which is made if need be.

    Raises HeadraceError when that can't be done.
    """
    from headrace.evaluate.study.switch_figures import draw
    from headrace.evaluate.study.switch_report import markdown

    files.write(folder, study.tables, lambda where: draw(study, where), lambda figures: markdown(study, figures))
