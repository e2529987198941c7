"""The points of the capture card's study: which loads it runs, and the table that each belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.evaluate.loads.capture import CLOCKS, IDEAL, READ_BUFFER, Memory
from headrace.evaluate.study import Point

HEADERS = 40  # bytes of bpfcap's ICMP packets without their payload
PAYLOADS = (32, 64, 128, 256, 512, 1024)
SIZES = tuple(payload + HEADERS for payload in PAYLOADS)
BURSTS = (4, 8, 16)
CLOCKS_MHZ = (50, 100, 200)
WIDTHS = tuple(CLOCKS)
MEMORIES = {
    "ideal": IDEAL,
    "one wait": Memory(write_waits=1),
    "bridge": Memory(write_waits=6, phase_seed=1),
}
"""The host memory of the repeated table, by name. ``bridge`` stands for the FPGA-to-HPS bridge."""

TABLES = ("table_5_1", "single_packets", "back_to_back", "streams", "wire")

_COUNT = 100  # of single packets
_LATENCIES_NS = (0, 50, 100, 200, 500, 1000)
_LONG_BURSTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_ALL_BURSTS = {32: _LONG_BURSTS, 512: _LONG_BURSTS[:7]}
_SOME_BURSTS = {32: (4, 8, 16, 32)}
"""By bits of the bus."""
_STREAM_SIZES = (60, 128, 256, 512, 1024, 1514, 9000)
_LATENCY_SIZES = (60, 256, 1024, 1514)
_DISTANT = Memory(100, 100)
_WIRE_MEMORY = Memory(500, 500)


def all_points(full: bool) -> list[Point]:
    """All of them, of ``capture_loads.run``. ``full``: more cards and sizes."""
    widths = WIDTHS if full else (32, 128, 512)
    latencies = _LATENCIES_NS if full else (0, 100, 200, 1000)
    return [
        *_table(_COUNT),
        *_widths(widths, _COUNT),
        *_bursts(_ALL_BURSTS if full else _SOME_BURSTS, _COUNT),
        *_latencies((32, 128, 512), latencies),
        *_read_buffers(latencies),
        *_together(widths),
        *(_stream("packet size", w, 16, _STREAM_SIZES, _DISTANT, offset=offset) for w in widths for offset in (0, 2)),
        *_wire(full),
    ]


def cards(points: Iterable[Mapping[str, Any]]) -> list[dict[str, int]]:
    """The cards that points' arguments need: bus width, burst length and read buffer of each."""
    keys = {"mem_w": 512, "burst": 16, "read_buffer": READ_BUFFER}
    needed = {tuple(point.get(key, usual) for key, usual in keys.items()) for point in points}
    return [dict(zip(keys, values, strict=True)) for values in sorted(needed)]


def _load(kind: str, mem_w: int, burst: int, sizes: Sequence[int], memory: Memory, **more: Any) -> dict[str, Any]:
    load = {"kind": kind, "mem_w": mem_w, "burst": burst, "clock_hz": CLOCKS[mem_w], "sizes": list(sizes)}
    return {**load, "memory": memory, **more}


def _table(count: int) -> list[Point]:
    settings = [(name, clock, burst) for name in MEMORIES for clock in CLOCKS_MHZ for burst in BURSTS]
    return [
        Point(
            "table_5_1",
            _load(
                "single",
                32,
                burst,
                SIZES,
                _with_phases(MEMORIES[name], seed),
                count=count,
                seed=seed,
                clock_hz=clock * 1_000_000,
            ),
            {"memory": name},
        )
        for seed, (name, clock, burst) in enumerate(settings, start=1)
    ]


def _with_phases(memory: Memory, seed: int) -> Memory:
    """The memory with other phases than every other point has, if it has any."""
    return Memory(memory.read_ns, memory.write_ns, memory.write_waits, seed * 7919) if memory.phase_seed else memory


def _single(sweep: str, memory: str, load: dict[str, Any]) -> Point:
    return Point("single_packets", load, {"sweep": sweep, "memory": memory})


def _widths(widths: Sequence[int], count: int) -> list[Point]:
    return [
        _single("bus width", name, _load("single", mem_w, 16, (*SIZES, 1514, 9000), MEMORIES[name], count=count))
        for mem_w in widths
        for name in ("ideal", "bridge")
    ]


def _bursts(bursts: Mapping[int, Sequence[int]], count: int) -> list[Point]:
    found = []
    for mem_w, lengths in bursts.items():
        for burst in lengths:
            for name in ("ideal", "bridge"):
                load = _load("single", mem_w, burst, (72, 296, 1064), MEMORIES[name], count=count)
                found.append(_single("burst length", name, load))
            found.append(_stream("burst length", mem_w, burst, (256, 1514, 9000), MEMORIES["one wait"]))
    return found


def _latencies(widths: Sequence[int], latencies: Sequence[int]) -> list[Point]:
    found = []
    for mem_w in widths:
        for latency in latencies:
            memory = Memory(latency, latency)
            load = _load("single", mem_w, 16, _LATENCY_SIZES, memory, count=20)
            found.append(_single("memory latency", "distant", load))
            found.append(_stream("memory latency", mem_w, 16, _LATENCY_SIZES, memory))
    return found


def _read_buffers(latencies: Sequence[int]) -> list[Point]:
    """The wide bus with more words that are read ahead."""
    return [
        _stream("memory latency", 512, 16, _LATENCY_SIZES, Memory(latency, latency), read_buffer=4 * READ_BUFFER)
        for latency in latencies
    ]


def _together(widths: Sequence[int]) -> list[Point]:
    return [
        Point("back_to_back", _load("together", mem_w, 16, SIZES, MEMORIES[name], counts=(1, 2, 8)), {"memory": name})
        for mem_w in widths
        for name in ("ideal", "one wait")
    ]


def _stream(sweep: str, mem_w: int, burst: int, sizes: Sequence[int], memory: Memory, **more: int) -> Point:
    total = 1 << 18 if mem_w < 256 else 1 << 20
    return Point("streams", _load("stream", mem_w, burst, sizes, memory, total=total, **more), {"sweep": sweep})


def _wire(full: bool) -> list[Point]:
    sizes = [*range(60, 70), *range(70, 1514, 13 if full else 97), 1514, 9000]
    long, both = (60, "imix", 1514, 9000), (60, 128, 256, 512, 1024, 1514, "imix", 9000)
    loads: list[dict[str, Any]] = [
        *({"sizes": sizes[first::4], "count": 2000} for first in range(4)),
        {"sizes": long, "count": 20_000 if full else 2_000, "known": False},
        {"sizes": both, "count": 5_000, "known": False, "ports": 2},
    ]
    return [
        Point("wire", {"kind": "wire", "memory": _WIRE_MEMORY, "ports": 1, **load}, {"sweep": "wire"}) for load in loads
    ]
