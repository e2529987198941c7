"""Routing daemons of others route between nodes, unmodified."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from emulator_bench import scenario
from patience import until

from headrace.cli import main
from headrace.emulator import daemons
from headrace.emulator.client import Emulation
from headrace.emulator.scenario import read
from headrace.errors import HeadraceError
from headrace.evaluate.loads.emulator_daemons import convergence

LINE = [(0, 0), (100, 0), (200, 0)]


def needs(routing: str) -> None:
    """Skips a test where a daemon isn't installed."""
    try:
        daemons.check(routing)
    except HeadraceError as error:
        pytest.skip(str(error))


@pytest.mark.live
@pytest.mark.parametrize("routing", ["babeld", "bird"])
def test_a_daemon_carries_pings_over_five_hops_and_routes_around_a_broken_link(routing: str) -> None:
    needs(routing)
    found = convergence(routing, hello_s=0.5, pings=50)
    assert found.hops == 5 and found.received == found.sent == 50
    assert found.converged_s > 0 and found.update_s == 2.0


@pytest.mark.live
@pytest.mark.parametrize("routing", daemons.DAEMONS)
def test_a_daemon_routes_its_families(routing: str, tmp_path: Path) -> None:
    needs(routing)
    with Emulation(scenario(tmp_path, LINE, f'phys = 2\nrouting = "{routing}"'), hold=True) as emulation:
        for family in daemons.DAEMONS[routing].families:
            to = {4: "10.0.0.3", 6: "fd00:6872::3"}[family]
            until(lambda to=to: emulation.run("n1", ["ping", "-c", "1", "-W", "1", to]).returncode == 0, to)
        programs = emulation.status()["nodes"][1]["programs"]
        assert programs == dict.fromkeys(daemons.DAEMONS[routing].scripts, "runs")


@pytest.mark.live
def test_any_command_routes_instead(tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE[:2], 'phys = 1\nrouting = "none"')
    way = 'sh -c "ip route add 10.0.0.$((3 - HEADRACE_NUMBER)) dev phy0; sleep 1000"'
    path.write_text(f"{path.read_text()}[programs.mine]\ncommand = '{way}'\n")
    with Emulation(path, hold=True) as emulation:
        until(lambda: emulation.run("n1", ["ping", "-c", "1", "-W", "1", "n2"]).returncode == 0, "its routes")


def test_a_daemon_that_is_not_installed_is_told_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert main(["emulate", "run", str(scenario(tmp_path, LINE, 'routing = "bird"'))]) == 1
    assert capsys.readouterr().err == "headrace: routing bird: bird is not installed: it is in Debian's bird2\n"


@pytest.mark.parametrize(
    ("more", "programs", "said"),
    [
        ('routing = "rip"', "", "2: routing: 'rip' is none of none, shortest, babeld, bird, frr, batmand"),
        ('hello_s = 0.5\nrouting = "frr"', "", "2: hello_s: frr takes whole seconds"),
        ('hello_s = 0\nrouting = "bird"', "", "2: hello_s: 0 is not a number from 0.01 to 600"),
        ('routing = "bird"', "[programs.bird]\ncommand = 'x'", "8: programs.bird: routing = 'bird' runs a program"),
    ],
)
def test_what_is_wrong_with_routing_is_told(more: str, programs: str, said: str, tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE, more)
    path.write_text(path.read_text() + programs)
    with pytest.raises(HeadraceError) as raised:
        read(path)
    assert said in str(raised.value)
