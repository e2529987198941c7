"""What the capture card needs for a packet, and what it holds in streams and on the wire.

Everything here counts cycles of the RTL: the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headrace.cards.capture.driver import RECORD_HEADER
from headrace.evaluate.bench import MEASURED, Row
from headrace.evaluate.loads import capture as capture_loads
from headrace.evaluate.loads.capture import CLOCKS, MOST_LAG, Flow, Memory, Single
from headrace.evaluate.points import Progress, run_groups

SIZES = (72, 104, 168, 296, 552, 1064)  # of the packets in bpfcap's table 5.1
BPFCAP_CYCLES = (49, 57, 77, 117, 197, 357)  # its RTL, with one wait state per write burst
STREAM_SIZES = (256, 512, 1024, 1514, 9000)
WIRE_SIZES = [*range(60, 1515), 9000]
ONE_WAIT = Memory(write_waits=1)
DISTANT = Memory(read_ns=100, write_ns=100)
WIRE_MEMORY = Memory(read_ns=500, write_ns=500)
LEAST_SHARE = 0.95

_BURST = 16
_WORDS = [(size + RECORD_HEADER) // 4 for size in SIZES]
_LEAST = [words + -(-words // _BURST) for words in _WORDS]  # with one wait per write burst


def most_cycles(size: int) -> int:
    """What a packet of ``size`` bytes may take on a 32-bit bus."""
    return size // 4 + 20


def run(_full: bool, address: str | None, progress: Progress) -> list[Row]:
    """All rows of the capture card, which has one form."""
    one: dict[str, Any] = {"kind": "single", "mem_w": 32, "burst": _BURST, "clock_hz": CLOCKS[32], "sizes": SIZES}
    wire: dict[str, Any] = {"kind": "wire", "memory": WIRE_MEMORY}
    points: dict[str, list[dict[str, Any]]] = {
        "ideal": [{**one, "aligned": True}],
        "one wait": [{**one, "aligned": True, "memory": ONE_WAIT}],
        "ideal, anywhere": [{**one, "count": 100}],
        "one wait, anywhere": [{**one, "count": 100, "memory": ONE_WAIT}],
        **{f"stream {mem_w}": [_stream(mem_w, STREAM_SIZES)] for mem_w in (32, 128, 512)},
        **{f"small {mem_w}": [_stream(mem_w, (60,))] for mem_w in (32, 128, 512)},
        **{f"moved {mem_w}": [{**_stream(mem_w, (256,)), "offset": 2}] for mem_w in (32, 128, 512)},
        "wire": [
            *({**wire, "sizes": WIRE_SIZES[first::4], "count": 500} for first in range(4)),
            {**wire, "sizes": (60, 64, "imix", 9000), "count": 50_000, "known": False},
        ],
        "two ports": [{**wire, "sizes": (60, "imix", 9000), "count": 10_000, "known": False, "ports": 2}],
    }
    loads = run_groups("capture card", capture_loads.run, points, address, progress)
    return [*_packets(loads), *_streams(loads), *_wire(loads, len(WIRE_SIZES)), _faults(loads)]


def _stream(mem_w: int, sizes: Iterable[int]) -> dict[str, Any]:
    point = {"mem_w": mem_w, "burst": _BURST, "clock_hz": CLOCKS[mem_w], "sizes": tuple(sizes), "memory": DISTANT}
    return {"kind": "stream", **point, "total": 1 << 18 if mem_w < 512 else 1 << 20}


def _row(what: str, must: str, value: float | int | str, unit: str, ok: bool | None, note: str = "") -> Row:
    return Row("capture", what, must, value, unit, ok, MEASURED, note)


def _packets(loads: dict[str, list[Single]]) -> Iterator[Row]:
    most = [most_cycles(size) for size in SIZES]
    what = f"one packet of {_list(SIZES)} bytes, 32 bits, burst {_BURST}"
    for name, label in (("ideal", "ideal memory"), ("one wait", "1 wait per write burst")):
        packets, anywhere = loads[name], loads[f"{name}, anywhere"]
        highest = _list(max(packet.packet_cycles) for packet in anywhere)
        note = f"as bpfcap counts; up to {highest} with packet and record at any byte"
        if name == "one wait":
            note += f"; bpfcap's RTL takes {_list(BPFCAP_CYCLES)}; words and waits of the record alone: {_list(_LEAST)}"
        yield _cycles(f"{what}, {label}", most, [packet.packet_cycles[0] for packet in packets], note)
        note = "the fetch of the descriptor counts, too"
        yield _cycles("the same from the doorbell on", most, [packet.doorbell_cycles[0] for packet in packets], note)


def _cycles(what: str, most: Sequence[int], cycles: Sequence[int], note: str) -> Row:
    met = [size for size, limit, value in zip(SIZES, most, cycles, strict=True) if value <= limit]
    if 0 < len(met) < len(SIZES):
        note = f"met at {_list(met)} bytes; {note}"
    return _row(what, f"at most {_list(most)}", _list(cycles), "cycles", len(met) == len(SIZES), note)


def _list(values: Iterable[int]) -> str:
    return ", ".join(f"{value:,}" for value in values)


def _streams(loads: dict[str, list[Flow]]) -> Iterator[Row]:
    for mem_w in (32, 128, 512):
        flows = loads[f"stream {mem_w}"]
        least = min(flows, key=lambda flow: flow.share)
        small, moved = loads[f"small {mem_w}"][0], loads[f"moved {mem_w}"][0]
        note = f"least of {', '.join(f'{size:,}' for size in STREAM_SIZES)} bytes, at {least.size:,}; payload " + (
            f"{least.payload_share:.3f}; read latency 100 ns"
        )
        clock = f"{CLOCKS[mem_w] / 1e6:.0f} MHz"
        yield _row(
            f"stream out of memory, {mem_w} bits at {clock}",
            f"at least {LEAST_SHARE}",
            least.share,
            "of the bus's bandwidth",
            least.share >= LEAST_SHARE,
            note,
        )
        yield _row("the same, 60 bytes", "-", small.share, "of the bus's bandwidth", None)
        yield _row(
            "256 bytes, 2 bytes beside a multiple of 64",
            "-",
            moved.share,
            "of the bus's bandwidth",
            None,
            "the read side moves more words than the write side" if moved.share < LEAST_SHARE else "",
        )


def _wire(loads: dict[str, list[Flow]], sizes: int) -> Iterator[Row]:
    flows = loads["wire"]
    packets, dropped = sum(flow.packets for flow in flows), sum(flow.dropped for flow in flows)
    lag = max(flow.lag_cycles for flow in flows)
    yield _row(
        "wire to memory, 100 Gb/s, 512 bits at 322 MHz",
        "0 dropped",
        dropped,
        "packets",
        dropped == 0 and lag < MOST_LAG,
        f"{packets:,} packets of {sizes:,} sizes; all work ends {lag} cycles after the last byte at most",
    )
    for flow, name in zip(loads["two ports"], ("60 bytes", "imix", "9,000 bytes"), strict=True):
        each = flow.cycles / (flow.packets - flow.dropped)
        note = f"{flow.dropped / flow.packets:.1%} dropped and counted: 200 Gb/s come; {each:.2f} cycles a record"
        yield _row(f"two ports at once, {name}", "-", flow.share, "of the bus's bandwidth", None, note)


def _faults(loads: dict[str, list[Any]]) -> Row:
    faults = sum(load.faults for runs in loads.values() for load in runs)
    note = "bytes of the ring that are wrong, packets that the counters can't account for"
    return _row("content and conservation", "0 faults", faults, "", faults == 0, note)
