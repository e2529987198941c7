"""Loads for the bridge card, and what becomes of them: batches both ways, at full load, at rates and over time.

Cycles are those of the RTL, the same on every machine; the host is a model (``headrace.bridge.host``). Every packet is
compared with what was sent.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.bridge.card import driver_of
from headrace.bridge.driver import BridgeDriver
from headrace.bridge.formats import Header, Packet, packed_bytes
from headrace.bridge.host import PROFILES, Host, percentile
from headrace.bridge.receive import ReceiveSettings
from headrace.bridge.send import SendSettings
from headrace.bridge.tables import PORTS, SOFTWARE
from headrace.card import Card
from headrace.traffic.triangle import Triangle

WIRE_OVERHEAD = 24  # bytes of preamble, FCS and gap
LEAST_FRAME = 60  # bytes without FCS
MAX_PACKET = 1514
SINGLE = 0  # KB of a buffer: single packets

_BASE_NS = 1_000_000_000  # of the card's clock
_HOST_BUFFERS = 4
_SEQUENCE = slice(14, 18)  # of a frame: its number
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class Setup:
    """A card for a host: width of bus and ports in bits, clock in Hz, rate of the line in bit/s."""

    data_w: int
    clock_hz: int
    rate: float

    def wire_ns(self, size: int) -> float:
        """How long a frame takes on the line, with preamble, FCS and gap."""
        return (max(size, LEAST_FRAME) + WIRE_OVERHEAD) * 8e9 / self.rate

    def arrival_ns(self, size: int) -> float:
        """From a frame's first bit on the line to its last one, preamble and FCS included."""
        return (max(size, LEAST_FRAME) + 12) * 8e9 / self.rate


SETUPS = {"embednet": Setup(32, 100_000_000, 1e9), "pcie": Setup(64, 322_265_625, 10e9)}


@dataclass(frozen=True)
class Throughput:
    """Payload that got across. ``faults``: packets that are wrong, out of order or unaccounted for."""

    size: int
    messages: int
    packets: int
    bits_per_s: float
    faults: int


@dataclass(frozen=True)
class Latency:
    """Times in ns from end to end."""

    packets: int
    min_ns: float
    median_ns: float
    p99_ns: float
    max_ns: float
    faults: int


@dataclass(frozen=True)
class Step:
    """What happened in a step of time; percentiles of the packets delivered in it, 0 without any."""

    time_s: float
    offered_bits_per_s: float
    delivered_bits_per_s: float
    p99_ns: float
    packets_per_message: float


@dataclass(frozen=True)
class Trace:
    """A load over time."""

    steps: tuple[Step, ...]
    offered: int
    delivered: int
    messages: int
    latency: Latency


@dataclass(frozen=True)
class BothWays:
    """Both directions at once at a full line: shares of the line's packets that got across."""

    size: int
    h2s_share: float
    s2h_share: float
    dropped: int
    faults: int


def run(kind: str, **arguments: Any) -> Any:
    """One of this module's loads by its name, for a list of points that has several kinds."""
    loads: dict[str, Callable[..., Any]] = {
        "build": build,
        "to_software": to_software,
        "to_hardware": to_hardware,
        "receive_latency": receive_latency,
        "send_latency": send_latency,
        "trace": trace,
        "critical": critical,
        "both_ways": both_ways,
    }
    return loads[kind](**arguments)


def build(host: str) -> None:
    """Builds a host's card, if need be."""
    _open(host).close()


def batching(buffer_kb: int, timeout_ms: float = 0.0) -> dict[str, Any]:
    """Settings for batches of so many KB, or single packets."""
    return {
        "buffer_bytes": max(buffer_kb, 2) * 1024,
        "single": buffer_kb == SINGLE,
        "timeout_ns": round(timeout_ms * 1e6),
    }


def to_software(host: str, size: int, buffer_kb: int, messages: int) -> Throughput:
    """A full line into H2S until software has so many messages. What finds no room is dropped."""
    setup, profile = SETUPS[host], PROFILES[host]
    per_message = 1 if buffer_kb == SINGLE else buffer_kb * 1024 // packed_bytes(size)
    fill_ns = per_message * setup.wire_ns(size)
    count = round((messages + 3) * max(fill_ns, profile.h2s_message_ns + 2000) / setup.wire_ns(size)) + 8 * per_message
    with _Receiving(host, size, np.arange(count) * setup.wire_ns(size), batching(buffer_kb)) as load:
        load.host.run(lambda: load.messages > messages)
        got, times = load.packets_by_message, load.message_times
        span = times[-1] - times[0]
        return Throughput(size, len(times), sum(got), sum(got[1:]) * size * 8e9 / span, load.faults)


def to_hardware(host: str, size: int, buffer_kb: int, messages: int) -> Throughput:
    """Software that always has the next buffer ready, out of S2H onto the line."""
    per_message = 1 if buffer_kb == SINGLE else (buffer_kb * 1024 - 4) // packed_bytes(size)
    frames = _Frames(size, per_message * messages)
    with _open(host) as card:
        driver = _driver(card)
        card.sink(0, "memory", timestamps="card")
        driver.s2h.configure(**_sending(buffer_kb))
        loop = Host(card, driver, PROFILES[host])
        driver.s2h.send(Packet(frames.data(n), Header(PORTS[0])) for n in range(frames.count))
        driver.s2h.flush()
        loop.run()
        card.run()
        sent = card.received(0)
        times = [frame.timestamp_ns for frame in sent]
        faults = frames.faults(frame.data for frame in sent) + frames.count - len(sent) + driver.counters().missing()
        steady = times[::per_message]
        steady = steady[len(steady) // 3 :]  # the MAC's own buffer is full by then
        span = steady[-1] - steady[0]
        return Throughput(size, messages, len(sent), (len(steady) - 1) * per_message * size * 8e9 / span, faults)


def receive_latency(
    host: str, size: int, buffer_kb: int, timeout_ms: float, bits_per_s: float, packets: int
) -> Latency:
    """Frames at a rate into H2S: from a frame's last bit on the line to software's having it."""
    gap_ns = size * 8e9 / bits_per_s
    with _Receiving(host, size, np.arange(packets) * gap_ns, batching(buffer_kb, timeout_ms)) as load:
        load.finish()
        return load.latency()


def send_latency(host: str, size: int, buffer_kb: int, timeout_ms: float, bits_per_s: float, packets: int) -> Latency:
    """Packets at a rate from software: from the driver's getting a packet to its first bit on the line."""
    gap_ns = size * 8e9 / bits_per_s
    frames = _Frames(size, packets)
    with _open(host) as card:
        driver = _driver(card)
        card.sink(0, "memory", timestamps="card")
        driver.s2h.configure(**_sending(buffer_kb, timeout_ms))
        loop = Host(card, driver, PROFILES[host])
        start = driver.clock()
        given: list[int] = []

        def give() -> None:
            number = len(given)
            given.append(driver.clock())
            driver.s2h.send([Packet(frames.data(number), Header(PORTS[0]))])
            if number + 1 < packets:
                loop.at(start + round((number + 1) * gap_ns), give)

        loop.at(start, give)
        loop.run(lambda: len(given) == packets)
        driver.s2h.flush()
        loop.run()
        card.run()
        sent = card.received(0)
        faults = frames.faults(frame.data for frame in sent) + packets - len(sent)
        spent = [frame.timestamp_ns - given[frames.number(frame.data)] for frame in sent]
        return _latency(spent, faults)


def trace(
    host: str,
    size: int,
    lower_pps: float,
    upper_pps: float,
    intervals_s: tuple[float, float],
    seconds: float,
    step_s: float,
    settings: dict[str, Any],
    window_log2: int = 20,
) -> Trace:
    """Two superposed triangle waves into H2S, looked at in steps of time."""
    times = 1e9 * Triangle(length=size, lower=lower_pps, upper=upper_pps, intervals=intervals_s).times(seconds)
    with _Receiving(host, size, times, settings, window_log2) as load:
        load.finish()
        offered = np.bincount((times / 1e9 / step_s).astype(int))
        taken_s = (np.array(load.delivered_ns) - load.start_ns) / 1e9
        places = (taken_s / step_s).astype(int)
        message_places = ((np.array(load.message_times) - load.start_ns) / 1e9 / step_s).astype(int)
        spent = np.array(load.spent_ns)
        steps = []
        for n in range(len(offered)):
            here = spent[places == n]
            messages = int((message_places == n).sum())
            steps.append(
                Step(
                    n * step_s,
                    float(offered[n]) * size * 8 / step_s,
                    len(here) * size * 8 / step_s,
                    percentile(here.tolist(), 99) if len(here) else 0.0,
                    len(here) / messages if messages else 0.0,
                )
            )
        return Trace(tuple(steps), len(times), len(load.numbers), load.messages, load.latency())


def critical(mode: str, burst: bool, packets: int, size: int = 256, seed: int = 1) -> Latency:
    """Latency-critical frames at port 1, at random every 20 to 40 us, and perhaps a full line of 1,514-byte frames at
    port 0. ``mode``: "express" (lane of their own), "flush" (they close the batch that they are in), "plain" (not
    marked), "single" (nothing is batched). From a frame's last bit on the line to software's having it, PCIe host.
    """
    setup = SETUPS["pcie"]
    gaps = np.random.default_rng(seed).uniform(20_000, 40_000, packets - 1)
    times = np.concatenate([[0.0], np.cumsum(gaps)])
    frames = _Frames(size, packets)
    spent: list[float] = []
    faults = 0
    with _open("pcie") as card, tempfile.TemporaryDirectory() as folder:
        driver = _driver(card)
        settings = batching(SINGLE if mode == "single" else 64, 10)
        driver.h2s.start(ReceiveSettings(**settings, express=mode == "express"))
        header = Header(SOFTWARE, 1, 1, critical=mode in ("express", "flush"))
        driver.setup_port(0)
        driver.setup_port(1)
        driver.classify(0, 0, 0, 0, Header(SOFTWARE, 2, 2))
        driver.classify(1, 0, 0, 0, header)
        frames.write(Path(folder) / "critical.pcap", times)
        card.source(1, f"pcap:{folder}/critical.pcap", "recorded")
        if burst:
            card.source(0, f"gen:size={MAX_PACKET},count={round(times[-1] / setup.wire_ns(MAX_PACKET))}")

        def deliver(found: Sequence[Packet], now_ns: int) -> None:
            nonlocal faults
            for packet in found:
                if packet.header.source != 1 or len(packet.payload) != size:
                    continue
                number = frames.number(packet.payload)
                faults += packet.payload != frames.data(number) or number != len(spent)
                spent.append(now_ns - start - float(times[number]) - setup.arrival_ns(size))

        start = driver.clock()
        Host(card, driver, PROFILES["pcie"], deliver).run(lambda: len(spent) >= packets)
        faults += packets - len(spent)
    return _latency(spent, faults)


def both_ways(size: int, buffer_kb: int, packets: int) -> BothWays:
    """A full line into H2S and one out of S2H at once, PCIe host: a line of 10 Gb/s."""
    setup = SETUPS["pcie"]
    out = _Frames(size, packets)
    with _Receiving("pcie", size, np.arange(packets) * setup.wire_ns(size), batching(buffer_kb, 0.1)) as load:
        card, driver = load.card, load.driver
        card.sink(0, "memory", timestamps="card")
        driver.s2h.configure(**_sending(buffer_kb))
        driver.s2h.send(Packet(out.data(n), Header(PORTS[0])) for n in range(packets))
        driver.s2h.flush()
        load.finish()
        card.run()
        sent = card.received(0)
        times = [frame.timestamp_ns for frame in sent]
        steady = times[len(times) // 4 :]  # the MAC's own buffer is full by then
        ideal = (len(steady) - 1) * setup.wire_ns(size)
        line = load.message_times[-1] - load.start_ns
        counters = driver.counters()
        return BothWays(
            size,
            len(load.numbers) / packets * min(1.0, packets * setup.wire_ns(size) / (line - _TAIL_NS)),
            ideal / (steady[-1] - steady[0]),
            sum(counters.dropped.values()) + card.stats().ports[0].rx_overruns,
            load.faults + out.faults(frame.data for frame in sent) + packets - len(sent),
        )


_TAIL_NS = 102_000  # the last batch's timeout and message


class _Frames:
    """Frames of one size that say their number and are otherwise at random."""

    def __init__(self, size: int, count: int, seed: int = 7) -> None:
        self.size, self.count = size, count
        noise = np.random.default_rng(seed).integers(0, 256, size + 4096, dtype=np.uint8)
        self._rows = np.lib.stride_tricks.sliding_window_view(noise, size)[np.arange(count) % 4096].copy()
        self._rows[:, _SEQUENCE] = np.arange(count, dtype=">u4").view(np.uint8).reshape(count, 4)
        self._bytes = self._rows.tobytes()

    def data(self, number: int) -> bytes:
        """A frame."""
        return self._bytes[number * self.size : (number + 1) * self.size]

    @staticmethod
    def number(data: bytes) -> int:
        """Which frame it says it is."""
        return int.from_bytes(data[_SEQUENCE], "big")

    def faults(self, found: Any) -> int:
        """Frames that are wrong or out of order."""
        wrong, last = 0, -1
        for data in found:
            number = self.number(data)
            wrong += number >= self.count or data != self.data(number) or number <= last
            last = number
        return wrong

    def write(self, path: Path, times_ns: npt.NDArray[Any]) -> None:
        """A capture of them at these times."""
        record = np.dtype([("s", "<u4"), ("ns", "<u4"), ("kept", "<u4"), ("len", "<u4"), ("data", "u1", self.size)])
        rows = np.zeros(self.count, record)
        ticks = _BASE_NS + np.floor(times_ns).astype(np.int64)
        rows["s"], rows["ns"] = ticks // _NS_PER_S, ticks % _NS_PER_S
        rows["kept"] = rows["len"] = self.size
        rows["data"] = self._rows
        header = np.array([0xA1B23C4D, 0x0004_0002, 0, 0, 0x40000, 1], "<u4").tobytes()
        path.write_bytes(header + rows.tobytes())


class _Receiving:
    """Frames of one size at given times (ns, the first at 0) at port 0, to software by way of H2S."""

    def __init__(
        self,
        host: str,
        size: int,
        times_ns: npt.NDArray[Any],
        settings: dict[str, Any],
        window_log2: int = 20,
    ) -> None:
        self._setup, self._times, self._frames = SETUPS[host], times_ns, _Frames(size, len(times_ns))
        self._folder = tempfile.TemporaryDirectory()
        self.card = _open(host)
        self.driver = _driver(self.card)
        self.numbers: list[int] = []
        self.delivered_ns: list[int] = []
        self.spent_ns: list[float] = []
        self.message_times: list[int] = []
        self.packets_by_message: list[int] = []
        self._wrong = 0
        path = Path(self._folder.name) / "frames.pcap"
        self._frames.write(path, times_ns)
        self.card.source(0, f"pcap:{path}", "recorded")
        self.card.regs.adaptation.window.write(window_log2)
        self.driver.h2s.start(ReceiveSettings(**settings))
        self.driver.classify(0, 0, 0, 0, Header(SOFTWARE, 1, 1))
        self.driver.setup_port(0)
        self.host = Host(self.card, self.driver, PROFILES[host], self._deliver)
        self.start_ns = self.driver.clock()

    def __enter__(self) -> _Receiving:
        return self

    def __exit__(self, *_: object) -> None:
        self.card.close()
        self._folder.cleanup()

    def finish(self) -> None:
        """Runs until everything that came is through; a batch that would wait without end is closed."""
        self.host.run()
        self.driver.h2s.flush()
        self.host.run()

    @property
    def messages(self) -> int:
        """That software has got."""
        return len(self.message_times)

    @property
    def faults(self) -> int:
        """Packets that are wrong, out of order or unaccounted for."""
        return self._wrong + self.driver.h2s.lost + len(self.host.errors)

    def latency(self) -> Latency:
        """Of all packets that software has got."""
        return _latency(self.spent_ns, self.faults + self.driver.counters().missing())

    def _deliver(self, packets: Sequence[Packet], now_ns: int) -> None:
        self.message_times.append(now_ns)
        self.packets_by_message.append(len(packets))
        arrival = self.start_ns + self._setup.arrival_ns(self._frames.size)
        for packet in packets:
            number = self._frames.number(packet.payload)
            last = self.numbers[-1] if self.numbers else -1
            self._wrong += number >= self._frames.count or packet.payload != self._frames.data(number) or number <= last
            self.numbers.append(number)
            self.delivered_ns.append(now_ns)
            self.spent_ns.append(now_ns - arrival - float(self._times[number]))


def _latency(spent: Sequence[float], faults: int) -> Latency:
    return Latency(len(spent), min(spent), percentile(spent, 50), percentile(spent, 99), max(spent), faults)


def _sending(buffer_kb: int, timeout_ms: float = 0.0) -> dict[str, Any]:
    return asdict(SendSettings(**batching(buffer_kb, timeout_ms)))


def _open(host: str) -> Card:
    setup = SETUPS[host]
    card = Card.open("bridge", {"DATA_W": setup.data_w}, clock_hz=setup.clock_hz, progress=False)
    for port in range(card.ports):
        card.set_rate(port, setup.rate)
    card.set_time(_BASE_NS)
    return card


def _driver(card: Card) -> BridgeDriver:
    driver = driver_of(card, _HOST_BUFFERS)
    driver.s2h.start()
    return driver
