"""Packets of the bridge's network on chip: EmbedNet's header, their beats at any width, and back again.

A word of a stream is the tuple (tdata, tkeep, tlast), as `channel` reads and writes it.
"""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from headrace.testing.streams import Channel, Word, cycles

HEADER_BYTES = 10
MEMORY_WORDS = 3


@dataclass(frozen=True)
class Header:
    """The header of a packet: where it goes and between which IDPs."""

    switch: int = 0  # 0 to 15
    block: int = 0  # 0 to 3
    level: int = 0  # priority, 0 to 3
    egress: int = 0
    critical: int = 0
    source: int = 0  # 32 bits
    destination: int = 0  # 32 bits

    @property
    def address(self) -> int:
        """The six bits of noc_address_t."""
        return self.switch << 2 | self.block

    @property
    def bits(self) -> int:
        """The value of noc_header_t."""
        top = (self.level << 6 | self.address) << 2 | self.egress << 1 | self.critical
        return top << 64 | self.source << 32 | self.destination

    @classmethod
    def from_bits(cls, bits: int) -> "Header":
        """The header with this value of noc_header_t."""
        top = bits >> 64
        return cls(
            top >> 4 & 15, top >> 2 & 3, top >> 8 & 3, top >> 1 & 1, top & 1, bits >> 32 & 0xFFFFFFFF, bits & 0xFFFFFFFF
        )

    def pack(self) -> bytes:
        """The ten bytes on the network on chip."""
        first = bytes([self.level << 6 | self.address, self.critical << 1 | self.egress])
        return first + self.source.to_bytes(4, "big") + self.destination.to_bytes(4, "big")

    @classmethod
    def parse(cls, data: bytes) -> "Header":
        """The header whose ten bytes these are."""
        first, flags = data[:2]
        idps = (int.from_bytes(data[2:6], "big"), int.from_bytes(data[6:10], "big"))
        return cls(first >> 2 & 15, first & 3, first >> 6, flags & 1, flags >> 1 & 1, *idps)

    def memory(self, length: int) -> bytes:
        """The twelve bytes in front of a payload of `length` bytes in host memory."""
        flags = self.level << 24 | self.egress << 23 | self.critical << 22
        words = (self.switch << 28 | self.block << 26 | flags | length, self.source, self.destination)
        return b"".join(word.to_bytes(4, "little") for word in words)

    @classmethod
    def parse_memory(cls, data: bytes) -> "tuple[Header, int]":
        """The header and the length of a payload whose twelve bytes in host memory these are."""
        first, source, destination = (int.from_bytes(data[place : place + 4], "little") for place in (0, 4, 8))
        flags = (first >> 28, first >> 26 & 3, first >> 24 & 3, first >> 23 & 1, first >> 22 & 1)
        return cls(*flags, source, destination), first & 0xFFFF

    @classmethod
    def random(cls, **fixed: int) -> "Header":
        """Any header but for the fields that are given."""
        return replace(cls.from_bits(random.getrandbits(74)), **fixed)


@dataclass(frozen=True)
class Packet:
    """A packet on the network on chip."""

    header: Header
    payload: bytes

    def memory(self) -> bytes:
        """The packet in host memory: header, payload, zeros up to a whole word."""
        return self.header.memory(len(self.payload)) + self.payload + bytes(-len(self.payload) % 4)


def fields(bits: int, layout: dict[str, int]) -> dict[str, int]:
    """The fields of a packed struct by name; `layout` has their widths, the highest bits first."""
    found = {}
    for name, width in reversed(layout.items()):
        found[name] = bits & ((1 << width) - 1)
        bits >>= width
    return found


class Driven:
    """An input that is a packed struct; fields that were not set are 0. `layout` as for `fields`."""

    def __init__(self, signal: Any, layout: dict[str, int]) -> None:
        self.signal, self.layout = signal, layout
        self.values = dict.fromkeys(layout, 0)

    def set(self, **changes: int) -> None:
        """Drive some fields; the others stay."""
        self.values.update(changes)
        bits = 0
        for name, width in self.layout.items():
            assert 0 <= self.values[name] < 1 << width
            bits = bits << width | int(self.values[name])
        self.signal.value = bits

    def read(self, name: str) -> int:
        """What the block saw at the last edge."""
        return fields(int(self.signal.value), self.layout)[name]


def header_beats(width: int) -> int:
    """Beats that a header takes on a stream of `width` bits."""
    return -(-8 * HEADER_BYTES // width)


def channel(dut: Any, side: str, clk: Any = None) -> Channel:
    """Channel of the ports <side>_axis_* (or <side>_*, where the side has a longer name), which have no tuser."""
    prefix = side if "_" in side else f"{side}_axis"
    valid, ready, *payload = (getattr(dut, f"{prefix}_t{name}") for name in ("valid", "ready", "data", "keep", "last"))
    return Channel(dut.clk if clk is None else clk, valid, ready, tuple(payload))


def frame_beats(data: bytes, width: int) -> list[Word]:
    """The beats of a frame of at least one byte without a header; spare lanes of the last one carry random bytes."""
    step = width // 8
    words: list[Word] = []
    for place in range(0, len(data), step):
        part = data[place : place + step]
        value = int.from_bytes(part + random.randbytes(step - len(part)), "little")
        words.append((value, (1 << len(part)) - 1, int(place + step >= len(data))))
    return words


def beats(packet: Packet, width: int) -> list[Word]:
    """The beats of a packet; one with an empty payload (malformed) ends with its header."""
    size = header_beats(width) * width // 8
    head = packet.header.pack().ljust(size, b"\0")
    return frame_beats(head + packet.payload, width)


def frames(words: Iterable[Word]) -> list[bytes]:
    """The bytes of each complete frame; checks tkeep: all ones but on last beats, contiguous there, at least one."""
    found, data, size = [], b"", 0
    for tdata, tkeep, tlast in words:
        count = tkeep.bit_count()
        assert tkeep == (1 << count) - 1, "tkeep has holes"
        assert count, "a beat without a byte"
        assert not size or tlast or count == size, "a beat that isn't full, and isn't the last"
        if not tlast:
            size = count
        data += (tdata & ((1 << 8 * count) - 1)).to_bytes(count, "little")
        if tlast:
            found.append(data)
            data = b""
    return found


def packet_of(frame: bytes, width: int) -> Packet:
    """The packet whose bytes on a stream of `width` bits are `frame`; fails when it is malformed."""
    size = header_beats(width) * width // 8
    assert len(frame) > size, "malformed: ends within its header or has no payload"
    assert not any(frame[HEADER_BYTES:size]), "the header isn't padded with zeros"
    assert not frame[1] & 0xFC, "reserved bits of the header are set"
    return Packet(Header.parse(frame[:HEADER_BYTES]), frame[size:])


def packets_of(words: Iterable[Word], width: int) -> list[Packet]:
    """The complete packets in these beats."""
    return [packet_of(frame, width) for frame in frames(words)]


def sizes(longest: int) -> Iterator[int]:
    """Sizes of payloads: short ones, odd ones, the longest ones and any others, without end."""
    kinds: list[Callable[[], int]] = [
        lambda: random.randint(1, min(20, longest)),
        lambda: random.randint(1, min(140, longest)),
        lambda: random.randint(1, longest),
        lambda: longest - random.randrange(min(4, longest)),
    ]
    for _ in itertools.count():
        yield random.choices(kinds, (5, 5, 2, 1))[0]()


async def tick_time(dut: Any, step_ns: int = 3) -> None:
    """Drive time_ns: `step_ns` more each cycle, from a random start. Never returns."""
    now = random.getrandbits(60)
    while True:
        dut.time_ns.value = now
        await cycles(dut.clk, 1)
        now += step_ns


@dataclass(frozen=True)
class Entry:
    """An entry of an IDP table."""

    key: int = 0
    mask: int = 0xFFFFFFFF
    header: Header = Header()
    valid: int = 1

    def matches(self, key: int) -> bool:
        """Whether it leads from `key` to its header."""
        return bool(self.valid) and (key ^ self.key) & self.mask == 0


def look_up(table: Iterable[Entry], key: int) -> Header | None:
    """The header of the first entry that matches, None if there is none."""
    return next((entry.header for entry in table if entry.matches(key)), None)


def table_write(address: int, index: int, entry: Entry) -> int:
    """The value of table_write_t that writes an entry of the block at `address`."""
    bits = (entry.valid << 74 | entry.header.bits) << 64 | entry.key << 32 | entry.mask
    return ((1 << 6 | address) << 3 | index) << 139 | bits


async def write_table(dut: Any, address: int, table: list[Entry], port: str = "table_write") -> None:
    """Write the entries of the block at `address` from index 0 on, one in a cycle."""
    for index, entry in enumerate(table):
        getattr(dut, port).value = table_write(address, index, entry)
        await cycles(dut.clk, 1)
    getattr(dut, port).value = 0
