"""The report of the host interface's study: markdown, and a short table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.evaluate.study.files import figure, grid, or_nothing, report, span, terminal_table
from headrace.evaluate.study.host_published import PCIE4_GBIT_S, PCIE4_LINK_GBIT_S
from headrace.evaluate.study.host_rows import HostStudy

if TYPE_CHECKING:
    from rich.table import Table

_KNOWN = """\
- **modelled**: Gb/s over PCI Express. The RTL of `rtl/pcie` moves the bytes, in cycles of 250 MHz; the link and a root
  complex that answers a read after 1 us are models. *By formula*: the link's rate, its coding and what a TLP has beside
  its payload.
- **measured**: cycles of functions on the switch card's RTL, the same on every machine, at 250 MHz.
- **this machine**: processor time for a packet.
- **published**: the thesis on an OpenFlow switch with SR-IOV (chapters 5 and 6), on a Stratix 10 in PCIe 3.0 x8. No
  model here is fitted to it."""


def markdown(study: HostStudy, figures: dict[str, str]) -> str:
    """The whole report. ``figures``: captions by file name without suffix."""
    parts = [
        f"Without PCI Express: {study.without_pcie}." if study.without_pcie else "",
        f"Without some of this machine's paths: {study.without_paths}." if study.without_paths else "",
        "## Payload of a TLP (figure 5.7)",
        payloads_table(study),
        "## Reads in flight (figure 5.8)",
        figure("windows", figures),
        windows_table(study),
        "## Transfers (figure 6.1)",
        figure("transfers", figures),
        transfers_table(study),
        "## Generations and lanes (figure 6.7)",
        figure("links", figures),
        links_table(study),
        "## Latency of a packet",
        latencies_table(study),
        "## Interrupts",
        figure("interrupts", figures),
        moderations_table(study),
        "## Processor time of a packet",
        paths_table(study),
    ]
    return report(study, "host", "The host interface beside DMA on an FPGA with SR-IOV", _KNOWN, parts)


def payloads_table(study: HostStudy) -> str:
    """PCIe 3.0 x8 by the payload of a TLP."""
    lines = [
        [
            f"{row.payload} bytes",
            f"{row.limit_32_gbit_s:.1f}",
            f"{row.limit_64_gbit_s:.1f}",
            f"{row.writes_gbit_s:.1f}",
            f"{row.limit_reads_gbit_s:.1f}",
            f"{row.reads_gbit_s:.1f}",
        ]
        for row in study.payloads
    ]
    head = ["MPS: Gb/s", "writes by formula, 32-bit addresses", "64-bit addresses", "writes of 4 KB"]
    return grid([*head, "completions by formula", "reads of 4 KB"], lines)


def windows_table(study: HostStudy) -> str:
    """Reads by how many may be in flight."""
    lines = [[f"{row.window}", f"{row.gbit_s:.1f}", f"{row.gbit_s / row.limit_gbit_s:.0%}"] for row in study.windows]
    return grid(["reads of 512 bytes in flight", "Gb/s", "of the link's limit"], lines)


def transfers_table(study: HostStudy) -> str:
    """By the size of a transfer, beside the published ones."""
    lines = [
        [
            f"{row.size:,} bytes",
            *(
                f"{value:.1f}" if value else ""
                for value in (row.single_gbit_s, row.reads_gbit_s, row.writes_gbit_s, row.both_gbit_s)
            ),
            f"{row.described_gbit_s:.1f}",
            "" if row.published_gbit_s is None else f"{row.published_gbit_s:.0f}",
            "" if row.published_gbit_s is None else f"{row.described_gbit_s / row.published_gbit_s:.2f}",
        ]
        for row in study.transfers
    ]
    head = ["transfer: Gb/s", "reads, one at a time", "reads", "writes", "both at once, each"]
    return grid([*head, "the thesis' way, modelled", "published", "modelled / published"], lines)


def links_table(study: HostStudy) -> str:
    """By generation and lanes."""
    lines = [
        [
            f"{row.generation}.0 x{row.lanes}",
            f"{row.link_gbit_s:.1f}",
            f"{row.limit_reads_gbit_s:.1f}",
            f"{row.reads_gbit_s:.1f}",
            f"{row.limit_writes_gbit_s:.1f}",
            f"{row.writes_gbit_s:.1f}",
            "" if row.published_gbit_s is None else f"{row.published_gbit_s:.0f}",
        ]
        for row in study.links
    ]
    head = ["PCI Express: Gb/s each way", "the link", "completions by formula", "reads", "writes by formula", "writes"]
    expected = (
        f"Published: {PCIE4_GBIT_S:.0f} and more of {PCIE4_LINK_GBIT_S:.0f} Gb/s expected of its engine on 4.0 x8."
    )
    return f"{grid([*head, 'published: the link'], lines)}\n\n{expected}"


def latencies_table(study: HostStudy) -> str:
    """Cycles from driver to driver."""
    latencies = list(dict.fromkeys(row.read_latency_ns for row in study.latencies))
    lines = []
    for size in dict.fromkeys(row.size for row in study.latencies):
        rows = {row.read_latency_ns: row for row in study.latencies if row.size == size}
        cells = [
            cell
            for latency in latencies
            for cell in (span(rows[latency].least_cycles, rows[latency].most_cycles), f"{rows[latency].ns:,.0f}")
        ]
        lines.append([f"{size:,} bytes", *cells])
    head = [name for latency in latencies for name in (f"cycles, memory answers after {latency:,} ns", "ns at 250 MHz")]
    return grid(["packet", *head], lines)


def moderations_table(study: HostStudy) -> str:
    """Interrupts by their moderation."""
    lines = [
        [
            f"{row.packets} packets, {row.time_ns / 1000:g} us" if row.time_ns else "nothing",
            f"{row.gap_ns / 1000:g}",
            f"{row.frames_per_interrupt:.1f}",
            f"{row.interrupts_s:,.0f}",
            f"{row.median_ns:,.0f}",
            f"{row.p99_ns:,.0f}",
        ]
        for row in study.moderations
    ]
    head = ["an interrupt waits for", "us between packets", "packets an interrupt", "interrupts a second"]
    return grid([*head, "ns to the driver, median", "p99"], lines)


def paths_table(study: HostStudy) -> str:
    """Processor time of this machine."""
    lines = [
        [
            row.path,
            f"{row.frames:,}",
            f"{row.cpu_ns / 1000:,.1f}",
            f"{row.path_ns / 1000:,.1f}",
        ]
        for row in study.paths
    ]
    head = ["packets of 64 bytes between two functions", "packets", "us of the card's process each"]
    return grid([*head, "more than out of memory"], lines)


def summary_table(study: HostStudy) -> Table:
    """The most important figures, for the terminal."""
    head = ("transfer", "reads", "writes", "one at a time", "the thesis' way", "published")
    rows = []
    for row in study.transfers:
        values = (row.reads_gbit_s, row.writes_gbit_s, row.single_gbit_s, row.described_gbit_s)
        shown = (f"{value:.1f}" if value else "" for value in values)
        rows.append((f"{row.size:,}", *shown, or_nothing(row.published_gbit_s, ".0f")))
    return terminal_table("PCIe 3.0 x8, Gb/s, modelled", head, rows)
