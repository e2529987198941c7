"""What ``headrace bridge recv``, ``trace`` and ``send`` do, as EmbedNet's app_h2s, app_h2s_trace and app_s2h did.

Times are card time: cycles at the nominal clock, and the host's as its profile says, a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from headrace.card import Card
from headrace.card.process import StopRequests, drop_rights
from headrace.cards.bridge.card import check_link_type, driver_of, open_bridge_card
from headrace.cards.bridge.driver import BridgeDriver
from headrace.cards.bridge.formats import Header, Packet, idp
from headrace.cards.bridge.host import Host, is_live
from headrace.cards.bridge.jobs import SINGLE_KB, Latency, ReceiveJob, Report, SendJob, Setting
from headrace.cards.bridge.pcap_writer import PcapWriter
from headrace.cards.bridge.tables import PORTS, SOFTWARE
from headrace.net import bpf
from headrace.traffic import triangle

APPLICATION = idp("application")

_PORT = 0
_WALL_S = 0.05  # between looks at Ctrl-C
_AHEAD = 2  # batches that software has ready when it sends as fast as it can
_NS = 10**9

Progress = Callable[[float], None]
"""Called with the part that is done, 0 to 1."""


@contextmanager
def _opened(job: Setting, progress: bool) -> Iterator[tuple[Card, BridgeDriver]]:
    with open_bridge_card(job.parameters, progress=progress) as card:
        yield card, driver_of(card)


class _Arrivals:
    """What software gets: sums, times and, if wanted, a file."""

    def __init__(self, begin_ns: int, step_s: float | None, file: PcapWriter | None) -> None:
        self.packets = self.bytes = self.batches = 0
        self.begin_ns = self.last_ns = begin_ns
        self.first: tuple[int, int, int] | None = None  # time, packets and bytes of the first batch
        self.latencies: list[int] = []
        self.steps: list[int] = []  # bytes
        self._step_ns = None if step_s is None else round(step_s * 1e9)
        self._file = file

    def take(self, packets: list[Packet], time_ns: int) -> None:
        """For ``Host``."""
        size = sum(len(packet.payload) for packet in packets)
        self.packets += len(packets)
        self.bytes += size
        self.batches += 1
        self.last_ns = time_ns
        if self.first is None:
            self.first = time_ns, len(packets), size
        if self._step_ns is not None:
            step = (time_ns - self.begin_ns) // self._step_ns
            self.steps += [0] * (step + 1 - len(self.steps))
            self.steps[step] += size
        for packet in packets:
            made = triangle.read_frame(packet.payload)
            if made is not None:
                self.latencies.append(time_ns - made[1])
        if self._file is not None:
            self._file.write([packet.payload for packet in packets], time_ns)

    def rates(self) -> tuple[float, float, float]:
        """Seconds, bit/s and packets a second: of what came after the first batch, or of that if it is the only one."""
        if self.first is None:
            return 0.0, 0.0, 0.0
        time_ns, packets, size = self.first if self.batches > 1 else (self.begin_ns, 0, 0)
        seconds = (self.last_ns - time_ns) / _NS
        if seconds == 0:
            return 0.0, 0.0, 0.0
        return seconds, 8 * (self.bytes - size) / seconds, (self.packets - packets) / seconds

    def latency(self) -> Latency | None:
        """None where packets don't tell their time, or times that can't be."""
        if not self.latencies or min(self.latencies) < 0:
            return None
        rising = sorted(self.latencies)
        return Latency(*(rising[-(-part * len(rising) // 100) - 1] for part in (50, 99, 100)))


def receive(job: ReceiveJob, progress: Progress | None = None) -> Report:
    """Runs until the packets, the time or the source is over, or until SIGINT or SIGTERM.

    Raises HeadraceError for what is wrong before the first packet, or where the source breaks off.
    """
    with (
        ExitStack() as files,
        _opened(job, progress is not None) as (card, driver),
        StopRequests() as stop,
    ):
        lossless = job.rate == "lossless"
        driver.setup_port(_PORT, flow_control=lossless)
        driver.classify(_PORT, 0, 0, 0, Header(SOFTWARE, idp("port 0"), APPLICATION, critical=job.express))
        adaptive = {} if job.adaptive_ms is None else {"adaptive": True, "target_ns": round(job.adaptive_ms * 1e6)}
        driver.h2s.configure(**job.batching(), express=job.express, wait_for_room=lossless, **adaptive)
        driver.start()
        card.flow_control(_PORT, lossless)
        card.source(_PORT, job.link, timing="line" if lossless else job.rate)
        bpf.load()
        drop_rights()
        check_link_type(card)
        file = files.enter_context(PcapWriter.opened(job.output))
        card.run(until=None, cycles=1)  # a capture's first time sets the clock
        arrivals = _Arrivals(driver.clock(), job.step_s, file)
        host = Host(card, driver, job.host(), arrivals.take, live=is_live(job.link))
        wanted = float("inf") if job.packets is None else job.packets

        def done() -> bool:
            if progress is not None:
                progress(_part(job, arrivals, driver.clock() if job.seconds is not None else 0))
            return bool(stop) or arrivals.packets >= wanted

        reason = host.run(done, job.seconds, _WALL_S)
        if reason == "idle":
            driver.h2s.flush()  # what no timeout brings
            reason = host.run(done, None, _WALL_S)
        return _received(job, card, driver, host, arrivals, reason == "idle")


def _part(job: ReceiveJob, arrivals: _Arrivals, now_ns: int) -> float:
    if job.seconds is not None:
        return min(1.0, (now_ns - arrivals.begin_ns) / (job.seconds * 1e9))
    return min(1.0, arrivals.packets / (job.packets or 1))


def _received(job: ReceiveJob, card: Card, driver: BridgeDriver, host: Host, arrivals: _Arrivals, idle: bool) -> Report:
    seconds, bits, packets = arrivals.rates()
    counters, stats = driver.counters(), card.stats()
    step = job.step_s
    return Report(
        packets=arrivals.packets,
        bytes=arrivals.bytes,
        batches=arrivals.batches,
        seconds=seconds,
        bits_per_s=bits,
        packets_per_s=packets,
        profile=job.profile,
        latency_ns=arrivals.latency(),
        dropped=counters.dropped,
        missing=counters.missing() if idle else None,
        closed_by=counters.h2s.closed_by,
        adaptation=driver.adaptation() if job.adaptive_ms is not None else None,
        trace=[] if step is None else [8 * size / step for size in arrivals.steps],
        step_s=step,
        errors=[*host.errors, *counters.complaints],
        cycles=stats.cycles,
        wall_s=stats.wall_s,
    )


def send(job: SendJob, progress: Progress | None = None) -> Report:
    """Sends packets until all of them have left, or until SIGINT or SIGTERM. Raises HeadraceError where a setting is
    wrong or a file can't be written."""
    with _opened(job, progress is not None) as (card, driver), StopRequests() as stop:
        links = sorted(filter(None, (job.sink, job.output and f"pcap:{job.output}")), key=is_live)
        while links and is_live(links[-1]):
            card.sink(_PORT, links.pop(), precision="nano", timestamps="card")
        bpf.load()
        drop_rights()
        for link in links:
            card.sink(_PORT, link, precision="nano", timestamps="card")
        driver.s2h.configure(**job.batching())
        driver.start()
        host = Host(card, driver, job.host())
        source = _Source(job, driver)
        begin = driver.clock()
        if job.rate_kbit is None:
            host.feed = source.fill
        else:
            host.at(begin, lambda: source.next(host, begin))

        def done() -> bool:
            if progress is not None:
                progress(driver.s2h.packets / max(1, job.packets))
            return bool(stop) or driver.s2h.packets + driver.s2h.failed >= job.packets

        host.run(done, None, _WALL_S)
        end = driver.clock()
        card.run()  # what has been sent gets out
        return _sent(job, card, driver, end - begin)


class _Source:
    """Software that makes packets."""

    def __init__(self, job: SendJob, driver: BridgeDriver) -> None:
        self._job = job
        self._driver = driver
        self._made = 0
        self._header = Header(PORTS[_PORT], APPLICATION, idp("port 0"), egress=True)
        self._batch = max(1, job.buffer_kb * 1024 // (job.packet_bytes + 12)) if job.buffer_kb > SINGLE_KB else 1

    def _make(self, count: int) -> list[Packet]:
        numbers = range(self._made, min(self._job.packets, self._made + count))
        self._made = numbers.stop
        now, size = self._driver.clock(), self._job.packet_bytes
        hash = APPLICATION << 32 | self._header.destination
        return [Packet(triangle.frame(size, hash, number, now), self._header) for number in numbers]

    def fill(self) -> None:
        """As fast as it goes."""
        while self._made < self._job.packets and self._driver.s2h.waiting < _AHEAD:
            self._driver.s2h.send(self._make(self._batch))
            if self._made >= self._job.packets:
                self._driver.s2h.flush()

    def next(self, host: Host, begin_ns: int) -> None:
        """The next packet in its time, and so on."""
        self._driver.s2h.send(self._make(1))
        if self._made < self._job.packets:
            assert self._job.rate_kbit is not None
            gap = self._job.packet_bytes * 8 / (self._job.rate_kbit * 1e3) * 1e9
            host.at(begin_ns + round(self._made * gap), lambda: self.next(host, begin_ns))
        elif self._driver.s2h.settings.timeout_ns == 0:
            self._driver.s2h.flush()


def _sent(job: SendJob, card: Card, driver: BridgeDriver, time_ns: int) -> Report:
    sender, counters, stats = driver.s2h, driver.counters(), card.stats()
    seconds, size = time_ns / _NS, sender.packets * job.packet_bytes
    return Report(
        packets=sender.packets,
        bytes=size,
        batches=sender.completed,
        seconds=seconds,
        bits_per_s=8 * size / seconds if seconds else 0.0,
        packets_per_s=sender.packets / seconds if seconds else 0.0,
        profile=job.profile,
        latency_ns=None,
        dropped=counters.dropped,
        missing=counters.missing(),
        closed_by={},
        adaptation=None,
        trace=[],
        step_s=None,
        errors=[*sender.errors, *counters.complaints],
        cycles=stats.cycles,
        wall_s=stats.wall_s,
    )
