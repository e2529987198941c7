# SPDX-License-Identifier: Apache-2.0
"""A card's control socket: where it lies, and that nobody else can reach it or stand in for it."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.card import control
from headrace.card.control import ControlSocket, default_path, open_control
from headrace.cards.bridge.service import CONTROL
from headrace.cards.rpu import service as rpu
from headrace.cards.switch import service as switch
from headrace.cli import main
from headrace.errors import HeadraceError

NO_RUNTIME_FOLDER = pytest.mark.skipif(
    Path(f"/run/user/{os.geteuid()}").exists(), reason="this user has a folder in /run/user, which is taken"
)


@pytest.fixture(autouse=True)
def nothing_masked() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for /tmp."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return tmp_path


def test_the_socket_is_the_users_alone_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []

    class Watched(socket.socket):
        def bind(self, address: Any) -> None:
            super().bind(address)
            modes.append(os.stat(address).st_mode & 0o777)

    monkeypatch.setattr(socket, "socket", Watched)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with ControlSocket(CONTROL, None) as link:
        assert link.path == default_path(CONTROL) == tmp_path / "headrace" / "bridge.sock"
        assert link.path.parent.stat().st_mode & 0o777 == 0o700
    assert modes == [0o600]


def test_where_two_cards_with_functions_run_the_command_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    asked: list[str] = []
    with ControlSocket(switch.CONTROL, None), ControlSocket(rpu.CONTROL, None) as other:
        assert main(["vf", "list"]) == 2
        assert "choose one by --control" in capsys.readouterr().err
        monkeypatch.setattr(socket.socket, "sendall", lambda link, _: asked.append(link.getpeername()))
        monkeypatch.setattr(control, "_line", lambda _: b"{}")
        assert main(["vf", "unplug", "0", "--control", str(other.path)]) == 0
    assert asked == [str(other.path)]


@NO_RUNTIME_FOLDER
def test_without_a_folder_for_such_files_one_is_made_that_others_can_not_enter(temporary: Path) -> None:
    assert default_path(CONTROL).is_relative_to(temporary)
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in temporary.rglob("*") if folder.is_dir())


@NO_RUNTIME_FOLDER
def test_a_runtime_folder_that_others_can_enter_is_not_used(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (temporary / "open").mkdir(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(temporary / "open"))
    assert not default_path(CONTROL).is_relative_to(temporary / "open")


@NO_RUNTIME_FOLDER
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("end", [lambda: control.ask(CONTROL, None, {}), lambda: ControlSocket(CONTROL, None)])
def test_a_folder_that_another_user_has_made_first_is_refused(temporary: Path, end: Callable[[], Any]) -> None:
    folder = default_path(CONTROL).parents[1]
    for path in (folder / "headrace", folder):
        os.chown(path, 12345, 12345)
    with pytest.raises(HeadraceError, match="owned by uid 12345.*choose a --control"):
        end()


@pytest.mark.parametrize(("owner", "what"), [(rpu.CONTROL, "the RPU card"), (switch.CONTROL, "the switch")])
def test_a_run_says_where_its_socket_is_and_does_without_one_that_is_anothers(
    owner: control.Owner, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = default_path(owner)
    said: list[str] = []
    with open_control(owner, None, True, said.append) as first:
        assert first is not None and said == [f"ready: {what} is up; control at {path}"]
        with open_control(owner, None, True, said.append) as second:
            assert second is None
        assert said[1:] == [f"no control socket: {owner.title} runs at {path} already: choose another --control"]
        with pytest.raises(HeadraceError, match="runs at"), open_control(owner, str(path), True, said.append):
            pass
    with open_control(owner, None, False, said.append) as quiet:
        assert quiet is not None and len(said) == 2
