"""``headrace capture`` on live interfaces, with tcpdump beside it on the same packets, and through tshark."""

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

import pytest
from network import add_pair, ip, numbered, own_network, received, send, wait_for, why_not
from scapy.utils import RawPcapReader

from headrace.build import build_card
from headrace.network import best_interface, interfaces

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())", "capture"]
CORES = 2
HERE, THERE = "hr0", "hr1"

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.fixture(scope="module", autouse=True)
def models() -> None:
    build_card("capture", {"CORES": 0}, progress=False)
    build_card("capture", {"CORES": CORES}, progress=False)


@pytest.fixture(autouse=True)
def cable() -> Iterator[None]:
    with own_network():
        add_pair(HERE, THERE)
        yield


def start(*arguments: object) -> subprocess.Popen[str]:
    """Starts a capture, and waits until its file is open: it then takes every packet."""
    words = [str(word) for word in arguments]
    file = Path(words[words.index("-w") + 1])
    child = subprocess.Popen([*HEADRACE, *words], stderr=subprocess.PIPE, text=True)
    wait_for(file, 0)
    return child


def finish(child: subprocess.Popen[str], number: signal.Signals | None = signal.SIGINT) -> list[str]:
    """Ends a program, or waits until it ends by itself; gives the lines that it wrote on stderr."""
    if number is not None:
        time.sleep(0.3)
        child.send_signal(number)
    return child.communicate(timeout=20)[1].splitlines()


def packets(file: Path) -> list[bytes]:
    with RawPcapReader(str(file)) as reader:
        return [data for data, _ in reader]


@pytest.mark.parametrize("expression", ["", "ether[17] & 1 = 1"])
def test_the_file_is_what_tcpdump_writes_beside_it(expression: str, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    command = ["tcpdump", "-i", HERE, "--nano", "-B", "16384", "-Z", "root", "-U", "-w", str(theirs), expression]
    beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(theirs, 24)
    cores = ["--cores", CORES, expression] if expression else []
    child = start("-i", f"iface:{HERE}", "--time-stamp-precision", "nano", "-w", ours, *cores)
    send(THERE, numbered(3000))
    lines = finish(child)
    finish(beside)
    assert theirs.read_bytes() == ours.read_bytes()
    wanted = 1500 if expression else 3000
    assert lines == [
        f"{wanted} packets captured",
        "3000 packets received by filter",
        "0 packets dropped by kernel",
        "0 packets dropped by card",
    ]


@pytest.mark.parametrize("expression", ["", "ether[17] & 1 = 1"])
def test_packets_that_xdp_hands_over_are_captured_out_of_its_memory(expression: str, tmp_path: Path) -> None:
    cores = ["--cores", CORES, expression] if expression else []
    sent = numbered(3000)
    before = time.time_ns()
    child = start("-i", f"xdp:{HERE}", "-w", tmp_path / "out", *cores)
    send(THERE, sent)
    assert finish(child)[1:] == [
        "3000 packets received by filter",
        "0 packets dropped by kernel",
        "0 packets dropped by card",
    ]
    assert packets(tmp_path / "out") == [packet for packet in sent if not expression or packet[17] & 1]
    seconds = struct.unpack("<I", (tmp_path / "out").read_bytes()[24:28])[0]
    assert before // 10**9 <= seconds <= time.time()


@pytest.mark.parametrize("kind", ["iface", "xdp"])
def test_what_the_kernel_holds_when_a_capture_is_stopped_is_written(kind: str, tmp_path: Path) -> None:
    sent = numbered(5000)
    child = start("-i", f"{kind}:{HERE}", "-w", tmp_path / "out")
    send(THERE, sent, pause_every=len(sent))
    child.send_signal(signal.SIGINT)
    came = received(HERE)  # a cable holds little: some may not have come
    assert finish(child, None)[0] == f"{came} packets captured"
    captured = packets(tmp_path / "out")
    assert came == len(captured) > 1000
    assert sorted(set(captured), key=sent.index) == captured


def test_a_tap_interface_of_the_card_is_captured_from(tmp_path: Path) -> None:
    child = start("-i", "tap:hrtap", "-c", 50, "-w", tmp_path / "out")
    sent = numbered(60)
    send("hrtap", sent)
    assert finish(child, None)[0] == "50 packets captured"
    assert packets(tmp_path / "out") == sent[:50]


@pytest.mark.parametrize(("direction", "size"), [("in", 100), ("out", 200)])
def test_ingress_and_egress_can_be_told_apart(direction: str, size: int, tmp_path: Path) -> None:
    child = start("-i", f"iface:{HERE}", "-Q", direction, "-w", tmp_path / "out")
    incoming, outgoing = numbered(20, 100), numbered(20, 200)
    send(THERE, incoming)
    send(HERE, outgoing)
    finish(child)
    assert packets(tmp_path / "out") == (incoming if direction == "in" else outgoing)


def test_a_capture_ends_by_itself_after_so_many_packets(tmp_path: Path) -> None:
    child = start("-i", f"iface:{HERE}", "-c", 10, "-w", tmp_path / "out")
    send(THERE, numbered(25))
    assert finish(child, None)[0] == "10 packets captured"
    assert child.returncode == 0
    assert packets(tmp_path / "out") == numbered(25)[:10]


def test_time_begins_new_files_with_tcpdumps_names(tmp_path: Path) -> None:
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()
    options = ["-G", "1", "-W", "3", "-w"]
    command = ["tcpdump", "-i", HERE, "-Z", "root", *options, str(tmp_path / "theirs/%s")]
    beside = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    child = subprocess.Popen([*HEADRACE, "-i", f"iface:{HERE}", *options, str(tmp_path / "ours/%s")])
    for packet in numbered(60):
        time.sleep(0.1)
        send(THERE, [packet])
        if child.poll() is not None and beside.poll() is not None:
            break
    assert (child.wait(timeout=5), beside.wait(timeout=5)) == (0, 0)
    begun = {folder: sorted(int(file.name) for file in (tmp_path / folder).iterdir()) for folder in ("ours", "theirs")}
    assert len(begun["ours"]) == len(begun["theirs"]) == 3
    assert all(abs(one - other) <= 1 for one, other in zip(begun["ours"], begun["theirs"], strict=True))
    numbers = [int.from_bytes(data[14:18], "big") for at in begun["ours"] for data in packets(tmp_path / f"ours/{at}")]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_an_interface_that_vanishes_ends_the_capture_with_everything_in_the_file(tmp_path: Path) -> None:
    child = start("-i", f"iface:{HERE}", "-w", tmp_path / "out")
    send(THERE, numbered(100))
    time.sleep(0.3)
    ip("link", "del", HERE)
    lines = finish(child, None)
    assert child.returncode == 1
    assert lines[0] == "100 packets captured"
    assert re.match(rf"headrace: iface:{HERE}: ", lines[-1])
    assert packets(tmp_path / "out") == numbered(100)


@pytest.mark.parametrize("kind", ["iface", "xdp"])
def test_an_interface_that_is_not_there_is_named(kind: str, tmp_path: Path) -> None:
    command = [*HEADRACE, "-i", f"{kind}:nosuch", "-w", str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert (result.returncode, result.stderr) == (1, f"headrace: {kind}:nosuch: no such interface\n")


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
@pytest.mark.parametrize("kind", ["iface", "xdp", "tap"])
def test_who_may_not_capture_is_told_so(kind: str, tmp_path: Path) -> None:
    without = ["setpriv", "--bounding-set", "-net_raw,-net_admin,-bpf,-sys_admin"]
    command = [*without, *HEADRACE, "-i", f"{kind}:{HERE if kind != 'tap' else 'hrtap'}", "-w", str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert result.returncode == 1
    assert re.fullmatch(rf"headrace: {kind}:\w+: .*(not permitted|[Pp]ermission).*\n", result.stderr)


def test_rights_are_dropped_once_the_interface_is_open(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    child = start("-i", f"iface:{HERE}", "-Z", "nobody", "-w", theirs / "out")
    assert f"Uid:\t{65534}\t{65534}" in Path(f"/proc/{child.pid}/status").read_text()
    send(THERE, numbered(10))
    assert finish(child)[0] == "10 packets captured"
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
@pytest.mark.parametrize("card", ["filter", "capture"])
def test_tshark_captures_live_through_the_card(card: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.cachedir import cache_root
    from headrace.extcap_install import install

    build_card(card, {"CORES": CORES}, progress=False)
    monkeypatch.setenv("HEADRACE_CACHE", str(cache_root()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    install()
    options = ["-o", f"extcap.headrace_{card}.cores:{CORES}"]  # without a source: from the first interface that is up
    command = ["tshark", "-i", f"headrace-{card}", "-f", "ether[17] & 1 = 1", "-c", "10", *options]
    child = subprocess.Popen([*command, "-w", str(tmp_path / "out"), "-F", "pcap"], stderr=subprocess.PIPE, text=True)
    sent = numbered(20000)
    for at in range(0, len(sent), 40):
        send(THERE, sent[at : at + 40])
        time.sleep(0.1)
        if child.poll() is not None:
            break
    finish(child, None)
    assert child.returncode == 0
    numbers = [int.from_bytes(data[14:18], "big") for data in packets(tmp_path / "out")]
    assert numbers == list(range(numbers[0], numbers[0] + 20, 2))
    assert numbers[0] % 2 == 1
