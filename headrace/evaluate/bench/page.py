"""The figures of docs/performance.md and of the README's table, by the names of their slots."""

from __future__ import annotations

import re
from collections.abc import Sequence

from headrace.errors import HeadraceError
from headrace.evaluate.bench import Row

_TABLES = {
    "engine": r"capture engine",
    "size": r"size: ",
}
"""Tables of their own, by what their rows begin with."""
_NAMES = {
    "filter.one": r"100 Gb/s, 8 cores",
    "filter.both": r"2 x 100 Gb/s",
    "filter.wide": r"400 Gb/s",
    "filter.latency": r"passthrough latency",
    "filter.cpi": r"core CPI at line rate",
    "capture.wire": r"wire to memory",
    **{f"capture.stream_{width}": rf"stream out of memory, {width} bits" for width in (32, 128, 512)},
    "bridge.line_h2s": r"10 Gb/s both ways .* hardware to software",
    "bridge.line_s2h": r"10 Gb/s both ways .* software to hardware",
    "bridge.adaptive_high": r"adaptive, load high, .* worst p99",
    "bridge.critical": r"latency-critical packets in a full line, express",
    "rpu.original": r"one unit, 64 bytes, firmware of the original",
    "rpu.ours": r"one unit, 64 bytes, our forwarder",
    "rpu.eight": r"eight units, a full line",
    "rpu.sixteen": r"sixteen units",
    "rpu.firewall": r"firewall, .* prefixes",
    "switch.rate": r"parser and tables",
    "switch.latency": r"latency, 4 tables",
    "switch.oracle": r"random packets through random flows",
    "switch.barrier": r"barriers answered too early, a flow modified",
    "conformance.passed": r"os-ken's OpenFlow 1.3 tests",
    "host.small": r"16 functions, both directions at once, 64 bytes",
    "host.later": r"their p99 latency",
    "host.mutated": r".* mutated rings: memories of other functions",
    "host.clients": r"DPDK's testpmd",
    "emulator.lost": r"100 nodes .* messages of telemetry lost",
    "emulator.built": r"100 nodes .*: built",
    "emulator.delay": r"link in RTL, delay 20 ms",
    "size.core": r"filter core .* on UltraScale",
    "size.core_rams": r"its memories",
    "size.default_rams": r"memories of the default's",
    "size-fit.ecp5": r"filter core of 32 KB, ECP5$",
    "size-fit.mhz": r"filter core of 32 KB, ECP5: Fmax",
    "sim.frames": r"switch card.* 1,514-byte frames .* profile",
    "sim.small": r"switch card.* a lookup a cycle.* profile",
    "sim.sparse": r"switch card.* 5 % of the line.* profile",
    "sim.nic": r"NIC card.* testpmd .* profile",
    "sim.rpu": r"RPU card",
    "sim.filter": r"filter card.* all accepted and written.* profile",
    "sim.bridge": r"bridge card",
    "sim.ping": r"round trip of a ping through the switch",
    "sim.tcp": r"iperf3 TCP through the switch",
    "sim.udp": r"iperf3 UDP",
}
"""Rows by what they begin with."""
_NOTED = {"size.default_luts": (r"memories of the default's", r"([\d,]+) LUTs")}
"""Figures in a row's note, and how they are written there."""


def values(group: str, rows: Sequence[Row]) -> dict[str, str | None]:
    """Of all rows of a group: its tables, and single figures. Raises HeadraceError where one isn't there."""
    tables = {name: [row for row in rows if re.match(pattern, row.what)] for name, pattern in _TABLES.items()}
    tables["table"] = [row for row in rows if not any(row in table for table in tables.values())]
    found: dict[str, str | None] = {
        f"{group}.{name}": f"\n\n{_table(chosen)}\n\n" for name, chosen in tables.items() if chosen
    }
    for name, pattern in _NAMES.items():
        if name.startswith(f"{group}."):
            matching = [row for row in rows if re.match(pattern, row.what)]
            if len(matching) != 1:
                raise HeadraceError(f"{len(matching)} rows of bench {group} begin with {pattern}: {name} must be one")
            found[name] = number(matching[0])
    for name, (pattern, written) in _NOTED.items():
        for row in rows:
            if name.startswith(f"{group}.") and re.match(pattern, row.what) and (noted := re.search(written, row.note)):
                found[name] = noted[1]
    return found


def number(row: Row) -> str:
    """The value for people, without its unit but with a per cent sign where it is a share."""
    if isinstance(row.value, str):
        return row.value
    if row.unit.startswith("of "):
        return f"{row.value:.1%}"
    if isinstance(row.value, int):
        return f"{row.value:,}"
    return f"{row.value:,.2f}" if abs(row.value) < 100 else f"{row.value:,.0f}"


def _table(rows: Sequence[Row]) -> str:
    lines = ["| what | must be | is | how it is known |", "|---|---|---|---|"]
    for row in rows:
        value = f"{number(row)} {row.unit}".strip()
        shown = f"**{value}: missed**" if row.ok is False else value
        known = f"{row.kind}; {row.note}" if row.note else row.kind
        lines.append(f"| {row.what} | {'' if row.must == '-' else row.must} | {shown} | {known} |")
    return "\n".join(lines)
