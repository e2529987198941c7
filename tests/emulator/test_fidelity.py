"""What a run's report says of the machine's part in it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from headrace.emulator import fidelity
from headrace.emulator.fidelity import Fidelity


@pytest.fixture
def softnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of the kernel's counts: of two processors, which have dropped and left packets before."""
    path = tmp_path / "softnet_stat"
    monkeypatch.setattr(fidelity, "_SOFTNET", path)
    write(path, (0x10, 1), (2, 3))
    return path


def write(path: Path, *counts: tuple[int, int]) -> None:
    """A line a processor, as of Linux 6: all, dropped, left, and others that don't matter."""
    path.write_text(
        "".join(f"00ffffff {dropped:08x} {left:08x} " + "00000000 " * 12 + "\n" for dropped, left in counts)
    )


def test_a_machine_that_keeps_up_makes_nothing_doubtful(softnet: Path) -> None:
    run = Fidelity(1.0)
    for _ in range(40):
        run.step(0.001, 0.002)
    found = run.report()
    assert found["queueing"] == {"packets_dropped": 0, "steps_waited": 0}
    assert not [line for line in found["doubtful"] if "processors were busy" not in line]  # others may keep it busy
    assert found["late_s"] == {"mean": pytest.approx(0.001), "max": 0.001}


def test_steps_that_begin_late_make_links_doubtful() -> None:
    run = Fidelity(1.0)
    for number in range(40):
        run.step(0.2 if number < 3 else 0.0, 0.001)
    assert any(line.startswith("3 of 40 steps began late") for line in run.report()["doubtful"])


def test_a_machine_without_idle_processors_makes_delays_and_rates_doubtful(
    softnet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count(100, 100)
    monkeypatch.setattr(fidelity, "_processor_times", lambda: (0, next(ticks)))
    run = Fidelity(1.0, _before=(0, 0))
    for _ in range(20):
        run.step(0.0, 0.0)
    found = run.report()
    assert found["processor_load"] == {"mean": 1.0, "max": 1.0}
    assert [line.partition(":")[0] for line in found["doubtful"]] == ["all processors were busy in 20 of 20 steps"]


def test_packets_that_the_machine_drops_make_losses_doubtful(softnet: Path) -> None:
    run = Fidelity(1.0)
    write(softnet, (0x12, 1), (5, 3))
    run.step(0.0, 0.0)
    run.step(0.0, 0.0)
    found = run.report()
    assert found["queueing"] == {"packets_dropped": 5, "steps_waited": 0}
    assert any(line.startswith("5 packets were dropped in the machine's own queues") for line in found["doubtful"])


@pytest.mark.parametrize(("steps", "doubtful"), [(19, True), (20, False)])
def test_packets_that_wait_for_a_processor_in_many_steps_make_delays_doubtful(
    softnet: Path, steps: int, doubtful: bool
) -> None:
    run = Fidelity(1.0)
    write(softnet, (0x10, 1), (2, 9))
    for _ in range(steps):
        run.step(0.0, 0.0)
    found = run.report()
    assert found["queueing"] == {"packets_dropped": 0, "steps_waited": 1}
    assert any("waited for a processor in 1 of" in line for line in found["doubtful"]) is doubtful


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, None),
        ({"late": 50}, None),
        ({"late": 51}, "51 of 1,000 frames left the delay line late by more than 10% of their delay"),
        ({"dropped": 2, "missed": 3}, "5 frames were dropped before the delay line"),
    ],
)
def test_frames_that_leave_late_or_never_make_delays_and_losses_doubtful(
    more: dict[str, int], said: str | None
) -> None:
    delayed = {"frames": 1000, "late": 0, "dropped": 0, "missed": 0, **more}
    found = Fidelity(1.0).report(delayed)
    assert found["delay_line"] == delayed
    assert len(found["doubtful"]) == (said is not None)
    assert said is None or found["doubtful"][0].startswith(said)


def test_the_kernels_own_counts_are_read() -> None:
    run = Fidelity(1.0)
    run.step(0.0, 0.0)
    assert run.report()["queueing"]["packets_dropped"] >= 0
