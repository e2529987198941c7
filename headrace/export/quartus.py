# SPDX-License-Identifier: Apache-2.0
"""A .qip for projects of Quartus, and a script that compiles the block by itself."""

from __future__ import annotations

from pathlib import PurePosixPath

from headrace.export import tcl
from headrace.export.package import Package

FAMILY = "Stratix 10"
DEVICE = "1SX280HN2F43E2VG"


def quartus_files(package: Package) -> dict[PurePosixPath, str]:
    """``NAME.qip`` and ``NAME_quartus.tcl``."""
    return {
        PurePosixPath(f"{package.name}.qip"): _qip(package),
        PurePosixPath(f"{package.name}_quartus.tcl"): _script(package),
    }


def _qip(package: Package) -> str:
    kinds = {".v": "VERILOG_FILE"}
    files = [(kinds.get(place.suffix, "SYSTEMVERILOG_FILE"), place) for place in package.sources]
    files += [("SEARCH_PATH", folder) for folder in package.include_folders]
    files += [("SDC_FILE", place) for place in package.constraints("sdc")]
    lines = [
        tcl.LICENCE,
        f"# {package.block}: add this file to a project of Quartus.",
        *(_assignment(kind, f"[file join $::quartus(qip_path) {tcl.braced(str(place))}]") for kind, place in files),
    ]
    return "\n".join(lines) + "\n"


def _assignment(name: str, value: str) -> str:
    return f"set_global_assignment -name {name} {value}"


def _script(package: Package) -> str:
    lines = [
        tcl.LICENCE,
        f"# Compiles {package.block} by itself, with virtual pins:",
        f"#   quartus_sh -t {package.name}_quartus.tcl DEVICE",
        "package require ::quartus::project",
        "package require ::quartus::flow",
        tcl.HERE,
        "set argv $::quartus(args)",
        tcl.argument("device", DEVICE),
        f"project_new {package.name} -overwrite",
        _assignment("DEVICE", "$device"),
        _assignment("TOP_LEVEL_ENTITY", package.top),
        _assignment("QIP_FILE", f"[file join $here {tcl.braced(f'{package.name}.qip')}]"),
        _assignment("SDC_FILE", f"[file join $here {tcl.braced(str(package.clocks('sdc')))}]"),
        "set_instance_assignment -name VIRTUAL_PIN ON -to *",
        *(f"set_instance_assignment -name VIRTUAL_PIN OFF -to {clock}" for clock in package.interface.clocks),
        "execute_flow -compile",
        "project_close",
    ]
    return "\n".join(lines) + "\n"
