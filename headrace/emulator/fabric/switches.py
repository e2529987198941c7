"""Fabrics that are OpenFlow switches: what all of them share, and Open vSwitch in user space."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from headrace.emulator.fabric import Ends, port_name
from headrace.emulator.fabric.cabling import Cabling, Rule
from headrace.emulator.fabric.held import HeldByKernel
from headrace.emulator.fabric.openflow import Controller
from headrace.errors import HeadraceError
from headrace.net import ovs


class SwitchFabric(HeldByKernel, ABC):
    """One switch or several, each with a process."""

    def __init__(self, cabling: Cabling) -> None:
        super().__init__()
        self.cabling = cabling
        self._pids: list[int] = []
        self._stack = ExitStack()
        self._controllers: list[Controller] = []

    def _control(self, paths: Iterable[Path]) -> None:
        """Of all switches, once they are there. Raises HeadraceError."""
        for path in paths:
            self._controllers.append(Controller(path))
            self._stack.callback(self._controllers[-1].close)
        self._change([], list(self.cabling.always()))

    def __exit__(self, *error: Any) -> None:
        self.close()
        self._stack.close()

    def join(self, lost: Sequence[Ends], found: Sequence[Ends]) -> None:
        """Raises HeadraceError."""
        deleted, added = ([rule for ends in all_ends for rule in self.cabling.link(ends)] for all_ends in (lost, found))
        self._change(deleted, added)

    def _change(self, deleted: Sequence[Rule], added: Sequence[Rule]) -> None:
        for switch, controller in enumerate(self._controllers):
            mine = [[rule for rule in rules if rule.switch == switch] for rules in (deleted, added)]
            if any(mine):
                controller.change(*mine)

    def files(self) -> Iterable[int]:
        """The connections."""
        return [controller.fileno() for controller in self._controllers]

    def attend(self) -> None:
        """Raises HeadraceError when a switch has gone."""
        for switch, controller in enumerate(self._controllers):
            try:
                controller.attend()
            except HeadraceError:
                raise HeadraceError(self._why(switch)) from None

    def ended(self, pid: int) -> str:
        """A switch's process, or the delay line."""
        return self._why(self._pids.index(pid)) if pid in self._pids else super().ended(pid)

    @abstractmethod
    def _why(self, switch: int) -> str:
        """What it said last, when its process has ended."""


class OvsFabric(SwitchFabric):
    """Open vSwitch with the user-space datapath, a database and a folder of its own."""

    def __init__(self, ports: int) -> None:
        super().__init__(Cabling(ports, 1))

    def __enter__(self) -> Self:
        switch = self._stack.enter_context(ovs.open_vswitch("netdev"))
        words: list[str] = []
        for port in range(self.cabling.ports):
            name, number = port_name(port), self.cabling.place(port).port
            words += ["--", "add-port", ovs.BRIDGE, name, "--", "set", "interface", name, f"ofport_request={number}"]
        switch.vsctl(*words)
        self._control([switch.folder / f"{ovs.BRIDGE}.mgmt"])
        self._pids = [switch.process]
        return self

    def _why(self, switch: int) -> str:  # noqa: ARG002
        """Its log is its own."""
        return "Open vSwitch has ended"
