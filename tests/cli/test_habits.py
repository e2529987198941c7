# SPDX-License-Identifier: Apache-2.0
"""What people type to tcpdump and dumpcap: it works, or one line says what to use instead."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from called import call
from network import ip, own_network
from oracle import Packet, make_capture, random_packets
from scapy.utils import RawPcapReader

from headrace.build.description import CardDescription, load_card
from headrace.build.models import build_card
from headrace.card.control import ControlSocket
from headrace.cards.nic.service import CONTROL as NIC
from headrace.cards.switch.run import SwitchJob
from headrace.cli import common
from headrace.engines.netem import parse_netem
from headrace.errors import HeadraceError
from headrace.net import devices
from headrace.net.packed import Opened, opened

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]
root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
COUNT = 40
PACKETS = random_packets(seed=5, count=COUNT)
FILTER = "tcp or udp"


@pytest.fixture(scope="module", autouse=True)
def models() -> None:
    build_card("capture", {"CORES": 0}, progress=False)
    build_card("capture", {"CORES": 2}, progress=False)
    build_card("filter", progress=False)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_capture(tmp_path_factory.mktemp("habits") / "in.pcap", PACKETS)


def typed(line: str, capture: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return call(*(str(capture) if word == "IN" else word for word in shlex.split(line)), folder=folder)


def tcpdump(*options: str) -> bytes:
    return subprocess.run(["tcpdump", *options], capture_output=True, check=True).stdout


@pytest.mark.parametrize(
    "line",
    [
        "capture -r IN -w out -n -nn -v -vv -e -q -l -U -K -N -S -O -p -t -ttttt -A -X -XX -x --number",
        "capture --interface IN -w out --immediate-mode --packet-buffered --line-buffered -g --temp-dir /tmp -j host",
        "capture -nnvvXSs0 -pi IN -w out",
        "capture -i IN -w out -M secret -E algo:secret -T rpc --no-promiscuous-mode --snapshot-length=0 -B 8192",
        f"filter -nnvve -pqUl -r IN -w out {FILTER}",
        f"filter -tttt -r IN -w out -f '{FILTER}'",
    ],
)
def test_options_that_change_no_file_are_taken(line: str, capture: Path, tmp_path: Path) -> None:
    assert typed(line, capture, tmp_path).returncode == 0
    expression = FILTER if "filter" in line else ""
    tcpdump("-r", str(capture), "-w", str(tmp_path / "expected"), expression)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("capture -nr IN", "-n"),
        ("capture -nn -e -tt -vv -XX -S -c 5 -r IN", "-nnettvvXXS -c 5"),
        ("capture -#Aqnr IN --cores 2 " + FILTER, f"-# -A -n {FILTER}"),
        (f"filter -n -x '{FILTER}' IN", f"-nx {FILTER}"),
    ],
)
def test_tcpdump_prints_where_an_option_says_how(
    line: str, options: str, capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert typed(line, capture, tmp_path).returncode == 0
    assert capfd.readouterr().out == tcpdump("-r", str(capture), *options.split()).decode(errors="replace")


def test_what_is_printed_is_one_filters(capture: Path, tmp_path: Path) -> None:
    said = typed("filter -n tcp IN --also udp", capture, tmp_path).stderr
    assert said == "headrace: -n: only one filter's matches can be printed: leave --also out\n"
    said = typed("capture --print -r IN -w out", capture, tmp_path).stderr
    assert said == "headrace: --print: leave -w out, or print the file afterwards: tcpdump -r FILE\n"


def test_without_tcpdump_a_line_says_what_is_missing(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = typed("capture -nr IN", capture, tmp_path).stderr
    assert said == "headrace: -n: tcpdump, which prints packets, is missing: apt install tcpdump\n"


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("capture -I -i IN", "-I: set the interface up for it first: iw dev NAME set type monitor"),
        ("capture -j adapter -i IN", "-j adapter: leave it out: packets have the kernel's times (host)"),
        ("capture -J", "-J: there is one: host, the kernel's"),
        ("capture -k 2412 -i IN", "-k 2412: iw dev NAME set channel"),
        ("capture -Y tcp -i IN", "-Y tcp: display filters run in tshark: headrace ... -w - | tshark -r - -Y 'tcp'"),
        ("capture -z gzip -i IN", "-z gzip: run gzip on the files afterwards"),
        (
            "capture --capture-comment x -i IN",
            "--capture-comment x: add it afterwards: editcap --capture-comment 'x' IN OUT",
        ),
        ("capture -i IN -i IN", "IN and IN: one source only; any captures on all interfaces"),
        ("capture -L -i IN", "-L lists the link types of one interface: choose it by -i"),
        ("capture -w x", "-i SOURCE is missing: such as -i eth0, or -r FILE; headrace capture -D lists interfaces"),
        ("capture -P -r IN", "-P -r: -P sets a parameter, NAME=VALUE; --format pcap is dumpcap's -P"),
        ("capture -i IN -w x -C 1q", "-C 1q: not million bytes such as 10, nor 100K, 10M, 1G"),
        ("filter IN tcp", "IN is a file and tcp isn't: EXPR comes before IN"),
        ("filter -G 60 tcp IN", "-G 60: headrace capture has it"),
        ("filter -C 1 tcp IN", "-C 1: headrace capture has it"),
        ("filter -a duration:1 tcp IN", "-a duration:1: headrace capture has it"),
        ("filter --nano tcp IN", "--nano: headrace capture has it"),
        ("measure -w out tcp IN", "-w out: measure counts; headrace filter writes packets"),
        ("measure -F file IN", "-F file: name the program: @file"),
    ],
)
def test_a_line_says_what_to_use_instead(line: str, instead: str, capture: Path, tmp_path: Path) -> None:
    done = typed(line, capture, tmp_path)
    said = instead.replace("IN and IN", f"{capture} and {capture}").replace("IN is", f"{capture} is")
    assert (done.returncode, done.stderr) == (2, f"headrace: {said}\n")


def test_interfaces_are_listed_as_tcpdump_does(capture: Path, tmp_path: Path) -> None:
    for command in ("capture", "filter", "measure"):
        assert typed(f"{command} -D", capture, tmp_path).stdout == tcpdump("-D").decode()


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_versions_are_printed(option: str, capture: Path, tmp_path: Path) -> None:
    assert "libpcap version" in typed(f"capture {option}", capture, tmp_path).stdout


@pytest.mark.parametrize(
    "command",
    [
        "nic run --port vf:0=null --port 0",
        "link --port 1=null --port 0",
        "switch run --port 1",
        "rpu run forwarder --port 0",
        "rpu run nic --port 0=in.pcap --port vf:0",
        "bridge run --link",
        "bridge recv 1 1 1 --link",
    ],
)
def test_so_are_links_of_ports(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capture: Path) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "empty"))
    words = command.replace("in.pcap", str(capture)).split()
    last = ["iface:nosuch"] if words[-1] == "--link" else [f"{words.pop()}=iface:nosuch"]
    done = call(*words, *last)
    assert (done.returncode, done.stderr) == (1, "headrace: iface:nosuch: no such interface\n")
    assert not (tmp_path / "empty" / "models").exists()


@pytest.mark.parametrize("command", ["capture -i IN -w no/out", "filter tcp IN -w no/out"])
def test_so_are_files(command: str, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "empty"))
    assert typed(command, capture, tmp_path).stderr == "headrace: no/out: No such file or directory\n"
    assert not (tmp_path / "empty" / "models").exists()


def test_a_build_says_how_long_it_took_last_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    entry = {"card": "capture", "parameters": {}, "trace": False, "built_at": 1, "build_s": 41.2}
    (tmp_path / "models").mkdir(mode=0o700)
    (tmp_path / "models" / "old.so").touch()
    (tmp_path / "models" / "old.json").write_text(json.dumps(entry))
    monkeypatch.setattr("headrace.build.libraries.runtime_archive", lambda *_: tmp_path)

    def stop(*_: object) -> None:
        raise HeadraceError("as far as that")

    monkeypatch.setattr("headrace.build.models.generate_rtl", stop)
    said, end = call("capture", "-i", "gen:count=1").stderr.splitlines()
    assert said.startswith("building card capture (") and end == "headrace: as far as that"
    assert said.endswith("): once for these parameters; took 41 s with other parameters")


def test_a_name_that_is_nothing_is_told_with_where_to_look(capture: Path, tmp_path: Path) -> None:
    done = typed("capture -i nosuch", capture, tmp_path)
    what = "nosuch: no such file and no such interface: headrace capture -D lists interfaces"
    assert (done.returncode, done.stderr) == (1, f"headrace: {what}\n")


def test_nothing_is_printed_of_what_never_began(
    capture: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (
        typed("filter -n udp nosuch.pcap", capture, tmp_path).stderr
        == "headrace: nosuch.pcap: No such file or directory\n"
    )
    assert capfd.readouterr() == ("", "")


@root
def test_an_interface_is_called_by_its_name_or_number() -> None:
    with own_network():
        ip("link", "set", "lo", "up")
        number = 1 + [device.name for device in devices.devices()].index("lo")
        assert (devices.find("lo"), devices.find(str(number)), devices.find("any")) == ("lo", "lo", "any")
        assert devices.find("nosuch") is devices.find("0") is devices.find("99") is None
        theirs = subprocess.run(["tcpdump", "-L", "-i", "lo"], capture_output=True, check=True, text=True)
        assert call("capture", "-L", "-i", str(number)).stdout == theirs.stdout + theirs.stderr


@pytest.mark.parametrize("link", ["iface:nosuch", "xdp:nosuch"])
@pytest.mark.parametrize("command", ["capture -i", "filter tcp", "measure size"])
def test_sources_are_looked_at_before_anything_is_built(
    command: str, link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "empty"))
    done = call(*command.split(), link)
    assert (done.returncode, done.stderr) == (1, f"headrace: {link}: no such interface\n")
    assert not (tmp_path / "empty" / "models").exists()


# Tables


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_wide_table_breaks_into_blocks_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"function": "0", "mac": "02:00:00:00:00:00", "sent": "1,000"}, {"function": "1", "mac": "-", "sent": "7"}]
    monkeypatch.setenv("COLUMNS", "27")
    with contextlib.redirect_stdout(Terminal()) as narrow:
        common.show_table(rows, ("function", "sent"))
    assert narrow.getvalue() == (
        "function  mac\n       0  02:00:00:00:00:00\n       1  -\n\nfunction   sent\n       0  1,000\n       1      7\n"
    )
    with contextlib.redirect_stdout(io.StringIO()) as file:
        common.show_table(rows, ("function", "sent"))
    assert len(file.getvalue().splitlines()) == 3


def test_vf_beside_a_nic_says_what_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with ControlSocket(NIC, None):
        said = call("vf", "list").stderr
    assert said == "headrace: a NIC runs: headrace nic run sets its functions, headrace nic stats shows them\n"


# Files as dumpcap names and ends them


@pytest.fixture
def seconds(tmp_path: Path) -> Path:
    """Packets of a second each, from the beginning of all time on."""
    return make_capture(tmp_path / "in.pcap", [Packet(bytes(60), 60, second * 10**9) for second in range(20)])


def times(path: Path) -> list[int]:
    with RawPcapReader(str(path)) as reader:
        return [meta.sec for _, meta in reader]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-a duration:5", [range(5)]),
        ("-a packets:3", [range(3)]),
        ("-a filesize:1", [range(13)]),  # of 76 bytes
        ("-b packets:8", [range(8), range(8, 16), range(16, 20)]),
        ("-b packets:8 -b files:2", [range(8, 16), range(16, 20)]),
        ("-b packets:8 -a files:2", [range(8), range(8, 16)]),
        ("-b duration:9 -a packets:12", [range(9), range(9, 12)]),
        ("-b interval:6 -a duration:14", [range(6), range(6, 12), range(12, 14)]),
        ("-b filesize:1", [range(13), range(13, 20)]),
        ("-C 1K", [range(14), range(14, 20)]),
    ],
)
def test_files_end_as_asked(options: str, expected: list[range], seconds: Path, tmp_path: Path) -> None:
    assert typed(f"capture -qi IN -w out.pcap {options}", seconds, tmp_path).returncode == 0
    names = sorted(tmp_path.glob("out*"))
    assert [times(path) for path in names] == [list(each) for each in expected]
    if "-b" in options:
        first = 1 + ("files:2" in options and "-a" not in options)
        stamps = (time.strftime("%Y%m%d%H%M%S", time.localtime(each[0])) for each in expected)
        assert [path.name for path in names] == [f"out_{n:05d}_{at}.pcap" for n, at in enumerate(stamps, first)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-w out -b files:2", "-b files:N needs duration:N, filesize:N, packets:N or interval:N, too"),
        ("-w out -a files:2", "-a files:N needs -b, -C or -G, which begin new files"),
        ("-w out -b packets:2 -C 1", "-b does what -C, -G and -W do: use either -b or these"),
        ("-w out -c 1 -a packets:2", "-c and -a packets:N say the same: use one"),
        ("-w out -b duration:2 -b interval:2", "-b duration:N and -b interval:N: use one"),
        ("-b packets:2", "-b needs -w FILE"),
        ("-b printname:-", "-b printname:-: the report has the names of all files: --json FILE"),
        (
            "-b nametimenum:2",
            "-b nametimenum:2: a file's number comes before its time; -G 60 -w NAME_%H%M%S has the time",
        ),
        ("-a age:2", "-a age:2: not WHAT:N, with WHAT of duration, filesize, files, packets and N from 1"),
        ("-a packets:0", "-a packets:0: not WHAT:N, with WHAT of duration, filesize, files, packets and N from 1"),
        ("-a packets:1 -a packets:2", "-a packets:2: packets is given twice"),
    ],
)
def test_wrong_conditions_are_told(options: str, message: str, seconds: Path, tmp_path: Path) -> None:
    done = typed(f"capture -i IN {options}", seconds, tmp_path)
    assert (done.returncode, done.stderr) == (2, f"headrace: {message}\n")


# In the background


@root
def test_a_script_goes_on_once_it_is_listened(tmp_path: Path) -> None:
    out, said = tmp_path / "out", tmp_path / "said"
    script = f"""
        ip link set lo up
        capture=$({shlex.join(HEADRACE)} capture -i lo -c 2 -w {out} --background 2> {said})
        grep -q '^headrace: listening on lo, link-type EN10MB (Ethernet), snapshot length 262144 bytes$' {said}
        echo one > /dev/udp/127.0.0.1/9  # and there is the answer that nobody listens
        tail --pid=$capture -f /dev/null
        grep '2 packets captured' {said}
    """
    done = subprocess.run(["unshare", "-n", "bash", "-ec", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2 packets captured\n"), done.stderr + said.read_text()


@root
@pytest.mark.parametrize("line", ["capture -i lo", "filter '' -i lo", "measure size -i lo"])
def test_what_the_interface_had_no_room_for_is_told_apart(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = tmp_path / "lo" / "statistics" / "rx_missed_errors"
    counter.parent.mkdir(parents=True)
    counter.write_text("7\n")
    monkeypatch.setattr("headrace.net.devices.STATISTICS", tmp_path)
    told: list[str] = []

    def stop(line: str) -> None:
        counter.write_text("12\n")
        told.append(line)
        if len(told) < 3:
            os.kill(os.getpid(), (signal.SIGUSR1, signal.SIGINT)[len(told) - 1])

    monkeypatch.setattr(common, "tell", stop)
    with own_network():
        ip("link", "set", "lo", "up")
        said = " ".join(call(*shlex.split(line)).stderr.split())
    counts = told[1:] if "measure" in line else told[1:2]
    assert len(counts) == 1 + ("measure" in line)  # which tells them at its end, too
    assert all(re.search("0 (packets )?dropped by kernel, 5 (packets )?dropped by interface", each) for each in counts)
    if "capture" in line:
        assert said.endswith("0 packets dropped by kernel 5 packets dropped by interface 0 packets dropped by card")
    if "filter" in line:
        assert re.search(r"dropped by kernel 0 .*dropped by interface 5 ", said)


@root
@pytest.mark.parametrize("line", ["capture -i lo", "capture -i lo udp", "filter udp -i lo", "measure size -i lo"])
def test_the_card_is_built_before_its_live_source_is_opened(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what comes during the build fills its buffers."""
    seen: list[object] = []

    def build(card: str | CardDescription, parameters: dict[str, Any], **_: object) -> Path:
        description = load_card(card) if isinstance(card, str) else card
        seen.append((description.name, description.resolve(parameters)))
        if len(seen) == 3:
            raise HeadraceError("built again")
        return Path()

    def open_it(*arguments: Any) -> AbstractContextManager[Opened]:
        seen.append("opened")
        return opened(*arguments)

    monkeypatch.setattr("headrace.build.models.build_card", build)
    monkeypatch.setattr("headrace.card.card.build_card", build)
    monkeypatch.setattr("headrace.net.packed.opened", open_it)
    with own_network():
        ip("link", "set", "lo", "up")
        assert call(*shlex.split(line)).stderr == "headrace: built again\n"
    assert seen[1] == "opened" and seen[0] == seen[2]


WITHOUT_RIGHTS = """
import sys
from headrace.card.process import _set_capabilities
from headrace.cli import main
_set_capabilities(())  # programs that root starts have them again, as dumpcap has by its file
sys.exit(main(sys.argv[1:]))
"""


@root
def test_dumpcap_captures_where_this_process_may_not(tmp_path: Path) -> None:
    """As for users of Debian's group wireshark."""
    out, said = tmp_path / "out", tmp_path / "said"
    words = shlex.join([sys.executable, "-c", WITHOUT_RIGHTS])
    script = f"""
        ip link set lo up
        capture=$({words} capture -i lo -c 2 -w {out} --background 2> {said})
        echo one > /dev/udp/127.0.0.1/9
        tail --pid=$capture -f /dev/null
        PATH= {words} capture -i lo 2>> {said} || true
    """
    subprocess.run(["unshare", "-n", "bash", "-ec", script], check=True)
    first, *counts, last = said.read_text().splitlines()
    assert first == "headrace: listening on lo, by dumpcap"
    assert counts[0] == "2 packets captured" and "0 packets dropped by kernel" in counts
    assert last == "headrace: iface:lo: not permitted: to capture takes root or CAP_NET_RAW"
    with RawPcapReader(str(out)) as reader:
        assert len(list(reader)) == 2


def test_what_ends_before_it_is_ready_gives_its_exit_code(capture: Path, tmp_path: Path) -> None:
    command = [*HEADRACE, "capture", "-qi", str(capture), "--background"]
    for extra, code in ([], 0), (["-w", str(tmp_path / "no" / "folder")], 1):
        assert subprocess.run([*command, *extra], capture_output=True, check=False).returncode == code
    said = typed("capture -i IN -w - --background", capture, tmp_path).stderr
    assert said == "headrace: --background writes nothing to the standard output: leave - out\n"


# Packed captures


def pack(program: str, data: bytes) -> bytes:
    return subprocess.run([program, "-c"], input=data, capture_output=True, check=True).stdout


@pytest.fixture(params=["gzip", "zstd", "lz4"])
def packed(request: pytest.FixtureRequest, capture: Path, tmp_path: Path) -> Path:
    """The capture packed, under a name that doesn't say so."""
    path = tmp_path / f"{request.param}.pcap"
    path.write_bytes(pack(request.param, capture.read_bytes()))
    return path


def test_a_packed_capture_is_read_by_what_it_begins_with(packed: Path, capture: Path, tmp_path: Path) -> None:
    assert typed(f"filter -qr IN -w out {FILTER}", packed, tmp_path).returncode == 0
    tcpdump("-r", str(capture), "-w", str(tmp_path / "expected"), FILTER)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()
    assert typed("capture -qi IN -w out.pcapng", packed, tmp_path).returncode == 0
    assert f"pcap:{packed}".encode() in (tmp_path / "out.pcapng").read_bytes()
    counted = typed("measure size IN --json -", packed, tmp_path)
    assert sum(each["packets"] for each in json.loads(counted.stdout)["counters"]) == COUNT


def test_emulated_links_of_a_switch_are_no_captures() -> None:
    job = SwitchJob(sources={1: "null"}, links={2: parse_netem("delay 20ms")})
    with common.unpacked(job) as inside:
        assert inside == job


@pytest.mark.parametrize("by", ["cat IN |", ""])
def test_so_is_one_at_standard_input(by: str, packed: Path, capture: Path, tmp_path: Path) -> None:
    command = f"{by} {shlex.join(HEADRACE)} capture -qr - -w - {'' if by else '< IN'}".replace("IN", str(packed))
    assert subprocess.check_output(command, shell=True) == capture.read_bytes()


def test_what_came_before_a_packed_capture_broke_is_there(packed: Path, capture: Path, tmp_path: Path) -> None:
    whole = capture.read_bytes()
    half = len(whole) // 2
    packed.write_bytes(pack(packed.stem, whole[:half]) + pack(packed.stem, whole[half:])[:-20])
    done = typed("capture -qr IN -w out", packed, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"headrace: {packed}: it can't all be unpacked: ") and done.stderr.count("\n") == 1
    out = (tmp_path / "out").read_bytes()
    assert whole.startswith(out) and half - max(len(packet.data) + 16 for packet in PACKETS) < len(out)


@pytest.mark.parametrize("suffix", ["gz", "zst", "lz4"])
def test_a_capture_is_packed_by_its_name(suffix: str, capture: Path, tmp_path: Path) -> None:
    for line in (f"filter -q '' IN -w out.{suffix}", f"capture -qr IN -w out.{suffix} --time-stamp-precision nano"):
        assert typed(line, capture, tmp_path).returncode == 0
        program = {"gz": "gzip", "zst": "zstd", "lz4": "lz4"}[suffix]
        inside = subprocess.check_output([program, "-dc", str(tmp_path / f"out.{suffix}")])
        assert len(inside) == capture.stat().st_size


def test_a_program_that_is_missing_is_named(
    packed: Path, capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    for line, name in (("filter tcp IN", packed), (f"filter tcp {capture} -w out.zst", "out.zst")):
        said = typed(line, packed, tmp_path).stderr
        program = packed.stem if name == packed else "zstd"
        assert said == f"headrace: {name}: {program}, which packs it, is missing: apt install {program}\n"
