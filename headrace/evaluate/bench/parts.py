"""What the parts cost: those of the stream layer as wide as a 100 Gb/s port, and the blocks of the bridge."""

from __future__ import annotations

from collections.abc import Mapping

from headrace import synth
from headrace.evaluate.bench import MEASURED, Row
from headrace.evaluate.points import Progress
from headrace.synth.report import Usage

Part = tuple[str, Mapping[str, int]]  # a module and its parameters

STREAM: tuple[Part, ...] = (
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
BRIDGE: tuple[Part, ...] = (
    ("h2s", {"DATA_W": 64}),
    ("s2h", {"DATA_W": 64}),
    ("noc", {"DATA_W": 64}),
    ("functional_block", {"DATA_W": 64}),
    ("adaptive_batching", {}),
    ("traffic_analyser", {}),
)
STREAM_TOPS = tuple(dict.fromkeys(module for module, _ in (*STREAM, *NARROW)))


def stream(quick: bool, progress: Progress) -> list[Row]:
    """Rows of the stream layer: sizes, and Fmax where it is narrow. ``quick``: one run of place and route each."""
    return _rows("stream", "size", STREAM, 0, progress) + _rows("stream", "Fmax", NARROW, 1 if quick else 3, progress)


def bridge(quick: bool, progress: Progress) -> list[Row]:
    """Rows of the bridge's blocks: size and Fmax."""
    return _rows("bridge", "block", BRIDGE, 1 if quick else 3, progress)


def _rows(group: str, kind: str, parts: tuple[Part, ...], seeds: int, progress: Progress) -> list[Row]:
    rows: list[Row] = []
    for module, parameters in parts:
        progress(f"{kind} of parts", len(rows) / len(parts))
        settings = [f"{name}={value}" for name, value in parameters.items()]
        ecp5 = synth.run(module, "ecp5", parameters, seeds=seeds or 1, hierarchy=False, pnr=seeds > 0)
        found = []
        if kind != "Fmax":
            xcup = synth.run(module, "xcup", parameters, hierarchy=False).total
            found = [_usage(xcup, "LUTs", "BRAM36"), f"ECP5 {_usage(ecp5.total, 'LUT4', 'DP16KD')}"]
        if seeds:
            found.append(_fmax(ecp5))
        command = " ".join(["headrace synth", module, *(f"-P {each}" for each in settings)])
        what = " ".join([f"{kind}: `{module}`", *settings])
        rows.append(Row(group, what, "-", "; ".join(found), "", None, MEASURED, command))
    return rows


def _usage(total: Usage, luts: str, rams: str) -> str:
    inside = f" ({total.lutram:,} RAM)" if total.lutram else ""
    return f"{total.luts:,} {luts}{inside}, {total.ffs:,} flip-flops, {total.rams:g} {rams}"


def _fmax(report: synth.SynthReport) -> str:
    placement = report.placement
    if placement is None or placement.fmax_mhz is None or placement.spread_mhz is None:
        return f"not placed: {placement.error if placement else 'no placement'}"
    slowest, fastest = placement.spread_mhz
    return f"{placement.fmax_mhz:.0f} MHz ({slowest:.0f} to {fastest:.0f})"
