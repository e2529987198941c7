"""Puts the program that Wireshark calls into its personal extcap folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from headrace.errors import HeadraceError

NAME = "headrace"
_SCRIPT = """#!{python}
# Made by "headrace extcap install": the cards of Headrace as interfaces.
import sys

from headrace.extcap.program import main

sys.exit(main())
"""


def extcap_folders() -> list[Path]:
    """The folder that this machine's Wireshark looks into; both that there are, if there is no Wireshark."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "wireshark" / "extcap"
    local = Path.home() / ".local" / "lib" / "wireshark" / "extcap"
    for program in ("tshark", "wireshark"):
        if shutil.which(program) is None:
            continue
        answer = subprocess.run([program, "-G", "folders"], capture_output=True, text=True, check=False)
        named = dict(line.split(":", 1) for line in answer.stdout.splitlines() if ":" in line)
        if "Personal Extcap path" in named:
            return [Path(named["Personal Extcap path"].strip())]
        if "Personal configuration" in named:  # before 4.2 it has no folder of its own
            return [Path(named["Personal configuration"].strip()) / "extcap"]
    return [local, config]


def install(folder: Path | None = None) -> list[Path]:
    """Writes the program, and gives its path in each folder. Raises HeadraceError when it can't be written."""
    script = _SCRIPT.format(python=sys.executable)
    paths = [where / NAME for where in ([folder] if folder is not None else extcap_folders())]
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(script)
            path.chmod(0o755)
        except OSError as error:
            raise HeadraceError(f"{path}: {error.strerror}") from None
    return paths


def uninstall(folder: Path | None = None) -> list[Path]:
    """Removes the program; gives the paths where it was. Raises HeadraceError when it can't be removed."""
    removed = []
    for where in [folder] if folder is not None else extcap_folders():
        path = where / NAME
        try:
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise HeadraceError(f"{path}: {error.strerror}") from None
        removed.append(path)
    return removed
