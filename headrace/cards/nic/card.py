"""Opens a NIC card, and drives it: which function gets the frames of a station, a VLAN, a queue pair, and counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.card import Card
from headrace.card.functions import Functions, Side, Virtqueue
from headrace.errors import HeadraceError

HASH_KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
"""Key of the hash at first: that of Microsoft's "Verifying the RSS hash calculation"."""
INDIRECTIONS = 64
"""Entries of a function's indirection table."""

_MAGIC = 0x4E49
_INSERT, _CHANGE, _REMOVE = 1, 2, 4
_DONE, _EXISTS, _NOT_FOUND = range(3)
_MOST_VLAN = 4094


def open_nic_card(**options: Any) -> Card:
    """A NIC card; ``options`` are ``Card.open``'s."""
    return Card.open("nic", **options)


def mac_text(mac: int) -> str:
    """A MAC address as users write it."""
    return mac.to_bytes(6, "big").hex(":")


@dataclass(frozen=True)
class Setting:
    """A function: its MAC, the VLAN that it is in (0: frames without a tag), its Ethernet port, and whether it gets the
    frames for groups in all VLANs and, from the wire, those for stations that nobody knows."""

    mac: int
    vlan: int = 0
    uplink: int = 0
    promiscuous: bool = False


class PortCounters(NamedTuple):
    """Frames of an Ethernet port: that came in, of these with a bad FCS and those without room, and that went out."""

    received: int
    bad: int
    no_room: int
    sent: int


class PathCounters(NamedTuple):
    """Frames of a direction: that came in, copies beside a frame's first, copies that went to functions and to ports,
    and frames for nobody. ``received + extra == to_functions + to_ports + dropped`` when the card is idle."""

    received: int
    extra: int
    to_functions: int
    to_ports: int
    dropped: int


class Nic:
    """The NIC of an open card."""

    def __init__(self, card: Card) -> None:
        """Raises HeadraceError when the card is none."""
        self.card = card
        regs = self._regs = card.regs.engine
        if regs.card.magic != _MAGIC:
            raise HeadraceError("this is not a NIC card")
        self.ports: int = regs.sizes.ports
        self.count: int = regs.sizes.functions
        self.pairs: int = regs.sizes.pairs
        self.stations: int = regs.stations.read()
        self.settings: dict[int, Setting] = {}  # of functions that are enabled
        self.set_hash_key(HASH_KEY)

    def set_ports(self, enabled: int, hold: int = 0) -> None:
        """Which Ethernet ports take frames in, and which of them hold their link off while there is no room: a bit
        each, port 0 in the lowest."""
        self._regs.ports.write(enabled | hold << 8)

    def set_hash_key(self, key: bytes) -> None:
        """Sets the 40 bytes of the hash's key."""
        if len(key) != 4 * len(self._regs.hash_key):
            raise HeadraceError(f"a hash's key has 40 bytes, not {len(key)}", 2)
        for number, word in enumerate(self._regs.hash_key):
            word.write(int.from_bytes(key[4 * number : 4 * number + 4], "big"))

    # ------------------------------------------------------------------------------------------------- functions

    def enable(self, function: int, setting: Setting) -> None:
        """Sets a function and enables it. Raises HeadraceError where that can't be; it is disabled then."""
        self.disable(function)
        if not 0 <= setting.uplink < self.ports:
            raise HeadraceError(f"function {function}: the card has Ethernet ports 0 to {self.ports - 1}", 2)
        if not 0 <= setting.vlan <= _MOST_VLAN:
            raise HeadraceError(f"function {function}: a VLAN is 1 to {_MOST_VLAN}, or 0 for none", 2)
        self.add_station(setting.mac, setting.vlan, setting.uplink, function)
        self._select(function)
        self._regs.vf.setting.write(1 | setting.promiscuous << 1 | setting.uplink << 4 | setting.vlan << 16)
        self.settings[function] = setting

    def disable(self, function: int) -> None:
        """Keeps frames from a function, and drops what it sends."""
        self._check(function)
        self._select(function)
        self._regs.vf.setting.write(0)
        if (old := self.settings.pop(function, None)) is not None:
            self.remove_station(old.mac, old.vlan, old.uplink)

    def add_station(self, mac: int, vlan: int, port: int, function: int) -> None:
        """Frames for a MAC in a VLAN of a port's network go to a function from now on. Raises HeadraceError when they
        go to one already, or the table is full."""
        self._check(function)
        answer = self._operate(_INSERT, mac, vlan, port, function)
        if answer == _EXISTS:
            raise HeadraceError(
                f"function {function}: another one has {mac_text(mac)} in VLAN {vlan} of port {port}", 2
            )
        if answer != _DONE:
            raise HeadraceError(f"function {function}: no room for {mac_text(mac)} among the {self.stations} stations")

    def move_station(self, mac: int, vlan: int, port: int, function: int) -> None:
        """Frames for a MAC in a VLAN of a port's network go to another function from now on, and between to none other.
        Raises HeadraceError when they went to none."""
        self._check(function)
        self._found(self._operate(_CHANGE, mac, vlan, port, function), mac, vlan, port)

    def remove_station(self, mac: int, vlan: int, port: int) -> None:
        """Frames for a MAC in a VLAN of a port's network go to no function any more. Raises HeadraceError when they
        went to none."""
        self._found(self._operate(_REMOVE, mac, vlan, port, 0), mac, vlan, port)

    def set_pairs(self, function: int, pairs: Sequence[int]) -> None:
        """Spreads a function's frames over these queue pairs by their hash: ``pairs`` repeat as often as needed."""
        self._check(function)
        if not pairs or not all(0 <= pair < self.pairs for pair in pairs):
            raise HeadraceError(f"function {function}: its queue pairs are 0 to {self.pairs - 1}", 2)
        self._select(function)
        address = self._regs.vf.indirection.address
        self.card.write_many([(address, entry | pairs[entry % len(pairs)] << 8) for entry in range(INDIRECTIONS)])

    # -------------------------------------------------------------------------------------------------- counters

    def port_counters(self, port: int) -> PortCounters:
        """Of an Ethernet port, since the card's reset."""
        regs = self._regs.port[port]
        return PortCounters(*(getattr(regs, name).read() for name in PortCounters._fields))

    def path_counters(self, path: int) -> PathCounters:
        """Of a direction: 0 from the Ethernet ports, 1 from functions."""
        regs = self._regs.path[path]
        return PathCounters(*(getattr(regs, name).read() for name in PathCounters._fields))

    def _check(self, function: int) -> None:
        if not 0 <= function < self.count:
            raise HeadraceError(f"function {function}: the card has functions 0 to {self.count - 1}", 2)

    def _select(self, function: int) -> None:
        self._regs.vf.select.write(function)

    @staticmethod
    def _found(answer: int, mac: int, vlan: int, port: int) -> None:
        if answer == _NOT_FOUND:
            raise HeadraceError(f"no function has {mac_text(mac)} in VLAN {vlan} of port {port}", 2)

    def _operate(self, what: int, mac: int, vlan: int, port: int, function: int) -> int:
        regs = self._regs.station
        regs.mac_low.write(mac & 0xFFFF_FFFF)
        regs.mac_high.write(mac >> 32 | vlan << 16 | port << 28)
        regs.owner.write(function)
        regs.start.write(what)
        return int(regs.answer.read())


class NicFunctions(Functions):
    """The functions of a NIC card, whose frames go to those of their queue pairs that run."""

    def __init__(self, nic: Nic) -> None:
        super().__init__(nic.card, nic.card.regs.functions)
        self._nic = nic
        self._running: set[int] = set()  # queues that receive

    def begin(self, side: Side, queue: int, what: Virtqueue) -> None:
        """Begins a queue; frames go there too from then on, if it receives."""
        super().begin(side, queue, what)
        if side is Side.RECEIVE:
            self._running.add(queue)
            self._spread(queue)

    def stop(self, side: Side, queue: int) -> int:
        """Ends a queue, to which no frames go any more, if it receives and the function has another."""
        if side is Side.RECEIVE:
            self._running.discard(queue)
            self._spread(queue)
        return super().stop(side, queue)

    def _spread(self, queue: int) -> None:
        if self.pairs == 1:
            return
        function = queue // self.pairs
        self._nic.set_pairs(function, [pair for pair in range(self.pairs) if self._has(function, pair)] or [0])

    def _has(self, function: int, pair: int) -> bool:
        return function * self.pairs + pair in self._running
