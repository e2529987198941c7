"""rpu_unit runs compiled firmware: packets through slots of all kinds, registers, errors, cycles a packet."""

from pathlib import Path

import pytest
import simulation
from soak import soak

from headrace.build.processor import vexriscv
from headrace.cards.rpu import elf, program

PROGRAMS = Path(__file__).parent / "programs"
PARTS = (
    *("pkg", "bus", "core", "host_access", "io", "last_error", "memory", "reader", "send_check", "slot_return"),
    *("transmit", "writer", "unit"),
)
SHORT_SLOTS = ((0, 64), (61, 64), (10, 200), (2, 0x10000))  # the last one: longer than any packet


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what each program puts into memories: lines of an address and of the bytes from there on."""
    folder = tmp_path_factory.mktemp("programs")
    jobs = {source.stem: program.build([source]) for source in sorted(PROGRAMS.glob("*.c"))}
    for start in (2, 10, 61):
        jobs[f"bounce{start}"] = program.build([PROGRAMS / "bounce.c"], defines=[f"SLOT_START={start}"])
    for start, step in SHORT_SLOTS:
        defines = [f"SLOT_START={start}", f"SLOT_STEP={step}"]
        jobs[f"bounce{start}step{step}"] = program.build([PROGRAMS / "bounce.c"], defines=defines)
    jobs["forwarder"] = program.build(["forwarder"], defines=["SAME_PORT"])
    for name, path in jobs.items():
        segments = elf.read(path).segments
        (folder / name).write_text("".join(f"{segment.address} {segment.data.hex()}\n" for segment in segments))
    return folder


@pytest.mark.parametrize(("data_w", "bus_regs"), [(512, 0), soak(128, 0), (128, 1)])
def test_rpu_unit(programs: Path, monkeypatch: pytest.MonkeyPatch, data_w: int, bus_regs: int) -> None:
    monkeypatch.setenv("RPU_PROGRAMS", str(programs))
    parts = [simulation.RTL / "rpu" / f"rpu_{part}.sv" for part in PARTS]
    simulation.simulate(
        "rpu_unit",
        sources=[*simulation.rtl("pkg", "memory", "stream"), *parts, vexriscv()],
        build_args=["-O3", "-Wno-WIDTH"],
        data=sorted(programs.iterdir()),
        DATA_W=data_w,
        IMEM_KB=16,
        PMEM_KB=512,
        BUS_REGS=bus_regs,
    )
