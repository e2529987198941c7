"""The model builder: descriptions, parameters, the cache, and what it says when something is missing or wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import until

from headrace import cache as cachedir
from headrace import paths
from headrace.build import later, libraries, toolchain
from headrace.build import models as build
from headrace.build.description import list_cards, load_card, rtl_sources
from headrace.build.models import build_card, cache_clear, cache_list
from headrace.build.toolchain import Tier, Workshop, locked
from headrace.card import Card
from headrace.cli import main
from headrace.errors import HeadraceError

LOOP = Path(__file__).parent / "cards" / "loop"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, but for what is compiled once for all models."""
    for variable in ("HEADRACE_CXX", "CXX"):  # tests have compilers of their own
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "cache"
    libraries.harness_library(), libraries.runtime_archive(trace=False)
    made_by_others = shutil.ignore_patterns("harness-*", "*.log", "*.part")  # at this moment
    shutil.copytree(libraries.folder(), folder / "harness", ignore=made_by_others)
    monkeypatch.setenv("HEADRACE_CACHE", str(folder))
    return folder


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for the build itself: notes the library's name and makes an empty one."""
    built: list[str] = []

    def fake(job: build._Job) -> Path:
        time.sleep(0.1)
        built.append(job.library.name)
        job.library.write_bytes(b"model")
        entry = {
            "card": job.description.name,
            "parameters": job.values,
            "trace": job.trace,
            "built_at": 1.0,
            "build_s": 2.0,
        }
        job.library.with_suffix(".json").write_text(json.dumps(entry))
        return job.library

    monkeypatch.setattr(build._Job, "build", fake)
    return built


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the loop card in a folder of the user's."""
    return Path(shutil.copytree(LOOP, tmp_path / "my cards" / "loop"))


def _log_of(error: HeadraceError) -> str:
    """What lies in the log that the message names."""
    return Path(str(error).partition("(log: ")[2].rstrip(")")).read_text()


# Descriptions


def test_built_in_cards_are_listed_with_their_parameters() -> None:
    cards = {card.name: card for card in list_cards()}
    assert cards["filter"].ports == 3
    assert cards["filter"].parameters["CORES"].allowed == "1 to 64"
    assert cards["filter"].parameters["DATA_W"].allowed == "one of 128, 256, 512, 1024"


def test_sources_begin_with_the_packages_in_the_order_of_their_use(tmp_path: Path) -> None:
    for name, text in {"a_pkg": "z_pkg::T", "m_pkg": "a_pkg::T", "z_pkg": "headrace_pkg::tx_meta_t", "top": ""}.items():
        (tmp_path / f"{name}.sv").write_text(text)
    (tmp_path / "card.toml").write_text(
        'top = "t"\nsources = ["*.sv"]\nuses = ["stream", "pkg"]\nports = 1\nclock_hz = 1'
    )
    names = [path.name for path in rtl_sources(load_card(tmp_path))]
    packages = [name for name in names if name.endswith("_pkg.sv")]
    assert names[: len(packages)] == packages
    assert [p for p in packages if p != "axi_pkg.sv"] == ["headrace_pkg.sv", "z_pkg.sv", "a_pkg.sv", "m_pkg.sv"]
    assert names[-1] == "top.sv" and "stream_fifo.sv" in names and len(names) == len(set(names))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("top = 5", "'top' must be of type str"),
        ("port = 3", "unknown key 'port'; the keys are description, top, sources"),
        ("ports = 65", "'ports' must be 1 to 64"),
        ("clock_hz = 2000000000", "'clock_hz' must be 1 to 1000000000"),
        ('uses = ["streams"]', "no layer 'streams'; the layers are: "),
        ('sources = ["absent.sv"]', "no source file 'absent.sv'"),
        ("parameters.X = 5", "parameter X needs a table with at least 'default'"),
        ("parameters.X = {default = 9, max = 8}", "the default of parameter X = 9: must be at most 8"),
        ("parameters.X = {default = 8, max = 8, on_board = 9}", "the default of parameter X = 9: must be at most 8"),
        ("= =", "Invalid statement"),
    ],
)
def test_a_wrong_description_is_refused(tmp_path: Path, line: str, message: str) -> None:
    lines = {"top": 'top = "t"', "sources": 'sources = ["*.sv"]', "ports": "ports = 1", "clock_hz": "clock_hz = 1"}
    lines[line.split(maxsplit=1)[0]] = line
    (tmp_path / "t.sv").write_text("module t; endmodule")
    (tmp_path / "card.toml").write_text("\n".join(lines.values()))
    with pytest.raises(HeadraceError, match=message) as error:
        rtl_sources(load_card(tmp_path))
    assert error.value.exit_code == 2 and str(tmp_path / "card.toml") in str(error.value)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text('top = "t"\nsources = []\nports = 1')
    with pytest.raises(HeadraceError, match="'clock_hz' is missing"):
        load_card(tmp_path)


@pytest.mark.parametrize("name", ["fliter", "/absent", "sub/filter"])
def test_an_unknown_card_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(HeadraceError, match=r"no card '.*': it is none of .*filter"):
        load_card(name)


def test_a_folder_without_description_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match=r"the folder has no card\.toml"):
        load_card(tmp_path)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"CORE": 4}, "card filter has no parameter CORE; its parameters are: DATA_W, CORES"),
        ({"CORES": 65}, "parameter CORES = 65: must be 1 to 64"),
        ({"CORES": "many"}, "parameter CORES = many: must be 1 to 64"),
        ({"DATA_W": 200}, "parameter DATA_W = 200: must be one of 128, 256, 512, 1024"),
    ],
)
def test_wrong_parameters_are_refused_with_the_right_ones(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(HeadraceError, match=message) as error:
        build_card("filter", parameters)  # type: ignore[arg-type]
    assert error.value.exit_code == 2


def test_parameters_may_be_text_as_on_a_command_line() -> None:
    assert load_card("filter").resolve({"CORES": "0x10"})["CORES"] == 16


# The cache


def test_a_model_is_built_once(own_cache: Path, counted: list[str]) -> None:
    first = build_card(LOOP, progress=False)
    assert build_card(str(LOOP), progress=False) == first and len(counted) == 1
    assert first.parent == own_cache / "models"


def test_parameters_and_trace_make_other_models(own_cache: Path, counted: list[str]) -> None:
    models = {
        build_card(LOOP, progress=False),
        build_card(LOOP, {"DATA_W": 64}, progress=False),
        build_card(LOOP, progress=False, trace=True),
        build_card(LOOP, {"DATA_W": "512"}, progress=False),
    }
    assert len(models) == len(counted) == 3
    assert {(m.card, m.parameters["DATA_W"], m.trace) for m in cache_list()} == {
        ("loop", 512, False),
        ("loop", 64, False),
        ("loop", 512, True),
    }
    assert cache_clear() > 0
    assert cache_list() == [] and not any(own_cache.rglob("*.so")) and not any(own_cache.rglob("*.a"))


@pytest.mark.parametrize("changed", ["loop_card.sv", "card.toml", "new.svh", "table.hex"])
def test_a_changed_or_new_source_makes_another_model(
    own_cache: Path, counted: list[str], copied: Path, changed: str
) -> None:
    first = build_card(copied, progress=False)
    with (copied / changed).open("a") as file:
        file.write("\n")
    assert build_card(copied, progress=False) != first and len(counted) == 2


def test_a_source_that_changes_without_a_trace_makes_another_model(
    own_cache: Path, counted: list[str], copied: Path
) -> None:
    first, source = build_card(copied, progress=False), copied / "loop_card.sv"
    times = source.stat()
    with source.open("r+b") as file:  # in place: size, inode and times stay
        byte = file.read(1)
        file.seek(0)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert build_card(copied, progress=False) != first and len(counted) == 2


def test_another_compiler_makes_another_model(
    own_cache: Path, counted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_card(LOOP, progress=False)
    compiler = tmp_path / "g++-other"
    compiler.write_text("#!/bin/sh\necho other 99")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    build_card(LOOP, progress=False)
    assert len(counted) == 2


def test_a_card_is_built_sooner_first_and_with_optimisation_in_the_background(
    own_cache: Path, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = libraries.runtime_archive(trace=False)
    monkeypatch.setattr(libraries, "runtime_archive", lambda *_: ready)
    monkeypatch.setattr(later, "AFTER_S", 0.0)
    started: list[list[str]] = []
    monkeypatch.setattr(later, "_start", started.append)
    monkeypatch.setattr(later.os, "nice", lambda _: None)
    monkeypatch.setenv("HEADRACE_OPTIMISE", "later")

    for _ in range(2):  # the second one while a process is still at it
        with Card.open(copied, progress=False) as card:
            card.run(until=None, cycles=10)
            card.run(until=None, cycles=10)
    first = build_card(copied, progress=False)
    assert Tier.of(first) is Tier.FIRST and [each.optimised for each in cache_list()] == [False]
    assert len(started) == 2 and started[0] == started[1]

    later.main(*started[0])
    whole = build_card(copied, progress=False)
    assert Tier.of(whole) is Tier.OPTIMISED and {each.optimised for each in cache_list()} == {True, False}
    with Card.open(copied, progress=False) as card:
        card.run(until=None, cycles=10)
    assert len(started) == 2


@pytest.mark.parametrize(("when", "first"), [("now", [False]), ("never", [True]), ("later", [True])])
def test_when_cards_are_optimised_can_be_chosen(
    own_cache: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch, when: str, first: list[bool]
) -> None:
    monkeypatch.setenv("HEADRACE_OPTIMISE", when)
    library = build_card(LOOP, progress=False)
    assert [Tier.of(Path(name)) is Tier.FIRST for name in counted] == first
    there = later.Later.of([library], load_card(LOOP), {}, False) is not None
    assert there == (when == "later")
    assert Tier.of(build_card(LOOP, progress=False, optimised=True)) is Tier.OPTIMISED


def test_a_card_is_built_by_the_profile_of_a_run(
    own_cache: Path, copied: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        toolchain.profile_merger()
    except HeadraceError as error:
        pytest.skip(str(error))
    started: list[list[str]] = []
    monkeypatch.setattr(later, "_start", started.append)
    monkeypatch.setattr(later.os, "nice", lambda _: None)

    def run() -> int:
        with Card.open(copied, progress=False) as card:
            card.source(0, "gen:size=60,count=1000")
            card.sink(0, "null")
            return card.run().stats.cycles

    monkeypatch.setenv("HEADRACE_OPTIMISE", "now")
    assert main(["build", str(copied), "--profile"]) == 0
    gathering = Path(capsys.readouterr().out.strip())
    assert Tier.of(gathering) is Tier.GATHERING and build_card(copied, progress=False) == gathering
    cycles = run()  # too short
    assert not started and gathering.exists()
    monkeypatch.setattr(later, "GATHER_S", 0.0)
    assert run() == cycles and not gathering.exists()
    assert Tier.of(build_card(copied, progress=False)) is Tier.OPTIMISED  # until there is a better one
    (words,) = started
    later.main(*words)
    profiled = build_card(copied, progress=False)
    assert Tier.of(profiled) is Tier.PROFILED and {each.profiled for each in cache_list()} == {False, True}
    assert main(["build", str(copied), "--profile"]) == 0
    assert Path(capsys.readouterr().out.strip()) == profiled
    assert run() == cycles and len(started) == 1


def test_a_compiler_without_profiles_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "c++"
    for says, message in (("g++ 12", "takes clang++"), ("clang version 19.1", "llvm-19 libclang-rt-19-dev")):
        compiler.write_text(f"#!/bin/sh\necho '{says}'\n")
        compiler.chmod(0o755)
        monkeypatch.setenv("HEADRACE_CXX", str(compiler))
        toolchain.compiler_version.cache_clear()
        with pytest.raises(HeadraceError, match=message):
            toolchain.profile_merger()
    toolchain.compiler_version.cache_clear()


def test_a_harness_that_was_built_soonest_is_optimised_later_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_OPTIMISE", "later")
    description, model = load_card(LOOP), Path("loop.so")
    assert later.Later.of([model, Path("headrace.first.so")], description, {}, False) is not None
    assert later.Later.of([model, Path("headrace.so")], description, {}, False) is None


def test_a_wrong_word_for_when_cards_are_optimised_is_refused(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_OPTIMISE", "soon")
    with pytest.raises(HeadraceError, match="HEADRACE_OPTIMISE must be later, now or never, not soon"):
        build_card(LOOP, progress=False)


def test_a_model_that_another_process_builds_is_not_built_again(
    own_cache: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(later, "AFTER_S", 0.0)
    monkeypatch.setattr(later, "_start", lambda _: pytest.fail("started"))
    monkeypatch.setenv("HEADRACE_OPTIMISE", "later")
    library, description = build_card(LOOP, progress=False), load_card(LOOP)
    lock = build._Job(description, description.resolve(None), False, False).lock
    found = later.Later.of([library], description, description.resolve(None), False)
    assert found is not None
    with locked(lock, "", False):
        found.ran(1.0)


def test_clang_is_taken_where_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HEADRACE_CXX", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    def install(name: str, says: str) -> str:
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{says}'")
        (tmp_path / name).chmod(0o755)
        return str(tmp_path / name)

    gcc = install("g++", "g++ (Debian) 12.2.0")
    assert toolchain.find_compiler() == gcc and "-fno-gnu-unique" in toolchain.compiler_flags()
    install("clang++-13", "Debian clang version 13.0.1")
    install("clang++", "Debian clang version 11.0.1")
    assert toolchain.find_compiler() == gcc
    clang = install("clang++-19", "Debian clang version 19.1.7")
    install("clang++-16", "Debian clang version 16.0.6")
    assert toolchain.find_compiler() == clang and "-fno-gnu-unique" not in toolchain.compiler_flags()
    monkeypatch.setenv("CXX", "g++")
    assert toolchain.find_compiler() == gcc
    monkeypatch.setenv("HEADRACE_CXX", "clang++-16")
    assert toolchain.find_compiler() == str(tmp_path / "clang++-16")


def test_further_flags_for_the_compiler_make_another_model(
    own_cache: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build_card(LOOP, progress=False)
    monkeypatch.setenv("HEADRACE_CXXFLAGS", "-O0 -g")
    build_card(LOOP, progress=False)
    assert len(counted) == 2


def test_further_flags_for_the_compiler_come_last(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that an -O among them counts."""
    monkeypatch.setenv("HEADRACE_CXXFLAGS", "-O0 --no-such-flag")
    with pytest.raises(HeadraceError, match="no-such-flag") as error:
        build_card(LOOP, progress=False)
    commands = [line for line in _log_of(error.value).splitlines() if line.startswith("$ ") and " -c " in line]
    assert commands and all(" -O0 --no-such-flag -c " in line for line in commands)


def test_one_compiler_alone_takes_all_as_one_file(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: dict[str, list[str]] = {}
    compile_units = Workshop.compile

    def spy(workshop: Workshop, units: Any, *more: Any) -> list[str]:
        compiled.setdefault(workshop.name, []).extend(path.name for path, _ in units)
        return compile_units(workshop, units, *more)

    monkeypatch.setattr(Workshop, "compile", spy)
    monkeypatch.setenv("HEADRACE_JOBS", "1")
    build_card(LOOP, progress=False)
    monkeypatch.setenv("HEADRACE_JOBS", "2")
    build_card(LOOP, {"DATA_W": 32}, progress=False)
    assert compiled["card loop"] == ["all0.cpp", "fast0.cpp", "slow0.cpp"]


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_a_number_of_compilers_that_is_none_is_refused(
    jobs: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_JOBS", jobs)
    with pytest.raises(HeadraceError, match=f"HEADRACE_JOBS must be a number from 1, not {jobs}") as error:
        build_card(LOOP, progress=False)
    assert error.value.exit_code == 2


def test_a_file_that_is_included_from_elsewhere_makes_another_model_when_it_changes(
    own_cache: Path, copied: Path, tmp_path: Path
) -> None:
    """The path of the include file is nothing that a description knows."""
    included = tmp_path / "elsewhere" / "vector.inc"
    included.parent.mkdir()
    source = copied / "loop_card.sv"
    text = source.read_text()
    source.write_text(text.replace("irq_vector = interrupt_q[31:16];", f'irq_vector =\n`include "{included}"\n;'))
    vectors = []
    for vector in (9, 11, 9):
        included.write_text(f"16'd{vector}")
        with Card.open(copied, {"DATA_W": 8}, progress=False) as card:
            card.memory.map(0x1000, 4096)
            card.write_many([(0x10, 0x1000), (0x1C, 3 << 8 | 1 << 12 | 1 << 16), (0x20, 1)])
            card.run()
            vectors += [irq.vector for irq in card.irqs()]
    assert vectors == [9, 11, 9] and len(cache_list()) == 2


def test_registers_that_are_included_from_elsewhere_make_another_model_when_they_change(
    own_cache: Path, counted: list[str], copied: Path, tmp_path: Path
) -> None:
    (copied / "card.toml").write_text(f'registers = "loop.rdl"\n{(copied / "card.toml").read_text()}')
    (copied / "loop.rdl").write_text('`include "../../elsewhere.rdl"\naddrmap loop_regs { part first; };\n')
    for reset in (1, 2, 1):
        text = f"regfile part {{ reg {{ field {{}} value[8] = {reset}; }} one; }};\n"
        (tmp_path / "elsewhere.rdl").write_text(text)
        build_card(copied, progress=False)
    assert len(counted) == 2


def test_a_change_of_the_harness_makes_no_other_model(
    own_cache: Path, counted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = tmp_path / "sim"
    shutil.copytree(paths.sim(), harness)
    monkeypatch.setattr(paths, "sim", lambda: harness)
    build_card(LOOP, progress=False)
    for source in harness.glob("card/*.cpp"):
        source.write_text("")
    build_card(LOOP, progress=False)
    assert len(counted) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda library: library.chmod(0o777), r"others can write to the cache .*\.so and"),
        (lambda library: library.chmod(0o775), r"others can write to the cache .*\.so and"),
        (lambda library: library.parent.chmod(0o777), "others can write to the cache .*models and"),
        (lambda library: library.parent.parent.chmod(0o777), "others can write to the cache .*cache and"),
        (lambda library: os.chown(library, 12345, 12345), r"the cache .*\.so belongs to another user"),
        (lambda library: os.chown(library.parent, 12345, 12345), "the cache .*models belongs to another user"),
    ],
)
def test_what_somebody_else_could_have_written_is_not_loaded(
    own_cache: Path, counted: list[str], change: Callable[[Path], None], message: str
) -> None:
    library = build_card(LOOP, progress=False)
    try:
        change(library)
    except PermissionError:
        pytest.skip("only root can give files away")
    with pytest.raises(HeadraceError, match=message) as error:
        Card.open(LOOP, progress=False)
    assert "\n" not in str(error.value)


def test_an_untouched_cache_is_trusted(own_cache: Path, counted: list[str]) -> None:
    library = build_card(LOOP, progress=False)
    library.chmod(0o755)
    assert cachedir.trusted(library) == library


def test_a_second_process_waits_for_the_first_and_says_so(
    own_cache: Path, counted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    description = load_card(LOOP)
    lock = build._Job(description, description.resolve(), False, False).lock
    cachedir.make_folder(lock.parent)
    holds = "import filelock, sys\nwith filelock.FileLock(sys.argv[1]):\n    print(flush=True)\n    input()"
    with subprocess.Popen(
        [sys.executable, "-c", holds, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        first.stdout.readline()
        threads = [threading.Thread(target=build_card, args=(LOOP,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        said = ""

        def told() -> bool:
            nonlocal said
            said += capsys.readouterr().err
            return said.count("another process builds this card: waiting for it") == len(threads)

        until(told, "all to say that they wait")
        assert not counted
        first.communicate("\n")
    for thread in threads:
        thread.join()
    assert len(counted) == 1


def test_a_cache_that_can_not_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "file"))
    with pytest.raises(HeadraceError, match="can't build into the cache: .*File exists"):
        build_card(LOOP, progress=False)


# What a build says


def test_a_missing_compiler_is_named_with_its_package(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HeadraceError, match=r"^a C\+\+20 compiler is missing: apt install g\+\+$"):
        build_card(LOOP, progress=False)
    monkeypatch.setenv("CXX", "g++-99")
    for variable in ("CXX", "HEADRACE_CXX"):
        monkeypatch.setenv(variable, f"{variable}-99")
        with pytest.raises(HeadraceError, match=rf"the C\+\+ compiler that {variable} names is missing: {variable}-99"):
            build_card(LOOP, progress=False)


@pytest.mark.parametrize(
    ("make", "header", "package"),
    [
        (libraries.harness_library, "pcap/pcap.h", "libpcap-dev"),
        (lambda: libraries.runtime_archive(trace=True), "lz4.h", "liblz4-dev"),
    ],
)
def test_a_missing_header_is_named_with_its_package(
    own_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[], Path],
    header: str,
    package: str,
) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text(f"#!/bin/sh\necho 'x.cpp:1:10: fatal error: {header}: No such file or directory' >&2; exit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    with pytest.raises(HeadraceError, match=f"^the C\\+\\+ header {header} is missing: apt install {package}$"):
        make()


def test_an_error_in_the_rtl_is_shown_with_its_line_and_the_log_is_kept(own_cache: Path, copied: Path) -> None:
    source = copied / "loop_card.sv"
    source.write_text(source.read_text().replace("irq_vector = interrupt_q[31:16];", "irq_vector = wrong;"))
    line = source.read_text().split("\n").index("  assign irq_vector = wrong;") + 1
    with pytest.raises(HeadraceError, match=rf"translating the RTL failed: .*loop_card\.sv:{line}:.*'wrong'") as error:
        build_card(copied, progress=False)
    assert error.value.exit_code == 1
    assert "Can't find definition of variable: 'wrong'" in _log_of(error.value)
    assert not list((own_cache / "models").glob("*.so"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "output logic                               idle\n",
            "output logic [1:0] idle\n",
            "port idle is output of 2 bits, must be output of 1 bits",
        ),
        ("irq_valid,\n    input", "irq_valid, output logic lamp,\n    input", "has a port that cards don't have: lamp"),
        ("    input  logic [         63:0]               time_ns,\n", "", "has no port time_ns (input, 64 bits)"),
        (
            "    input  logic                               console_tx_ready,\n",
            "",
            "has no port console_tx_ready (input, 1 bits)",
        ),
        (
            "output user_t [PORTS-1:0]                  tx_tuser",
            "output logic [PORTS-1:0][1:0] tx_tuser",
            "port tx_tuser is output of 6 bits, must be output of 414 bits or more for each port",
        ),
        (
            "input  logic [          7:0]               console_rx_core",
            "input  logic [          3:0]               console_rx_core",
            "port console_rx_core is input of 4 bits, must be input of 8 bits",
        ),
    ],
)
def test_a_card_with_other_ports_is_refused(own_cache: Path, copied: Path, old: str, new: str, message: str) -> None:
    source = copied / "loop_card.sv"
    text = source.read_text()
    assert old in text
    text = text.replace(old, new, 1)
    if not new:
        text = text.replace("  // Registers", f"  wire [63:0] {old.rsplit(maxsplit=1)[-1].strip(',')} = '0;", 1)
    source.write_text(text)
    with pytest.raises(HeadraceError) as error:
        build_card(copied, progress=False)
    assert message in str(error.value)


def test_warnings_about_a_users_rtl_are_shown_and_do_not_stop_the_build(
    own_cache: Path, copied: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also: a folder with spaces, a build from elsewhere, what the terminal shows, and a contract that is broken."""
    source, description = copied / "loop_card.sv", copied / "card.toml"
    contract = "offer_contract of (.clk, .rst, .valid(trouble_q[5] && count_q[0]), .ready(1'b0), .data(1'b0));"
    source.write_text(source.read_text().replace("16'd7", "15'd7").replace("endmodule", f"{contract}\nendmodule"))
    description.write_text(description.read_text().replace('["pkg"]', '["pkg", "memory", "stream"]'))
    script = f"""
from headrace.card import Card
from headrace.cli import main
with Card.open({str(copied)!r}, {{"DATA_W": 32}}) as card:
    card.source(0, "gen:size=60-200,count=50")
    card.expect_passthrough(0, 1)
    print(card.run().stats.passthrough_mismatches)
    card.write(8, 32)
    card.read(8)
"""
    environment = os.environ | {"PYTHONPATH": str(paths.share())}
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd="/", env=environment
    )
    assert result.stdout == "0\n", result.stderr
    assert "building card loop (DATA_W=32, MEM_W=64)" in result.stderr
    assert "%Warning-WIDTHEXPAND" in result.stderr
    assert re.search(r"ModelError: the model stopped: .*offer_contract\.sv:\d+", result.stderr)
    assert [m.card for m in cache_list()] == ["loop"]
    assert sorted(p.suffix for p in (own_cache / "models").iterdir()) == [".json", ".lock", ".reads", ".so"]


def test_a_broken_library_in_the_cache_is_an_error(own_cache: Path, counted: list[str]) -> None:
    with pytest.raises(HeadraceError, match="can't load the model: .*headrace cache --clear"):
        Card.open(LOOP, progress=False)


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", "/somewhere")
    assert cachedir.cache_root() == Path("/somewhere")
