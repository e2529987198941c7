"""What is around a program: where it lies, how it starts, its default interrupt handler."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rpu_model import DMEM, EXTERNAL, MCAUSE, MEPC, MIE, MSTATUS, MTVEC, TIMER, Unit

from headrace.cards.rpu import elf, program
from headrace.errors import HeadraceError

Build = Callable[..., Path]

IDLE = """
#include "core.h"
%s
static unsigned int turns;
int main(void) {
  init_hdr_slots(16, 0x804000, 128);
  init_slots(16, 0x000000, 16384);
  set_masks(%s);
  %s
  while (1) { DEBUG_OUT_L = ++turns; %s }
}
"""


def idle(build: Build, declared: str = "", masks: str = "0xFFFF", first: str = "", loop: str = "") -> Unit:
    """A unit with the default handler, whose main goes round a loop."""
    unit = Unit(build(IDLE % (declared, masks, first, loop)))
    assert unit.run(2000, lambda: bool(unit.sent))
    unit.run(100)
    unit.sent.clear()
    return unit


def lives(unit: Unit) -> bool:
    """Whether main goes on."""
    begin = unit.out(0x40)
    unit.run(500)
    return unit.out(0x40) != begin


# Before main


def test_variables_have_their_values_and_the_rest_is_zero(build: Build) -> None:
    text = """
    #include "core.h"
    int set = 0x11223344, zero; short small = -5; char big[2000], text[] = "headrace";
    static const int fixed[] = {7, 8};
    long long wide = 0x1122334455667788; struct Desc packet;
    int main(void) {
      unsigned int sum = 0;
      for (unsigned i = 0; i < sizeof big; i++) sum |= (unsigned char)big[i];
      DEBUG_OUT_L = sum | zero | packet.desc_low | packet.desc_high;
      DEBUG_OUT_H = set + small + fixed[CORE_ID] + text[3] + (int)wide;
      SEND_DESC_TYPE = 9;
      while (1);
    }
    """
    unit = Unit(build(text), core_id=1)
    assert unit.run(30000, lambda: bool(unit.sent))
    assert unit.out(0x40) == 0
    assert unit.out(0x44) == 0x11223344 - 5 + 8 + ord("d") + 0x55667788
    assert unit.word(DMEM + 0x6000 - 4) != 0, "nothing but variables is cleared"


def test_main_runs_where_it_is_linked_with_its_stack_and_interrupts(build: Build) -> None:
    unit = idle(build)
    assert unit.pc >> 24 == 0x02 and unit.csr[MTVEC] == 0x02000004
    assert unit.csr[MIE] == 0x880 and unit.csr[MSTATUS] & 8
    assert unit.regs[2] == 0x806000 or 0x805F00 < unit.regs[2] < 0x806000


def test_a_main_that_returns_leaves_the_unit_to_its_interrupts(build: Build) -> None:
    unit = Unit(build('#include "core.h"\nint main(void) { init_slots(4, 0, 16384); return 1; }\n'))
    unit.run(1000)
    unit.arrive(b"x" * 64, 0)
    unit.flags = 1 << 5
    assert unit.run(2000, lambda: unit.io[0x24] == 1) and unit.active == 0


def test_a_program_may_bring_its_own_startup_code(build: Build, tmp_path: Path) -> None:
    start = tmp_path / "startup.S"
    start.write_text(
        '.section .vectors, "ax"\n.globl _start\n_start: j init\n j int_handler\n'
        ".text\ninit: lui t0, %hi(linked)\n jr %lo(linked)(t0)\nlinked: lui sp, 0x806\n li a0, 77\n j main\n"
    )
    (tmp_path / "main.c").write_text('#include "core.h"\nint main(int a) { DEBUG_OUT_L = a; while (1); }\n')
    unit = Unit(program.build([tmp_path / "main.c", start]))
    unit.run(100)
    assert unit.out(0x40) == 77


def test_places_for_variables(build: Build) -> None:
    text = """
    #include "headrace.h"
    IN_BROADCAST volatile unsigned int shared[4];
    IN_PACKET_MEMORY unsigned int table[3] = {5, 6, 7};
    IN_PACKET_MEMORY_UNSET unsigned int later[100000];
    int main(void) { shared[1] = table[2]; later[9] = table[1]; DEBUG_OUT_L = later[9]; while (1); }
    """
    made = build(text)
    unit = Unit(made)
    unit.run(500)
    assert unit.broadcast == [(0x806004, 7)] and unit.out(0x40) == 6
    read = elf.read(made)
    assert read.address("table") == 0x01080000 and read.used("pmem") == 400_012
    assert read.address("shared") == 0x806000 and read.used("dmem") >= 16


def test_variables_keep_clear_of_header_slots_and_stack(build: Build) -> None:
    text = '#include "headrace.h"\n%s\nchar big[%d];\nint main(void) { return big[CORE_ID]; }\n'
    assert elf.read(build(text % ("", 0x3F00))).used("dmem") >= 0x3F00
    with pytest.raises(HeadraceError, match="variables reach into the header slots"):
        build(text % ("", 0x4000))
    assert elf.read(build(text % ("DATA_LIMIT(0x805000);", 0x4800))).used("dmem") >= 0x4800
    with pytest.raises(HeadraceError, match="variables leave no room for the stack"):
        build(text % ("DATA_LIMIT(0x806000);", 0x5A00))
    with pytest.raises(HeadraceError, match=r"will not fit in region .dmem|overflowed"):
        build(text % ("", 0x8000))


# Without a handler of the program's own


@pytest.mark.parametrize("flag", [0, 4, 9, 10, 11, 12, 8])
def test_an_interrupt_is_acknowledged_and_main_goes_on(build: Build, flag: int) -> None:
    unit = idle(build)
    unit.flags = 1 << flag
    assert unit.run(300, lambda: unit.flags == 0) and lives(unit)
    assert unit.csr[MCAUSE] == (TIMER if flag == 0 else EXTERNAL)


def test_registers_are_those_of_before(build: Build) -> None:
    """Interrupts at any instruction of a calculation change nothing of its result."""
    text = """
    #include "core.h"
    int main(void) {
      set_masks(0xFFFF);
      unsigned int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
      while (1) {
        a += b ^ c; b += c ^ d; c += d ^ e; d += e ^ f; e += f ^ a; f += a ^ b;
        if ((a & 3) == 0) f = a * 3;
        DEBUG_OUT_L = a; DEBUG_OUT_H = f;
      }
    }
    """
    made, results = build(text), []
    for interrupted in (False, True):
        unit, chance, seen = Unit(made), random.Random(5), []
        wrote = unit._wrote
        unit._wrote = lambda address, value, wrote=wrote, seen=seen: (  # type: ignore[method-assign]
            seen.append(value) if address in (0x40, 0x44) else None,
            wrote(address, value),
        )
        while len(seen) < 200:
            if interrupted and len(seen) > 10 and not unit.flags and chance.random() < 0.1:
                unit.flags = 1 << chance.choice([0, 4, 8, 9, 12])
            unit.step()
        results.append(seen[:200])
    assert results[0] == results[1]


def test_a_packet_interrupt_without_handler_stops_no_unit(build: Build) -> None:
    unit = idle(build)
    unit.arrive(b"x" * 60, 0)
    assert unit.run(300, lambda: not unit.mask & 2) and lives(unit)


def test_eviction_drops_what_is_there_and_what_comes(build: Build) -> None:
    unit = idle(build, loop="if (0) read_in_pkt(0);")
    for number in range(6):
        unit.arrive(bytes([number]) * 64, 0)
    unit.received.popleft(), unit.received.popleft()  # which main has taken, and not sent
    unit.flags = 1 << 5
    assert unit.run(2000, lambda: unit.io[0x24] == 1)
    assert unit.active == 0 and not unit.flags
    assert sorted(low for _, low, _ in unit.sent) == [slot << 16 for slot in range(1, 7)], "of length 0, once each"
    assert unit.arrive(b"late" * 16, 1) and unit.run(300, lambda: not unit.received)
    assert unit.run(100, lambda: len(unit.sent) == 7) and unit.sent[-1][1] & 0xFFFF == 0


@pytest.mark.parametrize(
    ("fault", "cause", "value", "errors"),
    [
        ("asm volatile(\".insn 0x0000000b\")", 2, 0x0000000B, 0),
        ("DEBUG_OUT_H = *(volatile int *)0x00810000", 5, 0x00810000, 2),
        ("*(volatile int *)0x01200000 = 1", 7, 0x01200000, 4),
        ("asm volatile(\"sw zero, 2(%0)\" :: \"r\"(0x00800000))", 6, 0x00800002, 0),
        ("asm volatile(\"lw zero, 1(%0)\" :: \"r\"(0x00800000))", 4, 0x00800001, 0),
    ],
)  # fmt: skip
def test_an_exception_stops_the_unit_where_the_host_can_see_it(
    build: Build, fault: str, cause: int, value: int, errors: int
) -> None:
    text = "__attribute__((noinline)) void broken(void) {\n  %s;\n}"
    made = build(IDLE % (text % fault, "0xFFFF", "", "if (DEBUG_IN_L) broken();"))
    unit = Unit(made)
    unit.run(1500)
    assert lives(unit)
    unit.debug_in = 1
    unit.run(1000)
    assert not lives(unit)
    read = elf.read(made)
    record = [unit.word(read.address("headrace_exception") + 4 * n) for n in range(4)]
    assert record == [cause, unit.csr[MEPC], value, errors]
    unit.run(10)
    assert unit.out(0x44) == 0xEC000000 | cause
    function = read.function_at(record[1])
    assert function is not None and function.name == "broken"
    line = read.line_at(record[1])
    command = ["riscv64-unknown-elf-addr2line", "-e", str(made), hex(record[1])]
    assert str(line) == subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    assert line is not None and line.line in (3, 4)
    unit.arrive(b"x" * 64, 0)
    unit.flags |= 1 << 5
    assert unit.run(2000, lambda: unit.io[0x24] == 1) and unit.active == 0, "the host can still evict it"


def test_an_access_error_that_comes_as_an_interrupt_stops_the_unit(build: Build) -> None:
    unit = idle(build)
    unit.errors = 4
    unit.run(300)
    assert not lives(unit) and unit.out(0x44) == 0xEC00000B
    place = elf.read(build(IDLE % ("", "0xFFFF", "", ""))).address("headrace_exception")
    assert [unit.word(place + offset) for offset in (0, 8, 12)] == [EXTERNAL, 0, 4]
