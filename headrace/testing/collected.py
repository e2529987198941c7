# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a folder: pytest collects them, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from headrace.build.description import USER_FILE
from headrace.build.models import build_card
from headrace.errors import HeadraceError

_NONE_COLLECTED = 5  # of pytest's exit codes


def run_tests(where: Path, select: str | None = None) -> int:
    """Runs the tests of a folder or file and gives 0 if all pass, else 1; pytest writes to the terminal.

    where   of a card, which is built before, with progress, where all its tests run
    select  only tests whose names have these words, as pytest's -k takes it

    Raises HeadraceError when there is no such folder, or no test in it, and when the card can't be built.
    """
    if not where.exists():
        raise HeadraceError(f"{where}: no such file or folder", 2)
    if select is None and (where / USER_FILE).is_file():
        build_card(where)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "--show-capture=stdout", str(where)]
    code = subprocess.run([*command, *(["-k", select] if select else [])], check=False).returncode
    if code == _NONE_COLLECTED:
        raise HeadraceError(f"{where}: no test" + (f" with {select} in its name" if select else " (in test_*.py)"), 2)
    return int(code != 0)
