"""The files of a capture: one, or as many as tcpdump's -c, -C, -G and -W ask for, or dumpcap's -a and -b; named as
those name them.

Times are those of the packets. Live, that is what tcpdump's clock says; a capture that is played back is cut at its own
times, where tcpdump would take the time of the playing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from headrace.card.records import RecordWriter, Ring
from headrace.card.stats import FileTotals
from headrace.errors import HeadraceError

_NS = 10**9


@dataclass(frozen=True)
class Limits:
    """What ends a file, or the capture; None: nothing does.

    ``packets`` (-c) ends the capture. A file is followed by another one once it has more than ``size`` bytes (-C), and
    ``seconds`` (-G) after it was begun. ``files`` (-W): how many of ``size`` are kept, overwriting the oldest; without
    ``size``, the capture ends after so many. ``file_packets``: another file follows after so many packets.
    ``aligned``: another file begins where the time is a multiple of ``seconds``. ``numbered``: files have dumpcap's
    names, and of ``files`` the oldest is removed. ``stop_seconds``, ``stop_size`` and ``stop_files`` end the capture.
    """

    packets: int | None = None
    size: int | None = None
    seconds: int | None = None
    files: int | None = None
    file_packets: int | None = None
    aligned: bool = False
    numbered: bool = False
    stop_seconds: int | None = None
    stop_size: int | None = None
    stop_files: int | None = None

    @property
    def file_bytes(self) -> int | None:
        """After how many a file isn't written on."""
        return min(filter(None, (self.size, self.stop_size)), default=None)


class SaveFiles:
    """Writes the records of a ring into one file after the other.

    ``open_file`` makes the writer of a name, or one that writes nothing of None; ``totals`` gives the packets received
    and dropped so far, which pcapng notes at a file's end. ``begin_s`` is when the first file's time begins, in whole
    seconds since the epoch; None: with the first packet. ``cut`` counts the records of ``longest`` bytes whose packets
    had more.
    """

    def __init__(
        self,
        path: str | None,
        limits: Limits,
        open_file: Callable[[str | None], RecordWriter],
        totals: Callable[[], tuple[int, int]],
        begin_s: int | None = None,
        longest: int = 0,
    ) -> None:
        """Opens the first file, unless its name needs the first packet. Raises CardError when it can't be opened."""
        self.limits = limits
        self._finished = FileTotals()
        self.done = False  # a limit is reached: nothing more is written
        self.paths: list[str] = []
        self.cut = 0
        self._longest = longest
        self._path = path
        self._open_file = open_file
        self._totals = totals
        self._begin_s = begin_s
        self._number = 0  # of the file among those of one time (-C)
        self._times = 0  # that a time was over (-G)
        self._opened = 0  # files so far
        self._end_ns: int | None = None  # when the capture ends, if packets' times say that
        self._writer: RecordWriter | None = None
        if begin_s is not None or not (limits.seconds or limits.numbered or limits.stop_seconds):
            self._open()

    @property
    def totals(self) -> FileTotals:
        """Of all files: the packets that are in them, not those that could not be written."""
        return self._finished if self._writer is None else self._finished + self._writer.totals

    def write(self, ring: Ring, start: int, end: int, lost: int = 0, flush: bool = False) -> int:
        """Writes the records between two byte counts; gives the count that it reached, which is ``end`` unless
        ``done``. ``lost``: packets lost before the first of them. Raises CardError when a file can't be written."""
        if self._writer is None and start != end and not self.done:
            begin_ns = self._time_of(ring, start)
            self._begin_s = begin_ns // _NS
            if self.limits.stop_seconds is not None:
                self._end_ns = begin_ns + self.limits.stop_seconds * _NS
            self._open()
        while self._writer is not None and not self.done:
            if start != end and self._writer.totals.packets == self.limits.file_packets:
                self._next_number(self._time_of(ring, start))
                continue
            left = None if self.limits.packets is None else self.limits.packets - self.totals.packets
            if self.limits.file_packets is not None:
                of_file = self.limits.file_packets - self._writer.totals.packets
                left = of_file if left is None else min(left, of_file)
            try:
                written = self._writer.write(
                    ring,
                    start,
                    end,
                    packets=left,
                    before_ns=self._time_end(),
                    file_bytes=self.limits.file_bytes,
                    lost=lost,
                    flush=flush,
                    longest=self._longest,
                )
            except HeadraceError:
                self.done = True  # what comes would be behind a gap, or twice there
                raise
            self.cut += written.cut
            start, lost = written.reached, 0 if written.packets else lost
            self.done = self.totals.packets == self.limits.packets
            if written.stop == "end":
                break
            if written.stop == "time":
                self._next_time(written.next_ns)
            elif written.stop == "size" and self.limits.stop_size == self.limits.file_bytes:
                self.done = True
            elif written.stop == "size":
                self._next_number(written.next_ns)
        return start

    def close(self) -> None:
        """Finishes the last file, or makes one without packets. Raises CardError when it can't be written."""
        if self._writer is None and not self.paths:
            self._begin_s = int(time.time())
            self._open()
        self._finish()

    def _time_of(self, ring: Ring, start: int) -> int:
        """Of the first record, in ns."""
        probe = self._open_file(None)
        time_ns = probe.write(ring, start, probe.end_of_record(ring, start), before_ns=1).next_ns
        probe.close()
        return time_ns

    def _time_end(self) -> int | None:
        ends = [] if self._end_ns is None else [self._end_ns]
        if (seconds := self.limits.seconds) is not None and self._begin_s is not None:
            begin_s = self._begin_s - self._begin_s % seconds if self.limits.aligned else self._begin_s
            ends.append((begin_s + seconds) * _NS)
        return min(ends, default=None)

    def _next_time(self, next_ns: int) -> None:
        self._finish()
        if self._end_ns is not None and next_ns >= self._end_ns:
            self.done = True
            return
        self._begin_s = next_ns // _NS
        self._number = 0
        self._times += 1
        if not self.limits.numbered and self.limits.size is None and self._times == self.limits.files:
            self.done = True
        else:
            self._open()

    def _next_number(self, next_ns: int) -> None:
        self._finish()
        if self.limits.numbered:
            self._begin_s = next_ns // _NS
        self._number += 1
        if self._number == self.limits.files:
            self._number = 0
        self._open()

    def _open(self) -> None:
        if self._opened == self.limits.stop_files:
            self.done = True
            return
        self._opened += 1
        name = None if self._path is None else self._name(self._path)
        self._writer = self._open_file(name)
        if name is not None and name not in self.paths:
            self.paths.append(name)
        if self.limits.numbered and self.limits.files is not None and len(self.paths) > self.limits.files:
            try:
                os.remove(self.paths.pop(0))
            except OSError as error:
                raise HeadraceError(f"{error.filename}: {error.strerror}") from None

    def _finish(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.close(*self._totals())
        finally:
            self._finished += writer.totals

    def _name(self, path: str) -> str:
        """As tcpdump makes it: the time by strftime, then the file's number, with zeros if there is a last one; or as
        dumpcap does: number and time before the suffix."""
        if self.limits.numbered:
            stem, suffix = os.path.splitext(path)
            return f"{stem}_{self._opened:05d}_{time.strftime('%Y%m%d%H%M%S', time.localtime(self._begin_s))}{suffix}"
        name = path
        if self.limits.seconds is not None and self._begin_s is not None:
            name = time.strftime(path, time.localtime(self._begin_s))
        if self.limits.size is None:
            return name
        digits = len(str(self.limits.files - 1)) if self.limits.files is not None and self.limits.files > 1 else 0
        return name if self._number == 0 and digits == 0 else f"{name}{self._number:0{digits}d}"
