"""Chains of functional blocks, and their moves while packets flow, against a card in Python whose timing is random."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from fake_bridge import FakeCard

from headrace.cards.bridge.blocks import Crc32, Generic, SoftwareBlock, with_crc
from headrace.cards.bridge.chain import Ingress, ProtocolGraph
from headrace.cards.bridge.formats import Address, Header, Packet, idp
from headrace.cards.bridge.moves import Move, move
from headrace.errors import HeadraceError

PORT_0 = Ingress(0)


def frames(count: int, seed: int = 1) -> list[bytes]:
    rng = random.Random(seed)
    return [with_crc(number.to_bytes(4, "big") + rng.randbytes(rng.randint(0, 300))) for number in range(count)]


class Bench:
    """A card, and a chain of three blocks from port 0 to port 1 (or to the application)."""

    def __init__(self, seed: int = 1, egress: int | None = 1, ingress: Ingress | None = PORT_0, speed: int = 8):
        self.card = FakeCard(seed, speed=speed, slot_bytes=1 << 30)
        self.driver = self.card.driver()
        self.driver.start()
        self.driver.setup_port(0)
        self.graph = ProtocolGraph(self.driver)
        self.got: list[bytes] = []
        self.chain = self.graph.add_chain(
            "forward",
            [("first", Generic()), ("check", Crc32()), ("last", Generic())],
            ingress,
            egress,
            lambda packets, _: self.got.extend(packet.payload for packet in packets),
        )

    def run(self, work: Callable[[], bool] = lambda: True, rounds: int = 200_000) -> None:
        """Until nothing moves any more, and ``work``, which is called all the time, is done."""
        for number in range(rounds):
            self.card.step()
            self.graph.poll()
            done = work()
            waiting = any(block.software.waiting for block in self.chain.blocks)
            if self.card.idle and not any(self.card.mailbox.values()) and not waiting and done and number > 100:
                if not self.card.open and not self.driver.s2h.backlog:
                    return
                self.driver.h2s.flush()
                self.driver.s2h.flush()
        raise AssertionError("packets stay in the card")


def sides(bench: Bench) -> str:
    return " ".join(block.side for block in bench.chain.blocks)


@pytest.mark.parametrize(
    "software", [(), ("first",), ("check",), ("last",), ("first", "last"), ("first", "check", "last")]
)
@pytest.mark.parametrize("egress", [1, None])
def test_every_packet_takes_the_chain_wherever_its_blocks_are(software: tuple[str, ...], egress: int | None) -> None:
    bench = Bench(egress=egress)
    for name in software:
        report = move(bench.graph, name, "sw")
        assert (report.block, report.side, report.dropped) == (name, "sw", 0)
    wanted = frames(200)
    bad = [b"\0" + frame for frame in frames(20)]
    bench.card.arriving[0].extend([*wanted[:100], *bad, *wanted[100:]])
    bench.run()
    assert (bench.card.sent[1] if egress == 1 else bench.got) == wanted
    refused = bench.driver.counters().slots[1].refused + bench.chain.blocks[1].software.counters.refused
    assert refused == 20
    assert bench.driver.counters().missing() == 0


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("way", ["port to port", "port to application", "application to port"])
def test_moves_in_mid_traffic_lose_and_reorder_nothing(seed: int, way: str) -> None:
    ingress = None if way.startswith("application") else PORT_0
    bench = Bench(seed, None if way.endswith("application") else 1, ingress, speed=4 + seed)
    rng = random.Random(seed)
    bench.card.load = rng.choice((0.05, 0.1, 0.3))
    bench.driver.h2s.configure(buffer_bytes=rng.choice((2048, 8192, 65536)), wait_for_room=True, timeout_ns=20_000)
    bench.driver.s2h.configure(buffer_bytes=rng.choice((2048, 8192, 65536)), timeout_ns=10_000)
    for block in (bench.chain.blocks[0], bench.chain.blocks[2]):
        block.software.packet_ns = rng.choice((0, 700))  # type: ignore[attr-defined]
    wanted = frames(1000, seed)
    left = list(wanted)
    if ingress is not None:
        bench.card.arriving[0].extend(wanted)
        left = []
    moves: list[Move] = []
    steps: Iterator[None] = iter(())

    def work() -> bool:
        nonlocal steps
        if left and rng.random() < bench.card.load:
            some = left[: rng.randint(1, 8)]
            del left[: len(some)]
            bench.graph.send(bench.chain, some)
        if next(steps, steps) is not steps:
            return False
        if not left and not bench.card.arriving[0]:
            return True
        block = rng.choice(bench.chain.blocks)
        moves.append(Move(bench.graph, block.name, "sw" if block.side == "hw" else "hw"))
        steps = moves[-1].steps()
        return False

    bench.run(work)
    assert len(moves) >= 3
    assert (bench.card.sent[1] if way.endswith("port") else bench.got) == wanted
    assert bench.driver.counters().missing() == 0


def test_without_grace_periods_packets_are_reordered(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the card in Python would show it."""
    monkeypatch.setattr("headrace.cards.bridge.driver.BridgeDriver.settling", lambda _: iter(()))
    monkeypatch.setattr("headrace.cards.bridge.driver.BridgeDriver.slot_idle", lambda _, slot: slot >= 0)
    with pytest.raises(AssertionError):
        for seed in range(3):
            test_moves_in_mid_traffic_lose_and_reorder_nothing(seed, "port to port")


def test_a_block_that_is_there_already_stays() -> None:
    bench = Bench()
    assert move(bench.graph, "first", "hw").held_ns == 0
    assert sides(bench) == "hw hw hw"


def test_a_move_goes_on_step_by_step() -> None:
    bench = Bench()
    task = Move(bench.graph, "check", "sw")
    for _ in task.steps():
        assert sides(bench) == "hw hw hw" and task.report is None
        bench.card.step()
        bench.graph.poll()
    assert sides(bench) == "hw sw hw" and task.report is not None and task.report.held_ns > 0


def test_software_takes_its_time_too() -> None:
    bench = Bench()
    bench.chain.blocks[0].software.packet_ns = 5000  # type: ignore[attr-defined]
    move(bench.graph, "first", "sw")
    bench.driver.h2s.configure(single=True)
    begin = bench.card.time_ns
    bench.card.arriving[0].extend(frames(10))
    bench.run()
    assert bench.card.time_ns - begin >= 50_000 and len(bench.card.sent[1]) == 10


def test_packets_for_nobody_are_counted_and_dropped() -> None:
    bench = Bench()
    header = Header(Address(0, 2), 0, 0)
    known = header._replace(destination=idp("first"))
    bench.graph.deliver([Packet(b"a", header), Packet(b"b", known), Packet(b"c", header), Packet(b"d", header)])
    assert bench.graph.unknown == 3 and bench.chain.blocks[0].software.waiting == 1


def test_a_block_keeps_level_and_criticality() -> None:
    card = FakeCard()
    driver = card.driver()
    driver.start()
    driver.setup_port(0)
    graph = ProtocolGraph(driver)
    got: list[Packet] = []
    graph.add_chain("c", [("g", Generic())], Ingress(0), None, lambda p, _: got.extend(p), level=2, critical=True)
    for side in ("hw", "sw"):
        move(graph, "g", side)  # type: ignore[arg-type]
        got.clear()
        card.arriving[0].append(b"x" * 60)
        while not got:
            card.step()
            graph.poll()
        assert got[0].header == Header(Address(0, 2), idp("g"), idp("c.out"), 2, False, True)


def test_names_and_slots_must_be_free() -> None:
    bench = Bench()
    with pytest.raises(HeadraceError, match="chain other: its name, or one of a block, is in use"):
        bench.graph.add_chain("other", [("check", Crc32())])
    with pytest.raises(HeadraceError, match="block more: the card has no free slot of kind 0"):
        bench.graph.add_chain("other", [("more", Generic())])
    with pytest.raises(HeadraceError, match="no block nobody; there are: first, check, last"):
        move(bench.graph, "nobody", "sw")


def test_a_block_without_hardware_stays_in_software() -> None:
    class Upper(SoftwareBlock):
        def process(self, payload: bytes) -> bytes | None:
            return payload.upper()

    bench = Bench()
    got: list[bytes] = []
    chain = bench.graph.add_chain(
        "own", [("upper", Upper())], None, None, lambda p, _: got.extend(x.payload for x in p)
    )
    bench.graph.send(chain, [b"abc"])
    bench.graph.work()
    assert got == [b"ABC"]
    with pytest.raises(HeadraceError, match="block upper has no slot in hardware"):
        move(bench.graph, "upper", "hw")
