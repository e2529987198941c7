"""What waits in a delay line, by a clock that is given: each port's frames leave in the order they have come in."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from typing import Any

LEAST_NS = 100_000
"""Shorter delays are less than what waking up a process takes."""
PORT_BYTES = 64 << 20
ALL_BYTES = 256 << 20
"""That wait for a port, and for all of them, before others are dropped."""
FRAME_BYTES = 160
"""Of memory that a frame takes beside its own."""
LATE_PART = 0.1
"""Of its delay, or of the least one: a frame that leaves later by more than that is late."""


class _Port:
    def __init__(self) -> None:
        self.delay_ns = 0
        self.since_ns = self.last_ns = 0  # the link began; the last frame is due
        self.bytes = 0
        self.waiting: deque[tuple[int, bytes]] = deque()


class Delays:
    """Frames that wait. All times are ns of the same clock."""

    def __init__(self, port_bytes: int = PORT_BYTES, all_bytes: int = ALL_BYTES) -> None:
        self._port_bytes, self._all_bytes = port_bytes, all_bytes
        self._ports: dict[int, _Port] = {}
        self._next: list[tuple[int, int]] = []  # a heap: when the first frame of a port is due, the port
        self._bytes = 0
        self._frames = self._late = self._latest_ns = self._dropped = self._forgotten = 0
        self._lateness: Counter[int] = Counter()  # frames, by 16 steps for each power of 2

    def set(self, port: int, delay_ns: int) -> None:
        """Frames that come from now on wait so long; where that is shorter than before, not less than those before
        them."""
        self._ports.setdefault(port, _Port()).delay_ns = delay_ns

    def forget(self, port: int, now_ns: int) -> None:
        """What has come to a port so far never leaves."""
        gone = self._ports[port]
        self._forgotten += len(gone.waiting)
        self._bytes -= gone.bytes
        self._next = [each for each in self._next if each[1] != port]
        heapq.heapify(self._next)
        new = self._ports[port] = _Port()
        new.delay_ns, new.since_ns = gone.delay_ns, now_ns

    def add(self, port: int, came_ns: int, frame: bytes) -> None:
        """A frame has come, at a time that may be over for a while."""
        to = self._ports[port]
        if came_ns < to.since_ns:
            self._forgotten += 1
            return
        size = len(frame) + FRAME_BYTES
        if to.bytes + size > self._port_bytes or self._bytes + size > self._all_bytes:
            self._dropped += 1
            return
        to.bytes += size
        self._bytes += size
        to.last_ns = max(to.last_ns, came_ns + to.delay_ns)
        if not to.waiting:
            heapq.heappush(self._next, (to.last_ns, port))
        to.waiting.append((to.last_ns, frame))

    def due_ns(self) -> int | None:
        """When the next frame is; None: there is none."""
        return self._next[0][0] if self._next else None

    def take(self, now_ns: int) -> tuple[int, bytes] | None:
        """A frame that is due, and its port; it leaves now. None: no more."""
        if not self._next or self._next[0][0] > now_ns:
            return None
        due_ns, number = self._next[0]
        port = self._ports[number]
        _, frame = port.waiting.popleft()
        if port.waiting:
            heapq.heapreplace(self._next, (port.waiting[0][0], number))
        else:
            heapq.heappop(self._next)
        size = len(frame) + FRAME_BYTES
        port.bytes -= size
        self._bytes -= size
        late_ns = now_ns - due_ns
        self._frames += 1
        self._late += late_ns > LATE_PART * max(port.delay_ns, LEAST_NS)
        self._latest_ns = max(self._latest_ns, late_ns)
        power = max(late_ns.bit_length() - 5, 0)
        self._lateness[late_ns >> power << power] += 1
        return number, frame

    def report(self) -> dict[str, Any]:
        """``frames`` that have left; ``late_s``: how much later than they were due; ``late``: how many of them by more
        than a tenth of their delay; ``dropped``: as too many waited; ``forgotten`` with their links."""
        return {
            "frames": self._frames,
            "late_s": {
                "median": self._quantile_s(0.5), "p99": self._quantile_s(0.99), "max": self._latest_ns / 1e9
            },
            "late": self._late,
            "dropped": self._dropped,
            "forgotten": self._forgotten,
            "waiting": sum(len(port.waiting) for port in self._ports.values()),
        }  # fmt: skip

    def _quantile_s(self, part: float) -> float:
        """To 6 %."""
        count = 0
        for late_ns, frames in sorted(self._lateness.items()):
            count += frames
            if count >= part * self._frames:
                return late_ns / 1e9
        return 0.0
