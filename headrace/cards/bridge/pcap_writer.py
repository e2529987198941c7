"""Writes packets that software has got into a pcap file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO, FileIO

from headrace.errors import HeadraceError
from headrace.net import pcap

_NS = 10**9


class PcapWriter:
    """An open file. Where it can't be written on, it ends with a whole record."""

    def __init__(self, file: FileIO, path: str) -> None:
        self._file = file
        self._path = path
        self._made = BytesIO()
        self._writer = pcap.begin(self._made)
        self._packets = 0
        self._size = 0
        self._put([self._taken()])
        self._packets = 0

    @classmethod
    @contextmanager
    def opened(cls, path: str | None) -> Iterator[PcapWriter | None]:
        """The file at a path (``-``: standard output), or None without one. Raises HeadraceError when it can't be
        written."""
        if path is None:
            yield None
            return
        try:
            with FileIO(os.dup(1) if path == "-" else path, "w") as file:
                yield cls(file, path)
        except OSError as error:
            raise HeadraceError(f"{path}: {error.strerror}") from None

    def write(self, packets: list[bytes], time_ns: int) -> None:
        """Writes packets that have the same time. Raises HeadraceError, with how many packets are in the file, when
        that can't be."""
        seconds, rest = divmod(time_ns, _NS)
        records = []
        for data in packets:
            self._writer.write_packet(data, seconds, rest)
            records.append(self._taken())
        self._put(records)

    def _taken(self) -> bytes:
        """What has been made since the last call."""
        data = self._made.getvalue()
        self._made.seek(0)
        self._made.truncate()
        return data

    def _put(self, records: list[bytes]) -> None:
        data, written = memoryview(b"".join(records)), 0
        try:
            while written < len(data):
                written += self._file.write(data[written:])
        except OSError as error:
            whole = 0
            for record in records:
                if whole + len(record) > written:
                    break
                whole += len(record)
                self._packets += 1
            if self._file.seekable():
                with suppress(OSError):  # of devices, which have no size
                    self._file.truncate(self._size + whole)
            raise HeadraceError(f"{self._path}: {error.strerror}: it has {self._packets:,} packets") from None
        self._size += len(data)
        self._packets += len(records)
