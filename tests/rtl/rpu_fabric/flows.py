"""Frames of flows and what their hash is, from the definition of receive side scaling."""

import ipaddress
import random

# Of Microsoft's "Verifying the RSS hash calculation" (learn.microsoft.com, Windows drivers, NDIS).
KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
# destination, its port, source, its port, hash of the addresses, hash with ports
VECTORS = [
    ("161.142.100.80", 1766, "66.9.149.187", 2794, 0x323E8FC2, 0x51CCC178),
    ("65.69.140.83", 4739, "199.92.111.2", 14230, 0xD718262A, 0xC626B0EA),
    ("12.22.207.184", 38024, "24.19.198.95", 12898, 0xD2D0A5DE, 0x5C2B394A),
    ("209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xAFC7327F),
    ("202.188.127.2", 1303, "153.39.163.191", 44251, 0x5D1809C5, 0x10E828A2),
    ("3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2CC18CD5, 0x40207D3D),
    ("ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0F0C461C, 0xDDE51BBF),
    ("fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x4B61E985, 0x02D1FEEF),
]
TCP, UDP, SCTP, ICMP = 6, 17, 132, 1


def toeplitz(data: bytes, key: bytes = KEY) -> int:
    """The hash of `data`, bit by bit: every bit that is set adds the 32 bits of the key that begin at its place."""
    bits = "".join(f"{byte:08b}" for byte in data)
    key_bits = "".join(f"{byte:08b}" for byte in key)
    result = 0
    for place, bit in enumerate(bits):
        if bit == "1":
            result ^= int(key_bits[place : place + 32], 2)
    return result


def tuple_of(source: str, destination: str, ports: tuple[int, int] | None) -> bytes:
    """What is hashed of a packet: both addresses, and both ports if it has some."""
    data = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    return data + b"".join(port.to_bytes(2, "big") for port in ports or ())


def frame(
    source: str,
    destination: str,
    ports: tuple[int, int] = (0, 0),
    protocol: int = UDP,
    *,
    tags: tuple[int, ...] = (),
    options: int = 0,
    fragment: int = 0,
    payload: bytes = b"",
) -> bytes:
    """An Ethernet frame with an IP packet.

    tags      types of its VLAN tags
    options   words of options in the IPv4 header
    fragment  IPv4's flags and offset
    """
    ends = [ipaddress.ip_address(address) for address in (source, destination)]
    tagged = b"".join(kind.to_bytes(2, "big") + random.randbytes(2) for kind in tags)
    inner = b"".join(port.to_bytes(2, "big") for port in ports) + payload
    if ends[0].version == 4:
        head = bytes([0x45 + options, 0]) + (20 + 4 * options + len(inner)).to_bytes(2, "big") + random.randbytes(2)
        head += fragment.to_bytes(2, "big") + bytes([64, protocol, 0, 0])
        kind = 0x0800
    else:
        head = bytes([0x60, 0, 0, 0]) + len(inner).to_bytes(2, "big") + bytes([protocol, 64])
        kind = 0x86DD
    head += ends[0].packed + ends[1].packed + random.randbytes(4 * options)
    return random.randbytes(12) + tagged + kind.to_bytes(2, "big") + head + inner
