"""The streams of an emulation: begins and ends them, and joins what the processes at both ends say of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from headrace.emulator.processes.streams import Stream
from headrace.emulator.scenario import address
from headrace.emulator.traffic import Demand, read_demand
from headrace.errors import HeadraceError

Said = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Of a process: what it is ``sending`` and ``receiving``, by the streams' numbers."""


class Ends(Protocol):
    """The processes that make traffic, by their nodes' names, wherever they are."""

    def load(self, nodes: Sequence[str]) -> None:
        """There are some in these nodes from now on. Raises HeadraceError."""

    def request(self, node: str, request: Mapping[str, Any]) -> None:
        """Asks one for something. Raises HeadraceError."""

    def hear(self, nodes: Sequence[str]) -> Mapping[str, Said]:
        """What those say that answer."""

    def one_clock(self, nodes: Sequence[str]) -> bool:
        """Whether these nodes have the same one."""

    def gone(self, node: str) -> bool:
        """Whether a node is lost for good."""


class Accounts:
    """Of all streams of an emulation with these ``nodes``."""

    def __init__(self, nodes: Sequence[str], ends: Ends) -> None:
        self._nodes, self._ends = nodes, ends
        self._streams: dict[str, tuple[Demand, Stream]] = {}
        self._last: dict[str, dict[str, Any]] = {}

    def demand(self, table: Mapping[str, Any]) -> str:
        """Starts a stream that is asked for; gives its name. Raises HeadraceError."""
        given = dict(table)
        first = name = str(given.pop("name", None) or f"{given.get('from')}-{given.get('to')}")
        number = 1
        while name in self._streams:
            number += 1
            name = f"{first}#{number}"
        self.start(read_demand(name, given, self._nodes))
        return name

    def start(self, demand: Demand) -> None:
        """Starts a stream. Raises HeadraceError."""
        stream = Stream(
            number=len(self._streams) + 1,
            source=demand.source + 1,
            destination=demand.destination + 1,
            address=address(demand.destination),
            kind=demand.kind,
            size=demand.size,
            interval_s=demand.interval_s,
            count=demand.count,
            duration_s=demand.duration_s,
            start_s=demand.start_s,
        )
        source, destination = self._between(demand)
        self._ends.load((source, destination))
        self._ends.request(source, {"do": "stream", "stream": asdict(stream)})
        self._streams[demand.name] = demand, stream

    def stop(self, name: str) -> None:
        """No more messages of a stream. Raises HeadraceError."""
        demand, stream = self._stream(name)
        source = self._nodes[demand.source]
        if not self._ends.gone(source):
            self._ends.request(source, {"do": "stop", "stream": stream.number})

    def streams(self, only: str | None = None) -> list[dict[str, Any]]:
        """How streams are, all or one: sent = received + lost + in_flight. ``acknowledged`` is the source's account,
        ``throughput_bps`` and ``latency_s`` are the destination's; where the two nodes have clocks of their own they
        are the source's, ``by`` acknowledgements: the latency is half of the round trip. Raises HeadraceError."""
        wanted = self._streams if only is None else {only: self._stream(only)}
        ends = [self._between(demand) for demand, _ in wanted.values()]
        # The destinations first: what they have was sent before their sources are asked.
        receiving = self._ends.hear(sorted({destination for _, destination in ends})) if ends else {}
        sending = self._ends.hear(sorted({source for source, _ in ends})) if ends else {}
        return [self._account(name, *each, sending, receiving) for name, each in wanted.items()]

    def _account(
        self, name: str, demand: Demand, stream: Stream, sending: Mapping[str, Said], receiving: Mapping[str, Said]
    ) -> dict[str, Any]:
        number, (source, destination) = str(stream.number), self._between(demand)
        sent = sending.get(source, {}).get("sending", {}).get(number, {})
        come = receiving.get(destination, {}).get("receiving", {}).get(number, {})
        found = self._last[name] = {**self._last.get(name, _NOTHING), **sent, **come}
        if not (one_clock := self._ends.one_clock((source, destination))):
            halves = {part: trip_s / 2 for part, trip_s in found["round_trip_s"].items()}
            found = found | {"latency_s": halves, "throughput_bps": found["acknowledged_bps"]}
        return {
            "name": name,
            "from": source,
            "to": destination,
            "kind": demand.kind,
            "size": demand.size,
            "interval_s": demand.interval_s,
            **found,
            "by": "arrival" if one_clock else "acknowledgement",
            **balance(found, gone=self._ends.gone(source)),
            "silent": [
                *([source] if source not in sending else []),
                *([destination] if destination not in receiving else []),
            ],
        }

    def _between(self, demand: Demand) -> tuple[str, str]:
        return self._nodes[demand.source], self._nodes[demand.destination]

    def _stream(self, name: str) -> tuple[Demand, Stream]:
        try:
            return self._streams[name]
        except KeyError:
            raise HeadraceError(f"no stream {name}: there are {', '.join(self._streams) or 'none'}", 2) from None


def balance(found: Mapping[str, Any], *, gone: bool) -> dict[str, Any]:
    """What has come isn't lost and no longer under way, even where the source hasn't heard of it. ``gone``: the source
    is, and sends nothing more: what hasn't come is lost."""
    received = max(found["received"], found["acknowledged"])  # both where acknowledgements are lost, and where answers
    unheard = received - found["acknowledged"]
    arrived = min(unheard, found["in_flight"])
    not_lost = min(unheard - arrived, found["lost"])
    in_flight, lost = found["in_flight"] - arrived, found["lost"] - not_lost
    return {
        "sent": found["sent"] + unheard - arrived - not_lost,  # after the source's last word
        "received": received,
        "in_flight": 0 if gone else in_flight,
        "lost": lost + in_flight if gone else lost,
        "stopped": found["stopped"] or gone,
        "done": found["done"] or gone,
    }


_NOTHING: dict[str, Any] = {
    "sent": 0,
    "acknowledged": 0,
    "lost": 0,
    "in_flight": 0,
    "repeated": 0,
    "skipped": 0,
    "stopped": False,
    "done": False,
    "acknowledged_bps": 0.0,
    "round_trip_s": {},
    "received": 0,
    "bytes": 0,
    "duplicates": 0,
    "hops": 0,
    "throughput_bps": 0.0,
    "latency_s": {},
}
