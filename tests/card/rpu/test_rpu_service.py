"""Programs that do wrong, each beside forwarders: what the service of a running card says of them, and that a unit is
as good as new when another program is loaded."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from rpu_fabric.flows import frame

from headrace.card import Card, HangError
from headrace.cards.rpu import elf, program
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.service import CHUNK, Service
from headrace.cards.rpu.tables import blacklist_words
from headrace.errors import HeadraceError

BAD = 3  # the unit
HEAD = '#include "core.h"\nstruct Desc packet;\nint turns;\n'
WAIT = "  while (!in_pkt_ready());\n  read_in_pkt(&packet);\n"
# What main does from line 6 on, and what is told of it
WRONGS = {
    "crash": ('asm volatile(".insn 0x0000000b");', r"stopped at 0x2\w+, main, .*:8: illegal instruction \(0xb\)"),
    "load": ("turns = *(volatile int *)0x00900000;", r"main, .*:8: load from nowhere \(0x900000\); .* 0x900000"),
    "store": (
        "*(volatile int *)0x01200004 = 1; while (1);",
        r"main, .*:8: access beyond packet memory; last wrong address 0x1200004$",
    ),
    "jump": ("((void (*)(void))0x02100000)();", r"main, .*:8: illegal instruction .* 0x2100000$"),
    "loop": ("while (1) turns++;", r"stuck at 0x2\w+, main, .*:8: takes no packets, 4 in all"),
    "leak": ("while (1) if (in_pkt_ready()) read_in_pkt(&packet);", r"stuck at .* does not give back slots 1, 2, 3, 4"),
    "descriptor": (
        "while (1) { packet.data = (unsigned char *)0x01F00000; pkt_send(&packet); while (!in_pkt_ready()); "
        "read_in_pkt(&packet); }",
        r"error of invalid descriptor, at 0x2\w+, main, .*; last wrong address 0x1f00000$",
    ),
    "slot": (
        "while (1) { packet.port ^= 1; pkt_send(&packet); packet.len = 0; pkt_send(&packet); while (!in_pkt_ready()); "
        "read_in_pkt(&packet); }",
        r"error of duplicate slot, at 0x2\w+, main, .*; last wrong address 0x100\w+$",
    ),
}  # fmt: skip


# More of it. A flood is no fault: the packets are its own
MORE_HEAD = f"""#include "headrace.h"
{HEAD}
IN_BROADCAST volatile int shout;
int deep(int n) {{
  volatile int a[64];
  a[0] = n;
  return deep(n + 1) + a[0];
}}
"""
MORE: dict[str, tuple[str, str | None]] = {
    "call to a supervisor": ('asm volatile("ecall");', "environment call"),
    "jump to half an instruction": ("((void (*)(void))0x02000002)();", "no multiple of 4"),
    "its own code": ("for (volatile int *at = (int *)0x02000000;; at++) *at = 0;", "access beyond instruction memory"),
    "stack": ("turns = deep(1);", "stopped at .*access beyond"),
    "nowhere": (
        "((char *)0x7FFFFFFF)[turns] = 1; while (1);",
        "access beyond registers; last wrong address 0x7ffffffc",
    ),
    "accelerator that isn't there": ("turns = *(volatile int *)0x00400010;", "the unit has no accelerator"),
    "store to an accelerator that isn't there": (
        "*(volatile int *)0x00400010 = 1; while (1);",
        "the unit has no accelerator",
    ),
    "port": ("packet.port = 5; pkt_send(&packet); while (1);", "error of invalid descriptor"),
    "slot": ("packet.tag = 200; pkt_send(&packet); while (1);", "error of invalid descriptor"),
    "length": ("packet.data = (unsigned char *)0x0107FFF0; pkt_send(&packet); while (1);", "error of invalid desc"),
    "slots entered again": ("init_slots(4, 0, 4096); while (1);", "error of duplicate slot"),
    "slots that aren't there": (
        "rpu_enter_slots(200, 0, 128, 0); while (1);",
        "error of duplicate slot and invalid slot",
    ),
    "end of main": ("return turns;", r"stuck at .*: takes no packets, 4 in all"),
    "misaligned loads and stores": (
        "while (1) { turns = *(volatile int *)0x00807001; *(volatile short *)0x00807003 = 1; "
        "packet.port ^= 1; pkt_send(&packet); while (!in_pkt_ready()); read_in_pkt(&packet); }",
        None,
    ),
    "timer that never rests": (
        "TIMER_INTERVAL = 1; set_masks(0xFFFF); while (1) turns++;",
        "stuck at .*: takes no packets",
    ),
    "host memory that isn't there": (
        "unsigned long long at = 0xDEAD0000000; packet.len = 64; dram_read_req(&at, &packet); while (1);",
        r"error of host memory; last wrong host address 0xdead0000000",
    ),
    "flood of its own packets": (
        "packet.tag = 0; packet.port = 1; packet.len = 60; while (1) pkt_send(&packet);",
        None,
    ),
    "flood of broadcasts": ("while (1) shout++;", r"stuck at .*: takes no packets"),
    "flood to other units": (
        "packet.tag = 0; packet.port = 3; packet.len = 60; while (1) pkt_send(&packet);",
        None,
    ),
}


@pytest.fixture
def card() -> Iterator[Card]:
    # The model of test_rpu_card
    options = {"parameters": {"PMEM_KB": 512}, "progress": False}
    with open_rpu_card(4, {1: "crc", 2: "blacklist"}, **options) as opened:  # type: ignore[arg-type]
        opened.hang_limit(3e-4)
        yield opened


def service_of(card: Card, wrong: Path | None = None) -> Service:
    """All units forward, but the last one runs a program of its own."""
    driver = driver_of(card)
    programs = dict.fromkeys(driver.all_units(), ("forwarder", elf.read(program.build(["forwarder"]))))
    if wrong is not None:
        programs[BAD] = wrong.name, elf.read(program.build([wrong]))
    for unit, (_, code) in programs.items():
        driver.load(code, [unit])
    driver.boot()
    assert driver.ready()
    return Service(card, driver, programs)


def frames(count: int) -> list[bytes]:
    rng = random.Random(count)
    return [rng.randbytes(rng.randint(60, 300)) for _ in range(count)]


def passed(card: Card, packets: list[bytes]) -> Counter[bytes]:
    """What comes out of port 1 for packets into port 0."""
    card.source(0, packets, timing=10e9)
    try:
        assert card.run().idle
    except HangError:
        pass  # a unit keeps some
    return Counter(frame.data for frame in card.received(1))


@pytest.mark.parametrize("wrong", WRONGS)
def test_what_a_program_does_wrong_is_told_and_costs_only_its_own_packets(
    card: Card, tmp_path: Path, wrong: str
) -> None:
    source = tmp_path / "wrong.c"
    text, told = WRONGS[wrong]
    source.write_text(f"{HEAD}int main(void) {{\n  init_slots(4, 0, 4096);\n{WAIT}  {text}\n}}\n")
    service = service_of(card, source)
    card.sink(1, "memory")
    packets = frames(200)
    out = passed(card, packets)
    service.answer({"command": "stats"})
    card.run(until=None, cycles=20_000)  # in which nothing moves: 80 us
    early = service.answer({"command": "stats"})["units"][BAD]["fault"]
    assert (early is None) == (wrong in ("loop", "leak")), early
    card.run(until=None, cycles=10_000)
    found = service.answer({"command": "stats"})
    units = found["units"]
    assert not out - Counter(packets), "nothing is changed"
    others = sum(unit["rx_packets"] for unit in units[:BAD])
    assert sum(unit["tx_packets"] for unit in units[:BAD]) == others
    assert others + units[BAD]["rx_packets"] == len(packets) and others >= 0.7 * len(packets)
    assert out.total() == others + units[BAD]["tx_packets"]
    assert [unit["fault"] for unit in units[:BAD]] == [None] * BAD
    assert re.search(told, units[BAD]["fault"]), units[BAD]["fault"]
    assert units[BAD]["program"] == "wrong.c"

    path = str(program.build(["forwarder"]))
    request = {"command": "load", "units": [BAD], "program": "forwarder", "path": path}
    if units[BAD]["outstanding"]:
        with pytest.raises(HeadraceError, match=f"^unit {BAD} keeps packets: with --force they are lost$"):
            service.answer(request)
    service.answer({**request, "force": True})
    more = frames(100)
    before = service.driver.counters(BAD)
    assert passed(card, more) == Counter(more)
    after = service.answer({"command": "stats"})["units"][BAD]
    assert after["fault"] is None and after["program"] == "forwarder"
    assert after["tx_packets"] - before.tx_packets >= len(more) // 5


def test_no_program_keeps_the_others_from_theirs(card: Card, tmp_path: Path) -> None:
    """One wrong program after the other in a unit of a card that goes on."""
    service = service_of(card)
    card.sink(1, "memory")
    packets = frames(60)
    for name, (text, told) in MORE.items():
        source = tmp_path / "wrong.c"
        source.write_text(f"{MORE_HEAD}int main(void) {{\n  init_slots(4, 0, 4096);\n{WAIT}  {text}\n}}\n")
        path = str(program.build([source], said=lambda _: None))
        service.answer({"command": "load", "units": [BAD], "program": name, "path": path, "force": True})
        before = service.driver.counters(BAD).rx_packets
        card.source(0, packets, timing=10e9)
        card.run(until=None, cycles=5_000)
        service.answer({"command": "stats"})
        card.run(until=None, cycles=35_000)
        units = service.answer({"command": "stats"})["units"]
        missing = Counter(packets) - Counter(frame.data for frame in card.received(1))
        assert missing.total() <= units[BAD]["rx_packets"] - before < 0.3 * len(packets)
        assert [unit["fault"] for unit in units[:BAD]] == [None] * BAD
        fault = units[BAD]["fault"]
        assert fault is None if told is None else re.search(told, fault), (name, fault)


def test_a_unit_is_loaded_anew_while_packets_go_through_the_others(card: Card, tmp_path: Path) -> None:
    """One of them always has packets."""
    slow = tmp_path / "slow.c"
    slow.write_text(
        f"{HEAD}int main(void) {{\n  init_slots(4, 0, 4096);\n  while (1) {{\n{WAIT}"
        "    for (volatile int i = 0; i < 25; i++);\n    packet.port ^= 1;\n    pkt_send(&packet);\n  }\n}\n"
    )
    service = service_of(card, slow)
    card.sink(1, "memory")
    packets = frames(600)
    card.source(0, packets, timing=10e9)
    for unit in (BAD, 0):
        card.run(packets=150)
        before = service.health(unit)
        assert unit != BAD or before.state.outstanding
        path = str(program.build(["forwarder"], optimisation="1"))
        service.answer({"command": "load", "units": [unit], "program": "again", "path": path})
        after = service.health(unit)
        assert after.program == "again"
        assert after.counters.rx_packets - before.counters.rx_packets < 10, "of some 70 for it meanwhile"
    assert card.run().idle
    assert Counter(frame.data for frame in card.received(1)) == Counter(packets)


def test_units_that_only_send_each_other_messages_are_told_as_stuck(card: Card, tmp_path: Path) -> None:
    source = tmp_path / "messages.c"
    source.write_text(
        f"{HEAD}int main(void) {{\n  init_slots(4, 0, 4096);\n  while (1) {{\n{WAIT}"
        "    packet.port = core_id() ^ 1;\n    send_to_core(&packet);\n  }\n}\n"
    )
    driver, code = driver_of(card), elf.read(program.build([source]))
    driver.load(code)
    driver.boot()
    assert driver.ready()
    service = Service(card, driver, dict.fromkeys(driver.all_units(), ("messages", code)))
    card.source(0, frames(400), timing=100e9)
    card.run(until=None, cycles=10_000)
    service.answer({"command": "stats"})
    card.run(until=None, cycles=30_000)
    units = service.answer({"command": "stats"})["units"]
    assert all(re.search("stuck at .*, 4 in all$", unit["fault"]) for unit in units), units


def test_the_table_of_an_accelerator_is_loaded_again(card: Card) -> None:
    driver, unit = driver_of(card), 2
    code = elf.read(program.build(["firewall"]))
    service = Service(card, driver, {}, {unit: blacklist_words(["10.0.0.0/8"])})
    service.answer({"command": "load", "units": [unit], "program": "firewall", "path": str(code.path)})
    card.sink(1, "memory")
    packets = [frame(source, "192.0.2.1", payload=bytes(40)) for source in ("10.1.2.3", "11.1.2.3")]
    card.source(0, packets)
    assert card.run().idle
    assert [found.data for found in card.received(1)] == packets[1:]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"command": "dance"}, "unknown request"),
        ({"command": "load", "units": [0]}, "request load: KeyError: 'path'"),
        ({"command": "load", "units": [9], "path": "forwarder", "program": "x"}, "there is no unit 9"),
        ({"command": "debug", "unit": 9, "do": []}, "there is no unit 9: the card has units 0 to 3"),
        ({"command": "debug", "unit": 0, "do": [["dance"]]}, "unknown step dance"),
        ({"command": "debug", "unit": 0, "do": [["read", 0x80, 4]]}, "4 bytes at 0x80: not in a memory of unit 0"),
        ({"command": "debug", "unit": 0, "do": [["read", 0x800000, CHUNK + 1]]}, "at most"),
        ({"command": "debug", "unit": 0, "do": [["registers"]]}, "unit 0 runs: halt it first"),
    ],
)
def test_a_wrong_request_is_refused(card: Card, request_: dict[str, object], error: str) -> None:
    service = service_of(card)
    if "path" in request_:
        request_ = {**request_, "path": str(program.build(["forwarder"]))}
    with pytest.raises(HeadraceError) as refused:
        service.answer(request_)
    assert error in str(refused.value)
