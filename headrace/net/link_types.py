# SPDX-License-Identifier: Apache-2.0
"""pcapng files whose packets are of several link types: the packets of each go through a card by themselves, as a pcap
file, with a filter's program for that type; a packet's time on the way is its number in the file."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import IO, NamedTuple

from headrace.errors import HeadraceError
from headrace.net import bpf, pcapng

_MATCHES_NONE = "expression rejects all packets"  # says libpcap, of arp for packets that begin with IP
_SNAPLEN = 262144
_MAGIC = 0xA1B2C3D4
_HEADER, _RECORD = 24, 16  # bytes at the beginning of a file and of a record


@dataclass(frozen=True)
class Kind:
    """Packets that one program of a filter is for: their link type (LINKTYPE number), and the order of numbers in what
    has written them."""

    linktype: int
    order: str

    def header(self) -> bytes:
        """Of a pcap file with such packets."""
        return struct.pack(f"{self.order}IHHiIII", _MAGIC, 2, 4, 0, 0, _SNAPLEN, self.linktype)


class Contents:
    """What is in a pcapng file: ``kinds`` of packets with how many there are, ``fault`` where it is broken."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.file, self.name = file, name
        self.kinds: dict[Kind, int] = {}
        self.fault: str | None = None
        described: list[Kind] = []
        for block in self.blocks():
            if block.linktype is None:
                continue
            kind = Kind(block.linktype, block.order)
            if block.packet is None:
                described.append(kind)
            else:
                self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if not self.kinds and described:
            self.kinds[described[0]] = 0

    def blocks(self) -> Iterator[pcapng.Block]:
        """From the first one on, as far as the file isn't broken."""
        self.file.seek(0)
        try:
            yield from pcapng.blocks(self.file, self.name)
        except HeadraceError as error:
            self.fault = str(error)

    @property
    def packets(self) -> int:
        """Of all kinds."""
        return sum(self.kinds.values())

    def format(self, kind: Kind) -> bpf.LinkFormat:
        """What filters for packets of a kind are compiled for."""
        end, into = os.pipe()
        try:
            os.write(into, kind.header())
            return bpf.capture_format(f"/dev/fd/{end}")
        finally:
            os.close(end)
            os.close(into)

    def feed(self, kind: Kind, pipe: IO[bytes], first: int | None = None) -> None:
        """Writes a pcap file with the packets of a kind among the ``first`` ones."""
        pipe.write(kind.header())
        numbered = islice((block for block in self.blocks() if block.packet is not None), first)
        for number, block in enumerate(numbered):
            if (block.linktype, block.order) == (kind.linktype, kind.order):
                data = block.data
                pipe.write(struct.pack(f"{kind.order}IIII", number, 0, len(data), block.length) + data)


def program_for(wanted: bpf.Filter, contents: Contents, kind: Kind) -> bpf.Program:
    """What a filter is for packets of a kind; where there are others too, it may be one that matches none."""
    link = contents.format(kind)
    try:
        return bpf.for_link(wanted, link, contents.name)
    except bpf.FilterError as error:
        if len(contents.kinds) == 1 or not isinstance(wanted, bpf.Expression):
            raise
        if str(error) == _MATCHES_NONE:
            return bpf.Program((bpf.Instruction(bpf.RET_K, 0, 0, 0),), wanted.source, link.linktype)
        raise bpf.FilterError(f"{error} (for packets of {bpf.link_name(link.linktype)} in {contents.name})") from None


@contextmanager
def pipe(mode: str, work: Callable[[IO[bytes]], None]) -> Iterator[str]:
    """The path of a pipe, at whose other end a thread works meanwhile, on a file that it reads or writes."""
    end, into = os.pipe()
    own, theirs = (into, end) if mode == "wb" else (end, into)

    def run() -> None:
        with suppress(BrokenPipeError), open(own, mode) as file:  # who reads may have enough
            work(file)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"/dev/fd/{theirs}"
    finally:
        os.close(theirs)
        thread.join()


def mark(stream: IO[bytes], found: bytearray) -> None:
    """Marks the packets of a pcap file by their numbers."""
    stream.read(_HEADER)
    while len(header := stream.read(_RECORD)) == _RECORD:
        number, _, captured, _ = struct.unpack("=IIII", header)
        stream.read(captured)
        found[number] = 1


class Copied(NamedTuple):
    """Packets that are in a file, their bytes there, and those that they had on the wire."""

    packets: int
    captured_bytes: int
    wire_bytes: int


def copied(contents: Contents, path: str | None, found: bytearray, most: int | None) -> Copied:
    """Copies the blocks that aren't packets, and up to ``most`` packets that were found, to a file (``-``: the standard
    output; None: nowhere), and says which packets they are. Raises HeadraceError where it can't be written."""
    number, packets, captured, length = 0, 0, 0, 0
    try:
        with open(1 if path == "-" else path or os.devnull, "wb", closefd=path != "-") as out:
            for block in contents.blocks():
                if block.packet is None:
                    out.write(block.raw)
                    continue
                if found[number]:
                    out.write(block.raw)
                    packets, captured, length = packets + 1, captured + len(block.data), length + block.length
                    if packets == most:
                        break
                number += 1
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    return Copied(packets, captured, length)
