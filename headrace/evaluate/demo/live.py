# SPDX-License-Identifier: Apache-2.0
"""Pings through cards that run in the background, in a network of their own."""

from __future__ import annotations

import re
import shutil
from statistics import fmean

from headrace.errors import HeadraceError
from headrace.evaluate.loads.switch_network import PATIENCE_S, Host
from headrace.net import namespaces

PINGS = 5


def why_not(*programs: str) -> str | None:
    """Why it can't be here; None where it can."""
    missing = [program for program in programs if shutil.which(program) is None]
    return namespaces.why_not() or (f"{missing[0]} is not installed" if missing else None)


def round_trip(one: Host, other: Host) -> tuple[int, float]:
    """How many of ``PINGS`` pings, one after the other, are answered, and the mean round trip in ms of wall time.
    Raises HeadraceError where none is."""
    one.hears(other)
    words = [
        "ping",
        "-n",
        "-c",
        "1",
        "-W",
        str(PATIENCE_S),
        other.address,
    ]  # of several it gives up the last ones early
    said = [one.run(*words).stdout for _ in range(PINGS)]
    times = [float(found[1]) for text in said if (found := re.search(r" time=([\d.]+) ms", text))]
    if not times:
        raise HeadraceError(f"no answer from {other.address}")
    return len(times), fmean(times)
