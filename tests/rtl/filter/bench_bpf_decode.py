"""What the decoder promises: an instruction means the same decoded, and what no bpf_filter() executes is INVALID.

`execute` below says what bpf_pkg says of a decoded instruction; libpcap's meaning comes from the oracle's interpreter.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Any

from cocotb.triggers import Timer
from oracle import interpret

from headrace.net import bpf
from headrace.net.bpf import SCRATCH_WORDS, Instruction, Program
from headrace.testing.streams import behaviour

TOP = 0xFFFFFFFF
SCRATCH_CODES = (0x60, 0x61, 0x02, 0x03)
LONGEST_PROGRAM = 4096


class Kind(IntEnum):
    """kind_e"""

    SUM = 0
    LOGIC = auto()
    MUL = auto()
    LSH = auto()
    RSH = auto()
    DIV = auto()
    MOD = auto()
    LOAD = auto()
    MSH = auto()
    MEM_RD = auto()
    MEM_WR = auto()
    JUMP_IF = auto()
    JUMP = auto()
    RET = auto()
    INVALID = auto()


@dataclass(frozen=True)
class Decoded:
    """instr_t"""

    kind: Kind
    b_x: int
    b_len: int
    to_x: int
    sub: int
    op: int
    cond: int
    size: int
    jt: int
    jf: int
    k: int


@dataclass
class State:
    """What an instruction finds and leaves. `pc` counts from the next one; `verdict` is None until the program ends."""

    a: int
    x: int
    scratch: list[int]
    packet: bytes
    wire_len: int
    pc: int = 0
    verdict: int | None = None


async def decode(dut: Any, instruction: Instruction) -> Decoded:
    dut.code.value, dut.jt.value, dut.jf.value, dut.k.value = instruction
    await Timer(1, "ns")
    fields = (dut.kind, dut.b_x, dut.b_len, dut.to_x, dut.sub, dut.op, dut.cond, dut.size)
    kind, *rest = (int(field.value) for field in (*fields, dut.instr_jt, dut.instr_jf, dut.instr_k))
    return Decoded(Kind(kind), *rest)


def execute(instr: Decoded, state: State) -> None:
    """Change the state as the comments in bpf_pkg say."""
    b = state.x if instr.b_x else instr.k | (state.wire_len if instr.b_len else 0)
    a = state.a
    logic = (a & b, a | b, a ^ b, b)[instr.op]
    result: int | None = None
    match instr.kind:
        case Kind.SUM:
            result = a - b if instr.sub else a + b
        case Kind.LOGIC:
            result = logic
        case Kind.MUL:
            result = a * b
        case Kind.LSH:
            result = a << b if b < 32 else 0
        case Kind.RSH:
            result = a >> b
        case Kind.DIV | Kind.MOD if b == 0:
            state.verdict = 0
        case Kind.DIV:
            result = a // b
        case Kind.MOD:
            result = a % b
        case Kind.LOAD | Kind.MSH:
            size = (1, 2, 4)[instr.size]
            end = instr.k + (state.x if instr.b_x else 0)
            if end > len(state.packet):
                state.verdict = 0
            else:
                result = int.from_bytes(state.packet[end - size : end], "big")
                if instr.kind == Kind.MSH:
                    result = (result & 0xF) * 4
        case Kind.MEM_RD:
            result = state.scratch[instr.jt & 0xF]
        case Kind.MEM_WR:
            state.scratch[instr.jt & 0xF] = logic
        case Kind.JUMP_IF:
            assert instr.sub
            taken = (logic == 0, a > b, a >= b, logic != 0)[instr.cond]
            state.pc = instr.jt if taken else instr.jf
        case Kind.JUMP:
            state.pc = instr.k
        case Kind.RET:
            state.verdict = logic
    if result is not None:
        if instr.to_x:
            state.x = result & TOP
        else:
            state.a = result & TOP


def reference(instruction: Instruction, state: State) -> State:
    """What libpcap makes of the state, by programs that set it up, run the instruction and show one part each."""

    def probe(*show: tuple[int, int]) -> int:
        setup = [part for word, value in enumerate(state.scratch) for part in ((0x00, value), (0x02, word))]
        head = [Instruction(code, 0, 0, k) for code, k in (*setup, (0x01, state.x), (0x00, state.a))]
        tail = [Instruction(code, 0, 0, k) for code, k in show]
        return interpret(Program((*head, instruction, *tail)), state.packet, state.wire_len).verdict

    after = State(state.a, state.x, list(state.scratch), state.packet, state.wire_len)
    ends = probe((0x06, 1)) == 0
    if instruction.code & 7 == 6 or ends:
        after.verdict = probe((0x06, 1))
        return after
    after.a = probe((0x16, 0))
    after.x = probe((0x87, 0), (0x16, 0))
    after.scratch = [probe((0x60, word), (0x16, 0)) for word in range(SCRATCH_WORDS)]
    return after


def reference_jump(instruction: Instruction, state: State) -> State:
    """Where libpcap goes on: the instruction, and after it returns of their own places."""
    head = (Instruction(0x01, 0, 0, state.x), Instruction(0x00, 0, 0, state.a))
    places = (Instruction(0x06, 0, 0, place) for place in range(1, 258))
    after = State(state.a, state.x, state.scratch, state.packet, state.wire_len)
    after.pc = interpret(Program((*head, instruction, *places)), state.packet, state.wire_len).verdict - 1
    return after


def instructions(code: int) -> Iterator[Instruction]:
    """Instructions of an opcode with operands that matter, those that the program's shape allows."""
    if code in SCRATCH_CODES:
        values = list(range(SCRATCH_WORDS))
    elif code == 0x05:
        values = [0, 1, 7, 255]
    else:
        values = [0, 1, 2, 15, 31, 32, 59, 60, 61, 62, 64, 255, 0x10000, 0x80000000, TOP - 4, TOP - 3, TOP - 1, TOP]
        values += [random.getrandbits(32) for _ in range(8)]
    for k in values:
        if code in (0x34, 0x94) and k == 0:
            continue
        yield Instruction(code, random.randrange(256), random.randrange(256), k)


@behaviour()
async def every_opcode_keeps_its_meaning(dut: Any) -> None:
    for code in sorted(bpf.OPCODES):
        for instruction in instructions(code):
            instr = await decode(dut, instruction)
            assert instr.kind != Kind.INVALID, instruction
            for a, x in ((0, 0), (instruction.k, 3), (random.getrandbits(32), TOP), (9, random.randrange(70))):
                scratch = [random.getrandbits(32) for _ in range(SCRATCH_WORDS)]
                state = State(a, x, scratch, random.randbytes(64), random.getrandbits(32))
                jumps = code & 7 == 5
                expected = reference_jump(instruction, state) if jumps else reference(instruction, state)
                execute(instr, state)
                if expected.verdict is not None:
                    assert state.verdict == expected.verdict, (instruction, instr)
                else:
                    assert state == expected, (instruction, instr)


@behaviour()
async def all_other_codes_are_invalid(dut: Any) -> None:
    for code in range(1 << 16):
        if code not in bpf.OPCODES:
            instr = await decode(dut, Instruction(code, 1, 2, code & 0xF))
            assert instr.kind == Kind.INVALID, hex(code)


@behaviour()
async def scratch_memory_has_16_words(dut: Any) -> None:
    for code in SCRATCH_CODES:
        for k in (16, 17, 31, 32, 255, 256, 0x10000, 0x80000000, TOP):
            assert (await decode(dut, Instruction(code, 0, 0, k))).kind == Kind.INVALID


@behaviour()
async def a_jump_is_invalid_or_shows_in_the_program_counter(dut: Any) -> None:
    bits = 14
    for k in (*range(-5000, 5000, 7), 4095, 4096, -4096, -4097, 1 << 12, 1 << 13, 1 << 14, 1 << 31, -(1 << 14)):
        instr = await decode(dut, Instruction(0x05, 0, 0, k & TOP))
        inside = -LONGEST_PROGRAM <= k < LONGEST_PROGRAM
        assert (instr.kind == Kind.JUMP) == inside
        if inside:
            for pc in (0, 1, LONGEST_PROGRAM - 1):
                # Jumps that leave on either side show as a number beyond every program.
                target, reached = pc + 1 + k, (pc + 1 + instr.k) % (1 << bits)
                assert reached == target if 0 <= target < LONGEST_PROGRAM else reached >= LONGEST_PROGRAM
