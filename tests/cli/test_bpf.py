"""Filter programs on the host: compiled, printed, checked and run as libpcap does."""

import contextlib
import faulthandler
import os
import random
import resource
import subprocess
from pathlib import Path

import pytest
from oracle import (
    EXPRESSIONS,
    HTTP_WITH_DATA,
    TCP_SOURCE_100,
    Packet,
    interpret,
    make_capture,
    random_packets,
    random_programs,
)

from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.bpf import FilterError, Instruction, Program

RETURN_1 = Instruction(0x06, 0, 0, 1)
RETURN_A = Instruction(0x16, 0, 0, 0)
LAST = 0xFFFFFFFF


def program(*instructions: tuple[int, int, int, int]) -> Program:
    return Program(tuple(Instruction(*i) for i in instructions))


def verdict(
    *instructions: tuple[int, int, int, int], packet: bytes = bytes(range(64)), wirelen: int | None = None
) -> int:
    return bpf.run(program(*instructions), packet, wirelen)


@pytest.fixture(scope="module")
def packets() -> list[Packet]:
    return random_packets(seed=2, count=1500)


def tcpdump(*options: str) -> str:
    command = ["tcpdump", "-y", "EN10MB", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


# Compiling and printing


def test_there_are_more_than_150_different_expressions() -> None:
    assert len(set(EXPRESSIONS)) == len(EXPRESSIONS) > 150


@pytest.mark.parametrize("option", [1, 2, 3])
def test_dumps_are_what_tcpdump_prints(option: int) -> None:
    for expression in EXPRESSIONS:
        assert bpf.dump(bpf.compile(expression), option) == tcpdump("-" + "d" * option, "--", expression), expression


def test_unoptimised_dump_is_what_tcpdump_prints_with_capital_o() -> None:
    for expression in (TCP_SOURCE_100, HTTP_WITH_DATA):
        assert bpf.dump(bpf.compile(expression, optimize=False)) == tcpdump("-O", "-d", expression)


def test_snaplen_is_what_an_accepting_program_returns() -> None:
    assert bpf.compile("tcp", snaplen=96).return_constants == {0, 96}


@pytest.mark.parametrize("expression", ["inbound", "outbound", "ifindex 1"])
def test_what_a_file_does_not_know_is_refused_in_tcpdumps_words(expression: str, tmp_path: Path) -> None:
    capture = make_capture(tmp_path / "in.pcap", [])
    command = ["tcpdump", "-r", str(capture), "-w", "/dev/null", expression]
    words = subprocess.run(command, capture_output=True, text=True, check=False).stderr.strip()
    with pytest.raises(FilterError) as caught:
        bpf.compile(expression)
    assert words.endswith(f"tcpdump: {caught.value}")
    assert "when reading savefiles" in words


def test_what_only_linux_knows_of_a_live_packet_is_refused(tmp_path: Path) -> None:
    live = bpf.LinkFormat(live=True)
    for expression in ("outbound and tcp", "inbound", "ifindex 1"):
        with pytest.raises(FilterError, match=rf"^{expression}: asks for what only Linux knows .* iface:any$"):
            bpf.Expression(expression).compiled(live)
    (tmp_path / "program").write_text("2\n40 0 0 4294963244\n6 0 0 9\n")  # tcpdump -ddd vlan, on an interface
    with pytest.raises(FilterError, match=r"^.*program: asks for what only Linux knows"):
        bpf.load_file(tmp_path / "program")
    assert bpf.Expression("vlan").compiled(live) == bpf.compile("vlan")
    any_interface = live._replace(linktype=bpf.DLT_LINUX_SLL2)
    assert bpf.Expression("outbound").compiled(any_interface).return_constants == {0, 262144}


def test_a_program_is_not_used_for_another_link_type() -> None:
    raw = bpf.LinkFormat(12)
    with pytest.raises(FilterError, match="^ip: is for EN10MB, but x.pcap has link type RAW$"):
        bpf.for_link(bpf.compile("ip"), raw, "x.pcap")
    of_a_file = Program.from_c(bpf.dump(bpf.compile("ip"), 2))
    assert bpf.for_link(of_a_file, raw, "x.pcap") is of_a_file
    assert bpf.for_link(bpf.Expression("ip", 70), raw, "x.pcap") == bpf.compile("ip", 70, 12)


def test_link_type_decides_where_headers_are() -> None:
    assert bpf.compile("ip", linktype=12) != bpf.compile("ip")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("tcp port", "can't parse filter expression: syntax error"),
        ("port nosuch", "unknown port 'nosuch'"),
        ("ip and ip6", "expression rejects all packets"),
        ("len / 0 = 1", "division by zero"),
        ("len << 33 = 1", "shift by more than 31 bits"),
        ("host nowhere.invalid", "unknown host 'nowhere.invalid'"),
        ("tcp\0", "filter expression holds a NUL character"),
    ],
)
def test_a_wrong_expression_raises_libpcaps_message(expression: str, message: str) -> None:
    with pytest.raises(FilterError) as caught:
        bpf.compile(expression)
    assert str(caught.value) == message
    assert caught.value.exit_code == 2


# Programs as text and bytes


def test_every_encoding_reads_back_as_the_same_program() -> None:
    for one in random_programs(seed=3, count=50):
        assert Program.from_bytes(one.to_bytes()) == one
        assert Program.from_decimal(one.to_decimal()) == one
        assert Program.from_c(one.to_c()) == one


def test_bytes_are_little_endian_sock_filter() -> None:
    assert program((0x15, 2, 3, 0x12345678)).to_bytes() == bytes.fromhex("1500 02 03 78563412")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n6 0 0 1\n", "says 2 instructions but has 1"),
        ("1\n6 0 0\n", "line 2 is not an instruction"),
        ("1\n6 0 0 x\n", "line 2 is not an instruction"),
        ("1\n6 0 256 1\n", "line 2: jf 256 is not within 0..255"),
        ("1\n6 0 0 4294967296\n", "line 2: k 4294967296 is not within 0..4294967295"),
        ("", "says nothing instructions but has 0"),
    ],
)
def test_wrong_decimal_text_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        Program.from_decimal(text)


# Files, as -F reads them


def test_a_file_may_hold_an_expression_with_comments(tmp_path: Path) -> None:
    file = tmp_path / "filter"
    file.write_text("tcp # only this\n  and # and\nport 80\n")
    read = bpf.for_link(bpf.load_file(file), bpf.LinkFormat(), "")
    assert read == bpf.compile("tcp and port 80")
    assert read.to_decimal() == tcpdump("-ddd", "-F", str(file))


@pytest.mark.parametrize("option", [2, 3])
def test_a_file_may_hold_a_dumped_program(tmp_path: Path, option: int) -> None:
    file = tmp_path / "program"
    file.write_text(bpf.dump(bpf.compile(HTTP_WITH_DATA, snaplen=77), option))
    assert bpf.load_file(file) == bpf.compile(HTTP_WITH_DATA, snaplen=77)


def test_a_dumped_program_that_is_invalid_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_text("1\n40 0 0 12\n")
    with pytest.raises(FilterError, match="the last instruction is not a return"):
        bpf.load_file(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match=r"nothing-here: No such file or directory"):
        bpf.load_file(tmp_path / "nothing-here")


# Validation


@pytest.mark.parametrize(
    ("instructions", "reason"),
    [
        ([], "no instructions"),
        ([(0x28, 0, 0, 12)], "the last instruction is not a return"),
        ([(0x05, 0, 0, 1), RETURN_1], "instruction 0: jumps out of the program"),
        ([(0x05, 0, 0, LAST - 1), RETURN_1], "instruction 0: jumps out of the program"),
        ([(0x15, 0, 1, 5), RETURN_1], "instruction 0: jumps out of the program"),
        ([(0x34, 0, 0, 0), RETURN_1], "instruction 0: division by zero"),
        ([(0x94, 0, 0, 0), RETURN_1], "instruction 0: division by zero"),
        ([(0x60, 0, 0, 16), RETURN_1], r"instruction 0: M\[16\] does not exist"),
        ([(0x02, 0, 0, 16), RETURN_1], r"instruction 0: M\[16\] does not exist"),
        ([(0x0E, 0, 0, 0)], "instruction 0: unknown opcode 0xe"),
        ([(0x64, 0, 0, 32), RETURN_1], "instruction 0: shift by 32 bits"),
    ],
)
def test_invalid_programs_are_refused_with_the_reason(instructions: list[Instruction], reason: str) -> None:
    with pytest.raises(FilterError, match=reason):
        bpf.validate(program(*instructions))


def test_backward_jumps_modulo_and_xor_are_valid() -> None:
    bpf.validate(program((0x05, 0, 0, LAST), RETURN_1))
    bpf.validate(program((0x94, 0, 0, 3), (0xA4, 0, 0, 3), RETURN_A))


def libpcap_executes(code: int) -> bool:
    """Whether bpf_filter() runs an opcode; tried in a child process, since it aborts on those that it doesn't know."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, lib = bpf._libpcap()
        lib.bpf_filter(bpf._instructions(program((code, 0, 0, 1), RETURN_1, RETURN_1)), bytes(8), 8, 8)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_the_opcodes_that_are_let_through_are_those_that_libpcap_executes() -> None:
    accepted = set()
    for code in range(0x200):
        with contextlib.suppress(FilterError):
            bpf.validate(program((code, 0, 0, 1), RETURN_1, RETURN_1))
            accepted.add(code)
    assert accepted == {code for code in range(0x200) if libpcap_executes(code)} == bpf.OPCODES


# Verdicts


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        ([(0x20, 0, 0, 61), RETURN_1], 0),  # a word that ends behind the packet
        ([(0x20, 0, 0, 60), RETURN_A], 0x3C3D3E3F),
        ([(0x01, 0, 0, LAST), (0x40, 0, 0, 1), RETURN_1], 0),  # x + k overflows 32 bits
        ([(0x60, 0, 0, 3), (0x04, 0, 0, 7), RETURN_A], 7),  # M[] that nothing has written
        ([(0x61, 0, 0, 3), (0x87, 0, 0, 0), RETURN_A], 0),
        ([(0x00, 0, 0, 5), (0x01, 0, 0, 32), (0x6C, 0, 0, 0), RETURN_A], 0),  # shifts by X of 32 or more
        ([(0x00, 0, 0, 5), (0x01, 0, 0, 40), (0x7C, 0, 0, 0), RETURN_A], 0),
        ([(0x00, 0, 0, 5), (0x3C, 0, 0, 0), RETURN_1], 0),  # division by X = 0
        ([(0x00, 0, 0, 5), (0x9C, 0, 0, 0), RETURN_1], 0),
        ([(0x00, 0, 0, 5), (0x84, 0, 0, 0), RETURN_A], 0xFFFFFFFB),
        ([(0xB1, 0, 0, 14), (0x87, 0, 0, 0), RETURN_A], 56),  # 4 * (14 & 0xf)
    ],
)
def test_decided_semantics(instructions: list[Instruction], expected: int) -> None:
    assert verdict(*instructions) == expected
    assert interpret(program(*instructions), bytes(range(64))).verdict == expected


def test_len_is_the_length_on_the_wire() -> None:
    assert verdict((0x80, 0, 0, 0), RETURN_A, wirelen=1514) == 1514


def test_only_the_captured_bytes_can_be_read() -> None:
    assert bpf.run(program((0x30, 0, 0, 10), RETURN_1), bytes(64), wirelen=64, buflen=10) == 0


def test_a_view_into_a_buffer_needs_no_copy() -> None:
    buffer = bytearray(100)
    buffer[40:44] = b"\1\2\3\4"
    assert bpf.run(program((0x20, 0, 0, 0), RETURN_A), memoryview(buffer)[40:]) == 0x01020304


def test_expressions_agree_with_the_interpreter(packets: list[Packet]) -> None:
    for expression in EXPRESSIONS:
        compiled = bpf.compile(expression)
        verdicts = bpf.run_many(compiled, ((p.data, p.wirelen) for p in packets[:150]))
        assert verdicts == [interpret(compiled, p.data, p.wirelen).verdict for p in packets[:150]], expression


def test_nearly_every_expression_matches_some_packets_and_not_others(packets: list[Packet]) -> None:
    counts = {
        e: sum(map(bool, bpf.run_many(bpf.compile(e), ((p.data, p.wirelen) for p in packets)))) for e in EXPRESSIONS
    }
    undecided = [e for e, count in counts.items() if count in (0, len(packets))]
    assert len(undecided) < 10, undecided


def test_random_programs_agree_with_the_interpreter_and_use_every_opcode(packets: list[Packet]) -> None:
    rng = random.Random(4)
    visited: set[int] = set()
    for one in random_programs(seed=5, count=600):
        some = rng.sample(packets, 10)
        verdicts = bpf.run_many(one, ((p.data, p.wirelen) for p in some))
        outcomes = [interpret(one, p.data, p.wirelen, 8000, visited) for p in some]
        assert all(outcome.finished for outcome in outcomes)
        assert verdicts == [outcome.verdict for outcome in outcomes], one.to_decimal()
    assert visited == bpf.OPCODES


def test_random_programs_reach_4096_instructions() -> None:
    assert max(len(one) for one in random_programs(seed=6, count=1000)) > 3000
    assert [len(one) for one in random_programs(seed=6, count=3, max_length=1)] == [1, 1, 1]
