"""Movement by models and orbits: against closed forms, and the same for the same seed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.emulator.movement import Movement, earth, read_movement
from headrace.errors import HeadraceError

HERE = Path(".")
TLE = """\
VANGUARD
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667
"""


def moves(count: int, **table: Any) -> Movement:
    return read_movement(table, HERE, [f"n{number}" for number in range(1, count + 1)])


def test_random_waypoint_stays_in_its_area_at_its_speeds() -> None:
    found = moves(5, kind="random-waypoint", area_m=[300, 200, 50], speed_mps=[2, 4], duration_s=500, seed=3)
    places = np.array([found.at(float(time_s)) for time_s in range(500)])
    assert (places >= 0).all() and (places <= [300, 200, 50]).all()
    steps = np.linalg.norm(np.diff(places, axis=0), axis=2)
    assert steps.max() <= 4 + 1e-9
    assert np.median(steps) > 2 - 1e-9  # slower only where it turns within the second
    assert np.ptp(places[:, :, 2]) > 10


def test_random_waypoint_pauses() -> None:
    found = moves(1, kind="random-waypoint", area_m=[10, 10], speed_mps=[5, 5], pause_s=[30, 30], duration_s=1000)
    steps = np.linalg.norm(np.diff([found.at(float(time_s))[0] for time_s in range(1000)], axis=0), axis=1)
    assert 0.8 < (steps == 0).mean() < 1


def test_gauss_markov_without_noise_goes_straight_at_its_mean_speed() -> None:
    found = moves(
        1, kind="gauss-markov", area_m=[1e6, 1e6], mean_speed_mps=7, sigma_speed_mps=0, sigma_direction_deg=0, seed=5,
        duration_s=100,
    )  # fmt: skip
    places = np.array([found.at(time_s)[0] for time_s in (0.0, 10.0, 77.5)])
    first, second = places[1] - places[0], places[2] - places[1]
    assert np.linalg.norm(first) == pytest.approx(70) and np.linalg.norm(second) == pytest.approx(7 * 67.5)
    assert np.dot(first, second) == pytest.approx(70 * 7 * 67.5)


def test_gauss_markov_has_the_variance_and_memory_that_it_is_given() -> None:
    found = moves(
        8, kind="gauss-markov", area_m=[1e7, 1e7], mean_speed_mps=100, sigma_speed_mps=5, sigma_direction_deg=0,
        memory=0.9, duration_s=5000,
    )  # fmt: skip
    places = np.array([found.at(float(time_s)) for time_s in range(5001)])
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=2)[100:] - 100
    assert speeds.std() == pytest.approx(5, rel=0.15)
    assert (speeds[1:] * speeds[:-1]).mean() / speeds.var() == pytest.approx(0.9, abs=0.02)


def test_gauss_markov_turns_at_the_edges() -> None:
    found = moves(20, kind="gauss-markov", area_m=[200, 100], mean_speed_mps=10, duration_s=600)
    places = np.array([found.at(float(time_s)) for time_s in range(600)])
    assert (places[..., :2] >= 0).all() and (places[..., :2] <= [200, 100]).all()
    assert places.std(axis=0)[:, 0].min() > 10


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "random-waypoint", "area_m": [100, 100], "speed_mps": [1, 2]},
        {"kind": "gauss-markov", "area_m": [100, 100], "mean_speed_mps": 2},
    ],
    ids=lambda table: str(table["kind"]),
)
def test_the_same_seed_moves_the_same_whatever_the_number_of_nodes(table: dict[str, Any]) -> None:
    first, more, other = moves(3, **table, seed=1), moves(7, **table, seed=1), moves(3, **table, seed=2)
    for time_s in (0.0, 12.3, 100.0):
        assert (first.at(time_s) == more.at(time_s)[:3]).all()
        assert not (first.at(time_s) == other.at(time_s))[:, :2].any()


def test_a_geostationary_satellite_stays_over_its_place() -> None:
    axis = (earth.MU_M3_S2 / earth.ROTATION_RAD_S**2) ** (1 / 3)
    found = moves(1, kind="kepler", elements=[[axis, 0, 0, 0, 0, 30]])
    for time_s in (0.0, 1e4, 2e5):
        expected = axis * np.array([math.cos(math.pi / 6), math.sin(math.pi / 6), 0])
        assert found.at(time_s)[0] == pytest.approx(expected, abs=1e-3)


def test_an_ellipse_obeys_kepler() -> None:
    found = moves(1, kind="kepler", elements=[[2.66e7, 0.74, 63.4, 40, 270, 0]])
    period_s = 2 * math.pi * math.sqrt(2.66e7**3 / earth.MU_M3_S2)
    inertial = [found.inertial(time_s)[0] for time_s in (0.0, period_s / 2, period_s)]  # type: ignore[attr-defined]
    assert np.linalg.norm(inertial[0]) == pytest.approx(2.66e7 * (1 - 0.74))  # perigee
    assert np.linalg.norm(inertial[1]) == pytest.approx(2.66e7 * (1 + 0.74))  # apogee
    assert inertial[2] == pytest.approx(inertial[0], abs=1e-3)
    assert inertial[0][2] == pytest.approx(-2.66e7 * 0.26 * math.sin(math.radians(63.4)))  # the southernmost
    around = [found.inertial(time_s)[0] for time_s in np.linspace(0, period_s, 2000)]  # type: ignore[attr-defined]
    swept = np.linalg.norm(np.cross(around[:-1], around[1:]), axis=1)
    assert swept.max() / swept.min() < 1.05  # equal areas in equal times


def test_a_walker_constellation_is_spread_evenly() -> None:
    found = moves(6, kind="walker", altitude_m=1e6, inclination_deg=50, planes=3, phasing=1)
    places = found.at(0.0)
    assert np.linalg.norm(places, axis=1) == pytest.approx([earth.SEMI_MAJOR_M + 1e6] * 6)
    for plane in range(3):
        assert places[2 * plane] == pytest.approx(-places[2 * plane + 1], abs=1e-3)  # half a turn apart
    assert places[0, 2] == pytest.approx(0) and places[2, 2] == pytest.approx(
        (earth.SEMI_MAJOR_M + 1e6) * math.sin(math.radians(50)) * math.sin(math.radians(60))
    )


def test_two_line_elements_give_what_sgp4_is_published_to_give(tmp_path: Path) -> None:
    """Vallado et al., Revisiting Spacetrack Report 3 (2006): satellite 5 at 0 and 360 minutes, km in TEME."""
    (tmp_path / "sats.tle").write_text(TLE)
    found = read_movement({"kind": "tle", "file": "sats.tle"}, tmp_path, ["VANGUARD"])
    for minutes, x, y, z in (
        (0, 7022.46529266, -1400.08296755, 0.03995155),
        (360, -7154.03120202, -3783.17682504, -3536.19412294),
    ):
        place = found.at(minutes * 60.0)[0] / 1e3
        assert place[2] == pytest.approx(z, abs=1e-6)
        assert math.hypot(place[0], place[1]) == pytest.approx(math.hypot(x, y), abs=1e-6)
        days = 2451722.5 + 0.78495062 - 0.5 + 0.5 - 2451545.0 + minutes / 1440  # since 2000-01-01 12:00; IAU 1982:
        sidereal = math.radians(280.46061837 + 360.98564736629 * days)
        east = math.atan2(y, x) - sidereal
        assert math.remainder(math.atan2(place[1], place[0]) - east, 2 * math.pi) == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("10.82419157413667", "10.82419157413668", 3, "checksum"),
        ("2 00005", "3 00005", 2, "without a line 2"),
    ],
)
def test_wrong_two_line_elements_are_told_with_their_line(
    old: str, new: str, line: int, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "sats.tle"
    path.write_text(TLE.replace(old, new))
    with pytest.raises(HeadraceError, match=said) as raised:
        read_movement({"kind": "tle", "file": "sats.tle"}, tmp_path, ["VANGUARD"])
    assert str(raised.value).startswith(f"{path}:{line}:")


def test_geographic_places_are_metres_from_the_origin() -> None:
    found = moves(3, kind="static", geographic=[[48, 11, 500], [48.001, 11, 500], [48, 11.001, 600]])
    assert found.frame.origin_deg == (48, 11, 500)
    meridian, normal = 6_378_137 * (1 - 0.00669437999) / (1 - 0.00669437999 * 0.5523) ** 1.5, 6_389_918.0
    north, east = (
        math.radians(0.001) * (meridian + 500),
        math.radians(0.001) * (normal + 500) * math.cos(math.radians(48)),
    )
    assert found.at(0)[0] == pytest.approx([0, 0, 0], abs=1e-6)
    assert found.at(0)[1] == pytest.approx([0, north, 0], abs=0.05)
    assert found.at(0)[2] == pytest.approx([east, 0, 100], abs=0.05)


def test_the_earth_hides_what_is_behind_it() -> None:
    pole, low = np.array([0, 0, 6_356_752.3]), np.array([7e6, 0, 0])
    for there, hidden in ((-low, True), ([7e6, 0, 8e6], False), ([0, 7e6, 0], True), ([0.0, 2e7, 0], False)):
        assert bool(earth.occluded(low[None], np.array(there, dtype=float)[None])[0]) is hidden, there
    over = np.array([[1e5, 0, 7e6]])
    assert not earth.occluded(pole[None], over)[0] and not earth.occluded(over, pole[None])[0]
    horizon = 2 * math.acos(6_378_127 / 7e6)  # so far apart around the equator two satellites just see each other
    for angle, hidden in ((horizon - 0.001, False), (horizon + 0.001, True)):
        there = 7e6 * np.array([[math.cos(angle), math.sin(angle), 0]])
        assert bool(earth.occluded(low[None], there)[0]) is hidden
