# SPDX-License-Identifier: Apache-2.0
"""Processor time that a running card takes for what programs send through it. ``headrace``: the words that start the
version of it that runs the card. All of it takes root; each load has a network of its own."""

from __future__ import annotations

import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from headrace.errors import HeadraceError
from headrace.evaluate.loads import function_rates, switch_network
from headrace.evaluate.loads.switch_network import Sent, hosts_at

PINGS = 8
SIZE = 1024  # bytes of what crosses the bridge, without FCS
_BATCH, _BATCHES = 20, 25
_TICKS_S = os.sysconf("SC_CLK_TCK")
_UTIME = 11  # of /proc/PID/stat, after the name: of itself, of the kernel for it, and both of children that have ended


@dataclass(frozen=True)
class Spent:
    """Processor seconds of the card's process for so many packets, bytes or pings, and ``measure`` of the whole: bits a
    second of wall time, or the mean round trip in ms."""

    processor_s: float
    count: int
    measure: float = 0.0

    @property
    def each(self) -> float:
        """Processor seconds for one."""
        return self.processor_s / self.count


class _Meter:
    """Counts as ``sent`` does, and notes the card's processor time with it."""

    def __init__(self, sent: Callable[[str], Sent]) -> None:
        self._sent = sent
        self._marks: list[float] = []

    def __call__(self, control: str) -> Sent:
        self._marks.append(_served_by(control))
        return self._sent(control)

    @property
    def last(self) -> float:
        """Processor seconds between the last two counts."""
        return self._marks[-1] - self._marks[-2]


def processor_s(process: int) -> float:
    """Of a process and its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[_UTIME : _UTIME + 4])) / _TICKS_S


def _served_by(control: str) -> float:
    """``processor_s`` of the process that serves a control socket."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(control)
        return processor_s(struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])


def forwarded(headrace: Sequence[str], seconds: float = 3.0) -> Spent:
    """Packets of 64 bytes that testpmd forwards between two of a NIC card's 16 functions. Raises HeadraceError."""
    meter = _Meter(function_rates.NIC.sent)
    nic = replace(function_rates.NIC, parameters={"FUNCTIONS": 16}, sent=meter, headrace=headrace)
    found = function_rates.forwarded(nic, seconds)
    return Spent(meter.last, found.packets, found.bytes * 8 / found.seconds)


def streamed(headrace: Sequence[str], *options: str, seconds: int = 4) -> Spent:
    """Bytes that iperf3 sends through ``headrace switch run`` with two TAP devices and a flow each way, all else as
    when nothing is said; ``options`` of iperf3. Raises HeadraceError."""
    meter = _Meter(switch_network.sent)
    found = switch_network.iperf(seconds, {}, *options, headrace=headrace, counted=meter)
    return Spent(meter.last, found.bytes, found.bytes * 8 / found.seconds)


SWITCHED = ("switch", "run", "--learn", "--port", "1=tap:h1", "--port", "2=tap:h2")
"""A learning switch between two hosts."""
BETWEEN_FUNCTIONS = ("nic", "run", "--port", "vf:0=tap:h1", "--port", "vf:1=tap:h2")
"""A NIC between two hosts."""
_DEVICES = ("h1", "h2")
_BRIDGED = ("bridge", "run", "--link", "tap:h1", "--sink1", "tap:h2", "--link1", "tap:h2", "--sink", "tap:h1")


def pinged(headrace: Sequence[str], words: Sequence[str]) -> Spent:
    """A ping a second, ``PINGS`` of them, once the first one is answered. Raises HeadraceError."""
    with hosts_at(words, {}, _DEVICES, headrace) as ((one, other), control):
        one.hears(other)
        before = _served_by(control)
        said = one.run("ping", "-n", "-c", str(PINGS), "-i", "1", other.address).stdout
        spent = _served_by(control) - before
    times = [float(ms) for ms in re.findall(r" time=([\d.]+) ms", said)]
    if len(times) < PINGS:
        raise HeadraceError(f"{PINGS - len(times)} of {PINGS} pings through {words[0]} have no answer")
    return Spent(spent, PINGS, fmean(times))


def first_ping(headrace: Sequence[str], words: Sequence[str]) -> float:
    """Processor seconds from the beginning, with what is compiled, to the first ping's answer. Raises HeadraceError."""
    with hosts_at(words, {}, _DEVICES, headrace) as ((one, other), control):
        one.hears(other)
        return _served_by(control)


def bridged(headrace: Sequence[str]) -> Spent:
    """Packets of 1 KB from a TAP device to another one through the bridge card at 64 bits, in batches, each once the
    one before is through. Raises HeadraceError."""
    with hosts_at(_BRIDGED, {"DATA_W": 64}, _DEVICES, headrace) as ((one, other), control):
        words = [*other.there, sys.executable, "-c", _RECEIVE, "h2", str(_BATCHES)]
        with switch_network.running(words, stdout=subprocess.PIPE) as receiver:
            assert receiver.stdout is not None and receiver.stdout.readline()
            before = _served_by(control)
            for _ in range(_BATCHES):
                one.run(sys.executable, "-c", _SEND, "h1")
                if not receiver.stdout.readline():
                    raise HeadraceError("packets don't get through the bridge")
            spent = _served_by(control) - before
    return Spent(spent, _BATCH * _BATCHES)


_SEND = f"""
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
    link.bind((sys.argv[1], 0x88b5))
    for _ in range({_BATCH}):
        link.send(bytes(12) + b"\\x88\\xb5" + bytes({SIZE - 14}))
"""
_RECEIVE = f"""
import socket, sys
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0xb588) as link:
    link.bind((sys.argv[1], 0x88b5))
    print("ready", flush=True)
    for _ in range(int(sys.argv[2])):
        for _ in range({_BATCH}):
            link.recv(4096)
        print("through", flush=True)
"""
