"""headrace rpu build, and what it says of programs that are none."""

from __future__ import annotations

import json
import random
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from soak import soak

from headrace import cli
from headrace.cards.rpu import elf, program
from headrace.errors import HeadraceError

MAIN = '#include "core.h"\nint table[SIZE];\nint main(void) { while (1) DEBUG_OUT_L = table[CORE_ID]; }\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The current folder, with a program in it."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path_factory.getbasetemp() / "rpu-cache"))
    monkeypatch.chdir(tmp_path)
    Path("main.c").write_text(MAIN)
    return tmp_path


def tool(name: str, *arguments: str) -> str:
    command = [f"riscv64-unknown-elf-{name}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 1) -> str:
    """The one line that a build ends with."""
    assert cli.main(["rpu", "build", *arguments]) == code
    lines = capsys.readouterr().err.splitlines()
    assert lines and lines[-1].startswith("headrace: ") and not any("Traceback" in line for line in lines)
    return lines[-1].removeprefix("headrace: ")


# The command


def test_a_program_is_written_and_its_size_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rpu", "build", "main.c", "-D", "SIZE=100"]) == 0
    said = capsys.readouterr()
    assert re.fullmatch(r"main\.elf: imem [\d,]+ of 65,536 bytes, dmem [\d,]+ of 32,768 bytes\n", said.out)
    assert said.err == ""
    header = tool("readelf", "-h", "main.elf")
    assert "ELF32" in header and "RISC-V" in header and "0x2000000" in header
    sizes = {name: int(size) for name, size in re.findall(r"^(\.\w+) +(\d+)", tool("size", "-A", "main.elf"), re.M)}
    used = {name: int(size.replace(",", "")) for name, size in re.findall(r"(\w+) ([\d,]+) of", said.out)}
    assert used == {"imem": sizes[".text"], "dmem": sizes[".data"] + sizes[".bss"]}


def test_output_json_and_several_files(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "own.h").write_text("int more(void);\n")
    Path("more.c").write_text('#include "own.h"\nint more(void) { return 3; }\n')
    Path("main.c").write_text('#include "own.h"\nint main(void) { return more(); }\n')
    arguments = ["main.c", "more.c", "-o", "two.elf", "-I", "own", "-O", "s", "--json"]
    assert cli.main(["rpu", "build", *arguments]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["path"] == "two.elf" and said["entry"] == 0x02000000
    assert said["memories"]["dmem"] == {"used": elf.read("two.elf").used("dmem"), "size": 32768}
    assert re.search(r" T more$", tool("nm", "two.elf"), re.M)


def test_a_program_that_comes_with_headrace_goes_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rpu", "build", "forwarder"]) == 0
    assert Path("forwarder.elf").is_file()
    assert "no such file; programs that come with Headrace: " in refused(capsys, "fowarder", code=2)


def test_what_the_compiler_says_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    Path("main.c").write_text('#include "core.h"\nint main(void) {\n  DEBUG_OUT_L = undeclared;\n  return 0\n}\n')
    assert cli.main(["rpu", "build", "main.c"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert any(re.search(r"main\.c:3:\d+: error: .undeclared. undeclared", line) for line in lines)
    assert any(re.search(r"main\.c:4:\d+: error: expected", line) for line in lines)
    assert re.match(r"headrace: main\.c: compiling failed: .*main\.c:3", lines[-1])
    assert not Path("main.elf").exists()
    Path("main.c").write_text('int main(void) {\n  int a = "text";\n  return a;\n}\n')
    for _ in range(2):  # the second time it is in the cache
        assert cli.main(["rpu", "build", "main.c"]) == 0
        assert re.search(r"main\.c:2:\d+: warning: ", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.c"], "absent.c: no such file"),
        (["."], ".: a folder, not a source file"),
        (["main.py"], "main.py: neither C (.c) nor assembler (.S)"),
        (["main.c", "-D", "1=2"], "-D 1=2: not NAME or NAME=VALUE"),
        (["main.c", "-I", "absent"], "-I absent: no such folder"),
        (["main.c", "-O", "9"], "-O 9: none of 0, 1, 2, 3, s, g, fast"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    Path("main.py").touch()
    assert refused(capsys, *arguments, code=2) == message


def test_a_program_that_does_not_fit_or_lacks_something(capsys: pytest.CaptureFixture[str]) -> None:
    assert "variables reach into the header slots" in refused(capsys, "main.c", "-D", "SIZE=4096")
    assert "dmem" in refused(capsys, "main.c", "-D", "SIZE=10000")
    Path("main.c").write_text("int other(void);\nint main(void) { return other(); }\n")
    assert "undefined reference to `other'" in refused(capsys, "main.c")
    Path("main.c").write_text('int main(void) { asm volatile(".rept 20000\\nnop\\n.endr"); return 0; }\n')
    assert "imem" in refused(capsys, "main.c")
    assert "absent/main.elf: No such file" in refused(capsys, "main.c", "-o", "absent/main.elf")


def test_a_missing_compiler_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/absent")
    assert "apt install gcc-riscv64-unknown-elf" in refused(capsys, "main.c", "-D", "SIZE=12345")


# ELF files


@pytest.fixture
def good(folder: Path) -> Path:
    return Path(shutil.copyfile(program.build(["main.c"], defines=["SIZE=10"]), folder / "good.elf"))


def compiled(name: str, *flags: str, text: str = "int main(void) { return 0; }\n", at: str = "0x02000000") -> Path:
    """What a user's own compiler command may give."""
    Path(f"{name}.c").write_text(text)
    command = ["-nostdlib", "-Wl,--build-id=none", "-Wl,-e,main", f"-Wl,-Ttext={at}", f"{name}.c", "-o", f"{name}.elf"]
    tool("gcc", "-O2", *flags, *command)
    return Path(f"{name}.elf")


RV32 = ("-march=rv32i", "-mabi=ilp32")
LONG = 'int main(void) { return 0; }\nvoid more(void) { asm volatile(".rept %d\\nnop\\n.endr"); }\n'


def test_segments_entry_and_symbols_are_those_of_binutils(good: Path) -> None:
    read = elf.read(good)
    loads = re.findall(r"LOAD +\S+ (0x\w+) 0x\w+ (0x\w+) (0x\w+)", tool("readelf", "-lW", str(good)))
    assert [(s.address, len(s.data), s.size) for s in read.segments] == sorted(
        tuple(int(part, 16) for part in load) for load in loads
    )
    assert {s.memory for s in read.segments} == {"imem", "dmem"}
    tool("objcopy", "-O", "binary", "-j", ".text", str(good), "text.bin")
    assert read.segments[-1].data == Path("text.bin").read_bytes()
    for line in tool("nm", "-S", "--defined-only", str(good)).splitlines():
        parts = line.split()
        if parts[-2] in "TtBb" and len(parts) == 4:
            symbol = read.symbols[parts[3]]
            assert (symbol.address, symbol.size) == (int(parts[0], 16), int(parts[1], 16))
            assert symbol.function == (parts[2] in "Tt")
    assert read.entry == 0x02000000 and read.address("main") == read.symbols["main"].address
    with pytest.raises(HeadraceError, match=r"good\.elf: no symbol 'absent'"):
        read.address("absent")


@pytest.mark.parametrize("flags", [[], ["-gdwarf-4"], ["-gdwarf-3", "-O0"]], ids=["5", "4", "3"])
def test_each_instruction_has_its_function_and_line(
    folder: Path, flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "FLAGS", (*program.FLAGS, *flags))
    (folder / "sub").mkdir()
    Path("sub/part.h").write_text("static inline int part(int a) {\n  return a + DEBUG_IN_L;\n}\n")
    Path("main.c").write_text('#include "core.h"\n#include "sub/part.h"\nint main(void) {\n  return part(3);\n}\n')
    made = program.build(["main.c"])
    read = elf.read(made)
    text = tool("objdump", "-d", str(made))
    functions, label = {}, ""
    for line_of_text in text.splitlines():
        if heading := re.match(r"[0-9a-f]+ <(\w+)>:$", line_of_text):
            label = heading[1]
        elif instruction := re.match(r" +([0-9a-f]+):\t", line_of_text):
            functions[int(instruction[1], 16)] = label
    answers = tool("addr2line", "-e", str(made), *map(hex, functions)).splitlines()
    known = 0
    for (address, function), place in zip(functions.items(), answers, strict=True):
        file, _, number = place.partition(" ")[0].rpartition(":")
        line = read.line_at(address - 0x02000000)
        if number.isdigit() and int(number):
            assert line is not None and (Path(line.file), line.line) == (Path(file), int(number)), hex(address)
            known += Path(file).name in ("main.c", "part.h")
        ours = read.function_at(address)
        assert ours is not None and ours.name == function, hex(address)
    assert known >= 2
    assert read.function_at(0x02001000) is None and read.function_at(0x00800000) is None


@pytest.mark.parametrize(
    ("flags", "text", "message"),
    [
        (["-march=rv64i", "-mabi=lp64"], None, "for 64-bit RISC-V; an RPU has 32 bits"),
        (["-march=rv32ic", "-mabi=ilp32"], None, r"the extension c \(compressed\), which the core lacks"),
        (["-march=rv32ia", "-mabi=ilp32"], None, r"the extension a \(atomic\), which the core lacks"),
        (["-march=rv32if", "-mabi=ilp32f"], None, r"the extension f \(floating point\), which"),
        (["-march=rv32imac", "-mabi=ilp32"], None, r"the extensions c \(compressed\), a \(atomic\), which"),
        (["-march=rv32i_zba", "-mabi=ilp32"], None, "the extension zba, which"),
        ([*RV32, "-c"], None, "an object file, not linked; a program is wanted"),
        ([*RV32, "-Wl,-N"], LONG % 20000, "too large by 14,476 bytes for the 65,536 of instruction memory"),
    ],
)
def test_a_program_for_something_else_is_refused(flags: list[str], text: str | None, message: str) -> None:
    made = compiled("other", *flags, **({"text": text} if text else {}))
    with pytest.raises(HeadraceError, match=rf"^other\.elf: .*{message}") as error:
        elf.read(made)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("0x00800000", "no entry: 0x00800000 is not in its instruction memory"),
        ("0x10000000", r"bytes at 0x10000000, which is no memory of an RPU \(instruction memory 0x02000000-0x0200ffff"),
        ("0x02000400", "nothing at 0x02000000, where the core starts"),
    ],
)
def test_a_program_elsewhere_is_refused(at: str, message: str) -> None:
    with pytest.raises(HeadraceError, match=message):
        elf.read(compiled("other", *RV32, "-Wl,-N", at=at))


def test_multiplication_is_what_a_core_may_have() -> None:
    made = compiled(
        "other",
        "-march=rv32im",
        "-mabi=ilp32",
        "-Wl,-N",
        text="int main(void) { return 0; }\nint x(void) { return 1; }",
    )
    assert elf.read(made).entry == 0x02000000
    with pytest.raises(HeadraceError, match="the extension m, which the core lacks"):
        elf.read(made, extensions=elf.EXTENSIONS - {"m", "zmmul"})


def test_memories_of_another_size(good: Path) -> None:
    small = [elf.Memory(m.name, m.title, m.base, 256) for m in elf.MEMORIES]
    with pytest.raises(HeadraceError, match=r"good\.elf: too large by [\d,]+ bytes for the 256 of instruction memory"):
        elf.read(good, memories=small)


@pytest.mark.parametrize(
    ("offset", "new", "message"),
    [
        (0, b"\x7fELG", "not an ELF file"),
        (4, b"\x02", "broken ELF file|64-bit"),
        (5, b"\x02", "broken ELF file|for .*not for RISC-V|big-endian"),
        (16, struct.pack("<H", 3), "position-independent, or a library; a program is wanted"),
        (18, struct.pack("<H", 62), "for x86-64, not for RISC-V"),
        (18, struct.pack("<H", 40), "for ARM, not for RISC-V"),
        (24, struct.pack("<I", 0), "no entry: 0x00000000"),
        (24, struct.pack("<I", 0x00800000), "no entry: 0x00800000"),
        (28, struct.pack("<I", 0x7FFFFFFF), "broken ELF file|nothing in it"),
        (44, struct.pack("<H", 0), "nothing in it to load"),
    ],
)
def test_a_changed_header_is_refused(good: Path, offset: int, new: bytes, message: str) -> None:
    data = bytearray(good.read_bytes())
    data[offset : offset + len(new)] = new
    good.write_bytes(data)
    with pytest.raises(HeadraceError, match=rf"^good\.elf: .*({message})") as error:
        elf.read("good.elf")
    assert "\n" not in str(error.value)


def test_a_file_that_is_cut_off_or_is_none_is_refused(good: Path) -> None:
    whole = good.read_bytes()
    for size in (0, 3, 4, 40, 60, 1000, 4000, len(whole) // 2):
        good.write_bytes(whole[:size])
        with pytest.raises(HeadraceError, match=r"^good\.elf: (not an ELF file|broken ELF file)"):
            elf.read("good.elf")
    with pytest.raises((HeadraceError, OSError)):
        elf.read("absent.elf")


def test_any_damage_gives_a_program_or_one_line(good: Path, record: Callable[[str], None] = len) -> None:
    """Bytes of the headers at random: never anything but a Program or a HeadraceError."""
    import random

    whole, chance = good.read_bytes(), random.Random(1)
    table = int.from_bytes(whole[32:36], "little")
    places = [*range(52 + 3 * 32), *range(table, len(whole))]
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            data[chance.choice(places)] = chance.randrange(256)
        good.write_bytes(data)
        try:
            read = elf.read(good)
            read.function_at(0x100)
        except HeadraceError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("section", [".debug_line", ".debug_abbrev", ".debug_str", ".debug_line_str"])
def test_debug_information_that_is_there_in_part_is_as_none(section: str) -> None:
    assert cli.main(["rpu", "build", "main.c", "-D", "SIZE=100"]) == 0
    tool("objcopy", f"--remove-section={section}", "main.elf", "part.elf")
    found = elf.read("part.elf")
    assert found.segments == elf.read("main.elf").segments
    assert found.line_at(found.entry) is None or section != ".debug_line"


@pytest.mark.parametrize("count", [200, soak(2000)])
def test_broken_files_load_or_are_refused_and_are_looked_up_in_without_harm(count: int) -> None:
    assert cli.main(["rpu", "build", "main.c", "-D", "SIZE=100"]) == 0
    whole = Path("main.elf").read_bytes()
    rng = random.Random(1)
    loaded = 0
    for _ in range(count):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 3, 20))):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        Path("broken.elf").write_bytes(data if rng.random() < 0.9 else data[: rng.randrange(len(data))])
        try:
            found = elf.read("broken.elf")
        except HeadraceError as error:
            assert "broken.elf" in str(error)
            continue
        loaded += 1
        found.line_at(found.entry)
        found.function_at(found.entry)
    assert count / 14 < loaded < count
