"""Software to hardware: buffers of packets that the card fetches and sends."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace.cards.bridge.formats import WORD, Packet, join, pack_packet, packed_bytes
from headrace.cards.bridge.receive import MAX_BATCH, PAGE, Memory
from headrace.errors import HeadraceError


@dataclass(frozen=True)
class SendSettings:
    """How software forms batches; may change at any time.

    ``buffer_bytes``: of a batch at most, its count word included. ``timeout_ns``: a batch waits so long for more
    packets after its first one; 0: without end. ``single``: each packet by itself.
    """

    buffer_bytes: int = MAX_BATCH
    timeout_ns: int = 10_000_000
    single: bool = False


class Sender:
    """The driver of S2H.

    Packets that are sent wait in the open batch until it is closed: when it is full, by its timeout (``poll``) or by
    ``flush``. Closed batches go into host buffers, several of which are with the card at once, as there are free ones.
    """

    def __init__(
        self,
        registers: Any,
        memory: Memory,
        allocate: Callable[[int], int],
        clock: Callable[[], int],
        buffers: int,
    ) -> None:
        self._regs = registers.s2h
        self._batch = registers.batch
        self._clock = clock
        self.max_packet: int = registers.max_packet.read()
        limit = min(registers.buffers.fields()["host_buffers"], 16)
        if not 1 <= buffers <= limit:  # the card has no place for more
            raise HeadraceError(f"{buffers} host buffers: must be 1 to {limit}", 2)
        addresses = [allocate(MAX_BATCH) for _ in range(buffers)]
        self._buffers = [(address, memory.view(address, MAX_BATCH)) for address in addresses]
        if any(address % PAGE for address in addresses):
            raise ValueError(f"host buffers must begin at pages of {PAGE} bytes")
        self._free = deque(range(buffers))
        self._posted: dict[int, int] = {}  # tag -> packets
        self.settings = SendSettings()
        self._open: list[bytes] = []
        self._open_bytes = WORD
        self._opened_ns = 0
        self._closed: deque[list[bytes]] = deque()  # batches that wait for a host buffer
        self.batches = 0  # that were closed
        self.completed = 0  # that the card is done with
        self.packets = 0  # that the card has sent
        self.failed = 0  # packets that it has not sent
        self.errors: list[str] = []  # what went wrong, in words

    def start(self) -> None:
        """Lets the card send."""
        self._regs.control.set(enable=1)

    def configure(self, **changes: Any) -> SendSettings:
        """Changes some settings (those of ``SendSettings``); gives what they are now."""
        settings = dataclasses.replace(self.settings, **changes)
        least = WORD + packed_bytes(self.max_packet)
        if not least <= settings.buffer_bytes <= MAX_BATCH:
            raise HeadraceError(f"batches of {settings.buffer_bytes:,} bytes: must have {least:,} to {MAX_BATCH:,}", 2)
        self.settings = settings
        if self._open and (settings.single or self._open_bytes > settings.buffer_bytes):
            self._close()
        return settings

    def send(self, packets: Iterable[Packet]) -> None:
        """Takes packets; they are sent in this order. Raises FormatError for a packet that can't be sent."""
        for packet in packets:
            packed = pack_packet(packet, self.max_packet)
            if self._open_bytes + len(packed) > self.settings.buffer_bytes:
                self._close()
            if not self._open:
                self._opened_ns = self._clock()
            self._open.append(packed)
            self._open_bytes += len(packed)
            if self.settings.single:
                self._close()

    def _close(self) -> None:
        self._closed.append(self._open)
        self._open, self._open_bytes = [], WORD
        self.batches += 1

    @property
    def deadline_ns(self) -> int | None:
        """When the open batch is closed by its timeout; None: no time is set, or another batch goes first."""
        if not self._open or self._closed or self.settings.timeout_ns == 0:
            return None
        return self._opened_ns + self.settings.timeout_ns

    def expire(self) -> None:
        """Closes the open batch if its time is over."""
        deadline = self.deadline_ns
        if deadline is not None and self._clock() >= deadline:
            self._close()

    def flush(self) -> int:
        """Closes the open batch; gives what ``reached`` wants to know."""
        if self._open:
            self._close()
        return self.batches

    def reached(self, mark: int) -> bool:
        """Whether the card is done with all batches that had been closed at a ``flush``."""
        return self.completed >= mark

    @property
    def waiting(self) -> int:
        """Batches that wait for a host buffer, or to be handed over."""
        return len(self._closed)

    @property
    def next_size(self) -> tuple[int, int]:
        """Packets and bytes of the batch that ``post`` hands over next."""
        batch = self._closed[0]
        return len(batch), sum(map(len, batch))

    @property
    def can_post(self) -> bool:
        """Whether a batch waits and there is a host buffer for it."""
        return bool(self._closed and self._free)

    @property
    def backlog(self) -> int:
        """Batches that the card is not done with yet, the open one included."""
        return self.batches - self.completed + bool(self._open)

    def post(self) -> None:
        """Hands the oldest closed batch to the card; ``can_post`` must be true."""
        batch, tag = self._closed.popleft(), self._free.popleft()
        data = join(batch)
        address, view = self._buffers[tag]
        view[: len(data)] = data
        self._posted[tag] = len(batch)
        with self._batch():
            self._regs["address"].write(address)
            self._regs.post.set(words=len(data) // WORD, tag=tag)

    def complete(self) -> int:
        """Takes the card's messages; gives the number of batches that it is done with since the last call."""
        before = self.completed
        while self._posted:
            message = self._regs.mailbox.read()
            if message == 0:
                break
            packets, tag = message >> 15 & 0x1FFF, message >> 28
            if tag not in self._posted:
                raise HeadraceError(f"the card is done with buffer {tag}, which it never got")
            while (oldest := next(iter(self._posted))) != tag:  # messages come in the order of posts
                self._lose(oldest)
            wanted = self._posted.pop(tag)
            self._free.append(tag)
            self.completed += 1
            self.packets += packets
            if message & 3 or packets != wanted:
                self.failed += wanted - packets
                reason = "could not be read" if message & 1 else "is malformed" if message & 2 else "was not sent whole"
                self.errors.append(f"a buffer {reason}: {packets:,} of {wanted:,} packets were sent")
        return self.completed - before

    def _lose(self, tag: int) -> None:
        """The card never got a buffer that was posted: somebody else posts, too."""
        count = self._posted.pop(tag)
        self._free.append(tag)
        self.completed += 1
        self.failed += count
        self.errors.append(f"a buffer was lost on its way to the card: 0 of {count:,} packets were sent")

    def poll(self) -> None:
        """Takes messages, closes the batch whose time is over, and hands over what there are buffers for."""
        self.complete()
        self.expire()
        while self.can_post:
            self.post()
