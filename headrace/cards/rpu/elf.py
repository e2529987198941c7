"""Programs as the host loads them: an ELF file's segments by memory of an RPU, its symbols and its source lines."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile


@dataclass(frozen=True)
class Memory:
    """A memory of an RPU, as programs are linked for it."""

    name: str
    title: str
    base: int
    size: int


MEMORIES = (
    Memory("imem", "instruction memory", 0x02000000, 64 << 10),
    Memory("dmem", "data memory", 0x00800000, 32 << 10),
    Memory("pmem", "packet memory", 0x01000000, 1 << 20),
)
EXTENSIONS = frozenset({"i", "m", "zicsr", "zifencei", "zmmul"})
"""Of the instruction set, what a core may have; which has a meaning in ELF files."""

_ALIAS = 0x02000000  # the core ignores this bit of the program counter
_RVC, _FLOAT, _RVE = 0x1, 0x6, 0x8  # of e_flags
_ARCH = "TAG_ARCH"


@dataclass(frozen=True)
class Segment:
    """Bytes that go into one memory before the core starts."""

    memory: str
    address: int
    data: bytes
    size: int
    """Bytes that the program uses, from ``address`` on; behind ``data`` the startup code clears them."""


@dataclass(frozen=True)
class Symbol:
    """A function or variable."""

    name: str
    address: int
    size: int
    function: bool


@dataclass(frozen=True)
class Line:
    """A place in the sources."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Program:
    """What an ELF file says. ``segments`` are in the order of their addresses."""

    path: Path
    entry: int
    segments: tuple[Segment, ...]
    symbols: dict[str, Symbol]
    memories: tuple[Memory, ...] = field(default=MEMORIES, repr=False)

    def used(self, memory: str) -> int:
        """Bytes of a memory that the program uses."""
        return sum(segment.size for segment in self.segments if segment.memory == memory)

    def address(self, symbol: str) -> int:
        """Where a function or variable lies. Raises HeadraceError when there is none."""
        if symbol not in self.symbols:
            raise HeadraceError(f"{self.path}: no symbol '{symbol}'")
        return self.symbols[symbol].address

    def function_at(self, address: int) -> Symbol | None:
        """The function that an instruction belongs to; addresses as the core has them, bit 25 set or not."""
        starts, functions = self._functions
        index = bisect.bisect_right(starts, address | _ALIAS) - 1
        if index < 0:
            return None
        found = functions[index]  # labels of assembler have no size
        end = found.address + found.size if found.size else [*starts, self._code_end][index + 1]
        return found if (address | _ALIAS) < end else None

    def line_at(self, address: int) -> Line | None:
        """The source line that an instruction comes from; None where the file doesn't know, as without -g."""
        starts, lines = self._lines
        index = bisect.bisect_right(starts, address | _ALIAS) - 1
        return lines[index] if index >= 0 else None

    @functools.cached_property
    def _functions(self) -> tuple[list[int], list[Symbol]]:
        found = sorted((symbol for symbol in self.symbols.values() if symbol.function), key=lambda s: s.address)
        return [symbol.address for symbol in found], found

    @functools.cached_property
    def _code_end(self) -> int:
        return max((s.address + s.size for s in self.segments if s.memory == "imem"), default=_ALIAS)

    @functools.cached_property
    def _lines(self) -> tuple[list[int], list[Line | None]]:
        from elftools.elf.elffile import ELFFile

        try:
            with self.path.open("rb") as file:
                rows = sorted(_rows(ELFFile(file)), key=lambda row: (row[0], row[1] is not None))
        except Exception:  # whatever pyelftools makes of debug information that is broken or half there: as without -g
            rows = []
        by_address = dict(rows)  # of an end of one sequence and the start of another at an address, the start
        return list(by_address), list(by_address.values())


def read(
    path: str | Path, *, memories: Sequence[Memory] = MEMORIES, extensions: frozenset[str] = EXTENSIONS
) -> Program:
    """A program. Raises HeadraceError with the reason when it is none for a core with these memories and extensions."""
    from elftools.elf.elffile import ELFFile

    path = Path(path)
    with path.open("rb") as file:
        try:
            elf = ELFFile(file)
            _check(elf, path, extensions)
            segments = _segments(elf, path, memories)
            entry = _entry(elf, path, segments)
            return Program(path.resolve(), entry, segments, _symbols(elf), tuple(memories))
        except HeadraceError:
            raise
        except Exception as error:  # pyelftools raises anything where a file is broken
            if file.seek(0) == 0 and file.read(4) != b"\x7fELF":
                raise HeadraceError(f"{path}: not an ELF file") from None
            raise HeadraceError(f"{path}: broken ELF file: {' '.join(str(error).split()) or 'unreadable'}") from None


def _check(elf: ELFFile, path: Path, extensions: frozenset[str]) -> None:
    header = elf.header
    machine = header["e_machine"]
    if machine != "EM_RISCV":
        name = str(machine).removeprefix("EM_").replace("X86_64", "x86-64").replace("_", " ")
        raise HeadraceError(f"{path}: for {name}, not for RISC-V")
    if elf.elfclass != 32:
        raise HeadraceError(f"{path}: for 64-bit RISC-V; an RPU has 32 bits: compile with -march=rv32i -mabi=ilp32")
    if not elf.little_endian:
        raise HeadraceError(f"{path}: big-endian; an RPU is little-endian")
    if header["e_type"] != "ET_EXEC":
        kind = {"ET_REL": "an object file, not linked", "ET_DYN": "position-independent, or a library"}
        raise HeadraceError(f"{path}: {kind.get(header['e_type'], header['e_type'])}; a program is wanted")
    flags = header["e_flags"]
    lacking = [name for bit, name in ((_RVC, "c"), (_FLOAT, "f"), (_RVE, "e")) if flags & bit]
    lacking += [name for name in _architecture(elf) if name not in extensions and name not in lacking]
    if "m" in lacking:
        lacking = [name for name in lacking if name != "zmmul"]  # a part of it, which GCC names as well
    if lacking:
        names = {"c": "c (compressed)", "f": "f (floating point)", "d": "d (floating point)", "a": "a (atomic)"}
        listed = ", ".join(names.get(name, name) for name in lacking)
        plural = "s" if len(lacking) > 1 else ""
        raise HeadraceError(f"{path}: compiled for the extension{plural} {listed}, which the core lacks")


def _architecture(elf: ELFFile) -> list[str]:
    """The extensions that the file's attributes name, without versions: ``rv32i2p1_m2p0`` is i and m."""
    section: Any = elf.get_section_by_name(".riscv.attributes")
    if section is None:
        return []
    for part in section.iter_subsections():
        for each in part.iter_subsubsections():
            for attribute in each.iter_attributes():
                if attribute.tag == _ARCH:
                    return _extensions(str(attribute.value))
    return []


def _extensions(architecture: str) -> list[str]:
    found: list[str] = []
    for part in architecture.lower().removeprefix("rv32").removeprefix("rv64").split("_"):
        name = re.sub(r"\d+p\d+$", "", part)
        found += [name] if name.startswith(("z", "s", "x")) else re.sub(r"\d+p\d+", "", name)
    return found


def _segments(elf: ELFFile, path: Path, memories: Sequence[Memory]) -> tuple[Segment, ...]:
    found = []
    for segment in elf.iter_segments("PT_LOAD"):
        address, size = segment["p_vaddr"], segment["p_memsz"]
        if size == 0:
            continue
        data = segment.data()[: segment["p_filesz"]]
        if len(data) != segment["p_filesz"] or len(data) > size:
            raise HeadraceError(f"{path}: broken ELF file: cut off")
        memory = next((m for m in memories if m.base <= address < m.base + m.size), None)
        if memory is None:
            where = ", ".join(f"{m.title} 0x{m.base:08x}-0x{m.base + m.size - 1:08x}" for m in memories)
            raise HeadraceError(f"{path}: {size:,} bytes at 0x{address:08x}, which is no memory of an RPU ({where})")
        over = address + size - memory.base - memory.size
        if over > 0:
            raise HeadraceError(f"{path}: too large by {over:,} bytes for the {memory.size:,} of {memory.title}")
        found.append(Segment(memory.name, address, data, size))
    if not found:
        raise HeadraceError(f"{path}: nothing in it to load")
    return tuple(sorted(found, key=lambda segment: segment.address))


def _entry(elf: ELFFile, path: Path, segments: Sequence[Segment]) -> int:
    entry = int(elf.header["e_entry"])
    code = [s for s in segments if s.memory == "imem"]
    if not any(s.address <= entry < s.address + len(s.data) for s in code):
        raise HeadraceError(f"{path}: no entry: 0x{entry:08x} is not in its instruction memory")
    if not any(s.address == _ALIAS and len(s.data) >= 8 for s in code):
        raise HeadraceError(f"{path}: nothing at 0x{_ALIAS:08x}, where the core starts")
    return entry


def _symbols(elf: ELFFile) -> dict[str, Symbol]:
    table: Any = elf.get_section_by_name(".symtab")
    if table is None:
        return {}
    found: dict[str, Symbol] = {}
    for symbol in table.iter_symbols():
        kind, place = symbol["st_info"]["type"], symbol["st_shndx"]
        if not symbol.name or kind in ("STT_FILE", "STT_SECTION") or place == "SHN_UNDEF" or symbol.name[0] in "$.":
            continue
        function = kind == "STT_FUNC" or (kind == "STT_NOTYPE" and _executable(elf, place))
        found[symbol.name] = Symbol(symbol.name, symbol["st_value"], symbol["st_size"], function)
    return found


def _executable(elf: ELFFile, section: Any) -> bool:
    return isinstance(section, int) and bool(elf.get_section(section)["sh_flags"] & 4)


def _rows(elf: ELFFile) -> Iterator[tuple[int, Line | None]]:
    """Where the code of a line begins; None: where a sequence of instructions ends."""
    if not elf.has_dwarf_info():
        return
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        files = _files(program, unit)
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                yield state.address, None
            elif state.address >= _ALIAS:  # functions that the linker has thrown away are at 0
                yield state.address, Line(files.get(state.file, "?"), state.line)


def _files(program: Any, unit: Any) -> dict[int, str]:
    """The files of a line program by their numbers, which DWARF 5 counts from 0 and DWARF 4 from 1."""
    header = program.header
    start = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
    base = start.value.decode(errors="replace") if start is not None else ""
    folders = [folder.decode(errors="replace") for folder in _names(header["include_directory"])]
    if header["version"] < 5:
        folders = [base, *folders]
    first = 0 if header["version"] >= 5 else 1
    files = {}
    for number, entry in enumerate(header["file_entry"], start=first):
        folder = folders[entry.dir_index] if entry.dir_index < len(folders) else ""
        files[number] = str(Path(base) / folder / entry.name.decode(errors="replace"))
    return files


def _names(entries: Sequence[Any]) -> list[bytes]:
    return [entry if isinstance(entry, bytes) else entry.name for entry in entries]
