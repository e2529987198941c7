"""Tries the tests on RTL that was changed in one place each, and says which changes none of them finds.

The mutants are the same for the same RTL, whatever the tests: `--rtl` and `--tests` are commits. Each goes to the tests
of tests/rtl whose models contain it, those of the smallest model first, until one fails; one that is in no model of
theirs goes to tests of its card. All lies in build/mutation/<commit of the tests>/: results.json has each mutant with
the test that found it, NUMBER.log what the tests said. What is there already isn't done again.
"""

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any

import schemata

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MOST = 12  # tests that a mutant is tried on
LIMIT = 3600  # seconds of the wall clock for them; benches end by their own limits of cycles long before
CARDS = {
    "bridge": ["tests/card/bridge/test_bridge_card.py"],
    "nic": ["tests/card/nic/test_nic_card.py"],
    "rings": ["tests/card/rpu/test_host_rings.py"],
    "rpu": [f"tests/card/rpu/test_{name}.py" for name in ("rpu_card", "host_memory")],
    "switch": ["tests/card/switch/test_switch_card.py"],
}


class Mutation:
    """The mutants of one commit's RTL, and the tests of another one."""

    def __init__(self, rtl: str, tests: str, count: int, seed: int) -> None:
        self.rtl, self.commit = _commit(rtl), _commit(tests)
        self.folder = ROOT / "build" / "mutation" / self.commit[:12]
        self.tree = self.folder / "tree"
        with tempfile.TemporaryDirectory() as plain:
            _unpack(self.rtl, Path(plain), "rtl")
            self.mutants = schemata.draw(Path(plain) / "rtl", count, seed)
        what = {"rtl": self.rtl, "tests": self.commit, "count": count, "seed": seed}
        self.results = self.folder / "results.json"
        found = json.loads(self.results.read_text()) if self.results.exists() else {}
        if found.get("what") != what:
            shutil.rmtree(self.folder, ignore_errors=True)
            found = {"what": what, "pass": [], "mutants": {}}
        self.found: dict[str, Any] = found
        self.lock = Lock()

    def turns(self) -> list[list[tuple[int, list[str]]]]:
        """Write the tree, unless it is there; the mutants with their tests, together those that go to the same one
        first, as tests wait for each other's models; the smallest models first."""
        survey = self.folder / "survey.json"
        if not survey.exists():
            shutil.rmtree(self.tree, ignore_errors=True)
            _unpack(self.commit, self.tree)
            for part in ("rtl", "regs"):
                shutil.rmtree(self.tree / part)
            _unpack(self.rtl, self.tree, "rtl", "regs")
            schemata.write(self.tree / "rtl", self.mutants)
            folders = sorted(str(path.relative_to(self.tree)) for path in self.tree.glob("tests/rtl/*/"))
            survey.write_text(json.dumps(self.run(["--ignore-glob=*elaboration*", *folders], survey=True)))
        models = sorted(json.loads(survey.read_text()).items(), key=lambda item: item[1]["size"])
        if wrong := [test for test, model in models if not model["size"]]:
            raise RuntimeError(f"these can't be translated, see {self.folder}/0.log: {wrong}")
        turns: dict[str, list[tuple[int, list[str]]]] = {test: [] for test, _ in models}
        for number, mutant in enumerate(self.mutants, 1):
            tests = [test for test, model in models if number in model["mutants"]] or CARDS.get(mutant.folder, [])
            turns.setdefault(tests[0] if tests else "", []).append((number, tests[:MOST]))
        return list(turns.values())

    def run(self, tests: list[str], number: int = 0, *, survey: bool = False) -> dict[str, Any]:
        """What the plugin reports of `tests` with a mutant in force, 0 none. TimeoutExpired: they took too long."""
        with tempfile.NamedTemporaryFile() as report, open(self.folder / f"{number}.log", "w") as log:
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(self.tree), str(HERE)]),
                "HEADRACE_CACHE": str(self.folder / "cache"),
                "HEADRACE_FRESH": "1",  # what passed without a mutant says nothing
                "COCOTB_MAX_FAILURES": "1",
                "MUTANT": str(number),
                "MUTATION_REPORT": report.name,
                "MUTATION_SURVEY": "1" if survey else "",
            }
            command = [sys.executable, "-m", "pytest", "-q", *([] if survey else ["-x"]), "-p", "survey", *tests]
            subprocess.run(command, cwd=self.tree, env=environment, stdout=log, stderr=log, timeout=LIMIT, check=False)
            return json.loads(Path(report.name).read_text())

    def judge(self, number: int, tests: list[str]) -> None:
        """Try a mutant, unless that was done, and note how it ended."""
        if str(number) in self.found["mutants"]:
            return
        mutant = self.mutants[number - 1]
        entry: dict[str, Any] = {**asdict(mutant), "outcome": "no test", "of": len(tests)}
        if tests:
            try:
                entry |= self.run(tests, number)
            except subprocess.TimeoutExpired:
                entry |= {"test": "", "why": [f"took more than {LIMIT} s"]}
            entry["outcome"] = "killed" if "test" in entry else "survived"
        if (killer := entry.get("test")) and killer not in self.found["pass"]:
            if (alone := self.run([killer])).get("test"):
                raise RuntimeError(f"fails without a mutant: {alone}")
            self.found["pass"].append(killer)
        with self.lock:
            self.found["mutants"][str(number)] = entry
            self.results.write_text(json.dumps(self.found, indent=1))
            by = entry.get("test", "").rpartition("/")[2]
            print(f"{number:4} {mutant.file}:{mutant.line} {mutant.kind}: {entry['outcome']} {by}", flush=True)

    def summary(self) -> str:
        """A table by folder, and what survived."""
        listed = tomllib.loads((HERE / "equivalent.toml").read_text())["mutant"]
        equivalent = {(one["file"], one["text"], one["after"]) for one in listed}
        table: dict[str, Counter[str]] = {folder: Counter() for folder in (*schemata.FOLDERS, "all")}
        survivors = []
        for number, one in sorted(self.found["mutants"].items(), key=lambda item: int(item[0])):
            outcome = one["outcome"]
            if outcome == "survived" and (one["file"], one["text"], one["after"]) in equivalent:
                outcome = "equivalent"
            elif outcome == "survived":
                survivors.append(
                    f"{number} {one['file']}:{one['line']} {one['kind']}: {one['before']} -> {one['after']}"
                )
            for row in (one["file"].partition("/")[0], "all"):
                table[row][outcome] += 1
        columns = ("killed", "survived", "equivalent", "no test")
        lines = [f"{'':10}" + "".join(f"{name:>12}" for name in columns)]
        lines += [f"{row:10}" + "".join(f"{counts[name]:12}" for name in columns) for row, counts in table.items()]
        return "\n".join([*lines, "survived:", *survivors])


def _commit(name: str) -> str:
    return subprocess.run(
        ["git", "rev-parse", name], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def _unpack(commit: str, folder: Path, *parts: str) -> None:
    archive = subprocess.run(["git", "archive", commit, *parts], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rtl", default="HEAD", help="the commit whose rtl/ and regs/ are changed")
    parser.add_argument("--tests", default="HEAD", help="the commit whose tests are tried, with all beside the RTL")
    parser.add_argument("--count", type=int, default=220, help="mutants, before small folders get their least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of mutants; default: all")
    options = parser.parse_args()
    mutation = Mutation(options.rtl, options.tests, options.count, options.seed)

    def judge(turn: list[tuple[int, list[str]]]) -> None:
        for number, tests in turn:
            if number in (options.only or [number]):
                mutation.judge(number, tests)

    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(judge, mutation.turns()):
            pass
    print(mutation.summary())


if __name__ == "__main__":
    main()
