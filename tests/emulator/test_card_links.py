"""Links of the rtl fabric: their delay, rate and loss are the switch card's."""

from __future__ import annotations

import json
import math
import signal
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from emulator_bench import know_neighbours, loses_each_way_by_itself, ping, pings, scenario, two_nodes
from link_bench import SWITCH_PARAMETERS

from headrace.card.control import ControlSocket
from headrace.cards.switch.service import CONTROL
from headrace.cli import main
from headrace.emulator.client import Emulation
from headrace.emulator.fabric import Arriving, Links
from headrace.emulator.fabric.cards import CardFabric, netem
from headrace.emulator.radio.state import LinkState, Way
from headrace.engines.netem import MOST_DELAY_NS, parse_netem
from headrace.errors import HeadraceError

FREE = Arriving(math.inf, 0.0, 0)
MS = 1_000_000
FAR_NS = 50 * MS


# ------------------------------------------------------------------------------------------- what the card is told


class Card:
    """Answers as the switch card's control socket; ``requests``: what it was asked."""

    def __init__(self, path: Path, answer: Mapping[str, Any]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answer = dict(answer)
        self._done = threading.Event()
        self._socket = ControlSocket(CONTROL, str(path))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with self._socket as control:
            while not self._done.wait(0.01):
                control.poll(self._hear)

    def _hear(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        return self._answer

    def stop(self) -> None:
        self._done.set()
        self._thread.join()


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Card]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = Card(tmp_path / "switch0.control", {})
    yield made
    made.stop()


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither interfaces nor flows are there."""
    monkeypatch.setattr("headrace.emulator.fabric.batch", lambda *_: None)
    monkeypatch.setattr(CardFabric, "join", lambda *_: None)


@pytest.mark.usefixtures("joined")
def test_all_links_that_change_in_a_step_go_in_one_request_and_the_others_in_none(card: Card) -> None:
    """Port N of the fabric is port N + 1 of the card; what arrives at a port's PHY is set there."""
    links = Links(CardFabric(4, {}), range(4))
    far = LinkState(1.5e7, FAR_NS, 8e6, 0.25, Way(1e6, 0.0))
    near = LinkState(600.0, 2000, 54e6, 0.0)
    links.change([], [(0, 1), (2, 3)], {(0, 1): far, (2, 3): near})
    links.change([], [], {(0, 1): far, (2, 3): replace(near, delay_ns=2999)})  # by less than 1 us
    links.change([], [], {(0, 1): far, (2, 3): near.worse(0.5)})
    first, second = (request["links"] for request in card.requests)
    set_to = {port: parse_netem(words) for port, words in first.items()}
    assert set_to.keys() == {"1", "2", "3", "4"}
    assert (set_to["1"].delay_ns, set_to["1"].rate_bps, set_to["1"].loss) == (FAR_NS, 1e6, None)
    assert (set_to["2"].delay_ns, set_to["2"].rate_bps) == (FAR_NS, 6e6), "its rate less its loss"
    assert set_to["2"].loss is not None and set_to["2"].loss.p == 0.25
    assert second.keys() == {"3", "4"}
    assert parse_netem(second["3"]).rate_bps == 27e6 and parse_netem(second["3"]).delay_ns == 2000


@pytest.mark.usefixtures("joined")
def test_what_the_card_refuses_or_its_end_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    fabric = CardFabric(2, {})
    with pytest.raises(HeadraceError, match="^the switch card does not answer$"):
        fabric.hold({0: (FREE, FREE._replace(delay_ns=1))}, [])
    refusing = Card(tmp_path / "switch0.control", {"error": "port 1: no", "exit_code": 2})
    try:
        with pytest.raises(HeadraceError, match="^port 1: no$"):
            fabric.hold({0: (FREE, FREE._replace(delay_ns=1))}, [])
    finally:
        refusing.stop()


def test_a_link_of_the_card_holds_what_is_on_its_way_and_a_queue() -> None:
    assert netem(FREE) == parse_netem("")
    assert netem(Arriving(54e6, 0.0, 0)).limit == 450  # 0.1 s of frames of 1,500 bytes
    assert netem(Arriving(54e6, 0.0, 100 * MS)).limit == 900
    assert netem(Arriving(1e4, 0.0, 0)).limit == 64
    assert netem(Arriving(0.0, 1.0, 0)).rate_bps == 500, "the slowest"


def test_a_delay_beyond_the_cards_is_its_longest_and_told(card: Card) -> None:
    fabric = CardFabric(2, {})
    fabric.hold({0: (FREE, FREE._replace(delay_ns=MOST_DELAY_NS))}, [])
    assert fabric.not_applied() == []
    fabric.hold({1: (FREE, FREE._replace(delay_ns=180_000 * MS))}, [])
    assert fabric.not_applied() == ["delays above 4.29 s were 4.29 s, the longest of the card"]
    assert parse_netem(card.requests[1]["links"]["2"]).delay_ns == MOST_DELAY_NS


def test_the_card_has_links_as_far_as_it_can(card: Card) -> None:
    """Otherwise its ports are held by the kernel, which has no part of this port."""
    for fabric, asked in ((CardFabric(48, {}), 1), (CardFabric(49, {}), 1), (CardFabric(4, {"LINKS": 0}), 1)):
        fabric.hold({0: (FREE, FREE)}, [])
        assert len(card.requests) == asked


def test_links_behind_too_many_ports_are_refused_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scenario(tmp_path, [(0, 0)] * 13, 'fabric = "rtl"\nfabric_parameters = {LINKS = 1}')
    assert main(["emulate", "run", str(path)]) == 2
    assert "LINKS: the switch card has links behind 48 ports at most, not behind 52\n" in capsys.readouterr().err


# -------------------------------------------------------------------------------------------------- as it runs


@pytest.mark.live
def test_the_card_delays_holds_to_the_rate_and_loses_each_way_by_itself(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [{"delay_ns": FAR_NS}, {"rate_bps": 1e6}, {"loss": 0.3}, {"back": [5e7, 1.0]}, {}]
    path, replay = two_nodes(tmp_path, "rtl", SWITCH_PARAMETERS, steps)
    with Emulation(path, hold=True, replay=replay) as emulation:
        know_neighbours(emulation)
        answered, fastest_ms = pings(emulation, 3)
        assert answered == 3 and fastest_ms >= 100
        emulation.step()
        answered, fastest_ms = pings(emulation, 3, "-s", "1400")
        assert answered == 3 and fastest_ms >= 2 * 1442 * 8 / 1e3
        emulation.step()
        loses_each_way_by_itself(emulation)
        emulation.jam("n1:n2", 0.4)
        answered, _ = ping(emulation, "-c", "400", "-i", "0.01")
        assert abs(answered / 400 - 0.6**2) < 0.12


@pytest.mark.live
def test_the_report_says_no_more_that_delay_is_not_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, replay = two_nodes(tmp_path, "rtl", SWITCH_PARAMETERS, [{"delay_ns": FAR_NS}])
    assert main(["emulate", "run", str(path), "--replay", str(replay), "--json", "--name", "card-links"]) == 0
    assert json.loads(capsys.readouterr().out)["not_applied"] == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler  # as before, in this process
