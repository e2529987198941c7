"""What the tools say of stream parts and the capture engine: lint, refused parameters, where memories end up."""

import shutil
import subprocess
from pathlib import Path

import pytest
from simulation import RTL, rtl

from headrace import synth
from headrace.build.description import load_card
from headrace.build.lint import lint as lint_card

LAYERS = ("memory", "stream", "capture")
BLOCKS = [path.stem for path in rtl("memory", "stream")]


def lint(block: str, **parameters: int) -> str:
    """What Verilator has to say about `block` with `parameters` and all warnings on; nothing if it is content."""
    verilator = shutil.which("verilator")
    assert verilator
    source = next(path for path in rtl(*LAYERS) if path.stem == block)
    packages = [
        path for path in rtl("pkg", "capture") if path.stem.endswith("_pkg") and path.stem in source.read_text()
    ]
    command = [
        verilator,
        "--lint-only",
        "-Wall",
        "-Wno-PINCONNECTEMPTY",
        "--top-module",
        block,
        *(f"-I{RTL / layer}" for layer in LAYERS),
        *(f"-G{name}={value}" for name, value in parameters.items()),
        *map(str, packages),
        str(source),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


@pytest.mark.parametrize("block", BLOCKS)
def test_lint_is_clean(block: str) -> None:
    assert not lint(block)


def test_the_capture_card_with_filters_is_clean() -> None:
    assert not lint_card(load_card("capture"), {"CORES": 2})


@pytest.mark.parametrize(
    ("block", "parameters"),
    [
        ("stream_reg", {"WIDTH": 0}),
        ("stream_fifo", {"WIDTH": 0}),
        ("stream_fifo", {"DEPTH": 3}),
        ("stream_fifo", {"DEPTH": 2**20 + 1}),
        ("packet_fifo", {"DATA_W": 12}),
        ("packet_fifo", {"DATA_W": 0}),
        ("packet_fifo", {"USER_W": 0}),
        ("packet_fifo", {"DEPTH": 2}),
        ("packet_fifo", {"DEPTH": 100}),
        ("stream_width", {"S_DATA_W": 96, "M_DATA_W": 64}),
        ("stream_width", {"S_DATA_W": 64, "M_DATA_W": 4}),
        ("stream_width", {"USER_W": 0}),
        ("stream_arbiter", {"INPUTS": 0}),
        ("stream_arbiter", {"DATA_W": 20}),
        ("stream_arbiter", {"USER_W": 0}),
        ("stream_broadcast", {"WIDTH": 0}),
        ("stream_broadcast", {"OUTPUTS": 0}),
        ("cdc_sync", {"STAGES": 1}),
        ("stream_cdc_fifo", {"WIDTH": 0}),
        ("stream_cdc_fifo", {"DEPTH": 24}),
        ("stream_cdc_fifo", {"DEPTH": 2}),
        ("stream_queue", {"DEPTH": 6}),
        ("stream_queue", {"DEPTH": 1}),
        ("axi_reader", {"MEM_W": 24}),
        ("axi_reader", {"MEM_W": 2048}),
        ("axi_reader", {"BURST": 0}),
        ("axi_reader", {"BURST": 257}),
        ("axi_reader", {"BUFFER": 8}),
        ("stream_elastic", {"DATA_W": 20}),
        ("stream_elastic", {"USER_W": 0}),
        ("stream_elastic", {"DEPTH": 100}),
        ("stream_elastic", {"CROSSING": 8}),
        ("axi_reader", {"COMMANDS": 2}),
        ("axil_ports", {"ADDR_W": 0}),
        ("descriptor_fetch", {"SLOTS": 2}),
        ("descriptor_fetch", {"SLOTS": 12}),
        ("descriptor_fetch", {"MEM_W": 512, "SLOTS": 4}),
        ("capture_engine", {"MEM_W": 16}),
        ("capture_engine", {"MEM_W": 96}),
        ("ring_writer", {"RECORDS": 2}),
        ("ring_planner", {"BURST": 0}),
        ("ring_planner", {"BURST": 300}),
        ("port_store", {"DATA_W": 48}),
        ("port_store", {"STORE_KB": 3}),
        ("port_store", {"STORE_KB": 2048}),
        ("axil_ports", {"ADDR_W": 33}),
        ("axi_ports", {"MEM_W": 48}),
        ("axi_ports", {"MEM_W": 2048}),
        ("axi_to_avalon", {"MEM_W": 8}),
        ("axi_to_avalon", {"MEM_W": 96}),
        ("axi_to_avalon", {"ADDR_W": 2}),
        ("axi_to_avalon", {"ADDR_W": 65}),
        ("axi_to_avalon", {"BURST": 0}),
        ("axi_to_avalon", {"BURST": 512}),
        ("axi_to_avalon", {"READ_BUFFER": 8}),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_with_a_reason(block: str, parameters: dict[str, int]) -> None:
    message = lint(block, **parameters)
    assert f"{block}: " in message and all(name in message for name in parameters), message


@pytest.mark.parametrize(
    ("block", "parameters", "target", "kinds"),
    [
        ("stream_fifo", {"WIDTH": 64, "DEPTH": 64}, "xcup", {"distributed"}),
        ("stream_fifo", {"WIDTH": 64, "DEPTH": 64}, "ecp5", {"distributed"}),
        ("stream_fifo", {"WIDTH": 64, "DEPTH": 100}, "xcup", {"block"}),
        ("stream_fifo", {"WIDTH": 64, "DEPTH": 100}, "ecp5", {"block"}),
        ("stream_queue", {"WIDTH": 64, "DEPTH": 32}, "xcup", {"distributed"}),
        ("stream_queue", {"WIDTH": 64, "DEPTH": 32}, "ecp5", {"distributed"}),
        ("packet_fifo", {"DATA_W": 64, "DEPTH": 256}, "ecp5", {"block"}),
        ("stream_cdc_fifo", {"WIDTH": 64, "DEPTH": 16}, "ecp5", {"distributed"}),
        ("stream_reg", {"WIDTH": 64}, "ecp5", set()),
        ("stream_width", {"S_DATA_W": 64, "M_DATA_W": 16}, "ecp5", set()),
        ("stream_width", {"S_DATA_W": 16, "M_DATA_W": 64}, "ecp5", set()),
        ("stream_arbiter", {"DATA_W": 64}, "ecp5", set()),
        ("stream_broadcast", {"WIDTH": 64}, "ecp5", set()),
    ],
    ids=str,
)
def test_memories_become_what_they_should(
    block: str,
    parameters: dict[str, int],
    target: str,
    kinds: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    report = synth.run(block, target, parameters, pnr=False, hierarchy=False)
    assert set(report.memories.values()) == kinds
