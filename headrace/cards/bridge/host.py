"""A host whose software takes time: models of what a message between card and software costs, and an event loop that
lets the card work on meanwhile."""

from __future__ import annotations

import heapq
import itertools
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from headrace.card.stats import RunResult
from headrace.cards.bridge.chain import ProtocolGraph, Side
from headrace.cards.bridge.driver import EXPRESS, H2S, S2H, BridgeDriver
from headrace.cards.bridge.formats import Packet
from headrace.cards.bridge.moves import Move, MoveReport
from headrace.cards.bridge.receive import Batch, Lane
from headrace.errors import HeadraceError


@dataclass(frozen=True)
class HostProfile:
    """What software costs, in ns: a model. A message between the card and software takes ``h2s_message_ns`` or
    ``s2h_message_ns``, and its handling ``packet_ns`` a packet and ``byte_ns`` a byte of the batch (headers included).
    ``jitter``: each message and each handling takes so much less or more at random, 0.1 for up to 10 %."""

    name: str
    h2s_message_ns: float
    s2h_message_ns: float
    packet_ns: float = 0
    byte_ns: float = 0
    jitter: float = 0

    def handling_ns(self, packets: int, size: int) -> float:
        """Of a batch, beside its message."""
        return packets * self.packet_ns + size * self.byte_ns


_FITTED_BYTES = 1500  # of the packets whose rates are published
_PACKED_BYTES = _FITTED_BYTES + 12  # in a batch
_FULL = 65536 // _PACKED_BYTES  # packets in 64 KB
_TRANSFER_NS = _PACKED_BYTES // 4 * 10  # of a single packet, which nothing overlaps: a word in each cycle of 100 MHz
_SPREAD_NS = 8e9 * _FITTED_BYTES * (_FULL / 150e6 - 1 / 15e6)  # what a full batch takes longer than a single packet
_H2S_BYTE_NS = (_SPREAD_NS + _TRANSFER_NS) / ((_FULL - 1) * _PACKED_BYTES)


def _message_ns(bits_per_s: float) -> float:
    """From the rate of single packets, each with a message."""
    return 8e9 * _FITTED_BYTES / bits_per_s - _TRANSFER_NS - _PACKED_BYTES * _H2S_BYTE_NS


PROFILES = {
    profile.name: profile
    for profile in (
        HostProfile("none", 0, 0),
        HostProfile("pcie", 1_000, 1_000),
        HostProfile("embednet", _message_ns(15e6), _message_ns(9e6), byte_ns=_H2S_BYTE_NS),
    )
}
"""``none``: software takes no time. ``pcie``: a present-day host, 1 us a message. ``embednet``: EmbedNet's soft
processor, fitted to three rates of its thesis (section 5.2, packets of 1,500 bytes): single packets, 15 Mb/s to
software and 9 Mb/s to hardware, give what a message costs; 150 Mb/s to software with 64 KB what a byte costs."""

_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_TIME = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(ns|us|ms|s)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?|\.\d+)%")
_LONGEST_NS = 10e9
_KEYS = {"message": "h2s_message_ns", "s2h-message": "s2h_message_ns", "packet": "packet_ns", "byte": "byte_ns"}


def parse_host(text: str) -> HostProfile:
    """A host by its name in ``PROFILES``, or by what it costs: ``message=0.8ms,byte=40.7ns,jitter=10%``.

    Keys: ``message`` (both ways, unless there is ``s2h-message``), ``packet``, ``byte`` with times of at most 10 s,
    ``jitter`` in per cent. Raises HeadraceError for anything else.
    """
    if text in PROFILES:
        return PROFILES[text]
    wrong = f"--host {text}: "
    if "=" not in text:
        raise HeadraceError(
            f"{wrong}none of {', '.join(PROFILES)}, and no costs such as message=0.8ms,byte=40.7ns,jitter=10%", 2
        )
    found: dict[str, float] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        name = "jitter" if key == "jitter" else _KEYS.get(key)
        if name is None:
            raise HeadraceError(f"{wrong}{key or 'nothing'} is none of {', '.join(_KEYS)}, jitter", 2)
        if name in found:
            raise HeadraceError(f"{wrong}{key} is given twice", 2)
        found[name] = _percent(value, wrong) if name == "jitter" else _time_ns(key, value, wrong)
    message = found.pop("h2s_message_ns", 0.0)
    return HostProfile(text, message, found.pop("s2h_message_ns", message), **found)


def _time_ns(key: str, value: str, wrong: str) -> float:
    match = _TIME.fullmatch(value)
    time_ns = float(match[1]) * _UNITS[match[2]] if match else -1.0
    if not 0 <= time_ns <= _LONGEST_NS:
        raise HeadraceError(f"{wrong}{key}={value} is not a time of at most 10 s such as 800us or 0.8ms", 2)
    return time_ns


def _percent(value: str, wrong: str) -> float:
    match = _PERCENT.fullmatch(value)
    share = float(match[1]) / 100 if match else -1.0
    if not 0 <= share <= 1:
        raise HeadraceError(f"{wrong}jitter={value} is not a share from 0% to 100%", 2)
    return share


_LONGEST_MOVE_S = 5.0  # of card time
_BETWEEN_S = 0.05
_LIVE_S = 0.001  # of wall time: for packets of live links, before time passes without them
_STILL_NS = 100  # of a card that does nothing but come to rest
_STEP_NS = 200  # between the steps of a move
_LANES: dict[int, Lane] = {H2S: "bulk", EXPRESS: "express"}

Deliver = Callable[[list[Packet], int], None]
"""Takes packets, and the time in ns at which software has them."""


class RunningCard(Protocol):
    """What the event loop wants of a card: see ``headrace.card.Card.run``."""

    def run(
        self,
        until: str | None = "idle",
        cycles: int | None = None,
        seconds: float | None = None,
        packets: int | None = None,
        wall_s: float | None = None,
    ) -> RunResult:
        """Lets the card run."""


class _Thread:
    """One thing after the other, each of which takes time."""

    def __init__(self) -> None:
        self.until_ns: int | None = None  # None: the thread waits for something to do
        self._action: Callable[[], None] | None = None

    def start(self, until_ns: int, action: Callable[[], None]) -> None:
        """Does something that is done at ``until_ns``."""
        self.until_ns, self._action = until_ns, action

    def fire(self, now_ns: int) -> bool:
        """Ends what is over, and says whether something was."""
        if self.until_ns is None or now_ns < self.until_ns or self._action is None:
            return False
        action, self.until_ns = self._action, None
        action()
        return True


class Host:
    """Software on a host: a thread for each of H2S, its express lane and S2H, and timers.

    H2S: once the interrupt has come, the message is taken out of the mailbox after ``h2s_message_ns``; the packets are
    handled after their own time, then ``deliver`` gets them (the graph's software, if there is a graph), and the buffer
    goes back. S2H: a batch is handed over after ``s2h_message_ns`` and its packets' time. ``live``: the card has live
    links.
    """

    def __init__(
        self,
        card: RunningCard,
        driver: BridgeDriver,
        profile: HostProfile | None = None,
        deliver: Deliver | None = None,
        graph: ProtocolGraph | None = None,
        live: bool = False,
    ) -> None:
        self.card = card
        self.live = live
        self.driver = driver
        self.profile = profile or PROFILES["none"]
        self.graph = graph
        self.errors: list[str] = []  # of batches
        self.feed: Callable[[], None] | None = None  # is called after every event, to send
        self.batches = 0
        self._deliver = deliver if deliver is not None or graph is None else lambda packets, _: graph.deliver(packets)
        self._threads = {vector: _Thread() for vector in (H2S, EXPRESS, S2H)}
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._tasks: list[Iterator[None]] = []
        self._random = random.Random(1)
        self._now = driver.clock()
        driver.arm()

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        """Calls ``action`` at a time; actions may set the next one."""
        heapq.heappush(self._timers, (time_ns, next(self._order), action))

    def move(self, name: str, side: Side) -> MoveReport:
        """Moves a block, while packets are taken and sent at the host's speed."""
        assert self.graph is not None, "a host without a graph has no blocks"
        task = Move(self.graph, name, side)
        self._tasks.append(task.steps())
        self.run(lambda: task.report is not None, _LONGEST_MOVE_S)
        if task.report is None:
            raise HeadraceError(f"block {name} does not get to {side}: the bridge hangs")
        return task.report

    def finish(self, between: Callable[[], object] | None = None) -> None:
        """Runs until all packets are where they go; sources must be at their end. ``between`` is called meanwhile, at
        least every 50 ms of wall time where it is given."""

        def run() -> None:
            while between is not None and self.run(wall_s=_BETWEEN_S, turns=1) != "idle":
                between()
            if between is None:
                self.run()

        run()
        blocks = 0 if self.graph is None else sum(len(chain.blocks) for chain in self.graph.chains)
        for _ in range(2 + blocks):  # a packet changes sides as often at most
            self.driver.h2s.flush()
            self.driver.s2h.flush()
            run()

    def run(
        self,
        until: Callable[[], bool] = lambda: False,
        seconds: float | None = None,
        wall_s: float | None = None,
        turns: int | None = None,
    ) -> Literal["done", "idle", "time"]:
        """Runs until ``until()`` is true, until so much card time has passed (wall time, with live links), or until
        card and software have nothing left to do. ``until`` is asked after every event, and with ``wall_s`` at least so
        often. ``turns``: comes back after the card has run so many times."""
        self._now = self.driver.clock()
        end = wall_end = None
        if seconds is not None and self.live:
            wall_end = time.monotonic() + seconds
        elif seconds is not None:
            end = self._now + round(seconds * 1e9)
        while True:
            while self._work():
                if until():
                    return "done"
            if until():
                return "done"
            late = wall_end is not None and time.monotonic() >= wall_end
            if turns == 0 or late or (end is not None and self._now >= end):
                return "time"
            turns = None if turns is None else turns - 1
            if not self._pass(self._next(end), wall_s):
                return "idle"

    def _work(self) -> bool:
        """Does what is due now, and says whether there was something."""
        self._now = self.driver.clock()
        worked = self._interrupts()
        for thread in self._threads.values():
            worked |= thread.fire(self._now)
        while self._timers and self._timers[0][0] <= self._now:
            heapq.heappop(self._timers)[2]()
            worked = True
        if self.graph is not None:
            self.graph.work()
        if self.feed is not None:
            self.feed()
        self.driver.s2h.expire()
        worked |= self._send()
        return worked

    def _next(self, end: int | None) -> int | None:
        """When something is due that the card doesn't know of."""
        times = [thread.until_ns for thread in self._threads.values()]
        times += [end, self.driver.s2h.deadline_ns]
        if self._timers:
            times.append(self._timers[0][0])
        if self.graph is not None:
            times.append(self.graph.wake_ns)
        if self._tasks:
            times.append(self._now + _STEP_NS)
        return min((time for time in times if time is not None), default=None)

    def _pass(self, until_ns: int | None, wall_s: float | None) -> bool:
        """Lets the card run until an interrupt or a time; False: there is nothing to wait for."""
        if until_ns is None:
            result = self.card.run(until="interrupt", wall_s=wall_s)
            self._step_tasks()
            return not result.idle
        left = max(1, until_ns - self._now)
        waits = _LIVE_S if self.live else wall_s
        result = self.card.run(until="interrupt", seconds=left / 1e9, wall_s=waits)
        if result.idle or (self.live and result.reason == "wall"):
            left = until_ns - self.driver.clock()
            # What is due is in software. A card that waits for a live link lets no time pass by itself.
            if left > 0 and (result.idle or result.stats.time_ns <= self._now + _STILL_NS):
                self.card.run(until=None, seconds=left / 1e9, wall_s=wall_s)
        self._step_tasks()
        return True

    def _step_tasks(self) -> None:
        self._tasks = [task for task in self._tasks if next(task, task) is not task]

    def _interrupts(self) -> bool:
        raised = self.driver.pending()
        started = False
        for vector, lane in _LANES.items():
            thread = self._threads[vector]
            if vector in raised and thread.until_ns is None:
                self._wait_then_take(vector, lane)
                started = True
        if S2H in raised:
            self.driver.s2h.complete()
            self.driver.arm(S2H)
            started = True
        return started

    def _wait_then_take(self, vector: int, lane: Lane) -> None:
        until_ns = self._now + self._cost(self.profile.h2s_message_ns)
        self._threads[vector].start(until_ns, lambda: self._take(vector, lane))

    def _take(self, vector: int, lane: Lane) -> None:
        batch = self.driver.h2s.take(lane)
        if batch is None:
            self.driver.arm(vector)
            return
        cost = self._cost(self.profile.handling_ns(len(batch.packets), batch.bytes))
        if cost:
            self._threads[vector].start(self.driver.clock() + cost, lambda: self._handle(vector, batch))
        else:
            self._handle(vector, batch)

    def _handle(self, vector: int, batch: Batch) -> None:
        self.batches += bool(batch.packets)
        if batch.error is not None:
            self.errors.append(batch.error)
        if batch.packets and self._deliver is not None:
            self._deliver(batch.packets, self._now)
        self.driver.h2s.release(batch)
        self.driver.arm(vector)

    def _send(self) -> bool:
        thread = self._threads[S2H]
        if thread.until_ns is not None or not self.driver.s2h.can_post:
            return False
        packets, size = self.driver.s2h.next_size
        cost = self._cost(self.profile.s2h_message_ns + self.profile.handling_ns(packets, size))
        thread.start(self._now + cost, self._post)
        return True

    def _cost(self, time_ns: float) -> int:
        """What takes so long on average takes this time."""
        jitter = self.profile.jitter
        return round(time_ns * (1 + jitter * self._random.uniform(-1, 1)) if jitter else time_ns)

    def _post(self) -> None:
        if self.driver.s2h.can_post:  # a move may have done it
            self.driver.s2h.post()


def is_live(link: str) -> bool:
    """Whether packets of a link come as they happen."""
    return link.startswith(("iface:", "xdp:", "tap:"))
