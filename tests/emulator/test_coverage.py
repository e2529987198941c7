"""Coverage and resiliency: small networks whose answer is known, and the sweeps over seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headrace.emulator.coverage import Anchor, Network
from headrace.emulator.linking import Linking
from headrace.emulator.radio import Scene, read_radio
from headrace.evaluate.loads import coverage as loads

RADIO = read_radio({"range_m": 100})


def network(places: list[tuple[float, float]], *anchors: tuple[float, float, int]) -> Network:
    positions = np.array([(*place, 0) for place in places], dtype=float)
    return Network(RADIO, Scene(0.0, positions), [Anchor((x, y, 0), phys) for x, y, phys in anchors])


LINE = [(float(x), 0.0) for x in range(0, 500, 90)]  # six nodes, each beside the next


def test_a_coordinator_reaches_a_line_from_its_end() -> None:
    found = network(LINE, (-50, 0, 1)).cover(Linking(6, 2))
    assert found.reached == set(range(6)) and found.anchored == ((0, 0),)
    assert network(LINE, (-50, 0, 0)).cover(Linking(6, 2)).reached == set()
    assert network(LINE, (-150, 0, 1)).cover(Linking(6, 2)).reached == set()


def test_with_one_phy_nodes_are_pairs() -> None:
    assert len(network(LINE, (180, 0, 1)).cover(Linking(6, 1)).reached) == 2
    assert len(network(LINE, (180, 0, 2)).cover(Linking(6, 1)).reached) == 4
    assert len(network(LINE, (180, 0, 4)).cover(Linking(6, 1)).reached) <= 6


def test_an_endpoint_reaches_for_the_coordinator_that_it_has_a_link_to() -> None:
    apart = [(0.0, 0.0), (40.0, 0.0), (300.0, 0.0), (340.0, 0.0)]
    assert network(apart, (100, 0, 1)).cover(Linking(4, 4)).reached == {0, 1}
    assert network(apart, (100, 0, 1), (190, 0, 1)).cover(Linking(4, 4)).reached == {0, 1}  # too far from 300
    assert network(apart, (120, 0, 1), (215, 0, 1)).cover(Linking(4, 4)).reached == {0, 1, 2, 3}
    assert network(apart, (100, 0, 1), (215, 0, 1)).cover(Linking(4, 4)).reached == {
        0,
        1,
    }  # not linked to it


def test_anchors_are_shared_out_so_that_the_most_is_reached() -> None:
    """The larger part is beside both, the smaller beside the coordinator alone."""
    places = [(0.0, 80.0), (0.0, 85.0), (0.0, 90.0), (-90.0, 0.0)]
    found = network(places, (0, 0, 1), (60, 60, 1)).cover(Linking(4, 4))
    assert found.reached == {0, 1, 2, 3}
    assert {anchor for anchor, node in found.anchored if node == 3} == {0}


def test_without_links_to_spare_a_line_is_cut_where_it_is_jammed() -> None:
    found = network(LINE, (-50, 0, 1)).jam(2, 1, np.random.default_rng(0))
    cuts = {1 - at / 6 for at in range(1, 6)}
    assert found.before == 1 and any(math.isclose(found.left, cut) for cut in cuts)
    assert found.found <= 1 and found.after >= found.left  # its own ends may have PHYs left


def test_a_ring_survives_one_link_and_jamming_all_leaves_one_node() -> None:
    ring = [(60 * math.cos(angle), 60 * math.sin(angle)) for angle in np.linspace(0, 2 * math.pi, 6, endpoint=False)]
    found = network(ring, (0, 0, 1))
    assert found.jam(2, 1, np.random.default_rng(1)).left == 1
    every = found.jam(2, 100, np.random.default_rng(1))
    assert every.jammed == 6 and every.left == pytest.approx(1 / 6) and every.after >= every.left


def test_the_same_seeds_give_the_same(tmp_path: object) -> None:
    arguments = {"text": loads.scenario(300.0, 16), "phys": 3, "anchors": [(loads.COORDINATOR, 1)], "seeds": 2}
    for kind, more in (("coverage", {"steps": 3}), ("resiliency", {"jammed": 6})):
        first, second = (loads.run(kind, **arguments, **more) for _ in range(2))
        assert first == second
    found = loads.run("coverage", **arguments, steps=3)
    assert found.scenes == 6 and found.full <= found.possible and found.least <= found.mean


def test_more_phys_and_fewer_jammed_links_reach_more() -> None:
    text, anchors = loads.scenario(350.0, 24), [(loads.COORDINATOR, 1)]
    reached = [loads.coverage(text, phys, anchors, seeds=3, steps=2).mean for phys in (0, 1, 2, 4)]
    assert reached == sorted(reached) and reached[0] == pytest.approx(1 / 24) and reached[-1] > 0.9
    left = [loads.resiliency(text, 4, jammed, anchors, seeds=3).left for jammed in (0, 10, 25, 48)]
    assert left == sorted(left, reverse=True) and left[-1] < 0.2
