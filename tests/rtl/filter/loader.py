"""Writes programs through the ports that the bench modules have for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import RisingEdge

from headrace.net.bpf import Program

SLOTS = 4
OFF, FILTER, MEASURE = range(3)

Slots = Mapping[int, Program]


@dataclass
class Loader:
    """Uses the instruction memory as a ring: a program stays for as long as the memory holds all that came after it."""

    dut: Any
    base: int = 0

    async def load(self, slots: Slots, set: int = 0, measure: int | None = None) -> None:
        """Make `slots` the programs of a set; a slot that is not named is off, `measure` is a measurement."""
        for slot in range(SLOTS):
            mode = OFF if slot not in slots else MEASURE if slot == measure else FILTER
            await self.load_slot(slots.get(slot, Program(())), slot, set, mode)

    async def load_slot(self, program: Program, slot: int = 0, set: int = 0, mode: int = FILTER) -> None:
        """Write a program and its entry in the table of programs."""
        dut = self.dut
        edge = RisingEdge(dut.clk)
        if self.base + len(program) > int(dut.IMEM_WORDS.value):
            self.base = 0
        dut.instr_we.value = 1
        for offset, instruction in enumerate(program):
            dut.instr_addr.value = self.base + offset
            dut.code.value, dut.jt.value, dut.jf.value, dut.k.value = instruction
            await edge
        dut.instr_we.value = 0
        dut.program_we.value = 1
        dut.program_addr.value = set << 2 | slot
        dut.program_mode.value = mode
        dut.program_length.value = len(program)
        dut.program_base.value = self.base
        await edge
        dut.program_we.value = 0
        self.base += len(program)
