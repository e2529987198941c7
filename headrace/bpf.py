"""Classic BPF on the host: compile, check, print and run filter programs with libpcap.

libpcap is the reference for every verdict of the filter card, so nothing here is written a second time: expressions are
compiled by ``pcap_compile``, programs checked by ``bpf_validate``, printed by ``bpf_image`` and run by ``bpf_filter``.
The opcodes are those of McCanne and Jacobson, "The BSD Packet Filter", USENIX 1993, with libpcap's MOD and XOR.
"""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, overload

from headrace.errors import HeadraceError

Buffer: TypeAlias = bytes | bytearray | memoryview

DLT_EN10MB = 1
MAX_SNAPLEN = 262144
SCRATCH_WORDS = 16

# Opcodes that bpf_filter() executes; on any other it calls abort(), though bpf_validate() lets many of them pass.
_LOADS = {0x00, 0x01, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x61, 0x80, 0x81, 0xB1}
_STORES = {0x02, 0x03}
_ALU = {0x04 + op + source for op in range(0x00, 0xB0, 0x10) for source in (0, 8)} - {0x8C}
_JUMPS = {0x05, 0x15, 0x1D, 0x25, 0x2D, 0x35, 0x3D, 0x45, 0x4D}
_RETURNS = {0x06, 0x16}
_MOVES = {0x07, 0x87}
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


@dataclass(frozen=True)
class Program(Sequence[Instruction]):
    """A filter program: an immutable sequence of instructions. ``source`` says where it came from and does not count
    when programs are compared."""

    instructions: tuple[Instruction, ...]
    source: str = field(default="", compare=False)

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


def compile(expression: str, snaplen: int = MAX_SNAPLEN, linktype: int = DLT_EN10MB, optimize: bool = True) -> Program:
    """Compile a tcpdump filter expression; an empty one accepts everything.

    ``snaplen`` is what an accepting program returns, 1 to 262144. As in ``tcpdump -r``, the netmask is 0.
    Raises FilterError with libpcap's message for a wrong expression.
    """
    if "\0" in expression:
        raise FilterError("filter expression holds a NUL character")
    ffi, lib = _libpcap()
    handle = lib.pcap_open_dead_with_tstamp_precision(linktype, snaplen, 1)
    if handle == ffi.NULL:
        raise MemoryError("pcap_open_dead")
    try:
        compiled = ffi.new("struct bpf_program *")
        if lib.pcap_compile(handle, compiled, expression.encode(errors="surrogateescape"), int(optimize), 0) != 0:
            raise FilterError(ffi.string(lib.pcap_geterr(handle)).decode(errors="replace"))
        try:
            size = compiled.bf_len * ffi.sizeof("struct bpf_insn")
            code = bytes(ffi.buffer(compiled.bf_insns, size))
        finally:
            lib.pcap_freecode(compiled)
    finally:
        lib.pcap_close(handle)
    return Program(tuple(Instruction(*fields) for fields in struct.iter_unpack("=HBBI", code)), expression)


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


def load_file(
    path: str | Path, snaplen: int = MAX_SNAPLEN, linktype: int = DLT_EN10MB, optimize: bool = True
) -> Program:
    """A program from a file, as ``tcpdump -F`` reads it: a filter expression, in which # starts a comment.

    A file that holds the output of ``tcpdump -ddd`` (its first line is a number and nothing else) or ``-dd`` (it starts
    with a brace) is taken as that program. Raises FilterError, or HeadraceError where the file can't be read.
    """
    try:
        text = Path(path).read_text(errors="surrogateescape")
    except OSError as error:
        raise HeadraceError(f"{path}: {error.strerror}") from None
    bare = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text)
    return parse_program(bare, str(path)) or compile(bare, snaplen, linktype, optimize)


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
    return program


def capture_format(path: str | Path) -> tuple[int, int]:
    """Link type (DLT number) and snaplen in bytes of a pcap or pcapng file. Raises HeadraceError if it is neither."""
    ffi, lib = _libpcap()
    message = ffi.new("char[256]")
    handle = lib.pcap_open_offline(str(path).encode(), message)
    if handle == ffi.NULL:
        text = ffi.string(message).decode(errors="replace")
        raise HeadraceError(text if text.startswith(str(path)) else f"{path}: {text}")
    try:
        return lib.pcap_datalink(handle), lib.pcap_snapshot(handle)
    finally:
        lib.pcap_close(handle)


def link_name(linktype: int) -> str:
    """The name of a link type, such as EN10MB or LINUX_SLL, or its number where libpcap has no name for it."""
    ffi, lib = _libpcap()
    name = lib.pcap_datalink_val_to_name(linktype)
    return str(linktype) if name == ffi.NULL else str(ffi.string(name).decode())


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
int pcap_datalink(pcap_t *);
int pcap_snapshot(pcap_t *);
int pcap_compile(pcap_t *, struct bpf_program *, const char *, int, unsigned int);
char *pcap_geterr(pcap_t *);
void pcap_freecode(struct bpf_program *);
void pcap_close(pcap_t *);
const char *pcap_lib_version(void);
const char *pcap_datalink_val_to_name(int);
char *bpf_image(const struct bpf_insn *, int);
int bpf_validate(const struct bpf_insn *, int);
unsigned int bpf_filter(const struct bpf_insn *, const unsigned char *, unsigned int, unsigned int);
"""


@cache
def _libpcap() -> tuple[Any, Any]:
    """cffi's (ffi, lib) for libpcap. Raises HeadraceError where it isn't installed."""
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
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
