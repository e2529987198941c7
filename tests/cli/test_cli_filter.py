"""``headrace filter`` and ``measure``: what the command line makes of its arguments, and how it shows what comes back.

The card is replaced here by a stand-in that keeps the job; tests/card runs the real one.
"""

import importlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from oracle import EXPRESSIONS, make_capture, random_packets

from headrace.cards.filter import measurements
from headrace.cards.filter import run as filter
from headrace.cards.filter.run import FilterJob, FilterOutput, FilterReport, ProgramReport
from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.net import bpf


def report_of(job: FilterJob, **changes: Any) -> FilterReport:
    values: dict[str, Any] = {
        "packets": 1000,
        "bytes": 64_000,
        "matched": 250,
        "uninspected": 0,
        "lost": 0,
        "held_ns": 0.0,
        "cycles": 3000,
        "clock_hz": 322_265_625,
        "core_cpi": 1.01,
        "cycles_per_packet": 3.0,
        "latency_cycles": (4, 4),
        "wall_s": 0.5,
        "packets_per_wall_s": 2000.0,
        "cores": 8,
        "programs": [ProgramReport(o.program.source, o.path, 250, 16_000, 0) for o in job.outputs],
        "warnings": [],
    }
    return FilterReport(**values | changes)


class Stand:
    """Stands in for the card: keeps the last job and gives back a report with the changes that a test asks for."""

    def __init__(self) -> None:
        self.job: FilterJob | None = None
        self.changes: dict[str, Any] = {}

    def run(self, job: FilterJob, *_: object) -> FilterReport:
        self.job = job
        return report_of(job, **self.changes)


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Stand:
    stand = Stand()
    importlib.import_module("headrace.cards.filter.blocks")  # has the real one, also after this test
    monkeypatch.setattr(filter, "run_filter", stand.run)
    return stand


@pytest.fixture
def capture(tmp_path: Path) -> str:
    return str(make_capture(tmp_path / "in.pcap", random_packets(1, 20), snaplen=65535))


def job_of(card: Stand, *arguments: str) -> FilterJob:
    assert main(["filter", *arguments]) == 0
    assert card.job is not None
    return card.job


# Printing programs


@pytest.mark.parametrize("option", ["-d", "-dd", "-ddd"])
def test_dumps_are_what_tcpdump_prints(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for expression in EXPRESSIONS[::25]:
        assert main(["filter", option, "--", expression]) == 0
        theirs = subprocess.run(
            ["tcpdump", "-y", "EN10MB", option, "--", expression], capture_output=True, text=True, check=True
        )
        assert capsys.readouterr().out == theirs.stdout


def test_a_dump_for_a_capture_is_what_tcpdump_r_prints(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["filter", "-d", "tcp", capture]) == 0
    theirs = subprocess.run(["tcpdump", "-r", capture, "-d", "tcp"], capture_output=True, text=True, check=True)
    assert capsys.readouterr().out == theirs.stdout


def test_a_dump_knows_the_snaplen_the_file_and_no_optimiser(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "filter"
    file.write_text("tcp port 80 # web\n")
    assert main(["filter", "-s", "96", "-O", "-F", str(file), "-ddd"]) == 0
    theirs = ["tcpdump", "-y", "EN10MB", "-s", "96", "-O", "-F", str(file), "-ddd"]
    assert capsys.readouterr().out == subprocess.run(theirs, capture_output=True, text=True, check=True).stdout


# Jobs


def test_defaults(card: Stand, capture: str) -> None:
    job = job_of(card, "tcp", capture)
    assert [output.path for output in job.outputs] == [None]
    assert job.outputs[0].program == bpf.compile("tcp", snaplen=65535)
    assert (job.source, job.rate, job.cores, job.timestamps, job.trace) == (capture, "lossless", None, "recorded", None)
    assert job.parameters == {}


def test_every_option_reaches_the_job(card: Stand, capture: str) -> None:
    options = "-w out -s 96 --rate 2.5G --cores 4 --timestamps card --trace t.fst -P DATA_W=1024 -P MAX_FRAME=1518"
    job = job_of(card, "tcp", capture, *options.split())
    assert job.outputs[0].program == bpf.compile("tcp", snaplen=96)
    assert (job.outputs[0].path, job.outputs[0].snaplen) == ("out", 96)
    assert (job.rate, job.cores, job.timestamps, job.trace) == (2.5e9, 4, "card", "t.fst")
    assert job.parameters == {"DATA_W": "1024", "MAX_FRAME": "1518"}


@pytest.mark.parametrize(
    ("text", "rate"),
    [("lossless", "lossless"), ("line", "line"), ("recorded", "recorded"), ("40G", 4e10), ("100M", 1e8)],
)
def test_rates(card: Stand, capture: str, text: str, rate: str | float) -> None:
    assert job_of(card, "tcp", capture, "--rate", text).rate == rate


def test_files_belong_to_filters_in_turn(card: Stand, capture: str) -> None:
    assert [output.path for output in job_of(card, "tcp", capture, "--also", "udp").outputs] == [None, None]
    job = job_of(card, "tcp", capture, "-w", "1", "--also", "udp", "-w", "2", "--also", "arp", "-w", "-")
    assert [(output.program.source, output.path) for output in job.outputs] == [
        ("tcp", "1"),
        ("udp", "2"),
        ("arp", "-"),
    ]


def test_a_filter_from_a_file_takes_the_place_of_the_expression(card: Stand, capture: str, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(bpf.compile("arp", snaplen=7).to_decimal())
    job = job_of(card, "-F", str(program), capture)
    assert job.outputs[0].program == bpf.compile("arp", snaplen=7)
    assert job.source == capture


def test_generated_packets_are_ethernets(card: Stand) -> None:
    job = job_of(card, "tcp", "gen:size=64,count=10")
    assert job.source == "gen:size=64,count=10"
    assert job.outputs[0].program == bpf.compile("tcp")


def test_a_filter_of_a_pipe_is_compiled_by_who_reads_it(card: Stand) -> None:
    job = job_of(card, "tcp", "-", "-s", "99", "-O")
    assert job.source == "-"
    assert job.outputs[0].program == bpf.Expression("tcp", 99, optimize=False)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "EXPR is missing (see headrace filter --help)"),
        (["tcp"], 2, "IN is missing (see headrace filter --help)"),
        (["tcp", "port", "80", "IN"], 2, "tcp port 80 IN: more than EXPR and IN; quote the expression"),
        (["tcp port", "IN"], 2, "can't parse filter expression: syntax error"),
        (["tcp", "IN", "--also", "udp port"], 2, "can't parse filter expression: syntax error"),
        (["\udcff", "IN"], 2, "can't parse filter expression: syntax error"),
        (["-d", "tcp", "--also", "udp"], 2, "-d prints one filter: leave --also out"),
        (["tcp", "nothing.pcap"], 1, "nothing.pcap: No such file or directory"),
        (["tcp", "/etc/passwd"], 1, "/etc/passwd: unknown file format"),
        (["-F", "nothing", "IN"], 1, "nothing: No such file or directory"),
        (["tcp", "IN", "--rate", "fast"], 2, "--rate fast: neither lossless, line, recorded nor a rate such as 40G"),
        (["tcp", "IN", "--rate", "0G"], 2, "--rate 0G: neither lossless, line, recorded nor a rate such as 40G"),
        (["tcp", "IN", "--timestamps", "sun"], 2, "--timestamps sun: none of recorded, card"),
        (["tcp", "IN", "-P", "CORES"], 2, "-P CORES: not NAME=VALUE"),
        (["tcp", "IN", "-w", "a", "-w", "b"], 2, "1 filter but 2 -w: each needs one"),
        (["tcp", "IN", "-w", "a", "--also", "udp"], 2, "2 filters but 1 -w: each needs one"),
        (
            ["tcp", "IN", "-w", "a", "--also", "udp", "-w", "./a"],
            2,
            "each -w needs a file of its own, other than IN",
        ),
        (["tcp", "IN", "-w", "IN"], 2, "each -w needs a file of its own, other than IN"),
        (["tcp", "IN", "-w", "-", "--json", "-"], 2, "only one output can be -, the standard output"),
        (["tcp", "IN", *["--also", "udp"] * 4], 2, "5 filters: the card runs 4 at once"),
    ],
)
def test_wrong_arguments(
    card: Stand, capture: str, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["filter", *(capture if a == "IN" else a for a in arguments)]) == code
    assert capsys.readouterr().err == f"headrace: {message}\n".replace(
        "IN:", f"{capture}:" if "quote" in message else "IN:"
    )
    assert card.job is None


def test_an_invalid_program_never_reaches_the_card(
    card: Stand, capture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program"
    program.write_text("1\n40 0 0 12\n")
    assert main(["filter", "-F", str(program), capture]) == 2
    assert capsys.readouterr().err == "headrace: invalid filter program: the last instruction is not a return\n"
    assert card.job is None


# Reports


def test_the_report_goes_to_stderr(card: Stand, capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    card.changes = {"uninspected": 12, "held_ns": 1.5e6, "warnings": ["something to know"]}
    job_of(card, "tcp port 80", capture, "-w", "out.pcap")
    out, err = capsys.readouterr()
    assert out == ""
    for text in (
        "tcp port 80",
        "out.pcap",
        "1,000",
        "12",
        "1.500 ms",
        "4 cycles",
        "1.01",
        "modelled",
        "something to know",
    ):
        assert text in err


def test_quiet_prints_nothing(card: Stand, capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    job_of(card, "tcp", capture, "-q")
    assert capsys.readouterr() == ("", "")


def test_a_run_without_packets_has_a_report(card: Stand, capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    card.changes = {"packets": 0, "core_cpi": None, "cycles_per_packet": None, "latency_cycles": None}
    job_of(card, "tcp", capture)
    assert "core CPI" in capsys.readouterr().err


def test_square_brackets_in_an_expression_are_no_markup(
    card: Stand, capture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    card.changes = {"warnings": ["udp[length] = 1: stopped"]}
    job_of(card, "tcp[tcpflags] != 0", capture)
    err = capsys.readouterr().err
    assert "tcp[tcpflags] != 0" in err
    assert "udp[length] = 1" in err


def test_json_to_a_file_and_to_stdout(
    card: Stand, capture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = "packets bytes matched uninspected cycles clock_hz core_cpi cycles_per_packet latency_cycles wall_s"
    job_of(card, "tcp", capture, "--json", str(tmp_path / "report.json"))
    capsys.readouterr()
    written = json.loads((tmp_path / "report.json").read_text())
    assert {*wanted.split(), "packets_per_wall_s"} <= written.keys()
    assert written["latency_cycles"] == [4, 4]
    job_of(card, "tcp", capture, "--json", "-")
    out, err = capsys.readouterr()
    assert json.loads(out) == written
    assert err == ""


@pytest.mark.usefixtures("card")
def test_a_report_that_cannot_be_written_is_an_error(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["filter", "tcp", capture, "--json", "missing/report.json"]) == 1
    assert capsys.readouterr().err == "headrace: missing/report.json: No such file or directory\n"


def test_a_fault_is_one_line_after_the_report_and_exit_code_1(
    card: Stand, capture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    card.changes = {"fault": "in.pcap: truncated at packet 7, offset 940"}
    assert main(["filter", "tcp", capture]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "headrace: in.pcap: truncated at packet 7, offset 940"
    assert len(lines) > 1


def test_a_reader_that_has_gone_gets_no_message(card: Stand, capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    card.changes = {"fault": "standard output: Broken pipe"}
    assert main(["filter", "tcp", capture, "-w", "-", "-q"]) == 1
    assert capsys.readouterr() == ("", "")


# Measurements


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []

    def run(*arguments: Any, **_options: Any) -> Iterator[Mapping[int, tuple[int, int]]]:
        calls.append(arguments)
        yield {6: (10, 1000)}
        yield {6: (70, 7000), 17: (20, 2000), 256: (10, 600), measurements.OUT_OF_RANGE: (3, 0)}

    monkeypatch.setattr(filter, "run_measure", run)
    return calls


def test_measure_shows_the_last_counts_as_a_table(
    counting: list[tuple[Any, ...]], capture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["measure", "ip-proto", capture, "--rate", "line", "--cores", "2", "-P", "DATA_W=512"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[2:]] == [
        ["6", "TCP", "70"],
        ["17", "UDP", "20"],
        ["256", "not", "IP"],
        ["out", "of", "range"],
    ]
    assert counting[0][:5] == (measurements.find("ip-proto").program, capture, "line", 2, {"DATA_W": "512"})


@pytest.mark.usefixtures("counting")
def test_measure_orders_and_cuts_the_table(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "ip-proto", capture, "--order", "counter", "--top", "1"]) == 0
    out = capsys.readouterr().out
    assert "TCP" in out
    assert "UDP" not in out
    assert "3 more" in out


@pytest.mark.usefixtures("counting")
def test_measure_as_json(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "ip-proto", capture, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "measurement": "ip-proto",
        "packets": 103,
        "bytes": 9600,
        "counters": [
            {"counter": 6, "label": "TCP", "packets": 70, "bytes": 7000},
            {"counter": 17, "label": "UDP", "packets": 20, "bytes": 2000},
            {"counter": 256, "label": "not IP", "packets": 10, "bytes": 600},
        ],
        "out_of_range": {"packets": 3, "bytes": 0},
    }


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
@pytest.mark.usefixtures("counting")
def test_measure_plots(capture: str, tmp_path: Path, suffix: str, start: bytes) -> None:
    plot = tmp_path / f"plot.{suffix}"
    assert main(["measure", "ip-proto", capture, "--plot", str(plot)]) == 0
    assert plot.read_bytes().startswith(start)


@pytest.mark.usefixtures("counting")
def test_a_plot_of_an_unknown_kind_is_refused(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "ip-proto", capture, "--plot", "plot.xyz"]) == 2
    assert capsys.readouterr().err.startswith("headrace: plot.xyz: Format 'xyz' is not supported")


def test_measure_lists_what_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(measurements.READY)


def test_measure_prints_its_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "size", "-ddd"]) == 0
    assert capsys.readouterr().out == measurements.find("size").program.to_decimal()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "EXPR-OR-PROGRAM is missing (see headrace measure --help)"),
        (["size"], "IN is missing (see headrace measure --help)"),
        (["tcp port", "IN"], "can't parse filter expression: syntax error"),
        (["size", "IN", "--order", "age"], "--order age: none of packets, bytes, counter"),
    ],
)
def test_wrong_arguments_of_measure(
    arguments: list[str], message: str, capture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["measure", *(capture if a == "IN" else a for a in arguments)]) == 2
    assert capsys.readouterr().err == f"headrace: {message}\n"


def test_an_expression_may_be_given_as_text() -> None:
    assert FilterOutput("tcp").program == bpf.Expression("tcp")  # type: ignore[arg-type]
    with pytest.raises(HeadraceError, match="7 is no filter"):
        FilterOutput(7)  # type: ignore[arg-type]


def test_cycles_without_packets_are_no_rate_of_a_live_source(card: Stand, capsys: pytest.CaptureFixture[str]) -> None:
    card.changes = {"live": True, "cycles": 10**12, "cycles_per_packet": None}
    job_of(card, "tcp", "iface:lo")
    said = capsys.readouterr().err
    assert "1,000" in said and "a packet" not in said and "on a card at" not in said
    card.changes = {}
    job_of(card, "tcp", "iface:lo")
    said = capsys.readouterr().err
    assert "a packet" in said and "on a card at" in said
