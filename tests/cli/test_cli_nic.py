"""``headrace nic`` as a user types it: packets between files, Ethernet ports and functions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from network import host_behind, own_network
from nic_ports import PARAMETERS
from patience import until
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
from scapy.utils import rdpcap, wrpcap

COMMAND = [sys.executable, "-c", "import sys; from headrace.cli import main; sys.exit(main())", "nic"]
# The model that tests/card/nic builds
CARD = [word for name, value in PARAMETERS.items() for word in ("-P", f"{name}={value}")]


def nic(*arguments: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, cwd=folder)


def packets(destination: str, vlan: int, count: int) -> list[Ether]:
    tag = Dot1Q(vlan=vlan) if vlan else Raw()
    return [
        Ether(src="02:00:00:00:00:99", dst=destination) / tag / Raw(bytes([number % 256]) * (60 + 7 * number))
        for number in range(count)
    ]


def test_packets_of_files_go_to_functions_and_ports(tmp_path: Path) -> None:
    """From the wire: to function 0 in VLAN 100; to 1, which is promiscuous, also what is for nobody, in VLAN 100 or in
    none. From function 1: to 0, and to the wire."""
    zero, one = "02:00:00:00:00:00", "02:00:00:00:01:01"
    wire = [*packets(zero, 100, 50), *packets(zero, 0, 20), *packets("02:00:00:00:07:07", 100, 30), *packets(one, 0, 5)]
    away = packets("ff:ff:ff:ff:ff:ff", 100, 30)
    wrpcap(str(tmp_path / "wire.pcap"), wire)
    wrpcap(str(tmp_path / "vf.pcap"), [*packets(zero, 100, 40), *away])
    done = nic(
        *("run", "--port", "1=wire.pcap", "-w", "1=out.pcap", "--port", "vf:0=null", "--port", "vf:1=vf.pcap"),
        *(
            "--vlan",
            "0=100",
            "--uplink",
            "0=1",
            "--uplink",
            "1=1",
            "--mac",
            f"1={one}",
            "--promiscuous",
            "1",
            *CARD,
            "--rate",
            "5G",
            "--json",
        ),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [bytes(packet) for packet in rdpcap(str(tmp_path / "out.pcap"))] == [bytes(packet) for packet in away]
    assert report["ports"][1] == {"port": 1, "received": 105, "bad": 0, "no_room": 0, "sent": 30}
    functions = report["functions"]
    assert [(one["mac"], one["vlan"], one["uplink"]) for one in functions] == [(zero, 100, 1), (one, 0, 1)]
    assert [(one["received"], one["received_dropped"]) for one in functions] == [(50 + 40 + 30, 0), (20 + 30 + 5, 0)]
    assert [one["sent"] for one in functions] == [0, 70]
    assert report["paths"] == [
        {"path": "from_ports", "received": 105, "extra": 0, "to_functions": 105, "to_ports": 0, "dropped": 0},
        {"path": "from_functions", "received": 70, "extra": 30, "to_functions": 70, "to_ports": 30, "dropped": 0},
    ]


@pytest.mark.live
def test_namespaces_reach_each_other_and_their_devices_have_the_functions_macs(tmp_path: Path) -> None:
    control = tmp_path / "nic.sock"
    words = ["run", "--port", "vf:0=tap:h0", "--port", "vf:1=tap:h1", "--mac", "1=02:00:00:00:01:01"]
    with own_network():
        running = subprocess.Popen(
            [*COMMAND, *words, *CARD, "--control", control, "-Z", "root"], stdout=subprocess.PIPE, text=True
        )
        try:
            until(lambda: control.is_socket() or running.poll() is not None, "the NIC")
            with host_behind("h0", "10.9.0.1/24") as a, host_behind("h1", "10.9.0.2/24") as b:
                for host, name, mac in ((a, "h0", "02:00:00:00:00:00"), (b, "h1", "02:00:00:00:01:01")):
                    link = json.loads(subprocess.check_output([*host, "ip", "-j", "link", "show", name]))
                    assert link[0]["address"] == mac
                subprocess.run([*a, "ping", "-c", "3", "-W", "60", "10.9.0.2"], check=True, stdout=subprocess.DEVNULL)
                stats = nic("stats", "--control", control, "--json")
                assert stats.returncode == 0, stats.stderr
                counted = json.loads(stats.stdout)
                assert [len(counted[kind]) for kind in ("ports", "functions", "paths")] == [2, 2, 2]
                assert all(3 <= one["sent"] < one["sent_bytes"] / 40 for one in counted["functions"])
                running.send_signal(signal.SIGINT)
                assert running.wait(300) == 0
        finally:
            running.kill()
            running.wait()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "4=a.pcap"], "--port 4=a.pcap: not N=..., with N from 0 to 3"),
        (["--port", "vf:256=null"], "--port vf:256=null: not vf:N=..., with N from 0 to 255"),
        (["--port", "vf:0=null", "--mac", "0=2:0:0:0:0:1"], "mac 2:0:0:0:0:1: not six bytes in hexadecimal digits"),
        (["--port", "vf:0=null", "--mac", "0=03:00:00:00:00:01"], "the address of a group, not of a station"),
        (["--port", "vf:0=null", "--vlan", "0=4095"], "--vlan 0=4095: not a number up to 4094"),
        (["--port", "vf:0=null", "--uplink", "0=4"], "--uplink 0=4: not a number up to 3"),
        (["--port", "vf:0=null", "--promiscuous", "x"], "--promiscuous x: not a function, 0 to 255"),
        (["--port", "vf:3=null", "-P", "FUNCTIONS=2"], "function 3: the card has 2, from 0"),
        (["--port", "vf:0=null", "--uplink", "0=3", "-P", "PORTS=2"], "port 3: the card has ports 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(arguments: list[str], message: str) -> None:
    done = nic("run", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_running_card_there_are_no_stats(tmp_path: Path) -> None:
    done = nic("stats", "--control", tmp_path / "none.sock")
    assert done.returncode == 1
    assert "no NIC runs at" in done.stderr
