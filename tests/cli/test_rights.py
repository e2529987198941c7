# SPDX-License-Identifier: Apache-2.0
"""Root's rights: who goes on, what is kept until interfaces are open, what a program that is started gets."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from headrace.card import process
from headrace.cards.bridge import service, tools
from headrace.cards.bridge.jobs import ReceiveJob, SendJob
from headrace.cards.filter import run as filter_run
from headrace.cards.filter.run import FilterJob, FilterOutput
from headrace.errors import HeadraceError
from headrace.net import bpf

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
mounts = pytest.mark.skipif(shutil.which("unshare") is None, reason="a list of users of the test's own needs unshare")

USER, HOMELESS = 12345, 12346
SCRIPT = """
import json, os, pathlib, socket, subprocess, sys
from headrace.cache import cache_root
from headrace.card import process
from headrace.errors import HeadraceError

def works(action):
    try:
        action()
    except OSError:
        return False
    return True

def state():
    command = ["grep", "-E", "^(Uid|CapEff|CapPrm|CapInh)", "/proc/self/status"]
    child = subprocess.run(command, capture_output=True, text=True)
    return {
        "uid": os.getresuid(), "gid": os.getresgid(), "groups": os.getgroups(), "cache": str(cache_root()),
        "socket": works(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()),
        "read": works(lambda: open(sys.argv[1]).read()),
        "write": works(lambda: open(sys.argv[1], "a").close()),
        "back": works(lambda: os.setuid(0)) and os.getuid() == 0 and os.getresuid() != (0, 0, 0),
        "child": [line.split()[1] for line in child.stdout.splitlines()],
    }

process._can_build = lambda account: sys.argv[3] == "readable"
try:
    process.become(sys.argv[2] or None)
    before = state()
    process.drop_rights()
    process.drop_rights()
    answer = {"open": before, "then": state()}
except HeadraceError as error:
    answer = {"error": str(error)}
print(json.dumps(answer))
"""


def rights(folder: Path, user: str = "", installed: str = "readable", **environment: str) -> dict[str, Any]:
    """What a process can do after ``become``, and after ``drop_rights``, among users of the test's own."""
    home = folder / "home"
    home.mkdir()
    os.chown(home, USER, USER)
    users = folder / "passwd"
    users.write_text(
        f"root:x:0:0::/root:/bin/sh\ntester:x:{USER}:{USER}::{home}:/bin/sh\n"
        f"homeless:x:{HOMELESS}:{HOMELESS}::/nonexistent:/bin/sh\n"
    )
    secret = folder / "secret"
    secret.write_text("")
    secret.chmod(0o600)
    command = ["unshare", "--mount", "sh", "-c", f'mount --bind {users} /etc/passwd && exec "$@"', "sh"]
    clean = {name: value for name, value in os.environ.items() if name not in ("HEADRACE_CACHE", "SUDO_UID")}
    clean |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "XDG_CACHE_HOME": "/root/elsewhere", **environment}
    done = subprocess.run(
        [*command, sys.executable, "-P", "-c", SCRIPT, str(secret), user, installed],
        env=clean,
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@root
@mounts
@pytest.mark.parametrize("how", [{"user": "tester"}, {"SUDO_UID": str(USER)}, {"user": "tester", "SUDO_UID": "12346"}])
def test_a_user_with_a_home_is_taken_on_before_anything_is_built(open_folder: Path, how: dict[str, str]) -> None:
    found = rights(open_folder, **how)
    for state in found.values():
        assert (state["uid"], state["gid"], state["groups"]) == ([USER] * 3, [USER] * 3, [USER])
        assert state["cache"] == str(open_folder / "home/.cache/headrace")
        assert state["child"] == [str(USER), *["0" * 16] * 3]  # the compiler has no rights of root's
        assert not state["write"] and not state["back"]
    assert (found["open"]["socket"], found["open"]["read"]) == (True, True)
    assert (found["then"]["socket"], found["then"]["read"]) == (False, False)


@root
@mounts
@pytest.mark.parametrize(
    "user, uid, installed", [("homeless", HOMELESS, "readable"), ("tester", USER, "in root's home")]
)
def test_an_account_that_can_not_build_is_taken_on_once_interfaces_are_open(
    open_folder: Path, user: str, uid: int, installed: str
) -> None:
    found = rights(open_folder, user, installed)
    assert found["open"]["uid"] == [0, 0, 0] and found["open"]["cache"] == "/root/elsewhere/headrace"
    then = found["then"]
    assert (then["uid"], then["gid"], then["groups"]) == ([uid] * 3, [uid] * 3, [uid])
    assert not (then["socket"] or then["read"] or then["write"] or then["back"])
    assert then["child"] == [str(uid), *["0" * 16] * 3]


@root
@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_who_can_not_read_the_installation_can_not_build(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    python = open_folder / "python"
    python.write_text('#!/bin/sh\ntest "$(id -u) $(id -G)" = "65534 65534"\n')
    python.chmod(mode)
    monkeypatch.setattr(sys, "executable", str(python))
    assert process._can_build(pwd.getpwnam("nobody")) is (mode == 0o755)


@root
@mounts
@pytest.mark.parametrize(
    "how",
    [
        {"user": "root", "SUDO_UID": str(USER)},
        {"SUDO_UID": str(USER), "installed": "in root's home"},
        {"SUDO_UID": str(HOMELESS)},
        {"SUDO_UID": "0"},
        {},
    ],
)
def test_root_stays_root_where_that_is_wished_or_nobody_else_is_there(open_folder: Path, how: dict[str, str]) -> None:
    found = rights(open_folder, **how)
    assert all(state["uid"] == [0, 0, 0] and state["socket"] and state["write"] for state in found.values())


@root
@mounts
@pytest.mark.parametrize(
    "how, error",
    [({"user": "nosuch"}, "-Z nosuch: no such user"), ({"SUDO_UID": "777"}, "SUDO_UID=777: no such user")],
)
def test_a_user_that_there_is_not_is_an_error(open_folder: Path, how: dict[str, str], error: str) -> None:
    assert rights(open_folder, **how) == {"error": error}


# When the rest is given up


class Done(Exception):
    """The card would run now."""


RUNS: dict[str, Callable[[str], Any]] = {
    "filter": lambda out: filter_run.run_filter(FilterJob([FilterOutput(bpf.compile("ip"), out)], "iface:lo")),
    "measure": lambda _out: next(filter_run.run_measure(bpf.compile("ip"), "iface:lo")),
    "bridge recv": lambda out: tools.receive(ReceiveJob(link="iface:lo", output=out)),
    "bridge send": lambda out: tools.send(SendJob(sink="tap:t0", output=out)),
    "bridge run": lambda out: service.run(service.RunJob(links=("iface:lo", "tap:t0"), sinks=(f"pcap:{out}", None))),
}


@pytest.mark.parametrize("name", RUNS)
def test_rights_end_when_interfaces_are_open_and_before_files_are(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    happened: list[str] = []
    card = MagicMock()
    card.__enter__.return_value = card
    card.source.side_effect = lambda _port, link, **_: happened.append(link)
    card.sink.side_effect = lambda _port, link, *_, **__: happened.append(link)
    card.capture_format.return_value = (bpf.DLT_EN10MB,)
    card.ports, card.clock_hz = 2, 1e9
    card.description.data_width.return_value = 64
    card.run.side_effect = Done
    for module in (filter_run, tools, service):
        monkeypatch.setattr(module, "driver_of", lambda _card: MagicMock())
        monkeypatch.setattr(module, "drop_rights", lambda: happened.extend(["dropped"] + ["early"] * out.exists()))
        opener = "open_filter_card" if module is filter_run else "open_bridge_card"
        monkeypatch.setattr(module, opener, lambda *_, **__: card)
    monkeypatch.setattr(tools, "Host", MagicMock(return_value=MagicMock(run=MagicMock(side_effect=Done))))
    with pytest.raises((Done, HeadraceError)):
        RUNS[name](str(out))
    assert happened.count("dropped") == 1 and "early" not in happened
    end = happened.index("dropped")
    assert [link for link in happened[:end] if link != "null"] and all("pcap:" not in link for link in happened[:end])
    assert all(link in ("null", f"pcap:{out}") for link in happened[end + 1 :])
