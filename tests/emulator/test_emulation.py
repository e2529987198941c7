"""Emulations as a user runs them: nodes, links, programs, and nothing left at the end."""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
from pathlib import Path
from subprocess import DEVNULL, Popen, check_output
from typing import Any

import pytest
from emulator_bench import FABRICS, household, link, nothing_left, record, scenario, two_nodes, with_fabric
from link_bench import SWITCH_PARAMETERS
from patience import until

from headrace.cli import main
from headrace.emulator.client import Emulation
from headrace.errors import HeadraceError
from headrace.net import ovs

pytestmark = pytest.mark.live

LINE = [(0, 0), (100, 0), (200, 0)]
STEPS = [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [], [(1, 2)], [(0, 3), (1, 2)]]


def answers(emulation: Emulation, node: str, other: str, timeout_s: int = 2) -> bool:
    """Whether a node hears another, without routing over a third."""
    return emulation.run(node, ["ping", "-c", "1", "-W", str(timeout_s), other]).returncode == 0


@pytest.mark.parametrize("fabric", [*FABRICS, "cards"])
def test_every_fabric_joins_at_each_step_who_is_linked_and_nobody_else(fabric: str, tmp_path: Path) -> None:
    if fabric == "ovs" and (reason := ovs.available()):
        pytest.skip(reason)
    lines = with_fabric("rtl", SWITCH_PARAMETERS, cards=2) if fabric == "cards" else with_fabric(fabric)
    path = scenario(tmp_path, [(0, 0)] * 4, f'phys = 1\nrouting = "none"\n{lines}')
    replay = record(tmp_path, 4, [[link(*pair) for pair in links] for links in STEPS])
    with Emulation(path, hold=True, replay=replay) as emulation:
        for number, links in enumerate(STEPS):
            status = emulation.step() if number else emulation.status()
            assert [link["nodes"] for link in status["links"]] == [[f"n{a + 1}", f"n{b + 1}"] for a, b in links]
            for node in range(4):  # who has no routes asks all that its PHY reaches
                emulation.run(f"n{node + 1}", ["ip", "route", "replace", "10.0.0.0/24", "dev", "phy0"])
            for a, b in links:
                until(lambda a=a, b=b: answers(emulation, f"n{a + 1}", f"10.0.0.{b + 1}"), f"link {a}-{b}")
            strangers = [pair for pair in itertools.combinations(range(4), 2) if pair not in links]
            pings = [
                emulation.start(f"n{a + 1}", ["ping", "-c", "1", "-W", "1", f"10.0.0.{b + 1}"], stdout=DEVNULL)
                for a, b in strangers
            ]
            assert 0 not in [ping.wait() for ping in pings], number
            for node in range(4):
                up = "LOWER_UP" in emulation.run(f"n{node + 1}", ["ip", "link", "show", "phy0"]).stdout
                assert up == any(node in pair for pair in links), (number, node)
                told = json.loads(emulation.run(f"n{node + 1}", ["cat", "/run/headrace/links.json"]).stdout)
                assert [
                    (each["phy"], each["node"], each["distance_m"], each["rate_bps"], each["loss"], each["found"])
                    for each in told["links"]
                ] == [
                    ("phy0", f"n{sum(pair) - node + 1}", 1.0, 5e7, 0.0, not number or pair not in STEPS[number - 1])
                    for pair in links
                    if node in pair
                ]
        with pytest.raises(HeadraceError, match="no more steps"):
            emulation.step()


def test_without_routing_neighbours_reach_each_other_and_nobody_else(tmp_path: Path) -> None:
    with Emulation(scenario(tmp_path, LINE, 'routing = "none"\nphys = 2'), hold=True) as emulation:
        assert answers(emulation, "n1", "n2") and answers(emulation, "n3", "n2")
        assert not answers(emulation, "n1", "n3", 1)
        emulation.run("n1", ["ip", "route", "add", "10.0.0.2", "dev", "lo"])  # what runs in the node has its way
        assert "dev lo" in emulation.run("n1", ["ip", "route", "get", "10.0.0.2"]).stdout
        emulation.run("n1", ["ip", "route", "del", "10.0.0.2", "dev", "lo"])
        emulation.jam("n1:n2")
        assert not answers(emulation, "n1", "n2", 1)
        emulation.jam("n1:n2", 0)
        assert answers(emulation, "n1", "n2")


def test_names_routes_and_programs_work_across_hops(tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE, 'routing = "shortest"\nphys = 2')
    path.write_text(path.read_text() + "[programs.hello]\ncommand = \"sh -c 'echo $HEADRACE_NODE $$; sleep 1000'\"\n")
    with Emulation(path, hold=True) as emulation:
        assert answers(emulation, "n1", "n3")
        log = ["cat", "/run/headrace/hello.log"]
        until(lambda: emulation.run("n2", log).stdout.startswith("n2 "), "a program's output")
        pids = [word for word in emulation.run("n2", ["ls", "/proc"]).stdout.split() if word.isdecimal()]
        assert "1" in pids and len(pids) <= 4  # its first process, the shell, sleep, and ls
        emulation.run("n1", ["touch", "/tmp/mine"])
        assert emulation.run("n2", ["test", "-e", "/tmp/mine"]).returncode == 1
        assert not Path("/tmp/mine").exists()
        emulation.jam("n2:n3")
        assert not answers(emulation, "n1", "n3", 1)
        emulation.jam("n2:n3", 0)
        until(lambda: answers(emulation, "n1", "n3"), "the link that is jammed no more")


def test_links_lose_what_they_shall(tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE[:2], 'phys = 1\nrouting = "shortest"', "range_m = 150\nloss = 0.3")
    with Emulation(path, hold=True) as emulation:
        for node, other in ((1, 2), (2, 1)):
            mac = f"02:00:00:{other:02x}:00:00"
            emulation.run(f"n{node}", ["ip", "neigh", "replace", f"10.0.0.{other}", "lladdr", mac, "dev", "phy0"])
        said = emulation.run("n1", ["ping", "-q", "-c", "600", "-i", "0.002", "n2"]).stdout
        received = int(said.split(" received")[0].split()[-1])
        assert abs(received / 600 - 0.7**2) < 0.1  # 5 sigma; there and back


def test_a_program_that_fails_ends_the_run_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, LINE[:2])
    good = path.read_text()
    path.write_text(good + "[programs.bad]\ncommand = \"sh -c 'echo no luck; exit 3'\"\nnodes = ['n2']\n")
    with pytest.raises(HeadraceError, match=r"node n2: program bad has failed with status 3: no luck"):
        failed(Emulation(path))
    path.write_text(good + '[programs.none]\ncommand = "no-such-program"\n')
    with pytest.raises(HeadraceError, match=r"none has failed with status 127: no-such-program: No such file or dir"):
        failed(Emulation(path))


def test_programs_that_may_fail_dont_end_the_run(tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE[:2])
    bad = "[programs.bad]\ncommand = \"sh -c 'exit 3'\"\nmay_fail = true\n"
    none = '[programs.none]\ncommand = "no-such-program"\nmay_fail = true\n'
    path.write_text(path.read_text() + bad + none)
    with Emulation(path, hold=True) as emulation:
        ends = {"bad": "ended with 3", "none": "ended with 127"}
        until(lambda: [node["programs"] for node in emulation.status()["nodes"]] == [ends, ends], "the programs' ends")
        assert emulation.step()["step"] == 1
        assert "no-such-program: No such file" in emulation.run("n1", ["cat", "/run/headrace/none.log"]).stdout


def failed(emulation: Emulation) -> None:
    """Waits for its end. Raises HeadraceError with what it says."""
    said = emulation.wait()
    assert said is not None
    raise HeadraceError(said)


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE[:2])
    with Emulation(path) as emulation, pytest.raises(HeadraceError, match="runs already"):
        Emulation(path, name=emulation.name)


def test_a_name_that_is_too_long_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, LINE[:2])
    for words in (["run", str(path)], ["status"]):
        assert main(["emulate", *words, "--name", "n" * 300]) == 2
        said = capsys.readouterr().err
        assert "bytes too long" in said and said.count("\n") == 1


def test_stop_leaves_nothing(tmp_path: Path) -> None:
    path = scenario(tmp_path, LINE)
    with Emulation(path) as emulation:
        of = household(emulation.pid)
        assert len(of.family) == 6 and len(of.networks) == 4  # keeper, between, first; three nodes
        assert main(["emulate", "stop", "--name", emulation.name]) == 0
        nothing_left(emulation, of)
        assert emulation.wait() is None
    assert main(["emulate", "status", "--name", emulation.name]) == 1


@pytest.mark.parametrize(
    ("fabric", "apart_m", "processes"), [("software", 100, 6), ("software", 60_000, 7), ("rtl", 100, 7)]
)
def test_nothing_is_left_when_any_process_is_killed(fabric: str, apart_m: int, processes: int, tmp_path: Path) -> None:
    """Far links have a delay line."""
    more = f"phys = 1\n{with_fabric(fabric)}"
    path = scenario(tmp_path, [(0, 0), (apart_m, 0)], more, f"range_m = {apart_m}")
    path.write_text(path.read_text() + '[programs.wait]\ncommand = "sleep 1000"\nnodes = ["n2"]\n')
    number, count = 0, 1
    while number < count:
        emulation = Emulation(path)
        until(lambda it=emulation: it.status()["nodes"][1]["programs"], "the program")
        of = household(emulation.pid)
        count = len(of.family)
        assert count == processes
        victim = sorted(of.family)[number].pid
        os.kill(victim, signal.SIGKILL)
        nothing_left(emulation, of)
        said = emulation.wait()
        assert said is not None, victim
        number += 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well(number: signal.Signals, tmp_path: Path) -> None:
    emulation = Emulation(scenario(tmp_path, LINE[:2]))
    of = household(emulation.pid)
    os.kill(emulation.pid, number)
    assert emulation.wait() is None
    nothing_left(emulation, of)


def test_a_record_is_replayed_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "wander.toml"
    path.write_text(
        'nodes = 5\nphys = 2\n[movement]\nkind = "random-waypoint"\narea_m = [400, 400]\nspeed_mps = [20, 50]\n'
        "[radio]\nrange_m = 200\n"
    )

    def steps(**options: Any) -> list[Any]:
        with Emulation(path, hold=True, **options) as emulation:
            return [bare(emulation.step() if number else emulation.status()) for number in range(6)]

    def bare(status: dict[str, Any]) -> list[Any]:
        links = [(link["nodes"], link["phys"], link["distance_m"]) for link in status["links"]]
        return [links, [node["position_m"] for node in status["nodes"]]]

    first = steps(record=tmp_path / "links.jsonl")
    path.write_text(path.read_text().replace("[radio]\nrange_m = 200", "seed = 9\n[radio]\nrange_m = 1"))
    assert steps(replay=tmp_path / "links.jsonl") == first
    assert len({json.dumps(links) for links, _ in first}) > 1


def test_who_runs_it_may_have_other_children_and_adopts_none(tmp_path: Path) -> None:
    path, replay = two_nodes(tmp_path, "software", {}, [{}])
    with Popen(["sleep", "600"]) as other:
        assert main(["emulate", "run", str(path), "--replay", str(replay), "--name", tmp_path.name]) == 0
        assert other.poll() is None
        other.kill()
    orphan = int(check_output(["sh", "-c", "sleep 600 > /dev/null & echo $!"]))
    os.kill(orphan, signal.SIGKILL)
    with pytest.raises(ChildProcessError):
        os.waitpid(orphan, 0)


@pytest.mark.live
def test_what_who_runs_it_has_left_to_be_collected_is_not_ended_by_the_emulation(tmp_path: Path) -> None:
    class Left:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            with (tmp_path / "ended").open("a") as file:
                file.write(f"by {os.getpid()}\n")

    path, replay = two_nodes(tmp_path, "software", {}, [{}])
    gc.disable()
    try:
        Left()
        assert main(["emulate", "run", str(path), "--replay", str(replay), "--name", tmp_path.name]) == 0
    finally:
        gc.enable()
    gc.collect()
    assert (tmp_path / "ended").read_text() == f"by {os.getpid()}\n"
