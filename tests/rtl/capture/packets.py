"""What travels beside a packet in the engine (packet_t), and the pcap record that it becomes."""

import struct
from dataclasses import dataclass
from typing import Any

HEADER_BYTES = 16
MAX_CAPTURED = 65_600
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Packet:
    """Fields of packet_t, the last ones first: see capture_pkg."""

    len: int
    wire_len: int
    time_ns: int
    empty: int = 0
    memory: int = 0

    def pack(self) -> int:
        """The bits of the struct."""
        value = 0
        for part, width in ((self.memory, 1), (self.empty, 1), (self.time_ns, 64), (self.wire_len, 32), (self.len, 17)):
            value = value << width | part
        return value

    @classmethod
    def unpack(cls, signal: Any) -> "Packet":
        """The packet on a signal."""
        value = int(signal.value)
        return cls(
            value & 0x1FFFF, value >> 17 & 0xFFFFFFFF, value >> 49 & (1 << 64) - 1, value >> 113 & 1, value >> 114
        )


def record(time_ns: int, data: bytes, wire_len: int) -> bytes:
    """A record of a pcap file with nanoseconds, as libpcap's savefile format has it (little-endian)."""
    seconds, nanoseconds = divmod(time_ns, SECOND)
    return struct.pack("<IIII", seconds, nanoseconds, len(data), wire_len) + data
