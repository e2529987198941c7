"""What there is at each time step: by movement and physics, or as it was recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from headrace.emulator.radio import LinkState, Pair, Scene
from headrace.emulator.radio.state import Way
from headrace.emulator.scenario import Scenario
from headrace.errors import HeadraceError


class Step(NamedTuple):
    """Time in seconds from the start; metres, one (x, y, z) a node; links by their nodes, and the PHYs of these that
    they join; jammers as plain data."""

    time_s: float
    positions: list[list[float]]
    links: Mapping[Pair, LinkState]
    jammers: Sequence[Mapping[str, Any]] = ()
    phys: Mapping[Pair, tuple[int, int]] = MappingProxyType({})


class Moment(NamedTuple):
    """What a step is made of: ``scene`` is what radios see, None: nothing; ``links``, ``phys``: those that were
    recorded or have been decided elsewhere, None: what the scene allows."""

    time_s: float
    positions: list[list[float]]
    jammers: Sequence[Mapping[str, Any]]
    scene: Scene | None
    links: Mapping[Pair, LinkState] | None = None
    phys: Mapping[Pair, tuple[int, int]] = MappingProxyType({})


class Timeline(Protocol):
    """Gives one moment after the other; None behind the last one."""

    def next(self) -> Moment | None: ...


class Computed:
    """From the movement and the radio of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, self._number = scenario, 0

    def next(self) -> Moment | None:
        """Raises HeadraceError."""
        scenario, time_s = self._scenario, self._number * self._scenario.step_s
        if time_s > scenario.duration_s:
            return None
        self._number += 1
        scene = Scene.of(scenario.movement, time_s)
        jammers = [each.described(time_s) for each in scenario.radio.jammers]
        return Moment(time_s, scene.positions.tolist(), jammers, scene)


class Recorded:
    """From a file that ``Record`` has written. The radio of the scenario sees other links at the positions in it."""

    def __init__(self, path: Path, scenario: Scenario) -> None:
        """Raises HeadraceError where it is no such file, or of other nodes."""
        self._scenario, names = scenario, scenario.nodes
        self._steps, self._number = list[Step](), 0
        number = 1
        try:
            for number, text in enumerate(path.read_text().splitlines(), 1):
                if number == 1:
                    if json.loads(text)["nodes"] != list(names):
                        raise HeadraceError(f"{path}:1: a record of other nodes", 2)
                else:
                    self._steps.append(_step(json.loads(text), len(names)))
        except OSError as error:
            raise HeadraceError(f"{path}: {error.strerror}") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise HeadraceError(f"{path}:{number}: not a record of an emulation", 2) from None
        if not self._steps:
            raise HeadraceError(f"{path}: a record without steps", 2)

    def next(self) -> Moment | None:
        """As it was."""
        if self._number == len(self._steps):
            return None
        step = self._steps[self._number]
        self._number += 1
        scene = Scene.of(self._scenario.movement, step.time_s)
        scene = replace(scene, positions=np.array(step.positions, dtype=float).reshape(-1, 3))
        return Moment(step.time_s, step.positions, step.jammers, scene, step.links, step.phys)


def of(scenario: Scenario, replay: Path | None) -> Timeline:
    """Of a scenario, or of its record. Raises HeadraceError."""
    return Computed(scenario) if replay is None else Recorded(replay, scenario)


class Pushed:
    """Steps that come from elsewhere; none at first."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._steps = [Step(0.0, [[0.0, 0.0, 0.0]] * nodes, {})]

    def push(self, text: str) -> None:
        """What ``line`` has written is the next step."""
        self._steps.append(_step(json.loads(text), self._nodes))

    def next(self) -> Moment | None:
        """The next one that was pushed."""
        if not self._steps:
            return None
        step = self._steps.pop(0)
        return Moment(step.time_s, step.positions, step.jammers, None, step.links, step.phys)


class Record:
    """A file that steps are written into: the names of the nodes in its first line, then a step in each."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        """Raises HeadraceError where it can't be written."""
        self._path = path
        try:
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise HeadraceError(f"{path}: {error.strerror}") from None
        self._write(json.dumps({"nodes": list(names)}))

    def add(self, step: Step) -> None:
        """Writes a step at once. Raises HeadraceError."""
        self._write(line(step))

    def close(self) -> None:
        """Nothing more comes."""
        self._file.close()

    def _write(self, text: str) -> None:
        rest = memoryview(f"{text}\n".encode())
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise HeadraceError(f"{self._path}: {error.strerror}") from None


def line(step: Step) -> str:
    """A step as a line of a record."""
    links = [{"nodes": pair, **_phys(step, pair), **asdict(state)} for pair, state in sorted(step.links.items())]
    return json.dumps(
        {"time_s": step.time_s, "positions": step.positions, "links": links, "jammers": list(step.jammers)}
    )


def _phys(step: Step, pair: Pair) -> dict[str, tuple[int, int]]:
    return {"phys": step.phys[pair]} if pair in step.phys else {}


def _step(table: dict[str, Any], nodes: int) -> Step:
    """Raises ValueError, and what else there is where it isn't one."""
    links, phys = {}, {}
    for link in table["links"]:
        a, b = map(int, link.pop("nodes"))
        if not 0 <= a < b < nodes:
            raise ValueError(f"a link of {a} and {b}")
        back, snr = link.pop("back", None), link.pop("snr_db", None)
        if "phys" in link:
            here, there = map(int, link.pop("phys"))
            phys[a, b] = here, there
        links[a, b] = LinkState(**link, back=back and Way(*back), snr_db=snr and (float(snr[0]), float(snr[1])))
    return Step(float(table["time_s"]), table["positions"], links, table.get("jammers", []), phys)
