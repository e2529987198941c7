"""Wrong arguments are refused in one line, before a card is built for them."""

from __future__ import annotations

import shlex
from pathlib import Path
from unittest.mock import Mock

import pytest

from headrace.card import Card
from headrace.cards.bridge.host import PROFILES, Host, parse_host
from headrace.cli import main
from headrace.errors import HeadraceError
from headrace.net.source import check_link


@pytest.fixture(autouse=True)
def no_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a card was opened")

    monkeypatch.setattr(Card, "open", refuse)


@pytest.mark.parametrize(
    "words",
    [
        "recv 64 nan 5",
        "recv 64 inf 5",
        "recv 64 1e9 5",
        "recv 64 -- -1 5",
        "recv 0 10 5",
        "recv 65 10 5",
        "recv 64 10 5 --adaptive nan",
        "recv 64 10 5 --adaptive inf",
        "recv 64 10 5 --adaptive 0",
        "recv 64 10 5 --adaptive=-1",
        "recv 64 10 5 --host nobody",
        "recv 64 10 5 --rate nanG",
        f"recv 64 10 5 --rate {'9' * 400}G",
        "recv 64 10 5 --link nowhere",
        "recv 64 10 5 --link gen:size=nan",
        "recv 64 10 5 --link gen:size=70000",
        "recv 64 10 5 --link gen:count=-1",
        "recv 64 10 5 --link gen:rate=inf",
        "recv 64 10 5 --link gen:colour=red",
        "recv 64 10 5 --link iface:",
        "recv 64 10 5 --link gen:size=100-60",
        "recv 64 10 5 --link gen:src=10.0.0.256",
        "recv 64 10 5 --link gen:frame=raw,sport=5",
        "recv 64 10 5 --link gen:rate=1e14",
        "recv 64 10 5 -P H2S_KB=64",
        "recv 64 10 5 -P NOTHING=1",
        "recv 64 10 5 --express -P EXPRESS_KB=0",
        "trace 64 10 nan 500",
        "trace 64 10 -- -1 500",
        "trace 64 10 1 nan",
        "trace 64 10 1 0",
        "trace 64 10 1 1e-9",
        "send 64 nan 64",
        "send 64 10 13",
        "send 64 10 1515",
        "send 64 10 64 nan",
        "send 64 10 64 inf",
        "send 64 10 64 -2",
        "send 64 10 64 0",
        "send 64 10 64 -1 5 --sink gen:size=60",
        "run --timeout-ms nan",
        "run --timeout-ms=-1",
        "run --buffer-kb 100",
        "run --chain sieve",
        "run --host message=1",
        "run --link gen:size=x",
        "run --sink1 nowhere",
    ],
)
def test_what_can_not_be_is_refused_at_once(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bridge", *shlex.split(words)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("headrace: ") and said.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        "recv 64 10 5 --link pcap:/none/x",
        "recv 64 10 5 -w /none/x",
        "send 64 10 64 -1 5 -w /none/x",
        "run --sink pcap:/",
        "recv 64 10 5 --json /none/x",
        "run --json /",
    ],
)
def test_so_are_files_that_are_not_there(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bridge", *shlex.split(words)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("study bridge --json /none/x", 1),
        ("study capture --json /none/x", 1),
        ("measure size /none --json /none/x", 1),
        ("measure size /none --plot /none/x.png", 1),
        ("measure size /none --plot x.doc", 2),
        ("measure size /none --rate nanG", 2),
    ],
)
def test_other_commands_look_first_too(words: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(words)) == code
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "option", ["-l nan", "-u inf", "-u 1e300", "-i nan", "-I 0", "-i inf", "--duration nan", "--duration inf"]
)
def test_triangles_have_finite_sides(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["traffic", "triangle", *option.split(), "-w", str(tmp_path / "out.pcap")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "specification",
    ["", "size=60-1514,rate=2.5G", "size=imix,count=5", "rate=1e9", "rate=.5G,seed=18446744073709551615",
     "frame=tcp,src=10.0.0.1,dst=255.255.255.255,sport=65535,dport=0"],
)  # fmt: skip
def test_what_a_generator_takes_is_let_through(specification: str) -> None:
    check_link(f"gen:{specification}")


def test_a_host_is_given_by_what_it_costs() -> None:
    host = parse_host("message=0.8ms,byte=40.7ns,jitter=10%")
    assert (host.h2s_message_ns, host.s2h_message_ns, host.byte_ns, host.jitter) == (800_000, 800_000, 40.7, 0.1)
    host = parse_host("message=5us,s2h-message=.5s,packet=0ns")
    assert (host.h2s_message_ns, host.s2h_message_ns, host.packet_ns, host.jitter) == (5_000, 5e8, 0, 0)
    assert parse_host("embednet") is PROFILES["embednet"]


def test_jitter_varies_each_cost_in_the_same_way_in_every_run() -> None:
    def costs() -> list[int]:
        host = Host(Mock(), Mock(), parse_host("message=100us,jitter=10%"))
        return [host._cost(100_000) for _ in range(100)]

    first = costs()
    assert first == costs() and len(set(first)) > 90
    assert 90_000 <= min(first) < 91_000 and 109_000 < max(first) <= 110_000


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("message=1", "message=1 is not a time"),
        ("message=nanms", "not a time"),
        ("message=-1ms", "not a time"),
        ("message=1e3ms", "not a time"),
        ("message=11s", "at most 10 s"),
        ("byte=1ns,byte=2ns", "byte is given twice"),
        ("bytes=1ns", "bytes is none of message, s2h-message, packet, byte, jitter"),
        ("message=1us,", "nothing is none of"),
        ("jitter=0.1", "not a share"),
        ("jitter=101%", "not a share"),
        ("fast", "none of none, pcie, embednet"),
        ("", "none of none, pcie, embednet"),
    ],
)
def test_wrong_costs_are_told(text: str, complaint: str) -> None:
    with pytest.raises(HeadraceError, match=complaint) as refused:
        parse_host(text)
    assert refused.value.exit_code == 2


def test_embednets_host_has_the_three_rates_that_it_is_fitted_to() -> None:
    """In ns a message: 12 bytes of header, 1 word a cycle of 100 MHz for a packet that nothing overlaps."""
    host = PROFILES["embednet"]
    single = 1512 * host.byte_ns + 1512 / 4 * 10
    assert 12_000 / (host.h2s_message_ns + single) * 1e3 == pytest.approx(15)
    assert 12_000 / (host.s2h_message_ns + single) * 1e3 == pytest.approx(9)
    full = host.h2s_message_ns + 43 * 1512 * host.byte_ns
    assert 43 * 12_000 / full * 1e3 == pytest.approx(150)
