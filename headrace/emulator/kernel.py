"""What the kernel is asked for and Python 3.11 has no name for: namespaces, mounts, the death of a parent."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import re
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from headrace.errors import HeadraceError

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (1 << bit for bit in (17, 26, 27, 28, 29, 30))
"""CLONE_NEW*: kinds of namespaces."""

_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
_MS_NOSUID, _MS_NODEV = 2, 4
_MNT_DETACH = 2
_MOUNT_SETATTR, _MOUNT_ATTR_RDONLY = 442, 1  # the number is that of all architectures
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ROOM = 4 << 20  # bytes of files that are copied of a folder with mounts below
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
_PDEATHSIG, _SET_NAME, _TIMER_SLACK, _SUBREAPER, _IS_SUBREAPER = 1, 15, 29, 36, 37
_SET_SCHEDULER = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
_SLICE_NS = 100_000  # the shortest of Linux
_SIOCETHTOOL, _ETHTOOL_STXCSUM = 0x8946, 0x17


def _call(name: str, what: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise HeadraceError(f"{what}: {os.strerror(ctypes.get_errno())}")


def unshare(kinds: int) -> None:
    """Goes into new namespaces of these kinds; into one of processes only the children go. Raises HeadraceError."""
    _call("unshare", "no namespaces", kinds)


def enter(namespace: int, kind: int) -> None:
    """Goes into the namespace of a file descriptor. Raises HeadraceError."""
    _call("setns", "no way into a namespace", namespace, kind)


def die_with_parent() -> None:
    """Nothing of this process survives who has started it. Raises HeadraceError."""
    _call("prctl", "prctl", _PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)


def set_name(name: str) -> None:
    """What ``ps`` and ``top`` call this process: 15 characters of it. Raises HeadraceError."""
    _call("prctl", "prctl", _SET_NAME, ctypes.c_char_p(name.encode()), 0, 0, 0)


def be_punctual() -> None:
    """This process is woken up when it is due: before all others, or, without the right to that, with short turns
    (Linux 6.12). Raises HeadraceError."""
    _call("prctl", "prctl", _TIMER_SLACK, ctypes.c_ulong(1), 0, 0, 0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        number = _SET_SCHEDULER.get(os.uname().machine)
        if number is not None:
            turns = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, 0, 0, _SLICE_NS, 0, 0)
            ctypes.CDLL(None).syscall(ctypes.c_long(number), 0, turns, 0)


def no_ipv6() -> None:
    """Interfaces of this network say nothing by themselves."""
    for name in ("all", "default"):
        path = Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
        if path.exists():
            path.write_text("1")


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """Whose parent dies becomes this process's child meanwhile, if this is its ancestor. Raises HeadraceError."""
    before = ctypes.c_int()
    _call("prctl", "prctl", _IS_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    _call("prctl", "prctl", _SUBREAPER, ctypes.c_ulong(1), 0, 0, 0)
    try:
        yield
    finally:
        _call("prctl", "prctl", _SUBREAPER, ctypes.c_ulong(before.value), 0, 0, 0)


def map_to_root() -> None:
    """In a new user namespace this user is root. Raises HeadraceError where the machine doesn't allow one."""
    user, group = os.geteuid(), os.getegid()
    try:
        unshare(NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    except (HeadraceError, OSError):
        raise HeadraceError(
            "no permission: this machine lets only root have namespaces (user namespaces are closed to other users)"
        ) from None


def private_mounts() -> None:
    """What is mounted from now on, others don't see. Raises HeadraceError."""
    _call("mount", "no mounts of its own", b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None)


def mount(kind: str, where: Path | str, options: str = "", flags: int = _MS_NOSUID | _MS_NODEV) -> None:
    """Mounts a new file system. Raises HeadraceError."""
    arguments = (kind.encode(), os.fsencode(where), kind.encode(), ctypes.c_ulong(flags), options.encode() or None)
    _call("mount", f"mount {kind} on {where}", *arguments)


def bind(source: Path, where: Path | str, whole: bool = False) -> None:
    """Makes a folder appear in another place; ``whole``: with what is mounted in it. Raises HeadraceError."""
    flags = _MS_BIND | (_MS_REC if whole else 0)
    arguments = (os.fsencode(source), os.fsencode(where), None, ctypes.c_ulong(flags), None)
    _call("mount", f"bind {where}", *arguments)


def overlay(where: Path | str, kept: Path) -> None:
    """What is written below a folder, also where something is mounted, goes into ``kept``, a folder of a tmpfs. Raises
    HeadraceError."""
    where, upper, work = Path(where).resolve(), kept / "upper", kept / "work"
    for folder in (upper, work):
        folder.mkdir(parents=True, exist_ok=True)
    _be_like(upper, where.stat())
    if below := [place for place in _mounted() if where in place.parents]:
        _fill(upper, where, work, below)
        bind(upper, where, whole=True)
    else:
        _overlay(where, where, upper, work)


def _overlay(where: Path, lower: Path, upper: Path, work: Path) -> None:
    with contextlib.ExitStack() as stack:
        names = []  # without the commas and colons that paths can have
        for folder in (lower, upper, work):
            opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
            stack.callback(os.close, opened)
            names.append(f"/proc/self/fd/{opened}")
        mount("overlay", where, "lowerdir={},upperdir={},workdir={},userxattr".format(*names))


def _mounted() -> list[Path]:
    """Where something is mounted."""
    lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    return [Path(os.fsdecode(re.sub(rb"\\([0-7]{3})", _octal, line.split()[4]))) for line in lines]


def _octal(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 8)])


def _fill(upper: Path, lower: Path, work: Path, below: Sequence[Path]) -> None:
    """Makes ``upper`` look like a folder with mounts ``below``: an overlay doesn't show those, and without root the
    kernel takes none over those of others. Its folders are overlays, or filled in turn; its files are copies, or can't
    be written to where that would take much; sockets and FIFOs have nobody at their other end, as in an overlay. What
    is in ``upper`` already stays. Raises HeadraceError."""
    room = _ROOM
    for entry in sorted(os.scandir(lower), key=lambda entry: entry.name):
        place, there = lower / entry.name, upper / entry.name
        try:
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(info.st_mode):
                there.mkdir(exist_ok=True)
            elif os.path.lexists(there):
                continue
            elif stat.S_ISLNK(info.st_mode):
                there.symlink_to(os.readlink(place))
            elif stat.S_ISSOCK(info.st_mode) or stat.S_ISFIFO(info.st_mode):
                os.mknod(there, info.st_mode)
            elif stat.S_ISREG(info.st_mode) and info.st_size <= room and os.access(place, os.R_OK):
                shutil.copy2(place, there)
                room -= info.st_size
            else:
                there.touch()
                _show(place, there)
                continue
            _be_like(there, info)
            if stat.S_ISDIR(info.st_mode):
                _fill_folder(there, place, work / entry.name, below)
        except (FileNotFoundError, PermissionError):  # it has gone meanwhile, or isn't for this user to look at
            continue
        except OSError as error:
            raise HeadraceError(f"{place}: {error.strerror}") from None


def _be_like(path: Path, info: os.stat_result) -> None:
    with contextlib.suppress(OSError):  # without root there are no other owners
        os.chown(path, info.st_uid, info.st_gid, follow_symlinks=False)
    if not stat.S_ISLNK(info.st_mode):
        path.chmod(stat.S_IMODE(info.st_mode))


def _fill_folder(upper: Path, lower: Path, work: Path, below: Sequence[Path]) -> None:
    work.mkdir(parents=True)
    try:
        if any(lower in place.parents for place in below):
            _fill(upper, lower, work, below)
        else:
            _overlay(upper, lower, upper, work)
    except (HeadraceError, PermissionError):  # unreadable, or of a kind that no overlay can be over
        _show(lower, upper)


def _show(source: Path, where: Path) -> None:
    """Makes a file or folder appear in another place, where it can't be written to. Raises HeadraceError."""
    bind(source, where, whole=True)
    read_only = struct.pack("QQQQ", _MOUNT_ATTR_RDONLY, 0, 0, 0)
    arguments = (ctypes.c_long(_MOUNT_SETATTR), _AT_FDCWD, os.fsencode(where), _AT_RECURSIVE, read_only, len(read_only))
    _call("syscall", f"{where} for reading", *arguments)


def change_root(folder: Path) -> None:
    """A folder on which something is mounted becomes /, and what was / before is gone. Raises HeadraceError."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise HeadraceError(f"a root file system of a node is not supported on {os.uname().machine}")
    os.chdir(folder)
    _call("syscall", f"{folder} as /", ctypes.c_long(number), b".", b".")
    _call("umount2", "the machine's /", b".", _MNT_DETACH)
    os.chdir("/")


def batch(
    program: str, lines: Iterable[str], force: bool = False, within: Sequence[str] = (), mounts: int | None = None
) -> None:
    """Runs ``ip`` or ``tc`` once, for many commands. ``force``: those that fail don't matter; ``within``: words before
    it, which run it elsewhere; ``mounts``: file descriptor of the mounts where the program is. Raises HeadraceError
    with the first command that fails and what is said of it."""
    given = list(lines)
    if not given:
        return
    words = [*within, program, *(["-force"] if force else []), "-batch", "-"]
    before = None if mounts is None else lambda: enter(mounts, NEWNS)
    try:
        done = subprocess.run(
            words, preexec_fn=before, input="\n".join(given) + "\n", capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise HeadraceError(f"{program} is not installed: it is in Debian's iproute2") from None
    if done.returncode and not force:
        said = done.stderr.strip().splitlines() or ["failed"]
        number = next((int(word.partition(":")[2]) for word in said[-1].split() if word.startswith("-:")), 0)
        failed = given[number - 1] if 0 < number <= len(given) else program
        raise HeadraceError(f"{program} {failed}: {said[0].removeprefix('RTNETLINK answers: ')}")


def begin_child() -> None:
    """What a child that Python has forked does first: it dies with its parent, handles signals as usual, and doesn't
    collect what the parent has left, such as a connection that waits for threads which the child hasn't."""
    gc.freeze()
    die_with_parent()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


class Wakeup:
    """In a ``with`` statement, a file that can be read once one of these signals has come; each calls a function."""

    def __init__(self, handlers: Mapping[signal.Signals, Callable[[], None]]) -> None:
        self._handlers = handlers
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._woken = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number, handler in self._handlers.items():
            self._before[number] = signal.signal(number, lambda *_, handler=handler: handler())
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._woken)
        os.close(self._read)
        os.close(self._write)

    def fileno(self) -> int:
        """To be selected."""
        return self._read

    def clear(self) -> None:
        """Forgets the signals so far."""
        try:
            while os.read(self._read, 4096):
                pass
        except BlockingIOError:
            pass


def readable(fd: int) -> bool:
    """Whether a read would not wait: there are data, or the other end has gone."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def ended_children() -> Iterator[tuple[int, int]]:
    """Children that have ended: process and exit code, negative for a signal."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def no_checksum_offload(interface: str) -> None:
    """What an interface sends has its checksums, and is cut to its MTU. Raises HeadraceError."""
    value = ctypes.create_string_buffer(struct.pack("II", _ETHTOOL_STXCSUM, 0))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(value)).ljust(40, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        try:
            fcntl.ioctl(link, _SIOCETHTOOL, request)
        except OSError as error:
            raise HeadraceError(f"{interface}: checksums: {error.strerror}") from None
