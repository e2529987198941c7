"""Radios: against closed forms; monotone, the same both ways, the same for the same seed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.emulator.linking import links
from headrace.emulator.movement import read_movement
from headrace.emulator.radio import LinkState, Radio, Scene, modes, read_radio
from headrace.emulator.radio.jammers import Jammer, read_jammer
from headrace.emulator.radio.obstacles import Obstacle, read_obstacle
from headrace.emulator.radio.propagation import Shadowing
from headrace.errors import HeadraceError

NOISE_DBM = -94.0  # -174 dBm/Hz, 20 MHz and 7 dB
WALL = {"box": [[40, -10], [60, 10]]}


def scene(*places: tuple[float, ...], time_s: float = 0.0) -> Scene:
    return Scene(time_s, np.array([(*place, *[0.0] * (3 - len(place))) for place in places], dtype=float))


def state(radio: Radio, distance: float) -> LinkState | None:
    """Of a link between two nodes so far apart."""
    return links(radio, scene((0, 0), (distance, 0)), 1).get((0, 1))


def jammer(**table: Any) -> Jammer:
    return read_jammer({"position": [0, 0], **table}, "j", Path("."), 8)


def wall(**table: Any) -> Obstacle:
    return read_obstacle({**WALL, **table}, "wall")


def snr_db(radio: Radio, distance: float) -> float:
    found = state(radio, distance)
    assert found is not None and found.snr_db is not None
    assert found.snr_db[0] == pytest.approx(found.snr_db[1])
    return found.snr_db[0]


def test_a_range_ends_where_it_says() -> None:
    radio = read_radio({"range_m": 100, "rate_bps": 1e6, "loss": 0.25})
    found = state(radio, 100.0)
    assert found == LinkState(100.0, round(100 / 299_792_458 * 1e9), 1e6, 0.25)
    assert state(radio, 100.001) is None


def test_rate_and_loss_follow_their_curves() -> None:
    radio = read_radio({"range_m": 400, "rate_bps": [[0, 54e6], [100, 6e6]], "loss": [[100, 0.0], [300, 0.5]]})
    for distance, rate, loss in ((50, 54e6, 0), (99.9, 54e6, 0), (100, 6e6, 0), (200, 6e6, 0.25), (400, 6e6, 0.5)):
        found = state(radio, distance)
        assert found is not None and (found.rate_bps, found.loss) == (rate, pytest.approx(loss))


def test_free_space_is_friis() -> None:
    """At 2.4 GHz a kilometre of free space takes 100.05 dB."""
    radio = read_radio({"model": "free-space", "power_dbm": 30, "gain_dbi": 2})
    assert snr_db(radio, 1000) == pytest.approx(30 + 4 - 100.05 - NOISE_DBM, abs=0.05)
    assert snr_db(radio, 100) - snr_db(radio, 1000) == pytest.approx(20)


def test_log_distance_falls_by_its_exponent_behind_its_reference() -> None:
    radio = read_radio({"model": "log-distance", "exponent": 3.5, "reference_m": 10, "power_dbm": 40})
    assert snr_db(radio, 20) - snr_db(radio, 200) == pytest.approx(35)
    assert snr_db(radio, 1) - snr_db(radio, 10) == pytest.approx(20)


def test_two_rays_fall_with_the_fourth_power_behind_the_crossover() -> None:
    radio = read_radio({"model": "two-ray", "antenna_m": 1.5, "power_dbm": 50, "frequency_hz": 1e9})
    crossover = 4 * math.pi * 1.5**2 / 0.299792458  # 94 m
    assert snr_db(radio, crossover / 4) - snr_db(radio, crossover / 2) == pytest.approx(20 * math.log10(2))
    assert snr_db(radio, 2 * crossover) - snr_db(radio, 4 * crossover) == pytest.approx(40 * math.log10(2))
    near, far = snr_db(radio, crossover * 0.999), snr_db(radio, crossover * 1.001)
    assert near == pytest.approx(far, abs=0.1)  # the two laws meet there


def test_modes_lose_as_they_are_known_to() -> None:
    """IEEE 802.11-2020, table 17-18: what receivers need for 1,000 bytes and a loss of a tenth, less the 10 dB of noise
    figure and 5 dB of margin that it grants; and uncoded bits by the textbook."""
    ten_db = np.array([10 ** (level / 10) for level in np.arange(-5, 30, 0.1)])
    for mode in modes.MODES:
        loss = mode.loss(ten_db, 1500)
        assert (np.diff(loss) <= 1e-12).all() and loss[0] > 0.999 and loss[-1] < 1e-6
    assert modes._bit_errors(1, np.array([10.0]))[0] == pytest.approx(3.872e-6, rel=1e-3)  # BPSK at 10 dB
    sensitivities = (-82, -81, -79, -77, -74, -70, -66, -65)  # dBm; the noise of 20 MHz is -101 dBm
    thresholds = [float(np.arange(-5, 30, 0.1)[np.argmax(mode.loss(ten_db, 1000) <= 0.1)]) for mode in modes.MODES]
    assert thresholds == pytest.approx([level + 101 - 15 for level in sensitivities], abs=2)
    slow, fast = modes.MODES[0], modes.MODES[-1]
    assert (slow.loss(ten_db, 1500) <= fast.loss(ten_db, 1500) + 1e-12).all()
    assert (slow.loss(ten_db, 100) <= slow.loss(ten_db, 1500)).all()


def test_rate_falls_and_the_link_ends_as_the_distance_grows() -> None:
    radio = read_radio({"model": "log-distance", "exponent": 3})
    found = [state(radio, distance) for distance in range(1, 500, 2)]
    rates = [each.rate_bps for each in found if each is not None]
    assert rates == sorted(rates, reverse=True) and rates[0] == 54e6 and rates[-1] == 6e6
    assert None in found and all(each is None for each in found[found.index(None) :])
    assert len(set(rates)) >= 6
    some = read_radio({"model": "log-distance", "exponent": 3, "rates_bps": [6e6, 24e6], "bandwidth_hz": 10e6})
    assert {each.rate_bps for distance in range(1, 200, 5) if (each := state(some, distance))} == {3e6, 12e6}


def directions(rng: np.random.Generator, count: int) -> np.ndarray:
    """Of length 1."""
    turned = rng.normal(size=(count, 3))
    return turned / np.linalg.norm(turned, axis=1)[:, None]


def test_shadowing_is_the_same_both_ways_and_by_its_seed() -> None:
    shadowing = Shadowing(8.0, 50.0, 1)
    here, there = np.random.default_rng(2).uniform(0, 1e5, (2, 20_000, 3))
    values = shadowing(here, there)
    assert values.mean() == pytest.approx(0, abs=0.4) and values.std() == pytest.approx(8, rel=0.05)
    assert values == pytest.approx(shadowing(there, here), abs=1e-9)
    assert (values == Shadowing(8.0, 50.0, 1)(here, there)).all()
    assert not (values == Shadowing(8.0, 50.0, 2)(here, there)).any()


@pytest.mark.parametrize("length", [0.0, 1.0, 10.0, 50.0, 100.0, 200.0])
def test_shadowing_deviates_as_asked_at_every_length(length: float) -> None:
    rng = np.random.default_rng(3)
    here = rng.uniform(0, 1e5, (20_000, 3))
    found = Shadowing(6.0, 50.0, 1)(here, here + length * directions(rng, len(here)))
    assert 5.7 <= found.std() <= 6.3
    for deviations, part in ((1, 0.683), (2, 0.954)):
        assert np.mean(np.abs(found) < 6 * deviations) == pytest.approx(part, abs=0.02)


@pytest.mark.parametrize("apart", [5.0, 25.0, 50.0, 100.0, 250.0])
def test_shadowing_where_one_end_moves_is_gudmundsons(apart: float) -> None:
    rng = np.random.default_rng(4)
    here = rng.uniform(0, 1e5, (20_000, 3))
    there = here + rng.uniform(200, 400, (20_000, 1)) * directions(rng, len(here))
    shadowing = Shadowing(6.0, 50.0, 1)
    before, after = shadowing(here, there), shadowing(here, there + apart * directions(rng, len(here)))
    assert np.corrcoef(before, after)[0, 1] == pytest.approx(math.exp(-apart / 50), abs=0.05)


def test_obstacles_take_by_the_metres_in_them() -> None:
    found = wall(height_m=20, loss_db_per_m=0.5, loss_db=3)
    here = np.array([[0, 0, 5], [0, 0, 25], [0, 0, 5], [0, 15, 5], [50, 0, 5], [0, 0, 10.0], [30, 0, 5]])
    there = np.array([[100, 0, 5], [100, 0, 25], [39, 0, 5], [100, 15, 5], [50, 9, 5], [100, 0, 30], [70, 20, 5]])
    inside = [20, 0, 0, 0, 9, 0, math.hypot(10, 5)]
    climbs = math.hypot(100, 20) * 0.1  # of the last but one: it is above the roof from x = 50 on
    inside[5] = climbs
    assert found.inside_m(here, there) == pytest.approx(inside)
    assert found.inside_m(there, here) == pytest.approx(inside)
    assert found.loss(here, there) == pytest.approx([0.5 * each + 3 * (each > 0) for each in inside])


def test_obstacles_can_have_any_shape() -> None:
    horseshoe = [[0, 0], [30, 0], [30, 30], [20, 30], [20, 10], [10, 10], [10, 30], [0, 30]]
    found = read_obstacle({"polygon": horseshoe, "loss_db_per_m": 1}, "u")
    here, there = np.array([[-5, 20, 1], [-5, 5, 1.0]]), np.array([[35, 20, 1], [35, 5, 1.0]])
    assert found.inside_m(here, there) == pytest.approx([20, 30])


def test_an_obstacle_shortens_a_range_and_an_opaque_one_ends_it() -> None:
    open_, weak, opaque = ({"range_m": 300}, wall(loss_db=6), wall(loss_db=math.inf))
    assert state(read_radio(open_), 100) is not None
    assert state(read_radio(open_, [weak]), 150) is not None  # 6 dB: as far as 299 m
    assert state(read_radio(open_, [weak]), 151) is None
    assert state(read_radio(open_, [opaque]), 70) is None
    assert snr_db(read_radio({"model": "free-space"}, [weak]), 100) == pytest.approx(
        snr_db(read_radio({"model": "free-space"}), 100) - 6
    )


def test_a_jammer_raises_the_noise_by_what_arrives_of_it() -> None:
    """10 dBm of a jammer, 200 m from the first node and 100 m from the second."""
    clear = read_radio({"model": "free-space"})
    radio = read_radio({"model": "free-space"}, (), [jammer(position=[-200, 0], power_dbm=10)])
    places = scene((0, 0), (-100, 0))
    signal, jammed = links(clear, places, 1)[0, 1].snr_db, links(radio, places, 1)[0, 1].snr_db
    assert signal is not None and jammed is not None
    for end, distance in ((1, 200), (0, 100)):  # at the second node first
        interference = 10 - (20 * math.log10(distance) + 20 * math.log10(2.4e9) - 147.55)
        together = 10 * math.log10(10 ** (NOISE_DBM / 10) + 10 ** (interference / 10))
        assert jammed[end] == pytest.approx(signal[end] + NOISE_DBM - together, abs=0.05)


def test_a_link_gets_slower_lossier_and_ends_as_a_jammer_gets_stronger() -> None:
    found = []
    for power in np.arange(-30, 40, 0.5):
        radio = read_radio({"model": "free-space"}, (), [jammer(position=[150, 0], power_dbm=float(power))])
        found.append(links(radio, scene((0, 0), (100, 0)), 1).get((0, 1)))
    ways = [each.arriving() for each in found if each is not None]
    for end in (0, 1):
        rates = [way[end].rate_bps for way in ways]
        assert rates == sorted(rates, reverse=True)
    assert {way[1].rate_bps for way in ways} == {mode.rate_bps for mode in modes.MODES}
    assert all(way[1].rate_bps <= way[0].rate_bps for way in ways)  # the second node is nearer to it
    assert max(way[1].loss for way in ways) > 0.1 and found[-1] is None
    assert ways[-1][1].rate_bps < ways[-1][0].rate_bps  # it ends by its weaker direction


def test_jammers_have_times_and_channels() -> None:
    radio = read_radio(
        {"model": "free-space", "channels": 2}, (), [jammer(power_dbm=60, channel=1, on_s=[[10, 20], [30, 40]])]
    )
    for time_s, on in ((0, False), (10, True), (19.9, True), (20, False), (35, True)):
        found = links(radio, scene((0, 0), (10, 0), (0, 10), time_s=time_s), 2)
        assert ((0, 1) in found, (1, 2) in found) == (not on, not on), time_s  # channel 1
        assert (0, 2) in found  # channel 0
    [told] = [each.described(15.0) for each in radio.jammers]
    assert told["on"] and told["position_m"] == [0, 0, 0] and told["channel"] == 1


def test_a_jammer_of_a_range_takes_what_is_received_there() -> None:
    radio = read_radio({"range_m": 100, "loss": 0.1}, (), [jammer(range_m=50, loss=0.5)])
    found = links(radio, scene((0, 0), (60, 0), (110, 0)), 2)
    assert [way.loss for way in found[0, 1].arriving()] == pytest.approx([0.55, 0.1])
    assert found[1, 2].back is None and found[1, 2].loss == pytest.approx(0.1)  # untouched
    whole = read_radio({"range_m": 100}, (), [jammer(range_m=70)])
    assert links(whole, scene((0, 0), (60, 0), (110, 0)), 2).keys() == {(1, 2)}


def test_links_on_a_channel_interfere_and_on_others_not() -> None:
    places = scene((0, 0), (10, 0), (0, 60), (10, 61))
    quiet = links(read_radio({"model": "free-space"}), places, 1)
    assert quiet.keys() == {(0, 1), (2, 3)}
    busy = links(read_radio({"model": "free-space", "activity": 0.5}), places, 1)
    sum_mw = 0.5 * sum(10 ** ((20 - 20 * math.log10(d) - 40.05) / 10) for d in (math.hypot(0, 60), math.hypot(10, 61)))
    assert busy[0, 1].snr_db is not None and quiet[0, 1].snr_db is not None
    together = 10 * math.log10(10 ** (NOISE_DBM / 10) + sum_mw)
    assert busy[0, 1].snr_db[1] == pytest.approx(quiet[0, 1].snr_db[1] + NOISE_DBM - together, abs=0.05)
    apart = links(read_radio({"model": "free-space", "activity": 0.5, "channels": 4}), places, 1)  # 1 and 5 mod 4
    assert apart[0, 1].snr_db == pytest.approx(busy[0, 1].snr_db)
    other = links(read_radio({"model": "free-space", "activity": 0.5, "channels": 3}), places, 1)
    assert other[0, 1].snr_db == pytest.approx(quiet[0, 1].snr_db)


def test_who_is_not_there_or_behind_the_earth_has_no_link() -> None:
    places = np.array([[7e6, 0, 0], [7e6, 1e5, 0], [-7e6, 0, 0]])
    radio = read_radio({"range_m": 1e8})
    assert links(radio, Scene(0.0, places, earth=True), 3).keys() == {(0, 1)}
    assert len(links(radio, Scene(0.0, places), 3)) == 3
    orbits = {"kind": "kepler", "elements": [[7e6, 0, 0, 0, 0, angle] for angle in (0, 180)]}
    assert Scene.of(read_movement(orbits, Path("."), ["a", "b"]), 0.0).earth
    assert links(radio, Scene(0.0, places, np.array([True, False, True])), 3).keys() == {(0, 2)}


def test_visibility_that_is_given_counts_and_not_the_positions() -> None:
    radio = read_radio({"range_m": 50}, [wall(loss_db=math.inf)])
    for places in ([[0, 0, 0], [100, 0, 0], [1000, 0, 0]], [[7e6, 0, 0], [-7e6, 0, 0], [0, 7e6, 0]]):
        seen = Scene(0.0, np.array(places), earth=places[0][0] > 0, visible={(0, 1): 30.0, (1, 2): 70.0})
        assert {pair: each.distance_m for pair, each in links(radio, seen, 3).items()} == {(0, 1): 30.0}


def test_links_do_not_depend_on_how_nodes_are_numbered() -> None:
    rng = np.random.default_rng(4)
    places = rng.uniform(0, 500, (12, 3))
    radio = read_radio({"model": "log-distance", "shadowing_db": 6})
    order = rng.permutation(12)
    first, second = (radio.possible(Scene(0.0, each)) for each in (places, places[order]))
    expected = {frozenset(pair): cost for pair, cost in zip(first.pairs.tolist(), first.costs, strict=True)}
    found = {frozenset(order[pair].tolist()): cost for pair, cost in zip(second.pairs, second.costs, strict=True)}
    assert found == pytest.approx(expected)
    assert len(found) > 10


def test_nodes_can_have_radios_of_their_own() -> None:
    """A mast with 10 dB more power and 6 dBi of antenna, and a deaf node: each direction has its own signal."""
    table = {
        "model": "free-space",
        "nodes": {"mast": {"power_dbm": 30, "gain_dbi": 6}, "deaf": {"noise_figure_db": 17}},
    }
    plain = snr_db(read_radio({"model": "free-space"}), 100)
    radio = read_radio(table, names=["mast", "car", "deaf"])
    found = links(radio, scene((0, 0), (100, 0), (0, 100)), 2)
    to_car, to_mast = found[0, 1].snr_db or (0, 0)
    assert (to_car, to_mast) == (pytest.approx(plain + 16), pytest.approx(plain + 6))
    to_deaf, from_deaf = found[0, 2].snr_db or (0, 0)
    assert (to_deaf, from_deaf) == (pytest.approx(plain + 6), pytest.approx(plain + 6))
    there, back = found[0, 1].arriving()[1], found[0, 1].arriving()[0]
    assert there.rate_bps >= back.rate_bps
    with pytest.raises(HeadraceError, match=r"radio.nodes.ship: no such node"):
        read_radio(table | {"nodes": {"ship": {}}}, names=["mast"])
    with pytest.raises(HeadraceError, match=r"radio.nodes.mast.range_m: no such key"):
        read_radio(table | {"nodes": {"mast": {"range_m": 3}}}, names=["mast"])
