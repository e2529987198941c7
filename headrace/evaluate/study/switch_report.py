"""The report of the switch card's study: markdown, and a short table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.evaluate.study.files import figure, grid, or_nothing, report, span, terminal_table
from headrace.evaluate.study.switch_published import FIR_GAIN, FIR_GBIT_S, SMALL_GBIT_S
from headrace.evaluate.study.switch_rows import SwitchStudy

if TYPE_CHECKING:
    from rich.table import Table

_KNOWN = """\
- **measured**: cycles of the RTL, the same on every machine; LUTs and RAMs as Yosys finds them.
- **modelled**: packets a second, Gb/s and ns of the card, which are cycles at a nominal clock of 322 MHz.
- **this machine**: Open vSwitch in user space between veth pairs, and the FIR filter on a core. *A core* is what its
  processor time for a packet comes to, in the best of three runs, which a busy machine changes less than wall-clock
  time.
- **published**: the thesis on an OpenFlow switch with SR-IOV (sections 4.4 and 6.1 to 6.3), whose Open vSwitch is in
  the kernel and whose packets come from and go to Linux sockets."""


def markdown(study: SwitchStudy, figures: dict[str, str]) -> str:
    """The whole report. ``figures``: captions by file name without suffix."""
    parts = [
        f"Without rates of Open vSwitch: {study.without_ovs}." if study.without_ovs else "",
        "## Lookups and cycles by the number of tables",
        depths_table(study),
        "## What tables take",
        figure("sizes", figures),
        sizes_table(study),
        "## Short-lived connections (table 6.1)",
        figure("connections", figures),
        connections_table(study),
        "## Small packets (figure 6.3)",
        figure("small", figures),
        small_table(study),
        "## FIR filter (figure 6.6)",
        figure("fir", figures),
        fir_table(study),
        "## Barriers",
        barriers_table(study),
    ]
    return report(
        study, "switch", "The switch card beside an OpenFlow switch on an FPGA and Open vSwitch", _KNOWN, parts
    )


def depths_table(study: SwitchStudy) -> str:
    """Cycles by the number of tables, beside Open vSwitch's processor time."""
    lines = [
        [
            f"{row.tables}",
            span(row.least_cycles, row.most_cycles),
            f"{row.ns:,.0f}",
            f"{row.cycles_per_packet:.2f}",
            or_nothing(row.ovs_new_ns, ",.0f"),
            or_nothing(row.ovs_known_ns, ",.0f"),
        ]
        for row in study.depths
    ]
    head = ["tables", "cycles in the card, 64 bytes", "ns", "cycles a packet at the limit"]
    return grid([*head, "Open vSwitch, ns a new connection's packet", "one that it knows"], lines)


def sizes_table(study: SwitchStudy) -> str:
    """What the parts of a table take on UltraScale+, beside the formula."""
    lines = [
        [
            f"{row.part}, {row.entries:,} entries",
            f"{row.luts:,}",
            f"{row.lutram:,}",
            f"{row.ffs:,}",
            f"{row.bram36:g}",
            f"{row.cam_bits / 36_864:,.0f}",
        ]
        for row in study.sizes
    ]
    head = ["key of 264 bits", "LUTs", "of them RAM", "flip-flops", "BRAM36"]
    return grid([*head, "the CAM's RAM by the thesis' formula, in BRAM36"], lines)


def connections_table(study: SwitchStudy) -> str:
    """Thousands of packets a second beside table 6.1."""
    lines = [
        [
            f"{row.data}, {row.payload:,} bytes",
            f"{row.published_ovs_kpps:.1f}",
            f"{row.published_kpps:.1f}",
            f"{row.published_kpps / row.published_ovs_kpps:.1f}",
            f"{row.card_kpps:,.0f}",
            or_nothing(row.ovs_kpps, ",.0f"),
            or_nothing(row.ovs_core_kpps, ",.0f"),
            or_nothing(row.ovs_known_core_kpps, ",.0f"),
        ]
        for row in study.connections
    ]
    head = ["packets of data, payload: thousands of packets/s", "published: Open vSwitch", "published: FPGA", "ratio"]
    here = ["the card, modelled", "Open vSwitch here, wall clock", "a core of it", "a core, all flows known"]
    return grid([*head, *here], lines)


def small_table(study: SwitchStudy) -> str:
    """Gb/s of frames by size."""
    lines = [
        [
            f"{row.size:,} bytes",
            f"{row.lines_gbit_s:.1f}",
            f"{row.card_gbit_s:.1f}",
            or_nothing(row.ovs_gbit_s, ".2f"),
            or_nothing(row.ovs_core_gbit_s, ".2f"),
            *(f"{value:.2f}" for value in SMALL_GBIT_S.get(row.size, ())),
            *[""] * (2 * (row.size not in SMALL_GBIT_S)),
        ]
        for row in study.small
    ]
    head = [
        "Gb/s of frames",
        "room in two lines",
        "the card, modelled",
        "Open vSwitch here, wall clock",
        "a core of it",
    ]
    return grid([*head, "published: Open vSwitch", "published: FPGA"], lines)


def fir_table(study: SwitchStudy) -> str:
    """Gb/s of samples by samples a packet."""
    lines = [
        [
            f"{row.samples:,}",
            f"{row.card_gbit_s:.1f}",
            f"{row.cpp_gbit_s:.1f}",
            f"{row.numpy_gbit_s:.2f}",
        ]
        for row in study.fir
    ]
    head = ["samples of a packet: Gb/s of samples", "the card, a line, modelled", "C++ on a core here", "NumPy"]
    published = f"Published: {FIR_GBIT_S:.0f} Gb/s at the filter; through sockets {FIR_GAIN} times software's at most."
    return f"{grid(head, lines)}\n\n{published}"


def barriers_table(study: SwitchStudy) -> str:
    """Packets that went the old way, or none."""
    lines = [
        [f"{row.switch}, {row.change}", f"{row.trials:,}", f"{row.stale:,}", f"{row.lost:,}"] for row in study.barriers
    ]
    return grid(["a flow, then a barrier", "trials", "the next packet went the old way", "was lost"], lines)


def summary_table(study: SwitchStudy) -> Table:
    """The most important figures, for the terminal."""
    head = ("data packets", "payload", "card, modelled", "Open vSwitch here", "a core of it", "published FPGA")
    rows = [
        (
            *(f"{row.data}", f"{row.payload:,}", f"{row.card_kpps:,.0f}"),
            *(or_nothing(row.ovs_kpps, ",.0f"), or_nothing(row.ovs_core_kpps, ",.0f"), f"{row.published_kpps:.1f}"),
        )
        for row in study.connections
    ]
    return terminal_table("Short-lived connections, thousands of packets/s", head, rows)
