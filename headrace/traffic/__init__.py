"""Makes a realistic Ethernet capture without a network: what `make demo` filters.

Where it may (root on Linux, with tcpdump), real programs talk to each other through two network namespaces and tcpdump
records them. Elsewhere scapy makes sessions with the same mix of protocols.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from headrace.errors import HeadraceError
from headrace.traffic import live, made
from headrace.traffic.capture import Traffic

Method = Literal["auto", "live", "made"]


def realistic_capture(
    path: str | Path,
    packets: int = 50_000,
    seed: int = 1,
    method: Method = "auto",
    progress: Callable[[int], None] | None = None,
) -> Traffic:
    """Write a pcap file of about ``packets`` Ethernet frames (at most as many) to ``path``.

    ``method`` "live" runs real programs and is never the same twice; "made" uses scapy and is the same for the same
    ``seed``; "auto" takes live where it is possible. ``progress`` is called with the packets so far. Raises
    HeadraceError when the file can't be written, or when "live" was asked for and can't be had.
    """
    remark = ""
    if method != "made":
        remark = live.why_not() or ""
        if not remark:
            try:
                return live.record(Path(path), packets, seed, progress)
            except HeadraceError as error:
                remark = str(error)
        if method == "live":
            raise HeadraceError(f"cannot record live traffic: {remark}")
    return made.make(Path(path), packets, seed, remark, progress)
