"""How packets get into the capture card: through an Ethernet port, or out of host memory through descriptors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from headrace.card.packet_memory import PacketMemory
from headrace.cards.capture.driver import MAX_CAPTURED
from headrace.net.source import Source

if TYPE_CHECKING:
    from headrace.card import Card
    from headrace.cards.capture.driver import CaptureDriver

_BATCH = 4096  # packets that are posted at once, at most
_BUFFER = 1 << 26  # bytes, for packets in host memory
_XDP_BUFFER_MIB = 256  # of which each packet takes 2 KB
_WAIT_MS = 50
_PORT = 0


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

    @property
    def too_long(self) -> int:
        """Packets that were handed over without what they have beyond 65,600 bytes."""

    @property
    def waiting(self) -> int:
        """Packets that are known to be on their way to the card."""

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

    @property
    def too_long(self) -> int:
        return 0  # the card drops and counts them

    @property
    def waiting(self) -> int:
        return self._card.stats().ports[_PORT].rx_waiting

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
        size = _xdp_buffer(source) if source.kind == "xdp" else _BUFFER
        self._packets = PacketMemory(card, source.link, card.memory.reserve(size), size, keep_times=times)
        self._posted = 0  # and not yet read by the card
        self._ended = False
        self.too_long = 0

    def offer(self) -> bool:
        if not self._ended:
            packets = self._packets.take(min(_BATCH, self._driver.room(self._times)))
            if len(packets):
                self.too_long += sum(length > MAX_CAPTURED for length in packets.length)
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

    @property
    def waiting(self) -> int:
        return self._posted + self._packets.waiting

    def end(self, abandon: bool) -> None:
        if self._live and not abandon:
            self._card.stop_sources()
        else:
            self._ended = True


def _xdp_buffer(source: Source) -> int:
    """Bytes; a wrong setting is left to the harness, which says what is wrong."""
    text = source.setting("buffer") or ""
    return (int(text) if re.fullmatch("[1-9][0-9]{0,4}", text) else _XDP_BUFFER_MIB) << 20
