"""Hardware in the loop. The device is a host in a network of its own, at the other end of a cable."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
from emulator_bench import household, nothing_left, scenario
from network import add_pair, host_behind, ip, own_network
from patience import until

from headrace.cli import main
from headrace.emulator.client import Emulation
from headrace.emulator.scenario import read
from headrace.errors import HeadraceError

NAMES = 'nodes = ["n1", "box", "n3"]'
PLACES = [(0, 0), (100, 0), (200, 0)]


def with_hardware(folder: Path, more: str, hardware: str) -> Path:
    path = scenario(folder, PLACES, more)
    path.write_text(path.read_text().replace("nodes = 3", NAMES) + hardware)
    return path


def interface(name: str) -> str:
    """How it is: what holds for it, but for what it has sent."""
    words = ["ip", "-details", "-oneline", "address", "show", "dev", name]
    filters = ["tc", "filter", "show", "dev", name, "ingress"]
    link = ["ip", "-details", "-oneline", "link", "show", "dev", name]
    return "".join(
        subprocess.run(each, capture_output=True, text=True, check=False).stdout for each in (words, link, filters)
    )


def pings(there: list[str], to: str) -> bool:
    """Whether the device hears a node."""
    words = [*there, "ping", "-c", "1", "-W", "2", to]
    return subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_device_is_a_node_and_its_interface_is_given_back(number: signal.Signals, tmp_path: Path) -> None:
    path = with_hardware(tmp_path, "phys = 2\nrouting = 'shortest'", '[hardware.box]\ninterface = "eth7"\n')
    with own_network():
        add_pair("eth7", "device")
        with host_behind("device", "10.0.0.2/24") as there:
            before = interface("eth7")
            emulation = Emulation(path, hold=True)
            try:
                of = household(emulation.pid)
                for node, address in (("n1", "10.0.0.1"), ("n3", "10.0.0.3")):  # beside the device on either side
                    assert emulation.run(node, ["ping", "-c", "1", "box"]).returncode == 0, node
                    assert pings(there, address)
                listens = ["tcpdump", "-nc", "1", "--immediate-mode", "-i", "phy0", "icmp and dst 10.0.0.1"]
                with emulation.start("n3", listens, stdout=PIPE, stderr=STDOUT, text=True) as capture:
                    until(lambda: "listening" in capture.stdout.readline(), "tcpdump")
                    assert pings(there, "10.0.0.1")  # and as by radio n3 hears it
                    assert "10.0.0.2 > 10.0.0.1: ICMP echo request" in capture.communicate()[0]
                ways = ["ping", "-c", "1", "-W", "1", "10.0.0.3"]
                assert emulation.run("n1", ["ip", "route", "replace", "10.0.0.3", "dev", "phy0"]).returncode == 0
                assert emulation.run("n1", ways).returncode != 0  # the device's PHYs are none of each other's
                emulation.jam("n1:box")
                assert not pings(there, "10.0.0.1")
            finally:
                os.kill(emulation.pid, number)
                emulation.wait()
            nothing_left(emulation, of)
            until(lambda: interface("eth7") == before, "the interface as it was")  # the kernel takes its time


@pytest.mark.live
def test_an_interface_is_a_phy_beside_the_emulated_ones(tmp_path: Path) -> None:
    path = with_hardware(tmp_path, "phys = 2", '[hardware.radio]\ninterface = "eth7"\nphy = "n3:2"\n')
    with own_network():
        add_pair("eth7", "device")
        with host_behind("device", "10.0.9.9/16") as there, Emulation(path, hold=True) as emulation:
            emulation.run("n3", ["ip", "route", "add", "10.0.9.9", "dev", "phy2"])
            assert emulation.run("n3", ["ping", "-c", "1", "10.0.9.9"]).returncode == 0
            assert pings(there, "10.0.0.3")


@pytest.mark.live
def test_an_interface_that_is_not_there_or_down_is_told_before_anything_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_hardware(tmp_path, "", '[hardware.box]\ninterface = "eth7"\n')
    with own_network():
        assert main(["emulate", "run", str(path)]) == 1
        assert capsys.readouterr().err == "headrace: hardware box: eth7: No such device\n"
        add_pair("eth7", "device")
        ip("link", "set", "eth7", "down")
        assert main(["emulate", "run", str(path)]) == 1
        assert capsys.readouterr().err == "headrace: hardware box: eth7: it is down: ip link set eth7 up\n"


def test_hardware_takes_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["emulate", "run", str(with_hardware(tmp_path, "", '[hardware.box]\ninterface = "lo"\n'))]) == 1
    assert "hardware box: lo: no permission: using the machine's interfaces needs root" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("hardware", "said"),
    [
        ('[hardware.none]\ninterface = "eth7"', "hardware.none: no node of that name"),
        ('[hardware.box]\nphy = "n3:9"', "hardware.box.interface: not the name of an interface"),
        (
            '[hardware.a]\ninterface = "eth7"\nphy = "n3:1"',
            """hardware.a.phy: 'n3:1' is no "NODE:NUMBER" with a number""",
        ),
        ('[hardware.box]\ninterface = "eth7"\n[programs.a]\ncommand = "x"\nnodes = ["box"]', "box is a device"),
    ],
)
def test_what_is_wrong_is_told_with_the_key(hardware: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(HeadraceError) as raised:
        read(with_hardware(tmp_path, "", hardware))
    assert said in str(raised.value)
