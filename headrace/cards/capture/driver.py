"""The driver of the capture engine: its ring, its descriptors, its interrupts and counters.

It uses registers, host memory and interrupts, and nothing else: a driver of a board would do the same. The registers
are described in ``regs/capture.rdl``.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, Protocol

from headrace.card.packet_memory import Packets
from headrace.card.records import Ring
from headrace.card.waiting import waited
from headrace.errors import HeadraceError

DATA, ERROR = 0, 1  # interrupt vectors
RING_BYTES = (1 << 8, 1 << 31)  # smallest and largest
DESCRIPTOR_SLOTS = (1 << 2, 1 << 16)
MAX_CAPTURED = 65_600  # bytes of a packet
RECORD_HEADER = 16  # bytes

_MAGIC = 0x4350
_SLOT = 16  # bytes of a descriptor's slot: 64 bits of address or time, 32 of bytes, 32 of bytes on the wire
_TIME_SLOT = 1 << 31
_MODULO = 1 << 32


class Memory(Protocol):
    """Host memory that the card reaches, by the addresses that it uses."""

    def view(self, address: int, size: int) -> memoryview:
        """The bytes themselves."""


@dataclass(frozen=True)
class CaptureSettings:
    """How the engine is set up.

    ``ring_bytes`` (256 to 2 GiB) and ``descriptor_slots`` (4 to 65,536) are powers of two. ``snaplen``: bytes of a
    packet that are captured at most. Interrupt 0 comes when ``watermark`` bytes wait (None: never) and when a record
    has waited for ``timeout_ns`` (0: never). ``wait_for_room``: packets wait while the ring is full, rather than be
    dropped; ``flow_control``: the ports' links are held off while their packets wait.
    """

    ring_bytes: int = 1 << 22
    descriptor_slots: int = 1 << 12
    snaplen: int = MAX_CAPTURED
    watermark: int | None = None
    timeout_ns: int = 0
    wait_for_room: bool = False
    flow_control: bool = False


PORT_CAUSES = ("bad", "oversize", "disabled", "overflow")  # for which a port drops a frame


@dataclass(frozen=True)
class CapturePortCounters:
    """Frames and bytes that came in at a port; frames dropped, by cause; cycles for which the link was held off."""

    frames: int
    bytes: int
    bad: int
    oversize: int
    disabled: int
    overflow: int
    held: int


@dataclass(frozen=True)
class CaptureCounters:
    """All counters of the engine, in packets unless named otherwise. They count from the card's reset on."""

    ports: tuple[CapturePortCounters, ...]
    memory_packets: int
    read_errors: int
    records: int
    record_bytes: int
    ring_full: int
    too_long: int
    after_error: int

    @property
    def received(self) -> int:
        """Packets that came in, from the ports and out of host memory."""
        return sum(port.frames for port in self.ports) + self.memory_packets

    @property
    def dropped_before(self) -> dict[str, int]:
        """Packets dropped before the filters, by cause."""
        causes = {cause: sum(getattr(port, cause) for port in self.ports) for cause in PORT_CAUSES}
        return {**causes, "read_errors": self.read_errors}

    @property
    def dropped_behind(self) -> dict[str, int]:
        """Packets dropped between the filters and the ring, by cause."""
        return {"ring_full": self.ring_full, "too_long": self.too_long, "after_error": self.after_error}

    @property
    def dropped(self) -> dict[str, int]:
        """Packets dropped, by cause."""
        return {**self.dropped_before, **self.dropped_behind}

    def missing(self, filtered: int = 0) -> int:
        """Packets that came in and are neither recorded, nor dropped for a cause, nor ``filtered`` out.

        0 whenever the engine is at rest: anything else is a fault of the card.
        """
        return self.received - self.records - filtered - sum(self.dropped.values())


class CaptureDriver:
    """Drives a capture engine.

    ``registers``: its bound register map, such as ``card.regs.capture``. ``memory``: host memory. ``allocate(size)``
    gives the address of that many bytes for the card, a power of two, of which the address is a multiple.
    ``interrupts()`` takes the vectors that were raised since it was last asked. ``advance()`` lets time pass while the
    driver waits for the engine; a board's driver would sleep. ``filtered()`` gives what changes while filters before
    the engine work.
    """

    def __init__(
        self,
        registers: Any,
        memory: Memory,
        allocate: Callable[[int], int],
        interrupts: Callable[[], Iterable[int]],
        advance: Callable[[], None],
        filtered: Callable[[], object] = lambda: None,
    ) -> None:
        engine = registers.engine.fields()
        if engine["magic"] != _MAGIC or engine["version"] != 1:
            raise HeadraceError(
                f"no capture engine of version 1: {engine['magic']:#06x}, version {engine['version']} is there"
            )
        self._regs = registers
        self._memory = memory
        self._allocate = allocate
        self._interrupts = interrupts
        self._advance = advance
        self._filtered = filtered
        self.memory_bits: int = registers.mem_w.read()
        self.burst: int = registers.burst.read()
        self.cores: int = registers.cores.read()
        self.settings: CaptureSettings | None = None
        self._places: dict[tuple[str, int], int] = {}  # what and its size -> address
        self._forget()

    def _forget(self) -> None:
        self.consumer = 0
        self._head = 0
        self._tail = 0
        self._packets_read = 0

    # Setting up

    def setup(self, settings: CaptureSettings) -> None:
        """Stops the engine if it runs, and starts it anew. What waits in the ring is lost.

        Raises ValueError for settings that the engine can't have.
        """
        ring_log2 = _log2("ring_bytes", settings.ring_bytes, RING_BYTES)
        slots_log2 = _log2("descriptor_slots", settings.descriptor_slots, DESCRIPTOR_SLOTS)
        self.stop()
        regs = self._regs
        regs.control.restart = 1
        self._forget()
        self.settings = settings
        self.ring = Ring(self._place("record", settings.ring_bytes), settings.ring_bytes)
        descriptors = self._place("descriptor", settings.descriptor_slots * _SLOT)
        self._words = self._memory.view(descriptors, settings.descriptor_slots * _SLOT).cast("Q")
        watermark = _MODULO - 1 if settings.watermark is None else settings.watermark
        with regs.batch():
            regs.snaplen.write(min(settings.snaplen, MAX_CAPTURED))
            regs.ring_base.write(self.ring.address)
            regs.ring_size.write(ring_log2)
            regs.consumer.write(0)
            regs.watermark.write(watermark)
            regs.timeout.write(settings.timeout_ns)
            regs.descriptor_base.write(descriptors)
            regs.descriptor_size.write(slots_log2)
            regs.descriptor_head.write(0)
        self.arm()
        self.start()

    def start(self) -> None:
        """Lets the engine take packets."""
        assert self.settings is not None, "setup() comes first"
        self._regs.control.set(
            enable=1, wait_for_room=int(self.settings.wait_for_room), flow_control=int(self.settings.flow_control)
        )

    def stop(self) -> None:
        """Lets the engine take no more packets, and waits until those on their way are in the ring or dropped.

        Packets that wait for room in the ring are dropped (``ring_full``).
        """
        self._regs.control.set(enable=0, wait_for_room=0, flow_control=0)
        if not waited(lambda: not self._regs.status.busy, self._advance, self._got_on):
            raise HeadraceError("the capture engine stays busy after it was stopped")

    def _got_on(self) -> tuple[object, ...]:
        regs = self._regs
        return regs.producer.read(), regs.packets_read.read(), self.dropped(), self._filtered()

    def _place(self, what: str, size: int) -> int:
        if (what, size) not in self._places:
            address = self._allocate(size)
            if address % size:
                raise ValueError(f"the {what} ring of {size:,} bytes lies at {address:#x}: no multiple of its size")
            self._places[what, size] = address
        return self._places[what, size]

    # Packets in host memory

    def room(self, times: bool = True) -> int:
        """Packets that can be posted now, with their times or without."""
        self._tail += (self._regs.descriptor_tail.read() - self._tail) % _MODULO
        return (len(self._words) // 2 - (self._head - self._tail)) // (1 + times)

    def post(self, packets: Packets, times: bool = True) -> int:
        """Fills descriptors with packets, as many as there is room for; gives their number.

        ``times``: records get the packets' timestamps; otherwise, the time at which the engine takes them. Of longer
        packets, the first 65,600 bytes are captured. The engine starts with them at the next ``doorbell``.
        """
        count = min(len(packets), self.room(times))
        sizes = zip(packets.length[:count], packets.wire_length[:count], strict=True)
        lengths = array("Q", (min(size, MAX_CAPTURED) | wire << 32 for size, wire in sizes))
        columns: list[memoryview | array[int]] = [packets.address[:count], lengths]
        if times:
            columns = [packets.timestamp_ns[:count], array("Q", [_TIME_SLOT]) * count, *columns]
        words = memoryview(array("Q", bytes(8 * len(columns) * count)))
        for number, column in enumerate(columns):
            words[number :: len(columns)] = column
        at = 2 * self._head % len(self._words)
        before = min(len(words), len(self._words) - at)  # the ring's end
        self._words[at : at + before] = words[:before]
        self._words[: len(words) - before] = words[before:]
        self._head += len(words) // 2
        return count

    def doorbell(self) -> None:
        """Hands the filled descriptors to the engine."""
        self._regs.descriptor_head.write(self._head % _MODULO)

    def packets_read(self) -> int:
        """Packets, oldest first, whose memory the engine needs no more since the last call."""
        count = int(self._regs.packets_read.read() - self._packets_read) % _MODULO
        self._packets_read += count
        return count

    # Records

    def available(self) -> tuple[int, int]:
        """Byte counts between which records wait in the ring: they begin at the first and end at the second."""
        return self.consumer, self._regs.producer.read()

    def release(self, end: int) -> None:
        """Gives the ring up to the byte count ``end`` back to the engine."""
        self.consumer = end
        self._regs.consumer.write(end)

    # Interrupts, errors, counters

    def arm(self) -> None:
        """Asks for the next interrupt of each kind; a cause that is there already raises it at once."""
        self._regs.interrupt.set(data=1, error=1)

    def pending(self) -> set[int]:
        """The interrupts that came since the last call: ``DATA``, ``ERROR``."""
        return set(self._interrupts())

    def errors(self) -> list[str]:
        """What stops the engine until the next ``setup``, in words."""
        status = self._regs.status.fields()
        found = []
        if status["write_error"]:
            found.append("the card could not write into the ring in host memory: packets are dropped")
        if status["descriptor_error"]:
            found.append("the card could not read its descriptors in host memory: it takes no more")
        return found

    def counters(self) -> CaptureCounters:
        """Reads all counters."""
        regs = self._regs
        values = {entry.name: regs[entry.name].read() for entry in fields(CaptureCounters) if entry.type == "int"}
        return CaptureCounters(ports=tuple(_port(group) for group in regs.port), **values)

    def dropped(self) -> int:
        """Packets dropped so far, whatever the cause: some reads less than ``counters``."""
        regs = self._regs
        ports = sum(group[cause].read() for group in regs.port for cause in PORT_CAUSES)
        own = sum(regs[cause].read() for cause in ("read_errors", "ring_full", "too_long", "after_error"))
        return int(ports + own)


def _port(group: Any) -> CapturePortCounters:
    return CapturePortCounters(**{entry.name: group[entry.name].read() for entry in fields(CapturePortCounters)})


def _log2(name: str, value: int, limits: tuple[int, int]) -> int:
    if not limits[0] <= value <= limits[1] or value & (value - 1):
        raise ValueError(f"{name} = {value:,}: must be a power of two, {limits[0]:,} to {limits[1]:,}")
    return value.bit_length() - 1
