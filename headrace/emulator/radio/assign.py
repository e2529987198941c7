"""Which of the possible links nodes take that have only so many PHYs.

Links that there are stay. New ones come in this order: those that join parts of the network that are apart, the best
first; then what the PHYs that are left can have, the best first. Where parts are left that could be joined but for PHYs
that are in use, links are given up that aren't needed to hold a part together, new ones before those that there are, or
turned around (as Posa's rotations of a path, 1976).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

Pair = tuple[int, int]

_MOST_TURNS = 200  # that are looked at from one node


def assign(possible: Sequence[Pair], costs: Sequence[float], free: Sequence[int], old: Collection[Pair]) -> list[Pair]:
    """The pairs that are linked, sorted. ``possible``: pairs (the lower node first), each with its cost; ``free``: how
    many links each node can have; ``old``: the pairs that are linked now."""
    network = _Network(free)
    ranked = [pair for _, pair in sorted(zip(costs, possible, strict=True))]
    for pair in ranked:
        if pair in old and network.room(pair):
            network.link(*pair)
    label = network.parts()
    for pair in ranked:
        if network.room(pair) and label[pair[0]] != label[pair[1]]:
            network.link(*pair)
            label = _merged(label, *pair)
    for _ in range(2):  # also where only what fills makes links that can be given up
        _Repair(network, ranked, old).run()
        _fill(network, ranked)
    return sorted(network.pairs())


def _fill(network: _Network, ranked: Sequence[Pair]) -> None:
    for pair in ranked:
        if pair[1] not in network.links[pair[0]] and network.room(pair):
            network.link(*pair)


def _merged(label: list[int], a: int, b: int) -> list[int]:
    gone, kept = label[b], label[a]
    return [kept if each == gone else each for each in label]


class _Network:
    def __init__(self, free: Sequence[int]) -> None:
        self.free = list(free)
        self.links: list[set[int]] = [set() for _ in free]

    def room(self, pair: Pair) -> bool:
        """Whether both nodes have a PHY left."""
        return self.free[pair[0]] > 0 and self.free[pair[1]] > 0

    def link(self, a: int, b: int) -> None:
        for here, there in ((a, b), (b, a)):
            self.links[here].add(there)
            self.free[here] -= 1

    def unlink(self, a: int, b: int) -> None:
        for here, there in ((a, b), (b, a)):
            self.links[here].remove(there)
            self.free[here] += 1

    def pairs(self) -> Iterable[Pair]:
        return ((a, b) for a, others in enumerate(self.links) for b in others if a < b)

    def parts(self) -> list[int]:
        """For each node the lowest one that it reaches."""
        return labels(self.links)

    def way(self, a: int, b: int) -> list[int]:
        """The nodes of a shortest way; empty: there is none."""
        before, waiting = {a: a}, [a]
        for here in waiting:
            if here == b:
                way = [b]
                while way[-1] != a:
                    way.append(before[way[-1]])
                return way[::-1]
            for there in sorted(self.links[here]):
                if there not in before:
                    before[there] = here
                    waiting.append(there)
        return []

    def spare(self, node: int, worth: Mapping[Pair, int]) -> int | None:
        """The neighbour whose link is worth the least of those that the node's part holds together without."""
        for other in sorted(self.links[node], key=lambda each: worth[min(node, each), max(node, each)]):
            self.unlink(node, other)
            needed = not self.way(node, other)
            self.link(node, other)
            if not needed:
                return other
        return None


def labels(links: Sequence[Collection[int]]) -> list[int]:
    """For each node the lowest one that it reaches over links."""
    found = [-1] * len(links)
    for first in range(len(links)):
        if found[first] < 0:
            found[first], waiting = first, [first]
            for here in waiting:
                for there in links[here]:
                    if found[there] < 0:
                        found[there] = first
                        waiting.append(there)
    return found


class _Repair:
    """Joins parts that are apart although the nodes that could join them have no PHY left."""

    def __init__(self, network: _Network, ranked: Sequence[Pair], old: Collection[Pair]) -> None:
        self._network, self._ranked = network, ranked
        self._worth = {pair: (len(ranked) if pair in old else 0) - at for at, pair in enumerate(ranked)}
        self._near: list[list[int]] = [[] for _ in network.free]
        for a, b in ranked:
            self._near[a].append(b)
            self._near[b].append(a)

    def run(self) -> None:
        while self._exchange() or any(self._rotate(end) for end in self._ends()):
            pass

    def _across(self) -> tuple[list[int], list[Pair]]:
        label = self._network.parts()
        return label, [pair for pair in self._ranked if label[pair[0]] != label[pair[1]]]

    def _exchange(self) -> bool:
        """One link between two parts, for which each end may give up one that its part doesn't need."""
        best: tuple[int, Pair, list[tuple[int, int]]] | None = None
        spares: dict[int, int | None] = {}
        _, across = self._across()
        for pair in across:
            drops = []
            for node in pair:
                if self._network.free[node] <= 0:
                    if node not in spares:
                        spares[node] = self._network.spare(node, self._worth)
                    other = spares[node]
                    if other is None:
                        break
                    drops.append((node, other))
            else:
                if best is None or len(drops) < best[0]:
                    best = len(drops), pair, drops
                if not drops:
                    break
        if best is None:
            return False
        for drop in best[2]:
            self._network.unlink(*drop)
        self._network.link(*best[1])
        return True

    def _ends(self) -> list[int]:
        """Nodes with a PHY left in parts that could be joined with others."""
        label, across = self._across()
        parts = {label[node] for pair in across for node in pair}
        return [
            node
            for node, free in enumerate(self._network.free)
            if free > 0 and self._network.links[node] and label[node] in parts
        ]

    def _rotate(self, end: int) -> bool:
        """Turns links of the end's part around until an end is beside a node of another part with a PHY left."""
        label = self._network.parts()
        return self._turn(end, label, {end})

    def _turn(self, end: int, label: Sequence[int], tried: set[int]) -> bool:
        network = self._network
        for there in self._near[end]:
            if label[there] == label[end] or there in network.links[end]:
                continue
            if network.free[there] > 0:
                network.link(end, there)
                return True
        for there in self._near[end]:
            if label[there] != label[end] or there in network.links[end] or network.free[there] > 0:
                continue
            freed = network.way(end, there)[-2]
            if freed in tried or freed == end or len(tried) > _MOST_TURNS:
                continue
            tried.add(freed)
            network.unlink(there, freed)
            network.link(end, there)
            if self._turn(freed, label, tried):
                return True
            network.unlink(end, there)
            network.link(there, freed)
        return False
