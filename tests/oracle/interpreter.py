"""A step-by-step interpreter of classic BPF, written from the semantics that the cards promise."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.net.bpf import SCRATCH_WORDS, Program

_MASK = 0xFFFFFFFF
_WIDTH = {0x00: 4, 0x08: 2, 0x10: 1}


@dataclass(frozen=True)
class Outcome:
    """``verdict`` is the returned value; ``executed`` counts instructions, the last one included; ``finished`` is
    False when the budget ran out (then the verdict is 0)."""

    verdict: int
    executed: int
    finished: bool


def interpret(
    program: Program,
    packet: bytes,
    wirelen: int | None = None,
    budget: int = 1_000_000,
    visited: set[int] | None = None,
) -> Outcome:
    """Run a valid program on a packet for at most ``budget`` instructions.

    The semantics are those of libpcap's bpf_filter(): 0 for a load that isn't wholly inside the packet, for an offset
    that overflows 32 bits and for a division by zero; 0 as the result of a shift by 32 or more. A, X, M[] start as 0.
    The opcodes that were executed are added to ``visited``.
    """
    wire = len(packet) if wirelen is None else wirelen
    accumulator = index = pc = 0
    scratch = [0] * SCRATCH_WORDS
    for executed in range(1, budget + 1):
        code, jt, jf, k = program[pc]
        pc += 1
        if visited is not None:
            visited.add(code)
        kind = code & 0x07
        if kind in (0x00, 0x01):
            value = _load(code, k, index, packet, wire, scratch)
            if value is None:
                return Outcome(0, executed, True)
            if kind == 0x00:
                accumulator = value
            else:
                index = value
        elif kind == 0x02:
            scratch[k] = accumulator
        elif kind == 0x03:
            scratch[k] = index
        elif kind == 0x04:
            value = _alu(code & 0xF0, accumulator, index if code & 0x08 else k)
            if value is None:
                return Outcome(0, executed, True)
            accumulator = value
        elif code == 0x05:
            pc = (pc + k) & _MASK
        elif kind == 0x05:
            pc += jt if _taken(code & 0xF0, accumulator, index if code & 0x08 else k) else jf
        elif kind == 0x06:
            return Outcome(accumulator if code & 0x10 else k, executed, True)
        elif code == 0x07:
            index = accumulator
        else:
            accumulator = index
    return Outcome(0, budget, False)


def _load(code: int, k: int, index: int, packet: bytes, wire: int, scratch: list[int]) -> int | None:
    """The loaded value, or None when it isn't in the packet."""
    mode = code & 0xE0
    if mode == 0x00:
        return k
    if mode == 0x60:
        return scratch[k]
    if mode == 0x80:
        return wire
    offset = k + index if mode == 0x40 else k
    width = _WIDTH[code & 0x18]
    if offset > _MASK or offset + width > len(packet):
        return None
    value = int.from_bytes(packet[offset : offset + width], "big")
    return (value & 0xF) * 4 if mode == 0xA0 else value


def _alu(operation: int, a: int, b: int) -> int | None:
    """The result modulo 2**32, or None for a division by zero."""
    match operation:
        case 0x00:
            return (a + b) & _MASK
        case 0x10:
            return (a - b) & _MASK
        case 0x20:
            return (a * b) & _MASK
        case 0x30:
            return a // b if b else None
        case 0x40:
            return a | b
        case 0x50:
            return a & b
        case 0x60:
            return (a << b) & _MASK if b < 32 else 0
        case 0x70:
            return a >> b if b < 32 else 0
        case 0x80:
            return -a & _MASK
        case 0x90:
            return a % b if b else None
        case _:
            return a ^ b


def _taken(condition: int, a: int, b: int) -> bool:
    match condition:
        case 0x10:
            return a == b
        case 0x20:
            return a > b
        case 0x30:
            return a >= b
        case _:
            return bool(a & b)
