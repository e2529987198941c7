"""What the dashboard knows of an emulation: it asks the controller once a second, and runs a scenario where it is told
to. Pages read it; nothing here knows of them."""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from headrace.emulator import control
from headrace.emulator.client import Emulation, stop
from headrace.emulator.probe import PERIOD_S, Route
from headrace.errors import HeadraceError

HISTORY = 120
"""So many seconds back graphs go."""

_END_S = 5.0  # that the probe has to end those on other hosts
_LONGEST_LINE = 1 << 24


@dataclass(frozen=True)
class Port:
    """A PHY of a node, by their indices. Each is the sending end of one direction of a link."""

    node: int
    phy: int


class Way(NamedTuple):
    """A direction of a link: bits per second at most, the part of the frames that is lost, bits per second now."""

    rate_bps: float
    loss: float
    bps: float = 0.0

    @property
    def load(self) -> float:
        """Relative to the rate: 0 to 1, a little above it for what queues."""
        return self.bps / self.rate_bps if self.rate_bps > 0 else 0.0


@dataclass(frozen=True)
class Link:
    """A link of the moment. ``ends``: the PHYs that it joins; ``ways``: from the first, and from the second."""

    nodes: tuple[str, str]
    ends: tuple[Port, Port]
    distance_m: float
    ways: tuple[Way, Way]

    @property
    def busier(self) -> Way:
        """The direction with the greater load."""
        return max(self.ways, key=lambda way: way.load)


@dataclass
class Series:
    """What graphs show of a PHY, oldest first, one value a second; NaN: none."""

    bps: deque[float] = field(default_factory=lambda: deque([math.nan] * HISTORY, HISTORY))
    latency_s: deque[float] = field(default_factory=lambda: deque([math.nan] * HISTORY, HISTORY))


@dataclass
class Building:
    """A scenario that is being started. ``error``: why it could not be, or how it broke off."""

    part: str = ""
    done: int = 0
    of: int = 0
    busy: bool = False
    error: str = ""


class Monitor:
    """An emulation, by ``name``. ``scenario``: the one that is started here, also over the hosts of a Dask
    ``cluster``; None: one that others run."""

    def __init__(self, name: str, scenario: Path | None = None, cluster: str | None = None) -> None:
        self.name, self.scenario, self._cluster = name, scenario, cluster
        self.building = Building()
        self.tick = 0
        self._forget()
        self._own: Emulation | None = None
        self._ended: asyncio.Task[None] | None = None
        self._probe: asyncio.subprocess.Process | None = None

    def _forget(self) -> None:
        self.state: dict[str, Any] | None = None
        self.links: dict[tuple[str, str], Link] = {}
        self.series: dict[Port, Series] = {}
        self.routes: dict[int, list[Route]] = {}
        self._counted: list[list[dict[str, int]]] = []
        self._counted_s = 0.0
        self._bps: dict[Port, float] = {}
        self._fresh: dict[Port, float] = {}

    @property
    def names(self) -> list[str]:
        """Of the nodes; none without an emulation."""
        return [node["name"] for node in self.state["nodes"]] if self.state else []

    @property
    def knows_traffic(self) -> bool:
        """Whether the controller makes traffic."""
        return self.state is not None and "traffic" in self.state

    # ---------------------------------------------------------------------------------------------------- watching

    async def watch(self) -> None:
        """Asks once a second, until it is cancelled."""
        while True:
            began = time.monotonic()
            try:
                state = await self.ask("telemetry")
            except HeadraceError:
                if self.state is not None and not await asyncio.to_thread(control.is_up, self.name):
                    self._forget()  # otherwise it is only slow
            else:
                if self.state is None:
                    await self._look_inside()
                self._note(state)
            self.tick += 1
            await asyncio.sleep(max(0.05, began + PERIOD_S - time.monotonic()))

    async def refresh(self) -> None:
        """Asks at once what has changed, beside the seconds that graphs show. Raises HeadraceError."""
        self._show(await self.ask("telemetry"))
        self.tick += 1

    def _note(self, state: dict[str, Any]) -> None:
        """A second has passed."""
        now = time.monotonic()
        counted, passed = state["counters"], now - self._counted_s
        for node, phys in enumerate(counted):
            for phy, counters in enumerate(phys):
                port = Port(node, phy)
                if self._counted:
                    sent = counters["sent_bytes"] - self._counted[node][phy]["sent_bytes"]
                    self._bps[port] = max(0, sent) * 8 / passed
                series = self.series.setdefault(port, Series())
                series.bps.append(self._bps.get(port, math.nan))
                series.latency_s.append(self._fresh.pop(port, math.nan))
        self._counted, self._counted_s = counted, now
        self._show(state)

    def _show(self, state: dict[str, Any]) -> None:
        numbers = {node["name"]: index for index, node in enumerate(state["nodes"])}
        self.links = {}
        for link in state["links"]:
            a, b = link["nodes"]
            here, there = (
                Port(numbers[name], int(phy.removeprefix("phy")))
                for name, phy in zip((a, b), link["phys"], strict=True)
            )
            out = Way(link["rate_bps"], link["loss"], self._bps.get(here, 0.0))
            back = Way(link["back"]["rate_bps"], link["back"]["loss"], self._bps.get(there, 0.0))
            self.links[a, b] = Link((a, b), (here, there), link["distance_m"], (out, back))
        self.state = state

    async def _look_inside(self) -> None:
        """Starts the probe, whose lines are read until it ends."""
        if self._probe is not None and self._probe.returncode is None:
            return
        words = [sys.executable, "-P", "-m", "headrace.emulator.probe", self.name]
        self._probe = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            limit=_LONGEST_LINE,
        )
        self._reading = asyncio.create_task(self._read(self._probe))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            said = json.loads(line)
            for node, phy, seconds in said["latency_s"]:
                self._fresh[Port(node, phy)] = seconds
            for node, table in said["routes"].items():
                self.routes[int(node)] = [Route(*route) for route in table]
        await process.wait()

    def far_end(self, port: Port) -> tuple[Link, Port] | None:
        """The link that a PHY has, and the PHY at its other end."""
        for link in self.links.values():
            if port in link.ends:
                here, there = link.ends
                return link, there if port == here else here
        return None

    def latency_s(self, port: Port) -> float:
        """That was measured last from a PHY to the other end of its link; NaN: none in the last seconds."""
        series = self.series.get(port)
        recent = list(series.latency_s)[-3:] if series else []
        return next((value for value in reversed(recent) if not math.isnan(value)), math.nan)

    def route(self, source: int, destination: int) -> tuple[list[int], bool]:
        """The nodes that a packet passes by the routes of the nodes' kernels, and whether it arrives."""
        assert self.state is not None
        numbers = {node["address"]: index for index, node in enumerate(self.state["nodes"])}
        target, path = self.state["nodes"][destination]["address"], [source]
        while path[-1] != destination:
            found = best_route(self.routes.get(path[-1], []), target)
            ahead = None if found is None else numbers.get(found.gateway or target)
            if ahead is None or ahead in path or self._between(path[-1], ahead) is None:
                return path, False
            path.append(ahead)
        return path, True

    def _between(self, a: int, b: int) -> Link | None:
        names = self.names
        return self.links.get((names[min(a, b)], names[max(a, b)]))

    # ------------------------------------------------------------------------------------------------------ acting

    async def ask(self, command: str, **more: Any) -> dict[str, Any]:
        """A request to the controller. Raises HeadraceError."""
        return await asyncio.to_thread(lambda: control.ask(self.name, command=command, **more))

    async def start(self, fabric: str | None = None, hold: bool = False) -> None:
        """Builds and runs the scenario; how it goes is in ``building``."""
        if self.scenario is None or self.building.busy or self._own is not None:
            return
        scenario = self.scenario
        self.building = now = Building("scenario", busy=True)

        def progress(part: str, done: int, of: int) -> None:
            now.part, now.done, now.of = part, done, of

        try:
            self._own = await asyncio.to_thread(
                lambda: Emulation(
                    scenario, name=self.name, fabric=fabric, hold=hold, progress=progress, cluster=self._cluster
                )
            )
        except HeadraceError as error:
            now.error = str(error)
        else:
            self._ended = asyncio.create_task(self._wait(self._own))
        finally:
            now.busy = False

    async def _wait(self, emulation: Emulation) -> None:
        said: str | None = await asyncio.to_thread(emulation.wait)
        self.building.error = said or ""
        self._own = None

    async def stop(self) -> None:
        """Ends the emulation. Raises HeadraceError when none runs."""
        await asyncio.to_thread(stop, self.name)
        if self._ended is not None:
            await self._ended

    async def close(self) -> None:
        """Ends what was started here."""
        if self._own is not None:
            with suppress(HeadraceError):  # it may be ending already
                await self.stop()
            if self._ended is not None:
                await self._ended
        if self._probe is not None and self._probe.returncode is None:
            self._probe.terminate()
            await asyncio.wait((self._reading,), timeout=_END_S)
            with suppress(ProcessLookupError):
                self._probe.kill()
            await self._reading


def best_route(table: list[Route], address: str) -> Route | None:
    """Which of them the kernel takes: the longest prefix, then the lowest metric."""
    wanted = _bits(address)
    fits = [route for route in table if (wanted ^ _bits(route.destination)) >> 32 - route.prefix == 0]
    return min(fits, key=lambda route: (-route.prefix, route.metric), default=None)


def _bits(address: str) -> int:
    return int.from_bytes(bytes(map(int, address.split("."))))


def connections(links: Mapping[tuple[str, str], Link], node: int) -> Iterator[tuple[Port, Link, str]]:
    """The PHYs of a node that have a link, with it and the neighbour's name."""
    found = []
    for link in links.values():
        for end, name in zip(link.ends, link.nodes[::-1], strict=True):
            if end.node == node:
                found.append((end, link, name))
    yield from sorted(found, key=lambda entry: entry[0].phy)
