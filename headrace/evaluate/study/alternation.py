"""EmbedNet's own interface, as its thesis describes it (section 4.1), as a model: hardware and software in turns.

Hardware takes packets until its buffer is full or the timeout, which begins as soon as it is ready, is over; then it
takes none until software has handled the batch and given the buffer back. Meanwhile packets wait in a small store in
front, and are lost when that is full. Headrace's H2S takes packets all the time: what follows from taking turns, it
doesn't show.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headrace.cards.bridge.formats import packed_bytes
from headrace.cards.bridge.host import HostProfile
from headrace.evaluate.loads.bridge import MAX_PACKET

BUFFER_BYTES = 65536
STORE_PACKETS = 4
"""Fitted: EmbedNet's text doesn't give it. With four packets of 1,024 bytes in front, a timeout of 1 ms carries 34 of
40 Mb/s; published are about 35."""

_NS_PER_S = 1e9
_SECONDS = 1.0
_FOLLOWED = 0.99


def batches(
    times_ns: npt.NDArray[np.float64], size: int, timeout_ns: float, host: HostProfile, store: int = STORE_PACKETS
) -> list[tuple[float, int]]:
    """When software has handled each batch (ns), and its packets; of packets of ``size`` bytes that come at times."""
    packed, most = packed_bytes(size), (BUFFER_BYTES - packed_bytes(MAX_PACKET)) // packed_bytes(size) + 1
    found: list[tuple[float, int]] = []
    ready, at, waiting = 0.0, 0, 0
    while at < len(times_ns) or waiting:
        count, end = waiting, ready + timeout_ns
        while at < len(times_ns) and count < most and times_ns[at] <= end:
            count, at = count + 1, at + 1
        waiting = 0
        if count == most:
            end = max(ready, float(times_ns[at - 1]))
        if count == 0:  # the timeout is looked at again when there is a packet
            ready = max(end, float(times_ns[at]))
            continue
        ready = end + host.h2s_message_ns + host.handling_ns(count, count * packed)
        came = int(np.searchsorted(times_ns, ready, side="right")) - at
        waiting, at = min(came, store), at + came
        found.append((ready, count))
    return found


def carried_mbit_s(rate_mbit_s: float, size: int, timeout_ns: float, host: HostProfile) -> float:
    """What gets to software of packets that come at one rate."""
    times = np.arange(0, _SECONDS, size * 8 / (rate_mbit_s * 1e6)) * _NS_PER_S
    return rate_mbit_s * sum(count for _, count in batches(times, size, timeout_ns, host)) / len(times)


def followed_mbit_s(size: int, timeout_ns: float, host: HostProfile, most: int = 100) -> int:
    """The highest rate, in steps of 1 Mb/s, up to which nothing is lost to speak of."""
    for rate in range(1, most + 1):
        if carried_mbit_s(rate, size, timeout_ns, host) < _FOLLOWED * rate:
            return rate - 1
    return most
