"""What the filter card holds at line rate. Everything here counts cycles of the RTL: the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.card import Card
from headrace.cards.filter.run import EAST, LINE_RATE, MONITOR, WEST, driver_of
from headrace.engines.filter import FilterCounters, Slot
from headrace.evaluate.bench import MEASURED, Row
from headrace.evaluate.points import Progress, run_groups
from headrace.net import bpf

EXPRESSION = "tcp src port 100"  # FFShark's example; IPv4 TCP takes 11 instructions
PATH = 11
SIZES = [*range(60, 100), *range(100, 1514, 13), 1514, 9212]
"""With all numbers of bytes in the last beat."""
EVERY_SIZE = [*range(60, 1515), 9212]
SLOWEST_CPI = 1.05


@dataclass(frozen=True)
class Load:
    """What came out of one run. Rates are those of the ports, 1.0 is the monitor port full all the time."""

    sizes: str
    packets: int
    uninspected: int
    instructions: int
    core_cpi: float
    latency: int
    accepted: int
    forwarded: int
    monitor_dropped: int
    monitor_use: float
    faults: int  # frames not passed on untouched, and counters that don't add up


def offer(
    sizes: list[str],
    cores: int,
    directions: int = 1,
    count: int = 1000,
    sport: int = 101,
    expression: str = EXPRESSION,
    rate: float = LINE_RATE,
    data_w: int = 512,
    clock_hz: int | None = None,
) -> list[Load]:
    """Offers ``count`` TCP packets of each size ("60", "40-9000", "imix") at full rate, in 1 or 2 directions."""
    loads = []
    with Card.open("filter", {"CORES": cores, "DATA_W": data_w}, clock_hz=clock_hz, progress=False) as card:
        driver = driver_of(card)
        driver.load({0: Slot(bpf.compile(expression))})
        for port in (WEST, EAST, MONITOR):
            card.set_rate(port, rate)
            card.sink(port, "null")
        card.expect_passthrough(WEST, EAST)
        card.expect_passthrough(EAST, WEST)
        before, start = driver.counters(), card.stats()
        for size in sizes:
            for port in (WEST, EAST)[:directions]:
                card.source(port, f"gen:size={size},count={count},seed={port + 1},frame=tcp,sport={sport}")
            card.run()
            after, end = driver.counters(), card.stats()
            sent = end.ports[MONITOR].tx_bytes - start.ports[MONITOR].tx_bytes
            frames = end.ports[MONITOR].tx_frames - start.ports[MONITOR].tx_frames
            wire_s = (sent + 24 * frames) * 8 / rate
            busy_s = (end.evaluated_cycles - start.evaluated_cycles) / end.clock_hz
            loads.append(_load(size, before, after, end.latency_cycles, wire_s / busy_s, end.passthrough_mismatches))
            before, start = after, end
    return loads


def _load(
    size: str,
    before: FilterCounters,
    after: FilterCounters,
    latency: tuple[int, int] | None,
    monitor_use: float,
    mismatches: int,
) -> Load:
    def grown(what: Callable[[FilterCounters], int]) -> int:
        return what(after) - what(before)

    packets, uninspected = grown(lambda c: c.packets), grown(lambda c: c.uninspected)
    accepted, forwarded = grown(lambda c: c.accepted), grown(lambda c: c.forwarded)
    dropped, instructions = grown(lambda c: c.monitor_dropped), grown(lambda c: c.instructions)
    lost_sight = packets - uninspected - grown(lambda c: c.inspected)
    return Load(
        sizes=size,
        packets=packets,
        uninspected=uninspected,
        instructions=instructions,
        core_cpi=grown(lambda c: c.slots_used) / instructions if instructions else 1.0,
        latency=latency[1] if latency else 0,
        accepted=accepted,
        forwarded=forwarded,
        monitor_dropped=dropped,
        monitor_use=monitor_use,
        faults=mismatches + abs(lost_sight) + abs(accepted - forwarded - dropped),
    )


def run(full: bool, address: str | None, progress: Progress) -> list[Row]:
    """All rows of the filter card. ``full``: every size."""
    count = 1000
    sizes = [str(size) for size in (EVERY_SIZE if full else SIZES)]
    one: dict[str, Any] = {"cores": 8, "count": count}
    both: dict[str, Any] = {"cores": 16, "directions": 2, "count": count}
    chunks = [sizes[first::4] for first in range(4)]
    long = 100_000
    everything = {"expression": "", "sport": 100}
    mixes = ["60", "60-1514", "imix", "1514", "9212"]
    wide = {"data_w": 1024, "clock_hz": 450_000_000, "rate": 400e9}
    points: dict[str, list[dict[str, Any]]] = {
        "one direction": [*({"sizes": chunk, **one} for chunk in chunks), {"sizes": ["60"], **one, "count": long}],
        "all accepted": [{"sizes": chunk, **one, "sport": 100} for chunk in chunks],
        "both directions": [*({"sizes": chunk, **both} for chunk in chunks), {"sizes": ["60"], **both, "count": long}],
        "400 Gb/s": [{"sizes": ["40-9000"], "cores": 8, "count": long // 5, **wide}],
        "accept everything": [{"sizes": mixes, **one, "count": 3 * count, **everything}],
        "accept everything, both directions": [{"sizes": mixes, **both, "count": 3 * count, **everything}],
        "overload": [{"sizes": ["60"], "cores": 2, "count": 10 * count}],
    }
    loads = run_groups("filter card", offer, points, address, progress)
    return _rows(loads)


def _rows(loads: dict[str, list[Load]]) -> list[Row]:
    def row(what: str, must: str, value: float | int, unit: str, ok: bool, note: str = "") -> Row:
        return Row("filter", what, must, value, unit, ok, MEASURED, note)

    def uninspected(name: str, what: str, instructions: bool = True) -> Row:
        runs = loads[name]
        missed = sum(load.uninspected for load in runs)
        packets = sum(load.packets for load in runs)
        on_path = not instructions or all(
            load.instructions == PATH * (load.packets - load.uninspected) for load in runs
        )
        first = next((load.sizes for load in runs if load.uninspected), None)
        note = f"{packets:,} packets, {len({load.sizes for load in runs}):,} sizes" + (
            f", first at {first}" if first else ""
        )
        return row(what, "0 uninspected", missed, "packets", missed == 0 and on_path, note)

    every = [load for runs in loads.values() for load in runs]
    accept_one, accept_both = loads["accept everything"], loads["accept everything, both directions"]
    dropped = sum(load.monitor_dropped for load in accept_one + loads["all accepted"])
    missed = sum(load.uninspected for load in accept_one + accept_both)
    return [
        uninspected("one direction", f"100 Gb/s, 8 cores, {EXPRESSION}, 11-instruction path"),
        uninspected("all accepted", "the same, all accepted and copied to the monitor port"),
        uninspected("both directions", f"2 x 100 Gb/s, 16 cores, {EXPRESSION}, 11-instruction path"),
        uninspected("400 Gb/s", "400 Gb/s, 1,024 bits at 450 MHz, 8 cores, random 40 to 9,000 bytes"),
        row("accept everything at the monitor port's rate", "0 lost", dropped, "packets", dropped == 0),
        row("accept everything at twice the monitor port's rate", "0 uninspected", missed, "packets", missed == 0),
        row(
            "of which the monitor port carries",
            "its rate",
            min(load.monitor_use for load in accept_both),
            "of its rate",
            min(load.monitor_use for load in accept_both) > 0.9,
            "in the least favourable of 5 size mixes, run-in and run-out counted",
        ),
        row(
            "passthrough latency",
            "at most 8",
            max(load.latency for load in every),
            "cycles",
            max(load.latency for load in every) <= 8,
        ),
        row(
            "core CPI at line rate",
            "1.0",
            _worst_cpi(loads["one direction"]),
            "cycles",
            _worst_cpi(loads["one direction"]) <= 1.0,
        ),
        row(
            "core CPI, cores full",
            f"at most {SLOWEST_CPI}",
            _worst_cpi(every),
            "cycles",
            _worst_cpi(every) <= SLOWEST_CPI,
        ),
        row(
            "conservation and untouched passthrough",
            "0 faults",
            sum(load.faults for load in every),
            "packets",
            not any(load.faults for load in every),
        ),
    ]


def _worst_cpi(loads: list[Load]) -> float:
    return max(load.core_cpi for load in loads)
