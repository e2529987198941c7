"""``headrace bench sim`` measures two versions of Headrace, and not one twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.evaluate.bench import simulator
from headrace.evaluate.bench.cost import Tree
from headrace.evaluate.measured import checkout


def test_another_version_runs_also_from_within_this_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "headrace").mkdir()
    (tmp_path / "headrace" / "__init__.py").write_text("print('another')\n")
    monkeypatch.chdir(checkout())
    version = simulator._Version(Tree("another", tmp_path, sys.executable), tmp_path)
    words = [*version._python(tmp_path), "import headrace"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "another\n"


def test_a_first_answer_is_what_a_user_gets_whatever_the_bench_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_OPTIMISE", "now")
    version = simulator._Version(Tree("this tree", checkout(), sys.executable), tmp_path)
    words = [*version._python(tmp_path), "import os; print(os.environ.get('HEADRACE_OPTIMISE'))"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "None\n"
