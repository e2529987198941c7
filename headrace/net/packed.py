# SPDX-License-Identifier: Apache-2.0
"""Captures packed by gzip, zstd or lz4: read by what they begin with, as Wireshark does, and written by their names.

The programs of these names pack and unpack beside us, through pipes, in sessions of their own: Ctrl-C isn't for them.
So does Wireshark's dumpcap capture where we may not.
"""

from __future__ import annotations

import ctypes
import fcntl
import io
import os
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import IO

from headrace.errors import HeadraceError
from headrace.net import bpf, devices, pcapng
from headrace.net.source import Source

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
_BEGINNING = 1 << 16  # bytes, in which interfaces are described
_LONGEST = max(map(len, _MAGIC))
_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4"}
_LOOK_S = 0.02  # between looks for the first packet
_COUNTS = re.compile(r"received/dropped on interface .*: \d+/(\d+) ")  # of dumpcap
_WARNED = 2  # gzip's exit code where it has only warned


class PackedSource(Source):
    """A file that is packed."""

    def format(self) -> bpf.LinkFormat | None:
        """As a ``Source``'s. Raises HeadraceError where the file can't be unpacked, or no capture is inside."""
        with opened(self) as inside:
            return bpf.capture_format(inside.source.argument)


def recognised(source: Source) -> Source:
    """The source, or a ``PackedSource`` where it is a file that is packed. Raises OSError where it can't be read."""
    if source.kind != "pcap" or not os.path.isfile(source.argument):
        return source
    with open(source.argument, "rb") as file:
        return PackedSource(source.kind, source.argument) if _program(file.read(_LONGEST)) else source


class Opened:
    """A source whose packets can be read: ``source``. ``missed``: packets lost before it, where it can't tell itself
    and its end has been looked at by ``fault``."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.missed: int | None = None

    def fault(self, of_run: str | None) -> str | None:
        """Why not all of it was read, by what a run says (None: nothing)."""
        return of_run

    def close(self) -> None:
        """Ends it."""


@dataclass(frozen=True)
class _Pipe(Source):
    of: str = ""

    @property
    def name(self) -> str:
        """Of the packed capture."""
        return self.of


class _Unpacked(Opened):
    def __init__(self, name: str, file: IO[bytes], program: str) -> None:
        self._name = name
        command = [_found(program, name), "-dc"]
        self._end, into = os.pipe()
        with open(into, "wb") as pipe:
            self._process = subprocess.Popen(
                command, stdin=file, stdout=pipe, stderr=subprocess.PIPE, start_new_session=True
            )
        super().__init__(_Pipe("pcap", f"/dev/fd/{self._end}", f"pcap:{name}"))

    def fault(self, of_run: str | None) -> str | None:
        os.set_blocking(self._end, False)
        try:
            at_end = not os.read(self._end, 1)
        except BlockingIOError:
            at_end = False
        if not at_end:  # the run wants no more
            self._process.kill()
        said = _said(self._process)
        if at_end and self._process.returncode not in (0, _WARNED):
            words = said[-1].rpartition(" : ")[2].rpartition("stdin: ")[2] if said else "broken"
            return f"{self._name}: it can't all be unpacked: {words}"
        return of_run and of_run.replace(self.source.argument, self._name)

    def close(self) -> None:
        self._process.kill()
        _said(self._process)
        os.close(self._end)


class _Dumpcap(Opened):
    """An interface that only Wireshark's dumpcap may capture from."""

    def __init__(self, source: Source) -> None:
        command = ["dumpcap", "-q", "-P", "-i", source.name, "-w", "-"]
        command += ["-p"] if source.setting("promiscuous") == "no" else []
        command += ["-y", linktype] if (linktype := source.setting("linktype")) is not None else []
        if (direction := source.setting("direction")) is not None:
            raise HeadraceError(f"-Q {direction}: needs root or CAP_NET_RAW, since dumpcap can't select a direction", 2)
        self._end, into = os.pipe()
        with open(into, "wb") as pipe:
            self._process = subprocess.Popen(command, stdout=pipe, stderr=subprocess.PIPE, start_new_session=True)
        super().__init__(_Pipe("pcap", f"/dev/fd/{self._end}", source.name))
        select.select([self._end], [], [])  # until it captures, or has failed
        self._before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._process.send_signal(signal.SIGINT)

    def fault(self, of_run: str | None) -> str | None:
        self._process.send_signal(signal.SIGINT)
        os.set_blocking(self._end, True)
        while os.read(self._end, 1 << 16):  # what it still had; it ends behind that
            pass
        said = _said(self._process)
        counts = [found for line in said if (found := _COUNTS.search(line))]
        self.missed = sum(int(found[1]) for found in counts)
        if self._process.returncode != 0 and not counts:
            return f"{self.source.name}: {said[0].removeprefix('dumpcap: ') if said else 'dumpcap failed'}"
        return of_run and of_run.replace(self.source.argument, self.source.name)

    def close(self) -> None:
        self._process.kill()
        _said(self._process)
        os.close(self._end)
        for number, before in self._before.items():
            signal.signal(number, before)


@contextmanager
def opened(source: Source, tell: Callable[[str], None] | None = None) -> Iterator[Opened]:
    """A source to be read once, unpacked if it is packed; at standard input is looked, too. Errors have its own name.

    An interface that only dumpcap may capture from is captured from by that; then ``tell`` gets a line. Raises
    HeadraceError where a program to unpack it is missing.
    """
    inside = _opened(source)
    if isinstance(inside, _Dumpcap) and tell is not None:
        tell(f"listening on {source.name}, by dumpcap")
    try:
        yield inside
    except HeadraceError as error:
        raise HeadraceError(inside.fault(str(error)) or "", error.exit_code) from None
    finally:
        inside.close()


def beginning(source: Source) -> IO[bytes]:
    """What a file begins with, unpacked: all of one that isn't packed. Raises HeadraceError, OSError."""
    if not isinstance(source, PackedSource):
        return open(source.argument, "rb")
    with opened(source) as inside, open(inside.source.argument, "rb") as pipe:
        return io.BytesIO(pipe.read(_BEGINNING))


def several_link_types(source: Source) -> bool:
    """Whether an opened capture begins with interfaces of several link types. Of one that comes by a pipe nothing is
    taken; this waits for its first packet. False where that can't be looked at, as of a FIFO by its name."""
    if source.kind != "pcap":
        return False
    if source.argument == "-":
        return len(pcapng.first_link_types(io.BytesIO(_until_packet(0)))) > 1
    if os.path.isfile(source.argument):
        with beginning(source) as file:
            return len(pcapng.first_link_types(file)) > 1
    if not os.path.realpath(source.argument).rpartition("/")[2].startswith("pipe:"):
        return False
    with open(source.argument, "rb") as pipe:
        return len(pcapng.first_link_types(io.BytesIO(_until_packet(pipe.fileno())))) > 1


def _until_packet(file: int) -> bytes:
    """What a file or pipe begins with up to its first packet, or all that can be looked at, without taking it."""
    poll = select.poll()
    poll.register(file, 0)
    while stat.S_ISFIFO(os.fstat(file).st_mode):
        ended = bool(poll.poll(0))
        there = struct.unpack("i", fcntl.ioctl(file, termios.FIONREAD, bytes(4)))[0]
        data = _peek(file, _BEGINNING)
        if ended or len(data) < there or pcapng.has_packet(io.BytesIO(data)) is not False:
            return data
        time.sleep(_LOOK_S)
    return _peek(file, _BEGINNING)


def whole(source: Source, files: ExitStack) -> tuple[IO[bytes], str | None]:
    """All of a file, unpacked, or of a pipe; ``files`` closes it. And why not all of it is there (None: it is). Raises
    HeadraceError, OSError."""
    if not isinstance(source, PackedSource) and os.path.isfile(source.argument):
        return files.enter_context(open(source.argument, "rb")), None
    file = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    if not isinstance(source, PackedSource):
        stdin = source.argument == "-"
        with open(0 if stdin else source.argument, "rb", closefd=not stdin) as pipe:
            shutil.copyfileobj(pipe, file)
        file.seek(0)
        return file, None
    with opened(source) as inside, open(inside.source.argument, "rb") as pipe:
        shutil.copyfileobj(pipe, file)
        fault = inside.fault(None)
    file.seek(0)
    return file, fault


def _opened(source: Source) -> Opened:
    if source.kind == "iface":
        try:
            devices.check(source, ourselves=True)
        except devices.NotPermittedError:
            return _Dumpcap(source)
    if isinstance(source, PackedSource):
        with open(source.argument, "rb") as file:
            if program := _program(os.pread(file.fileno(), _LONGEST, 0)):
                return _Unpacked(source.argument, file, program)
    elif (source.kind, source.argument) == ("pcap", "-"):
        with open(0, "rb", closefd=False) as file:
            if program := _program(_peek(file.fileno())):
                return _Unpacked("standard input", file, program)
    return Opened(source)


def _peek(file: int, most: int = _LONGEST) -> bytes:
    """What a file or pipe begins with, without taking it; nothing of what can't be looked at, such as a terminal."""
    kind = os.fstat(file).st_mode
    if stat.S_ISREG(kind):
        return os.pread(file, most, os.lseek(file, 0, os.SEEK_CUR))
    if not stat.S_ISFIFO(kind):
        return b""
    end, into = os.pipe()
    try:
        count = ctypes.CDLL(None, use_errno=True).tee(file, into, ctypes.c_size_t(most), 0)  # waits for the first
        return os.read(end, count) if count > 0 else b""
    finally:
        os.close(end)
        os.close(into)


def _program(beginning: bytes) -> str | None:
    return next((program for magic, program in _MAGIC.items() if beginning.startswith(magic)), None)


def _said(process: subprocess.Popen[bytes]) -> list[str]:
    """Lines of what it says until it has ended."""
    assert process.stderr is not None
    lines = [] if process.stderr.closed else process.stderr.read().decode(errors="replace").strip().splitlines()
    process.stderr.close()
    process.wait()
    return lines


def _found(program: str, name: str) -> str:
    if (found := shutil.which(program)) is None:
        raise HeadraceError(f"{name}: {program}, which packs it, is missing: apt install {program}")
    return found


def unpacked_name(path: str) -> str:
    """A name without what says how it is packed."""
    stem, suffix = os.path.splitext(path)
    return stem if suffix in _SUFFIXES else path


@contextmanager
def written(path: str | None) -> Iterator[str | None]:
    """Where to write a capture that is to be at ``path``: what goes there is packed if the name ends in .gz, .zst or
    .lz4. Raises HeadraceError where the file can't be written, or the program is missing."""
    program = _SUFFIXES.get(os.path.splitext(path or "")[1])
    if path is None or program is None:
        yield path
        return
    command = [_found(program, path), "-qc" if program != "gzip" else "-c"]
    try:
        with open(path, "wb") as file:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.PIPE, start_new_session=True
            )
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    assert process.stdin is not None
    try:
        yield f"/dev/fd/{process.stdin.fileno()}"
    finally:
        process.stdin.close()
        said = _said(process)
    if process.returncode != 0:
        raise HeadraceError(f"{path}: {said[-1] if said else program}")
