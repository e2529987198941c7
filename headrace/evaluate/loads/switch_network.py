"""Hosts in network namespaces around a switch that controllers program: who reaches whom, and how fast.

All of it takes root. Waits are for conditions, and as long as a busy machine may take.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from headrace import paths
from headrace.card.control import ask
from headrace.cards.switch.service import CONTROL
from headrace.errors import HeadraceError
from headrace.net import namespaces, netlink
from headrace.net import ovs as open_vswitch
from headrace.net.namespaces import host_behind, ip, own_network
from headrace.net.ovs import BRIDGE

PORTS = (1, 2, 3)
CONTROLLER = 6653
"""The TCP port on which a controller waits for the switch."""
SWITCH = 6654
"""The TCP port on which the switch waits for controllers and tools."""
DATAPATH_ID = 1
PATIENCE_S = 900
"""After so many seconds without what is waited for, it does not come."""
PARAMETERS: Mapping[str, Any] = {"PORTS": 4, "TABLES": 9, "DATA_W": 256, "EXACT": 256, "TERNARY": 64}
"""Of the smallest card on which faucet has its tables. All tests share it, as it takes minutes to build."""

FAUCET = paths.share() / ".venv-faucet/bin/faucet"
TESTCONTROLLER = "ovs-testcontroller"
SIMPLE_SWITCH = paths.share() / "examples/controller/simple_switch.py"

HEADRACE = paths.command()
"""The words that start `headrace`."""

_BYTES = 300_000
_LEAST_FAUCET_FLOWS = 40

Switch = Callable[[Path], AbstractContextManager[None]]


@dataclass(frozen=True)
class Reached:
    """Of so many pairs of hosts, each both ways, those of which three pings are answered, and those that pass 300 kB
    over TCP."""

    pairs: int
    pinged: int
    sent: int


@dataclass(frozen=True)
class Sent:
    """What a card counts of what leaves it."""

    packets: int
    bytes: int


@dataclass(frozen=True)
class Streamed(Sent):
    """What left a card between clients in so much wall time."""

    seconds: float


@dataclass(frozen=True)
class Host:
    """A host: its address without the prefix, and the words that start a program there."""

    address: str
    there: list[str]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a program on it to its end."""
        return subprocess.run(
            [*self.there, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )

    def hears(self, other: Host) -> int:
        """Pings until there is an answer, and gives its TTL. Raises HeadraceError."""
        words = ["ping", "-n", "-c", "1", "-i", "0.2", "-w", str(PATIENCE_S), other.address]
        found = re.search(r" ttl=(\d+) ", self.run(*words).stdout)
        if not found:
            raise HeadraceError(f"no answer from {other.address}")
        return int(found[1])

    def pings(self, other: Host, count: int = 3, wait_s: int = PATIENCE_S, size: int = 56) -> int:
        """How many of so many pings with ``size`` bytes, one after the other, are answered within ``wait_s``."""
        # of several it gives up the last ones early
        words = ["ping", "-n", "-c", "1", "-s", str(size), "-W", str(wait_s), other.address]
        return sum(" 1 received" in self.run(*words).stdout for _ in range(count))

    def sends(self, other: Host, port: int = 5000, wait_s: float = PATIENCE_S) -> bool:
        """Whether 300 kB get to a server on another host over TCP, whole and right."""
        server = [*other.there, sys.executable, "-c", _SERVER, other.address, str(port)]
        with running(server, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"listening\n"
            words = [sys.executable, "-c", _CLIENT, other.address, str(port), str(_BYTES), str(wait_s)]
            found = self.run(*words).stdout
        return found == hashlib.sha256(random.Random(0).randbytes(_BYTES)).hexdigest()


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


def why_not(*programs: str) -> str | None:
    """Why there can be no such network here, or one of these programs is missing; None where all is there."""
    missing = [program for program in ("ping", "ovs-ofctl", *programs) if shutil.which(program) is None]
    return namespaces.why_not() or (f"{missing[0]} is not installed" if missing else None)


def until(condition: Callable[[], object], what: str) -> None:
    """Returns once the condition is true. Raises HeadraceError, with what was waited for, where nothing happens."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise HeadraceError(f"waited in vain for {what}")
        time.sleep(0.02)


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


@contextmanager
def logged(words: Sequence[str], log: Path, **options: object) -> Iterator[Callable[[], bool]]:
    """A program that writes what it says into a file; gives what raises HeadraceError with that once it has ended."""
    with log.open("wb") as file, running(words, stdout=file, stderr=file, **options) as process:

        def alive() -> bool:
            if process.poll() is not None:
                raise HeadraceError(f"{Path(words[0]).name} has ended: {log.read_text().strip()}")
            return True

        yield alive


def ofctl(*words: str) -> str:
    """Runs ``ovs-ofctl`` with OpenFlow 1.3 on the switch: the first word is the command. Gives what it prints."""
    options = [word for word in words if word.startswith("--")]
    command, *rest = (word for word in words if not word.startswith("--"))
    return open_vswitch.ofctl(f"tcp:127.0.0.1:{SWITCH}", command, *rest, *options)


# Switches


@contextmanager
def ovs(folder: Path) -> Iterator[None]:  # noqa: ARG001
    """Open vSwitch in userspace. The other ends of its interfaces are h1, h2, h3."""
    with open_vswitch.open_vswitch("netdev") as switch:
        words = ["set", "bridge", BRIDGE, "protocols=OpenFlow13", f"other_config:datapath-id={DATAPATH_ID:016x}"]
        for port in PORTS:
            netlink.add_pair(f"s{port}", f"h{port}")
            netlink.no_offloads(f"h{port}")  # packets get their checksums at the sender, as on a wire
            netlink.bring_up(f"s{port}")
            words += ["--", "add-port", BRIDGE, f"s{port}", "--", "set", "interface", f"s{port}"]
            words += [f"ofport_request={port}"]
        words += ["--", "set-controller", BRIDGE, f"tcp:127.0.0.1:{CONTROLLER}", f"ptcp:{SWITCH}:127.0.0.1"]
        switch.vsctl(*words)
        yield


@contextmanager
def card(folder: Path, parameters: Mapping[str, Any] = PARAMETERS) -> Iterator[None]:
    """The switch card; its TAP devices are h1, h2, h3."""
    control = ["--controller", f"tcp:127.0.0.1:{CONTROLLER}", "--listen", f"ptcp:{SWITCH}"]
    with _switch_run(folder, PORTS, parameters, control):
        yield


SWITCHES: Mapping[str, Switch] = {"ovs": ovs, "card": card}


@contextmanager
def _switch_run(
    folder: Path,
    ports: Sequence[int],
    parameters: Mapping[str, Any],
    words: Sequence[str],
    headrace: Sequence[str] = HEADRACE,
) -> Iterator[None]:
    """``headrace switch run``, whose control socket is in the folder."""
    control = folder / "control"
    links = [word for port in ports for word in ("--port", f"{port}=tap:h{port}")]
    settings = [word for name, value in parameters.items() for word in ("-P", f"{name}={value}")]
    command = [*headrace, "switch", "run", "--control", str(control), *links, *settings, *words]
    with logged(command, folder / "switch.log") as alive:
        until(lambda: alive() and control.exists(), "the switch")
        yield


@contextmanager
def network(switch: Switch, addresses: Sequence[str]) -> Iterator[list[Host]]:
    """A switch with a host at each of its ports, in a network of their own; addresses with their prefix."""
    with tempfile.TemporaryDirectory() as folder, own_network(), ExitStack() as stack:
        ip("link", "set", "lo", "up")
        stack.enter_context(switch(Path(folder)))
        until(_answers, "the switch's answer")
        yield [
            Host(address.partition("/")[0], stack.enter_context(host_behind(f"h{port}", address)))
            for port, address in enumerate(addresses, start=1)
        ]


@contextmanager
def hosts_at(
    words: Sequence[str],
    parameters: Mapping[str, Any],
    devices: Sequence[str],
    headrace: Sequence[str] = HEADRACE,
) -> Iterator[tuple[list[Host], str]]:
    """A command of ``headrace`` that runs a card with these TAP devices, and a host behind each; gives the hosts and
    the card's control socket. Raises HeadraceError."""
    with tempfile.TemporaryDirectory() as name, own_network(), ExitStack() as stack:
        control = Path(name) / "control"
        settings = [word for key, value in parameters.items() for word in ("-P", f"{key}={value}")]
        command = [*headrace, *words, "--control", str(control), *settings]
        alive = stack.enter_context(logged(command, Path(name) / "log"))
        until(lambda: alive() and control.exists(), "the card")
        addresses = {device: f"10.0.0.{number}" for number, device in enumerate(devices, 1)}
        yield (
            [
                Host(address, stack.enter_context(host_behind(device, f"{address}/24")))
                for device, address in addresses.items()
            ],
            str(control),
        )


def _answers() -> bool:
    try:
        socket.create_connection(("127.0.0.1", SWITCH)).close()
    except ConnectionRefusedError:
        return False
    return True


# Controllers


@dataclass(frozen=True)
class Controlled:
    """A controller: the addresses that it has hosts have, their routers, and how it is started."""

    name: str
    addresses: tuple[str, str, str]
    start: Callable[[Path], AbstractContextManager[None]]
    routers: Sequence[str] = ()
    programs: Sequence[str] = ()  # that must be installed


@contextmanager
def _by_ofctl(folder: Path) -> Iterator[None]:
    flows = folder / "flows"
    flows.write_text(
        "".join(f"ip,nw_dst=10.0.0.{port},actions=output:{port}\n" for port in PORTS) + "arp,actions=ALL\n"
    )
    ofctl("add-flows", str(flows))
    yield


@contextmanager
def _by_simple_switch(folder: Path) -> Iterator[None]:
    command = [sys.executable, str(SIMPLE_SWITCH), str(CONTROLLER)]
    with logged(command, folder / "controller.log") as alive:
        until(lambda: alive() and "CONTROLLER" in ofctl("dump-flows"), "the controller's flow")
        yield


@contextmanager
def _by_testcontroller(folder: Path) -> Iterator[None]:
    """Which has all packets come to it, and sends each on."""
    words = ["-O", "OpenFlow13", "--noflow", f"--unixctl={folder}/unixctl", f"ptcp:{CONTROLLER}:127.0.0.1"]
    with logged([TESTCONTROLLER, *words], folder / "controller.log") as alive:
        until(lambda: alive() and "CONTROLLER" in ofctl("dump-flows"), "the controller's flow")
        yield


FAUCET_CONFIG = f"""
acls:
  no-5001:
    - rule: {{dl_type: 0x800, nw_proto: 6, tcp_dst: 5001, actions: {{allow: 0}}}}
    - rule: {{actions: {{allow: 1}}}}
vlans:
  office: {{vid: 100, faucet_mac: "0e:00:00:00:01:00", faucet_vips: [10.0.1.254/24]}}
  lab: {{vid: 200, faucet_mac: "0e:00:00:00:02:00", faucet_vips: [10.0.2.254/24]}}
routers:
  between: {{vlans: [office, lab]}}
dps:
  switch:
    dp_id: {DATAPATH_ID}
    hardware: Open vSwitch
    interfaces:
      1: {{native_vlan: office, acls_in: [no-5001]}}
      2: {{native_vlan: office}}
      3: {{native_vlan: lab}}
"""


@contextmanager
def _by_faucet(folder: Path) -> Iterator[None]:
    """Its log is ``faucet.log`` in the folder. Raises HeadraceError where it has found something wrong."""
    (folder / "faucet.yaml").write_text(FAUCET_CONFIG)
    log, wrong = folder / "faucet.log", folder / "exception.log"
    environment = {
        "FAUCET_CONFIG": str(folder / "faucet.yaml"),
        "FAUCET_LOG": str(log),
        "FAUCET_EXCEPTION_LOG": str(wrong),
        "FAUCET_EVENT_SOCK": "0",
        "PATH": os.pathsep.join((str(FAUCET.parent), os.environ["PATH"])),
    }
    command = [str(FAUCET), "--ryu-ofp-tcp-listen-port", str(CONTROLLER)]
    with logged(command, folder / "controller.log", env=environment) as alive:
        until(lambda: alive() and ofctl("dump-flows").count("table=") >= _LEAST_FAUCET_FLOWS, "faucet's flows")
        yield
    if "OFError" in log.read_text() or (wrong.exists() and wrong.read_text()):
        raise HeadraceError(f"faucet says: {log.read_text()}")


_ONE_NETWORK = ("10.0.0.1/24", "10.0.0.2/24", "10.0.0.3/24")
OFCTL = Controlled("ovs-ofctl", _ONE_NETWORK, _by_ofctl)
ALL_BY_CONTROLLER = Controlled(TESTCONTROLLER, _ONE_NETWORK, _by_testcontroller, programs=(TESTCONTROLLER,))
LEARNING = Controlled("os-ken's simple switch", _ONE_NETWORK, _by_simple_switch)
ROUTING = Controlled(
    "faucet with 2 VLANs, a router and an ACL",
    ("10.0.1.1/24", "10.0.1.2/24", "10.0.2.3/24"),
    _by_faucet,
    ("10.0.1.254", "10.0.1.254", "10.0.2.254"),
    (str(FAUCET),),
)
CONTROLLERS = (OFCTL, LEARNING, ROUTING)


@contextmanager
def controlled(controller: Controlled, switch: Switch = card) -> Iterator[list[Host]]:
    """A network whose switch a controller programs."""
    with tempfile.TemporaryDirectory() as folder, network(switch, controller.addresses) as hosts:
        for host, router in zip(hosts, controller.routers, strict=False):
            host.run("ip", "route", "add", "default", "via", router)
        with controller.start(Path(folder)):
            yield hosts


def reached(hosts: Sequence[Host]) -> Reached:
    """Who reaches whom, once they are known: a router drops what comes for a host that it still looks for."""
    pairs = list(permutations(hosts, 2))
    for one, other in pairs:
        one.hears(other)
    pinged = sum(one.pings(other) == 3 for one, other in pairs)
    return Reached(len(pairs), pinged, sum(one.sends(other) for one, other in pairs))


# iperf3

SMALLEST = ("-u", "-b", "0", "-l", "18")
"""As iperf3's options: UDP packets of 60 bytes, 64 with their FCS, as many as go."""


CUBIC = ("-C", "cubic")
"""As iperf3's options: TCP with Linux's own choice of congestion control, whatever a machine has set instead."""


def iperf(
    seconds: int,
    parameters: Mapping[str, Any],
    *options: str,
    headrace: Sequence[str] = HEADRACE,
    counted: Callable[[str], Sent] | None = None,
) -> Streamed:
    """What iperf3 sends through a switch card between two hosts, with a flow each way, as ``streamed``. ``counted``:
    ``sent``, unless given."""
    with tempfile.TemporaryDirectory() as name, own_network(), ExitStack() as stack:
        folder = Path(name)
        (folder / "flows").write_text("in_port=1,actions=output:2\nin_port=2,actions=output:1\n")
        stack.enter_context(_switch_run(folder, (1, 2), parameters, ["--flows", str(folder / "flows")], headrace))
        client, server = (
            Host(f"10.0.0.{port}", stack.enter_context(host_behind(f"h{port}", f"10.0.0.{port}/24"))) for port in (1, 2)
        )
        return streamed(client, server, lambda: (counted or sent)(str(folder / "control")), seconds, *options)


def streamed(client: Host, server: Host, counted: Callable[[], Sent], seconds: int, *options: str) -> Streamed:
    """What a card has sent, as it counts, while iperf3 had a TCP connection from one host to another for so many
    seconds of wall time; ``options`` of iperf3 make it something else. Raises HeadraceError."""
    words = [*server.there, "iperf3", "-s", "-1"]
    with running(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        until(lambda: ":5201" in server.run("ss", "-tln").stdout, "iperf3's server")
        before, start = counted(), time.monotonic()
        done = client.run("iperf3", "-c", server.address, "-t", str(seconds), "-J", *options)
        after, end = counted(), time.monotonic()
    if error := json.loads(done.stdout).get("error"):
        raise HeadraceError(f"iperf3: {error}")
    return Streamed(after.packets - before.packets, after.bytes - before.bytes, end - start)


def sent(control: str) -> Sent:
    """What all ports of a running switch have sent."""
    ports = ask(CONTROL, control, {"command": "stats"})["ports"]
    return Sent(sum(port["tx_packets"] for port in ports), sum(port["tx_bytes"] for port in ports))
