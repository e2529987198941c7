# SPDX-License-Identifier: Apache-2.0
"""Captures a pcapng file whose packets are of several link types, block by block: what the filter accepts, and all that
isn't a packet, is copied as it is. The packets of each link type go through the card by themselves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from headrace.card.process import Tell
from headrace.cards.capture.run import CaptureJob, CaptureProgress, CaptureReport, run_capture
from headrace.cards.capture.savefiles import Limits
from headrace.net.link_types import Contents, copied, mark, pipe, program_for
from headrace.net.source import Source


def capture_blocks(
    job: CaptureJob,
    contents: Contents,
    progress: Callable[[CaptureProgress], None] | None = None,
    tell: Tell | None = None,
) -> CaptureReport:
    """Runs a job over a file whose output is a pcapng file; ``job.source`` isn't looked at, nor are limits other than a
    number of packets. Raises HeadraceError as ``run_capture``, and for a filter that isn't for packets of one of the
    link types."""
    wanted = job.program
    programs = {kind: None if wanted is None else program_for(wanted, contents, kind) for kind in contents.kinds}
    found, reports = bytearray(contents.packets), []
    for kind, packets in contents.kinds.items():
        with ExitStack() as stack:
            source = Source("pcap", stack.enter_context(pipe("wb", partial(contents.feed, kind))))
            output = stack.enter_context(pipe("rb", partial(mark, found=found)))
            of_kind = replace(
                job, source=source, program=programs[kind], output=output, limits=Limits(), format="pcap", snaplen=None
            )
            reports.append(run_capture(of_kind, progress, tell))
        if reports[-1].received < packets:  # it was stopped
            break
    return _merged(reports, job, contents, found)


def _merged(reports: list[CaptureReport], job: CaptureJob, contents: Contents, found: bytearray) -> CaptureReport:
    """One report of the runs of all kinds of packets, once what was found is written."""

    def total(name: str) -> int:
        return sum(getattr(report, name) for report in reports)

    written = copied(contents, job.output, found, job.limits.packets)
    faults = [*(report.fault for report in reports), contents.fault]
    return replace(
        reports[0],
        captured=written.packets,
        received=total("received"),
        rejected=total("rejected"),
        dropped={cause: sum(report.dropped[cause] for report in reports) for cause in reports[0].dropped},
        unwritten=total("captured") - written.packets,
        missing=total("missing"),
        captured_bytes=written.captured_bytes,
        wire_bytes=written.wire_bytes,
        files=[] if job.output is None else [job.output],
        cycles=total("cycles"),
        wall_s=sum(report.wall_s for report in reports),
        warnings=[warning for report in reports for warning in report.warnings],
        fault="; ".join(filter(None, faults)) or None,
    )
