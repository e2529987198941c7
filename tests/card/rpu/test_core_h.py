"""core.h: what programs in the style of the Rosebud framework do through it, and how many cycles that takes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rpu_model import PMEM, Unit

from headrace.cards.rpu import program

Build = Callable[..., Path]

FORWARD = """
#include "core.h"
%s
int main(void) {
  %s
  // slots first, so that the balancer can fill them meanwhile
  init_hdr_slots(16, 0x804000, 128);
  init_slots(16, 0x000000, 16384);
  set_masks(0x30); // evict and poke
  while (1) {
    if (in_pkt_ready()) { %s }
  }
  return 1;
}
"""
WHOLE = """SEND_DESC = RECV_DESC; asm volatile("" ::: "memory");
      RECV_DESC_RELEASE = 1; asm volatile("" ::: "memory");
      SEND_DESC_TYPE = 0;"""
SWAP = "read_in_pkt(&packet); packet.port ^= 1; pkt_send(&packet);"
GLOBAL, LOCAL = ("struct Desc packet;", ""), ("", "struct Desc packet;")


def started(elf: Path, **options: object) -> Unit:
    """A unit whose program waits for packets."""
    unit = Unit(elf, **options)  # type: ignore[arg-type]
    assert unit.run(3000, lambda: bool(unit.sent and unit.sent[-1][0] == 3))
    unit.run(100)
    unit.sent.clear(), unit.sent_at.clear()
    return unit


def main_of(elf: Path) -> list[str]:
    """The instructions of main, as objdump writes them."""
    command = ["riscv64-unknown-elf-objdump", "-d", "--disassemble=main", "-M", "no-aliases", str(elf)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.findall(r"^ +[0-9a-f]+:\t[0-9a-f]+ +\t(.*)$", said, re.MULTILINE)


def cycles_a_packet(unit: Unit) -> float:
    for number in range(12):
        unit.arrive(bytes([number]) * 64, 0)
    assert unit.run(2000, lambda: len(unit.sent) == 12)
    return (unit.sent_at[-1] - unit.sent_at[3]) / 8


@pytest.mark.parametrize(
    ("declared", "body", "cycles", "turned"),
    [(LOCAL, WHOLE, 12, 0), (LOCAL, SWAP, 16, 1), (GLOBAL, SWAP, 20, 1)],
    ids=["registers", "local", "global"],
)
def test_forwarding_takes_few_cycles_and_no_stack(
    build: Build, declared: tuple[str, str], body: str, cycles: int, turned: int
) -> None:
    elf = build(FORWARD % (*(declared if body != WHOLE else ("", "")), body))
    unit = started(elf)
    packets = [bytes([n]) * (60 + n) for n in range(10)]
    slots = [unit.arrive(packet, n % 2) for n, packet in enumerate(packets)]
    assert unit.run(1000, lambda: len(unit.sent) == len(packets))
    assert [unit.packet(n) for n in range(10)] == [(n % 2 ^ turned, packet) for n, packet in enumerate(packets)]
    assert [low >> 16 & 0xFF for _, low, _ in unit.sent] == slots and unit.active == 0
    assert cycles_a_packet(started(elf)) <= cycles
    loop = main_of(elf)[main_of(elf).index(next(i for i in main_of(elf) if "140(zero)" in i)) - 20 :]
    assert not [line for line in loop if "(sp)" in line or line.startswith(("sll", "srl", "sra"))]


def test_a_descriptor_is_loaded_before_it_is_stored(build: Build) -> None:
    copied = [
        line.split()[0]
        for line in main_of(build(FORWARD % ("", "", WHOLE)))
        if re.search(r"(128|132|[ ,]8|12)\(zero\)", line)
    ]
    assert copied[-4:] == ["lw", "lw", "sw", "sw"]


def test_a_program_of_halves_sends_packets_to_the_other_half(build: Build) -> None:
    text = """
    #include "core.h"
    #define HALF (8/2)
    struct Desc packet;
    int main(void){
      int id=core_id();
      int next_core=id+HALF;
      init_hdr_slots(16, 0x804000, 128);
      init_slots(16, 0x000000, 16384);
      if (id<HALF){
        while (1) if (in_pkt_ready()){ read_in_pkt(&packet); packet.port = (char)next_core; send_to_core(&packet); }
      } else {
        while (1) if (in_pkt_ready()){ read_in_pkt(&packet); packet.port = 1; pkt_send(&packet); }
      }
      return 1;
    }
    """
    elf = build(text)
    for core, kind, port in ((1, 2, 5), (6, 0, 1)):
        unit = started(elf, core_id=core)
        slot = unit.arrive(b"to the other half" * 4, 0)
        assert unit.run(500, lambda unit=unit: bool(unit.sent))
        assert unit.sent == [(kind, port << 24 | slot << 16 | 68, PMEM + (slot - 1) * 16384)]


@pytest.mark.parametrize("offset", [0, 2, 10])
def test_a_slot_that_begins_later_than_its_place_takes_as_much_less(build: Build, offset: int) -> None:
    elf = build(f'#include "headrace.h"\nint main(void) {{ headrace_slots(32, {offset}); while (1); }}')
    unit = Unit(elf)
    assert unit.run(3000, lambda: bool(unit.sent))
    ((kind, low, _),) = unit.sent
    assert (kind, low >> 16 & 0xFF, low & 0xFFFF) == (3, 32, 16384 - offset), "the last one ends in the memory's middle"


def test_broadcast_words_and_filters(build: Build) -> None:
    text = """
    #include "core.h"
    unsigned int* bc_addr;
    unsigned int i;
    volatile int k;
    int main(void){
      init_hdr_slots(16, 0x804000, 128);
      init_slots(16, 0x000000, 16384);
      bc_addr = (unsigned int*) (0x00800000 + DMEM_SIZE - BC_REGION_SIZE);
      i = 23;
      set_bc_filter (0xF0,0x10);
      while (1){ *bc_addr = i; bc_addr += 4; i+=5; for (k=0;k<10;k++); }
    }
    """
    unit = started(build(text))
    assert unit.run(5000, lambda: len(unit.broadcast) == 4)
    assert unit.broadcast == [(0x806000 + 16 * n, 23 + 5 * n) for n in range(4)]
    assert (unit.out(0x48), unit.out(0x4C), unit.io[0x50], unit.mask) == (0xF0, 0x10, 1, 0xFFF8)


def test_a_timer_interrupt_reaches_the_programs_own_handler(build: Build) -> None:
    text = """
    #include "core.h"
    volatile int ticks; struct Desc summary; int noise[4];
    void __attribute__((interrupt)) int_handler(void) {
      int cause = read_csr(mcause);
      if (cause == (int)(MCAUSE_INT | IRQ_M_TIMER)) {
        ticks++; summary.len = ticks; pkt_send(&summary); interrupt_ack(0x01);
      }
    }
    int main(void){
      init_slots(8, 0x1000000, 16384);
      summary.port = 2; summary.tag = 0; summary.data = (unsigned char *)0x1080000;
      write_timer_interval(0x1000);
      set_masks(0x31);
      while (1) { noise[0] = noise[1] + 3; noise[1] = noise[0] ^ 5; noise[2]++; write_debug(noise[2]); }
    }
    """
    unit = started(build(text))
    assert unit.out(0x1C) == 0x1000 and unit.mask == 0x31
    assert unit.slots == {n + 1: 16384 * n for n in range(8)}, "addresses of packet memory are offsets in it"
    for tick in (1, 2, 3):
        before = unit.out(0x40)
        unit.flags |= 1
        assert unit.run(1000, lambda tick=tick: len(unit.sent) == tick and not unit.flags)
        unit.run(200)
        assert unit.out(0x40) > before, "main goes on"
    assert [(low >> 24, low & 0xFFFF, high) for _, low, high in unit.sent] == [(2, n, 0x1080000) for n in (1, 2, 3)]


def test_packet_memory_is_reached_by_pointers(build: Build) -> None:
    text = """
    #include "core.h"
    unsigned int * pkt_data[16]; struct Desc packet;
    int main(void){
      volatile unsigned int * test_pmem = (volatile unsigned int *) 0x1001000;
      int i;
      init_hdr_slots(16, 0x804000, 128);
      init_slots(16, 0x00000A, 16384);
      for (i=0;i<16;i++){ pkt_data[i] = (unsigned int *)(0x01000000+i*16384); pkt_data[i][0] = core_id(); }
      *test_pmem = 0x12345678;
      DEBUG_OUT_L = *test_pmem;
      DEBUG_OUT_H = 0xABCDDCBA;
      packet.len = 1500; packet.tag = 0; packet.port = (core_id()&0x4) != 0;
      while (1) for (i=0;i<16;i++) {
        pkt_data[i][1] = i; packet.data = (unsigned char *) pkt_data[i]; pkt_send(&packet);
      }
    }
    """
    unit = Unit(build(text), core_id=5)
    assert unit.run(20000, lambda: len(unit.sent) >= 33)
    assert (unit.out(0x40), unit.out(0x44)) == (0x12345678, 0xABCDDCBA)
    assert unit.slots == {n + 1: 10 + 16384 * n for n in range(16)}
    for number in range(1, 33):
        port, data = unit.packet(number)
        place = (number - 1) % 16
        assert (port, len(data), unit.sent[number][2]) == (1, 1500, PMEM + place * 16384)
        assert data[:8] == (5).to_bytes(4, "little") + place.to_bytes(4, "little")


REGISTERS = """
#include "core.h"
static inline void out(unsigned int value) { DEBUG_OUT_L = value; }
int main(void) {
  struct Desc desc = {.len = 69, .tag = 12, .port = 0, .data = (unsigned char *)0x800020};
  unsigned long long address = 0x123456789ABCULL;
  out(core_id()); out(read_masks()); out(interrupt_flags()); out(error_flags()); out(active_slots());
  out(in_pkt_ready()); out(update_slot_ready()); out(core_msg_ready()); out(MAX_SLOT_COUNT); out(PMEM_SEG_COUNT);
  out(PMEM_SEG_SIZE); out(IMEM_SIZE); out(DMEM_SIZE); out(PMEM_SIZE); out(DEBUG_IN_L); out(DEBUG_IN_H);
  dram_write(&address, &desc);
  dram_read_req(&address, &desc);
  pkt_done_msg(&desc);
  write_dram_flags(0x55); out(dram_flags());
  set_lb_offset(4); DESC_OVERRIDE = desc;
  set_masks(0x1234); atomic_pkt_send(&desc); out(read_masks());
  out(bswap_16(0x1234)); out(bswap_32(0x12345678)); out(ctz(0x50)); error_ack(0xF);
  while (1);
}
"""


def test_registers_have_their_meaning(build: Build) -> None:
    unit = Unit(build(REGISTERS), core_id=9, slots=16)
    unit.debug_in, unit.flags, unit.errors, unit.active = 0x1122334455667788, 0x400, 0, 0x81
    unit.mask, seen, masks = 0, [], []
    wrote = unit._wrote

    def watch(address: int, value: int) -> None:
        seen.extend([value] if address == 0x40 else [])
        masks.extend([value] if address == 0x38 else [])
        wrote(address, value)

    unit._wrote = watch  # type: ignore[method-assign]
    assert unit.run(5000, lambda: len(seen) == 21)
    assert seen[:16] == [
        9, 0, 0x400, 0, 0x81, 0, 1, 1, 16, 8, 128 << 10, 64 << 10, 32 << 10, 1 << 20, 0x55667788, 0x11223344,
    ]  # fmt: skip
    assert seen[16:] == [0x55, 0x1234, 0x3412, 0x78563412, 4]
    assert unit.sent == [(kind, 12 << 16 | 69, 0x800020) for kind in (4, 5, 1, 0)]
    assert (unit.out(0x10), unit.out(0x14)) == (0x56789ABC, 0x1234)
    assert (unit.out(0x58), unit.out(0x5C), unit.out(0x60)) == (12 << 16 | 69, 0x800020, unit.out(0x60) & ~0xFFFF | 4)
    assert masks == [0x1234, 0, 0x1234], "atomic_pkt_send sends with all interrupts masked"


OWN = """
#define bswap_16(x) \\
  (((x & 0xff00) >> 8) | ((x & 0x00ff) << 8))
"""
SWAPPED = """
#include "core.h"
%s
%s
int main(void) { DEBUG_OUT_L = type(); %s while (1); }
"""
CONSTANT = """static const unsigned short wanted = bswap_16(0x0800);
unsigned int type(void) { switch (CORE_ID) { case bswap_16(0x0900): return wanted; default: return 1; } }"""


def test_bswap_is_there_whether_a_program_defines_it_or_not(build: Build) -> None:
    for own, use in (("", CONSTANT), (OWN, CONSTANT)):
        unit = Unit(build(SWAPPED % (own, use, "DEBUG_OUT_H = bswap_32(CORE_ID);")), core_id=9)
        unit.run(500)
        assert (unit.out(0x40), unit.out(0x44)) == (8, 0x09000000)


def test_functions_that_are_only_inline_exist(build: Build) -> None:
    text = """
    #include "core.h"
    struct Desc desc;
    inline void slot_rx_packet(unsigned int depth) {
      desc.len = depth; pkt_send(&desc); if (depth) slot_rx_packet(depth - 1);
    }
    int main(void) { slot_rx_packet(CORE_ID); slot_rx_packet(CORE_ID & 1); while (1); }
    """
    for level in ("0", "2", "s"):
        unit = Unit(build(text, optimisation=level), core_id=3)
        unit.run(4000)
        assert [low & 0xFFFF for _, low, _ in unit.sent] == [3, 2, 1, 0, 1, 0]


def test_headers_are_clean_for_a_compiler_that_warns_of_everything(tmp_path: Path) -> None:
    library = program.library()
    headers = sorted(p for p in (library.includes[0]).glob("*.h"))
    assert {"core.h", "riscv_encoding.h", "packet_headers.h", "headrace.h"} <= {p.name for p in headers}
    text = "".join(f'#include "{p.name}"\n' for p in headers) + "int main(void) { return (int)set_csr(mie, 1); }\n"
    (tmp_path / "all.c").write_text(text)
    warnings = ["-Wall", "-Wextra", "-Wpadded", "-Wconversion", "-Wundef", "-Wshadow", "-Werror"]
    for standard in ("-std=gnu99", "-std=gnu17"):
        command = ["riscv64-unknown-elf-gcc", *library.flags, standard, *warnings, "-O2", f"-I{library.includes[0]}"]
        subprocess.run([*command, "-c", "all.c", "-o", "all.o"], cwd=tmp_path, check=True)


def test_headers_of_packets_have_their_sizes_on_the_wire(build: Build) -> None:
    sizes = {"eth": 14, "vlan": 4, "arp": 28, "ipv4": 20, "ipv6": 40, "icmp": 8, "tcp": 20, "udp": 8}
    checks = "".join(
        f"_Static_assert(sizeof(struct {name}_header) == {size}, #{size});" for name, size in sizes.items()
    )
    checks = re.sub(r"#(\d+)", r'"\1"', checks)
    fields = (
        '_Static_assert(__builtin_offsetof(struct ipv4_header, dest_ip) == 16, "");'
        '_Static_assert(__builtin_offsetof(struct tcp_header, flags) == 12, "");'
    )
    build(f'#include "core.h"\n#include "packet_headers.h"\n{checks}{fields}\nint main(void) {{ return 0; }}\n')
