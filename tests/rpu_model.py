# SPDX-License-Identifier: Apache-2.0
"""An RPU as facts say it is, one instruction at a time: a reading of the ISA and of the registers that has nothing of
Headrace's code in it. Programs come into it by way of objcopy.

Its cycles are those of a simple pipeline: one an instruction; a load's value is there for the third instruction
behind it; a shift by n takes n; forward branches are predicted as not taken, backward ones as taken, for one cycle
more, and a wrong prediction costs three. A load from packet memory takes two more.
"""

from __future__ import annotations

import random
import subprocess
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

IMEM, DMEM, PMEM = 0x02000000, 0x00800000, 0x01000000
TIMER, EXTERNAL = 0x80000007, 0x8000000B
ILLEGAL, LOAD_MISALIGNED, LOAD_FAULT, STORE_MISALIGNED, STORE_FAULT = 2, 4, 5, 6, 7
MSTATUS, MIE, MTVEC, MEPC, MCAUSE, MTVAL = 0x300, 0x304, 0x305, 0x341, 0x342, 0x343


class Accelerator(Protocol):
    """What lies behind the registers from 0x00400000 on."""

    def read(self, offset: int, size: int) -> int: ...
    def write(self, offset: int, size: int, value: int) -> None: ...


class Trap(Exception):
    def __init__(self, cause: int, value: int = 0) -> None:
        super().__init__(f"cause {cause}, value 0x{value:08x}")
        self.cause, self.value = cause, value


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def image(elf: Path) -> dict[int, bytes]:
    """Address -> bytes, of what an ELF file has to be loaded, as binutils says."""
    text = subprocess.run(
        ["riscv64-unknown-elf-objcopy", "-O", "ihex", str(elf), "/dev/stdout"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found, base = {}, 0
    for line in text.split():
        record = bytes.fromhex(line[1:])
        kind, data = record[3], record[4:-1]
        if kind == 0:
            found[base + int.from_bytes(record[1:3], "big")] = data
        elif kind == 4:
            base = int.from_bytes(data, "big") << 16
        elif kind == 2:
            base = int.from_bytes(data, "big") << 4
    return found


class Unit:
    def __init__(self, elf: Path, core_id: int = 0, accelerator: Accelerator | None = None, slots: int = 32) -> None:
        chance = random.Random(str(elf) + str(core_id))
        self.imem = bytearray(chance.randbytes(64 << 10))
        self.dmem = bytearray(chance.randbytes(32 << 10))
        self.pmem = bytearray(chance.randbytes(1 << 20))
        for address, data in image(elf).items():
            memory, offset = self.memory(address)
            memory[offset : offset + len(data)] = data
        self.regs = [0] + [chance.getrandbits(32) for _ in range(31)]
        self.ready = [0] * 32  # the cycle in which a register can be read
        self.pc, self.cycle = 0, 0
        self.csr = {MSTATUS: 0, MIE: 0, MTVEC: 4, MEPC: 0, MCAUSE: 0, MTVAL: 0}
        self.core_id, self.accelerator, self.max_slots = core_id, accelerator, slots
        self.received: deque[tuple[int, int, int]] = deque()
        self.sent: list[tuple[int, int, int]] = []  # type, low word, high word
        self.sent_at: list[int] = []
        self.broadcast: list[tuple[int, int]] = []
        self.slots: dict[int, int] = {}
        self.headers: dict[int, int] = {}
        self.active = 0
        self.io = bytearray(0x200)  # as written
        self.flags, self.mask, self.errors = 0, 0xFFF0, 0
        self.debug_in = 0
        self.trace: Callable[[int], None] | None = None

    # Packets

    def arrive(self, packet: bytes, port: int, slot: int | None = None) -> int:
        """A packet comes into a free slot; gives the slot."""
        slot = slot if slot is not None else next(s for s in self.slots if not self.active >> (s - 1) & 1)
        start = self.slots[slot]
        self.pmem[start : start + len(packet)] = packet
        header = self.headers.get(slot)
        if header is not None:  # the lowest 7 bits of addresses are the same in both memories
            header = header & ~127 | start & 127
            count = min(len(packet), 128 - header % 128)
            self.dmem[header : header + count] = packet[:count]
        self.active |= 1 << (slot - 1)
        self.received.append(
            (port << 24 | slot << 16 | len(packet), PMEM + start, 0 if header is None else DMEM + header)
        )
        return slot

    def packet(self, number: int) -> tuple[int, bytes]:
        """Port and bytes of what was sent; dropped ones are empty."""
        _, low, high = self.sent[number]
        memory, offset = self.memory(high)
        return low >> 24, bytes(memory[offset : offset + (low & 0xFFFF)])

    # Memory

    def memory(self, address: int) -> tuple[bytearray, int]:
        for memory, base in ((self.imem, IMEM), (self.pmem, PMEM), (self.dmem, DMEM)):
            if base <= address < base + len(memory):
                return memory, address - base
        raise AssertionError(f"nothing at 0x{address:08x}")

    def word(self, address: int) -> int:
        memory, offset = self.memory(address)
        return int.from_bytes(memory[offset : offset + 4], "little")

    def _place(self, address: int, size: int, store: bool) -> tuple[bytearray, int]:
        if address % size:
            raise Trap(STORE_MISALIGNED if store else LOAD_MISALIGNED, address)
        if DMEM <= address < DMEM + len(self.dmem):
            return self.dmem, address - DMEM
        if PMEM <= address < PMEM + len(self.pmem):
            return self.pmem, address - PMEM
        self.errors |= 2 if address >> 23 & 1 else 4 if address >> 24 & 1 else 1 if address >> 25 & 1 else 8
        if store:
            raise Trap(STORE_FAULT, address)
        raise Trap(LOAD_FAULT, address)

    def load(self, address: int, size: int) -> int:
        if address < 0x00400000:
            value = self._read_io(address & ~3) >> 8 * (address & 3)
            if address % size or address >= 0x120:
                self._place(address, size, False)
            return value & ((1 << 8 * size) - 1)
        if address < DMEM:
            assert self.accelerator is not None, f"a load from 0x{address:08x} without an accelerator"
            return self.accelerator.read(address - 0x00400000, size)
        swap = size == 4 and address >> 26 & 1
        memory, offset = self._place(address & ~0x04000000 if swap else address, size, False)
        return int.from_bytes(memory[offset : offset + size], "big" if swap else "little")

    def store(self, address: int, size: int, value: int) -> None:
        value &= (1 << 8 * size) - 1
        if address < 0x00400000:
            if address % size or not (address < 0x64 or 0x108 <= address < 0x110):
                self._place(address, size, True)
            self.io[address : address + size] = value.to_bytes(size, "little")
            self._wrote(address, value)
        elif address < DMEM:
            assert self.accelerator is not None, f"a store to 0x{address:08x} without an accelerator"
            self.accelerator.write(address - 0x00400000, size, value)
        else:
            memory, offset = self._place(address, size, True)
            memory[offset : offset + size] = value.to_bytes(size, "little")
            if memory is self.dmem and offset >= 0x6000:
                self.broadcast.append((address, value))

    # Registers

    def out(self, offset: int) -> int:
        return int.from_bytes(self.io[offset : offset + 4], "little")

    def _interrupts(self) -> int:
        return self.flags | (2 if self.received else 0) | self.errors << 16

    def _read_io(self, address: int) -> int:
        there = bool(self.received)
        low, high, header = self.received[0] if there else (0, 0, 0)
        skip = self.out(0x60) & 0xFFFF
        low, high = (low & ~0xFFFF) | ((low & 0xFFFF) - skip) & 0xFFFF, high + skip
        if address == 0x104:
            self.received.popleft()
        values = {
            0x80: low, 0x84: high, 0x88: self.out(0x20), 0x8C: 0x01010100 | bool(self.received), 0x90: self.core_id,
            0x94: self.cycle & 0xFFFFFFFF, 0x98: self.cycle >> 32, 0x9C: self._interrupts(), 0xA0: self.mask,
            0xA4: 64 << 10, 0xA8: 32 << 10, 0xAC: 1 << 20, 0xB0: 128 << 10, 0xB4: 8, 0xB8: 8 << 10,
            0xBC: self.max_slots, 0xC0: self.debug_in & 0xFFFFFFFF, 0xC4: self.debug_in >> 32,
            0xC8: self.out(0x48), 0xCC: self.out(0x4C), 0xD8: self.active,
            0x100: low if there else 0, 0x104: high, 0x110: header,
        }  # fmt: skip
        return values.get(address, 0)

    def _wrote(self, address: int, value: int) -> None:
        if address == 0x28:
            self._send(value, self.out(0x08), self.out(0x0C))
        elif address == 0x10C:
            self._send(0, self.out(0x108), value)
        elif address == 0x2C:
            self.received.popleft()
        elif address == 0x34:
            place = self.out(0x18)
            number, offset = place >> 24 & 0x7F, place & 0xFFFFFF
            assert 1 <= number <= self.max_slots
            if place >> 31:
                self.headers[number] = offset & 0x7FFFFF
            else:
                self.slots[number] = offset
        elif address == 0x38:
            self.mask = value
        elif address == 0x3C:
            self.flags &= ~value
            self.errors &= ~(value >> 16)

    def _send(self, kind: int, low: int, high: int) -> None:
        self.sent.append((kind, low, high))
        self.sent_at.append(self.cycle)
        tag = low >> 16 & 0xFF
        if kind != 3 and tag:
            self.active &= ~(1 << (tag - 1))

    # Instructions

    def run(self, cycles: int, until: Callable[[], bool] = bool) -> bool:
        """Until a condition holds, for some cycles at most; gives whether it does."""
        end = self.cycle + cycles
        while self.cycle < end:
            if until():
                return True
            self.step()
        return until()

    def step(self) -> None:
        pending = self._interrupts()
        lines = (0x80 if pending & self.mask & 1 else 0) | (0x800 if pending & (self.mask & ~1 | 0xF0000) else 0)
        if self.csr[MSTATUS] & 8 and lines & self.csr[MIE]:
            self._trap(EXTERNAL if lines & self.csr[MIE] & 0x800 else TIMER, 0)
        if self.trace:
            self.trace(self.pc)
        place = self.pc & ~IMEM
        word = int.from_bytes(self.imem[place : place + 4], "little") if place < len(self.imem) else 0
        try:
            self._execute(word)
        except Trap as trap:
            self._trap(trap.cause, trap.value)

    def _trap(self, cause: int, value: int) -> None:
        status = self.csr[MSTATUS]
        self.csr |= {MEPC: self.pc, MCAUSE: cause, MTVAL: value, MSTATUS: (status & ~0x88) | (status & 8) << 4 | 0x1800}
        self.pc = self.csr[MTVEC]
        self.cycle += 4

    def _execute(self, word: int) -> None:
        opcode, rd, kind = word & 0x7F, word >> 7 & 31, word >> 12 & 7
        r1, r2 = word >> 15 & 31, word >> 20 & 31
        used = {0x63: (r1, r2), 0x23: (r1, r2), 0x33: (r1, r2), 0x13: (r1,), 0x03: (r1,), 0x67: (r1,), 0x73: (r1,)}
        self.cycle = max([self.cycle, *(self.ready[r] for r in used.get(opcode, ()) if r)])
        a, b = self.regs[r1], self.regs[r2]
        immediate = signed(word >> 20, 12)
        result, following, wait = None, self.pc + 4, 0
        cost = 1
        if opcode == 0x37:
            result = word & 0xFFFFF000
        elif opcode == 0x17:
            result = self.pc + (word & 0xFFFFF000)
        elif opcode == 0x6F:
            offset = (word >> 31) << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1
            result, following, cost = self.pc + 4, self.pc + signed(offset, 21), 2
        elif opcode == 0x67:
            result, following, cost = self.pc + 4, (a + immediate) & ~1, 4
        elif opcode == 0x63:
            offset = (word >> 31) << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 0x3F) << 5 | (word >> 8 & 0xF) << 1
            distance = signed(offset, 13)
            taken = (a == b, signed(a) < signed(b), a < b)[(0, 0, 0, 0, 1, 1, 2, 2)[kind]] != bool(kind & 1)
            if kind in (2, 3):
                raise Trap(ILLEGAL, word)
            following = self.pc + distance if taken else following
            cost = (2 if taken else 1) if taken == (distance < 0) else 4
        elif opcode == 0x03:
            size = (1, 2, 4)[kind & 3]
            address = (a + immediate) & 0xFFFFFFFF
            value = self.load(address, size)
            result = value if kind & 4 or size == 4 else signed(value, 8 * size)
            wait = 2 + (2 if address & PMEM else 0)
        elif opcode == 0x23:
            self.store((a + signed(word >> 25 << 5 | rd, 12)) & 0xFFFFFFFF, (1, 2, 4)[kind], b)
        elif opcode in (0x13, 0x33):
            other = b if opcode == 0x33 else immediate & 0xFFFFFFFF
            special = word >> 25 if opcode == 0x33 or kind in (1, 5) else 0
            if special not in (0, 0x20) or (special and kind != 5 and (opcode, kind) != (0x33, 0)):
                raise Trap(ILLEGAL, word)
            shift = other & 31
            cost = max(1, shift) if kind in (1, 5) else 1
            result = [
                a - other if special else a + other, a << shift, int(signed(a) < signed(other)), int(a < other),
                a ^ other, signed(a) >> shift if special else a >> shift, a | other, a & other,
            ][kind]  # fmt: skip
        elif opcode == 0x73 and kind:
            number, value = word >> 20, r1 if kind & 4 else a
            old = self.csr.get(number, 0)
            if (kind & 3) == 1:
                self.csr[number] = value
            elif r1:
                self.csr[number] = old | value if (kind & 3) == 2 else old & ~value
            result = old
        elif word == 0x30200073:
            following = self.csr[MEPC]
            self.csr[MSTATUS] = (self.csr[MSTATUS] & ~0x88) | (self.csr[MSTATUS] >> 4 & 8) | 0x80
            cost = 4
        elif opcode == 0x0F:
            pass
        else:
            raise Trap(ILLEGAL, word)
        if result is not None and rd:
            self.regs[rd] = result & 0xFFFFFFFF
            self.ready[rd] = self.cycle + 1 + wait
        self.cycle += cost
        self.pc = following & 0xFFFFFFFF
