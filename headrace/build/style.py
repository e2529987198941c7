"""The looks of SystemVerilog files: what no tool of the toolchain checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headrace.build.description import USER_FILE, load_card, third_party_files

LICENCE = "// SPDX-License-Identifier: Apache-2.0"
COLUMNS = 120

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_UNIT = re.compile(r"^\s*(?:module|package|interface|program)\s+(?:automatic\s+|static\s+)?(\w+)", re.MULTILINE)


def faults_of_tree(*folders: Path) -> list[str]:
    """The faults of every .sv and .svh file below the folders, in the order of their paths.

    Without those files that the description of a card among them calls third-party.
    """
    files = sorted(path for folder in folders for kind in ("*.sv", "*.svh") for path in folder.rglob(kind))
    cards = [path for folder in folders for path in (*folder.glob("card/*.toml"), *folder.rglob(USER_FILE))]
    others = {path for card in dict.fromkeys(cards) for path in third_party_files(load_card(card))}
    return [fault for path in files if path.resolve() not in others for fault in faults(path)]


def faults(path: Path) -> list[str]:
    """What is wrong with a file, each as ``file:line: what``; empty when nothing is."""
    text = path.read_bytes().decode()  # with carriage returns as they are
    found = [*_line_faults(text), *_unit_faults(text, path)]
    return [f"{path}:{number}: {what}" for number, what in sorted(found)]


def _line_faults(text: str) -> Iterator[tuple[int, str]]:
    lines = text.split("\n")
    if lines[0] != LICENCE:
        yield 1, f"the first line must be {LICENCE}"
    if lines[-1]:
        yield len(lines), "no newline at the end of the file"
    elif text.endswith("\n\n"):
        yield len(lines) - 1, "blank line at the end of the file"
    for number, line in enumerate(lines, start=1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns, {COLUMNS} at most"
        if "\t" in line:
            yield number, "a tab"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"


def _unit_faults(text: str, path: Path) -> Iterator[tuple[int, str]]:
    if path.suffix != ".sv":
        return
    code = _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment.group()), text)
    units = [(code.count("\n", 0, found.start(1)) + 1, found.group(1)) for found in _UNIT.finditer(code)]
    if not units:
        yield 1, "no module or package"
    for number, name in units[1:]:
        yield number, f"{name}: one module or package a file"
    if units and units[0][1] != path.stem:
        yield units[0][0], f"{units[0][1]}: the file is not named after it"
