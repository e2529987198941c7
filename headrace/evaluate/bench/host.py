"""What virtual functions carry, whom they hold up, what lying drivers reach, and what the host interface costs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headrace.card.functions import QueueFault
from headrace.evaluate.bench import MEASURED, MODELLED, WALL_CLOCK, Row
from headrace.evaluate.bench.filter import EXPRESSION
from headrace.evaluate.loads import function_clients, function_rates, host_card, pcie_link, speed, switch_network
from headrace.evaluate.loads import host as loads
from headrace.evaluate.loads.host import Carried, Fair, Latency
from headrace.evaluate.loads.host_card import CLOCK_HZ, FUNCTIONS, LATENCY_NS
from headrace.evaluate.loads.host_rings import Mutated
from headrace.evaluate.loads.pcie_link import COMPLETION, REQUEST
from headrace.evaluate.points import Progress, run_groups

SIZES = (64, 256, 1518)
LEAST_PACKETS = 40e6  # a second and direction, 64 bytes
LEAST_BITS = 100e9  # of a line, from 256 bytes
LEAST_SHARE = 0.95  # of what functions have without a loud one
MOST_LATER = 1.05  # of their p99 latency
RINGS = 100_000
HOSTS, GUESTS = 16, 2  # clients of the switch card, beside testpmd
LEAST_OF_LINK = {1_024: 0.80, 65_536: 0.95}  # of the payload limit, by bytes of a transfer
LEAST_FORWARDED, LEAST_STREAMED = 0.15, 0.1  # of the filter card's packets a wall second

PCIE_GENERATION, PCIE_LANES, PCIE_PAYLOAD = 3, 8, 256
PCIE_BYTES = 1 << 20  # that are moved, each way

_PARTS = 20  # of the mutated rings


def run(full: bool, address: str | None, progress: Progress) -> list[Row]:
    """All rows. ``full``: more mutated rings, packets and seconds."""
    rings = RINGS if full else RINGS // 50
    parts = _PARTS if full else 4
    points: dict[str, list[dict[str, Any]]] = {
        "carried": [
            {"kind": "carried", "size": size, "functions": functions} for functions in (FUNCTIONS, 1) for size in SIZES
        ],
        "fair": [{"kind": "fair", "loud": loud, "frames": 100 if full else 50} for loud in (False, True)],
        "latency": [{"kind": "latency", "size": size} for size in SIZES],
        "mutated": [{"kind": "mutated", "rings": rings // parts, "seed": seed} for seed in range(parts)],
    }
    progress("card", None)
    host_card.build()
    found = run_groups("functions", loads.run, points, address, progress)
    rows = [
        *(_carried(each) for each in found["carried"]),
        *_fair(*found["fair"]),
        *(_latency(each) for each in found["latency"]),
        *_isolation(found["mutated"]),
    ]
    progress("PCI Express", None)
    rows += _pcie(full)
    progress("simulator", None)
    rows += _simulator(full)
    progress("clients", None)
    rows.append(_clients())
    return rows


_row = partial(Row, "host")


def _carried(found: Carried) -> Row:
    """Millions of packets, or Gb/s of a line, each way."""
    whose = f"{found.functions} functions" if found.functions > 1 else "one function"
    note = (
        f"modelled time of {found.cycles / min(found.sent, found.received):.2f} cycles a packet at "
        f"{CLOCK_HZ / 1e6:.0f} MHz; host memory answers after {LATENCY_NS:,} ns; {found.lost:,} without room"
    )
    what = f"{whose}, both directions at once, {found.size:,} bytes"
    demanded = found.functions > 1
    if found.size == 64:
        millions = found.packets_s / 1e6
        must = f"at least {LEAST_PACKETS / 1e6:.0f}" if demanded else "-"
        ok = millions * 1e6 >= LEAST_PACKETS if demanded else None
        return _row(what, must, millions, "million packets/s a direction", ok, MODELLED, note)
    gbit = found.line_bit_s / 1e9
    must = f"at least {LEAST_BITS / 1e9:.0f}" if demanded else "-"
    ok = gbit * 1e9 >= LEAST_BITS if demanded else None
    return _row(what, must, gbit, "Gb/s of a line a direction", ok, MODELLED, note)


def _fair(alone: Fair, beside: Fair) -> Iterator[Row]:
    """What 15 functions keep beside one that offers a thousand times as much."""
    share = beside.arrived / alone.arrived
    yield _row(
        f"{FUNCTIONS} functions, one offers {loads.TIMES:,} times as much: what the others keep",
        f"at least {LEAST_SHARE:.0%}",
        share,
        "of their packets",
        share >= LEAST_SHARE,
        MEASURED,
        f"{beside.arrived:,} of {beside.offered:,}, 64 bytes; the worst function {beside.least_share:.1%}; "
        f"the loud one has {beside.loud_packets_s / 1e6:.1f} million packets/s",
    )
    yield _row(
        "their p99 latency, driver to driver, beside the same without the loud one",
        f"at most {MOST_LATER}",
        beside.p99_ns / alone.p99_ns,
        "times",
        beside.p99_ns <= MOST_LATER * alone.p99_ns,
        MEASURED,
        f"{beside.p99_ns:,.0f} and {alone.p99_ns:,.0f} ns; median {beside.median_ns:,.0f} and {alone.median_ns:,.0f}",
    )


def _latency(found: Latency) -> Row:
    spread = f", at least {found.least:,}" if found.least < found.most else ""
    return _row(
        f"latency of a packet through two functions, driver to driver, {found.size:,} bytes",
        "-",
        found.most,
        "cycles",
        None,
        MEASURED,
        f"{found.frames} packets{spread}; host memory answers after {LATENCY_NS * CLOCK_HZ // 10**9} cycles",
    )


def _isolation(found: Sequence[Mutated]) -> Iterator[Row]:
    rings, cycles = sum(each.rings for each in found), sum(each.cycles for each in found)
    faults = [sum(each.failed[number] for each in found) for number in range(len(QueueFault))]
    refused, leaked = sum(each.refused for each in found), sum(each.leaked for each in found)
    stuck, wrong, full = (sum(getattr(each, what) for each in found) for what in ("stuck", "wrong", "full"))
    kinds = ", ".join(f"{fault.name.lower()} {count:,}" for fault, count in zip(QueueFault, faults, strict=True))
    yield _row(
        f"{rings:,} mutated rings: memories of other functions that were read or written",
        "0",
        leaked,
        "",
        not leaked,
        MEASURED,
        f"{refused:,} bursts outside of the function's memory, refused; {sum(faults):,} queues failed and asked for "
        f"reset: {kinds}; {cycles:,} cycles",
    )
    yield _row(
        "their rounds in which another function or a queue's end hung",
        "0",
        stuck,
        "",
        not stuck,
        MEASURED,
        "two functions exchange packets meanwhile",
    )
    yield _row(
        "packets of these two functions that were lost or changed, and not counted as dropped",
        "0",
        wrong,
        "",
        not wrong,
        MEASURED,
        f"{full} dropped and counted for want of room, which is a function's own for 2 KB; the 14 others hold the rest",
    )


def _pcie(full: bool) -> Iterator[Row]:
    """Shares of the payload limit of PCIe 3.0 x8; both directions at once are two shares, of which the lower counts."""
    if reason := pcie_link.why_not():
        for size, least in LEAST_OF_LINK.items():
            what = f"PCIe 3.0 x8, {_kb(size)}: of the payload limit"
            yield _row(what, f"at least {least:.0%}", "not run", "", None, MODELLED, reason)
        return
    kinds = (("read", "reads", COMPLETION, 1), ("write", "writes", REQUEST, 1), ("both", "both at once", REQUEST, 2))
    standard: dict[str, Any] = {"wire": pcie_link.wire(PCIE_GENERATION, PCIE_LANES), "payload": PCIE_PAYLOAD}
    moved = PCIE_BYTES if full else PCIE_BYTES // 2  # so that the first answer weighs little
    settings: list[dict[str, Any]] = [
        {"direction": kind, "size": size, "count": moved // size, **standard}
        for size in LEAST_OF_LINK
        for kind, *_ in kinds
    ]
    results = iter(pcie_link.moved(settings))
    for size, least in LEAST_OF_LINK.items():
        for kind, word, overhead, ways in kinds:
            found = next(results)
            gbit = found.gbit_s / ways
            limit = pcie_link.limit_gbit_s(PCIE_GENERATION, PCIE_LANES, PCIE_PAYLOAD, overhead)
            demanded = kind != "both"
            yield _row(
                f"PCIe 3.0 x8, {_kb(size)}, {word}: of the payload limit",
                f"at least {least:.0%}" if demanded else "-",
                gbit / limit,
                "of the limit",
                gbit >= least * limit if demanded else None,
                MODELLED,
                f"{gbit:.1f} Gb/s of {limit:.1f}{' each way' * (ways > 1)}: MPS {PCIE_PAYLOAD}, {overhead} bytes "
                f"beside the payload of a TLP; {pcie_link.LATENCY} cycles for a read; {found.wrong} bytes wrong",
            )


def _kb(size: int) -> str:
    return f"{size // 1024} KB"


def _simulator(full: bool) -> Iterator[Row]:
    """What testpmd and iperf3 get through two functions, of what the filter card has that rejects all; that is measured
    before and after each, since the speed of a machine changes."""
    seconds = 20 if full else 5
    cards, no_testpmd = (function_rates.SWITCH, function_rates.NIC), function_clients.no_testpmd()
    loads = [
        (
            f"testpmd forwards 64 bytes, {card.name} card",
            LEAST_FORWARDED,
            no_testpmd,
            partial(function_rates.forwarded, card, seconds),
        )
        for card in cards
    ]
    no_hosts = switch_network.why_not("iperf3")
    kinds = (("TCP, 1,514 bytes", switch_network.CUBIC), ("UDP, 64 bytes", switch_network.SMALLEST))
    loads += [
        (
            f"iperf3 between two namespaces, {card.name} card, {kind}",
            LEAST_STREAMED,
            no_hosts,
            partial(function_rates.streamed, card, seconds, *options),
        )
        for card in cards
        for kind, options in kinds
    ]
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.pcap", Path(folder) / "out.pcap"
        speed.make(source, 300_000 if full else 50_000)

        def filtered() -> float:
            return speed.simulate(EXPRESSION.replace("100", "101"), source, output).packets_per_wall_s

        before = filtered()
        for what, least, reason, load in loads:
            must = f"at least {least}"
            if reason:
                yield _row(what, must, "not run", "", None, WALL_CLOCK, reason)
                continue
            found, after = load(), filtered()
            rate, beside = found.packets / found.seconds, (before + after) / 2
            yield _row(
                what,
                must,
                rate / beside,
                "of the filter card's packets a second",
                rate >= least * beside,
                WALL_CLOCK,
                f"two functions; {rate:,.0f} packets a second, {found.bytes * 8 / found.seconds / 1e6:.1f} Mb/s, and "
                f"{before:,.0f} and {after:,.0f} of the filter card before and after",
            )
            before = after


def _clients() -> Row:
    what = f"DPDK's testpmd, {GUESTS} QEMU guests and {HOSTS} namespaces at the same time: pings and TCP"
    if reason := function_clients.why_not():
        return _row(what, "all", "not run", "", None, MEASURED, reason)
    with function_clients.clients(HOSTS, GUESTS, testpmd=True) as found:
        met = function_clients.meet(found)
    return _row(
        what,
        f"{met.pairs + met.streams}",
        met.pinged + met.sent,
        "pairs",
        (met.pinged, met.sent) == (met.pairs, met.streams),
        MEASURED,
        f"through the switch card's RTL; {met.pinged} pings and {met.sent} transfers of 300 kB; stock drivers",
    )
