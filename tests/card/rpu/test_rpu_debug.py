"""A debugger's view of a unit: breakpoints, steps, memories, through the card's registers, while other units work."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.card import Card
from headrace.cards.rpu import elf, program
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.debug import Debugger
from headrace.cards.rpu.elf import Program
from headrace.errors import HeadraceError

UNIT = 3
SOURCE = """#include "headrace.h"
struct Desc packet;
volatile unsigned int count, timers;
__attribute__((noinline)) void handle(struct Desc *desc) {
  count++;
  desc->port ^= 1;
  pkt_send(desc);
}
__attribute__((noinline)) void tick(void) { timers++; }
void __attribute__((interrupt)) int_handler(void) {
  tick();
  interrupt_ack(FLAG_TIMER);
}
int main(void) {
  init_slots(8, 0, 4096);
  set_masks(FLAG_TIMER);
  while (1)
    if (in_pkt_ready()) {
      read_in_pkt(&packet);
      handle(&packet);
    } else if (DEBUG_IN_L == 1) {
      asm volatile("ebreak");
    } else if (DEBUG_IN_L == 2) {
      DEBUG_IN_L;
      write_timer_interval(200);
    }
}
"""


@pytest.fixture
def card() -> Iterator[Card]:
    # The model of test_rpu_card
    options = {"parameters": {"PMEM_KB": 512}, "progress": False}
    with open_rpu_card(4, {1: "crc", 2: "blacklist"}, **options) as opened:  # type: ignore[arg-type]
        opened.sink(1, "memory")
        yield opened


@pytest.fixture
def code(card: Card, tmp_path: Path) -> Program:
    (tmp_path / "mine.c").write_text(SOURCE)
    made = elf.read(program.build([tmp_path / "mine.c"]))
    driver = driver_of(card)
    driver.load(elf.read(program.build(["forwarder"])), range(UNIT))
    driver.load(made, [UNIT])
    driver.boot()
    assert driver.ready()
    return made


def word(debugger: Debugger, code: Program, name: str) -> int:
    return int.from_bytes(debugger.read_memory(code.address(name), 4), "little")


@pytest.mark.parametrize("hardware", [False, True])
def test_a_breakpoint_stops_its_unit_once_a_packet_while_the_others_go_on(
    card: Card, code: Program, hardware: bool
) -> None:
    driver = driver_of(card)
    debugger = Debugger(driver, UNIT)
    debugger.attach()
    debugger.set_breakpoint(code.address("handle"), hardware)
    debugger.resume()
    rng = random.Random(1)
    packets = [rng.randbytes(100) for _ in range(400)]
    card.source(0, packets, timing=20e9)
    hits = 0
    for _ in range(3_000):
        card.run(until=None, cycles=300)
        if debugger.state() != "breakpoint":
            if len(card.received(1)) == 0 and hits and driver.state(UNIT).outstanding == 0:
                break
            continue
        assert debugger.registers()[32] == code.address("handle")
        assert word(debugger, code, "count") == hits
        hits += 1
        if hits == 3:  # the others finish without it, but for what waits in its slots
            card.run(until=None, cycles=30_000)
            others = [driver.counters(unit) for unit in range(UNIT)]
            assert sum(unit.tx_packets for unit in others) == len(packets) - driver.counters(UNIT).rx_packets
        debugger.resume()
    assert hits == driver.counters(UNIT).rx_packets == driver.counters(UNIT).tx_packets >= 8
    debugger.halt()
    debugger.detach()
    before = driver.counters(UNIT).tx_packets
    card.received(1)
    card.source(0, packets[:40])
    card.run(until=None, cycles=3_000)
    assert driver.counters(UNIT).tx_packets > before and debugger.state() == "running"
    assert len(card.received(1)) == 40
    original = next(segment for segment in code.segments if segment.memory == "imem")
    assert debugger.read_memory(original.address, len(original.data)) == original.data
    assert driver.read(UNIT, original.address, len(original.data)) == original.data, "without an ebreak"


def test_an_ebreak_halts_a_core_that_is_debugged_and_does_nothing_otherwise(card: Card, code: Program) -> None:
    driver = driver_of(card)
    debugger = Debugger(driver, UNIT)
    debugger.attach()
    debugger.resume()
    driver.set_debug(UNIT, 1)
    card.run(until=None, cycles=2_000)
    assert debugger.state() == "breakpoint"
    function = code.function_at(debugger.registers()[32])
    assert function is not None and function.name == "main"
    debugger.write_register(32, debugger.registers()[32] + 4)
    debugger.resume()
    card.run(until=None, cycles=2_000)
    assert debugger.state() == "breakpoint", "on its next turn"
    debugger.detach()
    card.run(until=None, cycles=2_000)
    assert debugger.state() == "running"
    card.source(0, [bytes(64)] * 40)
    card.run(until=None, cycles=5_000)
    assert len(card.received(1)) == 40 and driver.counters(UNIT).tx_packets >= 8 and word(debugger, code, "timers") == 0


def test_a_core_is_debugged_in_its_interrupt_handler(card: Card, code: Program) -> None:
    driver = driver_of(card)
    debugger = Debugger(driver, UNIT)
    debugger.attach()
    debugger.set_breakpoint(code.address("tick"))
    debugger.resume()
    driver.set_debug(UNIT, 2)
    card.run(until=None, cycles=500)
    driver.set_debug(UNIT, 0)
    card.run(until=None, cycles=3_000)
    assert debugger.state() == "breakpoint" and debugger.csrs()["mcause"] == 0x8000_0007
    before = word(debugger, code, "timers")
    for _ in range(100):
        debugger.step()
        function = code.function_at(debugger.registers()[32])
        assert function is not None
        if function.name == "main":
            break
    else:
        raise AssertionError("it does not come back from its handler")
    assert word(debugger, code, "timers") == before + 1
    debugger.resume()
    card.run(until=None, cycles=3_000)
    assert debugger.state() == "breakpoint" and word(debugger, code, "timers") == before + 1
    debugger.detach()


def test_memory_is_read_and_written_anywhere(card: Card, code: Program) -> None:
    debugger = Debugger(driver_of(card), UNIT)
    rng = random.Random(2)
    for base in (0x0080_3000, 0x0100_2000, 0x0200_2000):
        image = bytearray(rng.randbytes(64))
        debugger.write_memory(base, bytes(image))
        for _ in range(10):
            start = rng.randrange(60)
            data = rng.randbytes(rng.randint(0, 64 - start))
            debugger.write_memory(base + start, data)
            image[start : start + len(data)] = data
            assert debugger.read_memory(base, 64) == image
    assert debugger.state() == "running"
    for address, size in ((0x80, 4), (0x0040_0000, 4), (0x0080_0000, 1 << 20), (0x0108_0000, 1), (0x0300_0000, 4)):
        with pytest.raises(HeadraceError, match="not in a memory of unit 3$"):
            debugger.read_memory(address, size)


def test_what_can_not_be_is_refused(card: Card, code: Program) -> None:
    driver = driver_of(card)
    debugger = Debugger(driver, UNIT)
    with pytest.raises(HeadraceError, match="^unit 3 runs: halt it first$"):
        debugger.step()
    debugger.attach()
    for address in (0x0200_0000, 0x0200_0004):
        debugger.set_breakpoint(address, True)
    with pytest.raises(HeadraceError, match="^a core has 2 hardware breakpoints, and both are taken$"):
        debugger.set_breakpoint(0x0200_0008, True)
    for address in (0x0080_0000, 0x0200_0002, 0x0210_0000):
        with pytest.raises(HeadraceError, match="not an instruction's address"):
            debugger.set_breakpoint(address)
    driver.reset([UNIT])
    with pytest.raises(HeadraceError, match="^unit 3 is in reset: it has no program$"):
        debugger.halt()
    debugger.detach()
    driver.boot([UNIT])
    assert driver.ready([UNIT]), "nothing of the debugger is left"
