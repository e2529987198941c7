"""``headrace link`` as a user types it: packets between files and interfaces, in netem's words."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from called import call
from link_bench import PARAMETERS, seeds
from link_model import ONES, LinkModel, Settings
from network import add_pair, host_behind, own_network
from patience import until
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import RawPcapWriter, rdpcap

from headrace.engines.netem import Loss, Netem, netem_text, parse_netem, table_of
from headrace.errors import HeadraceError

COMMAND = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())", "link"]
CARD = [word for name, value in PARAMETERS.items() for word in ("-P", f"{name}={value}")]


def link(*arguments: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return call("link", *arguments, folder=folder)


def a_capture(path: Path, times_ns: list[int]) -> list[bytes]:
    """Packets with a number each, at these times."""
    made = [bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / Raw(bytes([n]) * 80)) for n in range(50)]
    with RawPcapWriter(str(path), linktype=1, nano=True) as writer:
        writer.write_header(None)
        for data, at in zip(made, times_ns, strict=True):
            writer.write_packet(data, sec=at // 10**9, usec=at % 10**9)
    return made


def nanoseconds(path: Path) -> list[int]:
    return [round(packet.time * 10**9) for packet in rdpcap(str(path))]


def test_packets_of_a_file_are_delayed_from_their_recorded_times(tmp_path: Path) -> None:
    times = [1_700_000_000 * 10**9 + 1_234_567 * n for n in range(50)]
    made = a_capture(tmp_path / "in.pcap", times)
    done = link(
        *("--port", "0=in.pcap", "-w", "1=out.pcap", "delay", "20ms", "--json", *CARD),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert [bytes(packet) for packet in rdpcap(str(tmp_path / "out.pcap"))] == made
    lag = [out - at - 20_000_000 for out, at in zip(nanoseconds(tmp_path / "out.pcap"), times, strict=True)]
    assert max(map(abs, lag)) <= 1_000
    first, second = json.loads(done.stdout)["links"]
    assert (first["from"], first["to"], first["netem"], first["received"], first["sent"]) == (
        0,
        1,
        "delay 20ms",
        50,
        50,
    )
    assert (second["netem"], second["received"]) == ("delay 20ms", 0)


def test_a_capture_on_stdout_has_it_alone(tmp_path: Path) -> None:
    a_capture(tmp_path / "in.pcap", [10**6 * n for n in range(50)])
    done = subprocess.run(
        [*COMMAND, "--port", "0=in.pcap", "-w", "1=-", "--json", *CARD], capture_output=True, check=True, cwd=tmp_path
    )
    assert len(done.stdout) == 24 + 50 * (16 + 94)
    assert json.loads(done.stderr)["links"][0]["sent"] == 50


def test_each_direction_has_its_words_and_its_random_numbers_of_the_seed(tmp_path: Path) -> None:
    made = a_capture(tmp_path / "in.pcap", [10**6 * n for n in range(50)])
    model = LinkModel(Settings(loss=1, p=ONES // 2), seeds(9))
    through = [data for data in made if model.arrive(0, data)]
    lost = 50 - len(through)
    done = link(
        *("run", "--port", "0=in.pcap", "--port", "1=in.pcap", "-w", "0=zero.pcap", "-w", "1=one.pcap", *CARD),
        *("--from", "1=loss 100%", "limit", "7", "delay", "1s", "loss", "50%", "--seed", "9"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    counted = f"50 received, {lost} lost, {len(through) - 7} limited, 7 sent, 658 sent bytes"
    assert f"0 -> 1: limit 7 delay 1s loss 50%\n  {counted}\n" in done.stdout
    assert "1 -> 0: loss 100%\n  50 received, 50 lost\n" in done.stdout
    assert [bytes(packet) for packet in rdpcap(str(tmp_path / "one.pcap"))] == through[:7]
    assert len(rdpcap(str(tmp_path / "zero.pcap"))) == 0


@pytest.mark.live
def test_a_link_between_namespaces_is_changed_while_it_runs(tmp_path: Path) -> None:
    """One host is behind a TAP device, the other one behind a network interface."""
    control = tmp_path / "link.sock"
    with own_network():
        add_pair("card1", "h1")
        running = subprocess.Popen(
            [*COMMAND, "--port", "0=tap:h0", "--port", "1=iface:card1", *CARD, "--control", control, "-Z", "root"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            until(lambda: control.is_socket() or running.poll() is not None, "the emulator")
            with host_behind("h0", "10.9.0.1/24") as a, host_behind("h1", "10.9.0.2/24"):
                ping = [*a, "ping", "-c", "3", "-i", "0.2", "-W", "60", "10.9.0.2"]
                subprocess.run(ping, check=True, stdout=subprocess.DEVNULL)
                changed = link("set", "--from", "0", "delay", "120ms", "--control", control)
                assert changed.returncode == 0, changed.stderr
                told = subprocess.run(ping, check=True, stdout=subprocess.PIPE, text=True).stdout
                assert min(map(float, re.findall(r"time=([\d.]+)", told))) >= 120
                stats = json.loads(link("stats", "--control", control, "--json").stdout)["links"]
                assert [one["netem"] for one in stats] == ["delay 120ms", ""]
                assert min(one["sent"] for one in stats) >= 6
                assert link("set", "loss", "100%", "--control", control).returncode == 0
                lost = subprocess.run([*a, "ping", "-c", "1", "-W", "1", "10.9.0.2"], check=False, capture_output=True)
                assert lost.returncode == 1
                running.send_signal(signal.SIGINT)
                assert running.wait(300) == 0
        finally:
            running.kill()
            running.wait()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "8=a.pcap"], "--port 8=a.pcap: not N=..., with N from 0 to 7"),
        (["--port", "0=null", "--port", "0=a.pcap"], "--port 0=a.pcap: 0 is given twice"),
        (["--port", "0=null", "-w", "0=a.pcap", "-w", "1=a.pcap"], "-w a.pcap: given for two captures"),
        (["--port", "0=null", "--seconds", "inf"], "Invalid value for '--seconds'"),
        (["--port", "0=iface:lo,direction=out"], "iface:lo,direction=out: a port receives what comes in"),
        (["--port", "0=null", "dely", "1ms"], "dely: none of delay, "),
        (["--port", "0=null", "--from", "1=loss x"], "loss x: not a number"),
        (["--port", "2=null", "-P", "PORTS=2"], "port 2: the card has ports 0 to 1"),
        (["--port", "0=null", "-P", "PORTS=9"], "-P PORTS=9: not 2, 4, 6 or 8"),
        (["--port", "0=missing.pcap", *CARD], "missing.pcap"),
        (["set", "delay", "x"], "delay x: not a number"),
        (["set", "--control", "/nowhere/link.sock"], "no link emulator runs at /nowhere/link.sock"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(arguments: list[str], message: str) -> None:
    done = link(*arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert done.stderr.strip().count("\n") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("delay", "delay: a value is missing"),
        ("delay 20min", "delay 20min: not a time, such as 20ms"),
        ("delay 5s", "delay 5s: not from 0 to 4.29s"),
        ("loss 101%", "loss 101%: not a percentage"),
        ("loss state 1%", "loss state: not emulated; use loss gemodel"),
        ("reorder 25%", "reorder: there is no reordering without a delay"),
        ("delay 10ms gap 5", "gap 5: there is no gap without a reorder"),
        ("delay 1e400s", "delay 1e400s: not from 0 to 4.29s"),
        (f"limit {'9' * 5000}", "not a number from 1 to 4294967295"),
        ("delay 1ms distribution normal", "no distribution without a jitter"),
        ("delay 1ms 1ms distribution gamma", "distribution gamma: none of uniform, normal"),
        ("rate 10", "rate 10: not from 500bit"),
        ("rate 10mhz", "rate 10mhz: not a rate"),
        ("rate 10mbit 0 48", "rate: cell size 48: cells are not emulated"),
        ("limit 0", "limit 0: not a number from 1"),
        ("loss 1% ecn", "ecn: none of delay, "),
        ("slot 1ms", "slot: none of delay, "),
    ],
)
def test_wrong_words_are_named(words: str, message: str) -> None:
    with pytest.raises(HeadraceError, match=message) as error:
        parse_netem(words)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("", Netem(limit=1000)),
        ("delay 100", Netem(delay_ns=100_000)),
        ("delay 1.5ms 100us 25%", Netem(delay_ns=1_500_000, jitter_ns=100_000, delay_correlation=0.25)),
        ("delay 1sec 2msecs distribution pareto", Netem(10**9, 2_000_000, distribution="pareto")),
        ("loss 1", Netem(loss=Loss(0.01))),
        ("loss random 0.3% 25%", Netem(loss=Loss(0.003, correlation=0.25))),
        ("loss gemodel 1%", Netem(loss=Loss(0.01, "gemodel", r=0.99))),
        ("loss gemodel 1% 10% 70% 0.1%", Netem(loss=Loss(0.01, "gemodel", r=0.1, bad=0.7, good=0.001))),
        ("duplicate 1% corrupt 0.1% 5%", Netem(duplicate=0.01, corrupt=0.001, corrupt_correlation=0.05)),
        ("delay 10ms reorder 25% 50%", Netem(10**7, reorder=0.25, reorder_correlation=0.5, gap=1)),
        ("delay 10ms reorder 25% gap 5", Netem(10**7, reorder=0.25, gap=5)),
        ("rate 256kbit 14", Netem(rate_bps=256e3, overhead=14)),
        ("rate 1mbps -8 limit 20", Netem(rate_bps=8e6, overhead=-8, limit=20)),
        ("rate 1mibit", Netem(rate_bps=2**20)),
        ("rate 64000", Netem(rate_bps=64000)),
    ],
)
def test_words_mean_what_they_mean_to_netem(words: str, made: Netem) -> None:
    found = parse_netem(words)
    assert found == made
    assert parse_netem(netem_text(found)) == found


def test_tables_have_their_distributions_moments() -> None:
    """iproute2's man page: a normal one with the jitter as its deviation; Pareto's with alpha = 3 is skewed upwards."""
    normal, pareto = table_of("normal"), table_of("pareto")
    assert abs(sum(normal)) < 4096
    assert sum(value * value for value in normal) / 4096 == pytest.approx(8192**2, rel=0.01)
    assert normal == sorted(normal)
    assert pareto == sorted(pareto)
    assert abs(sum(pareto)) / 4096 < 0.05 * 8192
    assert pareto[2048] == pytest.approx((2 ** (1 / 3) - 1.5) * 4 / 3 * 8192, rel=0.01)
    assert max(pareto) == 32767
    assert min(pareto) == pytest.approx(-0.5 * 4 / 3 * 8192, rel=0.01)


@pytest.mark.live
def test_a_script_may_use_the_links_once_the_command_returns(tmp_path: Path) -> None:
    command = [*COMMAND, "--port", "0=tap:h0", *CARD, "--control", str(tmp_path / "sock"), "-Z", "root", "--background"]
    script = f"""
        card=$({shlex.join(command)} 2> {tmp_path}/said)
        ip link set h0 mtu 1400
        cat {tmp_path}/said
        kill $card
        tail --pid=$card -f /dev/null
    """
    done = subprocess.run(["unshare", "-n", "bash", "-ec", script], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == f"headrace: ready: the link emulator is up; control at {tmp_path}/sock\n"
    assert "0 -> 1: nothing" in (tmp_path / "said").read_text()
