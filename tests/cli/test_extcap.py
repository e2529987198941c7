"""The cards in Wireshark's interface list, and captures through it: the real tshark asks, filters and reads."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from oracle import Packet, make_capture, random_packets
from patience import HANG_S

from headrace.build.models import build_card
from headrace.cache import cache_root
from headrace.cli import main
from headrace.engines.filter import FilterDriver
from headrace.extcap import program as extcap
from headrace.net import bpf
from headrace.net import netlink as network
from headrace.net.netlink import Interface

CORES = {"headrace-filter": 8, "headrace-capture": 2}  # of models that other tests have too
CARDS = list(CORES)


@pytest.fixture(scope="module", autouse=True)
def models() -> None:
    for card, cores in CORES.items():
        build_card(card.removeprefix("headrace-"), {"CORES": cores}, progress=False)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose Wireshark knows nothing of Headrace yet."""
    monkeypatch.setenv("HEADRACE_CACHE", str(cache_root()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


@pytest.fixture
def installed(home: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["extcap", "install"]) == 0
    return Path(capsys.readouterr().out.splitlines()[0])


def tshark(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["tshark", *arguments], capture_output=True, text=True, check=False, timeout=HANG_S)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["extcap", "run", *arguments]) == 0
    return capsys.readouterr().out


def sentences(text: str, kind: str) -> list[dict[str, str]]:
    return [dict(re.findall(r"\{(\w+)=([^}]*)\}", line)) for line in text.splitlines() if line.split()[0] == kind]


# Installing


def test_tshark_lists_the_cards_after_install_and_not_after_uninstall(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tshark("-D")
    assert all(re.search(rf"^\d+\. {card} \(Headrace", listed.stdout, re.MULTILINE) for card in CARDS)
    assert "invalid" not in listed.stderr
    assert main(["extcap", "uninstall"]) == 0
    assert capsys.readouterr().out == f"removed {installed}\n"
    assert "headrace" not in tshark("-D").stdout


def test_a_folder_may_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extcap", "install", "--dir", str(tmp_path / "extcap")]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/extcap/headrace\n"
    asked = subprocess.run(
        [tmp_path / "extcap/headrace", "--extcap-interfaces"], capture_output=True, text=True, check=True
    )
    assert all(f"{{value={card}}}" in asked.stdout for card in CARDS)
    assert main(["extcap", "uninstall", "--dir", str(tmp_path / "extcap")]) == 0
    assert not (tmp_path / "extcap/headrace").exists()
    assert main(["extcap", "uninstall", "--dir", str(tmp_path / "extcap")]) == 0  # nothing to do


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/1/mounts").exists(), reason="needs /proc")
def test_a_folder_that_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extcap", "install", "--dir", "/proc/headrace"]) == 1
    assert capsys.readouterr().err == "headrace: /proc/headrace/headrace: No such file or directory\n"


# The protocol


@pytest.mark.parametrize("card", CARDS)
def test_every_option_that_is_offered_can_be_given(
    card: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = answer(capsys, "--extcap-interface", card, "--extcap-config", "--extcap-version", "4.0")
    calls = [option["call"] for option in sentences(config, "arg")]
    assert {"--source", "--link", "--file", "--rate", "--cores", "--snaplen"} <= set(calls)
    packets = random_packets(seed=3, count=20)
    capture = make_capture(tmp_path / "in.pcap", packets)
    given = {option["call"]: option.get("default", "") for option in sentences(config, "arg")}
    given |= {"--file": str(capture), "--cores": str(CORES[card]), "--snaplen": "60"}
    words = [word for pair in given.items() for word in pair]
    fifo = tmp_path / "out.pcap"
    answer(capsys, "--extcap-interface", card, "--capture", "--fifo", str(fifo), *words)
    lengths = subprocess.run(["tshark", "-r", str(fifo), "-T", "fields", "-e", "frame.cap_len"],
                             capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
    assert lengths == [str(min(60, len(packet.data))) for packet in packets]


def test_the_link_type_is_ethernet(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "--extcap-interface", CARDS[0], "--extcap-dlts").startswith("dlt {number=1}{name=EN10MB}")
    assert "EN10MB" in tshark("-i", "lo", "-L").stdout


def test_the_source_is_the_interface_with_the_default_route(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [Interface("eth7", True, False, False), Interface("lo", True, True, False)]
    monkeypatch.setattr(extcap, "interfaces", lambda: [*found, Interface("wan", True, False, True)])
    config = answer(capsys, "--extcap-interface", CARDS[1], "--extcap-config")
    source = sentences(config, "arg")[0]
    assert (source["call"], source["default"]) == ("--source", "iface:wan")
    choices = [value["value"] for value in sentences(config, "value") if value["arg"] == source["number"]]
    assert choices == ["iface:eth7", "iface:lo", "iface:wan"]
    assert network.best_interface(found) == found[0]
    assert network.best_interface([]) is None


def test_the_interfaces_are_those_of_the_machine() -> None:
    names = {line.split(":")[1].strip().split("@")[0]
             for line in subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True)
             .stdout.splitlines() if "link/ether" in line or "link/loopback" in line}  # fmt: skip
    assert {one.name for one in network.interfaces()} == names


def test_a_capture_filter_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    for expression in ("udp port 9", ""):
        assert answer(capsys, "--extcap-interface", CARDS[1], "--extcap-capture-filter", expression) == ""
    wrong = answer(capsys, "--extcap-interface", CARDS[1], "--extcap-capture-filter", "udp prt 9")
    assert wrong == "can't parse filter expression: syntax error\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--extcap-interface", "eth0", "--extcap-dlts"], "eth0: no interface: there are headrace-filter, headrace-"),
        (["--extcap-interface", "headrace-capture", "--capture"], "--capture needs --fifo"),
        (["--extcap-interface"], "argument --extcap-interface: expected one argument"),
        (
            ["--extcap-interface", "headrace-capture", "--capture", "--fifo", "x", "--cores", "many"],
            "--cores many: not a number",
        ),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extcap", "run", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"headrace: {message}")


# Captures


def accepted(packets: list[Packet], expression: str) -> list[Packet]:
    verdicts = bpf.run_many(bpf.compile(expression), ((p.data, p.wirelen) for p in packets))
    return [packet for packet, verdict in zip(packets, verdicts, strict=True) if verdict]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("card", CARDS)
def test_tshark_gets_from_a_capture_what_the_cards_filter_matches(card: str, tmp_path: Path) -> None:
    packets = random_packets(seed=11, count=500)
    capture = make_capture(tmp_path / "in.pcap", packets)
    prefix = f"extcap.{card.replace('-', '_')}"
    fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len"]
    options = ["-o", f"{prefix}.file:{capture}", "-o", f"{prefix}.cores:{CORES[card]}"]
    result = tshark("-i", card, "-f", "tcp port 80", "-c", "10", *options, *fields)
    wanted = accepted(packets, "tcp port 80")[:10]
    assert len(wanted) == 10
    times = [f"{p.time_ns // 10**9}.{p.time_ns % 10**9 // 1000:06}000\t{min(p.wirelen, 2**31 - 1)}" for p in wanted]
    assert (result.returncode, result.stdout.splitlines()) == (0, times)


@pytest.mark.parametrize("card", CARDS)
def test_the_card_runs_the_capture_filter(
    card: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, load = [], FilterDriver.load
    monkeypatch.setattr(FilterDriver, "load", lambda driver, slots: loaded.append(slots) or load(driver, slots))
    capture = make_capture(tmp_path / "in.pcap", random_packets(seed=11, count=20))
    words = ["--file", str(capture), "--fifo", str(tmp_path / "out"), "--cores", str(CORES[card])]
    answer(capsys, "--extcap-interface", card, "--capture", "--extcap-capture-filter", "tcp port 80", *words)
    assert [slot.program.instructions for slots in loaded for slot in slots.values()] == [
        bpf.compile("tcp port 80").instructions
    ]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize(
    ("file", "expression", "message"),
    [
        ("none.pcap", "tcp", "none.pcap: No such file or directory"),
        ("in.pcap", "tcp prt 80", "can't parse filter expression: syntax error"),
    ],
)
def test_tshark_shows_what_went_wrong(card: str, file: str, expression: str, message: str, tmp_path: Path) -> None:
    make_capture(tmp_path / "in.pcap", random_packets(seed=1, count=3))
    result = tshark("-i", card, "-f", expression, "-o", f"extcap.{card.replace('-', '_')}.file:{tmp_path / file}")
    assert result.returncode != 0
    assert message in result.stderr
