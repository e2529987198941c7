# SPDX-License-Identifier: Apache-2.0
"""Those who ask a running card over its control socket: none holds up the card or another."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.card.control import ControlSocket
from headrace.card.lines import MOST
from headrace.cards.switch.service import CONTROL
from headrace.errors import HeadraceError


@pytest.fixture
def control(tmp_path: Path) -> Iterator[ControlSocket]:
    with ControlSocket(CONTROL, str(tmp_path / "control")) as made:
        yield made


def echo(request: dict[str, Any]) -> dict[str, Any]:
    if "wrong" in request:
        raise HeadraceError("that is wrong", 2)
    return {"said": "x" * request["length"]} if "length" in request else request


def joined(control: ControlSocket, data: bytes = b"") -> socket.socket:
    link = socket.socket(socket.AF_UNIX)
    link.connect(str(control.path))
    link.setblocking(False)
    link.sendall(data)
    return link


def heard(link: socket.socket) -> Any:
    """What has been answered; None: nothing yet."""
    try:
        data = link.recv(1 << 20)
    except BlockingIOError:
        return None
    assert data.endswith(b"\n"), data
    return json.loads(data)


def test_who_is_silent_or_slow_holds_up_nobody(control: ControlSocket) -> None:
    silent, slow = joined(control), joined(control, b'{"n":')
    for number in range(3):
        with joined(control, b'{"n": %d}\n' % number) as link:
            assert control.poll(echo) == 1
            assert heard(link) == {"n": number}
            assert link.recv(1) == b""
        slow.send(b" ")
    assert control.poll(echo) == 0
    assert heard(silent) is heard(slow) is None, "they are still there"
    silent.send(b'{"wrong": 1}\n')
    slow.send(b"7}\n")
    assert control.poll(echo) == 2
    assert heard(silent) == {"error": "that is wrong", "exit_code": 2}
    assert heard(slow) == {"n": 7}


def test_who_does_not_read_holds_up_nobody_and_gets_all_in_the_end(control: ControlSocket) -> None:
    with joined(control, b'{"length": 5000000}\n') as late:
        assert control.poll(echo) == 1
        with joined(control, b'{"n": 1}\n') as link:
            assert control.poll(echo) == 1
            assert heard(link) == {"n": 1}
        data = b""
        while not data.endswith(b"\n"):
            data += late.recv(1 << 20)
            control.poll(echo)
        assert json.loads(data) == {"said": "x" * 5_000_000}


def test_of_very_many_the_oldest_go(control: ControlSocket) -> None:
    silent = [joined(control) for _ in range(3)]
    control.poll(echo)
    for _ in range(MOST):
        silent.append(joined(control))
        control.poll(echo)
    with joined(control, b'{"n": 1}\n') as link:
        assert control.poll(echo) == 1
        assert heard(link) == {"n": 1}
    assert [each.recv(1) for each in silent[:4]] == [b""] * 4
    assert heard(silent[4]) is None


@pytest.mark.parametrize(
    "data",
    [b"\n", b"7\n", b"{\n", b"\xff\xfe\n", b"[" * 60_000 + b"\n", b"x" * 70_000, b'{"n": ' + b"1" * 5000 + b"}\n"],
)
def test_what_is_no_request_is_told_and_ends_its_own_session_alone(control: ControlSocket, data: bytes) -> None:
    with joined(control, data) as link, joined(control, b'{"n": 1}\n') as other:
        assert control.poll(echo) == 2
        assert heard(link)["error"] == "not a JSON object in one line"
        assert heard(other) == {"n": 1}


def test_who_goes_without_a_word_leaves_nothing(control: ControlSocket) -> None:
    for data in (b"", b"{", b'{"length": 5000000}\n'):
        joined(control, data).close()
    for _ in range(3):
        control.poll(echo)
    with joined(control, b'{"n": 1}\n') as link:
        assert control.poll(echo) == 1
        assert heard(link) == {"n": 1}
