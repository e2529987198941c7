"""Commands of ``headrace`` in the process of the tests, which takes a tenth of what a process of their own does."""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path

from headrace.cli import main


def call(*arguments: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What a process would have written and ended with, in ``folder``."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder or Path()), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(list(map(str, arguments)))
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), errors.getvalue())
