"""The files of a capture: one, or as many as tcpdump's -c, -C, -G and -W ask for, with tcpdump's names.

Times are those of the packets. Live, that is what tcpdump's clock says; a capture that is played back is cut at its own
times, where tcpdump would take the time of the playing.
"""

from __future__ import annotations

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
    ``size``, the capture ends after so many.
    """

    packets: int | None = None
    size: int | None = None
    seconds: int | None = None
    files: int | None = None


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
        self._writer: RecordWriter | None = None
        if limits.seconds is None or begin_s is not None:
            self._open()

    @property
    def totals(self) -> FileTotals:
        """Of all files: the packets that are in them, not those that could not be written."""
        return self._finished if self._writer is None else self._finished + self._writer.totals

    def write(self, ring: Ring, start: int, end: int, lost: int = 0, flush: bool = False) -> int:
        """Writes the records between two byte counts; gives the count that it reached, which is ``end`` unless
        ``done``. ``lost``: packets lost before the first of them. Raises CardError when a file can't be written."""
        if self._writer is None and start != end and not self.done:
            self._begin_s = self._time_of(ring, start, end)
            self._open()
        while self._writer is not None and not self.done:
            left = None if self.limits.packets is None else self.limits.packets - self.totals.packets
            try:
                written = self._writer.write(
                    ring,
                    start,
                    end,
                    packets=left,
                    before_ns=self._time_end(),
                    file_bytes=self.limits.size,
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
            elif written.stop == "size":
                self._next_number()
        return start

    def close(self) -> None:
        """Finishes the last file, or makes one without packets. Raises CardError when it can't be written."""
        if self._writer is None and not self.paths:
            self._begin_s = int(time.time())
            self._open()
        self._finish()

    def _time_of(self, ring: Ring, start: int, end: int) -> int:
        """Of the first record, in whole seconds."""
        probe = self._open_file(None)
        time_ns = probe.write(ring, start, end, before_ns=1).next_ns
        probe.close()
        return time_ns // _NS

    def _time_end(self) -> int | None:
        if self.limits.seconds is None or self._begin_s is None:
            return None
        return (self._begin_s + self.limits.seconds) * _NS

    def _next_time(self, next_ns: int) -> None:
        self._finish()
        self._begin_s = next_ns // _NS
        self._number = 0
        self._times += 1
        if self.limits.size is None and self._times == self.limits.files:
            self.done = True
        else:
            self._open()

    def _next_number(self) -> None:
        self._finish()
        self._number += 1
        if self._number == self.limits.files:
            self._number = 0
        self._open()

    def _open(self) -> None:
        name = None if self._path is None else self._name(self._path)
        self._writer = self._open_file(name)
        if name is not None and name not in self.paths:
            self.paths.append(name)

    def _finish(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            writer.close(*self._totals())
        finally:
            self._finished += writer.totals

    def _name(self, path: str) -> str:
        """As tcpdump makes it: the time by strftime, then the file's number, with zeros if there is a last one."""
        name = path
        if self.limits.seconds is not None and self._begin_s is not None:
            name = time.strftime(path, time.localtime(self._begin_s))
        if self.limits.size is None:
            return name
        digits = len(str(self.limits.files - 1)) if self.limits.files is not None and self.limits.files > 1 else 0
        return name if self._number == 0 and digits == 0 else f"{name}{self._number:0{digits}d}"
