"""The host's side of a card: registers, memory, interrupts, and how runs end."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from loop_card import (
    ADDRESS,
    BASE,
    COUNT,
    DECERR,
    FAR,
    FIXED,
    GO,
    OKAY,
    PACE,
    READ,
    RESERVED,
    SHAPE,
    SILENT,
    SLVERR,
    SUMS,
    TROUBLE,
    WRAP,
    WRITE,
    bursts,
)

from headrace.card import BusError, Card, CardError, HangError, ModelError, ProtocolError
from headrace.card.packet_memory import PacketMemory

LOOP = Path(__file__).parent / "cards" / "loop"
Open = Callable[..., Card]


# Registers


def test_registers_are_written_and_read(loop: Open) -> None:
    card = loop()
    card.write(COUNT, 0x80000000)
    first, second = card.read(COUNT), card.read(COUNT)
    assert 0x80000000 < first < second < 0x80000020


def test_many_writes_arrive_in_order(loop: Open) -> None:
    card = loop()
    card.write_many([(ADDRESS, n) for n in range(1000)] + [(COUNT, 7)])
    assert 7 <= card.read(COUNT) < 20


def test_a_refused_access_names_the_register_and_the_card_goes_on(loop: Open) -> None:
    card = loop()
    with pytest.raises(BusError, match="the card refuses the read of register 0x0ffc"):
        card.read(0xFFC)
    with pytest.raises(BusError, match="the card refuses the write to register 0x0800"):
        card.write_many([(COUNT, 0), (0x800, 1), (COUNT, 0)])
    card.write(COUNT, 5)
    assert card.read(COUNT) < 20


@pytest.mark.parametrize("address", [-4, 2, 0x100000])
def test_addresses_outside_of_the_bus_are_refused(loop: Open, address: int) -> None:
    with pytest.raises(BusError, match="must be a multiple of 4 below 0x100000"):
        loop().read(address)


def test_registers_lie_beyond_64_kb_where_the_bus_has_more_address_bits(loop: Open) -> None:
    card = loop()
    card.write(0x80000, 0x12345678)
    assert card.read(0x80000) == 0x12345678
    with pytest.raises(BusError, match="refuses the read of register 0x90000"):
        card.read(0x90000)


def test_an_access_that_is_never_answered_ends(loop: Open) -> None:
    card = loop()
    before = card.stats().cycles
    with pytest.raises(BusError, match="the card does not answer the read of register 0x0f00"):
        card.read(SILENT)
    assert 10_000 < card.stats().cycles - before < 10_010
    with pytest.raises(BusError, match="the card does not answer the write to register 0x0f00"):
        card.write(SILENT, 1)
    card.write(COUNT, 7)
    assert card.read(COUNT) < 20


def test_registers_are_reached_in_the_middle_of_traffic(loop: Open) -> None:
    card = loop()
    card.source(0, "gen:size=60-1514,count=2000")
    card.expect_passthrough(0, 1)
    accesses = came = 0
    while card.run(cycles=500).reason == "cycles":
        before = card.stats()
        card.write(FAR, accesses)
        assert card.read(FAR) == accesses
        accesses += 1
        after = card.stats()
        assert after.cycles > before.cycles
        came += after.ports[0].rx_frames - before.ports[0].rx_frames
    stats = card.stats()
    assert accesses > 20 and stats.ports[1].tx_frames == 2000 and stats.passthrough_mismatches == 0
    assert came > 0, "while the registers were reached"
    assert stats.ports[0].rx_overruns == 0


# Host memory


def test_the_card_writes_and_reads_host_memory(loop: Open) -> None:
    card = loop()
    card.memory.map(BASE, 1 << 16)
    assert bursts(card, WRITE, count=4) == [(n, OKAY) for n in range(4)]
    for burst in range(4):
        words = b"".join(beat.to_bytes(4, "little") + burst.to_bytes(4, "little") for beat in range(8))
        assert card.memory.read(BASE + 4096 * burst, 72) == words + bytes(8)
    card.memory.write(BASE + 4096, (1000).to_bytes(4, "little"))
    assert bursts(card, READ, count=4) == [(n, OKAY) for n in range(4)]
    assert [card.read(SUMS + 4 * n) for n in range(4)] == [28, 1028, 28, 28]
    memory = card.stats().memory
    assert (memory.read_bursts, memory.write_bursts, memory.errors) == (4, 4, 0)
    assert (memory.read_bytes, memory.write_bytes) == (256, 256)


def test_a_view_of_host_memory_is_the_memory_itself(loop: Open) -> None:
    card = loop()
    card.memory.map(BASE, 4096)
    view = card.memory.view(BASE, 64)
    bursts(card, WRITE, length=2)
    assert bytes(view[8:12]) == (1).to_bytes(4, "little")
    view[0] = 99
    assert card.memory.read(BASE, 1) == b"\x63"


def test_ranges_may_be_huge_and_at_the_end_of_the_address_space(loop: Open) -> None:
    card = loop()
    card.memory.map(0x1000, 1 << 40)
    card.memory.map((1 << 64) - (1 << 20), 1 << 20)
    card.memory.write((1 << 64) - 4, b"last")
    assert bursts(card, READ, address=(1 << 64) - 64) == [(0, OKAY)]
    assert card.memory.read(1 << 39, 4) == bytes(4)


def test_wrong_ranges_are_refused(loop: Open) -> None:
    card = loop()
    card.memory.map(0x1000, 0x1000)
    for address, size in [(0x1FFF, 1), (0, 0x1001), (0x1800, 0x10), (0, 1 << 20)]:
        with pytest.raises(CardError, match="overlaps the one at 0x1000"):
            card.memory.map(address, size)
    with pytest.raises(CardError, match="no range of 0 bytes"):
        card.memory.map(0, 0)
    with pytest.raises(IndexError, match="8 bytes at 0x1ffc are not within one mapped range"):
        card.memory.read(0x1FFC, 8)
    card.memory.unmap(0x1000)
    with pytest.raises(CardError, match="no range begins at 0x1000"):
        card.memory.unmap(0x1000)


def test_unmapped_and_read_only_memory_answer_with_errors(loop: Open) -> None:
    card = loop()
    card.memory.map(BASE, 4096)
    card.memory.map(BASE + 4096, 4096, read_only=True)
    assert bursts(card, WRITE, count=3) == [(0, OKAY), (1, SLVERR), (2, DECERR)]
    assert bursts(card, READ, count=3) == [(0, OKAY), (1, OKAY), (2, DECERR)]
    assert card.memory.read(BASE + 4096, 64) == bytes(64)
    assert card.stats().memory.errors == 3


def test_data_of_a_failed_read_are_noise_and_the_same_in_each_run(loop: Open) -> None:
    """Neither zeros nor what the bus had before: a card that takes them shows it."""
    sums = []
    for _ in range(2):
        card = loop()
        card.memory.map(BASE, 4096)
        card.memory.write(BASE, b"\x01" * 4096)
        found = []
        for address in (BASE, BASE + 8192, BASE + 8192, BASE + 16384):
            (result,) = bursts(card, READ, address=address, id_mask=0)
            assert result == (0, OKAY if address == BASE else DECERR)
            found.append(card.read(SUMS))
        sums.append(found)
    assert sums[0] == sums[1]
    first, *noise = sums[0]
    assert len({first, 0, *noise}) == 5


def test_latency_is_that_of_the_memory(loop: Open) -> None:
    def cycles(**settings: int) -> int:
        card = loop()
        card.memory.map(BASE, 4096)
        card.memory.configure(**settings)
        card.skip_idle(False)
        bursts(card, WRITE, length=1)
        bursts(card, READ, length=1)
        write, read = (irq.time_ns for irq in card.irqs())
        return read - write

    def span(kind: int, **settings: int) -> int:
        card = loop()
        card.memory.map(BASE, 4096)
        card.memory.configure(**settings)
        start = card.stats().time_ns
        bursts(card, kind, length=1)
        return card.irqs()[0].time_ns - start

    for kind, name in ((READ, "read_latency_ns"), (WRITE, "write_latency_ns")):
        base = span(kind)
        assert base < 80
        assert span(kind, **{name: 1000}) - base == pytest.approx(1000, abs=4)
        other = "write_latency_ns" if kind == READ else "read_latency_ns"
        assert span(kind, **{other: 1000}) == base
    assert cycles() < 400


def test_bandwidth_limits_the_beats(loop: Open) -> None:
    """64 bursts of 256 beats of 8 bytes at 1 Gb/s."""
    for kind, name in ((READ, "read_bits_per_s"), (WRITE, "write_bits_per_s")):
        card = loop()
        card.memory.map(BASE, 1 << 20)
        card.memory.configure(**{name: 1e9})
        start = card.stats().time_ns
        bursts(card, kind, count=16, length=256)
        taken = card.irqs()[0].time_ns - start
        assert taken == pytest.approx(16 * 256 * 64, rel=0.01)


def test_outstanding_bursts_are_limited(loop: Open) -> None:
    """With 1 us of latency, time is what the limit makes of it."""
    for kind, name in ((READ, "reads"), (WRITE, "writes")):
        taken = {}
        for limit in (1, 4, 16):
            card = loop()
            card.memory.map(BASE, 1 << 20)
            card.memory.configure(read_latency_ns=1000, write_latency_ns=1000, **{name: limit})
            start = card.stats().time_ns
            bursts(card, kind, count=16, length=1)
            taken[limit] = card.irqs()[0].time_ns - start
        assert taken[1] == pytest.approx(16_000, rel=0.05)
        assert taken[4] == pytest.approx(4_000, rel=0.08)
        assert taken[16] == pytest.approx(1_000, rel=0.2)


def test_bursts_complete_out_of_order_between_ids_only(loop: Open) -> None:
    for kind in (READ, WRITE):
        orders = set()
        for seed in range(1, 6):
            card = loop()
            card.memory.map(BASE, 1 << 20)
            card.memory.configure(read_latency_ns=500, write_latency_ns=500, out_of_order=seed)
            for n in range(16):
                card.memory.write(BASE + 4096 * n, n.to_bytes(4, "little"))
            ids = [identifier for identifier, response in bursts(card, kind, count=16, length=1)]
            assert sorted(ids) == list(range(16))
            if kind == READ:
                assert [card.read(SUMS + 4 * n) for n in range(16)] == list(range(16))
            orders.add(tuple(ids))
            assert [i for i, _ in bursts(card, kind, count=16, length=1, id_mask=0)] == [0] * 16
        assert len(orders) == 5
        assert tuple(range(16)) not in orders


@pytest.mark.parametrize("kind", [READ, WRITE])
def test_bursts_of_one_id_complete_in_their_order(loop: Open, kind: int) -> None:
    """Only every third place is mapped, so that the answers tell which burst they belong to."""
    for id_mask in (0, 3):
        card = loop()
        for n in range(0, 16, 3):
            card.memory.map(BASE + 4096 * n, 4096)
        card.memory.configure(read_latency_ns=300, write_latency_ns=300, out_of_order=3)
        results = bursts(card, kind, count=16, length=4, id_mask=id_mask)
        for identifier in range(id_mask + 1):
            expected = [OKAY if n % 3 == 0 else DECERR for n in range(16) if n & id_mask == identifier]
            assert [response for i, response in results if i == identifier] == expected
        if id_mask:
            assert [i for i, _ in results] != [0, 1, 2, 3] * 4


@pytest.mark.parametrize("width", [64, 512])
def test_narrow_unaligned_wrapping_and_fixed_bursts(loop: Open, width: int) -> None:
    parameters = {"MEM_W": width} if width == 64 else {"DATA_W": 8, "MEM_W": 512}
    card = loop(parameters)
    card.memory.map(BASE, 4096)

    def fill() -> None:
        card.memory.write(BASE, bytes(n % 251 + 1 for n in range(4096)))

    # Bytes from an unaligned address on: the first beat is shorter.
    fill()
    before = card.memory.read(BASE, 64)
    bursts(card, WRITE, address=BASE + 3, length=3, size=2)
    after = card.memory.read(BASE, 64)
    changed = [n for n in range(64) if before[n] != after[n]]
    assert changed and min(changed) >= 3 and max(changed) < 12
    assert after[:3] == before[:3] and after[12:] == before[12:]

    # A wrapping read covers its window once, from the middle on.
    card.memory.write(BASE, b"".join(n.to_bytes(8, "little") for n in range(512)))
    bursts(card, READ, address=BASE + 16, length=4, size=3, burst=WRAP)
    lane_0 = [n for n in (2, 3, 0, 1) if (n * 8) % (width // 8) == 0]
    if width == 64:
        assert card.read(SUMS) == sum(lane_0) == 6

    # A fixed burst stays where it is.
    fill()
    before = card.memory.read(BASE, 256)
    bursts(card, WRITE, address=BASE + 64, length=4, size=3, burst=FIXED)
    after = card.memory.read(BASE, 256)
    assert {n for n in range(256) if before[n] != after[n]} <= set(range(64, 72))
    if width == 64:
        assert after[64:68] == (3).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"address": BASE + 4096 - 32, "length": 8}, "crosses a 4 KB boundary"),
        ({"size": 4}, "has beats wider than the bus"),
        ({"burst": RESERVED}, "has a reserved burst type"),
        ({"burst": WRAP, "length": 3}, "is WRAP and not 2, 4, 8 or 16 beats long"),
        ({"burst": WRAP, "length": 4, "address": BASE + 4}, "is WRAP and not aligned"),
        ({"burst": FIXED, "length": 17}, "is FIXED and longer than 16 beats"),
    ],
)
@pytest.mark.parametrize("kind", [READ, WRITE])
def test_a_burst_against_the_protocol_ends_the_run(
    loop: Open, kind: int, settings: dict[str, int], message: str
) -> None:
    card = loop()
    card.memory.map(BASE, 1 << 20)
    word = "read" if kind == READ else "write"
    with pytest.raises(ProtocolError, match=rf"^m_axi: a {word} burst of \d+ beats of \d+ bytes at 0x\w+ .*{message}"):
        bursts(card, kind, **settings)
    with pytest.raises(ProtocolError, match=message):  # the model can't go on
        card.run()


@pytest.mark.parametrize(
    ("trouble", "kind", "message"),
    [
        (32, WRITE, "has wlast before its last beat"),
        (64, WRITE, "has strobes outside its address"),
        (128, READ, "a read burst .* changed or went before it was taken"),
        (128, WRITE, "a write burst .* changed or went before it was taken"),
        (256, WRITE, "write data changed or went before it was taken"),
    ],
)
def test_beats_and_addresses_against_the_protocol_end_the_run(
    loop: Open, trouble: int, kind: int, message: str
) -> None:
    card = loop()
    card.memory.map(BASE, 1 << 20)
    card.memory.configure(reads=1, writes=1, read_latency_ns=500, write_latency_ns=500, write_waits=10)
    card.write(TROUBLE, trouble)
    with pytest.raises(ProtocolError, match=f"^m_axi: .*{message}"):
        bursts(card, kind, count=2, size=2)


# Interrupts


def test_interrupts_are_collected_with_function_vector_and_time(loop: Open) -> None:
    card = loop()
    card.memory.map(BASE, 4096)
    bursts(card, READ)
    bursts(card, READ)
    first, second = card.irqs()
    assert (first.function, first.vector) == (3, 7)
    assert first.time_ns < second.time_ns <= card.stats().time_ns
    assert card.irqs() == [] and card.stats().interrupts == 2


def test_interrupts_wait_while_the_host_takes_none(loop: Open) -> None:
    card = loop()
    card.memory.map(BASE, 4096)
    card.take_irqs(False)
    shape = 0x0001_1300
    card.write_many([(ADDRESS, BASE & 0xFFFFFFFF), (ADDRESS + 4, BASE >> 32), (SHAPE, shape), (GO, READ)])
    assert card.run(cycles=1000).reason == "cycles"
    assert card.irqs() == []
    card.take_irqs(True)
    assert card.run().idle and len(card.irqs()) == 1


def test_a_run_can_stop_at_an_interrupt(loop: Open) -> None:
    card = loop()
    card.memory.map(BASE, 1 << 16)
    card.source(0, "gen:count=1000,size=60")
    card.write_many([(ADDRESS, BASE & 0xFFFFFFFF), (ADDRESS + 4, BASE >> 32), (SHAPE, 7 | 3 << 8 | 1 << 12 | 1 << 16)])
    card.write(GO, READ)
    assert card.run(until="interrupt").reason == "interrupt"
    assert card.stats().ports[0].rx_frames < 1000
    assert card.run(until="interrupt").reason == "interrupt"  # it still waits to be taken
    assert len(card.irqs()) == 1
    assert card.run(until="interrupt").idle
    assert card.stats().ports[0].rx_frames == 1000


def test_a_source_can_be_ended_between_two_frames(loop: Open) -> None:
    card = loop()
    card.source(0, "gen:size=1514")
    card.sink(1, "memory")
    before = card.run(cycles=1000).stats.ports[0].rx_frames
    card.end_source(0)
    assert card.run().idle
    frames = card.received(1)
    assert len(frames) == card.stats().ports[0].rx_frames == before + 1 > 5
    assert all(len(frame.data) == 1514 and not frame.error for frame in frames)
    with pytest.raises(CardError, match="no port 3"):
        card.end_source(3)


def test_a_source_that_is_ended_before_the_first_run_gives_nothing(loop: Open) -> None:
    card = loop()
    card.source(0, "gen:count=5")
    card.source(1, "gen:count=5")
    card.sink(1, "memory")
    card.end_source(0)
    assert card.run().idle
    assert card.received(1) == [] and card.stats().ports[1].rx_frames == 5


# Runs


def test_skipping_idle_time_changes_no_result(loop: Open, tmp_path: Path) -> None:
    outcomes = []
    for skip in (True, False):
        card = loop()
        card.skip_idle(skip)
        card.memory.map(BASE, 4096)
        card.set_rate(0, 1e9)
        card.source(0, "gen:size=60-600,count=300,rate=50M")
        card.source(1, "gen:size=60-600,count=100,rate=10M,seed=4")
        for port in range(3):
            card.sink(port, "memory", timestamps="card")
        stats = card.run().stats
        assert (stats.skipped_cycles > 0) == skip
        outcomes.append((stats.cycles, stats.time_ns, stats.ports, [card.received(p) for p in range(3)]))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] > 1_000_000


def test_an_idle_card_waits_for_a_limit_of_time(loop: Open) -> None:
    card = loop()
    before = card.stats()
    result = card.run(until=None, seconds=2.5)
    assert result.reason == "cycles"
    assert result.stats.card_s - before.card_s == pytest.approx(2.5)
    assert result.stats.time_ns - before.time_ns == pytest.approx(2.5e9, abs=4)
    assert result.stats.evaluated_cycles - before.evaluated_cycles < 20


def test_a_run_ends_at_its_limits_and_goes_on_later(loop: Open) -> None:
    card = loop()
    card.source(0, "gen:size=60,count=1000")
    assert card.run(cycles=100).stats.cycles == 100
    assert card.run(packets=10).reason == "packets"
    taken = card.stats().ports[0].rx_frames
    assert card.run(packets=123).stats.ports[0].rx_frames == taken + 123
    assert card.run(wall_s=10).idle
    assert card.stats().ports[1].tx_frames == 1000


def test_an_endless_source_runs_until_the_wall_time_is_over(loop: Open) -> None:
    card = loop()
    card.source(0, "gen:size=60")
    seen: list[int] = []
    result = card.run(wall_s=0.3, progress=lambda stats: seen.append(stats.ports[0].rx_frames))
    assert result.reason == "wall" and not result.idle
    assert len(seen) >= 4 and seen == sorted(seen)
    assert 0.25 < result.stats.wall_s < 1


def test_time_passes_until_the_last_frame_has_left_on_the_wire(loop: Open) -> None:
    card = loop()
    card.set_rate(1, 1e6)
    card.send(0, [bytes(60)])
    stats = card.run().stats
    assert stats.card_s == pytest.approx(84 * 8 / 1e6, rel=0.01)


def test_a_card_that_stays_busy_without_doing_anything_hangs(loop: Open) -> None:
    card = loop()
    card.hang_limit(20e-6)
    card.write(TROUBLE, 1)
    with pytest.raises(
        HangError, match=r"^the card hangs: busy for \d+ us at cycle \d+ and nothing moves on its ports$"
    ):
        card.run()
    card.write(TROUBLE, 0)
    assert card.run().idle


def test_a_card_hangs_after_5_ms_unless_told_otherwise(loop: Open) -> None:
    card = loop()
    card.write(TROUBLE, 1)
    with pytest.raises(HangError, match=r"busy for 5\d{3} us"):
        card.run()


def test_a_hang_is_noticed_over_many_slices_of_wall_time(loop: Open) -> None:
    card = loop()
    card.hang_limit(0.01)
    card.write(TROUBLE, 1)
    slices: list[int] = []
    with pytest.raises(HangError, match=r"busy for 10\d{3} us"):
        card.run(progress=lambda stats: slices.append(stats.cycles))
    assert len(slices) > 2


def test_a_card_that_never_takes_a_held_frame_hangs(loop: Open) -> None:
    card = loop()
    card.hang_limit(20e-6)
    card.flow_control(0, True)
    card.write(PACE, 0)
    card.send(0, [bytes(60)])
    with pytest.raises(HangError):
        card.run()


def test_waiting_for_a_packet_is_no_hang(loop: Open) -> None:
    card = loop()
    card.hang_limit(20e-6)
    card.write(TROUBLE, 1)
    card.source(0, "gen:size=60,count=3,rate=1M")
    with pytest.raises(HangError):
        card.run()
    assert card.stats().ports[0].rx_frames == 3


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (2, "port 1: tx_tkeep has a hole"),
        (4, "port 1: tx_tvalid went before"),
        (16, "port 1: tx_tkeep is not all ones on a beat that is not a frame's last"),
    ],
)
def test_a_stream_against_the_protocol_ends_the_run(loop: Open, trouble: int, message: str) -> None:
    card = loop()
    card.set_rate(1, 1e9)
    card.write(TROUBLE, trouble)
    card.source(0, "gen:size=1514,count=50")
    with pytest.raises(ProtocolError, match=message):
        card.run()
    with pytest.raises(ProtocolError):
        card.read(COUNT)
    assert card.stats().ports[0].rx_frames >= 0


def test_a_frame_without_end_ends_the_run_and_not_the_memory(loop: Open) -> None:
    card = loop()
    card.sink(1, "memory")
    card.send(0, [bytes(262_144)])
    card.run()
    assert [len(frame.data) for frame in card.received(1)] == [262_144]
    card.write(TROUBLE, 16)
    card.source(0, "gen:size=64")
    with pytest.raises(ProtocolError, match=r"port 1: a frame of more than 262144 bytes: tx_tlast doesn't come"):
        card.run()
    with pytest.raises(ProtocolError, match="a frame of more than"):
        card.write(COUNT, 0)


def test_a_card_that_can_not_go_on_gives_what_it_has_and_refuses_the_rest(loop: Open, tmp_path: Path) -> None:
    card = loop()
    card.memory.map(BASE, 1 << 16)
    bursts(card, READ)
    card.console("memory")
    card.sink(1, "memory")
    card.send(0, [bytes(60)])
    card.run()
    card.write(TROUBLE, 2)
    card.send(0, [bytes(60)])
    event = os.eventfd(0)
    actions: list[Callable[[], object]] = [
        card.run,
        lambda: card.read(COUNT),
        lambda: card.write(COUNT, 0),
        lambda: card.source(0, "null"),
        lambda: card.sink(0, "null"),
        lambda: card.send(0, [bytes(60)]),
        lambda: card.end_source(0),
        lambda: card.console_write(b"x"),
        lambda: card.bind_interrupt(0, 0, event),
        lambda: card.bind_doorbell(event, COUNT, 0),
        lambda: card.memory.map(0, 4096),
        lambda: PacketMemory(card, "gen:count=1", 0x1000, 4096),
        lambda: card.set_time(0),
    ]
    for action in actions:
        with pytest.raises(ProtocolError, match="tx_tkeep has a hole"):
            action()
    os.close(event)
    assert len(card.received(1)) == len(card.irqs()) == 1
    assert card.console_read() == b"" and card.memory.read(BASE, 1) == b"\0"
    assert card.stats().ports[1].tx_frames == 1


def test_a_run_that_is_too_long_for_the_clock_is_refused(loop: Open) -> None:
    card = loop()
    for cycles in (2**62 + 1, 2**63, 2**64 - 1):
        with pytest.raises(CardError, match=r"a run ends before cycle 2\^62"):
            card.run(until=None, cycles=cycles)
    assert card.run(until=None, cycles=2**61).stats.cycles == 2**61


def test_a_card_that_two_threads_use_at_once_refuses_one_of_them(loop: Open) -> None:
    card = loop()
    card.skip_idle(False)
    refused: list[str] = []

    def runs() -> None:
        while not refused:
            try:
                card.run(until=None, cycles=1_000_000)
            except CardError as error:
                refused.append(str(error))

    thread = threading.Thread(target=runs)
    thread.start()
    while not refused:
        try:
            card.read(COUNT)
        except CardError as error:
            refused.append(str(error))
    thread.join()
    assert set(refused) == {"the card is used by another thread at the same time"}
    assert card.run(cycles=10).stats.cycles > 0


NO_MEMORY = """
import resource, sys
from headrace.card import Card, ModelError
with Card.open(sys.argv[1], progress=False) as card:
    card.sink(1, "memory")
    card.sink(1, "pcap:" + sys.argv[2], packets=100)
    card.source(0, "gen:size=9000,count=100")
    card.run()
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), limits[1]))
    card.source(0, "gen:size=9000")
    for attempt in range(2):
        try:
            card.run()
        except ModelError as error:
            resource.setrlimit(resource.RLIMIT_AS, limits)
            print(error)
    card.close_files()
    print(card.stats().ports[1].tx_frames > 100)
"""


def test_a_card_whose_harness_failed_is_broken_and_its_files_are_whole(tmp_path: Path) -> None:
    """The harness runs out of memory in the middle of a cycle."""
    file = tmp_path / "out.pcap"
    script = [sys.executable, "-c", NO_MEMORY, str(LOOP), str(file)]
    result = subprocess.run(script, capture_output=True, text=True, check=False)
    assert result.stdout.splitlines() == ["the harness failed: std::bad_alloc"] * 2 + ["True"], result.stderr
    assert file.stat().st_size == 24 + 100 * (16 + 9000)


def test_fatal_in_the_model_is_an_error_and_not_the_end_of_the_process(
    loop: Open, capfd: pytest.CaptureFixture[str]
) -> None:
    card = loop()
    with pytest.raises(ModelError, match=r"the model stopped: .*loop_card\.sv:\d+"):
        card.write(TROUBLE, 8)
    said = capfd.readouterr()
    assert "trouble is near" in said.err and "trouble was asked for" in said.err and said.out == ""
    with pytest.raises(ModelError):
        card.run()


@pytest.mark.parametrize(
    ("trouble", "what"), [(512, r"\$stop or"), (1024, r"\$finish"), (2048, "or a failed assertion")]
)
def test_a_model_that_stops_itself_is_an_error(loop: Open, trouble: int, what: str) -> None:
    with pytest.raises(ModelError, match=rf"the model stopped: .*{what}.*loop_card\.sv:\d+"):
        loop().write(TROUBLE, trouble)


def test_passthrough_notices_frames_that_are_missing_or_were_never_sent(loop: Open) -> None:
    card = loop()
    card.expect_passthrough(0, 2)
    card.expect_passthrough(1, 2)
    card.expect_passthrough(0, 0)
    card.send(0, [bytes(60), bytes(70)])
    stats = card.run().stats
    right, unsent, missing = stats.passthrough
    assert (right.frames, right.mismatches, right.waiting, right.latency_cycles) == (2, 0, 0, (1, 1))
    assert (unsent.frames, unsent.mismatches, unsent.latency_cycles) == (0, 2, None)
    assert (missing.frames, missing.waiting) == (0, 2)
    assert stats.passthrough_mismatches == 4


def test_passthrough_notices_a_changed_byte_and_a_changed_length(loop: Open) -> None:
    """What comes out of port 2 came in at port 0, and is compared with what came in at port 1."""
    card = loop()
    card.expect_passthrough(1, 2)
    card.send(0, [b"a" * 60, b"a" * 60, b"a" * 60])
    card.send(1, [b"a" * 60, b"a" * 59 + b"b", b"a" * 61])
    (check,) = card.run().stats.passthrough
    assert (check.frames, check.mismatches, check.waiting) == (1, 2, 0)


def test_frames_from_python_carry_wire_length_and_bad_fcs(loop: Open) -> None:
    from headrace.card import Frame

    card = loop()
    card.sink(1, "memory")
    card.send(0, [b"a" * 60, b""], wire_lens=[100, None])
    card.send(0, [Frame(b"b" * 60, error=True)])
    card.run()
    frames = card.received(1)
    assert [(f.data, f.wire_len, f.error) for f in frames] == [
        (b"a" * 60, 100, False),
        (b"", 0, False),
        (b"b" * 60, 60, True),
    ]
    card.send(0, [b"again" * 12])
    card.run()
    assert [f.data for f in card.received(1)] == [b"again" * 12]


def test_a_port_has_one_source_at_a_time(loop: Open) -> None:
    card = loop()
    card.source(0, "gen:count=1000")
    card.run(cycles=100)
    with pytest.raises(CardError, match="port 0 has another source"):
        card.send(0, [bytes(60)])
    with pytest.raises(CardError, match="port 0 still has frames to receive"):
        card.source(0, "gen:count=1")
    card.run()
    card.source(0, [bytes(60)])
    card.run()
    assert card.stats().ports[0].rx_frames == 1001


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda card: card.source(3, "null"), "no port 3: the card has 3"),
        (lambda card: card.sink(0, "memory", select=66), "the card has 66 bits of its own beside a frame"),
        (lambda card: card.sink(0, "memory", length_at=35), "the card has 66 bits of its own beside a frame"),
        (lambda card: card.sink(0, "memory", timestamps="hart"), "timestamps 'hart': must be one of recorded, card"),
        (lambda card: card.sink(0, "memory", format="pcapn"), "did you mean pcapng?"),
        (lambda card: card.sink(0, "pcap"), "No such file or directory"),
        (
            lambda card: card.source(0, "gen:", timing="slow"),
            "timing 'slow': must be line, recorded or bits per second",
        ),
        (lambda card: card.source(0, "gen:", timing=0), "rate is at least 1 bit per second"),
        (lambda card: card.set_rate(0, 0), "at least 1 bit per second"),
        (lambda card: card.received(0), "port 0 has no memory sink"),
        (lambda card: card.run(until=None), "needs a limit"),
        (lambda card: card.run(wall_s=math.nan), "run: out of range: nan is no number"),
        (lambda card: card.regs, "card loop has no register description"),
    ],
)
def test_wrong_arguments_are_refused(loop: Open, action: Callable[[Card], object], message: str) -> None:
    with pytest.raises(CardError, match=message):
        action(loop())


@pytest.mark.parametrize("clock_hz", [0, 2_000_000_000])
def test_a_clock_of_more_than_1_ghz_is_refused(loop: Open, clock_hz: int) -> None:
    with pytest.raises(CardError, match="between 1 Hz and 1 GHz"):
        loop(clock_hz=clock_hz)


def test_a_closed_card_says_so(loop: Open) -> None:
    card = loop()
    card.close()
    card.close()
    with pytest.raises(CardError, match="the card is closed"):
        card.run()


def test_the_clock_can_be_chosen_and_the_time_set(loop: Open) -> None:
    card = loop(clock_hz=250_000_000)
    card.set_time(10**18)
    stats = card.run(until=None, cycles=1000).stats
    assert (stats.clock_hz, stats.time_ns) == (250_000_000, 10**18 + 4000)


def test_cards_live_beside_each_other(loop: Open, mycard: Card) -> None:
    cards = [loop(), loop(), mycard]
    for n, card in enumerate(cards):
        card.source(0, f"gen:count={10 * (n + 1)}")
    for card in cards:
        card.run()
    assert [c.stats().ports[1].tx_frames for c in cards] == [10, 20, 30]


def test_a_trace_holds_the_signals(loop: Open, tmp_path: Path) -> None:
    trace = tmp_path / "loop.fst"
    card = loop(trace=trace)
    card.source(0, "gen:count=100,rate=1M")
    result = card.run()
    assert result.idle and result.stats.skipped_cycles > 0
    card.close()
    content = trace.read_bytes()
    assert content[0] == 0  # an FST header block (its length is 329)
    assert int.from_bytes(content[1:9], "big") == 329
    assert int.from_bytes(content[17:25], "big") == pytest.approx(result.stats.time_ns * 1000, abs=10**6)  # its end
    assert len(content) > 10_000


def test_a_trace_that_can_not_be_written_is_an_error(loop: Open, tmp_path: Path) -> None:
    with pytest.raises(CardError, match=r"absent/loop\.fst"):
        loop(trace=tmp_path / "absent" / "loop.fst")
