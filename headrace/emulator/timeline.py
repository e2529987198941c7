"""The links at each time step: from movement and physics, or as they were recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from headrace.emulator.radio import LinkState, Pair, Scene
from headrace.emulator.radio.state import Way
from headrace.emulator.scenario import Scenario
from headrace.errors import HeadraceError


class Step(NamedTuple):
    """Time in seconds from the start; metres, one (x, y, z) a node; links by their nodes; jammers as plain data."""

    time_s: float
    positions: list[list[float]]
    links: Mapping[Pair, LinkState]
    jammers: Sequence[Mapping[str, Any]] = ()


class Timeline(Protocol):
    """Gives one step after the other; None behind the last one. ``old``: the links that there are."""

    def next(self, old: frozenset[Pair]) -> Step | None: ...


class Computed:
    """From the movement and the radio of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, self._number = scenario, 0

    def next(self, old: frozenset[Pair]) -> Step | None:
        """Raises HeadraceError."""
        scenario, time_s = self._scenario, self._number * self._scenario.step_s
        if time_s > scenario.duration_s:
            return None
        self._number += 1
        scene, radio = Scene.of(scenario.movement, time_s), scenario.radio
        links = radio.links(scene, scenario.phys, old)
        return Step(time_s, scene.positions.tolist(), links, [each.described(time_s) for each in radio.jammers])


class Recorded:
    """From a file that ``Record`` has written."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        """Raises HeadraceError where it is no such file, or of other nodes."""
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

    def next(self, old: frozenset[Pair]) -> Step | None:  # noqa: ARG002
        """As it was."""
        self._number += 1
        return self._steps[self._number - 1] if self._number <= len(self._steps) else None


class Pushed:
    """Steps that come from elsewhere; none at first."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._steps = [Step(0.0, [[0.0, 0.0, 0.0]] * nodes, {})]

    def push(self, text: str) -> None:
        """What ``line`` has written is the next step."""
        self._steps.append(_step(json.loads(text), self._nodes))

    def next(self, old: frozenset[Pair]) -> Step | None:  # noqa: ARG002
        """The next one that was pushed."""
        return self._steps.pop(0) if self._steps else None


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
    links = [{"nodes": pair, **asdict(state)} for pair, state in sorted(step.links.items())]
    return json.dumps(
        {"time_s": step.time_s, "positions": step.positions, "links": links, "jammers": list(step.jammers)}
    )


def _step(table: dict[str, Any], nodes: int) -> Step:
    """Raises ValueError, and what else there is where it isn't one."""
    links = {}
    for link in table["links"]:
        a, b = map(int, link.pop("nodes"))
        if not 0 <= a < b < nodes:
            raise ValueError(f"a link of {a} and {b}")
        back, snr = link.pop("back", None), link.pop("snr_db", None)
        links[a, b] = LinkState(**link, back=back and Way(*back), snr_db=snr and (float(snr[0]), float(snr[1])))
    return Step(float(table["time_s"]), table["positions"], links, table.get("jammers", []))
