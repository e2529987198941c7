"""What people do with a running emulation, what links do to traffic, and what needs no root."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from emulator_bench import household, nothing_left, scenario
from patience import until
from terminal import talk_to_shell

from headrace.emulator.client import Emulation
from headrace.net import ovs

pytestmark = pytest.mark.live

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]
PAIR = [(0, 0), (100, 0)]
TRIPLE = [(0, 0), (100, 0), (200, 0)]
SHORTEST = 'phys = 2\nrouting = "shortest"'

SEND = "import socket; s = socket.create_connection(('n2', 9)); s.sendall(bytes(250_000)); s.shutdown(1); s.recv(1)"
RECEIVE = (
    "import socket; s = socket.create_server(('', 9)); c, _ = s.accept()\nwhile c.recv(1 << 16): pass\nc.sendall(b'.')"
)
NOBODY = 65534
ALL_OF_IT = """
import os, sys
from pathlib import Path
from headrace.emulator.client import Emulation
root, mounted = os.geteuid() == 0, sys.argv[3] == "True"
assert os.geteuid() == int(sys.argv[2])
folder = Path(sys.argv[1]).parent
shared = {path: path.read_text() for path in (folder / "here/inside", folder / "plain/file", Path("/etc/hostname"))}
with Emulation(sys.argv[1], hold=True) as emulation:
    for path, text in shared.items():
        assert emulation.run("n1", ["cat", str(path)]).stdout == text
    for path in (folder / "here/inside", folder / "here/deep/new", folder / "new", folder / "plain/file"):
        done = emulation.run("n1", ["sh", "-c", f"echo mine > {path} && cat {path}"])
        assert done.stdout == "mine\\n", (path, done)
        assert emulation.run("n2", ["cat", str(path)]).stdout != "mine\\n"
    assert emulation.run("n1", ["touch", "/etc/mine", "/var/mine"]).returncode == 0
    assert emulation.run("n1", ["ping", "-c", "1", "n3"]).returncode == 0
    assert emulation.run("n1", ["touch", "/tmp/mine"]).returncode == 0
    for words, works in (
        (["sh", "-c", "echo mine >> /etc/passwd"], root or mounted),  # then it is a copy
        (["sh", "-c", f"echo mine > {folder}/large"], not mounted),
        (["mv", folder / "plain", folder / "other"], not mounted),
        (["rm", "-r", folder / ("plain" if mounted else "other")], not mounted),
    ):
        assert (emulation.run("n1", words).returncode == 0) is works, words
    for path in ("/etc/mine", "/var/mine", "/tmp/mine"):
        assert emulation.run("n2", ["test", "-e", path]).returncode == 1 and not os.path.exists(path)
    emulation.jam("n2:n3")
    assert emulation.run("n1", ["ping", "-c", "1", "-W", "1", "n3"]).returncode != 0
    assert emulation.ask("delay-line")["delay_line"]["frames"] > 0
assert {path: path.read_text() for path in shared} == shared
for path in ("/tmp/mine", "/etc/mine", "/var/mine", folder / "new", folder / "here/deep/new"):
    assert not os.path.exists(path)
print("all of it")
"""


def test_exec_takes_its_command_behind_two_dashes_too(tmp_path: Path) -> None:
    with Emulation(scenario(tmp_path, PAIR), hold=True) as emulation:
        for dashes in ([], ["--"]):
            words = [
                *HEADRACE,
                "emulate",
                "exec",
                "--name",
                emulation.name,
                "n2",
                *dashes,
                "sh",
                "-c",
                "hostname; echo $HEADRACE_NODE $HEADRACE_ADDRESS; exit 7",
            ]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (7, "n2\nn2 10.0.0.2\n")
        for folder, there in ((str(tmp_path), f"{tmp_path}\n"), ("/run", "/\n")):  # the node has a /run of its own
            words = [*HEADRACE, "emulate", "exec", "--name", emulation.name, "n2", "pwd"]
            assert subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder).stdout == there


def test_a_shell_runs_in_the_node_and_its_exit_code_is_the_commands(tmp_path: Path) -> None:
    with Emulation(scenario(tmp_path, PAIR), hold=True) as emulation:
        done = subprocess.run(
            [*HEADRACE, "emulate", "shell", "--name", emulation.name, "n2"],
            input="hostname; cat /run/headrace/links.json >/dev/null && exit 3\n",
            env={**os.environ, "SHELL": "/bin/sh"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout, done.returncode) == ("n2\n", 3), done


def test_ctrl_c_is_for_the_command_whose_exit_code_comes(tmp_path: Path) -> None:
    with Emulation(scenario(tmp_path, PAIR), hold=True) as emulation:
        words = ["sh", "-c", "trap 'echo mine; exit 7' INT; echo ready; while :; do sleep 0.05; done"]
        command = emulation.start("n1", words, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert command.stdout.readline() == "ready\n"
        os.killpg(command.pid, signal.SIGINT)  # as a terminal does
        assert (command.communicate()[0], command.returncode) == ("mine\n", 7)


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_a_shell_on_a_terminal_knows_jobs_and_ends_as_it_says(tmp_path: Path, shell: str) -> None:
    with Emulation(scenario(tmp_path, PAIR), hold=True) as emulation:
        talk_to_shell([*HEADRACE, "emulate", "shell", "--name", emulation.name, "n2"], "n2", {"SHELL": shell})


def test_a_capture_has_what_a_phy_has_sent_and_received(tmp_path: Path) -> None:
    file = tmp_path / "n1.pcap"
    words = [*HEADRACE, "emulate", "capture", "--name"]
    with Emulation(scenario(tmp_path, PAIR, SHORTEST), hold=True) as emulation:
        more = ["n1:phy0", "-w", str(file), "icmp"]
        with subprocess.Popen([*words, emulation.name, *more], stderr=subprocess.PIPE, text=True) as capture:
            assert capture.stderr is not None
            until(lambda: "listening on phy0" in capture.stderr.readline(), "tcpdump")
            assert emulation.run("n1", ["ping", "-c", "3", "-i", "0.1", "n2"]).returncode == 0
            until(lambda: file.stat().st_size >= 24 + 6 * (16 + 98), "six packets in the file")
            capture.send_signal(signal.SIGINT)
        assert capture.returncode == 0
    said = subprocess.run(["tcpdump", "-nr", str(file)], capture_output=True, text=True, check=True).stdout
    assert said.count("10.0.0.1 > 10.0.0.2: ICMP echo request") == 3
    assert said.count("10.0.0.2 > 10.0.0.1: ICMP echo reply") == 3


def test_a_capture_of_a_link_is_at_the_phy_that_it_joins(tmp_path: Path) -> None:
    words = [*HEADRACE, "emulate", "capture", "--name"]
    with Emulation(scenario(tmp_path, TRIPLE, SHORTEST), hold=True) as emulation:
        for link, phy in (("n1:n2", "phy0"), ("n2:n3", "phy1"), ("n3:n2", "phy0")):
            more = [emulation.name, link, "-w", str(tmp_path / "link.pcap")]
            with subprocess.Popen([*words, *more], stderr=subprocess.PIPE, text=True) as capture:
                assert capture.stderr is not None
                until(lambda phy=phy: f"listening on {phy}" in capture.stderr.readline(), "tcpdump")
                capture.send_signal(signal.SIGINT)
            assert capture.returncode == 0
        more = [emulation.name, "n1:n3", "-w", str(tmp_path / "none.pcap")]
        done = subprocess.run([*words, *more], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "headrace: there is no link between n1 and n3\n")


def test_a_link_is_held_to_its_rate(tmp_path: Path) -> None:
    path = scenario(tmp_path, PAIR, SHORTEST, "range_m = 150\nrate_bps = 1e6")
    with Emulation(path, hold=True) as emulation:
        with emulation.start("n2", [sys.executable, "-c", RECEIVE]) as receiver:
            until(lambda: ":0009 " in emulation.run("n2", ["cat", "/proc/net/tcp"]).stdout, "the receiver")
            began = time.monotonic()
            assert emulation.run("n1", [sys.executable, "-c", SEND]).returncode == 0
            took_s = time.monotonic() - began
            assert receiver.wait() == 0
        burst = 3200 + 1e6 / 8 * 0.004
        assert took_s > (250_000 - burst) * 8 / 1e6  # less can't be; how much more is the machine's business


def test_a_partial_jam_loses_its_part_on_its_link_alone(tmp_path: Path) -> None:
    with Emulation(scenario(tmp_path, TRIPLE, SHORTEST), hold=True) as emulation:

        def answered(node: str, other: str) -> int:
            said = emulation.run(node, ["ping", "-q", "-c", "300", "-i", "0.002", other]).stdout
            return int(said.split(" received")[0].split()[-1])

        assert answered("n1", "n2") == answered("n2", "n3") == 300  # now all know each other's MAC addresses
        for node, phy, other in (("n1", "phy0", 2), ("n2", "phy0", 1)):
            neighbour = ["ip", "neigh", "replace", f"10.0.0.{other}", "dev", phy, "nud", "permanent", "lladdr"]
            assert emulation.run(node, [*neighbour, f"02:00:00:{other:02x}:00:00"]).returncode == 0
        emulation.jam("n1:n2", 0.5)
        assert [link["loss"] for link in emulation.status()["links"]] == [0.5, 0.0]
        assert abs(answered("n1", "n2") / 300 - 0.25) < 0.15  # 6 sigma; there and back
        assert answered("n2", "n3") == 300
        emulation.jam("n1:n2", 0)
        assert answered("n1", "n2") == 300


MOUNTED = """
set -e
echo mounted > "$0/name"
mount --bind "$0/name" /etc/hostname
mount --bind "$0/name" /etc/hosts
mount -t tmpfs none /var/lib
mount --bind "$0/there" "$0/here"
exec "$@"
"""


def _try_all_of_it(folder: Path, mounted: bool, user: int, python: str = sys.executable) -> None:
    for name in ("here/deep", "there/deep", "plain"):
        (folder / name).mkdir(parents=True)
    for name in ("here/inside", "there/inside", "plain/file"):
        (folder / name).write_text(f"{name}\n")
    (folder / "large").write_bytes(bytes(5 << 20))
    path = scenario(folder, [(0, 0), (60_000, 0), (120_000, 0)], SHORTEST, "range_m = 90e3")
    path.chmod(0o644)
    for each in (folder, *folder.rglob("*")):
        os.chown(each, user, user)
    words = [*_as(user), python, "-c", ALL_OF_IT, str(path), str(user), str(mounted)]
    if mounted:
        words = ["unshare", "--mount", "sh", "-c", MOUNTED, str(folder), *words]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=_env())
    assert done.stdout == "all of it\n", done


def _as(user: int) -> list[str]:
    return ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.mark.parametrize("mounted", [False, True], ids=["alone", "mounts-below"])
def test_it_needs_no_root(mounted: bool, open_folder: Path) -> None:
    spaces = ["unshare", "--user", "--map-root-user", "--net", "true"]
    if subprocess.run([*_as(NOBODY), *spaces], check=False).returncode:
        pytest.skip("this machine has no user namespaces for others than root")
    for python in (sys.executable, "/usr/bin/python3"):  # root's own can be closed to others
        words = [*_as(NOBODY), "sh", "-c", 'exec "$0" "$@"', python, "-c", "import headrace.emulator.world"]
        if not subprocess.run(words, env=_env(), cwd="/", check=False).returncode:
            break
    else:
        pytest.skip("others than root have no Python for this environment")
    _try_all_of_it(open_folder, mounted, NOBODY, python)


def test_what_is_mounted_is_seen_in_nodes_and_stays_as_it_is(open_folder: Path) -> None:
    _try_all_of_it(open_folder, mounted=True, user=0)


@pytest.mark.parametrize("program", ["ovs-vswitchd", "ovsdb-server"])
def test_nothing_is_left_of_open_vswitch_when_it_is_killed(program: str, tmp_path: Path) -> None:
    if reason := ovs.available():
        pytest.skip(reason)
    emulation = Emulation(scenario(tmp_path, PAIR, 'phys = 1\nfabric = "ovs"'), hold=True)
    of = household(emulation.pid)
    victims = [pid for pid, _ in of.family if Path(f"/proc/{pid}/comm").read_text().strip() == program]
    assert len(victims) == 1
    os.kill(victims[0], signal.SIGKILL)
    if program == "ovsdb-server":  # without which the switch goes on
        emulation.stop()
    else:
        assert emulation.wait() == "Open vSwitch has ended"
    nothing_left(emulation, of)
