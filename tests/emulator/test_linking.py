"""Which links there are when some are jammed: as they are counted, as nodes live them, and in a record that is played
again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator_bench import link, record, scenario

from headrace.emulator import timeline
from headrace.emulator.client import Emulation
from headrace.emulator.coverage import Anchor, Network
from headrace.emulator.linking import Course, Linking
from headrace.emulator.radio import Scene
from headrace.emulator.scenario import Scenario, parse
from headrace.errors import HeadraceError
from headrace.evaluate.loads import coverage as loads
from headrace.evaluate.loads.emulator_healing import healing

SQUARE = [(0, 0), (100, 0), (100, 100), (0, 100)]  # of which with a PHY a node one pair of sides is taken
NAMES = ["a", "b", "c", "d"]


def square(folder: Path, more: str = "phys = 1") -> Scenario:
    return parse(folder / "square.toml", scenario(folder, SQUARE, more, "range_m = 150").read_text())


def test_a_jammed_link_makes_room_for_the_next_best_one(tmp_path: Path) -> None:
    course = Course(square(tmp_path), timeline.Computed(square(tmp_path)))
    first = course.next()
    assert first is not None
    taken = sorted(first.step.links)
    course.linking.jam(["n1", "n2", "n3", "n4"], [f"n{a + 1}:n{b + 1}" for a, b in taken], 1.0)
    change = course.again()
    assert len(change.lost) == len(change.found) == 2 and not set(change.step.links) & set(taken)
    course.linking.jam(["n1", "n2", "n3", "n4"], ["n1", "n2", "n3", "n4"], 0.0)
    assert course.again().step.links == change.step.links  # what is there stays
    course.linking.jam(["n1", "n2", "n3", "n4"], ["n1"], 0.5)
    assert all(state.loss == (0.5 if 0 in pair else 0.0) for pair, state in course.again().step.links.items())


def test_what_is_jammed_or_lost_makes_room_in_the_same_step() -> None:
    """Of four nodes of a PHY each, one pair and the other: who has lost its partner takes the next best one."""
    every = [(0, 1), (2, 3), (0, 2), (1, 3)]
    for what in ("jam", "phy", "host"):
        linking = Linking(4, 1)
        linking.decide(every, [1, 2, 3, 4])
        assert sorted(linking.wires) == [(0, 1), (2, 3)]
        if what == "jam":
            linking.jam(NAMES, ["a:b", "c:d"], 1.0)
        elif what == "phy":
            linking.jam(NAMES, ["a:phy0", "c:phy0"], 1.0)
        else:
            linking.down.update((0, 2))
        linking.decide(every, [1, 2, 3, 4])
        assert sorted(linking.wires) == ([(0, 2), (1, 3)] if what == "jam" else [(1, 3)])


def test_a_lost_phy_is_not_used_until_it_is_there_again() -> None:
    linking = Linking(3, 2)
    every = [(0, 1), (0, 2), (1, 2)]
    linking.decide(every, [1, 2, 3])
    assert sorted(linking.wires) == every
    wire = linking.wires[0, 1]
    linking.jam(NAMES[:3], [f"a:phy{wire.phys[0]}"], 1.0)
    lost, found = linking.decide(every, [1, 2, 3])
    assert lost == [wire] and not found
    linking.jam(NAMES[:3], ["a:b"], 0.0)  # something else
    assert linking.decide(every, [1, 2, 3]) == ([], [])
    linking.jam(NAMES[:3], [f"a:phy{wire.phys[0]}"], 0.0)
    assert linking.decide(every, [1, 2, 3]) == ([], [wire])


def test_a_pair_with_another_phy_left_is_linked_again() -> None:
    linking = Linking(2, 2)
    linking.decide([(0, 1)], [1])
    linking.jam(NAMES[:2], ["a:phy0"], 1.0)
    [lost], [found] = linking.decide([(0, 1)], [1])
    assert lost.phys == (0, 0) and found.phys[0] == 1


@pytest.mark.parametrize(
    "targets",
    [["x"], ["a:x"], ["a:a"], ["a:phy2"], ["a:2"], ["a:"], ["a:phy"], [""], [":"], ["b", "a:phy-1"], [7], ["a:phy²"]],
)
def test_wrong_targets_change_nothing(targets: list[str]) -> None:
    linking = Linking(4, 2)
    with pytest.raises(HeadraceError) as error:
        linking.jam(NAMES, targets, 1.0)
    assert error.value.exit_code == 2 and not linking.jams and not linking.lost
    for loss in (-0.1, 1.5, float("nan")):
        with pytest.raises(HeadraceError):
            linking.jam(NAMES, ["a"], loss)
    with pytest.raises(HeadraceError, match="lost in whole"):
        linking.jam(NAMES, ["a:phy1"], 0.5)


def test_a_node_whose_name_is_a_phy_s_is_the_node() -> None:
    linking = Linking(2, 2)
    linking.jam(["a", "phy1"], ["a:phy1"], 1.0)
    assert linking.jams == {(0, 1): 1.0} and not linking.lost


def test_a_range_jammer_makes_room_for_links_out_of_its_reach(tmp_path: Path) -> None:
    """The nearest pair is jammed both ways: its ends' PHYs are for others."""
    text = scenario(tmp_path, [(0, 0), (10, 0), (0, 90), (10, 95)], "phys = 1", "range_m = 150").read_text()
    text += "[jammers.j]\nposition = [5, 0]\nrange_m = 20\n"
    each = parse(tmp_path / "jammer.toml", text)
    change = Course(each, timeline.Computed(each)).next()
    assert change is not None and len(change.step.links) == 1 and list(change.step.links) == [(2, 3)]


def test_a_jammer_that_begins_makes_the_next_best_links_in_the_same_step(tmp_path: Path) -> None:
    """All are on its channel, of four, but those between the first and the last node, and the two others."""
    text = scenario(tmp_path, SQUARE, "phys = 1", "range_m = 150\nchannels = 4").read_text()
    text += "[jammers.j]\nposition = [50, 50]\nrange_m = 500\nchannel = 1\non_s = [[1, 9]]\n"
    each = parse(tmp_path / "jammer.toml", text)
    course = Course(each, timeline.Computed(each))
    first, second = course.next(), course.next()
    assert first is not None and sorted(first.step.links) == [(0, 1), (2, 3)]
    assert second is not None and sorted(second.step.links) == [(0, 3), (1, 2)]
    assert len(second.lost) == len(second.found) == 2


def test_a_record_heals_from_what_its_radio_allows(tmp_path: Path) -> None:
    """The diagonals of the square are in the record, whose sides are shorter."""
    each = square(tmp_path)
    file = record(tmp_path, 4, [[link(0, 2), link(1, 3)]] * 2)
    file.write_text(file.read_text().replace(str([[0.0] * 3] * 4), str([[*place, 0.0] for place in SQUARE])))
    replay = Course(each, timeline.Recorded(file, each))
    first = replay.next()
    assert first is not None and sorted(first.step.links) == [(0, 2), (1, 3)]
    replay.linking.jam(each.nodes, ["n1:n3", "n2:n4"], 1.0)
    healed = replay.again()
    assert len(healed.found) == len(healed.lost) == 2 and sorted(healed.step.links) in (
        [(0, 1), (2, 3)],
        [(0, 3), (1, 2)],
    )
    replay.linking.jam(each.nodes, ["n1:n3", "n2:n4"], 0.0)
    again = replay.next()
    assert again is not None and sorted(again.step.links) == [(0, 2), (1, 3)]


def test_links_found_are_those_that_the_assignment_finds() -> None:
    """The counted number, from the places of a scenario, without and with anchors beside."""
    for seed in range(3):
        each = parse(
            Path("scenario.toml"), loads.scenario(300.0, 24).replace("step_s", "phys = 4\nstep_s", 1), seed=seed
        )
        scene = Scene.of(each.movement, 0.0)
        found = [
            Network(each.radio, scene, anchors).jam(4, 12, np.random.default_rng([seed, 12])).found
            for anchors in ([Anchor(loads.COORDINATOR, 1)], [Anchor(loads.COORDINATOR, 1), Anchor(loads.ENDPOINT, 2)])
        ]
        assert found[0] == found[1]


@pytest.mark.live
def test_a_running_emulation_heals_as_it_is_counted() -> None:
    for lived in healing(450.0, 12, 3, [2, 5, 9], seeds=range(2)):
        assert lived.counted == lived.lived, lived


@pytest.mark.live
def test_what_is_lost_is_told_and_lets_traffic_through(tmp_path: Path) -> None:
    ring = scenario(tmp_path, SQUARE, 'phys = 2\nrouting = "shortest"', "range_m = 120")
    with Emulation(ring, hold=True) as emulation:
        [link] = [each for each in emulation.status()["links"] if each["nodes"] == ["n1", "n2"]]
        emulation.jam([f"n1:{link['phys'][0]}", "n3:n4"])
        status = emulation.status()
        assert status["lost_phys"] == [["n1", link["phys"][0]]] and status["jammed"] == [["n3", "n4"]]
        assert [each["nodes"] for each in status["links"]] == [["n1", "n4"], ["n2", "n3"]]
        assert emulation.run("n2", ["ping", "-q", "-c", "1", "-W", "5", "n3"]).returncode == 0
        with pytest.raises(HeadraceError, match="phy0 to phy1"):
            emulation.jam("n1:phy2")
        emulation.jam([f"n1:{link['phys'][0]}", "n3:n4"], 0)
        assert len(emulation.status()["links"]) == 4
