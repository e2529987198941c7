"""A running switch as others reach it: what its control socket answers (``headrace switch flows``, ``stats``,
``trace``, ``headrace vf``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.card.control import ControlSocket, Owner
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware
from headrace.cards.switch.controllers import Controllers
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.links import SwitchLinks
from headrace.cards.switch.ofctl import add_flow, del_flows
from headrace.cards.switch.text import instructions_text, match_text
from headrace.engines.functions import FunctionPorts
from headrace.errors import HeadraceError

CONTROL = Owner("switch", "a switch")
_NS = 1_000_000_000


class Service:
    """What a switch does for those who ask. A request is an object with ``command``: flows, add-flow, del-flows, stats,
    trace, fir, or one of ``FunctionPorts.answer`` and ``SwitchLinks.answer``."""

    def __init__(
        self,
        switch: OpenFlowSwitch,
        datapath: HardwareDatapath,
        controllers: Controllers,
        hardware: CardHardware,
        functions: FunctionPorts | None = None,
        links: SwitchLinks | None = None,
    ) -> None:
        self._switch, self._datapath, self._controllers, self._hardware = switch, datapath, controllers, hardware
        self._functions, self._links = functions, links

    def attend(self, control: ControlSocket | None) -> int:
        """Answers those who ask, and says how many."""
        return 0 if control is None else control.poll(self.answer)

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises HeadraceError for what can't be."""
        match request:
            case {"command": "flows"}:
                return {"flows": self.flows()}
            case {"command": "stats"}:
                return self.stats()
            case {"command": "trace", "packet": str(packet), "port": int(port)}:
                return self.trace(packet, port)
            case {"command": "add-flow", "flow": str(flow)}:
                add_flow(self._switch, flow)
                return {}
            case {"command": "del-flows", "match": str(match)}:
                del_flows(self._switch, match)
                return {}
            case {"command": "fir", "taps": [*taps], "carry": bool(carry)} if all(
                isinstance(tap, int | float) for tap in taps
            ):
                self._hardware.set_filter(taps, carry)
                return {}
        answer = None if self._functions is None else self._functions.answer(request)
        if answer is None and self._links is not None:
            answer = self._links.answer(request)
        if answer is None and str(request.get("command")).startswith("link-"):
            raise HeadraceError("the switch has no emulated links: start it with -P LINKS=1, or a --link", 2)
        if answer is None:
            raise HeadraceError(f"unknown request: {dict(request)}", 2)
        return answer

    def flows(self) -> list[dict[str, Any]]:
        """All flow entries with their counters, by table and priority."""
        entries = sorted(self._switch.flow_tables, key=lambda flow: (flow.table, -flow.priority))
        now = self._datapath.now_ns()
        return [
            {
                "table": flow.table,
                "priority": flow.priority,
                "cookie": flow.cookie,
                "match": match_text(flow.match),
                "instructions": instructions_text(flow.instructions),
                "idle_timeout": flow.idle_s,
                "hard_timeout": flow.hard_s,
                "age_s": (now - flow.created_ns) / _NS,
                "packets": count.packets,
                "bytes": count.bytes,
            }
            for flow, count in zip(entries, self._datapath.count(entries), strict=True)
        ]

    def stats(self) -> dict[str, Any]:
        """Counters of ports and tables, and what controllers are at."""
        tables = [self._datapath.count_table(number)._asdict() for number in range(self._datapath.tables)]
        active = self._switch.flow_tables.active()
        return {
            "time_ns": self._datapath.now_ns(),
            "ports": [
                {"port": number, **self._datapath.count_port(number)._asdict()} for number in self._switch.ports.numbers
            ],
            "tables": [{"table": number, "flows": active[number], **count} for number, count in enumerate(tables)],
            "controllers": [status._asdict() for status in self._controllers.status()],
        }

    def trace(self, packet: str, port: int) -> dict[str, Any]:
        """What would become of a packet, in hexadecimal digits."""
        try:
            data = bytes.fromhex(packet)
        except ValueError:
            raise HeadraceError("the packet is not in hexadecimal digits", 2) from None
        if port not in self._switch.ports:
            raise HeadraceError(f"port {port}: the switch has ports 1 to {self._datapath.ports}", 2)
        found = self._datapath.trace(data, port)
        return {
            "text": found.text(),
            "steps": [{"title": step.title, "table": step.table, "lines": step.lines} for step in found.steps],
            "outputs": [output.port for output in found.outputs],
        }
