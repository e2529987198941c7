"""What the parser promises: packets go on unchanged, and each has its fields told once, in order."""

import itertools
import random
from typing import Any

import cocotb
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptMTU,
    IPv6,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet
from switch_parser.oracle import HOP, LAYERS, MATCH, ROUTER, Fields, expected, unpack
from switch_parser.packets import chain, frame

from headrace.testing.streams import (
    PATTERNS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    behaviour,
    cycles,
    frame_words,
    frames_of,
    gaps,
    mostly,
    never,
    seldom,
    start,
    together,
    until,
)

PACKETS = {False: 32, True: 16}  # under way at most, by NARROW
LATENCY = {False: 24, True: 12}  # cycles from a packet's last beat to its fields, by NARROW


class Bench:
    """The packets that go in, and both that come out."""

    def __init__(self, dut: Any, packets: list[bytes], stalls: Any = never, *outputs: Any) -> None:
        packet_stalls, head_stalls = outputs or (never, never)
        self.dut, self.packets = dut, packets
        self.narrow = bool(int(dut.NARROW.value))
        self.ports = [random.getrandbits(8) for _ in packets]
        width = len(dut.s_axis_tdata)
        words = [
            word
            for data, port in zip(packets, self.ports, strict=True)
            for word in frame_words(data, width, lambda port=port: port)
        ]
        self.source = Source(Channel.axis(dut, "s"), words, stalls())
        self.sink = Sink(Channel.axis(dut, "m"), packet_stalls())
        head = (dut.m_head_match, dut.m_head_layers)
        self.heads = Sink(Channel(dut.clk, dut.m_head_valid, dut.m_head_ready, head), head_stalls())

    async def run(self) -> list[Fields]:
        """Send all packets, see that they come out as they were, and give what was told of each."""
        await start(self.dut)
        cocotb.start_soon(self.sink.run())
        cocotb.start_soon(self.heads.run())
        await self.source.run()
        await until(self.dut.clk, lambda: len(self.heads.taken) >= len(self.packets), 30 * len(self.packets) + 200)
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), 2000)
        await cycles(self.dut.clk, 40)
        assert frames_of(self.sink.taken) == [
            (data, [port] * -(-len(data) // (len(self.dut.s_axis_tdata) // 8)))
            for data, port in zip(self.packets, self.ports, strict=True)
        ]
        return [unpack(match, MATCH) | unpack(layers, LAYERS) for match, layers in self.heads.taken]

    def check(self, found: list[Fields]) -> None:
        """Compare with the oracle."""
        assert len(found) == len(self.packets)
        for data, port, told in zip(self.packets, self.ports, found, strict=True):
            due = expected(data, port, narrow=self.narrow)
            wrong = {name: (hex(told[name]), hex(value)) for name, value in due.items() if told[name] != value}
            assert not wrong, f"{data.hex()}: found, expected: {wrong}"


@behaviour()
@cocotb.parametrize((("stalls", "outputs"), together(PATTERNS, [(never, never), (seldom, mostly), (mostly, seldom)])))
async def every_packet_has_the_fields_that_scapy_reads(dut: Any, stalls: Any, outputs: Any) -> None:
    bench = Bench(dut, [frame() for _ in range(300)], stalls, *outputs)
    found = await bench.run()
    bench.check(found)
    same = {name for name in found[0] if len({told[name] for told in found}) == 1}
    assert bench.narrow or same <= {"metadata", "tunnel_id", "routed"}


@behaviour()
async def every_length_of_a_packet_has_the_layers_that_are_there(dut: Any) -> None:
    whole = bytes(Ether(dst=B) / Dot1Q(vlan=5) / IP(options=[b"\x01" * 8]) / TCP(sport=1, dport=2) / bytes(200))
    solicited = ICMPv6ND_NA(tgt="2001:db8::2") / ICMPv6NDOptMTU(mtu=1500) / ICMPv6NDOptDstLLAddr(lladdr=A)
    other = bytes(Ether(dst=B, src=A) / Dot1AD() / Dot1Q() / IPv6(**V6) / IPv6ExtHdrHopByHop() / solicited)
    labelled = [bytes(Ether(dst=B) / MPLS(s=1) / inner) for inner in (IP(options=[b"\x01" * 8]), IPv6(**V6))]
    wholes = (whole, other, *labelled)
    bench = Bench(dut, [data[:size] for data in wholes for size in range(1, len(data) + 1)])
    bench.check(await bench.run())


@behaviour()
async def extension_headers_in_every_order_have_their_bits(dut: Any) -> None:
    chains = ["".join(letters) for count in range(4) for letters in itertools.product("hdrfa", repeat=count)]
    layers = [chain(letters, esp=esp) for letters in [*chains, "hdrfad", "hdrfadd"] for esp in (False, True)]
    bench = Bench(dut, [bytes(Ether(dst=B, src=A) / layer) for layer in layers])
    bench.check(await bench.run())


A, B = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
V6 = {"src": "2001:db8::1", "dst": "2001:db8::2"}
SRC6, DST6 = 0x20010DB8 << 96 | 1, 0x20010DB8 << 96 | 2
KNOWN: list[tuple[Packet, Fields]] = [
    (
        Dot1Q(vlan=100, prio=5) / IP(src="10.0.0.1", dst="10.0.0.2", tos=0xB9) / TCP(sport=1234, dport=80),
        {"vlan": 1, "vlan_vid": 100, "vlan_pcp": 5, "tags": 1, "eth_type": 0x800, "ip_dscp": 46, "ip_ecn": 1}
        | {"ip_proto": 6, "src": 0x0A000001, "dst": 0x0A000002, "l4_src": 1234, "l4_dst": 80, "at_l3": 18, "at_l4": 38}
        | {"qinq": 0, "dei": 0, "inner": 0, "ttl": 64, "at_link": 0},
    ),
    (
        Dot1AD(vlan=7, dei=1) / Dot1Q(vlan=8, prio=1) / IP(src="10.0.0.1", dst="10.0.0.2") / ICMP(type=8, code=3),
        {"vlan": 1, "vlan_vid": 7, "tags": 2, "eth_type": 0x800, "l4": 1, "l4_src": 8, "l4_dst": 3, "at_l4": 42}
        | {"qinq": 1, "dei": 1, "inner": 0x2008},
    ),
    (IP(frag=3, proto=17) / bytes(40), {"l3": 1, "l4": 0, "later": 1, "ip_proto": 17, "l4_src": 0, "cut": 0}),
    (IP(flags="MF") / UDP(sport=5, dport=6) / bytes(8), {"l4": 1, "later": 0, "l4_src": 5, "l4_dst": 6}),
]
KNOWN_FULL: list[tuple[Packet, Fields]] = [
    (
        ARP(op=2, hwsrc=A, hwdst=B, psrc="10.0.0.1", pdst="10.0.0.2"),
        {"eth_type": 0x806, "l3": 1, "l4_src": 2, "link": 0x02000000000A, "target": 0x02000000000B}
        | {"src": 0x0A000001, "dst": 0x0A000002, "at_l3": 14},
    ),
    (
        MPLS(label=0x12345, cos=5, s=1, ttl=3) / IP() / UDP(),
        {"eth_type": 0x8847, "l3": 1, "label": 0x12345, "ip_dscp": 5, "ip_ecn": 1, "l4": 0, "src": 0, "at_l3": 14}
        | {"label_ttl": 3, "below": 2, "ttl": 64},
    ),
    (
        IPv6(tc=0xB9, fl=0xABCDE, **V6) / IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting() / SCTP(sport=7, dport=9),
        {"ip_dscp": 46, "ip_ecn": 1, "label": 0xABCDE, "src": SRC6, "dst": DST6, "ip_proto": 132, "l4_src": 7}
        | {"l4_dst": 9, "exthdr": HOP | ROUTER, "at_l3": 14, "at_l4": 70, "routed": 0},
    ),
    (
        IPv6(**V6) / IPv6ExtHdrRouting(segleft=1) / UDP(sport=5, dport=6),
        {"l4": 1, "l4_src": 5, "l4_dst": 6, "exthdr": ROUTER, "at_l4": 62, "routed": 1},
    ),
    (
        IPv6(hlim=255, **V6) / ICMPv6ND_NA(tgt="2001:db8::2") / ICMPv6NDOptDstLLAddr(lladdr=B),
        {"nd": 1, "target": DST6, "link": 0x02000000000B, "l4_src": 136, "l4_dst": 0, "at_l4": 54, "exthdr": 0}
        | {"ttl": 255, "at_link": 80},
    ),
]


@behaviour()
async def known_packets_have_known_fields(dut: Any) -> None:
    known = KNOWN if int(dut.NARROW.value) else KNOWN + KNOWN_FULL
    bench = Bench(dut, [bytes(Ether(src=A, dst=B) / packet) for packet, _ in known])
    due = {"eth_src": 0x02000000000A, "eth_dst": 0x02000000000B, "metadata": 0, "tunnel_id": 0}
    for (_, fields), port, told in zip(known, bench.ports, await bench.run(), strict=True):
        assert told == told | due | fields | {"in_port": port}


@behaviour()
async def a_packet_a_cycle_passes_and_its_fields_take_always_as_long(dut: Any) -> None:
    step = len(dut.s_axis_tdata) // 8
    bench = Bench(dut, [frame()[:step] for _ in range(200)])
    bench.check(await bench.run())
    assert gaps(bench.source.times_ps) == gaps(bench.sink.times_ps) == gaps(bench.heads.times_ps) == 0
    waits = {told - taken for told, taken in zip(bench.heads.times_ps, bench.source.times_ps, strict=True)}
    assert waits == {LATENCY[bench.narrow] * PERIOD_PS}


@behaviour()
async def a_long_packet_has_its_fields_told_before_it_ends(dut: Any) -> None:
    bench = Bench(dut, [bytes(Ether(dst=B) / IP() / UDP()) + bytes(4000)])
    bench.check(await bench.run())
    step = len(dut.s_axis_tdata) // 8
    beats = -(-(110 if bench.narrow else 206) // step)
    taken = bench.source.times_ps[beats - 1]
    assert bench.heads.times_ps == [taken + LATENCY[bench.narrow] * PERIOD_PS]
    assert gaps(bench.source.times_ps) == 0


@behaviour()
async def packets_wait_outside_while_nobody_takes_fields(dut: Any) -> None:
    await start(dut)
    bench = Bench(dut, [frame() for _ in range(50)])
    bench.sink.stalls = bench.heads.stalls = never()
    sending = cocotb.start_soon(bench.source.run())
    cocotb.start_soon(bench.sink.run())
    await cycles(dut.clk, 1500)
    assert [data for data, _ in frames_of(bench.sink.taken)] == bench.packets[: PACKETS[bench.narrow]]
    assert not dut.s_axis_tready.value and not dut.idle.value
    cocotb.start_soon(bench.heads.run())
    await sending
    await until(dut.clk, lambda: bool(dut.idle.value), 2000)
    bench.check([unpack(match, MATCH) | unpack(layers, LAYERS) for match, layers in bench.heads.taken])
