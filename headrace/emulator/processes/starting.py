"""How a node's first process starts the node's own processes: it forks, so that all share what it has loaded."""

from __future__ import annotations

import os
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from headrace.emulator import kernel
from headrace.emulator.processes import component
from headrace.emulator.processes.component import CONTROL, MESSENGER, Component, Outside, Seat
from headrace.emulator.processes.control_processor import ControlProcessor
from headrace.emulator.processes.load import Load
from headrace.emulator.processes.loop import FOLDER
from headrace.emulator.processes.messenger import Messenger
from headrace.emulator.processes.phy import Phy
from headrace.errors import HeadraceError

_BRIDGE = "int0"
_READY, _GO = b"r", b"g"


def start_load() -> int:
    """The process of a load generator. It listens when this returns. Raises HeadraceError."""
    here, there = socket.socketpair()
    with here, there:
        pid = _fork("load", there, lambda: Load().run)
        there.close()
        if here.recv(1) != _READY:
            raise HeadraceError("no load generator: port 4850 of the node is taken")
    return pid


def start_components(seats: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The processes of a mobile node by their roles. Raises HeadraceError."""
    links, pids = {}, {}
    for given in seats:
        seat = Seat(**{**given, "endpoints": tuple(given["endpoints"])})
        here, there = socket.socketpair()
        pids[seat.role] = _fork(seat.role, there, partial(_component, seat, there))
        there.close()
        links[seat.role] = here
    lines = [
        f"link add {_BRIDGE} type bridge mcast_snooping 0",
        f"link set {_BRIDGE} addrgenmode none",
        f"link set {_BRIDGE} up",
    ]
    for host, (role, link) in enumerate(links.items(), 1):
        if link.recv(1) != _READY:
            raise HeadraceError(f"no network for {role}")
        lines += [
            f"link add int-{role} type veth peer name eth0 address {component.mac(host)} netns {pids[role]}",
            f"link set int-{role} addrgenmode none master {_BRIDGE} up",
        ]
    kernel.batch("ip", lines)
    for link in links.values():
        link.send(_GO)
    for role, link in links.items():
        if link.recv(1) != _READY:
            raise HeadraceError(f"{role} has ended: {_last_line(role)}")
        link.close()
    return pids


def _component(seat: Seat, link: socket.socket) -> Callable[[], None]:
    node = component.leave_network()
    link.send(_READY)
    if link.recv(1) != _GO:
        raise HeadraceError("the node has gone")
    component.enter_network(seat.host)
    process: Component
    if seat.role == CONTROL:
        process = ControlProcessor(seat)
    elif seat.role == MESSENGER:
        process = Messenger(seat)
    else:
        process = Phy(seat, Outside(node))
    return process.run


def _fork(name: str, link: socket.socket, begin: Callable[[], Callable[[], None]]) -> int:
    """A child that begins, says so, and runs; it has no other files than these, and writes to NAME.log."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        kernel.begin_child()
        kernel.set_name(name)
        os.setsid()
        log = os.open(FOLDER / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        kept = link.fileno()
        os.closerange(3, kept)
        os.closerange(kept + 1, 1 << 16)
        run = begin()
        link.send(_READY)
        link.close()
        run()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _last_line(role: str) -> str:
    lines = (FOLDER / f"{role}.log").read_text(errors="replace").splitlines()
    return lines[-1].strip() if lines else ""
