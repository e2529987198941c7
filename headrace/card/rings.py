"""A card's host port: rings in host memory, through which packets go to its engine and come from it.

Packets go from links to memory and from memory to links in the harness; here pass descriptors.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

from headrace.card import Card
from headrace.card.packet_memory import PacketMemory, Packets
from headrace.card.records import RecordWriter
from headrace.errors import HeadraceError

DESCRIPTOR = struct.Struct("<QII")
"""Of a buffer or packet: where, its bytes, 0. The card overwrites a buffer's with the time in ns, the bytes, and flags.
"""
ENTRIES = 256
BUFFER = 1 << 16  # bytes of a buffer for what the engine sends
PACKETS = 1 << 26  # bytes for packets on their way to the engine

_DONE, _MODULO = 1, 1 << 32
_ENOUGH, _TIMEOUT_NS = 64, 20_000


@dataclass(frozen=True)
class RingCounters:
    """Packets that went through a ring; lost because of errors of host memory; dropped because they are longer than the
    next buffer, and because the ring is off."""

    packets: int
    errors: int
    too_long: int
    dropped: int


class Ring:
    """A ring of descriptors and its registers (``regs.rings.receive`` or ``regs.rings.transmit``)."""

    def __init__(self, card: Card, registers: Any, entries: int = ENTRIES) -> None:
        if entries < 4 or entries & (entries - 1):
            raise HeadraceError(f"a ring of {entries} descriptors: must be a power of two, 4 at least", 2)
        self.entries = entries
        self._regs = registers
        address = card.memory.allocate(DESCRIPTOR.size * entries)
        self._table = card.memory.view(address, DESCRIPTOR.size * entries)
        self.posted = 0
        self.seen = 0  # of those that are done
        registers.entries.log2 = entries.bit_length() - 1
        for half, word in enumerate(registers.base):
            word.write(address >> 32 * half & 0xFFFF_FFFF)
        registers.posted.write(0)
        self.moderate(min(_ENOUGH, entries // 4), _TIMEOUT_NS)
        registers.control.on = 1

    def moderate(self, packets: int, timeout_ns: int) -> None:
        """An interrupt comes for so many packets, or (not for 0) so long after one."""
        self._regs.enough.write(packets)
        self._regs.timeout.write(timeout_ns)

    def arm(self) -> None:
        """Asks for an interrupt, once."""
        self._regs.interrupt.armed = 1

    @property
    def room(self) -> int:
        """Descriptors that can be posted."""
        return self.entries - (self.posted - self.seen)

    def post(self, addresses: Collection[int], sizes: Collection[int]) -> None:
        """Posts descriptors, and rings the doorbell."""
        for address, size in zip(addresses, sizes, strict=True):
            DESCRIPTOR.pack_into(self._table, self.posted % self.entries * DESCRIPTOR.size, address, size, 0)
            self.posted += 1
        self._regs.posted.write(self.posted % _MODULO)

    def descriptor(self, number: int) -> tuple[int, int, int]:
        """Time, bytes and flags of a descriptor once it is done; ``number`` counts all that were posted, from 0."""
        time_ns, size, flags = DESCRIPTOR.unpack_from(self._table, number % self.entries * DESCRIPTOR.size)
        return time_ns, size, flags

    @property
    def ready(self) -> bool:
        """Whether the next descriptor is done, as the card has written into it."""
        return bool(self.descriptor(self.seen)[2])

    def fresh(self) -> int:
        """Descriptors that are done and not seen yet."""
        return int((self._regs.done.read() - self.seen) % _MODULO)

    def counters(self) -> RingCounters:
        """Since the card's reset."""
        return RingCounters(**{field.name: getattr(self._regs, field.name).read() for field in fields(RingCounters)})

    def off(self) -> None:
        """Switches the ring off; the card may use it still while ``busy``."""
        self._regs.control.on = 0

    @property
    def busy(self) -> bool:
        """Whether the card may access the ring or its buffers."""
        return bool(self._regs.control.busy)


class Receiver:
    """Packets that come out of the host port: to a link, or taken by ``take``."""

    def __init__(
        self, card: Card, registers: Any, link: str | None = None, entries: int = ENTRIES, buffer: int = BUFFER
    ) -> None:
        """``link``: ``pcap:FILE`` or ``tap:NAME``. Raises CardError when it can't be opened."""
        self._writer = None if link is None else RecordWriter(card, link, precision="nano")
        self.ring = Ring(card, registers, entries)
        self._buffer, self._taken = buffer, 0
        self._buffers = card.memory.allocate(entries * buffer)
        self._post(entries)
        self.ring.arm()

    def _post(self, count: int) -> None:
        first = self.ring.posted
        self.ring.post([self._address(number) for number in range(first, first + count)], [self._buffer] * count)

    def _address(self, number: int) -> int:
        return self._buffers + number % self.ring.entries * self._buffer

    def take(self) -> Packets:
        """The packets that have come; ``release`` gives their buffers back."""
        self._taken = self.ring.fresh()
        found, count = Packets(self._taken), 0
        for number in range(self.ring.seen, self.ring.seen + self._taken):
            time_ns, size, flags = self.ring.descriptor(number)
            if flags == _DONE:
                found.address[count], found.timestamp_ns[count] = self._address(number), time_ns
                found.length[count] = found.wire_length[count] = size
                count += 1
        found.keep(count)
        return found

    def release(self) -> None:
        """Lets the card use the buffers of the packets that were taken; others may have come meanwhile."""
        self.ring.seen += self._taken
        self._post(self._taken)
        self._taken = 0
        self.ring.arm()

    def serve(self) -> bool:
        """Brings what has come to the link, and says whether there was something."""
        packets = self.take()
        if not self._taken:
            return False
        if self._writer is not None:
            self._writer.write_packets(packets)
        self.release()
        return True

    def close(self) -> None:
        """Finishes the file."""
        if self._writer is not None:
            self._writer.close()


class Sender:
    """Packets of a link that go into the host port."""

    def __init__(self, card: Card, registers: Any, link: str, entries: int = ENTRIES) -> None:
        """``link``: as ``PacketMemory`` takes it. Raises CardError when it can't be opened."""
        self.packets = PacketMemory(card, link, card.memory.reserve(PACKETS), PACKETS)
        self.ring = Ring(card, registers, entries)

    def serve(self) -> bool:
        """Hands over what there is room for; says whether something was, or is on its way."""
        done = self.ring.fresh()
        self.ring.seen += done
        self.packets.release(done)
        found = self.packets.take(self.ring.room)
        if len(found):
            self.ring.post(found.address, found.length)
        if self.ring.posted != self.ring.seen:
            self.ring.arm()
        return self.ring.posted != self.ring.seen

    @property
    def at_end(self) -> bool:
        """Whether no packet will come any more, and none is on its way."""
        return self.packets.at_end and self.ring.posted == self.ring.seen


class HostPort:
    """The host's side of the port: a source of packets, a sink of what comes, or both."""

    def __init__(self, card: Card, registers: Any) -> None:
        """``registers``: ``driver.rings``."""
        self._card, self._regs = card, registers
        self.receiver: Receiver | None = None
        self.sender: Sender | None = None
        self.live = False  # the source is
        self._ended = False

    def send(self, link: str, live: bool) -> None:
        """The engine gets the packets of a link. Raises CardError when it can't be opened."""
        self.sender = Sender(self._card, self._regs.transmit, link)
        self.live = live

    def receive(self, link: str) -> None:
        """A link gets what the engine sends. Raises CardError when it can't be opened."""
        self.receiver = Receiver(self._card, self._regs.receive, link)

    def serve(self) -> bool:
        """Does what there is to do; says whether the card has, or may get, something to do by it."""
        self._card.irqs()
        came = self.receiver is not None and self.receiver.serve()
        goes = self.sender is not None and not self._ended and self.sender.serve()
        return came or goes

    def wait(self, milliseconds: int) -> bool:
        """Waits for packets of a live source; False: none will come."""
        if self.sender is None or self._ended or self.sender.at_end:
            return False
        self.sender.packets.wait(milliseconds)
        return True

    def end(self) -> None:
        """Takes nothing new from the source."""
        self._ended = True

    def counted(self) -> tuple[int, int]:
        """Packets that came from the host, and those that went to it."""
        sent, got = (None if end is None else end.ring.counters().packets for end in (self.sender, self.receiver))
        return sent or 0, got or 0

    def close(self) -> None:
        """Finishes the sink's file."""
        if self.receiver is not None:
            self.receiver.close()
