"""Captures in and out. The oracle for pcap files is tcpdump's own copy of the input: ``tcpdump -r IN -w OUT``."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import HANG_S, sleeps, until

from headrace import paths
from headrace.build.description import load_card
from headrace.build.libraries import harness_library
from headrace.build.models import build_card
from headrace.card import CaptureError, Card, CardError
from headrace.card.stats import FileTotals

Open = Callable[..., Card]
LOOP = Path(__file__).parent / "cards" / "loop"
MICRO, NANO = 0xA1B2C3D4, 0xA1B23C4D
START = 1_700_000_000
PACE, TROUBLE = 0x04, 0x08

# seconds, nanoseconds, bytes kept, bytes on the wire
Packet = tuple[int, int, bytes, int]


def some_packets(count: int = 200, seed: int = 1) -> list[Packet]:
    rng = random.Random(seed)
    packets = []
    for n in range(count):
        kept = rng.choice([60, 64, 100, 1514, rng.randint(0, 300)])
        wire = kept + rng.choice([0, 0, 1000])
        packets.append((START + n // 40, rng.randrange(10**9), rng.randbytes(kept), wire))
    return packets


def pcap(packets: list[Packet], order: str = "<", magic: int = MICRO, snapshot: int = 65535, link: int = 1) -> bytes:
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snapshot, link)
    for seconds, nanoseconds, data, wire in packets:
        fraction = nanoseconds if magic == NANO else nanoseconds // 1000
        out += struct.pack(order + "IIII", seconds, fraction, len(data), wire) + data
    return out


def pcapng(packets: list[Packet], order: str = "<", resolution: int | None = None, link: int = 1) -> bytes:
    """One section with one interface; ``resolution`` as in if_tsresol, absent: microseconds."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length

    unit = 10**6 if resolution is None else 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    options = b"" if resolution is None else struct.pack(order + "HHBxxxHH", 9, 1, resolution, 0, 0)
    out = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack(order + "HHI", link, 0, 65535) + options)
    for seconds, nanoseconds, data, wire in packets:
        ticks = seconds * unit + nanoseconds * unit // 10**9
        header = struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), wire)
        out += block(6, header + data + bytes(-len(data) % 4))
    return out


INPUTS = {
    "micro-little": lambda p: pcap(p, "<"),
    "micro-big": lambda p: pcap(p, ">"),
    "nano-little": lambda p: pcap(p, "<", NANO),
    "nano-big": lambda p: pcap(p, ">", NANO),
    "pcapng-little": lambda p: pcapng(p, "<"),
    "pcapng-big": lambda p: pcapng(p, ">"),
    "pcapng-nano": lambda p: pcapng(p, "<", 9),
    "pcapng-binary": lambda p: pcapng(p, "<", 0x80 | 20),
    "snapshot-96": lambda p: pcap([(s, n, d[:96], w) for s, n, d, w in p], "<", snapshot=96),
    "fcs-length": lambda p: pcap(p, "<", link=1 | 0x2400_0000),
}


def copy(card: Card, source: Path | str, target: Path | str, **options: Any) -> None:
    card.source(0, f"pcap:{source}")
    card.sink(1, f"pcap:{target}", **options)
    card.run()
    card.close()


def tcpdump_copy(source: Path, target: Path, *options: str) -> bytes:
    subprocess.run(["tcpdump", "-r", source, "-w", target, *options], check=True, capture_output=True)
    return target.read_bytes()


def records(data: bytes) -> list[Packet]:
    """Of a little-endian pcap file, which must end with a whole record."""
    magic = struct.unpack_from("<I", data)[0]
    unit = {MICRO: 1000, NANO: 1}[magic]
    found, at = [], 24
    while at < len(data):
        seconds, fraction, kept, wire = struct.unpack_from("<IIII", data, at)
        assert at + 16 + kept <= len(data), "a partial record"
        found.append((seconds, fraction * unit, data[at + 16 : at + 16 + kept], wire))
        at += 16 + kept
    return found


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("precision", ["micro", "nano"])
def test_a_copy_is_byte_for_byte_what_tcpdump_writes(loop: Open, tmp_path: Path, kind: str, precision: str) -> None:
    source = tmp_path / "in"
    source.write_bytes(INPUTS[kind](some_packets()))
    copy(loop(), source, tmp_path / "out.pcap", precision=precision)
    expected = tcpdump_copy(source, tmp_path / "expected.pcap", f"--time-stamp-precision={precision}")
    assert (tmp_path / "out.pcap").read_bytes() == expected


@pytest.mark.parametrize("precision", ["micro", "nano"])
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("magic", [MICRO, NANO])
def test_invalid_fractions_of_a_second_are_copied_as_they_are(
    loop: Open, tmp_path: Path, magic: int, order: str, precision: str
) -> None:
    source = tmp_path / "in.pcap"
    fractions = (0, 5_000_000, 2**31, 0xFFFFFFFF)
    source.write_bytes(
        pcap([], order, magic)
        + b"".join(struct.pack(order + "IIII", 5, fraction, 60, 60) + bytes(60) for fraction in fractions)
    )
    copy(loop(), source, tmp_path / "out.pcap", precision=precision)
    expected = tcpdump_copy(source, tmp_path / "expected.pcap", f"--time-stamp-precision={precision}")
    assert (tmp_path / "out.pcap").read_bytes() == expected


def test_an_empty_capture_gives_an_empty_capture(loop: Open, tmp_path: Path) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap([], snapshot=1234))
    copy(loop(), source, tmp_path / "out.pcap")
    assert (tmp_path / "out.pcap").read_bytes() == source.read_bytes()


def test_the_snapshot_length_can_be_chosen_and_is_tcpdumps_default_without_a_capture(
    loop: Open, tmp_path: Path
) -> None:
    card = loop()
    card.source(0, "gen:count=3")
    card.sink(1, f"pcap:{tmp_path / 'default.pcap'}")
    card.sink(1, f"pcap:{tmp_path / 'chosen.pcap'}", snapshot=96)
    card.run()
    card.close()
    assert struct.unpack_from("<I", (tmp_path / "default.pcap").read_bytes(), 16) == (262144,)
    assert struct.unpack_from("<I", (tmp_path / "chosen.pcap").read_bytes(), 16) == (96,)


def test_a_sink_takes_frames_that_come_before_a_run(loop: Open, tmp_path: Path) -> None:
    card = loop()
    card.source(0, "gen:size=64,count=100")
    card.run(until=None, cycles=100)
    card.sink(1, f"pcap:{tmp_path / 'out.pcap'}")
    before = card.stats().ports[1].tx_frames
    for _ in range(20):
        card.read(0)  # takes cycles, in which frames leave
    sent = card.stats().ports[1].tx_frames - before
    card.close_files()
    assert len(records((tmp_path / "out.pcap").read_bytes())) == sent > 0


def test_a_sink_that_gets_its_last_frame_before_a_run_ends_the_run(loop: Open) -> None:
    card = loop()
    card.source(0, "gen:size=64,count=300")
    card.sink(1, "memory", packets=3)
    card.run(until=None, cycles=2)
    while card.stats().ports[1].tx_frames < 3:
        card.read(0)  # takes cycles, in which frames leave
    assert card.run().reason == "packets"
    assert card.stats().ports[1].tx_frames < 100 and len(card.received(1)) == 3
    assert card.run().reason == "idle"


@pytest.mark.parametrize("seconds", [2**31 - 1, 2**31, 2**32 - 1])
def test_seconds_have_no_sign(loop: Open, tmp_path: Path, seconds: int) -> None:
    source, nano = tmp_path / "in.pcap", tmp_path / "out.pcapng"
    source.write_bytes(pcap([(seconds, 5000, b"a" * 60, 60), (seconds, 999_999_000, b"b" * 60, 60)]))
    card = loop()
    card.source(0, f"pcap:{source}")
    card.sink(1, f"pcap:{tmp_path / 'out.pcap'}")
    card.sink(1, f"pcap:{nano}")
    card.sink(1, "memory")
    card.run()
    card.close_files()
    assert (tmp_path / "out.pcap").read_bytes() == source.read_bytes()
    data, found, at = nano.read_bytes(), [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low = struct.unpack_from("<II", data, at + 12)
            found.append(high << 32 | low)
        at += length
    assert found == [seconds * 10**9 + 5000, seconds * 10**9 + 999_999_000]


def test_wire_length_of_a_cut_record_reaches_the_card_and_the_copy(loop: Open, tmp_path: Path) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap([(1, 0, b"a" * 60, 9000), (1, 0, b"b" * 60, 60)]))
    card = loop()
    card.source(0, f"pcap:{source}")
    card.sink(1, "memory")
    card.run()
    assert [(len(f.data), f.wire_len) for f in card.received(1)] == [(60, 9000), (60, 60)]


def test_a_record_that_says_it_had_no_bytes_is_copied_as_it_is(loop: Open, tmp_path: Path) -> None:
    source, copy = tmp_path / "in.pcap", tmp_path / "out.pcap"
    source.write_bytes(pcap([(1, 0, b"a" * 60, 0), (1, 1, b"b" * 60, 60), (1, 2, b"", 0), (1, 3, b"c" * 60, 59)]))
    card = loop()
    card.source(0, f"pcap:{source}")
    card.sink(1, "memory")
    card.sink(1, f"pcap:{copy}")
    card.run()
    assert [f.wire_len for f in card.received(1)] == [0, 60, 0, 59]
    card.close_files()
    assert copy.read_bytes() == source.read_bytes()


def test_a_sink_takes_the_frames_with_one_of_the_cards_own_bits_cut_to_the_length_beside_them(loop: Open) -> None:
    """The loop card's bit 1 marks what came in at an even time; the length at bit 34 says 20."""
    card = loop()
    card.source(0, "gen:size=60-200,count=500")
    card.sink(2, "memory", timestamps="card")
    everything = card
    everything.run()
    frames = everything.received(2)
    card = loop()
    card.source(0, "gen:size=60-200,count=500")
    card.sink(2, "memory", select=1, length_at=34, timestamps="card")
    card.run()
    expected = [(f.data[:20], f.timestamp_ns) for f in frames if f.timestamp_ns % 2 == 0]
    assert [(f.data, f.timestamp_ns) for f in card.received(2, select=1)] == expected
    assert {f.user for f in frames} == {20 << 34 | 0x10000 << 2 | 1, 20 << 34 | 0x10000 << 2 | 3}
    assert 100 < len(expected) < 400


def test_several_sinks_of_one_port_with_own_lengths(loop: Open, tmp_path: Path) -> None:
    card = loop()
    card.source(0, "gen:size=1000,count=10")
    card.sink(1, f"pcap:{tmp_path / 'whole.pcap'}")
    card.sink(1, f"pcap:{tmp_path / 'cut.pcap'}", snaplen=100)
    card.sink(1, "null")
    card.run()
    card.close()
    whole = records((tmp_path / "whole.pcap").read_bytes())
    cut = records((tmp_path / "cut.pcap").read_bytes())
    assert [(s, n, d[:100], w) for s, n, d, w in whole] == cut
    assert {(len(d), w) for _, _, d, w in cut} == {(100, 1000)}


def test_recorded_timing_brings_packets_at_their_own_times(loop: Open, tmp_path: Path) -> None:
    packets = [(START, 0, bytes(60), 60), (START, 1_000_000, bytes(60), 60), (START + 3600, 5, bytes(60), 60)]
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap(packets, magic=NANO))
    card = loop()
    card.write(TROUBLE, 0)  # some cycles pass before
    card.source(0, f"pcap:{source}", timing="recorded")
    card.sink(1, "memory", timestamps="card")
    stats = card.run().stats
    on_the_wire = 6  # ns that 72 bytes take at 100 Gb/s, rounded up
    for frame, (seconds, nanoseconds, _, _) in zip(card.received(1), packets, strict=True):
        assert 0 <= frame.timestamp_ns - (seconds * 10**9 + nanoseconds) - on_the_wire < 7
    assert stats.evaluated_cycles < 200
    assert 3600 < stats.card_s < 3601


def test_two_recorded_captures_keep_their_times_to_each_other(loop: Open, tmp_path: Path) -> None:
    for port in (0, 1):
        (tmp_path / f"{port}").write_bytes(pcap([(START, port * 500_000, bytes([port]) * 60, 60)]))
    card = loop()
    for port in (0, 1):
        card.source(port, f"pcap:{tmp_path / str(port)}", timing="recorded")
        card.sink(1 - port, "memory", timestamps="card")
    card.run()
    first, second = card.received(1)[0], card.received(0)[0]
    assert abs(second.timestamp_ns - first.timestamp_ns - 500_000) <= 4


def test_a_capture_that_lies_in_the_cards_past_is_played_from_now_on(loop: Open, tmp_path: Path) -> None:
    card, source = loop(), tmp_path / "in.pcap"
    card.set_time((START + 100) * 10**9)
    source.write_bytes(pcap([(START, 0, bytes(60), 60), (START, 1_000_000, bytes(60), 60)]))
    before = card.stats().time_ns
    card.source(0, f"pcap:{source}", timing="recorded")
    card.sink(1, "memory", timestamps="card")
    card.run()
    first, second = (frame.timestamp_ns for frame in card.received(1))
    assert first - before < 20 and abs(second - first - 1_000_000) <= 4


def test_what_a_busy_line_delays_is_made_up_for(loop: Open) -> None:
    """At 10 Gb/s, 84 byte times of each frame are 67.2 ns, 21.7 cycles; the card takes none in the first 500."""
    card = loop()
    card.flow_control(0, True)
    card.source(0, "gen:size=60,count=100,rate=10G")
    card.sink(1, "memory", timestamps="card")
    start = card.stats().time_ns
    card.write(PACE, 0)
    card.run(until=None, cycles=500)
    card.write(PACE, 1)
    card.run()
    times = [frame.timestamp_ns - start for frame in card.received(1)]
    assert times[0] > 1500 and times[10] - times[0] < 90
    assert times[99] == pytest.approx(99 * 67.2, abs=15)


def test_records_that_go_back_in_time_follow_at_once(loop: Open, tmp_path: Path) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap([(START, 0, bytes(60), 60), (START - 100, 0, bytes(60), 60)]))
    card = loop()
    card.source(0, f"pcap:{source}", timing="recorded")
    copy_to = tmp_path / "out.pcap"
    card.sink(1, f"pcap:{copy_to}")
    stats = card.run().stats
    card.close()
    assert stats.card_s < 1e-6
    assert copy_to.read_bytes() == source.read_bytes()


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4) == (length,) and length % 4 == 0
        yield kind, data[at + 8 : at + length - 4]
        at += length


def options(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + -(-length // 4) * 4
    return found


def test_pcapng_has_nanoseconds_an_interface_for_each_port_and_the_packets_lost(loop: Open, tmp_path: Path) -> None:
    packets = [(s, n, d, w) for s, n, d, w in some_packets()]
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap(packets, magic=NANO))
    card = loop()
    card.write(TROUBLE, 17 << 16)  # port 2 reports 17 lost with every frame
    card.source(0, f"pcap:{source}")
    card.sink(2, f"pcap:{tmp_path / 'out.pcapng'}")
    card.run()
    card.close()
    found = list(blocks((tmp_path / "out.pcapng").read_bytes()))
    assert [kind for kind, _ in found] == [0x0A0D0D0A, 1, 1, 1] + [6] * len(packets) + [5, 5, 5]
    interfaces = [options(body[8:]) for kind, body in found if kind == 1]
    assert [i[2] for i in interfaces] == [b"port0", b"port1", b"port2"]
    assert {i[9] for i in interfaces} == {b"\x09"}
    for (_, body), (seconds, nanoseconds, data, wire) in zip(found[4:], packets, strict=False):
        interface, high, low, kept, length = struct.unpack_from("<IIIII", body)
        assert (interface, kept, length) == (0, len(data), wire)
        assert (high << 32 | low) == seconds * 10**9 + nanoseconds
        assert body[20 : 20 + kept] == data
        assert options(body[20 + -(-kept // 4) * 4 :])[4] == (17).to_bytes(8, "little")
    statistics = options(found[-3][1][12:])
    assert statistics[4] == len(packets).to_bytes(8, "little") and statistics[5] == bytes(8)


def test_tcpdump_reads_our_pcapng_as_it_reads_the_capture_it_came_from(loop: Open, tmp_path: Path) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap(some_packets(), magic=NANO, snapshot=262144))
    copy(loop(), source, tmp_path / "out.pcapng")
    nano = "--time-stamp-precision=nano"
    ours = tcpdump_copy(tmp_path / "out.pcapng", tmp_path / "ours.pcap", nano)
    assert ours == tcpdump_copy(source, tmp_path / "expected.pcap", nano)


PIPE = """
from headrace.card import Card
with Card.open({card!r}, progress=False) as card:
    card.source(0, "pcap:-")
    card.sink(1, "pcap:-"{options})
    card.run()
"""


def pipe(source: bytes, options: str = "") -> subprocess.CompletedProcess[bytes]:
    script = PIPE.format(card=str(LOOP), options=options)
    return subprocess.run([sys.executable, "-c", script], input=source, capture_output=True, check=False)


@pytest.mark.parametrize("kind", ["micro-big", "pcapng-nano"])
def test_dash_is_standard_input_and_output(loop: Open, tmp_path: Path, kind: str) -> None:
    loop()  # built outside of the pipe
    source = tmp_path / "in"
    source.write_bytes(INPUTS[kind](some_packets()))
    result = pipe(source.read_bytes())
    assert result.stdout == tcpdump_copy(source, tmp_path / "expected.pcap"), result.stderr


def test_a_live_pipe_gets_each_packet_before_the_next_one_comes() -> None:
    packets = some_packets(5)
    script = PIPE.format(card=str(LOOP), options="")
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(pcap([]))
        child.stdin.flush()
        assert len(child.stdout.read(24)) == 24
        for packet in packets:
            record = pcap([packet])[24:]
            child.stdin.write(record)
            child.stdin.flush()
            assert child.stdout.read(len(record)) == record
        child.stdin.close()
        assert child.stdout.read() == b"" and child.wait(timeout=HANG_S) == 0


@pytest.mark.parametrize("header", [b"", pcap([])])
def test_waiting_for_a_pipe_can_be_interrupted(header: bytes) -> None:
    said = "    import sys; print('opened', file=sys.stderr, flush=True)\n"
    script = PIPE.format(card=str(LOOP), options="").replace("    card.source", said + "    card.source")
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        assert child.stderr.readline() == b"opened\n"
        child.stdin.write(header)
        child.stdin.flush()
        assert child.stdout.read(len(header)) == header  # the run has begun
        until(lambda: sleeps(child.pid), "the run to wait for the pipe")

        def interrupted() -> bool:
            child.send_signal(signal.SIGINT)  # again where it came just before the wait
            return child.poll() is not None

        until(interrupted, "the end")
        assert child.returncode != 0
        assert b"KeyboardInterrupt" in child.stderr.read()
        assert child.stdout.read() == b""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_c_program_of_the_manual_copies_a_capture(tmp_path: Path) -> None:
    text = (paths.share() / "docs" / "harness.md").read_text()
    (program,) = re.findall(r"```c\n(.*?)```", text, re.DOTALL)
    (tmp_path / "main.c").write_text(
        f'#include <stdio.h>\n#include "headrace.h"\nint main(void) {{\n{program}return 0;\n}}\n'.replace(
            "/path/of/the/model.so", str(build_card(load_card(LOOP), progress=False))
        )
    )
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{paths.sim()}", str(harness_library())]
    subprocess.run(["gcc", "main.c", *flags, "-o", "main"], cwd=tmp_path, check=True)
    (tmp_path / "in.pcap").write_bytes(pcap(some_packets()))
    subprocess.run(["./main"], cwd=tmp_path, check=True)
    assert (tmp_path / "out.pcap").read_bytes() == (tmp_path / "in.pcap").read_bytes()


def test_dash_writes_pcapng_too(tmp_path: Path) -> None:
    result = pipe(pcap(some_packets(20)), ', format="pcapng"')
    assert [kind for kind, _ in blocks(result.stdout)].count(6) == 20


@pytest.mark.parametrize("kind", ["micro-little", "nano-big"])
@pytest.mark.parametrize("cut", [1, 15, 16, 17, 400])
def test_packets_before_a_truncation_go_through_then_the_fault_is_named(
    loop: Open, tmp_path: Path, kind: str, cut: int
) -> None:
    packets = some_packets()
    data = INPUTS[kind](packets)[:-cut]
    source, target = tmp_path / "in.pcap", tmp_path / "out.pcap"
    source.write_bytes(data)
    whole, at = 0, 24
    while at + 16 + len(packets[whole][2]) <= len(data):
        at += 16 + len(packets[whole][2])
        whole += 1
    card = loop()
    if at == len(data):  # cut between two records: nothing is missing that could be noticed
        copy(card, source, target)
    else:
        with pytest.raises(
            CaptureError, match=rf"^{source}: packet {whole + 1} at byte {at}: truncated dump file"
        ) as error:
            copy(card, source, target)
        assert "\n" not in str(error.value) and error.value.exit_code == 1
        card.close()
    assert [d for _, _, d, _ in records(target.read_bytes())] == [d for _, _, d, _ in packets[:whole]]
    subprocess.run(["tcpdump", "-r", source, "-w", tmp_path / "expected.pcap"], capture_output=True, check=False)
    assert target.read_bytes() == (tmp_path / "expected.pcap").read_bytes()


def test_a_truncated_pcapng_file_names_the_place(loop: Open, tmp_path: Path) -> None:
    data = INPUTS["pcapng-little"](some_packets(10))
    source = tmp_path / "in.pcapng"
    source.write_bytes(data[:-5])
    last = len(data) - struct.unpack("<I", data[-4:])[0]
    card = loop()
    with pytest.raises(CaptureError, match=rf"packet 10 at byte {last}: "):
        copy(card, source, tmp_path / "out.pcap")
    card.close()
    assert len(records((tmp_path / "out.pcap").read_bytes())) == 9


def test_a_record_with_a_senseless_length_is_a_fault(loop: Open, tmp_path: Path) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap(some_packets(3)) + struct.pack("<IIII", 1, 1, 0x7FFFFFFF, 60) + bytes(1000))
    with pytest.raises(CaptureError, match=r"packet 4 at byte \d+: .*length"):
        copy(loop(), source, tmp_path / "out.pcap")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "truncated dump file"),
        (b"not a capture at all, only text", "unknown file format"),
    ],
)
def test_a_file_that_is_no_capture_is_refused(loop: Open, tmp_path: Path, content: bytes, message: str) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(content)
    with pytest.raises(CardError, match=rf"^{source}: .*{message}"):
        loop().source(0, f"pcap:{source}")


# Numbers in files, some of which are other ones in libpcap, and Ethernet with the length of its FCS.
@pytest.mark.parametrize("link", [0, 6, 9, 50, 100, 101, 104, 105, 113, 127, 147, 195, 220, 228, 239, 276, 0x24000001])
@pytest.mark.parametrize("order", ["<", ">"])
def test_a_copy_of_any_link_type_is_what_tcpdump_writes(loop: Open, tmp_path: Path, link: int, order: str) -> None:
    source = tmp_path / "in.pcap"
    short = [(START, 5, b"", 0), (START, 6, b"", 70), (START, 7, b"\x01", 1), (START, 8, b"\x01\x02\x03", 60)]
    source.write_bytes(pcap([*short, *some_packets(20)], order, link=link))
    copy(loop(), source, tmp_path / "out.pcap")
    assert (tmp_path / "out.pcap").read_bytes() == tcpdump_copy(source, tmp_path / "tcpdump.pcap")


def test_the_card_tells_the_format_of_its_first_capture(loop: Open, tmp_path: Path) -> None:
    card = loop()
    assert card.capture_format() == (1, 262144, False)
    (tmp_path / "in.pcap").write_bytes(pcap([], ">", snapshot=300000, link=101))
    card.source(1, f"pcap:{tmp_path / 'in.pcap'}")
    assert card.capture_format() == (12, 300000, True)


def test_captures_of_different_link_types_do_not_go_into_one_card(loop: Open, tmp_path: Path) -> None:
    for name, link in (("one", 1), ("other", 101)):
        (tmp_path / name).write_bytes(pcap(some_packets(1), link=link))
    card = loop()
    card.source(0, f"pcap:{tmp_path / 'one'}")
    with pytest.raises(CardError, match="^port 1: link type RAW, but port 0 receives EN10MB$"):
        card.source(1, f"pcap:{tmp_path / 'other'}")
    card.source(0, "null")
    card.source(1, f"pcap:{tmp_path / 'other'}")


def test_a_kept_header_says_a_link_type_that_files_have(loop: Open, tmp_path: Path) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap(some_packets(1), link=0xFFFF))
    card = loop()
    card.source(0, f"pcap:{source}")
    card.sink(1, f"pcap:{tmp_path / 'out.pcap'}")
    for attempt in (card.run, card.close):
        with pytest.raises(CardError, match="link-layer type 65535 isn't supported in savefiles"):
            attempt()


def test_files_that_can_not_be_opened_are_named(loop: Open, tmp_path: Path) -> None:
    card = loop()
    with pytest.raises(CardError, match=r"absent\.pcap: No such file or directory"):
        card.source(0, f"pcap:{tmp_path / 'absent.pcap'}")
    with pytest.raises(CardError, match=r"Is a directory"):
        card.source(0, f"pcap:{tmp_path}")
    with pytest.raises(CardError, match=r"absent/out\.pcap: No such file or directory"):
        card.sink(1, f"pcap:{tmp_path / 'absent' / 'out.pcap'}")


@pytest.mark.parametrize("format", ["pcap", "pcapng"])
def test_a_full_device_is_an_error(loop: Open, format: str) -> None:
    card = loop()
    card.source(0, "gen:size=1514,count=1000")
    card.sink(1, "pcap:/dev/full", format=format)
    with pytest.raises(CardError, match=r"^/dev/full: No space left on device$"):
        card.run()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_a_full_disk_leaves_whole_records(loop: Open, tmp_path: Path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", mount], check=True)
    try:
        card = loop()
        card.source(0, "gen:size=333,count=10000")
        card.sink(1, f"pcap:{mount / 'out.pcap'}")
        with pytest.raises(CardError, match=r"out\.pcap: No space left on device"):
            card.run()
        count = (400 * 1024 - 24) // (333 + 16)
        assert card.written(1) == FileTotals(count, 333 * count, 333 * count)
        card.close_files()
        assert card.written(1).packets == len(records((mount / "out.pcap").read_bytes())) == count
    finally:
        subprocess.run(["umount", mount], check=True)


def test_a_reader_that_goes_away_is_an_error() -> None:
    script = f"""
from headrace.card import Card
with Card.open({str(LOOP)!r}, progress=False) as card:
    card.source(0, "gen:size=1514")
    card.sink(1, "pcap:-")
    try:
        card.run()
    except Exception as error:
        import sys
        print(error, file=sys.stderr)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.read(1000)
        child.stdout.close()
        assert child.stderr.read() == b"standard output: Broken pipe\n"
        assert child.wait(timeout=HANG_S) == 0


def test_an_interrupt_leaves_whole_files(tmp_path: Path) -> None:
    target = tmp_path / "out.pcap"
    script = f"""
import shutil
from headrace.card import Card
with Card.open({str(LOOP)!r}, progress=False) as card:
    card.source(0, "gen:size=60-1514")
    card.sink(1, "pcap:{target}")
    try:
        card.run()
    except KeyboardInterrupt:
        shutil.copy("{target}", "{target}.then")
        print("interrupted", card.run(packets=10).reason)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        until(lambda: target.exists() and target.stat().st_size > 1_000_000, "packets")
        child.send_signal(signal.SIGINT)
        assert child.stdout is not None and child.stdout.read() == b"interrupted packets\n"
        assert child.wait(timeout=HANG_S) == 0
    then, after = (len(records(file.read_bytes())) for file in (tmp_path / "out.pcap.then", target))
    assert 1000 < then < after


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump")
def test_generated_packets_are_valid(loop: Open, tmp_path: Path) -> None:
    """tcpdump finds wrong checksums and lengths."""
    for kind in ("udp", "tcp"):
        target = tmp_path / f"{kind}.pcap"
        card = loop()
        card.source(0, f"gen:size=60-1514,count=200,frame={kind},sport=100,dport=53,src=192.0.2.1,dst=198.51.100.2")
        card.sink(1, f"pcap:{target}")
        card.run()
        card.close()
        match = f"{kind} and src port 100 and dst port 53 and src 192.0.2.1 and dst 198.51.100.2"
        text = subprocess.run(["tcpdump", "-nvvr", target, match], capture_output=True, text=True, check=True).stdout
        assert text.count("192.0.2.1.100 > 198.51.100.2.53") == 200
        assert text.count("[udp sum ok]" if kind == "udp" else "(correct)") == 200, text[:2000]
        for complaint in ("bad cksum", "truncated"):
            assert complaint not in text, text[:2000]


def test_the_same_seed_generates_the_same_packets(loop: Open) -> None:
    def frames(seed: int) -> list[bytes]:
        card = loop()
        card.source(0, f"gen:size=60-1514,count=50,seed={seed}")
        card.sink(1, "memory")
        card.run()
        return [f.data for f in card.received(1)]

    assert frames(1) == frames(1) != frames(2)


def test_imix_is_7_to_4_to_1(loop: Open) -> None:
    card = loop()
    card.source(0, "gen:size=imix,count=36000")
    card.sink(1, "memory")
    card.run()
    sizes = [len(f.data) for f in card.received(1)]
    assert set(sizes) == {60, 590, 1514}
    for size, share in ((60, 7), (590, 4), (1514, 1)):
        assert sizes.count(size) == pytest.approx(3000 * share, rel=0.05)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("gen:size=100-60", "the range is empty"),
        ("gen:size=70000", "0 to 65535"),
        ("gen:colour=red", "unknown key 'colour'; keys are size, count"),
        ("gen:count", "'count' is not KEY=VALUE"),
        ("gen:rate=fast", "'fast' is not a rate"),
        ("gen:src=1.2.3", "must be an IPv4 address"),
        ("gen:frame=icmp", "must be udp, tcp or raw"),
        ("gen:frame=raw,sport=1", "frame=raw has no such field"),
        ("port:9", "no port 9: the card has 3"),
        ("port:x", "port:x is not a port"),
        ("telnet:host", "is not a source: use pcap:FILE, gen:SPEC, port:N or null"),
    ],
)
def test_wrong_links_are_refused_with_what_is_right(loop: Open, link: str, message: str) -> None:
    with pytest.raises(CardError, match=message) as error:
        loop().source(0, link)
    assert error.value.exit_code == 2
