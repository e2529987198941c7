"""Which PHYs a link joins, and who reaches whom over links."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headrace.emulator.radio.state import LinkState, Pair
from headrace.errors import HeadraceError


class Wire(NamedTuple):
    """The PHYs of a pair of nodes that a link joins: of the first, and of the second."""

    nodes: Pair
    phys: tuple[int, int]

    def ends(self, phys: int) -> tuple[int, int]:
        """The ports of the fabric, from 0, where nodes have so many PHYs."""
        return self.nodes[0] * phys + self.phys[0], self.nodes[1] * phys + self.phys[1]


class Wiring:
    """The wires that there are. A link stays on its PHYs; a new one takes the first free ones."""

    def __init__(self, nodes: int, phys: int) -> None:
        self._phys = phys
        self._free = [list(range(phys)) for _ in range(nodes)]
        self.wires: dict[Pair, Wire] = {}

    def change(self, pairs: Iterable[Pair]) -> tuple[list[Wire], list[Wire]]:
        """Makes the wires those of these pairs; gives the wires that are lost and found. Raises HeadraceError where a
        node has more links than PHYs."""
        wanted = set(pairs)
        lost = [self.wires.pop(pair) for pair in sorted(self.wires.keys() - wanted)]
        for wire in lost:
            for node, phy in zip(wire.nodes, wire.phys, strict=True):
                self._free[node].append(phy)
                self._free[node].sort()
        found = []
        for pair in sorted(wanted - self.wires.keys()):
            for node in pair:
                if not self._free[node]:
                    raise HeadraceError(f"node {node + 1} would have more links than its {self._phys} PHYs")
            wire = Wire(pair, (self._free[pair[0]].pop(0), self._free[pair[1]].pop(0)))
            self.wires[pair] = wire
            found.append(wire)
        return lost, found


def next_hops(nodes: int, pairs: Iterable[Pair]) -> list[dict[int, int]]:
    """For each node, by destination, the neighbour on a way with the fewest hops (the lowest index of those)."""
    beside: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in sorted(pairs):
        beside[a].append(b)
        beside[b].append(a)
    found: list[dict[int, int]] = [{} for _ in range(nodes)]
    for destination in range(nodes):
        known, waiting = {destination}, deque([destination])
        while waiting:
            here = waiting.popleft()
            for node in sorted(beside[here]):
                if node not in known:
                    known.add(node)
                    found[node][destination] = here
                    waiting.append(node)
    return found


def reachable(nodes: int, pairs: Iterable[Pair]) -> float:
    """Which part of the ordered pairs of different nodes have a way over links."""
    if nodes < 2:
        return 1.0
    return sum(map(len, next_hops(nodes, pairs))) / (nodes * (nodes - 1))


def described(wire: Wire, state: LinkState, names: Mapping[int, str] | tuple[str, ...]) -> dict[str, object]:
    """A link as it is told to people and programs."""
    return {
        "nodes": [names[node] for node in wire.nodes],
        "phys": [f"phy{phy}" for phy in wire.phys],
        "distance_m": round(state.distance_m, 3),
        "delay_ns": state.delay_ns,
        "rate_bps": state.rate_bps,
        "loss": state.loss,
        "back": state.arriving()[0]._asdict(),
        "snr_db": state.snr_db,
    }


def index_of(names: Sequence[str], name: str) -> int:
    """Of a node, by its name. Raises HeadraceError."""
    if name not in names:
        few = names if len(names) <= 8 else [*names[:4], "...", names[-1]]
        raise HeadraceError(f"no node {name}: there are {', '.join(few)}", 2)
    return list(names).index(name)


def jammed_pairs(names: Sequence[str], target: str, loss: float) -> list[Pair]:
    """The pairs of nodes that ``A:B`` names, or a node: all that it is in. Raises HeadraceError."""
    first, colon, second = target.partition(":")
    a = index_of(names, first)
    others = [index_of(names, second)] if colon else [each for each in range(len(names)) if each != a]
    if others == [a] or not 0 <= loss <= 1:
        raise HeadraceError(f"jam {target} {loss}: A:B or a node, and a loss from 0 to 1", 2)
    return [(min(a, b), max(a, b)) for b in others]
