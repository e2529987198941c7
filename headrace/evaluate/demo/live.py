# SPDX-License-Identifier: Apache-2.0
"""Cards that run in the background, in a network of their own, and pings through them."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

from headrace import paths
from headrace.errors import HeadraceError
from headrace.evaluate.loads.switch_network import PATIENCE_S, Host, logged, until
from headrace.net import namespaces
from headrace.net.namespaces import host_behind, own_network

PINGS = 5


def why_not(*programs: str) -> str | None:
    """Why it can't be here; None where it can."""
    missing = [program for program in programs if shutil.which(program) is None]
    return namespaces.why_not() or (f"{missing[0]} is not installed" if missing else None)


@contextmanager
def hosts_at(
    words: Sequence[str], parameters: Mapping[str, Any], devices: Sequence[str]
) -> Iterator[tuple[list[Host], str]]:
    """A command of ``headrace`` that runs a card with these TAP devices, and a host behind each; gives the hosts and
    the card's control socket. Raises HeadraceError."""
    with tempfile.TemporaryDirectory() as name, own_network(), ExitStack() as stack:
        control = Path(name) / "control"
        settings = [word for key, value in parameters.items() for word in ("-P", f"{key}={value}")]
        command = [*paths.command(), *words, "--control", str(control), *settings]
        alive = stack.enter_context(logged(command, Path(name) / "log"))
        until(lambda: alive() and control.exists(), "the card")
        addresses = {device: f"10.0.0.{number}" for number, device in enumerate(devices, 1)}
        yield (
            [
                Host(address, stack.enter_context(host_behind(device, f"{address}/24")))
                for device, address in addresses.items()
            ],
            str(control),
        )


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
