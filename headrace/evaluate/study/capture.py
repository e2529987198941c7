"""The study of the capture card: bpfcap's table 5.1 on Headrace's RTL, and what lies beyond it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.evaluate.loads import capture as capture_loads
from headrace.evaluate.loads.capture import CLOCKS, READ_BUFFER, Flow, Single
from headrace.evaluate.points import Progress, part_of, quiet, run_points
from headrace.evaluate.study import Point, sweep
from headrace.evaluate.study.capture_points import HEADERS, TABLES, all_points, cards
from headrace.evaluate.study.capture_rows import CaptureStudy, FlowRow, KernelRow, Row, SingleRow, TableRow, TogetherRow
from headrace.evaluate.study.kernel_path import measure_kernel_path
from headrace.evaluate.study.published import bpfcap_table_5_1


def measure(
    full: bool = False,
    address: str | None = None,
    progress: Progress = quiet,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> CaptureStudy:
    """Measures everything, or only ``points`` and not the software path.

    ``full``: more packets and sizes. ``address``: of a Dask cluster to run the points on; here,
    unless given. ``store``: a file of points, from which those are taken that were found before ``measured_on`` the
    same, and to which others go as they are found. Raises HeadraceError when a card can't be built.
    """
    start = time.monotonic()

    def build(left: Sequence[dict[str, Any]]) -> None:
        if needed := cards(left):
            loads = [{"kind": "build", **card} for card in needed]
            run_points(capture_loads.run, loads, progress=part_of(progress, "cards"))

    chosen = all_points(full) if points is None else points
    tables: dict[str, list[Any]] = {name: [] for name in TABLES}
    for point, result in sweep(
        "capture card", capture_loads.run, chosen, build, [capture_loads], address, progress, store, measured_on
    ):
        tables[point.table] += _rows(point, result)
    kernel_path, reason = _kernel_path(full, progress) if points is None else ([], "left out")
    return CaptureStudy(
        full=full,
        **tables,
        kernel_path=kernel_path,
        no_kernel_path=reason,
        wall_s=time.monotonic() - start,
        measured_on=measured_on,
    )


def _kernel_path(full: bool, progress: Progress) -> tuple[list[KernelRow], str | None]:
    progress("software path", None)
    try:
        return measure_kernel_path(40_000 if full else 5_000), None
    except HeadraceError as error:
        return [], str(error)


def _rows(point: Point, results: Sequence[Any]) -> list[Row]:
    """Of the results of a load, which are in the order of its sizes."""
    arguments, names = point.arguments, point.names
    if point.table in _SINGLES:
        return [_SINGLES[point.table](arguments, single, **names) for single in results]
    return [_flow_row(arguments, size, flow, **names) for size, flow in zip(arguments["sizes"], results, strict=True)]


def _table_row(arguments: Mapping[str, Any], single: Single, memory: str) -> TableRow:
    clock, burst, payload = arguments["clock_hz"] // 1_000_000, arguments["burst"], single.size - HEADERS
    theirs = next(
        row
        for row in bpfcap_table_5_1()
        if (row.clock_mhz, row.burst_words, row.payload_bytes) == (clock, burst, payload)
    )
    times = [cycles * 1e3 / clock for cycles in single.packet_cycles]
    mean, doorbell_cycles = statistics.fmean(times), statistics.fmean(single.doorbell_cycles)
    doorbell_mean = doorbell_cycles * 1e3 / clock
    return TableRow(
        memory=memory,
        clock_mhz=clock,
        burst_words=burst,
        payload_bytes=payload,
        packets=len(times),
        mean_ns=mean,
        sigma_ns=statistics.stdev(times) if len(times) > 1 else 0.0,
        median_ns=statistics.median(times),
        min_ns=min(times),
        max_ns=max(times),
        mean_cycles=statistics.fmean(single.packet_cycles),
        doorbell_mean_ns=doorbell_mean,
        doorbell_mean_cycles=doorbell_cycles,
        published_mean_ns=theirs.mean_ns,
        published_sigma_ns=theirs.sigma_ns,
        published_median_ns=theirs.median_ns,
        published_min_ns=theirs.min_ns,
        published_max_ns=theirs.max_ns,
        ratio=theirs.mean_ns / mean,
        doorbell_ratio=theirs.mean_ns / doorbell_mean,
        faults=single.faults,
    )


def _single_row(arguments: Mapping[str, Any], single: Single, sweep: str, memory: str) -> SingleRow:
    cycles = statistics.fmean(single.packet_cycles)
    return SingleRow(
        sweep=sweep,
        mem_w=arguments["mem_w"],
        burst=arguments["burst"],
        clock_mhz=arguments["clock_hz"] / 1e6,
        memory=memory,
        latency_ns=arguments["memory"].read_ns,
        size=single.size,
        packets=len(single.packet_cycles),
        mean_cycles=cycles,
        min_cycles=min(single.packet_cycles),
        max_cycles=max(single.packet_cycles),
        mean_ns=cycles * 1e9 / arguments["clock_hz"],
        doorbell_mean_cycles=statistics.fmean(single.doorbell_cycles),
        faults=single.faults,
    )


def _together_row(arguments: Mapping[str, Any], single: Single, memory: str) -> TogetherRow:
    one, two, eight = single.doorbell_cycles
    return TogetherRow(
        mem_w=arguments["mem_w"],
        burst=arguments["burst"],
        memory=memory,
        size=single.size,
        one=one,
        two=two,
        eight=eight,
        second_adds=two - one,
        later_add=(eight - two) / 6,
        faults=single.faults,
    )


def _flow_row(arguments: Mapping[str, Any], size: int | str, flow: Flow, sweep: str) -> FlowRow:
    mem_w = arguments.get("mem_w", 512)
    return FlowRow(
        sweep=sweep,
        mem_w=mem_w,
        burst=arguments.get("burst", 16),
        clock_mhz=CLOCKS[mem_w] / 1e6,
        latency_ns=arguments["memory"].read_ns,
        offset=arguments.get("offset", 0),
        read_buffer=arguments.get("read_buffer", READ_BUFFER),
        ports=arguments.get("ports", 0),
        size=str(size),
        packets=flow.packets,
        cycles=flow.cycles,
        share=flow.share,
        payload_share=flow.payload_share,
        gbit_s=flow.payload_share * mem_w * CLOCKS[mem_w] / 1e9,
        dropped=flow.dropped,
        lag_cycles=flow.lag_cycles,
        faults=flow.faults,
    )


_SINGLES: Mapping[str, Callable[..., Row]] = {
    "table_5_1": _table_row,
    "single_packets": _single_row,
    "back_to_back": _together_row,
}
