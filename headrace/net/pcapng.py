# SPDX-License-Identifier: Apache-2.0
"""pcapng files block by block, as they are: what isn't understood is kept, and so are times, names and comments.

See draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, NamedTuple

from headrace.errors import HeadraceError

SECTION, INTERFACE, PACKET, SIMPLE, ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_LEAST, _MOST = 12, 1 << 28  # bytes of a block
_UNKNOWN = b"\xff" * 8  # length of a section


class Block(NamedTuple):
    """A block: its kind and its bytes. ``order``: of its section's numbers, ``<`` or ``>``. ``linktype``: of its
    packet, or of the interface that it describes (LINKTYPE numbers). ``packet``: where the packet is in it, and
    ``length`` how long that was on the wire; None: there is none."""

    kind: int
    raw: bytes
    order: str
    linktype: int | None = None
    packet: tuple[int, int] | None = None
    length: int = 0

    @property
    def data(self) -> bytes:
        """Of the packet."""
        start, end = self.packet or (0, 0)
        return self.raw[start:end]


def is_pcapng(file: IO[bytes]) -> bool:
    """Whether a file begins as one does. It is at its beginning before and afterwards."""
    beginning = file.read(4)
    file.seek(0)
    return beginning == SECTION.to_bytes(4, "big")


def blocks(file: IO[bytes], name: str) -> Iterator[Block]:
    """The blocks of a file. Sections' lengths are unknown in them, so that others can be left out.

    Raises HeadraceError, behind the last whole block, where the file is broken.
    """
    order, interfaces, at = "<", list[tuple[int, int]](), 0
    while head := file.read(8):
        fault = f"{name}: block at byte {at}: "
        if len(head) < 8:
            raise HeadraceError(f"{fault}the file is cut off")
        if head[:4] == SECTION.to_bytes(4, "big"):
            magic = file.read(4)
            if magic not in _ORDERS:
                raise HeadraceError(f"{fault}no section of a pcapng file")
            order, interfaces = _ORDERS[magic], []
            head += magic
        kind, size = struct.unpack_from(f"{order}II", head)
        if not _LEAST <= size <= _MOST or size % 4:
            raise HeadraceError(f"{fault}its length of {size} bytes is wrong")
        raw = head + file.read(size - len(head))
        if len(raw) < size:
            raise HeadraceError(f"{fault}the file is cut off")
        if struct.unpack_from(f"{order}I", raw, size - 4)[0] != size:
            raise HeadraceError(f"{fault}its two lengths differ")
        try:
            yield _block(kind, raw, order, interfaces)
        except (struct.error, IndexError):
            raise HeadraceError(f"{fault}its content is wrong") from None
        at += size


def _block(kind: int, raw: bytes, order: str, interfaces: list[tuple[int, int]]) -> Block:
    if kind == SECTION:
        return Block(kind, raw[:16] + _UNKNOWN + raw[24:], order)
    if kind == INTERFACE:
        linktype, _, snaplen = struct.unpack_from(f"{order}HHI", raw, 8)
        interfaces.append((linktype, snaplen))
        return Block(kind, raw, order, linktype)
    if kind == ENHANCED:
        number, _, _, captured, length = struct.unpack_from(f"{order}5I", raw, 8)
        start = 28
    elif kind == PACKET:
        number, _, _, _, captured, length = struct.unpack_from(f"{order}HH4I", raw, 8)
        start = 28
    elif kind == SIMPLE:
        number, start = 0, 12
        (length,) = struct.unpack_from(f"{order}I", raw, 8)
        captured = min(length, interfaces[0][1] or length)
    else:
        return Block(kind, raw, order)
    if start + captured > len(raw) - 4:
        raise IndexError
    return Block(kind, raw, order, interfaces[number][0], (start, start + captured), length)


def first_link_types(file: IO[bytes]) -> set[int]:
    """Link types (LINKTYPE numbers) of the interfaces that are described before the first packet; none of a file of
    another kind."""
    return {linktype for linktype, packet in _begin(file) if not packet}


def has_packet(file: IO[bytes]) -> bool | None:
    """Whether there is a packet in what a file begins with; None: it is of another kind."""
    return any(packet for _, packet in _begin(file)) if is_pcapng(file) else None


def _begin(file: IO[bytes]) -> Iterator[tuple[int, bool]]:
    """Link types of the interfaces that are described before the first packet, then that packet's; with whether it is
    the packet's."""
    if not is_pcapng(file):
        return
    with suppress(HeadraceError):
        for block in blocks(file, ""):
            if block.linktype is not None:
                yield block.linktype, block.packet is not None
            if block.packet is not None:
                return
