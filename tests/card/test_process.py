"""Signals to a process with a card: what ends it, what asks for counts, what is said while the rest goes through."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from headrace.card import process
from headrace.card.process import Drain, StopRequests

ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Each test finds Ctrl-C as Python has it, and leaves the signals as they were."""
    before = {number: signal.getsignal(number) for number in (*ENDS, signal.SIGUSR1)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_is_a_request_and_afterwards_what_it_was(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopRequests() as stop:
        assert not stop
        signal.raise_signal(number)
        assert stop and not stop.at_once
    assert signal.getsignal(number) == before


def test_the_second_request_is_one_for_an_end_at_once_and_the_third_is_a_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "_ONE_REQUEST_S", 0)
    with StopRequests() as stop:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert stop.at_once
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_signal_to_a_process_and_its_group_is_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_ONE_REQUEST_S", 3600)
    with StopRequests() as stop:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert stop and not stop.at_once


@pytest.mark.parametrize(("number", "counts"), [(signal.SIGINT, True), (signal.SIGTERM, True), (signal.SIGHUP, False)])
def test_what_a_script_lets_the_background_ignore_counts_but_not_nohup(number: signal.Signals, counts: bool) -> None:
    signal.signal(number, signal.SIG_IGN)
    with StopRequests() as stop:
        signal.raise_signal(number)
        assert bool(stop) == counts
    assert signal.getsignal(number) is signal.SIG_IGN


def test_a_run_that_is_not_caught_is_interrupted_in_the_background_too() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with pytest.raises(KeyboardInterrupt), StopRequests(catch=False):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize("catch", [True, False])
def test_sigusr1_asks_for_the_counts_once(catch: bool) -> None:
    with StopRequests(catch) as stop:
        assert not stop.counts_wanted()
        signal.raise_signal(signal.SIGUSR1)
        assert (stop.counts_wanted(), stop.counts_wanted(), bool(stop)) == (True, False, False)


@pytest.mark.parametrize(("pause", "shown"), [(0, [5000, 4000, 3]), (3600, [5000])])
def test_much_that_is_to_go_through_is_told_at_once_and_then_now_and_again(
    pause: float, shown: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_TELL_S", pause)
    said: list[str] = []
    drain = Drain(said.append)
    for waiting in (5000, 4000, 3, 0):
        drain.show(waiting)
    first, *others = (f"{count:,} packets are still to go through" for count in shown)
    assert said == [f"{first}; Ctrl-C again ends at once", *others]


def test_little_that_is_to_go_through_is_told_when_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    drain = Drain(said.append)
    drain.show(999)
    assert said == []
    monkeypatch.setattr(process.time, "monotonic", lambda: 1e12)
    drain.show(998)
    assert said == ["998 packets are still to go through; Ctrl-C again ends at once"]
