"""``headrace filter`` and ``measure`` as a user runs them: real files, the real card, tcpdump beside it."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from oracle import HTTP_WITH_DATA, Packet, make_capture, random_packets
from patience import until
from scapy.utils import RawPcapReader

from headrace import paths
from headrace.build.models import build_card
from headrace.cards.filter import measurements
from headrace.cli import main
from headrace.net import bpf
from headrace.traffic import realistic_capture

HEADRACE = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module", autouse=True)
def model() -> None:
    build_card("filter", progress=False)


@pytest.fixture(scope="module")
def packets() -> list[Packet]:
    return random_packets(seed=11, count=1000)


@pytest.fixture
def capture(tmp_path: Path, packets: list[Packet]) -> Path:
    return make_capture(tmp_path / "in.pcap", packets)


def tcpdump(capture: Path, expression: str, *options: str) -> bytes:
    """The file that tcpdump writes."""
    out = capture.with_suffix(".tcpdump")
    command = ["tcpdump", "-r", str(capture), "-w", str(out), *options, expression]
    subprocess.run(command, capture_output=True, check=False)
    return out.read_bytes()


def records(path: Path) -> list[tuple[bytes, int, float]]:
    """Bytes, length on the wire and time of each packet."""
    with RawPcapReader(str(path)) as reader:
        return [(data, meta.wirelen, meta.sec + meta.usec * 1e-6) for data, meta in reader]


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("nanosecond", [False, True])
@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_every_capture_format_gives_tcpdumps_file(
    kind: str, nanosecond: bool, big_endian: bool, packets: list[Packet], tmp_path: Path
) -> None:
    capture = make_capture(tmp_path / "in", packets, kind, nanosecond, big_endian)  # type: ignore[arg-type]
    assert main(["filter", "ip6 or arp", str(capture), "-w", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, "ip6 or arp")


@pytest.mark.parametrize("rate", ["line", "recorded", "10G"])
def test_the_rate_does_not_change_the_file(rate: str, capture: Path, tmp_path: Path) -> None:
    assert main(["filter", "udp", str(capture), "-w", str(tmp_path / "out"), "--rate", rate]) == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, "udp")


def test_filters_side_by_side_each_give_tcpdumps_file(capture: Path, tmp_path: Path) -> None:
    expressions = ["tcp src port 100", HTTP_WITH_DATA, "vlan", ""]
    files = [str(tmp_path / f"out{number}") for number in range(4)]
    command = ["filter", expressions[0], str(capture), "-w", files[0]]
    for expression, file in zip(expressions[1:], files[1:], strict=True):
        command += ["--also", expression, "-w", file]
    assert main(command) == 0
    for expression, file in zip(expressions, files, strict=True):
        assert Path(file).read_bytes() == tcpdump(capture, expression), expression


def test_from_pipe_to_pipe(capture: Path) -> None:
    command = [*HEADRACE, "filter", "icmp", "-", "-w", "-"]
    result = subprocess.run(command, input=capture.read_bytes(), capture_output=True, check=True)
    assert result.stdout == tcpdump(capture, "icmp")
    assert b"headrace filter" in result.stderr


def test_a_reader_that_has_seen_enough_is_no_error(capture: Path) -> None:
    """As with `| head -c 24`: the run ends early and quietly."""
    command = [*HEADRACE, "filter", "", str(capture), "-w", "-", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(24)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_a_program_from_a_file(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "program").write_text(bpf.dump(bpf.compile("ip proto 17"), 3))
    assert main(["filter", "-F", str(tmp_path / "program"), str(capture), "-w", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, "ip proto 17")


def test_snaplen_cuts_what_is_kept_and_not_what_was_on_the_wire(
    capture: Path, packets: list[Packet], tmp_path: Path
) -> None:
    assert main(["filter", "", str(capture), "-w", str(tmp_path / "out"), "-s", "64"]) == 0
    assert [(data, wirelen) for data, wirelen, _ in records(tmp_path / "out")] == [
        (packet.data[:64], packet.wirelen) for packet in packets
    ]


def test_the_cards_own_times_are_those_of_a_100_gbit_line(tmp_path: Path) -> None:
    capture = make_capture(tmp_path / "in.pcap", [Packet(bytes(1500), 1500, second * 10**9) for second in range(100)])
    assert main(["filter", "", str(capture), "-w", str(tmp_path / "out"), "--timestamps", "card"]) == 0
    times = [time for _, _, time in records(tmp_path / "out")]
    assert times == sorted(times)
    assert times[-1] - times[0] == pytest.approx(99 * 1524 * 8 / 100e9, abs=2e-6)  # the file has microseconds


def test_the_json_report_counts_what_tcpdump_counts(
    capture: Path, packets: list[Packet], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["filter", "tcp", str(capture), "--json", "-"]) == 0
    report = json.loads(capsys.readouterr().out)
    program = bpf.compile("tcp")
    verdicts = bpf.run_many(program, ((packet.data, packet.wirelen) for packet in packets))
    assert report["packets"] == len(packets)
    assert report["matched"] == report["programs"][0]["matched"] == sum(map(bool, verdicts))
    assert report["uninspected"] == report["lost"] == 0
    assert 1.0 <= report["core_cpi"] <= 1.05
    assert 0 < report["latency_cycles"][0] <= report["latency_cycles"][1] <= 8


def test_a_truncated_capture_gives_every_packet_before_the_fault(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = records(capture)
    end = 24 + sum(16 + len(data) for data, _, _ in whole[:500])
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(capture.read_bytes()[: end + 10])
    assert main(["filter", "", str(cut), "-w", str(tmp_path / "out")]) == 1
    assert records(tmp_path / "out") == whole[:500]
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"headrace: {cut}: packet 501 at byte {end}: truncated dump file")


def test_a_report_says_what_a_full_disk_has_taken(tmp_path: Path) -> None:
    """Each filter's file has room for other packets than the card has matched."""
    assert main(["filter", "", "gen:count=1", "-q", "-w", os.devnull]) == 0  # the model's files have no such limit
    room, report = 100_001, tmp_path / "report.json"
    outs = [tmp_path / "all.pcap", tmp_path / "short.pcap"]
    words = ["", "gen:size=60-100,count=5000", "-w", outs[0], "--also", "less 64", "-w", outs[1], "--json", report]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))  # noqa: E731
    command = [*HEADRACE, "filter", *map(str, words)]
    wide = {**os.environ, "COLUMNS": "200", "HEADRACE_READS": ""}  # what was read before may be as long
    result = subprocess.run(command, preexec_fn=limit, env=wide, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and f"headrace: {outs[0]}: File too large" in result.stderr
    data = json.loads(report.read_text())
    assert data["matched"] == data["programs"][0]["matched"] == data["packets"]
    for out, program in zip(outs, data["programs"], strict=True):
        assert program["written"] == len(records(out))
    assert 0 < data["programs"][0]["written"] < data["programs"][0]["matched"]
    first = data["programs"][0]
    assert f"{first['written']:,} in the file; {first['matched']:,} matched until the card stopped" in result.stderr
    assert result.stderr.count("matched") == 2  # of each filter: no third number beside them


def test_a_full_disk_is_one_line_and_exit_code_1(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["filter", "", str(capture), "-w", "/dev/full", "-q"]) == 1
    assert capsys.readouterr().err == "headrace: /dev/full: No space left on device\n"


def test_a_file_that_cannot_be_opened_is_one_line_and_exit_code_1(
    capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["filter", "", str(capture), "-w", "/missing/out"]) == 1
    assert capsys.readouterr().err == "headrace: /missing/out: No such file or directory\n"


def test_an_interrupted_run_leaves_whole_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [*HEADRACE, "filter", "", "gen:size=60-1514,count=1000000000", "-w", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        until(lambda: out.exists() and out.stat().st_size > 100_000, "packets")
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"headrace: interrupted\n"
        assert process.wait() == 130
    check = subprocess.run(["tcpdump", "-r", str(out), "--count"], capture_output=True, text=True, check=False)
    assert check.returncode == 0
    assert "truncated" not in check.stderr
    assert int(check.stdout.split()[0]) > 100


def test_a_pipe_that_is_written_slowly_is_waited_for(capture: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = capture.read_bytes()

    def write() -> None:
        with pipe.open("wb", buffering=0) as file:
            for start in range(0, len(data), len(data) // 5):
                file.write(data[start : start + len(data) // 5])
                time.sleep(0.1)

    writer = threading.Thread(target=write)
    writer.start()
    code = main(["filter", "tcp", str(pipe), "-w", str(tmp_path / "out")])
    writer.join()
    assert code == 0
    assert (tmp_path / "out").read_bytes() == tcpdump(capture, "tcp")


@pytest.mark.parametrize("name", ["ip-proto", "tcp-dport", "size", "udp port 53"])
def test_measurements_count_what_libpcap_computes(
    name: str, capture: Path, packets: list[Packet], capsys: pytest.CaptureFixture[str]
) -> None:
    program = bpf.for_link(measurements.find(name).program, bpf.LinkFormat(), "")
    returned = bpf.run_many(program, ((packet.data, packet.wirelen) for packet in packets))
    assert main(["measure", name, str(capture), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["counter"]: row["packets"] for row in found["counters"]} == Counter(returned)
    sizes: Counter[int] = Counter()
    for counter, packet in zip(returned, packets, strict=True):
        sizes[counter] += packet.wirelen
    assert {row["counter"]: row["bytes"] for row in found["counters"]} == sizes


def test_returned_values_out_of_range_are_counted_apart(
    capture: Path, packets: list[Packet], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.bpf").write_text("ld len\nret a\n")
    assert main(["measure", f"@{tmp_path / 'mine.bpf'}", str(capture), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["out_of_range"]["packets"] == sum(packet.wirelen > 1023 for packet in packets)
    assert found["packets"] == len(packets)


def test_the_manuals_example_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (paths.share() / "docs" / "filter-card.md").read_text()
    found = re.search(r"```python\n((?:(?!```).)*open_filter_card.*?)```\n.*?```\n(.*?)```", page, re.DOTALL)
    assert found is not None
    monkeypatch.chdir(tmp_path)
    realistic_capture(Path("in.pcap"), 5_000, method="made")
    exec(compile(found[1], "filter-card.md", "exec"), {})
    assert capsys.readouterr().out == found[2]


def test_a_longer_frame_than_the_filters_inspect_is_told_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = make_capture(tmp_path / "in.pcap", [Packet(bytes(size), size) for size in (60, 65_601, 60, 65_600)])
    assert main(["filter", "", str(long), "--json", "-"]) == 1
    said = capsys.readouterr()
    assert "1 packets are longer than 65,600 bytes and were not inspected" in said.err
    report = json.loads(said.out)
    assert (report["packets"], report["matched"], report["uninspected"]) == (4, 3, 1)


def test_the_rate_of_the_line_shows_what_a_filter_is_too_slow_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = tmp_path / "slow"
    slow.write_text("\n".join(["201", *["4 0 0 1"] * 200, "6 0 0 262144"]))
    reports = {}
    for rate in ("line", "lossless"):
        assert main(["filter", "-F", str(slow), "gen:size=60,count=3000", "--rate", rate, "--json", "-"]) == 0
        reports[rate] = json.loads(capsys.readouterr().out)
    assert reports["line"]["uninspected"] > 1000 and reports["line"]["held_ns"] == 0
    assert reports["lossless"]["uninspected"] == reports["lossless"]["lost"] == 0 < reports["lossless"]["held_ns"]
