# SPDX-License-Identifier: Apache-2.0
"""Cards that run in the background, in a network of their own, and pings through them."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from headrace import paths
from headrace.errors import HeadraceError
from headrace.evaluate.loads.switch_network import Host, logged, until
from headrace.net import namespaces
from headrace.net.namespaces import host_behind, own_network

PINGS = 5


def why_not(*programs: str) -> str | None:
    """Why it can't be here; None where it can."""
    missing = [program for program in programs if shutil.which(program) is None]
    return namespaces.why_not() or (f"{missing[0]} is not installed" if missing else None)


@contextmanager
def hosts_at(
    words: Sequence[str], parameters: Mapping[str, Any], devices: Sequence[str], network: str = "10.0.0"
) -> Iterator[tuple[list[Host], str]]:
    """A command of ``headrace`` that runs a card with these TAP devices, and a host behind each; gives the hosts and
    the card's control socket. Raises HeadraceError."""
    with tempfile.TemporaryDirectory() as name, own_network(), ExitStack() as stack:
        control = Path(name) / "control"
        settings = [word for key, value in parameters.items() for word in ("-P", f"{key}={value}")]
        command = [*paths.command(), *words, "--control", str(control), *settings]
        alive = stack.enter_context(logged(command, Path(name) / "log"))
        until(lambda: alive() and control.exists(), "the card")
        addresses = [f"{network}.{number}" for number, _ in enumerate(devices, 1)]
        there = [stack.enter_context(host_behind(*pair)) for pair in zip(devices, _with_prefix(addresses), strict=True)]
        yield [Host(*pair) for pair in zip(addresses, there, strict=True)], str(control)


def _with_prefix(addresses: Sequence[str]) -> list[str]:
    return [f"{address}/24" for address in addresses]


def round_trip(one: Host, other: Host) -> tuple[int, float]:
    """How many of ``PINGS`` pings are answered, and the mean round trip in ms of wall time. Raises HeadraceError where
    none is."""
    one.hears(other)
    said = one.run("ping", "-n", "-q", "-c", str(PINGS), "-i", "0.2", other.address).stdout
    found = re.search(r" (\d+) received.*= [\d.]+/([\d.]+)/", said, re.DOTALL)
    if not found:
        raise HeadraceError(f"no answer from {other.address}")
    return int(found[1]), float(found[2])
