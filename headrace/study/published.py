"""Published measurements that studies are put beside, each in a file with its source."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

BPFCAP_KERNEL_NS = 50_000
"""bpfcap's thesis, section 5.1.1: from a packet's arrival in the kernel to user space, without its FPGA."""


@dataclass(frozen=True)
class BpfcapRow:
    """A row of table 5.1: the time in ns to capture a packet of ``payload_bytes`` + 40 bytes."""

    clock_mhz: int
    burst_words: int
    payload_bytes: int
    mean_ns: int
    sigma_ns: int
    median_ns: int
    min_ns: int
    max_ns: int


def bpfcap_table_5_1() -> list[BpfcapRow]:
    """All 54 rows, ordered by clock, burst length and payload."""
    text = resources.files("headrace.study").joinpath("data/bpfcap_table_5_1.csv").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [BpfcapRow(**{name: int(value) for name, value in row.items()}) for row in csv.DictReader(lines)]
