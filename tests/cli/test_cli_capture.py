"""``headrace capture`` as a user runs it: real files, the real card, tcpdump and tshark beside it."""

import json
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from oracle import Packet, make_capture, random_packets
from patience import HANG_S, until
from scapy.utils import RawPcapNgReader, RawPcapReader

from headrace.build.models import build_card
from headrace.cards.capture import run as capture_run
from headrace.cli import main
from headrace.net import bpf

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]
CORES = "2"
PARAMETERS = {"MEM_W": 32, "PACKET_KB": 32, "MAX_FRAME": 9216}
SMALL = ["--cores", CORES, *(word for name, value in PARAMETERS.items() for word in ("-P", f"{name}={value}"))]
MICRO, NANO = 0xA1B2C3D4, 0xA1B23C4D
root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture(scope="module", autouse=True)
def models() -> None:
    build_card("capture", {"CORES": 0}, progress=False)
    for parameters in ({}, PARAMETERS):
        build_card("capture", {"CORES": int(CORES), **parameters}, progress=False)


@pytest.fixture(scope="module")
def packets() -> list[Packet]:
    return random_packets(seed=31, count=500)


@pytest.fixture
def capture(tmp_path: Path, packets: list[Packet]) -> Path:
    return make_capture(tmp_path / "in.pcap", packets)


def tcpdump(capture: Path, *options: str) -> bytes:
    """The file that tcpdump writes."""
    out = capture.with_suffix(".tcpdump")
    subprocess.run(["tcpdump", "-r", str(capture), "-w", str(out), *options], capture_output=True, check=True)
    return out.read_bytes()


def run(*arguments: object) -> int:
    return main(["capture", *map(str, arguments)])


def records(path: Path) -> list[tuple[bytes, int]]:
    """Bytes and length on the wire of each packet."""
    with RawPcapReader(str(path)) as reader:
        return [(data, meta.wirelen) for data, meta in reader]


# Files


@pytest.mark.parametrize("way", ["memory", "wire"])
@pytest.mark.parametrize("precision", ["micro", "nano"])
@pytest.mark.parametrize("nanosecond", [False, True])
def test_a_copy_is_tcpdumps_file(
    way: str, precision: str, nanosecond: bool, packets: list[Packet], tmp_path: Path
) -> None:
    capture = make_capture(tmp_path / "in", packets, nanosecond=nanosecond, snaplen=9999)
    out = tmp_path / "out"
    assert run("-i", capture, "-w", out, "--path", way, "--time-stamp-precision", precision) == 0
    assert out.read_bytes() == tcpdump(capture, f"--time-stamp-precision={precision}")


def odd_times(magic: int, order: str) -> list[tuple[int, int]]:
    """Seconds and fractions as only a file has them: of a second and more, and beside them those that say the same."""
    second = 10**9 if magic == NANO else 10**6
    fractions = (0, second - 1, second, 3 * second + 7, 2**31, 2**32 - 1)
    times = [(seconds, fraction) for seconds in (0, 1, 2, 5, 6, 2**31, 2**32 - 1) for fraction in fractions]
    random.Random(f"{magic}{order}").shuffle(times)
    return times * 3


def pcap_of(times: list[tuple[int, int]], magic: int, order: str) -> bytes:
    """Of packets whose last bit says whether their number is odd."""
    packet = struct.Struct(order + "IIII")
    body = (packet.pack(*time, 60, 60) + bytes(59) + bytes([n & 1]) for n, time in enumerate(times))
    return struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, 1) + b"".join(body)


def pcapng_of(ticks: list[int], resolution: int, offset: int) -> bytes:
    """Of the same packets, at so many ticks of 10 ** -resolution s since ``offset``."""

    def block(kind: int, body: bytes) -> bytes:
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    options = struct.pack("<HHBxxxHHqHH", 9, 1, resolution, 14, 8, offset, 0, 0)
    blocks = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    blocks.append(block(1, struct.pack("<HHI", 1, 0, 262144) + options))
    for n, tick in enumerate(ticks):
        header = struct.pack("<IIIII", 0, tick >> 32, tick & 0xFFFF_FFFF, 60, 60)
        blocks.append(block(6, header + bytes(59) + bytes([n & 1])))
    return b"".join(blocks)


ODD = "ether[59] & 1 = 1"
FILES: dict[str, Callable[[], bytes]] = {
    "micro little": lambda: pcap_of(odd_times(MICRO, "<"), MICRO, "<"),
    "micro big": lambda: pcap_of(odd_times(MICRO, ">"), MICRO, ">"),
    "nano little": lambda: pcap_of(odd_times(NANO, "<"), NANO, "<"),
    "nano big": lambda: pcap_of(odd_times(NANO, ">"), NANO, ">"),
    "pcapng, seconds": lambda: pcapng_of([0, 5, 2**31, 2**32, 2**33, 2**34, 2**40] * 2, 0, 0),
    "pcapng, before the epoch": lambda: pcapng_of([0, 999, 10**9, 7 * 10**9] * 2, 9, -5),
}


@pytest.mark.parametrize("way", ["memory", "wire"])
@pytest.mark.parametrize("precision", ["micro", "nano"])
@pytest.mark.parametrize("file", FILES)
def test_times_that_only_a_file_has_are_tcpdumps(file: str, precision: str, way: str, tmp_path: Path) -> None:
    capture, out = tmp_path / "in", tmp_path / "out"
    capture.write_bytes(FILES[file]())
    as_precise = f"--time-stamp-precision={precision}"
    assert run("-q", "-i", capture, "-w", out, "--path", way, as_precise) == 0
    assert out.read_bytes() == tcpdump(capture, as_precise)
    assert run("-q", "-i", capture, "-w", out, "--path", way, as_precise, "--cores", CORES, *ODD.split()) == 0
    assert out.read_bytes() == tcpdump(capture, as_precise, ODD)


@pytest.mark.parametrize("way", ["memory", "wire"])
@pytest.mark.parametrize("magic", [MICRO, NANO])
def test_pcapng_has_such_times_as_sums(magic: int, way: str, tmp_path: Path) -> None:
    capture, out = tmp_path / "in", tmp_path / "out.pcapng"
    times = odd_times(magic, "<")
    capture.write_bytes(pcap_of(times, magic, "<"))
    assert run("-q", "-i", capture, "-w", out, "--format", "pcapng", "--path", way) == 0
    unit = 1 if magic == NANO else 1000
    with RawPcapNgReader(str(out)) as reader:
        got = [(meta.tshigh << 32) + meta.tslow for _, meta in reader]
    assert got == [seconds * 10**9 + fraction * unit for seconds, fraction in times]


@pytest.mark.parametrize("way", ["memory", "wire"])
def test_a_time_that_pcapng_cannot_have_is_told(way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture, out = tmp_path / "in", tmp_path / "out.pcapng"
    capture.write_bytes(pcapng_of([5, 2**34, 2**35, 7], 0, 0))
    assert run("-q", "-i", capture, "-w", out, "--format", "pcapng", "--path", way) == 1
    assert f"{out}: a packet of second {2**35} is too late for pcapng's times" in capsys.readouterr().err
    assert len(records(out)) == 2


@pytest.mark.parametrize("way", ["memory", "wire"])
def test_times_may_be_the_cards(way: str, capture: Path, tmp_path: Path) -> None:
    options = ["--timestamps", "card", "--time-stamp-precision", "nano", "--path", way]
    assert run("-q", "-i", capture, "-w", tmp_path / "out", *options) == 0
    with RawPcapReader(str(tmp_path / "out")) as reader:
        times = [meta.sec * 10**9 + meta.usec for _, meta in reader]
    assert times == sorted(times) and times[0] > 0 and times[-1] < 10**9  # since the card's begin


@pytest.mark.parametrize("way", ["memory", "wire"])
def test_a_copy_says_how_long_the_fcs_is(way: str, capture: Path, tmp_path: Path) -> None:
    with capture.open("r+b") as file:
        file.seek(20)
        file.write((1 | 0x2400_0000).to_bytes(4, "little"))  # Ethernet with an FCS of 4 bytes
    assert run("-i", capture, "-w", tmp_path / "out", "--path", way) == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture)


@pytest.mark.parametrize("way", ["memory", "wire"])
def test_a_filter_gives_tcpdumps_file(way: str, capture: Path, tmp_path: Path) -> None:
    expression = ["tcp", "and", "not", "port", "80"]
    assert run("-i", f"pcap:{capture}", "-w", tmp_path / "out", "--path", way, "--cores", CORES, *expression) == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, *expression)


@pytest.mark.parametrize("way", ["memory", "wire"])
@pytest.mark.parametrize("expression", ["", "greater 1", "len = 0", "less 60"])
def test_records_that_say_they_had_no_bytes_are_tcpdumps(way: str, expression: str, tmp_path: Path) -> None:
    """Only its original length tells such a record from one that is whole."""
    packets = [(b"\x02" * 12 + b"\x08\x00" + bytes([n]) * 50, wire) for n, wire in enumerate((0, 64, 0, 1500, 63))]
    capture = tmp_path / "in.pcap"
    body = b"".join(struct.pack("<IIII", 1, n, len(data), wire) + data for n, (data, wire) in enumerate(packets))
    capture.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + body)
    words = expression.split()
    cores = ["--cores", CORES] if words else []
    assert run("-q", "-i", capture, "--path", way, "-w", tmp_path / "out", *cores, *words) == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, *words)
    filtered = ["filter", "-q", expression, capture, "-w", tmp_path / "filtered"]
    assert main([str(word) for word in filtered]) == 0
    assert (tmp_path / "filtered").read_bytes() == tcpdump(capture, *words)


@pytest.mark.parametrize("way", ["memory", "wire"])
@pytest.mark.parametrize("expression", [[], ["tcp"]])
def test_segments_as_the_loopback_interface_has_them_are_tcpdumps(
    way: str, expression: list[str], tmp_path: Path
) -> None:
    """TCP of one host to itself: IP packets of up to 65,535 bytes behind 14 of Ethernet, and some more with tags."""
    sizes = [65_535, 65_536, 65_549, 65_600, 54, 65_549, 65_483, 66] * 3
    header = bytes(12) + b"\x08\x00\x45" + bytes(8) + b"\x06"  # IPv4, TCP
    packets = [Packet(header + os.urandom(size - len(header)), size, 10**18 + n) for n, size in enumerate(sizes)]
    capture = make_capture(tmp_path / "in.pcap", packets)
    cores = ["--cores", CORES] if expression else []
    assert run("-i", capture, "-w", tmp_path / "out", "--path", way, *cores, *expression) == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, *expression)
    assert len(records(tmp_path / "out")) == len(sizes)


def long_packets(path: Path) -> Path:
    """Two are longer than the card takes."""
    packets = [Packet(os.urandom(size), size, 10**18 + n) for n, size in enumerate((65_601, 65_600, 70_000, 60))]
    return make_capture(path, packets)


def test_frames_of_more_than_65600_bytes_are_told_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture, report = long_packets(tmp_path / "in.pcap"), tmp_path / "report"
    assert run("-q", "-i", capture, "-w", tmp_path / "out", "--path", "wire", "--json", report) == 1
    words = "2 packets are longer than 65,600 bytes and were not captured"
    assert capsys.readouterr().err == f"headrace: {words}\n"
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, "less", "65600")
    told = json.loads(report.read_text())
    assert (told["captured"], told["dropped"]["oversize"], told["fault"]) == (2, 2, words)
    assert run("-q", "-i", capture, "--path", "wire", "--rate", "line") == 0
    assert capsys.readouterr().err == f"headrace: warning: {words}\n"


def test_packets_of_more_than_65600_bytes_in_host_memory_are_told_and_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = long_packets(tmp_path / "in.pcap")
    assert run("-q", "-i", capture, "-w", tmp_path / "out") == 1
    words = "2 packets are longer than 65,600 bytes, of which no more were captured"
    assert capsys.readouterr().err == f"headrace: {words}\n"
    given = records(capture)
    assert records(tmp_path / "out") == [(data[:65_600], wire) for data, wire in given]


def test_of_packets_of_more_than_65600_bytes_nothing_is_told_where_no_more_is_wanted(tmp_path: Path) -> None:
    capture = long_packets(tmp_path / "in.pcap")
    assert run("-q", "-i", capture, "-w", tmp_path / "out", "-s", 65_600) == 0
    assert run("-q", "-i", capture, "-w", tmp_path / "out", "--cores", CORES, "less", "65600") == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, "less", "65600")
    cut = make_capture(tmp_path / "cut.pcap", [Packet(bytes(65_600), 65_601, 10**18)])
    assert run("-q", "-i", cut, "-w", tmp_path / "out") == 0


def test_a_filter_may_be_in_a_file(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "filter").write_text("udp # only\n")
    assert run("-i", capture, "-w", tmp_path / "out", "-F", tmp_path / "filter", "--cores", CORES) == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, "udp")


@pytest.mark.parametrize("way", ["memory", "wire"])
@pytest.mark.parametrize(("snaplen", "expression"), [(40, []), (40, ["ip"]), (20, ["tcp", "port", "80"])], ids=str)
def test_packets_are_cut_to_the_snaplen(
    way: str, snaplen: int, expression: list[str], capture: Path, packets: list[Packet], tmp_path: Path
) -> None:
    """The filter reads beyond what is kept of a packet."""
    out = tmp_path / "out"
    assert run("-i", capture, "-w", out, "-s", snaplen, "--path", way, "--cores", CORES, *expression) == 0
    program = bpf.compile(" ".join(expression))
    verdicts = bpf.run_many(program, ((p.data, p.wirelen) for p in packets))
    kept = [(p.data[:snaplen], p.wirelen) for p, taken in zip(packets, verdicts, strict=True) if taken]
    assert records(out) == kept and kept
    assert bpf.capture_format(out)[:2] == (bpf.DLT_EN10MB, snaplen)


@pytest.mark.parametrize("way", ["memory", "wire"])
def test_packets_whose_program_takes_all_the_time_that_it_may_are_waited_for(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = make_capture(tmp_path / "in.pcap", [Packet(bytes(60), 60, 10**18)] * 150)
    (tmp_path / "loop").write_text("2\n5 0 0 4294967295\n6 0 0 262144\n")
    assert (
        run("-i", capture, "-F", tmp_path / "loop", "--cores", CORES, "--path", way, "--json", tmp_path / "json") == 1
    )
    assert "150 runs were stopped by the instruction budget" in capsys.readouterr().err
    report = json.loads((tmp_path / "json").read_text())
    assert (report["received"], report["rejected"], report["missing"]) == (150, 150, 0)


def test_a_small_ring_loses_nothing(capture: Path, tmp_path: Path) -> None:
    assert run("-i", capture, "-w", tmp_path / "out", "-B", 16, "-q") == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture)


def test_pcapng_says_where_packets_come_from(capture: Path, packets: list[Packet], tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    assert run("-i", capture, "-w", out, "--cores", CORES, "ip", "or", "arp") == 0
    fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.interface_name"]
    shown = subprocess.run(["tshark", "-r", str(out), *fields], capture_output=True, text=True, check=True).stdout
    verdicts = bpf.run_many(bpf.compile("ip or arp"), ((p.data, p.wirelen) for p in packets))
    assert shown.splitlines() == [
        f"{p.time_ns // 10**9}.{p.time_ns % 10**9 // 1000:06}000\t{min(p.wirelen, 2**31 - 1)}\tpcap:{capture}"
        for p, taken in zip(packets, verdicts, strict=True)
        if taken
    ]
    infos = subprocess.run(["capinfos", str(out)], capture_output=True, text=True, check=True).stdout
    assert "Filter string = ip or arp" in infos


def test_files_of_a_size_have_tcpdumps_names(capture: Path, tmp_path: Path) -> None:
    packets = random_packets(seed=32, count=2000)
    big = make_capture(tmp_path / "big", packets)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    options = ["-C", "1", "-W", "12", "-c", "1800"]
    command = ["tcpdump", "-r", str(big), "-Z", "root", "-w", str(tmp_path / "theirs/out"), *options]
    subprocess.run(command, capture_output=True, check=True)
    assert run("-i", big, "-w", tmp_path / "ours/out", *options) == 0
    written = [{file.name: file.read_bytes() for file in (tmp_path / d).iterdir()} for d in ("ours", "theirs")]
    assert written[0] == written[1]
    assert len(written[0]) > 1


def test_generated_packets_are_captured_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-i", "gen:count=300,size=60-1514,dport=53", "-w", tmp_path / "out") == 0
    assert capsys.readouterr().err.splitlines() == [
        "300 packets captured",
        "300 packets received by filter",
        "0 packets dropped by card",
    ]
    shown = subprocess.run(["tcpdump", "-nr", str(tmp_path / "out"), "udp port 53"], capture_output=True, check=True)
    assert len(shown.stdout.splitlines()) == 300


def test_what_is_not_written_is_counted(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-i", capture, "--cores", CORES, "--json", "-", "tcp") == 0
    report = json.loads(capsys.readouterr().out)
    matching = len(tcpdump_lines(capture, "tcp"))
    assert (report["captured"], report["received"], report["rejected"]) == (matching, 500, 500 - matching)
    assert (report["files"], report["missing"], report["fault"], report["unwritten"]) == ([], 0, None, 0)
    assert set(report["dropped"].values()) == {0}


@pytest.mark.parametrize("way", ["memory", "wire"])
def test_what_comes_after_the_last_packet_that_is_wanted_is_counted(
    way: str, capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("-i", capture, "-c", 7, "--path", way, "--json", "-") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["captured"], report["missing"], report["fault"]) == (7, 0, None)
    assert report["unwritten"] == report["received"] - 7 > 0


def tcpdump_lines(capture: Path, *arguments: str) -> list[str]:
    shown = subprocess.run(["tcpdump", "-nr", str(capture), *arguments], capture_output=True, text=True, check=True)
    return shown.stdout.splitlines()


def test_frames_that_the_wire_brings_too_fast_are_dropped_by_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.pcapng"
    arguments = ["-i", "gen:count=700,size=1514", "-B", "64", "-w", out, *SMALL, "len >= 60"]
    assert run(*arguments, "--rate", "line") == 0
    captured, received, dropped = capsys.readouterr().err.splitlines()
    match = re.fullmatch(r"(\d+) packets dropped by card: (.*)", dropped)
    assert match is not None
    assert (received, int(match[1])) == ("700 packets received by filter", 700 - int(captured.split()[0]))
    assert sum(int(cause.split()[0]) for cause in match[2].split(", ")) == int(match[1])
    assert len(records(out)) == int(captured.split()[0]) > 0
    data = out.read_bytes()
    before_packets = re.findall(rb"\x04\0\x08\0(.{4})\0{8}", data, re.DOTALL)  # epb_dropcount, opt_endofopt
    assert 0 < sum(int.from_bytes(count, "little") for count in before_packets) <= int(match[1])
    assert struct.pack("<HHQHHQ", 4, 8, 700, 5, 8, int(match[1])) in data[-100:]  # isb_ifrecv, isb_ifdrop
    assert run(*arguments) == 0
    assert capsys.readouterr().err.splitlines()[2] == "0 packets dropped by card"


# Pipes and signals


def test_standard_input_and_output(capture: Path) -> None:
    command = [*HEADRACE, "capture", "-i", "-", "-w", "-", "-q", "--cores", CORES, "tcp"]
    result = subprocess.run(command, input=capture.read_bytes(), capture_output=True, check=True)
    assert result.stdout == tcpdump(capture, "tcp")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_capture_with_everything_in_the_file(number: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [*HEADRACE, "capture", "-i", "gen:size=60-1514", "-w", str(out)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    until(lambda: out.exists() and out.stat().st_size > 1_000_000, "packets")
    child.send_signal(number)
    _, err = child.communicate(timeout=HANG_S)
    assert child.returncode == 0
    captured = int(err.split()[0])
    assert err.splitlines()[1] == f"{captured} packets received by filter"
    assert len(records(out)) == captured


def test_each_packet_is_written_at_once_if_wanted(tmp_path: Path, packets: list[Packet]) -> None:
    out = tmp_path / "out"
    data = make_capture(tmp_path / "in", packets[:20]).read_bytes()
    child = subprocess.Popen([*HEADRACE, "capture", "-i", "-", "-w", str(out), "-U"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write(data)
    child.stdin.flush()
    until(lambda: out.exists() and out.read_bytes() == data, "the packets while the capture goes on")
    child.stdin.close()
    assert child.wait(timeout=HANG_S) == 0


@root
def test_root_becomes_another_user_before_the_file_is_opened(open_folder: Path, capture: Path) -> None:
    theirs = open_folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    command = [*HEADRACE, "capture", "-i", str(capture), "-Z", "nobody", "-w"]
    assert subprocess.run([*command, str(theirs / "out")], check=False).returncode == 0
    assert (theirs / "out").stat().st_uid == 65534
    refused = subprocess.run([*command, str(open_folder / "out")], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (1, f"headrace: {open_folder}/out: Permission denied\n")


# What goes wrong


@pytest.mark.parametrize(("format", "least"), [("pcap", 76), ("pcapng", 92)])
def test_captured_are_the_packets_that_a_full_disk_has_taken(
    format: str, least: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The room isn't a multiple of the record's size, nor of the buffers that are written at a time."""
    room, out, report = 1_000_003, tmp_path / "out", tmp_path / "report.json"
    words = ["-i", "gen:size=60,count=20000", "-w", str(out), "--format", format, "--json", str(report)]
    command = [*HEADRACE, "capture", *words]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))  # noqa: E731
    result = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
    listed = subprocess.run(["tcpdump", "-nr", str(out)], capture_output=True, text=True, check=True).stdout
    there = len(listed.splitlines())
    assert room - least - 200 < least * there < room
    data = json.loads(report.read_text())
    assert result.returncode == 1 and result.stderr.splitlines()[0] == f"{there} packets captured"
    assert (data["captured"], data["captured_bytes"], data["wire_bytes"]) == (there, 60 * there, 60 * there)
    assert data["fault"] == f"{out}: File too large" and data["missing"] == 0


def test_a_full_disk_ends_the_capture(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-i", capture, "-w", "/dev/full", "-q") == 1
    assert capsys.readouterr().err == "headrace: /dev/full: No space left on device\n"


@pytest.mark.parametrize("way", ["memory", "wire"])
def test_what_a_full_disk_leaves_out_is_counted(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host looks into the ring when that is half full, however long it takes until then."""
    monkeypatch.setattr(capture_run, "_SLICE_S", 1000.0)
    capture = make_capture(tmp_path / "in.pcap", [Packet(bytes(60), 60, 10**18)] * 9000)
    assert run("-i", capture, "-w", "/dev/full", "-B", 512, "--path", way, "--json", tmp_path / "json") == 1
    report = json.loads((tmp_path / "json").read_text())
    assert 3000 < report["received"] < 9000
    assert capsys.readouterr().err.splitlines() == [
        "0 packets captured",
        f"{report['received']} packets received by filter",
        "0 packets dropped by card",
        f"{report['received']} packets captured but not written",
        "headrace: /dev/full: No space left on device",
    ]


@pytest.mark.parametrize("way", ["memory", "wire"])
def test_a_broken_capture_is_named_and_everything_before_the_fault_is_written(
    way: str, capture: Path, packets: list[Packet], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture.write_bytes(capture.read_bytes()[:-7])
    assert run("-i", capture, "-w", tmp_path / "out", "--path", way, "-q") == 1
    told = rf"headrace: {capture}: packet 500 at byte \d+: truncated dump file.*\n"
    assert re.fullmatch(told, capsys.readouterr().err)
    assert (tmp_path / "out").read_bytes() == make_capture(tmp_path / "expected", packets[:-1]).read_bytes()


def test_packets_that_are_longer_than_the_ring_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lengths = [100, 4096 - 16, 4096 - 15, 100]
    capture = make_capture(tmp_path / "in", [Packet(bytes(n), n, 10**18) for n in lengths])
    assert run("-i", capture, "-w", tmp_path / "out", "-B", 3) == 1
    assert [len(data) for data, _ in records(tmp_path / "out")] == [100, 4096 - 16, 100]
    assert capsys.readouterr().err.splitlines()[2:] == [
        "1 packet dropped by card: 1 too long",
        "headrace: 1 packets are longer than the ring of 4,096 bytes: use a larger -B",
    ]


def test_packets_that_are_too_long_for_the_filter_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = make_capture(tmp_path / "in", [Packet(bytes(n), n, 10**18) for n in (60, 9217, 9216)])
    assert run("-i", capture, "-w", tmp_path / "out", *SMALL, "len >= 60") == 1
    assert [len(data) for data, _ in records(tmp_path / "out")] == [60, 9216]
    assert capsys.readouterr().err.splitlines()[2:] == [
        "1 packet dropped by card: 1 not inspected",
        "headrace: 1 packets are longer than 9,216 bytes and were not inspected: "
        "use -P MAX_FRAME=131071 -P PACKET_KB=256",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "-i SOURCE is missing: such as -i eth0, or -r FILE; headrace capture -D lists interfaces"),
        (["-i", "none.pcap"], 1, "none.pcap: No such file or directory"),
        (["-i", "eth:x"], 2, "eth:x: no source: use a file, or one of pcap:, gen:, iface:, xdp:, tap:"),
        (["-i", "IN", "tcp", "prt"], 2, "can't parse filter expression: syntax error"),
        (["-i", "IN", "-F", "x", "tcp"], 2, "tcp: the filter is in x"),
        (["-i", "IN", "-w", "IN"], 2, "IN: the capture's source is the same file"),
        (["-i", "IN", "-w", "missing/out"], 1, "missing/out: No such file or directory"),
        (["-i", "IN", "-C", "1"], 2, "-C and -G need -w FILE"),
        (["-i", "IN", "-w", "-", "-G", "1"], 2, "-C and -G need -w FILE"),
        (["-i", "IN", "-w", "x", "-W", "2"], 2, "-W needs -C or -G"),
        (["-i", "IN", "-w", "-", "--json", "-"], 2, "only one output can be -, the standard output"),
        (["-i", "IN", "-Q", "up"], 2, "-Q up: none of in, out, inout"),
        (["-i", "IN", "--path", "air"], 2, "--path air: none of wire, memory"),
        (["-i", "IN", "-Q", "in"], 2, "-Q in: pcap:IN does not know directions"),
        (["-i", "IN", "--time-stamp-precision", "pico"], 2, "--time-stamp-precision pico: none of micro, nano"),
        (["-i", "IN", "--format", "csv"], 2, "--format csv: none of pcap, pcapng"),
        (["-i", "IN", "--cores", "2", "-Z", "nosuchuser"], 1, "-Z nosuchuser: no such user"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], code: int, message: str, capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "-Z" in arguments and os.geteuid() != 0:
        pytest.skip("-Z is for root")
    assert run(*(capture if word == "IN" else word for word in arguments)) == code
    assert capsys.readouterr().err == f"headrace: {message}\n".replace("IN", str(capture))


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_source_by_another_name_is_not_written_to(
    link: Callable[[Path, Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make_capture(tmp_path / "in", [Packet(bytes(60), 60, 10**18)])
    before = source.read_bytes()
    link(source, tmp_path / "other")
    assert run("-i", source, "-w", tmp_path / "other") == 2
    assert main(["filter", "", str(source), "-w", str(tmp_path / "other")]) == 2
    for command in (["link", "run"], ["nic", "run"], ["switch", "run"], ["rpu", "run", "forwarder"]):
        assert main([*command, "--port", f"0=pcap:{source}", "-w", f"1={tmp_path}/other"]) == 2
    assert capsys.readouterr().err.count(": a port's source is the same file\n") == 4
    assert source.read_bytes() == before


def test_a_dump_is_what_tcpdump_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-dd", "udp", "port", "9") == 0
    theirs = subprocess.run(
        ["tcpdump", "-y", "EN10MB", "-dd", "udp port 9"], capture_output=True, text=True, check=True
    )
    assert capsys.readouterr().out == theirs.stdout
