"""os-ken's OpenFlow 1.3 messages on a controller's side, for tests of the agent: an implementation that is not ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import os_ken
from fake_datapath import FakeDatapath
from os_ken.ofproto import ofproto_parser
from os_ken.ofproto import ofproto_v1_3 as ofproto
from os_ken.ofproto import ofproto_v1_3_parser as parser
from os_ken.ofproto.ofproto_protocol import ProtocolDesc

from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.flows import Oxm, PacketIn
from headrace.cards.switch.ports import PortInfo

PROTOCOL = ProtocolDesc(ofproto.OFP_VERSION)
OS_KEN_TESTS = Path(os_ken.__file__).parent / "tests"
"""os-ken's own test data, which its wheel carries."""


def switch(datapath: FakeDatapath | None = None, **options: Any) -> OpenFlowSwitch:
    """One over a datapath in memory, by default with 4 ports of 10 Gb/s and 4 tables."""
    datapath = datapath or FakeDatapath()
    ports = [PortInfo(n, f"p{n}", bytes((2, 0, 0, 0, 0, n)), 10_000_000) for n in range(1, datapath.ports + 1)]
    return OpenFlowSwitch(datapath, 0x00AB_CDEF, ports, **options)


def serialized(message: Any, xid: int = 7) -> bytes:
    """A message of os-ken's as bytes."""
    message.xid = xid
    message.serialize()
    return bytes(message.buf)


def parsed(message: bytes) -> Any:
    """A switch's message as os-ken reads it."""
    version, kind, length, xid = ofproto_parser.header(message)
    assert length == len(message)
    return ofproto_parser.msg(PROTOCOL, version, kind, length, xid, message)


class Controller:
    """A controller without a socket. ``received`` has what it was sent and nobody has taken yet."""

    def __init__(self, of: OpenFlowSwitch, greets: bool = True) -> None:
        self.switch = of
        self.raw: list[bytes] = []
        self.connection = of.connect(lambda message, _: self.raw.append(message))
        if greets:
            self.send(parser.OFPHello(PROTOCOL))
            self.take()

    def take(self) -> list[Any]:
        """What was received since it was last asked."""
        messages = [parsed(message) for message in self.raw]
        self.raw.clear()
        return messages

    def send(self, message: Any, xid: int = 7) -> list[Any]:
        """Sends a message of os-ken's or bytes, and takes what comes back."""
        self.switch.handle(self.connection, message if isinstance(message, bytes) else serialized(message, xid))
        return self.take()

    def fine(self, message: Any) -> None:
        """Sends a message that is not answered."""
        assert self.send(message) == []

    def refused(self, message: Any) -> tuple[int, int]:
        """Type and code of the error that a message is answered with."""
        data = message if isinstance(message, bytes) else serialized(message)
        (error,) = self.send(data)
        assert isinstance(error, parser.OFPErrorMsg)
        assert error.xid == int.from_bytes(data[4:8], "big")
        assert error.data[:64] == data[:64]
        return error.type, error.code


_OPTIONS = ("cookie", "cookie_mask", "table_id", "command", "idle_timeout", "hard_timeout", "priority", "buffer_id")
_OPTIONS += ("out_port", "out_group", "flags")


def flow_mod(actions: list[Any] | None = None, *, instructions: list[Any] | None = None, **options: Any) -> Any:
    """A flow mod with these actions to apply; what is not an option of it is a match field."""
    given = {"out_port": ofproto.OFPP_ANY, "out_group": ofproto.OFPG_ANY}
    given |= {name: options.pop(name) for name in _OPTIONS if name in options}
    if instructions is None:
        instructions = []
        if actions is not None:
            instructions.append(parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions))
    return parser.OFPFlowMod(PROTOCOL, match=parser.OFPMatch(**options), instructions=instructions, **given)


def output(port: int, max_len: int = ofproto.OFPCML_NO_BUFFER) -> Any:
    """An action."""
    return parser.OFPActionOutput(port, max_len)


def oxm(field: str, value: Any) -> Oxm:
    """A match field as os-ken's users write it, with what os-ken makes of it."""
    number, data, mask = ofproto.oxm_from_user(field, value)
    return Oxm(number & 0x7F, int.from_bytes(data, "big"), None if mask is None else int.from_bytes(mask, "big"))


def stats(controller: Controller, **match: Any) -> list[Any]:
    """What is told of flows; what is not an option of the request is a match field."""
    out = {"out_port": ofproto.OFPP_ANY, "out_group": ofproto.OFPG_ANY}
    given = {name: match.pop(name) for name in ("cookie", "cookie_mask", "table_id", *out) if name in match}
    fields = {"table_id": 255, "cookie": 0, "cookie_mask": 0, **out, **given}
    request = parser.OFPFlowStatsRequest(PROTOCOL, 0, match=parser.OFPMatch(**match), **fields)
    (reply,) = controller.send(request)
    return list(reply.body)


def group_mod(number: int, buckets: list[list[Any]], kind: int = ofproto.OFPGT_ALL, **options: Any) -> Any:
    """A group with these lists of actions."""
    command = options.pop("command", ofproto.OFPGC_ADD)
    made = [parser.OFPBucket(actions=actions, **options) for actions in buckets]
    return parser.OFPGroupMod(PROTOCOL, command, kind, number, made)


def meter_mod(number: int, command: int = ofproto.OFPMC_ADD, flags: int = ofproto.OFPMF_KBPS, bands: int = 1) -> Any:
    """A meter with so many drop bands."""
    made = [parser.OFPMeterBandDrop(rate=100, burst_size=0)] * bands
    return parser.OFPMeterMod(PROTOCOL, command, flags, number, made)


def port_mod(number: int, config: int, mask: int, mac: int | None = None, advertise: int = 0) -> Any:
    """Of a port of ``switch``."""
    address = f"02:00:00:00:00:{mac or number:02x}"
    return parser.OFPPortMod(PROTOCOL, number, address, config, mask, advertise)


def packet_out(actions: list[Any], in_port: int = ofproto.OFPP_CONTROLLER, data: bytes = bytes(60)) -> Any:
    """A packet of a controller's."""
    return parser.OFPPacketOut(PROTOCOL, ofproto.OFP_NO_BUFFER, in_port, actions, data)


def arrive(of: Controller, reason: int, **options: Any) -> list[Any]:
    """A packet of 200 bytes for controllers."""
    datapath = of.switch.datapath
    assert isinstance(datapath, FakeDatapath)
    given = {"in_port": 3, "metadata": 0, "flow": None} | options
    datapath.happened.append(PacketIn(bytes(range(200)), 200, reason, **given))
    of.switch.poll_events()
    return of.take()
