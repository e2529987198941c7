"""Which links nodes take: as many as they have PHYs, and so that as much as can be hangs together."""

from __future__ import annotations

import itertools
from collections.abc import Collection

import numpy as np
import pytest

from headrace.emulator.radio.assign import Pair, assign, labels


def parts(nodes: int, pairs: Collection[Pair]) -> int:
    links: list[list[int]] = [[] for _ in range(nodes)]
    for a, b in pairs:
        links[a].append(b)
        links[b].append(a)
    return len(set(labels(links)))


def most(nodes: int, pairs: Collection[Pair]) -> int:
    return max(sum(node in pair for pair in pairs) for node in range(nodes))


def every(nodes: int) -> list[Pair]:
    return list(itertools.combinations(range(nodes), 2))


def test_the_better_links_are_taken_and_no_more_than_phys() -> None:
    assert assign([(0, 1), (0, 2), (1, 2)], [3, 1, 2], [1, 1, 1], ()) == [(0, 2)]
    assert assign([(0, 1), (0, 2), (1, 2)], [3, 1, 2], [2, 2, 2], ()) == every(3)
    assert assign([(0, 1)], [1], [0, 1], ()) == []


def test_links_that_there_are_stay_while_they_can() -> None:
    assert assign([(0, 1), (0, 2)], [9, 1], [1, 1, 1], {(0, 1)}) == [(0, 1)]
    assert assign([(0, 2)], [1], [1, 1, 1], {(0, 1)}) == [(0, 2)]


@pytest.mark.parametrize("repairs", [True, False])
def test_parts_are_joined_before_short_links_are_made(repairs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two clusters of four near nodes each, and one long link between them; that they hang together is no repair."""
    if not repairs:
        monkeypatch.setattr("headrace.emulator.radio.assign._Repair.run", lambda _: None)
    near = [(a + at, b + at) for at in (0, 4) for a, b in every(4)]
    found = assign([*near, (3, 7)], [1] * 12 + [100], [3] * 8, ())
    assert (3, 7) in found and parts(8, found) == 1 and most(8, found) <= 3


def test_a_link_that_is_not_needed_makes_room_for_one_that_joins() -> None:
    triangles = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]
    found = assign([*triangles, (2, 3)], [1] * 7, [2] * 6, set(triangles))
    assert (2, 3) in found and parts(6, found) == 1
    assert len(set(triangles) - set(found)) == 2  # no more than it takes


def test_paths_are_turned_around_to_join() -> None:
    """0-1-2 has its ends at 0 and 2, but only 1 is beside 3; with 0-2 the path can end at 1."""
    found = assign([(0, 1), (1, 2), (0, 2), (1, 3)], [1, 1, 1, 1], [2, 2, 2, 1], {(0, 1), (1, 2)})
    assert parts(4, found) == 1 and (1, 3) in found


@pytest.mark.parametrize("phys", [1, 2, 3, 4])
def test_random_networks_hang_together_and_keep_their_links(phys: int) -> None:
    """Beside what a search without wits finds: 32 nodes, each beside some ten others."""
    rng = np.random.default_rng(phys)
    whole = 0
    old: list[Pair] = []
    for _ in range(20):
        places = rng.uniform(0, 1, (32, 2))
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        possible = [pair for pair in every(32) if apart[pair] < 0.35]
        costs = [float(apart[pair]) for pair in possible]
        found = assign(possible, costs, [phys] * 32, old)
        assert set(found) <= set(possible) and most(32, found) <= phys
        assert found == assign(possible, costs, [phys] * 32, old)
        greedy = assign_greedily(possible, costs, phys)
        assert phys == 1 or parts(32, found) <= parts(32, greedy)
        whole += parts(32, found) == parts(32, possible)
        assert assign(possible, costs, [phys] * 32, found) == found  # it stays as it is
        full = {node for node in range(32) if sum(node in pair for pair in found) == phys}
        assert all(full & set(pair) for pair in set(possible) - set(found))  # no PHY is left that could have a link
        old = found
    assert whole >= {1: 0, 2: 15, 3: 19, 4: 20}[phys]


def assign_greedily(possible: Collection[Pair], costs: Collection[float], phys: int) -> list[Pair]:
    free, found = [phys] * 32, []
    for _, (a, b) in sorted(zip(costs, possible, strict=True)):
        if free[a] and free[b]:
            free[a] -= 1
            free[b] -= 1
            found.append((a, b))
    return found
