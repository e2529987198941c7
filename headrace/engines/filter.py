"""The driver of the filter card: programs, program sets, counters, measurement. It uses only the card's registers.

The card holds two sets of four program slots and one instruction memory in each core (written in all cores at once).
Packets take the active set as they arrive. To change a program, the driver writes the other set and makes it active:
every packet before that moment gets the old programs, every packet after it the new ones, and none is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from headrace.card.stats import Frame
from headrace.card.waiting import waited
from headrace.errors import HeadraceError
from headrace.net.bpf import Program, validate

SLOTS = 4
MEASURES = 1024
MAX_PROGRAM = 4096
DEFAULT_BUDGET = 16384
_SLOWEST = 400  # cycles of an instruction: a division, behind those of the core's seven other threads
LONGEST_FRAME = 131071  # that a filter card can be built for, in bytes

_MAGIC = 0x4652


@dataclass(frozen=True)
class Slot:
    """A program in a slot. A measurement's return value picks the counter that counts the packet."""

    program: Program
    measurement: bool = False


class SinkOfProgram(TypedDict):
    """Arguments of ``Card.sink``."""

    select: int
    length_at: int


def sink_of(slot: int) -> SinkOfProgram:
    """For a sink of the monitor port: the frames that a slot's program accepted, cut to what it returned."""
    return {"select": slot, "length_at": SLOTS + 32 * slot}


def verdicts(frame: Frame) -> tuple[int, ...]:
    """What the program of each slot returned for a frame of the monitor port; 0: it did not accept it."""
    return tuple(frame.user >> (SLOTS + 32 * slot) & 0xFFFFFFFF for slot in range(SLOTS))


@dataclass(frozen=True)
class ProgramCounters:
    """Packets that a program matched, their bytes on the wire, and its runs that were stopped by an error."""

    matched: int
    bytes: int
    errors: int


@dataclass(frozen=True)
class IngressCounters:
    """Frames and bytes that came in at a port, and what became of those that were not inspected."""

    packets: int
    bytes: int
    uninspected: int
    bad: int
    held: int


@dataclass(frozen=True)
class FilterCounters:
    """All counters of the card, since its reset. Units: packets, bytes, instructions, and cycles for ``held``."""

    ingress: tuple[IngressCounters, ...]
    programs: tuple[ProgramCounters, ...]
    inspected: int
    accepted: int
    forwarded: int
    monitor_dropped: int
    forwarded_bytes: int
    slots_used: int
    instructions: int
    measure_out_of_range: int
    monitor_ignored: int

    @property
    def packets(self) -> int:
        """Frames received on both ports."""
        return sum(port.packets for port in self.ingress)

    @property
    def uninspected(self) -> int:
        """Frames that no core could take, or that no core can: in error or too long."""
        return sum(port.uninspected + port.bad for port in self.ingress)

    @property
    def core_cpi(self) -> float | None:
        """Cycles per instruction of the cores; None before the first instruction."""
        return self.slots_used / self.instructions if self.instructions else None


class FilterDriver:
    """Drives a filter card through its registers (a bound register map, such as ``Card.regs``).

    ``advance`` lets the card's time pass while the driver waits for it; a board's driver would sleep.
    """

    def __init__(self, regs: Any, advance: Callable[[], None]) -> None:
        self._regs = regs
        self._advance = advance
        if regs.card.magic != _MAGIC:
            raise HeadraceError("this is not a filter card")
        self.imem_words: int = regs.imem_words.read()
        self._slots: dict[int, Slot] = {}
        self._places: dict[int, int] = {}  # slot -> first word, of the active set
        self._base: dict[int, tuple[int, int]] = {}
        self._out_of_range_base = 0
        self._wait(lambda: regs.status.ready == 1, "does not get ready")

    @property
    def slots(self) -> Mapping[int, Slot]:
        """The programs that arriving packets get, by slot."""
        return dict(self._slots)

    def set_flow_control(self, on: bool) -> None:
        """Hold the links off (True) or pass packets uninspected (False) when no core can take them."""
        self._regs.control.flow_control = int(on)

    def set_budget(self, instructions: int) -> None:
        """Instructions that a program may spend on one packet, 1 to 65,535. Raises ValueError for others."""
        self._regs.budget.instructions = instructions

    def load(self, slots: Mapping[int, Slot]) -> None:
        """Makes ``slots`` the programs of all packets that arrive from now on. Slots that aren't named are off.

        Raises FilterError for a program that libpcap refuses, HeadraceError where the programs do not fit into the
        instruction memory beside those that are running.
        """
        for number, slot in slots.items():
            if not 0 <= number < SLOTS:
                raise HeadraceError(f"there is no program slot {number}: the card has slots 0 to {SLOTS - 1}")
            if len(slot.program) > MAX_PROGRAM:
                raise HeadraceError(f"a program has {MAX_PROGRAM:,} instructions at most, not {len(slot.program):,}")
            validate(slot.program)
        if sum(slot.measurement for slot in slots.values()) > 1:
            raise HeadraceError("one slot at a time can hold a measurement")

        places = self._place(slots)
        spare = 1 - self._regs.control.active_set
        self._wait(
            lambda: self._regs.status["set1_busy" if spare else "set0_busy"] == 0, "keeps packets of old programs"
        )
        for number, place in places.items():
            if self._places.get(number) != place:  # what is new never has the place of what runs
                self._write_program(place, slots[number].program)
        for number in range(SLOTS):
            used = slots.get(number)
            mode = "off" if used is None else "measure" if used.measurement else "filter"
            length = 0 if used is None else len(used.program)
            self._regs.program_slot[spare * SLOTS + number].set(base=places.get(number, 0), length=length, mode=mode)
        self._regs.control.active_set = spare
        self._slots, self._places = dict(slots), places

    def replace(self, number: int, slot: Slot | None) -> None:
        """Changes one slot and leaves the others as they are; None switches it off."""
        slots = {other: old for other, old in self._slots.items() if other != number}
        if slot is not None:
            slots[number] = slot
        self.load(slots)

    def instructions(self) -> int:
        """Instructions that the programs have run so far: a card that works runs some."""
        return int(self._regs.instructions.read())

    def counters(self) -> FilterCounters:
        """Reads all counters."""
        regs = self._regs
        values = {
            field.name: getattr(regs, field.name).read() for field in fields(FilterCounters) if field.type == "int"
        }
        return FilterCounters(
            ingress=tuple(_read(IngressCounters, group) for group in regs.ingress),
            programs=tuple(_read(ProgramCounters, group) for group in regs.program_count),
            **values,
        )

    def measurement(self) -> dict[int, tuple[int, int]]:
        """What the measurement has counted since ``reset_measurement``: counter -> (packets, bytes on the wire).

        Counters that are 0 are left out; MEASURES stands for all return values out of range, without their bytes.
        """
        counts = {}
        for index, (packets, size) in self._read_measurement().items():
            old_packets, old_size = self._base.get(index, (0, 0))
            if packets > old_packets:
                counts[index] = (packets - old_packets, size - old_size)
        out_of_range = self._regs.measure_out_of_range.read() - self._out_of_range_base
        if out_of_range:
            counts[MEASURES] = (out_of_range, 0)
        return counts

    def reset_measurement(self) -> None:
        """Counts from here on."""
        self._base = self._read_measurement()
        self._out_of_range_base = self._regs.measure_out_of_range.read()

    def _read_measurement(self) -> dict[int, tuple[int, int]]:
        words = self._regs.measurement.read(0, 4 * MEASURES)
        pairs = ((words[i] | words[i + 1] << 32, words[i + 2] | words[i + 3] << 32) for i in range(0, len(words), 4))
        return {index: pair for index, pair in enumerate(pairs) if pair[0]}

    def _place(self, slots: Mapping[int, Slot]) -> dict[int, int]:
        """Finds words for programs beside the running ones. Those that stay are written anew only where that is needed
        to have them all in one half: whatever fits into the other one can then take their place."""
        half, end = self.imem_words // 2, self.imem_words
        halves = [(stay, *bounds) for stay in (True, False) for bounds in ((0, half), (half, end))]
        for stay, *bounds in (*halves, (True, 0, end), (False, 0, end)):
            if (places := self._fit(slots, *bounds, stay=stay)) is not None:
                return places
        raise HeadraceError(
            f"the programs do not fit into the card's {self.imem_words:,} words of instruction memory beside those "
            f"that run: build it with a larger IMEM_WORDS"
        )

    def _fit(self, slots: Mapping[int, Slot], begin: int, end: int, *, stay: bool) -> dict[int, int] | None:
        """The lowest places from ``begin`` to ``end``; with ``stay`` unchanged programs keep theirs. None: no room."""
        taken = sorted((place, place + len(self._slots[number].program)) for number, place in self._places.items())
        places = {}
        for number, slot in slots.items():
            place = begin
            if stay and self._slots.get(number) == slot:
                place = self._places[number]
            else:
                for start, stop in taken:
                    if place + len(slot.program) <= start:
                        break
                    place = max(place, stop)
                taken = sorted([*taken, (place, place + len(slot.program))])
            if not begin <= place <= end - len(slot.program):
                return None
            places[number] = place
        return places

    def _write_program(self, place: int, program: Program) -> None:
        with self._regs.batch():
            self._regs.imem_addr.write(place)
            for instruction in program:
                self._regs.imem_k.write(instruction.k)
                self._regs.imem_code.write(instruction.code | instruction.jt << 16 | instruction.jf << 24)

    def _wait(self, done: Callable[[], bool], complaint: str) -> None:
        if not waited(done, self._advance, self.instructions):
            raise HeadraceError(f"the filter card {complaint}")


def _read(kind: Any, group: Any) -> Any:
    return kind(**{field.name: getattr(group, field.name).read() for field in fields(kind)})


def longest_run_s(clock_hz: int, budget: int = DEFAULT_BUDGET) -> float:
    """Card time for which all programs together may keep one packet, with so many instructions each."""
    return SLOTS * budget * _SLOWEST / clock_hz


def stopped(runs: int) -> str:
    """What to tell of runs of a program that were stopped."""
    return (
        f"{runs:,} runs were stopped by the instruction budget or a jump out of the program, and count as not matched"
    )


def not_inspected(packets: int, max_frame: int) -> str:
    """What to tell of packets that were longer than ``max_frame`` bytes, the most that the card's filters inspect."""
    advice = f": use -P MAX_FRAME={LONGEST_FRAME} -P PACKET_KB=256" if max_frame < LONGEST_FRAME else ""
    return f"{packets:,} packets are longer than {max_frame:,} bytes and were not inspected{advice}"
