"""Traffic that a user asks for: streams of messages between two nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.emulator.processes.streams import MODELS
from headrace.emulator.processes.wire import MAX_BODY
from headrace.emulator.tables import OUT_OF_SIZE, out_of_size
from headrace.errors import HeadraceError

KINDS = tuple(MODELS)
KEYS = ("from", "to", "kind", "size", "rate_bps", "interval_s", "count", "duration_s", "start_s")
_LONGEST_S = 1e6


@dataclass(frozen=True)
class Demand:
    """A stream from ``source`` to ``destination`` (indices of nodes): messages of ``size`` bytes, ``interval_s``
    seconds apart (0: one after the other), from ``start_s`` on, ``count`` of them or for ``duration_s``, whichever ends
    first (None: without an end)."""

    name: str
    source: int
    destination: int
    kind: str
    size: int
    interval_s: float
    count: int | None = None
    duration_s: float | None = None
    start_s: float = 0.0


def read_demand(name: str, table: Mapping[str, Any], nodes: Sequence[str]) -> Demand:
    """From a table of a scenario, or a request. Raises HeadraceError with the key."""
    for key in table:
        if key not in KEYS:
            raise HeadraceError(f"{key}: no such key: there are {', '.join(KEYS)}", 2)
    ends = []
    for key in ("from", "to"):
        if table.get(key) not in nodes:
            raise HeadraceError(f"{key}: no node {table[key]}" if key in table else f"no key {key}: a node", 2)
        ends.append(nodes.index(table[key]))
    if ends[0] == ends[1]:
        raise HeadraceError("to: it is the node that sends", 2)
    kind = table.get("kind", KINDS[0])
    if kind not in KINDS:
        raise HeadraceError(f"kind: {kind!r} is none of {', '.join(KINDS)}", 2)
    model = MODELS[kind]
    size = int(_number(table, "size", model.size, 1, MAX_BODY, whole=True))
    if "rate_bps" in table and "interval_s" in table:
        raise HeadraceError("rate_bps: give either rate_bps or interval_s", 2)
    if "rate_bps" in table:
        interval_s = size * 8 / _number(table, "rate_bps", 0, 1, 1e12)
    else:
        interval_s = _number(table, "interval_s", model.interval_s, 0, _LONGEST_S)
    if not interval_s and not model.reliable:
        raise HeadraceError(f"interval_s: {kind} isn't acknowledged before the next message: it must be above 0", 2)
    return Demand(
        name,
        ends[0],
        ends[1],
        kind,
        size,
        interval_s,
        int(_number(table, "count", 0, 1, 1 << 31, whole=True)) if table.get("count") is not None else None,
        _number(table, "duration_s", 0, 1e-3, _LONGEST_S) if table.get("duration_s") is not None else None,
        _number(table, "start_s", 0.0, 0, _LONGEST_S),
    )


def _number(
    table: Mapping[str, Any], key: str, default: float, low: float, high: float, *, whole: bool = False
) -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not low <= value <= high:
        raise HeadraceError(f"{key}: {value} is not a {'whole ' if whole else ''}number from {low:g} to {high:g}", 2)
    if out_of_size(value):
        raise HeadraceError(f"{key}: {OUT_OF_SIZE}", 2)
    return value
