"""Links with delay on the fabrics whose ports the kernel holds: a process delays what goes to a PHY."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from emulator_bench import (
    FABRICS,
    household,
    know_neighbours,
    link,
    loses_each_way_by_itself,
    nothing_left,
    pings,
    record,
    scenario,
    two_nodes,
    with_fabric,
)
from patience import until

from headrace.cli import main
from headrace.emulator.client import Emulation
from headrace.emulator.fabric import Arriving
from headrace.emulator.fabric.held import HeldByKernel
from headrace.emulator.fabric.line import with_tag
from headrace.net import ovs

MS = 1_000_000
FREE = Arriving(math.inf, 0.0, 0)
UNLIMITED = 1e12

SENDER = """
import random, select, socket, sys
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(sys.argv[1])):
    link.sendto(random.Random(number).randbytes(1000) + number.to_bytes(4), ("n2", 9))
while not select.select([sys.stdin], [], [], 0.05)[0]:
    link.sendto(b"end", ("n2", 9))
"""
RECEIVER = """
import json, random, socket
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.bind(("", 9))
print("ready", flush=True)
numbers, intact = [], True
while (data := link.recv(2048)) != b"end":
    numbers.append(int.from_bytes(data[1000:]))
    intact &= data[:1000] == random.Random(numbers[-1]).randbytes(1000)
print(json.dumps({"count": len(numbers), "ordered": numbers == sorted(set(numbers)), "intact": intact}))
"""
STREAM = """
import hashlib, random, socket, sys
if sys.argv[1:]:
    link, data = socket.create_connection((sys.argv[1], 9)), random.Random(1).randbytes(int(sys.argv[2]))
    link.sendall(data)
    link.close()
    print(hashlib.sha256(data).hexdigest())
else:
    server, digest = socket.create_server(("", 9)), hashlib.sha256()
    print("ready", flush=True)
    link, _ = server.accept()
    while data := link.recv(1 << 16):
        digest.update(data)
    print(digest.hexdigest())
"""
FRAMES_OUT = """
import select, socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
link.bind(("phy0", 0))
frame = b"\\xff" * 6 + b"\\x02" * 6 + bytes.fromhex(sys.argv[3]) + b"\\x88\\xb5" + sys.argv[1].encode().ljust(1000)
for number in range(int(sys.argv[2])):
    link.send(frame)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    link.send(frame)
"""
FRAMES_IN = """
import socket, struct, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
link.setsockopt(263, 8, 1)  # PACKET_AUXDATA
link.bind(("phy0", 3))
print("ready", flush=True)
while True:
    data, more, _, where = link.recvmsg(2048, 64)
    if where[2] != socket.PACKET_OUTGOING and data[12:14] == b"\\x88\\xb5":
        status, *_, tag, protocol = struct.unpack("IIIHHHH", more[0][2])
        print(data[14:].decode().strip(), f"{protocol:04x} {tag:04x}" if status & 16 else "", flush=True)
        if data[14:].startswith(b"new"):
            break
"""


def python(emulation: Emulation, node: str, program: str, *words: str) -> subprocess.Popen[str]:
    """Starts a program in a node, which may go on until its input ends; one that listens says when it is ready."""
    command = ["python3", "-c", program, *words]
    process = emulation.start(node, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if '"ready"' in program and not words:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def line(emulation: Emulation) -> dict[str, Any]:
    """How the delay line is."""
    found: dict[str, Any] = emulation.ask("delay-line")["delay_line"]
    return found


def three_nodes(folder: Path, fabric: str, steps: Sequence[Mapping[str, Any]]) -> tuple[Path, Path]:
    """With a PHY each, and a link at each step."""
    more = f'phys = 1\nrouting = "none"\n{with_fabric(fabric)}'
    return scenario(folder, [(0, 0)] * 3, more), record(folder, 3, [[step] for step in steps])


@pytest.fixture(params=FABRICS)
def fabric(request: pytest.FixtureRequest) -> str:
    """Each of them."""
    name: str = request.param
    if name == "ovs" and (reason := ovs.available()):
        pytest.skip(reason)
    return name


@pytest.mark.live
def test_links_delay_both_ways_and_anew_at_each_step(fabric: str, tmp_path: Path) -> None:
    delays_ms = (0, 50, 300, 20)
    states = [{"delay_ns": delay_ms * MS} for delay_ms in delays_ms]
    path, replay = two_nodes(tmp_path, fabric, FABRICS[fabric], states)
    with Emulation(path, hold=True, replay=replay) as emulation:
        know_neighbours(emulation)
        assert pings(emulation, 3)[0] == 3
        assert line(emulation) is None, "no process without a delay"
        for delay_ms in delays_ms[1:3]:
            emulation.step()
            answered, fastest_ms = pings(emulation, 3)
            assert answered == 3 and fastest_ms >= 2 * delay_ms
        emulation.step()
        until(lambda: 40 <= pings(emulation, 3)[1] < 600, "the shorter delay")
        found = line(emulation)
        assert found["frames"] >= 18 and not found["dropped"] + found["missed"]
        assert 0 < found["late_s"]["median"] <= found["late_s"]["p99"] <= found["late_s"]["max"]


@pytest.mark.live
def test_rate_and_loss_are_there_beside_delay_each_way_by_itself(tmp_path: Path) -> None:
    far = {"delay_ns": 20 * MS}
    states = [{**far, "rate_bps": 1e6}, {**far, "loss": 0.3}, {**far, "back": [5e7, 1.0]}, far]
    path, replay = two_nodes(tmp_path, "software", {}, states)
    with Emulation(path, hold=True, replay=replay) as emulation:
        know_neighbours(emulation)
        said = emulation.run("n1", ["ping", "-q", "-c", "200", "-l", "200", "-s", "1400", "-W", "1", "n2"]).stdout
        found = re.search(r"(\d+) received.*time (\d+)ms", said)
        assert found is not None
        sending_s = int(found[2]) / 1e3 + 0.1
        assert 20 < int(found[1]) < (1e6 / 8 * sending_s + 40_000) / 1442  # a bucket and a queue beside the rate
        emulation.step()
        loses_each_way_by_itself(emulation)


@pytest.mark.live
def test_frames_keep_order_and_content_under_load_while_delays_change(fabric: str, tmp_path: Path) -> None:
    slower = 50 if fabric == "rtl" else 1  # a simulator
    states = [{"delay_ns": delay_ms * MS, "rate_bps": UNLIMITED} for delay_ms in (100, 1, 50)]
    path, replay = two_nodes(tmp_path, fabric, FABRICS[fabric], states)
    with Emulation(path, hold=True, replay=replay) as emulation:
        know_neighbours(emulation)
        receiver = python(emulation, "n2", RECEIVER)
        sender = python(emulation, "n1", SENDER, str(20_000 // slower))
        for _ in range(2):
            before = line(emulation)["frames"]
            until(lambda before=before: line(emulation)["frames"] > before, "frames")
            emulation.step()
        said = json.loads(receiver.communicate()[0])
        sender.communicate()
        assert said["count"] > 0 and said["ordered"] and said["intact"]
        server = python(emulation, "n2", STREAM)
        client = python(emulation, "n1", STREAM, "n2", str(20_000_000 // slower))
        assert client.communicate()[0] == server.communicate()[0] != ""


@pytest.mark.live
def test_what_is_on_its_way_is_lost_with_its_link_and_nothing_of_it_reaches_the_next_one(
    fabric: str, tmp_path: Path
) -> None:
    """Three frames pass the token bucket of the old link, the others wait there."""
    old = link(0, 1, delay_ns=1_000_000 * MS, rate_bps=1e4)
    path, replay = three_nodes(tmp_path, fabric, [old, link(1, 2, delay_ns=10 * MS)])
    with Emulation(path, hold=True, replay=replay) as emulation:
        receiver = python(emulation, "n2", FRAMES_IN)
        before = line(emulation)["waiting"]
        python(emulation, "n1", FRAMES_OUT, "old", "20", "").communicate()
        until(lambda: line(emulation)["waiting"] >= before + 3, "frames on their way")
        emulation.step()
        assert line(emulation)["forgotten"] >= before + 3
        sender = python(emulation, "n3", FRAMES_OUT, "new", "0", "")
        assert receiver.communicate()[0].split() == ["new"]
        sender.communicate()


@pytest.mark.live
def test_vlan_tags_are_kept(tmp_path: Path) -> None:
    path, replay = two_nodes(tmp_path, "software", {}, [{"delay_ns": MS}])
    with Emulation(path, hold=True, replay=replay) as emulation:
        receiver = python(emulation, "n2", FRAMES_IN)
        for tag, name in (("8100a005", "first"), ("88a80fff", "second"), ("", "new")):
            python(emulation, "n1", FRAMES_OUT, name, "1", tag).communicate()
        assert receiver.communicate()[0].splitlines() == ["first 8100 a005", "second 88a8 0fff", "new "]


def test_a_tag_moves_the_place_of_the_checksum_that_is_left() -> None:
    """struct virtio_net_hdr: flags, segmentation, header length, segment size, where the checksum begins and is."""
    header, rest = struct.Struct("@BBHHHH"), bytes(range(60))
    done = with_tag(header.pack(1, 1, 54, 1448, 34, 16) + rest, 0x8100, 5)
    assert done == header.pack(1, 1, 58, 1448, 38, 16) + rest[:12] + b"\x81\x00\x00\x05" + rest[12:]
    done = with_tag(header.pack(0, 0, 0, 0, 0, 0) + rest, 0x88A8, 5)
    assert done[: header.size] == bytes(header.size)


@pytest.mark.live
def test_the_report_says_how_late_frames_were(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, replay = two_nodes(tmp_path, "software", {}, [{"delay_ns": MS}, {"delay_ns": MS}])
    path.write_text(path.read_text() + '[programs.ping]\ncommand = "ping -c 3 -i 0.1 n2"\nnodes = ["n1"]\n')
    words = ["emulate", "run", str(path), "--replay", str(replay), "--name", tmp_path.name]
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    found = report["fidelity"]["delay_line"]
    assert report["not_applied"] == []
    assert found["frames"] > 0 and 0 < found["late_s"]["median"] <= found["late_s"]["max"]
    assert main(words) == 0
    assert re.search(r"^frames that were delayed: \d+; late by [0-9.]+ ms \(median\)", capsys.readouterr().out, re.M)


def test_short_delays_are_left_out_and_told_where_they_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun() -> None:
        raise AssertionError

    monkeypatch.setattr("headrace.emulator.fabric.held.DelayLine", begun)
    fabric = HeldByKernel()
    fabric.hold({0: (FREE, FREE._replace(delay_ns=9_999))}, [])
    assert fabric.not_applied() == []
    for delay_ns in (10_000, 99_999):
        fabric = HeldByKernel()
        fabric.hold({1: (FREE, FREE._replace(delay_ns=delay_ns))}, [])
        assert fabric.not_applied() == ["delays below 0.1 ms were left out"]
    with pytest.raises(AssertionError):
        fabric.hold({1: (FREE, FREE._replace(delay_ns=100_000))}, [])


@pytest.mark.live
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_the_line_ends_with_the_emulation_and_the_emulation_with_the_line(end: str, tmp_path: Path) -> None:
    path, replay = two_nodes(tmp_path, "software", {}, [{"delay_ns": MS}])
    with Emulation(path, hold=True, replay=replay) as emulation:
        of = household(emulation.pid)
        victims = [pid for pid, _ in of.family if Path(f"/proc/{pid}/comm").read_text() == "delay line\n"]
        assert len(victims) == 1 and len(of.networks) == 4  # the fabric's, the line's, two nodes'
        if end == "kill":
            os.kill(victims[0], signal.SIGKILL)
            assert emulation.wait() == "the delay line has ended"
        else:
            assert main(["emulate", "stop", "--name", emulation.name]) == 0
            assert emulation.wait() is None
        nothing_left(emulation, of)
