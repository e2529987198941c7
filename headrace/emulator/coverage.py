"""Coverage: which nodes a master coordinator reaches, by itself and over routing endpoints; and resiliency: what is
left when links are jammed.

As an emulator of mobile networks in a thesis (004: chapters 2.3, 3.2 and 3.3) has them: a coordinator and its
endpoints join nodes by PHYs of their own kind, of which each node has one; an endpoint counts where the coordinator has
a link to it, by a PHY that both have for that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headrace.emulator.linking import Linking
from headrace.emulator.radio import Pair, Radio, Scene
from headrace.emulator.radio.assign import labels
from headrace.emulator.wiring import Wire

Place = tuple[float, float, float]


@dataclass(frozen=True)
class Anchor:
    """A coordinator or an endpoint: its place in metres, and its PHYs for links to nodes."""

    place: Place
    phys: int


@dataclass(frozen=True)
class Covered:
    """``links`` between nodes; ``anchored``: pairs of an anchor (by its number, 0: the coordinator) and the node that
    it is linked to; ``reached``: the nodes that the coordinator reaches."""

    links: tuple[Pair, ...]
    anchored: tuple[Pair, ...]
    reached: frozenset[int]


@dataclass(frozen=True)
class Resilience:
    """Parts of the nodes that are reached: before links are jammed, with those that are left, and when others have been
    found; how many were jammed and found."""

    before: float
    left: float
    after: float
    jammed: int
    found: int


class Network:
    """Nodes and anchors at a moment, and the links that there could be; the first anchor is the coordinator."""

    def __init__(self, radio: Radio, scene: Scene, anchors: Sequence[Anchor]) -> None:
        self.nodes, self._anchors = len(scene.positions), anchors
        whole = np.concatenate([scene.positions, np.array([anchor.place for anchor in anchors]).reshape(-1, 3)])
        possible = radio.possible(replace(scene, positions=whole))
        self._pairs: list[Pair] = []
        self._costs: list[float] = []
        self._beside: dict[int, set[int]] = {number: set() for number in range(len(anchors))}
        joined = {0}
        for (a, b), cost in zip(possible.pairs.tolist(), possible.costs.tolist(), strict=True):
            if b < self.nodes:
                self._pairs.append((a, b))
                self._costs.append(cost)
            elif a < self.nodes:
                self._beside[b - self.nodes].add(a)
            elif a == self.nodes:
                joined.add(b - self.nodes)
        self._joined = sorted(joined & self._beside.keys())

    def cover(self, linking: Linking) -> Covered:
        """With the PHYs that nodes have; links that there are stay."""
        linking.decide(self._pairs, self._costs)
        return self.covered(sorted(linking.wires))

    def covered(self, links: Sequence[Pair]) -> Covered:
        """With these links between nodes: anchors take links to as many of the largest parts as they have PHYs for."""
        beside: list[list[int]] = [[] for _ in range(self.nodes)]
        for a, b in links:
            beside[a].append(b)
            beside[b].append(a)
        parts: dict[int, list[int]] = {}
        for node, label in enumerate(labels(beside)):
            parts.setdefault(label, []).append(node)
        owners: dict[int, list[int]] = {number: [] for number in self._joined}
        for label in sorted(parts, key=lambda each: (-len(parts[each]), each)):
            self._own(label, parts, owners, set())
        anchored = [
            (number, min(self._beside[number] & set(parts[label])))
            for number, labelled in owners.items()
            for label in labelled
        ]
        reached = frozenset(node for labelled in owners.values() for label in labelled for node in parts[label])
        return Covered(tuple(links), tuple(sorted(anchored)), reached)

    def _own(self, label: int, parts: dict[int, list[int]], owners: dict[int, list[int]], tried: set[int]) -> bool:
        """Finds an anchor for a part, by moving others between anchors if need be (Kuhn, 1955)."""
        for number in self._joined:
            if number in tried or not self._beside[number].intersection(parts[label]):
                continue
            tried.add(number)
            if len(owners[number]) < self._anchors[number].phys:
                owners[number].append(label)
                return True
            for other in list(owners[number]):
                if self._own(other, parts, owners, tried):
                    owners[number].remove(other)
                    owners[number].append(label)
                    return True
        return False

    def jam(self, phys: int, count: int, rng: np.random.Generator) -> Resilience:
        """Jams so many of the links between nodes, as ``drawn``, which have ``phys`` PHYs each."""
        linking = Linking(self.nodes, phys)
        before = self.cover(linking)
        jammed = drawn(list(linking.wires.values()), count, rng)
        linking.lost.update(jammed)
        wires = linking.wires.items()
        left = self.covered(sorted(pair for pair, wire in wires if linking.lost.isdisjoint(wire.joined())))
        _, found = linking.decide(self._pairs, self._costs)
        after = self.covered(sorted(linking.wires))
        parts = [len(each.reached) / self.nodes for each in (before, left, after)]
        return Resilience(parts[0], parts[1], parts[2], len(jammed), len(found))


def drawn(wires: Collection[Wire], count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Of so many links, or all, one PHY each, at either end (the node and its PHY): what is of no use when they are
    jammed; the other ends' PHYs are free for other links."""
    every = sorted(wires)
    chosen = sorted(every[at] for at in rng.permutation(len(every))[:count])
    return [wire.joined()[int(rng.integers(2))] for wire in chosen]
