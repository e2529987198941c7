# SPDX-License-Identifier: Apache-2.0
"""Constraints: the clocks of a block by itself, and what crosses between clocks.

What crosses goes through a ``cdc_sync``. A module that has one and needs more than a false path to it has constraint
files beside it, which go out as they are: ``stream_cdc_fifo.xdc`` and ``.sdc``. For others a false path is written.
Clocks are in files of their own, since a design that takes the block has clocks of its own.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from headrace.export.package import CONSTRAINTS, Package

_LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SYNCHRONISER = re.compile(r"\bcdc_sync\b([^;]*);")
_INSTANCE = re.compile(r"(?:^|\))\s*(\w+)\s*\(")


def constraint_files(package: Package) -> dict[PurePosixPath, str]:
    """All of a block's, by their places in the export."""
    found = {package.clocks(suffix): text for suffix, text in _clocks(package).items()}
    for path in package.contents.crossings:
        found[CONSTRAINTS / path.name] = path.read_text()
    for module in package.contents.synchronisers:
        source = next(path for path in package.contents.sources.values() if path.stem == module)
        found |= _false_paths(module, source)
    return found


def _clocks(package: Package) -> dict[str, str]:
    clocks = package.interface.clocks
    period = f"{1000 / package.mhz:.3f}"
    of_them = f"The clocks of {package.block} by itself, {package.mhz:g} MHz each"
    where = "a design that takes it constrains its own clocks instead."
    create = [f"create_clock -name {clock} -period {period} [get_ports {{{clock}}}]" for clock in clocks]
    lpf = [f'FREQUENCY PORT "{clock}" {package.mhz:g} MHZ;' for clock in clocks]
    apart = "# nextpnr times no path between two clocks.\n" if len(clocks) > 1 else ""
    return {
        "xdc": f"{_LICENCE}# {of_them}: {where}\n" + "\n".join(create) + "\n",
        "sdc": f"{_LICENCE}# {of_them}: {where}\n" + "\n".join([*create, "derive_clock_uncertainty"]) + "\n",
        "lpf": f"{_LICENCE}# {of_them}, for nextpnr-ecp5: {where}\n{apart}" + "\n".join(lpf) + "\n",
    }


def _false_paths(module: str, source: Path) -> dict[PurePosixPath, str]:
    code = _COMMENT.sub("", source.read_text(errors="replace"))
    names = [_INSTANCE.findall(found)[-1] for found in _SYNCHRONISER.findall(code)]
    xdc = [f"set_false_path -to [get_cells -hierarchical -filter {{NAME =~ *{n}/sync_q_reg[0][*]}}]" for n in names]
    sdc = [f"set_false_path -to [get_registers {{*{module}:*|cdc_sync:{n}|sync_q[0][*]}}]" for n in names]
    said = "# What comes into a synchroniser may take as long as it likes.\n"
    return {
        CONSTRAINTS / f"{module}.xdc": f"{_LICENCE}# Vivado: read_xdc -ref {module} {module}.xdc\n{said}"
        + "\n".join(xdc)
        + "\n",
        CONSTRAINTS / f"{module}.sdc": f"{_LICENCE}{said}" + "\n".join(sdc) + "\n",
    }
