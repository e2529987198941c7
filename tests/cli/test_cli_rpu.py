"""``headrace rpu run`` as a user types it: programs on units, packets from files to files."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from called import call
from network import add_pair, numbered, own_network, received, send
from patience import until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import rdpcap, wrpcap

from headrace.card import Card
from headrace.card.control import ask
from headrace.cards.rpu import elf, program
from headrace.cards.rpu import run as rpu_run
from headrace.cards.rpu.card import open_rpu_card
from headrace.cards.rpu.service import CONTROL
from headrace.cli import common

# The models that tests/card/rpu builds
MATCHER = ["--accel", "matcher"]
ONE_UNIT = ["--units", "1", *MATCHER]
CARD = ["--units", "4", "-P", "PMEM_KB=512", "--accel", "crc@1", "--accel", "blacklist@2"]


def rpu(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Cards that run on meanwhile are processes: see ``run``."""
    return call("rpu", *arguments, folder=folder)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    def packet(number: int) -> Ether:
        flow = IP(src=f"10.0.{number % 8}.{number % 50 + 1}", dst="10.9.9.9") / UDP(sport=number)
        return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / flow / Raw(bytes(number % 900))

    path = tmp_path / "in.pcap"
    wrpcap(str(path), [packet(number) for number in range(400)])
    return path


def test_packets_go_through_different_programs_into_a_file(tmp_path: Path, capture: Path) -> None:
    done = rpu(
        *("run", "forwarder@0,2", "basic@1,3", "--port", f"0={capture}", "-w", "0=back.pcap", "-w", "1=on.pcap"),
        *(*CARD, "--rate", "10G", "--json"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["received"], report["sent"], report["dropped"], report["kept"]) == (400, 400, 0, 0)
    assert [unit["rx_packets"] for unit in report["units"]] == [100] * 4
    out = [bytes(packet) for name in ("back.pcap", "on.pcap") for packet in rdpcap(str(tmp_path / name))]
    assert Counter(out) == Counter(bytes(packet) for packet in rdpcap(str(capture)))
    assert len(rdpcap(str(tmp_path / "on.pcap"))) == 200


BOTH_WAYS = Path(__file__).parents[1] / "card" / "rpu" / "programs" / "host.c"


def test_the_host_port_takes_and_gives_packets(tmp_path: Path, capture: Path) -> None:
    """What comes from the wire goes to the host, and what comes from the host to port 1."""
    done = rpu(
        *("run", str(BOTH_WAYS), "--port", "0=gen:size=200,count=300", "--port", f"host={capture}"),
        *("-w", "host=host.pcap", "-w", "1=wire.pcap", *CARD, "--rate", "5G", "--json"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["received"], report["sent"], report["dropped"], report["kept"]) == (700, 700, 0, 0)
    assert (report["from_host"], report["to_host"], report["host_dropped"]) == (400, 300, 0)
    wire = [bytes(packet) for packet in rdpcap(str(tmp_path / "wire.pcap"))]
    assert Counter(wire) == Counter(bytes(packet) for packet in rdpcap(str(capture)))
    host = rdpcap(str(tmp_path / "host.pcap"))
    assert [len(packet) for packet in host] == [200] * 300
    assert [packet.time for packet in host] == sorted(packet.time for packet in host)


@pytest.mark.live
def test_the_host_port_has_an_interface_in_both_directions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--port", "0=gen:size=200,count=30", "--port", "1=iface:card1", "--port", "host=iface:card0"]

    def use() -> None:
        until(lambda: received("peer0") == 30, "what comes to the host")
        send("peer0", numbered(20))
        until(lambda: received("peer1") == 20, "what the host sends")
        os.kill(os.getpid(), signal.SIGINT)

    user = threading.Thread(target=use)
    monkeypatch.setattr(common, "tell", lambda line: user.start() if line.startswith("ready: ") else None)
    with own_network():
        add_pair("card0", "peer0")
        add_pair("card1", "peer1")
        done = rpu("run", str(BOTH_WAYS), *words, *CARD, "-Z", "root", "--json", folder=tmp_path)
        user.join()
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["received"], report["from_host"], report["to_host"]) == (50, 20, 30)


def test_without_a_sink_packets_to_the_host_are_dropped_and_counted(tmp_path: Path, capture: Path) -> None:
    done = rpu("run", str(BOTH_WAYS), "--port", f"0={capture}", *CARD, "--rate", "5G", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "400 at the host port" in done.stdout


def test_a_blocklist_is_what_the_firewall_drops(tmp_path: Path, capture: Path) -> None:
    (tmp_path / "drop.txt").write_text("# a list\n10.0.3.0/24\n10.0.5.7 ; one address\n2001:db8::/32\n")
    blocked = [ipaddress.ip_network("10.0.3.0/24"), ipaddress.ip_network("10.0.5.7/32")]
    arguments = ("--blocklist", "drop.txt", "--port", f"0={capture}", "-w", "1=out.pcap", *CARD, "--rate", "1G")
    done = rpu("run", "firewall@2", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "headrace: drop.txt: ignored: 1 of IPv6\n" in done.stderr
    passes = [
        bytes(packet)
        for packet in rdpcap(str(capture))
        if not any(ipaddress.ip_address(packet[IP].src) in network for network in blocked)
    ]
    assert [bytes(packet) for packet in rdpcap(str(tmp_path / "out.pcap"))] == passes
    assert 0 < len(passes) < 400
    strict = rpu("run", "firewall@2", *arguments, "--strict", folder=tmp_path)
    assert strict.returncode == 1 and "drop.txt:4: IPv6" in strict.stderr


def test_a_crash_is_told_with_its_source_line(tmp_path: Path, capture: Path) -> None:
    (tmp_path / "crash.c").write_text(
        '#include "core.h"\nint main(void) {\n  init_slots(4, 0, 4096);\n  while (!in_pkt_ready());\n'
        "  return *(volatile int *)0x00900000;\n}\n"
    )
    done = rpu(
        "run", "crash.c@3", "forwarder@0-2", "--port", f"0={capture}", *CARD, "--seconds", "1e-4", folder=tmp_path
    )
    assert done.returncode == 1
    line = done.stderr.strip().splitlines()[-1]
    assert "unit 3 (crash.c): stopped at 0x2" in line
    assert "main" in line
    assert "crash.c:5" in line
    assert line.endswith("last wrong address 0x900000")


def test_packets_longer_than_their_slots_are_dropped_whole_counted_and_told(tmp_path: Path) -> None:
    packets = [bytes([number]) * (28_014 if number % 2 else 614) for number in range(50)]
    wrpcap(str(tmp_path / "in.pcap"), packets, linktype=1)
    done = rpu("run", "forwarder", "--port", "0=in.pcap", "-w", "1=out.pcap", *CARD, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["received"], report["sent"], report["dropped"], report["kept"]) == (50, 25, 25, 0)
    assert sum(unit["too_long"] for unit in report["units"]) == 25
    assert done.stderr.splitlines() == [
        f"headrace: unit {unit['unit']} (forwarder): dropped {unit['too_long']} packets of more bytes than its slots "
        "have, 16,384"
        for unit in report["units"]
        if unit["too_long"]
    ]
    found = [bytes(packet) for packet in rdpcap(str(tmp_path / "out.pcap"))]
    assert Counter(found) == Counter(packet for packet in packets if len(packet) == 614)


def test_a_program_whose_accelerator_is_not_there_is_told_with_its_line(tmp_path: Path, capture: Path) -> None:
    done = rpu("run", "firewall@2-3", "--port", f"0={capture}", *CARD, "--seconds", "1e-4", folder=tmp_path)
    assert done.returncode == 1
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("headrace: unit 3 (firewall): stopped at 0x2") and "firewall.c:" in line
    assert line.endswith("last wrong address 0x400000: the unit has no accelerator")


def test_a_packet_that_is_sent_twice_leaves_once(tmp_path: Path, capture: Path) -> None:
    (tmp_path / "twice.c").write_text(
        '#include "core.h"\nint main(void) {\n  struct Desc packet;\n  init_slots(4, 0, 4096);\n  set_masks(0);\n'
        "  while (1)\n    if (in_pkt_ready()) {\n      read_in_pkt(&packet);\n      pkt_send(&packet);\n"
        "      pkt_send(&packet);\n    }\n}\n"
    )
    done = rpu("run", "twice.c", "--port", f"0={capture}", *CARD, "--json", folder=tmp_path)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["received"], report["sent"], report["dropped"], report["kept"]) == (400, 400, 0, 0)
    assert re.search(r"unit 0 \(twice.c\): error of duplicate slot, at 0x\w+, main, \S*core.h:\d+; ", done.stderr)


@pytest.fixture
def hangs_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card gives up after 0.1 ms without progress, not 5."""

    def opened(*arguments: Any, **options: Any) -> Card:
        card = open_rpu_card(*arguments, **options)
        card.hang_limit(1e-4)
        return card

    monkeypatch.setattr(rpu_run, "open_rpu_card", opened)


@pytest.mark.parametrize("others", [True, False])
def test_a_unit_that_enters_no_slots_is_told(tmp_path: Path, capture: Path, hangs_soon: None, others: bool) -> None:
    (tmp_path / "no_slots.c").write_text('#include "core.h"\nint main(void) {\n  while (1) in_pkt_ready();\n}\n')
    programs = ["no_slots.c@0", *(["forwarder@1-3"] if others else [])]
    done = rpu("run", *programs, "--port", f"0={capture}", *(CARD if others else ONE_UNIT), "--json", folder=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["sent"]) == ((0, 400) if others else (1, 0))
    stuck = "" if others else r"stuck at 0x\w+, main, \S*: "
    told = rf"^headrace: unit 0 \(no_slots.c\): {stuck}has entered no slots, and gets no packets$"
    assert re.search(told, done.stderr, re.MULTILINE)


def test_a_unit_that_keeps_packets_is_told(tmp_path: Path, capture: Path, hangs_soon: None) -> None:
    (tmp_path / "keeps.c").write_text(
        '#include "core.h"\nint main(void) {\n  struct Desc packet;\n  init_slots(4, 0, 4096);\n'
        "  while (1)\n    if (in_pkt_ready()) read_in_pkt(&packet);\n}\n"
    )
    done = rpu("run", "keeps.c", "--port", f"0={capture}", *ONE_UNIT, "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    assert (done.returncode, report["sent"], report["kept"]) == (1, 0, 4)
    told = r"unit 0 \(keeps.c\): stuck at 0x\w+, main, \S+:\d+: does not give back slots 1, 2, 3, 4, 4 in all$"
    assert re.search(told, done.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["forwarder@4"], "units '4': the card has units 0 to 3"),
        (["forwarder@x"], "units 'x': not like 0-3,6"),
        (["nothing.elf"], "nothing.elf: No such file"),
        (["forwarder", "--blocklist", "block.txt", "--accel", "crc"], "no unit has the accelerator blacklist"),
        (["forwarder", "--accel", "gpu"], "no accelerator 'gpu'; there are none, crc, checksum, blacklist, matcher"),
        (["forwarder", "-w", "2=x.pcap"], "-w 2=x.pcap: not N=..., with N from 0 to 1"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_wrong_settings_are_told_in_one_line(tmp_path: Path, capture: Path, arguments: list[str], error: str) -> None:
    (tmp_path / "block.txt").write_text("192.0.2.1\n")
    done = rpu("run", *arguments, "--port", f"0={capture}", "--units", "4", folder=tmp_path)
    assert done.returncode == 2 or (done.returncode and "nothing.elf" in error)
    assert error in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@dataclass
class Running:
    """A card that goes on with packets until it is told to end."""

    folder: Path
    process: subprocess.Popen[str]
    socket: Path

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return rpu(*arguments, "--control", str(self.socket), folder=self.folder)

    def stats(self) -> dict[str, Any]:
        done = self.ask("stats", "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def end(self) -> tuple[int, str]:
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate()
        return self.process.returncode, errors


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[subprocess.Popen[str]] = []

    def start(*programs: str) -> Running:
        command = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())", "rpu", "run"]
        link = ["--port", "0=gen:size=64,count=1000000000", "--rate", "2G"]
        socket = tmp_path / "rpu.sock"
        started.append(
            subprocess.Popen(
                [*command, *programs, *link, *CARD, "--control", str(socket)],
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
                cwd=tmp_path,
            )
        )
        assert started[-1].stderr is not None
        assert any("control at" in line for line in started[-1].stderr), "it is up"
        return Running(tmp_path, started[-1], socket)

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_running_card_is_looked_at_and_loaded_anew(run: Callable[..., Running], tmp_path: Path) -> None:
    (tmp_path / "crash.c").write_text(
        '#include "core.h"\nint main(void) {\n  init_slots(4, 0, 4096);\n  while (!in_pkt_ready());\n'
        "  *(volatile int *)0x00900000 = 1;\n  while (1);\n}\n"
    )
    card = run("forwarder@0-2", "crash.c@3")
    while not (unit := card.stats()["units"][3])["stopped"]:
        pass
    assert (unit["program"], unit["errors_seen"], unit["error_address"]) == ("crash.c", ["data_memory"], 0x900000)
    shown = card.ask("stats", "--once")
    assert shown.returncode == 0
    assert "unit 3 (crash.c): stopped at 0x2" in shown.stdout and "crash.c:5: access beyond data memory" in shown.stdout
    assert [line.split()[:3] for line in shown.stdout.splitlines()[1:5]] == [
        *([str(number), "forwarder", "runs"] for number in range(3)),
        ["3", "crash.c", "stopped"],
    ]

    looked = card.ask("debug", "3")
    assert looked.returncode == 0, looked.stderr
    assert "int_handler" in looked.stdout.splitlines()[0]
    assert "errors since its reset: data_memory; the last at 0x00900000" in looked.stdout
    assert "mcause 8000000b" in looked.stdout
    assert "crash.c:5" in looked.stdout
    registers = json.loads(card.ask("debug", "0", "--json").stdout)["registers"]
    assert len(registers["registers"]) == 33 and not registers["halted"]
    code = elf.read(program.build(["forwarder"])).segments[-1]
    whole = f"{code.address:#x}:{len(code.data)}"
    assert card.ask("debug", "1", "--memory", whole, "--out", "code.bin").returncode == 0
    assert (tmp_path / "code.bin").read_bytes() == code.data
    dump = card.ask("debug", "1", "--memory", f"{code.address:#x}:20").stdout.splitlines()
    assert dump[0].startswith(f"{code.address:08x}  {code.data[:4].hex()} {code.data[4:8].hex()}")
    assert len(dump) == 2

    refused = card.ask("load", "3", "forwarder")
    assert refused.returncode == 1 and refused.stderr == "headrace: unit 3 keeps packets: with --force they are lost\n"
    assert card.ask("load", "3", "forwarder", "--force").stdout == "forwarder runs on unit 3\n"
    before = card.stats()["units"]
    assert before[3]["fault"] is None
    while any(new["tx_packets"] == old["tx_packets"] for new, old in zip(card.stats()["units"], before, strict=True)):
        pass
    code_, errors = card.end()
    assert code_ == 0, errors
    assert "no RPU card runs at" in card.ask("stats").stderr


def test_accelerators_are_changed_while_packets_go_through(run: Callable[..., Running], tmp_path: Path) -> None:
    (tmp_path / "drop.txt").write_text("0.0.0.0/0\n")
    card = run("forwarder")
    swapped = card.ask("swap", "1,3", "blacklist", "--program", "firewall", "--blocklist", "drop.txt")
    assert swapped.returncode == 0, swapped.stderr
    times = r"drain [\d,.]+ us, swap [\d,.]+ us, boot [\d,.]+ us"
    for unit, line in zip((1, 3), swapped.stdout.splitlines(), strict=True):
        assert re.fullmatch(rf"unit {unit}: BLST; {times}", line)
    units = card.stats()["units"]
    assert [unit["program"] for unit in units] == ["forwarder", "firewall", "forwarder", "firewall"]
    (report,) = json.loads(card.ask("swap", "3", "none", "--program", "forwarder", "--json").stdout)
    assert (report["unit"], report["accelerator"], report["dropped"]) == (3, "", 0)
    before = card.stats()["units"]
    while any(new["rx_packets"] == old["rx_packets"] for new, old in zip(card.stats()["units"], before, strict=True)):
        pass
    refused = card.ask("swap", "0", "nothing.sv")
    assert (refused.returncode, refused.stderr) == (2, "headrace: nothing.sv: No such file or directory\n")
    refused = card.ask("swap", "0", "crc", "--blocklist", "drop.txt")
    assert refused.returncode == 2
    assert refused.stderr == "headrace: drop.txt: the accelerator is crc, and the file is for blacklist\n"
    code, errors = card.end()
    assert code == 0, errors


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["stats"], "no RPU card runs at nothing.sock: start one with headrace rpu run"),
        (["debug", "0", "--memory", "x"], "--memory x: not ADDRESS:BYTES, such as 0x804000:128"),
        (["debug", "0", "--out", "x"], "--out needs --memory, which it writes"),
        (["load", "0", "nothing.c"], "nothing.c: no such file"),
        (["swap", "0", "crc"], "no RPU card runs at nothing.sock: start one with headrace rpu run"),
    ],
)
def test_a_look_at_nothing_is_told_in_one_line(tmp_path: Path, arguments: list[str], error: str) -> None:
    done = rpu(*arguments, "--control", "nothing.sock", folder=tmp_path)
    assert done.returncode and done.stderr == f"headrace: {error}\n"


COUNTING = """#include "core.h"
struct Desc packet;
unsigned int count, bytes;
__attribute__((noinline)) void add(unsigned int length) {
  bytes += length;
  count++;
}
__attribute__((noinline)) void handle(struct Desc *desc) {
  add(desc->len);
  desc->port ^= 1;
  pkt_send(desc);
}
int main(void) {
  init_slots(8, 0, 4096);
  set_masks(0x30);
  while (1)
    if (in_pkt_ready()) {
      read_in_pkt(&packet);
      handle(&packet);
    }
}
"""
# Waits until units 0 to 2 have sent something more, while unit 3 stands still.
OTHERS_GO_ON = """
import sys
from headrace.card.control import ask
from headrace.cards.rpu.service import CONTROL
from headrace.cli import main

def sent():
    units = ask(CONTROL, sys.argv[1], {"command": "stats"})["units"]
    assert units[3]["halted"]
    return [unit["tx_packets"] for unit in units]

before = now = sent()
while any(new == old for new, old in zip(now[:3], before[:3])):
    now = sent()
print("unit 3 has sent", now[3] - before[3], "more; the others go on", flush=True)
"""


def test_gdb_debugs_one_unit_while_the_others_go_on(run: Callable[..., Running], tmp_path: Path) -> None:
    (tmp_path / "counting.c").write_text(COUNTING)
    (tmp_path / "others.py").write_text(OTHERS_GO_ON)
    assert rpu("build", "counting.c", "-O", "g", folder=tmp_path).returncode == 0
    card = run("forwarder@0-2", "counting.elf@3")
    command = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())", "rpu", "gdb", "3"]
    server = subprocess.Popen(
        [*command, "--once", "--port", "0", "--control", str(card.socket)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    told = server.stdout.readline()
    assert told.startswith(f"gdb-multiarch {tmp_path / 'counting.elf'} -ex 'target remote :")
    others = f"shell {sys.executable} others.py {card.socket}"
    steps = [
        *("break handle", "continue", "print packet.len", "backtrace", others, "step", "step", "finish"),
        *("print count == $before + 1", "delete", "watch bytes", "continue", "delete", "tbreak *handle", "continue"),
        *(
            "print $pc == (unsigned) &handle",
            "hbreak add",
            "continue",
            "info registers mcause",
            "print length",
            "delete",
        ),
        *("set var count = 1000000", "print count", "x/2xw 0x80", "print $sp", "print $sp = $sp - 16", "print $sp"),
        *("print $sp = $sp + 16", "nexti", "x/i handle", "break handle", "hbreak add"),
    ]
    steps.insert(3, "set $before = count")
    whole = [f"target remote {told.split()[-1].rstrip(chr(39))}", *steps, "detach"]
    done = subprocess.run(
        ["gdb-multiarch", "-batch", "-nx", "counting.elf", *(word for step in whole for word in ("-ex", step))],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    said = done.stdout
    assert server.wait() == 0
    assert re.search(r"Breakpoint 1, handle \(desc=.*<packet>\) at .*counting.c:8", said), said + done.stderr
    assert "$1 = 64\n" in said
    assert re.search(r"#0  handle .*\n#1  0x0*2\w+ in main \(\) at .*counting.c:19\n", said)
    assert "unit 3 has sent 0 more; the others go on" in said
    assert re.search(r"add \(length=64\) at .*counting.c:5", said)
    assert re.search(r"Run till exit.*add|handle .*counting.c:10", said)
    assert "$2 = 1\n" in said, "count, one packet later"
    old, new = re.search(r"watchpoint 2: bytes\n\nOld value = (\d+)\nNew value = (\d+)", said).groups()  # type: ignore
    assert int(new) == int(old) + 64
    assert "$3 = 1\n" in said
    assert re.search(r"mcause +0x0\b", said)
    assert "$4 = 64\n" in said
    assert "$5 = 1000000\n" in said
    assert "Cannot access memory at address 0x80" in said + done.stderr
    places = re.findall(r"\$[678] = \(void \*\) 0x(\w+)", said)
    assert len(places) == 3 and int(places[0], 16) - 16 == int(places[1], 16) == int(places[2], 16)
    assert re.search(r"handle>:\s+(?!ebreak)\w", said), "gdb sees the program, not its breakpoints"

    before = card.stats()["units"][3]
    assert not before["halted"], "detaching resumes the unit"
    while card.stats()["units"][3]["tx_packets"] < before["tx_packets"] + 10:
        pass  # its breakpoints are gone
    ask(CONTROL, str(card.socket), {"command": "debug", "unit": 3, "do": [["halt"]]})
    assert card.stats()["units"][3]["halted"]
    assert card.ask("debug", "3", "--resume").returncode == 0
    assert not card.stats()["units"][3]["halted"]
    code, errors = card.end()
    assert code == 0, errors


def test_rules_are_what_the_intrusion_detector_finds(tmp_path: Path) -> None:
    (tmp_path / "web.rules").write_text(
        'alert tcp any any -> any 80 (msg:"shell"; content:"cmd.exe"; nocase; sid:7;)\n'
        'alert tcp any any -> any 80 (content:"passwd"; sid:9; pcre:"/y/";)\n'
    )
    texts = [b"nothing", b"CMD.EXE", b"passwd and passwd"] * 7  # 63 matches: what a unit keeps
    wrpcap(str(tmp_path / "in.pcap"), [Ether() / IP() / UDP(sport=9, dport=9) / Raw(text * 3) for text in texts])
    arguments = ("--rules", "web.rules", "--port", "0=in.pcap", "-w", "1=out.pcap", *ONE_UNIT)
    done = rpu("run", "intrusion", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "headrace: web.rules: ignored: 2 rules' addresses or ports; options pcre (1)\n" in done.stderr
    assert done.stdout.endswith("sid 7: 21 matches, shell\nsid 9: 42 matches\n")
    assert [bytes(packet[Raw]) for packet in rdpcap(str(tmp_path / "out.pcap"))] == [b"nothing" * 3] * 7
    refused = rpu("run", "intrusion", "--rules", "web.rules", "--port", "0=in.pcap", folder=tmp_path)
    assert refused.stderr == "headrace: web.rules: no unit has the accelerator matcher, which the file is for\n"
    assert refused.returncode == 2


@pytest.mark.parametrize("units", [1, 4])
def test_no_match_of_a_file_is_lost_however_dense_they_are(tmp_path: Path, units: int) -> None:
    (tmp_path / "web.rules").write_text(
        'alert tcp any any -> any any (content:"a"; sid:1;)\nalert tcp any any -> any any (content:"ba"; sid:2;)\n'
    )
    texts = [b"a" * 700, b"ba" * 300, b"c" * 20, b"aab" * 90]
    wrpcap(str(tmp_path / "in.pcap"), [Ether() / IP() / UDP(sport=9, dport=9) / Raw(text) for text in texts])
    card = ONE_UNIT if units == 1 else ["--units", str(units), "-P", "PMEM_KB=512", *MATCHER]
    arguments = ("--rules", "web.rules", "--port", "0=in.pcap", *card, "--json")
    done = rpu("run", "intrusion", *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    counts = {rule["sid"]: rule["count"] for rule in report["matches"]}
    assert counts == {1: sum(text.count(b"a") for text in texts), 2: sum(text.count(b"ba") for text in texts)}
    assert (report["matches_unknown"], report["dropped"], report["kept"]) == (0, 0, 0)


def test_a_profile_says_where_cycles_go(tmp_path: Path, capture: Path) -> None:
    done = rpu("profile", "forwarder", "--port", f"0={capture}", "--json", *MATCHER, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["packets"] == 400 and found["shares"][0]["name"] == "main"
    assert sum(share["samples"] for share in found["shares"]) == found["samples"] > 20
    lines = rpu("profile", "forwarder", "--port", f"0={capture}", "--lines", *MATCHER, folder=tmp_path)
    assert re.search(r" \d+\.\d% ± +\d\.\d% +\d+\.\d\d  \S+\.[ch]:\d+\n", lines.stdout)
    assert "400 packets in" in lines.stdout.splitlines()[-1]
    live = rpu("profile", "forwarder", "--port", "0=tap:x", folder=tmp_path)
    assert live.stderr == "headrace: --port: a profile takes files and generated packets, no live links\n"
