# SPDX-License-Identifier: Apache-2.0
"""The tutorial's files: its patch fits the card that it is for, and `make lint` has nothing to say of the others."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headrace import paths
from headrace.build.style import faults

TUTORIAL = (paths.share() / "docs" / "tutorial.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TUTORIAL, re.DOTALL)


def test_the_patch_fits_the_example(tmp_path: Path) -> None:
    shutil.copytree(paths.share() / "examples" / "mycard", tmp_path / "mycard")
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
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=paths.share())
        assert done.returncode == 0, done.stdout
