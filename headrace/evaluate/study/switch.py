"""The study of the switch card: what a thesis measured of its OpenFlow switch on an FPGA, on Headrace's RTL, with Open
vSwitch in user space beside it, measured in the same run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from headrace import synth
from headrace.errors import HeadraceError
from headrace.evaluate.loads import fir, openflow, ovs_rates
from headrace.evaluate.loads import switch as switch_loads
from headrace.evaluate.loads.openflow import Stale
from headrace.evaluate.loads.ovs_rates import Connections, Flood
from headrace.evaluate.loads.switch import Carried, Filtered, Latency, Limit
from headrace.evaluate.points import Progress, quiet
from headrace.evaluate.study import Point, sweep
from headrace.evaluate.study.switch_points import CHUNK_W, all_points
from headrace.evaluate.study.switch_published import CONNECTIONS_KPPS, KEY_BITS, cam_bits
from headrace.evaluate.study.switch_rows import (
    BarrierRow,
    ConnectionRow,
    DepthRow,
    FirRow,
    SizeRow,
    SmallRow,
    SwitchStudy,
)
from headrace.net import ovs

Rate = TypeVar("Rate", Connections, Flood)

_RUNS = 3  # of Open vSwitch


@dataclass(frozen=True)
class Size:
    """What a part of a table takes."""

    luts: int
    lutram: int
    ffs: int
    rams: float


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
    full: bool = False,
    address: str | None = None,
    progress: Progress = quiet,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> SwitchStudy:
    """Measures everything, or only ``points`` of the card, with what stands beside them; the rest as
    ``headrace.evaluate.study.capture.measure``. What this machine itself takes is measured last, while it does nothing
    else."""
    start = time.monotonic()

    def build(left: Sequence[dict[str, Any]]) -> None:
        for tables in sorted({each.get("tables", 4) for each in left}):
            progress(f"card with {tables} tables", None)
            switch_loads.build(tables)

    chosen = all_points(full) if points is None else points
    found: dict[str, list[Any]] = {"depths": [], "small": [], "connections": [], "fir": [], "barriers": [], "sizes": []}
    modules = [switch_loads, openflow, sys.modules[__name__]]
    for point, result in sweep("switch card", run, chosen, build, modules, address, progress, store, measured_on):
        found[point.table].append((point.arguments, result))
    progress("Open vSwitch", None)
    beside, why = _beside(full, found)
    progress("FIR filter of this machine", None)
    return SwitchStudy(
        full=full,
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
    by size. ``most_ns``: processor time of a packet in the worst run, by either."""

    connections: Mapping[tuple[int, int, int], Connections]
    floods: Mapping[int, Flood]
    most_ns: Mapping[tuple[int, int, int] | int, float]


def _beside(full: bool, found: Mapping[str, Sequence[tuple[dict[str, Any], Any]]]) -> tuple[_Beside, str]:
    """It, and why there is nothing in it, if so."""
    cases = [(arguments["tables"], 1, 100) for arguments, _ in found["depths"]]
    cases += [(1, arguments["data"], arguments["payload"]) for arguments, _ in found["connections"]]
    sizes = [each.size for _, result in found["small"] for each in result]
    try:
        connections, slow_connections = _best(ovs_rates.connections, list(dict.fromkeys(cases)))
        floods, slow_floods = _best(ovs_rates.floods, sizes, 1 << (16 if full else 13))
    except HeadraceError as error:
        return _Beside({}, {}, {}), str(error)
    by_case = {(each.tables, each.data, each.payload): each for each in connections}
    by_size = {each.size: each for each in floods if each.flows == "one"}
    most_ns: dict[tuple[int, int, int] | int, float] = {
        (each.tables, each.data, each.payload): each.cpu_ns for each in slow_connections
    }
    most_ns |= {each.size: each.cpu_ns for each in slow_floods if each.flows == "one"}
    return _Beside(by_case, by_size, most_ns), ""


def _best(measured: Callable[..., list[Rate]], *arguments: Any) -> tuple[list[Rate], list[Rate]]:
    """Of some runs, that with the least processor time for each case, as what else the machine does only adds to it;
    and that with the most."""
    runs = [measured(*arguments) for _ in range(_RUNS)]
    cases = [sorted(case, key=lambda each: each.cpu_ns) for case in zip(*runs, strict=True)]
    return [case[0] for case in cases], [case[-1] for case in cases]


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
        None if ovs is None else 1e6 / beside.most_ns[1, data, payload],
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
        None if ovs is None else bits / beside.most_ns[carried.size],
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
