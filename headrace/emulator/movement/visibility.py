"""Visibility files: at each time step each node's position, and whom it sees at what distance.

The form is that of an emulator of mobile networks in a thesis (004: chapter 2.4, figure 2.6): it is used as it is, so
obstacles and the earth have no say in it. Names of keys count without case and punctuation.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headrace.emulator.movement.base import Floats, Frame, Movement
from headrace.emulator.movement.choose import chosen
from headrace.emulator.movement.notes import Notes, wrong
from headrace.emulator.movement.samples import parsed
from headrace.emulator.tables import Values

_STEPS = ("steps", "timesteps", "visibility")
_TIME = ("time", "times", "t", "timestep")
_NODES = ("nodes", "positions")
_POSITION = ("position", "pos", "xyz")
_GRAPH = ("visibilitygraph", "visible", "graph", "visiblenodes")
_SIGHT = ("los", "lineofsight", "visible")
_DISTANCE = ("distance", "distancem", "range")


class Visibility(Movement):
    """Steps, each until the next one: positions (nodes, 3) and distances by pair."""

    def __init__(
        self, names: Sequence[str], times: Floats, positions: Floats, seen: Sequence[Mapping[tuple[int, int], float]],
        duration_s: float,
    ) -> None:  # fmt: skip
        super().__init__(names, duration_s, Frame())
        self._times, self._positions, self._seen = times, positions, seen

    def _step(self, time_s: float) -> int:
        return max(int(np.searchsorted(self._times, time_s, side="right")) - 1, 0)

    def at(self, time_s: float) -> Floats:
        """Those of the step."""
        found: Floats = self._positions[self._step(time_s)]
        return found

    def visible(self, time_s: float) -> Mapping[tuple[int, int], float]:
        """As the file says."""
        return self._seen[self._step(time_s)]


def read_visibility(values: Values, names: Sequence[str], notes: Notes) -> Movement:
    """From a file. ``step_s`` of the table, or else of the file, where steps have no times. Raises HeadraceError with
    the file and the step."""
    values.only("kind", "nodes", "file", "step_s", "frame")
    path = notes.path
    whole = parsed(path)
    steps = list(_steps(path, whole))
    if not steps:
        raise wrong(path, 1, "no time steps")
    step_s = values.number("step_s", above=0) if "step_s" in values.table else _own(whole, ("stepseconds",))
    if step_s is not None and (not isinstance(step_s, int | float) or step_s <= 0):
        raise wrong(path, 1, f"step_seconds {step_s!r} is not a number above 0")
    times, positions, seen = [], [], []
    order: list[str] = []
    for number, (where, time_s, nodes) in enumerate(steps):
        if time_s is None and step_s is None and len(steps) > 1:
            raise wrong(path, where, "no time, and no step_s in the scenario's movement")
        times.append(number * (step_s or 0.0) if time_s is None else time_s)
        found = {str(node.name): node for node in nodes}
        if not order:
            order = chosen(notes, list(found), names)
        for name in order:
            if name not in found:
                raise wrong(path, where, f"no node {name}")
        for what in ("name", "id"):
            called = Counter(getattr(node, what) for node in nodes)
            if twice := [each for each, count in called.items() if count > 1]:
                raise wrong(path, where, f"two nodes have the {what} {twice[0]}")
        ids = {node.id for node in nodes}
        for node in nodes:
            if unknown := [other for other, _, _ in node.graph if other not in ids]:
                notes.left_out(where, f"node {node.name} sees {unknown[0]}, which is no node")
        by_id = {found[name].id: number for number, name in enumerate(order)}
        positions.append([found[name].position for name in order])
        seen.append(_seen(path, where, [found[name] for name in order], by_id))
    if any(later <= earlier for earlier, later in itertools.pairwise(times)):
        raise wrong(path, 1, "times of steps don't ascend")
    last = times[-1] - times[0]
    gap = step_s or (times[-1] - times[-2] if len(times) > 1 else math.inf)
    start = np.array(times) - times[0]
    return Visibility(names, start, np.array(positions, dtype=np.float64), seen, last + gap)


class _Node:
    def __init__(self, id: str, name: str, position: list[float], graph: list[tuple[str, bool, float]]) -> None:
        self.id, self.name, self.position, self.graph = id, name, position, graph


def _steps(path: Path, whole: Any) -> Iterator[tuple[str, float | None, list[_Node]]]:
    """Where each step is in the file, its time, its nodes."""
    listed = whole if isinstance(whole, list) else _own(whole, _STEPS)
    if listed is None and isinstance(whole, dict):
        listed = whole  # by time
    entries = listed.items() if isinstance(listed, dict) else enumerate(listed if isinstance(listed, list) else [])
    for key, step in entries:
        where = f" step {key}:"
        if isinstance(step, dict):
            time_s, nodes = _own(step, _TIME), _own(step, _NODES)
            nodes = [each for each in step.values() if isinstance(each, dict)] if nodes is None else nodes  # by name
        else:
            time_s, nodes = None, step
        if time_s is None and isinstance(key, str):
            time_s = key
        try:
            time_s = None if time_s is None else float(time_s)
        except (TypeError, ValueError):
            raise wrong(path, where, f"time {time_s!r} is not a number of seconds") from None
        nodes = list(nodes.values()) if isinstance(nodes, dict) else nodes
        if not isinstance(nodes, list) or not nodes:
            raise wrong(path, where, "no list of nodes")
        yield where, time_s, [_node(path, f"{where.rstrip(':')}, node {at}:", node) for at, node in enumerate(nodes)]


def _node(path: Path, where: str, node: Any) -> _Node:
    if not isinstance(node, dict):
        raise wrong(path, where, "not an object")
    id = _own(node, ("id", "nodeid", "identifier"))
    name = _own(node, ("name", "nodename"))
    if id is None and name is None:
        raise wrong(path, where, "neither id nor name")
    graph = _own(node, _GRAPH)
    if graph is None:
        raise wrong(path, where, "no visibility graph")
    if isinstance(graph, dict):  # by the other's id or name
        graph = [{"id": key, **each} if isinstance(each, dict) else each for key, each in graph.items()]
    position = _xyz(_own(node, _POSITION), node)
    if position is None:
        raise wrong(path, where, "no position of three numbers")
    id, name = str(name if id is None else id), str(id if name is None else name)
    return _Node(id, name, position, [_sight(path, where, each) for each in graph])


def _sight(path: Path, where: str, entry: Any) -> tuple[str, bool, float]:
    """Who is seen, whether there is a line of sight, and how far away."""
    if not isinstance(entry, dict):
        raise wrong(path, where, "a visible node that is not an object")
    other = _own(entry, ("id", "nodeid", "identifier", "node", "name", "nodename"))
    sight, distance = _own(entry, _SIGHT), _own(entry, _DISTANCE)
    if isinstance(distance, dict | list):
        parts = _xyz(distance, {})
        distance = None if parts is None else math.hypot(*parts)
    if other is None or not isinstance(sight, bool) or isinstance(distance, bool):
        raise wrong(path, where, "a visible node without id, line of sight (true or false) or distance")
    if not isinstance(distance, int | float) or not math.isfinite(distance) or distance < 0:
        raise wrong(path, where, f"visible node {other}: distance {distance!r}")
    return str(other), sight, float(distance)


def _seen(path: Path, where: str, nodes: list[_Node], by_id: Mapping[str, int]) -> dict[tuple[int, int], float]:
    """Pairs with a line of sight from either, and their distance: the mean where both say one."""
    told: dict[tuple[int, int], list[float]] = {}
    for here, node in enumerate(nodes):
        for other, sight, distance in node.graph:
            there = by_id.get(other)
            if there is None or not sight:
                continue  # a node that isn't in the scenario
            if there == here:
                raise wrong(path, where, f"node {node.name} sees itself")
            told.setdefault((min(here, there), max(here, there)), []).append(distance)
    return {pair: sum(each) / len(each) for pair, each in told.items()}


def _own(table: Any, keys: Sequence[str]) -> Any:
    """The value of a key, whatever its case and punctuation."""
    if not isinstance(table, dict):
        return None
    bare = {re.sub(r"[^a-z0-9]", "", str(key).lower()): value for key, value in table.items()}
    return next((bare[key] for key in keys if key in bare), None)


def _xyz(value: Any, beside: Mapping[str, Any]) -> list[float] | None:
    if value is None and _own(beside, ("x",)) is not None:
        value = beside
    if isinstance(value, dict):
        value = [_own(value, (axis, f"{axis}m")) for axis in "xyz"]
        value[2] = 0.0 if value[2] is None else value[2]
    if not isinstance(value, list) or len(value) not in (2, 3):
        return None
    if not all(isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each) for each in value):
        return None
    return [float(each) for each in value] + [0.0] * (3 - len(value))
