"""The software path beside the card: what this machine's kernel and processor spend on a captured packet.

Packets go over a veth pair in a network namespace of their own, which takes root. Everything here is wall-clock and
processor time of one machine: different on every other, and on a busy one.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import shutil
import socket
import statistics
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from headrace.card import Card
from headrace.card.packet_memory import PacketMemory
from headrace.errors import HeadraceError
from headrace.evaluate.loads.capture import parameters
from headrace.evaluate.study.capture_rows import KernelRow
from headrace.net import netlink

_CLONE_NEWNET = 0x4000_0000
_ALL_PROTOCOLS = 0x0003
_SO_TIMESTAMPNS = 35
_RECEIVER, _SENDER = "card0", "peer0"
_MEMORY = 0x1_0000_0000
_MEMORY_BYTES = 1 << 26
_PAUSE_EVERY = 32  # packets, so that no receiver loses any
_GIVE_UP_S = 5.0


def measure_kernel_path(count: int) -> list[KernelRow]:
    """All ways and sizes, ``count`` packets each. Raises HeadraceError with the reason when it can't be done here."""
    if os.geteuid() != 0:
        raise HeadraceError("network namespaces need root")
    if shutil.which("tcpdump") is None:
        raise HeadraceError("tcpdump is not installed")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as child:  # whose namespace ends with it
        return child.submit(_measure, count).result()


def _measure(count: int) -> list[KernelRow]:
    _enter_own_network()
    rows = []
    with Card.open("capture", parameters(32), progress=False) as card:  # only its host memory is used
        for size in (72, 1064):
            frames = [bytes([2] * 12 + [0x88, 0xB5]) + bytes(size - 14)] * count
            alone = _send(frames)
            rows.append(_row("no receiver", frames, 0, 0.0, alone, alone))
            rows.append(_row("blocking AF_PACKET socket", frames, *_by_socket(frames), alone, _latency(frames[0])))
            rows.append(_row("tcpdump (libpcap)", frames, *_by_tcpdump(frames), alone))
            for link, name in (("iface", "AF_PACKET ring (iface: link)"), ("xdp", "AF_XDP (xdp: link)")):
                rows.append(_row(name, frames, *_by_link(card, link, frames), alone))
    return rows


def _row(
    way: str,
    frames: list[bytes],
    received: int,
    receiver: float,
    sender: float,
    alone: float,
    latency: float | None = None,
) -> KernelRow:
    each = 1e9 / len(frames)
    total = (receiver + sender - alone) * each
    return KernelRow(way, len(frames[0]), len(frames), received, receiver * each, sender * each, total, latency)


def _enter_own_network() -> None:
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        raise HeadraceError(f"network namespace: {os.strerror(ctypes.get_errno())}")
    for scope in ("all", "default"):  # no packets but ours
        Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")
    netlink.add_pair(_RECEIVER, _SENDER)
    for name in (_RECEIVER, _SENDER):
        netlink.bring_up(name)


def _send(frames: list[bytes]) -> float:
    """Sends frames, a few dozen a millisecond; gives the processor time (s) that this took."""
    start = time.process_time()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind((_SENDER, 0))
        for number, frame in enumerate(frames, start=1):
            sender.send(frame)
            if number % _PAUSE_EVERY == 0:
                time.sleep(0.001)
    return time.process_time() - start


@contextmanager
def _sending(frames: list[bytes], pace: Callable[[list[bytes]], float] = _send) -> Iterator[Callable[[], float]]:
    """A process that sends frames meanwhile. What it gives waits for its end, and tells its processor time (s)."""
    child, sent = _forked(lambda: pace(frames))
    try:
        yield sent
    finally:
        os.waitpid(child, 0)


def _forked(work: Callable[[], float]) -> tuple[int, Callable[[], float]]:
    """A process that does ``work`` and ends, whatever happens: its number, and what waits for its result."""
    reader, writer = os.pipe()
    answer = os.fdopen(reader, "rb")
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, struct.pack("d", work()))
        finally:
            os._exit(0)  # an exception must not go on here as it would in the parent
    os.close(writer)

    def result() -> float:
        with answer:
            data = answer.read()
        if not data:
            raise HeadraceError("the process that sends packets failed")
        return float(struct.unpack("d", data)[0])

    return child, result


def _by_socket(frames: list[bytes]) -> tuple[int, float, float]:
    """Frames received, processor time of receiving and of sending (s)."""
    with _receiving_socket() as receiver, _sending(frames) as sent:
        received, start = 0, time.process_time()
        try:
            while received < len(frames):
                receiver.recv(2048)
                received += 1
        except TimeoutError:
            pass
        return received, time.process_time() - start, sent()


def _latency(frame: bytes, count: int = 300) -> float:
    """Median time (ns) from a frame's arrival in the kernel until a blocked process has it, a frame a millisecond."""

    def pace(frames: list[bytes]) -> float:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
            sender.bind((_SENDER, 0))
            for each in frames:
                time.sleep(0.001)
                sender.send(each)
        return 0.0

    times: list[int] = []
    with _receiving_socket() as receiver, _sending([frame] * count, pace) as sent:
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        for _ in range(count):
            _, ancillary, _, _ = receiver.recvmsg(2048, 128)
            now = time.time_ns()
            seconds, ns = struct.unpack("qq", ancillary[0][2][:16])
            times.append(now - seconds * 1_000_000_000 - ns)
        sent()
    return statistics.median(times)


def _receiving_socket() -> socket.socket:
    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    receiver.bind((_RECEIVER, _ALL_PROTOCOLS))
    receiver.settimeout(_GIVE_UP_S)
    return receiver


def _by_tcpdump(frames: list[bytes]) -> tuple[int, float, float]:
    """The same by tcpdump; what it needs to start and end doesn't count."""
    _, short, _ = _tcpdump(frames[:100])
    received, cpu, sending = _tcpdump(frames)
    return received, max(0.0, cpu - short), sending


def _tcpdump(frames: list[bytes]) -> tuple[int, float, float]:
    command = ["tcpdump", "-ni", _RECEIVER, "-B", "65536", "-c", str(len(frames)), "-w", "/dev/null"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tcpdump:
        assert tcpdump.stderr is not None
        while "listening on" not in (line := tcpdump.stderr.readline()):
            if not line:
                raise HeadraceError("tcpdump ended before it began to listen")
        child, sent = _forked(lambda: _send(frames))  # not by _sending: it would count as a child that has ended
        try:
            sending = sent()
            tcpdump.wait(_GIVE_UP_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            tcpdump.terminate()
        report = tcpdump.stderr.read()
        tcpdump.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.waitpid(child, 0)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    captured = next((int(line.split()[0]) for line in report.splitlines() if " captured" in line), 0)
    return captured, cpu, sending


def _by_link(card: Card, link: str, frames: list[bytes]) -> tuple[int, float, float]:
    """The same by a link of the harness, which brings packets into host memory."""
    with PacketMemory(card, f"{link}:{_RECEIVER}", _MEMORY, _MEMORY_BYTES) as memory, _sending(frames) as sent:
        received, start = 0, time.process_time()
        deadline = time.monotonic() + _GIVE_UP_S + len(frames) / 5_000
        while received < len(frames) and time.monotonic() < deadline:
            memory.wait(100)
            packets = memory.take(256)
            memory.release(len(packets))
            received += len(packets)
        return received, time.process_time() - start, sent()
