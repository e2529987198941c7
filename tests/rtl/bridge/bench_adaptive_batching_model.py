"""The law of adaptive_batching in the integers of the RTL, and a model of H2S and its host to try it on.

Times outside of the law are in ns. Packets are (arrival, bytes). A batch closes when it is full, when its first packet
has waited for the timeout, or with each packet (single). The host handles one message after the other.
"""

import random
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

MAX_PACKET = 1514
HEADER = 12
WORD32 = (1 << 32) - 1
LEAST_BYTES = 2048
UNIT_LOG2 = 6  # the law counts in units of 64 ns
TIME_MASK = WORD32 >> UNIT_LOG2
FLOOR = 512 >> UNIT_LOG2
FLOOR_SHIFT = 3
LONELY = 3  # windows with packets, all far apart, after which packets go one by one
SERVICE_DECAY = 6  # 1/2^n a window in which a batch came back
HANDLING_DECAY = 3
DEPTH = 32  # close times remembered


@dataclass(frozen=True)
class Batching:
    """How batches are formed; as bridge_pkg::batching_t."""

    single: bool = False
    bytes: int = 65536
    timeout_ns: int = 0


@dataclass
class Law:
    """The registers of adaptive_batching; step() is one clock cycle of it."""

    target: int
    most: Batching
    enable: bool = True
    service: int = 0  # longest time from a batch's end to its return, of late
    handling: int = 0  # the same without the time for which other batches were before it
    room: int = 0
    least: int = FLOOR
    timeout: int = FLOOR
    limited: bool = False  # software's timeout is shorter
    shift: int = 0  # of the byte limit
    lonely: int = 0
    known: bool = False  # a batch has come back
    held: int = 0  # batches that software has
    crowd: int = 0  # batches beyond those in `closes`
    start: int = 0  # when the oldest batch in `closes` came to be the oldest
    returned: bool = False  # in the running window
    queued: bool = False  # two batches at once were under way in it
    sample: bool = False  # age and busy are to be looked at
    ended: bool = False  # a window in which a batch came back
    age: int = 0
    busy: int = 0
    closes: deque[int] = field(default_factory=deque)

    def chosen(self) -> Batching:
        """What is put into force in this cycle."""
        if not self.enable:
            return self.most
        size = max(self.most.bytes >> self.shift, min(LEAST_BYTES, self.most.bytes))
        timeout_ns = self.most.timeout_ns if self.limited else self.timeout << UNIT_LOG2
        alone = self.lonely == LONELY and not self.closes
        return Batching(self.most.single or alone, size, timeout_ns)

    def watch(self) -> bool:
        """Whether the end of the running window matters."""
        return (bool(self.closes) and self.service < self.target >> UNIT_LOG2) or self.returned or self.queued

    def step(
        self,
        now: int,
        closed: bool = False,
        taken: bool = False,
        posted: bool = False,
        window: bool = False,
        packets: int = 0,
        gap_min: int = 0,
    ) -> None:
        """What the next clock edge does."""
        now = now >> UNIT_LOG2 & TIME_MASK
        target = self.target >> UNIT_LOG2
        waiting = bool(self.closes)
        returned = posted and self.held > 0
        self.held = min(self.held + taken - returned, DEPTH)
        crowded = closed and waiting

        if crowded:
            self.shift = 0
        elif self.ended and not self.queued:
            if self.handling > target >> 1:
                self.shift = min(self.shift + 1, 5)
            elif self.shift:
                self.shift -= 1

        if window and packets:
            far = gap_min >> UNIT_LOG2 > self.chosen().timeout_ns >> UNIT_LOG2
            self.lonely = min(self.lonely + 1, LONELY) if far else 0
        if crowded:
            self.lonely = 0

        timeout = max(self.room, self.least)
        self.limited = self.most.timeout_ns != 0 and timeout > self.most.timeout_ns >> UNIT_LOG2
        self.timeout = min(timeout, TIME_MASK)
        self.room = target - (target >> 4) - (self.service if self.known else target >> 1)
        self.least = self.handling + (self.handling >> FLOOR_SHIFT) | FLOOR

        if self.sample and self.age > self.service:
            self.service = self.age
        elif self.ended:
            self.service -= self.service >> SERVICE_DECAY
        if self.sample and self.busy > self.handling:
            self.handling = self.busy
        elif self.ended:
            self.handling -= self.handling >> HANDLING_DECAY

        self.sample = waiting and (returned or window)
        self.ended = window and self.returned
        if waiting:
            self.age = (now - self.closes[0]) & TIME_MASK
        self.busy = (now - self.start) & TIME_MASK
        self.returned = returned or (self.returned and not window)
        self.queued = crowded or (self.queued and not window)

        pop = returned and waiting
        self.known |= pop
        if pop:
            self.closes.popleft()
        if pop or not waiting:
            self.start = now
        # A batch whose close time finds no room gets a later one, once there is room.
        full = len(self.closes) + pop == DEPTH
        if closed and full and not pop:
            self.crowd += 1
        elif closed or (pop and self.crowd):
            self.closes.append(now)
            self.crowd -= pop and self.crowd and not closed


class Fixed(Law):
    """Batching that software has set."""

    def chosen(self) -> Batching:
        """What software has set."""
        return self.most


@dataclass(frozen=True)
class HostModel:
    """A host: ns a message and a byte. It has done with a batch after that."""

    message_ns: int
    byte_ns: float = 0.0
    transfer_ns: int = 1000  # from a batch's end to its message
    beat_ns: float = 0.1  # a byte
    slow_every: int = 0  # each so many messages one takes 3 times message_ns


@dataclass
class Result:
    """What became of the packets."""

    latencies: list[tuple[int, int]]  # arrival, latency
    batches: list[tuple[int, int, int]]  # end, packets, bytes
    timeouts: list[int]

    def percentile(self, part: float, since: int = 0) -> int:
        """Latency that `part` of the packets keep which arrive from `since` on."""
        ordered = sorted(latency for arrival, latency in self.latencies if arrival >= since)
        return ordered[min(int(part * len(ordered)), len(ordered) - 1)]

    def mean_batch(self, since: int = 0) -> float:
        """Packets in a batch on average."""
        counts = [count for end, count, _ in self.batches if end >= since]
        return sum(counts) / len(counts)


def run(packets: Iterable[tuple[int, int]], host: HostModel, law: Law, window_log2: int = 20) -> Result:
    """Bring packets through H2S under `law` to `host`, event by event."""
    arrivals = deque(packets)
    window = 1 << window_log2
    latencies: list[tuple[int, int]] = []
    batches: list[tuple[int, int, int]] = []
    timeouts: list[int] = []
    batch: list[int] = []
    size = 0
    messages: deque[tuple[int, list[int], int]] = deque()  # when it is there, arrivals, bytes
    free = 0  # when the host has handled the last message
    now = arrivals[0][0]
    window_end = (now // window + 1) * window
    number = 0  # of the message that the host is at
    last = -1
    count, gap_min = 0, WORD32
    while arrivals or batch or messages:
        chosen = law.chosen()
        done = WORD32 << 32
        if messages:
            ready, _, held = messages[0]
            slow = host.slow_every and number % host.slow_every == 0
            cost = int(host.message_ns * (3 if slow else 1) + host.byte_ns * held)
            done = max(ready, free) + cost
        due = [window_end, done]
        if arrivals:
            due.append(arrivals[0][0])
        if batch:
            due.append(max(batch[0] + chosen.timeout_ns, now) if chosen.timeout_ns else WORD32 << 32)
        now = max(now, min(due))
        closed = returned = False
        if now >= window_end:
            law.step(now, window=True, packets=count, gap_min=gap_min)
            window_end = (now // window + 1) * window
            count, gap_min = 0, WORD32
        elif messages and now >= done:
            law.step(now, taken=True)
            _, members, _ = messages.popleft()
            latencies.extend((arrival, now - arrival) for arrival in members)
            free = now
            number += 1
            returned = True
        elif arrivals and now >= arrivals[0][0]:
            _, length = arrivals.popleft()
            count += 1
            if last >= 0:
                gap_min = min(gap_min, now - last)
            last = now
            batch.append(now)
            size += HEADER + (length + 3) // 4 * 4
            closed = chosen.single or size + HEADER + MAX_PACKET + 2 > chosen.bytes
        elif batch and chosen.timeout_ns and now >= batch[0] + chosen.timeout_ns:
            closed = True
        if closed:
            batches.append((now, len(batch), size))
            messages.append((now + host.transfer_ns + int(host.beat_ns * size), batch, size))
            batch, size = [], 0
            timeouts.append(chosen.timeout_ns)
        law.step(now, closed=closed, posted=returned)
        for _ in range(4):
            law.step(now)
    return Result(latencies, batches, timeouts)


def oracle(packets: list[tuple[int, int]], host: HostModel, target: int, since: int) -> float:
    """The mean batch with the longest of 31 fixed timeouts with which the target is kept; 0: with none."""
    for part in range(31, 0, -1):
        result = run(packets, host, Fixed(target, Batching(False, 65536, target * part // 32)))
        if result.percentile(0.99, since) <= target:
            return result.mean_batch(since)
    return 0.0


def rate_at(points: list[tuple[int, float]], now: int) -> float:
    """Linear between points of (time, bit/s)."""
    index = bisect_left(points, (now, 0.0))
    if index == 0:
        return points[0][1]
    if index == len(points):
        return points[-1][1]
    (t0, r0), (t1, r1) = points[index - 1], points[index]
    return r0 + (r1 - r0) * (now - t0) / max(t1 - t0, 1)


def traffic(points: list[tuple[int, float]], length: int, end: int) -> list[tuple[int, int]]:
    """Evenly spaced packets of `length` bytes at the rate given by `points`."""
    packets, now = [], 0.0
    while now < end:
        packets.append((int(now), length))
        now += length * 8e9 / rate_at(points, int(now))
    return packets


def poisson(rate: float, length: int, end: int) -> list[tuple[int, int]]:
    """Packets that come independently of each other, at `rate` bit/s on average; the same ones each time."""
    numbers = random.Random(1)
    packets, now = [], 0.0
    while now < end:
        packets.append((int(now), length))
        now += numbers.expovariate(rate / (length * 8e9))
    return packets


def steps(low: float, high: float, half: int, length: int, end: int) -> list[tuple[int, int]]:
    """Now the one rate and now the other, in bit/s, for `half` ns each."""
    points = [
        (now + edge, rate)
        for number, now in enumerate(range(0, end, half))
        for edge, rate in ((0, (low, high)[number % 2]), (half - 1, (low, high)[number % 2]))
    ]
    return traffic(points, length, end)


def triangle(low: float, high: float, periods: tuple[int, int], end: int) -> list[tuple[int, float]]:
    """Two superposed triangle waves between low and high bit/s with two periods."""
    step = min(periods) // 16

    def wave(now: int, period: int) -> float:
        part = now % period / period
        return 2 * part if part < 0.5 else 2 - 2 * part

    return [
        (now, low + (high - low) * (wave(now, periods[0]) + wave(now, periods[1])) / 2) for now in range(0, end, step)
    ]


def bursts(length: int, count: int, period: int, end: int, gap: int = 1230) -> list[tuple[int, int]]:
    """Every `period` a burst of `count` packets, `gap` apart."""
    return [(start + gap * number, length) for start in range(0, end, period) for number in range(count)]
