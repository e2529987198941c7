# SPDX-License-Identifier: Apache-2.0
"""Filters a pcapng file into pcapng files block by block: what a filter accepts, and all that isn't a packet, is copied
as it is. Packets of each link type go through the card by themselves, with the filters' programs for that type.

A packet's time on the way through the card is its number in the file.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any

from headrace.card.process import Tell
from headrace.cards.filter.run import FilterJob, FilterOutput, FilterReport, Progress, run_filter
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

    def format(self, kind: Kind) -> bpf.LinkFormat:
        """What filters for packets of a kind are compiled for."""
        end, into = os.pipe()
        try:
            os.write(into, kind.header())
            return bpf.capture_format(f"/dev/fd/{end}")
        finally:
            os.close(end)
            os.close(into)

    def feed(self, kind: Kind, pipe: IO[bytes]) -> None:
        """Writes a pcap file with the packets of a kind."""
        pipe.write(kind.header())
        numbered = (block for block in self.blocks() if block.packet is not None)
        for number, block in enumerate(numbered):
            if (block.linktype, block.order) == (kind.linktype, kind.order):
                data = block.data
                pipe.write(struct.pack(f"{kind.order}IIII", number, 0, len(data), block.length) + data)


def run_blocks(
    job: FilterJob, contents: Contents, progress: Progress | None = None, tell: Tell | None = None
) -> FilterReport:
    """Runs a job over a file whose outputs are pcapng files; ``job.source`` isn't looked at. Raises HeadraceError as
    ``run_filter``, and for a filter that isn't for packets of one of the link types."""
    programs = {kind: [_program(output.program, contents, kind) for output in job.outputs] for kind in contents.kinds}
    accepted = [bytearray(sum(contents.kinds.values())) for _ in job.outputs]
    count = job.count if len(contents.kinds) == 1 else None
    reports = []
    for kind in contents.kinds:
        with ExitStack() as stack:
            source = stack.enter_context(_pipe("wb", partial(contents.feed, kind)))
            outputs = [
                FilterOutput(program, output.path and stack.enter_context(_pipe("rb", partial(_mark, found=found))))
                for output, program, found in zip(job.outputs, programs[kind], accepted, strict=True)
            ]
            reports.append(run_filter(replace(job, source=source, outputs=outputs, count=count), progress, tell))
    written = [
        _write(contents, output.path, found, job.count) for output, found in zip(job.outputs, accepted, strict=True)
    ]
    return _merged(reports, job, written, contents.fault)


def _program(wanted: bpf.Filter, contents: Contents, kind: Kind) -> bpf.Program:
    """What a filter is for packets of a kind; where there are others too, it may be one that matches none."""
    link = contents.format(kind)
    try:
        return bpf.for_link(wanted, link, contents.name)
    except bpf.FilterError as error:
        if len(contents.kinds) == 1:
            raise
        if str(error) == _MATCHES_NONE:
            return bpf.Program((bpf.Instruction(bpf.RET_K, 0, 0, 0),), wanted.source, link.linktype)
        raise bpf.FilterError(f"{error} (for packets of {bpf.link_name(link.linktype)} in {contents.name})") from None


@contextmanager
def _pipe(mode: str, work: Callable[[IO[bytes]], None]) -> Iterator[str]:
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


def _mark(pipe: IO[bytes], found: bytearray) -> None:
    """Marks the packets of a pcap file by their numbers."""
    pipe.read(_HEADER)
    while len(header := pipe.read(_RECORD)) == _RECORD:
        number, _, captured, _ = struct.unpack("=IIII", header)
        pipe.read(captured)
        found[number] = 1


def _write(contents: Contents, path: str | None, found: bytearray, most: int | None) -> int | None:
    """Copies the blocks that aren't packets, and up to ``most`` packets that were found; says how many. None: there is
    no ``path``. Raises HeadraceError."""
    if path is None:
        return None
    number = written = 0
    try:
        with open(path, "wb") as out:
            for block in contents.blocks():
                if block.packet is None:
                    out.write(block.raw)
                    continue
                if found[number]:
                    out.write(block.raw)
                    written += 1
                    if written == most:
                        break
                number += 1
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    return written


def _merged(
    reports: Sequence[FilterReport], job: FilterJob, written: Sequence[int | None], fault: str | None
) -> FilterReport:
    """One report of the runs of all kinds of packets."""

    def total(name: str) -> int:
        return sum(getattr(report, name) for report in reports)

    names = ("packets", "bytes", "matched", "uninspected", "lost", "held_ns", "cycles", "wall_s", "missed")
    by_program = zip(*(report.programs for report in reports), strict=True)
    programs = [
        replace(
            of[0],
            path=output.path,
            written=count,
            **{name: sum(getattr(each, name) for each in of) for name in ("matched", "bytes", "errors")},
        )
        for output, count, of in zip(job.outputs, written, by_program, strict=True)
    ]
    sums: dict[str, Any] = {name: total(name) for name in names}
    latencies = [each for report in reports if report.latency_cycles for each in report.latency_cycles]
    return replace(
        reports[0],
        **sums,
        latency_cycles=(min(latencies), max(latencies)) if latencies else None,
        cycles_per_packet=sums["cycles"] / sums["packets"] if sums["packets"] else None,
        packets_per_wall_s=sums["packets"] / sums["wall_s"] if sums["wall_s"] else 0.0,
        programs=programs,
        warnings=[warning for report in reports for warning in report.warnings],
        fault="; ".join(filter(None, (*(report.fault for report in reports), fault))) or None,
    )
