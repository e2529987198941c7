# SPDX-License-Identifier: Apache-2.0
"""The software path beside the card: what happens when the process that sends packets fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os
from headrace.errors import HeadraceError
from headrace.evaluate.study import kernel_path

def broken(frames):
    raise OSError("the interface has gone")

kernel_path._send = broken
try:
    if {way!r} == "tcpdump":
        kernel_path._tcpdump([b""])
    else:
        with kernel_path._sending([b""], broken) as sent:
            sent()
except (OSError, HeadraceError) as error:
    os.write(1, f"{{error}}\\n".encode())
os.write(1, b"the end\\n")
"""


@pytest.mark.parametrize("way", ["tcpdump", "link"])
def test_a_sender_that_fails_ends_alone(tmp_path: Path, way: str) -> None:
    tcpdump = tmp_path / "tcpdump"
    tcpdump.write_text("#!/bin/sh\necho listening on card0 >&2\nexec sleep 60\n")
    tcpdump.chmod(0o755)
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    command = [sys.executable, "-c", SCRIPT.format(way=way)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path})
    assert run.stdout.splitlines() == ["the process that sends packets failed", "the end"]  # once: of the parent only
