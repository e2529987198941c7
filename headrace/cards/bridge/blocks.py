"""Functional blocks in software, which behave as those in hardware do."""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass
from typing import ClassVar

from headrace.cards.bridge.formats import Packet
from headrace.errors import HeadraceError

GENERIC, CRC32 = 0, 1  # kinds of slots in hardware
CRC_BYTES = 4


@dataclass(frozen=True)
class BlockCounters:
    """Packets that came, were dropped by the block, and were sent on."""

    received: int
    refused: int
    sent: int


class SoftwareBlock:
    """A functional block in software. Derive a class and write ``process``.

    ``kind``: the number of the same block in hardware; None: there is none, and the block stays in software. Packets go
    through one after the other, in order, each of them taking as long as ``duration_ns`` says.
    """

    kind: ClassVar[int | None] = None

    def __init__(self) -> None:
        self.held = False  # packets wait
        self._queue: deque[tuple[Packet, int]] = deque()  # with the time from which on they can be processed
        self._free_ns = 0  # when the block is done with the packet before
        self._received = self._refused = self._sent = 0

    def process(self, payload: bytes) -> bytes | None:
        """What becomes of a packet's payload; None: the packet is dropped and counted as refused."""
        return payload

    def duration_ns(self, size: int) -> int:
        """How long a packet of so many bytes takes."""
        del size
        return 0

    def slot_settings(self) -> dict[str, int]:
        """How a slot of this kind is set up to do the same: arguments of ``BridgeDriver.setup_slot``."""
        return {}

    @property
    def counters(self) -> BlockCounters:
        """What the software block has done."""
        return BlockCounters(self._received, self._refused, self._sent)

    @property
    def waiting(self) -> int:
        """Packets that are in the block."""
        return len(self._queue)

    @property
    def wake_ns(self) -> int | None:
        """When the next packet is done; None: there is none, or the block is held."""
        if self.held or not self._queue:
            return None
        return self._done_ns()

    def push(self, packets: list[Packet], now_ns: int) -> None:
        """Takes packets."""
        self._received += len(packets)
        self._queue.extend([(packet, now_ns) for packet in packets])

    def release(self, now_ns: int) -> None:
        """Lets packets that were held go on."""
        self.held = False
        self._free_ns = max(self._free_ns, now_ns)

    def pull(self, now_ns: int) -> list[Packet]:
        """Packets that are done by now, in order, with the headers that they came with."""
        done: list[Packet] = []
        while self._queue and not self.held:
            finish = self._done_ns()
            if finish > now_ns:
                break
            self._free_ns = finish
            packet, _ = self._queue.popleft()
            payload = self.process(packet.payload)
            if payload is None:
                self._refused += 1
            else:
                done.append(Packet(payload, packet.header))
        self._sent += len(done)
        return done

    def _done_ns(self) -> int:
        packet, arrived = self._queue[0]
        return max(arrived, self._free_ns) + self.duration_ns(len(packet.payload))


class Generic(SoftwareBlock):
    """Lets packets through unchanged, each after ``packet_ns`` and ``byte_ns_256`` / 256 ns for each of its bytes."""

    kind = GENERIC

    def __init__(self, packet_ns: int = 0, byte_ns_256: int = 0) -> None:
        super().__init__()
        for name, value in (("packet_ns", packet_ns), ("byte_ns_256", byte_ns_256)):
            if not 0 <= value < 1 << 32:
                raise HeadraceError(f"{name} {value}: must have 32 bits", 2)
        self.packet_ns = packet_ns
        self.byte_ns_256 = byte_ns_256

    def duration_ns(self, size: int) -> int:
        return self.packet_ns + size * self.byte_ns_256 // 256

    def slot_settings(self) -> dict[str, int]:
        return {"packet_ns": self.packet_ns, "byte_ns_256": self.byte_ns_256}


class Crc32(SoftwareBlock):
    """Lets packets through whose last 4 bytes are the CRC-32 (IEEE 802.3) of those before, least byte first, as an
    Ethernet frame's FCS; drops all others."""

    kind = CRC32

    def process(self, payload: bytes) -> bytes | None:
        return payload if crc_is_right(payload) else None


def crc_is_right(payload: bytes) -> bool:
    """Whether a payload ends with the CRC-32 of what comes before."""
    if len(payload) < CRC_BYTES:
        return False
    return zlib.crc32(payload[:-CRC_BYTES]) == int.from_bytes(payload[-CRC_BYTES:], "little")


def with_crc(payload: bytes) -> bytes:
    """A payload with its CRC-32 behind it."""
    return payload + zlib.crc32(payload).to_bytes(CRC_BYTES, "little")


KINDS: dict[str, type[SoftwareBlock]] = {"generic": Generic, "crc32": Crc32}
"""The blocks that there are, by name."""
