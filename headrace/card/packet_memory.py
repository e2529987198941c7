"""Packets in host memory, for a card that fetches them there by itself.

>>> with PacketMemory(card, "xdp:eth1", 0x1_0000_0000, 1 << 26) as memory:
...     packets = memory.take(256)  # columns: address, timestamp_ns, length, wire_length
...     ...  # descriptors for the card, from whole columns; then, once it has them:
...     memory.release(len(packets))
"""

from __future__ import annotations

import select
from types import TracebackType
from typing import Any, Self

from headrace.card import interface as harness
from headrace.card.card import Card

_PACKET = 24  # bytes of a packet's hr_packet


class Packets:
    """Packets that lie in host memory, by columns: where, their times in ns since the epoch, their bytes there and on
    the wire. Columns are views of ``data``, an array of the harness's hr_packet; NumPy takes them as they are.
    """

    def __init__(self, count: int) -> None:
        self._whole = memoryview(bytearray(_PACKET * max(count, 1)))  # of none, there are no views
        self.keep(count)

    def keep(self, count: int) -> None:
        """Only the first ``count``."""
        self.data = self._whole[: _PACKET * count]
        words, halves = self._whole.cast("Q"), self._whole.cast("I")
        self.address, self.timestamp_ns = (words[at : 3 * count : 3] for at in (0, 1))
        self.length, self.wire_length = (halves[at : 6 * count : 6] for at in (4, 5))

    def __len__(self) -> int:
        return len(self.address)


__all__ = ["PacketMemory", "Packets"]


@harness.in_range
class PacketMemory:
    """A range of a card's host memory into which a source puts its packets, each in one piece.

    ``link`` is ``pcap:FILE``, ``gen:SPEC``, ``iface:NAME``, ``tap:NAME`` or ``xdp:NAME``. With ``xdp:`` the kernel
    itself writes into three quarters of the range, each packet into a chunk of its own of 2,048 bytes (before Linux
    6.6: 4,096), and longer ones are put together in the last quarter; other sources' packets are copied one behind the
    other, at any byte. The card can read the range and not write it.
    """

    def __init__(self, card: Card, link: str, address: int, size: int, *, keep_times: bool = False) -> None:
        """Maps ``size`` bytes at ``address`` and opens the source. Raises CardError.

        ``keep_times``: packets of a capture whose times aren't 32 bits of seconds and less than a second get others, in
        the epoch's first second, of which a ``RecordWriter`` with the timestamps ``"kept"`` makes the recorded ones.
        """
        self._card = card
        self._ffi, self._lib = card._ffi, card._lib
        self._handle: int | None = card._check(
            self._lib.hr_open_packets(card._open, harness.text(link), address, size, keep_times)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def take(self, limit: int) -> Packets:
        """The packets that have come and were not taken yet, ``limit`` at most.

        Empty when there is none now, or no room: ``at_end``, ``wait`` and ``release`` tell which. Raises CaptureError
        once, when the source has broken off and everything before that has been taken.
        """
        packets = Packets(limit)
        array = self._ffi.from_buffer("hr_packet[]", packets.data)
        packets.keep(self._card._check(self._lib.hr_take_packets(self._card._open, self._handle_now, array, limit)))
        return packets

    def release(self, count: int) -> None:
        """Lets the memory of the ``count`` oldest packets taken be used again."""
        self._card._check(self._lib.hr_release_packets(self._card._open, self._handle_now, count))

    def wait(self, milliseconds: int) -> bool:
        """Waits for packets, at most so long. True: there may be some, or the source may have ended.

        Returns at once where waiting is of no use: with True at a source that always has packets or has ended, with
        False when a packet waits for room.
        """
        state = self._state()
        if state.descriptor < 0:
            return not state.full
        poll = select.poll()
        poll.register(state.descriptor, select.POLLIN)
        return bool(poll.poll(milliseconds))

    @property
    def at_end(self) -> bool:
        """Whether no packet will come any more."""
        return bool(self._state().at_end)

    @property
    def taken(self) -> int:
        """Packets that are taken and not released."""
        return int(self._state().taken)

    @property
    def missed(self) -> int:
        """Packets that were lost before the memory, for want of room."""
        return int(self._state().missed)

    @property
    def waiting(self) -> int:
        """Packets that a live source is known to have, and that are not taken."""
        return int(self._state().waiting)

    def close(self) -> None:
        """Ends the source and unmaps the range. May be called again."""
        handle, self._handle = self._handle, None
        if handle is not None and not self._card._closed:
            self._card._check(self._lib.hr_close_packets(self._card._open, handle))

    @property
    def _handle_now(self) -> int:
        return -1 if self._handle is None else self._handle

    def _state(self) -> Any:
        state = self._ffi.new("hr_packets_state *")
        self._card._check(self._lib.hr_get_packets_state(self._card._open, self._handle_now, state))
        return state
