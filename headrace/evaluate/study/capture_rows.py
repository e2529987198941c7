"""The rows of the study's tables, made of what the loads of ``headrace.evaluate.loads.capture`` give."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.evaluate.loads.capture import CLOCKS, READ_BUFFER, Flow, Single
from headrace.evaluate.study.published import bpfcap_table_5_1

HEADERS = 40  # bytes of bpfcap's ICMP packets without their payload


@dataclass(frozen=True)
class TableRow:
    """A point of table 5.1: ours in ns (modelled: cycles times the clock's period) and in cycles (measured).

    They count as bpfcap does, from the packet's descriptor on; ``doorbell_`` ones from the doorbell on. ``ratio``: the
    published mean by ours.
    """

    memory: str
    clock_mhz: int
    burst_words: int
    payload_bytes: int
    packets: int
    mean_ns: float
    sigma_ns: float
    median_ns: float
    min_ns: float
    max_ns: float
    mean_cycles: float
    doorbell_mean_ns: float
    doorbell_mean_cycles: float
    published_mean_ns: int
    published_sigma_ns: int
    published_median_ns: int
    published_min_ns: int
    published_max_ns: int
    ratio: float
    doorbell_ratio: float
    faults: int


@dataclass(frozen=True)
class SingleRow:
    """Packets one at a time: cycles (measured) and ns (modelled) from the descriptor on, or from the doorbell on."""

    sweep: str
    mem_w: int
    burst: int
    clock_mhz: float
    memory: str
    latency_ns: int
    size: int
    packets: int
    mean_cycles: float
    min_cycles: int
    max_cycles: int
    mean_ns: float
    doorbell_mean_cycles: float
    faults: int


@dataclass(frozen=True)
class TogetherRow:
    """One, two and eight packets: cycles (measured) from the doorbell until all are written, and what more ones add."""

    mem_w: int
    burst: int
    memory: str
    size: int
    one: int
    two: int
    eight: int
    second_adds: int
    later_add: float
    faults: int


@dataclass(frozen=True)
class FlowRow:
    """A stream: cycles and shares of the bus's bandwidth (measured), Gb/s of packets in the ring (modelled)."""

    sweep: str
    mem_w: int
    burst: int
    clock_mhz: float
    latency_ns: int
    offset: int
    read_buffer: int
    ports: int
    size: str
    packets: int
    cycles: int
    share: float
    payload_share: float
    gbit_s: float
    dropped: int
    lag_cycles: int
    faults: int


Row = TableRow | SingleRow | TogetherRow | FlowRow


def rows_of(group: str, name: str, arguments: Mapping[str, Any], results: Sequence[Any]) -> list[Row]:
    """Rows of a table.

    ``name``: of the memory or the sweep; ``arguments``, ``results``: of the load, results in the order of its sizes.
    """
    if group == "table_5_1":
        return [_table_row(name, arguments, single) for single in results]
    if group == "single_packets":
        return [_single_row(name, arguments, single) for single in results]
    if group == "back_to_back":
        return [_together_row(name, arguments, single) for single in results]
    return [_flow_row(name, arguments, size, flow) for size, flow in zip(arguments["sizes"], results, strict=True)]


def _table_row(memory: str, arguments: Mapping[str, Any], single: Single) -> TableRow:
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


def _single_row(name: str, arguments: Mapping[str, Any], single: Single) -> SingleRow:
    sweep, memory = name.split(", ")
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


def _together_row(memory: str, arguments: Mapping[str, Any], single: Single) -> TogetherRow:
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


def _flow_row(sweep: str, arguments: Mapping[str, Any], size: int | str, flow: Flow) -> FlowRow:
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
