"""The share of an emulation that one of several hosts keeps, and the links from it to the others: over VXLAN."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Self

from headrace.emulator.fabric import Ends, drop_the_rest, port_name, redirect
from headrace.emulator.fabric.software import SoftwareFabric
from headrace.emulator.kernel import batch
from headrace.errors import HeadraceError

_PORT = 4789  # of VXLAN (RFC 7348)
_LINKS = 1 << 16  # that an emulation's networks have numbers for


@dataclass(frozen=True)
class Share:
    """``here``: this host's number; ``hosts``: their addresses; ``of``: for each node the number of its host;
    ``network``: from 0 to 255, the emulation's own of the VXLAN networks."""

    here: int
    hosts: tuple[str, ...]
    of: tuple[int, ...]
    network: int

    @classmethod
    def read(cls, text: str) -> Self:
        """From ``str()`` of one."""
        table = json.loads(text)
        return cls(table["here"], tuple(table["hosts"]), tuple(table["of"]), table["network"])

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    def nodes(self) -> tuple[int, ...]:
        """Of this host."""
        return tuple(node for node, host in enumerate(self.of) if host == self.here)


def outside() -> int:
    """A file descriptor of this process's network. Raises HeadraceError where there is no way back into it."""
    if os.geteuid() != 0:
        raise HeadraceError("no permission: several hosts are joined by VXLAN, which needs root on each of them")
    return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def join_bridges(share: Share, network: int, bridge: str) -> None:
    """Joins the bridges of that name on all hosts to one network. Raises HeadraceError."""
    others = [host for number, host in enumerate(share.hosts) if number != share.here]
    if not others:
        return
    tunnel, number = f"{bridge}-x", share.network * _LINKS + _LINKS - 1
    line = (
        f"link add name {tunnel} netns /proc/{os.getpid()}/ns/net type vxlan "
        f"id {number} local {share.hosts[share.here]} dstport {_PORT}"
    )
    batch("ip", [line], within=("nsenter", f"--net=/proc/{os.getpid()}/fd/{network}", "--"))
    batch("bridge", [f"fdb append 00:00:00:00:00:00 dev {tunnel} dst {host}" for host in others])
    batch("ip", [f"link set {tunnel} master {bridge} up"])


class SharedFabric(SoftwareFabric):
    """Joins ports of this host in the kernel, and those of a link to another host with a VXLAN interface each, ``xN``.

    They carry frames of the link alone: its network is numbered by the lower one of its ports. What arrives is held
    to the link's rate and loss at the receiver, as everywhere.
    """

    def __init__(self, share: Share, phys: int, network: int) -> None:
        """``network``: file descriptor of the host's, see ``outside``."""
        super().__init__()
        self._share, self._phys = share, phys
        self._within = ("nsenter", f"--net=/proc/{os.getpid()}/fd/{network}", "--")

    def join(self, lost: Sequence[Ends], found: Sequence[Ends]) -> None:
        """Raises HeadraceError."""
        gone, new = ([link for ends in each for link in self._cross(ends)] for each in (lost, found))
        # first: the next link of such a port may be on this host
        batch("tc", [f"filter del dev {port_name(port)} ingress pref 1" for port, _, _ in gone])
        batch("ip", [f"link del {_tunnel(port)}" for port, _, _ in gone])
        super().join(*([ends for ends in each if len(self._own(ends)) == 2] for each in (lost, found)))
        batch("ip", [self._vxlan(*link) for link in new], within=self._within)
        lines = []
        for port, _, _ in new:
            here, there = port_name(port), _tunnel(port)
            lines += [*drop_the_rest(there), redirect(there, here), redirect(here, there)]
        batch("tc", lines)
        batch("ip", [f"link set {_tunnel(port)} up" for port, _, _ in new])

    def _own(self, ends: Ends) -> list[int]:
        return [port for port in ends if self._host(port) == self._share.here]

    def _host(self, port: int) -> int:
        return self._share.of[port // self._phys]

    def _cross(self, ends: Ends) -> Iterable[tuple[int, int, int]]:
        """This host's port of a link to another one, the other's number, and that of the link."""
        own = self._own(ends)
        if len(own) == 1:
            other = ends[1 - ends.index(own[0])]
            yield own[0], self._host(other), self._share.network * _LINKS + min(ends) + 1

    def _vxlan(self, port: int, other: int, number: int) -> str:
        here, there = self._share.hosts[self._share.here], self._share.hosts[other]
        return (
            f"link add name {_tunnel(port)} netns /proc/{os.getpid()}/ns/net type vxlan "
            f"id {number} local {here} remote {there} dstport {_PORT} nolearning"
        )


def _tunnel(port: int) -> str:
    return f"x{port}"
