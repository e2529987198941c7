"""How fast the harness is by itself: the loop card (two registers wide) at 512 bits and 3 ports, one process.

    python tests/card/bench_harness.py

Prints evaluated cycles and packets for each second of processor time, the best of three runs each. The card's own
model is in the figures, so that they are lower bounds for the harness.
"""

from __future__ import annotations

import os
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from headrace.card import Card

LOOP = Path(__file__).parent / "cards" / "loop"
PACKETS = 500_000


def make_capture(path: Path) -> None:
    """64-byte packets on the wire: 60 bytes and the FCS."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for n in range(PACKETS):
            file.write(struct.pack("<IIII", n // 1_000_000, n % 1_000_000, 60, 60) + n.to_bytes(60, "big"))


def measure(name: str, connect: Callable[[Card], None]) -> None:
    best = (0.0, 0.0)
    for _ in range(3):
        with Card.open(LOOP) as card:
            connect(card)
            start = time.process_time()
            card.run()
            card.close_files()
            spent = time.process_time() - start
            stats = card.stats()
        packets = sum(port.rx_frames for port in stats.ports)
        best = max(best, (stats.evaluated_cycles / spent, packets / spent))
    print(f"{name:<42}{best[0] / 1e6:6.2f} million cycles/s {best[1] / 1e6:6.2f} million packets/s")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.pcap", Path(folder) / "out.pcap"
        make_capture(source)

        def silent(card: Card) -> None:
            card.skip_idle(False)
            card.source(0, "gen:count=2000,rate=100M")

        def generated(card: Card) -> None:
            for port in (0, 1):
                card.source(port, f"gen:size=60,count={PACKETS}")

        def copied(card: Card) -> None:
            card.source(0, f"pcap:{source}")
            card.sink(1, f"pcap:{target}")

        def checked(card: Card) -> None:
            copied(card)
            card.expect_passthrough(0, 1)

        measure("no packets, every cycle evaluated", silent)
        measure("generated 64-byte packets, two ports", generated)
        measure("64-byte packets, pcap file to pcap file", copied)
        measure("the same with a passthrough check", checked)
        print(f"load of the machine: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
