"""What the emulator must show: coverage and resiliency, the same connectivity on each fabric, jamming as modelled.

A group of rows more: a function that takes ``full``, ``address`` and ``progress`` and gives rows, in ``_PARTS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from headrace.emulator import daemons
from headrace.engines.netem import Loss
from headrace.errors import HeadraceError
from headrace.evaluate.bench import MEASURED, MODELLED, WALL_CLOCK, Row
from headrace.evaluate.loads import coverage, emulations, emulator_daemons, emulator_hosts, link
from headrace.evaluate.loads import emulator as traffic
from headrace.evaluate.points import Progress, run_points
from headrace.evaluate.study import emulator_points as study
from headrace.evaluate.study.emulator_published import COVERAGE, RESILIENCY
from headrace.net import namespaces

SIZES = (6, 32)
FABRICS = ("software", "ovs", "rtl")
LOSSES = (0.1, 0.3, 0.6)  # of the jammed link
SIGMAS = 4.0
NEAR = 0.05  # of the modelled bits per second
NODES = 100
MOST_OF_SCRIPT = 2.0  # of the time of a script of ip commands
DAEMONS = ("babeld", "bird")
DELAYS_NS = (0, 1_000_000, 20_000_000, 1_000_000_000)
NEAR_NS = 1_000
RATES_BPS = (1e6, 54e6)
NEAR_RATE = 0.001
LOSS = (Loss(0.01), Loss(0.3), Loss(0.02, "gemodel", r=0.2, bad=0.8, good=0.001))

Part = Callable[[bool, str | None, Progress], Iterator[Row]]


def run(full: bool, address: str | None, progress: Progress) -> list[Row]:
    """All rows. ``full``: more seeds, frames and packets. What of a part can't be measured is a row that fails, beside
    all that can."""
    rows: list[Row] = []
    for name, part in _PARTS.items():
        try:
            for row in part(full, address, progress):
                rows.append(row)
        except HeadraceError as error:
            rows.append(_row(f"{name}: the rest", "measured", "failed", "", False, MEASURED, str(error)))
    return rows


_row = partial(Row, "emulator")


def _coverage(full: bool, address: str | None, progress: Progress) -> Iterator[Row]:
    seeds = coverage.SEEDS if full else 5
    points = [study.coverage_point(study.RANGE_M, *cell, seeds=seeds) for cell in COVERAGE]
    rows = len(points)
    points += [study.resiliency_point(study.RANGE_M, jammed, seeds) for jammed in RESILIENCY if jammed]
    found = run_points(
        coverage.run,
        [point.arguments for point in points],
        address,
        lambda done, all_: progress("coverage and resiliency", done / all_),
    )
    same = [
        (each.full == each.scenes) == all_reached
        for each, all_reached in zip(found[:rows], COVERAGE.values(), strict=True)
    ]
    yield _row(
        "table 3.2: cells in which 32 nodes are all reached, or not, as published",
        f"{rows}",
        sum(same),
        "cells",
        all(same),
        MEASURED,
        f"{found[0].scenes} moments of {seeds} seeds each, range {study.RANGE_M:g} m: assumed",
    )
    for each in found[rows:]:
        published, again = RESILIENCY[each.jammed]
        yield _row(
            f"table 3.3: nodes reached with {each.jammed} links jammed, mean of {seeds} seeds",
            f"at least {published:.1%}",
            each.after,
            "of 32 nodes",
            each.after >= published,
            MEASURED,
            f"{each.least:.1%} at least; {each.left:.1%} by the links that are left; "
            f"{each.found:.1f} links found again, published {again}",
        )


def _sizes(_: bool, __: str | None, progress: Progress) -> Iterator[Row]:
    for nodes in SIZES:
        progress(f"{nodes} nodes", None)
        found = emulations.whole(nodes)
        yield _row(
            f"{nodes} nodes with 4 PHYs: pairs of nodes that answer each other",
            f"{found.pairs}",
            found.reached,
            "pairs",
            found.reached == found.pairs,
            MEASURED,
            f"{found.links} links; up after {found.built_s:.1f} s (wall clock)",
        )


def _fabrics(_: bool, __: str | None, progress: Progress) -> Iterator[Row]:
    reasons = {fabric: emulations.why_not(fabric) for fabric in FABRICS}
    there = [fabric for fabric, reason in reasons.items() if reason is None]
    progress("fabrics", None)
    found = emulations.reached(emulations.SMALL, there, emulations.STEPS)
    pairs = ", ".join(f"{len(each)}" for each in found.expected)
    without = "".join(f"; without {fabric}: {reason}" for fabric, reason in reasons.items() if reason is not None)
    yield _row(
        f"steps at which who has a way, and nobody else, answers on {', '.join(there)}",
        f"{emulations.STEPS}",
        found.same,
        "steps",
        found.same == emulations.STEPS and not without,
        MEASURED,
        f"6 nodes with 2 PHYs, pairs by step: {pairs}{without}",
    )


def _jamming(full: bool, _: str | None, progress: Progress) -> Iterator[Row]:
    frames = 20_000 if full else 5_000
    for power in (None, *emulations.powers(LOSSES)):
        progress("jamming", None)
        found = emulations.jam(power, frames)
        worst = max(found.deviation, found.far_deviation)
        jammer = "no jammer" if power is None else f"a jammer of {power:g} dBm 100 m away"
        what = f"a link of 100 m, {jammer}: "
        signal = f"{found.snr_db:.1f} dB of signal to noise"
        lost, far_lost = (1 - each / found.sent for each in (found.received, found.far_received))
        yield _row(
            f"{what}frames lost, modelled {found.loss:.1%}",
            f"within {SIGMAS:g} sigma",
            lost,
            f"of {found.sent:,} frames",
            worst <= SIGMAS,
            MEASURED,
            f"{signal}; {found.deviation:.1f} sigma; a link far away, modelled {found.far_loss:.1%}: {far_lost:.1%}, "
            f"{found.far_deviation:.1f} sigma",
        )
        modelled = found.rate_bps * (1 - found.loss)
        yield _row(
            f"{what}what it carries",
            f"within {NEAR:.0%}",
            found.measured_bps / modelled,
            "of the model's bits a second",
            abs(found.measured_bps / modelled - 1) <= NEAR,
            WALL_CLOCK,
            f"{found.measured_bps / 1e6:.2f} Mb/s of frames; modelled {found.rate_bps / 1e6:g} Mb/s less what is lost",
        )


def _scale(_: bool, __: str | None, progress: Progress) -> Iterator[Row]:
    progress(f"{NODES} nodes", None)
    found = traffic.scale(NODES)
    what = f"{NODES} nodes with {found.phys} PHYs"
    yield _row(
        f"{what} and their processes: built",
        f"at most {MOST_OF_SCRIPT:g}",
        found.built_s / found.script_s,
        "times as long as a script of ip commands",
        found.built_s <= MOST_OF_SCRIPT * found.script_s,
        WALL_CLOCK,
        f"{found.built_s:.1f} s and {found.script_s:.1f} s for the same namespaces and cables; "
        f"{found.processes:,} processes",
    )
    yield _row(
        f"{what}: messages of telemetry lost, both ways over all {found.links} links",
        "0",
        found.lost,
        "",
        not found.lost,
        MEASURED,
        f"of {found.sent:,}; latency p99 {found.latency_p99_s * 1e3:.0f} ms (wall clock)",
    )
    yield _row(
        f"{what}: memory of a node", "-", found.node_bytes / 1e6, "MB", None, WALL_CLOCK, "MemAvailable that went"
    )


def _daemons(full: bool, _: str | None, progress: Progress) -> Iterator[Row]:
    for name in DAEMONS:
        what = f"{name}: a broken link is routed around, five hops, pings answered again after"
        try:
            daemons.check(name)
        except HeadraceError as error:
            yield _row(what, "twice its timer", "not run", "", None, WALL_CLOCK, str(error))
            continue
        progress(name, None)
        found = emulator_daemons.convergence(name, pings=100 if full else 30)
        yield _row(
            what,
            f"at most {2 * found.update_s:g}",
            found.converged_s,
            "s",
            found.within_twice_its_timers and found.received == found.sent,
            WALL_CLOCK,
            f"hellos every {found.hello_s:g} s, updates every {found.update_s:g} s; first answer after "
            f"{found.first_s:.1f} s; {found.received} of {found.sent} pings over {found.hops} hops",
        )


def _hosts(_: bool, __: str | None, progress: Progress) -> Iterator[Row]:
    what = f"{emulator_hosts.HOSTS} hosts: "
    if (reason := namespaces.why_not()) is not None:
        yield _row(f"{what}pings and streams across", "all", "not run", "", None, MEASURED, reason)
        return
    progress("hosts", None)
    with emulator_hosts.three_hosts() as hosts:
        found = emulator_hosts.spread(hosts)
    nodes = sum(map(len, found.hosts))
    yield _row(
        f"{what}pairs of nodes on different hosts that answer each other",
        f"{found.across}",
        found.answered,
        "pairs",
        found.answered == found.across,
        MEASURED,
        f"{nodes} nodes in a line over the hosts, which are network namespaces of one machine; links by VXLAN",
    )
    yield _row(
        f"{what}streams from host to host that bring all their messages",
        f"{found.streams}",
        found.whole,
        "streams",
        found.whole == found.streams,
        MEASURED,
        f"{emulator_hosts.MESSAGES} images each, by TCP, all at the same time",
    )
    yield _row(
        f"{what}one is killed: pairs of the other nodes that answer each other",
        f"{found.others}, and nothing is left at the end",
        found.answered_then,
        "pairs",
        found.answered_then == found.others and found.down == found.hosts[-1] and not found.left,
        MEASURED,
        f"shown as down: {', '.join(found.down) or 'none'}; hosts with something left: {found.left}",
    )


def _clean(_: bool, __: str | None, progress: Progress) -> Iterator[Row]:
    progress("kill -9", None)
    found = traffic.killed()
    left = sum(each.left for each in found)
    yield _row(
        "processes that are left when one of an emulation's is killed (kill -9)",
        "0",
        left,
        "",
        not left,
        MEASURED,
        f"each of {len(found)} in turn: {', '.join(dict.fromkeys(each.victim for each in found))}",
    )


def _links(full: bool, _: str | None, progress: Progress) -> Iterator[Row]:
    points: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (link.measure_delay, {"delay_ns": delay_ns, "packets": 200 if full else 50}) for delay_ns in DELAYS_NS
    ]
    points += [(link.measure_rate, {"rate_bps": rate_bps}) for rate_bps in RATES_BPS]
    points += [(link.measure_loss, {"loss": loss, "packets": 100_000 if full else 30_000}) for loss in LOSS]
    for number, (measure, arguments) in enumerate(points):
        progress("links in RTL", number / len(points))
        yield _link(measure(**arguments))


def _link(found: link.Delay | link.Rate | link.Lost) -> Row:
    if isinstance(found, link.Delay):
        return _row(
            f"link in RTL, delay {found.delay_ns / 1e6:g} ms, {found.size:,} bytes at {found.port_bps / 1e6:g} Mb/s: "
            "the worst error",
            f"at most {NEAR_NS:,} and no packet wrong",
            found.error_ns,
            "ns",
            found.error_ns <= NEAR_NS and not found.wrong,
            MODELLED,
            f"in card time, beside the packet's own {found.packet_ns / 1e3:.1f} us; {found.packets} packets, "
            f"{found.wrong} wrong; {found.by_memory:,} bytes by host memory",
        )
    if isinstance(found, link.Rate):
        return _row(
            f"link in RTL, rate {found.rate_bps / 1e6:g} Mb/s, {found.size:,} bytes: error",
            f"at most {NEAR_RATE:.1%}",
            abs(found.error),
            "of the rate",
            abs(found.error) <= NEAR_RATE,
            MODELLED,
            f"in card time; {found.packets} packets at twice the rate",
        )
    return _row(
        f"link in RTL, {found.netem[found.netem.index('loss') :]}: packets lost",
        f"{found.expected:,.0f}, within {found.bound:,.0f}",
        found.lost,
        f"packets of {found.packets:,}",
        found.within,
        MEASURED,
        f"{link.SIGMAS} sigma; as tc-netem(8) describes it",
    )


_PARTS: dict[str, Part] = {
    "coverage": _coverage,
    "sizes": _sizes,
    "fabrics": _fabrics,
    "jamming": _jamming,
    "scale": _scale,
    "daemons": _daemons,
    "hosts": _hosts,
    "links in RTL": _links,
    "kill -9": _clean,
}
