"""Open vSwitch as an oracle: what it sends where, byte for byte, for packets into a switch with some flows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import groupby

from headrace.errors import HeadraceError
from headrace.evaluate.loads.flow_sets import PORTS, FlowSet, Packet
from headrace.net.ovs import OpenVSwitch, StreamPorts, ofctl

Sent = tuple[int, bytes]
"""A port, and a packet that came out of it."""

_MARK = bytes.fromhex("0e68656164720e7261636588b6") + bytes(47)
_MARK_FLOW = "priority=65535,dl_dst=0e:68:65:61:64:72,dl_src=0e:72:61:63:65:88,actions=all,in_port"
_AHEAD = 8  # packets, few enough that no queue of Open vSwitch's overflows
_GIVE_UP_S = 600.0  # as long as a busy machine may take


class OvsOracle:
    """Ports 1 to 4 of a private Open vSwitch with a dummy datapath."""

    def __init__(self, switch: OpenVSwitch) -> None:
        self._switch = switch
        switch.vsctl("set", "Open_vSwitch", ".", "other_config:vlan-limit=2")
        self._ports = StreamPorts(switch, PORTS)

    def __enter__(self) -> OvsOracle:
        return self

    def __exit__(self, *_: object) -> None:
        self._ports.__exit__()

    def results(self, flow_set: FlowSet, packets: Sequence[Packet]) -> list[list[Sent]]:
        """What each packet becomes in a switch with these flows and no others: by port, in the order of each port.

        Raises HeadraceError where Open vSwitch refuses them or doesn't answer.
        """
        install(self._switch.address, flow_set)
        self._switch.ofctl("add-flow", _MARK_FLOW)
        self._switch.forget_flows()
        found: list[list[Sent]] = []
        for port, group in groupby(packets, key=lambda packet: packet.in_port):
            together = list(group)
            for at in range(0, len(together), _AHEAD):
                found += self._pass(port, [packet.data for packet in together[at : at + _AHEAD]])
        return found

    def _pass(self, port: int, packets: Sequence[bytes]) -> list[list[Sent]]:
        """Packets into one port, a mark behind each, which comes out of every port: so it is known whose a copy is."""
        self._ports.send(port, [data for packet in packets for data in (packet, _MARK)])
        found: list[list[Sent]] = [[] for _ in packets]
        deadline = time.monotonic() + _GIVE_UP_S
        for out in range(1, PORTS + 1):
            number = 0
            while number < len(packets):
                for data in self._ports.receive(out, _GIVE_UP_S):
                    if data == _MARK:
                        number += 1
                    else:
                        found[number].append((out, data))
                if time.monotonic() > deadline:
                    raise HeadraceError("Open vSwitch does not answer")
        return found


def install(address: str, flow_set: FlowSet) -> None:
    """Makes these the only groups and flows of a switch. ``address``: as ovs-ofctl writes it.

    Raises HeadraceError where it refuses them.
    """
    ofctl(address, "del-flows")
    ofctl(address, "del-groups")
    ofctl(address, "add-groups", "-", text=flow_set.groups)
    ofctl(address, "add-flows", "-", text=flow_set.flows)
