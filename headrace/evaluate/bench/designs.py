"""The designs and parts whose size and Fmax are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.evaluate.study.filter_points import WHOLE, WIRE
from headrace.evaluate.study.switch_published import KEY_BITS, cam_bits
from headrace.synth.placement import ROUTERS, SPEED_GRADES

Part = tuple[str, Mapping[str, int]]  # a module and its parameters

_BRAM36_BITS = 36_864
_ENDS = (SPEED_GRADES[0], SPEED_GRADES[-1])  # both of which ECP5s with the SERDES of PCI Express come in

STREAM_PARTS: tuple[Part, ...] = (
    ("stream_reg", {"WIDTH": 577}),
    ("stream_fifo", {"WIDTH": 577, "DEPTH": 32}),
    ("stream_fifo", {"WIDTH": 577, "DEPTH": 512}),
    ("stream_queue", {"WIDTH": 577, "DEPTH": 32}),
    ("packet_fifo", {"DATA_W": 512, "USER_W": 33, "DEPTH": 512}),
    ("packet_fifo", {"DATA_W": 512, "USER_W": 33, "DEPTH": 512, "DROP_WHEN_FULL": 0}),
    ("stream_width", {"S_DATA_W": 512, "M_DATA_W": 128}),
    ("stream_width", {"S_DATA_W": 128, "M_DATA_W": 512}),
    ("stream_arbiter", {"INPUTS": 4, "DATA_W": 512}),
    ("stream_broadcast", {"WIDTH": 577, "OUTPUTS": 3}),
    ("stream_cdc_fifo", {"WIDTH": 577, "DEPTH": 16}),
    ("stream_elastic", {"DATA_W": 512, "DEPTH": 512}),
)
NARROW: tuple[Part, ...] = (
    ("stream_reg", {"WIDTH": 73}),
    ("stream_width", {"S_DATA_W": 16, "M_DATA_W": 64}),
    ("stream_broadcast", {"WIDTH": 73, "OUTPUTS": 3}),
    ("stream_width", {"S_DATA_W": 64, "M_DATA_W": 16}),
    ("stream_cdc_fifo", {"WIDTH": 73, "DEPTH": 16}),
    ("stream_fifo", {"WIDTH": 73, "DEPTH": 32}),
    ("stream_arbiter", {"INPUTS": 4, "DATA_W": 64}),
    ("stream_queue", {"WIDTH": 73, "DEPTH": 32}),
    ("packet_fifo", {"DATA_W": 64, "DEPTH": 512}),
    ("stream_fifo", {"WIDTH": 73, "DEPTH": 512}),
)
BRIDGE_PARTS: tuple[Part, ...] = (
    ("h2s", {"DATA_W": 64}),
    ("s2h", {"DATA_W": 64}),
    ("noc", {"DATA_W": 64}),
    ("functional_block", {"DATA_W": 64}),
    ("adaptive_batching", {}),
    ("traffic_analyser", {}),
)
BRIDGE_CONTROL: Part = ("bridge_control", {"DATA_W": 32, "EXPRESS_KB": 0})
"""Registers and interrupts, which EmbedNet's counts do without."""
ENGINE = {"MEM_W": 32, "SLOTS": 8, "READ_BUFFER": 32, "RECORDS": 32}
"""bpfcap's engine."""
ECP5_UNIT = {"DATA_W": 128, "IMEM_KB": 8, "PMEM_KB": 16, "SLOTS": 8, "BUS_REGS": 1}
"""A unit that fits an ECP5 with others: 128 bits, and registers where its routing is slow."""
RPU_PARTS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("a unit of 512 bits, 1 MB of packet memory", "rpu_unit", {}),
    ("its core, with debug port and instruction memory", "rpu_core", {}),
    ("balancer and fabric of eight units, 512 bits", "rpu_fabric", {}),
    ("a unit of 128 bits, 16 KB of packet memory", "rpu_unit", ECP5_UNIT),
)


@dataclass(frozen=True)
class Design:
    """A design to synthesise, and to place where ``least_mhz`` says what its Fmax must be; 0: nothing is demanded.
    ``beside``: what stands beside its figures; ``boundaries``: levels that aren't flattened; ``router``: nextpnr's;
    ``seeds``: that it places with, a single one where it takes an hour; ``grades``: that it is placed on, the slowest
    first."""

    what: str
    module: str
    target: str
    parameters: dict[str, int] = field(default_factory=dict)
    least_mhz: float | None = None
    beside: str = ""
    boundaries: int = 0
    router: str = ROUTERS[0]
    seeds: int = 3
    grades: tuple[str, ...] = SPEED_GRADES[:1]

    def command(self, grade: str = SPEED_GRADES[0]) -> str:
        """That repeats it."""
        options = f" --boundaries {self.boundaries}" * bool(self.boundaries)
        options += f" --router {self.router}" * (self.router != ROUTERS[0])
        options += f" --seeds {self.seeds}" * (self.seeds != 3)
        options += f" --speed-grade {grade}" * (grade != SPEED_GRADES[0])
        options += " --no-pnr" * (self.target == "ecp5" and self.least_mhz is None)
        return synth_command(self.module, self.parameters, f" --target {self.target}{options}")


def _cam(entries: int) -> str:
    return f"a CAM by the thesis' formula {cam_bits(entries, 5) / _BRAM36_BITS:,.0f}"


def _functions(count: int, target: str) -> Design:
    """Too large to be flattened in whole."""
    parameters = {"FUNCTIONS": count}
    if target == "xcup":
        return Design(f"function engine, {count} functions, 512 bits", "host_engine", target, parameters, boundaries=1)
    parameters |= {"DATA_W": 128, "STORE_KB": 32, "SEGMENT": 0}
    what = f"function engine, {count} functions, 128 bits"
    if count > 16:
        return Design(what, "host_engine", target, parameters, boundaries=1)
    return Design(what, "host_engine", target, parameters, least_mhz=100, boundaries=1, seeds=1, grades=_ENDS)


SWITCH = (
    Design("exact part of a table, 4,096 entries of 264 bits", "exact_table", "xcup",
           {"KEY_W": KEY_BITS, "ENTRIES": 4096}, beside=_cam(4096)),
    Design("ternary part of a table, 128 entries of 264 bits", "ternary_table", "xcup",
           {"KEY_W": KEY_BITS, "ENTRIES": 128, "CHUNK_W": 5}, beside=_cam(128)),
    # A pipeline that fits an ECP5: without custom actions, for its LUTs and multipliers; 4 KB a port each way, for its
    # 208 block RAMs; its LUTs are RAMs of 16 words.
    Design("the switch's whole pipeline, 256 bits", "switch_engine", "ecp5",
           {"PORTS": 2, "DATA_W": 256, "TABLES": 1, "EXACT": 256, "TERNARY": 16, "CHUNK_W": 4, "NARROW": 1,
            "CUSTOM": 0, "PROGRAM_WORDS": 1024, "COUNTERS": 512, "METERS": 16, "STORE_KB": 4},
           least_mhz=80, router=ROUTERS[1], seeds=1),
)  # fmt: skip
HOST = (
    _functions(16, "xcup"),
    _functions(256, "xcup"),
    _functions(16, "ecp5"),
    _functions(256, "ecp5"),
    Design("PCI Express transactions, 256 bits", "pcie_core", "xcup"),
    Design("PCI Express transactions, 128 bits", "pcie_core", "ecp5", {"DATA_W": 128}, least_mhz=100, grades=_ENDS),
)


def _placed(parts: tuple[Part, ...]) -> tuple[Design, ...]:
    """Their Fmax, of which nothing is demanded."""
    return tuple(Design(called(*part), part[0], "ecp5", dict(part[1]), least_mhz=0) for part in parts)


def _sized(parts: tuple[Part, ...]) -> tuple[Design, ...]:
    return tuple(Design(called(*part), part[0], "xcup", dict(part[1])) for part in parts)


def synth_command(module: str, parameters: Mapping[str, int], options: str = "") -> str:
    """What synthesises a part with ``options``, each with a space before it."""
    return f"headrace synth {module}{options}" + "".join(f" -P {name}={value}" for name, value in parameters.items())


def called(module: str, parameters: Mapping[str, int]) -> str:
    """A part, as rows name it."""
    return " ".join([f"`{module}`", *(f"{name}={value}" for name, value in parameters.items())])


# FFShark's core (github.com/UofT-HPRC/fpga-bpf, 512-bit ingest) on the same Yosys 0.70 and nextpnr.
FFSHARK_LUT4, FFSHARK_MHZ = 8277, 46.1
FILTER_CORE = Design(
    "filter core of 32 KB", "bpf_core", "ecp5", WIRE, least_mhz=100, seeds=5,
    beside=f"FFShark {FFSHARK_LUT4:,} LUT4, {FFSHARK_MHZ} MHz",
)  # fmt: skip
_FFSHARK_CARD = "FFShark 56,250 LUTs, 72,509 flip-flops, 251 BRAM36 by Vivado"
SIZE = (
    FILTER_CORE,
    Design("filter card with six cores of 128 KB", "filter_card", "xcup", WHOLE, beside=_FFSHARK_CARD),
    Design("filter card with six cores of 32 KB", "filter_card", "xcup", WHOLE | WIRE, beside=_FFSHARK_CARD),
    Design("capture engine without filters, 32-bit bus", "capture_engine", "ecp5", ENGINE, least_mhz=125, seeds=5),
)
RPU = tuple(
    Design(what, module, target, parameters, least_mhz=80 if target == "ecp5" and parameters is ECP5_UNIT else None)
    for what, module, parameters in RPU_PARTS
    for target in ("xcup", "ecp5")
)
BRIDGE = (*_sized((*BRIDGE_PARTS, BRIDGE_CONTROL)), *_placed(BRIDGE_PARTS))
STREAM = _placed(NARROW)
