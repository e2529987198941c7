"""The delay line of the emulator's software fabric: round trips and lateness for a delay, and frames a second."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from headrace.emulator.client import Emulation
from headrace.errors import HeadraceError
from headrace.evaluate.loads.emulations import scenario_file

_LIGHT_M_PER_S = 299_792_458
_FLOOD = """
import socket, sys, time
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
link.bind(("phy0", 0))
frame = b"\\2" * 12 + b"\\x88\\xb5" + bytes(int(sys.argv[1]) - 14)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for _ in range(16):
        link.send(frame)
"""


@dataclass(frozen=True)
class Delayed:
    """Of pings over one link: the fastest, the mean and the slowest round trip, and how late frames left the line."""

    asked_s: float
    round_trip_s: tuple[float, float, float]
    late_median_s: float
    late_p99_s: float
    late_max_s: float


@dataclass(frozen=True)
class Flooded:
    """As many frames as a node sends, to a link of 10 ms that isn't held to a rate: frames a second that left the line,
    and the part of all that came too fast for it."""

    frame_bytes: int
    per_second: float
    missed: float


def _two(delay_s: float, rate_bps: float) -> str:
    return (
        'nodes = 2\nphys = 1\nrouting = "shortest"\n[movement]\nkind = "static"\n'
        f"positions = [[0, 0], [{delay_s * _LIGHT_M_PER_S}, 0]]\n[radio]\nrange_m = 1e12\nrate_bps = {rate_bps}\n"
    )


def delayed(delay_s: float, pings: int = 200) -> Delayed:
    """Fifty pings a second. Raises HeadraceError."""
    with scenario_file(_two(delay_s, 54e6)) as path, Emulation(path, hold=True) as emulation:
        emulation.run("n1", ["ping", "-c", "1", "n2"])  # addresses are known then
        said = emulation.run("n1", ["ping", "-q", "-c", str(pings), "-i", "0.02", "n2"]).stdout
        found = re.search(r"= ([0-9.]+)/([0-9.]+)/([0-9.]+)/", said)
        if found is None:
            raise HeadraceError(f"no answer: {said}")
        fastest, mean, slowest = (float(ms) / 1e3 for ms in found.groups())
        late = emulation.ask("delay-line")["delay_line"]["late_s"]
        return Delayed(delay_s, (fastest, mean, slowest), late["median"], late["p99"], late["max"])


def flooded(frame_bytes: int, seconds: float = 5.0) -> Flooded:
    """Raises HeadraceError."""
    with scenario_file(_two(0.01, 1e12)) as path, Emulation(path, hold=True) as emulation:
        before, began = emulation.ask("delay-line")["delay_line"], time.monotonic()
        emulation.run("n1", ["python3", "-c", _FLOOD, str(frame_bytes), str(seconds)])
        after, took_s = emulation.ask("delay-line")["delay_line"], time.monotonic() - began
        left, missed = (after[key] - before[key] for key in ("frames", "missed"))
        return Flooded(frame_bytes, left / took_s, missed / (left + missed))
