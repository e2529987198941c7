"""The example of a user's own card: ports, registers, host memory and interrupts together."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.card import Card

EXAMPLE = Path(__file__).parents[2] / "examples" / "mycard"
RING = 0x10_0000


def start_log(card: Card, entries: int) -> None:
    card.memory.map(RING, 64 * entries)
    card.regs.log_base.write(RING)
    card.regs.log_size.write(entries)
    card.regs.control.log = 1


def test_the_ports_are_swapped_and_counted(mycard: Card) -> None:
    for port in (0, 1):
        mycard.source(port, f"gen:size=60-1514,count=500,seed={port + 1}")
        mycard.expect_passthrough(port, 1 - port)
    stats = mycard.run().stats
    assert stats.passthrough_mismatches == 0 and stats.latency_cycles == (1, 1)
    for port in (0, 1):
        assert mycard.regs.port[port].frames.read() == 500
        assert mycard.regs.port[port].bytes.read() == stats.ports[port].rx_bytes


@pytest.mark.parametrize("settings", [{}, {"write_latency_ns": 300}, {"write_latency_ns": 100, "out_of_order": 5}])
def test_the_start_of_each_frame_is_logged_in_the_ring(mycard: Card, settings: dict[str, int]) -> None:
    start_log(mycard, 8)
    mycard.memory.configure(**settings)
    rng = random.Random(1)
    frames = [rng.randbytes(rng.choice([0, 1, 14, 63, 64, 65, 500])) for _ in range(20)]
    mycard.source(0, frames, timing=100e6)
    mycard.run()
    regs = mycard.regs
    assert (regs.log_written.read(), regs.log_dropped.read(), regs.log_failed.read()) == (20, 0, 0)
    starts = [frame[:64].ljust(64, b"\0") for frame in frames]
    ring = [mycard.memory.read(RING + 64 * place, 64) for place in range(8)]
    assert ring == starts[16:20] + starts[12:16]
    irqs = mycard.irqs()
    assert [irq.vector for irq in irqs] == [0] * 20
    assert [irq.time_ns for irq in irqs] == sorted(irq.time_ns for irq in irqs)


def test_both_ports_share_the_log(mycard: Card) -> None:
    start_log(mycard, 64)
    for port in (0, 1):
        mycard.source(port, [bytes([port, n]) * 30 for n in range(20)], timing=1e9)
    mycard.run()
    logged = [mycard.memory.read(RING + 64 * place, 2) for place in range(40)]
    for port in (0, 1):
        assert [n for p, n in logged if p == port] == list(range(20))
    assert [irq.vector for irq in mycard.irqs()] == [p for p, _ in logged]


def test_frames_are_dropped_from_the_log_but_not_from_the_wire(mycard: Card) -> None:
    start_log(mycard, 64)
    mycard.memory.configure(write_latency_ns=2000)
    mycard.source(0, "gen:size=60,count=200")
    mycard.expect_passthrough(0, 1)
    stats = mycard.run().stats
    written, dropped = mycard.regs.log_written.read(), mycard.regs.log_dropped.read()
    assert stats.ports[1].tx_frames == 200 and stats.passthrough_mismatches == 0
    assert dropped > 0 and written + dropped == 200


def test_memory_that_is_not_there_is_counted(mycard: Card) -> None:
    mycard.regs.log_base.write(RING)
    mycard.regs.log_size.write(4)
    mycard.regs.control.log = 1
    mycard.source(0, [bytes(60)] * 3, timing=1e9)
    stats = mycard.run().stats
    assert mycard.regs.log_failed.read() == 3 and mycard.regs.log_written.read() == 0
    assert stats.memory.errors == 3 and stats.interrupts == 0


def test_the_session_of_the_manual_runs_from_any_folder(mycard: Card, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, EXAMPLE / "session.py"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert "port 0: 100 frames" in result.stdout
