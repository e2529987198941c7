"""``headrace traffic triangle``: rates, frames and files."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from network import add_pair, own_network
from patience import HANG_S
from scapy.utils import RawPcapNgReader, RawPcapReader

from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.traffic.triangle import EPOCH_NS, Triangle, frame, read_frame


def run(*arguments: object) -> int:
    return main(["traffic", "triangle", *map(str, arguments)])


def records(path: Path) -> list[tuple[int, bytes]]:
    """Time in ns and bytes of each packet."""
    with RawPcapReader(str(path)) as reader:
        assert not isinstance(reader, RawPcapNgReader)
        assert reader.nano and reader.linktype == 1
        return [(meta.sec * 10**9 + meta.usec, data) for data, meta in reader]


def test_the_rate_is_two_triangles_on_the_lower_one() -> None:
    load = Triangle(lower=100, upper=300, intervals=(4, 1))
    rates = [load.rate(t) for t in (0, 0.5, 1, 2, 3, 4, 8)]
    assert rates == [100, 100 + 200 * (0.125 + 0.5) / 2, 225, 150, 275, 200, 100]


@pytest.mark.parametrize("intervals", [(4.0, 1.0), (2.5, 0.7), (1.0, 1.0), (100.0, 33.0)])
@pytest.mark.parametrize("lower", [0, 200, 1000])
def test_packets_leave_when_the_integral_of_the_rate_says(intervals: tuple[float, float], lower: float) -> None:
    load = Triangle(lower=lower, upper=1000, intervals=intervals)
    duration = 8.0
    times = load.times(duration)
    fine = np.linspace(0, duration, 80_001)
    rates = np.array([load.rate(t) for t in fine])
    integral = np.concatenate(([0], np.cumsum((rates[1:] + rates[:-1]) / 2 * np.diff(fine))))
    assert abs(len(times) - integral[-1]) <= 1
    assert np.all(np.diff(times) > 0) and times[0] == 0
    np.testing.assert_allclose(np.interp(times, fine, integral), np.arange(len(times)), atol=0.01)


def test_a_frame_has_hash_number_and_time() -> None:
    data = frame(60, 0x0123456789ABCDEF, 7, 8)
    assert len(data) == 60 and data[12:14] == b"\x88\xb5"
    assert struct.unpack_from(">QQQ", data, 14) == (0x0123456789ABCDEF, 7, 8)
    assert read_frame(data) == (7, 8)
    assert read_frame(bytes(60)) is None and read_frame(data[:20]) is None
    assert frame(14, 0, 0, 0) == data[:14]


@pytest.mark.parametrize("length", [38, 39, 1024, 1514])
def test_a_file_holds_the_frames_at_their_times(length: int, tmp_path: Path) -> None:
    path = tmp_path / "t.pcap"
    assert run("-s", "0xdeadbeef", "-p", length, "-l", 50, "-u", 200, "-i", 1, "-I", 2, "-w", path) == 0
    times = Triangle(lower=50, upper=200, intervals=(1, 2)).times(4)
    found = records(path)
    assert len(found) == len(times) == 500
    for number, (time_ns, data) in enumerate(found):
        assert abs(time_ns - EPOCH_NS - times[number] * 1e9) <= 1
        assert data == frame(length, 0xDEADBEEF, number, time_ns)


@pytest.mark.parametrize("length", [42, 1514])
def test_frames_end_with_their_crc_if_they_should(length: int, tmp_path: Path) -> None:
    path = tmp_path / "t.pcap"
    assert run("-p", length, "-l", 100, "-u", 100, "--duration", 1, "--crc", "-w", path) == 0
    found = records(path)
    assert len(found) == 100
    for number, (time_ns, data) in enumerate(found):
        assert data[:-4] == frame(length, 0, number, time_ns)[:-4]
        assert int.from_bytes(data[-4:], "little") == zlib.crc32(data[:-4])


def test_many_packets_go_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "t.pcap"
    assert run("-p", 60, "-l", 40_000, "-u", 40_000, "--duration", 2, "-w", path) == 0
    assert path.stat().st_size == 24 + 80_000 * (16 + 60)
    assert [read_frame(data)[0] for _, data in records(path)] == list(range(80_000))  # type: ignore[index]


def test_a_file_goes_to_standard_output() -> None:
    command = "import sys; from headrace.cli import main; sys.exit(main())"
    words = ["traffic", "triangle", "-l", "10", "-u", "10", "--duration", "1", "-p", "100", "-w", "-"]
    done = subprocess.run([sys.executable, "-c", command, *words], capture_output=True, check=True)
    assert len(done.stdout) == 24 + 10 * 116
    assert done.stderr == b"10 packets of 100 bytes\n"


@pytest.mark.live
def test_packets_go_out_on_an_interface(capsys: pytest.CaptureFixture[str]) -> None:
    with own_network():
        add_pair("tri0", "tri1")
        listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
        listener.bind(("tri1", 0x88B5))
        listener.settimeout(HANG_S)
        begin = time.time_ns()
        assert run("-p", 60, "-l", 500, "-u", 500, "--duration", 0.5, "--interface", "tri0") == 0
        got = [listener.recv(2000) for _ in range(250)]
        listener.close()
    assert "headrace: ready: packets go out on tri0\n" in capsys.readouterr().err
    numbers, times = zip(*(read_frame(data) or (0, 0) for data in got), strict=True)
    assert numbers == tuple(range(250))
    # None goes out before it is due; how late one is, the machine decides.
    assert all(sent >= begin + number * 2e6 - 1e6 for number, sent in enumerate(times)) and list(times) == sorted(times)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-w", "x", "-p", "37"], "packets of 37 bytes: must have 38 to 1514"),
        (["-w", "x", "-p", "41", "--crc"], "packets of 41 bytes: must have 42 to 1514"),
        (["-w", "x", "-l", "9", "-u", "8"], "rates of 9 and 8: must be 0 <= lower <= upper"),
        (["-w", "x", "-i", "0"], "an interval must have 1e-06 to 1e+06 s"),
        (["-w", "x", "-s", "word"], "-s word: not a number"),
        (["-w", "x", "-s", "-1"], "hash -0x1: must have 64 bits"),
        (["-w", "x", "--duration", "0"], "--duration 0: must be longer than 0 s"),
        ([], "either -w FILE or --interface NAME is needed"),
        (["-w", "x", "--interface", "y"], "either -w FILE or --interface NAME is needed"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words) == 2
    assert capsys.readouterr().err.startswith(f"headrace: {message}")


def test_what_cannot_be_written_or_sent_on_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-w", tmp_path / "no" / "t.pcap") == 1
    assert "No such file or directory" in capsys.readouterr().err
    assert run("--interface", "nosuchif0") == 1
    assert capsys.readouterr().err.startswith("headrace: nosuchif0: ")


def test_wrong_traffic_is_refused() -> None:
    with pytest.raises(HeadraceError):
        Triangle(upper=0, lower=0)
