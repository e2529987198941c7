"""Random sequences of flow mods, packets and time, to the switch and to Open vSwitch: both answer the same, have the
same flows with the same counters, and tell of the same flows that are gone. Time is what the test says it is."""

from __future__ import annotations

import operator
import random
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from openflow_controller import PROTOCOL, flow_mod, ofproto, output, parsed, parser, serialized
from patience import HANG_S
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from soak import soak
from switch_model import ModelCard

from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.cards.switch.ports import PortInfo
from headrace.net import ovs
from headrace.net.ovs import BRIDGE, OpenVSwitch, open_vswitch

pytestmark = pytest.mark.skipif(ovs.available() is not None, reason=ovs.available() or "")

PORTS, TABLES = 4, 3
STEPS = 16
HEAD = 8
HELLO, BARRIER = serialized(parser.OFPHello(PROTOCOL)), serialized(parser.OFPBarrierRequest(PROTOCOL))
EVERYTHING = serialized(flow_mod(command=ofproto.OFPFC_DELETE, table_id=ofproto.OFPTT_ALL))
ALL_FLOWS = serialized(
    parser.OFPFlowStatsRequest(PROTOCOL, 0, ofproto.OFPTT_ALL, ofproto.OFPP_ANY, ofproto.OFPG_ANY, 0, 0)
)
MARK = serialized(flow_mod(table_id=100))
"""A flow that only Open vSwitch has. Each time it is added, its revalidators look around, and flows expire then."""
MODIFICATIONS = (ofproto.OFPFC_MODIFY, ofproto.OFPFC_MODIFY_STRICT)
DELETIONS = (ofproto.OFPFC_DELETE, ofproto.OFPFC_DELETE_STRICT)
COMMANDS = (ofproto.OFPFC_ADD,) * 6 + MODIFICATIONS * 2 + DELETIONS
END = "all flows are deleted", EVERYTHING, 0
FLAGS = {
    ofproto.OFPFF_SEND_FLOW_REM: 0.6,
    ofproto.OFPFF_CHECK_OVERLAP: 0.2,
    ofproto.OFPFF_RESET_COUNTS: 0.3,
    ofproto.OFPFF_NO_PKT_COUNTS: 0.1,
    ofproto.OFPFF_NO_BYT_COUNTS: 0.1,
}
UDP_FLOW = {"eth_type": 0x0800, "ip_proto": 17}
MATCHES: tuple[dict[str, Any], ...] = (
    {},
    {"in_port": 1},
    {"in_port": 1, "eth_type": 0x0800},
    {"eth_type": 0x0800, "ipv4_dst": ("10.0.0.0", "255.255.255.0")},
    {"eth_type": 0x0800, "ipv4_dst": "10.0.0.1"},
    {"in_port": 2, **UDP_FLOW, "ipv4_dst": "10.0.0.1"},
    {**UDP_FLOW, "udp_dst": 80},
    {**UDP_FLOW, "udp_dst": (80, 0xFFF0)},
    {"eth_dst": ("01:00:00:00:00:00", "01:00:00:00:00:00")},
)
FRAMES = [
    bytes(Ether(dst=to, src="02:00:00:00:00:09") / IP(dst=address) / UDP(sport=5, dport=port) / bytes(size))
    for to, address, port, size in (
        ("02:00:00:00:00:01", "10.0.0.1", 80, 20),
        ("02:00:00:00:00:01", "10.0.0.2", 85, 50),
        ("03:00:00:00:00:01", "10.0.1.1", 80, 90),
        ("03:00:00:00:00:01", "10.0.0.1", 7, 200),
    )
]


class Steps:
    """Of a sequence. Flows are modified in some: they have no hard timeouts, which begin anew in Open vSwitch when
    flows are modified, while OpenFlow leaves a flow's time as it was. In others flows that overlap may have one
    priority: there are no packets, as OpenFlow doesn't say which flow they take."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.modifies, self.alike = rng.random() < 0.5, rng.random() < 0.25

    def draw(self) -> tuple[str, bytes, int]:
        """What it is, its message, and how many milliseconds go by."""
        what = self.rng.random()
        if what < 0.25:
            milliseconds = self.rng.choice((300, 1100, 2500)) + 7  # no timeout ends just now
            return f"{milliseconds} ms", b"", milliseconds
        if what < 0.5 and not self.alike:
            port, data = self.rng.randrange(1, PORTS + 1), self.rng.choice(FRAMES)
            actions = [output(ofproto.OFPP_TABLE)]
            message = parser.OFPPacketOut(PROTOCOL, ofproto.OFP_NO_BUFFER, port, actions, data)
            return f"packet {FRAMES.index(data)} from port {port}", serialized(message), 0
        mod = self.mod()
        return str(mod), serialized(mod), 0

    def mod(self) -> Any:
        """A change of one of few flows, so that many are about the same."""
        rng = self.rng
        command = rng.choice([command for command in COMMANDS if self.modifies or command not in MODIFICATIONS])
        number, table = rng.randrange(len(MATCHES)), rng.randrange(TABLES)
        everywhere = command != ofproto.OFPFC_ADD and rng.random() < 0.2
        options: dict[str, Any] = {
            "command": command,
            "table_id": ofproto.OFPTT_ALL if everywhere else table,
            "priority": rng.choice((5, 7)) if self.alike else rng.choice((10, 30)) + number,
            "cookie": rng.randrange(4),
            "cookie_mask": rng.choice((0, 0, 0, 1, 3)) if command != ofproto.OFPFC_ADD else 0,
            "idle_timeout": rng.choice((0, 0, 1, 2, 4)),
            "hard_timeout": 0 if self.modifies else rng.choice((0, 0, 1, 3, 6)),
            "flags": sum(flag for flag, share in FLAGS.items() if rng.random() < share),
        }
        if command in DELETIONS:
            options["out_port"] = rng.choice((ofproto.OFPP_ANY, ofproto.OFPP_ANY, 1, 2))
            return flow_mod(**options, **MATCHES[number])
        actions = [output(rng.randrange(1, PORTS + 1)) for _ in range(rng.randrange(3))]
        instructions = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)] if actions else []
        if not everywhere and table + 1 < TABLES and rng.random() < 0.5:
            instructions.append(parser.OFPInstructionGotoTable(table + 1))
        return flow_mod(instructions=instructions, **options, **MATCHES[number])


class Ours:
    """The switch over a model of the card."""

    def __init__(self) -> None:
        self.card = ModelCard(PORTS, TABLES, exact=16, ternary=24)
        ports = [PortInfo(n, f"p{n}", bytes((2, 0, 0, 0, 0, n)), 10_000_000) for n in range(1, PORTS + 1)]
        self.switch = OpenFlowSwitch(HardwareDatapath(self.card, claim=2), 1, ports)
        self.raw: list[bytes] = []
        self.connection = self.switch.connect(lambda message, _: self.raw.append(message))
        self.do(HELLO)

    def do(self, message: bytes, milliseconds: int = 0) -> list[Any]:
        """What it says to a message, and while so much time goes by."""
        if message:
            self.switch.handle(self.connection, message)
        self.card.finish_all()
        self.card.pass_time(milliseconds * 10**6)
        self.switch.poll_events()
        found, self.raw = self.raw, []
        return [parsed(each) for each in found]


class Theirs:
    """Open vSwitch. Packets of a controller count at once, with nothing of them in a datapath."""

    def __init__(self, switch: OpenVSwitch) -> None:
        self._switch = switch
        words: list[str] = []
        for port in range(1, PORTS + 1):
            options = ["type=dummy", f"ofport_request={port}"]
            words += ["--", "add-port", BRIDGE, f"p{port}", "--", "set", "interface", f"p{port}", *options]
        switch.vsctl(*words)
        self._link = socket.socket(socket.AF_UNIX)
        self._link.settimeout(HANG_S)
        self._link.connect(switch.address.removeprefix("unix:"))
        self._stream = self._link.makefile("rb")
        self._link.sendall(HELLO)
        self._receive()
        self.send(serialized(parser.OFPSetConfig(PROTOCOL, 0, 128)))  # to be told of flows that are gone
        switch.appctl("time/stop")

    def close(self) -> None:
        self._stream.close()
        self._link.close()

    def do(self, message: bytes, milliseconds: int = 0, removed: int = 0) -> list[Any]:
        """As ``Ours.do``. It tells of flows that are gone when it likes to: at least so many are waited for."""
        found = self.send(message)
        if milliseconds:
            self._switch.appctl("time/warp", str(milliseconds))
        with self._switch.appctl_later("revalidator/wait"):
            found += self.send(MARK)
        found += self.send(b"")
        while sum(isinstance(each, parser.OFPFlowRemoved) for each in found) < removed:
            found.append(self._receive())
        return found

    def send(self, message: bytes) -> list[Any]:
        """What it says until it has answered a barrier."""
        self._link.sendall(message + BARRIER)
        found = []
        while not isinstance(each := self._receive(), parser.OFPBarrierReply):
            found.append(each)
        return found

    def _receive(self) -> Any:
        while True:
            head = self._stream.read(HEAD)
            message = parsed(head + self._stream.read(int.from_bytes(head[2:4], "big") - HEAD))
            if not isinstance(message, parser.OFPEchoRequest):
                return message
            self._link.sendall(serialized(parser.OFPEchoReply(PROTOCOL, data=message.data), message.xid))


def plain(message: Any) -> Any:
    """What is compared of a message: of a flow's age whole seconds, since time goes on in more than those."""
    if isinstance(message, parser.OFPErrorMsg):
        return "error", message.type, message.code
    if isinstance(message, parser.OFPFlowRemoved):
        return ("removed", message.reason, *_flow(message), message.packet_count, message.byte_count)
    if isinstance(message, parser.OFPFlowStats):
        counts = message.flags, message.packet_count, message.byte_count
        return ("flow", *_flow(message), *counts, str(message.instructions))
    return type(message).__name__


def flows_of(replies: list[Any]) -> list[Any]:
    """The flows that replies tell of, and what else there is among them."""
    stats = [flow for reply in replies for flow in getattr(reply, "body", ()) if flow.table_id < TABLES]
    return stats + [reply for reply in replies if not isinstance(reply, parser.OFPFlowStatsReply)]


def _flow(of: Any) -> tuple[Any, ...]:
    match = str(sorted(of.match.items()))
    return of.table_id, of.priority, match, of.cookie, of.idle_timeout, of.hard_timeout, of.duration_sec


@pytest.fixture(scope="module")
def theirs() -> Iterator[Theirs]:
    with open_vswitch() as switch, closing(Theirs(switch)) as found:
        yield found


@pytest.mark.parametrize(("seed", "sequences"), [(1, 100), soak(2, 2000)])
def test_flow_mods_do_what_they_do_in_open_vswitch(theirs: Theirs, seed: int, sequences: int) -> None:
    for number in range(sequences):
        steps = Steps(random.Random(f"{seed} {number}"))
        ours, log = Ours(), []
        for step, message, milliseconds in [*(steps.draw() for _ in range(STEPS)), END]:
            log.append(step)
            mine = ours.do(message, milliseconds)
            removed = sum(isinstance(each, parser.OFPFlowRemoved) for each in mine)
            answers = mine, theirs.do(message, milliseconds, removed)
            there = ours.do(ALL_FLOWS), theirs.send(ALL_FLOWS)
            found, wanted = (Counter(map(plain, each)) for each in map(operator.add, answers, map(flows_of, there)))
            if found != wanted:
                title = f"sequence {number} of seed {seed}:"
                pytest.fail("\n".join((title, *log, f"too much: {found - wanted}", f"missing: {wanted - found}")))
