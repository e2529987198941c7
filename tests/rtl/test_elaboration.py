"""What the tools say before anything runs: lint of the parts, refused parameters of all, where memories end up."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from elaboration import modules, refusals
from rpu_fabric.building import BLOCKS as FABRIC
from simulation import RTL, lint, rtl
from soak import soak
from wrong_parameters import WRONG

from headrace import synth
from headrace.build.description import load_card
from headrace.build.lint import lint as lint_card
from headrace.registers.compile import generate_rtl

# With registers that are generated for a card
REGISTERED = (
    *("switch_control", "switch_engine", "host_control", "host_engine", "host_pcie", "nic_control", "nic_engine"),
    *("link_engine", "link_ports", "bridge_control", "bridge_status"),
)
LAYERS = ("memory", "stream", "switch", "host", "pcie", "nic", "link", "bridge", "rpu/accel")
PATHS = {path.stem: path for path in rtl(*LAYERS, "rpu") if not path.stem.endswith("_pkg")}
BLOCKS = [
    block
    for block, path in PATHS.items()
    if block not in REGISTERED and (path.parent != RTL / "rpu" or block in FABRIC)
]


def test_lint_is_clean() -> None:
    """Of blocks which no other of their layer consists of: what Verilator says of parts, it says of the whole, too."""
    parts = {part for block in BLOCKS for part in modules(block) - {block} if PATHS[part].parent == PATHS[block].parent}
    said = [message for block in BLOCKS if block not in parts and (message := lint(block))]
    assert not said, "\n".join(said)


@pytest.mark.soak
@pytest.mark.parametrize("block", BLOCKS)
def test_lint_of_a_block_by_itself_is_clean(block: str) -> None:
    assert not lint(block)


@pytest.mark.parametrize(
    ("block", "parameters"),
    [
        ("clock_gate", {"GATED": 1}),
        ("virtq_fetch", {"DATA_W": 128, "QUEUES": 3, "PAIRS": 3}),
        ("switch_parser", {"DATA_W": 128}),
        ("switch_parser", {"DATA_W": 512, "NARROW": 1}),
        ("packet_editor", {"DATA_W": 128, "NARROW": 1}),
        ("noc", {"DATA_W": 32, "SWITCHES": 1}),
        ("noc", {"DATA_W": 512, "SWITCHES": 3}),
        ("ethernet_block", {"DATA_W": 512}),
        ("functional_block", {"DATA_W": 32}),
        ("h2s", {"DATA_W": 32, "BUFFER_KB": 2, "EXPRESS_KB": 2, "BURST": 4, "HOST_BUFFERS": 2}),
        ("h2s", {"DATA_W": 512, "BUFFER_KB": 16, "EXPRESS_KB": 0, "BURST": 64}),
        ("s2h", {"DATA_W": 32, "BUFFER_KB": 2, "BURST": 4, "HOST_BUFFERS": 2}),
        ("s2h", {"DATA_W": 512, "BUFFER_KB": 64, "BURST": 64}),
        ("rpu_fabric", {"UNITS": 1, "DATA_W": 128}),
        soak("rpu_fabric", {"UNITS": 16, "DATA_W": 256}),
        soak("noc", {"SWITCHES": 16}),
    ],
    ids=str,
)
def test_lint_is_clean_where_the_structure_is_another(block: str, parameters: dict[str, int]) -> None:
    assert not lint(block, **parameters)


@pytest.mark.parametrize(
    ("card", "parameters"),
    [
        ("capture", {"CORES": 2}),
        ("switch", {"PORTS": 3, "TABLES": 2, "EXACT": 16, "TERNARY": 4, "METERS": 2, "DATA_W": 128, "NARROW": 1}),
        ("nic", {"PORTS": 1, "FUNCTIONS": 5, "PAIRS": 3, "DATA_W": 128}),
        ("link", {"DATA_W": 128, "SLOTS": 64}),
        soak("rpu", {"UNITS": 2, "FUNCTIONS": 1, "DATA_W": 128}),
        ("rpu", {"UNITS": 2, "FUNCTIONS": 3, "DATA_W": 128}),
    ],
    ids=str,
)
def test_lint_of_a_card_is_clean(card: str, parameters: dict[str, int]) -> None:
    assert not lint_card(load_card(card), parameters)


def test_the_function_engine_behind_pcie_is_clean(tmp_path: Path) -> None:
    registers = generate_rtl(RTL.parent / "regs" / "host.rdl", tmp_path)
    packages = [path for path in rtl("pcie", "host") if path.stem.endswith("_pkg")]
    assert not lint("host_pcie", [*registers, *packages], FUNCTIONS=3, PAIRS=2, DATA_W=512)


# Parameters of which every value goes: bits, and what is only told to software or decides which slots there are.
FREE = {
    "bridge_card": {"CRC_SLOTS"},
    "bridge_control": {"DATA_W", "SWITCHES", "H2S_KB", "EXPRESS_KB", "HOST_BUFFERS", "MAX_PACKET", "CRC_SLOTS"},
    "bridge_status": {"DATA_W", "SWITCHES", "H2S_KB", "EXPRESS_KB", "HOST_BUFFERS", "MAX_PACKET", "CRC_SLOTS"},
    "capture_control": {"MEM_W", "BURST", "CORES", "SLOTS"},
    "filter_control": {"DATA_W", "CORES", "IMEM_WORDS", "MAX_FRAME"},
    "switch_control": {
        *("PORTS", "TABLES", "EXACT", "TERNARY", "EFFECTS", "PROGRAM_WORDS", "GROUPS", "COUNTERS", "METERS", "NARROW"),
    },
    "host_control": {"FUNCTIONS", "PAIRS", "FIRST", "MAX_FRAME", "LONGEST_CUT", "FAULT_VECTOR", "WIPES"},
    "virtio_bus": {"HOST_BASE"},
    "virtio_capabilities": {"NEXT"},
    "virtio_registers": {"FAULT_VECTOR"},
    "virtio_window": {"NEXT"},
    "link_far": {"DATA_W", "FRAME_KB"},
    "link_release": {"DATA_W"},
    "nic_control": {"PORTS", "FUNCTIONS", "PAIRS", "STATIONS"},
    "rpu_control": {"DATA_W", "UNITS", "SLOTS", "IMEM_KB", "DMEM_KB", "PMEM_KB"},
    "rpu_unit_feed": {"COUNTED"},
    "rpu_port_tx": {"PORT"},
    "transmit_gather": {"JOBS"},
    "transmit_reads": {"JOBS"},
    "transmit_room": {"QUEUES", "JOBS", "CELLS"},
    "transmit_assemble": {"JOBS", "CELLS", "INDEX_W"},
    "transmit_sum": {"JOBS", "INDEX_W"},
    "used_join": {"ID_W", "FUNCTION_W", "ELEMENTS"},
    "transmit_verdict": {"QUEUES", "JOBS", "CELL_W", "INDEX_W", "MAX_FRAME"},
    "transmit_output": {"QUEUES", "JOBS", "CELLS", "INDEX_W"},
    "segment_cut": {"QUEUES", "MAX_FRAME"},
    "segment_emit": {"QUEUES"},
    "egress_queue": {"PORT"},
    "rpu_io": {"IMEM_KB", "DMEM_KB", "PMEM_KB", "BROADCAST_KB"},
    "noc": {"SINKS"},
    "noc_switch": {"SINKS"},
}
# Wholes whose parts have each of their parameters, by the same name.
COMPOSED = {
    "capture_avalon",
    "capture_filters",
    "host_engine",
    "host_pcie",
    "link_card",
    "link_direction",
    "link_engine",
    "link_ports",
    "nic_card",
    "nic_engine",
    "nic_path",
    "pcie_core",
    "pcie_functions",
    "rpu_engine",
    "host_rings",
    "rpu_unit",
    "switch_card",
    "switch_engine",
}


@pytest.mark.parametrize(("block", "parameters", "words"), [(b, p, w or tuple(p)) for b, p, *w in WRONG], ids=str)
def test_wrong_parameters_are_refused_with_a_reason(
    block: str, parameters: dict[str, int], words: Sequence[str]
) -> None:
    """By the block itself or by the part that can't have them."""
    found = refusals(block, **parameters)
    assert any(all(word in message for word in words) for message in found), found


BY_VERILATOR: list[tuple[str, dict[str, int], *tuple[str, ...]]] = [
    ("stream_fifo", {"DEPTH": 3}),
    ("byte_packer", {"MEM_W": 64, "IN_W": 128}, "IN_W"),  # one for the other
    ("stream_arbiter", {"INPUTS": 0}),  # a size of 0
    ("ram_fit", {"DEPTH": 0}, "ram_dist", "DEPTH"),  # by a part
    ("filter_card", {"CORES": 0}),  # by an engine, beside registers
    ("capture_card", {"CORES": 1, "PACKET_KB": 96}, "PACKET_KB"),  # by a part that is there with others only
]


@pytest.mark.parametrize(
    ("block", "parameters", "words"),
    [
        *((b, p, w or tuple(p)) for b, p, *w in BY_VERILATOR),
        *(soak(b, p, w or tuple(p)) for b, p, *w in WRONG if (b, p, *w) not in BY_VERILATOR),
    ],
    ids=str,
)
def test_verilator_refuses_them_too(block: str, parameters: dict[str, int], words: Sequence[str]) -> None:
    """It is what users build with."""
    card = block.removesuffix("_card")
    message = lint_card(load_card(card), parameters) if card != block else lint(block, **parameters)
    refused = [line for line in message.splitlines() if "USERFATAL" in line]
    assert any(all(word in line for word in words) for line in refused), message


def test_every_parameter_of_every_block_is_refused_somewhere_above() -> None:
    tried = {(block, name) for block, parameters, *_ in WRONG for name in parameters}
    missing = []
    for path in sorted(RTL.rglob("*.sv")):
        head = re.search(r"^module (\w+).*?^\);", path.read_text(), re.DOTALL | re.MULTILINE)
        for kind, name in re.findall(r"^ +parameter ([^=]*?)(\w+) =", head[0] if head else "", re.MULTILINE):
            free = kind.split()[0] == "bit" or name in FREE.get(path.stem, ()) or path.stem in COMPOSED
            if not free and (path.stem, name) not in tried:
                missing.append(f"{path.stem}: {name}")
    assert not missing
    assert all((RTL / "card" / f"{name}.sv").exists() or list(RTL.rglob(f"{name}.sv")) for name in [*FREE, *COMPOSED])


# The part of synthesis in which each finds its place, without the vendor's cells and gates
MEMORIES = {"xcup": ["-run", "prepare:fine"], "ecp5": ["-run", "coarse:map_gates"]}


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
        ("ternary_table", {"KEY_W": 40, "ENTRIES": 16}, "xcup", {"distributed", "block"}),
        ("ternary_table", {"KEY_W": 40, "ENTRIES": 16, "CHUNK_W": 4}, "ecp5", {"distributed", "block"}),
        ("packet_store", {"DATA_W": 128, "STORE_KB": 8}, "xcup", {"block"}),
        ("packet_store", {"DATA_W": 128, "STORE_KB": 8}, "ecp5", {"block"}),
        ("exact_table", {"KEY_W": 32}, "xcup", {"block"}),
        ("exact_table", {"KEY_W": 32}, "ecp5", {"block"}),
        ("link_direction", {"DATA_W": 128, "SLOTS": 1024}, "ecp5", {"distributed", "block"}),
        ("ram_fit", {"WIDTH": 64, "DEPTH": 32}, "ecp5", {"distributed"}),
        ("ram_fit", {"WIDTH": 64, "DEPTH": 64}, "ecp5", {"block"}),
        ("stream_reg", {"WIDTH": 64}, "ecp5", set()),
        ("stream_width", {"S_DATA_W": 64, "M_DATA_W": 16}, "ecp5", set()),
        ("stream_width", {"S_DATA_W": 16, "M_DATA_W": 64}, "ecp5", set()),
        ("stream_arbiter", {"DATA_W": 64}, "ecp5", set()),
        ("stream_broadcast", {"WIDTH": 64}, "ecp5", set()),
    ],
    ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),  # the same in each worker
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
    report = synth.run(block, target, parameters, pnr=False, hierarchy=False, flags=MEMORIES[target])
    assert set(report.memories.values()) == kinds
