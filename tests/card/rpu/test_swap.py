"""Accelerators are changed while the card runs: what the changed unit does then, and that the others notice nothing."""

from __future__ import annotations

import random
import resource
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from headrace.build.models import build_card
from headrace.card import Card
from headrace.cards.rpu import accelerators, elf, program, tables
from headrace.cards.rpu.card import driver_of, load_accelerator, open_rpu_card
from headrace.cards.rpu.driver import RpuDriver, SwapReport
from headrace.cards.rpu.swap import swap, table_of
from headrace.errors import CardError, HeadraceError

BUILT_IN, CHANGED, OTHERS = 0, 1, (0, 2, 3)
LINE = 100e9
USER = """
// Counts the stores that it gets.
module accel_user
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512
) (
    input  logic                clk,
    input  logic                rst,
    input  logic                reg_valid,
    output logic                reg_ready,
    input  logic                reg_write,
    input  logic [15:0]         reg_addr,
    input  logic [31:0]         reg_wdata,
    input  logic [3:0]          reg_wstrb,
    output logic [31:0]         reg_rdata,
    input  logic                load_valid,
    input  logic [23:0]         load_addr,
    input  logic [31:0]         load_data,
    output logic                job_valid,
    input  logic                job_ready,
    output accel_job_t          job,
    input  logic                s_axis_tvalid,
    output logic                s_axis_tready,
    input  logic [DATA_W-1:0]   s_axis_tdata,
    input  logic [DATA_W/8-1:0] s_axis_tkeep,
    input  logic                s_axis_tlast,
    output logic                interrupt,
    output logic                idle
);
  logic [31:0] count_q;
  assign reg_ready = 1'b1;
  assign reg_rdata = reg_addr == 16'h0FFC ? "RTNC" : count_q;
  assign {job_valid, job, interrupt} = '0;
  assign s_axis_tready = 1'b1;
  assign idle = 1'b1;
  always_ff @(posedge clk) begin
    if (reg_valid && reg_write) count_q <= count_q + 1;
    if (rst) count_q <= '0;
  end
endmodule
"""
COUNTING = """
#include "core.h"
// The number of packets so far, before each packet.
int main(void) {
  volatile unsigned *counter = (volatile unsigned *)0x00400000;
  struct Desc packet;
  init_slots(16, 0, 16384);
  while (1) {
    if (!in_pkt_ready()) continue;
    read_in_pkt(&packet);
    *counter = 1;
    *(volatile unsigned *)packet.data = *counter;
    packet.port ^= 1;
    pkt_send(&packet);
  }
}
"""


def code(*names: str | Path) -> elf.Program:
    return elf.read(program.build(list(names)))


def forwarding(card: Card, policy: Any = "round_robin") -> RpuDriver:
    """All units forward but CHANGED, which checks CRCs: what it gets is right."""
    driver = driver_of(card)
    driver.set_policy(policy)
    driver.load(code("forwarder"), OTHERS)
    driver.load(code("crc"), [CHANGED])
    driver.boot()
    assert driver.ready()
    return driver


def packets(count: int, size: int = 256) -> list[bytes]:
    """UDP packets of 64 flows, each with its flow, its place in it and a right CRC at its end; none is blacklisted."""
    rng = random.Random(count)
    places: Counter[int] = Counter()
    heads = [
        bytes(
            Ether(dst="02:00:00:00:00:01")
            / IP(src="10.0.0.1", dst=f"10.1.0.{flow}", len=size - 18)
            / UDP(sport=1000 + flow, dport=53, len=size - 38, chksum=0)
        )
        for flow in range(64)
    ]
    made = []
    for _ in range(count):
        flow = rng.randrange(64)
        told = flow.to_bytes(4, "big") + places[flow].to_bytes(4, "big")
        data = (heads[flow] + told).ljust(size - 4, b"\0")
        made.append(data + zlib.crc32(data).to_bytes(4, "little"))
        places[flow] += 1
    return made


def in_order(frames: Sequence[bytes]) -> bool:
    """Whether the packets of each flow are in their order."""
    last: dict[bytes, bytes] = {}
    for data in frames:
        flow, place = data[42:46], data[46:50]
        if last.get(flow, b"") >= place:
            return False
        last[flow] = place
    return True


def crc_only(card: Card, unit: int, given: list[bytes]) -> list[tuple[int, bytes]]:
    """What one unit lets pass, with the time since the first packet came."""
    driver = driver_of(card)
    driver.load(code("crc"), [unit])
    driver.boot([unit])
    assert driver.ready([unit])
    assert driver.accelerator(unit) == "CR32"
    card.sink(1, "memory", timestamps="card")
    card.source(0, given, timing=15e9)
    start = card.stats().time_ns
    assert card.run().idle
    driver.disable([unit])
    return [(frame.timestamp_ns - start, frame.data) for frame in card.received(1)]


def test_a_built_in_accelerator_and_one_in_a_slot_take_the_same_cycles() -> None:
    rng = random.Random(7)
    bodies = [rng.randbytes(rng.randint(60, 1000)) for _ in range(60)]
    given = [data + (zlib.crc32(data) ^ (rng.random() < 0.3)).to_bytes(4, "little") for data in bodies]
    parameters = {"DATA_W": 128, "PMEM_KB": 512, "ACCELERATORS_LOW": 1, "FUNCTIONS": 3}  # as in test_host_functions.py
    with open_rpu_card(2, {CHANGED: "crc"}, parameters=parameters, progress=False) as card:
        built_in = crc_only(card, BUILT_IN, given)
        card.close_files()
        in_slot = crc_only(card, CHANGED, given)
    assert in_slot == built_in
    assert 20 < len(built_in) < 60


def feed(card: Card, given: list[bytes], change: Callable[[], None]) -> list[tuple[int, bytes]]:
    """Packets at line rate, and a change amidst them; gives what comes out, in the card's time."""
    card.sink(1, "memory", timestamps="card")
    card.source(0, given, timing=LINE)
    card.run(packets=500)
    change()
    assert card.run().idle
    return [(frame.timestamp_ns, frame.data) for frame in card.received(1)]


def same_packets(got: list[bytes], given: list[bytes]) -> bool:
    """In any order."""
    return Counter(got) == Counter(given)


def nothing_dropped(driver: RpuDriver) -> bool:
    return all(source.dropped + source.refused == 0 for source in driver.source_counters().values()) and all(
        driver.counters(unit).errors == 0 for unit in driver.all_units()
    )


@pytest.mark.parametrize(("policy", "size"), [("round_robin", 256), ("flow_hash", 1024)])  # flows are not spread evenly
def test_packets_of_the_other_units_are_neither_lost_nor_delayed(
    two_cards: tuple[Card, Card], policy: str, size: int
) -> None:
    """Against the same card and packets with the unit only disabled, at the same time. Until the changed unit gets
    packets again, the same packets leave in the same order, and by each of many times equally many."""
    given = packets(10_000, size)
    changed, reference = two_cards
    forwarding(changed, policy)
    forwarding(reference, policy)
    counts: dict[int, int] = {}  # by time, the packets that have left

    def now() -> int:
        stats = changed.stats()
        counts[stats.time_ns] = stats.ports[1].tx_frames
        return stats.time_ns

    def advance() -> None:
        changed.run(until=None, cycles=16)
        now()

    driver = RpuDriver(changed.regs, advance, now)
    other = driver_of(reference)
    reports: list[SwapReport] = []
    words = tables.blacklist_words(["192.0.2.0/24"])
    firewall = code("firewall")
    got = feed(
        changed,
        given,
        lambda: reports.extend(swap(changed, driver, [CHANGED], "blacklist", firewall, words)),
    )
    assert reports[0].accelerator == "BLST"
    assert reports[0].dropped == 0
    assert nothing_dropped(driver)
    assert same_packets([data for _, data in got], given)
    assert driver.counters(CHANGED).rx_packets == driver.counters(CHANGED).tx_packets > 500
    if policy == "flow_hash":
        assert in_order([data for _, data in got])

    def only_disable() -> None:
        other.disable([CHANGED])
        for time in sorted(counts):
            if time > reference.stats().time_ns:
                reference.run(until=None, until_ns=time)
                assert (reference.stats().time_ns, reference.stats().ports[1].tx_frames) == (time, counts[time])

    expected = feed(reference, given, only_disable)
    before = max(counts.values())
    assert len(counts) > 20 and before > 1_500, "the change takes a while"
    alike = got[:before] == expected[:before]
    assert alike, "their order or their times"


def test_ten_changes_under_load(card: Card) -> None:
    given = packets(20_000, 1024)
    driver = forwarding(card, "flow_hash")
    programs = {"CR32": ("crc", code("crc")), "CSUM": ("checksum", code("forwarder"))}

    def change() -> None:
        for kind in ("CSUM", "CR32") * 5:
            (report,) = swap(card, driver, [CHANGED], *programs[kind])
            assert report.accelerator == kind
            assert min(report.drain_ns, report.swap_ns, report.boot_ns) > 0
            card.run(until=None, cycles=500)

    got = [data for _, data in feed(card, given, change)]
    assert nothing_dropped(driver)
    assert same_packets(got, given)
    assert in_order(got)


def test_a_slot_that_is_emptied_reads_as_none(card: Card) -> None:
    driver = driver_of(card)
    driver.load(code("forwarder"))
    driver.boot()
    assert driver.ready()
    assert [driver.accelerator(unit) for unit in driver.all_units()] == ["", "CR32", "BLST", ""]
    (report,) = swap(card, driver, [CHANGED], "none", code("forwarder"))
    assert report.accelerator == ""
    assert [driver.accelerator(unit) for unit in driver.all_units()] == ["", "", "BLST", ""]
    given = packets(200)
    card.source(0, given, timing=20e9)
    card.sink(1, "memory")
    assert card.run().idle
    assert same_packets([frame.data for frame in card.received(1)], given)
    card.unload_slot(CHANGED)  # once more


def test_what_was_in_a_slot_is_gone(card: Card) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    library = accelerators.library("blacklist", 512, False)
    assert library is not None
    for count in range(220):
        card.load_slot(CHANGED, library)
        card.run(until=None, cycles=3)
        if count == 20:
            before = resident()
    card.unload_slot(CHANGED)
    assert resident() - before < 2 << 20, "one has some 60 KB"


def test_an_isolated_accelerator_reads_as_none(card: Card) -> None:
    driver = forwarding(card)
    driver.isolate(CHANGED, True)
    assert driver.accelerator(CHANGED) == ""
    driver.isolate(CHANGED, False)
    card.run(until=None, cycles=16)
    assert driver.accelerator(CHANGED) == "CR32"


def test_an_accelerator_of_the_users_own(card: Card, tmp_path: Path) -> None:
    (tmp_path / "counter.sv").write_text(USER)
    (tmp_path / "counting.c").write_text(COUNTING)
    driver = forwarding(card)
    (report,) = swap(card, driver, [CHANGED], str(tmp_path / "counter.sv"), code(tmp_path / "counting.c"))
    assert report.accelerator == "CNTR"
    driver.disable(OTHERS)
    given = packets(20)
    card.source(0, given, timing=10e9)
    card.sink(1, "memory")
    assert card.run().idle
    got = [frame.data for frame in card.received(1)]
    assert got == [number.to_bytes(4, "little") + data[4:] for number, data in enumerate(given, 1)]


def test_a_unit_that_keeps_its_packets_stays_as_it_is_unless_forced(card: Card, tmp_path: Path) -> None:
    (tmp_path / "keeps.c").write_text(
        '#include "core.h"\nint main(void) { init_slots(4, 0, 4096); while (1) in_pkt_ready(); }\n'
    )
    driver = forwarding(card)
    driver.load(code(tmp_path / "keeps.c"), [CHANGED])
    driver.boot([CHANGED])
    assert driver.ready()
    given = packets(40)
    card.source(0, given, timing=10e9)
    card.sink(1, "memory")
    card.run(packets=len(given))
    card.run(until=None, cycles=2000)
    with pytest.raises(HeadraceError, match="^unit 1 keeps 4 packets: it is as it was$"):
        swap(card, driver, [CHANGED], "checksum", code("forwarder"))
    assert driver.accelerator(CHANGED) == "CR32"
    assert driver.disable([CHANGED]) == [CHANGED], "it gets packets still"
    (report,) = swap(card, driver, [CHANGED], "checksum", code("forwarder"), force=True)
    assert (report.accelerator, report.dropped) == ("CSUM", 4)
    assert len(card.received(1)) == len(given) - 4
    card.source(0, given, timing=10e9)
    assert card.run().idle
    assert same_packets([frame.data for frame in card.received(1)], given)


def test_what_is_wrong_is_one_line(card: Card, tmp_path: Path) -> None:
    driver = forwarding(card)
    forwarder = code("forwarder")
    wrong = tmp_path / "wrong.sv"
    wrong.write_text("module other; endmodule\n")
    broken = tmp_path / "broken.sv"
    broken.write_text("module accel_user\n  oops\nendmodule\n")
    names = "none, crc, checksum, blacklist, matcher"
    for name, message in (
        ("crcc", f"^no accelerator 'crcc'; there are {names}, and SystemVerilog files$"),
        (str(tmp_path / "no.sv"), r"no\.sv: No such file or directory$"),
        (str(wrong), r"wrong\.sv: no module accel_user, which an accelerator is$"),
        (str(broken), r"^accelerator broken: translating the RTL failed: .*broken\.sv:2.*\(log: .*\)$"),
    ):
        with pytest.raises(HeadraceError, match=message) as raised:
            swap(card, driver, [CHANGED], name, forwarder)
        assert "\n" not in str(raised.value)
    narrow = accelerators.library("crc", 128, False)
    assert narrow is not None
    with pytest.raises(CardError, match="^the accelerator is one of 128 bits, the card's are of 512$"):
        card.load_slot(CHANGED, narrow)
    with pytest.raises(CardError, match="^the card has no accelerator slot 9$"):
        load_accelerator(card, 9, "crc", False)
    with pytest.raises(CardError, match="is no accelerator$"):
        card.load_slot(CHANGED, build_card("rpu", card.parameters, progress=False))
    with pytest.raises(HeadraceError, match="^list.txt: the accelerator is crc, and the file is for blacklist$"):
        table_of("crc", "list.txt")
    assert driver.accelerator(CHANGED) == "CR32"
