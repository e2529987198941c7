# SPDX-License-Identifier: Apache-2.0
"""The README of an export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.export.interface import Interface
from headrace.export.package import CONSTRAINTS, Package
from headrace.export.vivado import shell_place

FORMS = ("filelist", "fusesoc", "bender", "vivado", "quartus")


def readme(package: Package, head: str, forms: Sequence[str], command: str) -> str:
    """What the export is, the block's ports and parameters, and how each of the tools takes it."""
    sections = [
        f"# {package.name}",
        package.summary,
        f"This folder is an export of Headrace {package.version}, made by `{command}`. It needs nothing else of "
        "Headrace; the RTL is as it is there.",
        "## What it does",
        f"```\n{head}\n```",
        _contents(package),
        "## Parameters",
        parameter_table(package.interface),
        "## Ports",
        f"Those of the wrapper `{package.top}`. A field of a structure is a port of its own; an array is one vector "
        "with element 0 in the lowest bits. Widths are those with the parameters of this export.",
        port_table(package.interface),
        "## With your tools",
        *(_HOW[form](package) for form in forms),
        "## Clocks and constraints",
        _constraints(package),
        "## Licence",
        _licence(package),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def parameter_table(interface: Interface) -> str:
    """Parameters in Markdown."""
    if not interface.parameters:
        return "None."
    rows = [("parameter", "default", "allowed", "what it is")]
    rows += [(f"`{p.name}`", f"`{p.default}`", p.allowed, p.comment) for p in interface.parameters]
    return table(rows)


def port_table(interface: Interface) -> str:
    """Ports in Markdown, as the wrapper has them."""
    rows = [("port", "direction", "bits", "what it is")]
    for port in interface.ports:
        rows += [(f"`{part.name}`", part.direction, str(part.bits), port.comment) for part in port.parts]
    return table(rows)


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first row is its head."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _contents(package: Package) -> str:
    what: Mapping[str, str] = {
        "`rtl/`": "the RTL, layer by layer"
        + ("; `rtl/registers/` is made by PeakRDL from `registers/`" if package.contents.design.registers else ""),
        f"`{package.wrapper}`": f"`{package.top}`: the block with plain ports",
        "`wrapper/`": f"`{package.block}_template.v` and `.vhd`: how to instantiate it",
        f"`{CONSTRAINTS}/`": "clocks of the block by itself, and what crosses between clocks",
    }
    if package.contents.design.registers:
        what = {**what, "`registers/`": "the registers in SystemRDL, and a C header"}
    if package.waivers:
        what = {**what, f"`{package.waivers}`": "what Verilator shall not warn of"}
    return table([("where", "what"), *what.items()])


def _filelist(package: Package) -> str:
    name, top = package.name, package.top
    waivers = f"{package.waivers} " if package.waivers else ""
    return (
        f"**A list of files**, `{name}.f`. Its paths are relative to it, so give it with `-F`:\n\n"
        f"```sh\nverilator --lint-only --timescale 1ns/1ps --top-module {top} {waivers}-F {name}.f\n"
        f"yosys -m slang -p 'read_slang -F {name}.f --top {top}; hierarchy -check -top {top}'\n```\n\n"
        "A tool that reads Verilog only can have what Yosys makes of it: add `; proc; flatten; write_verilog "
        f"-noattr {top}.v` to that script."
    )


def _fusesoc(package: Package) -> str:
    full = f"headrace:block:{package.name}"
    return (
        f"**FuseSoC**, `{package.name}.core`, with the targets `lint`, `build`, `vivado` and `quartus`:\n\n"
        f"```sh\nfusesoc --cores-root . run --target lint {full}\n```\n\n"
        f"A core of yours names it as `{full}` in `depend`."
    )


def _bender(package: Package) -> str:
    return (
        "**Bender**, `Bender.yml`; a package of yours has this folder as a dependency by `path`:\n\n"
        f"```sh\nbender script verilator > {package.name}.bender.f\n```"
    )


def _vivado(package: Package) -> str:
    name = package.name
    return (
        f"**Vivado**: synthesis out of context, and an IP for the catalogue around `{shell_place(package)}`, the "
        "wrapper's shell in Verilog, since the IP packager takes no SystemVerilog at the top:\n\n"
        f"```sh\nvivado -mode batch -source {name}_vivado.tcl -tclargs PART\n"
        f"vivado -mode batch -source {name}_vivado_ip.tcl -tclargs PART\n```"
    )


def _quartus(package: Package) -> str:
    name = package.name
    return (
        f"**Quartus**: add `{name}.qip` to a project, or compile the block by itself:\n\n"
        f"```sh\nquartus_sh -t {name}_quartus.tcl DEVICE\n```"
    )


_HOW = dict(zip(FORMS, (_filelist, _fusesoc, _bender, _vivado, _quartus), strict=True))


def _constraints(package: Package) -> str:
    clocks = ", ".join(f"`{clock}`" for clock in package.interface.clocks) or "none"
    said = (
        f"Clocks: {clocks}. `{package.clocks('xdc')}` (Vivado), `.sdc` (Quartus and others) and `.lpf` (nextpnr-ecp5) "
        f"give each {package.mhz:g} MHz for the block by itself. In a design of yours, leave them out."
    )
    if not package.crossings:
        return f"{said} Nothing crosses between clocks."
    modules = ", ".join(f"`{module}`" for module in package.crossings)
    return (
        f"{said}\n\nWhat crosses between clocks does so in {modules}. Its constraints belong into every design: for "
        f"Vivado source `{CONSTRAINTS}/{package.name}_crossings.tcl`, for Quartus add `{CONSTRAINTS}/MODULE.sdc` after "
        "the clocks' own. nextpnr times no path between two clocks."
    )


def _licence(package: Package) -> str:
    said = "Apache-2.0, see `LICENSE`; each file of Headrace says so in its first line."
    if package.contents.design.registers:
        said += " The register blocks are PeakRDL's output, made from Headrace's descriptions, under the same licence."
    if package.contents.has_processor:
        said += " The processor VexRiscv has the MIT licence: `LICENSE.VexRiscv`."
    if any(place.parts[1] == package.name for place in package.contents.sources) and package.contents.card:
        said += f" `rtl/{package.name}/` is yours."
    return said
