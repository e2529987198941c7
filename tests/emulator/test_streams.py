"""How streams of messages are accounted for, without a network: over a channel that loses, doubles and reorders."""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import pytest

from headrace.emulator.processes import wire
from headrace.emulator.processes.streams import LOST_S, Receiver, Sender, Stream
from headrace.emulator.processes.wire import Kind, Malformed, Packet


class Channel:
    """A sender and a receiver, with time of their own. ``loss``: of each packet, there and back."""

    def __init__(self, stream: Stream, loss: float, seed: int) -> None:
        self.random, self.loss, self.now = random.Random(seed), loss, 100.0
        self.sender, self.receiver = Sender(stream, self.now, repeats=True), Receiver()
        self.flying: list[tuple[float, int, bytes]] = []
        self.whole: list[int] = []

    def carry(self, data: bytes) -> None:
        for _ in range(1 + (self.random.random() < 0.05)):
            if self.random.random() >= self.loss:
                heapq.heappush(self.flying, (self.now + self.random.uniform(0.01, 0.2), len(self.whole), bytes(data)))

    def step(self) -> None:
        for number in self.sender.due(self.now):
            self.carry(self.sender.packet(number))
        if self.sender.done and not self.flying:
            return
        wait = self.sender.wait_s(self.now)
        self.now = min(self.now + max(wait, 1e-3), self.flying[0][0] if self.flying else math.inf)
        while self.flying and self.flying[0][0] <= self.now:
            packet = wire.decode(heapq.heappop(self.flying)[2])
            if packet.kind == Kind.DATA:
                self.whole.append(packet.number)
                self.carry(self.receiver.hear(packet))
            else:
                self.sender.acknowledge(packet, self.now)

    def run(self) -> dict[str, int]:
        while not self.sender.done or self.flying:
            self.step()
            now = self.sender.stats()
            assert now["sent"] == now["acknowledged"] + now["lost"] + now["in_flight"]
            assert self.receiver.received == len(set(self.whole)) <= now["sent"]
            assert self.receiver.received + self.receiver.duplicates == len(self.whole)
            assert now["acknowledged"] <= self.receiver.received
        return self.sender.stats()


def stream(kind: str, interval_s: float, count: int | None = 300, duration_s: float | None = None) -> Stream:
    return Stream(1, 1, 2, "10.0.0.2", kind, 200, interval_s, count, duration_s)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("kind", "interval_s"), [("image", 0.0), ("command", 0.02)])
def test_what_is_sent_again_comes_once(kind: str, interval_s: float, seed: int) -> None:
    channel = Channel(stream(kind, interval_s), 0.3, seed)
    found = channel.run()
    assert (found["sent"], found["acknowledged"], found["lost"]) == (300, 300, 0)
    assert channel.receiver.received == 300 and sorted(set(channel.whole)) == list(range(1, 301))
    assert found["repeated"] > 0


@pytest.mark.parametrize("seed", range(4))
def test_telemetry_is_sent_once_and_what_has_not_come_is_lost(seed: int) -> None:
    channel = Channel(stream("telemetry", 0.01), 0.3, seed)
    found = channel.run()
    assert found["sent"] == 300 and found["repeated"] == 0 and found["in_flight"] == 0
    assert 150 < channel.receiver.received < 260
    assert found["lost"] >= 300 - channel.receiver.received  # and those whose acknowledgements were all lost
    assert channel.receiver.received - found["acknowledged"] < 10  # each speaks of 64 messages


@pytest.mark.parametrize(("kind", "patience_s"), [("telemetry", 2.0), ("command", 60.0)])
def test_what_nobody_hears_is_lost_in_time(kind: str, patience_s: float) -> None:
    channel = Channel(stream(kind, 0.5, None, 5.0), 1.0, 0)
    found = channel.run()
    assert found["sent"] == found["lost"] == 10
    assert channel.now == pytest.approx(100.0 + 4.5 + patience_s, abs=0.01)


def test_an_acknowledgement_that_comes_late_still_counts() -> None:
    sender, receiver = Sender(stream("telemetry", 1.0, 1), 0.0, repeats=True), Receiver()
    (number,) = sender.due(0.0)
    acknowledgement = receiver.hear(wire.decode(sender.packet(number)))
    sender.due(LOST_S)
    assert sender.stats()["lost"] == 1 and sender.done
    sender.acknowledge(wire.decode(acknowledgement), LOST_S + 1)
    assert (sender.stats()["lost"], sender.stats()["acknowledged"]) == (0, 1)


def test_what_is_acknowledged_in_order_costs_the_same_whatever_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in messages that are looked at, with 64 of them under way all the time."""
    looked = Counter[str]()
    for name in ("_repeat_s", "_acknowledge"):
        monkeypatch.setattr(Sender, name, counted(looked, name, getattr(Sender, name)))
    sender, receiver, now = Sender(stream("image", 0.0, 5000), 0.0, repeats=True), Receiver(), 0.0
    flying = deque(sender.due(now))
    while flying:
        now += 0.001
        sender.acknowledge(wire.decode(receiver.hear(wire.decode(sender.packet(flying.popleft())))), now)
        flying += sender.due(now)
        sender.wait_s(now)
    assert sender.acknowledged == 5000 and sender.repeated == 0
    assert sum(looked.values()) < 5 * 5000


def counted(counts: Counter[str], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def counting(*arguments: Any, **named: Any) -> Any:
        counts[name] += 1
        return call(*arguments, **named)

    return counting


@pytest.mark.parametrize("seed", range(20))
def test_an_acknowledgement_speaks_of_the_last_64_messages_in_any_order(seed: int) -> None:
    rng, receiver, come = random.Random(seed), Receiver(), set[int]()
    numbers = sorted(range(1, 300), key=lambda number: number + rng.choice((0, 0, 0, rng.randrange(80))))
    for number in numbers + rng.choices(numbers, k=50):
        come.add(number)
        said = wire.decode(receiver.hear(Packet(Kind.DATA, 1, 2, stream=1, number=number)))
        bits = int.from_bytes(said.body, "big")
        assert {number - back for back in range(64) if bits >> back & 1} == {
            n for n in come if number - 64 < n <= number
        }


def test_a_stream_that_was_held_up_does_not_send_all_at_once() -> None:
    sender = Sender(stream("telemetry", 0.01, None), 0.0, repeats=True)
    assert len(sender.due(0.0)) == 1
    assert len(sender.due(60.0)) <= 64
    assert sender.stats()["skipped"] > 5000


def test_packets_are_read_as_they_were_written() -> None:
    rng = random.Random(1)
    for kind in Kind:
        packet = Packet(
            kind, rng.randrange(1 << 16), rng.randrange(1 << 16), 9, 3, rng.randrange(1 << 16), rng.randrange(1 << 32),
            rng.randrange(1 << 32), rng.randrange(1 << 63), rng.randbytes(rng.randrange(wire.MAX_BODY + 1)),
        )  # fmt: skip
        data = wire.encode(packet)
        assert wire.decode(data) == packet and wire.length(data) == len(data)
        wire.relay(data, 77)
        assert wire.decode(data) == packet._replace(ttl=8, hops=4, via=77)


def test_what_is_no_packet_is_refused() -> None:
    rng = random.Random(2)
    good = wire.encode(Packet(Kind.DATA, 1, 2, body=rng.randbytes(100)))
    for _ in range(2000):
        bad = bytearray(good)
        at = rng.choice([0, 1, 2, *range(28, len(good))])  # magic, version, length, CRC, body
        bad[at] ^= 1 << rng.randrange(8)
        with pytest.raises(Malformed):
            wire.decode(bad)
        with pytest.raises(Malformed):
            wire.decode(good[: rng.randrange(len(good))])
        with pytest.raises(Malformed):
            wire.decode(rng.randbytes(rng.randrange(1, 200)))
