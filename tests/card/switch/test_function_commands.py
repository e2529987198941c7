"""``headrace vf`` on a switch that runs in a process of its own, with a controller that hears of its ports."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from function_card import FUNCTIONS, PARAMETERS
from openflow_controller import PROTOCOL, ofproto, parsed, parser, serialized
from patience import until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from headrace.cli import main

HEAD = 8
ETHERNET_PORTS = PARAMETERS["PORTS"]


@dataclass
class Running:
    """The switch, its control socket, and a controller's connection to it."""

    control: Path
    link: socket.socket
    process: subprocess.Popen[str]

    def vf(self, *words: object) -> int:
        """A command; gives its exit code."""
        command, *rest = map(str, words)
        return main(["vf", command, "--control", str(self.control), *rest])

    def switch(self, *words: str) -> int:
        """The same of ``headrace switch``."""
        command, *rest = words
        return main(["switch", command, "--control", str(self.control), *rest])

    def set(self, function: int, settings: str) -> None:
        """``headrace vf set`` with these words."""
        assert self.vf("set", function, *settings.split()) == 0

    def port_is(self, function: int, down: bool) -> None:
        """Waits until the controller is told so."""
        while True:
            message = self._message()
            if isinstance(message, parser.OFPPortStatus):
                assert message.desc.port_no == ETHERNET_PORTS + 1 + function
                assert bool(message.desc.state & ofproto.OFPPS_LINK_DOWN) == down
                return

    def quiet(self) -> None:
        """Says that nothing was told of ports before now."""
        self.link.sendall(serialized(parser.OFPBarrierRequest(PROTOCOL)))
        while not isinstance(message := self._message(), parser.OFPBarrierReply):
            assert not isinstance(message, parser.OFPPortStatus), message

    def _message(self) -> Any:
        head = self._receive(HEAD)
        message = parsed(head + self._receive(int.from_bytes(head[2:4], "big") - HEAD))
        if isinstance(message, parser.OFPEchoRequest):
            self.link.sendall(serialized(parser.OFPEchoReply(PROTOCOL, data=message.data), message.xid))
        return message

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.link.recv(size - len(data))
            assert part, "the switch has gone"
            data += part
        return data


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("vf")
    control, flows = folder / "control", folder / "flows"
    flows.write_text("in_port=2,actions=output:3\nin_port=3,actions=output:2\n")
    settings = [word for name, value in PARAMETERS.items() for word in ("-P", f"{name}={value}")]
    words = ["switch", "run", "--port", f"vf:0=vhost:{folder}/vf0", "--listen", "ptcp:0:127.0.0.1", "--flows", flows]
    code = "import sys; from headrace.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *map(str, words), "--control", str(control), *settings]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        while not (found := re.search(r"controllers at \S*?(\d+)\n", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        with socket.create_connection(("127.0.0.1", int(found[1]))) as link:
            link.sendall(serialized(parser.OFPHello(PROTOCOL)))
            made = Running(control, link, process)
            made.quiet()
            yield made
            process.send_signal(signal.SIGINT)
            process.stderr.read()
        assert process.wait() == 0


def shown(running: Running, capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert running.vf(*words, "--json") == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_what_is_set_is_listed(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    before = shown(running, capsys, "list")
    assert [row["function"] for row in before] == list(range(FUNCTIONS))
    assert before[0]["link"].startswith("vhost:/")
    nothing = {"mac": None, "vlan": 0, "qos": 0, "rate": 0, "spoofcheck": False, "trust": False}
    nothing |= {"proto": "802.1Q", "link_state": "auto"}
    assert before[2] == {"function": 2, "port": 4, "link": None, "up": False} | nothing
    running.set(2, "mac 02:00:00:00:00:0A vlan 7 qos 3 max_tx_rate 1000 spoofchk on trust on")
    running.set(2, "rate 2500")
    rules = {"mac": "02:00:00:00:00:0a", "vlan": 7, "qos": 3, "rate": 2500, "spoofcheck": True, "trust": True}
    assert shown(running, capsys, "list") == [*before[:2], before[2] | rules]
    running.set(2, "vlan 7 proto 802.1AD qos 3 min_tx_rate 0 query_rss off")
    rules |= {"proto": "802.1ad"}
    assert shown(running, capsys, "list") == [*before[:2], before[2] | rules]
    running.set(2, "vlan 8")
    assert shown(running, capsys, "list") == [*before[:2], before[2] | rules | {"vlan": 8, "qos": 0, "proto": "802.1Q"}]
    running.set(2, "vlan 7 proto 802.1AD qos 3")
    assert running.vf("list") == 0
    text = capsys.readouterr().out
    assert re.search(r"2 +4 +- +down +02:00:00:00:00:0a +7 qos 3 proto 802\.1ad +2500 Mbit/s +on +on", text), text
    running.set(2, "mac 00:00:00:00:00:00 vlan 0 rate 0 spoofcheck off trust off")
    assert shown(running, capsys, "list") == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("set", 0), "SETTING"),
        (("set", 0, "speed", 7), "speed: none of mac, vlan, rate, state, spoofcheck, trust"),
        (("set", 0, "min_tx_rate", 7), "min_tx_rate 7: operation not supported: the card keeps no bandwidth"),
        (("set", 0, "query_rss", "on"), "query_rss on: operation not supported: drivers can't set"),
        (("set", 0, "node_guid", "00:01"), "node_guid 00:01: operation not supported: the card is Ethernet"),
        (("set", 0, "state", "on"), "state on: not auto, enable or disable"),
        (("set", 0, "vlan", 7, "proto", "802.1x"), "proto 802.1x: neither 802.1Q nor 802.1ad"),
        (("set", 0, "vlan", 0, "proto", "802.1ad"), "proto 802.1ad: there is no port VLAN"),
        (("set", 0, "vlan", 7, "proto"), "proto: its value is missing"),
        (("set", 0, "vlan", 7, "qos", 1, "qos", 2), "qos: none of mac"),
        (("set", 0, "vlan"), "vlan: its value is missing"),
        (("set", 0, "vlan", 4095), "vlan 4095: not 0 to 4094"),
        (("set", 0, "vlan", 1, "qos", 8), "qos 8: not 0 to 7"),
        (("set", 0, "vlan", "0x7"), "vlan 0x7: not a number"),
        (("set", 0, "mac", "02:00"), "mac 02:00: not six bytes"),
        (("set", 0, "mac", "33:33:00:00:00:01"), "the address of a group"),
        (("set", 0, "spoofcheck", "on"), "spoofcheck on: the function needs a MAC address"),
        (("set", 0, "trust", "yes"), "trust yes: neither on nor off"),
        (("set", 0, "rate", 1, "max_tx_rate", 2), "max_tx_rate: is given twice"),
        (("set", FUNCTIONS, "trust", "on"), f"function {FUNCTIONS}: the card has functions 0 to {FUNCTIONS - 1}"),
        (("stats", FUNCTIONS), f"function {FUNCTIONS}: the card has functions 0 to {FUNCTIONS - 1}"),
        (("plug", 0, "tap:x"), "function 0 is in use"),
        (("plug", FUNCTIONS, "tap:x"), f"function {FUNCTIONS}: the card has functions"),
        (("plug", 1, "nothing"), "nothing: not a link such as"),
        (("plug", 1, "serial:x"), "serial:x: no link: use one of vhost:, pcap:"),
        (("unplug", 1), "function 1 is not in use"),
    ],
    ids=str,
)
def test_what_can_not_be_is_one_clear_line(
    running: Running, capsys: pytest.CaptureFixture[str], words: tuple[object, ...], message: str
) -> None:
    before = shown(running, capsys, "list")
    assert running.vf(*words) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith("headrace: ") and err.count("\n") == 1
    assert message in err
    assert shown(running, capsys, "list") == before


def test_functions_come_and_go_while_the_switch_runs(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    """Their ports come up and go down, and no other does; what they may do stays."""
    running.quiet()
    count = 30
    running.set(1, "vlan 9")
    assert running.vf("plug", 1, f"gen:count={count},size=100") == 0
    running.port_is(1, down=False)
    until(lambda: shown(running, capsys, "stats", 1)[0]["sent"] == count, "the function's packets")
    listed = shown(running, capsys, "list")
    assert [row["up"] for row in listed] == [False, True, False]
    assert listed[1]["link"] == f"gen:count={count},size=100" and listed[1]["vlan"] == 9
    until(lambda: shown(running, capsys, "stats", 0)[0]["dropped_off"] == count, "what nobody receives")
    (stats,) = shown(running, capsys, "stats", 1)
    assert stats["sent_bytes"] == count * 100 and not any(stats[name] for name in ("spoofed", "tagged", "received"))
    assert running.vf("unplug", 1) == 0
    running.port_is(1, down=True)
    assert running.vf("plug", 1, "pcap:/no/such/file") == 1
    assert "/no/such/file" in capsys.readouterr().err
    assert shown(running, capsys, "list")[1]["link"] is None
    assert running.vf("plug", 1, f"gen:count={count},size=60") == 0
    running.port_is(1, down=False)
    until(lambda: shown(running, capsys, "stats", 1)[0]["sent"] == 2 * count, "the function's packets again")
    assert running.vf("unplug", 1) == 0
    running.port_is(1, down=True)
    running.quiet()
    capsys.readouterr()
    assert shown(running, capsys, "list")[1]["vlan"] == 9
    assert running.vf("stats", 1) == 0
    assert re.search(r"^sent +60$", capsys.readouterr().out, re.MULTILINE)


def test_a_functions_link_is_up_as_is_set(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    """By nobody's hand but that of the command: function 0 has a socket, to which nobody has come."""
    running.quiet()
    for words, down, state in (("enable", False, "up enabled"), ("disable", True, "down disabled")):
        running.set(0, f"state {words}")
        running.port_is(0, down)
        capsys.readouterr()
        assert running.vf("list") == 0
        assert state in capsys.readouterr().out
    running.set(0, "state auto")
    assert running.vf("plug", 1, "gen:count=7,size=60") == 0
    running.port_is(1, down=False)
    running.set(1, "state disable")
    running.port_is(1, down=True)
    running.set(1, "state auto")
    running.port_is(1, down=False)
    running.set(1, "state enable")
    running.quiet()
    assert running.vf("unplug", 1) == 0
    running.port_is(1, down=True)
    assert not shown(running, capsys, "list")[1]["up"]
    running.set(1, "state auto")
    running.quiet()


def test_nobody_runs_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vf", "list", "--control", str(tmp_path / "none")]) == 1
    assert "no switch runs at" in capsys.readouterr().err


def test_flows_of_a_running_switch_are_added_shown_traced_and_deleted(
    running: Running, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def told(*words: str) -> str:
        capsys.readouterr()
        assert running.switch(*words) == 0
        return capsys.readouterr().out

    before = json.loads(told("flows", "--json"))
    assert [row["match"] for row in before] == ["in_port=2", "in_port=3"]
    assert told("add-flow", "idle_timeout=60000,in_port=1,udp,actions=output:2") == ""
    assert running.switch("add-flow", "in_port=1,udp,actions=nonsense") == 1
    text = told("flows")
    assert re.search(
        r"^table=0 priority=32768 in_port=1,eth_type=0x0800,ip_proto=17 -> \S.*  0 packets, 0 bytes, "
        r"\d+\.\d s idle_timeout=60000$",
        text,
        re.MULTILINE,
    ), text
    packet = bytes(Ether(dst="02:00:00:00:00:01") / IP(dst="10.0.0.1") / UDP())
    wrpcap(str(tmp_path / "first.pcap"), [packet])
    stats = json.loads(told("stats", "--json"))
    assert [row["port"] for row in stats["ports"]] == [1, 2, 3, 4]
    assert stats["tables"][0]["flows"] == 3
    assert [row["state"] for row in stats["controllers"]] == ["connected"]
    for words in (packet.hex(), str(tmp_path / "first.pcap")):
        assert json.loads(told("trace", "1", words, "--json"))["outputs"] == [2]
    assert "table 0: priority 32768" in told("trace", "1", packet.hex())
    after = json.loads(told("stats", "--json"))
    assert (after["ports"], after["tables"]) == (stats["ports"], stats["tables"]), "nothing is sent"
    assert "looked up" in told("stats")
    told("del-flows", "in_port=1")
    assert [row["match"] for row in json.loads(told("flows", "--json"))] == ["in_port=2", "in_port=3"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fir", "1", "0", "0", "0"), "the card has no FIR filter: it was built with CUSTOM=0"),
        (("link", "1=delay 1ms"), "the switch has no emulated links: start it with -P LINKS=1, or a --link"),
        (("link", "1=dely 1ms"), "dely: none of delay, "),
        (("trace", "1", "xyz"), "the packet is not in hexadecimal digits"),
        (("trace", "9", "00"), "port 9: the switch has ports 1 to 4"),
    ],
)
def test_what_a_switch_can_not_do_is_one_clear_line(
    running: Running, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert running.switch(*words) == 2
    err = capsys.readouterr().err
    assert err.startswith("headrace: ") and err.count("\n") == 1
    assert message in err
