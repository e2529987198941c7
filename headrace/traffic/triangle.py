"""Traffic whose rate follows two superposed triangle waves, as that of the EmbedNet thesis (section 5.4, appendix A:
``send_pkts_simple``): both waves start at the lower rate and have the same amplitude.

    rate(t) = lower + (upper - lower) * (triangle(t, interval 1) + triangle(t, interval 2)) / 2

A triangle goes from 0 to 1 and back, each way in its interval. The n-th packet leaves when the integral of the rate
reaches n.
"""

from __future__ import annotations

import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.net import pcap

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ETHERTYPE = 0x88B5  # IEEE 802: for local experiments
LEAST, MOST = 38, 1514  # bytes of a frame
CRC_BYTES = 4
EPOCH_NS = 1_700_000_000 * 10**9  # time of a file's beginning

_NS = 10**9
_FRAME = struct.Struct(">6s6sHQQQ")  # addresses, type, hash, number, time
_DESTINATION, _SOURCE = bytes.fromhex("020000000002"), bytes.fromhex("020000000001")
_CHUNK = 1 << 15  # packets that are made at once
_MOST_PPS = 1e9
_LEAST_S, _MOST_S = 1e-6, 1e6
_LATE_S = 0.0005  # below this, waiting is not worth a call to the kernel


@dataclass(frozen=True)
class Triangle:
    """The traffic. ``hash``: the 64 bits behind the Ethernet header, EmbedNet's IDPs of source and destination.
    ``length``: bytes of a frame; ``lower``, ``upper``: packets a second; ``intervals``: seconds between the lower and
    the upper rate, of each triangle. ``crc``: a frame's last 4 bytes are the CRC-32 of those before, as its FCS would
    be, which the bridge's CRC block wants."""

    hash: int = 0
    length: int = 1024
    lower: float = 1000
    upper: float = 5000
    intervals: tuple[float, float] = (10, 3)
    crc: bool = False

    def __post_init__(self) -> None:
        """Raises HeadraceError for what can't be."""
        if not 0 <= self.hash < 1 << 64:
            raise HeadraceError(f"hash {self.hash:#x}: must have 64 bits", 2)
        least = LEAST + CRC_BYTES if self.crc else LEAST
        if not least <= self.length <= MOST:
            raise HeadraceError(f"packets of {self.length} bytes: must have {least} to {MOST}", 2)
        if not 0 <= self.lower <= self.upper <= _MOST_PPS or self.upper == 0:
            raise HeadraceError(
                f"rates of {self.lower:g} and {self.upper:g}: must be 0 <= lower <= upper <= {_MOST_PPS:g}", 2
            )
        if not all(_LEAST_S <= interval <= _MOST_S for interval in self.intervals):
            raise HeadraceError(f"an interval must have {_LEAST_S:g} to {_MOST_S:g} s", 2)

    def rate(self, seconds: float) -> float:
        """Packets a second at a time."""
        heights = [1 - abs((seconds / interval) % 2 - 1) for interval in self.intervals]
        return self.lower + (self.upper - self.lower) * sum(heights) / 2

    def times(self, duration: float) -> npt.NDArray[np.float64]:
        """When packets leave, in seconds from the beginning, up to a duration."""
        import numpy as np

        corners = {0.0, duration}
        for interval in self.intervals:
            corners |= set(np.arange(0, duration, interval).tolist())
        starts = np.array(sorted(corners))
        rates = np.array([self.rate(start) for start in starts])
        lengths = np.diff(starts)
        counts = np.concatenate(([0.0], np.cumsum((rates[:-1] + rates[1:]) / 2 * lengths)))
        wanted = np.arange(int(np.floor(counts[-1])))
        part = np.minimum(np.searchsorted(counts, wanted, side="right") - 1, len(lengths) - 1)
        # Between two corners the rate is a straight line: count(t) = slope / 2 * t^2 + rate * t.
        slope, rate, left = np.diff(rates)[part] / lengths[part], rates[part], wanted - counts[part]
        root = np.sqrt(np.maximum(rate * rate + 2 * slope * left, 0))
        return np.asarray(starts[part] + np.where(rate + root > 0, 2 * left / np.maximum(rate + root, 1e-300), 0))


def frame(length: int, hash: int, number: int, time_ns: int) -> bytes:
    """One frame: Ethernet header, hash at byte 14, number at 22, time at 30, all big-endian; the rest is zeros. Of a
    short one, as much as there is room for."""
    return (_FRAME.pack(_DESTINATION, _SOURCE, ETHERTYPE, hash, number, time_ns) + bytes(max(0, length - 38)))[:length]


def read_frame(data: bytes) -> tuple[int, int] | None:
    """Number and time in ns of a frame of this kind, or None for others."""
    if len(data) < _FRAME.size:
        return None
    _, _, kind, _, number, time_ns = _FRAME.unpack_from(data)
    return (number, time_ns) if kind == ETHERTYPE else None


def write(traffic: Triangle, duration: float, file: IO[bytes], progress: Callable[[float], None] | None = None) -> int:
    """Writes a pcap file (nanoseconds) of a duration in seconds; gives the number of packets.

    ``progress`` is called with the part that is done, 0 to 1. Raises OSError when the file can't be written.
    """
    import numpy as np

    length = traffic.length
    fields = [("s", "<u4"), ("ns", "<u4"), ("captured", "<u4"), ("wire", "<u4")]
    fields += [("head", "V14"), ("hash", ">u8"), ("number", ">u8"), ("time", ">u8"), ("rest", f"V{length - LEAST}")]
    record = np.dtype(fields if length > LEAST else fields[:-1])
    pcap.begin(file)
    times = EPOCH_NS + np.round(traffic.times(duration) * _NS).astype(np.int64)
    head = np.void(frame(14, 0, 0, 0))
    for start in range(0, len(times), _CHUNK):
        part = times[start : start + _CHUNK]
        records: npt.NDArray[Any] = np.zeros(len(part), record)
        records["s"], records["ns"] = part // _NS, part % _NS
        records["captured"] = records["wire"] = length
        records["head"], records["hash"] = head, traffic.hash
        records["number"], records["time"] = np.arange(start, start + len(part)), part
        if traffic.crc:
            _add_crc(records, length)
        file.write(records.tobytes())
        if progress is not None:
            progress((start + len(part)) / len(times))
    file.flush()
    return len(times)


def _add_crc(records: npt.NDArray[Any], length: int) -> None:
    """Puts the CRC-32 of each record's frame of so many bytes at its end."""
    import numpy as np

    frames = records.view(np.uint8).reshape(len(records), -1)[:, -length:]
    covered = np.ascontiguousarray(frames[:, :-CRC_BYTES])
    checks = np.array([zlib.crc32(row) for row in covered], "<u4")
    frames[:, -CRC_BYTES:] = checks.view(np.uint8).reshape(-1, CRC_BYTES)


def with_crc(data: bytes) -> bytes:
    """A frame whose last 4 bytes are the CRC-32 of those before."""
    return data[:-CRC_BYTES] + zlib.crc32(data[:-CRC_BYTES]).to_bytes(CRC_BYTES, "little")


def send(
    traffic: Triangle,
    interface: str,
    duration: float | None,
    stop: Callable[[], bool],
    progress: Callable[[float, int], None] | None = None,
) -> int:
    """Sends on a network interface until a duration (None: without end) is over or ``stop()``; gives the number of
    packets. ``progress`` is called with the seconds and packets so far.

    Raises HeadraceError when the interface can't be used.
    """
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
            link.bind((interface, 0))
            return _send(traffic, link, duration, stop, progress)
    except OSError as error:
        raise HeadraceError(f"{interface}: {error.strerror}") from None


def _send(
    traffic: Triangle,
    link: socket.socket,
    duration: float | None,
    stop: Callable[[], bool],
    progress: Callable[[float, int], None] | None,
) -> int:
    begin = time.monotonic()
    shown = begin
    number = 0
    for due in _departures(traffic, duration):
        while (left := begin + due - time.monotonic()) > _LATE_S:
            time.sleep(min(left, 0.05))
            if stop():
                return number
        data = frame(traffic.length, traffic.hash, number, time.time_ns())
        link.send(with_crc(data) if traffic.crc else data)
        number += 1
        if (now := time.monotonic()) - shown >= 0.1:
            shown = now
            if progress is not None:
                progress(now - begin, number)
            if stop():
                return number
    return number


def _departures(traffic: Triangle, duration: float | None) -> Iterator[float]:
    """Times of packets, made as they are needed."""
    if duration is not None:
        yield from traffic.times(duration).tolist()
        return
    done, span = 0, 4 * max(traffic.intervals)
    while True:
        times = traffic.times(span)
        yield from times[done:].tolist()
        done, span = len(times), 2 * span
