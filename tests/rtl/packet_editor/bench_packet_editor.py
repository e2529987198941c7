"""What the editor promises: each copy is its packet as edited, in order, and the store is freed."""

import random
from typing import Any

import cocotb
from packet_editor.edits import Plan, fold, random_plan
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, IPv6
from scapy.layers.l2 import LLC, SNAP, Dot1Q, Dot3, Ether
from scapy.layers.sctp import SCTP, SCTPChunkData
from scapy.packet import Packet
from switch_parser import packets as made
from switch_parser.packets import frame

from headrace.testing.streams import (
    PATTERNS,
    PERIOD_PS,
    Channel,
    Sink,
    Source,
    behaviour,
    bursts,
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

LATENCY = 14
COPIES = 16  # that wait at most
NOWHERE: dict[str, int] = {}


def narrow() -> bool:
    """Whether the editor is one for a narrow parser."""
    return bool(int(cocotb.top.NARROW.value))


def plan_of(packet: bytes, port: int) -> Plan:
    """A packet as the editor's parser sees it."""
    return Plan(packet, port, narrow())


def somewhere() -> dict[str, int]:
    """Where a copy goes, and what goes with it."""
    members = {"ports": random.choice((0, 0, random.getrandbits(64))), "host": random.getrandbits(1)}
    members["resubmit"] = int(not any(members.values()))
    names = {"max_bytes": 16, "reason": 8, "origin": 16, "metadata": 64, "next": 4, "program_at": 16, "custom": 8}
    return members | {name: random.getrandbits(width) for name, width in names.items()}


class Bench:
    """Packets and copies that go in, and copies that come out."""

    def __init__(self, dut: Any, copies: list[tuple[bytes, list[tuple[Plan, dict[str, int]]]]], *stalls: Any) -> None:
        packet_stalls, copy_stalls, sink_stalls = stalls or (never, never, never)
        self.dut, self.copies = dut, copies
        self.width = len(dut.s_axis_tdata)
        beats = [word[:3] for packet, _ in copies for word in frame_words(packet, self.width, lambda: 0)]
        jobs = []
        for packet, plans in copies:
            for number, (plan, members) in enumerate(plans, 1):
                last = int(number == len(plans))
                jobs.append((plan.copy(**members, last=last, bytes=len(packet)),))
        payload = (dut.s_axis_tdata, dut.s_axis_tkeep, dut.s_axis_tlast)
        self.source = Source(Channel(dut.clk, dut.s_axis_tvalid, dut.s_axis_tready, payload), beats, packet_stalls())
        channel = Channel(dut.clk, dut.s_copy_valid, dut.s_copy_ready, (dut.s_copy,))
        self.jobs = Source(channel, jobs, copy_stalls())
        output = (dut.m_axis_tdata, dut.m_axis_tkeep, dut.m_axis_tlast, dut.m_copy)
        self.sink = Sink(Channel(dut.clk, dut.m_axis_tvalid, dut.m_axis_tready, output), sink_stalls())

    @property
    def sent(self) -> list[tuple[Plan, dict[str, int]]]:
        """The copies that come out."""
        return [
            (plan, members)
            for _, plans in self.copies
            for plan, members in plans
            if members.get("ports") or members.get("host") or members.get("resubmit")
        ]

    async def run(self, *, packets_first: bool = False) -> None:
        """Send all, with all packets before the copies if wanted."""
        await start(self.dut)
        cocotb.start_soon(self.sink.run())
        sending = cocotb.start_soon(self.source.run())
        if packets_first:
            await sending
            await cycles(self.dut.clk, 10)
        await self.jobs.run()
        await sending
        await until(self.dut.clk, lambda: bool(self.dut.idle.value), 20000)
        await cycles(self.dut.clk, 40)
        assert self.dut.idle.value

    def check(self) -> None:
        """Compare what came out with what scapy makes."""
        found = frames_of(self.sink.taken)
        assert len(found) == len(self.sent)
        for (plan, members), (data, beside) in zip(self.sent, found, strict=True):
            due = plan.expected()
            assert data == due, f"{plan}:\n{data.hex()}, not\n{due.hex()}"
            assert set(beside) == {plan.sent(**members, bytes=len(data))}


def several(count: int) -> list[tuple[bytes, list[tuple[Plan, dict[str, int]]]]]:
    """Packets with one to three copies each, some to nowhere."""
    copies = []
    for _ in range(count):
        packet, port = frame(), random.getrandbits(8)
        plans = [random_plan(packet, port, narrow=narrow()) for _ in range(random.choice((1, 1, 2, 3)))]
        copies.append((packet, [(plan, NOWHERE if random.random() < 0.2 else somewhere()) for plan in plans]))
    return copies


def once(packets: list[bytes], *edits: Any, **members: int) -> list[tuple[bytes, list[tuple[Plan, dict[str, int]]]]]:
    """Packets with one copy each, edited alike."""
    plans = [plan_of(packet, 1) for packet in packets]
    for plan in plans:
        for edit in edits:
            edit(plan)
    return [(plan.packet, [(plan, members or {"ports": 1})]) for plan in plans]


@behaviour()
@cocotb.parametrize(
    (("stalls", "others"), together(PATTERNS, [(mostly, seldom), (seldom, mostly), (bursts, bursts), (never, never)]))
)
async def every_copy_is_what_scapy_makes_of_the_packet(dut: Any, stalls: Any, others: Any) -> None:
    bench = Bench(dut, several(150), stalls, *others)
    await bench.run()
    bench.check()
    edited = set().union(*(plan.edited for plan, _ in bench.sent))
    assert narrow() or edited >= {"src", "dst", "proto", "label", "tos", "ttl", "l4_src", "l4_dst"}


@behaviour()
async def every_length_of_a_packet_passes_unharmed(dut: Any) -> None:
    whole = bytes(Ether(dst=A, src=B) / Dot1Q(vlan=5) / Dot1Q(vlan=6) / IP(src=HOST) / UDP(sport=9) / bytes(150))
    bench = Bench(dut, once([whole[:size] for size in range(1, len(whole))]))
    await bench.run()
    bench.check()


@behaviour()
async def a_tag_more_or_less_moves_every_length(dut: Any) -> None:
    whole = bytes(Ether(dst=A, src=B) / Dot1Q(vlan=5) / IP(src=HOST) / UDP(sport=9) / bytes(150))
    packets = [whole[:size] for size in range(18, len(whole))]
    edits = (Plan.pop_tag, Plan.push_tag, Plan.push_label)
    copies = [random.choices(edits, k=random.randrange(1, 4)) for _ in packets]
    bench = Bench(dut, [one for data, edit in zip(packets, copies, strict=True) for one in once([data], *edit)])
    await bench.run()
    bench.check()


@behaviour()
async def neighbours_addresses_are_overwritten_where_they_lie(dut: Any) -> None:
    packets = []
    for _ in range(90):
        message = random.choice((ICMPv6ND_NS, ICMPv6ND_NA))(tgt=made.ipv6())
        options = bytes(made.option()) + bytes(made.option())
        packets.append(bytes(Ether(dst=A, src=B) / IPv6(src=made.ipv6(), dst=made.ipv6()) / message / options))
    bench = Bench(dut, once(packets, Plan.set_l4, Plan.set_l3, Plan.push_tag))
    await bench.run()
    bench.check()
    assert narrow() or sum("link" in plan.edited for plan, _ in bench.sent) > 10


@behaviour()
async def a_udp_checksum_that_becomes_0_is_sent_as_ones(dut: Any) -> None:
    before = Ether(bytes(Ether(dst=A, src=B) / IP(src=HOST) / UDP(sport=9, dport=5) / b"payload"))
    port = fold(5 + before[UDP].chksum)
    plan = plan_of(bytes(before), 1)
    plan.fields["l4_dst"], plan.l4_delta = port, before[UDP].chksum
    plan.edited.add("l4_dst")
    bench = Bench(dut, [(plan.packet, [(plan, {"host": 1})])])
    await bench.run()
    [(data, _)] = frames_of(bench.sink.taken)
    assert data == bytes(Ether(dst=A, src=B) / IP(src=HOST) / UDP(sport=9, dport=port) / b"payload")
    assert Ether(data)[UDP].chksum == 0xFFFF


def sctp(size: int, sport: int) -> Packet:
    """Of SCTP with some bytes of data, always the same."""
    return SCTP(sport=sport, dport=7, tag=5) / SCTPChunkData(data=bytes(i * 7 & 0xFF for i in range(size)))


def moved_port(plan: Plan) -> None:
    """From 9 to port 1234."""
    plan.fields["l4_src"] = 1234
    plan.edited.add("l4_src")
    plan.l4_delta = (9 ^ 1234) << 16


@behaviour()
async def a_crc_of_sctp_follows_its_ports_at_every_length(dut: Any) -> None:
    heads = (Ether(dst=A, src=B) / IP(src=HOST), Ether(dst=A, src=B) / Dot1Q(vlan=5) / IPv6(src=made.ipv6()))
    heads = heads[:1] if narrow() else heads
    sizes = [*range(100), 1400, 1401, 3000]
    bench = Bench(dut, once([bytes(random.choice(heads) / sctp(size, 9)) for size in sizes], moved_port, Plan.push_tag))
    await bench.run()
    for size, (data, _) in zip(sizes, frames_of(bench.sink.taken), strict=True):
        whole = bytes(sctp(size, 1234))
        assert data.endswith(whole), f"with {size} bytes"


@behaviour()
async def a_crc_of_sctp_follows_the_length_that_ip_says(dut: Any) -> None:
    packets = []
    for size in [*(2**power for power in range(6, 16)), *(random.randrange(44, 1 << 16) for _ in range(30))]:
        packets.append(bytes(Ether(dst=A, src=B) / IP(src=HOST, len=size) / sctp(30, 9)))
    bench = Bench(dut, once(packets, Plan.set_l4))
    await bench.run()
    bench.check()


@behaviour()
async def a_crc_of_sctp_in_a_fragment_stays(dut: Any) -> None:
    before = Ether(bytes(Ether(dst=A, src=B) / IP(src=HOST, flags="MF") / sctp(40, 9)))
    bench = Bench(dut, once([bytes(before)], moved_port))
    await bench.run()
    [(data, _)] = frames_of(bench.sink.taken)
    assert Ether(data)[SCTP].sport == 1234
    assert Ether(data)[SCTP].chksum == before[SCTP].chksum


A, B, HOST = "02:00:00:00:00:0a", "02:00:00:00:00:0b", "10.0.0.1"
SNAP_FRAME = Dot3(dst=A, src=B) / LLC(dsap=0xAA, ssap=0xAA, ctrl=3) / SNAP(OUI=0, code=0x800) / IP() / UDP(sport=9)


def aged(plan: Plan) -> None:
    """One hop further: TTL less 1."""
    plan.ttl -= 1
    plan.edited.add("ttl")
    plan.l3_delta = 0xFEFF


def translated(plan: Plan) -> None:
    """To 10.0.0.2, port 80, from 10.0.0.9, port 1234."""
    plan.fields |= {"dst": 0x0A000002, "l4_dst": 80}
    plan.edited |= {"dst", "l4_dst"}
    plan.l3_delta = 0xFFF8  # 2 in the place of 9
    plan.l4_delta = 0xFFF8 - (1234 - 80)


def marked(plan: Plan) -> None:
    """DSCP 46, ECN 1."""
    plan.fields |= {"ip_dscp": 46, "ip_ecn": 1}
    plan.edited.add("tos")


KNOWN: list[tuple[Packet, Any, Packet]] = [
    (Ether(dst=A, src=B) / IP(ttl=64) / UDP(sport=9), aged, Ether(dst=A, src=B) / IP(ttl=63) / UDP(sport=9)),
    (
        Ether(dst=A, src=B) / IP(src=HOST, dst="10.0.0.9") / TCP(dport=1234) / b"payload",
        translated,
        Ether(dst=A, src=B) / IP(src=HOST, dst="10.0.0.2") / TCP(dport=80) / b"payload",
    ),
    (
        Ether(dst=A, src=B) / IP(src=HOST, dst="10.0.0.9") / UDP(sport=9, dport=1234, chksum=0) / b"payload",
        translated,
        Ether(dst=A, src=B) / IP(src=HOST, dst="10.0.0.2") / UDP(sport=9, dport=80, chksum=0) / b"payload",
    ),
    (
        Ether(dst=A, src=B) / Dot1Q(vlan=7, prio=3) / IP(src=HOST) / UDP(sport=9),
        Plan.pop_tag,
        Ether(dst=A, src=B) / IP(src=HOST) / UDP(sport=9),
    ),
    (
        Ether(dst=A, src=B) / IPv6(version=5, fl=0x12345) / UDP(sport=9),
        marked,
        Ether(dst=A, src=B) / IPv6(version=5, fl=0x12345, tc=0xB9) / UDP(sport=9),
    ),
    (
        Ether(dst=A, src=B) / MPLS(label=5, s=1, ttl=9) / IP(ttl=64) / UDP(sport=9),
        aged,
        Ether(dst=A, src=B) / MPLS(label=5, s=1, ttl=9) / IP(ttl=63) / UDP(sport=9),
    ),
    (
        Ether(dst=A, src=B) / MPLS(label=5, s=0, ttl=9) / MPLS(label=6, s=1, ttl=64) / IP(src=HOST),
        aged,
        Ether(dst=A, src=B) / MPLS(label=5, s=0, ttl=9) / MPLS(label=6, s=1, ttl=63) / IP(src=HOST),
    ),
    (SNAP_FRAME, lambda plan: plan.tags.insert(0, Dot1Q(vlan=3)), Ether(dst=A, src=B) / Dot1Q(vlan=3, type=36)),
    (
        Ether(dst=A, src=B) / IP(src=HOST) / UDP(sport=9),
        lambda plan: (plan.labels.append(MPLS(label=5, s=1, ttl=9)), setattr(plan, "kind", 0x8847)),
        Ether(dst=A, src=B) / MPLS(label=5, s=1, ttl=9) / IP(src=HOST) / UDP(sport=9),
    ),
]


@behaviour()
async def known_edits_have_known_results(dut: Any) -> None:
    known = [case for case in KNOWN if not narrow() or (IPv6 not in case[0] and MPLS not in case[0])]
    bench = Bench(dut, [one for before, edit, _ in known for one in once([bytes(before)], edit)])
    await bench.run()
    for (before, _, after), (data, _) in zip(known, frames_of(bench.sink.taken), strict=True):
        tail = bytes(before)[14:] if before is SNAP_FRAME else b""
        assert data == bytes(after) + tail


@behaviour()
async def a_packet_a_cycle_is_edited_without_gaps(dut: Any) -> None:
    step = len(dut.s_axis_tdata) // 8
    heads = [bytes(Ether(dst=A, src=B) / Dot1Q() / IP(src=HOST) / TCP())[:step].ljust(step, b"x") for _ in range(200)]
    bench = Bench(dut, [one for data in heads for one in once([data], random.choice((Plan.pop_tag, Plan.addresses)))])
    await bench.run()
    bench.check()
    assert gaps(bench.source.times_ps) == gaps(bench.jobs.times_ps) == gaps(bench.sink.times_ps) == 0


@behaviour()
async def a_beat_that_a_copy_grows_by_costs_a_cycle(dut: Any) -> None:
    step = len(dut.s_axis_tdata) // 8
    packets = [bytes(Ether(dst=A, src=B)).ljust(size * step, b"x") for size in (1, 2, 3) * 20]
    bench = Bench(dut, once(packets, Plan.push_tag))
    await bench.run()
    bench.check()
    assert len(bench.sink.taken) == sum(len(data) // step + 1 for data in packets)
    assert gaps(bench.sink.times_ps) == 0


@behaviour()
async def copies_of_a_packet_follow_without_gaps(dut: Any) -> None:
    packet = bytes(Ether(dst=A, src=B) / IP(src=HOST) / UDP(sport=9) / bytes(100))
    plans = [(random_plan(packet, 3, narrow=narrow()), somewhere()) for _ in range(60)]
    kept = [one for one in plans if len(one[0].expected()) >= len(packet)]
    bench = Bench(dut, [(packet, kept)])
    await bench.run(packets_first=True)
    bench.check()
    assert gaps(bench.sink.times_ps) == 0


@behaviour()
async def a_copy_takes_always_as_long(dut: Any) -> None:
    for edit in (Plan.addresses, Plan.push_tag, Plan.set_l4):
        bench = Bench(dut, once([bytes(Ether(dst=A, src=B) / IP(src=HOST) / UDP(sport=9) / bytes(100))], edit))
        await bench.run(packets_first=True)
        bench.check()
        assert bench.sink.times_ps[0] - bench.jobs.times_ps[0] == LATENCY * PERIOD_PS


@behaviour()
async def packets_to_nowhere_take_a_cycle_and_are_freed(dut: Any) -> None:
    step = len(dut.s_axis_tdata) // 8
    room = int(dut.STORE_KB.value) * 1024 // step
    packets = [bytes(Ether(dst=A, src=B)).ljust(step, b"x") for _ in range(3 * room)]
    copies = [(packet, [(plan_of(packet, 1), NOWHERE)]) for packet in packets]
    bench = Bench(dut, [*copies, *once(packets[:1])])
    await bench.run()
    bench.check()
    assert gaps(bench.source.times_ps) == 0
    assert len(bench.sink.taken) == 1


@behaviour()
async def the_store_holds_its_size_and_waits_for_copies(dut: Any) -> None:
    await start(dut)
    step = len(dut.s_axis_tdata) // 8
    room = int(dut.STORE_KB.value) * 1024 // step
    packets = [bytes(Ether(dst=A, src=B)).ljust(random.choice((1, 3)) * step, b"x") for _ in range(room)]
    bench = Bench(dut, once(packets))
    sending = cocotb.start_soon(bench.source.run())
    cocotb.start_soon(bench.sink.run())
    await cycles(dut.clk, 2 * room)
    assert len(bench.source.sent) == room
    assert not bench.sink.taken and not dut.s_axis_tready.value and not dut.idle.value
    await bench.jobs.run()
    await sending
    await until(dut.clk, lambda: bool(dut.idle.value), 5000)
    bench.check()


@behaviour()
async def copies_wait_for_their_packet(dut: Any) -> None:
    await start(dut)
    bench = Bench(dut, once([frame() for _ in range(40)]))
    cocotb.start_soon(bench.sink.run())
    cocotb.start_soon(bench.jobs.run())
    await cycles(dut.clk, 100)
    assert len(bench.jobs.sent) == COPIES
    assert not dut.s_copy_ready.value and not bench.sink.taken and not dut.idle.value
    await bench.source.run()
    await until(dut.clk, lambda: bool(dut.idle.value), 2000)
    bench.check()
