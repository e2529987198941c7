"""Hardware to software: host buffers that the card fills with batches of packets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from headrace.cards.bridge.formats import FormatError, Packet, packed_bytes, unpack
from headrace.errors import HeadraceError

PAGE = 4096
MAX_BATCH = 1 << 16  # bytes
MODULO = 1 << 32
_REFUSED = 0x7FFF  # words

Lane = Literal["bulk", "express"]
LANES: tuple[Lane, Lane] = ("express", "bulk")


class Memory(Protocol):
    """Host memory that the card reaches, by the addresses that it uses."""

    def view(self, address: int, size: int) -> memoryview:
        """The bytes themselves."""


@dataclass(frozen=True)
class ReceiveSettings:
    """How the card forms batches; all of it may change while traffic runs.

    ``buffer_bytes``: of a batch at most. ``timeout_ns``: a batch is closed so long after its first packet; 0: never.
    ``single``: each packet by itself. ``express``: latency-critical packets go by a lane of their own. ``adaptive``:
    the card chooses size and timeout, up to those given, such that software has done with 99 of 100 packets, and gives
    their buffer back, within ``target_ns``. ``wait_for_room``: packets wait while there is no room, rather than be
    dropped; but no longer than ``wait_limit_ns`` (0: without end): then they are dropped until there is room again, so
    that software which has stopped doesn't hold up what shares an Ethernet port with them.
    """

    buffer_bytes: int = MAX_BATCH
    timeout_ns: int = 10_000_000
    single: bool = False
    express: bool = False
    adaptive: bool = False
    target_ns: int = 10_000_000
    wait_for_room: bool = False
    wait_limit_ns: int = 0


@dataclass(frozen=True)
class Batch:
    """Packets that software has got, and the buffer that they came in: give it back with ``Receiver.release``.

    ``error``: why packets of it are missing, if they are.
    """

    packets: list[Packet]
    lane: Lane
    tag: int
    bytes: int  # in the buffer, headers and padding included
    error: str | None = None


@dataclass
class _Buffer:
    address: int
    words: int
    view: memoryview


class Receiver:
    """The driver of H2S. ``buffers`` (2 at least) host buffers are with the card whenever software has none of them."""

    def __init__(self, registers: Any, memory: Memory, allocate: Callable[[int], int], buffers: int) -> None:
        self._regs = registers.h2s
        self._adaptation = registers.adaptation
        self._batch = registers.batch
        self._memory = memory
        self._allocate = allocate
        sizes = registers.buffers.fields()
        self.max_batch: int = min(MAX_BATCH, sizes["h2s_kb"] * 1024 // 2)
        self.has_express = sizes["express_kb"] > 0
        self.max_packet: int = registers.max_packet.read()
        limit = min(sizes["host_buffers"], 16)
        if not 2 <= buffers <= limit:
            raise HeadraceError(f"{buffers} host buffers: must be 2 to {limit}", 2)
        self._count = buffers
        self._buffers: dict[tuple[Lane, int], _Buffer] = {}
        self.settings = ReceiveSettings(buffer_bytes=self.max_batch)
        self.packets = 0  # that software has got
        self.lost = 0  # in batches that are broken
        self.write_errors = 0  # batches that did not get into host memory
        self.refused = 0  # buffers that came back because they were too small
        self._returned: dict[Lane, int] = self.closed()  # batches that software has done with

    def start(self, settings: ReceiveSettings | None = None, buffer_bytes: int | None = None) -> None:
        """Gives the card its buffers, of ``buffer_bytes`` (None: large enough for any batch), and lets it go."""
        small = -(-packed_bytes(self.max_packet) // PAGE) * PAGE
        lanes: list[tuple[Lane, int]] = [("bulk", self.max_batch if buffer_bytes is None else buffer_bytes)]
        if self.has_express:
            lanes.append(("express", small))
        for lane, size in lanes:
            for tag in range(self._count):
                if (lane, tag) not in self._buffers:
                    self._buffers[lane, tag] = self._new_buffer(size)
                    self._post(lane, tag)
        self._write(settings or self.settings, enable=True)

    def configure(self, **changes: Any) -> ReceiveSettings:
        """Changes some settings (those of ``ReceiveSettings``) while traffic runs; gives what they are now."""
        self._write(dataclasses.replace(self.settings, **changes), enable=True)
        return self.settings

    def _write(self, settings: ReceiveSettings, enable: bool) -> None:
        least = packed_bytes(self.max_packet)
        if not least <= settings.buffer_bytes <= self.max_batch:
            raise HeadraceError(
                f"batches of {settings.buffer_bytes:,} bytes: must have {least:,} to {self.max_batch:,}", 2
            )
        times = {"timeout": settings.timeout_ns, "target": settings.target_ns, "wait": settings.wait_limit_ns}
        for name, value in times.items():
            if not 0 <= value < MODULO:
                raise HeadraceError(f"a {name} of {value:,} ns: must be 0 to {MODULO - 1:,}", 2)
        if settings.express and not self.has_express:
            raise HeadraceError("this card has no express lane: set its parameter EXPRESS_KB", 2)
        self.settings = settings
        with self._batch():
            self._regs.limit.write(settings.buffer_bytes)
            self._regs.timeout.write(settings.timeout_ns)
            self._regs.wait_limit.write(settings.wait_limit_ns)
            self._adaptation.target.write(settings.target_ns)
            self._control(enable)

    def _control(self, enable: bool, flush: bool = False) -> None:
        settings = self.settings
        self._regs.control.set(
            enable=int(enable),
            single=int(settings.single),
            wait_for_room=int(settings.wait_for_room),
            express=int(settings.express),
            adaptive=int(settings.adaptive),
            flush=int(flush),
        )

    def stop(self) -> None:
        """Lets the card take no more packets; those it has still come, after ``flush``."""
        self._control(enable=False)

    def flush(self) -> None:
        """Closes the batch that is open; if a packet is coming in at this moment, after that one."""
        self._control(enable=True, flush=True)

    def closed(self) -> dict[Lane, int]:
        """How many batches have been closed so far, which ``reached`` wants to know."""
        return {"bulk": self._regs.closed.read(), "express": self._regs.express_closed.read()}

    def reached(self, mark: dict[Lane, int]) -> bool:
        """Whether software has done with so many batches, those that were lost on the way included."""
        return all((self._returned[lane] - count) % MODULO < MODULO // 2 for lane, count in mark.items())

    def take(self, lane: Lane) -> Batch | None:
        """The oldest batch that is there, or None. A broken one is empty and has its ``error``."""
        message = (self._regs.mailbox if lane == "bulk" else self._regs.express_mailbox).read()
        if message == 0:
            return None
        words, packets, tag = message & 0x7FFF, message >> 15 & 0x1FFF, message >> 28
        if (lane, tag) not in self._buffers:
            raise HeadraceError(f"the card names host buffer {tag} of the {lane} lane, which it never got")
        if packets == 0 and words == _REFUSED:
            self.refused += 1
            self._buffers[lane, tag] = self._new_buffer(self.max_batch)  # one that is large enough
            return Batch([], lane, tag, 0, "the host buffer was too small")
        if packets == 0:
            self.write_errors += 1
            return Batch([], lane, tag, 4 * words, "the card could not write into the host buffer")
        try:
            found = unpack(self._buffers[lane, tag].view, packets, words)
        except FormatError as error:
            self.lost += packets
            return Batch([], lane, tag, 4 * words, str(error))
        self.packets += packets
        return Batch(found, lane, tag, 4 * words)

    def release(self, batch: Batch) -> None:
        """Gives the buffer of a batch back to the card, once its packets are where they go."""
        if batch.bytes:  # not one that the card has refused
            self._returned[batch.lane] = (self._returned[batch.lane] + 1) % MODULO
        self._post(batch.lane, batch.tag)

    def receive(self) -> list[Batch]:
        """All batches that are there, those of the express lane first; their buffers are with the card again."""
        found = []
        for lane in LANES if self.has_express else LANES[1:]:
            while (batch := self.take(lane)) is not None:
                self.release(batch)
                if batch.bytes:
                    found.append(batch)
        return found

    def _new_buffer(self, size: int) -> _Buffer:
        if not PAGE <= size <= 4 * _REFUSED:
            raise HeadraceError(f"a host buffer of {size:,} bytes: must have {PAGE:,} to {4 * _REFUSED:,}", 2)
        address = self._allocate(size)
        if address % PAGE:
            raise ValueError(f"host buffer at {address:#x}: must begin at a page of {PAGE} bytes")
        return _Buffer(address, size // 4, self._memory.view(address, size))

    def _post(self, lane: Lane, tag: int) -> None:
        buffer = self._buffers[lane, tag]
        with self._batch():
            self._regs["address"].write(buffer.address)
            self._regs.post.set(words=buffer.words, tag=tag, express=int(lane == "express"))
