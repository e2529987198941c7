# SPDX-License-Identifier: Apache-2.0
"""Four filters at once, a measurement in the card's counters, and the length of programs at which line rate ends."""

from __future__ import annotations

from pathlib import Path

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.text import Text

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
from headrace.engines.filter import Slot
from headrace.errors import HeadraceError
from headrace.evaluate import report
from headrace.evaluate.demo import Setting, Shown, tcpdump
from headrace.evaluate.demo.views import table, verdict
from headrace.net import bpf

FILTERS = {
    "web": "tcp port 80",
    "names": "udp port 53",
    "connections": "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "ipv6": "ip6",
}
LENGTHS = (5, 17, 20, 35, 50)  # instructions a packet, for the limits
SMALLEST = 60  # bytes without FCS
WIRE_OVERHEAD = 24  # FCS, preamble and gap


def run(setting: Setting) -> Shown:
    """Files beside tcpdump's. Raises HeadraceError."""
    folder, capture = setting.folder, setting.traffic.path
    setting.build("filter", long=True)
    outputs = {name: FilterOutput(bpf.compile(text), str(folder / f"{name}.pcap")) for name, text in FILTERS.items()}
    found = run_filter(FilterJob(list(outputs.values()), str(capture)))
    if found.fault:
        raise HeadraceError(found.fault)
    setting.tell("comparing with tcpdump")
    files = {name: Path(str(output.path)) for name, output in outputs.items()}
    same = {name: _is_tcpdumps(capture, files[name], FILTERS[name]) for name in FILTERS}
    rows = table("filter", "packets", "file", "", numbers=["packets"])
    for (name, expression), program in zip(FILTERS.items(), found.programs, strict=True):
        equal = verdict(same[name], "= tcpdump's", "not tcpdump's")
        rows.add_row(Text(expression), f"{program.matched:,}", str(files[name]), equal)
    setting.tell("counting protocols")
    measurement = measurements.find("ip-proto")
    *_, protocols = run_measure(measurement.program, str(capture))
    report.measurement_plot(measurement, protocols, str(folder / "protocols.png"))
    setting.tell("looking for the limits")
    parts: list[RenderableType] = [
        rows,
        report.filter_figures(found.to_json()),
        report.measurement_table(measurement, protocols, top=4),
        _limits(found),
    ]
    return Shown(all(same.values()), Group(*(line for part in parts for line in (part, ""))))


def _is_tcpdumps(capture: Path, file: Path, expression: str) -> bool:
    beside = file.with_name(f"{file.stem}-tcpdump.pcap")
    tcpdump.filtered(capture, beside, expression)
    same = file.read_bytes() == beside.read_bytes()
    if same:
        beside.unlink()
    return same


def _limits(found: FilterReport) -> RenderableType:
    smallest, average = (instructions_per_packet(size, found.cores, found.clock_hz) for size in (SMALLEST, 800))
    rows = table("instructions a packet", "inspected", "", numbers=["instructions a packet", "inspected"])
    for length, inspected in find_limits().items():
        rows.add_row(str(length), f"{inspected:.1%}", Bar(1.0, 0, inspected, width=40))
    return Group(
        f"64-byte packets at 100 Gb/s (148.8 million a second), {found.cores} cores: there is time for {smallest:.1f} "
        f"instructions a packet, for {average:.0f} with 800 bytes. Packets beyond that are not inspected, and counted; "
        "every packet is passed on.",
        rows,
    )


def find_limits(lengths: tuple[int, ...] = LENGTHS, packets: int = 25_000) -> dict[int, float]:
    """Share of 60-byte packets at 100 Gb/s that the card inspects when a program takes so many instructions a packet,
    without flow control."""
    limits = {}
    with open_filter_card(progress=False) as card:
        driver = driver_of(card)
        for length in lengths:
            add = bpf.Instruction(0x04, 0, 0, 1)
            driver.load({0: Slot(bpf.Program((*([add] * (length - 1)), bpf.Instruction(bpf.RET_K, 0, 0, 0))))})
            before = driver.counters()
            card.source(WEST, f"gen:size={SMALLEST},count={packets}")
            card.run()
            limits[length] = (driver.counters().inspected - before.inspected) / packets
    return limits


def instructions_per_packet(size: int, cores: int, clock_hz: float) -> float:
    """Instructions that a packet of ``size`` bytes can cost at 100 Gb/s: one a cycle and core."""
    return cores * clock_hz * (max(size, SMALLEST) + WIRE_OVERHEAD) * 8 / LINE_RATE
