"""The test bench of firmware, its profile, and the rules of the intrusion detector."""

from __future__ import annotations

import random
import struct
from collections import Counter
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from headrace.cards.rpu.alerts import Alerts, RuleMatches, unread
from headrace.cards.rpu.bench import FirmwareBench
from headrace.cards.rpu.rules import read_rules
from headrace.cards.rpu.tables import matcher_words
from headrace.errors import HeadraceError

ACCELERATOR = "matcher"  # of all benches here and in tests/cli, so that there is one model
COUNTING = """#include "core.h"
struct Desc packet;
unsigned int count, limit = 3;
unsigned char last[5] = "first", guard = 0x5A;
int main(void) {
  init_slots(8, 0, 4096);
  while (1)
    if (in_pkt_ready()) {
      read_in_pkt(&packet);
      if (count++ < limit) packet.port ^= 1; else packet.len = 0;
      DEBUG_OUT_L = count;
      DEBUG_OUT_H = last[4] + guard;
      pkt_send(&packet);
    }
}
"""


def bench_of(tmp_path: Path, text: str, optimisation: str = "2") -> FirmwareBench:
    (tmp_path / "mine.c").write_text(text)
    return FirmwareBench(tmp_path / "mine.c", accelerator=ACCELERATOR, optimisation=optimisation)


def test_a_program_is_tested_with_packets_and_variables(tmp_path: Path) -> None:
    with bench_of(tmp_path, COUNTING) as bench:
        packets = [bytes([number]) * (60 + number) for number in range(6)]
        bench.send(packets[:5])
        bench.send(packets[5:], port=1)
        bench.run()
        out = bench.received(0) + bench.received(1)
        assert len(out) == 3 and not Counter(out) - Counter(packets)
        assert bench.read_word("count") == bench.debug_out & 0xFFFF_FFFF == 6
        assert (bench.counters.rx_packets, bench.counters.tx_packets) == (6, 3)
        assert bench.health().fault is None and "packet" not in bench.flags
        bench.write_symbol("limit", 100)
        bench.write_symbol("last", b"after")
        assert bench.read_symbol("last") == b"after"
        assert (bench.read_word("limit"), bench.read_symbol("guard")) == (100, b"\x5a")
        bench.send(packets)
        bench.run()
        assert bench.received(1) == packets
        with pytest.raises(HeadraceError, match="no symbol 'nothing'"):
            bench.read_word("nothing")


def test_cycles_a_packet_are_those_of_the_unit_alone(tmp_path: Path) -> None:
    """As in tests/rtl/rpu_unit and the instruction model."""
    with FirmwareBench("forwarder", accelerator=ACCELERATOR) as bench:
        assert bench.cycles_per_packet(bytes(60)) == pytest.approx(6.25, abs=0.2)
        assert bench.received(0) == bench.received(1) == []
        assert bench.cycles_per_packet(bytes(1500), count=50) == pytest.approx(30.5, abs=0.3), "the line's"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("while (1);", "stuck at .*mine.c:[56]: takes no packets"),
        (
            "struct Desc packet; read_in_pkt(&packet); while (1);",
            r"stuck at .*mine.c:[56]: does not give back slots 1, 1 in all",
        ),
        (
            "*(volatile int *)0x00900000 = 1; while (1);",
            "stopped at .*mine.c:5: access beyond data memory; .* 0x900000",
        ),
    ],
)
def test_a_program_that_does_not_go_on_is_told(tmp_path: Path, text: str, told: str) -> None:
    source = (
        f'#include "core.h"\nint main(void) {{\n  init_slots(4, 0, 4096);\n  while (!in_pkt_ready());\n  {text}\n}}\n'
    )
    with bench_of(tmp_path, source) as bench:
        bench.card.hang_limit(1e-4)
        bench.send([bytes(64)])
        with pytest.raises(HeadraceError, match=told):
            bench.run()


def test_a_profile_finds_the_cycles_of_functions(tmp_path: Path) -> None:
    """Three functions that differ in how often they go round a loop, none of which is in step with the samples."""
    text = """#include "core.h"
    struct Desc packet;
    #define SPIN for (unsigned n = turns; n != 0; n--) asm volatile("nop\\n nop\\n nop");
    __attribute__((noinline)) void one(unsigned turns) { SPIN }
    __attribute__((noinline)) void two(unsigned turns) { SPIN }
    __attribute__((noinline)) void three(unsigned turns) { SPIN }
    int main(void) {
      init_slots(8, 0, 4096);
      while (1)
        if (in_pkt_ready()) { read_in_pkt(&packet); one(100); two(200); three(300); pkt_send(&packet); }
    }
    """
    with bench_of(tmp_path, text) as bench:
        bench.send([bytes(64)] * 60)
        profile = bench.profile()
    assert profile.packets == 60
    found = {share.name: share for share in profile.functions()}
    assert sum(share.share for share in found.values()) == pytest.approx(1)
    per_turn = []
    for name, turns in (("one", 100), ("two", 200), ("three", 300)):
        share = found[name]
        assert share.cycles_per_packet is not None
        assert abs(share.share - turns / 600) < 5 * share.error + 0.02
        per_turn.append(share.cycles_per_packet / turns)
    assert max(per_turn) < 1.3 * min(per_turn)
    by_line = profile.lines()
    assert [line.name.rpartition(":")[2] for line in by_line[:3]] == ["6", "5", "4"]


def test_matches_are_told_by_rule(tmp_path: Path) -> None:
    (tmp_path / "web.rules").write_text(
        'alert tcp any any -> any 80 (msg:"shell"; content:"cmd.exe"; nocase; sid:7;)\n'
        'alert tcp any any -> any 80 (msg:"never"; content:"not there"; sid:8; pcre:"/x/";)\n'
        'alert tcp any any -> any 80 (msg:"passwords"; content:"/etc/passwd"; depth:9; sid:9; pcre:"/y/";)\n'
        'alert tcp any any -> any 80 (msg:"empty"; sid:10;)\n'
    )
    found = read_rules(tmp_path / "web.rules")
    left_out = unread("web.rules", found)
    assert (
        left_out == "web.rules: ignored: 1 rules without content; 4 rules' addresses or ports; "
        "options pcre (2), depth (1)"
    )
    rng = random.Random(8)
    texts = [rng.choice([b"", b"CMD.exe", b"/etc/passwd", b"cmd.EXE /etc/passwd"]) for _ in range(100)]
    packets = [bytes(Ether() / IP() / UDP() / Raw(b"<" + text + b">" * 20)) for text in texts]
    with FirmwareBench("intrusion", accelerator=ACCELERATOR, table=matcher_words(found.patterns)) as bench:
        alerts = Alerts(bench.driver, found.rules)
        for start in range(0, 60, 20):
            bench.send(packets[start : start + 20])
            bench.run()
            alerts.look(0, bench.program)
        shells = sum(b"cmd" in text.lower() for text in texts[:60])
        passwords = sum(b"passwd" in text for text in texts[:60])
        assert alerts.matches() == (RuleMatches(7, "shell", shells), RuleMatches(9, "passwords", passwords))
        assert alerts.unknown == 0
        assert bench.received(1) == [packet for packet, text in zip(packets[:60], texts, strict=False) if not text]
        bench.send([packets[texts.index(b"CMD.exe")]] * 100)  # more than the program keeps
        bench.run()
        alerts.look(0, bench.program)
        assert alerts.matches()[0].count == shells + 64 and alerts.unknown == 36
        (count,) = struct.unpack("<I", bench.read_symbol("alerts", 4))
        assert count == shells + passwords + 100
