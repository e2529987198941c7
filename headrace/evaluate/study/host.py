"""The study of the host interface: what a thesis measured of its DMA engine over PCI Express, on Headrace's RTL and a
modelled link; what packets and interrupts cost on functions of the switch card."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headrace.evaluate.loads import host as host_loads
from headrace.evaluate.loads import host_card, host_paths, pcie_link
from headrace.evaluate.loads.host import Latency, Moderated
from headrace.evaluate.loads.host_card import CLOCK_HZ
from headrace.evaluate.loads.pcie_link import COMPLETION, GENERATIONS, REQUEST, SHORT_REQUEST, Moved
from headrace.evaluate.points import PointsFile, run_points
from headrace.evaluate.study import files
from headrace.evaluate.study.host_published import LINK_GBIT_S, PCIE4_LINK_GBIT_S, TRANSFER_GBIT_S, WINDOW

Progress = Callable[[str, float | None], None]

PAYLOADS = (128, 256, 512)
WINDOWS = (1, 2, 4, 8, 16, 32, 64)
TRANSFERS = (64, 256, 1_024, 4_096, 16_384, 65_536)
LARGEST = 1 << 20  # of the thesis' transfers
LANES = (4, 8, 16)
WIDTH, WIDEST = 256, 512  # bits of the core: the thesis' link, and all links
SIZES = (64, 128, 256, 512, 1_024, 1_518)
MODERATIONS = ((1, 0), (4, 20_000), (16, 20_000), (64, 50_000))
"""Packets that an interrupt waits for, and ns that it waits at most."""
GAPS_NS = (500.0, 5_000.0)

_GENERATION, _LANES, _PAYLOAD = 3, 8, 256
_BYTES = 1 << 18  # that a point moves


@dataclass(frozen=True)
class PayloadRow:
    """PCIe 3.0 x8 by bytes of a TLP at most, Gb/s of payload: what the link carries by formula, with 32-bit and 64-bit
    addresses and in completions; what the RTL moves."""

    payload: int
    limit_32_gbit_s: float
    limit_64_gbit_s: float
    limit_reads_gbit_s: float
    writes_gbit_s: float
    reads_gbit_s: float


@dataclass(frozen=True)
class WindowRow:
    """Reads that may be without an answer, of 512 bytes, on PCIe 3.0 x8."""

    window: int
    gbit_s: float
    limit_gbit_s: float


@dataclass(frozen=True)
class TransferRow:
    """PCIe 3.0 x8 by bytes of a transfer, Gb/s: reads one at a time, reads and writes one after the other without
    waiting, both at once; each with all of a descriptor's, the data's and the way back's latencies, as the thesis
    describes its engine; what it published."""

    size: int
    single_gbit_s: float
    reads_gbit_s: float
    writes_gbit_s: float
    both_gbit_s: float
    described_gbit_s: float
    published_gbit_s: float | None


@dataclass(frozen=True)
class LinkRow:
    """A link of PCI Express, Gb/s each way: of the link, its limit of payload in completions and in writes at 256
    bytes, what the RTL moves on a bus of 512 bits at 250 MHz; what is published of it."""

    generation: int
    lanes: int
    link_gbit_s: float
    limit_reads_gbit_s: float
    limit_writes_gbit_s: float
    reads_gbit_s: float
    writes_gbit_s: float
    published_gbit_s: float | None


@dataclass(frozen=True)
class LatencyRow:
    """Cycles from one driver to another, by host memory's latency."""

    size: int
    read_latency_ns: int
    least_cycles: int
    most_cycles: int
    ns: float


@dataclass(frozen=True)
class ModerationRow:
    """Frames at even distances into a function whose interrupts wait."""

    packets: int
    time_ns: int
    gap_ns: float
    frames_per_interrupt: float
    interrupts_s: float
    median_ns: float
    p99_ns: float


@dataclass(frozen=True)
class PathRow:
    """Processor time of this machine for a packet of 64 bytes between two functions, by who drives the first one."""

    path: str
    frames: int
    cpu_ns: float
    card_ns: float  # of these, the RTL's and the harness', as with frames out of memory
    path_ns: float


@dataclass(frozen=True)
class HostStudy:
    """What the study found. ``without_pcie``, ``without_paths``: why some tables are empty, if they are."""

    quick: bool
    payloads: list[PayloadRow]
    windows: list[WindowRow]
    transfers: list[TransferRow]
    links: list[LinkRow]
    latencies: list[LatencyRow]
    moderations: list[ModerationRow]
    paths: list[PathRow]
    wrong: int  # bytes that came otherwise over the modelled link
    without_pcie: str
    without_paths: str
    wall_s: float
    measured_on: str = ""

    @property
    def tables(self) -> dict[str, Sequence[Any]]:
        """All rows by their table's name."""
        return {
            "payloads": self.payloads,
            "windows": self.windows,
            "transfers": self.transfers,
            "links": self.links,
            "latencies": self.latencies,
            "moderations": self.moderations,
            "paths": self.paths,
        }

    @property
    def faults(self) -> int:
        """Bytes that were wrong."""
        return self.wrong

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**asdict(self), "faults": self.faults}


@dataclass(frozen=True)
class Point:
    """Work for one worker: the ``arguments`` of ``run``, and the table that it is for."""

    table: str
    arguments: dict[str, Any]


def all_points(quick: bool) -> list[Point]:
    """All of them. ``quick``: fewer sizes, links and packets."""
    sizes, windows = (TRANSFERS[::2], WINDOWS[::2]) if quick else (TRANSFERS, WINDOWS)
    lanes = LANES[1:2] if quick else LANES
    latencies = SIZES[::3] if quick else SIZES
    found = [_pcie("payloads", [_settings(kind, 4_096, payload=each) for each in PAYLOADS for kind in _KINDS])]
    found += [_pcie("windows", [_settings("read", 65_536, window=each) for each in windows])]
    for size in (*sizes, *(() if quick else (LARGEST,))):
        settings = [_settings("read", size, alone=True, window=1)] if size < LARGEST else []
        settings += [_settings(kind, size) for kind in (*_KINDS, "both")] if size < LARGEST else []
        settings += [_settings(kind, size, alone=True, window=WINDOW, descriptor=True) for kind in _KINDS]
        found += [_pcie("transfers", settings)]
    for generation in GENERATIONS:
        wires = [(kind, pcie_link.wire(generation, lane)) for lane in lanes for kind in _KINDS]
        settings = [_settings(kind, 65_536, wire=wire) for kind, wire in wires]
        found += [_pcie("links", settings, WIDEST, generation=generation, lanes=lanes)]
    found += [
        Point("latencies", {"kind": "latency", "size": size, "read_latency_ns": latency})
        for latency in (0, host_card.LATENCY_NS)
        for size in latencies
    ]
    frames = 200 if quick else 2_000
    found += [
        Point("moderations", {"kind": "moderated", "packets": packets, "time_ns": ns, "gap_ns": gap, "frames": frames})
        for gap in (GAPS_NS[:1] if quick else GAPS_NS)
        for packets, ns in MODERATIONS
    ]
    return found


_KINDS = ("read", "write")


def _settings(direction: str, size: int, **more: Any) -> dict[str, Any]:
    """Of one link's transfers: some 256 KB, of small or lone ones fewer."""
    count = max(2, min(_BYTES // size, 40 if more.get("alone") else 400))
    standard = {"wire": pcie_link.wire(_GENERATION, _LANES), "payload": _PAYLOAD}
    return {"direction": direction, "size": size, "count": count, **standard, **more}


def _pcie(table: str, settings: list[dict[str, Any]], width: int = WIDTH, **more: Any) -> Point:
    return Point(table, {"kind": "pcie", "transfers": settings, "width": width, **more})


def run(kind: str, **arguments: Any) -> Any:
    """A load of functions, or transfers over PCI Express."""
    if kind == "pcie":
        return pcie_link.moved(arguments["transfers"], arguments["width"], tags=64)
    return host_loads.run(kind, **arguments)


def measure(
    quick: bool = False,
    address: str | None = None,
    progress: Progress | None = None,
    points: Sequence[Point] | None = None,
    store: Path | None = None,
    measured_on: str = "",
) -> HostStudy:
    """Measures everything, or only ``points``; the rest as ``headrace.evaluate.study.capture.measure``. What this
    machine itself takes is measured last, while it does nothing else."""
    report = progress or (lambda _what, _done: None)
    start = time.monotonic()
    chosen = all_points(quick) if points is None else list(points)
    without_pcie = pcie_link.why_not() or ""
    if without_pcie:
        chosen = [point for point in chosen if point.arguments["kind"] != "pcie"]
    with ExitStack() as stack:
        modules = [host_loads, pcie_link, sys.modules[__name__]]
        known = stack.enter_context(PointsFile(store, measured_on, modules)) if store else None
        if address is None:
            report("card and PCI Express", None)
            _build(chosen)
        results = run_points(
            run,
            [point.arguments for point in chosen],
            address,
            lambda done, all_: report("host interface", done / all_),
            known,
        )
    found: dict[str, list[tuple[dict[str, Any], Any]]] = {
        name: [] for name in ("payloads", "windows", "transfers", "links", "latencies", "moderations")
    }
    for point, result in zip(chosen, results, strict=True):
        found[point.table].append((point.arguments, result))
    report("packets of this machine", None)
    paths, without_paths = _paths(quick)
    moved = [each for arguments, result in _all(found) if arguments["kind"] == "pcie" for each in result]
    return HostStudy(
        quick,
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


def _build(chosen: Sequence[Point]) -> None:
    """What workers share, once."""
    if any(point.arguments["kind"] != "pcie" for point in chosen):
        host_card.build()
    for width in sorted({point.arguments["width"] for point in chosen if point.arguments["kind"] == "pcie"}):
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
    return pcie_link.limit_gbit_s(_GENERATION, _LANES, payload, beside)


def _windows(arguments: dict[str, Any], found: Sequence[Moved]) -> list[WindowRow]:
    limit = _limit(_PAYLOAD, COMPLETION)
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
            pcie_link.limit_gbit_s(generation, lanes, _PAYLOAD, beside) for beside in (COMPLETION, REQUEST)
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


def _paths(quick: bool) -> tuple[list[PathRow], str]:
    """What a packet takes of this machine by each path, and why some are not there, if so."""
    found, why = host_paths.measure(1_000 if quick else 10_000)
    card = next(each.cpu_ns for each in found if each.path == host_paths.MEMORY)
    rows = [PathRow(each.path, each.frames, each.cpu_ns, card, each.cpu_ns - card) for each in found]
    return rows, why


def write(study: HostStudy, folder: Path) -> None:
    """Writes report.md, a CSV file for each table and the figures (PNG, SVG) into a folder, which is made if need be.

    Raises HeadraceError when that can't be done.
    """
    from headrace.evaluate.study.host_figures import draw
    from headrace.evaluate.study.host_report import markdown

    files.write(folder, study.tables, lambda where: draw(study, where), lambda figures: markdown(study, figures))
