"""Ports whose frames are held to a link by the kernel: to its loss by a filter, to its rate by a token bucket. A delay
line holds them to its delay, behind both, so that what is on its way is what the rate lets through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from headrace.emulator.fabric import ALWAYS_DROP, Arriving, Changes, drop_the_rest, port_name, redirect, set_filter
from headrace.emulator.fabric.delays import LEAST_NS
from headrace.emulator.fabric.line import DelayLine, entry
from headrace.emulator.kernel import batch

_BURST_BYTES = 3200
_BURST_S = 0.004
_QUEUE_S = 0.1
_MODULO = 1 << 32
_FREE = Arriving(math.inf, 0.0, 0)


class HeldByKernel:
    """A fabric whose ports' interfaces hold frames. A delay line is begun once a delay is long enough; a port that has
    had such a delay keeps its place there."""

    def __init__(self) -> None:
        self._line: DelayLine | None = None
        self._short = False  # delays

    def hold(self, changes: Changes, gone: Sequence[int]) -> None:
        """Changes filters, queues and delays. Raises HeadraceError."""
        self._short |= any(LEAST_NS / 10 <= after.delay_ns < LEAST_NS for _, after in changes.values())
        new = [port for port, (_, after) in changes.items() if after.delay_ns >= LEAST_NS and not self._delays(port)]
        if new:
            self._line = self._line or DelayLine()
            self._line.add(new)
            batch("tc", [line for port in new for line in drop_the_rest(entry(port))])
        if self._line is not None:
            delays = {port: after.delay_ns for port, (_, after) in changes.items() if self._delays(port)}
            gone = [port for port in gone if self._delays(port)]
            batch("ip", [f"link set {entry(port)} down" for port in gone])  # what waits for the rate is lost as well
            if delays or gone:
                self._line.change(delays, gone)
            batch("ip", [f"link set {entry(port)} up" for port in gone])
        lines = []
        for port, (before, after) in changes.items():
            name = entry(port) if self._delays(port) else port_name(port)
            lines += _lines(name, _FREE if port in new else before, after)
        batch("tc", lines + [redirect(port_name(port), entry(port), side="egress") for port in new])

    def _delays(self, port: int) -> bool:
        return self._line is not None and port in self._line.ports

    def not_applied(self) -> list[str]:
        """Delays that are shorter than what it takes to delay."""
        return [f"delays below {LEAST_NS / 1e6:g} ms were left out"] * self._short

    def delayed(self) -> dict[str, Any] | None:
        """Of the delay line. Raises HeadraceError."""
        return None if self._line is None else self._line.report()

    def ended(self, pid: int) -> str:
        """The delay line may have."""
        return self._line.why() if self._line is not None and pid == self._line.pid else ""

    def close(self) -> None:
        """Ends the delay line."""
        if self._line is not None:
            self._line.close()


def queue_bytes(rate_bps: float) -> int:
    """That wait for a rate before others are dropped: of 0.1 s, or a few frames."""
    return max(10 * _BURST_BYTES, round(rate_bps / 8 * _QUEUE_S))


def _lines(name: str, before: Arriving, after: Arriving) -> list[str]:
    lines = []
    if before.loss != after.loss:
        lines.append(
            set_filter(name, "egress", 1, _dropping(after.loss), "direct-action")
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


def _dropping(loss: float) -> str:
    """Classic BPF that returns TC_ACT_SHOT with this probability, otherwise TC_ACT_OK: a random number below it?"""
    below = min(round(loss * _MODULO), _MODULO)
    if below == _MODULO:
        return ALWAYS_DROP
    return f"4,32 0 0 {_MODULO - 4096 + 56},53 1 0 {below},6 0 0 2,6 0 0 0"  # SKF_AD_OFF + SKF_AD_RANDOM
