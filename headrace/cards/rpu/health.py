"""What a unit of the RPU card is at, and what is wrong with it, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headrace.cards.rpu.driver import RpuDriver, UnitCounters, UnitState
from headrace.cards.rpu.elf import Program

FLAGS = {
    0: "timer", 1: "packet", 2: "dram", 3: "broadcast", 4: "poke", 5: "evict", 8: "broadcast_full", 9: "accelerator",
    10: "duplicate_slot", 11: "invalid_slot", 12: "invalid_descriptor", 13: "host_memory", 16: "instruction_memory",
    17: "data_memory", 18: "packet_memory", 19: "registers",
}  # fmt: skip
"""Bits of the flags register; 8 and those from 10 on are errors, the last four accesses to what isn't there."""
CAUSES = {
    0: "jump to an address that is no multiple of 4", 1: "instruction fetch from nowhere", 2: "illegal instruction",
    3: "ebreak", 4: "misaligned load", 5: "load from nowhere", 6: "misaligned store", 7: "store to nowhere",
    11: "environment call",
}  # fmt: skip
STUCK_NS = 100_000  # more than a packet's turn takes in any unit

_EXCEPTION_MARK = 0xEC  # the highest byte of DEBUG_OUT: EXCEPTION_MARK of firmware/include/headrace.h
_EXCEPTION = "headrace_exception"
_ACCESS = range(16, 20)
_ACCELERATOR = 1  # addresses from 0x400000 on; bit 26 swaps their bytes
_FETCH = 1 << 16
_PACKET = 1
_HOST_MEMORY = 1 << 13
_INTERRUPT = 1 << 31


@dataclass(frozen=True)
class UnitHealth:
    """A unit as tools show it. ``where``: program counter, function and source line, as far as the program tells.
    ``fault``: what is wrong, with its cause and address, None: nothing. ``stopped``: the program's handler of
    exceptions has ended it; ``stuck_ns``: so long it has held packets, and none came or went. ``notes``: what
    a user has to know though it is no fault."""

    unit: int
    program: str
    counters: UnitCounters
    state: UnitState
    flags: tuple[str, ...]
    errors_seen: tuple[str, ...]
    where: str
    stopped: bool
    stuck_ns: int
    fault: str | None
    notes: tuple[str, ...]


def names(flags: int) -> tuple[str, ...]:
    """The names of flags."""
    return tuple(name for bit, name in FLAGS.items() if flags >> bit & 1)


def address(state: UnitState) -> str:
    """Where the last error was, and what there isn't if that is the accelerator."""
    accelerator = state.error_address >> 22 & ~0x10 == _ACCELERATOR and state.errors_seen >> _ACCESS[-1] & 1
    return f"{state.error_address:#x}{': the unit has no accelerator' if accelerator else ''}"


def place(program: Program | None, pc: int) -> str:
    """A program counter with its function and source line."""
    if program is None:
        return f"{pc:#x}"
    function, line = program.function_at(pc), program.line_at(pc)
    return ", ".join(str(text) for text in (f"{pc:#x}", function.name if function else None, line) if text)


def _notes(counters: UnitCounters, state: UnitState, known: bool) -> Iterator[str]:
    """``known``: it has no program, or a fault."""
    if counters.too_long:
        yield f"dropped {counters.too_long:,} packets of more bytes than its slots have, {state.slot_bytes:,}"
    if not (state.slots or state.in_reset or known):
        yield "has entered no slots, and gets no packets"


class Physician:
    """Looks at the units of a card, and keeps in mind since when nothing has moved in them."""

    def __init__(self, driver: RpuDriver, clock: Callable[[], int]) -> None:
        """``clock``: the card's time in ns."""
        self._driver, self._clock = driver, clock
        self._last: dict[int, tuple[object, int]] = {}

    def watch(self, unit: int) -> int:
        """For how many ns a unit has held packets without any moving, as far as looks at it can tell."""
        return self._still(unit, self._driver.counters(unit), self._driver.state(unit))

    def look(self, unit: int, name: str, program: Program | None, hung: bool = False) -> UnitHealth:
        """``name``, ``program``: what it runs; ``hung``: it is known that nothing moves any more."""
        counters, state = self._driver.counters(unit), self._driver.state(unit)
        still = self._still(unit, counters, state)
        stopped = state.debug_out >> 56 == _EXCEPTION_MARK and not state.in_reset
        fault = self._fault(unit, state, program, stopped, hung or still >= STUCK_NS)
        return UnitHealth(
            unit=unit,
            program=name,
            counters=counters,
            state=state,
            flags=names(state.flags),
            errors_seen=names(state.errors_seen),
            where=place(program, state.program_counter),
            stopped=stopped,
            stuck_ns=still,
            fault=fault,
            notes=tuple(_notes(counters, state, program is None or fault is not None)),
        )

    def _still(self, unit: int, counters: UnitCounters, state: UnitState) -> int:
        moved = counters.rx_packets, counters.tx_packets, counters.errors
        now, seen = self._clock(), (moved, state.active_slots, state.outstanding)
        before, since = self._last.get(unit, (None, now))
        if seen != before or not state.outstanding:
            since = now
        self._last[unit] = seen, since
        return now - since

    def _fault(self, unit: int, state: UnitState, program: Program | None, stopped: bool, stuck: bool) -> str | None:
        accesses = any(state.errors_seen >> bit & 1 for bit in _ACCESS)
        errors = " and ".join(name.replace("_", " ") for name in names(state.errors_seen))
        if stopped:
            pc = state.debug_out & 0xFFFF_FFFF
            wrong = f"{pc:#x}" if state.errors_seen & _FETCH else address(state)  # which is a whole cache line's end
            where = place(program, state.error_pc if accesses else pc)
            return f"stopped at {where}: {self._cause(unit, state, program)}; last wrong address {wrong}"
        if state.errors_seen == _HOST_MEMORY:
            return f"error of host memory; last wrong host address {self._driver.dram_error_address(unit):#x}"
        if state.errors_seen:
            return f"error of {errors}, at {place(program, state.error_pc)}; last wrong address {address(state)}"
        if stuck and state.slots == 0 and not state.in_reset:
            return f"stuck at {place(program, state.program_counter)}: has entered no slots, and gets no packets"
        if stuck and state.outstanding:
            slots = ", ".join(str(slot + 1) for slot in range(32) if state.active_slots >> slot & 1)
            what = "takes no packets" if state.flags >> _PACKET & 1 else f"does not give back slots {slots}"
            return f"stuck at {place(program, state.program_counter)}: {what}, {state.outstanding} in all"
        return None

    def _cause(self, unit: int, state: UnitState, program: Program | None) -> str:
        if program is None or _EXCEPTION not in program.symbols:
            return CAUSES.get(state.debug_out >> 32 & 0xFF, "exception")
        record = self._driver.read(unit, program.symbols[_EXCEPTION].address, 16)
        cause, _, value, errors = (int.from_bytes(record[at : at + 4], "little") for at in range(0, 16, 4))
        if cause & _INTERRUPT:
            wrong = ", ".join(name.replace("_", " ") for name in names(errors << 16))
            return f"access beyond {wrong}"
        return f"{CAUSES.get(cause, f'exception {cause}')} ({value:#x})"
