"""The RPU card in the harness: firmware forwards packets of both ports, whatever units do meanwhile."""

from __future__ import annotations

import itertools
import random
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from rpu_fabric.flows import TCP, VECTORS, frame
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from headrace.card import Card
from headrace.cards.rpu import elf, program, tables
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.driver import RpuDriver, SourceCounters
from headrace.errors import HeadraceError

UNITS = 4
SMALL = {"PMEM_KB": 512}
CRC, BLACKLIST = 1, 2
SLOW = str(Path(__file__).parents[2] / "rtl" / "rpu_unit" / "programs" / "bounce.c")  # some 25 cycles a packet


@pytest.fixture
def card() -> Iterator[Card]:
    with open_rpu_card(UNITS, {CRC: "crc", BLACKLIST: "blacklist"}, parameters=SMALL, progress=False) as opened:
        yield opened


def forwarding(card: Card, *names: str, defines: Sequence[str] = ()) -> RpuDriver:
    """The driver of a card whose units run programs, one after the other."""
    driver = driver_of(card)
    for unit in driver.all_units():
        driver.load(elf.read(program.build([names[unit % len(names)]], defines=defines)), [unit])
    driver.boot()
    assert driver.ready()
    return driver


def frames(count: int, most: int = 1514) -> list[bytes]:
    rng = random.Random(1)
    return [rng.randbytes(rng.randint(60, most)) for _ in range(count)]


def test_firmware_forwards_every_packet_of_both_ports(card: Card) -> None:
    driver = forwarding(card, "forwarder")
    given = frames(400), frames(300, 200)
    for port, packets in enumerate(given):
        card.source(port, packets)
        card.sink(port, "memory")
    result = card.run()
    assert result.idle
    for port, packets in enumerate(given):
        assert Counter(frame.data for frame in card.received(1 - port)) == Counter(packets)
    counters = [driver.counters(unit) for unit in driver.all_units()]
    assert sum(unit.rx_packets for unit in counters) == sum(unit.tx_packets for unit in counters) == 700
    assert sum(unit.rx_bytes for unit in counters) == sum(map(len, given[0] + given[1]))
    assert [unit.errors for unit in counters] == [0] * UNITS
    assert all(unit.rx_packets == 175 for unit in counters), "round robin"
    assert all(driver.state(unit).outstanding == 0 for unit in driver.all_units())


@pytest.mark.parametrize("held", [True, False])
def test_with_flow_control_nothing_is_dropped_however_slow_the_firmware_is(card: Card, held: bool) -> None:
    driver = forwarding(card, SLOW)
    driver.set_flow_control(held)
    packets = frames(900, 90)
    for port in range(2):
        card.flow_control(port, held)
        card.source(port, packets)
        card.sink(port, "memory")
    stats = card.run().stats
    dropped = sum(source.dropped for source in driver.source_counters().values())
    assert all(bool(port.rx_held_cycles) == held for port in stats.ports)
    assert (dropped == 0) == held
    out = [frame for port in range(2) for frame in card.received(port)]
    assert len(out) + dropped == 2 * len(packets)
    assert not Counter(frame.data for frame in out) - Counter(packets * 2)


def test_packets_leave_whole_with_the_time_at_which_they_do(card: Card) -> None:
    forwarding(card, "forwarder")
    begin = card.stats().time_ns
    packets = frames(200)
    card.source(0, packets)
    card.sink(1, "memory")
    stats = card.run().stats
    assert stats.ports[1].tx_underruns == 0
    times = [frame.timestamp_ns for frame in card.received(1)]
    assert times == sorted(set(times))
    assert begin < times[0] and times[-1] < stats.time_ns


def flow_packets(count: int, flows: int) -> list[bytes]:
    """UDP packets of some flows; the payload tells the flow and the place in it."""
    rng = random.Random(2)
    places = [0] * flows
    packets = []
    for _ in range(count):
        flow = rng.randrange(flows)
        udp = UDP(sport=1000 + flow, dport=53) / Raw(flow.to_bytes(4, "big") + places[flow].to_bytes(4, "big"))
        packets.append(bytes(Ether(dst="02:00:00:00:00:01") / IP(src="10.0.0.1", dst=f"10.1.0.{flow}") / udp))
        places[flow] += 1
    return packets


def test_flows_keep_their_order_and_move_when_their_unit_is_disabled(card: Card) -> None:
    driver = forwarding(card, SLOW, "forwarder")
    driver.set_policy("flow_hash")
    packets = flow_packets(1500, 40)
    card.source(0, packets, timing=10e9)
    card.sink(1, "memory")
    for unit in (1, 3, 0):
        card.run(packets=300)
        driver.disable([unit])
        before = driver.counters(unit).rx_packets
        driver.drain(unit)
        card.run(packets=100)
        after = driver.counters(unit)
        assert 0 < before <= after.rx_packets <= before + driver.max_slots
        assert after.rx_packets == after.tx_packets
        driver.enable([unit])
    assert card.run().idle
    got = [frame.data for frame in card.received(1)]
    assert Counter(got) == Counter(packets)
    of_flow: dict[bytes, list[bytes]] = {}
    for data in got:
        of_flow.setdefault(data[42:46], []).append(data[46:50])
    assert all(places == sorted(places) for places in of_flow.values())
    assert len(of_flow) == 40


def test_the_key_is_microsofts_until_another_is_set(card: Card) -> None:
    driver = forwarding(card, "forwarder")
    driver.set_prefix(True)
    card.sink(1, "memory")
    to, to_port, source, source_port, _, hashed = VECTORS[0]
    packet = frame(source, to, (source_port, to_port), TCP, payload=bytes(20))
    for expected in (hashed, 0):
        card.source(0, [packet])
        assert card.run().idle
        assert [found.data for found in card.received(1)] == [expected.to_bytes(4, "little") + packet]
        driver.set_key(bytes(40))


def test_a_unit_that_crashes_is_told_and_loaded_anew_while_the_others_go_on(card: Card, tmp_path: Path) -> None:
    crash = tmp_path / "crash.c"
    crash.write_text(
        '#include "core.h"\n'
        "int main(void) { init_slots(4, 0, 4096); while (!in_pkt_ready()); "
        "*(volatile unsigned *)0x00900000 = 1; while (1); }\n"
    )
    driver = forwarding(card, "forwarder")
    driver.load(elf.read(program.build([crash])), [2])
    driver.boot([2])
    assert driver.ready()
    packets = frames(400, 200)
    card.source(0, packets, timing=20e9)
    card.sink(1, "memory")
    card.run(packets=len(packets))
    card.run(until=None, cycles=2000)
    state = driver.state(2)
    assert state.flags >> 17 & 1, "a store to data memory that isn't there"
    assert state.error_address == 0x0090_0000
    assert state.debug_out >> 32 & 0xFF00_0000 == 0xEC00_0000, "the handler tells the exception"
    assert state.outstanding == 4
    assert len(card.received(1)) == len(packets) - 4

    driver.disable([2])
    driver.evict(2)
    driver.load(elf.read(program.build(["forwarder"])), [2])
    assert driver.state(2).outstanding == 0
    driver.boot([2])
    assert driver.ready()
    before = driver.counters(2).tx_packets
    card.source(0, packets)
    assert card.run().idle
    assert len(card.received(1)) == len(packets)
    assert driver.counters(2).tx_packets == before + len(packets) // UNITS


def test_units_send_packets_to_units(card: Card) -> None:
    driver = forwarding(card, "interconnect", defines=[f"UNITS={UNITS}"])
    driver.set_receivers("eth0", [0, 1])
    packets = frames(200, 300)
    card.source(0, packets)
    card.sink(1, "memory")
    assert card.run().idle
    counters = [driver.counters(unit) for unit in driver.all_units()]
    # The program keeps the port in a byte of the source address.
    assert Counter(frame.data for frame in card.received(1)) == Counter(
        data[:11] + b"\0" + data[12:] for data in packets
    )
    assert [(unit.rx_packets, unit.tx_packets) for unit in counters] == [(100, 100)] * UNITS

    driver.disable([2])
    card.source(0, packets[:20])
    assert card.run().idle
    assert len(card.received(1)) == 10
    assert driver.source_counters()["loopback"] == SourceCounters(dropped=0, refused=10)


def test_the_crc_accelerator_lets_right_packets_pass(card: Card) -> None:
    driver = forwarding(card, "crc")
    driver.disable(set(driver.all_units()) - {CRC})
    right = [data + zlib.crc32(data).to_bytes(4, "little") for data in frames(60)]
    wrong = [data + bytes(4) for data in frames(60, 300)]
    mixed = random.Random(3).sample(right + wrong, 120)
    card.source(1, mixed, timing=20e9)  # what one unit can take
    card.sink(0, "memory")
    assert card.run().idle
    assert [frame.data for frame in card.received(0)] == [data for data in mixed if data in set(right)]
    assert driver.state(CRC).debug_out == len(wrong) << 32 | len(right)
    assert driver.state(CRC).outstanding == 0


def test_the_blacklist_accelerator_drops_what_is_in_its_table(card: Card) -> None:
    driver = forwarding(card, "firewall")
    rng = random.Random(4)
    networks = [ip_network((rng.getrandbits(32), length), strict=False) for length in rng.choices(range(8, 33), k=1100)]
    driver.load_table(tables.blacklist_words([str(network) for network in networks]), [BLACKLIST])
    driver.disable(set(driver.all_units()) - {BLACKLIST})
    sources = [rng.choice(networks)[0] if rng.random() < 0.5 else ip_address(rng.getrandbits(32)) for _ in range(150)]
    packets = [
        bytes(Ether() / IP(src=str(source), dst="10.0.0.1") / UDP() / Raw(rng.randbytes(30))) for source in sources
    ]
    card.source(0, packets)
    card.sink(1, "memory")
    assert card.run().idle
    passes = [not any(source in network for network in networks) for source in sources]
    assert [frame.data for frame in card.received(1)] == list(itertools.compress(packets, passes))
    assert driver.state(BLACKLIST).outstanding == 0


def test_the_host_reaches_memories_and_debug_words(card: Card) -> None:
    driver = driver_of(card)
    data = random.Random(5).randbytes(301)
    for address in (0x0200_0000, 0x0080_0100, 0x0100_0040):
        driver.write([0, 3], address, data)
        assert driver.read(3, address, len(data)) == data
        assert driver.read(0, address + 3, 20) == data[3:23]
    with pytest.raises(HeadraceError, match="^there is no unit 4: the card has units 0 to 3$"):
        driver.read(4, 0x0080_0000, 4)
