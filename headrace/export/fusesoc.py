# SPDX-License-Identifier: Apache-2.0
"""A core file for FuseSoC (CAPI2), with targets that lint, build a model, and synthesise with Vivado and Quartus."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from headrace.export.package import Package
from headrace.export.quartus import DEVICE, FAMILY
from headrace.export.vivado import PART, scoped_name
from headrace.export.yaml import yaml_text

LINT = (
    *("-Wall", "-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM", "-Wno-PINCONNECTEMPTY", "-Wno-SYMRSVDWORD"),
    *("--timescale", "1ns/1ps"),
)
"""Of Verilator: all warnings but those about what packages and structures have for others."""
BUILD = ("--main", "--no-timing", "-Wno-fatal", "--timescale", "1ns/1ps")


def core_file(package: Package) -> dict[PurePosixPath, str]:
    """``NAME.core``."""
    rtl: list[dict[str, Any]] = [{str(place): {"file_type": _type(place)}} for place in package.sources]
    rtl += [{str(place): {"file_type": _type(place), "is_include_file": True}} for place in package.headers]
    rtl += [{str(place): {"file_type": "user"}} for place in package.contents.data if place.parts[0] == "rtl"]
    filesets: dict[str, Any] = {"rtl": {"files": rtl}}
    waived = ["waivers"] if package.waivers else []
    if package.waivers:
        filesets["waivers"] = {"files": [{str(package.waivers): {"file_type": "vlt"}}]}
    scoped = scoped_name(package)
    crossings = [{str(place): {"file_type": "user"}} for place in package.constraints("xdc")]
    if scoped:
        crossings += [{str(scoped): {"file_type": "tclSource"}}]
    filesets["vivado"] = {"files": [{str(package.clocks("xdc")): {"file_type": "xdc"}}, *crossings]}
    sdc = [package.clocks("sdc"), *package.constraints("sdc")]
    filesets["quartus"] = {"files": [{str(place): {"file_type": "SDC"}} for place in sdc]}
    names = [parameter.name for parameter in package.interface.parameters]
    common = {"toplevel": package.top, **({"parameters": names} if names else {})}
    targets: dict[str, Any] = {
        "default": {"filesets": ["rtl"], **common},
        "lint": {
            "description": "What Verilator has to say",
            "filesets": ["rtl", *waived],
            "flow": "lint",
            "flow_options": {"tool": "verilator", "verilator_options": list(LINT)},
            **common,
        },
        "build": {
            "description": "A model by Verilator, which nothing drives: to see that it compiles",
            "filesets": ["rtl", *waived],
            "flow": "sim",
            "flow_options": {"tool": "verilator", "mode": "cc", "verilator_options": list(BUILD)},
            **common,
        },
        "vivado": {
            "description": "Synthesis by Vivado",
            "filesets": ["rtl", "vivado"],
            "flow": "vivado",
            "flow_options": {"part": PART, "synth": "vivado", "pnr": "none"},
            **common,
        },
        "quartus": {
            "description": "Compilation by Quartus",
            "filesets": ["rtl", "quartus"],
            "default_tool": "quartus",
            "tools": {"quartus": {"family": FAMILY, "device": DEVICE}},
            **common,
        },
    }
    core = {
        "name": f"headrace:block:{package.name}:{package.version}",
        "description": package.summary,
        "filesets": filesets,
        **({"parameters": _parameters(package)} if names else {}),
        "targets": targets,
    }
    return {PurePosixPath(f"{package.name}.core"): "CAPI=2:\n" + yaml_text(core)}


def _type(place: PurePosixPath) -> str:
    return "verilogSource" if place.suffix == ".v" else "systemVerilogSource"


def _parameters(package: Package) -> dict[str, Any]:
    """Without defaults: those of the wrapper may follow from other parameters."""
    return {
        parameter.name: {
            "datatype": "str" if parameter.width is None else "int",
            "paramtype": "vlogparam",
            "description": f"{parameter.comment or parameter.name}; {parameter.default}",
        }
        for parameter in package.interface.parameters
    }
