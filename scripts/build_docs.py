#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build_docs.py DIR: makes the site of the documentation, which opens from the disk: README, docs/, the blocks, the
registers of all cards, and the Python packages. What Sphinx makes it of goes to DIR-source and DIR-trees."""

from __future__ import annotations

import pkgutil
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

import headrace
from headrace.build.description import list_cards
from headrace.export.pages import write_block_pages
from headrace.registers.compile import generate_header, generate_markdown

LEFT_OUT = ("cli", "evaluate", "extcap", "dashboard", "handles", "__main__")  # what the command line alone uses
API = """\
Python packages
===============

A notebook can do what the command line does: ``headrace.card.Card`` is a virtual card, and each package of
``headrace.cards`` has functions that run one. The package ``headrace.evaluate``, which measures, is left out here.

.. toctree::

"""


def main() -> int:
    """Gives Sphinx's exit code."""
    folder = Path(sys.argv[1])
    source = Path(f"{folder}-source")
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    source.mkdir(parents=True)
    shutil.copy("README.md", source)
    shutil.copytree("docs", source / "docs")
    for name in ("LICENSE", "examples", "headrace", "regs", "rtl"):  # pages link to files of them
        (source / name).symlink_to(Path(name).resolve())
    lay_out_blocks(source / "docs" / "blocks")
    lay_out_registers(source / "registers")
    lay_out_api(source / "api")
    options = ["--quiet", "--jobs=2", "-c", "docs", "-d", f"{folder}-trees"]
    return build_main([*options, str(source), str(folder)])


def lay_out_blocks(folder: Path) -> None:
    """A page for each block of rtl/. The sidebar has the one with all of them; with each, pages would be large."""
    _, *pages = write_block_pages(folder, "../export.md")
    for page in pages:
        page.write_text(f"---\norphan: true\n---\n\n{page.read_text()}")


def lay_out_registers(folder: Path) -> None:
    """A page for each card with registers, and its C header."""
    folder.mkdir()
    for card in list_cards():
        if card.registers is None:
            continue
        page, header = folder / f"{card.name}.md", folder / f"{card.name}.h"
        generate_markdown(card.registers, page)
        generate_header(card.registers, header)
        head = f"# Registers of the {card.name} card\n\nMade from `regs/`; [the same as a C header]({header.name}).\n\n"
        page.write_text(head + page.read_text())


def lay_out_api(folder: Path) -> None:
    """A page for each package with its modules."""
    folder.mkdir()
    packages: dict[str, list[str]] = {"headrace": []}
    for module in pkgutil.walk_packages(headrace.__path__, "headrace."):
        if not any(word in LEFT_OUT for word in module.name.split(".")):
            packages.setdefault(module.name if module.ispkg else module.name.rpartition(".")[0], []).append(module.name)
    for package, modules in packages.items():
        text = f"{package}\n{'=' * len(package)}\n\n.. automodule:: {package}\n   :no-members:\n\n"
        for name in modules:
            if name != package:
                text += f"{name}\n{'-' * len(name)}\n\n.. automodule:: {name}\n\n"
        (folder / f"{package}.rst").write_text(text)
    (folder / "index.rst").write_text(API + "".join(f"   {package}\n" for package in packages))


if __name__ == "__main__":
    sys.exit(main())
