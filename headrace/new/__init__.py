# SPDX-License-Identifier: Apache-2.0
"""Begins a block or a card of one's own: files to change, which lint, test, synthesise and run as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from headrace import paths
from headrace.build.description import list_cards
from headrace.errors import HeadraceError

_HERE = Path(__file__).resolve().parent
_BLOCK, _CARD = "my_block", "my_card"  # what the templates call them, which lie in folders beside
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def new_block(name: str, folder: Path | None = None) -> list[Path]:
    """Makes a block with bench and proof, in a folder (default: one of its name); gives the files.

    Raises HeadraceError when the name can't be a module's, or a file is there already.
    """
    _check(name)
    return _make(_from("block", {_BLOCK: name}), folder or Path(name))


def new_card(name: str, folder: Path | None = None) -> list[Path]:
    """Makes a card, with registers, a block NAME_path of its own, tests, a proof and a run, as ``new_block`` does.

    Raises HeadraceError as ``new_block``, and when a card of Headrace has the name.
    """
    if any(card.name == name for card in list_cards()):
        raise HeadraceError(f"{name}: Headrace has a card with this name", 2)
    _check(name, f"{name}_path")
    files = _from("card", {_CARD: name}) | _from("block", {_BLOCK: f"{name}_path"})
    files["card_ports.svh"] = (paths.cards() / "card_ports.svh").read_text()
    return _make(files, folder or Path(name))


def _check(name: str, *others: str) -> None:
    from peakrdl_regblock.identifier_filter import SV_KEYWORDS

    if not _NAME.fullmatch(name):
        raise HeadraceError(f"{name}: not a module name: a small letter, then letters, digits and _, 40 in all", 2)
    if name in SV_KEYWORDS:
        raise HeadraceError(f"{name}: a keyword of SystemVerilog", 2)
    for module in (name, *others):
        if any(paths.rtl().rglob(f"{module}.sv")):
            raise HeadraceError(f"{name}: Headrace has a module called {module}", 2)


def _from(template: str, words: Mapping[str, str]) -> dict[str, str]:
    """Texts by their paths, with words replaced in both."""
    files = {}
    for path in sorted((_HERE / template).rglob("*.*")):
        if path.suffix == ".pyc":  # which pip makes of what it installs
            continue
        name, text = str(path.relative_to(_HERE / template)), path.read_text()
        for old, new in words.items():
            name, text = name.replace(old, new), text.replace(old, new)
        files[name] = text
    return files


def _make(files: Mapping[str, str], folder: Path) -> list[Path]:
    made = [folder / name for name in files]
    if there := [path for path in made if path.exists()]:
        raise HeadraceError(f"{there[0]}: already exists", 2)
    for path, text in zip(made, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return made
