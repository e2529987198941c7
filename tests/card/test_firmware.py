# SPDX-License-Identifier: Apache-2.0
"""Firmware and third-party RTL of a card: what its description may say, what is compiled, and when again."""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from loop_card import LOOP

from headrace import cache as cachedir
from headrace.build.description import load_card, rtl_sources
from headrace.build.firmware import build_firmware
from headrace.build.lint import lint
from headrace.build.models import _Job, build_card, cache_clear
from headrace.build.style import faults_of_tree
from headrace.errors import HeadraceError

Change = Callable[[Path], object]

TABLE = """
[firmware]
sources = ["start.S", "src/*.c"]
includes = ["include"]
linker_script = "memory.ld"
flags = ["-march=rv32i", "-mabi=ilp32", "-O2", "-ffreestanding", "-nostdlib"]
"""
START = ".global _start\n_start:\n  la sp, stack_top\n  call main\n1: j 1b\n"
MAIN = '#include "where.h"\nvolatile unsigned *const lamp = LAMP;\nint main(void) { *lamp = ON; return 0; }\n'
SCRIPT = """
MEMORY { code (rx) : ORIGIN = 0x02000000, LENGTH = 64K  data (rw) : ORIGIN = 0x00800000, LENGTH = 32K }
stack_top = 0x00806000;
ENTRY(_start)
SECTIONS { .text : { *(.text*) *(.rodata*) } > code  .data : { *(.data*) *(.sdata*) *(.bss*) } > data }
"""


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The loop card with firmware, and an empty cache."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    folder = Path(shutil.copytree(LOOP, tmp_path / "my cards" / "loop"))
    with (folder / "card.toml").open("a") as file:
        file.write(TABLE)
    for name, text in (("start.S", START), ("src/main.c", MAIN), ("memory.ld", SCRIPT)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "include").mkdir()
    (folder / "include" / "where.h").write_text("#define LAMP (unsigned *)0x00400000\n#define ON 1\n")
    return folder


def changed(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def header(elf: Path) -> dict[str, str]:
    """What binutils says of an ELF file's header and where its code lies."""
    said = subprocess.run(
        ["riscv64-unknown-elf-readelf", "-hl", str(elf)], capture_output=True, text=True, check=True
    ).stdout
    lines = (line.partition(":") for line in said.splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, _, value in lines}
    (found,) = re.findall(r"LOAD +0x\w+ (0x\w+)", said)
    return fields | {"LOAD": found}


# Compiling


def test_firmware_is_an_elf_file_that_lies_where_the_linker_script_says(card: Path) -> None:
    elf = build_firmware(card, progress=False)
    said = header(elf)
    assert said["Class"] == "ELF32" and said["Machine"] == "RISC-V" and said["LOAD"] == "0x02000000"
    assert 0x02000000 <= int(said["Entry point address"], 0) < 0x02000100
    assert build_firmware(load_card(card), progress=False) == elf


@pytest.mark.parametrize(
    "change",
    [
        lambda card: changed(card / "include" / "where.h", "ON 1", "ON 2"),
        lambda card: changed(card / "src" / "main.c", "return 0", "return 1"),
        lambda card: changed(card / "start.S", "j 1b", "ebreak"),
        lambda card: changed(card / "memory.ld", "0x00806000", "0x00807000"),
        lambda card: changed(card / "card.toml", "-O2", "-Os"),
        lambda card: (card / "src" / "more.c").write_text("int more;\n"),
    ],
)
def test_what_firmware_is_made_from_decides_whether_it_is_compiled_again(card: Path, change: Change) -> None:
    elf = build_firmware(card, progress=False)
    made = elf.stat().st_mtime_ns
    change(card)
    other = build_firmware(card, progress=False)
    assert other != elf and other.read_bytes() != elf.read_bytes() and elf.stat().st_mtime_ns == made


def test_a_comment_in_a_header_compiles_nothing_again(card: Path) -> None:
    elf = build_firmware(card, progress=False)
    changed(card / "include" / "where.h", "ON 1", "ON 1  // bright")
    assert build_firmware(card, progress=False) == elf


def test_a_program_of_the_users_and_flags_come_to_it(card: Path, tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text("int own(void) { return ANSWER; }\n")
    elf = build_firmware(card, program=[tmp_path / "own.c"], flags=["-DANSWER=42"], progress=False)
    names = subprocess.run(["riscv64-unknown-elf-nm", str(elf)], capture_output=True, text=True, check=True).stdout
    assert " T own" in names and " T main" in names
    assert elf != build_firmware(card, program=[tmp_path / "own.c"], flags=["-DANSWER=43"], progress=False)
    with pytest.raises(HeadraceError, match=r"no source file of firmware: .*absent\.c"):
        build_firmware(card, program=[tmp_path / "absent.c"])


def test_an_error_in_the_firmware_is_shown_with_its_line_and_the_log_is_kept(card: Path) -> None:
    changed(card / "src" / "main.c", "= ON", "= DIM")
    with pytest.raises(HeadraceError, match=r"^firmware of loop: compiling failed: .*main\.c:3:.*DIM") as error:
        build_firmware(card, progress=False)
    log = Path(str(error.value).partition("(log: ")[2].rstrip(")"))
    assert "DIM" in log.read_text()
    changed(card / "src" / "main.c", "= DIM", "= ON; absent()")
    with pytest.raises(HeadraceError, match=r"compiling failed: .*absent"):
        build_firmware(card, progress=False)


def test_a_missing_compiler_is_named(card: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/absent")
    with pytest.raises(HeadraceError, match="^the compiler riscv64-unknown-elf-gcc is missing: apt install gcc-riscv"):
        build_firmware(card, progress=False)
    changed(card / "card.toml", "[firmware]\n", '[firmware]\nprefix = "riscv32-absent-elf-"\n')
    with pytest.raises(HeadraceError, match="^the compiler riscv32-absent-elf-gcc is missing$"):
        build_firmware(card, progress=False)


def test_a_card_without_firmware_says_so() -> None:
    with pytest.raises(HeadraceError, match=r"card loop has no firmware: its description has no \[firmware\]"):
        build_firmware(LOOP)


def test_firmware_goes_with_the_rest_of_the_cache(card: Path) -> None:
    elf = build_firmware(card, progress=False)
    assert stat.S_IMODE(cachedir.cache_folder("firmware").stat().st_mode) == 0o700
    cache_clear()
    assert not elf.exists()


# The description


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("linker_script", "script", "firmware: unknown key 'script'; the keys are sources, includes, flags, linker_"),
        ('["start.S", "src/*.c"]', '"start.S"', "firmware: 'sources' must be a list of texts"),
        ('"-O2"', "2", "firmware: 'flags' must be a list of texts"),
        ('"memory.ld"', "4", "firmware: 'linker_script' must be a text"),
        ('["start.S", "src/*.c"]', "[]", "firmware: 'sources' is missing"),
        ("start.S", "stop.S", r"firmware: no source file 'stop\.S'"),
        ('["include"]', '["include", "absent"]', "firmware: no folder 'absent'"),
        ("memory.ld", "absent.ld", r"firmware: no linker script 'absent\.ld'"),
        ("[firmware]", "[[firmware]]", "'firmware' must be of type dict"),
    ],
)
def test_a_wrong_table_is_refused(card: Path, old: str, new: str, message: str) -> None:
    changed(card / "card.toml", old, new)
    with pytest.raises(HeadraceError, match=message) as error:
        load_card(card)
    assert error.value.exit_code == 2 and str(card / "card.toml") in str(error.value)


def test_firmware_is_no_part_of_the_model_but_its_files_are_known(card: Path) -> None:
    def library() -> Path:
        description = load_card(card)
        return _Job(description, description.resolve(), False, False).library

    before = library()
    changed(card / "src" / "main.c", "return 0", "return 1")
    assert library() == before
    firmware = load_card(card).firmware
    assert firmware is not None
    assert {path.name for path in firmware.files} == {"start.S", "main.c", "where.h", "memory.ld"}


# Third-party RTL

THEIRS = (
    "module theirs (input logic [3:0] a, output logic [7:0] b);\n\tassign b = a;\nendmodule\nmodule more; endmodule\n"
)
WAIVER = '`verilator_config\nlint_off -file "*/theirs.sv"\n'


@pytest.fixture
def mixed(card: Path) -> Path:
    """The card with a module of somebody else's in it."""
    (card / "their rtl").mkdir()
    (card / "their rtl" / "theirs.sv").write_text(THEIRS)
    part = "  logic [7:0] wide;\n  theirs u_theirs (.a(4'd3), .b(wide));\n\nendmodule\n"
    changed(card / "loop_card.sv", "\nendmodule\n", f"\n{part}")
    changed(card / "card.toml", "ports = 3", 'third_party = ["their rtl/*.sv"]\nports = 3')
    return card


def test_a_waiver_is_for_lint_and_for_builds(mixed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert re.search(r"%Warning-WIDTHEXPAND: .*theirs\.sv:2", lint(load_card(mixed)))
    changed(mixed / "card.toml", "ports = 3", 'waivers = ["*.vlt"]\nports = 3')
    with pytest.raises(HeadraceError, match=r"no waiver file '\*\.vlt'"):
        lint(load_card(mixed))
    (mixed / "theirs.vlt").write_text(WAIVER)
    assert lint(load_card(mixed)) == ""
    capfd.readouterr()
    build_card(mixed, {"DATA_W": 8})
    assert "Warning" not in capfd.readouterr().err


def test_a_changed_waiver_and_third_party_file_make_another_model(mixed: Path) -> None:
    changed(mixed / "card.toml", "ports = 3", 'waivers = ["theirs.vlt"]\nports = 3')
    (mixed / "theirs.vlt").write_text(WAIVER)

    def library() -> Path:
        description = load_card(mixed)
        return _Job(description, description.resolve(), False, False).library

    made = [library()]
    (mixed / "theirs.vlt").write_text(WAIVER + 'public_flat -module "theirs" -var "b"\n')
    made.append(library())
    changed(mixed / "their rtl" / "theirs.sv", "assign b = a", "assign b = {4'd0, a}")
    made.append(library())
    assert len(set(made)) == 3


def test_third_party_files_need_not_look_like_the_others(mixed: Path) -> None:
    assert faults_of_tree(mixed.parent) == []
    changed(mixed / "loop_core.sv", "// SPDX", "// spdx")
    assert [fault for fault in faults_of_tree(mixed.parent) if "the first line must be" in fault]
    changed(mixed / "card.toml", 'third_party = ["their rtl/*.sv"]', "")
    assert len([fault for fault in faults_of_tree(mixed.parent) if "theirs.sv" in fault]) >= 3


def test_a_missing_third_party_file_is_named(mixed: Path) -> None:
    changed(mixed / "card.toml", "their rtl/*.sv", "their rtl/*.v")
    with pytest.raises(HeadraceError, match=r"no third-party file 'their rtl/\*\.v'"):
        rtl_sources(load_card(mixed))
