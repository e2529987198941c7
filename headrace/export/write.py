# SPDX-License-Identifier: Apache-2.0
"""Writes a block or card with all that it needs into a folder."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path, PurePosixPath

from headrace.errors import HeadraceError
from headrace.export.about import described, head_of, summary
from headrace.export.bender import manifest
from headrace.export.constraints import constraint_files
from headrace.export.filelist import filelist
from headrace.export.fusesoc import core_file
from headrace.export.licences import licences
from headrace.export.package import Package
from headrace.export.quartus import quartus_files
from headrace.export.reading import read_interface
from headrace.export.readme import FORMS, readme
from headrace.export.sources import Contents, collect
from headrace.export.vivado import scoped_files, vivado_files
from headrace.export.wrapper import verilog_template, vhdl_template, wrapper

MHZ = 250.0
"""Of a block's clocks, where it is no card, which has its own."""

_WRITERS = dict(zip(FORMS, (filelist, core_file, manifest, vivado_files, quartus_files), strict=True))


def export(
    what: str | Path,
    folder: str | Path,
    forms: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
    *,
    mhz: float | None = None,
    force: bool = False,
) -> list[Path]:
    """Writes the block or card ``what`` into ``folder``, and returns the files.

    forms       of "filelist", "fusesoc", "bender", "vivado", "quartus"; none: the file list
    parameters  of the top module; they become the wrapper's defaults
    mhz         of every clock, in the constraints; a card's own or ``MHZ`` without it
    force       write into a folder that has files, too

    Raises HeadraceError for an unknown block, form or parameter, a value that the block refuses, and a folder that has
    files.
    """
    target = Path(folder)
    forms = [form for form in FORMS if form in forms] or [FORMS[0]]
    if target.exists() and not target.is_dir():
        raise HeadraceError(f"--to {folder}: not a folder", 2)
    if target.is_dir() and any(target.iterdir()) and not force:
        raise HeadraceError(f"--to {folder}: the folder is not empty; --force writes into it", 2)
    with tempfile.TemporaryDirectory(prefix="headrace-export-") as work:
        contents = collect(what, parameters or {}, Path(work))
        package = _package(contents, mhz)
        made = {place: path.read_bytes() for place, path in _copied(contents).items()}
        texts = _texts(package, forms, _command(what, folder, forms, parameters or {}))
        made |= {place: text.encode() for place, text in texts.items()}
    try:
        for place, content in made.items():
            path = target / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise HeadraceError(f"{error.filename}: {error.strerror}") from None
    return [target / place for place in sorted(made)]


def _package(contents: Contents, mhz: float | None) -> Package:
    design, card = contents.design, contents.card
    own = card.clock_hz / 1e6 if card else MHZ
    interface = read_interface(design.top, contents.sources.values(), contents.values)
    return Package(
        re.sub(r"\W", "_", design.name),
        metadata.version("headrace"),
        card.description if card and card.description else summary(head_of(_source(contents))),
        contents,
        described(interface, _source(contents), card),
        mhz or own,
    )


def _source(contents: Contents) -> Path:
    return next(path for path in contents.sources.values() if path.stem == contents.design.top)


def _command(what: str | Path, folder: str | Path, forms: Sequence[str], parameters: Mapping[str, object]) -> str:
    words = ["headrace", "export", str(what), "--to", str(folder), *(f"--{form}" for form in forms)]
    return shlex.join([*words, *(word for name, value in parameters.items() for word in ("-P", f"{name}={value}"))])


def _copied(contents: Contents) -> dict[PurePosixPath, Path]:
    """What goes out as it is."""
    return {**contents.sources, **contents.headers, **contents.data, **licences(contents)}


def _texts(package: Package, forms: Sequence[str], command: str) -> dict[PurePosixPath, str]:
    block, interface, contents = package.block, package.interface, package.contents
    texts = {
        PurePosixPath("README.md"): readme(package, head_of(_source(contents)), forms, command),
        package.wrapper: wrapper(block, interface),
        package.wrapper.with_name(f"{block}_template.v"): verilog_template(block, interface),
        package.wrapper.with_name(f"{block}_template.vhd"): vhdl_template(block, interface),
        **constraint_files(package),
        **scoped_files(package),
    }
    if package.waivers:
        texts[package.waivers] = "\n".join(path.read_text() for path in contents.waivers)
    for form in forms:
        texts |= _WRITERS[form](package)
    return texts
