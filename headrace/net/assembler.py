"""Classic BPF in words: the assembler for programs that no filter expression can say, such as measurements.

The language is that of the BPF paper (McCanne and Jacobson, USENIX 1993) and of Linux's bpf_asm: one instruction a
line, labels before a colon, comments after a semicolon::

            ldh [12]                ; loads: ld ldh ldb [k], [x + k], M[k], #k, len; ldx #k, len, M[k], 4*([k]&0xf)
            jeq #0x800, ip, other   ; jumps: ja L; jeq jne jgt jge jlt jle jset #k or x, then L[, L]
    ip:     ldb [23]
            ret a                   ; returns: ret a, ret #k
    other:  ret #256

The others are st stx M[k]; add sub mul div mod and or xor lsh rsh #k or x; neg; tax; txa. A jump without its second
label goes on with the next instruction.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from headrace.net.bpf import FilterError, Instruction, Program, validate

_ALU = {"add": 0x00, "sub": 0x10, "mul": 0x20, "div": 0x30, "or": 0x40, "and": 0x50, "lsh": 0x60, "rsh": 0x70}
_ALU |= {"mod": 0x90, "xor": 0xA0}
_JUMPS = {"jeq": 0x10, "jgt": 0x20, "jge": 0x30, "jset": 0x40}
_OPPOSITES = {"jne": "jeq", "jle": "jgt", "jlt": "jge"}
_WIDTHS = {"ld": 0x00, "ldh": 0x08, "ldb": 0x10}
_PLAIN = {"neg": 0x84, "tax": 0x07, "txa": 0x87}

_NUMBER = r"(0[xX][0-9a-fA-F]+|\d+)"
_LABEL = r"[A-Za-z_]\w*"
_IMMEDIATE = re.compile(rf"#{_NUMBER}")
_ABSOLUTE = re.compile(rf"\[{_NUMBER}\]")
_INDIRECT = re.compile(rf"\[x(?:\+{_NUMBER})?\]")
_SCRATCH = re.compile(rf"M\[{_NUMBER}\]")
_HEADER_LENGTH = re.compile(rf"4\*\(\[{_NUMBER}\]&0xf\)")


class _Line(NamedTuple):
    """An instruction whose jumps are still labels; ``taken`` and ``other`` are empty where it falls through."""

    number: int
    code: int
    k: int
    taken: str = ""
    other: str = ""


def assemble(text: str, source: str = "program") -> Program:
    """Translate a text. Raises FilterError with ``source`` and the line's number, or as `bpf.validate` does."""
    lines: list[_Line] = []
    labels: dict[str, int] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        rest = raw.split(";")[0].strip()
        while label := re.match(rf"({_LABEL}):\s*", rest):
            if label[1] in labels:
                raise FilterError(f"{source}: line {number}: label {label[1]} is defined twice")
            labels[label[1]] = len(lines)
            rest = rest[label.end() :]
        if rest:
            mnemonic, _, operands = rest.partition(" ")
            lines.append(_parse(mnemonic.lower(), re.sub(r"\s", "", operands), number, source))
    program = Program(tuple(_resolve(line, at, labels, source) for at, line in enumerate(lines)), source)
    validate(program)
    return program


def _parse(mnemonic: str, operands: str, number: int, source: str) -> _Line:
    line: _Line | None = None
    if mnemonic in _WIDTHS:
        line = _load(_WIDTHS[mnemonic], operands, number)
    elif mnemonic == "ldx":
        line = _load_index(operands, number)
    elif mnemonic in ("st", "stx") and (word := _SCRATCH.fullmatch(operands)):
        line = _Line(number, 0x02 if mnemonic == "st" else 0x03, int(word[1], 0))
    elif mnemonic in _ALU:
        line = _with_source(0x04 | _ALU[mnemonic], operands, number)
    elif mnemonic in _JUMPS or mnemonic in _OPPOSITES:
        line = _jump(mnemonic, operands, number)
    elif mnemonic == "ja" and re.fullmatch(_LABEL, operands):
        line = _Line(number, 0x05, 0, operands)
    elif mnemonic == "ret":
        value = _IMMEDIATE.fullmatch(operands)
        line = _Line(number, 0x16, 0) if operands == "a" else value and _Line(number, 0x06, int(value[1], 0))
    elif mnemonic in _PLAIN and not operands:
        line = _Line(number, _PLAIN[mnemonic], 0)
    if line is None:
        raise FilterError(f"{source}: line {number}: cannot read {mnemonic} {operands}".rstrip())
    return line


def _load(width: int, operands: str, number: int) -> _Line | None:
    if place := _ABSOLUTE.fullmatch(operands):
        return _Line(number, 0x20 | width, int(place[1], 0))
    if place := _INDIRECT.fullmatch(operands):
        return _Line(number, 0x40 | width, int(place[1] or "0", 0))
    if width:
        return None
    if operands == "len":
        return _Line(number, 0x80, 0)
    if value := _IMMEDIATE.fullmatch(operands):
        return _Line(number, 0x00, int(value[1], 0))
    word = _SCRATCH.fullmatch(operands)
    return word and _Line(number, 0x60, int(word[1], 0))


def _load_index(operands: str, number: int) -> _Line | None:
    if operands == "len":
        return _Line(number, 0x81, 0)
    for pattern, code in ((_IMMEDIATE, 0x01), (_SCRATCH, 0x61), (_HEADER_LENGTH, 0xB1)):
        if value := pattern.fullmatch(operands):
            return _Line(number, code, int(value[1], 0))
    return None


def _with_source(code: int, operand: str, number: int) -> _Line | None:
    if operand == "x":
        return _Line(number, code | 0x08, 0)
    value = _IMMEDIATE.fullmatch(operand)
    return value and _Line(number, code, int(value[1], 0))


def _jump(mnemonic: str, operands: str, number: int) -> _Line | None:
    operand, *targets = operands.split(",")
    line = _with_source(0x05 | _JUMPS[_OPPOSITES.get(mnemonic, mnemonic)], operand, number)
    if line is None or len(targets) not in (1, 2) or not all(re.fullmatch(_LABEL, target) for target in targets):
        return None
    taken, other = (*targets, "")[:2]
    if mnemonic in _OPPOSITES:
        taken, other = other, taken
    return line._replace(taken=taken, other=other)


def _resolve(line: _Line, at: int, labels: dict[str, int], source: str) -> Instruction:
    def distance(label: str) -> int:
        if not label:
            return 0
        if label not in labels:
            raise FilterError(f"{source}: line {line.number}: no label {label}")
        return labels[label] - at - 1

    if line.code == 0x05:
        return Instruction(line.code, 0, 0, distance(line.taken) & 0xFFFFFFFF)
    hops = distance(line.taken), distance(line.other)
    if not all(0 <= hop <= 0xFF for hop in hops):
        raise FilterError(f"{source}: line {line.number}: a conditional jump reaches 0 to 255 instructions forward")
    if line.k > 0xFFFFFFFF:
        raise FilterError(f"{source}: line {line.number}: {line.k} has more than 32 bits")
    return Instruction(line.code, *hops, line.k)
