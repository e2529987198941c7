"""One scenario over several hosts: network namespaces that a cable joins, each with a worker of a Dask cluster."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE
from types import SimpleNamespace
from typing import Any

import pytest
from browser import CHROMIUM, NO_CHROMIUM, Map, choose, chromium, dashboard, visit
from emulator_bench import scenario
from network import add_pair, host_behind, ip
from patience import HANG_S, until
from playwright.sync_api import expect
from terminal import talk_to_shell

from headrace.cli import main
from headrace.emulator import cluster, control, remote, share
from headrace.emulator.client import Elsewhere, Emulation, entering, traffic, wait_for_stream
from headrace.emulator.cluster import split
from headrace.emulator.dashboard import colours
from headrace.emulator.dashboard.monitor import Monitor, Port
from headrace.emulator.fabric import port_name, software
from headrace.emulator.share import outside
from headrace.errors import HeadraceError
from headrace.evaluate.loads.emulations import scenario_file
from headrace.evaluate.loads.emulator_hosts import LINE, SCHEDULER, Hosts, OverHosts, over_hosts, spread, three_hosts
from headrace.evaluate.loads.switch_network import HEADRACE

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
def test_links_between_hosts_and_on_one_have_their_delay(hosts: Hosts) -> None:
    """Each of the five is 1,000 km long."""
    far = LINE.replace("00, 0]", "00e4, 0]").replace("range_m = 150", "range_m = 1.5e6")
    with scenario_file(far) as path, over_hosts(hosts, path) as emulation:
        assert len(emulation.status()["links"]) == 5
        ping = emulation.start("n1", ["ping", "-c", "3", "-i", "0.1", "n6"], stdout=subprocess.PIPE, text=True)
        found = re.search(r" 0% packet loss.*rtt [^=]*= ([0-9.]+)/", ping.communicate()[0], re.DOTALL)
        assert found is not None and float(found[1]) >= 2 * 5 * 1e9 / 299_792_458
        report = emulation.stop()
        assert report["not_applied"] == []
        lines = [host["fidelity"]["delay_line"] for host in report["hosts"]]
        assert all(each["frames"] > 0 and each["late_s"]["max"] >= 0 for each in lines)
        assert all(host["fidelity"]["processor_load"]["max"] > 0 for host in report["hosts"])
        assert all(host["fidelity"]["queueing"]["packets_dropped"] >= 0 for host in report["hosts"])


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


@pytest.fixture(scope="class")
def line(three: Hosts) -> Iterator[OverHosts]:
    text, name = "step_s = 0.2\n" + LINE + TRAFFIC, f"line-{os.getpid()}"
    with scenario_file(text) as path, over_hosts(three, path, name) as emulation:
        yield emulation
        report = emulation.stop()
        assert not any(host["lost"] for host in report["hosts"])
        assert [each["name"] for each in report["traffic"]] == ["far", "near"]


@pytest.mark.live
class TestWithOneEmulation:
    """What is asked for where ``run`` was called."""

    def test_neighbours_come_together_and_hosts_are_joined(self, line: OverHosts) -> None:
        found = line.status()
        assert [node["host"] for node in found["nodes"]] == [f"10.9.0.{n}" for n in (1, 1, 2, 2, 3, 3)]
        assert [link["nodes"] for link in found["links"]] == [[f"n{n}", f"n{n + 1}"] for n in range(1, 6)]
        ping = line.start("n1", ["ping", "-c", "3", "-i", "0.1", "n6"], stdout=subprocess.PIPE, text=True)
        said = ping.communicate()[0]
        assert " 0% packet loss" in said and "ttl=60" in said

    def test_streams_between_hosts_are_accounted_for_by_acknowledgements(self, line: OverHosts) -> None:
        far, near = (wait_for_stream(line.name, name) for name in ("far", "near"))
        assert (far["by"], near["by"]) == ("acknowledgement", "arrival")
        assert (far["sent"], near["sent"], near["received"]) == (40, 4, 4)
        assert far["sent"] == far["received"] + far["lost"] + far["in_flight"] and far["received"] > 0
        assert far["hops"] == 1 and far["bytes"] == 100 * far["received"]
        trips = far["round_trip_s"]
        assert far["latency_s"] == {part: trip_s / 2 for part, trip_s in trips.items()} and trips["p50"] > 0
        [load] = control.ask(line.name, command="processes", node="n6")["processes"]
        assert load["role"] == "load" and load["receiving"]["1"]["received"] == far["received"]

    def test_a_command_in_a_node_has_input_output_and_an_exit_code(self, line: OverHosts) -> None:
        script = "hostname; ls /run/headrace/links.json; echo wrong >&2; cat; exit 7"
        command = line.start("n6", ["sh", "-c", script], here=True, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)
        out, said = command.communicate("x" * 3_000_000)
        assert (command.returncode, said) == (7, "wrong\n")
        assert out == "n6\n/run/headrace/links.json\n" + "x" * 3_000_000
        with pytest.raises(Elsewhere, match=r"^node n1 is on the host 10\.9\.0\.1$"):
            entering(line.name, "n1")

    def test_ctrl_c_is_for_a_command_whose_lines_come_while_it_runs(self, line: OverHosts) -> None:
        ping = line.start("n1", ["ping", "-i", "0.1", "n6"], here=True, stdin=DEVNULL, stdout=PIPE, text=True)
        assert ping.stdout is not None
        ping.stdout.readline()
        assert "ttl=60" in ping.stdout.readline()
        ping.send_signal(signal.SIGINT)
        out = ping.communicate()[0]
        assert "ping statistics" in out and ping.returncode == 0
        until(lambda: "ping" not in processes(line, "n1"), "the end of ping")

    def test_the_second_ctrl_c_kills_a_command(self, line: OverHosts) -> None:
        words = ["sh", "-c", "trap 'echo once' INT; echo ready; while :; do sleep 0.05; done"]
        command = line.start("n1", words, here=True, stdin=DEVNULL, stdout=PIPE, text=True)
        assert command.stdout is not None
        for said in ("ready\n", "once\n"):
            assert command.stdout.readline() == said
            command.send_signal(signal.SIGINT)
        assert command.communicate()[0] == "" and command.returncode == 128 + signal.SIGKILL

    def test_a_capture_is_written_here_and_whole_after_ctrl_c(self, line: OverHosts, tmp_path: Path) -> None:
        file = tmp_path / "n6.pcap"
        words = [*HEADRACE, "emulate", "capture", "--name", line.name, "n6:phy0", "-w", str(file), "icmp"]
        with subprocess.Popen(words, stderr=PIPE, text=True) as capture:
            assert capture.stderr is not None
            until(lambda: "listening on phy0" in capture.stderr.readline(), "tcpdump")
            ping = line.start("n1", ["ping", "-c", "3", "-i", "0.1", "n6"], stdout=DEVNULL)
            assert ping.wait() == 0
            until(lambda: file.stat().st_size >= 24 + 6 * (16 + 98), "six packets in the file")
            capture.send_signal(signal.SIGINT)
            assert "6 packets captured" in capture.stderr.read()
        assert capture.returncode == 0
        said = subprocess.run(["tcpdump", "-nr", str(file)], capture_output=True, text=True, check=True).stdout
        assert said.count("10.0.0.1 > 10.0.0.6: ICMP echo request") == 3
        assert said.count("10.0.0.6 > 10.0.0.1: ICMP echo reply") == 3
        assert subprocess.run([*words[:-2], "/none/n6.pcap"], capture_output=True, text=True, check=False).stderr == (
            "headrace: /none/n6.pcap: No such file or directory\n"
        )

    def test_a_shell_has_a_terminal_of_the_same_size(self, line: OverHosts) -> None:
        talk_to_shell([*HEADRACE, "emulate", "shell", "--name", line.name, "n6"], "n6")
        until(lambda: "sleep" not in processes(line, "n6"), "the end of what was interrupted")

    def test_a_dashboard_knows_phys_latencies_and_routes_of_all_hosts(self, line: OverHosts) -> None:
        async def look() -> None:
            monitor = Monitor(line.name)
            watching = asyncio.create_task(monitor.watch())
            try:
                ends = [zip(link["nodes"], link["phys"], strict=True) for link in line.status()["links"]]
                ways = {Port(int(node[1:]) - 1, int(phy[3:])) for both in ends for node, phy in both}
                while not all(monitor.latency_s(way) >= 0 for way in ways):
                    await asyncio.sleep(0.1)
                assert len(ways) == 10 and monitor.route(0, 5) == ([0, 1, 2, 3, 4, 5], True)
                await monitor.refresh()
                assert monitor.state is not None and monitor.state["hold"]
                assert all(phys[0]["sent_bytes"] for phys in monitor.state["counters"])
                await monitor.ask("jam", targets=["n3:n4"], loss=0.5)
                await monitor.refresh()
                assert monitor.state["jams"] == [{"nodes": ["n3", "n4"], "loss": 0.5, "link": True}]
                await monitor.ask("jam", targets=["n3:n4"], loss=0.0)
            finally:
                watching.cancel()
                await monitor.close()

        asyncio.run(asyncio.wait_for(look(), HANG_S))
        probes = ["pgrep", "-f", f"headrace.emulator.probe {line.name}"]
        until(lambda: not subprocess.run(probes, stdout=PIPE, check=False).stdout, "the end of the probes")

    def test_steps_are_held_and_let_go(self, line: OverHosts) -> None:
        before = control.ask(line.name, command="step")["step"]
        control.ask(line.name, command="hold", on=False)
        until(lambda: line.status()["step"] > before + 1, "steps that come by themselves")
        with pytest.raises(
            HeadraceError, match="^the emulation makes its steps by itself: hold it first, or start it with --hold$"
        ):
            control.ask(line.name, command="step")
        control.ask(line.name, command="hold", on=True)
        held = line.status()["step"]
        assert control.ask(line.name, command="step")["step"] == held + 1


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

        control.ask(emulation.name, command="jam", targets=["n2:n3"], loss=1.0)  # on two hosts
        until(lambda: (connected(2), connected(3)) == ({"1"}, {"4"}), "the loss of the link")
        until(lambda: reached() == ["n2"], "what is left")
        assert emulation.status()["coordinator"]["heard"] == 5  # out of band
        control.ask(emulation.name, command="jam", targets=["n2:n3"], loss=0.0)
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
def test_a_device_is_a_node_of_the_host_that_its_interface_is_at(
    hosts: Hosts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scenario.toml"

    def scenario_at(host: str) -> None:
        text = LINE.replace("nodes = 6", 'nodes = ["n1", "n2", "n3", "n4", "n5", "box"]')
        path.write_text(text + f'[hardware.box]\ninterface = "eth7"\nhost = "{host}"\n')

    def said(*more: str) -> str:
        assert main(["emulate", "run", str(path), *more]) in (1, 2)
        return capsys.readouterr().err

    scenario_at("10.9.0.9")
    cluster = ["--cluster", SCHEDULER]
    there = "the cluster has workers at 10.9.0.1, 10.9.0.2, 10.9.0.3"
    assert said(*cluster) == f"headrace: hardware box: host 10.9.0.9: {there}\n"
    scenario_at("10.9.0.2")
    line = path.read_text().splitlines().index('host = "10.9.0.2"') + 1
    assert said() == f"headrace: {path}:{line}: hardware.box.host: 10.9.0.2: that is for several hosts, by --cluster\n"
    assert said(*cluster) == "headrace: host 10.9.0.2: hardware box: eth7: No such device\n"
    add_pair("eth7", "device")
    with host_behind("device", "10.0.0.6/24") as device:
        ip("link", "set", "eth7", "netns", hosts.words[1][-1])
        ip("link", "set", "eth7", "up", there=hosts.words[1])
        with Emulation(path, hold=True, cluster=SCHEDULER) as emulation:
            assert [node["host"][-1] for node in emulation.status()["nodes"]] == list("112332")
            assert emulation.run("n5", ["ping", "-c", "1", "box"]).returncode == 0
            assert subprocess.run([*device, "ping", "-c", "1", "10.0.0.5"], stdout=DEVNULL, check=False).returncode == 0
        ip("link", "del", "eth7", there=hosts.words[1])


@pytest.mark.live
@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_a_dashboard_runs_a_scenario_over_hosts_and_shows_what_is_down(hosts: Hosts) -> None:
    name = f"shown-{os.getpid()}"
    with (
        scenario_file(LINE) as path,
        dashboard(str(path), "--cluster", SCHEDULER, "--name", name) as running,
        chromium() as browser,
    ):
        page = visit(browser, running.url)
        shown = Map(page)
        assert set(shown.links()) == {f"n{n}:n{n + 1}" for n in range(1, 6)}

        def down() -> list[str]:
            graph = next(each for each in shown.series() if each["type"] == "graph")
            return [node["name"] for node in graph["data"] if node["itemStyle"]["color"] == colours.DOWN]

        assert down() == []
        hosts.workers[-1].kill()
        until(lambda: down() == ["n5", "n6"], "nodes that are down on the map")
        assert set(shown.links()) == {"n1:n2", "n2:n3", "n3:n4"}
        page.get_by_role("tab", name="Nodes").click()
        for node, place in (
            ("n4", "on 10.9.0.2; 1 connections: n3"),
            ("n5", "down: its host 10.9.0.3 is lost; no conn"),
        ):
            choose(page, "Node", node)
            expect(page.get_by_test_id("about")).to_contain_text(place)
        assert page.faults == []  # type: ignore[attr-defined]
        page.context.close()
        assert running.interrupt() == ""
        assert not any(hosts.has(number, name) for number in range(2))


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


@pytest.mark.live
def test_the_links_of_a_host_that_is_lost_are_gone(hosts: Hosts) -> None:
    with scenario_file(LINE) as path, over_hosts(hosts, path) as emulation:
        assert len(emulation.status()["links"]) == 5
        hosts.workers[-1].kill()
        assert "n5, n6 are down" in emulation.line()
        until(lambda: len(emulation.status()["links"]) <= 3, "the end of the links")
        assert [link["nodes"] for link in emulation.status()["links"]] == [["n1", "n2"], ["n2", "n3"], ["n3", "n4"]]


def processes(emulation: OverHosts, node: str) -> str:
    """The names of those in a node."""
    return str(emulation.start(node, ["ps", "-eo", "comm"], stdout=PIPE, text=True).communicate()[0])


def test_a_share_ends_when_its_controller_is_not_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    class Emulation:
        stopped = False

        def stop(self) -> None:
            self.stopped = True

    def clock() -> float:
        looks.append(now)
        return now

    looks: list[float] = []
    now = 0.0
    monkeypatch.setattr(cluster, "time", SimpleNamespace(monotonic=clock))
    heard, unheard = Emulation(), Emulation()
    first, _ = cluster._Held("heard", heard), cluster._Held("unheard", unheard)
    now = 90.0
    until(lambda: unheard.stopped or looks.count(90.0) > 5, "looks of both")
    assert not unheard.stopped
    monkeypatch.setitem(cluster._HELD, "heard", first)
    assert cluster._held("heard") is heard  # as all that the controller asks for begins
    now = 90.1
    until(lambda: unheard.stopped or looks.count(90.1) > 5, "the end of the share")
    assert unheard.stopped and not heard.stopped
    first.end()
    assert heard.stopped


def test_a_command_ends_a_minute_after_its_caller_was_heard_of() -> None:
    assert remote._LEASE_S == 60

    async def ends() -> int:
        command = await remote._with_pipes("token", ["sleep", "1000"], reads=False)
        command._heard_s -= remote._LEASE_S
        code = await asyncio.wait_for(command._process.wait(), HANG_S)
        with suppress(asyncio.CancelledError):
            await command._reading
        return code

    assert asyncio.run(ends()) == -signal.SIGKILL


def test_a_share_takes_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HeadraceError, match="joined by VXLAN, which needs root on each of them$"):
        outside()


def test_a_port_whose_next_link_is_on_its_own_host_keeps_the_filter_of_that(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    for module in (share, software):
        monkeypatch.setattr(module, "batch", lambda _, lines, **__: said.extend(lines))
    fabric = share.SharedFabric(share.Share(0, ("10.9.0.1", "10.9.0.2"), (0, 0, 1), 0), 1, -1)
    fabric.join([(0, 2)], [(0, 1)])
    filters = [line for line in said if f" dev {port_name(0)} " in line]
    assert [line.split()[1] for line in filters] == ["del", "replace"]


def test_neighbours_are_on_the_same_host_and_hosts_are_even() -> None:
    assert split(6, 3, [(0, 3), (3, 1), (1, 4), (4, 2), (2, 5)]) == (0, 1, 2, 0, 1, 2)
    assert split(5, 2, []) == (0, 0, 0, 1, 1)
    assert split(2, 1, [(0, 1)]) == (0, 0)


def test_a_node_whose_host_is_given_changes_places_with_one_that_is_nearer() -> None:
    line = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert split(6, 3, line, {5: 1}) == (0, 0, 1, 2, 2, 1)
    assert split(6, 3, line, {0: 0, 5: 2}) == split(6, 3, line)
    assert split(4, 2, line[:3], {0: 1, 1: 1, 2: 1}) == (1, 1, 1, 0)
    assert split(2, 2, [], {0: 1, 1: 1}) == (1, 1)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('fabric = "ovs"', ":2: fabric: ovs: several hosts need the software fabric\n"),
        ('[hardware.n1]\ninterface = "eth7"', ":2: hardware.n1: no key host: which one of several eth7 is at\n"),
        ("", "cluster nowhere: "),
    ],
)
def test_what_is_wrong_is_told(more: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, PLACES, more)
    assert main(["emulate", "run", str(path), "--cluster", "nowhere", "--name", tmp_path.name]) in (1, 2)
    assert said in capsys.readouterr().err
