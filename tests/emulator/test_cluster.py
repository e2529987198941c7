"""One scenario over several hosts: network namespaces that a cable joins, each with a worker of a Dask cluster."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from emulator_bench import scenario
from network import add_pair, host_behind, ip, own_network
from patience import HANG_S, until

from headrace.cli import main
from headrace.emulator import cluster, control
from headrace.emulator.cluster import split

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]
PLACES = [(0, 0), (100, 0), (200, 0), (300, 0), (400, 0), (500, 0)]
SCHEDULER = "tcp://10.9.0.254:8786"


class Hosts:
    """Three of them; ``words`` start a program on each, ``workers`` are their processes."""

    def __init__(self) -> None:
        self.words: list[list[str]] = []
        self.workers: list[subprocess.Popen[str]] = []


@contextmanager
def hosts(stack: ExitStack) -> Iterator[Hosts]:
    found, dask = Hosts(), [sys.executable, "-m", "dask"]
    ip("link", "set", "lo", "up")
    ip("link", "add", "wire", "type", "bridge")
    ip("addr", "add", "10.9.0.254/24", "dev", "wire")
    ip("link", "set", "wire", "up")
    stack.enter_context(running([*dask, "scheduler", "--host", "10.9.0.254", "--no-dashboard"]))
    for number in range(3):
        add_pair(f"h{number}", f"e{number}")
        ip("link", "set", f"h{number}", "master", "wire")
        found.words.append(stack.enter_context(host_behind(f"e{number}", f"10.9.0.{number + 1}/24")))
        ip("link", "set", "lo", "up", there=found.words[-1])
        worker = [*dask, "worker", SCHEDULER, "--no-dashboard", "--no-nanny", "--nthreads", "1"]
        found.workers.append(stack.enter_context(running([*found.words[-1], *worker])))
    until(lambda: workers() == 3, "three workers")
    yield found


def workers() -> int:
    from distributed import Client

    try:
        with Client(SCHEDULER, timeout=5) as client:
            return len(client.scheduler_info(n_workers=-1)["workers"])
    except OSError:
        return 0


@contextmanager
def running(words: list[str], out: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(words, stdout=out, stderr=out, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


@pytest.mark.live
def test_three_hosts_carry_pings_and_streams_and_go_on_without_one(tmp_path: Path) -> None:
    path = scenario(tmp_path, PLACES, 'phys = 2\nrouting = "shortest"')
    with own_network(), ExitStack() as stack, hosts(stack) as three:
        run = [*HEADRACE, "emulate", "run", str(path), "--hold", "--cluster", SCHEDULER, "--name", "three", "--json"]
        with running(run, subprocess.PIPE) as controller:
            assert controller.stderr is not None
            line = controller.stderr.readline()
            assert line.startswith("headrace: the emulation three is up on 3 hosts"), line
            found = control.ask("three", command="status")
            assert [node["host"] for node in found["nodes"]] == [f"10.9.0.{n}" for n in (1, 1, 2, 2, 3, 3)]
            assert [link["nodes"] for link in found["links"]] == [[f"n{n}", f"n{n + 1}"] for n in range(1, 6)]

            def there(host: int, node: str, *words: str) -> subprocess.CompletedProcess[str]:
                command = [*three.words[host], *HEADRACE, "emulate", "exec", "--name", "three", node, *words]
                return subprocess.run(command, capture_output=True, text=True, check=False)

            ping = there(0, "n1", "ping", "-c", "3", "-i", "0.1", "n6")
            assert " 0% packet loss" in ping.stdout and "ttl=60" in ping.stdout, ping
            serve = "import socket; s = socket.create_server(('', 9)); print(len(s.accept()[0].makefile('rb').read()))"
            send = "import socket, sys; socket.create_connection(('n6', 9)).sendall(bytes(1 << 20))"
            at = [*three.words[2], *HEADRACE, "emulate", "exec", "--name", "three", "n6"]
            with running([*at, sys.executable, "-uc", serve], subprocess.PIPE) as server:
                until(lambda: ":0009 " in there(2, "n6", "cat", "/proc/net/tcp").stdout, "the server")
                sent = there(0, "n1", sys.executable, "-c", send)
                assert sent.returncode == 0, sent
                assert server.communicate()[0] == f"{1 << 20}\n"

            three.workers[2].kill()
            assert controller.stderr.readline() == "headrace: host 10.9.0.3 is lost: n5, n6 are down\n"
            found = control.ask("three", command="status")
            assert [node["down"] for node in found["nodes"]] == [False] * 4 + [True] * 2
            assert [link["nodes"] for link in found["links"]] == [["n1", "n2"], ["n2", "n3"], ["n3", "n4"]]
            assert there(0, "n1", "ping", "-c", "1", "n4").returncode == 0

            control.ask("three", command="stop")
            report = json.loads(controller.communicate()[0])
            assert controller.returncode == 0
            assert [host["lost"] for host in report["hosts"]] == [False, False, True]
            for words in three.words:
                status = [*words, *HEADRACE, "emulate", "status", "--name", "three"]
                assert subprocess.run(status, capture_output=True, check=False).returncode == 1


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
