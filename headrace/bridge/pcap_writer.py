"""Writes packets that software has got into a pcap file."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from headrace import pcap
from headrace.errors import HeadraceError

_RECORD = struct.Struct("<IIII")
_NS = 10**9


class PcapWriter:
    """An open file."""

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file = file
        self._path = path
        self._put(pcap.HEADER)

    @classmethod
    @contextmanager
    def opened(cls, path: str | None) -> Iterator[PcapWriter | None]:
        """The file at a path (``-``: standard output), or None without one. Raises HeadraceError when it can't be
        written."""
        if path is None:
            yield None
            return
        try:
            with open(os.dup(1) if path == "-" else path, "wb") as file:
                yield cls(file, path)
        except OSError as error:
            raise HeadraceError(f"{path}: {error.strerror}") from None

    def write(self, packets: list[bytes], time_ns: int) -> None:
        """Writes packets that have the same time. Raises HeadraceError when that can't be."""
        seconds, rest = divmod(time_ns, _NS)
        self._put(b"".join([_RECORD.pack(seconds, rest, len(data), len(data)) + data for data in packets]))

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise HeadraceError(f"{self._path}: {error.strerror}") from None
