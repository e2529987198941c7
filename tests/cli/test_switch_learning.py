"""A switch that learns where stations are, as a user sees it: which ports a packet leaves through."""

from __future__ import annotations

import pytest
from fake_datapath import SECOND, FakeDatapath
from openflow_controller import switch

from headrace.cards.switch import learning
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.learning import AGE_S, IDLE_S, Learning

ALL = 0xFFFFFFFFFFFF
A, B, C = (0x0200_0000_0000 + n for n in (0xA, 0xB, 0xC))


class Network:
    """Stations on the ports of a switch."""

    def __init__(self, entries: int = 100) -> None:
        self.datapath = FakeDatapath(entries=entries)
        self.switch: OpenFlowSwitch = switch(self.datapath)
        Learning(self.switch)

    def send(self, port: int, source: int, destination: int) -> list[int]:
        """The ports that a packet leaves through, and whether the switch's hardware knew that."""
        self.datapath.sent.clear()
        packet = destination.to_bytes(6, "big") + source.to_bytes(6, "big") + b"\x08\x00" + bytes(46)
        self.datapath.receive(port, packet)
        self.switch.poll_events()
        assert {data for _, data in self.datapath.sent} <= {packet}
        return [to for to, _ in self.datapath.sent]

    def fast(self, port: int, source: int, destination: int) -> list[int]:
        """As ``send``, in hardware alone."""
        before = len(self.datapath.packet_outs)
        ports = self.send(port, source, destination)
        assert len(self.datapath.packet_outs) == before
        return ports

    def wait(self, seconds: float) -> None:
        self.datapath.time_ns += int(seconds * SECOND)
        self.switch.poll_events()


@pytest.fixture
def network() -> Network:
    return Network()


def talk(network: Network) -> None:
    """A on port 1 and B on port 2 have found each other."""
    network.send(1, A, B)
    network.send(2, B, A)
    network.send(1, A, B)


def test_an_unknown_station_is_looked_for_everywhere(network: Network) -> None:
    assert network.send(1, A, B) == [2, 3, 4]
    assert network.send(1, A, ALL) == [2, 3, 4]
    assert network.send(1, A, 0x0100_5E00_0001) == [2, 3, 4]


def test_a_known_station_is_sent_to_alone_and_then_in_hardware(network: Network) -> None:
    assert network.send(1, A, B) == [2, 3, 4]
    assert network.send(2, B, A) == [1]
    assert network.send(1, A, B) == [2]
    for _ in range(3):
        assert network.fast(1, A, B) == [2]
        assert network.fast(2, B, A) == [1]
    assert network.send(3, C, A) == [1]


def test_each_pair_that_talks_has_a_flow(network: Network) -> None:
    talk(network)
    assert len(network.datapath.flows) == 1 + 2, "that for packets without one, and one for each direction"
    assert network.send(1, C, B) == [2]
    assert len(network.datapath.flows) == 1 + 3


def test_a_packet_does_not_go_back_where_it_came_from(network: Network) -> None:
    network.send(1, A, ALL)
    assert network.send(1, B, A) == []


def test_a_group_address_is_no_station(network: Network) -> None:
    network.send(1, ALL, B)
    assert network.send(2, B, ALL) == [1, 3, 4]
    assert network.send(3, C, ALL) == [1, 2, 4]


def test_a_station_that_has_moved_is_found_again(network: Network) -> None:
    talk(network)
    assert network.send(3, A, B) == [2]
    assert network.send(2, B, A) == [3]
    assert network.fast(2, B, A) == [3]
    assert network.fast(3, A, B) == [2]


def test_a_silent_pair_ends_and_a_talking_one_does_not(network: Network) -> None:
    talk(network)
    for _ in range(3):
        network.wait(IDLE_S - 1)
        assert network.fast(1, A, B) == [2]
        assert network.fast(2, B, A) == [1]
    network.wait(IDLE_S)
    assert len(network.datapath.flows) == 1
    assert network.send(1, A, B) == [2]


@pytest.mark.parametrize(("seconds", "ports"), [(AGE_S, [2]), (AGE_S + 1, [1, 2, 4])])
def test_a_station_that_is_silent_for_long_is_looked_for_again(
    network: Network, seconds: int, ports: list[int]
) -> None:
    talk(network)
    network.wait(IDLE_S)
    network.wait(seconds - IDLE_S)
    assert network.send(3, C, B) == ports


def test_a_station_that_others_talk_to_must_talk_too(network: Network) -> None:
    talk(network)
    for _ in range(AGE_S // 50):
        assert network.send(1, A, B) == [2]
        network.wait(50)
    assert network.send(1, A, B) == [2]  # for it was still heard of when the pair began
    for _ in range(AGE_S // 50):
        network.wait(50)
    assert network.send(1, A, B) == [2, 3, 4]


def test_a_station_whose_packets_only_the_hardware_sees_does_not_age(network: Network) -> None:
    talk(network)
    for _ in range(2 * AGE_S // IDLE_S + 1):
        network.wait(IDLE_S - 1)
        network.send(2, B, A)
    assert network.send(3, C, B) == [2]


def test_who_is_behind_a_port_that_goes_down_is_looked_for(network: Network) -> None:
    talk(network)
    network.switch.set_link(2, False)
    assert network.send(1, A, B) == [2, 3, 4]


def test_a_full_table_slows_pairs_down_and_stops_none(network: Network) -> None:
    network = Network(entries=2)
    talk(network)
    for _ in range(3):
        assert network.fast(2, B, A) == [1]
        assert network.send(1, A, B) == [2]


def test_so_many_stations_are_known_and_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "STATIONS", 3)
    network = Network()
    for port, source in ((1, A), (2, B), (1, A), (3, C), (4, 0xD)):
        network.send(port, source, ALL)
    assert network.send(3, C, A) == [1]
    assert network.send(1, A, B) == [2, 3, 4]


def test_two_packets_before_the_first_flow_make_one_flow(network: Network) -> None:
    network.send(2, B, ALL)
    packet = B.to_bytes(6, "big") + A.to_bytes(6, "big") + bytes(48)
    network.datapath.receive(1, packet)
    network.datapath.receive(1, packet)
    network.switch.poll_events()
    assert len(network.datapath.flows) == 2
    assert [port for port, _ in network.datapath.sent][-2:] == [2, 2]
