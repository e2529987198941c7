"""Load of the emulator's study: links that a running emulation finds again when PHYs are lost, beside the counted
number (table 3.3 of a thesis, 004)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.emulator.client import Emulation
from headrace.emulator.coverage import Anchor, Network, drawn
from headrace.emulator.radio import Scene
from headrace.emulator.scenario import read
from headrace.emulator.wiring import Wire
from headrace.evaluate.loads import coverage
from headrace.evaluate.loads.emulations import scenario_file


@dataclass(frozen=True)
class Healed:
    """Links jammed at the begin of a seed's scenario, one PHY of each lost; links found again as they are counted
    without nodes, and in the running emulation."""

    range_m: float
    seed: int
    jammed: int
    counted: int
    lived: int


def healing(
    range_m: float, nodes: int, phys: int, jammed: Sequence[int], seeds: Iterable[int], fabric: str = "software"
) -> Iterator[Healed]:
    """The study's scenario, with nodes, once for each seed: links are jammed all at once, and are there again before
    the next ones are. Raises HeadraceError."""
    for seed in seeds:
        text = coverage.scenario(range_m, nodes).replace("step_s", f"phys = {phys}\nstep_s", 1)
        text = text.replace("[movement]", f"[movement]\nseed = {seed}", 1)
        with scenario_file(text) as path, Emulation(path, fabric=fabric, hold=True) as emulation:
            scenario = read(path)
            names = list(scenario.nodes)
            scene = Scene.of(scenario.movement, 0.0)
            network = Network(scenario.radio, scene, [Anchor(coverage.COORDINATOR, 1)])
            for count in jammed:
                before = _wires(emulation, names)
                lost = drawn(before, count, np.random.default_rng([seed, count]))
                targets = [f"{names[node]}:phy{phy}" for node, phy in lost]
                emulation.jam(targets)
                found = _wires(emulation, names) - before
                counted = network.jam(phys, count, np.random.default_rng([seed, count])).found
                yield Healed(range_m, seed, len(lost), counted, len(found))
                emulation.jam(names)  # nothing stays of what was found
                emulation.jam([*names, *targets], 0)


def _wires(emulation: Emulation, names: Sequence[str]) -> set[Wire]:
    found = set()
    for link in emulation.status()["links"]:
        (a, b), (here, there) = map(names.index, link["nodes"]), (int(phy[3:]) for phy in link["phys"])
        found.add(Wire((a, b), (here, there)))
    return found
