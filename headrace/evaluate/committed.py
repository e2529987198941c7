"""The figures that are committed, in the README and the manual, and what they are measured on."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.evaluate import statements
from headrace.evaluate.bench.parts import STREAM_TOPS
from headrace.evaluate.figures import fill_pages, record
from headrace.evaluate.measured import Measurement, Sources, checkout

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


def _study(name: str, tops: tuple[str, ...], cards: tuple[str, ...], *files: str) -> Measurement:
    page = f"docs/study-{name}.md"
    return Measurement(f"study {name}", tops, cards, (f"{_STUDY}.{name}.measure",), files, (page,))


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
        Measurement(
            "bench conformance", ("switch_card",), ("switch",), (f"{_BENCH}.switch.conformance",), (), _TABLES[:1]
        ),
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
        Measurement("bench size", ("bpf_core", "capture_engine"), (), (f"{_BENCH}.size.run",), (), _TABLES, fit=True),
        Measurement("bench switch-fit", ("switch_engine",), (), (f"{_BENCH}.fit.run",), (), _TABLES[:1], fit=True),
        Measurement(
            "bench host-fit", ("host_engine", "pcie_core"), (), (f"{_BENCH}.fit.run",), (), _TABLES[:1], fit=True
        ),
        Measurement("bench stream", STREAM_TOPS, (), (f"{_BENCH}.parts.stream",), (), ("docs/stream.md",), fit=True),
        Measurement(
            "bench sim",
            ("filter_card",),
            ("filter",),
            (f"{_BENCH}.simulator.run",),
            ("sim/**/*.h", "sim/**/*.cpp"),
            _TABLES,
            assertions=True,
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
    folder: Path | None = None,
    figures: Mapping[str, str] | None = None,
) -> list[str]:
    """Writes values into the file of figures and all pages, and copies drawings, ``figures`` (names in ``folder`` and
    in docs/images). Gives the papers' statements whose answers are others now, a line each.

    Raises HeadraceError where this is no checkout, or its sources have changed since they were ``measured_on``.
    """
    root = checkout()
    sources = Sources(root)
    if measurement.here(sources) != measured_on:
        raise HeadraceError("the sources have changed while they were measured: docs are left as they were")
    record(measurement, values, sources)
    for name, shown in (figures or {}).items():
        assert folder is not None
        shutil.copyfile(folder / f"{name}.svg", root / "docs/images" / f"{shown}.svg")
    return fill(sources)[1]
