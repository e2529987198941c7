"""The card's verdicts are those of libpcap's bpf_filter, and its files are those of tcpdump."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from oracle import EXPRESSIONS, make_capture, random_packets
from oracle.programs import random_programs
from scapy.utils import RawPcapReader
from soak import soak

from headrace.card import Frame
from headrace.cards.filter.run import EAST, WEST, FilterJob, FilterOutput, run_filter
from headrace.cli import main
from headrace.engines.filter import Slot, verdicts
from headrace.net import bpf
from headrace.net.assembler import assemble


def batches(programs, size):
    batch = []
    for program in programs:
        batch.append(program)
        if len(batch) == size:
            yield batch
            batch = []


def check(bench, programs, packets):
    """Runs four programs on packets that come in on both ports and compares every record with libpcap's verdicts."""
    bench.driver.load({number: Slot(program) for number, program in enumerate(programs)})
    for number, packet in enumerate(packets):
        bench.card.send((WEST, EAST)[number % 2], [Frame(packet.data, wire_len=packet.wirelen)])
    bench.card.run()
    wanted = [bpf.run_many(program, [(packet.data, packet.wirelen) for packet in packets]) for program in programs]
    expected = []
    for number, packet in enumerate(packets):
        returned = [verdict[number] for verdict in wanted]
        if any(returned):
            expected.append((number % 2, tuple(returned), packet.data[: max(returned)], packet.wirelen))
    received = bench.card.received(2)
    assert [frame.timestamp_ns for frame in received] == sorted(frame.timestamp_ns for frame in received)
    assert sorted((f.port, verdicts(f), f.data, f.wire_len) for f in received) == sorted(expected)
    for port in (WEST, EAST):
        mine = [(f.port, verdicts(f), f.data, f.wire_len) for f in received if f.port == port]
        assert mine == [record for record in expected if record[0] == port]


@pytest.mark.parametrize("count", [400, soak(2000)])
def test_random_programs_and_packets_get_libpcaps_verdicts(filter_bench, count):
    bench = filter_bench()
    bench.lose_nothing()
    packets = random_packets(seed=11, count=1500)
    choose = random.Random(12)
    programs = random_programs(seed=13, count=count, max_length=128)
    for batch in batches(programs, 4):
        check(bench, batch, choose.sample(packets, 10))
    bench.check_conservation()


@pytest.mark.parametrize("count", [200, soak(400)])
def test_programs_of_up_to_4096_instructions_get_libpcaps_verdicts(filter_bench, count):
    bench = filter_bench(CORES=2, IMEM_WORDS=32768)
    bench.lose_nothing()
    packets = random_packets(seed=21, count=200)
    choose = random.Random(22)
    programs = [program for program in random_programs(seed=23, count=count, max_length=4096) if len(program) > 500]
    assert max(map(len, programs)) > 3500
    bench.driver.set_budget(65535)
    for batch in batches(programs, 4):
        check(bench, batch, choose.sample(packets, 4))
    bench.check_conservation()


@pytest.fixture(scope="module")
def varied_capture(tmp_path_factory) -> Path:
    return make_capture(tmp_path_factory.mktemp("captures") / "varied.pcap", random_packets(seed=31, count=1200))


def test_each_filter_cuts_each_packet_to_what_it_returned(varied_capture, tmp_path):
    """Four at once, that return A and constants of several lengths, over 65,535 too; one file is cut more."""
    programs = [
        assemble("ldb [1]\n jset #1, odd\n ret #40\n odd: ld len\n rsh #1\n ret a"),
        assemble("ldh [12]\n jgt #2048, other\n ret #14\n other: jeq #0x86dd, six\n ret #0\n six: ret #262144"),
        assemble("ldb [23]\n lsh #16\n ret a"),
        assemble("ld len\n mod #3\n ret a"),
    ]
    outputs = [FilterOutput(p, str(tmp_path / f"{n}.pcap"), 100 if n == 2 else None) for n, p in enumerate(programs)]
    assert run_filter(FilterJob(outputs, str(varied_capture))).fault is None
    packets = random_packets(seed=31, count=1200)
    for output in outputs:
        values = bpf.run_many(output.program, [(packet.data, packet.wirelen) for packet in packets])
        expected = [p.data[:value][: output.snaplen] for p, value in zip(packets, values, strict=True) if value]
        assert len(expected) > 10
        assert [data for data, _ in RawPcapReader(output.path)] == expected


def test_there_are_150_expressions():
    assert len(set(EXPRESSIONS)) >= 150


@pytest.mark.parametrize("first", range(0, len(EXPRESSIONS), 4))
def test_files_are_those_of_tcpdump(first, varied_capture, tmp_path):
    expressions = EXPRESSIONS[first : first + 4]
    outputs = [
        FilterOutput(bpf.compile(expression), str(tmp_path / f"{number}.pcap"))
        for number, expression in enumerate(expressions)
    ]
    report = run_filter(FilterJob(outputs, str(varied_capture)))
    assert report.fault is None
    assert report.uninspected == 0
    for output, expression in zip(outputs, expressions, strict=True):
        wanted = tmp_path / "tcpdump.pcap"
        subprocess.run(
            ["tcpdump", "-r", varied_capture, "-w", wanted, "--", expression], check=True, capture_output=True
        )
        assert Path(output.path).read_bytes() == wanted.read_bytes(), expression


# A counts down; each round divides by 1 four times, for which the threads of a core wait in turn.
SLOW = "ld #{rounds}\nagain: div #1\ndiv #1\ndiv #1\ndiv #1\nsub #1\njeq #0, out\nja again\nout: ret #60"


def test_programs_that_end_within_their_budget_may_take_longer_than_a_card_that_hangs(tmp_path):
    """Over 5 ms of the card's time in which nothing moves on its ports: 64 packets, eight in each core."""
    capture = make_capture(tmp_path / "in.pcap", random_packets(seed=41, count=64))
    program = assemble(SLOW.format(rounds=1700))
    report = run_filter(FilterJob([FilterOutput(program)], str(capture)))
    assert (report.fault, report.matched, report.programs[0].errors) == (None, 64, 0)
    assert report.cycles > 0.005 * report.clock_hz


def test_runs_that_the_budget_stops_are_told_under_q_too(tmp_path, capsys):
    capture = make_capture(tmp_path / "in.pcap", random_packets(seed=42, count=3))
    endless = tmp_path / "endless"
    endless.write_text(f"2\n5 0 0 {0xFFFFFFFF}\n6 0 0 1\n")
    said = "runs were stopped by the instruction budget or a jump out of the program, and count as not matched"
    assert main(["filter", "-q", "-F", str(endless), str(capture)]) == 1
    assert capsys.readouterr().err == f"headrace: {endless}: 3 {said}\n"
    assert main(["filter", "-q", "-F", str(endless), str(capture), "--rate", "recorded"]) == 0
    assert capsys.readouterr().err == f"headrace: warning: {endless}: 3 {said}\n"
