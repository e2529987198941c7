"""The driver of the RPU card: memories and reset of units, the load balancer, counters. It uses only the card's
registers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from headrace.cards.rpu.elf import Program
from headrace.errors import HeadraceError

Policy = Literal["round_robin", "least_loaded", "flow_hash"]
SOURCES = ("eth0", "eth1", "host", "loopback")
RSS_KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
"""Of Microsoft's RSS verification suite: the default of the flow hash."""
TABLE = 128  # entries, of the table of flows
ACCELERATOR_TABLES = 0x0300_0000

_MAGIC = 0x5250
_TURNS = 100_000  # of a wait, some cycles each
_BOOT_TURNS = 2_000
_OPEN_TURNS = 4
_DRAIN_NS = 200_000


@dataclass(frozen=True)
class UnitCounters:
    """What went into and out of a unit. ``stalls``: cycles in which a beat waited; ``errors``: slots released wrongly,
    packets to no port, packets that a reset cut off or threw away; ``too_long``: packets that were longer than their
    slot, which it has dropped."""

    rx_packets: int
    rx_bytes: int
    tx_packets: int
    tx_bytes: int
    rx_stalls: int
    tx_stalls: int
    errors: int
    too_long: int


@dataclass(frozen=True)
class UnitState:
    """What a unit is at."""

    in_reset: bool
    flags: int  # interrupts and errors, as its software sees them
    errors_seen: int  # errors of ``flags`` since its reset, also those that its software has acknowledged
    evict_ready: bool
    enabled: bool  # packets come to it
    error_address: int  # of the last one
    error_pc: int
    program_counter: int
    active_slots: int  # bit 0: slot 1 holds a packet
    slots: int  # that its software has named
    slot_bytes: int  # of each: the longest packet that it takes
    outstanding: int  # of these with a packet, or one on its way
    debug_out: int


@dataclass(frozen=True)
class SourceCounters:
    """Packets of a source that didn't get to a unit: no room, bad or closed; for a unit that there is none of."""

    dropped: int
    refused: int


@dataclass(frozen=True)
class DramCounters:
    """Requests of units for host memory that are done; parts of reads, and writes, that were answered with an error."""

    reads: int
    writes: int
    read_errors: int
    write_errors: int


@dataclass(frozen=True)
class SwapReport:
    """A change of a unit's accelerator. Times are the card's, in ns: until the unit was empty, then until its slot was
    filled anew, then until it got packets again. ``dropped``: packets that it had to give up."""

    unit: int
    accelerator: str  # the identification of what is there now; "": nothing
    dropped: int
    drain_ns: int
    swap_ns: int
    boot_ns: int


class RpuDriver:
    """Drives an RPU card through its registers (a bound register map, such as ``Card.regs``).

    ``advance`` lets the card's time pass while the driver waits for it; a board's driver would sleep. ``now`` is the
    card's time in ns.
    """

    def __init__(self, registers: Any, advance: Callable[[], None], now: Callable[[], int]) -> None:
        regs = self._regs = registers.rpu
        self.rings = registers.rings
        self._advance = advance
        self._now = now
        if regs.card.magic != _MAGIC:
            raise HeadraceError("this is not an RPU card")
        self.units: int = regs.units.read()
        self.max_slots: int = regs.slots.read()
        self.imem_bytes: int = 1024 * regs.memories.imem_kb
        self.dmem_bytes: int = 1024 * regs.memories.dmem_kb
        self.pmem_bytes: int = 1024 * regs.pmem_kb.read()
        self._debugged: tuple[int, int] | None = None  # what the debug port is of
        self.set_key(RSS_KEY)

    def all_units(self) -> range:
        """The numbers of all units."""
        return range(self.units)

    # ------------------------------------------------------------------------------------------------ memories

    def write(self, units: Iterable[int], address: int, data: bytes) -> None:
        """Writes into the memories of units, at an address of their software's, a multiple of 4."""
        if address % 4:
            raise ValueError(f"address {address:#x}: must be a multiple of 4")
        memory = self._regs.memory
        memory.select.write(self._mask(units))
        memory.word_address.write(address)
        data += bytes(-len(data) % 4)
        for offset in range(0, len(data), 4):
            memory.write_word.write(int.from_bytes(data[offset : offset + 4], "little"))
        self._wait(lambda: memory.status.busy == 0, "does not take what is written into memories of units")
        if memory.status.lost:
            raise HeadraceError("the card has lost words for memories of units")

    def read(self, unit: int, address: int, size: int) -> bytes:
        """Reads from a unit's memory."""
        memory, start = self._regs.memory, address & ~3
        memory.select.write(self._mask([unit]))
        memory.word_address.write(start)
        found = bytearray()
        while len(found) < address - start + size:
            memory.read_word.write(1)
            self._wait(lambda: memory.status.busy == 0, f"does not read the memory of unit {unit}")
            found += memory.read_value.read().to_bytes(4, "little")
        return bytes(found[address - start :][:size])

    def load_table(self, words: Iterable[tuple[int, int]], units: Iterable[int]) -> None:
        """Loads a table of ``headrace.cards.rpu.tables``, (offset, word) each, into the accelerators of units, which
        must not be in reset: ``boot`` comes before."""
        chosen = list(units)
        start, data = 0, bytearray()
        for offset, word in words:
            if offset != start + len(data):
                self.write(chosen, ACCELERATOR_TABLES + start, bytes(data))
                start, data = offset, bytearray()
            data += word.to_bytes(4, "little")
        self.write(chosen, ACCELERATOR_TABLES + start, bytes(data))

    def load(self, program: Program, units: Iterable[int] | None = None) -> None:
        """Puts a program into units (None: all of them), which stay in reset."""
        chosen = list(self.all_units() if units is None else units)
        self.reset(chosen)
        for segment in program.segments:
            self.write(chosen, segment.address, segment.data)

    # ------------------------------------------------------------------------------------------------ units

    def reset(self, units: Iterable[int]) -> None:
        """Holds units in reset; their packets are forgotten."""
        for unit in units:
            self._unit(unit).control.set(reset=1)

    def boot(self, units: Iterable[int] | None = None, enable: bool = True) -> None:
        """Lets units (None: all of them) run, and packets come to them, unless ``enable`` is false."""
        chosen = list(self.all_units() if units is None else units)
        for unit in chosen:
            self._unit(unit).control.set(reset=0)
        if enable:
            self.enable(chosen)

    def ready(self, units: Iterable[int] | None = None) -> bool:
        """Waits until the software of units (None: all of them) has named its slots; says whether it has."""
        for unit in self.all_units() if units is None else units:
            slots = self._unit(unit).slots
            for _ in range(_BOOT_TURNS):
                if slots.count:
                    break
                self._advance()
            else:
                return False
        return True

    def enable(self, units: Iterable[int]) -> None:
        """Lets packets come to units, and to those that get some already."""
        enable = self._regs.balancer.enable
        enable.write(enable.read() | self._mask(units))

    def disable(self, units: Iterable[int]) -> list[int]:
        """Lets no new packets come to units; under the hash policy, their flows go to others. Gives those of them that
        got packets before."""
        chosen = list(units)
        enable = self._regs.balancer.enable
        before = enable.read()
        enable.write(before & ~self._mask(chosen))
        return [unit for unit in chosen if before >> unit & 1]

    def drain(self, unit: int) -> None:
        """Waits until a unit that is disabled has no packet left. Raises HeadraceError when it keeps some."""
        self._wait(lambda: self._unit(unit).slots.outstanding == 0, f"unit {unit} keeps packets")

    def evict(self, unit: int) -> None:
        """Asks a unit's software to give all packets back, and waits until it has."""
        self._unit(unit).control.set(evict=1)
        self._wait(lambda: self._unit(unit).status.evict_ready == 1, f"unit {unit} does not give its packets back")

    def accelerator(self, unit: int) -> str:
        """The identification of the accelerator that is at work in a unit; "": there is none, or it is isolated."""
        word = int(self._unit(unit).accelerator.read())
        return word.to_bytes(4, "little").rstrip(b"\0").decode("ascii", "replace")

    def isolate(self, unit: int, on: bool) -> None:
        """Cuts a unit's accelerator off, which has it in reset then, or lets it in again; waits until it is cut off."""
        self._unit(unit).control.set(isolate=int(on))
        if on:
            self._wait(lambda: self._unit(unit).status.accel_closed == 1, f"unit {unit} has jobs that do not end")

    def swap(
        self,
        unit: int,
        fill: Callable[[], None],
        program: Program,
        table: Iterable[tuple[int, int]] = (),
        *,
        force: bool = False,
        drain_ns: int = _DRAIN_NS,
    ) -> SwapReport:
        """Changes a unit's accelerator, its program and its table, while the other units run: disables and drains the
        unit, isolates and resets it, calls ``fill``, which fills its slot, boots and enables it.

        Raises HeadraceError, with all as it was, when the unit still has packets after ``drain_ns`` of the card's time;
        with ``force``, it is asked to give them up (``evict``), and after the same time again they are thrown away.
        """
        start = self._now()
        enabled = self.disable([unit])
        dropped = 0
        if not self.empty(unit, drain_ns):
            held = self.state(unit).outstanding
            if not force:
                self.enable(enabled)
                raise HeadraceError(f"unit {unit} keeps {held} packets: it is as it was")
            before = self.counters(unit).tx_packets
            self._unit(unit).control.set(evict=1)
            self.empty(unit, drain_ns)
            dropped = max(0, held - (self.counters(unit).tx_packets - before))
        drained = self._now()
        self.reset([unit])
        self.isolate(unit, True)
        fill()
        self._advance()
        self.isolate(unit, False)
        swapped = self._now()
        self.load(program, [unit])
        self.boot([unit], enable=False)
        for _ in range(_OPEN_TURNS):  # for its identification
            self._advance()
        self.load_table(table, [unit])
        if not self.ready([unit]):
            raise HeadraceError(f"unit {unit} does not boot: its program names no slots")
        self.enable([unit])
        return SwapReport(
            unit=unit,
            accelerator=self.accelerator(unit),
            dropped=dropped,
            drain_ns=drained - start,
            swap_ns=swapped - drained,
            boot_ns=self._now() - swapped,
        )

    def empty(self, unit: int, within_ns: int = _DRAIN_NS) -> bool:
        """Waits until a unit has no packets, so much of the card's time at most; says whether it has none."""
        end = self._now() + within_ns
        while self._unit(unit).slots.outstanding != 0:
            if self._now() >= end:
                return False
            self._advance()
        return True

    def poke(self, unit: int) -> None:
        """The poke interrupt."""
        self._unit(unit).control.set(poke=1)

    def in_reset(self, unit: int) -> bool:
        """Whether a unit is held in reset."""
        return bool(self._unit(unit).control.reset)

    def program_counter(self, unit: int) -> int:
        """Where a unit's core is: the oldest instruction that it has not finished."""
        return int(self._unit(unit).program_counter.read())

    def advance(self) -> None:
        """Lets some cycles pass."""
        self._advance()

    def write_debug_port(self, unit: int, register: int, value: int) -> None:
        """Writes a register of the debug port of a unit's core; ``headrace.cards.rpu.debug`` knows them."""
        debug = self._select_debug_port(unit, register)
        debug.write_word.write(value)
        self._wait(lambda: debug.status.busy == 0, f"unit {unit}: its core does not answer the debugger")

    def read_debug_port(self, unit: int, register: int) -> int:
        """Reads a register of the debug port of a unit's core."""
        debug = self._select_debug_port(unit, register)
        debug.read_word.write(1)
        self._wait(lambda: debug.status.busy == 0, f"unit {unit}: its core does not answer the debugger")
        return int(debug.read_value.read())

    def _select_debug_port(self, unit: int, register: int) -> Any:
        self._mask([unit])
        if self._debugged != (unit, register):
            self._regs.debug.select.set(unit=unit, register=register)
            self._debugged = (unit, register)
        return self._regs.debug

    def set_debug(self, unit: int, value: int) -> None:
        """The 64 bits that a unit's software reads as DEBUG_IN."""
        for half, word in enumerate(self._unit(unit).debug_in):
            word.write(value >> 32 * half & 0xFFFF_FFFF)

    # ------------------------------------------------------------------------------------------------ load balancer

    def set_policy(self, policy: Policy) -> None:
        """How units are chosen for packets."""
        self._regs.balancer.policy.value = policy

    def set_receivers(self, source: str, units: Iterable[int]) -> None:
        """Units that packets of a source (eth0, eth1, host, loopback) may go to, of those that are enabled."""
        if source not in SOURCES:
            raise HeadraceError(f"no source '{source}'; there are {', '.join(SOURCES)}", 2)
        self._regs.balancer.receive[SOURCES.index(source)].write(self._mask(units))

    def set_open(self, source: str, on: bool) -> None:
        """Whether packets of a source (eth0, eth1, host, loopback) are taken in; otherwise they are dropped."""
        if source not in SOURCES:
            raise HeadraceError(f"no source '{source}'; there are {', '.join(SOURCES)}", 2)
        register, bit = self._regs.balancer.open, 1 << SOURCES.index(source)
        register.write(register.read() | bit if on else register.read() & ~bit)

    def set_flow_control(self, on: bool) -> None:
        """Lets the Ethernet ports hold their links off while there is no room; otherwise packets are dropped then."""
        self._regs.balancer.hold.write(0b11 if on else 0)

    def set_key(self, key: bytes) -> None:
        """The 40 bytes of the flow hash's key."""
        if len(key) != 40:
            raise HeadraceError(f"a key of {len(key)} bytes: must have 40", 2)
        for number, word in enumerate(self._regs.balancer.key):
            word.write(int.from_bytes(key[4 * number : 4 * number + 4], "big"))

    def set_flow_table(self, units: Sequence[int]) -> None:
        """The units of 128 hash values, as the last 7 bits of the hash count them."""
        if len(units) != TABLE:
            raise HeadraceError(f"a table of flows with {len(units)} entries: must have {TABLE}", 2)
        for entry, unit in enumerate(units):
            self._mask([unit])
            self._regs.balancer.flow_table.set(entry=entry, unit=unit)

    def set_prefix(self, on: bool) -> None:
        """Puts the flow hash before each packet, 4 bytes, little endian."""
        self._regs.balancer.prefix.write(0b0111 if on else 0)

    # ------------------------------------------------------------------------------------------------ counters

    def counters(self, unit: int) -> UnitCounters:
        """A unit's counters since the card's reset."""
        group = self._unit(unit)
        return UnitCounters(**{field.name: getattr(group, field.name).read() for field in fields(UnitCounters)})

    def source_counters(self) -> dict[str, SourceCounters]:
        """By source: packets that didn't get to a unit."""
        return {
            name: SourceCounters(group.dropped.read(), group.refused.read())
            for name, group in zip(SOURCES, self._regs.source, strict=True)
        }

    def host_dropped(self) -> int:
        """Packets to the host port's ring that were lost: it is off, they are longer than their buffer, or host memory
        has answered with an error."""
        lost = self.rings.receive
        return int(lost.dropped.read() + lost.too_long.read() + lost.errors.read())

    def dram_counters(self) -> DramCounters:
        """Of the units' access to host memory."""
        return DramCounters(
            **{field.name: getattr(self._regs.dram, field.name).read() for field in fields(DramCounters)}
        )

    def dram_error_address(self, unit: int) -> int:
        """Where a unit's last request for host memory failed that was answered with an error; 0: none was."""
        self._mask([unit])
        low, high = self._regs.dram.error_address[2 * unit], self._regs.dram.error_address[2 * unit + 1]
        return int(low.read() | high.read() << 32)

    def out_dropped(self) -> list[int]:
        """By port (eth0, eth1, functions of the host's): packets that were dropped on their way out, cut off by a reset
        or longer than the store."""
        return [int(counter.read()) for counter in self._regs.out_dropped]

    def state(self, unit: int) -> UnitState:
        """What a unit is at."""
        group = self._unit(unit)
        status, slots = group.status.fields(), group.slots.fields()
        return UnitState(
            in_reset=self.in_reset(unit),
            flags=status["flags"],
            errors_seen=group.errors_seen.read(),
            evict_ready=bool(status["evict_ready"]),
            enabled=bool(self._regs.balancer.enable.read() >> unit & 1),
            error_address=group.error_address.read(),
            error_pc=group.error_pc.read(),
            program_counter=group.program_counter.read(),
            active_slots=group.active.read(),
            slots=slots["count"],
            slot_bytes=group.slot_bytes.read(),
            outstanding=slots["outstanding"],
            debug_out=group.debug_out[0].read() | group.debug_out[1].read() << 32,
        )

    def _unit(self, unit: int) -> Any:
        self._mask([unit])
        return self._regs.unit[unit]

    def _mask(self, units: Iterable[int]) -> int:
        mask = 0
        for unit in units:
            if not 0 <= unit < self.units:
                raise HeadraceError(f"there is no unit {unit}: the card has units 0 to {self.units - 1}", 2)
            mask |= 1 << unit
        return mask

    def _wait(self, done: Callable[[], bool], trouble: str) -> None:
        for _ in range(_TURNS):
            if done():
                return
            self._advance()
        raise HeadraceError(f"the RPU card {trouble}" if trouble.startswith("does") else trouble)
