"""How packets get into the capture card: through an Ethernet port, or out of host memory through descriptors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from headrace import bpf
from headrace.errors import HeadraceError
from headrace.packet_memory import PacketMemory

if TYPE_CHECKING:
    from headrace.capture_driver import CaptureDriver
    from headrace.card import Card

Path = Literal["wire", "memory"]
KINDS = ("pcap", "gen", "iface", "xdp", "tap")
_LIVE = ("iface", "xdp", "tap")
_BATCH = 4096  # packets that are posted at once, at most
_BUFFER = 1 << 26  # bytes, for packets in host memory
_XDP_BUFFER = 1 << 27  # there each packet has 4,096 bytes: 32,768 packets
_WAIT_MS = 50
_PORT = 0


@dataclass(frozen=True)
class Source:
    """A link to capture from, such as ``pcap:in.pcap`` or ``iface:eth0``."""

    kind: str
    argument: str

    @property
    def link(self) -> str:
        """As the harness takes it."""
        return f"{self.kind}:{self.argument}"

    @property
    def live(self) -> bool:
        """Whether packets come as they happen."""
        return self.kind in _LIVE

    @property
    def has_times(self) -> bool:
        """Whether packets come with times."""
        return self.kind != "gen"

    @property
    def name(self) -> str:
        """What pcapng calls the interface."""
        return self.argument.partition(",")[0] if self.live else self.link

    @property
    def usual_path(self) -> Path:
        """The way into the card that suits the source."""
        return "memory" if self.kind in ("pcap", "xdp") else "wire"

    def snapshot(self) -> int:
        """The snapshot length that the header of a copy says: the original's, or tcpdump's default.

        Raises HeadraceError when a file is missing, or no capture.
        """
        if self.kind == "pcap" and self.argument != "-" and not _is_pipe(self.argument):
            return bpf.capture_format(self.argument)[1]
        return bpf.MAX_SNAPLEN

    def only(self, direction: str) -> Source:
        """The same source, packets of one direction only. Raises HeadraceError where directions can't be told apart."""
        if direction == "inout" or (direction == "in" and self.kind in ("xdp", "tap")):
            return self
        if self.kind != "iface":
            raise HeadraceError(f"-Q {direction}: {self.link} does not know directions", 2)
        return Source(self.kind, f"{self.argument},direction={direction}")


def parse_source(text: str) -> Source:
    """The source of a command line: a link, or the name of a file (``-``: standard input).

    Raises HeadraceError for links of an unknown kind.
    """
    kind, colon, argument = text.partition(":")
    if not colon or "/" in kind or os.path.exists(text):
        return Source("pcap", text)
    if kind not in KINDS:
        raise HeadraceError(f"{text}: no source: use a file, or one of {', '.join(f'{k}:' for k in KINDS)}", 2)
    return Source(kind, argument)


def _is_pipe(path: str) -> bool:
    """Whether what is read from a path is gone."""
    return os.path.exists(path) and not os.path.isfile(path)


class Feed(Protocol):
    """Brings a source's packets to the card, step by step between its runs."""

    def offer(self) -> bool:
        """Hands over what there is; False: nothing, and nothing is on its way.

        Raises CaptureError when the source has broken off, once all before that is handed over.
        """

    def retire(self) -> None:
        """Takes back what the card needs no more."""

    def wait(self) -> None:
        """Waits a little for packets, when the card has none."""

    @property
    def at_end(self) -> bool:
        """Whether all packets of the source are through, once the card is idle."""

    @property
    def missed(self) -> int:
        """Packets that the source lost before the card."""

    def end(self, abandon: bool) -> None:
        """Lets the source take nothing new; ``abandon``: what it has taken already isn't wanted either."""


class WireFeed:
    """Frames of port 0."""

    def __init__(self, card: Card, source: Source, rate: str | float) -> None:
        """Raises CardError when the source can't be opened."""
        lossless = rate == "lossless" or source.live
        self._card = card
        self._live = source.live
        card.flow_control(_PORT, lossless)
        card.source(_PORT, source.link, timing="line" if lossless else rate)

    def offer(self) -> bool:
        return True

    def retire(self) -> None:
        pass

    def wait(self) -> None:
        pass

    @property
    def at_end(self) -> bool:
        return True  # the card's run isn't at its end before

    @property
    def missed(self) -> int:
        return self._card.stats().ports[_PORT].rx_missed

    def end(self, abandon: bool) -> None:
        if self._live and not abandon:
            self._card.stop_sources()
        else:
            self._card.end_source(_PORT)


class MemoryFeed:
    """Packets that lie in host memory, posted as descriptors."""

    def __init__(self, card: Card, driver: CaptureDriver, source: Source, times: bool) -> None:
        """``times``: records get the packets' times, else the card's. Raises CardError when it can't be opened."""
        self._card = card
        self._driver = driver
        self._live = source.live
        self._times = times
        size = _XDP_BUFFER if source.kind == "xdp" else _BUFFER
        self._packets = PacketMemory(card, source.link, card.memory.reserve(size), size)
        self._posted = 0  # and not yet read by the card
        self._ended = False

    def offer(self) -> bool:
        if not self._ended:
            packets = self._packets.take(min(_BATCH, self._driver.room(self._times)))
            if len(packets):
                self._posted += self._driver.post(packets, self._times)
                self._driver.doorbell()
        return self._posted > 0

    def retire(self) -> None:
        count = self._driver.packets_read()
        self._packets.release(count)
        self._posted -= count

    def wait(self) -> None:
        self._packets.wait(_WAIT_MS)

    @property
    def at_end(self) -> bool:
        return self._posted == 0 and (self._ended or self._packets.at_end)

    @property
    def missed(self) -> int:
        return self._packets.missed

    def end(self, abandon: bool) -> None:
        if self._live and not abandon:
            self._card.stop_sources()
        else:
            self._ended = True
