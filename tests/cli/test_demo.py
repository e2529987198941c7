"""The parts of the demo, on cards that other tests have too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import link_bench
import nic_ports
import pytest
from called import call
from rich.console import Console

from headrace.evaluate import demo
from headrace.evaluate.demo import bridge, capture, link, live, nic, switch
from headrace.evaluate.loads.switch_network import PARAMETERS
from headrace.net import ovs
from headrace.traffic import realistic_capture


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> demo.Setting:
    folder = tmp_path_factory.mktemp("demo")
    return demo.Setting(folder, realistic_capture(folder / "traffic.pcap", 1000, method="made"))


def shown(part: str, setting: demo.Setting) -> str:
    """What a terminal shows of a part that is right."""
    found = demo.show(part, setting)
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(found.view)
    assert found.same, console.export_text()
    return console.export_text()


@pytest.mark.skipif(ovs.available() is not None, reason=ovs.available() or "")
@pytest.mark.live
def test_flows_count_what_tcpdump_finds_and_hosts_ping(monkeypatch: pytest.MonkeyPatch, setting: demo.Setting) -> None:
    monkeypatch.setattr(switch, "CARD", dict(PARAMETERS))
    text = shown("switch", setting)
    assert "1,000 packets came in at port 1" in text and "5 of 5 pings answered" in text


@pytest.mark.live
def test_a_live_capture_is_tcpdumps(monkeypatch: pytest.MonkeyPatch, setting: demo.Setting) -> None:
    monkeypatch.setattr(capture, "CARD", {"CORES": 2, "MEM_W": 32, "PACKET_KB": 32, "MAX_FRAME": 9216})
    monkeypatch.setattr(capture, "PACKETS", 500)
    text = shown("capture", setting)
    assert "500 captured, 0 dropped by the kernel, 0 by the card" in text and "= tcpdump's" in text


def test_adaptive_batches_are_in_time(monkeypatch: pytest.MonkeyPatch, setting: demo.Setting) -> None:
    monkeypatch.setattr(bridge, "SECONDS", 0.005)
    assert "adaptive, target 0.2 ms" in shown("bridge", setting)
    monkeypatch.setattr(bridge, "TARGET_MS", 0.0)
    fixed: dict[str, Any] = {"buffer_kb": 64, "timeout_ms": 1, "adaptive_ms": 1e-3}
    monkeypatch.setattr(bridge, "MODES", {"never": fixed})
    assert not demo.show("bridge", setting).same, "no batch is there within a microsecond"


@pytest.mark.live
@pytest.mark.parametrize(
    ("part", "module", "parameters", "said"),
    [
        ("nic", nic, nic_ports.PARAMETERS, "10.0.0.2"),
        ("link", link, link_bench.PARAMETERS, "twice 60 ms"),
    ],
)
def test_hosts_ping_each_other(
    monkeypatch: pytest.MonkeyPatch, setting: demo.Setting, part: str, module: Any, parameters: Any, said: str
) -> None:
    monkeypatch.setattr(module, "CARD", dict(parameters))
    assert said in shown(part, setting)


def test_what_can_not_be_here_is_left_out(monkeypatch: pytest.MonkeyPatch, setting: demo.Setting) -> None:
    monkeypatch.setattr(live, "why_not", lambda *_: "network namespaces need root")
    for part in ("capture", "nic", "link"):
        assert shown(part, setting) == "skipped: network namespaces need root\n"


def test_the_command_shows_the_parts_that_are_named(tmp_path: Path) -> None:
    done = call("demo", "--card", "emulator", "--packets", "100", "--folder", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 of 1  Emulator: six nodes that move" in done.stdout and done.stdout.count("the same pairs") == 6
    assert (tmp_path / "traffic.pcap").exists()
    done = call("demo", "--card", "fliter")
    assert (done.returncode, done.stderr) == (
        2,
        "headrace: --card fliter: none of filter, capture, bridge, rpu, switch, nic, link, emulator\n",
    )
