"""``headrace bridge`` as a user runs it: the real card, real files, a running bridge and its control socket."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from network import add_pair, numbered, own_network, received, send
from oracle import Packet, make_capture
from patience import HANG_S, hold, until
from scapy.utils import RawPcapReader

from headrace.build.models import build_card
from headrace.card import Card
from headrace.cards.bridge import service
from headrace.cards.bridge.blocks import with_crc
from headrace.cards.bridge.driver import BridgeCounters
from headrace.cli import common, main
from headrace.traffic.triangle import read_frame

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module", autouse=True)
def model() -> None:
    build_card("bridge", progress=False)


def run(*arguments: object) -> int:
    return main(["bridge", *map(str, arguments)])


def frames(path: Path) -> list[bytes]:
    with RawPcapReader(str(path)) as reader:
        return [data for data, _ in reader]


def capture(path: Path, count: int = 300, seed: int = 1) -> tuple[Path, list[bytes]]:
    """A file of frames whose last 4 bytes are their CRC-32, at 100 us from each other."""
    rng = random.Random(seed)
    data = [with_crc(rng.randbytes(rng.randint(56, 1510))) for _ in range(count)]
    return make_capture(
        path, [Packet(frame, len(frame), 10**18 + number * 10**5) for number, frame in enumerate(data)]
    ), data


# recv, trace, send


def test_frames_of_another_link_type_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = make_capture(tmp_path / "raw.pcap", [Packet(bytes(40), 40, 10**18)], linktype=101)
    assert run("recv", 64, 10, 10, "--link", f"pcap:{raw}", "-q") == 1
    assert capsys.readouterr().err == "headrace: link type RAW: the bridge takes Ethernet frames only\n"


def test_recv_gives_every_packet_to_software(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, wanted = capture(tmp_path / "in.pcap")
    out, report = tmp_path / "out.pcap", tmp_path / "report.json"
    assert run("recv", 8, 1, 1000, "--link", f"pcap:{path}", "-w", out, "--json", report, "--host", "pcie") == 0
    assert frames(out) == wanted
    data = json.loads(report.read_text())
    assert (data["packets"], data["bytes"], data["missing"]) == (300, sum(map(len, wanted)), 0)
    text = capsys.readouterr().out
    assert text.startswith(f"300 packets received, {data['bytes']:,} bytes, in {data['batches']} batches\n")
    assert "host pcie" in text


def test_a_packed_capture_is_unpacked_and_a_broken_one_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, wanted = capture(tmp_path / "in.pcap")
    packed, out = tmp_path / "in.pcap.gz", tmp_path / "out.pcap"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert run("recv", 8, 1, 1000, "--link", packed, "-w", out, "-q") == 0
    assert frames(out) == wanted
    capsys.readouterr()  # the first run of a harness may say that it is built
    packed.write_bytes(packed.read_bytes()[:-9])
    assert run("recv", 8, 1, 1000, "--link", f"pcap:{packed}", "-w", out, "-q") == 1
    error = capsys.readouterr().err
    assert error.startswith(f"headrace: {packed}: it can't all be unpacked: ") and error.count("\n") == 1
    assert frames(out) == wanted[: len(frames(out))] and len(frames(out)) > 290


def test_recv_ends_after_so_many_packets(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert run("recv", 2, 10, 50, "--link", "gen:size=1000", "--json", report, "-q") == 0
    data = json.loads(report.read_text())
    assert 50 <= data["packets"] < 60 and data["closed_by"]["full"] >= 25 and data["dropped"] == {}


def test_a_buffer_of_1_is_single_packets(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert run("recv", 1, 10, 40, "--link", "gen:count=40", "--json", report, "-q") == 0
    data = json.loads(report.read_text())
    assert data["batches"] == data["packets"] == data["closed_by"]["single"] == 40


def test_embednets_host_reaches_its_published_rate(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    link = "gen:size=1500,rate=16M"
    assert run("recv", 1, 10, 30, "--link", link, "--rate", "line", "--host", "embednet", "--json", report, "-q") == 0
    assert json.loads(report.read_text())["bits_per_s"] == pytest.approx(15e6, rel=0.03)
    assert run("send", 1, 10, 1500, -1, 20, "--host", "embednet", "--json", report, "-q") == 0
    assert json.loads(report.read_text())["bits_per_s"] == pytest.approx(9e6, rel=0.03)


@pytest.mark.parametrize(
    ("size", "packets", "rate"),
    [(1500, 300, 150e6), (64, 3500, 127e6)],  # fitted; predicted: 862 packets of 76 bytes at 41.6 ns, and a message
)
def test_embednets_host_pays_for_bytes_too(size: int, packets: int, rate: float, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    link = f"gen:size={size},rate=200M"  # more than it takes, but not so much that the card has no idle time to skip
    words = ["--link", link, "--rate", "line", "--host", "embednet", "--json", report, "-q"]
    assert run("recv", 64, 10, packets, *words) == 0
    assert json.loads(report.read_text())["bits_per_s"] == pytest.approx(rate, rel=0.02)


def test_users_give_their_own_host(tmp_path: Path) -> None:
    """A message each 100 us, 1,000 bits in each."""
    report = tmp_path / "report.json"
    words = ["--link", "gen:size=125,rate=20M", "--rate", "line", "--host", "message=100us", "--json", report, "-q"]
    assert run("recv", 1, 10, 50, *words) == 0
    assert json.loads(report.read_text())["bits_per_s"] == pytest.approx(10e6, rel=0.03)


def test_critical_packets_take_the_express_lane(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert run("recv", 64, 10, 40, "--link", "gen:count=40", "--express", "--json", report, "-q") == 0
    data = json.loads(report.read_text())
    assert data["batches"] == 40 and sum(data["closed_by"].values()) == 0


def test_the_card_adapts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.json"
    words = ["--link", "gen:size=1000,rate=500M,count=700", "--rate", "line", "--host", "pcie"]
    assert run("recv", 64, 10, 700, *words, "--adaptive", 0.2, "--json", report) == 0
    data = json.loads(report.read_text())
    assert data["adaptation"]["bytes"] > 0 and data["batches"] > 700 * 1012 / 65536 + 3
    assert "the card's last choice: " in capsys.readouterr().out


def test_what_the_driver_did_wrong_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(BridgeCounters, "complaints", property(lambda _: ["posts are lost"]))
    assert run("recv", 2, 10, 20, "--link", "gen:count=20", "-q") == 1
    assert capsys.readouterr().err == "headrace: posts are lost\n"
    assert run("run", "--control", tmp_path / "c") == 1
    assert capsys.readouterr().err.endswith("\nposts are lost\n")


def test_trace_follows_the_traffic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load = tmp_path / "load.pcap"
    shape = ["-p", "1000", "-l", "1000", "-u", "5000", "-i", "0.05", "-I", "0.05"]
    assert main(["traffic", "triangle", *shape, "--duration", "0.1", "-w", str(load), "-q"]) == 0
    assert run("trace", 64, 1, 0.1, 10, "--link", f"pcap:{load}", "--rate", "recorded") == 0
    text = capsys.readouterr().out
    rates = [float(rate) for rate in re.findall(r"s +([\d.]+) kbit/s", text)]
    assert len(rates) == 10
    assert rates[:5] == sorted(rates[:5]) and rates[5:] == sorted(rates[5:], reverse=True)
    assert rates[4] == pytest.approx(37_000, rel=0.2) and rates[0] == pytest.approx(11_000, rel=0.3)
    latency = re.search(r"latency ([\d.]+) ms median, ([\d.]+) ms 99 %, ([\d.]+) ms most", text)
    assert latency is not None and 0.4 < float(latency[1]) <= float(latency[3]) < 1.1


@pytest.mark.parametrize("buffer_kb", [1, 2, 64])
def test_send_gives_every_packet_to_the_port(
    buffer_kb: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.pcap"
    assert run("send", buffer_kb, 10, 333, -1, 500, "-w", out) == 0
    found = [read_frame(data) for data in frames(out)]
    assert [number for number, _ in filter(None, found)] == list(range(500))
    assert capsys.readouterr().out.startswith("500 packets sent, 166,500 bytes, in ")


def test_send_keeps_its_rate(tmp_path: Path) -> None:
    out, report = tmp_path / "out.pcap", tmp_path / "report.json"
    assert run("send", 1, 10, 1000, 80_000, 100, "-w", out, "--json", report, "-q") == 0
    with RawPcapReader(str(out)) as reader:
        times = [meta.sec * 10**9 + meta.usec for _, meta in reader]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert len(times) == 100 and max(abs(gap - 100_000) for gap in gaps) < 3000
    assert json.loads(report.read_text())["bits_per_s"] == pytest.approx(80e6, rel=0.03)


def test_send_waits_for_a_batch_as_long_as_its_timeout(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert run("send", 64, 1, 1000, 8_000, 20, "--json", report, "-q") == 0
    assert json.loads(report.read_text())["batches"] == 10  # a packet each ms, and the next one just in time


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["recv", "65"], "a buffer of 65 KB: must have 2 to 64, or 1 for single packets"),
        (["recv", "--host", "fast"], "--host fast: none of none, pcie, embednet, and no costs such as"),
        (["recv", "--rate", "x"], "--rate x: neither"),
        (["recv", "--link", "what:x"], "'what:x' is not a source"),
        (["recv", "-w", "-", "--json", "-"], "only one output can be -, the standard output"),
        (["trace", "64", "10", "0"], "a duration of 0 s: must be 1e-06 to 1e+06"),
        (["send", "64", "10", "13"], "packets of 13 bytes: must have 14 to 1514"),
        (["send", "64", "10", "64", "0"], "a rate of 0 kbit/s: must be 0.001 to 1e+09"),
        (["run", "--chain", "aes"], "block aes: must be one of generic, crc32"),
        (["run", "--chain", "crc32,crc32"], "chain forward: its name, or one of a block, is in use"),
        (["map", "x", "up"], "map up: none of hw, sw"),
    ],
)
def test_wrong_usage_is_one_line(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert run(*words) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("headrace: ") and error.count("\n") == 1


def test_without_a_bridge_map_and_status_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for words in (["map", "generic", "sw"], ["status"]):
        assert run(*words) == 1
        where = tmp_path / "headrace" / "bridge.sock"
        assert capsys.readouterr().err == f"headrace: no bridge runs at {where}: start one with headrace bridge run\n"


# A bridge that runs


class Running:
    """``headrace bridge run`` in a process of its own."""

    def __init__(self, folder: Path, *words: object) -> None:
        self.control = folder / "control.sock"
        self.process = subprocess.Popen(
            [*HEADRACE, "bridge", "run", "--control", str(self.control), *map(str, words)],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        while "the bridge is up" not in (line := self.process.stderr.readline()):
            assert line, "it has ended"

    def status(self, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
        capsys.readouterr()
        assert run("status", "--control", self.control, "--json") == 0
        return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]

    def map(self, block: str, side: str) -> int:
        return run("map", block, side, "--control", self.control)

    def end(self) -> str:
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=HANG_S)
        assert self.process.returncode == 0, errors
        return errors


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[Running]]:
    started: list[Running] = []
    yield started
    for bridge in started:
        if bridge.process.poll() is None:
            bridge.process.kill()
            bridge.process.wait()


def test_blocks_move_in_a_running_bridge(
    running: list[Running], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--chain", "generic=one,generic=two", "--link", "gen:size=60-1514,rate=200M,seed=3", "--packet-ns", 100]
    bridge = Running(tmp_path, *words, "--sink1", f"pcap:{tmp_path / 'out.pcap'}", "--host", "pcie")
    running.append(bridge)
    for block, side in (("one", "sw"), ("two", "sw"), ("one", "hw"), ("two", "hw"), ("two", "sw")):
        assert bridge.map(block, side) == 0
        words = rf"{block} is in {side}; packets were held for ([\d.]+) us of card time\n"
        told = re.fullmatch(words, capsys.readouterr().out)
        assert told is not None and float(told[1]) > 0
        time.sleep(0.3)
    status = bridge.status(capsys)
    assert [(block["name"], block["side"]) for block in status["blocks"]] == [("one", "hw"), ("two", "sw")]
    assert status["to_software"]["packets"] > 0 and status["dropped"] == {}
    assert bridge.map("nobody", "sw") == 2
    assert "no block nobody; there are: one, two" in capsys.readouterr().err
    summary = bridge.end()
    received = re.search(r"port 0: ([\d,]+) frames received", summary)
    sent = re.search(r"port 1: 0 frames received, ([\d,]+) sent", summary)
    assert received is not None and sent is not None and received[1] == sent[1]
    assert not bridge.control.exists()
    count = int(received[1].replace(",", ""))
    reference = tmp_path / "reference.pcap"
    assert run("recv", 64, 1, count, "--link", f"gen:size=60-1514,seed=3,count={count}", "-w", reference, "-q") == 0
    assert frames(tmp_path / "out.pcap") == frames(reference)


def test_a_bridge_ends_with_its_links(tmp_path: Path) -> None:
    path, wanted = capture(tmp_path / "in.pcap")
    out, report = tmp_path / "out.pcap", tmp_path / "report.json"
    words = ["--chain", "crc32", "--link", f"pcap:{path}", "--control", tmp_path / "c", "--json", report, "-q"]
    assert run("run", *words, "--sink1", f"pcap:{out}") == 0
    assert frames(out) == wanted
    assert json.loads(report.read_text())["missing"] == 0


def test_a_second_bridge_needs_a_socket_of_its_own(
    running: list[Running], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bridge = Running(tmp_path, "--link", "gen:rate=1M")
    running.append(bridge)
    assert run("run", "--control", bridge.control) == 1
    assert f"a bridge runs at {bridge.control} already" in capsys.readouterr().err
    bridge.end()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(bridge.control))
    stale.close()  # what a bridge that was killed leaves
    assert run("run", "--control", bridge.control, "-q") == 0


def test_a_move_that_has_dropped_packets_says_how_many(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(common, "ask", lambda *_, **__: {"held_ns": 900, "dropped": 3000})
    assert run("map", "crc32", "hw") == 0
    told = "crc32 is in hw; packets were held for 0.9 us of card time, 3,000 packets found no room\n"
    assert capsys.readouterr().out == told


def test_what_is_no_request_is_told(running: list[Running], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bridge = Running(tmp_path, "--link", "gen:rate=1M")
    running.append(bridge)
    for data, message in (
        (b"hello\n", "not a JSON object"),
        (b"[]\n", "not a JSON object"),
        (b"{}\n", "unknown request"),
    ):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(bridge.control))
            link.sendall(data)
            assert message in json.loads(link.recv(1000))["error"]
    bridge.end()


@pytest.mark.live
def test_packets_that_the_kernel_had_no_room_for_are_shown(
    running: list[Running], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with own_network():
        bridge = Running(tmp_path, "--chain", "generic", "--link", "tap:hr0")
        running.append(bridge)
        hold(bridge.process)
        send("hr0", numbered(16_500), pause_every=1000)
        bridge.process.send_signal(signal.SIGCONT)
        port = bridge.status(capsys)["ports"][0]
        assert port["missed"] == 16_500 - 16_384
        time.sleep(0.6)
        bridge.process.send_signal(signal.SIGTERM)
        time.sleep(0.6)
        assert "port 0: 116 packets dropped by the kernel before it\n" in bridge.end()


@pytest.mark.live
def test_a_bridge_that_is_stopped_tells_what_is_still_to_go_through_and_answers(
    running: list[Running], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with own_network():
        bridge = Running(tmp_path, "--chain", "generic", "--link", "tap:hr0")
        running.append(bridge)
        hold(bridge.process)
        send("hr0", numbered(16_000, size=1400), pause_every=1000)  # many seconds of work for the card
        bridge.process.send_signal(signal.SIGTERM)
        bridge.process.send_signal(signal.SIGCONT)
        assert bridge.process.stderr is not None
        line = bridge.process.stderr.readline()
        told = re.fullmatch(r"([\d,]+) packets are still to go through; Ctrl-C again ends at once\n", line)
        # How many have gone through by then is a matter of the machine's speed.
        assert told is not None and 0 < int(told[1].replace(",", "")) <= 16_000
        first = bridge.status(capsys)["ports"][0]
        assert first["waiting"] > 0
        assert bridge.map("generic", "sw") == 0
        hold(bridge.process)
        time.sleep(0.6)  # a signal right after the first is the same request
        bridge.process.send_signal(signal.SIGINT)
        bridge.process.send_signal(signal.SIGCONT)
        _, errors = bridge.process.communicate(timeout=HANG_S)
        assert bridge.process.returncode == 0, errors
        received = re.search(r"port 0: ([\d,]+) frames received", errors)
        assert received is not None and first["frames"] <= int(received[1].replace(",", "")) < 16_000


@pytest.mark.live
def test_a_bridge_that_is_stopped_brings_through_what_its_links_have_for_it(
    running: list[Running], tmp_path: Path
) -> None:
    with own_network():
        bridge = Running(tmp_path, "--link", "tap:hr0", "--sink1", f"pcap:{tmp_path / 'out.pcap'}")
        running.append(bridge)
        hold(bridge.process)
        send("hr0", numbered(500), pause_every=1000)
        bridge.process.send_signal(signal.SIGTERM)
        bridge.process.send_signal(signal.SIGCONT)
        _, errors = bridge.process.communicate(timeout=HANG_S)
    assert bridge.process.returncode == 0 and "port 0: 500 frames received" in errors
    assert frames(tmp_path / "out.pcap") == numbered(500)


@pytest.mark.live
def test_sigusr1_shows_the_status_of_a_bridge_that_goes_on(running: list[Running], tmp_path: Path) -> None:
    with own_network():
        bridge = Running(tmp_path, "--chain", "generic", "--link", "tap:hr0")
        running.append(bridge)
        bridge.process.send_signal(signal.SIGUSR1)
        assert bridge.process.stderr is not None
        assert bridge.process.stderr.readline().startswith("generic: in hw; sent 0 in hardware")
        assert "port 0: 0 frames received" in bridge.end()


@pytest.mark.live
def test_ports_are_let_go_for_live_links_unless_there_is_a_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And software may stand still for 100 ms."""
    free: list[Card] = []
    limits: list[int] = []
    monkeypatch.setattr(service, "let_go", free.append)
    monkeypatch.setattr(service, "_serve", lambda _, host, *__: limits.append(host.driver.h2s.settings.wait_limit_ns))
    with own_network():
        for words in (["tap:hr0", "--rate", "1G"], ["gen:count=1"], ["tap:hr0"]):
            assert not free
            assert run("run", "-q", "--control", tmp_path / "c", "--link", *words) == 0
    assert len(free) == 1 and limits == [100_000_000] * 3


@pytest.mark.live
def test_a_bridge_between_live_links(
    running: list[Running], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with own_network():
        add_pair("card0", "peer0")
        out = tmp_path / "out.pcap"
        both = ["--link", "iface:card0", "--sink", "iface:card0", "--link1", "gen:count=100,size=100"]
        bridge = Running(tmp_path, "--chain", "crc32,generic", *both, "--sink1", f"pcap:{out}")
        running.append(bridge)
        rng = random.Random(7)
        wanted = [with_crc(bytes(12) + b"\x88\xb5" + rng.randbytes(rng.randint(42, 1400))) for _ in range(200)]
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sender.bind(("peer0", 0))
        for number, frame in enumerate(wanted):
            sender.send(frame)
            time.sleep(0.002)
            if number % 50 == 25:
                assert bridge.map(("crc32", "generic")[number // 50 % 2], "sw" if number < 100 else "hw") == 0
        until(lambda: bridge.status(capsys)["ports"][0]["frames"] == len(wanted), "all frames")
        until(lambda: received("peer0") == 100, "what port 0 sends")
        assert "port 0: 200 frames received, 100 sent\n" in bridge.end()
        sender.close()
    assert frames(out) == wanted
