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
    text = resources.files("headrace.evaluate.study").joinpath("data/bpfcap_table_5_1.csv").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [BpfcapRow(**{name: int(value) for name, value in row.items()}) for row in csv.DictReader(lines)]


EMBEDNET_MBIT_S = {("h2s", 0): 15.0, ("h2s", 64): 150.0, ("s2h", 0): 9.0, ("s2h", 64): 120.0}
"""EmbedNet's thesis (D. Salvisberg, ETH Zurich, SA-2015-09), section 5.2: Mb/s of 1,500-byte packets by direction and
KB of the buffers, 0 for single packets. Its other points are in figures only."""

EMBEDNET_SIZES = {
    ("h2s", "single packets"): (670, 364, 2),
    ("s2h", "single packets"): (502, 448, 2),
    ("h2s", "64 KB"): (782, 523, 16),
    ("s2h", "64 KB"): (588, 484, 16),
}
"""Tables 5.1 and 5.2: LUTs, flip-flops and BRAM36 on a Virtex-6, by ISE."""

RPU_FORWARDING_GBIT_S = {"peak of 8 units": 100.0, "64 bytes, 8 units": 40.0, "peak of one unit": 25.0}
"""The thesis on Rosebud on the U55C (chapter 4): in words, "around 40 %" and "peak"; its points are in figures only."""
RPU_CRC_GBIT_S = 80.0
"""Its peak with the CRC accelerator, reached at 2,000 bytes and more."""
RPU_RECONFIGURATION_S = {1: 2.34, 4: 9.02, 8: 16.50}
"""Its table 4.1: seconds by the number of units."""
MCAP_MBYTE_S = (3.0, 6.0)
"""AMD's XAPP1338: what the configuration port that the thesis used, MCAP, takes in typical systems."""
ICAP_MBYTE_S = 500.0
"""The same: the port inside of a device of several dies, as the U55C's."""


def rosebud_cycles(size: int) -> int:
    """Cycles in which Rosebud's RTL forwards a packet of ``size`` bytes, FCS counted: the beats of 16 bytes and 12, or
    16 for the smallest packets; simulated."""
    return max(14, -(-size // 16) + 12)
