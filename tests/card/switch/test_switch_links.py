"""Emulated links behind the switch card's ports: what leaves there is delayed, lost, held to a rate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from link_bench import SWITCH_PARAMETERS as PARAMETERS
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap

from headrace.card import Card
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.card import CardHardware, open_switch_card
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.links import SwitchLinks
from headrace.cards.switch.ofctl import add_flow
from headrace.cards.switch.ports import PortInfo
from headrace.cards.switch.run import SwitchJob, run
from headrace.engines.netem import parse_netem
from headrace.errors import HeadraceError

PORTS = PARAMETERS["PORTS"]


@pytest.fixture
def card() -> Iterator[Card]:
    """Whose switch sends what comes by port 1 out of the others."""
    with open_switch_card(parameters=PARAMETERS, progress=False) as made:
        infos = [PortInfo(n + 1, f"port{n + 1}", bytes([2, 0, 0, 0, 0, n]), 10**8) for n in range(PORTS)]
        switch = OpenFlowSwitch(HardwareDatapath(CardHardware(made)), 1, infos, description="links")
        add_flow(switch, "in_port=1,actions=output:2,output:3")
        for port in range(PORTS):
            made.sink(port, "memory")
        yield made


def numbered(count: int, size: int = 100) -> list[bytes]:
    return [bytes(12) + b"\x88\xb5" + n.to_bytes(2, "big") + bytes(size - 16) for n in range(count)]


def test_what_leaves_by_a_port_goes_through_its_link(card: Card) -> None:
    links = SwitchLinks(card)
    links.set(2, parse_netem("delay 20ms"))
    links.set(3, parse_netem("loss 30% delay 1ms 500us"))
    frames = numbered(100)
    card.source(0, frames, timing=1e9)
    card.run()
    second, third = card.received(1), card.received(2)
    assert [frame.data for frame in second] == frames
    counted = links.counters(3)
    assert len(third) == 100 - counted.lost
    assert 10 < counted.lost < 60
    assert {frame.data for frame in third} < set(frames)
    assert [frame.data for frame in third] != [data for data in frames if data in {frame.data for frame in third}]
    early = {frame.data: frame.timestamp_ns for frame in third}
    assert all(
        18_400_000 < frame.timestamp_ns - early[frame.data] < 19_600_000 for frame in second if frame.data in early
    )
    assert all(links.counters(port).balance == 0 for port in range(1, PORTS + 1))


def test_packets_that_come_faster_than_their_link_decides_wait_in_the_ports_queue_which_drops(card: Card) -> None:
    links = SwitchLinks(card)
    links.set(2, parse_netem("loss 1% 50% duplicate 1% 50% corrupt 1% 50%"))
    card.source(0, numbered(4000, 60), timing=30e9)
    card.run()
    hardware = CardHardware(card)
    came, port, counted = hardware.count_port(1).rx_packets, hardware.count_port(2), links.counters(2)
    assert counted.no_room == counted.limited == 0
    assert port.tx_dropped > 0
    assert counted.received == port.tx_packets == came - port.tx_dropped


def test_a_link_without_room_for_what_waits_drops_it_and_the_others_get_all(card: Card) -> None:
    """64 slots and the RAM of a link are full."""
    links = SwitchLinks(card)
    links.set(2, parse_netem("rate 1mbit limit 10000"))
    frames = numbered(300, 1000)
    card.source(0, frames, timing=2e9)
    card.run()
    assert [frame.data for frame in card.received(2)] == frames
    got = [frame.data for frame in card.received(1)]
    counted = links.counters(2)
    assert len(got) == counted.sent < 300
    assert got == [data for data in frames if data in set(got)]
    assert counted.limited and counted.balance == 0


def test_links_are_set_and_told_by_the_ports_numbers(card: Card) -> None:
    links = SwitchLinks(card)
    assert links.answer({"command": "link-set", "links": {"1": "delay 1ms", "3": "rate 1mbit"}}) == {}
    told = links.answer({"command": "link-stats"})
    assert told is not None
    assert [(one["port"], one["netem"]) for one in told["links"]] == [(1, "delay 1ms"), (2, ""), (3, "rate 1mbit")]
    assert links.answer({"command": "stats"}) is None
    with pytest.raises(HeadraceError, match="port 4: the switch has ports 1 to 3"):
        links.answer({"command": "link-set", "links": {"2": "loss 1%", "4": ""}})
    told = links.answer({"command": "link-stats"})
    assert told is not None
    assert told["links"][1]["netem"] == "", "none is set where one can't be"


def test_a_run_has_links_behind_its_ports(tmp_path: Path) -> None:
    """Flooded packets leave by port 2 a tenth of a second after they came, and by port 3 not at all."""
    frames = [b"\xff" * 6 + bytes([2, 0, 0, 0, 0, 9]) + data[12:] for data in numbered(20)]
    wrpcap(str(tmp_path / "in.pcap"), [Ether(data) for data in frames])
    parameters = {name: value for name, value in PARAMETERS.items() if name != "LINKS"}
    sinks = {port: str(tmp_path / f"{port}.pcap") for port in (2, 3)}
    links = {2: parse_netem("delay 100ms"), 3: parse_netem("loss 100%")}
    job = SwitchJob(
        {1: f"pcap:{tmp_path / 'in.pcap'}"}, sinks, links=links, learning=True, rate=1e9, parameters=parameters
    )
    report = run(job)
    assert [port.sent for port in report.ports] == [0, 20, 20], "as the switch sees it"
    assert [bytes(packet) for packet in rdpcap(sinks[2])] == frames
    assert len(rdpcap(sinks[3])) == 0
    assert report.cycles > 0.1 * 322265625
