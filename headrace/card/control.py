"""The control socket of a running card: one line of JSON there, one back."""

from __future__ import annotations

import json
import os
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from headrace.card.lines import Clients
from headrace.card.process import Tell
from headrace.errors import HeadraceError

_LONGEST = 1 << 16  # bytes of a line
_ANSWER_S = 120.0


class Owner(NamedTuple):
    """Whose socket it is: the group of commands, ``headrace NAME run`` of which has it, and what runs there, as in
    "a bridge"."""

    name: str
    title: str

    @property
    def kind(self) -> str:
        """The title without its article."""
        return self.title.partition(" ")[2]


def default_path(owner: Owner) -> Path:
    """In the user's folder for such files, which nobody else may enter. Raises HeadraceError when there is none."""
    from platformdirs import RuntimeDirWarning, user_runtime_path

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeDirWarning)  # $XDG_RUNTIME_DIR isn't such a folder: another is taken
        try:
            return user_runtime_path("headrace", ensure_exists=True) / f"{owner.name}.sock"
        except OSError as error:
            raise HeadraceError(f"{error}: or choose a --control") from None


def is_up(owner: Owner) -> bool:
    """Whether one runs at its usual path."""
    with socket.socket(socket.AF_UNIX) as link:
        return link.connect_ex(str(default_path(owner))) == 0


def ask(owner: Owner, path: str | None, request: dict[str, Any]) -> dict[str, Any]:
    """What a running card answers. Raises HeadraceError when none runs, or with what it says is wrong."""
    where = default_path(owner) if path is None else Path(path)
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(_ANSWER_S)
            link.connect(str(where))
            link.sendall(json.dumps(request).encode() + b"\n")
            answer = _line(link)
    except (FileNotFoundError, ConnectionRefusedError):
        raise HeadraceError(f"no {owner.kind} runs at {where}: start one with headrace {owner.name} run") from None
    except OSError as error:
        raise HeadraceError(f"{where}: {error.strerror or error}") from None
    if not answer:
        raise HeadraceError(f"{where}: the {owner.kind} has ended")
    result: dict[str, Any] = json.loads(answer)
    if "error" in result:
        raise HeadraceError(result["error"], int(result.get("exit_code", 1)))
    return result


class ControlSocket:
    """The card's end. ``poll`` answers whoever has asked; a ``with`` statement removes the socket at the end."""

    def __init__(self, owner: Owner, path: str | None) -> None:
        """Raises HeadraceError when the path is in use or can't be made."""
        self.path = default_path(owner) if path is None else Path(path)
        self._owner = owner
        self._link = socket.socket(socket.AF_UNIX)
        try:
            if self.path.is_socket():
                self._remove_stale()
            before = os.umask(0o177)  # so that there is no moment at which others could connect
            try:
                self._link.bind(str(self.path))
            finally:
                os.umask(before)
        except OSError as error:
            self._link.close()
            raise HeadraceError(f"{self.path}: {error.strerror or error}") from None
        self._link.listen()
        self._clients = Clients(self._link, _LONGEST)

    def _remove_stale(self) -> None:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.path))
            except ConnectionRefusedError:
                self.path.unlink()
                return
        self._link.close()
        raise HeadraceError(f"{self._owner.title} runs at {self.path} already: choose another --control")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._clients.close()
        self.path.unlink(missing_ok=True)

    def fileno(self) -> int:
        """Of what can be read when there is something to do for ``poll``."""
        return self._clients.fileno()

    def poll(self, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
        """Answers those who wait, and says how many; what ``answer`` raises as HeadraceError is told them."""
        return self._clients.serve(lambda request: (answer(request), None))


def asking_at(control: ControlSocket | None) -> list[int]:
    """The descriptors that can be read when somebody asks."""
    return [] if control is None else [control.fileno()]


@contextmanager
def open_control(owner: Owner, path: str | None, live: bool, tell: Tell) -> Iterator[ControlSocket | None]:
    """The control socket of a run; none where it is the usual one (``path`` None) and another run's. ``tell`` gets
    where it is, if the run is live or the path is a given one. Raises HeadraceError as ``ControlSocket``."""
    try:
        made = ControlSocket(owner, path)
    except HeadraceError as error:
        if path is not None:
            raise
        if live:
            tell(f"no control socket: {error}")
        yield None
        return
    with made as control:
        if live or path is not None:
            tell(f"ready: the {owner.kind} is up; control at {control.path}")
        yield control


def _line(link: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        part = link.recv(1 << 16)
        if not part:
            break
        data += part
    return data
