"""Random filter programs that are valid, that end, and that use every opcode.

A program is laid out as blocks: single instructions and bounded loops, which end with

    ld M[c]; add #1; st M[c]; jgt #n, out; ja back

M[c] belongs to its loop alone and no jump lands inside that tail, so M[c] only grows and each loop goes back at most n
times, whatever else the program does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.net.bpf import JA, MAX_SNAPLEN, RET_K, SCRATCH_WORDS, Instruction, Program

RET_A = 0x16
_LOOP_TAIL = 5
_MAX_LOOPS = 4

_PACKET_LOADS = (0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0xB1)
_HEADER_LOADS = (0x20, 0x28, 0x30, 0xB1)
_OTHER_LOADS = (0x00, 0x01, 0x80, 0x81)
_SCRATCH = (0x60, 0x61, 0x02, 0x03)
_ALU_K = (0x04, 0x14, 0x24, 0x34, 0x44, 0x54, 0x64, 0x74, 0x94, 0xA4)
_ALU_X = (0x0C, 0x1C, 0x2C, 0x4C, 0x5C, 0x6C, 0x7C, 0xAC, 0x84)
_DIVIDE_X = (0x3C, 0x9C)
_MOVES = (0x07, 0x87)
_JUMPS = (JA, 0x15, 0x1D, 0x25, 0x2D, 0x35, 0x3D, 0x45, 0x4D)
_RETURNS = (RET_K, RET_A)
_KINDS = ("packet", "load", "scratch", "k", "x", "move", "jump", "return")


@dataclass(frozen=True)
class _Mix:
    """How often each kind of instruction comes, and whether those may come that end a program early."""

    weights: tuple[int, ...]
    may_fail: bool


_SHORT = _Mix((28, 10, 14, 14, 10, 8, 15, 1), may_fail=True)
_LONG = _Mix((10, 10, 20, 20, 15, 10, 15, 0), may_fail=False)
_LONG_FROM = 200


def random_programs(seed: int, count: int, max_length: int = 4096) -> Iterator[Program]:
    """``count`` programs of 1 to ``max_length`` instructions, most of them short, as real ones are."""
    rng = random.Random(seed)
    for _ in range(count):
        limit = rng.choices((4, 12, 40, 200, 4096), weights=(10, 35, 35, 17, 3))[0]
        yield random_program(rng, rng.randint(1, min(limit, max_length)))


def random_program(rng: random.Random, length: int) -> Program:
    """A valid program of exactly ``length`` instructions that ends within 8,000 on any packet."""
    tails = _place_loops(rng, length)
    own = SCRATCH_WORDS - len(tails)  # M[own] and above count the rounds of loops
    inside = {start + offset: start for start in tails for offset in range(1, _LOOP_TAIL)}
    code: list[Instruction] = []
    while len(code) < length - 1:
        if len(code) in tails:
            code += _loop_tail(rng, len(code), own + tails.index(len(code)), inside)
        else:
            code.append(_instruction(rng, len(code), length, own, inside))
    code.append(_return(rng))
    return Program(tuple(code), f"random program of {length} instructions")


def _place_loops(rng: random.Random, length: int) -> list[int]:
    """Where loop tails start: none in most programs, and only in those short enough to end soon."""
    if not 12 <= length <= 200 or rng.random() < 0.7:
        return []
    slots = range(1, length - 1 - _LOOP_TAIL, _LOOP_TAIL)
    return sorted(rng.sample(slots, min(len(slots), rng.randint(1, _MAX_LOOPS))))


def _loop_tail(rng: random.Random, start: int, counter: int, inside: dict[int, int]) -> list[Instruction]:
    target = start - rng.randint(1, min(start, 12))
    back = start + _LOOP_TAIL - inside.get(target, target)
    return [
        Instruction(0x60, 0, 0, counter),
        Instruction(0x04, 0, 0, 1),
        Instruction(0x02, 0, 0, counter),
        Instruction(0x25, 1, 0, rng.randint(0, 8)),
        Instruction(JA, 0, 0, -back & 0xFFFFFFFF),
    ]


def _instruction(rng: random.Random, at: int, length: int, own: int, inside: dict[int, int]) -> Instruction:
    mix = _LONG if length > _LONG_FROM else _SHORT
    match rng.choices(_KINDS, mix.weights)[0]:
        case "packet" if mix.may_fail:
            return Instruction(rng.choice(_PACKET_LOADS), *_unused(rng), _offset(rng))
        case "packet":
            return Instruction(rng.choice(_HEADER_LOADS), *_unused(rng), rng.randrange(56))
        case "load":
            return Instruction(rng.choice(_OTHER_LOADS), *_unused(rng), _small_or_any(rng))
        case "scratch":
            code = rng.choice(_SCRATCH)
            return Instruction(code, *_unused(rng), rng.randrange(own if code in (0x02, 0x03) else SCRATCH_WORDS))
        case "k":
            return _alu_k(rng)
        case "x":
            code = rng.choice(_ALU_X + _DIVIDE_X if mix.may_fail else _ALU_X)
            return Instruction(code, *_unused(rng), rng.choice((0, _any(rng))))
        case "move":
            return Instruction(rng.choice(_MOVES), *_unused(rng), rng.choice((0, _any(rng))))
        case "jump":
            return _jump(rng, at, length, inside)
        case _:
            return _return(rng)


def _alu_k(rng: random.Random) -> Instruction:
    code = rng.choice(_ALU_K)
    if code in (0x64, 0x74):
        k = rng.randrange(32)
    elif code in (0x34, 0x94):
        k = max(1, _small_or_any(rng))
    else:
        k = _small_or_any(rng)
    return Instruction(code, *_unused(rng), k)


def _jump(rng: random.Random, at: int, length: int, inside: dict[int, int]) -> Instruction:
    code = rng.choice(_JUMPS)
    room = length - 2 - at

    def hop(limit: int) -> int:
        reach = min(room, limit)
        distance = rng.choices((rng.randint(0, min(reach, 6)), rng.randint(0, reach), reach), (80, 18, 2))[0]
        target = at + 1 + distance
        return inside.get(target, target) - at - 1

    if code == JA:
        return Instruction(code, *_unused(rng), hop(0xFFFFFFFF))
    return Instruction(code, hop(255), hop(255), _small_or_any(rng))


def _return(rng: random.Random) -> Instruction:
    code = rng.choices(_RETURNS, (40, 60))[0]
    return Instruction(code, *_unused(rng), rng.choice((0, 1, 64, 0xFFFF, 0x10000, MAX_SNAPLEN, _any(rng))))


def _unused(rng: random.Random) -> tuple[int, int]:
    """Fields that the instruction ignores: noise, now and then."""
    return (rng.randrange(256), rng.randrange(256)) if rng.random() < 0.1 else (0, 0)


def _offset(rng: random.Random) -> int:
    """Offsets of loads: mostly in the headers, some near block and frame ends, some that overflow with X."""
    near = rng.choice((60, 64, 128, 256, 1514, 9212, 9216, 16384)) - rng.randint(0, 6)
    far = rng.choice((0xFFFFFFFF, 0xFFFFFFFE, 0x80000000, 0x10000, _any(rng)))
    return rng.choices((rng.randrange(64), rng.randrange(600), near, far), (84, 10, 4, 2))[0]


def _small_or_any(rng: random.Random) -> int:
    common = rng.choice((0, 1, 4, 6, 14, 17, 20, 31, 32, 33, 40, 80, 0x800, 0x86DD, 0xFFFF, 0x80000000, 0xFFFFFFFF))
    return rng.choices((rng.randrange(40), common, _any(rng)), (55, 35, 10))[0]


def _any(rng: random.Random) -> int:
    return rng.getrandbits(32)
