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

    def joined(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The nodes, each with its PHY."""
        return (self.nodes[0], self.phys[0]), (self.nodes[1], self.phys[1])

    def ends(self, phys: int) -> tuple[int, int]:
        """The ports of the fabric, from 0, where nodes have so many PHYs."""
        return self.nodes[0] * phys + self.phys[0], self.nodes[1] * phys + self.phys[1]


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
