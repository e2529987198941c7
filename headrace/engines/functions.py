"""The virtual functions of a card that runs: how many there are, and what ``headrace vf`` shows and changes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from headrace.card.functions import Functions, Plugs, Policy, Side
from headrace.errors import HeadraceError
from headrace.net.port_link import port_link
from headrace.net.source import KINDS

_KINDS = ("vhost", *KINDS)
_NO_SOURCES = ("vhost", "null")  # links of functions that parse_source doesn't know


def count_of(named: Iterable[int], parameters: Mapping[str, Any], least: int = 0) -> int:
    """Functions that a card has: as its parameters say, otherwise up to the highest that is named. Raises HeadraceError
    for one that isn't there."""
    highest = max(named, default=-1)
    said = parameters.get("FUNCTIONS", max(highest + 1, least))
    try:
        count = int(said)
    except ValueError:
        raise HeadraceError(f"-P FUNCTIONS={said}: not a number", 2) from None
    if highest >= count:
        raise HeadraceError(f"function {highest}: the card has {count}, from 0", 2)
    return count


def link_of(text: str) -> str:
    """What ``Plugs.plug`` takes for a link of a command line: a file may be named without ``pcap:``, and a function at
    an interface sends only what comes in there. Raises HeadraceError as ``port_link``."""
    return text if text.partition(":")[0] in _NO_SOURCES else port_link(text).link


class Totals(NamedTuple):
    """Packets of all functions: that they sent, and of these ``refused`` by their policies; that they received, and
    those that were ``dropped`` on the way to them."""

    sent: int
    refused: int
    received: int
    dropped: int


class FunctionPorts:
    """The functions of a card: function N is its port ``first`` + ``step`` * N."""

    def __init__(self, plugs: Plugs, first: int, step: int = 1) -> None:
        self.plugs, self._first, self._step = plugs, first, step

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """What ``headrace vf`` is told; None: the request is none of its. ``command``: vf-list, vf-set, vf-stats,
        vf-plug or vf-unplug. Raises HeadraceError for what can't be."""
        match request:
            case {"command": "vf-list"}:
                return {"functions": self.status()}
            case {"command": "vf-stats", "function": int() | None as function}:
                return {"functions": self.stats(function)}
            case {"command": "vf-set", "function": int(function), "settings": {**settings}}:
                self.change(function, settings)
            case {"command": "vf-plug", "function": int(function), "link": str(link)}:
                self.plug(function, link)
            case {"command": "vf-unplug", "function": int(function)}:
                self.unplug(function)
            case _:
                return None
        return {}

    def status(self) -> list[dict[str, Any]]:
        """Of each function its number and port, its link (None: it is in no use), whether that is up, its policy."""
        functions = self._functions()
        found = []
        for function in range(functions.count):
            link = self.plugs.link(function)
            up = link is not None and self.plugs.link_up(function)
            state = {"function": function, "port": self.port(function), "link": link, "up": up}
            found.append(state | asdict(functions.policy(function)))
        return found

    def change(self, function: int, settings: Mapping[Any, Any]) -> None:
        """Changes fields of a function's policy. Raises HeadraceError for what can't be."""
        functions = self._functions()
        before = functions.policy(function)
        kinds = {"mac": str, **{name: type(value) for name, value in asdict(Policy()).items() if name != "mac"}}
        for name, value in settings.items():
            if name not in kinds or not (type(value) is kinds[name] or (name == "mac" and value is None)):
                raise HeadraceError(f"{name} {value}: not of a function's settings", 2)
        try:
            functions.set_policy(function, replace(before, **settings))
        finally:
            self.changed(function)

    def stats(self, function: int | None = None) -> list[dict[str, Any]]:
        """What a function, or all, has sent and received, and what was dropped of that and why."""
        functions = self._functions()
        if function is not None:
            functions.check(function)
        return [_counts(functions, n) for n in (range(functions.count) if function is None else [function])]

    def totals(self) -> Totals:
        """Of all functions, since the card's reset."""
        sent = refused = received = dropped = 0
        if (functions := self.plugs.functions) is not None:
            for function in range(functions.count):
                sending, receiving = (functions.traffic(side, function) for side in Side)
                policies = functions.policy_drops(function)
                sent += sending.packets
                refused += policies.spoofed + policies.tagged
                received += receiving.packets
                dropped += sum(receiving[2:]) + policies.filtered_vlan + policies.filtered_mac
        return Totals(sent, refused, received, dropped)

    def plug(self, function: int, link: str) -> None:
        """Connects a function that is in no use, as ``Plugs.plug``."""
        self._functions().check(function)
        if link.partition(":")[0] not in _KINDS:
            raise HeadraceError(f"{link}: no link: use one of {', '.join(f'{kind}:' for kind in _KINDS)}", 2)
        self.plugs.plug(function, link_of(link))
        self.changed(function)

    def unplug(self, function: int) -> None:
        """Takes a function out of use."""
        self._functions().check(function)
        try:
            self.plugs.unplug(function)
        finally:
            self.changed(function)

    def changed(self, function: int) -> None:
        """What else there is to do when a function has come into use, gone out of it, or may do something else."""

    def port(self, function: int) -> int:
        """As the card numbers it."""
        return self._first + self._step * function

    def _functions(self) -> Functions:
        if self.plugs.functions is None:
            raise HeadraceError("this card has no virtual functions: start it with -P FUNCTIONS=N", 2)
        return self.plugs.functions


def _counts(functions: Functions, function: int) -> dict[str, Any]:
    sent, received = (functions.traffic(side, function) for side in Side)
    return {
        "function": function,
        "sent": sent.packets,
        "sent_bytes": sent.bytes,
        "sent_dropped": sum(sent[2:]),
        "received": received.packets,
        "received_bytes": received.bytes,
        "dropped_full": received.dropped_full,
        "dropped_off": received.dropped_off,
        **functions.policy_drops(function)._asdict(),
    }
