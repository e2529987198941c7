"""A node: processes, network, mounts and host name of its own. Its first process starts what runs in it.

What a node's programs write to /etc, /tmp and /var is the node's, and goes with it; /run is empty at first, but for
``/run/headrace``: ``links.json`` (the node's links at the moment) and the programs' output, ``NAME.log``.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.emulator import kernel
from headrace.emulator.processes.starting import start_components, start_load
from headrace.emulator.scenario import address, address6, mac
from headrace.errors import HeadraceError

_LONGEST = 1 << 20
_NOT_STARTED = 127  # a program's exit code
_MADE = ("dev", "etc", "proc", "run", "sys", "tmp", "var")
_COPIES = ("/etc", "/tmp", "/var")
_SETTINGS = {
    "ipv4/ip_forward": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
    "ipv4/conf/all/send_redirects": "0",
    "ipv4/conf/default/send_redirects": "0",
    "ipv4/ping_group_range": "0 0",
    "ipv6/conf/all/forwarding": "1",
    "ipv6/conf/default/accept_dad": "0",
    "ipv6/conf/default/router_solicitations": "0",
}


class Node:
    """A node as the controller sees it. ``ends``: the exit codes of programs that have ended, by name."""

    def __init__(self, index: int, name: str, folder: Path, hosts: str, root: Path | None = None) -> None:
        """Starts its first process, which says when it is ready. ``folder``: of its files; ``hosts``: /etc/hosts;
        ``root``: the folder that is / there, instead of the machine's."""
        self.index, self.name, self.folder = index, name, folder
        for each in ("run/headrace", "run/lock", "etc/upper", "tmp", "var"):
            (folder / each).mkdir(parents=True)
        etc = folder / ("etc/upper" if root is None else "root/upper/etc")
        etc.mkdir(parents=True, exist_ok=True)
        (etc / "hosts").write_text(hosts)
        self.programs: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        self.up = True
        self._link, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for link in (self._link, there):
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        kernel.unshare(kernel.NEWPID)
        self.pid = os.fork()
        if self.pid == 0:
            _first_process(name, folder, root, self._link, there)
        there.close()
        own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        kernel.enter(own, kernel.NEWPID)
        os.close(own)

    @property
    def env(self) -> dict[str, str]:
        """What programs are told by their environment."""
        return {
            "HEADRACE_NODE": self.name,
            "HEADRACE_NUMBER": str(self.index + 1),
            "HEADRACE_ADDRESS": address(self.index),
            "HEADRACE_LINKS": "/run/headrace/links.json",
        }

    def fileno(self) -> int:
        """Readable when a program has ended, or the node."""
        return self._link.fileno()

    def tell(self, what: str, **more: Any) -> None:
        """Asks for something. Raises HeadraceError when the node is gone."""
        try:
            self._link.send(json.dumps({"do": what, **more}).encode())
        except OSError:
            raise self.gone() from None

    def hear(self) -> dict[str, Any]:
        """What it says next. Raises HeadraceError with an error of its, and when it is gone."""
        try:
            data = self._link.recv(_LONGEST)
        except OSError:
            data = b""
        if not data:
            raise self.gone()
        message: dict[str, Any] = json.loads(data)
        if "error" in message:
            raise HeadraceError(f"node {self.name}: {message['error']}")
        return message

    def gone(self) -> HeadraceError:
        """Its first process has ended."""
        self.up = False
        return HeadraceError(f"node {self.name} has died: its first process has ended")

    def write_links(self, links: Sequence[Mapping[str, Any]], time_s: float) -> None:
        """Writes the node's status file anew."""
        path = self.folder / "run/headrace/links.json"
        new = path.with_suffix(".new")
        new.write_text(json.dumps({"time_s": time_s, "links": list(links)}) + "\n")
        new.rename(path)

    def last_line(self, program: str) -> str:
        """That a program has written; empty: none."""
        path = self.folder / f"run/headrace/{program}.log"
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def addresses(node: int, phys: int) -> list[str]:
    """What ``ip`` is told in a node: its own addresses are on the loopback; PHYs have them, too, to speak with."""
    lines = ["link set lo up", f"addr add {address(node)}/32 dev lo", f"addr add {address6(node)}/128 dev lo nodad"]
    for phy in range(phys):
        lines += [f"addr add {address(node)}/32 dev phy{phy}", f"link set phy{phy} up"]
    return lines


def cable(node: Node, port: int, phy: int) -> str:
    """What ``ip`` is told for a PHY: its cable to the fabric."""
    there = f"name phy{phy} address {mac(node.index, phy)} netns {node.pid}"
    return f"link add name p{port} type veth peer {there}"


# ------------------------------------------------------------------------------------------------ in the node


def _first_process(name: str, folder: Path, root: Path | None, other: socket.socket, link: socket.socket) -> None:
    """Process 1 of a node, which does not return."""
    code = 1
    try:
        kernel.begin_child()
        kernel.set_name(name)
        os.setsid()
        other.close()
        try:
            kernel.unshare(kernel.NEWNS | kernel.NEWNET | kernel.NEWUTS | kernel.NEWIPC)
            machine = _settle(name, folder, root)
        except (HeadraceError, OSError) as error:
            _say(link, error=str(error))
            return
        _say(link, ready=True)
        _Init(link, machine).run()
        code = 0
    finally:
        os._exit(code)


def _settle(name: str, folder: Path, root: Path | None) -> int | None:
    """Gives a file descriptor of the machine's mounts, where the node has others."""
    kernel.private_mounts()
    kernel.mount("proc", "/proc")
    for path in _COPIES:
        kernel.overlay(path, folder / path[1:])
    os.chdir("/")
    machine = None
    if root is None:
        kernel.bind(folder / "run", "/run")
    else:
        machine = _go_into(root, folder)
    socket.sethostname(name)
    for setting, value in _SETTINGS.items():
        file = Path("/proc/sys/net") / setting
        if file.exists():
            file.write_text(value)
    return machine


def _go_into(root: Path, folder: Path) -> int:
    """A folder becomes /, with the node's own changes; gives a file descriptor of the machine's mounts."""
    before = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    kernel.unshare(kernel.NEWNS)
    kernel.private_mounts()
    for each in _MADE:
        (folder / "root/upper" / each).mkdir(exist_ok=True)
    kernel.overlay(str(root), folder / "root")
    for each in ("dev", "sys"):
        kernel.bind(Path("/") / each, root / each, whole=True)
    kernel.bind(folder / "run", root / "run")
    kernel.mount("proc", root / "proc")
    kernel.change_root(root)
    return before


def _say(link: socket.socket, **message: Any) -> None:
    link.send(json.dumps(message).encode())


class _Init:
    """Starts programs, says how they end, and buries who has no parent."""

    def __init__(self, link: socket.socket, machine: int | None) -> None:
        """``machine``: its mounts, where the node has others."""
        self._link, self._machine = link, machine
        self._names: dict[int, str] = {}

    def run(self) -> None:
        """Until the controller has gone."""
        with kernel.Wakeup({signal.SIGCHLD: lambda: None}) as wakeup, selectors.DefaultSelector() as selector:
            selector.register(self._link, selectors.EVENT_READ)
            selector.register(wakeup, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                wakeup.clear()
                if self._link in ready:
                    data = self._link.recv(_LONGEST)
                    if not data:
                        return
                    self._do(json.loads(data))
                for pid, code in kernel.ended_children():
                    if pid in self._names:
                        _say(self._link, ended=self._names.pop(pid), code=code)

    def _do(self, request: dict[str, Any]) -> None:
        try:
            match request:
                case {"do": "ip", "lines": lines, "force": force, "answer": answer}:
                    kernel.batch("ip", lines, force, mounts=self._machine)
                    if answer:
                        _say(self._link, done=True)
                case {"do": "plain", "phys": phys}:
                    for phy in range(phys):
                        kernel.no_checksum_offload(f"phy{phy}")
                case {"do": "start", "name": name, "words": words, "env": env, "folder": folder}:
                    self._start(name, words, env, folder)
                case {"do": "components", "seats": seats}:
                    for role, pid in start_components(seats).items():
                        self._names[pid] = role
                        _say(self._link, started=role, pid=pid)
                case {"do": "load"}:
                    pid = start_load()
                    self._names[pid] = "load"
                    _say(self._link, started="load", pid=pid)
                case {"do": "stop"}:
                    for pid in self._names:
                        os.kill(pid, signal.SIGTERM)
                    _say(self._link, stopping=len(self._names))
        except (HeadraceError, OSError) as error:
            _say(self._link, error=str(error))

    def _start(self, name: str, words: Sequence[str], env: Mapping[str, str], folder: str) -> None:
        """One that can't be started has failed as in a shell."""
        with Path(f"/run/headrace/{name}.log").open("wb") as log:
            try:
                process = subprocess.Popen(
                    words,
                    env={**os.environ, **env},
                    cwd=folder if Path(folder).is_dir() else "/",
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except OSError as error:
                log.write(f"{words[0]}: {error.strerror}\n".encode())
                log.flush()  # who hears of the end reads it
                _say(self._link, started=name, pid=0)
                _say(self._link, ended=name, code=_NOT_STARTED)
                return
        self._names[process.pid] = name
        process.returncode = 0  # it is waited for elsewhere
        _say(self._link, started=name, pid=process.pid)
