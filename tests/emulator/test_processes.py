"""The nodes' own processes as a user runs them: they find each other, connect over the fabric, and find routes;
messages come once and whole."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections import Counter
from pathlib import Path
from subprocess import PIPE, Popen
from types import SimpleNamespace
from typing import Any

import pytest
from emulator_bench import household, link, nothing_left, record, scenario
from patience import until

from headrace.cli import main
from headrace.emulator import control, inside
from headrace.emulator.client import Emulation, wait_for_stream
from headrace.emulator.processes import phy
from headrace.evaluate.loads.switch_network import HEADRACE

pytestmark = pytest.mark.live

SQUARE = [(0, 0), (100, 0), (100, 100), (0, 100)]  # a ring: n1 to n3 over n2 or over n4
MANET = 'phys = 2\nprocesses = "manet"\n'
RADIO = "range_m = 120"


def ended(emulation: Emulation, *arguments: str, **more: Any) -> dict[str, Any]:
    """A stream, once all of it is over."""
    return wait_for_stream(emulation.name, emulation.traffic(*arguments, **more), every_s=0.05)


def conserved(stream: dict[str, Any]) -> bool:
    counts = [stream[key] for key in ("received", "lost", "in_flight")]
    return stream["sent"] == sum(counts) and min(counts) >= 0 and stream["acknowledged"] <= stream["received"]


def route(emulation: Emulation, node: str, to: int) -> dict[str, Any] | None:
    routes = emulation.processes(node)["control"]["routes"]
    return next((each for each in routes if each["to"] == to), None)


def test_messages_come_over_hops_and_again_after_a_jam(tmp_path: Path) -> None:
    with Emulation(scenario(tmp_path, SQUARE, MANET, RADIO), hold=True) as emulation:
        images = ended(emulation, "n1", "n3", kind="image", count=20)
        assert images["hops"] == 2 and images["received"] == images["acknowledged"] == images["sent"] == 20
        assert images["bytes"] == 20 * 65_000 and conserved(images)

        went = route(emulation, "n1", 3)
        assert went is not None
        until(lambda: (back := route(emulation, "n3", 1)) and back["via"] == went["via"], "the way back")
        stream = emulation.traffic("n1", "n3", kind="command", interval_s=0.02)
        until(lambda: emulation.stream(stream)["received"], "the first command")
        emulation.jam(f"n1:n{went['via']}")
        other = {2: 4, 4: 2}[went["via"]]
        until(lambda: (now := route(emulation, "n1", 3)) and now["via"] == other, "the way over the other node")
        came = emulation.stream(stream)["received"]
        until(lambda: emulation.stream(stream)["received"] > came + 10, "commands on the other way")
        emulation.ask("stop-stream", stream=stream)
        until(lambda: emulation.stream(stream)["done"], "the last command")
        commands = emulation.stream(stream)
        assert commands["received"] == commands["sent"] and not commands["lost"] and conserved(commands)

        emulation.jam(f"n1:n{other}")
        until(lambda: route(emulation, "n1", 3) is None, "the loss of all routes")
        lost = ended(emulation, "n1", "n3", kind="telemetry", count=3, interval_s=0.01)
        assert (lost["lost"], lost["received"]) == (3, 0) and conserved(lost)
        emulation.jam("n1", 0)
        again = ended(emulation, "n1", "n3", kind="telemetry", count=3, interval_s=0.5)
        assert again["received"], "telemetry, once there are links again"


def test_processes_of_a_node_find_each_other_and_keep_one_connection_a_phy(tmp_path: Path) -> None:
    path = scenario(tmp_path, SQUARE, MANET, RADIO)
    with Emulation(path, hold=True) as emulation:
        found = emulation.processes("n2")
        assert set(found) == {"control", "messenger", "phy0", "phy1"}
        assert found["control"]["processes"] == {"messenger": [], "phy0": [1], "phy1": [3]}
        assert found["control"]["connections"] == {"1": "phy0", "3": "phy1"}
        assert len({each["pid"] for each in found.values()}) == 4
        own = emulation.run("n2", ["ls", "-l", "--", *(f"/proc/{each['pid']}/ns/net" for each in found.values())])
        assert len(set(re.findall(r"net:\[\d+\]", own.stdout))) == 4  # each has a network of its own


def test_links_that_change_are_followed(tmp_path: Path) -> None:
    steps = [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 1), (1, 2), (2, 3)]]
    path = scenario(tmp_path, [(0, 0)] * 4, MANET)
    replay = record(tmp_path, 4, [[link(*pair) for pair in links] for links in steps])
    with Emulation(path, hold=True, replay=replay) as emulation:
        for number, links in enumerate(steps):
            if number:
                emulation.step()
            for node in range(4):
                wanted = {str(pair[pair[0] == node] + 1) for pair in links if node in pair}

                def joined(node: int = node, wanted: set[str] = wanted) -> bool:
                    return set(emulation.processes(f"n{node + 1}")["control"]["connections"]) == wanted

                until(joined, f"the connections of n{node + 1} at step {number}")
        stream = ended(emulation, "n1", "n4", kind="command", count=3, interval_s=0.01)
        assert stream["received"] == 3 and stream["hops"] == 3


def test_a_routing_endpoint_is_the_way_to_the_master_coordinator(tmp_path: Path) -> None:
    places = [(0, 0), (5000, 0), (5100, 0), (9000, 0)]  # n1 is far away; n2 joins n3 to it; n4 is alone
    path = scenario(tmp_path, places, MANET + 'coordinator = "n1"\nendpoints = ["n2"]', RADIO)
    with Emulation(path, hold=True) as emulation:
        until(lambda: emulation.status()["coordinator"]["reached"] == ["n2", "n3"], "who has a route to n1")
        assert emulation.status()["coordinator"]["heard"] == 3  # n4 has none, and says so out of band
        stream = ended(emulation, "n1", "n3", kind="command", count=3, interval_s=0.01)
        assert stream["received"] == 3 and stream["hops"] == 2
        emulation.jam("n2:n3")
        until(lambda: emulation.status()["coordinator"]["reached"] == ["n2"], "the loss of n3")


def test_what_is_malformed_is_counted_and_does_no_harm(tmp_path: Path) -> None:
    send = (
        "import socket, sys\n"
        "link = socket.socket(socket.AF_INET, socket.SOCK_STREAM if len(sys.argv) > 3 else socket.SOCK_DGRAM)\n"
        "link.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)\n"
        "link.connect((sys.argv[1], int(sys.argv[2])))\n"
        "link.send(b'HR' + bytes(range(200)))\n"
    )
    with Emulation(scenario(tmp_path, SQUARE[:2], MANET, RADIO), hold=True) as emulation:
        pid = emulation.processes("n1")["phy0"]["pid"]
        inside = ["nsenter", "--target", str(pid), "--net", "python3", "-c", send, "172.31.0.255", "4800"]
        assert emulation.run("n1", inside).returncode == 0
        for role in ("control", "messenger", "phy1"):
            until(lambda role=role: emulation.processes("n1")[role]["counts"].get("malformed"), role)
        emulation.run("n1", ["ip", "route", "add", "10.0.0.2/32", "dev", "phy0"])
        emulation.run("n2", ["ip", "route", "add", "10.0.0.1/32", "dev", "phy0"])
        assert emulation.run("n1", ["python3", "-c", send, "10.0.0.2", "4801", "tcp"]).returncode == 0
        until(lambda: emulation.processes("n2")["phy0"]["counts"].get("malformed"), "the PHY")
        stream = ended(emulation, "n1", "n2", kind="image", count=3)
        assert stream["received"] == 3 and stream["repeated"] == stream["duplicates"] == 0


def test_nothing_is_left_when_any_of_a_nodes_processes_is_killed(tmp_path: Path) -> None:
    path = scenario(tmp_path, SQUARE[:2], MANET.replace("2", "1") + 'coordinator = "n1"', RADIO)
    for role in ("control", "messenger", "phy0", "mphy"):
        emulation = Emulation(path, hold=True)
        of = household(emulation.pid)
        assert len(of.family) == 3 + 2 * 5 and len(of.networks) == 1 + 2 * 5
        emulation.run("n2", ["kill", "-KILL", str(emulation.processes("n2")[role]["pid"])])
        nothing_left(emulation, of)
        assert emulation.wait() == f"node n2: program {role} was killed by signal 9"


@pytest.mark.parametrize("kind", ["telemetry", "command", "image"])
def test_traffic_goes_over_plain_ip_by_any_routing(kind: str, tmp_path: Path) -> None:
    path = scenario(tmp_path, SQUARE[:3], 'phys = 2\nrouting = "shortest"', RADIO)
    with Emulation(path, hold=True) as emulation:
        before = len(household(emulation.pid).family)
        stream = ended(emulation, "n1", "n3", kind=kind, size=20_000, interval_s=0.02, count=20)
        assert stream["sent"] == stream["received"] == 20 and stream["bytes"] == 400_000 and conserved(stream)
        assert 0 < stream["latency_s"]["p50"] <= stream["latency_s"]["max"]
        assert len(household(emulation.pid).family) == before + 2  # a process at each end


def test_what_a_link_loses_is_lost_or_sent_again(tmp_path: Path) -> None:
    path = scenario(tmp_path, SQUARE[:2], 'phys = 1\nrouting = "shortest"', RADIO + "\nloss = 0.1")
    path.write_text(
        path.read_text() + '[traffic.sure]\nfrom = "n2"\nto = "n1"\nkind = "command"\ninterval_s = 0.01\ncount = 50\n'
    )
    with Emulation(path, hold=True) as emulation:
        for node, other in ((1, 2), (2, 1)):  # what waits for ARP isn't kept
            entry = [f"10.0.0.{other}", "lladdr", f"02:00:00:{other:02x}:00:00", "dev", "phy0"]
            emulation.run(f"n{node}", ["ip", "neigh", "replace", *entry])
        plain = ended(emulation, "n1", "n2", kind="telemetry", interval_s=0.002, count=1000)
        sure = wait_for_stream(emulation.name, "sure", every_s=0.05)
        assert conserved(plain) and conserved(sure)
        assert plain["sent"] == 1000 and abs(plain["received"] / 1000 - 0.9) < 0.05  # 5 sigma
        assert sure["received"] == sure["acknowledged"] == 50


def test_the_command_waits_and_says_how_messages_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Emulation(scenario(tmp_path, SQUARE[:2], 'phys = 1\nrouting = "shortest"', RADIO), hold=True) as emulation:
        name = ["--name", emulation.name]
        words = ["emulate", "traffic", "n1", "n2", "--count", "5", "--rate", "1e6"]
        assert main([*words, *name]) == 0
        assert re.search(r"n1-n2 +telemetry +100 +5 +5 +0 +0 +1 ", capsys.readouterr().out)
        assert main(["emulate", "status", *name]) == 0
        assert "n1-n2" in capsys.readouterr().out
        assert main(["emulate", "status", "--node", "n1", *name]) == 0
        assert "load" in capsys.readouterr().out
        assert main(["emulate", "traffic", "n1", "n9", *name]) == 2
        assert "to: no node n9" in capsys.readouterr().err
        assert main(["emulate", "traffic", "n1", "n2", "--interval", "0", *name]) == 2


def test_ctrl_c_ends_the_stream_of_the_command_and_detach_does_not_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Emulation(scenario(tmp_path, SQUARE[:2], 'phys = 1\nrouting = "shortest"', RADIO), hold=True) as emulation:
        words = ["emulate", "traffic", "n1", "n2", "--kind", "command", "--name", emulation.name]
        assert main([*words, "--interval", "0.01", "--duration", "1e6", "--detach", "--json"]) == 0
        [stream] = json.loads(capsys.readouterr().out).values()
        assert not emulation.stream(stream)["done"]
        emulation.ask("stop-stream", stream=stream)
        with Popen([*HEADRACE, *words, "--duration", "1e6"], stdout=PIPE, text=True) as command:
            until(lambda: any(each["sent"] and not each["stopped"] for each in emulation.status()["traffic"]), "it")
            command.send_signal(signal.SIGINT)
            assert "command" in command.communicate()[0] and command.returncode == 0


@pytest.mark.parametrize("pressed", ["traffic", "stream"])
def test_ctrl_c_ends_a_stream_before_anything_is_known_of_it(pressed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def ask(name: str, command: str, **_: Any) -> dict[str, Any]:
        asked.append(command)
        if command == pressed and asked.count(command) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return {"stream": "n1-n2", "done": "stop-stream" in asked}

    monkeypatch.setattr(control, "ask", ask)
    assert main(["emulate", "traffic", "n1", "n2", "--duration", "1e6", "--json"]) == 0
    assert asked[-3:] == ["stop-stream", "stream", "stream"]


@pytest.mark.parametrize(("silent_s", "closed"), [(10.0, False), (10.1, True)])
def test_a_connection_ends_after_10_s_of_silence(
    silent_s: float, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class End:
        peer, sent_s, heard_s, reason = 2, 100.0, 100.0 - silent_s, ""

        def close(self, reason: str) -> None:
            self.reason = reason

    monkeypatch.setattr(phy.time, "monotonic", lambda: 100.0)
    looks: Any = object.__new__(phy.Phy)
    looks._pipes, looks._new = {2: End()}, set()
    looks._look()
    assert bool(looks._pipes[2].reason) is closed


def test_a_run_whose_processes_do_not_meet_is_up_after_30_s(monkeypatch: pytest.MonkeyPatch) -> None:
    assert inside.MEET_S == 30
    monkeypatch.setattr(inside, "MEET_S", 0.0)
    monkeypatch.setattr(inside.Inside, "_apart", lambda _, nodes: nodes)
    waits: Any = object.__new__(inside.Inside)
    here, there = socket.socketpair()
    with here, there:
        waits._nodes = [here]
        waits.wait()  # ends


def test_a_signal_ends_a_run_with_processes_well(tmp_path: Path) -> None:
    emulation = Emulation(scenario(tmp_path, SQUARE, MANET, RADIO))
    of = household(emulation.pid)
    os.kill(emulation.pid, signal.SIGTERM)
    assert emulation.wait() is None
    nothing_left(emulation, of)


def test_a_phy_that_fills_its_link_answers_meanwhile_however_fast_the_neighbour_is() -> None:
    filling, later = object.__new__(phy.Phy), []
    filling.seat = SimpleNamespace(node=1)  # type: ignore[assignment]
    filling.loop = SimpleNamespace(later=lambda _s, act: later.append(act))  # type: ignore[assignment]
    filling.counts = Counter()
    filling._pipes = {2: SimpleNamespace(waiting=0, send=lambda _data: True)}  # type: ignore[dict-item]
    assert filling.request({"do": "fill", "size": 100, "seconds": 1e9}) == {}
    begun = filling.counts["filled_out"]
    [more] = later
    more()
    assert filling.counts["filled_out"] == 2 * begun > 0
