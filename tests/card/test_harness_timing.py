"""When beats go into a card and frames leave it, against a model in exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest

from headrace.card import Card

HZ = 322_265_625
PACE = 0x04
Open = Callable[..., Card]


def wire_cycles(bytes_: int, rate: float, hz: int = HZ) -> Fraction:
    return Fraction(8 * bytes_ * hz, round(rate))


def beats(lengths: list[int], rate: float, start: int, beat: int = 64) -> list[tuple[int, int]]:
    """Cycles of the first and the last beat of each frame: preamble 8, frame padded to 60, FCS 4, gap 12 bytes."""
    cycles = []
    wire = Fraction(start)
    previous = -1
    for length in lengths:
        count = max(1, -(-length // beat))
        arrivals = [ceil(wire + wire_cycles(8 + (index + 1) * beat, rate)) for index in range(count - 1)]
        arrivals.append(ceil(wire + wire_cycles(8 + max(length, 60) + 4, rate)))
        first = max(arrivals[0], previous + 1)
        for arrival in arrivals:
            previous = max(arrival, previous + 1)
        cycles.append((first, previous))
        wire += wire_cycles(8 + max(length, 60) + 4 + 12, rate)
    return cycles


def first_beats(lengths: list[int], rate: float, start: int, beat: int = 64) -> list[int]:
    return [first for first, _ in beats(lengths, rate, start, beat)]


def times_ns(cycles: list[int], hz: int = HZ) -> list[int]:
    return [floor(Fraction(c * 10**9, hz)) for c in cycles]


def generated(card: Card, spec: str, rate: float, **options: Any) -> tuple[int, list[Any]]:
    """Runs generated frames through ports 0 to 1; gives the cycle at the start and what came out."""
    for port in range(card.ports):
        card.set_rate(port, rate)
    card.source(0, f"gen:{spec}", **options)
    card.sink(1, "memory", timestamps="card")
    start = card.stats().cycles
    card.run()
    return start, card.received(1)


@pytest.mark.parametrize("rate", [100e9, 40e9, 25e9, 10e9, 7e9, 1e9])
@pytest.mark.parametrize("size", ["60", "64", "65", "1514", "9212", "imix", "0-200"])
def test_each_frame_comes_in_when_its_bytes_have_arrived_on_the_wire(loop: Open, rate: float, size: str) -> None:
    card = loop()
    start, frames = generated(card, f"size={size},count=200,seed=3", rate)
    assert len(frames) == 200
    expected = times_ns(first_beats([len(f.data) for f in frames], rate, start))
    assert [f.timestamp_ns for f in frames] == expected


@pytest.mark.parametrize("rate", [100e9, 7e9])
@pytest.mark.parametrize("size", ["65", "1514", "imix"])
def test_the_last_beat_of_a_frame_comes_once_its_fcs_has(loop: Open, rate: float, size: str) -> None:
    card = loop()
    card.set_rate(0, rate)
    card.source(0, f"gen:size={size},count=50")
    card.sink(1, "memory")
    start = card.stats().cycles
    last = [card.run(packets=1).stats.cycles - 1 for _ in range(50)]
    card.run()
    assert last == [cycle for _, cycle in beats([len(f.data) for f in card.received(1)], rate, start)]


@pytest.mark.parametrize("width", [8, 1024])
def test_timing_holds_for_narrow_and_wide_buses(loop: Open, width: int) -> None:
    rate = 2e9
    card = loop({"DATA_W": width, "MEM_W": 512})
    start, frames = generated(card, "size=0-300,count=100", rate)
    expected = times_ns(first_beats([len(f.data) for f in frames], rate, start, width // 8))
    assert [f.timestamp_ns for f in frames] == expected


@pytest.mark.parametrize("hz", [HZ, 333_333_333, 999_999_937])
def test_the_wire_does_not_drift_over_many_frames(loop: Open, hz: int) -> None:
    card = loop(clock_hz=hz)
    start, frames = generated(card, "size=60,count=50000", 50e9)
    last = Fraction(start) + 49_999 * wire_cycles(84, 50e9, hz) + wire_cycles(72, 50e9, hz)
    assert [frames[-1].timestamp_ns] == times_ns([ceil(last)], hz)


def test_a_sender_at_the_receivers_rate_never_underruns_nor_stalls(loop: Open) -> None:
    for size in ("60", "61", "64", "65", "127", "128", "129", "1514", "imix", "60-1514"):
        card = loop()
        for port in (0, 1):
            card.source(port, f"gen:size={size},count=2000,seed=9")
            card.expect_passthrough(port, 1 - port)
        stats = card.run().stats
        assert [p.tx_underruns for p in stats.ports] == [0, 0, 0]
        assert [p.rx_overruns for p in stats.ports] == [0, 0, 0]
        assert stats.passthrough_mismatches == 0
        assert stats.latency_cycles == (1, 1)


def test_a_rate_below_the_lines_spaces_the_frames_out(loop: Open) -> None:
    card = loop()
    start, frames = generated(card, "size=60-1514,count=500,rate=12.5G", 100e9)
    wire = Fraction(start)
    for frame in frames:
        begins = ceil(wire)
        beat = ceil(begins + wire_cycles(8 + (64 if len(frame.data) > 64 else max(len(frame.data), 60) + 4), 100e9))
        assert frame.timestamp_ns == floor(Fraction(beat * 10**9, HZ))
        wire += wire_cycles(max(len(frame.data), 60) + 24, 12.5e9)


def test_a_rate_above_the_lines_is_the_lines(loop: Open) -> None:
    _, fast = generated(loop(), "size=60-1514,count=100,rate=400G", 100e9)
    _, line = generated(loop(), "size=60-1514,count=100", 100e9)
    assert [f.timestamp_ns for f in fast] == [f.timestamp_ns for f in line]


def test_a_card_that_is_not_ready_loses_whole_frames_at_once(loop: Open) -> None:
    """With one ready cycle in two, a frame of one beat gets in only if it is due in such a cycle."""
    card = loop()
    card.write(PACE, 2)
    card.skip_idle(False)  # the card's turns go on while it has no packets
    start, frames = generated(card, "size=60,count=1000", 10e9)
    due = first_beats([60] * 1000, 10e9, start)
    stamps = {f.timestamp_ns for f in frames}
    taken = [c for c in due if times_ns([c])[0] in stamps]
    assert len(taken) == len(frames) == card.stats().ports[0].rx_frames
    assert {c % 2 for c in taken} == {taken[0] % 2}
    assert taken == [c for c in due if c % 2 == taken[0] % 2]
    assert card.stats().ports[0].rx_overruns == 1000 - len(frames)


def test_a_frame_lost_halfway_is_ended_with_an_error(loop: Open, tmp_path: Any) -> None:
    card = loop()
    card.write(PACE, 2)
    card.source(0, [bytes([n]) * (1000 if n % 2 else 60) for n in range(100)])
    card.sink(1, "memory")
    card.sink(1, f"pcap:{tmp_path / 'out.pcap'}")
    stats = card.run().stats
    frames = card.received(1)
    cut = [f for f in frames if f.error]
    whole = [f for f in frames if not f.error]
    assert cut and whole and stats.ports[1].tx_errors == len(cut)
    assert stats.ports[0].rx_frames + stats.ports[0].rx_overruns == 100
    assert stats.ports[0].rx_frames == len(whole)
    for frame in frames:
        assert set(frame.data) == {frame.data[0]} and len(frame.data) <= 1000
    assert all(len(f.data) < 1000 for f in cut)
    assert (tmp_path / "out.pcap").stat().st_size == 24 + sum(16 + len(f.data) for f in whole)


def test_a_frame_whose_second_beat_is_refused_ends_with_that_beat(loop: Open) -> None:
    """A beat of 64 bytes takes 165 cycles at 1 Gb/s."""
    card = loop()
    card.set_rate(0, 1e9)
    card.source(0, [bytes(1000), bytes(1000)])
    card.sink(1, "memory")
    card.run(until=None, cycles=250)
    card.write(PACE, 0)
    card.run(until=None, cycles=250)
    assert card.stats().ports[0].rx_overruns == 1
    card.write(PACE, 1)
    card.run()
    assert [(len(frame.data), frame.error) for frame in card.received(1)] == [(128, True), (1000, False)]


@pytest.mark.parametrize("pace", [2, 3, 7])
def test_flow_control_loses_nothing_and_counts_the_time_held(loop: Open, pace: int) -> None:
    card = loop()
    card.write(PACE, pace)
    card.flow_control(0, True)
    start, frames = generated(card, "size=60,count=1000", 100e9)
    port = card.stats().ports[0]
    assert (port.rx_frames, port.rx_overruns) == (1000, 0)
    ideal = first_beats([60] * 1000, 100e9, start)[-1]
    last = ceil(Fraction(frames[-1].timestamp_ns * HZ, 10**9))
    assert abs(last - ideal - port.rx_held_cycles) <= pace
    assert port.rx_held_ns == pytest.approx(port.rx_held_cycles * 1e9 / HZ)


def test_a_bus_slower_than_the_wire_loses_frames_without_flow_control_and_holds_with_it(loop: Open) -> None:
    """8 bits at 322 MHz carry 2.6 Gb/s of a 10 Gb/s line."""
    for flow_control in (False, True):
        card = loop({"DATA_W": 8, "MEM_W": 512})
        card.flow_control(0, flow_control)
        generated(card, "size=500,count=200", 10e9)
        port = card.stats().ports[0]
        assert port.rx_frames + port.rx_overruns == 200
        assert (port.rx_overruns == 0) == flow_control
        assert (port.rx_held_cycles > 0) == flow_control


def test_a_bus_may_lag_behind_by_1538_byte_times(loop: Open) -> None:
    """A byte a cycle: a frame is taken if its first one comes no later than that behind its arrival."""
    taken, free = [], 0
    for n in range(200):
        arrived = ceil(n * wire_cycles(84, 10e9) + wire_cycles(9, 10e9))
        if free - arrived <= ceil(wire_cycles(1538, 10e9)):
            taken.append(n)
            free = max(free, arrived) + 60
    card = loop({"DATA_W": 8, "MEM_W": 512})
    card.set_rate(0, 10e9)
    card.source(0, [bytes([n]) * 60 for n in range(200)])
    card.sink(1, "memory")
    card.run()
    assert [frame.data[0] for frame in card.received(1)] == taken


def test_a_bus_that_lags_behind_hides_no_stall(loop: Open) -> None:
    """The second frame comes 365 cycles later than its bytes; 1,538 byte times are 396."""
    card = loop({"DATA_W": 8, "MEM_W": 512})
    card.set_rate(0, 10e9)
    card.source(0, "gen:size=500,count=2")
    card.run(until=None, cycles=520)
    assert (card.stats().ports[0].rx_frames, card.stats().ports[0].rx_overruns) == (1, 0)
    card.write(PACE, 0)
    card.write(PACE, 1)
    port = card.run().stats.ports[0]
    assert (port.rx_frames, port.rx_overruns) == (1, 1)


def test_beats_that_come_too_late_for_the_wire_are_underruns(loop: Open) -> None:
    card = loop()
    card.write(PACE, 5)
    card.flow_control(0, True)
    card.source(0, [bytes(1000)])
    stats = card.run().stats
    assert stats.ports[1].tx_underruns == 15, "of 16 beats: all but the first"
    assert stats.ports[1].tx_frames == 1


def test_after_an_underrun_the_wire_waits_and_later_beats_are_in_time(loop: Open) -> None:
    card = loop()
    card.write(PACE, 100)
    card.flow_control(0, True)
    card.source(0, [bytes(9000)])
    card.run(cycles=350)  # three or four beats, each far too late for the one before
    card.write(PACE, 1)
    stats = card.run().stats
    assert stats.ports[1].tx_frames == 1
    assert 2 <= stats.ports[1].tx_underruns <= 4


def test_a_sender_holds_back_a_card_at_its_own_rate(mycard: Card) -> None:
    """10 Gb/s out of port 1 limit what comes in at 100 Gb/s at port 0, once the MAC's FIFO of 2 kB is full."""
    mycard.set_rate(1, 10e9)
    mycard.flow_control(0, True)
    mycard.source(0, "gen:size=1514,count=100")
    mycard.expect_passthrough(0, 1)
    start = mycard.stats().cycles
    stats = mycard.run().stats
    assert stats.ports[1].tx_frames == 100 and stats.passthrough_mismatches == 0
    assert stats.ports[1].tx_underruns == 0
    on_the_wire = 100 * wire_cycles(1514 + 24, 10e9)
    assert 0 <= stats.cycles - start - on_the_wire < 30
    assert stats.ports[0].rx_held_ns == pytest.approx(float(on_the_wire) * 1e9 / HZ * 0.9, rel=0.02)


def test_without_patience_for_a_slow_sender_the_protocol_is_broken(loop: Open) -> None:
    card = loop()
    card.set_rate(1, 1e9)
    card.source(0, "gen:size=1514,count=100")
    with pytest.raises(Exception, match=r"port 1: tx_tvalid went before tx_tready took the beat"):
        card.run()


def test_a_cable_carries_frames_from_port_to_port(mycard: Card) -> None:
    """Port 0 to port 1 through the card, by cable back into port 1, and out of port 0."""
    mycard.source(0, "gen:size=imix,count=300")
    mycard.source(1, "port:1")
    mycard.sink(1, "memory")
    mycard.sink(0, "memory")
    stats = mycard.run().stats
    there, back = mycard.received(1), mycard.received(0)
    assert [f.data for f in back] == [f.data for f in there] and len(back) == 300
    assert stats.ports[1].rx_overruns == 0 and stats.ports[1].rx_frames == 300


def test_a_cable_passes_a_hold_off_on_to_the_sender(mycard: Card) -> None:
    mycard.set_rate(0, 1e9)
    mycard.flow_control(0, True)
    mycard.flow_control(1, True)
    mycard.source(1, "port:1")
    for port in (0, 1):
        mycard.sink(port, "memory")
    mycard.source(0, "gen:size=1000,count=200")
    stats = mycard.run().stats
    assert stats.ports[0].tx_frames == 200
    assert stats.ports[0].rx_overruns == stats.ports[1].rx_overruns == 0
