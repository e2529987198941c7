"""What Open vSwitch in user space carries on this machine: packets a second, and processor time for each.

It sits between two veth pairs in a network namespace of its own, which takes root; packets come from and go to packet
sockets. Sizes count the FCS, as those of published figures do.
"""

from __future__ import annotations

import ctypes
import errno
import ipaddress
import multiprocessing
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from headrace.errors import HeadraceError
from headrace.net import netlink
from headrace.net.ovs import BRIDGE, OpenVSwitch, available, open_vswitch

T = TypeVar("T")
_Round = tuple[int, "_Frames"]  # and the port that they go into

FCS = 4
HEADERS = 54  # bytes of Ethernet, IPv4 and TCP
CONNECTIONS = 1_500

_CLONE_NEWNET = 0x4000_0000
_ALL_PROTOCOLS = 0x0003
_SOL_PACKET, _PACKET_QDISC_BYPASS, _PACKET_IGNORE_OUTGOING, _SO_RCVBUFFORCE = 263, 20, 23, 33
_LIBC = ctypes.CDLL(None, use_errno=True)
_MTU = 16_000
_BUFFER = 1 << 26  # bytes, of the sockets that packets come out to
_BATCH = 64  # packets sent at once
_ATTEMPTS = 5
_TOGETHER = 30  # connections
_AHEAD, _OVERHEAD = 40_000, 1_000  # bytes that a socket has room for, twice; what the kernel takes for a packet
_GIVE_UP_S = 20
_PEERS = ("peer1", "peer2")


@dataclass(frozen=True)
class Flood:
    """Packets of a size, as fast as they come out: a second, and processor time of each in ns.

    ``flows``: "one" that all are of; "new": each packet of another, and the table doesn't look at what differs.
    """

    size: int
    flows: str
    packets_s: float
    cpu_ns: float


@dataclass(frozen=True)
class Connections:
    """TCP connections that begin and end: packets a second, and processor time of each in ns.

    Each is two packets that open it and ``data`` packets with ``payload`` bytes. The tables look at all that tells
    connections apart: the first packet each way is in no cache. ``again``: the same connections a second time.
    """

    tables: int
    data: int
    payload: int
    packets: int
    packets_s: float
    cpu_ns: float
    again_cpu_ns: float


def floods(sizes: Sequence[int], count: int = 1 << 16) -> list[Flood]:
    """So many packets of one flow, and as many of new ones, by size.

    Raises HeadraceError with the reason when it can't be done here.
    """
    return _apart(_floods, sizes, count)


def connections(cases: Sequence[tuple[int, int, int]], count: int = CONNECTIONS) -> list[Connections]:
    """So many connections (an even number), some at once, by tables, data packets and payload. Raises as ``floods``."""
    return _apart(_connections, cases, count)


def connection_flows(count: int, tables: int) -> str:
    """What the switch is told for ``connections``: a flow each way of each in table 0, then a table after the other."""
    lines = []
    for number in range(count):
        for port, (source, target, source_port, target_port) in enumerate(ends(number), start=1):
            match = f"tcp,in_port={port},nw_src={source},nw_dst={target},tcp_src={source_port},tcp_dst={target_port}"
            lines.append(f"table=0,priority=100,{match},actions={_then(port, 0, tables)}")
    for table in range(1, tables):
        lines += [
            f"table={table},priority=100,ip,in_port={port},actions={_then(port, table, tables)}" for port in (1, 2)
        ]
    return "\n".join(lines)


def connection_packets(number: int, data: int, payload: int) -> list[tuple[int, bytes]]:
    """The packets of a connection, without FCS, and the ports that they come into: SYN, SYN and ACK, data."""
    there, back = ends(number)
    opening = [(1, tcp_packet(*there, 0x02, 0)), (2, tcp_packet(*back, 0x12, 0))]
    return opening + [(1, tcp_packet(*there, 0x18, payload))] * data


def ends(number: int) -> tuple[tuple[str, str, int, int], tuple[str, str, int, int]]:
    """Addresses and ports of a connection, one way and the other."""
    client, port = str(ipaddress.IPv4Address(0x0A00_0001 + number % 250)), 1024 + 37 * number % 60_000
    return (client, "10.1.0.1", port, 80), ("10.1.0.1", client, 80, port)


def _then(port: int, table: int, tables: int) -> str:
    return f"goto_table:{table + 1}" if table + 1 < tables else f"output:{3 - port}"


def tcp_packet(source: str, target: str, source_port: int, target_port: int, flags: int, payload: int) -> bytes:
    """A packet without FCS; its TCP checksum isn't computed."""
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 40 + payload, 0, 0x4000, 64, 6, 0)
    ip += ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(target).packed
    tcp = struct.pack("!HHIIBBHHH", source_port, target_port, 0, 0, 0x50, flags, 65535, 0, 0)
    data = bytes.fromhex("0200000000020200000000010800") + ip + tcp + bytes(payload)
    return data.ljust(60, b"\0")


def _apart(work: Callable[..., T], *arguments: object) -> T:
    """What ``work`` gives in a process with a network of its own, in which an Open vSwitch runs."""
    reason = "network namespaces need root" if os.geteuid() != 0 else available()
    if reason:
        raise HeadraceError(reason)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as child:  # whose namespace ends with it
        return child.submit(_between, work, *arguments).result()


def _between(work: Callable[..., T], *arguments: object) -> T:
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        raise HeadraceError(f"network namespace: {os.strerror(ctypes.get_errno())}")
    for scope in ("all", "default"):  # no packets but ours
        Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")
    for number, peer in enumerate(_PEERS, start=1):
        netlink.add_pair(f"port{number}", peer)
        for name in (f"port{number}", peer):
            netlink.set_mtu(name, _MTU)
            netlink.bring_up(name)
    with open_vswitch("netdev") as switch:
        for number in range(1, len(_PEERS) + 1):
            name = f"port{number}"
            switch.vsctl("add-port", BRIDGE, name, "--", "set", "interface", name, f"ofport_request={number}")
        return work(switch, *arguments)


def _floods(switch: OpenVSwitch, sizes: Sequence[int], count: int) -> list[Flood]:
    switch.ofctl("add-flow", "in_port=1,actions=output:2")
    found = []
    for size in sizes:
        frames = [_numbered(number, size) for number in range(count)]
        for flows, chosen in (("one", frames[:1] * count), ("new", frames)):
            at_once = min(_BATCH, _AHEAD // (size + _OVERHEAD))
            rounds = [(1, _Frames(chosen[first : first + at_once])) for first in range(0, count, at_once)]
            _, (took, cpu) = _two_passes(switch, rounds)
            found.append(Flood(size, flows, count / took, cpu * 1e9 / count))
    return found


def _connections(switch: OpenVSwitch, cases: Sequence[tuple[int, int, int]], count: int) -> list[Connections]:
    found = []
    for tables, data, payload in cases:
        switch.ofctl("del-flows")
        switch.ofctl("add-flows", "-", text=connection_flows(count, tables))
        together = max(2, min(_TOGETHER, _AHEAD // (payload + _OVERHEAD)))
        rounds = []
        for first in range(0, count // 2, together):  # two groups, in turn
            numbers = range(first, min(count // 2, first + together))
            pair = [[connection_packets(half + n, data, payload) for n in numbers] for half in (0, count // 2)]
            for steps in zip(*(zip(*group, strict=True) for group in pair), strict=True):
                for step in steps:  # the next packet of each connection of a group
                    rounds.append((step[0][0], _Frames([frame for _, frame in step])))
        number = count * (2 + data)
        (took, cpu), (_, again_cpu) = _two_passes(switch, rounds)
        cpu_ns, again_cpu_ns = (each * 1e9 / number for each in (cpu, again_cpu))
        found.append(Connections(tables, data, payload, number, number / took, cpu_ns, again_cpu_ns))
    return found


def _two_passes(switch: OpenVSwitch, rounds: Sequence[_Round]) -> list[tuple[float, float]]:
    """Time and processor time in s: through empty caches, and the same packets again. Tries again when some are lost,
    as they are while Open vSwitch sees its interfaces come up."""
    for _ in range(_ATTEMPTS):
        switch.forget_flows()
        with _raw(_PEERS[0]) as client, _raw(_PEERS[1]) as server:
            try:
                return [_pass(switch, rounds, {1: client, 2: server}) for _ in range(2)]
            except TimeoutError:
                pass
    raise HeadraceError("packets are lost on their way through Open vSwitch")


def _pass(switch: OpenVSwitch, rounds: Sequence[_Round], ends: Mapping[int, socket.socket]) -> tuple[float, float]:
    """Each round's packets go in when those of the last but one have come out."""
    start, cpu = time.perf_counter(), switch.cpu_s
    for now, before in zip([*rounds, None], [None, *rounds], strict=True):
        if now is not None:
            now[1].send(ends[now[0]])
        if before is not None:
            before[1].receive(ends[3 - before[0]])
    return time.perf_counter() - start, switch.cpu_s - cpu


@contextmanager
def _raw(interface: str) -> Iterator[socket.socket]:
    """A socket for all frames of an interface but those that are sent there."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS)) as stream:
        stream.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        stream.setsockopt(_SOL_PACKET, _PACKET_QDISC_BYPASS, 1)
        stream.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _GIVE_UP_S, 0))
        stream.bind((interface, _ALL_PROTOCOLS))
        yield stream


def _numbered(number: int, size: int) -> bytes:
    """A packet of a flow of its own."""
    return tcp_packet(
        f"10.0.{number >> 8 & 255}.{number & 255}", "10.1.0.1", 1024 + number % 60_000, 80, 0x18, size - FCS - HEADERS
    )


class _Vector(ctypes.Structure):
    """struct iovec"""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """struct mmsghdr"""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_size_t),  # an int and padding
        ("length", ctypes.c_uint32),
    )


class _Frames:
    """Frames to send, and so many to receive, with few system calls."""

    def __init__(self, frames: Sequence[bytes]) -> None:
        self._count = len(frames)
        self._data = ctypes.create_string_buffer(b"".join(frames))
        self._space = ctypes.create_string_buffer(1)  # the contents of those that are received don't matter
        at, places = ctypes.addressof(self._data), []
        for frame in frames:
            places.append(_Vector(at, len(frame)))
            at += len(frame)
        self._sent = _messages(places)
        self._received = _messages([_Vector(ctypes.addressof(self._space), 1)] * self._count)

    def send(self, stream: socket.socket) -> None:
        """All of them."""
        self._all(_LIBC.sendmmsg, stream, self._sent[0])

    def receive(self, stream: socket.socket) -> None:
        """As many. Raises TimeoutError when they don't come."""
        self._all(_LIBC.recvmmsg, stream, self._received[0], None)

    def _all(self, call: Callable[..., int], stream: socket.socket, messages: Any, *more: object) -> None:
        done = 0
        while done < self._count:
            part = ctypes.byref(messages, done * ctypes.sizeof(_Message))
            moved = call(stream.fileno(), part, self._count - done, 0, *more)
            if moved < 0 and ctypes.get_errno() == errno.EAGAIN:
                raise TimeoutError
            if moved < 0:
                raise HeadraceError(f"packets through Open vSwitch: {os.strerror(ctypes.get_errno())}")
            done += moved


def _messages(places: Sequence[_Vector]) -> tuple[Any, Any]:
    """Messages of one vector each, and these."""
    vectors = (_Vector * len(places))(*places)
    messages = (_Message * len(places))()
    for number, message in enumerate(messages):
        message.vectors = ctypes.addressof(vectors) + number * ctypes.sizeof(_Vector)
        message.count = 1
    return messages, vectors
