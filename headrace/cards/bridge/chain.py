"""Chains of functional blocks, each in hardware or in software, that move between the two while packets flow.

A chain takes packets in at a port, or from the application, and leads them from block to block to a port or to the
application. Tables in hardware and decisions in software (``ProtocolGraph``) say where each hop goes. A move
(``ProtocolGraph.moving``) changes one hop's direction, after which packets must not overtake those that went the old
way: so those on the new way are held up until a grace period is over in which everything on the old way is through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.cards.bridge.blocks import SoftwareBlock
from headrace.cards.bridge.driver import BridgeDriver
from headrace.cards.bridge.formats import Address, Header, Packet, idp
from headrace.cards.bridge.tables import PORTS, SOFTWARE, slot_address
from headrace.errors import HeadraceError

Side = Literal["hw", "sw"]
Application = Callable[[list[Packet], int], None]
"""Takes packets, and the time in ns at which software has them."""


@dataclass(frozen=True)
class Ingress:
    """Frames at a port whose key (``BridgeDriver.setup_port`` says where it is) has the bits of ``key`` in ``mask``."""

    port: int
    key: int = 0
    mask: int = 0


@dataclass
class Block:
    """A block of a chain. ``side``: where it works; ``entry``: where packets for it are sent, which is the same but
    during a move. ``slot``: of it in hardware; None: it is in software only."""

    name: str
    software: SoftwareBlock
    slot: int | None
    side: Side
    entry: Side

    @property
    def idp(self) -> int:
        """What packets for it are called."""
        return idp(self.name)

    @property
    def address(self) -> Address:
        """Where packets for it are sent."""
        if self.entry == "sw":
            return SOFTWARE
        assert self.slot is not None
        return slot_address(self.slot)


class Chain:
    """Blocks between an ingress (None: the application) and an egress port (None: the application).

    ``level`` and ``critical`` are those of all of its packets.
    """

    def __init__(
        self,
        name: str,
        blocks: Sequence[Block],
        ingress: Ingress | None,
        egress: int | None,
        received: Application | None,
        level: int = 0,
        critical: bool = False,
    ) -> None:
        self.name = name
        self.blocks = tuple(blocks)
        self.ingress = ingress
        self.egress = egress
        self.received = received
        self.level = level
        self.critical = critical
        self.table_index: int | None = None  # of the ingress in its port's table

    @property
    def source(self) -> int:
        """IDP of where packets come from."""
        return idp(f"{self.name}.in")

    @property
    def destination(self) -> int:
        """IDP of where they go in the end."""
        return idp(f"{self.name}.out")

    @property
    def _exit(self) -> Address:
        return SOFTWARE if self.egress is None else PORTS[self.egress]

    def hop(self, number: int, header: Header | None = None) -> Header:
        """What packets get that go to block ``number``, or out of the chain if there is none; ``header`` is theirs
        before, and None at the ingress."""
        last = number == len(self.blocks)
        target = self.destination if last else self.blocks[number].idp
        address = self._exit if last else self.blocks[number].address
        egress = last and self.egress is not None
        if header is None:
            source = self.source if number == 0 else self.blocks[number - 1].idp
            return Header(address, source, target, self.level, egress, self.critical)
        return Header(address, header.destination, target, header.level, egress, header.critical)

    def in_software(self, number: int) -> bool:
        """Whether block ``number``, or the end of the chain if there is none, is in software."""
        return self.blocks[number].entry == "sw" if number < len(self.blocks) else self.egress is None


class ProtocolGraph:
    """All chains of a bridge: their tables, their software, and where a packet from hardware goes in software."""

    def __init__(self, driver: BridgeDriver) -> None:
        self.driver = driver
        self.chains: list[Chain] = []
        self.unknown = 0  # packets for an IDP that nobody has; they are dropped
        self._places: dict[int, tuple[Chain, int]] = {}  # IDP -> chain and number of the block; the end is a place too

    def add_chain(
        self,
        name: str,
        blocks: Sequence[tuple[str, SoftwareBlock]],
        ingress: Ingress | None = None,
        egress: int | None = None,
        received: Application | None = None,
        side: Side = "hw",
        level: int = 0,
        critical: bool = False,
    ) -> Chain:
        """Sets up a chain of named blocks, in hardware at first unless ``side`` says otherwise or they can't be.

        ``received`` takes what arrives at the application. Raises HeadraceError when names clash, when there is no
        free slot of a block's kind, or no room in a table.
        """
        made: list[Block] = []
        for block_name, software in blocks:
            slot = self._free_slot(block_name, software, made, side)
            where: Side = "sw" if slot is None else side
            made.append(Block(block_name, software, slot, where, where))
        chain = Chain(name, made, ingress, egress, received, level, critical)
        places = {block.idp: (chain, number) for number, block in enumerate(made)}
        places[chain.destination] = chain, len(made)
        names = [chain.source, chain.destination, *(block.idp for block in made)]
        if len(set(names)) < len(names) or set(names) & (self._places.keys() | {c.source for c in self.chains}):
            raise HeadraceError(f"chain {name}: its name, or one of a block, is in use (or has the same CRC-32)", 2)
        if ingress is not None:
            chain.table_index = self.driver.tables.free_index(PORTS[ingress.port])
        self.chains.append(chain)
        self._places |= places
        for number, block in enumerate(made):
            if block.side == "hw":
                self.setup_slot(chain, number)
        self.point(chain, 0)
        return chain

    def _free_slot(self, name: str, software: SoftwareBlock, made: list[Block], side: Side) -> int | None:
        used = {block.slot for chain in self.chains for block in chain.blocks} | {block.slot for block in made}
        for slot, kind in enumerate(self.driver.kinds):
            if kind == software.kind and slot not in used:
                return slot
        if software.kind is not None and side == "hw":
            raise HeadraceError(f"block {name}: the card has no free slot of kind {software.kind}", 2)
        return None

    def find(self, name: str) -> tuple[Chain, int]:
        """A block by its name: its chain and number. Raises HeadraceError when there is none."""
        for chain in self.chains:
            for number, block in enumerate(chain.blocks):
                if block.name == name:
                    return chain, number
        names = ", ".join(block.name for chain in self.chains for block in chain.blocks)
        raise HeadraceError(f"no block {name}; there are: {names or 'none'}", 2)

    # Tables in hardware

    def setup_slot(self, chain: Chain, number: int, hold: bool = False) -> None:
        """Makes a block's slot ready, with the way to the next hop."""
        block = chain.blocks[number]
        assert block.slot is not None
        self.driver.route(block.slot, 0, block.idp, chain.hop(number + 1))
        self.driver.setup_slot(block.slot, hold=hold, **block.software.slot_settings())

    def point(self, chain: Chain, number: int) -> None:
        """Lets what comes before block ``number`` in hardware send its packets there; software looks each time."""
        if number > 0:
            before = chain.blocks[number - 1]
            if before.side == "hw" and before.slot is not None:
                self.driver.route(before.slot, 0, before.idp, chain.hop(number))
        elif chain.ingress is not None:
            assert chain.table_index is not None
            place = chain.ingress
            self.driver.classify(place.port, chain.table_index, place.key, place.mask, chain.hop(0))

    # Packets in software

    def send(self, chain: Chain, payloads: Sequence[bytes]) -> None:
        """The application's packets into a chain."""
        header = chain.hop(0)
        self._forward(chain, 0, [Packet(payload, header) for payload in payloads])

    def deliver(self, packets: Sequence[Packet]) -> None:
        """Packets from hardware, each to the software that its destination names."""
        start = 0
        for end in range(1, len(packets) + 1):  # runs of packets for the same destination go together
            destination = packets[start].header.destination
            if end == len(packets) or packets[end].header.destination != destination:
                self._arrive(destination, list(packets[start:end]))
                start = end

    def _arrive(self, destination: int, packets: list[Packet]) -> None:
        place = self._places.get(destination)
        if place is None:
            self.unknown += len(packets)
        else:
            self._hand_over(*place, packets)

    def _hand_over(self, chain: Chain, number: int, packets: list[Packet]) -> None:
        """To block ``number`` in software, or to the application."""
        if number < len(chain.blocks):
            chain.blocks[number].software.push(packets, self.driver.clock())
        elif chain.received is not None:
            chain.received(packets, self.driver.clock())

    def _forward(self, chain: Chain, number: int, packets: list[Packet]) -> None:
        """From software to block ``number`` or the end of a chain, wherever that is."""
        if chain.in_software(number):
            self._hand_over(chain, number, packets)
        else:
            self.driver.s2h.send(packets)

    def work(self) -> None:
        """Lets the blocks in software work on what they have."""
        for chain in self.chains:
            for number, block in enumerate(chain.blocks):
                if block.software.waiting and (done := block.software.pull(self.driver.clock())):
                    self._forward(chain, number + 1, [Packet(p.payload, chain.hop(number + 1, p.header)) for p in done])

    @property
    def wake_ns(self) -> int | None:
        """When the next packet in software is done; None: there is none."""
        times = [block.software.wake_ns for chain in self.chains for block in chain.blocks]
        return min((time for time in times if time is not None), default=None)

    def poll(self) -> None:
        """Takes what hardware has, lets software work, and hands over what is to be sent."""
        for batch in self.driver.receive():
            self.deliver(batch.packets)
        self.work()
        self.driver.s2h.poll()
