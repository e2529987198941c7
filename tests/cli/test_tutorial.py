# SPDX-License-Identifier: Apache-2.0
"""The tutorial, followed as it is written: its files, its commands and what they say; `make lint` is content with its
files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headrace import paths
from headrace.build.style import faults

ROOT = paths.share()
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TUTORIAL, re.DOTALL)


def test_the_patch_fits_the_example(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "mycard", tmp_path / "mycard")
    (patch,) = (text for text in blocks("diff") if text.startswith("--- a/"))
    words = ["patch", "-p1", "--fuzz=0", "-d", str(tmp_path / "mycard")]
    done = subprocess.run(words, input=patch, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "offset" not in done.stdout, done.stdout


MODULES = {re.findall(r"module (\w+)", text)[0]: text for text in blocks("systemverilog")}


@pytest.mark.parametrize("module", MODULES)
def test_its_modules_have_the_looks_of_all_others(module: str, tmp_path: Path) -> None:
    path = tmp_path / f"{module}.sv"
    path.write_text(MODULES[module])
    assert faults(path) == []


@pytest.mark.parametrize("text", [text for text in blocks("python") if "import " in text], ids=range(4))
def test_its_python_has_the_looks_of_all_other_tests(text: str) -> None:
    for words in (["check"], ["format", "--diff"]):
        command = [sys.executable, "-m", "ruff", *words, "--stdin-filename", "tests/cli/test_of_the_tutorial.py", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stdout


FILES = dict(
    re.findall(r"`([.\w/]+\.(?:sv|py))`(?:(?!\n\n).)*\n\n```(?:systemverilog|python)\n(.*?)```", TUTORIAL, re.DOTALL)
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this one."""
    copy = tmp_path_factory.mktemp("tutorial") / "headrace"
    copy.mkdir()
    for name in ("examples", "firmware", "headrace", "regs", "rtl", "sim", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def write(checkout: Path, name: str) -> None:
    path = checkout / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(FILES[name])


def mend(checkout: Path) -> None:
    """The gate, whose first version has a mistake."""
    rtl = checkout / "rtl/stream/stream_gate.sv"
    for part in blocks("diff")[0].split("...\n"):
        old, new = ("".join(line[1:] for line in part.splitlines(True) if line[0] == sign) for sign in "-+")
        assert rtl.read_text().count(old) == 1
        rtl.write_text(rtl.read_text().replace(old, new))


def run(checkout: Path, *words: str) -> str:
    """What Python writes to standard output, given these words in the copy, whose model of a card is the same."""
    env = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, *words]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=checkout, env=env).stdout


def pytest_in(checkout: Path, *words: str) -> str:
    return run(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words)


def test_a_block_comes_about_as_it_says(checkout: Path) -> None:
    proofs = checkout / "tests/formal/test_stream.py"
    for name in FILES:
        if "stream_gate" in name:
            write(checkout, name)
    folder = "tests/rtl/stream_gate"
    assert "valid fell before the word was taken" in pytest_in(checkout, f"{folder}/test_stream_gate.py", "-k", "577")
    mend(checkout)
    (lists,) = (text for text in blocks("python") if text.startswith("CASES"))
    for part in lists.split("    ...\n"):
        before = "".join(line for line in part.splitlines(True) if "stream_gate" not in line)
        assert before in proofs.read_text()
        if before:
            proofs.write_text(proofs.read_text().replace(before, part, 1))
    assert "5 passed" in pytest_in(checkout, folder, "tests/formal/test_stream.py", "-k", "gate"), "2 of them benches"
    (luts, ffs) = re.findall(r"synth stream_gate --no-pnr` says (\d+) LUT4 and (\d+) flip-flops", TUTORIAL)[0]
    command = "import sys; from headrace.cli import main; sys.exit(main())"
    total = json.loads(run(checkout, "-c", command, "synth", "stream_gate", "--no-pnr", "--json"))["total"]
    assert (total["luts"], total["ffs"]) == (int(luts), int(ffs))


def test_a_card_of_ones_own_gets_gates_and_a_test(checkout: Path) -> None:
    write(checkout, "rtl/stream/stream_gate.sv")
    mend(checkout)
    shutil.copytree(checkout / "examples/mycard", checkout.parent / "mycard")
    session = re.search(r"session\.py\n((?:    .*\n)+)", TUTORIAL)
    assert session is not None
    said = run(checkout, "../mycard/session.py").splitlines()
    for line, shown in zip(said, session[1].splitlines(), strict=True):
        assert line.startswith(shown.strip().removesuffix("..."))
    _, patch = blocks("diff")
    subprocess.run(["patch", "-p1", "-d", "../mycard"], input=patch, text=True, check=True, cwd=checkout)
    write(checkout, "../mycard/test_mycard.py")
    assert "1 passed" in pytest_in(checkout, "../mycard")


def test_the_filter_card_gets_a_test(checkout: Path) -> None:
    write(checkout, "tests/card/filter/test_bad_frames.py")
    assert "1 passed" in pytest_in(checkout, "tests/card/filter/test_bad_frames.py")
    assert "meta_q.error ||" in (checkout / "rtl/filter/filter_tap.sv").read_text()
