# SPDX-License-Identifier: Apache-2.0
"""Scripts for Vivado: synthesis out of context, an IP for its catalogue, and the constraints of crossings."""

from __future__ import annotations

from pathlib import PurePosixPath

from headrace.export import tcl
from headrace.export.package import CONSTRAINTS, Package
from headrace.export.wrapper import shell, shell_name

PART = "xcu200-fsgd2104-2-e"
TAXONOMY = "/UserIP"


def vivado_files(package: Package) -> dict[PurePosixPath, str]:
    """``NAME_vivado.tcl``, ``NAME_vivado_ip.tcl`` and the shell in Verilog that the IP's top is."""
    return {
        PurePosixPath(f"{package.name}_vivado.tcl"): _synthesis(package),
        PurePosixPath(f"{package.name}_vivado_ip.tcl"): _ip(package),
        shell_place(package): shell(package.block, package.interface),
    }


def shell_place(package: Package) -> PurePosixPath:
    """The wrapper's shell in Verilog."""
    return PurePosixPath("wrapper") / f"{shell_name(package.block)}.v"


def scoped_name(package: Package) -> PurePosixPath | None:
    """The script that reads the constraints of crossings, where there are any."""
    return CONSTRAINTS / f"{package.name}_crossings.tcl" if package.crossings else None


def scoped_files(package: Package) -> dict[PurePosixPath, str]:
    """That script: each file of constraints holds within every instance of its module."""
    place = scoped_name(package)
    if place is None:
        return {}
    lines = [
        tcl.LICENCE,
        "# Vivado: source this in a project, or before synth_design; each file is for all instances of one module.",
        tcl.HERE.replace("here", "crossings"),
        *(
            f"read_xdc -ref {module} [file join $crossings {tcl.braced(f'{module}.xdc')}]"
            for module in package.crossings
        ),
    ]
    return {place: "\n".join(lines) + "\n"}


def _synthesis(package: Package) -> str:
    scoped = scoped_name(package)
    lines = [
        tcl.LICENCE,
        f"# Synthesises {package.block} by itself, out of context:",
        f"#   vivado -mode batch -source {package.name}_vivado.tcl -tclargs PART",
        *_head(package),
        "create_project -in_memory -part $part",
        "read_verilog -sv $sv",
        *(["read_verilog $v"] if _verilog(package) else []),
        f"read_xdc -mode out_of_context [file join $here {tcl.braced(str(package.clocks('xdc')))}]",
        *([f"source [file join $here {tcl.braced(str(scoped))}]"] if scoped else []),
        f"synth_design -mode out_of_context -top {package.top} -part $part -include_dirs $include",
        f"report_utilization -hierarchical -file {package.name}_utilization.rpt",
        f"report_timing_summary -file {package.name}_timing.rpt",
        f"write_checkpoint -force {package.name}.dcp",
    ]
    return "\n".join(lines) + "\n"


def _ip(package: Package) -> str:
    name = shell_name(package.block)
    scoped = scoped_name(package)
    lines = [
        tcl.LICENCE,
        f"# Packages {package.block} as an IP for Vivado's catalogue, into the folder vivado_ip beside this file:",
        f"#   vivado -mode batch -source {package.name}_vivado_ip.tcl -tclargs PART",
        *_head(package),
        f"lappend v [file join $here {tcl.braced(str(shell_place(package)))}]",
        f"create_project -force {name} [file join $here vivado_ip project] -part $part",
        "add_files -norecurse [concat $sv $v $headers]",
        "set_property include_dirs $include [current_fileset]",
        *([f"source [file join $here {tcl.braced(str(scoped))}]"] if scoped else []),
        f"set_property top {name} [current_fileset]",
        "update_compile_order -fileset sources_1",
        f"ipx::package_project -root_dir [file join $here vivado_ip {name}] -vendor headrace -library block \\",
        f"    -taxonomy {TAXONOMY} -import_files -force",
        "set core [ipx::current_core]",
        f"set_property name {name} $core",
        f"set_property display_name {tcl.braced(f'Headrace {package.name}')} $core",
        f"set_property description {tcl.braced(package.summary)} $core",
        f"set_property version {'.'.join(package.version.split('.')[:2])} $core",
        "ipx::create_xgui_files $core",
        "ipx::update_checksums $core",
        "ipx::check_integrity $core",
        "ipx::save_core $core",
        "close_project",
    ]
    return "\n".join(lines) + "\n"


def _head(package: Package) -> list[str]:
    return [
        tcl.HERE,
        tcl.argument("part", PART),
        *tcl.listed("sv", [place for place in package.sources if place.suffix != ".v"]),
        *tcl.listed("v", _verilog(package)),
        *tcl.listed("headers", package.headers),
        *tcl.listed("include", package.include_folders),
    ]


def _verilog(package: Package) -> list[PurePosixPath]:
    return [place for place in package.sources if place.suffix == ".v"]
