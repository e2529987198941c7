#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record_terminal.py FILE COMMAND...: runs commands of a shell one after the other, and makes an SVG of what a terminal
would show of them. It needs nothing from elsewhere when it is shown. `make recording` makes the README's."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 88
FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def shown(command: str) -> str:
    """What a command writes, as on a terminal, without the progress that goes away when it is done. Ends where it
    fails."""
    env = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False
    )
    if done.returncode:
        sys.exit(f"{command}: {done.stdout}")
    return done.stdout


def main() -> None:
    """Records."""
    file, *commands = sys.argv[1:]
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    for command in commands:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        for line in shown(command).splitlines():
            console.print(Text.from_ansi(line))
    image = console.export_svg(title="Headrace", theme=MONOKAI, unique_id="recording")
    image = re.sub(r"@font-face {.*?}\n", "", image, flags=re.DOTALL)  # they are on a web site
    Path(file).write_text(image.replace("Fira Code, monospace", FONTS))


if __name__ == "__main__":
    main()
