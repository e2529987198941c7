"""Writes capture files of every format that users have, without libpcap, so that its reader is tested too."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from oracle.packets import Packet


def make_capture(
    path: str | Path,
    packets: Iterable[Packet],
    kind: Literal["pcap", "pcapng"] = "pcap",
    nanosecond: bool = False,
    big_endian: bool = False,
    snaplen: int = 262144,
    linktype: int = 1,
) -> Path:
    """Write packets with their lengths and times (rounded down to the format's unit), and return the path."""
    order = ">" if big_endian else "<"
    unit = 1 if nanosecond else 1000
    blocks = _pcapng if kind == "pcapng" else _pcap
    file = Path(path)
    file.write_bytes(b"".join(blocks(packets, order, unit, snaplen, linktype)))
    return file


def _pcap(packets: Iterable[Packet], order: str, unit: int, snaplen: int, linktype: int) -> Iterable[bytes]:
    magic = 0xA1B23C4D if unit == 1 else 0xA1B2C3D4
    yield struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, linktype)
    for packet in packets:
        seconds, fraction = divmod(packet.time_ns, 10**9)
        yield struct.pack(order + "IIII", seconds, fraction // unit, len(packet.data), packet.wirelen) + packet.data


def _pcapng(packets: Iterable[Packet], order: str, unit: int, snaplen: int, linktype: int) -> Iterable[bytes]:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + size + body + size

    yield block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    resolution = struct.pack(order + "HHB3x", 9, 1, 9 if unit == 1 else 6)
    yield block(1, struct.pack(order + "HHI", linktype, 0, snaplen) + resolution + bytes(4))
    for packet in packets:
        stamp = packet.time_ns // unit
        header = struct.pack(order + "IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, len(packet.data), packet.wirelen)
        yield block(6, header + packet.data)
