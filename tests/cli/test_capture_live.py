"""``headrace capture`` on live interfaces, with tcpdump beside it on the same packets, and through tshark."""

import fcntl
import itertools
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from network import add_pair, host_behind, ip, numbered, own_network, send, stream, tcp_bytes, wait_for
from patience import HANG_S, hold, until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import RawPcapReader

from headrace.build.models import build_card
from headrace.cli import common, main
from headrace.net import bpf
from headrace.net.netlink import best_interface, interfaces

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())", "capture"]
CORES = 2
HERE, THERE = "hr0", "hr1"

pytestmark = pytest.mark.live


@pytest.fixture(scope="module", autouse=True)
def models() -> None:
    build_card("capture", {"CORES": 0}, progress=False)
    build_card("capture", {"CORES": CORES}, progress=False)


@pytest.fixture(autouse=True)
def cable() -> Iterator[None]:
    with own_network():
        add_pair(HERE, THERE)
        yield


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Starts a capture, and waits until it listens: it then takes every packet."""
    child = subprocess.Popen([*HEADRACE, *map(str, arguments)], stderr=subprocess.PIPE, text=True, **options)
    listens(child)
    return child


def listens(child: subprocess.Popen[str]) -> None:
    """Waits until a program says, as tcpdump does, that it listens."""
    assert child.stderr is not None
    line = child.stderr.readline()
    if not re.match(r"(tcpdump|headrace): listening on \S+, link-type \S+ \(.*\), snapshot length", line):
        raise AssertionError(line + child.communicate()[1])


def counts(child: subprocess.Popen[str]) -> list[int]:
    """What a program, ours or tcpdump, says at SIGUSR1: captured, received by filter, dropped by kernel..."""
    assert child.stderr is not None
    child.send_signal(signal.SIGUSR1)
    line = child.stderr.readline()
    assert re.match(r"(tcpdump|headrace): \d+ packets? captured, \d+ packets? received by filter, ", line), line
    return [int(number) for number in re.findall(r"(\d+) packet", line)]


def finish(
    child: subprocess.Popen[str], come: int | None = None, number: signal.Signals | None = signal.SIGINT
) -> list[str]:
    """Ends a program once so many packets have come, or waits until it ends by itself (``number`` None); gives
    the lines that it wrote on stderr."""
    if come is not None:
        until(lambda: counts(child)[1] >= come, f"{come} packets")
    if number is not None:
        child.send_signal(number)
    return child.communicate(timeout=HANG_S)[1].splitlines()


def untimed(file: Path) -> list[bytes]:
    """A file but for its records' times: its header, then of each record its lengths and its bytes."""
    data = file.read_bytes()
    parts, at = [data[:24]], 24
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        parts.append(data[at + 8 : end])
        at = end
    return parts


def packets(file: Path) -> list[bytes]:
    with RawPcapReader(str(file)) as reader:
        return [data for data, _ in reader]


@pytest.mark.parametrize("expression", ["", "ether[17] & 1 = 1"])
def test_the_file_is_what_tcpdump_writes_beside_it(expression: str, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    command = ["tcpdump", "-i", HERE, "--nano", "-B", "16384", "-Z", "root", "-U", "-w", str(theirs), expression]
    beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    listens(beside)
    cores = ["--cores", CORES, expression] if expression else []
    child = start("-i", f"iface:{HERE}", "--time-stamp-precision", "nano", "-w", ours, *cores)
    send(THERE, numbered(3000))
    lines = finish(child, 3000)
    wanted = 1500 if expression else 3000
    until(lambda: counts(beside)[0] == wanted, "tcpdump")
    finish(beside)
    assert theirs.read_bytes() == ours.read_bytes()
    assert lines == [
        f"{wanted} packets captured",
        "3000 packets received by filter",
        "0 packets dropped by kernel",
        "0 packets dropped by card",
    ]


def test_a_filtered_tcp_stream_of_uncut_segments_is_what_tcpdump_writes_beside_it(tmp_path: Path) -> None:
    """A host with TSO hands its network card segments of up to 64 KB: so the stream is seen on both ends of a cable."""
    ours, theirs, expression = tmp_path / "ours", tmp_path / "theirs", "tcp port 5201 and greater 100"
    ip("addr", "add", "10.9.0.1/24", "dev", HERE)
    with host_behind(THERE, "10.9.0.2/24") as there:
        command = ["tcpdump", "-i", HERE, "--nano", "-B", "131072", "-Z", "root", "-U", "-w", str(theirs), expression]
        beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_for(theirs, 24)
        options = ("--time-stamp-precision", "nano", "-w", ours, "--cores", CORES)
        child = start("-i", f"iface:{HERE}", *options, expression)
        stream("10.9.0.1", 5201, 16, there)
        lines = finish(child)
        until(lambda: tcp_bytes(theirs) >= tcp_bytes(ours), "tcpdump")
        finish(beside)
    assert lines[-2:] == ["0 packets dropped by kernel", "0 packets dropped by card"]
    seen = untimed(ours)  # each socket stamps segments itself
    assert seen == untimed(theirs)[: len(seen)]  # it listened longer: a busy host sends a segment twice now and then
    assert ours.stat().st_size > 16 << 17
    assert max(map(len, packets(ours))) > 30_000


@pytest.mark.parametrize(("linktype", "expression"), [("LINUX_SLL2", "outbound"), ("LINUX_SLL", "inbound")])
def test_all_interfaces_at_once_give_tcpdumps_packets(linktype: str, expression: str, tmp_path: Path) -> None:
    """With what tcpdump chooses unless asked, LINUX_SLL2, and with the other one; both say where a packet went."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    chosen = [] if linktype == "LINUX_SLL2" else ["-y", linktype]
    command = ["tcpdump", "-i", "any", *chosen, "--nano", "-Z", "root", "-U", "-w", str(theirs), expression]
    beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(theirs, 24)
    words = ["-i", "iface:any", *chosen, "--time-stamp-precision", "nano", "-w", ours, "--cores", CORES, expression]
    child = start(*words)
    send(THERE, numbered(200))
    assert finish(child, 400)[:2] == ["200 packets captured", "400 packets received by filter"]
    until(lambda: theirs.stat().st_size >= ours.stat().st_size, "tcpdump")
    finish(beside)
    assert ours.read_bytes()[:24] == theirs.read_bytes()[:24]
    assert sorted(whole_records(ours)) == sorted(whole_records(theirs))  # two sockets may differ in order
    assert bpf.capture_format(ours).linktype == bpf.link_number(linktype)


def whole_records(file: Path) -> list[tuple[object, ...]]:
    with RawPcapReader(str(file)) as reader:
        return [(data, *meta) for data, meta in reader]


def test_an_interface_without_ethernet_headers_gives_tcpdumps_packets(tmp_path: Path) -> None:
    name, set_interface, tun_without_header = "hrtun", 0x400454CA, 0x1001  # linux/if_tun.h
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    with open("/dev/net/tun", "r+b", buffering=0) as other_end:
        fcntl.ioctl(other_end, set_interface, struct.pack("16sH22x", name.encode(), tun_without_header))
        ip("link", "set", name, "up")
        command = ["tcpdump", "-i", name, "--nano", "-Z", "root", "-U", "-w", str(theirs), "udp"]
        beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_for(theirs, 24)
        words = ["-i", f"iface:{name}", "--time-stamp-precision", "nano", "-w", ours, "--cores", CORES, "udp"]
        child = start(*words)
        for number in range(40):
            other_end.write(bytes(IP(dst="10.0.0.2", id=number, proto=17 if number % 2 else 6) / bytes(number)))
        assert finish(child, 40)[:2] == ["20 packets captured", "40 packets received by filter"]
        until(lambda: theirs.stat().st_size >= ours.stat().st_size, "tcpdump")
        finish(beside)
    assert ours.read_bytes() == theirs.read_bytes()
    assert bpf.capture_format(ours).linktype == bpf.link_number("RAW")


def test_what_an_interface_does_not_have_is_refused(tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        command = [*HEADRACE, "-i", f"iface:{HERE}", "-w", str(tmp_path / "out"), "--cores", str(CORES), *words]
        return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False).stderr

    assert "asks for what only Linux knows of a packet" in refused("inbound")
    assert refused("-y", "RAW").endswith("linktype=RAW: RAW is not one of the DLTs supported by this device\n")
    assert refused("-y", "NONE") == "headrace: invalid data link type NONE\n"


@pytest.mark.parametrize("expression", ["", "ether[17] & 1 = 1"])
def test_packets_that_xdp_hands_over_are_captured_out_of_its_memory(expression: str, tmp_path: Path) -> None:
    cores = ["--cores", CORES, expression] if expression else []
    sent = numbered(3000)
    before = time.time_ns()
    child = start("-i", f"xdp:{HERE}", "-w", tmp_path / "out", *cores)
    send(THERE, sent)
    assert finish(child, 3000)[1:] == [
        "3000 packets received by filter",
        "0 packets dropped by kernel",
        "0 packets dropped by card",
    ]
    assert packets(tmp_path / "out") == [packet for packet in sent if not expression or packet[17] & 1]
    seconds = struct.unpack("<I", (tmp_path / "out").read_bytes()[24:28])[0]
    assert before // 10**9 <= seconds <= time.time()


@pytest.mark.parametrize("kind", ["iface", "xdp"])
def test_what_the_kernel_holds_when_a_capture_is_stopped_is_written_and_told(kind: str, tmp_path: Path) -> None:
    sent = numbered(10_000, size=1500)  # more than goes through before the program looks at what it was asked
    child = start("-i", f"{kind}:{HERE}", "-w", tmp_path / "out", "--path", "wire")
    hold(child)
    send(THERE, sent, HERE)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGCONT)
    lines = finish(child, number=None)
    told = re.fullmatch(r"headrace: ([\d,]+) packets are still to go through; Ctrl-C again ends at once", lines[0])
    assert told is not None and 1000 < int(told[1].replace(",", "")) <= 10_000
    assert lines[-4:] == [
        "10000 packets captured",
        "10000 packets received by filter",
        "0 packets dropped by kernel",
        "0 packets dropped by card",
    ]
    assert packets(tmp_path / "out") == sent


@pytest.mark.parametrize("kind", ["iface", "xdp"])
def test_a_second_request_leaves_out_what_the_kernel_holds(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The card stands still while a line is told."""
    sent = numbered(20_000, size=1500)

    def interrupt(line: str) -> None:
        if "listening" in line:
            send(THERE, sent, HERE)
        else:
            assert "are still to go through" in line
            time.sleep(0.6)  # a signal right after the first is the same request
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(common, "tell", interrupt)
    assert main(["capture", "-i", f"{kind}:{HERE}", "-w", str(tmp_path / "out"), "--path", "wire"]) == 0
    captured = packets(tmp_path / "out")
    assert f"{len(captured)} packets captured" in capsys.readouterr().err.splitlines()
    assert captured == sent[: len(captured)] and len(captured) < len(sent)


def test_what_the_kernel_had_no_room_for_is_counted(tmp_path: Path) -> None:
    child = start("-i", f"iface:{HERE},buffer=1", "-w", tmp_path / "out")
    hold(child)
    send(THERE, numbered(3000, size=1000), HERE)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGCONT)
    captured, received, missed, _ = (int(line.split()[0]) for line in finish(child, number=None)[-4:])
    assert captured == received == len(packets(tmp_path / "out")) > 0
    assert missed == 3000 - received > 1000


def test_the_counts_are_shown_while_a_capture_goes_on(tmp_path: Path) -> None:
    """As tcpdump shows them at SIGUSR1; both have told the first 10 packets when the last 10 come."""
    child = start("-i", f"iface:{HERE}", "-w", tmp_path / "out")
    command = ["tcpdump", "-i", HERE, "-Z", "root", "-U", "-w", str(tmp_path / "theirs")]
    beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    listens(beside)
    send(THERE, numbered(10))
    for program in (child, beside):
        until(lambda program=program: counts(program)[:3] == [10, 10, 0], "the counts")  # type: ignore[misc]
    send(THERE, numbered(10))
    assert finish(child, 20)[0] == "20 packets captured"
    finish(beside)


def test_a_capture_that_a_script_starts_in_the_background_ends_with_sigint(tmp_path: Path) -> None:
    """There a shell lets SIGINT be ignored, also by what it starts."""
    child = start(
        "-i", f"iface:{HERE}", "-w", tmp_path / "out", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    send(THERE, numbered(10))
    assert finish(child, 10)[0] == "10 packets captured"
    assert packets(tmp_path / "out") == numbered(10)


def test_a_tap_interface_of_the_card_is_captured_from(tmp_path: Path) -> None:
    child = start("-i", "tap:hrtap", "-c", 50, "-w", tmp_path / "out")
    sent = numbered(60)
    send("hrtap", sent)
    assert finish(child, number=None)[0] == "50 packets captured"
    assert packets(tmp_path / "out") == sent[:50]


@pytest.mark.parametrize(("direction", "size"), [("in", 100), ("out", 200)])
def test_ingress_and_egress_can_be_told_apart(direction: str, size: int, tmp_path: Path) -> None:
    child = start("-i", f"iface:{HERE}", "-Q", direction, "-w", tmp_path / "out")
    incoming, outgoing = numbered(20, 100), numbered(20, 200)
    send(THERE, incoming)
    send(HERE, outgoing)
    finish(child, 20)
    assert packets(tmp_path / "out") == (incoming if direction == "in" else outgoing)


@pytest.mark.parametrize(("expression", "kept"), [("udp", [0]), ("udp or (vlan and udp)", [0, 1])])
def test_a_filter_sees_frames_with_their_tags(expression: str, kept: list[int], tmp_path: Path) -> None:
    """Where Linux takes them off before the card gets the frames."""
    datagram = IP(dst="10.0.0.2") / UDP(dport=9) / bytes(40)
    sent = [bytes(header / datagram) for header in (Ether(), Ether() / Dot1Q(vlan=7))]
    child = start("-i", f"iface:{HERE}", "-w", tmp_path / "out", "--cores", CORES, expression)
    send(THERE, sent)
    finish(child, 2)
    assert packets(tmp_path / "out") == [sent[number] for number in kept]


def test_a_capture_ends_by_itself_after_so_many_packets(tmp_path: Path) -> None:
    child = start("-i", f"iface:{HERE}", "-c", 10, "-w", tmp_path / "out")
    send(THERE, numbered(25))
    assert finish(child, number=None)[0] == "10 packets captured"
    assert child.returncode == 0
    assert packets(tmp_path / "out") == numbered(25)[:10]


def test_time_begins_new_files_with_tcpdumps_names(tmp_path: Path) -> None:
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()
    options = ["-G", "1", "-W", "3", "-w"]
    command = ["tcpdump", "-i", HERE, "-Z", "root", *options, str(tmp_path / "theirs/%s")]
    beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    listens(beside)
    child = start("-i", f"iface:{HERE}", *options, str(tmp_path / "ours/%s"))
    sent = 0
    while child.poll() is None or beside.poll() is None:
        send(THERE, [sent.to_bytes(60, "big")])
        sent += 1
        time.sleep(0.1)
    assert (child.wait(), beside.wait()) == (0, 0)
    for folder in ("ours", "theirs"):
        begun = sorted(int(file.name) for file in (tmp_path / folder).iterdir())
        assert len(begun) == 3 and all(later > sooner for sooner, later in itertools.pairwise(begun))
        captured = [packets(tmp_path / folder / str(at)) for at in begun]
        numbers = [int.from_bytes(data, "big") for file in captured for data in file]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    for at in (tmp_path / "ours").iterdir():
        with RawPcapReader(str(at)) as reader:
            assert all(meta.sec == int(at.name) for _, meta in reader)


def test_an_interface_that_vanishes_ends_the_capture_with_everything_in_the_file(tmp_path: Path) -> None:
    child = start("-i", f"iface:{HERE}", "-w", tmp_path / "out")
    send(THERE, numbered(100))
    until(lambda: counts(child)[1] == 100, "the packets")
    ip("link", "del", HERE)
    lines = finish(child, number=None)
    assert child.returncode == 1
    assert lines[0] == "100 packets captured"
    assert re.match(rf"headrace: iface:{HERE}: ", lines[-1])
    assert packets(tmp_path / "out") == numbered(100)


@pytest.mark.parametrize("kind", ["iface", "xdp"])
def test_an_interface_that_is_not_there_is_named(kind: str, tmp_path: Path) -> None:
    command = [*HEADRACE, "-i", f"{kind}:nosuch", "-w", str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, f"headrace: {kind}:nosuch: no such interface\n")


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
@pytest.mark.parametrize("kind", ["iface", "xdp", "tap"])
def test_who_may_not_capture_is_told_so(kind: str, tmp_path: Path) -> None:
    without = ["setpriv", "--bounding-set", "-net_raw,-net_admin,-bpf,-sys_admin"]
    command = [*without, *HEADRACE, "-i", f"{kind}:{HERE if kind != 'tap' else 'hrtap'}", "-w", str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert re.fullmatch(rf"headrace: {kind}:\w+: .*(not permitted|[Pp]ermission).*\n", result.stderr)


def test_rights_are_dropped_once_the_interface_is_open(open_folder: Path) -> None:
    theirs = open_folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    child = start("-i", f"iface:{HERE}", "-Z", "nobody", "-w", theirs / "out")
    assert f"Uid:\t{65534}\t{65534}" in Path(f"/proc/{child.pid}/status").read_text()
    send(THERE, numbered(10))
    assert finish(child, 10)[0] == "10 packets captured"
    assert (theirs / "out").stat().st_uid == 65534


def test_the_interfaces_to_choose_from_are_those_of_the_network_namespace() -> None:
    found = interfaces()
    assert {one.name: (one.up, one.loopback) for one in found if not one.name.startswith(("ifb", "sit"))} == {
        HERE: (True, False),
        THERE: (True, False),
        "lo": (False, True),
    }
    assert best_interface(found) == found[0]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
@pytest.mark.parametrize(("card", "cores"), [("filter", 8), ("capture", CORES)])
def test_tshark_captures_live_through_the_card(
    card: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headrace.cache import cache_root
    from headrace.extcap.install import install

    build_card(card, {"CORES": cores}, progress=False)
    monkeypatch.setenv("HEADRACE_CACHE", str(cache_root()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    install()
    options = ["-o", f"extcap.headrace_{card}.cores:{cores}"]  # without a source: from the first interface that is up
    command = ["tshark", "-i", f"headrace-{card}", "-f", "ether[17] & 1 = 1", "-c", "10", *options]
    child = subprocess.Popen([*command, "-w", str(tmp_path / "out"), "-F", "pcap"], stderr=subprocess.PIPE, text=True)
    sent = numbered(20000)
    for at in range(0, len(sent), 40):
        send(THERE, sent[at : at + 40])
        time.sleep(0.1)
        if child.poll() is not None:
            break
    finish(child, number=None)
    assert child.returncode == 0
    numbers = [int.from_bytes(data[14:18], "big") for data in packets(tmp_path / "out")]
    assert numbers == list(range(numbers[0], numbers[0] + 20, 2))
    assert numbers[0] % 2 == 1
