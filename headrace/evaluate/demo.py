"""The demo: real traffic through the filter card and through C firmware on the RPU card, tcpdump beside them, and where
the limits are."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headrace.cards.filter import measurements
from headrace.cards.filter.run import (
    LINE_RATE,
    WEST,
    FilterJob,
    FilterOutput,
    FilterReport,
    driver_of,
    open_filter_card,
    run_filter,
    run_measure,
)
from headrace.cards.rpu.run import RpuJob, RpuReport
from headrace.cards.rpu.run import run as run_rpu
from headrace.engines.filter import Slot
from headrace.errors import HeadraceError
from headrace.evaluate import report
from headrace.net import bpf
from headrace.traffic import Traffic, realistic_capture

FILTERS = {
    "web": "tcp port 80",
    "names": "udp port 53",
    "connections": "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "ipv6": "ip6",
}
LENGTHS = (5, 11, 15, 17, 18, 20, 25, 35, 50)  # instructions a packet, for the limits
SMALLEST = 60  # bytes without FCS
WIRE_OVERHEAD = 24  # FCS, preamble and gap
UNITS = 4  # of the RPU card

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class Comparison:
    """A file of the card beside tcpdump's."""

    name: str
    expression: str
    path: Path
    packets: int
    same: bool


@dataclass(frozen=True)
class Limit:
    """Share of 60-byte packets at 100 Gb/s that 8 cores inspect when a program takes so many instructions a packet."""

    instructions: int
    inspected: float


@dataclass(frozen=True)
class Firewall:
    """The traffic through a firewall in C on the RPU card. ``same``: what passed is what tcpdump lets pass."""

    blocked: list[str]
    path: Path
    report: RpuReport
    same: bool


@dataclass(frozen=True)
class Demo:
    """All that the demo found."""

    traffic: Traffic
    report: FilterReport
    comparisons: list[Comparison]
    protocols: dict[int, tuple[int, int]]
    limits: list[Limit]
    firewall: Firewall


def run(folder: Path, packets: int = 30_000, progress: Progress | None = None) -> Demo:
    """Records traffic, filters it with four programs, compares with tcpdump, measures, looks for the limits, and sends
    it through a firewall.

    Files go to ``folder``, which is made. Raises HeadraceError where tcpdump or a compiler is missing.
    """
    show = progress or (lambda _what, _done: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadraceError(f"{folder}: {error.strerror}") from None
    capture = folder / "traffic.pcap"
    show("recording traffic", 0.0)
    traffic = realistic_capture(capture, packets, progress=lambda n: show("recording traffic", min(n / packets, 1.0)))
    show("building the filter card (half a minute, once)", None)
    outputs = [
        FilterOutput(bpf.compile(expression), str(folder / f"{name}.pcap")) for name, expression in FILTERS.items()
    ]
    found = run_filter(FilterJob(outputs, str(capture)), show)
    if found.fault:
        raise HeadraceError(found.fault)
    show("comparing with tcpdump", None)
    comparisons = [
        _compare(name, capture, output, program.matched)
        for name, output, program in zip(FILTERS, outputs, found.programs, strict=True)
    ]
    show("counting protocols", None)
    measurement = measurements.find("ip-proto")
    *_, protocols = run_measure(measurement.program, str(capture))
    report.measurement_plot(measurement, protocols, str(folder / "protocols.png"))
    show("looking for the limits", None)
    limits = find_limits()
    show("a firewall in C on the RPU card (its card is built once, in two minutes)", None)
    return Demo(traffic, found, comparisons, protocols, limits, run_firewall(capture, folder))


def run_firewall(capture: Path, folder: Path) -> Firewall:
    """Drops what the source of most IPv4 packets sends, on four units with the accelerator for blocklists."""
    blocked = [address for address, _ in Counter(_sources(capture)).most_common(1)]
    blocklist, output = folder / "drop.txt", folder / "passed.pcap"
    blocklist.write_text("".join(f"{address}\n" for address in blocked))
    units = range(UNITS)
    found = run_rpu(
        RpuJob(
            programs=dict.fromkeys(units, "firewall"),
            accelerators=dict.fromkeys(units, "blacklist"),
            sources={0: str(capture)},
            sinks={1: str(output)},
            units=UNITS,
            policy="flow_hash",
            blocklist=str(blocklist),
        )
    )
    beside = folder / "passed-tcpdump.pcap"
    _tcpdump(capture, beside, f"not (ip and ({' or '.join(f'src host {address}' for address in blocked)}))")
    same = Counter(_packets(output)) == Counter(_packets(beside))
    if same:
        beside.unlink()
    return Firewall(blocked, output, found, same)


def _packets(capture: Path) -> Iterator[bytes]:
    from scapy.utils import RawPcapReader

    with RawPcapReader(str(capture)) as reader:
        yield from (data for data, _ in reader)


def _sources(capture: Path) -> Iterator[str]:
    for data in _packets(capture):
        if data[12:14] == b"\x08\x00":
            yield ".".join(map(str, data[26:30]))


def find_limits(lengths: tuple[int, ...] = LENGTHS, packets: int = 25_000) -> list[Limit]:
    """Runs programs of growing length on 60-byte packets at line rate, without flow control."""
    limits = []
    with open_filter_card(progress=False) as card:
        driver = driver_of(card)
        for length in lengths:
            add = bpf.Instruction(0x04, 0, 0, 1)
            driver.load({0: Slot(bpf.Program((*([add] * (length - 1)), bpf.Instruction(bpf.RET_K, 0, 0, 0))))})
            before = driver.counters()
            card.source(WEST, f"gen:size={SMALLEST},count={packets}")
            card.run()
            after = driver.counters()
            limits.append(Limit(length, (after.inspected - before.inspected) / packets))
    return limits


def instructions_per_packet(size: int, cores: int, clock_hz: float) -> float:
    """Instructions that a packet of ``size`` bytes can cost at 100 Gb/s: one a cycle and core."""
    return cores * clock_hz * (max(size, SMALLEST) + WIRE_OVERHEAD) * 8 / LINE_RATE


def _compare(name: str, capture: Path, output: FilterOutput, packets: int) -> Comparison:
    beside = capture.with_name(f"{name}-tcpdump.pcap")
    _tcpdump(capture, beside, FILTERS[name])
    path = Path(str(output.path))
    same = path.read_bytes() == beside.read_bytes()
    if same:
        beside.unlink()
    return Comparison(name, FILTERS[name], path, packets, same)


def _tcpdump(capture: Path, output: Path, expression: str) -> None:
    try:
        subprocess.run(
            ["tcpdump", "-r", str(capture), "-w", str(output), expression], check=True, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise HeadraceError("tcpdump is not installed: apt-get install tcpdump") from None
    except subprocess.CalledProcessError as error:
        raise HeadraceError(f"tcpdump: {error.stderr.strip().splitlines()[-1]}") from None
