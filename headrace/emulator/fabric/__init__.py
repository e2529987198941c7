"""What joins the PHYs of nodes: each PHY is a cable (veth) to an interface of the fabric, ``p0`` to ``pN``, in a
network of the emulator's own.

A kind of fabric carries frames between two ports while they are joined, and drops all others. PHYs lose their carrier
with their link. What goes to a PHY is held to the link's rate, lost as the link loses (each frame by itself) and
delayed, at the fabric's port towards the receiver: by the kernel and a process that delays, or by switch cards.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, Self

from headrace.emulator.kernel import batch
from headrace.emulator.radio.state import LinkState

Ends = tuple[int, int]
"""Two ports, from 0."""

_EVERY = "1,6 0 0 4294967295"  # classic BPF: it matches
ALWAYS_DROP = "1,6 0 0 2"
"""Classic BPF: return TC_ACT_SHOT."""
_DELAY_STEP_NS = 1000  # of less no fabric with real programs makes a difference, and each change takes time
_FASTEST_BPS = 1e11  # of a token bucket


class Arriving(NamedTuple):
    """What a port holds the frames to that leave it for their receiver: bits per second (infinite: as they come), the
    part that is lost before that, and ns of delay."""

    rate_bps: float
    loss: float
    delay_ns: int


Changes = Mapping[int, tuple[Arriving, Arriving]]
"""Ports, and what they have held frames to so far and shall from now on."""


class Fabric(AbstractContextManager["Fabric"], Protocol):
    """A kind of fabric."""

    def join(self, lost: Sequence[Ends], found: Sequence[Ends]) -> None:
        """No more frames between the lost pairs of ports, from now on between the found ones. Raises HeadraceError."""

    def hold(self, changes: Changes, gone: Sequence[int]) -> None:
        """Ports hold what leaves them to something else; those that are ``gone`` have lost their link, and are down.
        Raises HeadraceError."""

    def not_applied(self) -> list[str]:
        """What of links' states it hasn't made true, in words."""

    def delayed(self) -> dict[str, Any] | None:
        """How it has delayed frames, where a process does: see ``DelayLine``. Raises HeadraceError."""

    def files(self) -> Iterable[int]:
        """File descriptors to look at, by ``attend``, when they can be read."""

    def attend(self) -> None:
        """Does what is due. Raises HeadraceError when the fabric has gone."""

    def ended(self, pid: int) -> str:
        """What there is to say of the end of a process; nothing: it is none of the fabric's."""


def port_name(port: int) -> str:
    """The fabric's interface of a port."""
    return f"p{port}"


def redirect(here: str, *there: str, side: str = "ingress") -> str:
    """What ``tc`` is told so that all that an interface receives (``egress``: sends) is sent by another one instead, or
    by several."""
    copies = "".join(f"action mirred egress mirror dev {name} " for name in there[:-1])
    return set_filter(here, side, 1, _EVERY, f"{copies}action mirred egress redirect dev {there[-1]}")


def drop_the_rest(name: str) -> list[str]:
    """What ``tc`` is told so that nothing else that a new interface receives reaches the kernel."""
    return [f"qdisc add dev {name} clsact", set_filter(name, "ingress", 9, ALWAYS_DROP, "direct-action")]


def set_filter(name: str, side: str, preference: int, program: str, action: str) -> str:
    """What ``tc`` is told so that an interface has a filter in classic BPF, instead of one there may be."""
    return f"filter replace dev {name} {side} pref {preference} handle 1 bpf bytecode '{program}' {action}"


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
        gone = [port for ends in lost for port in self._own(ends)]
        batch("ip", [f"link set {port_name(port)} down" for port in gone])
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
        if changes or gone:
            self.fabric.hold(changes, gone)
        self.fabric.join(lost, found)
        batch("ip", [f"link set {port_name(port)} up" for ends in found for port in self._own(ends)])

    def _own(self, ends: Ends) -> list[int]:
        return [port for port in ends if port in self._set]
