"""Loads of the emulator's study that need no nodes: coverage and resiliency of a scenario over many seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headrace.emulator.coverage import Anchor, Network, Place
from headrace.emulator.linking import Linking
from headrace.emulator.radio import Scene
from headrace.emulator.scenario import Scenario, parse

COORDINATOR: Place = (400.0, 500.0, 0.0)
ENDPOINT: Place = (600.0, 500.0, 0.0)
SEEDS = 20
STEPS, STEP_S = 11, 60.0


def scenario(range_m: float, nodes: int = 32) -> str:
    """The scenario of the study: the thesis has 32 nodes and says neither where they are nor how far they reach."""
    return f"""\
nodes = {nodes}
step_s = {STEP_S}
duration_s = {STEP_S * (STEPS - 1)}
[movement]
kind = "random-waypoint"
area_m = [1000.0, 1000.0]
speed_mps = [5.0, 20.0]
duration_s = {STEP_S * (STEPS - 1)}
[radio]
range_m = {range_m}
"""


@dataclass(frozen=True)
class Coverage:
    """Of ``scenes`` moments: how many of them had all nodes reached (``full``), and how many could have had with any
    number of PHYs (``possible``); the part of the nodes that was reached, in the mean and the least."""

    scenes: int
    full: int
    possible: int
    mean: float
    least: float


@dataclass(frozen=True)
class Resiliency:
    """Parts of the nodes that are reached, in the mean of the seeds: before links are jammed, with those that are left,
    and when others have been found; the least and the greatest then. How many were found in the mean."""

    seeds: int
    jammed: int
    before: float
    left: float
    after: float
    least: float
    most: float
    found: float


def run(kind: str, **arguments: Any) -> Any:
    """A load by its name. Raises HeadraceError."""
    return _LOADS[kind](**arguments)


def _scenarios(text: str, folder: str, seeds: int) -> Iterator[Scenario]:
    for seed in range(seeds):
        yield parse(Path(folder) / "scenario.toml", text, seed=seed)


def coverage(
    text: str,
    phys: int,
    anchors: Sequence[tuple[Place, int]],
    folder: str = ".",
    seeds: int = SEEDS,
    steps: int = STEPS,
) -> Coverage:
    """Of a scenario (its text, whose files are in ``folder``) with so many PHYs a node, at its first time steps, over
    seeds; links that there are stay. ``anchors``: places and PHYs of the coordinator and of endpoints."""
    reached: list[float] = []
    possible = 0
    for each in _scenarios(text, folder, seeds):
        linking = Linking(len(each.nodes), phys)
        for step in range(steps):
            scene = Scene.of(each.movement, step * each.step_s)
            network = Network(each.radio, scene, [Anchor(*anchor) for anchor in anchors])
            found = network.cover(linking)
            reached.append(len(found.reached) / network.nodes)
            without_end = Network(each.radio, scene, [Anchor(place, network.nodes) for place, _ in anchors])
            possible += len(without_end.cover(Linking(network.nodes, network.nodes)).reached) == network.nodes
    return Coverage(len(reached), reached.count(1.0), possible, float(np.mean(reached)), min(reached))


def resiliency(
    text: str,
    phys: int,
    jammed: int,
    anchors: Sequence[tuple[Place, int]],
    folder: str = ".",
    seeds: int = SEEDS,
) -> Resiliency:
    """Of a scenario at its begin, when so many links, drawn by each seed, are jammed. ``anchors`` as ``coverage``."""
    found = []
    for seed, each in enumerate(_scenarios(text, folder, seeds)):
        network = Network(each.radio, Scene.of(each.movement, 0.0), [Anchor(*anchor) for anchor in anchors])
        found.append(network.jam(phys, jammed, np.random.default_rng([seed, jammed])))
    after = [each.after for each in found]
    before, left, mean, again = (
        float(np.mean([getattr(each, name) for each in found])) for name in ("before", "left", "after", "found")
    )
    return Resiliency(seeds, jammed, before, left, mean, min(after), max(after), again)


_LOADS: Mapping[str, Callable[..., Any]] = {"coverage": coverage, "resiliency": resiliency}
