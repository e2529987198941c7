"""What waits in a delay line, by a clock of the test's own."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from headrace.emulator.fabric.delays import ALL_BYTES, FRAME_BYTES, LEAST_NS, PORT_BYTES, Delays

MS = 1_000_000


def leaving(line: Delays, now_ns: int) -> list[tuple[int, bytes]]:
    """All frames that are due, with their ports."""
    return list(iter(lambda: line.take(now_ns), None))


def test_a_frame_leaves_when_its_delay_is_over_and_not_before() -> None:
    line = Delays()
    line.set(3, 50 * MS)
    assert line.due_ns() is None
    line.add(3, 7, b"a")
    assert line.due_ns() == 50 * MS + 7
    assert leaving(line, 50 * MS + 6) == []
    assert leaving(line, 50 * MS + 7) == [(3, b"a")]
    assert line.due_ns() is None


def test_every_port_has_its_own_delay() -> None:
    line = Delays()
    line.set(0, 30 * MS)
    line.set(1, 10 * MS)
    line.set(2, 0)
    for port in range(3):
        line.add(port, MS * port, b"%d" % port)
    assert leaving(line, 2 * MS) == [(2, b"2")]
    assert leaving(line, 30 * MS) == [(1, b"1"), (0, b"0")]


def test_random_frames_leave_at_the_time_of_an_oracle() -> None:
    rng = random.Random(1)
    line, now_ns = Delays(), 0
    delays = dict.fromkeys(range(5), 0)
    last = dict.fromkeys(range(5), 0)
    expected: list[tuple[int, int, bytes]] = []
    for port in range(5):
        line.set(port, 0)
    found = []
    for number in range(5000):
        now_ns += rng.randrange(2000)
        port = rng.randrange(5)
        if rng.random() < 0.1:
            delays[port] = rng.choice([0, 100, 5000, 100_000])
            line.set(port, delays[port])
        frame = b"%d" % number
        last[port] = max(last[port], now_ns + delays[port])
        expected.append((port, last[port], frame))
        line.add(port, now_ns, frame)
        while (due_ns := line.due_ns()) is not None and due_ns <= now_ns:
            taken = line.take(due_ns)
            assert taken is not None
            found.append((taken[0], due_ns, taken[1]))
    while (due_ns := line.due_ns()) is not None:
        taken = line.take(due_ns)
        assert taken is not None
        found.append((taken[0], due_ns, taken[1]))
    assert sorted(found) == sorted(expected)
    for port in range(5):
        own = [frame for number, _, frame in found if number == port]
        assert own == [frame for number, _, frame in expected if number == port], "in their order"


def test_a_new_delay_is_that_of_later_frames_which_never_overtake() -> None:
    line = Delays()
    line.set(0, 50 * MS)
    line.add(0, 0, b"first")
    line.set(0, 80 * MS)
    line.add(0, 1, b"longer")
    line.set(0, 10 * MS)
    line.add(0, 2, b"shorter")
    line.add(0, 75 * MS, b"last")
    assert leaving(line, 50 * MS) == [(0, b"first")]
    assert leaving(line, 80 * MS) == []
    assert leaving(line, 80 * MS + 1) == [(0, b"longer"), (0, b"shorter")]
    assert leaving(line, 85 * MS) == [(0, b"last")]


def test_what_came_before_the_link_went_never_leaves() -> None:
    line = Delays()
    for port in range(2):
        line.set(port, 50 * MS)
        line.add(port, 0, b"old")
    line.forget(0, 10 * MS)
    line.add(0, 9 * MS, b"the kernel still had it")
    line.add(0, 10 * MS, b"new")
    assert leaving(line, 50 * MS) == [(1, b"old")]
    assert leaving(line, 60 * MS) == [(0, b"new")]
    report = line.report()
    assert (report["frames"], report["forgotten"], report["waiting"]) == (2, 2, 0)


def test_what_is_too_much_for_a_port_or_for_all_is_dropped_and_counted() -> None:
    assert (PORT_BYTES, ALL_BYTES, FRAME_BYTES) == (64 << 20, 256 << 20, 160)
    size = 100 + FRAME_BYTES
    line = Delays(port_bytes=3 * size, all_bytes=4 * size)
    for port in range(2):
        line.set(port, MS)
        for number in range(5):
            line.add(port, 0, bytes([number]) * 100)
    assert line.report()["dropped"] == 6
    assert [(port, frame[0]) for port, frame in leaving(line, MS)] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    line.add(1, MS, b"there is room again")
    assert line.report() | {"late_s": None} == {
        "frames": 4, "late": 0, "late_s": None, "dropped": 6, "forgotten": 0, "waiting": 1,
    }  # fmt: skip


@pytest.mark.parametrize("octets", [60, 1514])
def test_memory_is_bounded_whatever_comes(octets: int) -> None:
    line = Delays(port_bytes=1 << 21, all_bytes=1 << 22)
    for port in range(4):
        line.set(port, 1000 * MS)
    tracemalloc.start()
    try:
        for number in range(80_000):
            line.add(number % 4, number, bytes(octets))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.1 * (1 << 22)
    report = line.report()
    assert report["waiting"] + report["dropped"] == 80_000 and report["dropped"] > 0


def test_lateness_is_counted() -> None:
    line = Delays()
    line.set(0, 10 * MS)
    line.set(1, 0)
    for number in range(100):
        line.add(0, number * MS, b"")
        leaving(line, number * MS + 10 * MS + (2 * MS if number >= 97 else 100_000))
    for late_ns in (LEAST_NS // 10, LEAST_NS // 10 + 1):
        line.add(1, 1000 * MS, b"short delays may be late by a part of the least one")
        leaving(line, 1000 * MS + late_ns)
    report = line.report()
    assert (report["frames"], report["late"]) == (102, 4)
    assert report["late_s"]["median"] == pytest.approx(1e-4, rel=0.07)
    assert report["late_s"]["p99"] == pytest.approx(2e-3, rel=0.07)
    assert report["late_s"]["max"] == 2e-3


def test_nothing_that_left_has_no_lateness() -> None:
    assert Delays().report()["late_s"] == {"median": 0.0, "p99": 0.0, "max": 0.0}
