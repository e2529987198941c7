"""The ports of an OpenFlow switch: what they are, how they are configured, whether they are up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headrace.cards.switch.flows import Datapath, PortState
from headrace.cards.switch.openflow.constants import PortConfig, PortStatus
from headrace.cards.switch.openflow.errors import PortModFailed, refused
from headrace.cards.switch.openflow.replies import Port
from headrace.cards.switch.openflow.requests import PortMod

_FIBER = 1 << 12
_OTHER_SPEED = 1 << 10
_SPEEDS = {10_000: 1 << 1, 100_000: 1 << 3, 1_000_000: 1 << 5, 10_000_000: 1 << 6, 40_000_000: 1 << 7}
_SPEEDS |= {100_000_000: 1 << 8, 1_000_000_000: 1 << 9}
"""OFPPF_*, full duplex, by kb/s."""


class PortInfo(NamedTuple):
    """A port: its OpenFlow number, its name (15 bytes are told), its MAC address (6 bytes), its speed in kb/s."""

    number: int
    name: str
    mac: bytes
    speed: int


class Ports:
    """All of a switch, by number. They begin up, with nothing configured."""

    def __init__(self, datapath: Datapath, infos: Sequence[PortInfo]) -> None:
        self._datapath = datapath
        self._infos = {info.number: info for info in infos}
        self._config = dict.fromkeys(self._infos, PortConfig(0))
        self._up = dict.fromkeys(self._infos, True)
        self.created_ns = datapath.now_ns()

    def __contains__(self, number: object) -> bool:
        return number in self._infos

    @property
    def numbers(self) -> Sequence[int]:
        """In order."""
        return sorted(self._infos)

    def describe(self, number: int) -> Port:
        """What controllers are told of a port."""
        info, config = self._infos[number], self._config[number]
        state = PortStatus(0) if self._up[number] else PortStatus.LINK_DOWN
        if self._state(number).live:
            state |= PortStatus.LIVE
        features = _SPEEDS.get(info.speed, _OTHER_SPEED) | _FIBER
        return Port(number, info.mac, info.name, config, state, features, info.speed)

    def modify(self, mod: PortMod) -> bool:
        """Whether it has changed the port's configuration. Raises RefusedError."""
        if mod.port not in self._infos:
            raise refused(PortModFailed.BAD_PORT, f"no port {mod.port}")
        if mod.mac != self._infos[mod.port].mac:
            raise refused(PortModFailed.BAD_HW_ADDR, f"port {mod.port} has another address")
        if mod.mask & ~sum(PortConfig):
            raise refused(PortModFailed.BAD_CONFIG, f"mask {mod.mask:#x}")
        if mod.advertise & ~self.describe(mod.port).features:
            raise refused(PortModFailed.BAD_ADVERTISE, f"features {mod.advertise:#x}")
        before = self._config[mod.port]
        self._config[mod.port] = PortConfig((before & ~mod.mask) | (mod.config & mod.mask))
        if self._config[mod.port] == before:
            return False
        self._datapath.set_port(mod.port, self._state(mod.port))
        return True

    def set_link(self, number: int, up: bool, name: str = "") -> bool:
        """Says that a port's link is up, or down, and what the port is called now, unless that is empty. Whether
        anything of it is new."""
        info = self._infos[number]
        self._infos[number] = info._replace(name=name or info.name)
        if self._up[number] != up:
            self._up[number] = up
            self._datapath.set_port(number, self._state(number))
            return True
        return self._infos[number] != info

    def _state(self, number: int) -> PortState:
        config = self._config[number]
        down = bool(config & PortConfig.DOWN)
        return PortState(
            receives=not down and not config & PortConfig.NO_RECV,
            sends=not down and not config & PortConfig.NO_FWD,
            packet_ins=not config & PortConfig.NO_PACKET_IN,
            live=not down and self._up[number],
        )
