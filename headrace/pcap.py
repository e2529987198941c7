"""The header of the pcap files that Python writes: times in nanoseconds, Ethernet, little-endian."""

import struct

HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
