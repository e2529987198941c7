"""One scenario over several hosts: network namespaces that a cable joins, each with a worker of a Dask cluster."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from emulator_bench import scenario
from patience import HANG_S, until

from headrace.cli import main
from headrace.emulator import cluster, control
from headrace.emulator.client import Elsewhere, entering, wait_for_stream
from headrace.emulator.cluster import split
from headrace.evaluate.loads.emulations import scenario_file
from headrace.evaluate.loads.emulator_hosts import LINE, Hosts, over_hosts, spread, three_hosts

PLACES = [(0, 0), (100, 0)]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    """Three of them; the last test that takes them kills one."""
    with three_hosts() as found:
        yield found


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


@pytest.mark.live
def test_links_between_hosts_and_on_one_have_their_delay(hosts: Hosts) -> None:
    """Each of the five is 1,000 km long."""
    far = LINE.replace("00, 0]", "00e4, 0]").replace("range_m = 150", "range_m = 1.5e6")
    with scenario_file(far) as path, over_hosts(hosts, path) as emulation:
        assert len(emulation.status()["links"]) == 5
        ping = emulation.start("n1", ["ping", "-c", "3", "-i", "0.1", "n6"], stdout=subprocess.PIPE, text=True)
        found = re.search(r" 0% packet loss.*rtt [^=]*= ([0-9.]+)/", ping.communicate()[0], re.DOTALL)
        assert found is not None and float(found[1]) >= 2 * 5 * 1e9 / 299_792_458
        assert emulation.stop()["not_applied"] == []


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
        ('processes = "manet"', "headrace: processes: not over several hosts yet\n"),
        ("", "headrace: cluster nowhere: "),
    ],
)
def test_what_is_wrong_is_told(more: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, PLACES, more)
    assert main(["emulate", "run", str(path), "--cluster", "nowhere", "--name", tmp_path.name]) in (1, 2)
    assert capsys.readouterr().err.startswith(said)
