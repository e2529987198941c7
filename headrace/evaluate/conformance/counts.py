"""os-ken's tests of OpenFlow 1.3 switches on the switch card, and on Open vSwitch beside it: how many pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from headrace.evaluate.conformance import cases, runner
from headrace.evaluate.conformance.card import CardDevice
from headrace.evaluate.conformance.cases import Case
from headrace.evaluate.conformance.ovs_device import OvsDevice
from headrace.evaluate.conformance.runner import Report
from headrace.evaluate.loads.switch_network import PARAMETERS

MOST_PACKETS = 30_000
"""Of a load, a second and a half of the fastest: whole, they would take hours in the simulator."""
SAMPLE = 12
"""One of so many tests is a sample."""
_SAMPLE_PACKETS = 6_000  # whole loads of the slowest


@dataclass(frozen=True)
class Passed:
    """Of so many tests those that pass; the others by the names of their files."""

    tests: int
    passed: int
    failures: Counter[str]


def run(switch: str, part: int, parts: int, every: int = 1) -> Passed:
    """One part of so many of the tests without PBB, or of one of ``every``: these don't have the longest loads."""
    chosen = [case for case in cases.load() if not case.needs_pbb]
    if every > 1:
        chosen = [case for case in chosen if _packets(case) <= _SAMPLE_PACKETS][::every]
    report = SWITCHES[switch](chosen[part::parts])
    failures = Counter(PurePath(verdict.file).name.lstrip("0123456789_") for verdict in report.failures)
    return Passed(len(report.verdicts), len(report.verdicts) - failures.total(), failures)


def total(parts: Sequence[Passed]) -> Passed:
    """Of all parts."""
    failures = sum((part.failures for part in parts), Counter[str]())
    return Passed(sum(part.tests for part in parts), sum(part.passed for part in parts), failures)


def _packets(case: Case) -> float:
    expected = case.expected
    return expected.pktps * expected.seconds if isinstance(expected, cases.Throughput) else 1


def _on_card(chosen: Sequence[Case]) -> Report:
    return CardDevice(dict(PARAMETERS)).run(lambda device: runner.run(device, chosen, MOST_PACKETS))


def _on_ovs(chosen: Sequence[Case]) -> Report:
    with OvsDevice() as device:
        return runner.run(device, chosen, MOST_PACKETS)


SWITCHES: Mapping[str, Callable[[Sequence[Case]], Report]] = {"card": _on_card, "Open vSwitch": _on_ovs}
