"""What nodes could send to each other through virtual functions of the switch card, if they took no time themselves:
loads of the emulator's study that are modelled.

Cycles are the RTL's at 250 MHz; host memory answers reads 1 us after they come, and PCI Express is not in between. What
messages that the card cuts take differs a little from run to run: their drivers' doorbells come in wall time.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headrace.card.functions import Side
from headrace.errors import HeadraceError
from headrace.evaluate.loads import host, host_card, switch
from headrace.evaluate.loads.host import Carried, Latency
from headrace.evaluate.loads.host_card import HostCard
from headrace.evaluate.loads.host_paths import Driver
from headrace.evaluate.loads.ovs_rates import HEADERS, tcp_packet
from headrace.evaluate.loads.switch import Filtered

MESSAGE = 65_000
"""Bytes of TCP data that a node hands over in one piece."""

_MESSAGES = 16
_VIRTIO = struct.Struct("<BBHHHHH")
_NEEDS_CHECKSUM, _GSO_TCPV4, _TCP_AT, _CHECKSUM_AT = 1, 1, 34, 16
_FEATURES = 1 << 0 | 1 << 11  # VIRTIO_NET_F_CSUM, _HOST_TSO4
_TURN_S = 0.002  # of wall time between looks at what has arrived
_PATIENCE = 20_000  # of these


@dataclass(frozen=True)
class Cut:
    """Messages that functions handed over in one piece at the same time, each to a function of its own, and the card
    cut into packets of ``segment`` bytes of TCP data: bits of data a second that come of each stream. ``lost``: packets
    for which a receiver had no room, as they come faster than its queue takes them."""

    segment: int
    messages: int
    packets: int
    lost: int
    bps: tuple[float, ...]


def run(kind: str, **arguments: Any) -> Cut | Carried | Latency | Filtered:
    """One of the loads by its name, the study's of virtual functions and the FIR filter included."""
    if kind == "cut":
        return cut(**arguments)
    if kind == "fir":
        return switch.fir(**arguments)
    found: Carried | Latency = host.run(kind, **arguments)
    return found


def build() -> None:
    """Builds the cards, if need be."""
    host_card.build()
    switch.build(1)


def cut(segment: int, streams: int = 1, messages: int = _MESSAGES) -> Cut:
    """So many messages of each stream. Raises HeadraceError where packets neither come nor are counted as lost."""
    most = host_card.parameters()["FUNCTIONS"] // 2
    if not 1 <= streams <= most:
        raise HeadraceError(f"{streams} streams: the card has functions for {most}")
    header = _VIRTIO.pack(_NEEDS_CHECKSUM, _GSO_TCPV4, HEADERS, segment, _TCP_AT, _CHECKSUM_AT, 0)
    message = tcp_packet("10.0.0.1", "10.0.0.2", 5_000, 5_001, 0x18, MESSAGE)
    with tempfile.TemporaryDirectory() as folder, host_card.running({2 * n: 2 * n + 1 for n in range(streams)}) as card:
        sinks = [card.link(2 * n + 1, "memory") for n in range(streams)]
        with ExitStack() as stack:
            drivers = []
            for number in range(streams):
                path = Path(folder) / f"{number}"
                card.plugs.plug(2 * number, f"vhost:{path}")
                driver = Driver(path, card.plugs.poll, len(message) + _VIRTIO.size, messages, _FEATURES)
                drivers.append(stack.enter_context(closing(driver)))
            for driver in drivers:
                driver.send([message] * messages, header)
            packets = messages * -(-MESSAGE // segment)
            lost = _run_until(card, sinks, packets * streams)
            found = [_rate(card, sink) for sink in sinks]
    return Cut(segment, messages, packets * streams, lost, tuple(found))


def _run_until(card: HostCard, sinks: Sequence[int], packets: int) -> int:
    """Until all packets have come or were lost; gives how many were."""
    for _ in range(_PATIENCE):
        lost = sum(
            card.functions.counters(Side.RECEIVE, function).dropped_full for function in range(1, 2 * len(sinks), 2)
        )
        if sum(card.received(sinks)) + lost >= packets:
            return lost
        card.card.run("interrupt", wall_s=_TURN_S)
        card.plugs.poll()
    said = "".join(f"; {line}" for line in card.told)
    raise HeadraceError(f"{card.received(sinks)} of {packets} packets have come, {lost} were lost{said}")


def _rate(card: HostCard, sink: int) -> float:
    """Bits of data a second, from the first arrival on."""
    got = card.card.received(sink)
    data = np.array([int.from_bytes(each.data[16:18], "big") - (HEADERS - 14) for each in got])
    times = np.array([each.timestamp_ns for each in got])
    return float(8 * data[times > times[0]].sum() / (times[-1] - times[0]) * 1e9)
