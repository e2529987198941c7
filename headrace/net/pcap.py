# SPDX-License-Identifier: Apache-2.0
"""The pcap files that Python writes: times in nanoseconds, Ethernet, little-endian."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from scapy.utils import RawPcapWriter

_ETHERNET = 1
_SNAPLEN = 65535


def begin(file: IO[bytes]) -> RawPcapWriter:
    """Writes the header; gives what writes packets: ``write_packet(data, seconds, nanoseconds)``. Raises OSError."""
    from scapy.utils import RawPcapWriter  # here, as it takes a tenth of a second

    writer = RawPcapWriter(file, linktype=_ETHERNET, nano=True, endianness="<", snaplen=_SNAPLEN)
    writer.write_header(None)
    return writer
