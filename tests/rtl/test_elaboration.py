"""What the tools say before anything runs: lint of the parts, refused parameters of all, where memories end up."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from simulation import RTL, rtl

from headrace import synth
from headrace.build.description import load_card
from headrace.build.lint import lint as lint_card
from headrace.build.processor import vexriscv

LAYERS = ("pkg", "memory", "stream", "capture", "filter", "bridge", "rpu", "rpu/accel", "card")
BLOCKS = [path.stem for path in rtl("memory", "stream")]


def lint(block: str, **parameters: int) -> str:
    """What Verilator has to say about `block` with `parameters` and all warnings on; nothing if it is content."""
    verilator = shutil.which("verilator")
    assert verilator
    source = next(path for path in rtl(*LAYERS) if path.stem == block)
    text = source.read_text()
    engine = source.parent.name not in ("memory", "stream")  # whose parts may use any package
    packages = [path for path in rtl(*LAYERS) if path.stem.endswith("_pkg") and (engine or path.stem in text)]
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
        *([str(RTL / "rpu" / "vexriscv.vlt"), str(vexriscv())] if "VexRiscv" in text else []),
        str(source),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


@pytest.mark.parametrize("block", BLOCKS)
def test_lint_is_clean(block: str) -> None:
    assert not lint(block)


def test_the_capture_card_with_filters_is_clean() -> None:
    assert not lint_card(load_card("capture"), {"CORES": 2})


WRONG: list[tuple[str, dict[str, int], *tuple[str, ...]]] = [
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
    ("noc", {"DATA_W": 48}),
    ("noc", {"DATA_W": 16}),
    ("noc", {"SWITCHES": 0}),
    ("noc", {"SWITCHES": 17}),
    ("noc_pack", {"DATA_W": 1024}),
    ("noc_unpack", {"DATA_W": 16}),
    ("noc_unpack", {"MAX_PACKET": 0}),
    ("noc_unpack", {"MAX_PACKET": 65536}),
    ("idp_table", {"ENTRIES": 0}),
    ("idp_table", {"ENTRIES": 9}),
    ("ethernet_block", {"DATA_W": 96}),
    ("ethernet_block", {"STORE_KB": 48}),
    ("ethernet_block", {"STORE_KB": 2}),
    ("functional_block", {"KIND": 2}),
    ("functional_block", {"STORE_KB": 1}),
    ("functional_block", {"STORE_KB": 12}),
    ("packet_fifo", {"DEPTH": 2**21}),
    ("stream_contract", {"DATA_W": 12}),
    ("offer_contract", {"WIDTH": 0}),
    ("stream_queue", {"WIDTH": 0}),
    ("stream_cdc_fifo", {"SYNC_STAGES": 1}),
    ("cdc_sync", {"WIDTH": 0}),
    ("fifo_store", {"WIDTH": 0}),
    ("fifo_store", {"DEPTH": 0}),
    ("ram_dist", {"WIDTH": 0}),
    ("ram_dist", {"DEPTH": 0}),
    ("ram_sdp", {"WIDTH": 0}),
    ("ram_sdp", {"DEPTH": 0}),
    ("axil_demux", {"BLOCKS": 0}),
    ("axil_demux", {"BASES": 1}),
    ("axi_reader", {"LEN_W": 11}),
    ("axi_to_avalon", {"READS": 3}),
    ("axi_to_avalon", {"WRITES": 1}),
    ("record_builder", {"MEM_W": 48}),
    ("ring_planner", {"MEM_W": 2048}),
    ("ring_writer", {"MEM_W": 16}),
    ("byte_packer", {"MEM_W": 8}),
    ("byte_packer", {"MEM_W": 64, "IN_W": 128}, "IN_W"),
    ("capture_engine", {"BURST": 0}),
    ("capture_engine", {"SLOTS": 12}),
    ("capture_engine", {"RECORDS": 2}),
    ("capture_engine", {"READ_BUFFER": 8}),
    ("bpf_core", {"DATA_W": 64}),
    ("bpf_core", {"DATA_W": 384}),
    ("bpf_core", {"PACKET_KB": 96}),
    ("bpf_core", {"IMEM_WORDS": 1}),
    ("bpf_core", {"IMEM_WORDS": 65536}),
    ("bpf_core", {"MAX_FRAME": 0}),
    ("bpf_core", {"MAX_FRAME": 131072}),
    ("bpf_core", {"PACKET_KB": 64}, "ROWS must be 1.5 times"),
    ("bpf_execute", {"IMEM_WORDS": 1}),
    ("bpf_fetch", {"IMEM_WORDS": 1}),
    ("bpf_fetch", {"IMEM_WORDS": 65536}),
    ("bpf_execute", {"ADDR_W": 14}),
    ("bpf_execute", {"BANK_W": 1}),
    ("bpf_packet_memory", {"DATA_W": 192}),
    ("bpf_packet_memory", {"ROWS": 100}),
    ("bpf_queue", {"DATA_W": 96}),
    ("bpf_queue", {"ROWS": 1536}),
    ("bpf_queue", {"ROWS": 1024}),
    ("bpf_queue", {"MAX_FRAME": 0}),
    ("filter_dispatch", {"CORES": 0}),
    ("filter_dispatch", {"CORES": 65}),
    ("filter_order", {"CORES": 0}),
    ("filter_monitor", {"CORES": 65}),
    ("filter_monitor", {"DATA_W": 96}),
    ("filter_monitor", {"STORE_KB": 3}),
    ("filter_tap", {"CORES": 0}),
    ("filter_tap", {"DATA_W": 48}),
    ("filter_tap", {"MAX_FRAME": 131072}),
    ("measure_counters", {"BYTES_W": 65}),
    ("filter_engine", {"DATA_W": 64}),
    ("filter_engine", {"CORES": 65}),
    ("filter_engine", {"PACKET_KB": 96}),
    ("filter_engine", {"IMEM_WORDS": 65536}),
    ("filter_engine", {"MAX_FRAME": 131072}),
    ("adaptive_batching", {"DEPTH": 6}),
    ("block_crc32", {"DATA_W": 96}),
    ("block_generic", {"DATA_W": 16}),
    ("block_store", {"DATA_W": 12}),
    ("block_store", {"STORE_KB": 3}),
    ("block_store", {"MAX_PACKET": 60000}),
    ("functional_block", {"DATA_W": 96}),
    ("functional_block", {"MAX_PACKET": 60000}),
    ("ethernet_block", {"MAX_PACKET": 65536}),
    ("ethernet_rx", {"DATA_W": 96}),
    ("ethernet_rx", {"STORE_KB": 48}),
    ("ethernet_rx", {"MAX_PACKET": 0}),
    ("ethernet_rx", {"MAX_PACKET": 32768}),
    ("ethernet_tx", {"DATA_W": 96}),
    ("ethernet_tx", {"MAX_PACKET": 65536}),
    ("noc", {"SOFTWARE": 4}),
    ("noc_route", {"DATA_W": 96}),
    ("noc_switch", {"DATA_W": 96}),
    ("noc_switch", {"SWITCHES": 17}),
    ("noc_switch", {"ID": 2}),
    ("noc_switch", {"SOFTWARE": 4}),
    ("h2s", {"DATA_W": 96}),
    ("h2s", {"BUFFER_KB": 3}),
    ("h2s", {"BUFFER_KB": 256}),
    ("h2s", {"EXPRESS_KB": 1}),
    ("h2s", {"EXPRESS_KB": 128}),
    ("h2s", {"MAX_PACKET": 0}),
    ("h2s", {"MAX_PACKET": 5000}),
    ("h2s", {"BURST": 1}),
    ("h2s", {"BURST": 128, "DATA_W": 512}, "BURST"),
    ("h2s", {"HOST_BUFFERS": 3}),
    ("h2s", {"HOST_BUFFERS": 32}),
    ("h2s_lane", {"DATA_W": 2048}),
    ("h2s_lane", {"BUFFER_KB": 1}),
    ("h2s_lane", {"MAX_PACKET": 9216, "BUFFER_KB": 4}),
    ("h2s_lane", {"BATCHES": 3}),
    ("h2s_mailbox", {"DATA_W": 96}),
    ("h2s_mailbox", {"BURST": 1}),
    ("h2s_mailbox", {"HOST_BUFFERS": 3}),
    ("h2s_mailbox", {"ADDR_W": 16}),
    ("h2s_writer", {"DATA_W": 96}),
    ("h2s_writer", {"COUNT": 3}),
    ("s2h", {"DATA_W": 96}),
    ("s2h", {"BUFFER_KB": 3}),
    ("s2h", {"BUFFER_KB": 1}),
    ("s2h", {"MAX_PACKET": 63}),
    ("s2h", {"BURST": 1}),
    ("s2h", {"BURST": 128, "DATA_W": 512}, "BURST"),
    ("s2h", {"HOST_BUFFERS": 3}),
    ("s2h_fetch", {"DATA_W": 96}),
    ("s2h_fetch", {"ROW_W": 4}),
    ("s2h_fetch", {"BURST": 3}),
    ("s2h_fetch", {"HOST_BUFFERS": 1}),
    ("s2h_send", {"DATA_W": 96}),
    ("s2h_send", {"ADDR_W": 16}),
    ("s2h_send", {"MAX_PACKET": 63}),
    ("word_buffer", {"DATA_W": 48}),
    ("word_buffer", {"WORDS": 100}),
    ("word_buffer", {"READ_LATENCY": 3}),
    ("capture_direct", {"DATA_W": 12}),
    ("capture_direct", {"PORTS": 0}),
    ("filter_card", {"DATA_W": 64}),
    ("filter_card", {"CORES": 0}),
    ("filter_card", {"PACKET_KB": 96}),
    ("filter_card", {"IMEM_WORDS": 65536}),
    ("filter_card", {"MAX_FRAME": 131072}),
    ("capture_card", {"DATA_W": 48}),
    ("capture_card", {"MEM_W": 48}),
    ("capture_card", {"BURST": 0}),
    ("capture_card", {"CORES": 65}),
    ("capture_card", {"READ_BUFFER": 8}),
    ("capture_card", {"SLOTS": 12}),
    ("capture_card", {"STORE_KB": 3}),
    ("capture_card", {"CORES": 1, "PACKET_KB": 96}, "PACKET_KB"),
    ("capture_card", {"CORES": 1, "IMEM_WORDS": 65536}, "IMEM_WORDS"),
    ("capture_card", {"CORES": 1, "MAX_FRAME": 131072}, "MAX_FRAME"),
    ("bridge_card", {"DATA_W": 96}),
    ("bridge_card", {"SWITCHES": 5}),
    ("bridge_card", {"H2S_KB": 3}, "h2s: BUFFER_KB"),
    ("bridge_card", {"EXPRESS_KB": 1}),
    ("bridge_card", {"S2H_KB": 3}, "s2h: BUFFER_KB"),
    ("bridge_card", {"STORE_KB": 3}),
    ("bridge_card", {"SLOT_KB": 3}, "block_store: STORE_KB"),
    ("bridge_card", {"BURST": 1}),
    ("bridge_card", {"MAX_PACKET": 65536}),
    ("rpu_flow_key", {"DATA_W": 96}),
    ("rpu_flow_target", {"UNITS": 17}),
    ("rpu_ingress", {"DATA_W": 64}),
    ("rpu_ingress", {"UNITS": 0}),
    ("rpu_ingress", {"PORT": 4}),
    ("rpu_ingress", {"STORE_KB": 3}),
    ("rpu_slot_book", {"SLOTS": 33}),
    ("rpu_policy", {"UNITS": 17}),
    ("rpu_policy", {"HEADS": 1}),
    ("rpu_source_head", {"DATA_W": 1024}),
    ("rpu_source_head", {"UNITS": 0}),
    ("rpu_parking", {"DATA_W": 12}),
    ("rpu_parking", {"STORE_KB": 0}),
    ("rpu_unit_feed", {"HEADS": 9}),
    ("rpu_unit_feed", {"DATA_W": 12}),
    ("rpu_unit_feed", {"USER_W": 0}),
    ("rpu_unit_feed", {"DEPTH": 3}),
    ("rpu_from_units", {"DATA_W": 96}),
    ("rpu_from_units", {"UNITS": 17}),
    ("rpu_fabric", {"DATA_W": 64}),
    ("rpu_fabric", {"UNITS": 17}),
    ("rpu_fabric", {"SLOTS": 33}),
    ("rpu_fabric", {"STORE_KB": 3}),
    ("ram_sdp_strb", {"WIDTH": 12}),
    ("ram_sdp_strb", {"DEPTH": 0}),
    ("rpu_memory", {"DATA_W": 96}),
    ("rpu_memory", {"LINES": 100}),
    ("rpu_memory", {"WRITERS": 0}),
    ("rpu_memory", {"READERS": 0}),
    ("rpu_reader", {"DATA_W": 96}),
    ("rpu_reader", {"USER_W": 0}),
    ("rpu_writer", {"DATA_W": 96}),
    ("rpu_writer", {"PMEM_KB": 48}),
    ("rpu_writer", {"SLOTS": 24}),
    ("rpu_transmit", {"DATA_W": 96}),
    ("rpu_transmit", {"DMEM_KB": 48}),
    ("rpu_transmit", {"PMEM_KB": 48}),
    ("rpu_transmit", {"SLOTS": 33}),
    ("rpu_bus", {"DATA_W": 96}),
    ("rpu_bus", {"DMEM_KB": 48}),
    ("rpu_bus", {"PMEM_KB": 48}),
    ("rpu_bus", {"BROADCAST_KB": 64}),
    ("rpu_io", {"SLOTS": 33}),
    ("rpu_io", {"SEND_DEPTH": 12}),
    ("rpu_broadcast", {"UNITS": 17}),
    ("rpu_accelerator", {"DATA_W": 96, "KIND": 1}, "DATA_W"),
    ("rpu_accelerator", {"KIND": 5}),
    ("rpu_accel_shell", {"DATA_W": 96, "KIND": 1}, "DATA_W"),
    ("rpu_accel_shell", {"KIND": 6}),
    ("rpu_accel_kind", {"DATA_W": 96, "KIND": 1}, "DATA_W"),
    ("rpu_accel_kind", {"KIND": 0}),
    ("accel_jobs", {"DATA_W": 96}),
    ("accel_jobs", {"DATA_W": 1024}),
    ("accel_jobs", {"TAG_W": 0}),
    ("accel_jobs", {"JOBS": 2}),
    ("accel_jobs", {"JOBS": 12}),
    ("accel_results", {"IDENTIFICATION": 0}),
    ("accel_results", {"JOBS": 256}),
    ("accel_crc32", {"DATA_W": 64}),
    ("accel_checksum", {"DATA_W": 384}),
    ("accel_matcher", {"DATA_W": 64}),
    ("accel_matcher", {"ROWS": 100}),
    ("accel_matcher", {"ROWS": 8192}),
    ("accel_matcher", {"MATCHES": 8}),
    ("matcher_filter", {"DATA_W": 96}),
    ("matcher_lookup", {"ROWS": 32}),
    ("matcher_compare", {"ROWS": 8192}),
    ("accel_blacklist", {"DATA_W": 64}),
    ("accel_blacklist", {"CAPACITY": 128}),
    ("accel_blacklist", {"CAPACITY": 4096}),
    ("accel_blacklist", {"CAPACITY": 1050}),
    ("rpu_core", {"IMEM_KB": 48}),
    ("rpu_card", {"UNITS": 1, "DATA_W": 96}, "DATA_W"),
    ("rpu_card", {"UNITS": 17}),
    ("rpu_card", {"UNITS": 1, "SLOTS": 33}, "SLOTS"),
    ("rpu_card", {"UNITS": 1, "IMEM_KB": 48}, "IMEM_KB"),
    ("rpu_card", {"UNITS": 1, "DMEM_KB": 48}, "DMEM_KB"),
    ("rpu_card", {"UNITS": 1, "PMEM_KB": 48}, "PMEM_KB"),
    ("rpu_card", {"UNITS": 1, "STORE_KB": 3}, "STORE_KB"),
    ("rpu_card", {"UNITS": 1, "ACCELERATORS_LOW": 5}, "KIND"),
    ("rpu_card", {"UNITS": 9, "ACCELERATORS_HIGH": 5}, "KIND"),
]

# Parameters of which every value goes: bits, and what is only told to software or decides which slots there are.
FREE = {
    "bridge_card": {"CRC_SLOTS"},
    "bridge_control": {"DATA_W", "SWITCHES", "H2S_KB", "EXPRESS_KB", "HOST_BUFFERS", "MAX_PACKET", "CRC_SLOTS"},
    "bridge_status": {"DATA_W", "SWITCHES", "H2S_KB", "EXPRESS_KB", "HOST_BUFFERS", "MAX_PACKET", "CRC_SLOTS"},
    "capture_control": {"MEM_W", "BURST", "CORES", "SLOTS"},
    "filter_control": {"DATA_W", "CORES", "IMEM_WORDS", "MAX_FRAME"},
    "rpu_control": {"DATA_W", "UNITS", "SLOTS", "IMEM_KB", "DMEM_KB", "PMEM_KB"},
    "rpu_io": {"IMEM_KB", "DMEM_KB", "PMEM_KB", "BROADCAST_KB"},
    "noc": {"SINKS"},
    "noc_switch": {"SINKS"},
}
# Wholes whose parts have each of their parameters, by the same name.
COMPOSED = {"capture_avalon", "capture_filters", "rpu_engine", "rpu_unit"}


@pytest.mark.parametrize(("block", "parameters", "words"), [(b, p, w or tuple(p)) for b, p, *w in WRONG], ids=str)
def test_wrong_parameters_are_refused_with_a_reason(
    block: str, parameters: dict[str, int], words: Sequence[str]
) -> None:
    """By the block itself or by the part that can't have them."""
    card = block.removesuffix("_card")
    message = lint_card(load_card(card), parameters) if card != block else lint(block, **parameters)
    refusals = [line for line in message.splitlines() if "USERFATAL" in line]
    assert any(all(word in line for word in words) for line in refusals), message


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
