"""What clients ask a running emulation for: wrong requests, and requests beside programs that end."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from emulator_bench import scenario

from headrace.emulator import control
from headrace.emulator.client import Emulation
from headrace.errors import HeadraceError

pytestmark = pytest.mark.live

LINE = [(0, 0), (100, 0), (200, 0)]
COMMANDS = ["status", "telemetry", "delay-line", "fidelity", "hold", "node", "step", "jam", "traffic", "stream"]
COMMANDS += ["stop-stream", "apart", "load", "hear", "processes", "ask-process", "none", "", None, 7, [], {}]
KEYS = ["on", "node", "links", "target", "targets", "loss", "stream", "nodes", "role", "request", "name", "from", "to"]
KEYS += ["kind", "bytes", "messages", "rate_bps", "duration_s", "source", "destination", "size", "count"]


def value(rng: random.Random, deep: int = 0) -> Any:
    simple = ["n1", "n2", "n1:n2", "n1:phy0", "x", "", "../..", "\0", "n" * 5000, "control", True, False, None]
    numbers = [0, 1, -1, 0.5, 2**63, 10**400, 1e308, float("inf"), float("nan"), -0.0]
    kind = rng.randrange(4 if deep < 2 else 2)
    if kind == 0:
        return rng.choice(simple)
    if kind == 1:
        return rng.choice(numbers)
    if kind == 2:
        return [value(rng, deep + 1) for _ in range(rng.randrange(3))]
    return {rng.choice(KEYS): value(rng, deep + 1) for _ in range(rng.randrange(3))}


def asked(emulation: Emulation, data: bytes) -> Any:
    """What is answered to these bytes; None: nothing."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(control._address(emulation.name))
        link.sendall(data)
        link.shutdown(socket.SHUT_WR)
        answer = b""
        while part := link.recv(1 << 16):
            answer += part
    return json.loads(answer) if answer else None


def test_who_is_silent_holds_up_nobody(tmp_path: Path) -> None:
    with Emulation(scenario(tmp_path, LINE), hold=True) as emulation, socket.socket(socket.AF_UNIX) as silent:
        silent.connect(control._address(emulation.name))
        assert emulation.status()["nodes"]
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.recv(1)  # it is still there, so nobody has waited for it
        silent.setblocking(True)
        silent.sendall(b'{"command": "none"}\n')
        assert b"error" in silent.recv(1 << 16)


ASK = """
import socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect(chr(0) + sys.argv[1])
try:
    link.sendall(b"{}\\n")
    print(link.recv(100).decode())
except OSError:
    print()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_not_answered(tmp_path: Path) -> None:
    """The socket is an abstract one: no file keeps others from it."""
    with Emulation(scenario(tmp_path, LINE), hold=True) as emulation:
        words = ["python3", "-c", ASK, control._address(emulation.name)[1:]]
        for user, answered in ((["setpriv", "--reuid", "65534"], False), ([], True)):
            said = subprocess.run([*user, *words], stdout=subprocess.PIPE, text=True, check=True).stdout
            assert ("error" in said, said == "\n") == (answered, not answered)


def test_wrong_requests_end_their_own_session(tmp_path: Path) -> None:
    rng = random.Random(29)
    with Emulation(scenario(tmp_path, LINE, 'phys = 2\nrouting = "shortest"'), hold=True) as emulation:
        for data in (b"", b"\n", b"{", b"[]\n", b"7\n", b"\xff\xfe\n", b"[" * 200_000 + b"\n", b'{"command": "status"'):
            answer = asked(emulation, data)
            assert answer is None or answer["error"] == "not a JSON object in one line", data[:30]
        wrong = 0
        for _ in range(2000):
            request = {rng.choice(KEYS): value(rng) for _ in range(rng.randrange(6))}
            request["command"] = rng.choice(COMMANDS)
            answer = asked(emulation, json.dumps(request).encode() + b"\n")
            assert answer is not None, request
            wrong += "error" in answer
            assert "\n" not in answer.get("error", "") and "Traceback" not in answer.get("error", ""), request
        assert wrong > 1000
        emulation.jam(["n1", "n2", "n3"], 0)
        status = emulation.status()
        assert [link["nodes"] for link in status["links"]] == [["n1", "n2"], ["n2", "n3"]]


def test_a_program_that_fails_while_a_request_waits_ends_the_emulation(tmp_path: Path) -> None:
    """Each step jams or frees a link, so that routes change and nodes are waited for."""
    path = scenario(tmp_path, LINE, 'routing = "shortest"\nphys = 2')
    wait = "until test -e /run/headrace/go; do sleep 0.01; done; echo no luck; exit 3"
    path.write_text(path.read_text() + f'[programs.bad]\ncommand = "sh -c \'{wait}\'"\nnodes = ["n2"]\n')
    emulation = Emulation(path, hold=True)
    emulation.run("n2", ["touch", "/run/headrace/go"])
    with pytest.raises(HeadraceError):
        for number in range(100_000):
            try:
                emulation.jam("n1:n2", number % 2)
            except control.Ended:
                raise
            except HeadraceError as error:  # it was this request that heard of it
                assert "program bad has failed with status 3: no luck" in str(error)
    assert "program bad has failed with status 3: no luck" in (emulation.wait() or "")


def test_starts_steps_and_stops_with_programs_that_end_meanwhile(tmp_path: Path) -> None:
    """Programs of all nodes end at moments of the steps; each emulation ends as it is asked to."""
    path = scenario(tmp_path, LINE, 'routing = "shortest"\nphys = 2')
    path.write_text(path.read_text() + "[programs.short]\ncommand = \"sh -c 'sleep 0.0$HEADRACE_NUMBER'\"\n")
    for number in range(10):
        emulation = Emulation(path, hold=True)
        for step in range(number):
            emulation.jam("n1:n2", (step + 1) % 2)
            emulation.step()
        emulation.stop()
        assert emulation.wait() is None
