"""A debugger's view of one core of the RPU card, through the debug port of its processor.

The port halts the core, and has it execute instructions that it doesn't fetch: so registers are read and written. What
the debug port's registers mean is VexRiscv's: 0x00 is status and control, 0x04 takes an instruction and gives the
result of the last one, 0x40 and 0x44 are hardware breakpoints. Memories are reached as the host always does, whether
the core runs or not. The other units notice nothing of all that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headrace.cards.rpu.driver import RpuDriver
from headrace.errors import HeadraceError

HARDWARE_BREAKPOINTS = 2
CSRS = {"mstatus": 0x300, "mie": 0x304, "mepc": 0x341, "mcause": 0x342, "mtval": 0x343, "mip": 0x344}
PC = 32  # as a register's number: behind x0 to x31

_CONTROL, _INSTRUCTION, _BREAKPOINT = 0x00, 0x04, 0x40
_STEP, _HALT, _NO_EBREAK, _GO, _EBREAK = 1 << 4, 1 << 17, 1 << 18, 1 << 25, 1 << 26
_HALTED, _BUSY, _BY_BREAK = 1 << 1, 1 << 2, 1 << 3
_TURNS = 10_000  # of a wait for the core
_STEPS = 100  # at most without a look at the user

_ADDI, _LUI, _AUIPC, _JALR, _CSRRS, _FENCE_I, _EBREAK_WORD = 0x13, 0x37, 0x17, 0x67, 0x2073, 0x100F, 0x0010_0073
_MASK = 0xFFFF_FFFF

Reason = Literal["running", "breakpoint", "halted"]


class Debugger:
    """Halts, steps and looks at the core of a unit. What needs a halted core raises HeadraceError when it runs."""

    def __init__(self, driver: RpuDriver, unit: int) -> None:
        self._driver = driver
        self.unit = unit
        self._pc: int | None = None  # where the halted core goes on; None: not known yet
        self._by_break = False
        self._attached = False  # an ``ebreak`` halts the core; otherwise it does nothing
        self._hardware: list[int | None] = [None] * HARDWARE_BREAKPOINTS
        self._software: dict[int, bytes] = {}  # the instructions that stood there

    # ------------------------------------------------------------------------------------------------ running

    def state(self) -> Reason:
        """Whether the core runs, was halted, or came to a breakpoint."""
        status = self._status()
        if not status & _HALTED or status & _BUSY:
            self._pc = None
            return "running"
        if self._pc is None:
            self._by_break = bool(status & _BY_BREAK)
            # A breakpoint leaves its address as the last result; the next instruction would take its place.
            self._pc = self._result() if self._by_break else self._execute(_AUIPC)
        return "breakpoint" if self._by_break else "halted"

    def halt(self) -> None:
        """Halts the core, also one that sleeps. Raises HeadraceError when its load or store does not end."""
        self._must_not_be_in_reset()
        if self.state() == "running":
            self._control(_HALT)
            self._wait_for_halt()

    def resume(self) -> None:
        """Lets the halted core go on."""
        pc = self._halted_at()
        if pc in self._software or pc in self._hardware:
            self.step()
        self._go()

    def step(self) -> None:
        """Lets the halted core execute one instruction; a breakpoint there is left out, and interrupts wait."""
        pc = self._halted_at()
        original, place = self._software.get(pc), self._hardware.index(pc) if pc in self._hardware else None
        if original is not None:
            self._change_code(pc, original)
        if place is not None:
            self._set_hardware(place, None)
        self._go(_STEP)
        self._wait_for_halt()
        if original is not None:
            self._change_code(pc, _EBREAK_WORD.to_bytes(4, "little"))
        if place is not None:
            self._set_hardware(place, pc)

    def step_within(self, start: int, end: int, watched: Sequence[tuple[int, int]] = ()) -> tuple[bool, int | None]:
        """Steps, at least once, until the core leaves these addresses, comes to a breakpoint, or changes what is
        watched, (address, bytes) each. Gives up for now after some steps.

        Says whether it may be stepped on, and the address of what has changed.
        """
        before = [self.read_memory(*each) for each in watched]
        for _ in range(_STEPS):
            self.step()
            for each, old in zip(watched, before, strict=True):
                if self.read_memory(*each) != old:
                    return False, each[0]
            pc = self._halted_at()
            if not start <= pc < end or pc in self._software or pc in self._hardware:
                return False, None
        return True, None

    def attach(self) -> None:
        """Halts the core; from now on it also halts where its program has an ``ebreak``, or a breakpoint is."""
        self._attached = True
        self.halt()

    def detach(self) -> None:
        """Takes all breakpoints away and lets the core go on; an ``ebreak`` does nothing again."""
        if self._driver.in_reset(self.unit):
            self.forget()
            return
        self.halt()
        for address in [*self._software]:
            self.remove_breakpoint(address)
        for place in range(HARDWARE_BREAKPOINTS):
            self._set_hardware(place, None)
        self._attached = False
        self._go()

    def forget(self) -> None:
        """Breakpoints and a halt are gone: another program is loaded, and its core in reset."""
        self._software.clear()
        for place in range(HARDWARE_BREAKPOINTS):
            self._set_hardware(place, None)
        self._control(_GO | _NO_EBREAK)
        self._attached, self._pc = False, None

    # ------------------------------------------------------------------------------------------------ registers

    def registers(self) -> list[int]:
        """x0 to x31, and the program counter."""
        pc = self._halted_at()
        return [self._execute(_ADDI | number << 15) for number in range(PC)] + [pc]

    def csrs(self) -> dict[str, int]:
        """Control and status registers by name."""
        self._halted_at()
        return {name: self._execute(_CSRRS | number << 20) for name, number in CSRS.items()}

    def write_register(self, number: int, value: int) -> None:
        """Sets x1 to x31, or the program counter."""
        self._halted_at()
        if not 0 <= number <= PC:
            raise HeadraceError(f"register {number}: a core has x0 to x31 and the program counter, 32", 2)
        if number == PC:
            self._pc = value & ~3 & _MASK
        elif number:
            upper = value + 0x800 & 0xFFFF_F000  # the lower 12 bits are added with their sign
            self._execute(_LUI | number << 7 | upper)
            self._execute(_ADDI | number << 7 | number << 15 | (value & 0xFFF) << 20)

    # ------------------------------------------------------------------------------------------------ memories

    def read_memory(self, address: int, size: int) -> bytes:
        """Reads a memory, as its program is without breakpoints. Raises HeadraceError where there is none."""
        found = bytearray(self._driver.read(self.unit, self._known(address, size), size))
        for place, original in self._software.items():
            for offset, byte in enumerate(original):
                if 0 <= place + offset - address < size:
                    found[place + offset - address] = byte
        return bytes(found)

    def write_memory(self, address: int, data: bytes) -> None:
        """Writes a memory. Where that is the program, a core that runs is halted for it."""
        self._known(address, len(data))
        start, end = address & ~3, -(-(address + len(data)) // 4) * 4
        before = self._driver.read(self.unit, start, address - start)
        after = self._driver.read(self.unit, address + len(data), end - address - len(data))
        self._change(start, before + data + after)

    # ------------------------------------------------------------------------------------------------ breakpoints

    def set_breakpoint(self, address: int, hardware: bool = False) -> None:
        """Lets the core halt before an instruction. Raises HeadraceError when both hardware breakpoints are taken, or
        there is no program. The core must be halted; as with ``attach``, it halts at every ``ebreak`` then."""
        self._halted_at()
        self._attached = True
        if hardware:
            if address in self._hardware:
                return
            if None not in self._hardware:
                raise HeadraceError(f"a core has {HARDWARE_BREAKPOINTS} hardware breakpoints, and both are taken")
            self._set_hardware(self._hardware.index(None), address)
        elif address not in self._software:
            if address % 4 or not self._is_program(address):
                raise HeadraceError(f"{address:#x}: not an instruction's address in instruction memory", 2)
            original = self._driver.read(self.unit, self._known(address, 4), 4)
            self._change_code(address, _EBREAK_WORD.to_bytes(4, "little"))
            self._software[address] = original

    def remove_breakpoint(self, address: int, hardware: bool = False) -> None:
        """Takes a breakpoint away, if there is one."""
        self._halted_at()
        if hardware:
            if address in self._hardware:
                self._set_hardware(self._hardware.index(address), None)
        elif address in self._software:
            self._change_code(address, self._software.pop(address))

    # ------------------------------------------------------------------------------------------------ inside

    def _status(self) -> int:
        return self._driver.read_debug_port(self.unit, _CONTROL)

    def _control(self, bits: int) -> None:
        self._driver.write_debug_port(self.unit, _CONTROL, bits)

    def _result(self) -> int:
        return self._driver.read_debug_port(self.unit, _INSTRUCTION)

    def _execute(self, instruction: int) -> int:
        """Has the halted core execute an instruction, and gives what it writes into its register."""
        self._driver.write_debug_port(self.unit, _INSTRUCTION, instruction)
        return self._result()

    def _set_hardware(self, place: int, address: int | None) -> None:
        self._driver.write_debug_port(self.unit, _BREAKPOINT + 4 * place, 0 if address is None else address | 1)
        self._hardware[place] = address

    def _go(self, how: int = 0) -> None:
        pc = self._halted_at()
        saved = self._execute(_ADDI | 1 << 15)
        self.write_register(1, pc)
        self._execute(_JALR | 1 << 15)
        self.write_register(1, saved)
        self._pc = None
        self._control(_GO | how | (_EBREAK if self._attached else _NO_EBREAK))

    def _wait_for_halt(self) -> None:
        for _ in range(_TURNS):
            if self.state() != "running":
                return
            self._driver.advance()
        raise HeadraceError(f"unit {self.unit} does not halt: a load or store of its core does not end")

    def _halted_at(self) -> int:
        self._must_not_be_in_reset()
        if self.state() == "running" or self._pc is None:
            raise HeadraceError(f"unit {self.unit} runs: halt it first")
        return self._pc

    def _must_not_be_in_reset(self) -> None:
        if self._driver.in_reset(self.unit):
            raise HeadraceError(f"unit {self.unit} is in reset: it has no program")

    def _is_program(self, address: int) -> bool:
        """Bit 25 of an instruction's address says nothing."""
        return address & 0xFDFF_FFFF < self._driver.imem_bytes

    def _known(self, address: int, size: int) -> int:
        """An address as the host has it. Raises HeadraceError unless all bytes are in a memory."""
        driver = self._driver
        places = ((0x0200_0000, driver.imem_bytes), (0x0080_0000, driver.dmem_bytes), (0x0100_0000, driver.pmem_bytes))
        if size >= 0 and any(base <= address and address + size <= base + bytes_ for base, bytes_ in places):
            return address
        raise HeadraceError(f"{size} bytes at {address:#x}: not in a memory of unit {self.unit}", 2)

    def _change(self, address: int, data: bytes) -> None:
        if self._is_program(address):
            runs = self.state() == "running"
            self.halt()
            self._change_code(address, data)
            if runs:
                self._go()
        else:
            self._driver.write([self.unit], address, data)

    def _change_code(self, address: int, data: bytes) -> None:
        """What the core's cache holds is forgotten."""
        self._driver.write([self.unit], address | 0x0200_0000, data)
        self._execute(_FENCE_I)
