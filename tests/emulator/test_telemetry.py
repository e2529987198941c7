"""What a running emulation tells a dashboard: counters of PHYs, jams, holding, and how far building is."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulator_bench import scenario
from patience import until

from headrace.cli import main
from headrace.emulator.client import Emulation

pytestmark = pytest.mark.live

LINE = [(0, 0), (100, 0), (200, 0)]


def test_counters_are_what_the_phys_have_carried(tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE, 'routing = "shortest"\nphys = 2')
    with Emulation(path, hold=True) as emulation:
        before = emulation.ask("telemetry")["counters"]
        assert emulation.run("n1", ["ping", "-q", "-c", "20", "-i", "0.002", "-s", "1000", "n3"]).returncode == 0
        after = emulation.ask("telemetry")["counters"]
    assert [len(phys) for phys in after] == [2, 2, 2]

    def more(node: int, phy: int, key: str) -> int:
        return int(after[node][phy][key] - before[node][phy][key])

    for key in ("sent", "received"):
        for node, phy in ((0, 0), (1, 0), (1, 1), (2, 0)):
            assert 20 <= more(node, phy, f"{key}_frames") <= 40, (node, phy)  # ARP and such, too
            assert 20 * 1042 <= more(node, phy, f"{key}_bytes") <= 20 * 1042 + 4000
        assert more(0, 1, f"{key}_frames") <= 10  # without a link


def test_jams_are_told_with_what_they_jam(tmp_path: Path) -> None:
    with Emulation(scenario(tmp_path, LINE), hold=True) as emulation:
        jam = ["emulate", "jam", "--name", emulation.name]
        for words in (["n2"], ["n2", "--off"], ["n1:n2"], ["n3:n1", "--loss", "0.25"]):
            assert main([*jam, *words]) == 0
        found = emulation.ask("telemetry")
    assert found["jams"] == [
        {"nodes": ["n1", "n2"], "loss": 1.0, "link": True},
        {"nodes": ["n1", "n3"], "loss": 0.25, "link": False},
    ]
    assert [link["nodes"] for link in found["links"]] == [["n2", "n3"]]


def test_an_emulation_can_be_held_and_let_go(tmp_path: Path) -> None:
    with Emulation(scenario(tmp_path, LINE, "step_s = 0.01")) as emulation:
        until(lambda: emulation.status()["step"] > 2, "steps that come by themselves")
        name = ["--name", emulation.name]
        assert main(["emulate", "hold", *name]) == 0
        held = emulation.status()["step"]
        assert main(["emulate", "step", *name]) == 0
        assert emulation.status()["step"] == held + 1
        assert main(["emulate", "hold", "--off", *name]) == 0
        until(lambda: emulation.status()["step"] > held + 3, "steps after holding")


def test_building_tells_how_far_it_is(tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    with Emulation(scenario(tmp_path, LINE), progress=lambda *words: said.append(words)):
        pass
    assert said[0] == ("fabric software", 0, 3)
    for part in ("nodes", "addresses"):
        assert [(done, of) for name, done, of in said if name == part] == [(1, 3), (2, 3), (3, 3)]
