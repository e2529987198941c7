"""What all models share, compiled once for each compiler: the harness (libheadrace) and Verilator's runtime.

Both lie in the cache, in a folder ``harness``, under keys of their content: sources, flags, compiler and Verilator's
version, and not of where these are installed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from headrace import cache as cachedir
from headrace import paths
from headrace.build import toolchain
from headrace.build.toolchain import Show, Tier, Workshop
from headrace.errors import HeadraceError

# Of Verilator's runtime: what each model needs, and what few do, which is not worth a compiler each.
_RUNTIME, _TRACE_RUNTIME = ("verilated",), ("verilated", "verilated_fst_c")
_BUNDLE = 60_000  # bytes of the harness that are worth a compiler of their own: a part takes 5 s for its headers
_SELDOM = ("verilated_dpi", "verilated_probdist", "verilated_random", "verilated_threads")


def folder() -> Path:
    """Where they are kept."""
    return cachedir.cache_folder("harness")


def harness_library(progress: bool = False, first: bool | None = None) -> Path:
    """libheadrace, which has the C interface of sim/headrace.h; compiled if it isn't in the cache.

    ``first``: the one that is compiled soonest; None: that where the optimised one isn't there and
    ``toolchain.when_optimised`` lets it wait. Raises HeadraceError when a tool or a header is missing.
    """
    progress = progress or toolchain.Announced.now
    tables = [paths.sim() / "model" / name for name in ("table.h", "slot_table.h")]
    files = [*toolchain.harness_sources(model=False), *tables]
    cachedir.note_reads(files)
    contents = [part for path in files for part in (path.relative_to(paths.sim()), path.read_bytes())]

    def place(first: bool) -> Path:
        key = toolchain.digest(toolchain.toolchain_key(first), *contents)
        return folder() / f"headrace-{key}{Tier.FIRST if first else Tier.OPTIMISED}"

    library = place(bool(first))
    if first is None and not library.is_file() and toolchain.when_optimised() != "now":
        first, library = True, place(True)

    def make(workshop: Workshop, show: Show) -> None:
        toolchain.check_headers(workshop.compiler, toolchain.HARNESS_HEADERS)
        sources = [path for path in files if path.suffix == ".cpp"]
        kernel = [path for path in sources if path.stem.startswith("xdp_")]  # the kernel's headers and libpcap's clash
        others = [path for path in sources if path not in kernel]
        bundles = toolchain.bundles(workshop.folder, "harness", others, toolchain.jobs(), _BUNDLE)
        bundles += toolchain.bundles(workshop.folder, "xdp", kernel, 1)
        flags = [*toolchain.compiler_flags(), *toolchain.optimisation(bool(first))[0], f"-I{paths.sim()}"]
        objects = workshop.compile([(path, ()) for path in bundles], flags, "compiling", show)
        show("linking")
        shared = ["-shared", "-pthread", "-Wl,-z,defs", "-lpcap", "-lxdp", "-lbpf", "-ldl"]
        workshop.run([workshop.compiler, *objects, *shared, "-o", library.name], "linking")

    make_once(library, "the harness", make, progress)
    return library


def runtime_archive(trace: bool, progress: bool = False, first: bool = False) -> Path:
    """Verilator's runtime as a static library, with or without waveforms; compiled if it isn't in the cache. ``first``:
    the one that is compiled soonest."""
    include = toolchain.verilator_root() / "include"
    often = [include / f"{name}.cpp" for name in (_TRACE_RUNTIME if trace else _RUNTIME)]
    seldom = [include / f"{name}.cpp" for name in _SELDOM]
    version = toolchain.package_version("verilator")
    key = toolchain.digest(toolchain.toolchain_key(first), version, trace, *toolchain.contents((*often, *seldom)))
    archive = folder() / f"verilated{'-trace' if trace else ''}-{key}.a"

    def make(workshop: Workshop, show: Show) -> None:
        if trace:
            toolchain.check_headers(workshop.compiler, toolchain.TRACE_HEADERS)
        flags = toolchain.model_flags(trace)
        others = workshop.folder / "others.cpp"
        others.write_text(toolchain.including(seldom, workshop.folder))
        fast, slow = toolchain.optimisation(first)
        units = [*((path, fast) for path in often), (others, slow)]
        objects = workshop.compile(units, flags, "compiling", show)
        archiver = shutil.which("ar")
        if archiver is None:
            raise HeadraceError("the program ar is missing: apt install binutils")
        workshop.run([archiver, "rcs", archive.name, *objects], "archiving")

    make_once(archive, "Verilator's runtime", make, progress)
    return archive


def make_once(
    target: Path,
    name: str,
    make: Callable[[Workshop, Show], None],
    progress: bool,
    once: str = "once for this compiler",
) -> None:
    """Makes a file in a folder of its own and moves it to its place, unless it is there."""
    if target.is_file():
        return
    import tempfile

    try:
        cachedir.make_folder(target.parent)
        with toolchain.locked(target.with_suffix(".lock"), f"another process builds {name}: waiting for it", progress):
            if target.is_file():
                return
            log_path = target.with_suffix(".log")
            with (
                toolchain.progress_of(f"building {name}", once, progress) as show,
                tempfile.TemporaryDirectory(prefix="harness-", dir=target.parent) as work,
                log_path.open("w") as log,
            ):
                make(Workshop(name, Path(work), log, log_path), show)
                made = Path(work) / target.name
                made.chmod(0o755)
                made.replace(target)
            log_path.unlink()
    except OSError as error:
        raise HeadraceError(f"can't build into the cache: {error}") from None


__all__: Sequence[str] = ("folder", "harness_library", "make_once", "runtime_archive")
