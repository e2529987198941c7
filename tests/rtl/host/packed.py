"""The driver's side of a packed virtqueue, after VIRTIO 1.2, section 2.8: makes chains available, takes used elements.

It knows nothing of the card. It keeps its ring in a memory (anything that reads and writes bytes by address), and it is
strict: what a device must not do raises Broken. Show it each access of the device (`device_reads`, `device_writes`),
and it complains about those outside the ring, the event suppression structures, and the buffers and tables of chains
that are available. A chain may be made available write by write (`steps`), to look at it between any two of them.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

NEXT, WRITE, INDIRECT, AVAIL, USED = 1 << 0, 1 << 1, 1 << 2, 1 << 7, 1 << 15
ENABLE, DISABLE, AT_INDEX = 0, 1, 2  # flags of an event suppression structure
DESCRIPTOR = struct.Struct("<QIHH")  # address, length, buffer ID, flags
ELEMENT = struct.Struct("<IHH")  # length, buffer ID, flags: where a descriptor has them
EVENT = struct.Struct("<HH")  # place (the wrap counter in bit 15), flags
LARGEST = 32768


class Broken(AssertionError):
    """A device did what the specification forbids."""


class Memory(Protocol):
    """Bytes by address."""

    def read(self, address: int, count: int, /) -> bytes:
        """``count`` bytes from ``address`` on."""

    def write(self, address: int, data: bytes, /) -> None:
        """Put ``data`` at ``address``."""


@dataclass(frozen=True)
class Buffer:
    """A piece of memory that the device reads, or writes."""

    address: int
    length: int
    writable: bool = False


@dataclass(frozen=True)
class Chain:
    """Buffers that went to the device together.

    number  counts the chains of the queue
    slots   descriptors of the ring that it takes: 1 with an indirect table
    place   index of the first one, and the wrap counter there
    table   address of the indirect table, if there is one
    """

    number: int
    id: int
    slots: int
    place: tuple[int, int]
    buffers: tuple[Buffer, ...]
    table: int | None = None

    @property
    def writable(self) -> int:
        """Bytes that the device may write."""
        return sum(buffer.length for buffer in self.buffers if buffer.writable)


@dataclass(frozen=True)
class Used:
    """A chain that came back, and how many bytes the device says it wrote from the chain's first writable one on."""

    chain: Chain
    written: int


@dataclass
class Driver:
    """A driver with one packed virtqueue of ``size`` descriptors, 1 to 32,768.

    ring, driver, device  addresses of the descriptors (a multiple of 16) and of the event suppression structures
                          (multiples of 4): the one that the driver writes, and the one that the device writes
    indirect, event_index, in_order  what was negotiated
    index, wrap           where the queue begins
    presets               tables of what the device reads have WRITE here and there, as DPDK leaves it
    slack                 bytes to which the device's reads are rounded, down and up: the width of its bus
    """

    memory: Memory
    size: int
    ring: int
    driver: int
    device: int
    indirect: bool = True
    event_index: bool = False
    in_order: bool = False
    index: int = 0
    wrap: int = 1
    presets: bool = False
    slack: int = 1
    random: Random = field(default_factory=lambda: Random(1))
    pending: list[Chain] = field(default_factory=list)  # available and not used, in order

    def __post_init__(self) -> None:
        assert 1 <= self.size <= LARGEST and self.ring % 16 == 0 and self.driver % 4 == 0 and self.device % 4 == 0
        assert 0 <= self.index < self.size and self.wrap in (0, 1)
        self.used_index, self.used_wrap = self.index, self.wrap
        self.free = self.size
        self.count = 0
        self._ids = list(range(self.size))
        self._new = 0  # descriptors since notify() was last asked
        self._by_id: dict[int, Chain] = {}
        self._ahead: dict[int, bytes] = {}  # used elements behind the next one: written, not looked at
        # Descriptors of before this lap belong to the driver: both bits as the other wrap counter, as after a use. At
        # the queue's beginning this is memory full of zeros.
        for index in range(self.size):
            old = 0 if (index >= self.index) == bool(self.wrap) else AVAIL | USED
            self.memory.write(self.place(index), DESCRIPTOR.pack(0, 0, 0, old))
        self.memory.write(self.driver, EVENT.pack(0, ENABLE))
        self.memory.write(self.device, EVENT.pack(0, ENABLE))

    def place(self, index: int) -> int:
        """The address of a descriptor."""
        return self.ring + DESCRIPTOR.size * index

    # ------------------------------------------------------------------------------------------------- available

    def add(self, buffers: Sequence[Buffer], table: int | None = None) -> Chain:
        """Make a chain available, in an indirect table at ``table`` or in descriptors of the ring (see `room`)."""
        return list(self.steps(buffers, table))[-1]

    def room(self, slots: int = 1) -> bool:
        """Whether a chain of so many descriptors of the ring fits in."""
        return self.free >= slots

    def steps(self, buffers: Sequence[Buffer], table: int | None = None) -> Iterator[Chain]:
        """As `add`, a write of memory at each step; the last one makes the chain available."""
        slots = 1 if table is not None else len(buffers)
        assert buffers and self.room(slots) and (table is None or self.indirect)
        order = [buffer.writable for buffer in buffers]
        assert order == sorted(order), "what the device reads comes before what it writes"
        number = self._ids.pop(self.random.randrange(len(self._ids)))
        chain = Chain(self.count, number, slots, (self.index, self.wrap), tuple(buffers), table)
        self.count += 1
        self.free -= slots
        self.pending.append(chain)
        self._by_id[number] = chain
        noise = self.random.getrandbits
        if table is not None:
            for entry, buffer in enumerate(buffers):
                # In a table only WRITE means something, and the buffer ID is reserved.
                writable = buffer.writable or (self.presets and not any(order) and noise(1))
                flags = (WRITE if writable else 0) | noise(16) & ~(WRITE | INDIRECT)
                address = table + DESCRIPTOR.size * entry
                self.memory.write(address, DESCRIPTOR.pack(buffer.address, buffer.length, noise(16), flags))
                yield chain
            length = DESCRIPTOR.size * len(buffers)
            # The device ignores WRITE beside INDIRECT.
            writes = [(self.index, self.wrap, table, length, number, INDIRECT | noise(1) * WRITE)]
        else:
            writes = []
            index, wrap = self.index, self.wrap
            for buffer in buffers:
                last = buffer is buffers[-1] and len(writes) == slots - 1
                flags = (WRITE if buffer.writable else 0) | (0 if last else NEXT)
                writes.append((index, wrap, buffer.address, buffer.length, number if last else noise(16), flags))
                index, wrap = self.after(index, wrap, 1)
        for index, wrap, address, length, identity, flags in writes[1:][:: self.random.choice((1, -1))]:
            # These too must be marked: in the next lap, with the other wrap counter, they are not available then.
            self.memory.write(self.place(index), DESCRIPTOR.pack(address, length, identity, flags | self.marks(wrap)))
            yield chain
        index, wrap, address, length, identity, flags = writes[0]
        self.memory.write(self.place(index), DESCRIPTOR.pack(address, length, identity, 0)[:14])
        yield chain
        self.memory.write(self.place(index) + 14, struct.pack("<H", flags | self.marks(wrap)))
        self.index, self.wrap = self.after(self.index, self.wrap, slots)
        self._new += slots
        yield chain

    def after(self, index: int, wrap: int, slots: int) -> tuple[int, int]:
        """The place and wrap counter so many descriptors on."""
        return (index + slots) % self.size, wrap ^ (index + slots >= self.size)

    @staticmethod
    def marks(wrap: int) -> int:
        """AVAIL and USED of a descriptor that is available, by the driver's wrap counter."""
        return AVAIL if wrap else USED

    def notify(self) -> bool:
        """Whether the device wants a doorbell for what was made available since this was last asked."""
        place, flags = EVENT.unpack(self.memory.read(self.device, EVENT.size))
        added, self._new = self._new, 0
        if flags != AT_INDEX:
            return added > 0 and flags != DISABLE
        event = (place & 0x7FFF) - (0 if place >> 15 == self.wrap else self.size)
        return (self.index - event - 1) % 65536 < added

    # ------------------------------------------------------------------------------------------------------ used

    def used(self, most: int | None = None) -> list[Used]:
        """Take the used elements that are there now, at most ``most``."""
        taken: list[Used] = []
        while self.pending and (most is None or len(taken) < most):
            length, number, flags = ELEMENT.unpack(self.memory.read(self.place(self.used_index) + 8, ELEMENT.size))
            avail, used = bool(flags & AVAIL), bool(flags & USED)
            if avail != used or used != bool(self.used_wrap):
                break
            taken.append(self._use(length, number, flags))
        return taken

    def _use(self, length: int, number: int, flags: int) -> Used:
        self._require(number in self._by_id, f"buffer ID {number} is used, which is not with the device")
        chain = self._by_id.pop(number)
        self._require(not self.in_order or chain is self.pending[0], f"chain {chain.number} is used out of order")
        self._require(not flags & ~(AVAIL | USED | WRITE), f"a used element has flags {flags:#06x}")
        if flags & WRITE:
            self._require(length <= chain.writable, f"{length} bytes written to {chain.writable}")
        else:
            self._require(length == 0, f"{length} bytes written, without the flag")
        self.pending.remove(chain)
        self._ids.append(number)
        self.free += chain.slots
        self._ahead.pop(self.used_index, None)
        self.used_index, self.used_wrap = self.after(self.used_index, self.used_wrap, chain.slots)
        return Used(chain, length)

    def interrupts(self, flags: int, place: tuple[int, int] = (0, 0)) -> None:
        """Tell the device when to interrupt: ENABLE, DISABLE, or AT_INDEX with index and wrap counter."""
        assert flags != AT_INDEX or self.event_index
        self.memory.write(self.driver, EVENT.pack(place[0] | place[1] << 15, flags))

    # ------------------------------------------------------------------------------------- what the device may do

    def device_reads(self, address: int, count: int) -> None:
        """Complain unless the device may read these bytes, rounded to `slack`, now."""
        for start, length in self._readable():
            first, end = start // self.slack * self.slack, -(-(start + length) // self.slack) * self.slack
            if first <= address and address + count <= end:
                return
        raise Broken(f"the device reads {count} bytes at {address:#x}")

    def _readable(self) -> Iterable[tuple[int, int]]:
        yield self.ring, DESCRIPTOR.size * self.size
        yield self.driver, EVENT.size
        for chain in self.pending:
            if chain.table is not None:
                yield chain.table, DESCRIPTOR.size * len(chain.buffers)
            for buffer in chain.buffers:
                if not buffer.writable:
                    yield buffer.address, buffer.length

    def device_writes(self, address: int, data: bytes) -> None:
        """Complain unless the device may write these bytes now; to be called before or when they are written."""
        end = address + len(data)
        if self.device <= address and end <= self.device + EVENT.size:
            old = bytearray(self.memory.read(self.device, EVENT.size))
            old[address - self.device : end - self.device] = data
            flags = EVENT.unpack(bytes(old))[1]
            most = AT_INDEX if self.event_index else DISABLE
            self._require(flags <= most, f"the device's event suppression flags are {flags:#x}")
            return
        if self.ring <= address and end <= self.place(self.size):
            index, offset = divmod(address - self.ring, DESCRIPTOR.size)
            self._require(offset == 8 and len(data) == ELEMENT.size, "a used element is not one write of 8 bytes")
            self._used_written(index, data)
            return
        for chain in self.pending:
            for buffer in chain.buffers:
                if buffer.writable and buffer.address <= address and end <= buffer.address + buffer.length:
                    return
        raise Broken(f"the device writes {len(data)} bytes at {address:#x}")

    def _used_written(self, index: int, data: bytes) -> None:
        """A used element may lie where the elements before it, whichever they are, can end: within what is pending."""
        ahead = (index - self.used_index) % self.size
        room = sum(chain.slots for chain in self.pending)
        self._require(
            ahead < room, f"a used element at {index}: {room} of {self.size} are pending at {self.used_index}"
        )
        self._require(index not in self._ahead, f"two used elements at {index}")
        _, number, flags = ELEMENT.unpack(data)
        self._require(number in self._by_id, f"buffer ID {number} is used, which is not with the device")
        wrap = self.used_wrap ^ (self.used_index + ahead >= self.size)
        marks = AVAIL | USED if wrap else 0
        self._require(flags & (AVAIL | USED) == marks, f"flags {flags:#06x} at {index} with wrap counter {wrap}")
        self._ahead[index] = data

    @staticmethod
    def _require(condition: bool, complaint: str) -> None:
        if not condition:
            raise Broken(complaint)
