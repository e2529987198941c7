"""How what both ends say of a stream is joined: sent = received + lost + in flight, whoever has been asked later."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headrace.emulator.accounts import Accounts, Said, balance


class Places:
    """Both ends of streams from a to b. ``silent``: who doesn't answer."""

    def __init__(self, *, one_clock: bool = True) -> None:
        self.clock, self.silent, self.lost = one_clock, set[str](), set[str]()
        self.sending: dict[str, Any] = {}
        self.receiving: dict[str, Any] = {}
        self.heard: list[list[str]] = []
        self.loaded: list[Sequence[str]] = []
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def load(self, nodes: Sequence[str]) -> None:
        self.loaded.append(nodes)

    def request(self, node: str, request: Mapping[str, Any]) -> None:
        self.asked.append((node, request))

    def hear(self, nodes: Sequence[str]) -> dict[str, Said]:
        self.heard.append(list(nodes))
        said = {"a": {"sending": {"1": self.sending}}, "b": {"receiving": {"1": self.receiving}}}
        return {node: said[node] for node in nodes if node not in self.silent}

    def one_clock(self, _: Sequence[str]) -> bool:
        return self.clock

    def gone(self, node: str) -> bool:
        return node in self.lost


def started(places: Places) -> Accounts:
    accounts = Accounts(["a", "b"], places)
    assert accounts.demand({"from": "a", "to": "b"}) == "a-b"
    return accounts


def test_the_destination_is_loaded_before_the_source_sends_and_heard_before_it() -> None:
    places = Places()
    accounts = started(places)
    assert set(places.loaded[0]) == {"a", "b"}
    assert [(node, request["do"]) for node, request in places.asked] == [("a", "stream")]
    accounts.streams()
    assert places.heard == [["b"], ["a"]]


def test_where_clocks_differ_latency_is_half_of_the_round_trip() -> None:
    sending = {"sent": 9, "acknowledged": 9, "round_trip_s": {"p50": 0.25}, "acknowledged_bps": 8e3}
    receiving = {"received": 9, "latency_s": {"p50": -77.0}, "throughput_bps": -1.0}
    for one_clock, by, latency_s, bps in ((True, "arrival", -77.0, -1.0), (False, "acknowledgement", 0.125, 8e3)):
        places = Places(one_clock=one_clock)
        accounts = started(places)
        places.sending, places.receiving = sending, receiving
        (found,) = accounts.streams()
        assert (found["by"], found["latency_s"]["p50"], found["throughput_bps"]) == (by, latency_s, bps)


def test_a_stream_whose_source_is_lost_has_ended_and_what_has_not_come_is_lost() -> None:
    places = Places()
    accounts = started(places)
    places.sending = {"sent": 10, "acknowledged": 6, "in_flight": 4, "lost": 0, "done": False}
    places.receiving = {"received": 7}
    (found,) = accounts.streams()
    assert (found["received"], found["in_flight"], found["lost"], found["done"]) == (7, 3, 0, False)
    places.silent, places.lost = {"a"}, {"a"}
    (found,) = accounts.streams()
    assert found["silent"] == ["a"]
    assert (found["sent"], found["received"], found["in_flight"], found["lost"]) == (10, 7, 0, 3)
    assert found["stopped"] and found["done"]
    asked = len(places.asked)
    accounts.stop("a-b")
    assert len(places.asked) == asked  # there is nobody


@pytest.mark.parametrize("seed", range(50))
def test_messages_are_conserved_whatever_each_end_knows(seed: int) -> None:
    rng = random.Random(seed)
    found = {key: rng.randrange(20) for key in ("acknowledged", "lost", "in_flight", "received")}
    found |= {"sent": found["acknowledged"] + found["lost"] + found["in_flight"], "stopped": False, "done": False}
    for gone in (False, True):
        now = balance(found, gone=gone)
        assert now["sent"] == now["received"] + now["lost"] + now["in_flight"]
        assert min(now["lost"], now["in_flight"]) >= 0
        assert now["received"] == max(found["received"], found["acknowledged"]) and now["sent"] >= found["sent"]
