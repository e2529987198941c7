"""The bridge card in RTL with its driver: every packet once, in order, byte for byte, whatever happens meanwhile."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headrace.card import Card
from headrace.cards.bridge.blocks import Crc32, Generic, with_crc
from headrace.cards.bridge.card import driver_of, open_bridge_card
from headrace.cards.bridge.chain import Chain, Ingress, ProtocolGraph
from headrace.cards.bridge.driver import HOST_BUFFERS, BridgeDriver
from headrace.cards.bridge.formats import Address, Header, Packet
from headrace.cards.bridge.host import PROFILES, Host
from headrace.cards.bridge.moves import move
from headrace.cards.bridge.tables import PORTS, SOFTWARE, slot_address
from headrace.registers.compile import load_map

TO_SOFTWARE = Header(SOFTWARE, 1, 2)


def frames(count: int, seed: int = 1, least: int = 1, most: int = 1510) -> list[bytes]:
    """Of random sizes, each with a CRC-32 at its end (and 1 to 3 bytes long ones without)."""
    rng = random.Random(seed)
    return [with_crc(rng.randbytes(rng.randint(least, most))) for _ in range(count)]


class Bench:
    """A card that has just been reset, its driver, and all that software gets."""

    def __init__(self, card: Card, profile: str = "pcie") -> None:
        self.card = card
        self.driver = driver_of(card)
        self.driver.start()
        self.got: list[bytes] = []
        self.host = Host(card, self.driver, PROFILES[profile], self.take)
        self.frames: list[bytes] = []

    def take(self, packets: list[Packet], _time_ns: int) -> None:
        self.got.extend(packet.payload for packet in packets)

    def everything_to_software(self, port: int = 0, header: Header = TO_SOFTWARE) -> None:
        self.driver.setup_port(port)
        self.driver.classify(port, 0, 0, 0, header)

    def offer(self, frames: list[bytes], port: int = 0, rate: str | float = "line", hold: bool = False) -> None:
        self.card.flow_control(port, hold)
        self.card.source(port, frames, timing=rate)

    def finish(self) -> None:
        """Until nothing moves any more; the last batch needs no timeout."""
        self.host.run()
        self.driver.h2s.flush()
        self.driver.s2h.flush()
        self.host.run()
        assert self.driver.counters().missing() == 0, self.driver.counters().balance()


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with open_bridge_card(getattr(request, "param", None), progress=False) as card:
        yield Bench(card)


# Hardware to software


def test_every_size_comes_to_software(bench: Bench) -> None:
    bench.everything_to_software()
    wanted = [random.Random(size).randbytes(size) for size in range(1, 1515)]
    bench.offer(wanted)
    bench.finish()
    assert bench.got == wanted
    assert bench.driver.counters().dropped == {}


@pytest.mark.parametrize("stalls", [0, 7])
def test_settings_change_in_mid_traffic(bench: Bench, stalls: int) -> None:
    bench.card.memory.configure(write_latency_ns=1000, read_latency_ns=1000, stalls=stalls)
    bench.everything_to_software()
    bench.driver.setup_port(0, flow_control=True)
    bench.driver.h2s.configure(wait_for_room=True)
    wanted = frames(1200, seed=2)
    bench.offer(wanted, hold=True)
    rng = random.Random(stalls)
    changes = 0
    while len(bench.got) < 1000:
        bench.driver.h2s.configure(
            buffer_bytes=rng.randint(2048, 65536),
            timeout_ns=rng.choice((0, 2_000, 50_000)),
            single=rng.random() < 0.2,
            adaptive=rng.random() < 0.2,
        )
        bench.host.run(seconds=rng.choice((1e-6, 1e-5, 5e-5)))
        changes += 1
    bench.finish()
    assert bench.got == wanted and changes > 20
    assert bench.driver.counters().dropped == {}


def test_flow_control_of_the_card_alone_loses_what_the_mac_does_not_wait_with(bench: Bench) -> None:
    bench.driver.h2s.configure(buffer_bytes=16384, wait_for_room=True)
    bench.everything_to_software()
    bench.driver.setup_port(0, flow_control=True)
    wanted = frames(500, seed=4, least=1000)
    bench.offer(wanted)
    bench.card.run(until=None, seconds=1e-3)
    bench.finish()
    stats = bench.card.stats().ports[0]
    assert stats.rx_overruns > 0 and stats.rx_frames + stats.rx_overruns == len(wanted)
    assert bench.driver.counters().dropped == {} and len(bench.got) == stats.rx_frames
    rest = iter(wanted)
    assert all(frame in rest for frame in bench.got), "frames are changed, or in another order"


@pytest.mark.parametrize("seed", range(8))
def test_no_value_of_a_register_stops_the_card(bench: Bench, seed: int) -> None:
    """Whatever is written while frames come: the card goes on, and counts them."""
    rng, count = random.Random(seed), 500
    registers = [(at, node.width) for _, at, node in load_map(bench.card.description.registers).walk() if node.writable]
    for port in range(2):
        bench.everything_to_software(port)
        bench.card.source(port, frames(count, seed + port), timing="line")
    for _ in range(300):
        at, width = rng.choice(registers)
        value = rng.choice((0, 1, 2, 3, rng.getrandbits(width), (1 << width) - 1))
        for word in range(max(1, width // 32)):
            bench.card.write(at + 4 * word, value >> 32 * word & 0xFFFF_FFFF)
        bench.card.run(until=None, cycles=rng.choice((1, 10, 1000)))
    bench.card.run(until=None, cycles=150_000)
    for group, port in zip(bench.card.regs.port, bench.card.stats().ports, strict=False):
        assert port.rx_frames + port.rx_overruns == count
        assert group.frames.read() == port.rx_frames


def test_software_that_never_reads_stops_no_flow_of_hardware(bench: Bench) -> None:
    """Beside each other at switch 1: slot 0 sends to software, which waits for room without end, and is never read;
    slot 2 is in a chain from port 1 to port 1, over the same link to switch 0."""
    driver, count = bench.driver, 500
    driver.h2s.configure(wait_for_room=True)
    for port, slot, target in ((0, 0, TO_SOFTWARE), (1, 2, Header(PORTS[1], 1, 4))):
        driver.setup_port(port)
        driver.setup_slot(slot)
        driver.classify(port, 0, 0, 0, Header(slot_address(slot), 1, 2))
        driver.route(slot, 0, 2, target)
        bench.offer(frames(count, seed=port, least=1000), port)
    bench.card.run(until=None, seconds=1e-3)
    counters = driver.counters()
    assert counters.ports[1].sent == counters.ports[1].frames == count, "not at the rate of the line"
    assert counters.slots[0].overflow > 0 and counters.h2s.no_room == 0, "software's way was never full"
    bench.finish()
    assert len(bench.got) == count - driver.counters().slots[0].overflow


def test_software_that_never_reads_stops_what_shares_its_port_for_the_limit_at_most(bench: Bench) -> None:
    driver, count, limit_ns = bench.driver, 600, 50_000
    driver.h2s.configure(wait_for_room=True, wait_limit_ns=limit_ns)
    driver.setup_port(0, flow_control=True, key_offset=0)
    driver.classify(0, 0, 0, 1 << 24, TO_SOFTWARE)
    driver.classify(0, 1, 0, 0, Header(PORTS[1], 1, 4))
    mixed = [bytes([n & 1]) + random.Random(n).randbytes(1399) for n in range(2 * count)]
    bench.offer(mixed, hold=True)
    bench.card.run(until=None, seconds=2 * count * 1424 * 8 / 10e9 + 2 * limit_ns / 1e9)
    counters = driver.counters()
    assert counters.ports[0].frames == 2 * count and counters.ports[1].sent == count
    assert counters.h2s.no_room > 0
    bench.finish()
    assert bench.got == mixed[::2][: count - counters.h2s.no_room]


def test_critical_packets_go_on_while_nobody_reads_the_batches(bench: Bench) -> None:
    """Port 0 fills H2S to the brim; software takes only what comes by the express lane, from port 1."""
    driver, count = bench.driver, 300
    driver.h2s.configure(buffer_bytes=16384, wait_for_room=True, express=True)
    driver.setup_port(0, flow_control=True)
    driver.classify(0, 0, 0, 0, TO_SOFTWARE)
    bench.everything_to_software(1, TO_SOFTWARE._replace(critical=True))
    bench.offer(frames(500, seed=1, least=1000), 0, hold=True)
    bench.card.run(until=None, seconds=0.6e-3)
    before = driver.counters()
    assert 0 < before.h2s.packets < before.ports[0].frames < 500, "the ways to software are not full"
    urgent, came = frames(count, seed=2, most=400), []
    bench.offer(urgent, 1, rate=1e9)
    for _ in range(2000):
        if len(came) == count:
            break
        bench.card.run(until=None, seconds=1e-6)
        while (batch := driver.h2s.take("express")) is not None:
            came.extend(packet.payload for packet in batch.packets)
            driver.h2s.release(batch)
    assert came == urgent
    assert driver.counters().h2s.packets == before.h2s.packets + count
    bench.finish()
    assert driver.counters().dropped == {} and len(bench.got) == 500


def test_posts_for_which_there_is_no_place_are_counted(bench: Bench) -> None:
    """S2H is not enabled, so that nothing is fetched; H2S has the driver's buffers already."""
    registers, posts = bench.card.regs, 40
    registers.s2h.control.set(enable=0)
    for tag in range(posts):
        registers.s2h.post.set(words=1, tag=tag % 16)
        registers.h2s.post.set(words=1024, tag=tag % 16, express=0)
        registers.h2s.post.set(words=1024, tag=tag % 16, express=1)
    counters = bench.driver.counters()
    assert counters.s2h.posts_lost == posts - 16
    assert counters.h2s.posts_lost == 2 * (posts - 16 + HOST_BUFFERS)
    assert len(counters.complaints) == 2


def test_latency_critical_packets_overtake(bench: Bench) -> None:
    bench.everything_to_software()
    bench.everything_to_software(1, TO_SOFTWARE._replace(critical=True, source=9))
    bench.driver.h2s.configure(express=True)
    lanes: dict[int, list[tuple[bytes, int]]] = {1: [], 9: []}
    host = Host(
        bench.card,
        bench.driver,
        PROFILES["pcie"],
        lambda packets, now: [lanes[p.header.source].append((p.payload, now)) for p in packets] and None,
    )
    bench.host = host
    bulk, critical = frames(1000, most=1500), frames(20, seed=3, most=56)
    begin = bench.driver.clock()
    bench.offer(bulk)
    bench.offer(critical, 1)
    bench.finish()
    assert [data for data, _ in lanes[1]] == bulk
    assert [data for data, _ in lanes[9]] == critical
    assert max(now for _, now in lanes[9]) - begin < 50_000 < max(now for _, now in lanes[1]) - begin


def test_software_that_stops_reading_costs_packets_not_the_card(bench: Bench) -> None:
    bench.everything_to_software()
    wanted = frames(700, least=1000)
    bench.offer(wanted)
    bench.card.run(until=None, seconds=1e-3)  # nobody takes anything
    bench.finish()
    counters = bench.driver.counters()
    assert counters.h2s.no_room > 0 and len(bench.got) == 700 - counters.h2s.no_room
    assert counters.dropped == {"h2s no room": counters.h2s.no_room}
    left = iter(wanted)
    assert all(data in left for data in bench.got)  # whole, and in order


def test_software_that_stops_reading_holds_the_link_if_it_should(bench: Bench) -> None:
    bench.everything_to_software()
    bench.driver.setup_port(0, flow_control=True)
    bench.driver.h2s.configure(buffer_bytes=16384, wait_for_room=True)
    wanted = frames(400, least=1000)
    bench.offer(wanted, hold=True)
    bench.card.run(until=None, seconds=0.5e-3)
    assert bench.driver.counters().ports[0].held > 0
    bench.finish()
    assert bench.got == wanted


def test_memory_that_cannot_be_written_costs_its_batches(bench: Bench) -> None:
    bench.everything_to_software()
    buffer = bench.driver.h2s._buffers["bulk", 1]
    bench.card.memory.unmap(buffer.address)
    wanted = frames(500, least=900)
    bench.offer(wanted, rate=1e9)
    bench.finish()
    assert set(bench.host.errors) == {"the card could not write into the host buffer"}
    assert len(bench.got) == 500 - bench.driver.counters().dropped["h2s write errors"] < 500


# Software to hardware


def to_port(data: list[bytes], port: int = 1) -> list[Packet]:
    return [Packet(payload, Header(PORTS[port], 5, 6, egress=True)) for payload in data]


def test_every_size_goes_to_hardware(bench: Bench) -> None:
    bench.card.sink(1, "memory")
    wanted = [random.Random(size).randbytes(size) for size in range(1, 1515)]
    bench.driver.s2h.configure(buffer_bytes=4096)
    bench.driver.s2h.send(to_port(wanted))
    bench.finish()
    assert [frame.data for frame in bench.card.received(1)] == wanted
    assert (bench.driver.s2h.packets, bench.driver.s2h.errors) == (1514, [])


def test_buffers_that_lie_cost_themselves(bench: Bench) -> None:
    bench.card.sink(1, "memory")
    sender = bench.driver.s2h
    good = frames(10, seed=4)
    rng = random.Random(5)
    for number in range(10):
        sender.send(to_port(good[number : number + 1]))
        sender.flush()
        packed = sender._closed[-1][0]
        sender.send(to_port([b"bad"]))
        sender.flush()
        lie = rng.choice((0, 1515, 0xFFFF, 200))  # a length that is not true
        sender._closed[-1] = [struct.pack("<H", lie) + packed[2:12] + bytes(4)]
    bench.finish()
    assert [frame.data for frame in bench.card.received(1)] == good
    assert sender.errors == ["a buffer is malformed: 0 of 1 packets were sent"] * 10
    assert bench.driver.counters().s2h.malformed == 10


def test_memory_that_cannot_be_read_costs_its_buffer(bench: Bench) -> None:
    bench.card.sink(1, "memory")
    sender = bench.driver.s2h
    sender.configure(single=True)
    bench.card.memory.unmap(sender._buffers[1][0])
    sender._buffers[1] = (sender._buffers[1][0], memoryview(bytearray(65536)))
    wanted = frames(4)
    sender.send(to_port(wanted))
    bench.finish()
    assert sender.errors == ["a buffer could not be read: 0 of 1 packets were sent"]
    assert [frame.data for frame in bench.card.received(1)] == [wanted[0], *wanted[2:]]


def test_packets_for_nobody_are_counted_and_dropped(bench: Bench) -> None:
    graph = ProtocolGraph(bench.driver)
    bench.host = Host(bench.card, bench.driver, graph=graph)
    bench.everything_to_software()
    bench.driver.setup_slot(0)  # its table is empty
    bench.driver.s2h.send([Packet(b"a", Header(Address(7, 1))), Packet(b"b", Header(Address(1, 0), 1, 2))])
    bench.offer(frames(5))
    bench.finish()
    counters = bench.driver.counters()
    assert counters.no_block == 1 and counters.slots[0].unknown == 1 and graph.unknown == 5
    assert counters.dropped == {"no block": 1, "slot 0 unknown": 1}
    assert replace(counters, entered=counters.entered + 1).missing() == 2, "what is missing here and too much there"


# Chains


def chain_of(bench: Bench, profile: str, **options: Any) -> Chain:
    bench.driver.setup_port(0, flow_control=True)
    bench.driver.h2s.configure(wait_for_room=True)
    graph = ProtocolGraph(bench.driver)
    bench.host = Host(bench.card, bench.driver, PROFILES[profile], graph=graph)
    bench.card.sink(1, "memory")
    blocks = [("first", Generic(packet_ns=20)), ("check", Crc32()), ("last", Generic(10, 64))]
    return graph.add_chain("forward", blocks, Ingress(0), **options)


@pytest.mark.parametrize("software", [(), ("check",), ("first", "last"), ("first", "check", "last")])
def test_a_chain_does_the_same_wherever_its_blocks_are(bench: Bench, software: tuple[str, ...]) -> None:
    chain = chain_of(bench, "pcie", egress=1)
    for name in software:
        bench.host.move(name, "sw")
    good = frames(300, seed=6)
    mixed = [*good[:200], *(b"\1" + frame for frame in good[:10]), *good[200:]]
    bench.offer(mixed, rate=2e9, hold=True)
    bench.finish()
    assert [frame.data for frame in bench.card.received(1)] == good
    counters = bench.driver.counters()
    assert counters.slots[1].refused + chain.blocks[1].software.counters.refused == 10


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("egress", [1, None])
def test_moves_in_mid_traffic_lose_and_reorder_nothing(bench: Bench, seed: int, egress: int | None) -> None:
    rng = random.Random(seed)
    chain = chain_of(
        bench,
        rng.choice(("none", "pcie")),
        egress=egress,
        received=lambda packets, _: bench.got.extend(packet.payload for packet in packets),
    )
    assert bench.host.graph is not None
    bench.card.memory.configure(write_latency_ns=1000, read_latency_ns=1000, stalls=seed)
    bench.driver.h2s.configure(timeout_ns=rng.choice((5_000, 20_000)), buffer_bytes=rng.choice((4096, 65536)))
    bench.driver.s2h.configure(timeout_ns=5_000)
    count = (300, 500, 500)[seed]
    wanted = frames(count, seed)
    bench.offer(wanted, rate=(1e9, 3e9, 5e9)[seed], hold=True)
    reports = []
    while bench.driver.counters().ports[0].frames < 0.9 * count:
        bench.host.run(seconds=rng.choice((0, 2e-6, 2e-5)))
        block = rng.choice(chain.blocks)
        side = "sw" if block.side == "hw" else "hw"
        if rng.random() < 0.5:
            reports.append(bench.host.move(block.name, side))  # type: ignore[arg-type]
        else:
            reports.append(move(bench.host.graph, block.name, side))  # type: ignore[arg-type]
    bench.finish()
    out = bench.got if egress is None else [frame.data for frame in bench.card.received(1)]
    assert bench.driver.counters().dropped == {} and sum(report.dropped for report in reports) == 0
    assert len(reports) > 5 and {report.block for report in reports} == {"first", "check", "last"}
    assert out == wanted


def test_what_finds_no_room_while_a_block_moves_is_told_and_the_rest_keeps_its_order(bench: Bench) -> None:
    """A host that takes so long for a message lets more come meanwhile than the store of 32 KB holds."""
    chain_of(bench, "embednet", egress=1)
    bench.host.move("check", "sw")
    wanted = frames(150, seed=7, least=500)
    bench.offer(wanted, rate=5e9, hold=True)
    report = bench.host.move("check", "hw")
    bench.finish()
    counters = bench.driver.counters()
    assert report.dropped == counters.slots[1].overflow > 0
    came, rest = [frame.data for frame in bench.card.received(1)], iter(wanted)
    assert all(data in rest for data in came), "frames are changed, or in another order"
    assert len(came) == len(wanted) - report.dropped


def test_a_driver_sees_the_geometry(bench: Bench) -> None:
    assert isinstance(bench.driver, BridgeDriver)
    assert (bench.driver.slots, bench.driver.kinds, bench.driver.max_packet) == (4, (0, 1, 0, 1), 1514)
