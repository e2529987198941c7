"""Open vSwitch in userspace, private to one program: its own database, folder and processes, no kernel datapath.

``Ovs`` starts it, ``Control`` is ``ovs-appctl`` without a new process for each command.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from headrace.errors import HeadraceError

_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
_START_S = 60.0


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
