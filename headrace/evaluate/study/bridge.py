"""The study of the bridge card: EmbedNet's figures and tables on Headrace's RTL, and what lies beyond them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headrace import synth
from headrace.evaluate.loads import bridge as bridge_loads
from headrace.evaluate.loads import bridge_traffic
from headrace.evaluate.loads.bridge import SINGLE
from headrace.evaluate.points import Progress, quiet, run_points
from headrace.evaluate.study import Point, sweep
from headrace.evaluate.study.bridge_points import LOADS, SEED_PARAMETERS, all_points
from headrace.evaluate.study.bridge_rows import (
    BridgeStudy,
    CriticalRow,
    LatencyRow,
    ModeRow,
    SizeRow,
    ThroughputRow,
    TraceRow,
    WireRow,
)
from headrace.evaluate.study.published import EMBEDNET_MBIT_S, EMBEDNET_SIZES


def measure(
    full: bool = False,
    address: str | None = None,
    progress: Progress = quiet,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> BridgeStudy:
    """Measures everything, or only ``points`` and not the resources.

    ``full``: more sizes, rates and messages. ``address``: of a Dask cluster to run the points on; here,
    unless given. ``store``: a file of points, from which those are taken that were found before ``measured_on`` the
    same, and to which others go as they are found. Raises HeadraceError when a card can't be built.
    """
    start = time.monotonic()

    def build(left: Sequence[dict[str, Any]]) -> None:
        progress("cards", None)
        hosts = {each.get("host", "pcie") for each in left}
        run_points(bridge_loads.run, [{"kind": "build", "host": host} for host in sorted(hosts)])

    chosen = all_points(full) if points is None else points
    modules = [bridge_loads, bridge_traffic]
    found = sweep("bridge card", bridge_loads.run, chosen, build, modules, address, progress, store, measured_on)
    if points is None:
        progress("resources", None)
    return BridgeStudy(
        full=full,
        throughput=_throughput(found),
        latency=[_latency_row(point, result) for point, result in found if point.table == "latency"],
        traces=[row for point, result in found if point.table == "traces" for row in _trace_rows(point, result)],
        modes=[_mode_row(point, result) for point, result in found if point.table == "traces"],
        critical=_critical(found),
        wire=[WireRow(**asdict(result)) for point, result in found if point.table == "wire"],
        sizes=resources() if points is None else [],
        faults=sum(result.latency.faults if point.table == "traces" else result.faults for point, result in found),
        wall_s=time.monotonic() - start,
        measured_on=measured_on,
    )


_Found = Sequence[tuple[Point, Any]]


def _throughput(found: _Found) -> list[ThroughputRow]:
    results = [(point.names, result) for point, result in found if point.table == "throughput"]
    single = {
        (names["host"], names["direction"], result.size): result.bits_per_s
        for names, result in results
        if names["buffer_kb"] == SINGLE
    }
    rows = []
    for names, result in results:
        host, direction, buffer_kb = names["host"], names["direction"], names["buffer_kb"]
        published = EMBEDNET_MBIT_S.get((direction, buffer_kb)) if host == "embednet" and result.size == 1500 else None
        gain = result.bits_per_s / single[host, direction, result.size]
        row = ThroughputRow(
            **names,
            size=result.size,
            messages=result.messages,
            packets=result.packets,
            mbit_s=result.bits_per_s / 1e6,
            gain=gain,
            published_mbit_s=published,
        )
        rows.append(row)
    return rows


def _latency_row(point: Point, result: bridge_traffic.Latency) -> LatencyRow:
    names = {name: value for name, value in point.names.items() if name != "rate"}
    return LatencyRow(
        host=point.arguments["host"],
        **names,
        size=point.arguments["size"],
        rate_mbit_s=point.names["rate"],
        packets=result.packets,
        min_us=result.min_ns / 1000,
        median_us=result.median_ns / 1000,
        p99_us=result.p99_ns / 1000,
        max_us=result.max_ns / 1000,
    )


def _trace_rows(point: Point, result: bridge_loads.Trace) -> list[TraceRow]:
    return [
        TraceRow(
            **point.names,
            time_s=step.time_s,
            offered_mbit_s=step.offered_bits_per_s / 1e6,
            delivered_mbit_s=step.delivered_bits_per_s / 1e6,
            p99_us=step.p99_ns / 1000,
            packets_per_message=step.packets_per_message,
        )
        for step in result.steps
    ]


def _mode_row(point: Point, result: bridge_loads.Trace) -> ModeRow:
    load = LOADS[point.names["load"]]
    return ModeRow(
        host=load.host,
        **point.names,
        target_us=load.target_us,
        packets=result.offered,
        messages=result.messages,
        p99_us=result.latency.p99_ns / 1000,
        worst_p99_us=max(step.p99_ns for step in result.steps) / 1000,
        max_us=result.latency.max_ns / 1000,
        delivered=result.delivered / result.offered,
        mbit_s=result.delivered * load.size * 8 / (load.seconds - result.steps[0].time_s) / 1e6,
    )


def _critical(found: _Found) -> list[CriticalRow]:
    results = [(point.names, result) for point, result in found if point.table == "critical"]
    base = next((result.p99_ns for names, result in results if names == {"mode": "single", "burst": False}), 0.0)
    allowed = base + bridge_traffic.SETUPS["pcie"].wire_ns(bridge_loads.MAX_PACKET)
    return [
        CriticalRow(
            mode=names["mode"],
            burst="in a full line" if names["burst"] else "alone",
            packets=result.packets,
            median_us=result.median_ns / 1000,
            p99_us=result.p99_ns / 1000,
            max_us=result.max_ns / 1000,
            allowed_us=allowed / 1000,
        )
        for names, result in results
    ]


def resources() -> list[SizeRow]:
    """What H2S and S2H cost on a bus of 32 bits, and what EmbedNet's blocks did."""
    rows = []
    for block, what, parameters in SEED_PARAMETERS:
        total = synth.run(block, "xcup", parameters, hierarchy=False).total
        name = f"Headrace, {what}"
        rows.append(SizeRow(block, name, "measured, Yosys for UltraScale+", total.luts, total.ffs, total.rams))
    for (block, what), (luts, flip_flops, brams) in EMBEDNET_SIZES.items():
        rows.append(SizeRow(block, f"EmbedNet, {what}", "published, ISE for Virtex-6", luts, flip_flops, brams))
    return rows
