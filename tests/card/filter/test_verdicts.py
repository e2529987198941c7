"""The card's verdicts are those of libpcap's bpf_filter, and its files are those of tcpdump."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from oracle import EXPRESSIONS, make_capture, random_packets
from oracle.programs import random_programs
from scapy.utils import RawPcapReader

from headrace import bpf
from headrace.assembler import assemble
from headrace.card import Frame
from headrace.filter import EAST, WEST, FilterJob, FilterOutput, run_filter
from headrace.filter_driver import Slot

MAX_SNAPLEN = 65535  # the card's longest return value


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
    verdicts = [bpf.run_many(program, [(packet.data, packet.wirelen) for packet in packets]) for program in programs]
    expected = []
    for number, packet in enumerate(packets):
        returned = [verdict[number] for verdict in verdicts]
        if any(returned):
            matched = sum(1 << slot for slot, value in enumerate(returned) if value)
            longest = min(max(returned), MAX_SNAPLEN, len(packet.data))
            expected.append((number % 2, matched, packet.data[:longest], packet.wirelen))
    received = bench.card.received(2)
    assert [frame.timestamp_ns for frame in received] == sorted(frame.timestamp_ns for frame in received)
    assert sorted((f.port, f.matched, f.data, f.wire_len) for f in received) == sorted(expected)
    for port in (WEST, EAST):
        mine = [(f.port, f.matched, f.data, f.wire_len) for f in received if f.port == port]
        assert mine == [record for record in expected if record[0] == port]


def test_20000_random_programs_and_packets_get_libpcaps_verdicts(filter_bench):
    bench = filter_bench()
    bench.lose_nothing()
    packets = random_packets(seed=11, count=1500)
    choose = random.Random(12)
    programs = random_programs(seed=13, count=2000, max_length=128)
    for batch in batches(programs, 4):
        check(bench, batch, choose.sample(packets, 10))
    bench.check_conservation()


def test_programs_of_up_to_4096_instructions_get_libpcaps_verdicts(filter_bench):
    bench = filter_bench(CORES=2, IMEM_WORDS=32768)
    bench.lose_nothing()
    packets = random_packets(seed=21, count=200)
    choose = random.Random(22)
    programs = [program for program in random_programs(seed=23, count=400, max_length=4096) if len(program) > 500]
    assert max(map(len, programs)) > 3500
    bench.driver.set_budget(65535)
    for batch in batches(programs, 4):
        check(bench, batch, choose.sample(packets, 4))
    bench.check_conservation()


@pytest.fixture(scope="module")
def varied_capture(tmp_path_factory) -> Path:
    return make_capture(tmp_path_factory.mktemp("captures") / "varied.pcap", random_packets(seed=31, count=1200))


def test_a_filter_alone_cuts_each_packet_to_what_it_returned(varied_capture, tmp_path):
    """One that returns A, and constants of other lengths."""
    program = assemble("ldb [1]\n jset #1, odd\n ret #40\n odd: ld len\n rsh #1\n ret a")
    run_filter(FilterJob([FilterOutput(program, str(tmp_path / "cut.pcap"))], str(varied_capture)))
    packets = random_packets(seed=31, count=1200)
    verdicts = bpf.run_many(program, [(packet.data, packet.wirelen) for packet in packets])
    expected = [packet.data[:length] for packet, length in zip(packets, verdicts, strict=True) if length]
    assert [data for data, _ in RawPcapReader(str(tmp_path / "cut.pcap"))] == expected


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
