"""The points of the host interface's study."""

from __future__ import annotations

from typing import Any

from headrace.evaluate.loads import host_card, pcie_link
from headrace.evaluate.loads.pcie_link import GENERATIONS
from headrace.evaluate.study import Point
from headrace.evaluate.study.host_published import WINDOW

PAYLOADS = (128, 256, 512)
WINDOWS = (1, 2, 4, 8, 16, 32, 64)
TRANSFERS = (64, 256, 1_024, 4_096, 16_384, 65_536)
LARGEST = 1 << 20  # of the thesis' transfers
LANES = (4, 8, 16)
WIDTH, WIDEST = 256, 512  # bits of the core: the thesis' link, and all links
SIZES = (64, 128, 256, 512, 1_024, 1_518)
MODERATIONS = ((1, 0), (4, 20_000), (16, 20_000), (64, 50_000))
"""Packets that an interrupt waits for, and ns that it waits at most."""
GAPS_NS = (500.0, 5_000.0)

GENERATION, STANDARD_LANES, PAYLOAD = 3, 8, 256
_BYTES = 1 << 18  # that a point moves


def all_points(full: bool) -> list[Point]:
    """All of them, of ``host.run``. ``full``: more packets."""
    found = [_pcie("payloads", [_settings(kind, 4_096, payload=each) for each in PAYLOADS for kind in _KINDS])]
    found += [_pcie("windows", [_settings("read", 65_536, window=each) for each in WINDOWS])]
    for size in (*TRANSFERS, LARGEST):
        settings = [_settings("read", size, alone=True, window=1)] if size < LARGEST else []
        settings += [_settings(kind, size) for kind in (*_KINDS, "both")] if size < LARGEST else []
        settings += [_settings(kind, size, alone=True, window=WINDOW, descriptor=True) for kind in _KINDS]
        found += [_pcie("transfers", settings)]
    for generation in GENERATIONS:
        wires = [(kind, pcie_link.wire(generation, lane)) for lane in LANES for kind in _KINDS]
        settings = [_settings(kind, 65_536, wire=wire) for kind, wire in wires]
        found += [_pcie("links", settings, WIDEST, generation=generation, lanes=LANES)]
    found += [
        Point("latencies", {"kind": "latency", "size": size, "read_latency_ns": latency})
        for latency in (0, host_card.LATENCY_NS)
        for size in SIZES
    ]
    frames = 2_000 if full else 500
    found += [
        Point("moderations", {"kind": "moderated", "packets": packets, "time_ns": ns, "gap_ns": gap, "frames": frames})
        for gap in GAPS_NS
        for packets, ns in MODERATIONS
    ]
    return found


_KINDS = ("read", "write")


def _settings(direction: str, size: int, **more: Any) -> dict[str, Any]:
    """Of one link's transfers: some 256 KB, of small or lone ones fewer."""
    count = max(2, min(_BYTES // size, 40 if more.get("alone") else 400))
    standard = {"wire": pcie_link.wire(GENERATION, STANDARD_LANES), "payload": PAYLOAD}
    return {"direction": direction, "size": size, "count": count, **standard, **more}


def _pcie(table: str, settings: list[dict[str, Any]], width: int = WIDTH, **more: Any) -> Point:
    return Point(table, {"kind": "pcie", "transfers": settings, "width": width, **more})
