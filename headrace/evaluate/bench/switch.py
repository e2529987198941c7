"""What the switch card carries, how it keeps its promises, and what it costs, beside Open vSwitch."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headrace.evaluate.bench import MEASURED, WALL_CLOCK, Row
from headrace.evaluate.bench.filter import EXPRESSION
from headrace.evaluate.loads import openflow, speed, switch_network
from headrace.evaluate.loads import switch as loads
from headrace.evaluate.loads.openflow import FlowMods, Stale
from headrace.evaluate.loads.switch import Compared, Full, Insertions, Latency, Limit
from headrace.evaluate.points import Progress, run_groups, run_points
from headrace.net import ovs

TABLES = 4
DEPTHS = (1, TABLES)
PAIRS, FLOW_SETS = 5_000, 100
FLOWS = 10_000  # what one takes depends on how many there are, here as in Open vSwitch
LEAST_MODS = 0.1  # of Open vSwitch's flow mods a second
LEAST_SHARE = 0.3  # of the filter card's packets a wall second
LEAST_STREAMED = 0.25  # of the simulator's 64-byte packets a wall second, through TAP devices
LEAST_PASSED = 0.95  # of os-ken's tests without PBB

_PARTS, _ALL_PARTS = 4, 16  # of the flow sets and of os-ken's tests, for as many workers
_REPEATED = 3


def run(full: bool, address: str | None, progress: Progress) -> list[Row]:
    """All rows. ``full``: more flow sets, trials and seconds."""
    sets, trials = (FLOW_SETS, 1_000) if full else (20, 200)
    points: dict[str, list[dict[str, Any]]] = {
        "compared": [
            {"kind": "compare", "flow_sets": sets // _PARTS, "packets": PAIRS // FLOW_SETS, "seed": seed}
            for seed in range(_PARTS)
        ],
        "limit": [{"kind": "limit", "tables": TABLES}],
        "full": [{"kind": "full", "tables": TABLES}],
        "latency": [{"kind": "latency", "tables": tables} for tables in DEPTHS],
        "stale": [{"kind": "stale_packets", "trials": trials, "replace": replace} for replace in (False, True)],
        "insertions": [{"kind": "insertions", "count": FLOWS // 10}],
    }
    progress("cards", None)
    for tables in DEPTHS:
        loads.build(tables)
    found = run_groups("switch card", loads.run, points, address, progress)
    rows = [
        _compared(found["compared"]),
        *_rate(found["limit"][0], found["full"][0]),
        *(_latency(each) for each in found["latency"]),
        *_barrier(found["stale"]),
    ]
    progress("flow changes", None)
    rows += _flow_changes(found["insertions"][0])
    progress("simulator", None)
    rows += _simulator(full)
    for controller in switch_network.CONTROLLERS:
        progress(f"a network under {controller.name}", None)
        rows.append(_controlled(controller))
    return rows


_row = partial(Row, "switch")


def _compared(found: list[Compared]) -> Row:
    packets, different = sum(each.packets for each in found), sum(each.different for each in found)
    firsts = [each.first for each in found if each.first]
    sets, copies = sum(each.flow_sets for each in found), sum(each.sent for each in found)
    note = f"{packets:,} packets, {sets} flow sets, {copies:,} copies"
    if firsts:
        note += f"; the first: {firsts[0]}"
    return _row(
        "random packets through random flows whose result differs from Open vSwitch's",
        "0",
        different,
        "",
        not different,
        MEASURED,
        note,
    )


def _rate(limit: Limit, full: Full) -> Iterator[Row]:
    cycles = limit.cycles / limit.packets
    yield _row(
        "parser and tables, 64 bytes, at the limit",
        "1",
        cycles,
        "cycles a packet",
        cycles <= 1.001,
        MEASURED,
        f"{limit.clock_hz / cycles / 1e6:.0f} million packets/s at {limit.clock_hz / 1e6:.0f} MHz; {TABLES} tables",
    )
    yield _row(
        "two full lines of 100 Gb/s, 64 bytes, packets lost",
        "0",
        full.lost,
        "",
        full.kept_up,
        MEASURED,
        f"{full.packets:,} packets of {2 * loads.CONNECTIONS} flows in any order; "
        f"{full.lag_cycles} cycles behind at the end",
    )


def _latency(found: Latency) -> Row:
    plural = "s" * (found.tables > 1)
    return _row(
        f"latency, {found.tables} table{plural}, 64 bytes",
        "constant",
        found.most,
        "cycles",
        found.least == found.most,
        MEASURED,
        f"{found.packets} packets of exact and masked flows, through one table or all: at least {found.least}",
    )


def _barrier(found: list[Stale]) -> Iterator[Row]:
    for replace, each in zip((False, True), found, strict=True):
        with ovs.open_vswitch() as switch, ovs.StreamPorts(switch, 3) as ports:
            beside = openflow.stale_packets(switch.listen(), ports, each.trials, replace)
        change = "deleted and added" if replace else "modified"
        yield _row(
            f"barriers answered too early, a flow {change}",
            "0",
            each.stale + each.lost,
            "",
            not each.stale + each.lost,
            MEASURED,
            f"of {each.trials:,}; Open vSwitch: {beside.stale + beside.lost:,}",
        )


def _flow_changes(inserted: Insertions) -> Iterator[Row]:
    ours = loads.flow_mods(FLOWS)
    with ovs.open_vswitch() as switch:
        address = switch.listen()
        beside = [openflow.flow_mods(address, FLOWS, TABLES) for _ in range(_REPEATED)]
    theirs = statistics.median(map(_a_second, beside))
    yield _row(
        f"{FLOWS:,} flows by ovs-ofctl",
        f"at least {LEAST_MODS}",
        _a_second(ours) / theirs,
        "of Open vSwitch's flow mods a second",
        _a_second(ours) >= LEAST_MODS * theirs,
        WALL_CLOCK,
        f"{_a_second(ours):,.0f} and {theirs:,.0f} a second",
    )
    yield _row(
        f"a flow added, mean of {inserted.flows:,}",
        "-",
        inserted.cycles / inserted.flows,
        "cycles",
        None,
        MEASURED,
        "registers written and read",
    )


def _a_second(mods: FlowMods) -> float:
    return mods.flows / mods.seconds


def _simulator(full: bool) -> Iterator[Row]:
    """The switch of 4 ports and tables, and the filter card that rejects all, with 64-byte packets out of files; TCP
    through the switch."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.pcap", Path(folder) / "out.pcap"
        speed.make(source, 100_000 if full else 50_000)
        rate = loads.simulated(source, Path(folder), TABLES)
        filtered = speed.simulate(EXPRESSION.replace("100", "101"), source, output).packets_per_wall_s
    yield _row(
        f"simulator, 4 ports, {TABLES} tables, 64 bytes, files to files",
        f"at least {LEAST_SHARE}",
        rate / filtered,
        "of the filter card's packets a second",
        rate >= LEAST_SHARE * filtered,
        WALL_CLOCK,
        f"{rate:,.0f} and {filtered:,.0f} packets a second",
    )

    for kind, options in (("TCP, 1,514 bytes", switch_network.CUBIC), ("UDP, 64 bytes", switch_network.SMALLEST)):
        what, must = f"iperf3 between two namespaces, {kind}", f"at least {LEAST_STREAMED}"
        if reason := switch_network.why_not("iperf3"):
            yield _row(what, must, "not run", "", None, WALL_CLOCK, reason)
            continue
        found = switch_network.iperf(30 if full else 5, loads.parameters(TABLES), *options)
        streamed = found.packets / found.seconds
        yield _row(
            what,
            must,
            streamed / rate,
            "of the simulator's packets a second",
            streamed >= LEAST_STREAMED * rate,
            WALL_CLOCK,
            f"{streamed:,.0f} packets a second, {found.bytes * 8 / found.seconds / 1e6:,.1f} Mb/s of wall time",
        )


def _controlled(controller: switch_network.Controlled) -> Row:
    what = f"a network of namespaces under {controller.name}: ping and TCP"
    if reason := switch_network.why_not(*controller.programs):
        return _row(what, "all", "not run", "", None, MEASURED, reason)
    with switch_network.controlled(controller) as hosts:
        found = switch_network.reached(hosts)
    both = min(found.pinged, found.sent)
    note = f"through the RTL; {found.pinged} pings and {found.sent} transfers"
    return _row(what, f"{found.pairs}", both, "pairs of hosts", both == found.pairs, MEASURED, note)


def conformance(full: bool, address: str | None, progress: Progress) -> list[Row]:
    """A sample of os-ken's tests, without the longest loads. ``full``: all of them, which take hours."""
    what, must = "os-ken's OpenFlow 1.3 tests without PBB", f"at least {LEAST_PASSED:.0%}"
    if find_spec("os_ken") is None:
        return [Row("conformance", what, must, "not run", "", None, MEASURED, "os-ken is not installed")]
    from headrace.evaluate.conformance import counts

    every, parts = (1, _ALL_PARTS) if full else (counts.SAMPLE, _PARTS)
    points = [
        {"switch": switch, "part": part, "parts": parts, "every": every}
        for switch in counts.SWITCHES
        for part in range(parts)
    ]
    results = run_points(counts.run, points, address, lambda done, all_: progress("os-ken's tests", done / all_))
    ours, theirs = counts.total(results[:parts]), counts.total(results[parts:])
    failures = ", ".join(f"{name} {count}" for name, count in ours.failures.most_common())
    loads_cut = f"loads cut at {counts.MOST_PACKETS:,} packets"
    note = f"{ours.passed} passed; Open vSwitch {theirs.passed}; {loads_cut}; failures: {failures or 'none'}"
    passed, enough = ours.passed / ours.tests, ours.passed >= LEAST_PASSED * ours.tests
    return [
        Row(
            "conformance",
            what + (f", one of {every}; --full takes all" if every > 1 else ""),
            must,
            passed,
            f"of {ours.tests}",
            enough,
            MEASURED,
            note,
        )
    ]
