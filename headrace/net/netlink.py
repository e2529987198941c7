# SPDX-License-Identifier: Apache-2.0
"""The network interfaces of this thread's network namespace: those there are, and cables between new ones."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyroute2 import IPRoute

_ETHERNET, _LOOPBACK = 1, 772  # ARPHRD_ETHER, ARPHRD_LOOPBACK: what has Ethernet headers
_UP = 1  # IFF_UP
_OFFLOADS = ("tx-checksum-", "tx-scatter-gather", "tx-tcp", "tx-udp", "tx-generic-segmentation", "rx-gro")
_NO_DUPLICATE_DETECTION = 2  # IFA_F_NODAD: an IPv6 address can be used at once


@dataclass(frozen=True)
class Interface:
    """An interface whose packets have Ethernet headers."""

    name: str
    up: bool
    loopback: bool
    default_route: bool


def interfaces() -> list[Interface]:
    """Those that there are, by name. Raises HeadraceError when the kernel doesn't tell."""
    with _netlink("interfaces") as ip:
        routed = {index for route in ip.get_default_routes() for index in _outputs(route)}
        found = [
            Interface(
                link.get("ifname"), bool(link["flags"] & _UP), link["ifi_type"] == _LOOPBACK, link["index"] in routed
            )
            for link in ip.get_links()
            if link["ifi_type"] in (_ETHERNET, _LOOPBACK)
        ]
    return sorted(found, key=lambda one: one.name)


def best_interface(found: Sequence[Interface]) -> Interface | None:
    """The one that a user most probably means: with the default route, else up, else any but the loopback."""
    return max(found, key=lambda one: (one.default_route, one.up and not one.loopback, one.up), default=None)


def add_pair(here: str, there: str, process: int | None = None) -> None:
    """Adds a cable (veth) between two new interfaces, ``there`` in the network namespace of a process if one is given.

    Raises HeadraceError when that can't be.
    """
    peer = {"ifname": there} if process is None else {"ifname": there, "net_ns_pid": process}
    with _netlink(here) as ip:
        ip.link("add", ifname=here, kind="veth", peer=peer)


def bring_up(name: str, *addresses: str) -> None:
    """Gives an interface addresses, such as ``10.0.0.1/24``, and brings it up. Raises HeadraceError."""
    with _netlink(name) as ip:
        index = socket.if_nametoindex(name)
        for address in addresses:
            host, _, length = address.partition("/")
            ip.addr("add", index=index, address=host, prefixlen=int(length), flags=_NO_DUPLICATE_DETECTION)
        ip.link("set", index=index, state="up")


def set_mtu(name: str, size: int) -> None:
    """The longest packet of an interface, in bytes without its Ethernet header. Raises HeadraceError."""
    with _netlink(name) as ip:
        ip.link("set", index=socket.if_nametoindex(name), mtu=size)


def set_mac(name: str, address: str) -> None:
    """An interface's own address, such as ``02:00:00:00:00:01``. Raises HeadraceError."""
    with _netlink(name) as ip:
        ip.link("set", index=socket.if_nametoindex(name), address=address)


def no_offloads(name: str) -> None:
    """An interface then carries frames as a wire does: no super-packets, checksums filled in. Raises HeadraceError."""
    from pyroute2 import Ethtool

    with _errors(name), Ethtool() as tool:
        features = tool.get_features(name)
        for feature in features.features.values():
            if feature.name.startswith(_OFFLOADS) and feature.available:
                feature.enable = False
        tool.set_features(name, features)


def _outputs(route: Any) -> list[int]:
    """The interfaces (by index) of a route, which may have several ways."""
    hops = route.get("multipath")
    return [hop["oif"] for hop in hops] if hops else [route.get("oif")]


@contextmanager
def _netlink(subject: str) -> Iterator[IPRoute]:
    from pyroute2 import IPRoute  # here, as it takes a quarter of a second

    with _errors(subject), IPRoute() as ip:
        yield ip


@contextmanager
def _errors(subject: str) -> Iterator[None]:
    from pyroute2 import NetlinkError

    try:
        yield
    except NetlinkError as error:
        raise HeadraceError(f"{subject}: {os.strerror(error.code)}") from None
    except OSError as error:
        raise HeadraceError(f"{subject}: {error.strerror or error}") from None
