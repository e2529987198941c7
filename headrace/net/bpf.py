"""Classic BPF on the host: compile, check, print and run filter programs with libpcap.

libpcap is the reference for every verdict of the filter card, so nothing here is written a second time: expressions are
compiled by ``pcap_compile``, programs checked by ``bpf_validate``, printed by ``bpf_image`` and run by ``bpf_filter``.
The opcodes are those of McCanne and Jacobson, "The BSD Packet Filter", USENIX 1993, with libpcap's MOD and XOR.
"""

from __future__ import annotations

import re
import struct
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, overload

from headrace.build.declarations import declared
from headrace.errors import HeadraceError

Buffer: TypeAlias = bytes | bytearray | memoryview

DLT_EN10MB = 1
DLT_LINUX_SLL2 = 276
ANY = "any"  # libpcap's name for all interfaces
MAX_SNAPLEN = 262144
SCRATCH_WORDS = 16
_KERNEL_ONLY = 0xFFFFF000  # SKF_AD_OFF: loads from here on ask Linux for what is not in the packet

# Opcodes that bpf_filter() executes; on any other it calls abort(), though bpf_validate() lets many of them pass.
_LOADS = {0x00, 0x01, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x61, 0x80, 0x81, 0xB1}
_STORES = {0x02, 0x03}
_ALU = {0x04 + op + source for op in range(0x00, 0xB0, 0x10) for source in (0, 8)} - {0x8C}
_JUMPS = {0x05, 0x15, 0x1D, 0x25, 0x2D, 0x35, 0x3D, 0x45, 0x4D}
_RETURNS = {0x06, 0x16}
_MOVES = {0x07, 0x87}
_ABSOLUTE = {0x20, 0x28, 0x30}
OPCODES = frozenset(_LOADS | _STORES | _ALU | _JUMPS | _RETURNS | _MOVES)

LD_MEM, LDX_MEM, RET_K, JA = 0x60, 0x61, 0x06, 0x05
_ST = 0x02


class FilterError(HeadraceError):
    """A filter expression or program that libpcap refuses; the message is libpcap's own where it has one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, exit_code=2)


class Instruction(NamedTuple):
    """One instruction: 16-bit opcode, 8-bit jump offsets (both relative to the next instruction), 32-bit constant."""

    code: int
    jt: int
    jf: int
    k: int


_LIMITS = Instruction(0xFFFF, 0xFF, 0xFF, 0xFFFFFFFF)
_ENCODING = struct.Struct("<HBBI")
_HEADER = struct.Struct("=IHHiIII")  # of a pcap file
_SWAPPED = struct.Struct((">" if sys.byteorder == "little" else "<") + "IHHiIII")


@dataclass(frozen=True)
class Program(Sequence[Instruction]):
    """A filter program: an immutable sequence of instructions. ``source`` says where it came from and ``linktype`` what
    it was made for (None: not known); they do not count when programs are compared."""

    instructions: tuple[Instruction, ...]
    source: str = field(default="", compare=False)
    linktype: int | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.instructions)

    @overload
    def __getitem__(self, index: int) -> Instruction: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Instruction, ...]: ...
    def __getitem__(self, index: int | slice) -> Instruction | tuple[Instruction, ...]:
        return self.instructions[index]

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    @property
    def return_constants(self) -> frozenset[int]:
        """The constants that the program can return; it can also return 0 on a load outside the packet."""
        return frozenset(k for code, _, _, k in self.instructions if code == RET_K)

    def to_bytes(self) -> bytes:
        """Eight bytes an instruction, little-endian ``struct sock_filter``: code (2), jt (1), jf (1), k (4)."""
        return b"".join(_ENCODING.pack(*i) for i in self.instructions)

    def to_decimal(self) -> str:
        """As ``tcpdump -ddd`` prints it: the number of instructions, then one a line in decimal."""
        lines = [str(len(self)), *(f"{i.code} {i.jt} {i.jf} {i.k}" for i in self)]
        return "\n".join(lines) + "\n"

    def to_c(self) -> str:
        """As ``tcpdump -dd`` prints it: the elements of a C array of ``struct bpf_insn``."""
        return "".join(f"{{ 0x{i.code:x}, {i.jt}, {i.jf}, 0x{i.k:08x} }},\n" for i in self)

    @classmethod
    def from_bytes(cls, data: bytes, source: str = "") -> Program:
        """The inverse of `to_bytes`. Raises FilterError unless ``data`` is whole instructions."""
        if len(data) % _ENCODING.size:
            raise FilterError(f"{source or 'program'}: {len(data)} bytes are not whole 8-byte instructions")
        return cls(tuple(Instruction(*fields) for fields in _ENCODING.iter_unpack(data)), source)

    @classmethod
    def from_decimal(cls, text: str, source: str = "") -> Program:
        """Read what `to_decimal` writes. Raises FilterError with the line's number where the text is wrong."""
        lines = text.split("\n")
        while lines and not lines[-1].strip():
            lines.pop()
        instructions = [_fields(line.split(), number, source) for number, line in enumerate(lines[1:], start=2)]
        if not lines or lines[0].strip() != str(len(instructions)):
            count = lines[0].strip() if lines else "nothing"
            raise FilterError(f"{source or 'program'}: says {count} instructions but has {len(instructions)}")
        return cls(tuple(instructions), source)

    @classmethod
    def from_c(cls, text: str, source: str = "") -> Program:
        """Read what `to_c` writes. Raises FilterError with the line's number where the text is wrong."""
        instructions = []
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            match = re.fullmatch(r"\s*\{([^{}]*)\}\s*,?\s*", line)
            words = [word.strip() for word in match[1].split(",")] if match else []
            instructions.append(_fields(words, number, source))
        return cls(tuple(instructions), source)


def _fields(words: list[str], line: int, source: str) -> Instruction:
    try:
        values = Instruction(*(int(word, 0) for word in words))
    except (ValueError, TypeError):
        raise FilterError(f"{source or 'program'}: line {line} is not an instruction (code jt jf k)") from None
    for name, value, limit in zip(Instruction._fields, values, _LIMITS, strict=True):
        if not 0 <= value <= limit:
            raise FilterError(f"{source or 'program'}: line {line}: {name} {value} is not within 0..{limit}")
    return values


class LinkFormat(NamedTuple):
    """What a filter is compiled for.

    Link type (libpcap's number) and snapshot length in bytes; whether the byte order of a file is another machine's;
    whether packets come as they happen. The netmask of ``ip broadcast`` is 0, as in tcpdump.
    """

    linktype: int = DLT_EN10MB
    snaplen: int = MAX_SNAPLEN
    swapped: bool = False
    live: bool = False


@dataclass(frozen=True)
class Expression:
    """A filter expression for packets whose link type is known only once their source is open.

    ``snaplen`` is what an accepting program returns; None: the source's.
    """

    text: str
    snaplen: int | None = None
    optimize: bool = True

    def compiled(self, link: LinkFormat) -> Program:
        """The program for packets of a format.

        Raises FilterError with libpcap's message for a wrong expression, and where Linux alone could run the program.
        """
        if "\0" in self.text:
            raise FilterError("filter expression holds a NUL character")
        ffi, lib = _libpcap()
        with _handle(link._replace(snaplen=self.snaplen or link.snaplen)) as handle:
            compiled = ffi.new("struct bpf_program *")
            text = self.text.encode(errors="surrogateescape")
            if lib.pcap_compile(handle, compiled, text, int(self.optimize), 0) != 0:
                raise FilterError(_message(lib.pcap_geterr(handle)))
            try:
                size = compiled.bf_len * ffi.sizeof("struct bpf_insn")
                code = bytes(ffi.buffer(compiled.bf_insns, size))
            finally:
                lib.pcap_freecode(compiled)
        instructions = tuple(Instruction(*fields) for fields in struct.iter_unpack("=HBBI", code))
        program = Program(instructions, self.text, link.linktype)
        _refuse_kernel_loads(program)
        return program

    @property
    def source(self) -> str:
        """The expression, as a program calls it."""
        return self.text


Filter: TypeAlias = Program | Expression


def filter_of(wanted: Filter | str, snaplen: int | None = None) -> Filter:
    """A filter as it is, or the expression of a text. Raises HeadraceError for anything else."""
    if isinstance(wanted, str):
        return Expression(wanted, snaplen)
    if not isinstance(wanted, Program | Expression):
        raise HeadraceError(f"{wanted!r} is no filter: use bpf.compile() or the text of an expression", 2)
    return wanted


def for_link(wanted: Filter, link: LinkFormat, name: str) -> Program:
    """The program of a filter for packets of a format, from the source called ``name``.

    Raises FilterError where an expression is wrong there, or a program was made for another link type.
    """
    if isinstance(wanted, Expression):
        return wanted.compiled(link)
    if wanted.linktype not in (None, link.linktype):
        made, there = link_name(wanted.linktype or 0), link_name(link.linktype)
        raise FilterError(f"{wanted.source or 'the filter'}: is for {made}, but {name} has link type {there}")
    return wanted


def compile(expression: str, snaplen: int = MAX_SNAPLEN, linktype: int = DLT_EN10MB, optimize: bool = True) -> Program:
    """Compile a tcpdump filter expression for a file's packets; an empty one accepts everything.

    ``snaplen`` is what an accepting program returns, 1 to 262144.
    Raises FilterError with libpcap's message for a wrong expression.
    """
    return Expression(expression, snaplen, optimize).compiled(LinkFormat(linktype))


@contextmanager
def _handle(link: LinkFormat) -> Iterator[Any]:
    """A handle to compile with, since libpcap compiles for what a handle is open to.

    For a file, it is open to one without packets, which libpcap has written itself; for live packets, to nothing, since
    libpcap compiles for Linux' interpreter where it captures itself.
    """
    ffi, lib = _libpcap()
    handle = lib.pcap_open_dead_with_tstamp_precision(link.linktype, link.snaplen, 1)
    if handle == ffi.NULL:
        raise MemoryError("pcap_open_dead")
    try:
        if link.live:
            yield handle
            return
        savefile = ffi.new("char[64]")
        dumper = lib.pcap_dump_fopen(handle, lib.fmemopen(savefile, len(savefile), b"w"))
        if dumper == ffi.NULL:  # there are no savefiles of this link type, and libpcap's compiler says why
            yield handle
            return
        lib.pcap_dump_close(dumper)
        if link.swapped:
            ffi.buffer(savefile)[: _HEADER.size] = _SWAPPED.pack(*_HEADER.unpack(ffi.buffer(savefile)[: _HEADER.size]))
        message = ffi.new("char[256]")
        offline = lib.pcap_fopen_offline(lib.fmemopen(savefile, len(savefile), b"r"), message)
        if offline == ffi.NULL:
            raise FilterError(_message(message))
        try:
            yield offline
        finally:
            lib.pcap_close(offline)
    finally:
        lib.pcap_close(handle)


def _refuse_kernel_loads(program: Program) -> None:
    """Raise FilterError where a program asks for what is not in packets."""
    if any(code in _ABSOLUTE and k >= _KERNEL_ONLY for code, _, _, k in program):
        raise FilterError(
            f"{program.source or 'program'}: asks for what only Linux knows of a packet, such as its direction or its "
            "interface: for a direction use iface:NAME,direction=in or out, for the rest capture from iface:any"
        )


def _message(text: Any) -> str:
    ffi, _ = _libpcap()
    return str(ffi.string(text).decode(errors="replace"))


def validate(program: Program) -> None:
    """Raise FilterError unless the card may run the program.

    The rule is libpcap's ``bpf_validate``, which allows a backward ``ja``, and two cases where libpcap validates what
    ``bpf_filter`` has no defined result for: opcodes on which it calls abort() (``ret x`` is one), and shifts by a
    constant of 32 or more.
    """
    fault = _fault(program)
    if fault is None:
        _, lib = _libpcap()
        if not lib.bpf_validate(_instructions(program), len(program)):
            fault = "refused by libpcap's validator"
    if fault is not None:
        raise FilterError(f"invalid filter program: {fault}")


def _fault(program: Program) -> str | None:
    """The first thing that is wrong with a program, in words, or None."""
    if not program:
        return "it has no instructions"
    for number, (code, jt, jf, k) in enumerate(program):
        where = f"instruction {number}"
        following = number + 1
        if code not in OPCODES:
            return f"{where}: unknown opcode 0x{code:x}"
        if code in (0x60, 0x61, 0x02, 0x03) and k >= SCRATCH_WORDS:
            return f"{where}: M[{k}] does not exist"
        if code in (0x34, 0x94) and k == 0:
            return f"{where}: division by zero"
        if code in (0x64, 0x74) and k >= 32:
            return f"{where}: shift by {k} bits"
        if code == JA:
            targets = [(following + k) & 0xFFFFFFFF]
        elif code in _JUMPS:
            targets = [following + jt, following + jf]
        else:
            targets = []
        if any(target >= len(program) for target in targets):
            return f"{where}: jumps out of the program"
    if program[-1].code not in _RETURNS:
        return "the last instruction is not a return"
    return None


def dump(program: Program, option: int = 1) -> str:
    """What tcpdump prints for ``-d`` (option 1, readable), ``-dd`` (2, C) or ``-ddd`` (3, decimal)."""
    if option >= 3:
        return program.to_decimal()
    if option == 2:
        return program.to_c()
    ffi, lib = _libpcap()
    array = _instructions(program)
    with _image_lock:
        return "".join(ffi.string(lib.bpf_image(array + i, i)).decode() + "\n" for i in range(len(program)))


def run(program: Program, packet: Buffer, wirelen: int | None = None, buflen: int | None = None) -> int:
    """libpcap's verdict on one packet: the program's return value, 0 where it rejects.

    ``packet`` is any bytes-like object, of which the first ``buflen`` bytes (default: all) are readable to the program;
    ``wirelen`` (default: ``buflen``) is what ``len`` loads. A program that loops for ever never returns: use it
    only on programs that end.
    """
    view = memoryview(packet)[:buflen]
    return run_many(program, [(view, len(view) if wirelen is None else wirelen)])[0]


def run_many(program: Program, packets: Iterable[tuple[Buffer, int]]) -> list[int]:
    """libpcap's verdicts on many packets, each given as (bytes-like, wire length); no packet is copied.

    Scratch memory that a program reads before writing is 0, as in the card; ``bpf_filter`` itself leaves it undefined.
    Raises FilterError for a program that `validate` refuses, since ``bpf_filter`` would abort the process.
    """
    validate(program)
    ffi, lib = _libpcap()
    reads_scratch = any(i.code in (LD_MEM, LDX_MEM) for i in program)
    clear = tuple(Instruction(_ST, 0, 0, word) for word in range(SCRATCH_WORDS)) if reads_scratch else ()
    array = _instructions(Program(clear + program.instructions))
    verdict, address = lib.bpf_filter, ffi.from_buffer
    return [verdict(array, address(packet), wirelen, len(packet)) for packet, wirelen in packets]


def load_file(path: str | Path, snaplen: int | None = None, optimize: bool = True) -> Filter:
    """A filter from a file, as ``tcpdump -F`` reads it: an expression, in which # starts a comment.

    A file that holds the output of ``tcpdump -ddd`` (its first line is a number and nothing else) or ``-dd`` (it starts
    with a brace) is taken as that program. Raises FilterError, or HeadraceError where the file can't be read.
    """
    try:
        text = Path(path).read_text(errors="surrogateescape")
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    bare = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text)
    return parse_program(bare, str(path)) or Expression(bare, snaplen, optimize)


def parse_program(text: str, source: str = "") -> Program | None:
    """The program in a text that looks like the output of ``tcpdump -ddd`` or ``-dd``, or None where it doesn't.

    Raises FilterError where the text is wrong, or the program invalid.
    """
    code = text.lstrip()
    if code.startswith("{"):
        program = Program.from_c(text, source)
    elif re.match(r"\d+[ \t\r]*\n\s*\d+[ \t]+\d+[ \t]+\d+[ \t]+\d+", code):
        program = Program.from_decimal(code, source)
    else:
        return None
    validate(program)
    _refuse_kernel_loads(program)
    return program


def capture_format(path: str | Path) -> LinkFormat:
    """Link type and snaplen in bytes of a pcap or pcapng file. Raises HeadraceError if it is neither."""
    ffi, lib = _libpcap()
    message = ffi.new("char[256]")
    handle = lib.pcap_open_offline(str(path).encode(), message)
    if handle == ffi.NULL:
        text = _message(message)
        raise HeadraceError(text if text.startswith(str(path)) else f"{path}: {text}")
    try:
        return LinkFormat(lib.pcap_datalink(handle), lib.pcap_snapshot(handle), bool(lib.pcap_is_swapped(handle)))
    finally:
        lib.pcap_close(handle)


def interface_format(name: str, linktype: int | None = None) -> LinkFormat | None:
    """What filters for packets of an interface are compiled for; None where it can't be captured from.

    ``any`` are all interfaces. ``linktype``: the one to ask for of those that the interface has.
    """
    ffi, lib = _libpcap()
    message = ffi.new("char[256]")
    handle = lib.pcap_create(name.encode(), message)
    if handle == ffi.NULL:
        return None
    try:
        if lib.pcap_activate(handle) < 0:
            return None
        if linktype is None and name == ANY:
            linktype = DLT_LINUX_SLL2
        if linktype is not None:
            lib.pcap_set_datalink(handle, linktype)
        return LinkFormat(lib.pcap_datalink(handle), live=True)
    finally:
        lib.pcap_close(handle)


def link_number(name: str) -> int:
    """The link type of a name, such as RAW or DLT_RAW. Raises HeadraceError with tcpdump's message."""
    _, lib = _libpcap()
    number = int(lib.pcap_datalink_name_to_val(name.encode(errors="replace")))
    if number < 0:
        raise HeadraceError(f"invalid data link type {name}", 2)
    return number


def link_name(linktype: int) -> str:
    """The name of a link type, such as EN10MB or LINUX_SLL, or its number where libpcap has no name for it."""
    ffi, lib = _libpcap()
    name = lib.pcap_datalink_val_to_name(linktype)
    return str(linktype) if name == ffi.NULL else _message(name)


def link_description(linktype: int) -> str:
    """What libpcap calls a link type in words, such as Ethernet; its name where it has none."""
    ffi, lib = _libpcap()
    words = lib.pcap_datalink_val_to_description(linktype)
    return link_name(linktype) if words == ffi.NULL else str(ffi.string(words).decode())


def version() -> str:
    """libpcap's name and version."""
    ffi, lib = _libpcap()
    return str(ffi.string(lib.pcap_lib_version()).decode())


_image_lock = threading.Lock()  # bpf_image() returns a static buffer

_DECLARATIONS = """
typedef struct pcap pcap_t;
struct bpf_insn { unsigned short code; unsigned char jt; unsigned char jf; unsigned int k; };
struct bpf_program { unsigned int bf_len; struct bpf_insn *bf_insns; };
pcap_t *pcap_open_dead_with_tstamp_precision(int, int, unsigned int);
pcap_t *pcap_open_offline(const char *, char *);
void *fmemopen(void *, size_t, const char *);
pcap_t *pcap_fopen_offline(void *, char *);
void *pcap_dump_fopen(pcap_t *, void *);
void pcap_dump_close(void *);
pcap_t *pcap_create(const char *, char *);
int pcap_activate(pcap_t *);
int pcap_set_datalink(pcap_t *, int);
int pcap_datalink_name_to_val(const char *);
int pcap_datalink(pcap_t *);
int pcap_snapshot(pcap_t *);
int pcap_is_swapped(pcap_t *);
int pcap_compile(pcap_t *, struct bpf_program *, const char *, int, unsigned int);
char *pcap_geterr(pcap_t *);
void pcap_freecode(struct bpf_program *);
void pcap_close(pcap_t *);
const char *pcap_lib_version(void);
const char *pcap_datalink_val_to_name(int);
const char *pcap_datalink_val_to_description(int);
char *bpf_image(const struct bpf_insn *, int);
int bpf_validate(const struct bpf_insn *, int);
unsigned int bpf_filter(const struct bpf_insn *, const unsigned char *, unsigned int, unsigned int);
"""


def load() -> None:
    """Loads libpcap now, for who may not be able to read it later. Raises HeadraceError where it isn't installed."""
    _libpcap()


@cache
def _libpcap() -> tuple[Any, Any]:
    """cffi's (ffi, lib) for libpcap. Raises HeadraceError where it isn't installed."""
    ffi = declared("libpcap", _DECLARATIONS)
    for name in ("libpcap.so.0.8", "libpcap.so.1", "libpcap.dylib"):
        try:
            return ffi, ffi.dlopen(name)
        except OSError:
            continue
    raise HeadraceError("libpcap is not installed (Debian: apt install libpcap0.8)")


def _instructions(program: Program) -> Any:
    """The program as a C array that lives as long as what is returned."""
    ffi, _ = _libpcap()
    return ffi.new("struct bpf_insn[]", [tuple(i) for i in program])
