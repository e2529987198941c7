"""The driver of the capture engine on the real card: registers, host memory and interrupts are all that it uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from oracle import Packet, make_capture, random_packets

from headrace.card import Card
from headrace.card.packet_memory import Packets
from headrace.card.records import RecordWriter
from headrace.cards.capture.driver import DATA, ERROR, CaptureDriver, CaptureSettings
from headrace.cards.capture.run import driver_of, filter_driver_of, open_capture_card
from headrace.engines.filter import Slot
from headrace.errors import HeadraceError
from headrace.net import bpf

LOT = 0x2_0000_0000  # where the packets lie
NOWHERE = 0x9_0000_0000
EVERYTHING = bpf.compile("")


@pytest.fixture(scope="module")
def opened() -> Iterator[Card]:
    with open_capture_card(cores=2, progress=False) as card:
        card.memory.map(LOT, 1 << 24)
        yield card


class Bench:
    """The card, its driver, and how many packets of each kind there were before this test."""

    def __init__(self, card: Card) -> None:
        self.card = card
        card.irqs()
        self.driver = driver_of(card)
        self.filter = filter_driver_of(card)
        self.filter.load({0: Slot(EVERYTHING)})
        self.before = self.driver.counters()
        self.filtered = self.rejected()

    def rejected(self) -> int:
        counters = self.filter.counters()
        return counters.inspected - counters.accepted - sum(port.bad for port in counters.ingress)

    def counted(self, what: str) -> int:
        """Of a counter, or of all ports' counters of that name: what this test added."""
        now = self.driver.counters()
        if hasattr(now, what):
            return int(getattr(now, what) - getattr(self.before, what))
        pairs = zip(now.ports, self.before.ports, strict=True)
        return sum(getattr(port, what) - getattr(old, what) for port, old in pairs)

    def missing(self) -> int:
        now = self.driver.counters()
        return now.missing(self.rejected()) - self.before.missing(self.filtered)

    def post(self, packets: list[Packet], times: bool = True) -> int:
        """Puts packets into host memory and posts as many as the driver takes."""
        count = self.driver.post(lay_out(self.card, packets), times)
        self.driver.doorbell()
        return count

    def records(self, path: Path) -> bytes:
        """What waits in the ring, as a pcap file."""
        writer = RecordWriter(self.card, f"pcap:{path}", precision="nano", snapshot=262144)
        start, end = self.driver.available()
        writer.write(self.driver.ring, start, end)
        writer.close()
        self.driver.release(end)
        return path.read_bytes()


def lay_out(card: Card, packets: list[Packet]) -> Packets:
    """One packet behind the other, so that they begin at every alignment."""
    lot, address = Packets(len(packets)), LOT
    for number, packet in enumerate(packets):
        lot.address[number], lot.timestamp_ns[number] = address, packet.time_ns
        lot.length[number], lot.wire_length[number] = len(packet.data), packet.wirelen
        address += len(packet.data)
    card.memory.write(LOT, b"".join(p.data for p in packets))
    return lot


@pytest.fixture
def bench(opened: Card) -> Bench:
    return Bench(opened)


def pcap(path: Path, packets: list[Packet]) -> bytes:
    return make_capture(path, packets, nanosecond=True).read_bytes()


@pytest.fixture
def packets() -> list[Packet]:
    return random_packets(seed=21, count=60)


# Packets of host memory


def test_packets_become_the_records_of_a_pcap_file(bench: Bench, packets: list[Packet], tmp_path: Path) -> None:
    bench.driver.setup(CaptureSettings())
    assert bench.post(packets) == len(packets)
    assert bench.card.run().idle
    assert bench.driver.packets_read() == len(packets)
    assert bench.records(tmp_path / "out") == pcap(tmp_path / "expected", packets)
    assert (bench.counted("records"), bench.counted("memory_packets"), bench.missing()) == (60, 60, 0)
    assert bench.counted("record_bytes") == sum(16 + len(p.data) for p in packets)


def test_posting_goes_round_the_descriptor_ring_and_the_record_ring(
    bench: Bench, packets: list[Packet], tmp_path: Path
) -> None:
    bench.driver.setup(CaptureSettings(ring_bytes=1 << 15, descriptor_slots=16, wait_for_room=True))
    assert bench.driver.room() == 8
    bodies = []
    rest = packets
    while rest:
        count = bench.post(rest)
        assert count == min(8, len(rest))
        bench.card.run(cycles=200_000)
        done = 0
        while done < count:
            bodies.append(bench.records(tmp_path / "out")[24:])
            bench.card.run(cycles=20_000)
            done += bench.driver.packets_read()
        bodies.append(bench.records(tmp_path / "out")[24:])
        rest = rest[count:]
    assert b"".join(bodies) == pcap(tmp_path / "expected", packets)[24:]
    assert bench.card.regs.capture.wraps.read() >= 1
    assert bench.missing() == 0


def test_packets_without_times_are_stamped_by_the_card(bench: Bench, packets: list[Packet], tmp_path: Path) -> None:
    bench.driver.setup(CaptureSettings(descriptor_slots=64))
    begin = bench.card.stats().time_ns
    assert bench.driver.room(times=False) == 64
    assert bench.post(packets, times=False) == len(packets)
    bench.card.run()
    data = bench.records(tmp_path / "out")[24:]
    times = []
    for packet in packets:
        seconds, fraction, length, wire_length = np.frombuffer(data[:16], "<u4")
        times.append(int(seconds) * 10**9 + int(fraction))
        assert (length, wire_length, data[16 : 16 + length]) == (len(packet.data), packet.wirelen, packet.data)
        data = data[16 + length :]
    assert begin <= times[0] and times == sorted(times) and times[-1] <= bench.card.stats().time_ns


def test_a_packet_is_cut_to_the_snaplen(bench: Bench, packets: list[Packet], tmp_path: Path) -> None:
    bench.driver.setup(CaptureSettings(snaplen=60))
    bench.post(packets)
    bench.card.run()
    cut = [Packet(p.data[:60], p.wirelen, p.time_ns) for p in packets]
    assert bench.records(tmp_path / "out") == pcap(tmp_path / "expected", cut)


def test_a_bad_address_is_counted_and_costs_no_other_packet(
    bench: Bench, packets: list[Packet], tmp_path: Path
) -> None:
    bench.driver.setup(CaptureSettings())
    lot = lay_out(bench.card, packets)
    for number in (3, 17):
        lot.address[number], lot.length[number] = NOWHERE, 100
    bench.driver.post(lot)
    bench.driver.doorbell()
    assert bench.card.run().idle
    assert bench.driver.packets_read() == len(packets)
    good = [p for number, p in enumerate(packets) if number not in (3, 17)]
    assert bench.records(tmp_path / "out") == pcap(tmp_path / "expected", good)
    assert (bench.counted("read_errors"), bench.driver.errors(), bench.missing()) == (2, [], 0)


def test_descriptors_that_cannot_be_read_are_an_error_until_the_next_setup(bench: Bench, packets: list[Packet]) -> None:
    bench.driver.setup(CaptureSettings())
    bench.card.regs.capture.descriptor_base.write(NOWHERE)
    bench.post(packets)
    assert bench.card.run().idle
    assert bench.driver.pending() == {ERROR}
    assert bench.driver.errors() == ["the card could not read its descriptors in host memory: it takes no more"]
    assert bench.missing() == 0
    bench.driver.setup(CaptureSettings())
    bench.post(packets)
    bench.card.run()
    assert (bench.driver.errors(), bench.counted("records")) == ([], len(packets))


# Frames of the wire


def test_frames_of_both_ports_and_packets_of_memory_share_the_ring(bench: Bench, packets: list[Packet]) -> None:
    bench.driver.setup(CaptureSettings(wait_for_room=True, flow_control=True))
    for port in (0, 1):
        bench.card.flow_control(port, True)
        bench.card.source(port, f"gen:count=50,size=60-1514,seed={port + 1}")
    bench.post(packets)
    assert bench.card.run().idle
    assert (bench.counted("frames"), bench.counted("memory_packets")) == (100, 60)
    assert (bench.counted("records"), bench.missing()) == (160, 0)


def test_flow_control_of_the_card_alone_loses_what_the_mac_does_not_wait_with(bench: Bench) -> None:
    bench.driver.setup(CaptureSettings(ring_bytes=1 << 12, wait_for_room=True, flow_control=True))
    bench.card.flow_control(0, False)
    bench.card.source(0, "gen:count=1000,size=60-1514")
    before = bench.card.stats().ports[0]
    bench.card.run(until=None, seconds=2e-4)
    after = bench.card.stats().ports[0]
    lost = after.rx_overruns - before.rx_overruns
    assert lost > 0 and (after.rx_frames - before.rx_frames) + lost == 1000
    bench.driver.stop()
    assert (bench.counted("frames"), bench.counted("overflow"), bench.missing()) == (1000 - lost, 0, 0)


def test_frames_that_come_while_the_engine_is_stopped_are_counted(bench: Bench) -> None:
    bench.driver.setup(CaptureSettings())
    bench.driver.stop()
    bench.card.source(0, "gen:count=5,size=100")
    assert bench.card.run().idle
    assert (bench.counted("disabled"), bench.counted("records"), bench.missing()) == (5, 0, 0)
    bench.driver.start()
    bench.card.source(0, "gen:count=5,size=100")
    bench.card.run()
    assert (bench.counted("disabled"), bench.counted("records"), bench.missing()) == (5, 5, 0)


LOOP = bpf.Program((bpf.Instruction(0x05, 0, 0, 0xFFFF_FFFF), bpf.Instruction(0x06, 0, 0, 100)))


def test_an_engine_that_is_stopped_is_waited_for_as_long_as_its_filters_work(
    bench: Bench, packets: list[Packet]
) -> None:
    bench.filter.load({0: Slot(LOOP)})
    bench.driver.setup(CaptureSettings())
    bench.post(packets * 3)
    while bench.driver.counters().memory_packets < bench.before.memory_packets + 120:
        bench.card.run(until=None, cycles=1000)
    bench.driver.stop()
    assert bench.counted("memory_packets") >= 120
    assert (bench.counted("records"), bench.missing()) == (0, 0)


def test_only_what_the_filter_matches_is_recorded(bench: Bench, packets: list[Packet], tmp_path: Path) -> None:
    bench.filter.load({0: Slot(bpf.compile("tcp", 70)), 3: Slot(bpf.compile("tcp or udp", 80))})
    bench.driver.setup(CaptureSettings())
    bench.post(packets)
    bench.card.run()
    lengths = [
        bpf.run_many(bpf.compile(expression, snaplen), ((p.data, p.wirelen) for p in packets))
        for expression, snaplen in (("tcp", 70), ("tcp or udp", 80))
    ]
    kept = [(p, max(pair)) for p, pair in zip(packets, zip(*lengths, strict=True), strict=True) if max(pair)]
    wanted = [Packet(p.data[:length], p.wirelen, p.time_ns) for p, length in kept]
    assert 0 < len(wanted) < len(packets)
    assert bench.records(tmp_path / "out") == pcap(tmp_path / "expected", wanted)
    assert (bench.counted("records"), bench.missing()) == (len(wanted), 0)


LONGEST = (65_535, 65_536, 65_549, 65_600)


def test_frames_of_up_to_65600_bytes_are_recorded_whole_and_longer_ones_counted(bench: Bench, tmp_path: Path) -> None:
    choose = np.random.default_rng(1)
    frames = [choose.bytes(size) for size in (*LONGEST, 65_601, 60, 131_071, 65_600)]
    capture = make_capture(tmp_path / "in", [Packet(data, len(data), 10**18) for data in frames])
    packets = [Packet(data, len(data), 10**18) for data in frames if len(data) <= 65_600]
    bench.driver.setup(CaptureSettings(wait_for_room=True, flow_control=True))
    for port in (0, 1):
        bench.card.flow_control(port, True)
        bench.card.source(port, f"pcap:{capture}")
        assert bench.card.run().idle
        body = bench.records(tmp_path / "out")[24:]
        assert strip_times(body) == strip_times(pcap(tmp_path / "expected", packets)[24:])
    assert (bench.counted("oversize"), bench.counted("records"), bench.missing()) == (4, 12, 0)


def test_of_packets_in_memory_the_first_65600_bytes_are_recorded(bench: Bench, tmp_path: Path) -> None:
    choose = np.random.default_rng(2)
    packets = [Packet(choose.bytes(size), size, 10**18) for size in (*LONGEST, 65_601, 131_072, 60)]
    bench.driver.setup(CaptureSettings())
    bench.post(packets)
    assert bench.card.run().idle
    cut = [Packet(p.data[:65_600], p.wirelen, p.time_ns) for p in packets]
    assert bench.records(tmp_path / "out") == pcap(tmp_path / "expected", cut)
    assert (bench.counted("records"), bench.missing()) == (len(packets), 0)


def strip_times(body: bytes) -> list[tuple[int, bytes]]:
    """The records of a pcap file: length on the wire and data."""
    found = []
    while body:
        length, wire_length = (int(value) for value in np.frombuffer(body[8:16], "<u4"))
        found.append((wire_length, body[16 : 16 + length]))
        body = body[16 + length :]
    return found


# The ring


def test_what_does_not_fit_is_dropped_whole_and_counted(bench: Bench, packets: list[Packet], tmp_path: Path) -> None:
    equal = [Packet(p.data[:60].ljust(60, b"\0"), 60, p.time_ns) for p in packets]
    bench.driver.setup(CaptureSettings(ring_bytes=1 << 10))
    bench.post(equal)
    assert bench.card.run().idle
    fit = (1 << 10) // 76
    assert bench.records(tmp_path / "out") == pcap(tmp_path / "expected", equal[:fit])
    assert (bench.counted("ring_full"), bench.missing()) == (len(packets) - fit, 0)


def test_a_packet_that_is_longer_than_the_ring_is_counted(bench: Bench, tmp_path: Path) -> None:
    packets = [Packet(bytes(length), length, 10**18) for length in (200, 240, 241, 1500, 100)]
    bench.driver.setup(CaptureSettings(ring_bytes=1 << 8, wait_for_room=True))
    bench.post(packets)
    bodies = b""
    for _ in range(10):
        bench.card.run(cycles=5_000)
        bodies += bench.records(tmp_path / "out")[24:]
    assert bodies == pcap(tmp_path / "expected", [packets[n] for n in (0, 1, 4)])[24:]
    assert (bench.counted("too_long"), bench.counted("ring_full"), bench.missing()) == (2, 0, 0)


def test_a_ring_that_cannot_be_written_is_an_error_and_everything_is_accounted_for(
    bench: Bench, packets: list[Packet]
) -> None:
    bench.driver.setup(CaptureSettings(ring_bytes=1 << 16))
    bench.card.regs.capture.ring_base.write(NOWHERE)
    bench.post(packets)
    assert bench.card.run().idle
    assert bench.driver.pending() == {ERROR}
    assert bench.driver.errors() == ["the card could not write into the ring in host memory: packets are dropped"]
    assert bench.driver.available() == (0, 0)
    assert (bench.counted("after_error"), bench.missing()) == (len(packets), 0)


# Interrupts


def test_the_watermark_calls_the_host_once_until_it_is_armed_again(bench: Bench, packets: list[Packet]) -> None:
    equal = [Packet(bytes(84), 84, 10**18)] * 10  # records of 100 bytes
    bench.driver.setup(CaptureSettings(watermark=600))
    bench.post(equal[:5])
    bench.card.run()
    assert bench.driver.pending() == set()
    bench.post(equal)
    assert bench.card.run(until="interrupt").reason == "interrupt"
    assert bench.driver.pending() == {DATA}
    assert 600 <= bench.driver.available()[1] < 1500
    bench.card.run()
    assert bench.driver.pending() == set()
    bench.driver.arm()
    bench.card.run(until="interrupt")
    assert bench.driver.pending() == {DATA}


def test_the_timeout_calls_the_host_for_a_single_record(bench: Bench) -> None:
    bench.driver.setup(CaptureSettings(timeout_ns=2_000))
    bench.post([Packet(bytes(60), 60, 10**18)])
    begin = bench.card.stats().time_ns
    assert bench.card.run(until="interrupt").reason == "interrupt"
    assert 2_000 <= bench.card.stats().time_ns - begin < 4_000
    assert bench.driver.pending() == {DATA}


# What the driver refuses


@pytest.mark.parametrize(
    "settings",
    [
        CaptureSettings(ring_bytes=1000),
        CaptureSettings(ring_bytes=128),
        CaptureSettings(ring_bytes=1 << 32),
        CaptureSettings(descriptor_slots=2),
        CaptureSettings(descriptor_slots=1 << 17),
    ],
)
def test_sizes_are_powers_of_two_within_limits(bench: Bench, settings: CaptureSettings) -> None:
    with pytest.raises(ValueError, match="must be a power of two"):
        bench.driver.setup(settings)


def test_rings_begin_at_multiples_of_their_size(opened: Card) -> None:
    card = opened
    for size in (16, 5000, 1 << 16, 1 << 22):
        address = card.memory.allocate(size)
        assert address % 4096 == address % (1 << (size - 1).bit_length()) == 0
        card.memory.write(address + size - 1, b"x")
    driver = CaptureDriver(card.regs.capture, card.memory, lambda _: 0x1234_5000, list, lambda: None)
    with pytest.raises(ValueError, match="the record ring of 65,536 bytes lies at 0x12345000: no multiple of its size"):
        driver.setup(CaptureSettings(ring_bytes=1 << 16))


def test_memory_for_a_ring_is_allocated_once_for_each_size(opened: Card) -> None:
    card, asked = opened, []

    def allocate(size: int) -> int:
        asked.append(size)
        return card.memory.allocate(size)

    driver = CaptureDriver(card.regs.capture, card.memory, allocate, list, lambda: None)
    for size in (1 << 16, 1 << 16, 1 << 17, 1 << 16):
        driver.setup(CaptureSettings(ring_bytes=size, descriptor_slots=16))
    assert asked == [1 << 16, 16 * 16, 1 << 17]


def test_another_engine_is_refused(opened: Card) -> None:
    engine = SimpleNamespace(fields=lambda: {"magic": 0x4652, "version": 1})
    with pytest.raises(HeadraceError, match="no capture engine of version 1: 0x4652, version 1 is there"):
        CaptureDriver(SimpleNamespace(engine=engine), opened.memory, opened.memory.allocate, list, lambda: None)
