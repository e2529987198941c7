"""Fabrics that are OpenFlow switches: the switch card, and Open vSwitch in user space. Port N of the fabric is port
N + 1 of the switch."""

from __future__ import annotations

import math
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from headrace.card.control import ask
from headrace.emulator.fabric import Arriving, Changes, Ends, drop_the_rest, port_name, redirect
from headrace.emulator.fabric.held import HeldByKernel, queue_bytes
from headrace.emulator.fabric.openflow import Controller
from headrace.emulator.kernel import batch, begin_child
from headrace.engines.netem import LEAST_BPS, MOST_DELAY_NS, Loss, Netem, netem_text
from headrace.errors import HeadraceError
from headrace.net import ovs

# What flows by port need, and no more
_CARD: Mapping[str, Any] = {
    "PORTS": 1, "DATA_W": 256, "TABLES": 1, "EXACT": 256, "TERNARY": 16, "NARROW": 1, "PROGRAM_WORDS": 1024,
    "METERS": 16,
}  # fmt: skip
_MOST_PORTS = 64
_MOST_LINKS = 48
_FRAME_BYTES = 1500  # of a packet in a link's queue, which counts packets
_LEAST_QUEUE = 64
_START_S = 600.0


def _parameters(ports: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of the card: the first PORTS are Ethernet ports, the others virtual functions. Raises HeadraceError."""
    parameters = {**_CARD, **given}
    ethernet = parameters["PORTS"]
    if not isinstance(ethernet, int) or not ethernet >= 1:
        raise HeadraceError(f"fabric_parameters: PORTS = {ethernet!r}: not a number of Ethernet ports", 2)
    needed = max(0, ports - ethernet)
    functions = parameters.setdefault("FUNCTIONS", needed)
    if not isinstance(functions, int) or functions < needed:
        raise HeadraceError(f"fabric_parameters: {ports} PHYs are more than PORTS + FUNCTIONS", 2)
    lanes = ethernet + functions
    if lanes > _MOST_PORTS:
        raise HeadraceError(f"{ports} PHYs are too many for the switch card, which has {_MOST_PORTS} ports at most", 2)
    if parameters.setdefault("LINKS", int(lanes <= _MOST_LINKS)) and lanes > _MOST_LINKS:
        what = f"the switch card has links behind {_MOST_LINKS} ports at most, not behind {lanes}"
        raise HeadraceError(f"fabric_parameters: LINKS: {what}", 2)
    return parameters


def build_card_for(ports: int, given: Mapping[str, Any]) -> None:
    """Builds the switch card of a fabric, if it isn't there. Raises HeadraceError."""
    from headrace.build.models import build_card

    build_card("switch", _parameters(ports, given), progress=sys.stderr.isatty())


def netem(arriving: Arriving) -> Netem:
    """What the card's link does. It holds what is on its way and a queue of 0.1 s, in frames of 1,500 bytes."""
    delay_ns = min(arriving.delay_ns, MOST_DELAY_NS)
    loss = Loss(arriving.loss) if arriving.loss > 0 else None
    if math.isinf(arriving.rate_bps):
        return Netem(delay_ns=delay_ns, loss=loss)
    rate_bps = max(LEAST_BPS, arriving.rate_bps)
    queue = max(_LEAST_QUEUE, math.ceil(queue_bytes(rate_bps) / _FRAME_BYTES))
    on_its_way = math.ceil(rate_bps / 8 * delay_ns / 1e9 / _FRAME_BYTES)
    return Netem(delay_ns=delay_ns, loss=loss, rate_bps=rate_bps, limit=queue + on_its_way)


class _Switch(HeldByKernel, ABC):
    def __init__(self) -> None:
        super().__init__()
        self._pid: int | None = None
        self._stack = ExitStack()
        self._controller: Controller | None = None

    def _control(self, path: Path) -> None:
        self._controller = Controller(path)
        self._stack.callback(self._controller.close)

    def __exit__(self, *error: Any) -> None:
        self.close()
        self._stack.close()

    def join(self, lost: Sequence[Ends], found: Sequence[Ends]) -> None:
        """Raises HeadraceError."""
        assert self._controller is not None
        self._controller.join(lost, found)

    def files(self) -> Iterable[int]:
        """The connection."""
        return () if self._controller is None else (self._controller.fileno(),)

    def attend(self) -> None:
        """Raises HeadraceError when the switch has gone."""
        if self._controller is not None:
            try:
                self._controller.attend()
            except HeadraceError:
                raise HeadraceError(self._why()) from None

    def ended(self, pid: int) -> str:
        """Its process, or the delay line."""
        return self._why() if pid == self._pid else super().ended(pid)

    @abstractmethod
    def _why(self) -> str:
        """What it said last, when its process has ended."""


class OvsFabric(_Switch):
    """Open vSwitch with the user-space datapath, a database and a folder of its own."""

    def __init__(self, ports: int) -> None:
        super().__init__()
        self._ports = ports

    def __enter__(self) -> Self:
        switch = self._stack.enter_context(ovs.open_vswitch("netdev"))
        words: list[str] = []
        for port in range(self._ports):
            name = port_name(port)
            words += ["--", "add-port", ovs.BRIDGE, name, "--", "set", "interface", name, f"ofport_request={port + 1}"]
        switch.vsctl(*words)
        self._control(switch.folder / f"{ovs.BRIDGE}.mgmt")
        self._pid = switch.process
        return self

    def _why(self) -> str:
        """Its log is its own."""
        return "Open vSwitch has ended"


def _tap(port: int) -> str:
    """The card's interface of a port."""
    return f"t{port}"


class CardFabric(_Switch):
    """The switch card, in a process of its own. Its ports are TAP devices, each joined to an interface of a PHY. With
    LINKS the links behind them have the delay, the rate and the loss."""

    def __init__(self, ports: int, parameters: Mapping[str, Any]) -> None:
        super().__init__()
        self._ports, self._parameters = ports, _parameters(ports, parameters)
        self._too_long = False  # delays
        self._folder = Path(os.environ["XDG_RUNTIME_DIR"])

    def __enter__(self) -> Self:
        socket = self._folder / "switch.openflow"
        self._pid = os.fork()
        if self._pid == 0:
            self._card(socket)
        deadline = time.monotonic() + _START_S
        while not socket.exists():
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                raise HeadraceError(self._why())
            if time.monotonic() > deadline:
                raise HeadraceError("the switch card does not start")
            time.sleep(0.01)
        lines = []
        for port in range(self._ports):
            inside, outside = _tap(port), port_name(port)
            lines += [*drop_the_rest(inside), redirect(inside, outside), redirect(outside, inside)]
        batch("ip", [f"link set {_tap(port)} up" for port in range(self._ports)])
        batch("tc", lines)
        self._control(socket)
        return self

    def _card(self, socket: Path) -> None:
        """The process, which does not return."""
        code = 1
        try:
            begin_child()
            with self._log.open("w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            from headrace.cards.switch.run import SwitchJob, run

            ethernet = min(self._ports, int(self._parameters["PORTS"]))
            job = SwitchJob(
                sources={port + 1: f"tap:{_tap(port)}" for port in range(ethernet)},
                functions={port - ethernet: f"tap:{_tap(port)}" for port in range(ethernet, self._ports)},
                listens=[f"punix:{socket}"],
                control=str(self._control_path),
                parameters=self._parameters,
            )
            run(job, tell=lambda line: print(line, flush=True))
            code = 0
        except HeadraceError as error:
            print(error, file=sys.stderr, flush=True)
        finally:
            os._exit(code)

    def hold(self, changes: Changes, gone: Sequence[int]) -> None:
        """All of them in one request. Raises HeadraceError."""
        if not self._parameters["LINKS"]:
            super().hold(changes, gone)
            return
        if not changes:
            return
        from headrace.cards.switch.service import CONTROL

        self._too_long |= any(after.delay_ns > MOST_DELAY_NS for _, after in changes.values())
        words = {str(port + 1): netem_text(netem(after)) for port, (_, after) in changes.items()}
        try:
            ask(CONTROL, str(self._control_path), {"command": "link-set", "links": words})
        except HeadraceError as error:
            if error.exit_code == 2:  # it has been refused
                raise
            raise HeadraceError("the switch card does not answer") from None

    def not_applied(self) -> list[str]:
        """With LINKS, delays beyond the card's."""
        if not self._parameters["LINKS"]:
            return super().not_applied()
        longest_s = MOST_DELAY_NS / 1e9
        return [f"delays above {longest_s:.2f} s were {longest_s:.2f} s, the longest of the card"] * self._too_long

    @property
    def _control_path(self) -> Path:
        return self._folder / "switch.control"

    @property
    def _log(self) -> Path:
        return self._folder / "switch.log"

    def _why(self) -> str:
        """The last line that it said."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return f"the switch card has ended{f': {lines[-1]}' if lines else ''}"
