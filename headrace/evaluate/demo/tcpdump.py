# SPDX-License-Identifier: Apache-2.0
"""What tcpdump finds in a capture."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from headrace.errors import HeadraceError


def filtered(capture: Path, output: Path, expression: str) -> None:
    """Writes the packets that an expression takes. Raises HeadraceError."""
    words = ["tcpdump", "-r", str(capture), "-w", str(output), expression]
    try:
        subprocess.run(words, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise HeadraceError("tcpdump is not installed: apt-get install tcpdump") from None
    except subprocess.CalledProcessError as error:
        raise HeadraceError(f"tcpdump: {error.stderr.strip().splitlines()[-1]}") from None


def count(capture: Path, expression: str) -> int:
    """Packets that an expression takes. Raises HeadraceError."""
    found = capture.with_name("found-tcpdump.pcap")
    filtered(capture, found, expression)
    number = sum(1 for _ in packets(found))
    found.unlink()
    return number


def packets(capture: Path) -> Iterator[bytes]:
    """The packets of a capture."""
    from scapy.utils import RawPcapReader

    with RawPcapReader(str(capture)) as reader:
        yield from (data for data, _ in reader)
