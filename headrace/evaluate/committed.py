"""The figures that are committed, in the README and the manual, and what they are measured on."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from headrace.cards.bridge.host import PROFILES
from headrace.errors import HeadraceError
from headrace.evaluate import statements
from headrace.evaluate.bench.parts import STREAM_TOPS
from headrace.evaluate.loads import emulations, host_card
from headrace.evaluate.loads.bridge_traffic import SETUPS
from headrace.evaluate.measured import Measurement, checkout, update
from headrace.evaluate.study import (
    bridge_points,
    capture_points,
    emulator_page,
    emulator_points,
    filter_points,
    host_points,
    rpu_points,
    switch_points,
)
from headrace.evaluate.study.bridge_points import SEED_PARAMETERS

_BENCH = "headrace/evaluate/bench"
_LOADS = "headrace/evaluate/loads"
_TIMING = ("sim/memory/axi_memory.h", "sim/wire/*.h")  # host memory and MACs
_BRIDGE = (f"{_LOADS}/bridge*.py", *(f"headrace/cards/bridge/{name}.py" for name in ("host", "receive", "send")))
_RPU = (
    "sim/wire/*.h",
    f"{_LOADS}/rpu.py",
    *(f"headrace/cards/rpu/{name}.py" for name in ("driver", "program", "swap", "tables")),
    *(f"firmware/{files}" for files in ("include/*.h", "lib/*.[chS]", "programs/*.c")),
)
_SWITCH = (
    "sim/wire/*.h",
    *(f"{_LOADS}/{name}.py" for name in ("fir", "flow_sets", "openflow", "ovs_rates", "ovs_trace", "switch")),
    "headrace/net/ovs.py",
    "headrace/cards/switch/**/*.py",
)
_HOST = (
    *_TIMING,
    "sim/host/*",
    *(f"{_LOADS}/{name}.py" for name in ("host", "host_card", "pcie_link", "pcie_model")),
    *(f"headrace/card/functions/{name}.py" for name in ("engine", "plugs")),
)
_EMULATED = (
    *(f"headrace/emulator/{name}.py" for name in ("coverage", "linking", "scenario")),
    *(f"headrace/emulator/{room}/*.py" for room in ("movement", "radio")),
    f"{_LOADS}/coverage.py",
)
_NODES = (
    *(f"headrace/emulator/{name}.py" for name in ("world", "node", "wiring", "timeline")),
    *(f"headrace/emulator/{room}/*.py" for room in ("fabric", "processes")),
    f"{_LOADS}/emulator.py",
)
_SYNTH = ("headrace/synth/flow.py", "headrace/synth/yosys.py")
_TABLES = ("docs/performance.md", "README.md")


def _bridge_settings() -> object:
    return bridge_points.all_points(False), PROFILES, SETUPS, SEED_PARAMETERS


MEASUREMENTS = {
    measurement.command: measurement
    for measurement in (
        Measurement(
            "study capture",
            tops=("capture_card",),
            cards=("capture",),
            code=(*_TIMING, f"{_LOADS}/capture.py"),
            files=(
                "docs/study-capture.md",
                "docs/images/study-capture-time.svg",
                "docs/images/study-capture-streams.svg",
            ),
            settings=lambda: capture_points.all_points(False),
        ),
        Measurement(
            "study bridge",
            tops=("bridge_card",),
            cards=("bridge",),
            code=(*_TIMING, *_BRIDGE),
            files=(
                "docs/study-bridge.md",
                "docs/images/study-bridge-throughput.svg",
                "docs/images/study-bridge-timeouts.svg",
                "docs/images/study-bridge-adaptive.svg",
            ),
            settings=_bridge_settings,
        ),
        Measurement(
            "study filter",
            ("filter_card",),
            ("filter",),
            (*_TIMING, f"{_LOADS}/filter.py", *_SYNTH),
            ("docs/study-filter.md", "docs/images/study-filter-insertion.svg"),
            lambda: (filter_points.all_points(False), filter_points.WHOLE, filter_points.WIRE),
        ),
        Measurement("bench filter", ("filter_card",), ("filter",), (*_TIMING, f"{_BENCH}/filter.py"), _TABLES),
        Measurement(
            "bench capture",
            ("capture_card",),
            ("capture",),
            (*_TIMING, f"{_LOADS}/capture.py", f"{_BENCH}/capture.py"),
            _TABLES,
        ),
        Measurement(
            "bench bridge",
            ("bridge_card",),
            ("bridge",),
            (*_TIMING, *_BRIDGE, f"{_BENCH}/bridge.py", f"{_BENCH}/parts.py", *_SYNTH),
            _TABLES,
            _bridge_settings,
        ),
        Measurement(
            "study rpu",
            ("rpu_card",),
            ("rpu",),
            _RPU,
            ("docs/study-rpu.md", *(f"docs/images/study-rpu-{name}.svg" for name in ("forwarding", "crc", "stay"))),
            lambda: rpu_points.all_points(False),
        ),
        Measurement(
            "bench rpu",
            ("rpu_card",),
            ("rpu",),
            (*_RPU, f"{_BENCH}/rpu.py", *_SYNTH),
            _TABLES,
        ),
        Measurement(
            "study switch",
            ("switch_card",),
            ("switch",),
            (*_SWITCH, *_SYNTH),
            (
                "docs/study-switch.md",
                *(f"docs/images/study-switch-{name}.svg" for name in ("sizes", "connections", "small", "fir")),
            ),
            lambda: switch_points.all_points(False),
        ),
        Measurement(
            "bench switch",
            ("switch_card",),
            ("switch",),
            (
                *_SWITCH,
                f"{_LOADS}/switch_network.py",
                "headrace/evaluate/conformance/*.py",
                f"{_BENCH}/switch.py",
            ),
            _TABLES,
        ),
        Measurement(
            "bench conformance",
            ("switch_card",),
            ("switch",),
            ("headrace/cards/switch/**/*.py", "headrace/evaluate/conformance/*.py"),
            ("docs/performance.md",),
        ),
        Measurement(
            "study host",
            ("switch_card", "pcie_core"),
            ("switch",),
            (*_HOST, f"{_LOADS}/host_paths.py", "headrace/card/functions/vhost_user.py"),
            (
                "docs/study-host.md",
                *(f"docs/images/study-host-{name}.svg" for name in ("transfers", "windows", "links", "interrupts")),
            ),
            lambda: (host_points.all_points(False), host_card.parameters()),
        ),
        Measurement(
            "bench host",
            ("switch_card", "pcie_core"),
            ("switch",),
            (*_HOST, f"{_LOADS}/host_rings.py", f"{_BENCH}/host.py"),
            _TABLES,
            host_card.parameters,
        ),
        Measurement(
            "study emulator",
            ("switch_card",),
            ("switch",),
            (
                *_EMULATED,
                *_NODES,
                *_HOST,
                "headrace/card/functions/vhost_user.py",
                *(f"{_LOADS}/emulator_{name}.py" for name in ("card", "fabrics", "healing")),
                *(f"{_LOADS}/{name}.py" for name in ("fir", "host_paths", "ovs_rates", "switch")),
                "headrace/net/ovs.py",
            ),
            (
                "docs/study-emulator.md",
                *(f"docs/images/{name}.svg" for name in emulator_page.FIGURES.values()),
            ),
            lambda: (emulator_points.all_points(False), host_card.parameters()),
        ),
        Measurement(
            "bench emulator",
            ("switch_card", "link_card"),
            ("switch", "link"),
            (
                f"{_LOADS}/link.py",
                *_EMULATED,
                *_NODES,
                *(f"headrace/emulator/{name}.py" for name in ("cluster", "daemons", "remote", "share")),
                *(f"headrace/engines/{name}.py" for name in ("links", "netem")),
                *(f"{_LOADS}/{name}.py" for name in ("emulations", "emulator_daemons", "emulator_hosts")),
                f"{_BENCH}/emulator.py",
            ),
            _TABLES,
            lambda: emulations.SMALL,
        ),
        Measurement(
            "bench size",
            ("bpf_core", "capture_engine"),
            (),
            (f"{_BENCH}/size.py", *_SYNTH),
            _TABLES,
        ),
        *(
            Measurement(f"bench {group}", tops, (), (f"{_BENCH}/fit.py", *_SYNTH), ("docs/performance.md",))
            for group, tops in (("switch-fit", ("switch_engine",)), ("host-fit", ("host_engine", "pcie_core")))
        ),
        Measurement(
            "bench stream",
            STREAM_TOPS,
            (),
            (f"{_BENCH}/parts.py", *_SYNTH),
            ("docs/stream.md",),
        ),
        Measurement("bench sim", ("filter_card",), ("filter",), ("sim/**/*.h", "sim/**/*.cpp"), _TABLES),
        Measurement(
            "bench cost",
            ("filter_card",),
            ("filter",),
            (f"{_BENCH}/cost.py", *(f"headrace/{room}/*.py" for room in ("build", "card", "registers"))),
            ("docs/performance.md",),
        ),
    )
}


def publish(
    measurement: Measurement,
    measured_on: str,
    values: Mapping[str, str | None],
    folder: Path | None = None,
    figures: Mapping[str, str] | None = None,
) -> list[str]:
    """Writes values into the measurement's pages, and copies ``figures`` (names in ``folder`` and in docs/images).
    Gives the papers' statements whose answers are others now, a line each.

    Raises HeadraceError where this is no checkout, or its sources have changed since they were ``measured_on``.
    """
    root = checkout()
    if measurement.mark(root) != measured_on:
        raise HeadraceError("the sources have changed while they were measured: docs are left as they were")
    update(measurement, measured_on, values, root)
    for name, shown in (figures or {}).items():
        assert folder is not None
        shutil.copyfile(folder / f"{name}.svg", root / "docs/images" / f"{shown}.svg")
    return statements.refresh(root)
