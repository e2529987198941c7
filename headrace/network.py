"""The network interfaces that this process can capture from, as Linux tells."""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ROUTES = Path("/proc/net/route")
_DEFAULT_ROUTE = "00000000"
_GET_FLAGS, _GET_ADDRESS = 0x8913, 0x8927  # SIOCGIFFLAGS, SIOCGIFHWADDR
_REQUEST = struct.Struct("16sH22x")  # struct ifreq: a name, then flags or the kind of hardware
_ETHERNET, _LOOPBACK = 1, 772  # ARPHRD_ETHER, ARPHRD_LOOPBACK: what has Ethernet headers
_UP = 1  # IFF_UP


@dataclass(frozen=True)
class Interface:
    """An interface whose packets have Ethernet headers."""

    name: str
    up: bool
    loopback: bool
    default_route: bool


def interfaces() -> list[Interface]:
    """Those that there are in this process's network namespace, by name."""
    routes = _default_routes()
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        for name in sorted(name for _, name in socket.if_nameindex()):
            try:
                flags, kind = _ask(link, _GET_FLAGS, name), _ask(link, _GET_ADDRESS, name)
            except OSError:  # it has just gone
                continue
            if kind in (_ETHERNET, _LOOPBACK):
                found.append(Interface(name, bool(flags & _UP), kind == _LOOPBACK, name in routes))
    return found


def best_interface(found: Sequence[Interface]) -> Interface | None:
    """The one that a user most probably means: with the default route, else up, else any but the loopback."""
    return max(found, key=lambda one: (one.default_route, one.up and not one.loopback, one.up), default=None)


def _ask(link: socket.socket, what: int, name: str) -> int:
    answer = fcntl.ioctl(link, what, _REQUEST.pack(name.encode(), 0))
    return int(_REQUEST.unpack(answer)[1])


def _default_routes() -> set[str]:
    try:
        lines = _ROUTES.read_text().splitlines()[1:]
    except OSError:
        return set()
    return {fields[0] for line in lines if (fields := line.split()) and fields[1] == _DEFAULT_ROUTE}
