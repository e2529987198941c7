"""The study of the host interface: what a thesis measured of its DMA engine over PCI Express, on Headrace's RTL and a
modelled link; what packets and interrupts cost on functions of the switch card."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.evaluate.loads import host as host_loads
from headrace.evaluate.loads import host_card, host_paths, pcie_link
from headrace.evaluate.loads.host import Latency, Moderated
from headrace.evaluate.loads.host_card import CLOCK_HZ
from headrace.evaluate.loads.pcie_link import COMPLETION, REQUEST, SHORT_REQUEST, Moved
from headrace.evaluate.points import Progress, quiet
from headrace.evaluate.study import Point, sweep
from headrace.evaluate.study.host_points import GENERATION, PAYLOAD, STANDARD_LANES, all_points
from headrace.evaluate.study.host_published import LINK_GBIT_S, PCIE4_LINK_GBIT_S, TRANSFER_GBIT_S
from headrace.evaluate.study.host_rows import (
    HostStudy,
    LatencyRow,
    LinkRow,
    ModerationRow,
    PathRow,
    PayloadRow,
    TransferRow,
    WindowRow,
)


def run(kind: str, **arguments: Any) -> Any:
    """A load of functions, or transfers over PCI Express."""
    if kind == "pcie":
        return pcie_link.moved(arguments["transfers"], arguments["width"], tags=64)
    return host_loads.run(kind, **arguments)


def measure(
    full: bool = False,
    address: str | None = None,
    progress: Progress = quiet,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> HostStudy:
    """Measures everything, or only ``points``; the rest as ``headrace.evaluate.study.capture.measure``. What this
    machine itself takes is measured last, while it does nothing else."""
    start = time.monotonic()
    chosen = all_points(full) if points is None else list(points)
    without_pcie = pcie_link.why_not() or ""
    if without_pcie:
        chosen = [point for point in chosen if point.arguments["kind"] != "pcie"]
    progress("card and PCI Express", None)
    found: dict[str, list[tuple[dict[str, Any], Any]]] = {
        name: [] for name in ("payloads", "windows", "transfers", "links", "latencies", "moderations")
    }
    modules = [host_loads, pcie_link]
    for point, result in sweep("host interface", run, chosen, _build, modules, address, progress, store, measured_on):
        found[point.table].append((point.arguments, result))
    progress("packets of this machine", None)
    paths, without_paths = _paths(full)
    moved = [each for arguments, result in _all(found) if arguments["kind"] == "pcie" for each in result]
    return HostStudy(
        full=full,
        payloads=[row for arguments, result in found["payloads"] for row in _payloads(arguments, result)],
        windows=[row for arguments, result in found["windows"] for row in _windows(arguments, result)],
        transfers=[_transfer(arguments, result) for arguments, result in found["transfers"]],
        links=[row for arguments, result in found["links"] for row in _links(arguments, result)],
        latencies=[_latency(each) for _, each in found["latencies"]],
        moderations=[_moderation(each) for _, each in found["moderations"]],
        paths=paths,
        wrong=sum(each.wrong for each in moved),
        without_pcie=without_pcie,
        without_paths=without_paths,
        wall_s=time.monotonic() - start,
        measured_on=measured_on,
    )


def _all(found: Mapping[str, list[tuple[dict[str, Any], Any]]]) -> list[tuple[dict[str, Any], Any]]:
    return [each for table in found.values() for each in table]


def _build(left: Sequence[dict[str, Any]]) -> None:
    """What workers share, once."""
    if any(each["kind"] != "pcie" for each in left):
        host_card.build()
    for width in sorted({each["width"] for each in left if each["kind"] == "pcie"}):
        pcie_link.moved([], width)


def _payloads(arguments: dict[str, Any], found: Sequence[Moved]) -> list[PayloadRow]:
    by = {
        (each["payload"], each["direction"]): moved for each, moved in zip(arguments["transfers"], found, strict=True)
    }
    return [
        PayloadRow(
            payload,
            _limit(payload, SHORT_REQUEST),
            _limit(payload, REQUEST),
            _limit(payload, COMPLETION),
            by[payload, "write"].gbit_s,
            by[payload, "read"].gbit_s,
        )
        for payload in dict.fromkeys(payload for payload, _ in by)
    ]


def _limit(payload: int, beside: int) -> float:
    return pcie_link.limit_gbit_s(GENERATION, STANDARD_LANES, payload, beside)


def _windows(arguments: dict[str, Any], found: Sequence[Moved]) -> list[WindowRow]:
    limit = _limit(PAYLOAD, COMPLETION)
    return [
        WindowRow(each["window"], moved.gbit_s, limit)
        for each, moved in zip(arguments["transfers"], found, strict=True)
    ]


def _transfer(arguments: dict[str, Any], found: Sequence[Moved]) -> TransferRow:
    size = arguments["transfers"][0]["size"]
    *ours, back_read, back_write = found
    each_way = [moved.cycles / (moved.bytes / size) for moved in (back_read, back_write)]
    described = 8e-9 * size * pcie_link.CLOCK_HZ / sum(each_way)
    single, reads, writes, both = [moved.gbit_s for moved in ours] or [0.0] * 4
    return TransferRow(size, single, reads, writes, both / 2, described, TRANSFER_GBIT_S.get(size))


def _links(arguments: dict[str, Any], found: Sequence[Moved]) -> list[LinkRow]:
    generation = arguments["generation"]
    rows = []
    for lanes, reads, writes in zip(arguments["lanes"], found[::2], found[1::2], strict=True):
        for_reads, for_writes = (
            pcie_link.limit_gbit_s(generation, lanes, PAYLOAD, beside) for beside in (COMPLETION, REQUEST)
        )
        published = {(3, 8): LINK_GBIT_S, (4, 8): PCIE4_LINK_GBIT_S}.get((generation, lanes))
        link = pcie_link.link_gbit_s(generation, lanes)
        rows.append(LinkRow(generation, lanes, link, for_reads, for_writes, reads.gbit_s, writes.gbit_s, published))
    return rows


def _latency(found: Latency) -> LatencyRow:
    ns = found.most * 1e9 / CLOCK_HZ
    return LatencyRow(found.size, found.read_latency_ns, found.least, found.most, ns)


def _moderation(found: Moderated) -> ModerationRow:
    return ModerationRow(
        found.packets,
        found.time_ns,
        found.gap_ns,
        found.frames / found.interrupts,
        1e9 * found.interrupts / (found.frames * found.gap_ns),
        found.median_ns,
        found.p99_ns,
    )


def _paths(full: bool) -> tuple[list[PathRow], str]:
    """What a packet takes of this machine by each path, and why some are not there, if so."""
    found, why = host_paths.measure(10_000 if full else 1_000)
    card = next(each.cpu_ns for each in found if each.path == host_paths.MEMORY)
    rows = [PathRow(each.path, each.frames, each.cpu_ns, card, each.cpu_ns - card) for each in found]
    return rows, why
