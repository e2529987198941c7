"""A running RPU card as others reach it: what its control socket answers (``headrace rpu stats``, ``debug``, ``gdb``,
``headrace vf``).

A request is an object with ``command``, the name of one of ``Service.commands``, or one of ``FunctionPorts.answer``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headrace.card import Card
from headrace.card.control import ControlSocket, Owner
from headrace.cards.rpu import elf
from headrace.cards.rpu.debug import Debugger
from headrace.cards.rpu.driver import RpuDriver, SwapReport
from headrace.cards.rpu.health import Physician, UnitHealth
from headrace.cards.rpu.swap import swap, table_of
from headrace.engines.functions import FunctionPorts
from headrace.errors import HeadraceError

CONTROL = Owner("rpu", "an RPU card")
CHUNK = 16 << 10  # bytes of memory in one request or answer

Command = Callable[[Mapping[str, Any]], dict[str, Any]]

_QUICK_S, _CALM_S = 0.002, 0.05  # of wall time between looks at the socket: while somebody asks, and otherwise
_BUSY_S = 0.5  # after a request
_WATCH_S = 1.0  # between looks at units


class Service:
    """What a card does for those who ask. ``programs``: what units run, by name and as read; ``tables``: what their
    accelerators load whenever a program is loaded; ``functions``: those of the host port."""

    def __init__(
        self,
        card: Card,
        driver: RpuDriver,
        programs: Mapping[int, tuple[str, elf.Program]],
        tables: Mapping[int, Sequence[tuple[int, int]]] | None = None,
        functions: FunctionPorts | None = None,
    ) -> None:
        self.card, self.driver = card, driver
        self.programs = dict(programs)
        self.tables = dict(tables or {})
        self._functions = functions
        self.commands: dict[str, Command] = {
            "stats": self._stats,
            "load": self._load,
            "swap": self._swap,
            "debug": self._debug,
        }
        self.debugged = False  # a core was halted: nothing moves as long as its user thinks
        self._debuggers: dict[int, Debugger] = {}
        self._physician = Physician(driver, lambda: card.stats().time_ns)
        self._asked = self._watched = -_BUSY_S

    def attend(self, control: ControlSocket | None) -> float:
        """Answers requests; gives the seconds of wall time until it wants to look again."""
        now = time.monotonic()
        if control is not None and control.poll(self.answer):
            self._asked = now
        if now - self._watched >= _WATCH_S:
            self._watched = now
            for unit in self.programs:
                self._physician.watch(unit)
        return _QUICK_S if now - self._asked < _BUSY_S else _CALM_S

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises HeadraceError for what can't be."""
        command = self.commands.get(str(request.get("command")))
        if command is None:
            answer = None if self._functions is None else self._functions.answer(request)
            if answer is None:
                raise HeadraceError(f"unknown request: {dict(request)}", 2)
            return answer
        try:
            return command(request)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise HeadraceError(f"request {request['command']}: {type(error).__name__}: {error}", 2) from None

    def health(self, unit: int, hung: bool = False) -> UnitHealth:
        """What a unit is at; ``hung``: nothing moves any more in the card."""
        name, program = self.programs.get(unit, ("", None))
        return self._physician.look(unit, Path(name).name, program, hung)

    def host_dropped(self) -> int:
        """Packets to the host that were lost on the way."""
        if self._functions is None or self._functions.plugs.functions is None:
            return self.driver.host_dropped()
        return self._functions.totals().dropped

    def load(self, units: Sequence[int], name: str, program: elf.Program, force: bool = False) -> None:
        """Loads a program, and what it is called, into units of the running card, whose packets go to other units
        meanwhile. A unit that keeps packets for 200 us is refused (HeadraceError), or with ``force`` loses them."""
        driver = self.driver
        for unit in units:
            enabled = driver.disable([unit])
            if not force and not driver.empty(unit):
                driver.enable(enabled)
                raise HeadraceError(f"unit {unit} keeps packets: with --force they are lost")
            driver.load(program, [unit])
            if unit in self._debuggers:
                self._debuggers.pop(unit).forget()
            driver.boot([unit], enable=False)
            self.programs[unit] = name, program
            if unit in self.tables:
                driver.load_table(self.tables[unit], [unit])
            if not driver.ready([unit]):
                raise HeadraceError(f"unit {unit}: {Path(name).name} names no slots")
            driver.enable([unit])

    def swap(
        self,
        unit: int,
        accelerator: str,
        table: Sequence[tuple[int, int]],
        program: tuple[str, elf.Program] | None = None,
        force: bool = False,
    ) -> SwapReport:
        """Gives a unit another accelerator, and a program with its name (None: the one it has): ``swap.swap``."""
        if program is None and unit not in self.programs:
            raise HeadraceError(f"unit {unit} has no program: choose one by --program", 2)
        chosen = program or self.programs[unit]
        (report,) = swap(self.card, self.driver, [unit], accelerator, chosen[1], table, force=force)
        if unit in self._debuggers:
            self._debuggers.pop(unit).forget()
        self.programs[unit] = chosen
        self.tables[unit] = table
        return report

    # ------------------------------------------------------------------------------------------------ requests

    def _stats(self, _: Mapping[str, Any]) -> dict[str, Any]:
        units = []
        for unit in self.driver.all_units():
            found = self.health(unit)
            debugger = self._debuggers.get(unit)
            halted = debugger is not None and not found.state.in_reset and debugger.state() != "running"
            listed = asdict(found)
            counters, state = listed.pop("counters"), listed.pop("state")
            units.append({**counters, **state, **listed, "halted": halted})
        stats = self.card.stats()
        return {
            "time_ns": stats.time_ns,
            "units": units,
            "sources": {name: asdict(found) for name, found in self.driver.source_counters().items()},
            "host_dropped": self.host_dropped(),
            "ports": [asdict(port) for port in stats.ports],
        }

    def _load(self, request: Mapping[str, Any]) -> dict[str, Any]:
        units = [int(unit) for unit in request["units"]]
        program = elf.read(str(request["path"]))
        self.load(units, str(request["program"]), program, bool(request.get("force")))
        return {"units": units}

    def _swap(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Without units, only what an accelerator has to be for: ``data_w``."""
        reports = []
        if request["units"]:
            accelerator = str(request["accelerator"])
            table = table_of(accelerator, request.get("blocklist"), request.get("rules"), first=request.get("first"))
            program = request.get("program")
            chosen = None if program is None else (str(program), elf.read(str(request["path"])))
            for unit in request["units"]:
                reports.append(asdict(self.swap(int(unit), accelerator, table, chosen, bool(request.get("force")))))
        return {"data_w": self.card.parameters["DATA_W"], "reports": reports}

    def _debug(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """``do``: steps, [name, arguments...] each, one after the other; gives the result of each."""
        unit = int(request["unit"])
        self.driver.in_reset(unit)  # tells when there is no such unit
        if unit not in self._debuggers:
            self._debuggers[unit] = Debugger(self.driver, unit)
        debugger = self._debuggers[unit]

        def read(address: int, size: int) -> str:
            if not 0 <= size <= CHUNK:
                raise HeadraceError(f"{size} bytes: at most {CHUNK} at once", 2)
            return debugger.read_memory(address, size).hex()

        steps: dict[str, Callable[..., Any]] = {
            "state": debugger.state,
            "attach": debugger.attach,
            "detach": debugger.detach,
            "halt": debugger.halt,
            "resume": debugger.resume,
            "step": lambda *limits: dict(zip(("on", "changed"), debugger.step_within(*limits), strict=True)),
            "registers": debugger.registers,
            "csrs": debugger.csrs,
            "set_register": debugger.write_register,
            "read": read,
            "write": lambda address, data: debugger.write_memory(address, bytes.fromhex(data)),
            "break": debugger.set_breakpoint,
            "unbreak": debugger.remove_breakpoint,
            "poke": lambda: self.driver.poke(unit),
            "look": lambda: self._look(debugger),
            "program": lambda: str(self.programs[unit][1].path) if unit in self.programs else None,
        }
        results = []
        for name, *arguments in request["do"]:
            if name not in steps:
                raise HeadraceError(f"unknown step {name}", 2)
            self.debugged |= name in ("attach", "halt", "break")
            results.append(steps[name](*arguments))
        return {"results": results}

    def _look(self, debugger: Debugger) -> dict[str, Any] | None:
        """Registers of a core, which is halted for it; None: it is in reset."""
        if self.driver.in_reset(debugger.unit):
            return None
        runs = debugger.state() == "running"
        debugger.halt()
        registers, csrs = debugger.registers(), debugger.csrs()
        if runs:
            debugger.resume()
        return {"halted": not runs, "registers": registers, "csrs": csrs}
