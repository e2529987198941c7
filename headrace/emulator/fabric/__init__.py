"""What joins the PHYs of nodes: each PHY is a cable (veth) to an interface of the fabric, ``p0`` to ``pN``, in a
network of the emulator's own.

A kind of fabric carries frames between two ports while they are joined, and drops all others. PHYs lose their carrier
with their link. What goes to a PHY is held to the link's rate and lost as the link loses (each frame by itself), at the
fabric's port towards the receiver: by the kernel, or by the switch card, which delays it, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, Self

from headrace.emulator.kernel import batch
from headrace.emulator.radio.state import LinkState
from headrace.errors import HeadraceError

Ends = tuple[int, int]
"""Two ports, from 0."""

NOT_APPLIED = "links have no delay: the rtl fabric has it, with LINKS = 1"

_EVERY = "1,6 0 0 4294967295"  # classic BPF: it matches
_ALWAYS_DROP = "1,6 0 0 2"  # classic BPF: return TC_ACT_SHOT
_BURST_BYTES = 3200
_BURST_S = 0.004
_QUEUE_S = 0.1
_DELAY_STEP_NS = 1000  # of less no fabric with real programs makes a difference, and each change takes time
_FASTEST_BPS = 1e11  # of a token bucket
_MODULO = 1 << 32


class Arriving(NamedTuple):
    """What a port holds the frames to that leave it for their receiver: bits per second (infinite: as they come), the
    part that is lost before that, and ns of delay."""

    rate_bps: float
    loss: float
    delay_ns: int


Changes = Mapping[int, tuple[Arriving, Arriving]]
"""Ports, and what they have held frames to so far and shall from now on."""


class Fabric(AbstractContextManager["Fabric"], Protocol):
    """A kind of fabric. ``pid``: its process, if it is one."""

    pid: int | None

    def join(self, lost: Sequence[Ends], found: Sequence[Ends]) -> None:
        """No more frames between the lost pairs of ports, from now on between the found ones. Raises HeadraceError."""

    def hold(self, changes: Changes) -> None:
        """Ports hold what leaves them to something else. Raises HeadraceError."""

    def not_applied(self) -> list[str]:
        """What of links' states it hasn't made true, in words."""

    def files(self) -> Iterable[int]:
        """File descriptors to look at, by ``attend``, when they can be read."""

    def attend(self) -> None:
        """Does what is due. Raises HeadraceError when the fabric has gone."""

    def why(self) -> str:
        """What it said last, when its process has ended."""


class HeldByKernel:
    """A fabric whose ports' interfaces hold frames to rate (a token bucket) and loss, not to delay."""

    def hold(self, changes: Changes) -> None:
        """Changes filters and queues at the interfaces' egress. Raises HeadraceError."""
        batch("tc", [line for port, states in changes.items() for line in _lines(port, *states)])

    def not_applied(self) -> list[str]:
        """Delay."""
        return [NOT_APPLIED]


def port_name(port: int) -> str:
    """The fabric's interface of a port."""
    return f"p{port}"


def open_fabric(kind: str, ports: int, parameters: Mapping[str, Any]) -> Fabric:
    """A fabric whose interfaces are there. Raises HeadraceError."""
    if kind == "software":
        from headrace.emulator.fabric.software import SoftwareFabric

        return SoftwareFabric()
    from headrace.emulator.fabric.switches import CardFabric, OvsFabric

    return OvsFabric(ports) if kind == "ovs" else CardFabric(ports, parameters)


def check(kind: str, ports: int, parameters: Mapping[str, Any]) -> None:
    """Says, before anything is begun, what can't be; builds the card. Raises HeadraceError."""
    if kind != "rtl" and parameters:
        raise HeadraceError(f"fabric_parameters: {kind} has none", 2)
    if kind == "ovs":
        from headrace.net import ovs

        if reason := ovs.available():
            raise HeadraceError(reason)
    if kind == "rtl":
        from headrace.emulator.fabric.switches import build_card_for

        build_card_for(ports, parameters)


def redirect(here: str, *there: str) -> str:
    """What ``tc`` is told so that all that an interface receives is sent by another one, or by several."""
    copies = "".join(f"action mirred egress mirror dev {name} " for name in there[:-1])
    return _filter(here, "ingress", 1, _EVERY, f"{copies}action mirred egress redirect dev {there[-1]}")


def drop_the_rest(name: str) -> list[str]:
    """What ``tc`` is told so that nothing else that a new interface receives reaches the kernel."""
    return [f"qdisc add dev {name} clsact", _filter(name, "ingress", 9, _ALWAYS_DROP, "direct-action")]


class Links:
    """The ports of a fabric and how their links are."""

    def __init__(self, fabric: Fabric, ports: Iterable[int]) -> None:
        """``ports``: those that are here. Raises HeadraceError."""
        self.fabric = fabric
        self._set = dict.fromkeys(ports, Arriving(math.inf, 0.0, 0))

    @staticmethod
    def prepare(ports: Iterable[int]) -> None:
        """Before there is a fabric: nothing passes by the kernel. Raises HeadraceError."""
        batch("tc", [line for port in ports for line in drop_the_rest(port_name(port))])

    def __enter__(self) -> Self:
        self.fabric.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.fabric.__exit__(*error)

    def change(self, lost: Sequence[Ends], found: Sequence[Ends], states: Mapping[Ends, LinkState]) -> None:
        """Takes links away, makes new ones, and holds all to their states. Raises HeadraceError."""
        batch("ip", [f"link set {port_name(port)} down" for ends in lost for port in self._own(ends)])
        changes = {}
        for ends, state in states.items():
            for port, way in zip(ends, state.arriving(), strict=True):
                if port not in self._set:
                    continue
                limited = 0 < way.rate_bps < _FASTEST_BPS
                # Frames are lost before they wait: what they would take of the rate is taken from it
                rate_bps = way.rate_bps * (1 - way.loss) if limited else math.inf
                before = self._set[port]
                same = abs(state.delay_ns - before.delay_ns) < _DELAY_STEP_NS
                wanted = Arriving(rate_bps, way.loss, before.delay_ns if same else state.delay_ns)
                if wanted != before:
                    changes[port] = before, wanted
                    self._set[port] = wanted
        if changes:
            self.fabric.hold(changes)
        self.fabric.join(lost, found)
        batch("ip", [f"link set {port_name(port)} up" for ends in found for port in self._own(ends)])

    def _own(self, ends: Ends) -> list[int]:
        return [port for port in ends if port in self._set]


def queue_bytes(rate_bps: float) -> int:
    """That wait for a rate before others are dropped: of 0.1 s, or a few frames."""
    return max(10 * _BURST_BYTES, round(rate_bps / 8 * _QUEUE_S))


def _lines(port: int, before: Arriving, after: Arriving) -> list[str]:
    name, lines = port_name(port), []
    if before.loss != after.loss:
        lines.append(
            _filter(name, "egress", 1, _dropping(after.loss), "direct-action")
            if after.loss > 0
            else f"filter del dev {name} egress pref 1"
        )
    if before.rate_bps != after.rate_bps:
        if math.isinf(after.rate_bps):
            lines.append(f"qdisc del dev {name} root")
        else:
            burst = max(_BURST_BYTES, round(after.rate_bps / 8 * _BURST_S))
            limit = burst + queue_bytes(after.rate_bps)
            rate = max(8, round(after.rate_bps))
            lines.append(f"qdisc replace dev {name} root tbf rate {rate}bit burst {burst} limit {limit}")
    return lines


def _filter(name: str, side: str, preference: int, program: str, action: str) -> str:
    return f"filter replace dev {name} {side} pref {preference} handle 1 bpf bytecode '{program}' {action}"


def _dropping(loss: float) -> str:
    """Classic BPF that returns TC_ACT_SHOT with this probability, otherwise TC_ACT_OK: a random number below it?"""
    below = min(round(loss * _MODULO), _MODULO)
    if below == _MODULO:
        return _ALWAYS_DROP
    return f"4,32 0 0 {_MODULO - 4096 + 56},53 1 0 {below},6 0 0 2,6 0 0 0"  # SKF_AD_OFF + SKF_AD_RANDOM
