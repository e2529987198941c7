"""Several switch cards as a fabric: which port is where, and frames over the cables between them."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
from emulator_bench import link, record, scenario, with_fabric
from link_bench import SWITCH_PARAMETERS
from patience import until

from headrace.cards.switch.flows import Action, ActionKind
from headrace.cards.switch.openflow.oxm import F
from headrace.cli import main
from headrace.emulator.client import Emulation
from headrace.emulator.fabric.cabling import Cabling, Place, Rule
from headrace.emulator.fabric.cards import cabling_for
from headrace.errors import HeadraceError

MS = 1_000_000


def carried(cabling: Cabling, rules: list[Rule], port: int) -> int | None:
    """Where a frame of a port of the fabric goes, in a network of switches that does what the rules say."""
    cables = {end: other for ends in cabling.ends() for end, other in (ends, ends[::-1])}
    ports = {cabling.place(number): number for number in range(cabling.ports)}
    place, tag, table = cabling.place(port), None, 0
    while True:
        fields = {F.IN_PORT: place.port} if tag is None else {F.IN_PORT: place.port, F.VLAN_VID: tag}
        found = [
            rule.instructions
            for rule in rules
            if (rule.switch, rule.table) == (place.switch, table)
            and all(fields.get(F(oxm.field)) == oxm.value for oxm in rule.match)
        ]
        if not found:
            return None
        [instructions] = found
        if instructions.goto is not None:
            table = instructions.goto
            continue
        for action in instructions.apply or ():
            match action:
                case Action(ActionKind.PUSH_VLAN):
                    assert tag is None
                case Action(ActionKind.POP_VLAN):
                    assert tag is not None
                    tag = None
                case Action(ActionKind.SET_FIELD):
                    tag = action.value
                case Action(ActionKind.OUTPUT):
                    place = Place(place.switch, action.value)
        if place in ports:
            assert tag is None
            return ports[place]
        place, table = cables[place], 0


@pytest.mark.parametrize(("ports", "switches"), [(4, 1), (4, 2), (5, 3), (128, 3), (400, 8)])
def test_frames_go_to_the_other_end_of_a_link_and_nowhere_else(ports: int, switches: int) -> None:
    cabling = Cabling(ports, switches)
    links = [(port, ports // 2 + port) for port in range(0, ports // 2, 2)]
    rules = [*cabling.always(), *itertools.chain.from_iterable(map(cabling.link, links))]
    peers = dict(links) | {there: here for here, there in links}
    for port in range(ports):
        assert carried(cabling, rules, port) == peers.get(port)
    places = [cabling.place(port) for port in range(ports)]
    places += itertools.chain.from_iterable(cabling.ends())
    assert len(set(places)) == len(places) == ports + switches * (switches - 1)
    sizes = Counter(cabling.place(port).switch for port in range(ports))
    assert len(sizes) == switches and max(sizes.values()) == cabling.most <= min(sizes.values()) + 1


def test_as_many_cards_are_taken_as_have_room() -> None:
    assert [cabling_for(ports, None).switches for ports in (1, 64, 65, 126, 127, 186, 400)] == [1, 1, 2, 2, 3, 3, 7]
    assert cabling_for(64, 3).most == 22
    with pytest.raises(HeadraceError, match="^128 PHYs are too many for 1 switch card of 64 ports, cables included$"):
        cabling_for(128, 1)
    with pytest.raises(HeadraceError, match="^2000 PHYs are too many for switch cards of 64 ports"):
        cabling_for(2000, None)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('fabric = "software"\nfabric_cards = 2', "3: fabric_cards: software has none"),
        ('fabric = "rtl"\nfabric_cards = 0', "3: fabric_cards: 0 is not a whole number from 1 to 32"),
        (with_fabric("rtl", {}, 13), "4: fabric_cards: 13 cards are more than there are PHYs"),
        (with_fabric("rtl", {"TABLES": 1}, 2), "3: fabric_parameters.TABLES: 1 is not a number from 2 on"),
        (
            'fabric = "rtl"\n[fabric_parameters]\nPORTS = "x"',
            "4: fabric_parameters.PORTS: 'x' is not a number from 1 on",
        ),
        (with_fabric("rtl", {"PORT": 1}), "3: fabric_parameters: card switch has no parameter PORT"),
    ],
)
def test_what_cards_cannot_be_is_told(more: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, [(0, 0)] * 3, more)
    for command in ("check", "run"):
        assert main(["emulate", command, str(path)]) == 2
        assert capsys.readouterr().err.startswith(f"headrace: {path}:{said}")


# -------------------------------------------------------------------------------------------------- as it runs


TAGGED = """
import socket
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind(("phy0", 0))
link.send(bytes.fromhex("ffffffffffff 020000000001 8100 0007 88b5") + bytes(1500))
"""


@pytest.mark.live
def test_each_of_three_nodes_has_a_card_and_links_between_them_are_as_on_one(tmp_path: Path) -> None:
    path = scenario(tmp_path, [(0, 0)] * 3, f"phys = 1\n{with_fabric('rtl', SWITCH_PARAMETERS, 3)}")
    replay = record(tmp_path, 3, [[link(0, 2, delay_ns=50 * MS)], [link(1, 2)]])
    with Emulation(path, hold=True, replay=replay) as emulation:

        def ping(source: int, to: int, *words: str) -> str:
            for number in (source, to):
                emulation.run(f"n{number}", ["ip", "route", "replace", "10.0.0.0/24", "dev", "phy0"])
            return emulation.run(f"n{source}", ["ping", "-q", "-c", "3", "-i", "0.2", *words, f"10.0.0.{to}"]).stdout

        until(lambda: " 0% packet loss" in ping(1, 3), "the link")
        longest = ping(1, 3, "-M", "do", "-s", "1472")
        assert " 0% packet loss" in longest and float(longest.rpartition(" = ")[2].partition("/")[0]) >= 100
        words = ["tcpdump", "-nevc", "1", "--immediate-mode", "-i", "phy0", "vlan 7"]
        with emulation.start("n3", words, stdout=PIPE, stderr=STDOUT, text=True) as capture:
            until(lambda: "listening" in capture.stdout.readline(), "tcpdump")
            assert emulation.run("n1", [sys.executable, "-c", TAGGED]).returncode == 0
            assert "0x8100), length 1518: vlan 7, p 0, ethertype Unknown (0x88b5)" in capture.communicate()[0]
        emulation.step()
        until(lambda: " 0% packet loss" in ping(3, 2), "the next link")
        assert "100% packet loss" in ping(1, 3, "-W", "1")
