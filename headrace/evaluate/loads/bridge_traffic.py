"""Traffic for the loads of the bridge card: frames known by their number, the way of each to software, and what
the card and its host are."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.card import Card
from headrace.cards.bridge.card import driver_of
from headrace.cards.bridge.driver import BridgeDriver
from headrace.cards.bridge.formats import Header, Packet
from headrace.cards.bridge.host import PROFILES, Host
from headrace.cards.bridge.receive import ReceiveSettings
from headrace.cards.bridge.tables import SOFTWARE
from headrace.net import pcap

WIRE_OVERHEAD = 24  # bytes of preamble, FCS and gap
LEAST_FRAME = 60  # bytes without FCS

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
class Latency:
    """Times in ns from end to end."""

    packets: int
    min_ns: float
    median_ns: float
    p99_ns: float
    max_ns: float
    faults: int


class Frames:
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
        with path.open("wb") as file:
            pcap.begin(file)
            file.write(rows.tobytes())


class Receiving:
    """Frames of one size at given times (ns, the first at 0) at port 0, to software by way of H2S."""

    def __init__(
        self,
        host: str,
        size: int,
        times_ns: npt.NDArray[Any],
        settings: dict[str, Any],
        window_log2: int = 20,
    ) -> None:
        self._setup, self._times, self._frames = SETUPS[host], times_ns, Frames(size, len(times_ns))
        self._folder = tempfile.TemporaryDirectory()
        self.card = open_card(host)
        self.driver = start_driver(self.card)
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

    def __enter__(self) -> Receiving:
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
        return latency_of(self.spent_ns, self.faults + self.driver.counters().missing())

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


def latency_of(spent: Sequence[float], faults: int) -> Latency:
    """Of times in ns, of which there must be one."""
    median, p99 = np.percentile(spent, (50, 99), method="inverted_cdf").tolist()
    return Latency(len(spent), min(spent), median, p99, max(spent), faults)


def open_card(host: str) -> Card:
    """The card of a host, at its clock and line."""
    setup = SETUPS[host]
    card = Card.open("bridge", {"DATA_W": setup.data_w}, clock_hz=setup.clock_hz, progress=False)
    for port in range(card.ports):
        card.set_rate(port, setup.rate)
    card.set_time(_BASE_NS)
    return card


def start_driver(card: Card) -> BridgeDriver:
    """Its driver, which may send."""
    driver = driver_of(card, _HOST_BUFFERS)
    driver.s2h.start()
    return driver
