"""What the switch card is compared with: a private Open vSwitch, its answers for random flows, a CPU's FIR filter."""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from ipaddress import IPv6Address

import numpy as np
import pytest
from openflow_packet import Packet as EditedPacket
from openflow_random import routing
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Ether

from headrace.cards.switch.openflow.oxm import F
from headrace.errors import HeadraceError
from headrace.evaluate.loads import fir, openflow
from headrace.evaluate.loads.flow_sets import PORTS, FlowSet, Packet, random_flow_set, random_packet
from headrace.evaluate.loads.ovs_rates import connection_flows, connection_packets
from headrace.evaluate.loads.ovs_trace import OvsOracle
from headrace.evaluate.study.switch_published import CONNECTIONS_KPPS, cam_bits
from headrace.net import ovs
from headrace.net.ovs import OpenVSwitch, StreamPorts, open_vswitch

needs_ovs = pytest.mark.skipif(ovs.available() is not None, reason=ovs.available() or "")


@pytest.fixture(scope="module")
def oracle() -> Iterator[OvsOracle]:
    with open_vswitch() as switch, OvsOracle(switch) as found:
        yield found


def packet(number: int, in_port: int = 1) -> Packet:
    return Packet(in_port, bytes.fromhex("0200000000aa0200000000bb88b5") + bytes([number]) * 60)


@needs_ovs
def test_each_packet_has_its_own_copies_in_order_of_ports(oracle: OvsOracle) -> None:
    flows = "in_port=1,actions=output:3,set_field:02:00:00:00:00:cc->dl_dst,output:2,output:3\nin_port=2,actions=drop\n"
    packets = [packet(number, in_port) for number, in_port in enumerate((1, 1, 2, 1, 3, 1))]
    found = oracle.results(FlowSet("", flows), packets)
    for sent, (in_port, data) in zip(found, ((each.in_port, each.data) for each in packets), strict=True):
        changed = bytes.fromhex("0200000000cc") + data[6:]
        assert sent == ([(2, changed), (3, data), (3, changed)] if in_port == 1 else [])


@needs_ovs
def test_flows_before_leave_nothing_behind(oracle: OvsOracle) -> None:
    group = "group_id=1,type=all,bucket=actions=output:2,bucket=actions=output:4\n"
    assert oracle.results(FlowSet(group, "actions=group:1\n"), [packet(1)])[0] == [
        (2, packet(1).data),
        (4, packet(1).data),
    ]
    assert oracle.results(FlowSet("", "actions=output:3\n"), [packet(1)])[0] == [(3, packet(1).data)]
    with pytest.raises(HeadraceError, match=r"^ovs-ofctl: (?!ovs-ofctl)"):
        oracle.results(FlowSet("", "actions=nonsense\n"), [])


@needs_ovs
def test_random_flows_are_taken_and_do_something(oracle: OvsOracle) -> None:
    rng = random.Random(1)
    sent = changed = 0
    for _ in range(4):
        packets = [random_packet(rng) for _ in range(30)]
        assert {each.in_port for each in packets} <= set(range(1, PORTS + 1))
        for each, copies in zip(packets, oracle.results(random_flow_set(rng), packets), strict=True):
            sent += bool(copies)
            changed += any(data != each.data for _, data in copies)
    assert sent > 60 and changed > 30


def routed_packets() -> list[Packet]:
    """Of IPv6 with extension headers, most with a routing header."""
    rng, found = random.Random(1), []
    for _ in range(60):
        addresses = {"src": str(IPv6Address(rng.getrandbits(128))), "dst": str(IPv6Address(rng.getrandbits(128)))}
        head = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / IPv6(**addresses)
        for make in rng.sample((IPv6ExtHdrHopByHop, lambda: routing(rng), IPv6ExtHdrDestOpt), rng.randrange(1, 4)):
            head /= make()
        transport = rng.choice((TCP(sport=5), UDP(sport=5), ICMPv6EchoRequest()))
        found.append(Packet(1, bytes(head / transport / rng.randbytes(rng.randrange(40)))))
    return found


ADDRESS = IPv6Address("2001:db8::42")


@needs_ovs
def test_destinations_before_routing_headers_are_set_as_in_open_vswitch(oracle: OvsOracle) -> None:
    """A checksum is of the final one (RFC 8200, 8.1). So tests of the card expect it."""
    flows = FlowSet("", f"ipv6,actions=set_field:{ADDRESS}->ipv6_dst,output:2\n")
    covered = 0
    packets = routed_packets()
    for each, copies in zip(packets, oracle.results(flows, packets), strict=True):
        expected = EditedPacket.read(each.data).set_field(F.IPV6_DST, int(ADDRESS))
        assert copies == [(2, bytes(expected))]
        covered += expected.body[40:] != EditedPacket.read(each.data).body[40:]
    assert 10 < covered < len(packets) - 10


@pytest.mark.parametrize(("field", "name"), [(F.IPV6_SRC, "src"), (F.IPV6_DST, "dst")])
def test_checksums_behind_routing_headers_are_what_scapy_says(field: F, name: str) -> None:
    """Open vSwitch leaves them as they are when the source is set, too, which they are of."""
    for each in routed_packets():
        fresh = Ether(each.data)
        setattr(fresh[IPv6], name, str(ADDRESS))
        for layer, checksum in ((TCP, "chksum"), (UDP, "chksum"), (ICMPv6EchoRequest, "cksum")):
            if layer in fresh:
                fresh[layer].delfieldval(checksum)
        assert bytes(EditedPacket.read(each.data).set_field(field, int(ADDRESS))) == bytes(fresh)


def test_a_seed_gives_the_same_flows_and_packets() -> None:
    first, second = (random.Random(7), random.Random(7))
    assert random_flow_set(first) == random_flow_set(second)
    assert [random_packet(first) for _ in range(20)] == [random_packet(second) for _ in range(20)]


@needs_ovs
def test_open_vswitch_has_the_flows_that_are_counted() -> None:
    with open_vswitch() as switch, StreamPorts(switch, 2):
        address = switch.listen()
        assert openflow.flow_mods(address, 40, tables=4).flows == 40
        assert openflow.flow_mods(address, 40, tables=4, bundle=True).seconds > 0
        assert "flow_count=0" in switch.ofctl("dump-aggregate")


def test_without_open_vswitch_the_error_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HeadraceError, match="Open vSwitch is not installed: no ovsdb-tool"), open_vswitch():
        pass
    with pytest.raises(HeadraceError, match="Open vSwitch is not installed: no ovs-ofctl"):
        ovs.ofctl("unix:/nowhere", "show")


@needs_ovs
def test_connections_go_both_ways_through_all_tables(oracle: OvsOracle) -> None:
    flows = connection_flows(10, 3)
    packets = [Packet(*each) for number in range(10) for each in connection_packets(number, 2, 100)]
    for each, copies in zip(packets, oracle.results(FlowSet("", flows), packets), strict=True):
        assert copies == [(3 - each.in_port, each.data)]
    assert [len(data) for _, data in connection_packets(0, 2, 100)] == [60, 60, 154, 154]
    stranger = Packet(*connection_packets(11, 1, 0)[0])
    assert oracle.results(FlowSet("", flows), [stranger]) == [[]]


class LateSwitch:
    """Answers barriers at once, and does what flows say ``late`` packets later; a deleted flow is missed at once.
    One that ``asks`` lets each packet out when its controller has shown that it is alive."""

    def __init__(self, late: int, asks: bool = False) -> None:
        self._late = late
        self._asks = asks
        self._alive = threading.Event()
        self._output: int | None = None
        self._coming: list[tuple[int, int | None]] = []  # packets until then, the port
        self._out: dict[int, list[bytes]] = {2: [], 3: []}
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp:127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        self._connection, _ = self._server.accept()
        with self._connection as connection, connection.makefile("rb") as stream:
            while head := stream.read(8):
                version, kind, length, number = struct.unpack("!BBHI", head)
                body = stream.read(length - 8)
                assert version == 4
                if kind == 20:
                    connection.sendall(struct.pack("!BBHI", 4, 2, 8, 99) + struct.pack("!BBHI", 4, 21, 8, number))
                elif kind == 14 and body[17] in (0, 2):
                    self._coming.append((self._late, struct.unpack_from("!I", body, len(body) - 12)[0]))
                elif kind == 14:
                    self._coming.append((0, None))
                elif kind == 3 and number == 98:
                    self._alive.set()

    def send(self, port: int, packets: Sequence[bytes]) -> None:
        assert port == 1
        for left, output in self._coming:
            if left == 0:
                self._output = output
        self._coming = [(left - 1, output) for left, output in self._coming if left]
        if self._output is not None:
            self._out[self._output] += packets
        if self._asks:
            self._alive.clear()
            self._connection.sendall(struct.pack("!BBHI", 4, 2, 8, 98))

    def receive(self, port: int, timeout_s: float = 0.0) -> list[bytes]:  # noqa: ARG002
        if self._asks and not self._alive.is_set():
            return []
        found, self._out[port] = self._out[port], []
        return found


def test_a_switch_that_asks_while_a_packet_is_waited_for_is_answered() -> None:
    switch = LateSwitch(0, asks=True)
    assert openflow.stale_packets(switch.address, switch, 3) == openflow.Stale(3, 0, 0)


def test_a_switch_that_closes_the_connection_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp:127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(HeadraceError, match="^the switch has closed the connection"):
            openflow.Controller(address, meanwhile=server.close)


@pytest.mark.parametrize(("late", "replace", "stale", "lost"), [(0, False, 0, 0), (1, False, 6, 0), (1, True, 0, 6)])
def test_packets_behind_a_barrier_are_counted_by_their_way(
    late: int, replace: bool, stale: int, lost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openflow, "_LOST_S", 0.01)
    switch = LateSwitch(late)
    assert openflow.stale_packets(switch.address, switch, 6, replace) == openflow.Stale(6, stale, lost)


class HonestPorts(StreamPorts):
    """Of a switch whose barrier is answered only when the datapath has changed: packets come in after that."""

    def __init__(self, switch: OpenVSwitch) -> None:
        super().__init__(switch, 3)
        self._switch = switch

    def send(self, port: int, packets: Sequence[bytes]) -> None:
        self._switch.forget_flows()
        super().send(port, packets)


@needs_ovs
@pytest.mark.parametrize("replace", [False, True])
def test_packets_after_a_barrier_are_told_apart(replace: bool) -> None:
    with open_vswitch() as switch, StreamPorts(switch, 3) as ports:
        found = openflow.stale_packets(switch.listen(), ports, 20, replace)
        assert found.stale + found.lost > 0  # lost: of a flow that was deleted and is not yet there again
    with open_vswitch() as switch, HonestPorts(switch) as ports:
        assert openflow.stale_packets(switch.listen(), ports, 20, replace) == openflow.Stale(20, 0, 0)


def test_both_filters_round_and_saturate_as_exact_sums_do() -> None:
    rng = np.random.default_rng(1)
    packets = rng.integers(-(1 << 31), 1 << 31, (3, 50), np.int64).astype(np.int32)
    packets[0, 20:30] = (1 << 31) - 1
    exact = [
        [sum(tap * int(each[n - k]) for k, tap in enumerate(fir.TAPS) if n >= k) + (1 << 29) >> 30 for n in range(50)]
        for each in packets
    ]
    right = np.clip(exact, -(1 << 31), (1 << 31) - 1)
    assert (fir.by_numpy(packets) == right).all()
    with fir.Compiled() as compiled:
        assert (compiled(packets) == right).all()
        assert (compiled(packets[:, :2].copy()) == right[:, :2]).all()


def test_published_figures_are_those_of_their_source() -> None:
    assert CONNECTIONS_KPPS[1, 100] == (6.0, 19.6) and CONNECTIONS_KPPS[2, 10_000] == (9.4, 20.8)
    assert cam_bits(128, 8) == 33 * 256 * 128 and cam_bits(1, 5) == 53 * 32
