"""``headrace filter`` and ``measure`` on live links, as a user runs them: the real card, real interfaces, signals."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from called import call
from network import (
    add_pair,
    host_behind,
    ip,
    numbered,
    own_network,
    send,
    stream,
    tcp_bytes,
    wait_for,
)
from oracle import random_packets
from patience import HANG_S, hold, until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from headrace.build.models import build_card
from headrace.net import bpf

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is the oracle"),
]

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]
FILTER = "udp or (tcp[tcpflags] & tcp-ack != 0) or arp"
HEADER = 24  # bytes of a pcap file


@pytest.fixture(autouse=True)
def pair() -> Iterator[None]:
    """card0 and peer0, with a cable between them."""
    build_card("filter", progress=False)
    with own_network():
        add_pair("card0", "peer0")
        yield


def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*HEADRACE, *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options,  # type: ignore[call-overload]
    )


def end(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[str, str]:
    """Ends a live run as a user does. Gives what it said."""
    process.send_signal(number)
    return process.communicate(timeout=HANG_S)


def said_at_sigusr1(process: subprocess.Popen[str], pattern: str) -> int:
    """The number in the line of counts that a program shows then; lines before it are left out."""
    assert process.stderr is not None
    process.send_signal(signal.SIGUSR1)
    for line in iter(process.stderr.readline, ""):
        if found := re.match(pattern, line):
            return int(found[1].replace(",", ""))
    raise AssertionError("the program has ended")


def frames(path: Path) -> list[bytes]:
    """Of a little-endian pcap file that ends with a whole record."""
    data, at, found = path.read_bytes(), HEADER, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        assert at + 16 + length <= len(data)
        found.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return found


def stream_bytes(found: Sequence[bytes]) -> int:
    """Bytes of a TCP stream, one way, that segments (in IPv4 without options, in Ethernet) bring, each counted once."""
    starts = [struct.unpack_from(">I", frame, 38)[0] for frame in found]
    spans = sorted(
        ((start - starts[0] + (1 << 31)) % (1 << 32), len(frame) - 34 - 4 * (frame[46] >> 4))
        for start, frame in zip(starts, found, strict=True)
    )
    total = end = 0
    for start, length in spans:
        total += max(0, start + length - max(start, end))
        end = max(end, start + length)
    return total


def traffic(count: int) -> list[bytes]:
    """Without VLAN tags: Linux takes them off before tcpdump's filter sees a live packet, and puts them on again."""
    some = [p.data for p in random_packets(3, 700) if 60 <= len(p.data) <= 1514]
    some = [data for data in some if data[12:14] not in (b"\x81\x00", b"\x88\xa8")]
    return [some[n % len(some)] for n in range(count)]


@pytest.mark.parametrize(("kind", "count"), [("iface", 8_000), ("xdp", 20_000)])  # XDP's chunks come round again
def test_packets_in_thousands_none_lost_and_none_wrong(tmp_path: Path, kind: str, count: int) -> None:
    """tcpdump stands beside an interface that is copied; what XDP takes away only the sender knows."""
    out, theirs, packets = tmp_path / "out.pcap", tmp_path / "theirs.pcap", traffic(count)
    begin = time.time()
    running = start("filter", FILTER, f"{kind}:card0", "-w", out, "--json", tmp_path / "report.json")
    wait_for(out, HEADER)
    if kind == "iface":
        command = ["tcpdump", "-i", "card0", "-B", "65536", "-U", "-w", theirs, FILTER]
        beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert beside.stderr is not None and any("listening on" in line for line in iter(beside.stderr.readline, ""))
    send("peer0", packets, receiver="card0")
    until(lambda: said_at_sigusr1(running, r"headrace: ([\d,]+) packets, ") == count, "all packets")
    end(running)
    assert running.returncode == 0
    verdicts = bpf.run_many(bpf.compile(FILTER), [(packet, len(packet)) for packet in packets])
    expected = [packet for packet, verdict in zip(packets, verdicts, strict=True) if verdict]
    if kind == "iface":
        captured = r"tcpdump: (\d+) packets? captured, "
        until(lambda: said_at_sigusr1(beside, captured) == len(expected), "tcpdump")
        end(beside)
        assert frames(theirs) == expected
    assert 0.1 * count < len(expected) < 0.9 * count
    assert frames(out) == expected
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["packets"], report["matched"]) == (count, len(expected))
    assert (report["lost"], report["missed"], report["uninspected"], report["fault"]) == (0, 0, 0, None)
    assert int(begin) <= struct.unpack_from("<I", out.read_bytes(), HEADER)[0] <= time.time()


@pytest.mark.parametrize("interface", ["card0", "lo"])
def test_a_tcp_stream_of_uncut_segments_is_what_tcpdump_sees(tmp_path: Path, interface: str) -> None:
    """Hosts with TSO, and loopback, send frames of up to 65,549 bytes, which a network card would cut."""
    ours, theirs, expression = tmp_path / "ours.pcap", tmp_path / "theirs.pcap", "tcp port 5201 and greater 100"
    ip("link", "set", "lo", "up")
    ip("addr", "add", "10.9.0.1/24", "dev", "card0")
    with host_behind("peer0", "10.9.0.2/24") as there:
        command = ["tcpdump", "-i", interface, "-B", "131072", "-Z", "root", "-U", "-w", theirs, expression]
        beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert beside.stderr is not None and any("listening on" in line for line in iter(beside.stderr.readline, ""))
        running = start("filter", expression, f"iface:{interface}", "-w", ours, "--json", tmp_path / "report.json")
        wait_for(ours, HEADER)
        stream("10.9.0.1", 5201, 16, there if interface == "card0" else ())
        end(running)
        until(lambda: tcp_bytes(theirs) >= tcp_bytes(ours), "tcpdump")
        end(beside)
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["missed"], report["uninspected"], report["warnings"], report["fault"]) == (0, 0, [], None)
    seen = frames(ours)
    # Two processors hand their frames to two programs in either order, and a busy host sends a segment twice.
    assert not Counter(seen) - Counter(frames(theirs))
    assert stream_bytes(seen) == stream_bytes(frames(theirs)) > (16 << 17) - 100  # but a last segment
    assert max(map(len, seen)) > (65_535 if interface == "lo" else 30_000)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_live_run_with_its_report_and_code_0(tmp_path: Path, number: int) -> None:
    out = tmp_path / "out.pcapng"
    running = start("filter", "", "iface:card0", "-w", out)
    wait_for(out, 1)
    send("peer0", numbered(10))
    until(lambda: said_at_sigusr1(running, r"headrace: (\d+) packets, ") == 10, "the packets")
    _, said = end(running, number)
    assert running.returncode == 0 and "10 (" in said and "10 matched" in said
    listed = subprocess.run(["tcpdump", "-nqtr", out], capture_output=True, text=True, check=True)
    assert listed.stdout.count("Ethertype") == 10


def test_the_counts_are_shown_while_a_run_goes_on_and_the_background_ends_with_sigint(tmp_path: Path) -> None:
    """A script's shell lets what it starts in the background ignore SIGINT."""
    out = tmp_path / "out.pcap"
    ignore = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    running = start("filter", "ether[17] & 1 = 0", "iface:card0", "-w", out, preexec_fn=ignore)
    assert running.stderr is not None
    assert running.stderr.readline() == (
        "headrace: listening on card0, link-type EN10MB (Ethernet), snapshot length 262144 bytes\n"
    )
    send("peer0", numbered(40))
    counts = r"headrace: \d+ packets, (\d+) matched, 0 missed\n"
    until(lambda: said_at_sigusr1(running, counts) == 20, "the counts")
    _, said = end(running)
    assert running.returncode == 0 and "40 (" in said and frames(out) == numbered(40)[::2]


@pytest.mark.parametrize("again", [False, True])
def test_what_the_kernel_holds_goes_through_unless_it_is_asked_again(again: bool, tmp_path: Path) -> None:
    out, sent = tmp_path / "out.pcap", numbered(20_000 if again else 3000, size=1500)
    running = start("filter", "", "iface:card0", "-w", out)
    wait_for(out, HEADER)
    hold(running)
    send("peer0", sent, receiver="card0")
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGCONT)
    if again:
        assert running.stderr is not None
        assert any("are still to go through" in line for line in iter(running.stderr.readline, ""))
        hold(running)
        time.sleep(0.6)  # a signal right after the first is the same request
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGCONT)
    running.communicate()
    captured = frames(out)
    assert running.returncode == 0 and captured == sent[: len(captured)]
    assert (len(captured) < len(sent)) == again


@pytest.mark.parametrize("kind", ["iface", "xdp"])
def test_filters_see_frames_with_their_tags(kind: str, tmp_path: Path) -> None:
    plain, tagged = tmp_path / "plain.pcap", tmp_path / "tagged.pcap"
    one = bytes(Ether(dst="02:00:00:00:00:01") / IP(dst="10.9.9.9") / UDP(dport=9) / bytes(30))
    other = one[:12] + b"\x81\x00\x00\x07" + one[12:]
    running = start("filter", "udp", f"{kind}:card0", "-w", plain, "--also", "vlan 7 and udp", "-w", tagged)
    wait_for(tagged, HEADER)
    send("peer0", [one, other, one])
    until(lambda: said_at_sigusr1(running, r"headrace: (\d+) packets, ") == 3, "the packets")
    end(running)
    assert (frames(plain), frames(tagged)) == ([one, one], [other])


@pytest.mark.parametrize(("linktype", "number"), [("LINUX_SLL2", 276), ("LINUX_SLL", 113)])
def test_all_interfaces_at_once_have_linuxs_header(linktype: str, number: int, tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    chosen = [] if linktype == "LINUX_SLL2" else ["-y", linktype]
    running = start("filter", "outbound", "iface:any", "-w", out, *chosen)
    wait_for(out, HEADER)
    send("peer0", numbered(50))
    until(lambda: said_at_sigusr1(running, r"headrace: (\d+) packets, ") == 100, "the packets, out of one and into one")
    end(running)
    assert struct.unpack_from("<I", out.read_bytes(), 20)[0] == number
    header = 20 if number == 276 else 16
    assert [frame[header:] for frame in frames(out)] == [frame[14:] for frame in numbered(50)]


@pytest.mark.parametrize("command", [["filter", "ether proto 0x88b5"], ["measure", "size"], ["capture", "-i"]])
def test_an_interface_may_be_called_by_its_name(command: list[str]) -> None:
    running = start(*command, "card0", "-c", "1")
    assert running.stderr is not None
    assert running.stderr.readline().startswith("headrace: listening on card0, link-type EN10MB (Ethernet), ")
    send("peer0", numbered(1))
    assert running.wait() == 0


def test_standard_output_gets_each_packet_at_once() -> None:
    running = start("filter", "", "iface:card0", "-w", "-", "-q", text=False)
    assert running.stdout is not None and len(running.stdout.read(HEADER)) == HEADER
    for packet in numbered(5):
        send("peer0", [packet])
        assert running.stdout.read(16 + len(packet))[16:] == packet  # type: ignore[comparison-overlap]
    end(running)
    assert running.returncode == 0


def test_a_number_of_matches_ends_the_run(tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    running = start("filter", "ether[17] & 1 = 0", "iface:card0", "-c", 7, "-w", out)
    wait_for(out, HEADER)
    send("peer0", numbered(40))
    running.communicate()
    assert running.returncode == 0 and frames(out) == numbered(40)[:14:2]


def test_a_number_of_matches_ends_the_run_that_only_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    counted = call("filter", "", "gen:size=60", "-c", "5")
    assert counted.returncode == 0
    told = re.search(r" 5 wanted; ([\d,]+) matched until the card stopped ", counted.stderr)
    assert told is not None and int(told[1].replace(",", "")) > 5 and counted.stderr.count("matched") == 1
    result = subprocess.run(
        [*HEADRACE, "filter", "tcp", "gen:size=60", "-c", "5", "--also", "udp"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr.strip()) == (
        2,
        "headrace: -c counts the matches of one filter: leave --also out",
    )


def test_an_interface_that_vanishes_is_one_line_and_code_1(tmp_path: Path) -> None:
    out, packets = tmp_path / "out.pcap", numbered(300)
    running = start("filter", "", "iface:card0", "-w", out, "-q")
    wait_for(out, HEADER)
    send("peer0", packets)
    ip("link", "del", "card0")
    _, said = running.communicate()
    assert running.returncode == 1 and said.startswith("headrace: iface:card0: ") and said.count("\n") == 1
    assert frames(out) == packets


@pytest.mark.parametrize("command", ["filter", "measure"])
def test_a_missing_interface_and_missing_rights_are_one_line_and_code_1(command: str) -> None:
    what = "tcp" if command == "filter" else "size"
    for prefix, link, message in (
        ([], "iface:absent", "iface:absent: no such interface"),
        ([], "xdp:absent", "xdp:absent: no such interface"),
        (
            ["setpriv", "--bounding-set", "-all"],
            "iface:card0",
            "iface:card0: not permitted: to capture takes root or CAP_NET_RAW",
        ),
    ):
        result = subprocess.run([*prefix, *HEADRACE, command, what, link], capture_output=True, text=True, check=False)
        assert (result.returncode, result.stderr) == (1, f"headrace: {message}\n")


def test_measure_counts_live_packets_up_to_a_number() -> None:
    running = start("measure", "size", "iface:card0", "-c", 50, "--json", "-")
    until(lambda: send("peer0", numbered(100)) or running.poll() is not None, "50 packets")
    said, _ = running.communicate()
    assert running.returncode == 0 and json.loads(said)["packets"] == 50


def test_measure_ends_with_the_counts_when_it_is_interrupted() -> None:
    running = start("measure", "size", "xdp:card0", "--json", "-")
    links = lambda: subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout  # noqa: E731
    until(lambda: "xdp" in links(), "the program")
    send("peer0", numbered(100))
    until(lambda: said_at_sigusr1(running, r"headrace: (\d+) packets, ") == 100, "the packets")
    said, _ = end(running)
    assert running.returncode == 0 and json.loads(said)["packets"] == 100
    assert "xdp" not in subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout


def test_the_terminal_shows_what_has_come(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    out = tmp_path / "out.pcap"
    running = start("filter", "ether[17] & 1 = 0", "iface:card0", "-w", out, stderr=theirs)
    os.close(theirs)
    wait_for(out, HEADER)
    send("peer0", numbered(40))
    seen = b""
    while b"40 packets, 20 matched" not in seen:
        seen += os.read(ours, 4096)
    running.send_signal(signal.SIGINT)
    while chunk := _read(ours):
        seen += chunk
    os.close(ours)
    assert running.wait() == 0


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # the other end is closed
        return b""
