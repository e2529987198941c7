"""The delay line: a process that holds frames, each until it is due, and sends them to the port they are for.

What it shall delay is sent to ``dN``, whose other end ``eN`` is in a network of the process's own: there the kernel
notes when a frame comes. It goes on by port ``pN``, past the filters and queues there. The process listens to a socket:
each request is a JSON object, and so is its answer.
"""

from __future__ import annotations

import json
import os
import resource
import select
import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.emulator import kernel
from headrace.emulator.fabric.delays import Delays
from headrace.errors import HeadraceError

_LONGEST = 1 << 20  # request
_ANSWER_S = 60.0
_ETH_P_ALL = 3
_SOL_PACKET, _AUXDATA, _VNET_HDR, _QDISC_BYPASS, _STATISTICS = 263, 8, 15, 20, 6  # linux/if_packet.h
_SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 33, 35
_TAGGED, _TAG_HAS_PROTOCOL = 1 << 4, 1 << 6  # TP_STATUS_VLAN_*
_VLAN = 0x8100
_RECEIVE_BYTES = 1 << 20  # that the kernel keeps for the process
_BATCH = 16  # frames of a port, before what is due leaves
_LONGEST_FRAME = 1 << 17  # with what segmentation leaves to the receiver
_STAMP, _AUX = struct.Struct("@qq"), struct.Struct("@IIIHHHH")
_OFFLOAD = struct.Struct("@BBHHHH")  # struct virtio_net_hdr: it goes before a frame
_ANCILLARY = socket.CMSG_SPACE(_STAMP.size) + socket.CMSG_SPACE(_AUX.size)


def entry(port: int) -> str:
    """The interface of the fabric by which frames go to a port with their delay."""
    return f"d{port}"


class DelayLine:
    """The process, seen from the fabric. ``ports``: those with an ``entry``."""

    def __init__(self) -> None:
        """Raises HeadraceError."""
        self.ports: set[int] = set()
        self._link, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for link in (self._link, there):
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        self._link.settimeout(_ANSWER_S)
        self.pid = os.fork()
        if self.pid == 0:
            _run(there.fileno())
        there.close()
        self._ask({})  # it has a network of its own then

    def add(self, new: Sequence[int]) -> None:
        """Makes the entries of ports that have none. Raises HeadraceError."""
        within = ("nsenter", f"--net=/proc/{self.pid}/ns/net", "--")
        kernel.batch("ip", [f"link add {entry(port)} type veth peer name e{port} netns {self.pid}" for port in new])
        kernel.batch("ip", [f"link set e{port} up" for port in new], within=within)
        kernel.batch("ip", [f"link set {entry(port)} up" for port in new])
        self.ports.update(new)

    def change(self, delays: Mapping[int, int], gone: Iterable[int]) -> None:
        """Frames to ports wait so many ns from now on; what is on its way to those that are ``gone`` is lost. Raises
        HeadraceError."""
        self._ask({"delays": delays, "forget": list(gone)})

    def report(self) -> dict[str, Any]:
        """As of ``Delays``, and ``missed``: frames that the process did not get to before the kernel dropped them.
        Raises HeadraceError."""
        return self._ask({"report": True})

    def why(self) -> str:
        """What there is to say when it has ended."""
        return "the delay line has ended"

    def close(self) -> None:
        """Ends the process."""
        self._link.close()

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            self._link.send(json.dumps(request).encode())
            data = self._link.recv(_LONGEST)
        except TimeoutError:
            raise HeadraceError("the delay line does not answer") from None
        except OSError:
            data = b""
        if not data:
            raise HeadraceError(self.why())
        answer: dict[str, Any] = json.loads(data)
        if "error" in answer:
            raise HeadraceError(f"delay line: {answer['error']}")
        return answer


def _run(link: int) -> None:
    """The process, which does not return."""
    try:
        kernel.begin_child()
        kernel.set_name("delay line")
        os.dup2(link, 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        with socket.socket(fileno=3) as control:
            try:
                _Process(control).run()
            except (HeadraceError, OSError) as error:
                control.send(json.dumps({"error": str(error)}).encode())
    finally:
        os._exit(0)


class _Process:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._delays = Delays()
        self._missed = 0
        self._links: dict[int, socket.socket] = {}  # by port
        self._ports: dict[int, int] = {}  # by file descriptor
        self._send = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        for option in (_VNET_HDR, _QDISC_BYPASS):
            self._send.setsockopt(_SOL_PACKET, option, 1)
        kernel.unshare(kernel.NEWNET)
        kernel.no_ipv6()
        kernel.be_punctual()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # a socket a port
        self._buffer = memoryview(bytearray(_LONGEST_FRAME))
        self._epoll = select.epoll()
        self._epoll.register(control, select.EPOLLIN)

    def run(self) -> None:
        """Until the fabric has gone."""
        while True:
            due_ns = self._delays.due_ns()
            wait_s = None if due_ns is None else max(0.0, (due_ns - time.monotonic_ns()) / 1e9)
            select.select([self._epoll], [], [], wait_s)  # epoll's own timeout is in ms
            self._leave()
            for descriptor, _ in self._epoll.poll(0):
                if descriptor == self._control.fileno():
                    data = self._control.recv(_LONGEST)
                    if not data:
                        return
                    self._control.send(json.dumps(self._do(json.loads(data))).encode())
                else:
                    self._receive(self._ports[descriptor])
                    self._leave()

    def _do(self, request: Mapping[str, Any]) -> dict[str, Any]:
        for name, delay_ns in request.get("delays", {}).items():
            port = int(name)
            if port not in self._links:
                self._open(port)
            self._delays.set(port, delay_ns)
        for port in request.get("forget", ()):
            self._delays.forget(port, time.monotonic_ns())
        if not request.get("report"):
            return {}
        for link in self._links.values():  # the kernel begins anew with each answer
            self._missed += struct.unpack("@II", link.getsockopt(_SOL_PACKET, _STATISTICS, 8))[1]
        return {**self._delays.report(), "missed": self._missed}

    def _open(self, port: int) -> None:
        link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        link.setblocking(False)
        for option in (_VNET_HDR, _AUXDATA):
            link.setsockopt(_SOL_PACKET, option, 1)
        link.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        try:
            link.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BYTES)
        except PermissionError:
            pass  # what the machine allows others
        link.bind((f"e{port}", _ETH_P_ALL))
        self._links[port] = link
        self._ports[link.fileno()] = port
        self._epoll.register(link, select.EPOLLIN)

    def _receive(self, port: int) -> None:
        """Its next frames."""
        link = self._links[port]
        clock_ns = time.time_ns() - time.monotonic_ns()
        for _ in range(_BATCH):
            try:
                size, more, _, _ = link.recvmsg_into([self._buffer], _ANCILLARY)
            except OSError:
                return
            frame = bytes(self._buffer[:size])
            came_ns = time.monotonic_ns()
            for level, kind, data in more:
                if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
                    seconds, ns = _STAMP.unpack(data)
                    came_ns = seconds * 1_000_000_000 + ns - clock_ns
                elif level == _SOL_PACKET and kind == _AUXDATA:
                    status, _, _, _, _, tag, protocol = _AUX.unpack(data)
                    if status & _TAGGED:
                        frame = with_tag(frame, protocol if status & _TAG_HAS_PROTOCOL else _VLAN, tag)
            self._delays.add(port, came_ns, frame)

    def _leave(self) -> None:
        """All frames that are due."""
        while (leaving := self._delays.take(time.monotonic_ns())) is not None:
            port, frame = leaving
            try:
                self._send.sendto(frame, (f"p{port}", 0))
            except OSError:
                pass  # the link goes just now


def with_tag(frame: bytes, protocol: int, tag: int) -> bytes:
    """With the VLAN tag, which the kernel gives beside the frame."""
    flags, segments, header, segment, start, offset = _OFFLOAD.unpack_from(frame)
    more = 4 if flags & 1 else 0  # a checksum is left to the receiver
    offload = _OFFLOAD.pack(flags, segments, header + (4 if header else 0), segment, start + more, offset)
    at = _OFFLOAD.size + 12
    return offload + frame[_OFFLOAD.size : at] + struct.pack("!HH", protocol, tag) + frame[at:]
