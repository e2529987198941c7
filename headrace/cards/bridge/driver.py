"""The driver of the bridge card: ports, tables, slots, buffers, mailboxes, interrupts and counters.

It uses registers, host memory and interrupts, and nothing else: a driver of a board would do the same. The registers
are described in ``regs/bridge.rdl``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.cards.bridge.counters import BridgeCounters, read_counters
from headrace.cards.bridge.formats import Header, Packet
from headrace.cards.bridge.receive import Batch, Memory, Receiver
from headrace.cards.bridge.send import Sender
from headrace.cards.bridge.tables import ALL_BITS, PORTS, Entry, Tables, slot_address
from headrace.errors import HeadraceError

H2S, EXPRESS, S2H = 0, 1, 2  # interrupt vectors
HOST_BUFFERS = 4  # of each lane
NO_SLOT = 15  # kind of a slot that isn't there

_MAGIC = 0x4252
_ROUNDS = 1_000_000  # of waiting, until the card counts as hung
_NAMES = {H2S: "h2s", EXPRESS: "express", S2H: "s2h"}


class BridgeDriver:
    """Drives a bridge.

    ``registers``: its bound register map. ``memory``: host memory. ``allocate(size)`` gives the address, a multiple of
    4,096, of that many bytes for the card. ``interrupts()`` takes the vectors that were raised since it was last asked.
    ``advance()`` lets a little time pass while the driver waits for the card; a board's driver would sleep.
    ``clock()``: the card's time in ns.
    """

    def __init__(
        self,
        registers: Any,
        memory: Memory,
        allocate: Callable[[int], int],
        interrupts: Callable[[], Iterable[int]],
        advance: Callable[[], None],
        clock: Callable[[], int],
        host_buffers: int = HOST_BUFFERS,
    ) -> None:
        card = registers.card.fields()
        if card["magic"] != _MAGIC or card["version"] != 1:
            raise HeadraceError(f"no bridge of version 1: {card['magic']:#06x}, version {card['version']} is there")
        self._regs = registers
        self._interrupts = interrupts
        self._advance = advance
        self.clock = clock
        self.max_packet: int = registers.max_packet.read()
        self.slots: int = registers.geometry.slots
        self.kinds: tuple[int, ...] = tuple(registers.slot[n].status.kind for n in range(self.slots))
        self.tables = Tables(registers)
        self.h2s = Receiver(registers, memory, allocate, host_buffers)
        self.s2h = Sender(registers, memory, allocate, clock, host_buffers)
        self._epoch: int = registers.epoch.value
        self._armed: set[int] = set()
        self._raised: set[int] = set()

    def advance(self) -> None:
        """Lets a little time pass."""
        self._advance()

    # Ports, tables and slots

    def setup_port(self, port: int, key_offset: int = 12, flow_control: bool = False, enable: bool = True) -> None:
        """Lets a port take frames. ``key_offset``: byte of a frame, 0 to 124, at which the 4 bytes of its key begin;
        12: EtherType and what follows. ``flow_control``: hold the link off while there is no room."""
        self._regs.port[port].control.set(enable=int(enable), flow_control=int(flow_control), key_offset=key_offset)

    def classify(self, port: int, index: int, key: int, mask: int, header: Header | None) -> None:
        """Frames at a port with this key become packets with this header; None: the entry is emptied.

        The first of the 8 entries (``index``) that matches counts; a frame that none matches is dropped.
        """
        self.tables.write(PORTS[port], index, None if header is None else Entry(key, mask, header))

    def route(self, slot: int, index: int, idp: int, header: Header | None) -> None:
        """Packets for an IDP in a slot go on with this header, which keeps their level and criticality and has the IDP
        as its source; None: the entry is emptied."""
        self.tables.write(slot_address(slot), index, None if header is None else Entry(idp, ALL_BITS, header))

    def setup_slot(self, slot: int, packet_ns: int = 0, byte_ns_256: int = 0, hold: bool = False) -> None:
        """Lets a slot take packets; the times are those of the generic block, ns a packet and ns / 256 a byte."""
        group = self._slot(slot)
        with self._regs.batch():
            group.packet_time.write(packet_ns)
            group.byte_time.write(byte_ns_256)
            group.control.set(enable=1, hold=int(hold))

    def hold_slot(self, slot: int, hold: bool) -> None:
        """Lets packets wait in a slot's store, or go on."""
        self._slot(slot).control.set(enable=1, hold=int(hold))

    def slot_idle(self, slot: int) -> bool:
        """Whether nothing is inside a slot."""
        return bool(self._slot(slot).status.idle)

    def slot_overflow(self, slot: int) -> int:
        """Packets for which there was no room in a slot, so far."""
        return int(self._slot(slot).overflow.read())

    def _slot(self, slot: int) -> Any:
        if not 0 <= slot < self.slots:
            raise HeadraceError(f"slot {slot}: this card has {self.slots}", 2)
        return self._regs.slot[slot]

    # Packets

    def start(self) -> None:
        """Lets both directions work, with the settings that they have."""
        self.h2s.start()
        self.s2h.start()

    def receive(self) -> list[Batch]:
        """All batches that are there; see ``Receiver``."""
        return self.h2s.receive()

    def send(self, packets: Iterable[Packet]) -> None:
        """Takes packets to send, and hands over full batches; see ``Sender``."""
        self.s2h.send(packets)
        self.s2h.poll()

    # Grace periods

    def settling(self) -> Iterator[None]:
        """Goes on, step by step, until every packet that was routed before is where it was sent.

        Two turns: after the first, no packet that was looked up in a table before is on its way into the network on
        chip; after the second, none of them is in it.
        """
        for _ in range(2):
            old, self._epoch = self._epoch, self._epoch ^ 1
            self._regs.epoch.value = self._epoch
            yield
            while self._regs.in_flight.read() >> 16 * old & 0xFFFF:
                yield

    def settle(self, work: Callable[[], None] | None = None) -> None:
        """Does the same at once. ``work`` is called meanwhile, such as one that takes packets: where packets wait for
        room, they must go on."""
        self.wait(self.settling(), "packets of the epoch before stay on the network on chip", work)

    def draining(self) -> Iterator[None]:
        """Goes on, step by step, until software has done with every packet that is in H2S now. Somebody must take
        batches meanwhile, and release them."""
        self.h2s.flush()
        yield from self.settling()  # a packet that was coming in is in: its batch is closed now
        mark = self.h2s.closed()
        while not self.h2s.reached(mark):
            yield

    def wait(self, steps: Iterator[Any], complaint: str, work: Callable[[], None] | None = None) -> None:
        """Lets time pass for each of some steps. Raises HeadraceError with a complaint when they don't end."""
        for _ in range(_ROUNDS):
            if next(steps, self) is self:
                return
            self._advance()
            if work is not None:
                work()
        raise HeadraceError(f"the bridge hangs: {complaint}")

    # Interrupts and counters

    def arm(self, *vectors: int) -> None:
        """Asks for the next interrupt of some kinds (none given: of all); a message that is there raises it at once."""
        self.pending()  # what came before is answered by this
        self._raised -= set(vectors or _NAMES)
        self._armed |= set(vectors or _NAMES)
        self._regs.interrupt.set(**{name: int(vector in self._armed) for vector, name in _NAMES.items()})

    def pending(self) -> set[int]:
        """The interrupts that came since they were armed: ``H2S``, ``EXPRESS``, ``S2H``."""
        self._raised |= set(self._interrupts())
        self._armed -= self._raised
        return set(self._raised)

    def counters(self) -> BridgeCounters:
        """Reads all counters."""
        return read_counters(self._regs, self.slots, self.h2s.packets, self.h2s.lost)

    def adaptation(self) -> dict[str, int]:
        """What the card has chosen for batches, and the traffic that it saw in the last window."""
        group = self._regs.adaptation
        names = ("bytes", "timeout", "single", "service", "packets", "traffic_bytes", "gap_min", "gap_max")
        return {name: group[name].read() for name in (*names, "size_min", "size_max")}
