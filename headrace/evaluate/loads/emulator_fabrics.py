"""What nodes of the emulator carry over a fabric: two nodes with iperf3, ping and filtered samples, and streams of
images among six. All of it is wall clock on this machine, with all processes beside."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from headrace.emulator.client import Emulation
from headrace.errors import HeadraceError
from headrace.evaluate.loads import emulations, emulator

WAYS = ("none", "C++", "NumPy")
"""How a node filters samples before it sends them: not at all, with compiled code, with NumPy."""

_PORT, _DATAGRAMS = 5201, 9000
_TIMESTAMPS = 12  # bytes of TCP's options in each packet
_MESSAGE = "64K"
_ROOM, _OVERHEAD = 65_536, 1_000  # bytes of datagrams under way, for which a fabric has room; and those of each beside
_MOST = 64  # datagrams under way
_SEND = f"""\
import socket, sys, time
import numpy as np
from headrace.evaluate.loads import fir
host, size, way, seconds, window = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), int(sys.argv[5])
samples = np.arange(size // 4, dtype=np.int32).reshape(1, size // 4)
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.connect((host, {_DATAGRAMS}))
link.settimeout(0.05)
sent = came = 0
with fir.Compiled() as compiled:
    work = {{"none": lambda each: each, "C++": compiled, "NumPy": fir.by_numpy}}[way]
    work(samples)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        while sent - came >= window:
            try:
                came += int.from_bytes(link.recv(8), "big")
            except TimeoutError:
                came = sent  # what has not come by now does not come
        link.send(work(samples))
        sent += 1
"""
_RECEIVE = f"""\
import json, select, socket, sys, time
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
link.bind(("", {_DATAGRAMS}))
print("ready", flush=True)
waiting = select.poll()
for there in (link, sys.stdin):
    waiting.register(there, select.POLLIN)
link.setblocking(False)
each = int(sys.argv[1])
count, octets, first, last = 0, 0, 0.0, 0.0
while True:
    try:
        data, sender = link.recvfrom(1 << 16)
    except BlockingIOError:
        if any(handle == sys.stdin.fileno() for handle, _ in waiting.poll()):
            break
        continue
    last = time.monotonic()
    first = first or last
    count, octets = count + 1, octets + len(data)
    if count % each == 0:
        link.sendto(each.to_bytes(8, "big"), sender)
print(json.dumps({{"bytes": octets, "seconds": last - first}}))
"""


@dataclass(frozen=True)
class Pair:
    """Two nodes: bits per second of a TCP connection with writes of 64 KB, and the median of pings' round trips."""

    fabric: str
    tcp_bps: float
    round_trip_s: float


@dataclass(frozen=True)
class Datagrams:
    """UDP datagrams of ``size`` bytes of samples, filtered before they are sent or not (``way``): bits of them per
    second that come. Up to 64 are under way, of large ones fewer, and what comes is acknowledged, so that few are lost.
    """

    fabric: str
    size: int
    way: str
    bps: float


@dataclass(frozen=True)
class Stream:
    """A stream of images beside others, the mean of some runs."""

    fabric: str
    source: int
    destination: int
    bps: float
    lost: int


def why_not(fabric: str) -> str | None:
    """Why a fabric can't be measured here; None: it can."""
    missing = [program for program in ("iperf3", "ping", "ss") if shutil.which(program) is None]
    return f"{missing[0]} is not installed" if missing else emulations.why_not(fabric)


@contextmanager
def two_nodes(fabric: str) -> Iterator[Emulation]:
    """Two nodes beside each other, whose link is held to no rate. Raises HeadraceError."""
    with emulator.network([(0, 0), (100, 0)], 'routing = "shortest"', phys=1, fabric=fabric) as emulation:
        yield emulation


def pair(emulation: Emulation, fabric: str, seconds: float = 5.0, pings: int = 50) -> Pair:
    """Raises HeadraceError."""
    said = emulation.run("n1", ["ping", "-n", "-c", str(pings), "-i", "0.05", "n2"]).stdout
    times = [float(each) / 1e3 for each in re.findall(r" time=([\d.]+) ms", said)]
    if not times:
        raise HeadraceError(f"no ping is answered: {said.strip()}")
    return Pair(fabric, iperf(emulation, seconds, "-l", _MESSAGE), statistics.median(times))


def cut(emulation: Emulation, size: int, seconds: float = 5.0) -> float:
    """Bits per second of messages of 64 KB by TCP, which the sender's kernel cuts into packets of ``size`` bytes of
    data. Raises HeadraceError."""
    return iperf(emulation, seconds, "-l", _MESSAGE, "-M", str(size + _TIMESTAMPS))


def iperf(emulation: Emulation, seconds: float, *options: str) -> float:
    """Bits per second that come from the first node to the second. Raises HeadraceError."""
    words = ["iperf3", "-s", "-1", "-p", str(_PORT)]
    with emulation.start("n2", words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as server:
        deadline = time.monotonic() + emulator.PATIENCE_S
        while f":{_PORT} " not in emulation.run("n2", ["ss", "-tlnH"]).stdout:
            if server.poll() is not None or time.monotonic() > deadline:
                raise HeadraceError("iperf3's server does not start")
            time.sleep(0.02)
        words = ["iperf3", "-c", "n2", "-4", "-p", str(_PORT), "-t", f"{max(1, round(seconds))}", "-J", *options]
        said = emulation.run("n1", words).stdout
        try:
            found = json.loads(said)
        except json.JSONDecodeError:
            server.kill()
            raise HeadraceError(f"iperf3: {said.strip() or 'it says nothing'}") from None
        if error := found.get("error"):
            server.kill()
            raise HeadraceError(f"iperf3: {error}")
    bps: float = found["end"]["sum_received"]["bits_per_second"]
    return bps


def datagrams(emulation: Emulation, fabric: str, size: int, way: str = "none", seconds: float = 5.0) -> Datagrams:
    """From the first node to the second. Raises HeadraceError."""
    python, window = [sys.executable, "-P", "-c"], max(4, min(_MOST, _ROOM // (size + _OVERHEAD)))
    words = [*python, _RECEIVE, str(window // 4)]
    receiver = emulation.start("n2", words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert receiver.stdout is not None
    receiver.stdout.readline()
    done = emulation.run("n1", [*python, _SEND, "n2", str(size), way, str(seconds), str(window)])
    found = json.loads(receiver.communicate("\n")[0])
    if done.returncode or not found["seconds"]:
        lines = done.stdout.strip().splitlines()
        raise HeadraceError(f"datagrams from n1 to n2: {(lines or ['they do not come'])[-1]}")
    return Datagrams(fabric, size, way, 8 * found["bytes"] / found["seconds"])


def six_nodes(fabric: str, seconds: float = 5.0, runs: int = 5) -> list[Stream]:
    """The five streams of six nodes with three connections each, as many runs. Raises HeadraceError."""
    found = [emulator.five_streams(6, seconds, phys=3, fabric=fabric) for _ in range(runs)]
    return [
        Stream(
            fabric,
            each[0].source,
            each[0].destination,
            statistics.fmean(one.bps for one in each),
            sum(one.lost for one in each),
        )
        for each in zip(*found, strict=True)
    ]
