"""Who drives the functions of a card: the harness, between a link and the queues, or another process (vhost-user)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Protocol, Self

from headrace.card.functions.engine import Functions, Side, Virtqueue
from headrace.card.functions.reports import Reports
from headrace.card.functions.vhost_user import VhostUser
from headrace.errors import HeadraceError

ENTRIES = 256
"""Descriptors of each queue that the harness drives."""

_HEADER = 12
_LINE = 64
_VECTORS = {Side.TRANSMIT: 1, Side.RECEIVE: 0}
_LIVE = ("tap", "iface", "xdp")


class Plug(Protocol):
    """What drives a function. ``live``: packets come as they happen. ``connected``: there is somebody to talk to."""

    @property
    def live(self) -> bool: ...

    @property
    def connected(self) -> bool: ...

    def begin(self, timing: str | float) -> None:
        """Packets may come from now on."""

    def fileno(self) -> int | None:
        """Of what can be read when somebody asks for something; None: nobody does."""

    def poll(self) -> int:
        """Does what is due, and says how much."""

    def failed(self, side: Side, queue: int) -> None:
        """One of its queues has failed."""

    def close(self) -> None:
        """Stops the function's queues, and takes their memory away."""


class LinkPlug:
    """A function whose driver the harness plays: what comes from a link is sent by the function, what the function
    receives goes to it if it is live. ``port`` is the number for ``Card.sink`` and ``Card.port_stats``."""

    def __init__(self, functions: Functions, function: int, link: str, entries: int = ENTRIES) -> None:
        """Raises CardError when the link can't be opened."""
        functions.check(function)
        self._functions, self._queue, self._link = functions, function * functions.pairs, link
        self.live = link.partition(":")[0] in _LIVE
        card, number = functions.card, functions.number(function)
        offload = link.startswith("tap:") and functions.longest_cut > 0
        longest = functions.longest_cut if offload else functions.max_frame
        buffer = -(-(_HEADER + longest) // _LINE) * _LINE
        bells = {side: functions.bell(side, self._queue) for side in Side}
        address = card.memory.reserve(2 * entries * (buffer + _LINE))
        self.port, queues = card.attach_function(number, address, entries, buffer, bells, _VECTORS, offload)
        for side in Side:
            ring, driver, device = queues[side]
            sends = offload and side is Side.TRANSMIT
            what = Virtqueue(ring, driver, device, entries, _VECTORS[side], checksum=sends, segment=sends)
            functions.begin(side, self._queue, what)
        card.write(*bells[Side.RECEIVE])
        if self.live:
            try:
                card.source(self.port, link)
                card.sink(self.port, link)
            except HeadraceError:
                self.close()
                raise

    @property
    def connected(self) -> bool:
        """Whether a live link is up; others always are."""
        return not self.live or self._functions.card.link_up(self.port)

    def begin(self, timing: str | float) -> None:
        """Lets a file's or generator's packets come."""
        if not self.live:
            self._functions.card.source(self.port, self._link, timing=timing)

    def fileno(self) -> None:
        """The harness does it all."""

    def poll(self) -> int:
        """The harness does it all."""
        return 0

    def failed(self, side: Side, queue: int) -> None:
        """Nobody is to be told: ``Plugs.poll`` does."""

    def close(self) -> None:
        """Stops the queues and finishes the link."""
        for side in Side:
            self._functions.stop(side, self._queue)
        self._functions.card.detach_function(self.port)


class Plugs:
    """The functions of a card that are in use, by number; a ``with`` statement takes them out of use at the end. None:
    it has no function engine."""

    def __init__(self, functions: Functions | None, tell: Callable[[str], None]) -> None:
        self.functions, self._tell = functions, tell
        self._plugs: dict[int, Plug] = {}
        self._reports = [Reports(function, tell) for function in range(functions.count if functions else 0)]
        self._links: dict[int, str] = {}
        self._timing: str | float | None = None  # of packets of files and generators, once they may come

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._plugs))

    @property
    def live(self) -> bool:
        """Whether packets come as they happen."""
        return any(plug.live for plug in self._plugs.values())

    def link_up(self, function: int) -> bool:
        """Whether there is somebody behind a function, or what its policy says of that."""
        state = "auto" if self.functions is None else self.functions.policy(function).link_state
        return state == "enable" or (state == "auto" and self._plugs[function].connected)

    def link_name(self, function: int) -> str:
        """What the host calls the TAP device behind a function now; empty where there is none."""
        port = self.port(function)
        return "" if port is None or self.functions is None else self.functions.card.link_name(port)

    def link(self, function: int) -> str | None:
        """What a function is connected with; None: it is in no use."""
        return self._links.get(function)

    def port(self, function: int) -> int | None:
        """For ``Card.sink`` and ``Card.port_stats``; None: another process drives the function."""
        plug = self._plugs[function]
        return plug.port if isinstance(plug, LinkPlug) else None

    def plug(self, function: int, link: str) -> None:
        """Connects a function with ``vhost:SOCKET`` or a link of ``Card.source``. Raises HeadraceError where that can't
        be."""
        if self.functions is None:
            raise HeadraceError("this card has no virtual functions", 2)
        if function in self._plugs:
            raise HeadraceError(f"function {function} is in use", 2)
        kind, _, argument = link.partition(":")
        if kind == "vhost":
            self._plugs[function] = VhostUser(self.functions, function, argument, self._tell)
        else:
            self._plugs[function] = LinkPlug(self.functions, function, link)
        self._links[function] = link
        if self._timing is not None:
            try:
                self._plugs[function].begin(self._timing)
            except HeadraceError:
                self.unplug(function)
                raise

    def unplug(self, function: int) -> None:
        """Takes a function out of use. Raises HeadraceError when it is in none."""
        if function not in self._plugs:
            raise HeadraceError(f"function {function} is not in use", 2)
        del self._links[function]
        self._plugs.pop(function).close()

    def begin(self, timing: str | float) -> None:
        """Lets the packets of files and generators come."""
        self._timing = timing
        for plug in self._plugs.values():
            plug.begin(timing)

    def asking(self) -> list[int]:
        """Descriptors that can be read when other processes ask for something."""
        return [number for plug in self._plugs.values() if (number := plug.fileno()) is not None]

    def poll(self) -> int:
        """Does what other processes ask for, reports queues that failed; says how much there was."""
        done = sum(plug.poll() for plug in self._plugs.values())
        if self.functions is None:
            return done
        for side, queue, fault in self.functions.failures():
            done += 1
            function = queue // self.functions.pairs
            if function in self._plugs:
                self._plugs[function].failed(side, queue)
            self._reports[function].report(f"its {side.name.lower()} queue has failed: {fault.text}")
        return done

    def close(self) -> None:
        """Takes all functions out of use."""
        for function in list(self._plugs):
            self.unplug(function)
