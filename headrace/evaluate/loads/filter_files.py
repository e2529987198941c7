# SPDX-License-Identifier: Apache-2.0
"""Packets of 64 bytes (60 and FCS) through the filter card with 8 cores, from file to file: what other simulators are
compared with."""

from __future__ import annotations

from pathlib import Path

from headrace.card import Card
from headrace.cards.filter.run import EAST, WEST, FilterJob, FilterOutput, FilterReport, run_filter
from headrace.net import bpf


def make(path: Path, count: int) -> None:
    """Writes so many packets into a capture."""
    with Card.open("filter", progress=False) as card:
        card.set_rate(WEST, 100e9)
        card.source(WEST, f"gen:size=60,count={count},frame=tcp,sport=100")
        card.sink(EAST, f"pcap:{path}")
        card.run()


def simulate(expression: str, source: Path, output: Path) -> FilterReport:
    """A capture through the card."""
    return run_filter(FilterJob([FilterOutput(bpf.compile(expression), str(output))], str(source)))
