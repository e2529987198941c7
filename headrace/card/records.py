"""Writes the records of a capture ring into files, in the harness: packets don't pass through Python.

The ring's content is the body of a pcap file with times in nanoseconds; see ``regs/capture.rdl``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from headrace.card import interface as harness
from headrace.card.card import pick
from headrace.card.stats import FileTotals
from headrace.errors import CardError

if TYPE_CHECKING:
    from headrace.card.card import Card
    from headrace.card.packet_memory import Packets

_HEADER, _LENGTH_AT = 16, 8  # bytes of a record's header, and where in it the captured length is
Stop = Literal["end", "packets", "time", "size"]
_STOPS: tuple[Stop, ...] = ("end", "packets", "time", "size")  # by HR_WRITER_...


@dataclass(frozen=True)
class Ring:
    """A ring of records in host memory: its address, and its size in bytes, a power of two."""

    address: int
    size: int


@dataclass(frozen=True)
class Written:
    """What a call of ``RecordWriter.write`` did.

    ``reached`` is the byte count up to which records are written, ``stop`` why not further, ``next_ns`` then the time
    of the record that comes next. ``packets``, ``captured_bytes`` and ``wire_bytes`` are those of this call, ``cut``
    tells how many of its packets have ``longest`` bytes and had more, ``file_bytes`` are those of the whole file.
    """

    reached: int
    stop: Stop
    packets: int
    captured_bytes: int
    wire_bytes: int
    file_bytes: int
    next_ns: int
    cut: int


@harness.in_range
class RecordWriter:
    """A capture file that is being written from a ring. Used by the card's thread only."""

    def __init__(
        self,
        card: Card,
        link: str,
        *,
        format: str | None = None,
        precision: str = "micro",
        timestamps: str = "card",
        port: int = 0,
        snapshot: int = 0,
        interface: str | None = None,
        filter: str | None = None,
    ) -> None:
        """Opens the file, as ``Card.sink`` does.

        ``link`` is ``pcap:FILE`` (``-`` is standard output) or ``null``. ``timestamps``: ``"card"``, those in the ring,
        ``"recorded"``, those of the capture records that came in at ``port`` at these times, or ``"kept"``, those that
        a ``PacketMemory`` keeps. ``interface`` and ``filter``: what pcapng says where packets come from. Raises
        CardError when the file can't be opened.
        """
        self._card = card
        self._lib: Any = card._lib
        self._ffi = card._ffi
        lib = self._lib
        if format is None:
            format = "pcapng" if link.endswith(".pcapng") else "pcap"
        texts = [text and self._ffi.new("char[]", harness.text(text)) for text in (link, interface, filter)]
        request = self._ffi.new(
            "hr_sink *",
            {
                "port": port,
                "link": texts[0],
                "select": -1,
                "length_at": -1,
                "timestamps": pick(
                    "timestamps",
                    timestamps,
                    recorded=lib.HR_TIMESTAMPS_RECORDED,
                    card=lib.HR_TIMESTAMPS_CARD,
                    kept=lib.HR_TIMESTAMPS_KEPT,
                ),
                "format": pick("format", format, pcap=lib.HR_FORMAT_PCAP, pcapng=lib.HR_FORMAT_PCAPNG),
                "precision": pick("precision", precision, micro=lib.HR_PRECISION_MICRO, nano=lib.HR_PRECISION_NANO),
                "snapshot": snapshot,
                "interface_name": texts[1] or self._ffi.NULL,
                "filter": texts[2] or self._ffi.NULL,
            },
        )
        handle = lib.hr_open_writer(card._open, request)
        if handle == self._ffi.NULL:
            raise CardError(card._error())
        self._handle = self._ffi.gc(handle, lib.hr_destroy_writer)
        self._closed = False

    def write(
        self,
        ring: Ring,
        start: int,
        end: int,
        *,
        packets: int | None = None,
        before_ns: int | None = None,
        file_bytes: int | None = None,
        lost: int = 0,
        flush: bool = False,
        longest: int = 0,
    ) -> Written:
        """Writes the records between two byte counts (modulo 2^32), up to a limit.

        At most ``packets`` (not 0); none of ``before_ns`` (since the epoch) or later; and none once the file has more
        than ``file_bytes``. ``lost``: packets lost before the first one, for pcapng. ``flush``: everything is in the
        file afterwards. Raises CardError when the file can't be written (it then ends with a whole record),
        CaptureError when there is no record where one should be.
        """
        limits = self._ffi.new(
            "hr_writer_limits *",
            {
                "packets": packets or 0,
                "before_ns": before_ns or 0,
                "file_bytes": file_bytes or 0,
                "lost": min(lost, 0xFFFFFFFF),
                "flush": flush,
                "longest": longest,
            },
        )
        result = self._ffi.new("hr_writer_result *")
        self._card._check(
            self._lib.hr_write_records(
                self._card._open, self._open, ring.address, ring.size, start, end, limits, result
            )
        )
        return Written(
            reached=result.reached,
            stop=_STOPS[result.stop],
            packets=result.packets,
            captured_bytes=result.captured_bytes,
            wire_bytes=result.wire_bytes,
            file_bytes=result.file_bytes,
            next_ns=result.next_ns,
            cut=result.cut,
        )

    def end_of_record(self, ring: Ring, start: int) -> int:
        """The byte count behind the record at a byte count (modulo 2^32)."""
        at, size = start % ring.size, _LENGTH_AT + 4
        header = self._card.memory.read(ring.address + at, min(size, ring.size - at))
        header += self._card.memory.read(ring.address, size - len(header)) if len(header) < size else b""
        return (start + _HEADER + int.from_bytes(header[_LENGTH_AT:], "little")) % (1 << 32)

    def write_packets(self, packets: Packets) -> None:
        """Writes packets that lie in host memory.

        Raises CardError when the file can't be written, or a packet isn't within a mapped range of function 0.
        """
        if len(packets) == 0:
            return
        array = self._ffi.from_buffer("hr_packet[]", packets.data)
        self._card._check(self._lib.hr_write_packets(self._card._open, self._open, array, len(packets)))

    def close(self, received: int = 0, dropped: int = 0) -> None:
        """Finishes the file; pcapng notes the packets that came in, and those dropped of them. May be called again.

        Raises CardError when the file can't be written.
        """
        if not self._closed:
            self._closed = True
            self._card._check(self._lib.hr_close_writer(self._card._open, self._handle, received, dropped))

    @property
    def totals(self) -> FileTotals:
        """The packets that are in the file, or on the way there: without those that could not be written."""
        return FileTotals.of(self._lib.hr_get_writer_totals(self._handle))

    @property
    def _open(self) -> Any:
        if self._closed:
            raise CardError("the capture file is closed", 2)
        return self._handle
