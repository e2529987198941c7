"""What a capture of made traffic holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Traffic:
    """What a capture holds and how it came to be.

    ``bytes`` counts captured bytes, ``seconds`` the time between the first and the last packet; ``contents`` is one
    phrase per kind of traffic; ``remark`` says why the traffic isn't live, or is empty.
    """

    path: Path
    method: Literal["live", "made"]
    packets: int
    bytes: int
    seconds: float
    contents: tuple[str, ...]
    remark: str = ""

    def describe(self) -> str:
        """One sentence for a person."""
        how = {
            "live": "recorded by tcpdump from real programs in two network namespaces",
            "made": "made by scapy",
        }[self.method]
        text = f"{self.packets:,} packets, {self.bytes / 1e6:.1f} MB, {self.seconds:.1f} s, {how}: "
        return text + ", ".join(self.contents) + (f" ({self.remark})" if self.remark else "")
