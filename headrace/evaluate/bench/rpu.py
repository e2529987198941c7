"""What the RPU card carries, and what it costs, beside what must be and what the original takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headrace.cards.rpu import elf, program
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.evaluate.bench import MEASURED, MODELLED, WALL_CLOCK, Row
from headrace.evaluate.bench.filter import EXPRESSION
from headrace.evaluate.loads import rpu as loads
from headrace.evaluate.loads import speed
from headrace.evaluate.loads.rpu import Full, Limit, Verdicts
from headrace.evaluate.points import Progress, run_groups

SMALL, LARGE, JUMBO = 64, 1500, 9000
LEAST_SHARE = 0.12  # of the filter card's packets a wall second
MATCHER_SIZES = (64, 128, 256, 512, 1024, 1500, 9000)

SIZES = (*range(SMALL, 96), *range(96, 1518, 61), LARGE, 1518, JUMBO)
"""Every one where two beats are hard to keep up with, then some, with other numbers of bytes in the last beat."""
_ALL_SIZES = (*range(SMALL, 161), *range(161, 1518, 7), 1518, JUMBO)
"""Every one of one, two and three beats, then each seventh: all numbers of bytes in the last beat."""
_PARTS = 4  # of the sizes, for as many workers


def run(full: bool, address: str | None, progress: Progress) -> list[Row]:
    """All rows. ``full``: more sizes."""
    sizes = _ALL_SIZES if full else SIZES
    crc_sizes = [size for size in sizes if size >= 256]
    points: dict[str, list[dict[str, Any]]] = {
        "original": [{"kind": "limit", "units": 1, "sizes": [SMALL], "name": "basic"}],
        "ours": [{"kind": "limit", "units": 1, "sizes": [SMALL, LARGE]}],
        "eight": _full(8, sizes, 1),
        "sixteen": _full(16, sizes if full else sizes[::3], 2),
        "crc": _full(8, crc_sizes[::5], 1, name="crc", accelerator="crc"),
        "firewall": [{"kind": "firewall"}],
        "intrusion": [{"kind": "intrusion"}],
        "matcher": [_matcher(size) for size in (MATCHER_SIZES[:: 1 if full else 3])],
        "order": [{"kind": "order", "count": 60_000 if full else 10_000}],
    }
    progress("cards", None)
    for units in (1, 8, 16):
        loads.build(units)
    found = run_groups("RPU card", loads.run, points, address, progress)
    rows = [
        *_forwarding(found["original"][0], *found["ours"]),
        _line("eight units, a full line of 100 Gb/s", found["eight"]),
        _line("sixteen units, 200 Gb/s: two full lines", found["sixteen"]),
        _line("CRC accelerated, eight units, 100 Gb/s from 256 bytes up", found["crc"]),
        *_programs(found["firewall"][0], found["intrusion"][0]),
        *_throughput(found["matcher"]),
        _order(found["order"][0]),
    ]
    progress("simulator", None)
    rows.append(_simulator(full))
    return rows


def _full(units: int, sizes: Sequence[int], ports: int, **more: Any) -> list[dict[str, Any]]:
    """Points whose workers take about as long as each other; small sizes run longer, as there a little is missing."""
    small = [size for size in sizes if size <= 100]
    large = [size for size in sizes if size > 100]
    cut = [(small, 30_000)] + [(large[first::_PARTS], 10_000) for first in range(_PARTS)]
    return [
        {"kind": "full", "units": units, "sizes": chosen, "ports": ports, "cycles": cycles, **more}
        for chosen, cycles in cut
        if chosen
    ]


def _matcher(size: int) -> dict[str, Any]:
    return {"kind": "limit", "units": 8, "sizes": [size], "name": "intrusion", "accelerator": "matcher"}


_row = partial(Row, "rpu")


def _forwarding(original: Limit, small: Limit, large: Limit) -> Iterator[Row]:
    for what, found, most, note in (
        ("one unit, 64 bytes, firmware of the original", original, 14, "the original's RTL: 16"),
        ("one unit, 64 bytes, our forwarder", small, 12, ""),
    ):
        cycles = found.cycles_per_packet
        yield _row(what, f"at most {most}", cycles, "cycles a packet", cycles <= most, MEASURED, note)
    least = 0.95 * 32
    yield _row(
        "one unit, 1,500 bytes, at 250 MHz",
        f"at least {least}",
        large.gbit_s,
        "Gb/s",
        large.gbit_s >= least,
        MODELLED,
        f"{large.cycles_per_packet:.1f} cycles a packet, which is a full line; the original 28.3 Gb/s",
    )


def _line(what: str, found: Sequence[Full]) -> Row:
    ordered = sorted(found, key=lambda each: each.size)
    missed = [each.size for each in ordered if not each.kept_up]
    kept = len(ordered) - len(missed)
    note = f"{sum(each.packets for each in ordered):,} packets, {sum(each.lost for each in ordered):,} lost"
    if missed:
        note += f"; not at {_ranges(missed)} bytes, two beats of 512 bits in less than two cycles of 250 MHz"
    return _row(what, f"all {len(ordered):,} sizes", kept, "sizes", not missed, MEASURED, note)


def _ranges(sizes: Sequence[int]) -> str:
    """Such as 69 to 79, 90."""
    found: list[list[int]] = []
    for size in sizes:
        if found and size == found[-1][-1] + 1:
            found[-1].append(size)
        else:
            found.append([size])
    return ", ".join(f"{part[0]:,} to {part[-1]:,}" if len(part) > 1 else f"{part[0]:,}" for part in found)


def _programs(firewall: Verdicts, intrusion: Verdicts) -> Iterator[Row]:
    yield _row(
        f"firewall, {loads.PREFIXES:,} prefixes, one unit, 64 bytes",
        "at most 24",
        firewall.cycles_per_packet,
        "cycles a packet",
        firewall.cycles_per_packet <= 24,
        MEASURED,
        "the original: 32 to 41",
    )
    for what, found, oracle in (
        ("firewall", firewall, "Python's ipaddress"),
        (f"intrusion detector, {loads.PATTERNS:,} patterns", intrusion, "a search of the payloads that scapy sees"),
    ):
        note = f"{found.packets:,} packets, {found.stopped:,} of them stopped by {oracle}"
        yield _row(f"{what}: verdicts that are wrong", "0", found.wrong, "", found.wrong == 0, MEASURED, note)


def _throughput(found: Sequence[Limit]) -> Iterator[Row]:
    for each in found:
        yield _row(
            f"intrusion detector, eight units, {each.size:,} bytes",
            "-",
            each.gbit_s,
            "Gb/s",
            None,
            MODELLED,
            f"{each.line_share:.0%} of a line; {8 * each.cycles_per_packet:.0f} cycles a packet and unit",
        )


def _order(found: loads.Order) -> Row:
    return _row(
        "packets out of order within their flow, hash policy",
        "0",
        found.misordered,
        "",
        not found.misordered,
        MEASURED,
        f"{found.packets:,} packets of 200 flows, {found.changes:,} times a unit was disabled or enabled",
    )


def _simulator(full: bool) -> Row:
    """The forwarder on 8 units, and the filter card that rejects all, both with 64-byte packets out of a file."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.pcap", Path(folder) / "out.pcap"
        speed.make(source, 300_000 if full else 50_000)
        with open_rpu_card(8, progress=False) as card:
            driver = driver_of(card)
            driver.load(elf.read(program.build(["forwarder"])))
            driver.boot()
            driver.ready()
            before = card.stats()
            card.source(0, f"pcap:{source}")
            card.sink(1, f"pcap:{output}")
            after = card.run().stats
        rate = after.ports[1].tx_frames / (after.wall_s - before.wall_s)
        filtered = speed.simulate(EXPRESSION.replace("100", "101"), source, output).packets_per_wall_s
    return _row(
        "simulator, eight units, 64 bytes, file to file",
        f"at least {LEAST_SHARE}",
        rate / filtered,
        "of the filter card's packets a second",
        rate >= LEAST_SHARE * filtered,
        WALL_CLOCK,
        f"{rate:,.0f} and {filtered:,.0f} packets a second",
    )
