"""Which links there are: it is decided here alone, for plans, sweeps, emulations on one host or several, and replays.

Links that there could be, since movement and radio allow them or a record has them, compete for the PHYs of nodes.
What is jammed or lost doesn't: the next best links take the PHYs that this leaves, in the same step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from headrace.emulator.radio import Radio, Scene
from headrace.emulator.radio.assign import assign
from headrace.emulator.radio.state import LinkState, Pair
from headrace.emulator.scenario import Scenario
from headrace.emulator.timeline import Moment, Step, Timeline
from headrace.emulator.wiring import Wire, index_of
from headrace.errors import HeadraceError


class Linking:
    """The links of nodes with so many PHYs each: ``wires``. ``jams``: pairs and what they lose more, with 1 they have
    no link; ``lost``: PHYs of no use, (node, phy); ``down``: nodes without links."""

    def __init__(self, nodes: int, phys: int) -> None:
        self._nodes, self._phys = nodes, phys
        self.wires: dict[Pair, Wire] = {}
        self.jams: dict[Pair, float] = {}
        self.lost: set[tuple[int, int]] = set()
        self.down: set[int] = set()

    def disturbed(self) -> bool:
        """Whether something keeps links from being made."""
        return bool(self.lost or self.down) or any(loss >= 1 for loss in self.jams.values())

    def decide(
        self, pairs: Sequence[Pair], costs: Sequence[float], old: Collection[Pair] | None = None
    ) -> tuple[list[Wire], list[Wire]]:
        """Links the best of the pairs that there could be (the lower node first), which cost the least; ``old`` stay,
        None: those that there are. Gives the wires that are lost and found."""
        usable = [at for at, pair in enumerate(pairs) if not self._barred(pair)]
        broken = {pair for pair, wire in self.wires.items() if self._broken(wire)}
        free = [self._phys] * self._nodes
        for node, _ in self.lost:
            free[node] -= 1
        kept = set(self.wires if old is None else old) - broken
        return self.make(assign([pairs[at] for at in usable], [costs[at] for at in usable], free, kept))

    def make(
        self, pairs: Iterable[Pair], phys: Mapping[Pair, tuple[int, int]] | None = None
    ) -> tuple[list[Wire], list[Wire]]:
        """Makes the wires those of these pairs; gives the wires that are lost and found. A link stays on its PHYs, a
        new one takes those of ``phys`` if they are free, else the first free ones. Raises HeadraceError where a node
        has more links than PHYs."""
        wanted, told = {pair for pair in pairs if not self._barred(pair)}, phys or {}
        lost = [
            self.wires.pop(pair)
            for pair, wire in sorted(self.wires.items())
            if pair not in wanted or self._broken(wire) or told.get(pair, wire.phys) != wire.phys
        ]
        free = [[phy for phy in range(self._phys) if (node, phy) not in self.lost] for node in range(self._nodes)]
        for wire in self.wires.values():
            for node, phy in wire.joined():
                free[node].remove(phy)
        found = []
        for pair in sorted(wanted - self.wires.keys(), key=lambda pair: (pair not in told, pair)):
            for node in pair:
                if not free[node]:
                    raise HeadraceError(f"node {node + 1} would have more links than its {self._phys} PHYs")
            a, b = (self._take(free[node], told[pair][end] if pair in told else None) for end, node in enumerate(pair))
            self.wires[pair] = Wire(pair, (a, b))
            found.append(self.wires[pair])
        return lost, sorted(found)

    @staticmethod
    def _take(free: list[int], wanted: int | None) -> int:
        phy = wanted if wanted in free else free[0]
        free.remove(phy)
        return phy

    def _barred(self, pair: Pair) -> bool:
        return self.jams.get(pair, 0.0) >= 1 or not self.down.isdisjoint(pair)

    def _broken(self, wire: Wire) -> bool:
        return self._barred(wire.nodes) or not self.lost.isdisjoint(wire.joined())

    def jam(self, names: Sequence[str], targets: Sequence[str], loss: float) -> None:
        """Nodes, links ``A:B``, PHYs ``A:phyN``: from now on links lose so much more, 1: there is none, or the PHY is
        of no use; 0: as before. Nothing is changed where one target is wrong. Raises HeadraceError."""
        pairs: list[Pair] = []
        phys: list[tuple[int, int]] = []
        for target in map(str, targets):
            first, colon, second = target.partition(":")
            a = index_of(names, first)
            if second not in names and second.removeprefix("phy").isdecimal():
                if not second.startswith("phy") or int(second[3:]) >= self._phys or loss not in (0, 1):
                    raise HeadraceError(
                        f"jam {target} {loss}: a PHY from phy0 to phy{self._phys - 1}, lost in whole", 2
                    )
                phys.append((a, int(second[3:])))
                continue
            others = [index_of(names, second)] if colon else [each for each in range(len(names)) if each != a]
            if others == [a]:
                raise HeadraceError(f"jam {target}: expected a link A:B, a node, or its PHY (A:phy0)", 2)
            pairs += [(min(a, b), max(a, b)) for b in others]
        if not 0 <= loss <= 1:
            raise HeadraceError(f"jam {loss}: the loss must be from 0 to 1", 2)
        if loss > 0:
            self.jams |= dict.fromkeys(pairs, float(loss))
            self.lost.update(phys)
        else:
            self.jams = {pair: loss for pair, loss in self.jams.items() if pair not in pairs}
            self.lost.difference_update(phys)

    def told(self, names: Sequence[str]) -> dict[str, list[list[str]]]:
        """What is jammed and lost, as plain data."""
        return {
            "jammed": [[names[node] for node in pair] for pair in sorted(self.jams)],
            "lost_phys": [[names[node], f"phy{phy}"] for node, phy in sorted(self.lost)],
        }


def links(radio: Radio, scene: Scene, phys: int) -> dict[Pair, LinkState]:
    """The links at a moment of nodes with so many PHYs each, which had none before."""
    return _of_physics(radio, scene, Linking(len(scene.positions), phys)).links


class _Found(NamedTuple):
    links: dict[Pair, LinkState]
    possible: frozenset[Pair]
    changed: tuple[list[Wire], list[Wire]]


def _of_physics(
    radio: Radio, scene: Scene, linking: Linking, recorded: Mapping[Pair, LinkState] | None = None
) -> _Found:
    """``recorded``: links that there were, which stay, and are as they were."""
    possible = radio.possible(scene)
    costs = {(a, b): cost for (a, b), cost in zip(possible.pairs.tolist(), possible.costs.tolist(), strict=True)}
    every = dict.fromkeys(recorded or (), float("inf")) | costs
    changed = linking.decide(
        list(every), list(every.values()), None if recorded is None else {*recorded, *linking.wires}
    )
    taken = np.array([pair in linking.wires for pair in costs], dtype=bool)
    states = radio.states(scene, possible.of(taken)) | {
        pair: state for pair, state in (recorded or {}).items() if pair in linking.wires
    }
    return _Found(states, frozenset(every), changed)


class Change(NamedTuple):
    """A step, and the wires that are lost and found with it."""

    step: Step
    lost: list[Wire]
    found: list[Wire]


class Course:
    """The steps of an emulation, as its timeline and what is jammed or lost make them. ``possible``: pairs that could
    be linked at the moment."""

    def __init__(self, scenario: Scenario, timeline: Timeline) -> None:
        self._scenario, self.timeline = scenario, timeline
        self.linking = Linking(len(scenario.nodes), scenario.phys)
        self.possible: Collection[Pair] = frozenset()
        self._moment: Moment | None = None

    def next(self) -> Change | None:
        """The next step; None: there is none. Raises HeadraceError."""
        moment = self.timeline.next()
        if moment is None:
            return None
        self._moment = moment
        return self.again()

    def jam(self, targets: Sequence[str], loss: float) -> Change:
        """As ``Linking.jam``; gives what that makes of the step. Raises HeadraceError."""
        self.linking.jam(self._scenario.nodes, targets, loss)
        return self.again()

    def told(self) -> dict[str, list[list[str]]]:
        """What is jammed and lost, as plain data."""
        return self.linking.told(self._scenario.nodes)

    def again(self) -> Change:
        """The step that there is, after something was jammed, lost or found again. Raises HeadraceError."""
        moment, linking = self._moment, self.linking
        assert moment is not None
        if moment.scene is not None and (moment.links is None or linking.disturbed()):
            states, self.possible, changed = _of_physics(self._scenario.radio, moment.scene, linking, moment.links)
        else:
            states, self.possible = dict(moment.links or {}), frozenset(moment.links or ())
            changed = linking.make(states, moment.phys)
        there = sorted(linking.wires)
        lossy = {pair: states[pair].worse(linking.jams.get(pair, 0.0)) for pair in there}
        phys = {pair: linking.wires[pair].phys for pair in there}
        return Change(Step(moment.time_s, moment.positions, lossy, moment.jammers, phys), *changed)
