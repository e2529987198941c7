"""One scenario over several hosts: network namespaces that a cable joins, each with a worker of a Dask cluster."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from emulator_bench import scenario
from patience import HANG_S, until

from headrace.cli import main
from headrace.emulator import cluster, control
from headrace.emulator.client import Elsewhere, entering, traffic, wait_for_stream
from headrace.emulator.cluster import split
from headrace.errors import HeadraceError
from headrace.evaluate.loads.emulations import scenario_file
from headrace.evaluate.loads.emulator_hosts import LINE, Hosts, over_hosts, spread, three_hosts

MANET = LINE.replace('routing = "shortest"', 'processes = "manet"\ncoordinator = "n1"')
PLACES = [(0, 0), (100, 0)]


@pytest.fixture(scope="module")
def three() -> Iterator[Hosts]:
    with three_hosts() as found:
        yield found


@pytest.fixture
def hosts(three: Hosts) -> Hosts:
    """Three of them, whatever tests before have done to them."""
    for number, worker in enumerate(three.workers):
        if worker.poll() is not None:
            three.again(number)
    return three


@pytest.mark.live
def test_neighbours_come_together_and_hosts_are_joined(hosts: Hosts) -> None:
    with scenario_file(LINE) as path, over_hosts(hosts, path) as emulation:
        found = emulation.status()
        assert [node["host"] for node in found["nodes"]] == [f"10.9.0.{n}" for n in (1, 1, 2, 2, 3, 3)]
        assert [link["nodes"] for link in found["links"]] == [[f"n{n}", f"n{n + 1}"] for n in range(1, 6)]
        ping = emulation.start("n1", ["ping", "-c", "3", "-i", "0.1", "n6"], stdout=subprocess.PIPE, text=True)
        said = ping.communicate()[0]
        assert " 0% packet loss" in said and "ttl=60" in said
        report = emulation.stop()
        assert not any(host["lost"] for host in report["hosts"])


TRAFFIC = """
[traffic.far]
from = "n1"
to = "n6"
interval_s = 0.02
count = 40
[traffic.near]
from = "n1"
to = "n2"
kind = "image"
count = 4
"""


@pytest.mark.live
def test_streams_between_hosts_are_accounted_for_by_acknowledgements(hosts: Hosts) -> None:
    with scenario_file(LINE + TRAFFIC) as path, over_hosts(hosts, path) as emulation:
        far, near = (wait_for_stream(emulation.name, name) for name in ("far", "near"))
        assert (far["by"], near["by"]) == ("acknowledgement", "arrival")
        assert (far["sent"], near["sent"], near["received"]) == (40, 4, 4)
        assert far["sent"] == far["received"] + far["lost"] + far["in_flight"] and far["received"] > 0
        assert far["hops"] == 1 and far["bytes"] == 100 * far["received"]
        trips = far["round_trip_s"]
        assert far["latency_s"] == {part: trip_s / 2 for part, trip_s in trips.items()} and trips["p50"] > 0
        [load] = control.ask(emulation.name, command="processes", node="n6")["processes"]
        assert load["role"] == "load" and load["receiving"]["1"]["received"] == far["received"]
        assert [each["name"] for each in emulation.stop()["traffic"]] == ["far", "near"]


@pytest.mark.live
def test_commands_run_in_nodes_of_other_hosts(hosts: Hosts) -> None:
    with scenario_file(LINE) as path, over_hosts(hosts, path) as emulation:

        def start(node: str, *words: str) -> subprocess.Popen[str]:
            pipe = subprocess.PIPE
            return emulation.start(node, words, here=True, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

        script = "hostname; ls /run/headrace; echo wrong >&2; head -c 3000000 /dev/zero | tr '\\0' x; cat; exit 7"
        command = start("n6", "sh", "-c", script)
        out, said = command.communicate()
        assert (command.returncode, said) == (7, "wrong\n")
        assert out == "n6\nlinks.json\n" + "x" * 3_000_000

        ping = start("n1", "ping", "-i", "0.1", "n6")  # its lines come while it runs, and Ctrl-C is for it
        assert ping.stdout is not None
        ping.stdout.readline()
        assert "ttl=60" in ping.stdout.readline()
        ping.send_signal(signal.SIGINT)
        out = ping.communicate()[0]
        assert "ping statistics" in out and ping.returncode == 128 + signal.SIGINT
        until(lambda: "ping" not in start("n1", "ps", "-eo", "comm").communicate()[0], "the end of ping")

        with pytest.raises(Elsewhere, match=r"^node n1 is on the host 10\.9\.0\.1: shells and captures are for there$"):
            entering(emulation.name, "n1")


@pytest.mark.live
def test_the_nodes_own_processes_find_each_other_over_hosts_and_go_on_without_one(hosts: Hosts) -> None:
    with scenario_file(MANET) as path, over_hosts(hosts, path) as emulation:

        def processes_of(number: int) -> list[dict[str, Any]]:
            return list(control.ask(emulation.name, command="processes", node=f"n{number}")["processes"])

        def control_of(number: int) -> dict[str, Any]:
            return next(each for each in processes_of(number) if each["role"] == "control")

        def reached() -> list[str]:
            return list(emulation.status()["coordinator"]["reached"])

        def connected(number: int) -> set[str]:
            return set(control_of(number)["connections"])

        assert [connected(number) for number in (2, 3, 6)] == [{"1", "3"}, {"2", "4"}, {"5"}]  # once it is up
        until(lambda: reached() == ["n2", "n3", "n4", "n5", "n6"], "who has a route to n1")
        far = wait_for_stream(emulation.name, traffic(emulation.name, "n6", "n1", kind="command", count=5))
        assert (far["received"], far["lost"], far["hops"], far["by"]) == (5, 0, 5, "acknowledgement")
        assert next(route for route in control_of(1)["routes"] if route["to"] == 6)["via"] == 2

        control.ask(emulation.name, command="jam", target="n2:n3", loss=1.0)  # on two hosts
        until(lambda: (connected(2), connected(3)) == ({"1"}, {"4"}), "the loss of the link")
        until(lambda: reached() == ["n2"], "what is left")
        assert emulation.status()["coordinator"]["heard"] == 5  # out of band
        control.ask(emulation.name, command="jam", target="n2:n3", loss=0.0)
        until(lambda: len(reached()) == 5, "the link again")

        hosts.workers[-1].kill()
        assert emulation.line() == "headrace: host 10.9.0.3 is lost: n5, n6 are down"
        until(lambda: connected(4) == {"3"}, "the loss of n5")
        until(lambda: emulation.status()["coordinator"]["heard"] == 3, "the loss of management connections")
        assert reached() == ["n2", "n3", "n4"]
        near = wait_for_stream(emulation.name, traffic(emulation.name, "n1", "n4", kind="image", count=5))
        assert near["received"] == 5 and near["hops"] == 3
        with pytest.raises(HeadraceError, match=r"^node n6 is down: its host is lost$"):
            control_of(6)

        pid = next(each["pid"] for each in processes_of(4) if each["role"] == "messenger")
        emulation.start("n4", ["kill", "-KILL", str(pid)], here=True).wait()
        assert emulation.line() == "headrace: host 10.9.0.2: node n4: program messenger was killed by signal 9"
        assert emulation.controller.wait() == 1
        assert not any(hosts.has(number, emulation.name) for number in range(2))


@pytest.mark.live
def test_pings_and_streams_go_across_and_the_others_go_on_without_a_host(hosts: Hosts) -> None:
    found = spread(hosts)
    assert found.hosts == [["n1", "n2"], ["n3", "n4"], ["n5", "n6"]]
    assert (found.answered, found.whole, found.answered_then) == (found.across, found.streams, found.others)
    assert (found.across, found.streams, found.others) == (12, 6, 6)
    assert found.down == ["n5", "n6"]
    assert found.said == "headrace: host 10.9.0.3 is lost: n5, n6 are down"
    assert found.cut["done"] and found.cut["in_flight"] == 0 and found.cut["received"] > 0
    assert found.cut["sent"] == found.cut["received"] + found.cut["lost"]
    assert found.lost == ["10.9.0.3"]
    assert found.left == 0


def test_a_share_ends_when_its_controller_is_not_heard_of() -> None:
    class Emulation:
        stopped = False

        def stop(self) -> None:
            self.stopped = True

    heard, unheard = Emulation(), Emulation()
    first, second = cluster._Held("heard", heard), cluster._Held("unheard", unheard)
    first.heard_s, second.heard_s = (time.monotonic() + late for late in (HANG_S, -cluster.LEASE_S))
    until(lambda: unheard.stopped, "the end of the share")
    assert not heard.stopped
    first.end()
    assert heard.stopped


def test_neighbours_are_on_the_same_host_and_hosts_are_even() -> None:
    assert split(6, 3, [(0, 3), (3, 1), (1, 4), (4, 2), (2, 5)]) == (0, 1, 2, 0, 1, 2)
    assert split(5, 2, []) == (0, 0, 0, 1, 1)
    assert split(2, 1, [(0, 1)]) == (0, 0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('fabric = "ovs"', "headrace: fabric ovs: several hosts have the software fabric\n"),
        ("", "headrace: cluster nowhere: "),
    ],
)
def test_what_is_wrong_is_told(more: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, PLACES, more)
    assert main(["emulate", "run", str(path), "--cluster", "nowhere", "--name", tmp_path.name]) in (1, 2)
    assert capsys.readouterr().err.startswith(said)
