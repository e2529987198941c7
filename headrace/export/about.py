# SPDX-License-Identifier: Apache-2.0
"""What the head of an RTL file says of it."""

from __future__ import annotations

from pathlib import Path


def head_of(source: Path) -> str:
    """The comment before the module, as its lines are, without the licence."""
    lines = []
    for line in source.read_text(errors="replace").splitlines():
        if not line.startswith("//"):
            break
        if "SPDX" not in line:
            lines.append(line.removeprefix("//").removeprefix(" ").rstrip())
    return "\n".join(lines).strip("\n")


def summary(head: str) -> str:
    """Its first sentence."""
    paragraph = " ".join(head.partition("\n\n")[0].split())
    end = paragraph.find(". ")
    return paragraph if end < 0 else paragraph[: end + 1]
