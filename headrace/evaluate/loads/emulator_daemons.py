"""Routing daemons in an emulation: how soon a broken link is routed around, over five hops."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headrace.emulator.client import Emulation
from headrace.emulator.daemons import DAEMONS, update_s
from headrace.errors import HeadraceError

PATIENCE_S = 900
"""After so many seconds without what is waited for, it does not come."""

_HOPS = 5
_EVERY_S = 0.02
_TTL = 64
_WAIT_S = "0.2"  # for a ping's answer
_SCENARIO = """
nodes = 7
phys = 3
fabric = "{fabric}"
routing = "{routing}"
hello_s = {hello_s}
[movement]
kind = "static"
positions = [[0, 0], [100, 0], [200, 0], [300, 0], [400, 0], [500, 0], [250, 80]]
[radio]
range_m = 110
"""  # n7 is the way around the link n3:n4


@dataclass(frozen=True)
class Convergence:
    """Wall clock. ``hello_s``, ``update_s``: the daemon's timers; ``first_s``: from its start to the first ping that is
    answered over all hops; ``sent``, ``received``: pings over ``hops`` hops; ``converged_s``: from the break of a link
    in the middle, which takes the carrier of its PHYs, to the sending of the first ping that is answered again (one at
    a time, each waited for 0.2 s)."""

    routing: str
    hello_s: float
    update_s: float
    first_s: float
    hops: int
    sent: int
    received: int
    converged_s: float

    @property
    def within_twice_its_timers(self) -> bool:
        """Whether the break was routed around within two updates."""
        return self.converged_s <= 2 * self.update_s


def convergence(routing: str, hello_s: float = 1.0, fabric: str = "software", pings: int = 100) -> Convergence:
    """Six nodes in a line, with a way around the link in the middle, which breaks. Raises HeadraceError when the daemon
    isn't installed, or doesn't route."""
    family = DAEMONS[routing].families[0]
    to = "10.0.0.6" if family == 4 else "fd00:6872::6"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(_SCENARIO.format(fabric=fabric, routing=routing, hello_s=hello_s))
        with Emulation(path, hold=True) as emulation:
            began = time.monotonic()
            first_s = _until(lambda: _hops(emulation, to) == _HOPS, f"{routing} to find the {_HOPS} hops") - began
            said = emulation.run("n1", ["ping", "-n", "-q", "-c", str(pings), "-i", str(_EVERY_S), to]).stdout
            received = int(said.split(" received")[0].split()[-1])
            emulation.jam("n3:n4")
            broken = time.monotonic()
            converged_s = _until(lambda: _hops(emulation, to) > 0, f"{routing} to find another way") - broken
    return Convergence(routing, hello_s, update_s(hello_s), first_s, _HOPS, pings, received, converged_s)


def _hops(emulation: Emulation, to: str) -> int:
    """How many there are back from a node; 0: it doesn't answer."""
    found = re.search(r"ttl=(\d+)", emulation.run("n1", ["ping", "-n", "-c", "1", "-W", _WAIT_S, to]).stdout)
    return _TTL + 1 - int(found[1]) if found else 0


def _until(condition: Callable[[], bool], what: str) -> float:
    """When the condition was asked for and was true. Raises HeadraceError."""
    deadline = time.monotonic() + PATIENCE_S
    while (asked := time.monotonic()) < deadline:
        if condition():
            return asked
        time.sleep(0.02)
    raise HeadraceError(f"waited in vain for {what}")
