# SPDX-License-Identifier: Apache-2.0
"""Filters a pcapng file into pcapng files block by block: what a filter accepts, and all that isn't a packet, is copied
as it is. Counts packets of several link types. Those of each go through the card by themselves, with the filters'
programs for that type."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import Any, cast

from headrace.card.process import Tell
from headrace.cards.filter.run import FilterJob, FilterOutput, FilterReport, Progress, run_filter, run_measure
from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.link_types import Contents, copied, mark, pipe, program_for


def run_blocks(
    job: FilterJob, contents: Contents, progress: Progress | None = None, tell: Tell | None = None
) -> FilterReport:
    """Runs a job over a file whose outputs are pcapng files; ``job.source`` isn't looked at. Raises HeadraceError as
    ``run_filter``, and for a filter that isn't for packets of one of the link types."""
    programs = {
        kind: [program_for(output.program, contents, kind) for output in job.outputs] for kind in contents.kinds
    }
    accepted = [bytearray(contents.packets) for _ in job.outputs]
    count = job.count if len(contents.kinds) == 1 else None
    reports = []
    for kind in contents.kinds:
        with ExitStack() as stack:
            source = stack.enter_context(pipe("wb", partial(contents.feed, kind)))
            outputs = [
                FilterOutput(program, output.path and stack.enter_context(pipe("rb", partial(mark, found=found))))
                for output, program, found in zip(job.outputs, programs[kind], accepted, strict=True)
            ]
            reports.append(run_filter(replace(job, source=source, outputs=outputs, count=count), progress, tell))
    written = [
        None if output.path is None else copied(contents, output.path, found, job.count).packets
        for output, found in zip(job.outputs, accepted, strict=True)
    ]
    return _merged(reports, job, written, contents.fault)


def measure_blocks(
    program: bpf.Filter,
    contents: Contents,
    rate: str | float = "lossless",
    cores: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    count: int | None = None,
    tell: Tell | None = None,
) -> Iterator[dict[int, tuple[int, int]]]:
    """``run_measure`` over a file: of its first ``count`` packets. Raises HeadraceError as that does, and for a program
    that isn't for packets of one of the link types."""
    programs = {kind: program_for(program, contents, kind) for kind in contents.kinds}
    before: dict[int, tuple[int, int]] = {}
    for kind in contents.kinds:
        counts = before
        with pipe("wb", partial(contents.feed, kind, first=count)) as source:
            run = run_measure(programs[kind], source, rate, cores, parameters, progress, tell=tell)
            with closing(cast("Generator[dict[int, tuple[int, int]]]", run)):  # before the pipe
                for now in run:
                    counts = {each: _plus(before.get(each), now.get(each)) for each in before.keys() | now.keys()}
                    yield counts
        before = counts
    if contents.fault is not None:
        raise HeadraceError(contents.fault)


def _plus(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int]:
    packets, size = one or (0, 0)
    return packets + (other or (0, 0))[0], size + (other or (0, 0))[1]


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
