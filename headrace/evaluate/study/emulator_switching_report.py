"""The tables of what the emulator's study has of chapter 6, in markdown."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.evaluate.study.emulator_rows import CARD, OVS, SOFTWARE, Switching
from headrace.evaluate.study.files import grid_or_nothing

NAMES = {CARD: "the card, modelled, nodes take no time", OVS: "Open vSwitch here", SOFTWARE: "the kernel (`software`)"}


def _gbit(value: float | None) -> str:
    return (
        "" if value is None else f"{value:,.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
    )


def pairs_table(found: Switching) -> str:
    """Two nodes on each fabric; empty: none."""
    lines = [[NAMES[row.fabric], _gbit(row.gbit_s), f"{row.round_trip_us:,.1f}"] for row in found.pairs]
    return grid_or_nothing(["two nodes", "Gb/s of one TCP connection", "a ping's round trip, us"], lines)


def small_table(found: Switching) -> str:
    """Gb/s by the data of a packet; empty: none."""
    lines = [
        [
            f"{row.size:,} bytes",
            *map(_gbit, (row.card_gbit_s, row.card_cut_gbit_s, row.ovs_gbit_s, row.ovs_cut_gbit_s)),
            *map(_gbit, (row.published_ovs_gbit_s, row.published_gbit_s)),
        ]
        for row in found.small
    ]
    head = ["Gb/s of data", "the card, modelled: packets", "64 KB that it cuts", "Open vSwitch here: packets"]
    return grid_or_nothing([*head, "64 KB that the kernel cuts", "published: Open vSwitch", "published: FPGA"], lines)


def six_table(found: Switching) -> str:
    """Gb/s of each stream, and of all; empty: none."""

    def line(name: str, values: Sequence[float | None], lost: int) -> list[str]:
        return [name, *map(_gbit, values), f"{lost}"]

    rows = [(row.card_gbit_s, row.ovs_gbit_s, row.software_gbit_s) for row in found.six]
    lines = [
        line(f"n{row.source} to n{row.destination}", values, row.lost)
        for row, values in zip(found.six, rows, strict=True)
    ]
    if rows:
        sums = [None if None in column else sum(each or 0.0 for each in column) for column in zip(*rows, strict=True)]
        lines.append(line("all together", sums, found.lost))
    return grid_or_nothing(["Gb/s of images", *(NAMES[each] for each in (CARD, OVS, SOFTWARE)), "messages lost"], lines)


def filter_table(found: Switching) -> str:
    """Gb/s of samples by where they are filtered; empty: none."""
    lines = [
        [
            f"{row.samples:,}",
            *map(_gbit, (row.card_gbit_s, row.none_gbit_s, row.cpp_gbit_s, row.numpy_gbit_s)),
            f"{row.none_gbit_s / row.numpy_gbit_s:.1f}" if row.none_gbit_s and row.numpy_gbit_s else "",
        ]
        for row in found.filtered
    ]
    head = [
        "samples of a packet: Gb/s of samples",
        "filtered in the card, a line, modelled",
        "not filtered by the node",
    ]
    return grid_or_nothing(
        [*head, "in the node, C++", "in the node, NumPy", "not filtered, as a multiple of NumPy"], lines
    )
