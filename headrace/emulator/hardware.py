"""Hardware in the loop: an interface of the machine as a node, or as a PHY of one.

The interface stays where it is. What it receives goes to a macvlan interface (passthru) in the node's network, and what
that sends goes out by it: while the emulation runs, the machine itself hears nothing by it. The kernel takes the
macvlan interface away with the node, however that ends, and the interface is as before.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Sequence

from headrace.emulator.fabric import drop_the_rest, redirect
from headrace.emulator.kernel import batch
from headrace.emulator.node import Node
from headrace.emulator.scenario import Hardware, address
from headrace.errors import HeadraceError

_SIOCGIFFLAGS, _IFF_UP = 0x8913, 1
_DEVICE = "device"


def check(hardware: Sequence[Hardware]) -> None:
    """Raises HeadraceError where an interface can't be used."""
    for each in hardware:
        where = f"hardware {each.name}: {each.interface}"
        if os.geteuid() != 0:
            raise HeadraceError(f"{where}: no permission: using the machine's interfaces needs root")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            try:
                found = fcntl.ioctl(link, _SIOCGIFFLAGS, struct.pack("16s24x", each.interface.encode()))
            except OSError as error:
                raise HeadraceError(f"{where}: {error.strerror}") from None
        if not struct.unpack_from("16xH", found)[0] & _IFF_UP:
            raise HeadraceError(f"{where}: it is down: ip link set {each.interface} up")


def silent(phys: int) -> list[str]:
    """What ``ip`` is told in a node that is a device: nothing there speaks of its own."""
    return ["link set lo up", *(f"link set phy{phy} addrgenmode none up" for phy in range(phys))]


def attach(hardware: Sequence[Hardware], nodes: Sequence[Node], phys: int, network: int) -> None:
    """Joins the interfaces, which are in the network of a file descriptor, to nodes that are here. Raises
    HeadraceError."""
    here = {node.index: node for node in nodes}
    outside = ("nsenter", f"--net=/proc/{os.getpid()}/fd/{network}", "--")
    for each in hardware:
        if (node := here.get(each.node)) is None:
            continue
        name = _DEVICE if each.phy is None else f"phy{each.phy}"
        line = f"link add link {each.interface} name {name} netns {node.pid} type macvlan mode passthru"
        try:
            batch("ip", [line], within=outside)
        except HeadraceError as error:
            raise HeadraceError(f"hardware {each.name}: {each.interface}: {error}") from None
        inside = ("nsenter", f"--net=/proc/{node.pid}/ns/net", "--")
        if each.phy is not None:
            lines = [f"addr add {address(each.node)}/32 dev {name}", f"link set {name} up"]
            batch("ip", lines, within=inside)
            continue
        names = [f"phy{phy}" for phy in range(phys)]
        batch("ip", [f"link set {name} addrgenmode none up"], within=inside)
        lines = [line for each_name in (name, *names) for line in drop_the_rest(each_name)]
        batch("tc", [*lines, redirect(name, *names), *(redirect(phy, name) for phy in names)], within=inside)
