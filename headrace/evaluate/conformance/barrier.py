"""What a barrier's answer is worth: packets that come after it, and still take the way of before."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.evaluate.conformance.device import PORTS, Device
from headrace.evaluate.conformance.openflow import Connection, datapath, delete_flows, ofp, parser

_IN, _OLD, _NEW = 1, 2, 3
_BEFORE = 8  # packets that take the old way first, so that a switch with a cache has it there


class Change(Enum):
    """How a flow gets another output."""

    MODIFY = "modify"
    REPLACE = "delete all and add"


@dataclass(frozen=True)
class Honesty:
    """What became of the first packet after the barrier: the new way, the old one, or lost. Adds up to the trials."""

    new: int
    stale: int
    lost: int


def measure(device: Device, change: Change, trials: int) -> Honesty:
    """In each trial a flow to one port has packets, is changed to another port, a barrier is answered, and at once a
    packet comes in. Time is the switch's own."""
    counts = [0, 0, 0]
    with Connection(device.connect()) as connection:
        for trial in range(trials):
            connection.clear()
            connection.apply([_flow(ofp.OFPFC_ADD, _OLD)])
            device.enforce()
            for number in range(_BEFORE):
                device.send(_IN, [_frame(trial, number)])
                device.settle()
            for port in PORTS:
                device.received(port)
            connection.apply(_change(change))
            device.send(_IN, [_frame(trial, _BEFORE)])
            device.settle()
            counts[0 if device.received(_NEW) else 1 if device.received(_OLD) else 2] += 1
    return Honesty(*counts)


def _change(change: Change) -> list[Any]:
    if change is Change.MODIFY:
        return [_flow(ofp.OFPFC_MODIFY, _NEW)]
    return [delete_flows(), _flow(ofp.OFPFC_ADD, _NEW)]


def _flow(command: int, port: int) -> Any:
    output = parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, [parser.OFPActionOutput(port)])
    match = parser.OFPMatch(in_port=_IN)
    return parser.OFPFlowMod(
        datapath,
        command=command,
        match=match,
        instructions=[output],
        out_port=ofp.OFPP_ANY,
        out_group=ofp.OFPG_ANY,
    )


def _frame(trial: int, number: int) -> bytes:
    """Of 64 bytes with FCS, an EtherType for experiments, and its numbers."""
    return (b"\x02" * 12 + b"\x88\xb5" + trial.to_bytes(4, "big") + bytes([number])).ljust(60, b"\0")
