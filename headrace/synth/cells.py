"""How many LUTs, registers and RAMs each library cell takes.

xcup (UltraScale+; LUT use of memories from AMD's libraries guide UG974 and CLB guide UG574)
    A LUT1 to LUT6 is one LUT each, as in vendor reports before pairs are combined. INV is a LUT1 by another name.
    Carry chains and F7/F8 multiplexers are free: they lie beside the LUTs.
ecp5 (Lattice FPGA-TN-02204 on memory, FPGA-DS-02012 on slices)
    LUT4 is one; CCU2C, two bits of carry chain, takes the two LUTs of its slice. A 16x4 RAM takes the four LUTs of two
    slices, and the write port takes the two of a third one: six. PFUMX and L6MUX21 join LUTs that are already counted.
cyclonev (Intel CV-5V2)
    An ALUT of any size is one; the estimate of ALMs pairs all ALUTs but six-input ones. A MISTRAL_MLAB is 32x1 bits;
    an MLAB of ten ALMs holds twenty of them, so it is one ALUT. DSP blocks: one 27x27, two 18x18 or three 9x9 each.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from headrace.synth.report import Usage

_LUTS: dict[str, dict[str, int]] = {
    "xcup": {"INV": 1, **{f"LUT{inputs}": 1 for inputs in range(1, 7)}},
    "ecp5": {"LUT4": 1, "CCU2C": 2},
    "cyclonev": {"MISTRAL_ALUT_ARITH": 1, "MISTRAL_NOT": 1, **{f"MISTRAL_ALUT{inputs}": 1 for inputs in range(2, 7)}},
}
_LUTRAM: dict[str, dict[str, int]] = {
    "xcup": {
        "SRL16E": 1,
        "SRLC32E": 1,
        "RAM32X1S": 1,
        "RAM32X1D": 2,
        "RAM32M": 4,
        "RAM32M16": 8,
        "RAM32X16DR8": 8,
        "RAM64X1S": 1,
        "RAM64X1D": 2,
        "RAM64M": 4,
        "RAM64M8": 8,
        "RAM64X8SW": 8,
        "RAM128X1S": 2,
        "RAM128X1D": 4,
        "RAM256X1S": 4,
        "RAM256X1D": 8,
        "RAM512X1S": 8,
    },
    "ecp5": {"TRELLIS_DPR16X4": 6},
    "cyclonev": {"MISTRAL_MLAB": 1},
}
_FFS: dict[str, set[str]] = {
    "xcup": {"FDRE", "FDSE", "FDCE", "FDPE", "LDCE", "LDPE"},
    "ecp5": {"TRELLIS_FF"},
    "cyclonev": {"MISTRAL_FF"},
}
_RAMS: dict[str, dict[str, Fraction]] = {
    "xcup": {"RAMB36E2": Fraction(1), "RAMB18E2": Fraction(1, 2)},
    "ecp5": {"DP16KD": Fraction(1), "PDPW16KD": Fraction(1)},
    "cyclonev": {"MISTRAL_M10K": Fraction(1)},
}
_DSPS: dict[str, dict[str, Fraction]] = {
    "xcup": {"DSP48E2": Fraction(1)},
    "ecp5": {"MULT18X18D": Fraction(1)},
    "cyclonev": {"MISTRAL_MUL27X27": Fraction(1), "MISTRAL_MUL18X18": Fraction(1, 2), "MISTRAL_MUL9X9": Fraction(1, 3)},
}
_FREE: dict[str, set[str]] = {
    "xcup": {"CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9", "VCC", "GND", "BUFG", "IBUF", "OBUF"},
    "ecp5": {"PFUMX", "L6MUX21", "VHI", "VLO", "ALU54B"},
    "cyclonev": {"MISTRAL_CLKBUF", "MISTRAL_IB", "MISTRAL_OB"},
}


def usage(cells: Mapping[str, int], target: str) -> Usage:
    """Sums up cell counts by type name."""
    lutram = sum(count * cells.get(cell, 0) for cell, count in _LUTRAM[target].items())
    luts = lutram + sum(count * cells.get(cell, 0) for cell, count in _LUTS[target].items())
    wide = cells.get("MISTRAL_ALUT6", 0)
    return Usage(
        luts=luts,
        lutram=lutram,
        ffs=sum(cells.get(cell, 0) for cell in _FFS[target]),
        rams=_number(sum((share * cells.get(cell, 0) for cell, share in _RAMS[target].items()), Fraction())),
        dsps=_number(sum((share * cells.get(cell, 0) for cell, share in _DSPS[target].items()), Fraction())),
        alms=_number(wide + Fraction(luts - wide, 2)) if target == "cyclonev" else 0,
    )


def uncounted(cells: Mapping[str, int], target: str) -> dict[str, int]:
    """Cells that this module knows nothing about."""
    known = {*_LUTS[target], *_LUTRAM[target], *_FFS[target], *_RAMS[target], *_DSPS[target], *_FREE[target]}
    return {cell: count for cell, count in cells.items() if cell not in known}


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
