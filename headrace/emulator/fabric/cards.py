"""The fabric that is switch cards, each in a process of its own: one, or several that cables join."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from headrace.card.control import ask
from headrace.emulator.fabric import Arriving, Changes, drop_the_rest, port_name, redirect
from headrace.emulator.fabric.cabling import FROM_CABLE_TABLE, Cabling, Place
from headrace.emulator.fabric.held import queue_bytes
from headrace.emulator.fabric.switches import SwitchFabric
from headrace.emulator.kernel import batch, begin_child
from headrace.emulator.scenario import MAX_CARDS
from headrace.engines.netem import LEAST_BPS, MOST_DELAY_NS, Loss, Netem, netem_text
from headrace.errors import HeadraceError

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


def cabling_for(ports: int, cards: int | None) -> Cabling:
    """Of the fabric's ports on some cards; None: on as few as have room. Raises HeadraceError."""
    for number in range(1, MAX_CARDS + 1) if cards is None else [cards]:
        found = Cabling(ports, number)
        if number > ports:
            raise HeadraceError(f"fabric_cards: {number} cards are more than there are PHYs", 2)
        if found.cables + found.most <= _MOST_PORTS:
            return found
    what = "switch cards" if cards is None else f"{cards} switch card{'s' * (cards > 1)}"
    raise HeadraceError(f"{ports} PHYs are too many for {what} of {_MOST_PORTS} ports, cables included", 2)


def _parameters(cabling: Cabling, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of each card: the first PORTS are Ethernet ports, the others virtual functions. Raises HeadraceError."""
    least = {"PORTS": cabling.cables, "TABLES": 1 + FROM_CABLE_TABLE} if cabling.cables else {"PORTS": 1}
    parameters = {**_CARD, **least, **given}
    for name, number in least.items():
        if not isinstance(parameters[name], int) or parameters[name] < number:
            raise HeadraceError(f"fabric_parameters.{name}: {parameters[name]!r} is not a number from {number} on", 2)
    ethernet = parameters["PORTS"]
    needed = max(0, cabling.cables + cabling.most - ethernet)
    functions = parameters.setdefault("FUNCTIONS", needed)
    if not isinstance(functions, int) or functions < needed:
        raise HeadraceError(f"fabric_parameters: {cabling.most} PHYs a card are more than PORTS + FUNCTIONS", 2)
    lanes = ethernet + functions
    if parameters.setdefault("LINKS", int(lanes <= _MOST_LINKS)) and lanes > _MOST_LINKS:
        what = f"the switch card has links behind {_MOST_LINKS} ports at most, not behind {lanes}"
        raise HeadraceError(f"fabric_parameters.LINKS: {what}", 2)
    return parameters


def check_card(ports: int, cards: int | None, given: Mapping[str, Any]) -> None:
    """Raises HeadraceError where no switch card is that of a fabric."""
    from headrace.build.description import load_card

    parameters = _parameters(cabling_for(ports, cards), given)
    try:
        load_card("switch").resolve(parameters)
    except HeadraceError as error:
        raise HeadraceError(f"fabric_parameters: {error}", error.exit_code) from None


def build_card_for(ports: int, cards: int | None, given: Mapping[str, Any]) -> None:
    """Builds the switch card of a fabric, if it isn't there. Raises HeadraceError."""
    from headrace.build.models import build_card

    build_card("switch", _parameters(cabling_for(ports, cards), given), progress=sys.stderr.isatty())


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


class _Card:
    """One, whose ports ``named`` are TAP devices of these names."""

    def __init__(self, number: int, parameters: Mapping[str, Any], named: Mapping[int, str]) -> None:
        self._parameters, self._named = parameters, named
        self._room = Path(os.environ["XDG_RUNTIME_DIR"]) / f"switch{number}"

    @property
    def openflow(self) -> Path:
        """Where it listens."""
        return self._room.with_suffix(".openflow")

    def start(self) -> int:
        """Its process."""
        pid = os.fork()
        if pid == 0:
            self._run()
        return pid

    def wait(self, pid: int) -> None:
        """Until it listens. Raises HeadraceError."""
        deadline = time.monotonic() + _START_S
        while not self.openflow.exists():
            if os.waitpid(pid, os.WNOHANG)[0]:
                raise HeadraceError(self.why())
            if time.monotonic() > deadline:
                raise HeadraceError("the switch card does not start")
            time.sleep(0.01)

    def set_links(self, links: Mapping[int, Netem]) -> None:
        """Behind some ports, in one request. Raises HeadraceError."""
        from headrace.cards.switch.service import CONTROL

        words = {str(port): netem_text(link) for port, link in links.items()}
        try:
            ask(CONTROL, str(self._control), {"command": "link-set", "links": words})
        except HeadraceError as error:
            if error.exit_code == 2:  # it has been refused
                raise
            raise HeadraceError("the switch card does not answer") from None

    def why(self) -> str:
        """The last line that it said."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return f"the switch card has ended{f': {lines[-1]}' if lines else ''}"

    @property
    def _control(self) -> Path:
        return self._room.with_suffix(".control")

    @property
    def _log(self) -> Path:
        return self._room.with_suffix(".log")

    def _run(self) -> None:
        """The process, which does not return."""
        code = 1
        try:
            begin_child()
            with self._log.open("w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            from headrace.cards.switch.run import SwitchJob, run

            ethernet = int(self._parameters["PORTS"])
            job = SwitchJob(
                sources={port: f"tap:{name}" for port, name in self._named.items() if port <= ethernet},
                functions={port - ethernet - 1: f"tap:{name}" for port, name in self._named.items() if port > ethernet},
                listens=[f"punix:{self.openflow}"],
                control=str(self._control),
                parameters=self._parameters,
            )
            run(job, tell=lambda line: print(line, flush=True))
            code = 0
        except HeadraceError as error:
            print(error, file=sys.stderr, flush=True)
        finally:
            os._exit(code)


class CardFabric(SwitchFabric):
    """Ports of the cards are TAP devices, each joined to an interface of a PHY, or to that at the other end of a cable.
    With LINKS the links behind them have the delay, the rate and the loss."""

    def __init__(self, ports: int, parameters: Mapping[str, Any], cards: int | None = None) -> None:
        """``cards``: see ``cabling_for``. Raises HeadraceError."""
        super().__init__(cabling_for(ports, cards))
        made = _parameters(self.cabling, parameters)
        self._has_links = bool(made["LINKS"])
        self._too_long = False  # delays
        named: list[dict[int, str]] = [{} for _ in range(self.cabling.switches)]
        for place in (*map(self.cabling.place, range(ports)), *(end for cable in self.cabling.ends() for end in cable)):
            named[place.switch][place.port] = _tap(place)
        self._cards = [_Card(number, made, names) for number, names in enumerate(named)]

    def __enter__(self) -> Self:
        self._pids = [card.start() for card in self._cards]
        for card, pid in zip(self._cards, self._pids, strict=True):
            card.wait(pid)
        phys = range(self.cabling.ports)
        joined = [(_tap(self.cabling.place(port)), port_name(port)) for port in phys]
        cables = [(_tap(here), _tap(there)) for here, there in self.cabling.ends()]
        taps = [inside for inside, _ in joined] + [end for cable in cables for end in cable]
        batch("ip", [f"link set {name} up" for name in taps])
        lines = [line for name in taps for line in drop_the_rest(name)]
        batch("tc", lines + [redirect(*way) for ends in joined + cables for way in (ends, ends[::-1])])
        self._control([card.openflow for card in self._cards])
        return self

    def hold(self, changes: Changes, gone: Sequence[int]) -> None:
        """All of those of a card in one request. Raises HeadraceError."""
        if not self._has_links:
            super().hold(changes, gone)
            return
        self._too_long |= any(after.delay_ns > MOST_DELAY_NS for _, after in changes.values())
        wanted: dict[int, dict[int, Netem]] = {}
        for port, (_, after) in changes.items():
            place = self.cabling.place(port)
            wanted.setdefault(place.switch, {})[place.port] = netem(after)
        for number, links in wanted.items():
            self._cards[number].set_links(links)

    def not_applied(self) -> list[str]:
        """With LINKS, delays beyond the card's."""
        if not self._has_links:
            return super().not_applied()
        longest_s = MOST_DELAY_NS / 1e9
        return [f"delays above {longest_s:.2f} s were {longest_s:.2f} s, the longest of the card"] * self._too_long

    def _why(self, switch: int) -> str:
        return self._cards[switch].why()


def _tap(place: Place) -> str:
    """A card's interface."""
    return f"t{place.switch}.{place.port}"
