# SPDX-License-Identifier: Apache-2.0
"""Loads by whose processor time versions of Headrace are compared. This file is run in another version, too, so it
imports only what both have: ``python -c TEXT LOAD`` prints a ``Taken`` as JSON. Building the card isn't counted."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.cards.filter.run import FilterReport

LINE = 100e9  # bit/s


@dataclass(frozen=True)
class Taken:
    """Processor seconds of a run, its cycles in the RTL, and packets that came out: the last two are the same in
    versions whose cards do the same."""

    seconds: float
    cycles: int
    packets: int


def switch(sizes: Sequence[int], count: int, share: float = 1.0) -> Taken:
    """Frames of so many bytes without FCS, by port, into a card of four ports, at a share of the line: each has a
    lookup in each of four tables, and leaves by its port's neighbour. Links are held off: nothing is lost."""
    from headrace.cards.switch.card import open_switch_card
    from headrace.evaluate.loads.flow_sets import FlowSet
    from headrace.evaluate.loads.switch import Switch

    flows = [f"table={table},actions=goto_table:{table + 1}" for table in range(3)]
    flows += [f"table=3,in_port={port},actions=output:{(port - 1 ^ 1) + 1}" for port in range(1, 5)]
    with open_switch_card(parameters={"PORTS": 4, "TABLES": 4}, progress=False) as card:
        loaded = Switch(card)
        loaded.install(FlowSet("", "\n".join(flows)))
        loaded.hold()
        for port in range(4):
            card.sink(port, "null")
        for port, size in enumerate(sizes):
            card.source(port, f"gen:size={size},count={count},frame=tcp", timing=share * LINE)
        return _run(card)


def nic_idle(cycles: int) -> Taken:
    """Cycles of a NIC card with 16 functions in which nothing moves, all evaluated."""
    from headrace.card import Card

    with Card.open("nic", {"FUNCTIONS": 16}, progress=False) as card:
        card.skip_idle(False)
        return _run(card, cycles)


def rpu(count: int) -> Taken:
    """64-byte packets (with FCS) at line rate into both ports of a card of 8 units, which forward them."""
    from headrace.evaluate.loads import rpu as loads

    with loads._running("forwarder", 8) as (card, _):
        for port in range(2):
            card.source(port, f"gen:size=60,count={count}")
        return _run(card)


def make(path: Path, count: int) -> None:
    """Writes so many packets of 64 bytes (60 and FCS) into a capture."""
    from headrace.card import Card
    from headrace.cards.filter.run import EAST, WEST

    with Card.open("filter", progress=False) as card:
        card.set_rate(WEST, LINE)
        card.source(WEST, f"gen:size=60,count={count},frame=tcp,sport=100")
        card.sink(EAST, f"pcap:{path}")
        card.run()


def simulate(expression: str, source: Path, output: Path) -> FilterReport:
    """A capture through the filter card, with 8 cores."""
    from headrace.cards.filter.run import FilterJob, FilterOutput, run_filter
    from headrace.net import bpf

    return run_filter(FilterJob([FilterOutput(bpf.compile(expression), str(output))], str(source)))


def filter_card(count: int, port: int, times: int = 1) -> Taken:
    """64-byte packets (with FCS) from file to file, some ``times`` over, 8 cores: a filter that takes all (port 100) or
    none."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.pcap", Path(folder) / "out.pcap"
        make(source, count)
        header, packets = (data := source.read_bytes())[:24], data[24:]
        source.write_bytes(header + packets * times)
        start = time.process_time()
        report = simulate(f"tcp src port {port}", source, output)
        taken = time.process_time() - start
    return Taken(taken, report.cycles, report.matched)


def _run(card, cycles: int | None = None) -> Taken:  # type: ignore[no-untyped-def]
    """Until all is through, or for so many cycles."""
    before = card.stats()
    start = time.process_time()
    after = card.run().stats if cycles is None else card.run(until=None, cycles=cycles).stats
    taken = time.process_time() - start
    sent = sum(port.tx_frames for port in after.ports)
    return Taken(taken, after.cycles - before.cycles, sent)


LOADS: dict[str, Callable[[], Taken]] = {
    "switch 1514": lambda: switch([1514] * 2, 5_000),
    "switch 60": lambda: switch([60] * 4, 25_000),
    "switch 60, 5 %": lambda: switch([60] * 2, 5_000, 0.05),
    "nic idle": lambda: nic_idle(60_000),
    "rpu": lambda: rpu(25_000),
    "filter none": lambda: filter_card(400_000, 101),
    "filter all": lambda: filter_card(400_000, 100),
    # Long enough for a profile
    "switch, mixed": lambda: switch([1514, 60, 60, 1514], 60_000, 0.5),
    "filter, long": lambda: filter_card(50_000, 100, 20),
}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(LOADS[sys.argv[1]]())))
