"""A private Open vSwitch in user space: a process and a database of its own, in a folder that goes with it.

Nothing of a system's Open vSwitch is touched, and the kernel's datapath isn't used.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from headrace.errors import HeadraceError

BRIDGE = "br0"

_PROGRAMS = ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl")
_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_LENGTH = struct.Struct("!H")
_START_S = 60.0


def available() -> str | None:
    """Why there can be no Open vSwitch here; None where there can."""
    missing = [program for program in _PROGRAMS if shutil.which(program, path=_path()) is None]
    if missing:
        return f"Open vSwitch is not installed: no {missing[0]}"
    return None if _SCHEMA.exists() else f"Open vSwitch is not installed: no {_SCHEMA}"


class OpenVSwitch:
    """A running one with a single bridge, whose controllers may speak OpenFlow 1.3 and 1.4 (for bundles)."""

    def __init__(self, folder: Path, process: int, control: socket.socket) -> None:
        self.folder = folder
        self.process = process
        self._control = control

    @property
    def address(self) -> str:
        """Where the bridge listens for OpenFlow, as ovs-ofctl writes it."""
        return f"unix:{self.folder}/{BRIDGE}.mgmt"

    @property
    def cpu_s(self) -> float:
        """Processor time of its threads so far, in seconds."""
        threads = Path(f"/proc/{self.process}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def listen(self) -> str:
        """Lets the bridge listen on a free TCP port of 127.0.0.1; gives that, as ovs-ofctl writes it."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        self.vsctl("set-controller", BRIDGE, f"ptcp:{port}:127.0.0.1")
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return f"tcp:127.0.0.1:{port}"
            except ConnectionRefusedError:
                time.sleep(0.01)
        raise HeadraceError(f"Open vSwitch does not listen on port {port}")

    def vsctl(self, *words: str) -> str:
        """Changes the configuration. Raises HeadraceError with what ovs-vsctl says."""
        return _run("ovs-vsctl", f"--db=unix:{self.folder}/db.sock", *words)

    def appctl(self, method: str, *words: str) -> str:
        """Has the daemon do what ovs-appctl would. Raises HeadraceError with its error."""
        _ask(self._control, method, *words)
        return _answer(self._control, method)

    @contextmanager
    def appctl_later(self, method: str, *words: str) -> Iterator[None]:
        """Has the daemon begin what ovs-appctl would; at the end of the ``with`` statement waits until it is done."""
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(self._control.getpeername())
            _ask(control, method, *words)
            self.appctl("version")  # it has begun when the daemon answers something that was asked for later
            yield
            _answer(control, method)

    def ofctl(self, command: str, *words: str, text: str | None = None) -> str:
        """Runs ovs-ofctl on the bridge; ``text`` is its file ``-``. Raises HeadraceError with what it says."""
        return ofctl(self.address, command, *words, text=text)

    def forget_flows(self) -> None:
        """Empties the datapath's caches: each packet that comes then is looked up in the tables."""
        self.appctl("revalidator/purge")


def ofctl(address: str, command: str, *words: str, text: str | None = None) -> str:
    """Runs ``ovs-ofctl COMMAND ADDRESS WORDS`` on any switch; ``text`` is its file ``-``.

    Raises HeadraceError with what it says.
    """
    return _run("ovs-ofctl", "-O", "OpenFlow13", command, address, *words, text=text)


def _ask(control: socket.socket, method: str, *words: str) -> None:
    control.sendall(json.dumps({"id": 0, "method": method, "params": words}).encode())


def _answer(control: socket.socket, method: str) -> str:
    text = b""
    while True:
        data = control.recv(1 << 16)
        if not data:
            raise HeadraceError("ovs-vswitchd has ended")
        text += data
        try:
            reply = json.loads(text)
        except json.JSONDecodeError:
            continue  # not all of it
        if reply["error"] is not None:
            raise HeadraceError(f"ovs-vswitchd refuses {method}: {str(reply['error']).strip()}")
        return str(reply["result"])


@contextmanager
def open_vswitch(datapath: str = "dummy") -> Iterator[OpenVSwitch]:
    """Starts one, without ports. ``datapath``: netdev, or dummy for ``StreamPorts``.

    Raises HeadraceError where Open vSwitch isn't installed or doesn't start.
    """
    reason = available()
    if reason:
        raise HeadraceError(reason)
    with tempfile.TemporaryDirectory(prefix="headrace-ovs-") as name, ExitStack() as stack:
        folder = Path(name)
        _run("ovsdb-tool", "create", f"{folder}/conf.db", str(_SCHEMA))
        database = ["ovsdb-server", f"{folder}/conf.db", f"--remote=punix:{folder}/db.sock"]
        stack.enter_context(_daemon([*database, f"--unixctl={folder}/ovsdb.ctl"], folder, folder / "db.sock"))
        _run("ovs-vsctl", f"--db=unix:{folder}/db.sock", "--no-wait", "init")
        daemon = ["ovs-vswitchd", f"unix:{folder}/db.sock", "--disable-system", "--enable-dummy"]
        path = folder / "vswitchd.ctl"
        process = stack.enter_context(_daemon([*daemon, f"--unixctl={path}"], folder, path))
        control = stack.enter_context(socket.socket(socket.AF_UNIX))
        control.connect(str(path))
        switch = OpenVSwitch(folder, process, control)
        versions = "protocols=OpenFlow13,OpenFlow14"
        switch.vsctl(
            "add-br", BRIDGE, "--", "set", "bridge", BRIDGE, f"datapath_type={datapath}", "fail_mode=secure", versions
        )
        yield switch


@contextmanager
def _daemon(words: Sequence[str], folder: Path, ready: Path) -> Iterator[int]:
    """A process that runs until the end, ours too, once it listens at the socket ``ready``; gives its number."""
    log = folder / f"{words[0]}.log"
    places = {f"OVS_{name}DIR": str(folder) for name in ("RUN", "LOG", "DB", "SYSCONF")}
    with log.open("w") as output:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *words],
            env={**os.environ, "PATH": _path(), **places},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        deadline = time.monotonic() + _START_S
        while not _listens(ready):
            if process.poll() is not None or time.monotonic() > deadline:
                lines = log.read_text().splitlines() or ["no output"]
                raise HeadraceError(f"{words[0]} does not start: {lines[-1]}")
            time.sleep(0.005)
        yield process.pid
    finally:
        process.kill()  # its time may stand still
        process.wait()


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as link:
        return link.connect_ex(str(path)) == 0


def _path() -> str:
    """Where programs are, daemons too."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def _run(*words: str, text: str | None = None) -> str:
    """What a program says. Raises HeadraceError when it isn't installed or fails."""
    environment = {**os.environ, "PATH": _path()}
    try:
        done = subprocess.run(words, env=environment, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise HeadraceError(f"Open vSwitch is not installed: no {words[0]}") from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["failed"])[-1]
        raise HeadraceError(f"{words[0]}: {said.removeprefix(f'{words[0]}: ')}")
    return done.stdout


class StreamPorts:
    """Ports 1 to ``count`` of a dummy bridge, whose packets come and go in order, byte for byte, over sockets."""

    def __init__(self, switch: OpenVSwitch, count: int) -> None:
        words: list[str] = []
        for port in range(1, count + 1):
            path = switch.folder / f"p{port}.sock"
            options = ["type=dummy", f"ofport_request={port}", f"options:pstream=punix:{path}"]
            words += ["--", "add-port", BRIDGE, f"p{port}", "--", "set", "interface", f"p{port}", *options]
        switch.vsctl(*words)
        self._sockets: dict[int, socket.socket] = {}
        self._received: dict[int, bytes] = dict.fromkeys(range(1, count + 1), b"")
        for port in self._received:
            stream = socket.socket(socket.AF_UNIX)
            stream.connect(str(switch.folder / f"p{port}.sock"))
            self._sockets[port] = stream

    def __enter__(self) -> StreamPorts:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in self._sockets.values():
            stream.close()

    def send(self, port: int, packets: Sequence[bytes]) -> None:
        """Packets into a port. It drops what is more than 100 packets ahead of the switch."""
        self._sockets[port].sendall(b"".join(_LENGTH.pack(len(data)) + data for data in packets))

    def receive(self, port: int, timeout_s: float = 0.0) -> list[bytes]:
        """Packets that came out of a port; waits so long for the first ones."""
        stream = self._sockets[port]
        stream.settimeout(timeout_s)
        try:
            self._received[port] += stream.recv(1 << 20)
        except (BlockingIOError, TimeoutError):
            return []
        data, at, found = self._received[port], 0, []
        while at + 2 <= len(data) and at + 2 + (length := _LENGTH.unpack_from(data, at)[0]) <= len(data):
            found.append(data[at + 2 : at + 2 + length])
            at += 2 + length
        self._received[port] = data[at:]
        return found
