"""Clients of a switch card's functions, all at once: DPDK's testpmd, QEMU guests with a stock kernel, and hosts in
network namespaces."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from headrace.evaluate.loads import guest, switch_network
from headrace.evaluate.loads.guest import Guest
from headrace.evaluate.loads.switch_network import Host, logged, until
from headrace.net import netlink
from headrace.net.namespaces import host_behind, ip, own_network

PARAMETERS: Mapping[str, Any] = {
    "PORTS": 1, "DATA_W": 256, "TABLES": 1, "EXACT": 16, "TERNARY": 64, "NARROW": 1, "PROGRAM_WORDS": 1024,
    "METERS": 16,
}  # fmt: skip
TESTPMD = "dpdk-testpmd"

T = TypeVar("T")


@dataclass(frozen=True)
class Clients:
    """The clients of a card, by function: first hosts, then guests, last testpmd; of that the address, where it is
    there."""

    hosts: list[Host]
    guests: list[Guest]
    testpmd: str | None


@dataclass(frozen=True)
class Met:
    """Of so many pairs of clients, those of which one pings the other, and of so many that can, those with TCP."""

    pairs: int
    pinged: int
    streams: int
    sent: int


def why_not() -> str | None:
    """Why not all of these clients can be here; None where they can."""
    if reason := switch_network.why_not() or guest.why_not():
        return reason
    return no_testpmd()


def no_testpmd() -> str | None:
    """Why there is no testpmd here; None where it is."""
    return None if shutil.which(TESTPMD) else f"{TESTPMD} is not installed"


def mac(function: int) -> str:
    """Of who is behind a function."""
    return f"02:00:00:00:00:{function:02x}"


def address(function: int) -> str:
    """Of who is behind a function."""
    return f"10.9.0.{function + 1}"


@contextmanager
def clients(hosts: int, guests: int, testpmd: bool, parameters: Mapping[str, Any] = PARAMETERS) -> Iterator[Clients]:
    """A running card with so many functions and what is behind them, in a network of their own. Raises
    HeadraceError."""
    count = hosts + guests + testpmd
    with tempfile.TemporaryDirectory() as name, own_network(), ExitStack() as stack:
        folder = Path(name)
        ip("link", "set", "lo", "up")
        control, flows = folder / "control", folder / "flows"
        flows.write_text("".join(_flows(count - testpmd, count, parameters["PORTS"] + 1)))
        links = [f"vf:{n}=tap:h{n}" for n in range(hosts)]
        links += [f"vf:{n}=vhost:{folder}/vf{n}" + ",trusted" * (n >= hosts + guests) for n in range(hosts, count)]
        words = [word for link in links for word in ("--port", link)]
        words += [word for key, value in parameters.items() for word in ("-P", f"{key}={value}")]
        command = [*switch_network.HEADRACE, "switch", "run", "--control", str(control), "--flows", str(flows)]
        alive = stack.enter_context(logged([*command, *words], folder / "switch.log"))
        until(lambda: alive() and control.exists(), "the switch")
        found = Clients(
            [stack.enter_context(_host(n)) for n in range(hosts)],
            [
                stack.enter_context(guest.guest(folder / f"vf{n}", mac(n), f"{address(n)}/24"))
                for n in range(hosts, hosts + guests)
            ],
            address(count - 1) if testpmd else None,
        )
        if testpmd:
            start_testpmd(
                stack, {count - 1: folder / f"vf{count - 1}"}, folder / "testpmd.log", "--forward-mode=icmpecho"
            )
            for n, host in enumerate(found.hosts):
                host.run("ip", "neigh", "add", address(count - 1), "lladdr", mac(count - 1), "dev", f"h{n}")
            for each in found.guests:
                each.run(f"arp -s {address(count - 1)} {mac(count - 1)}")
        yield found


def _flows(known: int, count: int, first: int) -> Iterator[str]:
    """By address; requests of who looks for one go to all but testpmd, which would answer each of them."""
    for function in range(count):
        yield f"priority=2,dl_dst={mac(function)},actions=output:{first + function}\n"
    others = ",".join(f"output:{first + function}" for function in range(known))
    yield f"priority=1,dl_dst=ff:ff:ff:ff:ff:ff,actions={others}\n"


@contextmanager
def _host(function: int) -> Iterator[Host]:
    device = f"h{function}"
    netlink.no_offloads(device)
    ip("link", "set", device, "address", mac(function))
    with host_behind(device, f"{address(function)}/24") as there:
        yield Host(address(function), there)


def start_testpmd(stack: ExitStack, sockets: Mapping[int, Path], log: Path, *words: str) -> Callable[[], bool]:
    """Has testpmd drive functions, by number, with these options; gives what raises HeadraceError once it has ended."""
    processors = sorted(os.sched_getaffinity(0))
    devices = [
        f"--vdev=net_virtio_user{number},path={path},packed_vq=1,mac={mac(function)}"
        for number, (function, path) in enumerate(sockets.items())
    ]
    command = [
        "stdbuf", "-oL", TESTPMD, f"--lcores=0@{processors[0]},1@{processors[-1]}", "--no-huge", "-m", "512",
        "--no-pci", "--no-telemetry", f"--file-prefix={log.parent.name}", *devices, "--",
        "--auto-start", "--no-mlockall", "--total-num-mbufs=4096", *words,
    ]  # fmt: skip
    alive = stack.enter_context(logged(command, log, stdin=subprocess.PIPE))
    until(lambda: alive() and "start packet forwarding" in log.read_text(errors="replace"), "testpmd")
    return alive


def meet(found: Clients) -> Met:
    """All at the same time: each host, and each guest, pings the next of its kind and has TCP with it; the first host
    does so with each guest, and guests ping it; it and the guests ping testpmd."""
    with ThreadPoolExecutor(len(found.hosts) + len(found.guests)) as pool:
        each = [pool.submit(_of_host, found, n) for n in range(len(found.hosts))]
        each += [pool.submit(_of_guest, found, n) for n in range(len(found.guests))]
        results = [one.result() for one in each]
    pings, streams = ([ok for result in results for ok in result[kind]] for kind in range(2))
    return Met(len(pings), sum(pings), len(streams), sum(streams))


def _of_host(found: Clients, number: int) -> tuple[list[bool], list[bool]]:
    host, guests = found.hosts[number], found.guests * (number == 0)
    others = _next(found.hosts, number)
    streams = [host.sends(other) for other in others] + [_fetches(host, each.address) for each in guests]
    addresses = [each.address for each in others] + [each.address for each in guests] + _testpmd(found) * (number == 0)
    return [host.pings(Host(address, []), 3, 100) > 0 for address in addresses], streams


def _of_guest(found: Clients, number: int) -> tuple[list[bool], list[bool]]:
    this, others = found.guests[number], _next(found.guests, number)
    addresses = [each.address for each in others] + [each.address for each in found.hosts[:1]] + _testpmd(found)
    return [this.pings(address) for address in addresses], [this.fetches(each.address) for each in others]


def _next(clients: list[T], number: int) -> list[T]:
    return [clients[(number + 1) % len(clients)]] * (len(clients) > 1)


def _testpmd(found: Clients) -> list[str]:
    return [] if found.testpmd is None else [found.testpmd]


def _fetches(host: Host, where: str) -> bool:
    """Whether a guest's data arrive over TCP, whole and right."""
    text = host.run(sys.executable, "-c", _FETCH, f"http://{where}/data").stdout
    return text.strip() == hashlib.sha256(guest.DATA).hexdigest()


_FETCH = """
import hashlib, sys, urllib.request
print(hashlib.sha256(urllib.request.urlopen(sys.argv[1]).read()).hexdigest())
"""
