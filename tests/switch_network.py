"""Three hosts on a switch that an OpenFlow controller programs: each host in a network namespace of its own."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import random
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from network import add_pair, host_behind, ip, own_network
from patience import HANG_S, until

from headrace.errors import HeadraceError
from headrace.evaluate.loads.ovs import BRIDGE, open_vswitch

PORTS = (1, 2, 3)
CONTROLLER = 6653
"""The TCP port on which a controller waits for the switch."""
SWITCH = 6654
"""The TCP port on which the switch waits for controllers and tools."""
DATAPATH_ID = 1

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]

_SIOCETHTOOL, _STXCSUM = 0x8946, 0x17


@contextmanager
def ovs() -> Iterator[None]:
    """Open vSwitch in userspace. The other ends of its interfaces are h1, h2, h3."""
    with open_vswitch("netdev") as switch:
        words = ["set", "bridge", BRIDGE, "protocols=OpenFlow13", f"other_config:datapath-id={DATAPATH_ID:016x}"]
        for port in PORTS:
            add_pair(f"s{port}", f"h{port}")
            _checksums_in_software(f"h{port}")  # packets get their checksums at the sender, as on a wire
            words += ["--", "add-port", BRIDGE, f"s{port}", "--", "set", "interface", f"s{port}"]
            words += [f"ofport_request={port}"]
        words += ["--", "set-controller", BRIDGE, f"tcp:127.0.0.1:{CONTROLLER}", f"ptcp:{SWITCH}:127.0.0.1"]
        switch.vsctl(*words)
        yield


@contextmanager
def card() -> Iterator[None]:
    """The switch card; its TAP interfaces are h1, h2, h3."""
    ports = [word for port in PORTS for word in ("--port", f"{port}=tap:h{port}")]
    control = ["--controller", f"tcp:127.0.0.1:{CONTROLLER}", "--listen", f"ptcp:{SWITCH}"]
    with running([*HEADRACE, "switch", "run", *control, *ports]) as process:

        def starts() -> bool:
            assert process.poll() is None, "the switch has ended"
            there = Path("/proc/thread-self/net/dev").read_text()
            return all(f"h{port}:" in there for port in PORTS)

        until(starts, "the switch's interfaces")
        yield


SWITCHES: dict[str, Callable[[], AbstractContextManager[None]]] = {"ovs": ovs}


@contextmanager
def running(words: Sequence[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program, ended after use."""
    process = subprocess.Popen(words, **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _checksums_in_software(interface: str) -> None:
    off = ctypes.create_string_buffer(struct.pack("II", _STXCSUM, 0))
    request = struct.pack("16sP", interface.encode(), ctypes.addressof(off)).ljust(40, b"\0")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCETHTOOL, request)


_SERVER = """
import hashlib, socket, sys
with socket.create_server((sys.argv[1], int(sys.argv[2]))) as server:
    print("listening", flush=True)
    with server.accept()[0] as connection:
        found = hashlib.sha256()
        while data := connection.recv(1 << 16):
            found.update(data)
        connection.sendall(found.digest())
"""
_CLIENT = """
import random, socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[4])) as connection:
    connection.sendall(random.Random(0).randbytes(int(sys.argv[3])))
    connection.shutdown(socket.SHUT_WR)
    sys.stdout.write(connection.recv(32, socket.MSG_WAITALL).hex())
"""
_BYTES = 300_000


@dataclass(frozen=True)
class Host:
    """A host: its address without the prefix, and the words that start a program there."""

    address: str
    there: list[str]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a program on it to its end."""
        return subprocess.run(
            [*self.there, *words], capture_output=True, text=True, check=False, timeout=HANG_S, stdin=subprocess.DEVNULL
        )

    def pings(self, other: Host, count: int = 3, wait_s: int = 10) -> int:
        """How many of so many pings are answered."""
        said = self.run("ping", "-n", "-c", str(count), "-i", "0.2", "-W", str(wait_s), other.address).stdout
        found = re.search(r"(\d+) received", said)
        return int(found[1]) if found else 0

    def ttl(self, other: Host) -> int:
        """The TTL of an answer to a ping."""
        found = re.search(r" ttl=(\d+) ", self.run("ping", "-n", "-c", "3", "-W", "10", other.address).stdout)
        assert found, "no answer"
        return int(found[1])

    def sends(self, other: Host, port: int = 5000, wait_s: float = 120) -> bool:
        """Whether 300 kB get to a server on another host over TCP, whole and right."""
        server = [*other.there, sys.executable, "-c", _SERVER, other.address, str(port)]
        with running(server, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"listening\n"
            words = [sys.executable, "-c", _CLIENT, other.address, str(port), str(_BYTES), str(wait_s)]
            found = self.run(*words).stdout
        return found == hashlib.sha256(random.Random(0).randbytes(_BYTES)).hexdigest()


@contextmanager
def network(switch: str, addresses: Sequence[str]) -> Iterator[list[Host]]:
    """A switch of this name with a host at each of its ports 1, 2, 3; addresses with their prefix."""
    with ExitStack() as stack:
        stack.enter_context(own_network())
        ip("link", "set", "lo", "up")
        stack.enter_context(SWITCHES[switch]())
        hosts = []
        for port, address in zip(PORTS, addresses, strict=True):
            there = stack.enter_context(host_behind(f"h{port}", address))
            hosts.append(Host(address.partition("/")[0], there))
        yield hosts


def ofctl(*words: str) -> str:
    """Runs ``ovs-ofctl`` with OpenFlow 1.3 on the switch: the first word is the command. Gives what it prints."""
    options = [word for word in words if word.startswith("--")]
    command, *rest = (word for word in words if not word.startswith("--"))
    done = subprocess.run(
        ["ovs-ofctl", "-OOpenFlow13", *options, command, f"tcp:127.0.0.1:{SWITCH}", *rest],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )
    if done.returncode:
        raise HeadraceError(f"ovs-ofctl {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
