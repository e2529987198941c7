"""The figures that are committed, in the README and the manual, and what they are measured on."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.evaluate import statements
from headrace.evaluate.bench.designs import BRIDGE_CONTROL, BRIDGE_PARTS, NARROW, RPU_PARTS, STREAM_PARTS, Part
from headrace.evaluate.figures import fill_pages, record
from headrace.evaluate.measured import Measurement, Sources, checkout
from headrace.evaluate.study.files import POINTS

_BENCH = "headrace.evaluate.bench"
_STUDY = "headrace.evaluate.study"
_TIMING = ("sim/memory/axi_memory.h", "sim/wire/*.h")  # host memory and MACs
_HOST = (*_TIMING, "sim/host/*")
_FIRMWARE = tuple(f"firmware/{files}" for files in ("include/*.h", "lib/*.[chS]", "programs/*.c"))
_EMULATED = (
    *(f"headrace/emulator/{name}.py" for name in ("coverage", "linking", "scenario")),
    *(f"headrace/emulator/{room}/*.py" for room in ("movement", "radio")),
)
_NODES = (
    *(f"headrace/emulator/{name}.py" for name in ("world", "node", "wiring", "timeline")),
    *(f"headrace/emulator/{room}/*.py" for room in ("fabric", "processes")),
)
_TABLES = ("docs/performance.md", "README.md")
_STREAM_PAGE = ("docs/stream.md",)


def _study(name: str, tops: tuple[str, ...], cards: tuple[str, ...], *files: str) -> Measurement:
    page = f"docs/study-{name}.md"
    return Measurement(f"study {name}", tops, cards, (f"{_STUDY}.{name}.measure",), files, (page,))


def _fit(name: str, tops: tuple[str, ...], pages: tuple[str, ...] = _TABLES[:1]) -> Measurement:
    return Measurement(f"bench {name}-fit", tops, (), (f"{_BENCH}.fit.{name}",), (), pages, fit=True)


def _tops(parts: Iterable[Part]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(module for module, _ in parts))


MEASUREMENTS = {
    measurement.command: measurement
    for measurement in (
        _study("capture", ("capture_card",), ("capture",), *_TIMING),
        _study("bridge", ("bridge_card",), ("bridge",), *_TIMING),
        _study("filter", ("filter_card",), ("filter",), *_TIMING),
        _study("rpu", ("rpu_card",), ("rpu",), "sim/wire/*.h", *_FIRMWARE),
        _study("switch", ("switch_card",), ("switch",), "sim/wire/*.h"),
        _study("host", ("switch_card", "pcie_core"), ("switch",), *_HOST),
        _study("emulator", ("switch_card",), ("switch",), *_HOST, *_EMULATED, *_NODES),
        Measurement("bench filter", ("filter_card",), ("filter",), (f"{_BENCH}.filter.run",), _TIMING, _TABLES),
        Measurement("bench capture", ("capture_card",), ("capture",), (f"{_BENCH}.capture.run",), _TIMING, _TABLES),
        Measurement("bench bridge", ("bridge_card",), ("bridge",), (f"{_BENCH}.bridge.run",), _TIMING, _TABLES),
        Measurement(
            "bench rpu", ("rpu_card",), ("rpu",), (f"{_BENCH}.rpu.run",), ("sim/wire/*.h", *_FIRMWARE), _TABLES
        ),
        Measurement(
            "bench switch", ("switch_card",), ("switch",), (f"{_BENCH}.switch.run",), ("sim/wire/*.h",), _TABLES
        ),
        Measurement("bench conformance", ("switch_card",), ("switch",), (f"{_BENCH}.switch.conformance",), (), _TABLES),
        Measurement("bench host", ("switch_card", "pcie_core"), ("switch",), (f"{_BENCH}.host.run",), _HOST, _TABLES),
        Measurement(
            "bench emulator",
            ("switch_card", "link_card"),
            ("switch", "link"),
            (f"{_BENCH}.emulator.run",),
            (
                *_EMULATED,
                *_NODES,
                *(f"headrace/emulator/{name}.py" for name in ("cluster", "daemons", "remote", "share")),
            ),
            _TABLES,
        ),
        Measurement("bench size", ("bpf_core", "capture_engine"), (), (f"{_BENCH}.size.run",), (), _TABLES),
        Measurement("bench stream", _tops(STREAM_PARTS), (), (f"{_BENCH}.parts.stream",), (), _STREAM_PAGE),
        _fit("switch", ("switch_engine",)),
        _fit("host", ("host_engine", "pcie_core")),
        _fit("rpu", _tops(part[1:] for part in RPU_PARTS)),
        _fit("bridge", _tops((*BRIDGE_PARTS, BRIDGE_CONTROL))),
        _fit("stream", _tops(NARROW), _STREAM_PAGE),
        _fit("size", ("bpf_core", "filter_card", "capture_engine"), _TABLES),
        Measurement(
            "bench sim",
            ("filter_card", "switch_card", "nic_card", "rpu_card", "bridge_card"),
            ("filter", "switch", "nic", "rpu", "bridge"),
            (f"{_BENCH}.simulator.run",),
            ("sim/**/*.h", "sim/**/*.cpp"),
            _TABLES,
            assertions=True,
        ),
        Measurement(
            "bench live",
            ("filter_card", "capture_card"),
            ("filter", "capture"),
            (f"{_BENCH}.live.run",),
            ("sim/links/*",),
            _TABLES[:1],
        ),
        Measurement(
            "bench cost",
            ("filter_card",),
            ("filter",),
            (f"{_BENCH}.cost.run",),
            tuple(f"headrace/{room}/*.py" for room in ("build", "card", "registers")),
            _TABLES[:1],
            assertions=True,
        ),
    )
}


def fill(sources: Sources) -> tuple[list[str], list[str]]:
    """Fills all pages of a tree from its file of figures. Gives the pages that are others now, and what is wrong with
    the papers' statements, a line each. Raises HeadraceError."""
    pages = fill_pages(MEASUREMENTS.values(), sources)
    return pages, statements.refresh(sources.root)


def publish(
    measurement: Measurement,
    measured_on: str,
    values: Mapping[str, str | None],
    processor_s: float | None,
    folder: Path | None = None,
    figures: Mapping[str, str] | None = None,
) -> list[str]:
    """Writes values into the file of figures and all pages, and copies drawings, ``figures`` (names in ``folder`` and
    in docs/images), and the points that they show, study.json, into docs/points. ``processor_s``: that
    the measurement took, if that is known. Gives the papers' statements whose answers are others now, a line each.

    Raises HeadraceError where this is no checkout, or its sources have changed since they were ``measured_on``.
    """
    root = checkout()
    sources = Sources(root)
    if measurement.here(sources) != measured_on:
        raise HeadraceError("the sources have changed while they were measured: docs are left as they were")
    record(measurement, values, sources, processor_s)
    if figures:
        assert folder is not None
        kept = points(measurement, root)
        kept.parent.mkdir(exist_ok=True)
        shutil.copyfile(folder / POINTS, kept)
        _copy(figures, folder, root)
    return fill(sources)[1]


def points(measurement: Measurement, root: Path) -> Path:
    """The file of a study's points in the docs of a tree."""
    return root / f"docs/points/{measurement.command.replace(' ', '-')}.json"


def redraw(measurement: Measurement, source: Path, folder: Path, figures: Mapping[str, str]) -> None:
    """Copies drawings of a study's committed points, its ``source``, into docs/images; ``figures`` as ``publish`` has
    them. The file of figures stays: nothing was measured. Raises HeadraceError for other points."""
    root = checkout()
    if source.resolve() != points(measurement, root).resolve():
        raise HeadraceError(f"--update-docs draws {points(measurement, root).relative_to(root)}, not {source}", 2)
    _copy(figures, folder, root)


def _copy(figures: Mapping[str, str], folder: Path, root: Path) -> None:
    for name, shown in figures.items():
        shutil.copyfile(folder / f"{name}.svg", root / "docs/images" / f"{shown}.svg")
