# SPDX-License-Identifier: Apache-2.0
"""The tutorial, followed as it is written, outside a checkout: its files, its commands, and what they say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from called import call
from printed import blocks

from headrace import paths
from headrace.build.style import faults
from headrace.testing.prove import model, solve, sources

ROOT = paths.share()
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
SET_UP = ("python3", ".", "pip", "sudo")  # of what a machine has already
_STEP = re.compile(r"([^\n]*)\n\n(?:```(\w+)\n(.*?)```|((?:    [^\n]*\n)+))", re.DOTALL)


class Step(NamedTuple):
    """A block of the page, and the line before it: a file, a change of one, or commands with what they say."""

    before: str
    kind: str  # of a file; "diff"; "" for commands
    text: str

    @property
    def file(self) -> str:
        """The last one that is named before it."""
        named = re.findall(r"`([\w./]+\.\w+)`", self.before)
        assert named, self.before
        return named[-1]


STEPS = [Step(before, kind, text or lines) for before, kind, text, lines in _STEP.findall(TUTORIAL)]
FILES = {step.file: step.text for step in STEPS if step.kind in ("systemverilog", "python")}


def test_each_block_of_the_page_is_a_step() -> None:
    assert [textwrap.dedent(step.text) for step in STEPS] == blocks("docs/tutorial.md")


def test_it_has_files_changes_and_commands() -> None:
    assert len(FILES) == 4 and len([step for step in STEPS if step.kind == "diff"]) == 3
    shown = re.findall(r"^```\w+$|^    \$ ", TUTORIAL, re.MULTILINE)
    assert len(shown) == sum(len(re.findall(r"^    \$ ", step.text, re.MULTILINE)) or 1 for step in STEPS)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".sv")])
def test_its_modules_have_the_looks_of_all_others(name: str, tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    path.write_text(FILES[name])
    assert faults(path) == []


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".py")])
def test_its_python_has_the_looks_of_all_other_tests(name: str) -> None:
    for words in (["check"], ["format", "--diff"]):
        command = [sys.executable, "-m", "ruff", *words, "--stdin-filename", "tests/cli/test_of_the_tutorial.py", "-"]
        done = subprocess.run(command, input=FILES[name], capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stdout


def run(folder: Path, *words: str) -> tuple[int, str]:
    """The exit code of a command, of this Headrace, and what it writes, with what it starts."""
    with tempfile.TemporaryFile("w+") as output:
        if words[0] == "headrace":
            before = os.dup(1)
            os.dup2(output.fileno(), 1)
            try:
                done = call(*words[1:], folder=folder)
            finally:
                os.dup2(before, 1)
                os.close(before)
            output.seek(0)
            return done.returncode, done.stdout + done.stderr + output.read()
        command = [sys.executable if words[0] == "python" else words[0], *words[1:]]
        code = subprocess.run(command, stdout=output, stderr=output, check=False, cwd=folder).returncode
        output.seek(0)
        return code, output.read()


def follow(step: Step, folder: Path) -> None:
    """Do what a block of the page says."""
    if not step.kind:
        for command, said in re.findall(r"^    \$ (.*)\n((?:    (?!\$ ).*\n)*)", step.text, re.MULTILINE):
            words = shlex.split(command.partition(" < ")[0])
            if words[0] in SET_UP:
                continue
            if words[0] == "patch":
                words += ["--fuzz=0", "-i", str(folder / command.partition(" < ")[2])]
            code, output = run(folder, *words)
            assert code == int("AssertionError" in said), output
            for line in (line.strip() for line in said.splitlines()):
                assert line == "..." or line.removeprefix("E ").strip() in output, output
            assert "offset" not in output
    elif step.kind == "diff" and not step.text.startswith("---"):
        path = folder / step.file
        for part in step.text.split("...\n"):
            old, new = ("".join(line[1:] for line in part.splitlines(True) if line[0] == sign) for sign in "-+")
            assert path.read_text().count(old) == 1
            path.write_text(path.read_text().replace(old, new))
    else:
        (folder / step.file).write_text(step.text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where a reader works who has followed all of it."""
    place = tmp_path_factory.mktemp("tutorial")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider")
        for step in STEPS:
            follow(step, place)
        yield place


def test_all_comes_about_as_it_says(folder: Path) -> None:
    _, report = run(folder, "headrace", "synth", "gate/gate.sv", "--no-pnr", "--json")
    for count, what in re.findall(r"(\d+) (LUT4|flip-flops)", TUTORIAL):
        assert f'"{"luts" if what == "LUT4" else "ffs"}": {count},' in report
    assert (folder / "mynic" / "mynic.sv").read_text().count("\n") <= 70


def test_the_proof_fails_without_what_ties_the_registers(folder: Path, tmp_path: Path) -> None:
    proof = (folder / "gate/tests/gate_proof.sv").read_text()
    for text, holds in ((proof, True), (re.sub(r".*dut\.inside_q.*\n", "", proof), False)):
        (tmp_path / "gate_proof.sv").write_text(text)
        known = sources(folder / "gate", tmp_path)
        assert solve(model("gate", {}, known), "induction", 4).holds == holds


def test_the_cards_test_fails_where_the_gate_does_not_count(folder: Path, tmp_path: Path) -> None:
    card = shutil.copytree(folder / "mynic", tmp_path / "mynic")
    top = card / "mynic.sv"
    (counts,) = re.findall(r".*gated\[p\].*\n", top.read_text())
    top.write_text(top.read_text().replace(counts, "        .dropped()\n"))
    code, said = run(tmp_path, "headrace", "test", "mynic/tests/test_gates.py")
    assert code == 1 and "1 failed" in said
