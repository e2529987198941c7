# SPDX-License-Identifier: Apache-2.0
"""The function engine as a whole: what functions carry at once, and that neither those whose memory is silent nor one
that sends a thousand times as much hold up the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from headrace.card import Card
from headrace.card.functions import Functions, Plugs, Side
from headrace.evaluate.loads.host import frame

CARD = Path(__file__).parent / "cards" / "functions"
FUNCTIONS = 16
CLOCK_HZ = 250_000_000
LATENCY_NS = 1_000
FCS, GAP = 4, 20
PACKETS_S = 40e6  # of all functions, each way
WARM, SPAN, SPANS = 10_000, 20_000, 8
QUIET_BIT_S = 100e6
LATER = 1.04  # of the others' p99 latency beside a loud function, to that without it


class Host:
    """The card, with drivers that the harness plays."""

    def __init__(self, card: Card) -> None:
        self.card = card
        card.memory.configure(read_latency_ns=LATENCY_NS, write_latency_ns=LATENCY_NS // 4, reads=256, writes=256)
        self.functions = Functions(card, card.regs.functions)
        plugs = Plugs(self.functions, pytest.fail)
        self.ports = []
        for function in range(FUNCTIONS):
            plugs.plug(function, "queue:")
            port = plugs.port(function)
            assert port is not None
            card.sink(port, "null")
            self.ports.append(port)

    def send(self, functions: Sequence[int], size: int, timing: str | float = "line") -> None:
        """As much as they can, or so many bit/s of a line, from now on; they get back what they send."""
        for function in functions:
            self.card.source(self.ports[function], f"gen:size={size - FCS},frame=raw", timing=timing)

    def silence(self, reads: Sequence[int], writes: Sequence[int]) -> None:
        """Memory answers these functions no more."""
        masks = [sum(1 << function for function in silent) for silent in (reads, writes)]
        self.card.source(0, [b"".join(mask.to_bytes(8, "little") for mask in masks).ljust(60, b"\0")])
        self.run(100)

    def run(self, cycles: int) -> None:
        self.card.run(until=None, cycles=cycles)

    def rates(self, functions: Sequence[int]) -> list[float]:
        """Packets a second that each of them sent and, after them, that each got."""
        before = self._counts(functions)
        self.run(SPAN)
        return [(now - then) * CLOCK_HZ / SPAN for now, then in zip(self._counts(functions), before, strict=True)]

    def _counts(self, functions: Sequence[int]) -> list[int]:
        stats = [self.card.port_stats(self.ports[function]) for function in functions]
        return [each.rx_frames for each in stats] + [each.tx_frames for each in stats]

    def latencies_ns(self, functions: Sequence[int], frames: int = 100) -> list[float]:
        """Of so many frames of 64 bytes of each, from when its driver has one to hand over until it gets it back."""
        for function in functions:
            self.card.sink(self.ports[function], "memory")
            sent = [frame(number, 64) for number in range(frames)]
            self.card.source(self.ports[function], sent, timing=QUIET_BIT_S)
        start_ns, gap_ns = self.card.stats().time_ns, 8 * (64 + GAP) / QUIET_BIT_S * 1e9
        self.run(round(frames * gap_ns * CLOCK_HZ / 1e9) + WARM)
        found = []
        for function in functions:
            got = self.card.received(self.ports[function])
            assert [each.data for each in got] == [frame(number, 64) for number in range(frames)]
            found += [each.timestamp_ns - start_ns - number * gap_ns for number, each in enumerate(got)]
        return found

    def lost(self, function: int) -> int:
        return self.functions.counters(Side.RECEIVE, function).dropped_full


@pytest.fixture
def host() -> Iterator[Host]:
    with Card.open(CARD, {"FUNCTIONS": FUNCTIONS}, clock_hz=CLOCK_HZ, progress=False) as card:
        yield Host(card)


@pytest.mark.parametrize("to", ["reads", "writes", "both"])
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "one after the other"])
@pytest.mark.parametrize("size", [64, 1518])
def test_functions_whose_memory_is_silent_delay_no_other(host: Host, to: str, at_once: bool, size: int) -> None:
    """All but one, each with as much under way as it gets: one that was alone got more than those after it."""
    *silent, last = range(FUNCTIONS)
    groups = [silent] if at_once else [[function] for function in silent]
    gone: list[int] = []
    for group in groups:
        host.send(group, size)
        host.run(3_000)
        gone += group
        host.silence(gone if to != "writes" else [], gone if to != "reads" else [])
        host.run(1_000)
    share = PACKETS_S / FUNCTIONS * 8 * (64 + GAP)
    host.send([last], size, share)
    host.run(WARM)
    # What comes in at the edges of the span comes a few at a time.
    assert min(host.rates([last])) >= share / 8 / (size + GAP) - 3 * CLOCK_HZ / SPAN
    assert host.lost(last) == 0


@pytest.mark.parametrize(
    ("size", "packets_s", "share"),
    [
        (64, 55e6, 0.8),
        (128, 50e6, 0.8),
        (256, 92e9 / 8 / (256 + GAP), 0.75),
        (1518, 100e9 / 8 / (1518 + GAP), 0.8),
    ],
)
def test_all_functions_at_once_carry_what_is_promised_each_way(
    host: Host, size: int, packets_s: float, share: float
) -> None:
    """And go on to do so: what makes packets wait for each other can come about late, and stay."""
    everyone = range(FUNCTIONS)
    host.send(everyone, size)
    host.run(WARM)
    in_all = [0.0 for _ in everyone]
    for _ in range(SPANS):
        rates = host.rates(everyone)
        sent, received = rates[:FUNCTIONS], rates[FUNCTIONS:]
        assert min(sum(sent), sum(received)) >= packets_s
        assert min(sent) >= share * max(sent)
        in_all = [before + now for before, now in zip(in_all, sent, strict=True)]
    assert min(in_all) >= 0.95 * max(in_all)


def test_functions_beside_one_that_sends_a_thousand_times_as_much_keep_their_latency(host: Host) -> None:
    loud, *quiet = range(FUNCTIONS)
    alone = np.percentile(host.latencies_ns(quiet), 99)
    host.send([loud], 64, 1_000 * QUIET_BIT_S)
    host.run(WARM)
    beside = np.percentile(host.latencies_ns(quiet), 99)
    assert host.rates([loud])[0] >= 20e6
    assert beside <= LATER * alone
