"""The points of the bridge card's study: which loads it runs, and the table that each belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.evaluate.loads.bridge import MAX_PACKET, SINGLE, batching
from headrace.evaluate.study import Point

SIZES = (64, 128, 256, 512, 1024, 1500)
BUFFERS_KB = (SINGLE, 2, 4, 8, 16, 32, 64)
LARGEST_KB = BUFFERS_KB[-1]
RATES_MBIT_S = (0.3, 1, 3, 10, 30, 100)
TRACE_SIZE = 1024  # bytes
FASTER = 100  # all happens but for the rates, than in EmbedNet's traces, which take 180 s
TRACE_SECONDS = 0.96  # both waves are highest at 0.9
TRACE_BEGIN_S = 0.6  # unless ``full``: one of them is lowest there
INTERVALS_S = (0.3, 0.13)

SEED_PARAMETERS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("h2s", "64 KB", {"DATA_W": 32, "BUFFER_KB": 64, "EXPRESS_KB": 0}),
    ("h2s", "128 KB, for batches of 64 KB", {"DATA_W": 32, "BUFFER_KB": 128, "EXPRESS_KB": 0}),
    ("s2h", "64 KB", {"DATA_W": 32, "BUFFER_KB": 64}),
    ("bridge_control", "registers and interrupts", {"DATA_W": 32, "EXPRESS_KB": 0}),
    ("adaptive_batching", "adaptation of batches", {}),
    ("traffic_analyser", "statistics of traffic", {}),
)
"""Blocks with the bus of EmbedNet's, 32 bits: with its 64 KB of local memory, and with what the study's 64 KB batches
need, of which H2S holds two."""


@dataclass(frozen=True)
class Load:
    """Triangle waves: packets a second at least and at most, and the target of the adaptive mode. ``begin_s``: where
    they begin, unless ``full``."""

    name: str
    host: str
    size: int
    lower_pps: float
    upper_pps: float
    intervals_s: tuple[float, float]
    begin_s: float
    seconds: float
    step_s: float
    target_us: float
    way_us: float  # to a batch, from the line: what the card's own target leaves out
    window_log2: int


def _embednet(name: str, lower_mbit_s: float, upper_mbit_s: float, begin_s: float = TRACE_BEGIN_S) -> Load:
    """Rates as in EmbedNet's traces."""
    pps = [rate * 1e6 / 8 / TRACE_SIZE for rate in (lower_mbit_s, upper_mbit_s)]
    times = (begin_s, TRACE_SECONDS, 0.03)
    return Load(name, "embednet", TRACE_SIZE, pps[0], pps[1], INTERVALS_S, *times, 8000, 20, 21)


LOADS = {
    load.name: load
    for load in (
        _embednet("wide", 1, 80),
        _embednet("high", 20, 40),
        _embednet("low", 0.1, 0.8, begin_s=0),
        Load("fast", "pcie", 1024, 100e3, 1.1e6, (600e-6, 260e-6), 1.2e-3, 3e-3, 60e-6, 20, 0.5, 13),
    )
}
"""Those of EmbedNet's figures 5.7 and 5.8 (its rates beyond 20 to 40 Mb/s aren't published), 5.9 and 5.10; and one for
the PCIe host, 0.8 to 9 Gb/s."""

MODES = {
    "single": batching(SINGLE),
    "64 KB, 100 ms": batching(64, 100),
    "64 KB, 10 ms": batching(64, 10),
    "64 KB, 1 ms": batching(64, 1),
    "adaptive": {**batching(64, 10), "adaptive": True},
}
_MODES_OF = {
    "wide": ("single", "64 KB, 10 ms"),
    "high": ("64 KB, 10 ms", "64 KB, 1 ms", "adaptive"),
    "low": ("64 KB, 100 ms", "64 KB, 10 ms", "adaptive"),
    "fast": ("single", "64 KB, 10 ms", "adaptive"),
}
_MODES_MORE = {"wide": ("adaptive",), "high": ("single",)}
"""With ``full``."""


def all_points(full: bool) -> list[Point]:
    """All of them, of ``bridge_loads.run``. ``full``: more sizes, modes and messages."""
    return [*_throughput(full), *_latency(full), *_traces(full), *_critical(full), *wire_points()]


def _throughput(full: bool) -> list[Point]:
    sizes = SIZES if full else (64, 1500)

    def messages(host: str, direction: str, kb: int) -> int:
        """Fewer where each is a millisecond of a full line that finds no room."""
        if not full and (host, direction) == ("embednet", "h2s"):
            return 2
        return 60 if kb <= 2 else 12 if kb <= 8 else 6

    return [
        Point(
            "throughput",
            {"kind": kind, "host": host, "size": size, "buffer_kb": kb, "messages": messages(host, direction, kb)},
            {"host": host, "direction": direction, "buffer_kb": kb},
        )
        for host in ("embednet", "pcie")
        for direction, kind in (("h2s", "to_software"), ("s2h", "to_hardware"))
        for size in sizes
        for kb in BUFFERS_KB
    ]


def _latency(full: bool) -> list[Point]:
    sizes = (64, 512, 1024, 1500) if full else (1024, 1500)
    points = []
    for direction, kind in (("h2s", "receive_latency"), ("s2h", "send_latency")):
        for size in sizes:
            settings = [(LARGEST_KB, 0.0), (SINGLE, 0.0)]
            settings += [(LARGEST_KB, 10.0)] if size == 1500 and direction == "h2s" else []
            for buffer_kb, timeout_ms in settings:
                for rate in RATES_MBIT_S:
                    if buffer_kb == SINGLE and rate * 1e6 / 8 / size > 600:
                        continue  # more packets than single messages can carry: the queue has no end
                    most = LARGEST_KB * 1024 // (size + 12)
                    names = {"direction": direction, "buffer_kb": buffer_kb, "timeout_ms": timeout_ms, "rate": rate}
                    arguments = {"kind": kind, "host": "embednet", "size": size, "bits_per_s": rate * 1e6}
                    arguments |= {"buffer_kb": buffer_kb, "timeout_ms": timeout_ms}
                    arguments["packets"] = (50 if buffer_kb == SINGLE else 2 * most) // (1 if full else 2)
                    points.append(Point("latency", arguments, names))
    return points


def _traces(full: bool) -> list[Point]:
    return [
        Point("traces", trace_arguments(load, mode, full), {"load": load, "mode": mode})
        for load in LOADS
        for mode in (*_MODES_OF[load], *(_MODES_MORE.get(load, ()) if full else ()))
    ]


def trace_arguments(name: str, mode: str, full: bool) -> dict[str, Any]:
    """Of ``bridge_loads.run``, for a load and a mode by their names."""
    load = LOADS[name]
    settings = dict(MODES[mode])
    if mode == "adaptive":
        settings["target_ns"] = round((load.target_us - load.way_us) * 1000)
    return {
        "kind": "trace",
        "host": load.host,
        "size": load.size,
        "lower_pps": load.lower_pps,
        "upper_pps": load.upper_pps,
        "intervals_s": load.intervals_s,
        "begin_s": 0 if full else load.begin_s,
        "seconds": load.seconds,
        "step_s": load.step_s,
        "settings": settings,
        "window_log2": load.window_log2,
    }


def _critical(full: bool) -> list[Point]:
    packets = 300 if full else 60
    cases = [("single", False), ("express", False), ("express", True), ("flush", True), ("plain", True)]
    return [
        Point(
            "critical",
            {"kind": "critical", "mode": mode, "burst": burst, "packets": packets},
            {"mode": mode, "burst": burst},
        )
        for mode, burst in cases
    ]


def wire_points(every: bool = False) -> list[Point]:
    """Sizes of frames at a full line. ``every``: each of them."""
    sizes = range(60, MAX_PACKET + 1) if every else (*range(60, 68), 128, 256, 511, 512, 1024, 1513, MAX_PACKET)
    return [
        Point("wire", {"kind": "both_ways", "size": size, "buffer_kb": 16, "packets": wire_packets(size)})
        for size in sizes
    ]


def wire_packets(size: int) -> int:
    """Enough for more than ten batches of 16 KB."""
    return 12 * (16384 // (size + 12)) + 100
