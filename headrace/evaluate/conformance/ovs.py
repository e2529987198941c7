"""Open vSwitch in userspace, private to one program: its own database, folder and processes, no kernel datapath.

``Ovs`` starts it; ``OvsDevice`` is a bridge of it with ports that exist in memory only, as OVS's own tests use them.
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
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from headrace.errors import HeadraceError
from headrace.evaluate.conformance.device import PORTS
from headrace.evaluate.conformance.openflow import Connection, datapath, ofp, parser

_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
_START_S = 60.0
_MAX_QUEUE = 64  # packets that a port of the dummy datapath surely holds
_STEP_MS = 100  # its time goes on so much at once: each step takes it 10 ms, and its meters' buckets hold 1 s
_RECORD = struct.Struct("=IIII")


class Ovs:
    """A private Open vSwitch, until it is closed. Raises HeadraceError where it is not installed or does not start."""

    def __init__(self, *options: str) -> None:
        if not _SCHEMA.exists() or shutil.which("ovs-vswitchd", path=_PATH) is None:
            raise HeadraceError("Open vSwitch is not installed: Debian's package is openvswitch-switch")
        self.folder = Path(tempfile.mkdtemp(prefix="headrace-ovs-"))
        self._environment = dict(os.environ, PATH=_PATH) | {
            f"OVS_{name}DIR": str(self.folder) for name in ("RUN", "LOG", "DB", "SYSCONF")
        }
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            self._start(options)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Ovs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends it and removes its folder."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, *words: str) -> str:
        """Runs one of OVS's programs on it. Gives what it prints; raises HeadraceError with its error."""
        done = subprocess.run(words, env=self._environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise HeadraceError(f"{words[0]} fails: {done.stderr.strip()}")
        return done.stdout

    def _start(self, options: Sequence[str]) -> None:
        database = self.folder / "db.sock"
        self.command("ovsdb-tool", "create", str(self.folder / "conf.db"), str(_SCHEMA))
        self._spawn("ovsdb-server", f"--remote=punix:{database}", str(self.folder / "conf.db"))
        self._wait_for(database.exists)
        self.command("ovs-vsctl", "--no-wait", "init")
        # 0: as many VLAN tags as it can.
        self.command("ovs-vsctl", "--no-wait", "set", "Open_vSwitch", ".", "other_config:vlan-limit=0")
        self._spawn("ovs-vswitchd", "--disable-system", *options, f"unix:{database}")
        self._wait_for(lambda: any(self.folder.glob("ovs-vswitchd.*.ctl")))

    def _spawn(self, program: str, *words: str) -> None:
        quiet = ["-vconsole:off", f"--log-file={self.folder / program}.log"]
        command = ["setpriv", "--pdeathsig", "KILL", program, *quiet, *words]
        self._processes.append(subprocess.Popen(command, env=self._environment, stdin=subprocess.DEVNULL))

    def _wait_for(self, condition: Any) -> None:
        deadline = time.monotonic() + _START_S
        while not condition():
            if time.monotonic() > deadline or self._processes[-1].poll() is not None:
                raise HeadraceError("Open vSwitch does not start")
            time.sleep(0.02)


class Control:
    """The socket on which ovs-vswitchd takes what ``ovs-appctl`` sends."""

    def __init__(self, ovs: Ovs) -> None:
        (path,) = ovs.folder.glob("ovs-vswitchd.*.ctl")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(path))

    def close(self) -> None:
        """Hangs up."""
        self._socket.close()

    def __call__(self, method: str, *words: str) -> str:
        """Carries out a command. Gives its output; raises HeadraceError with its error."""
        self._socket.sendall(json.dumps({"id": 0, "method": method, "params": words}).encode())
        text = b""
        while True:
            data = self._socket.recv(1 << 16)
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


class OvsDevice:
    """A bridge with three ports in memory. Its time is the wall's, or stands still and goes on with loads only."""

    def __init__(self, own_time: bool = True) -> None:
        self._ovs = Ovs("--enable-dummy")
        try:
            version = self._ovs.command("ovs-vswitchd", "--version").split("\n")[0].split()[-1]
            self.name = f"Open vSwitch {version}"
            words = ["--", "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=dummy", "fail_mode=secure"]
            words += ["protocols=OpenFlow13", "other_config:datapath-id=0000000000000001"]
            for port in PORTS:
                words += ["--", "add-port", "br0", f"p{port}", "--", "set", "interface", f"p{port}", "type=dummy"]
                words += [f"ofport_request={port}", f"options:tx_pcap={self._pcap(port)}"]
            self._ovs.command("ovs-vsctl", *words)
            self._control = Control(self._ovs)
            self._counts = Connection(self.connect())
            self._outputs = {port: self._pcap(port).open("rb") for port in PORTS}
        except BaseException:
            self._ovs.close()
            raise
        for output in self._outputs.values():
            output.seek(24)  # the file's header
        self._sent = 0
        self._behind_ns = 0.0  # of the load's time, what has not passed yet
        if own_time:
            self._control("time/stop")

    def __enter__(self) -> OvsDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends it."""
        for output in self._outputs.values():
            output.close()
        self._counts.close()
        self._control.close()
        self._ovs.close()

    def connect(self) -> socket.socket:
        """A stream to the bridge."""
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect(str(self._ovs.folder / "br0.mgmt"))
        return stream

    def send(self, port: int, frames: Sequence[bytes], every_ns: float = 0) -> None:
        """Frames come in at a port. With ``every_ns`` its own time goes on, in steps."""
        for start in range(0, len(frames), _MAX_QUEUE):
            if start:
                self.settle()
            some = frames[start : start + _MAX_QUEUE]
            self._control("netdev-dummy/receive", f"p{port}", *(frame.hex() for frame in some))
            self._sent += len(some)
            self._behind_ns += every_ns * len(some)
        if self._behind_ns >= _STEP_MS * 1e6:
            self.settle()
            self._control("time/warp", str(int(self._behind_ns // 1e6)))
            self._behind_ns %= 1e6

    def settle(self) -> None:
        """Its ports count a packet when they hand it over, and it is through before the count is asked for."""
        request = parser.OFPPortStatsRequest(datapath, 0, ofp.OFPP_ANY)
        while sum(port.rx_packets for port in self._counts.statistics(request) if port.port_no in PORTS) < self._sent:
            pass

    def received(self, port: int) -> list[bytes]:
        """The records of the port's file since last time."""
        output, frames = self._outputs[port], []
        while len(header := output.read(_RECORD.size)) == _RECORD.size:
            frames.append(output.read(_RECORD.unpack(header)[2]))
        return frames

    def enforce(self) -> None:
        """It answers a barrier before its datapath has changed: here the datapath forgets its cache."""
        self._control("revalidator/purge")

    def _pcap(self, port: int) -> Path:
        return self._ovs.folder / f"p{port}.pcap"
