"""Clock gates change nothing but a model's speed: the same comes out at the same time, with them and without. Without
them a simulation checks as well that each could have been closed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from headrace.card import Card
from headrace.cards.bridge.blocks import Crc32, Generic, with_crc
from headrace.cards.bridge.card import driver_of, open_bridge_card
from headrace.cards.bridge.chain import Ingress, ProtocolGraph
from headrace.cards.bridge.formats import Header, Packet
from headrace.cards.bridge.host import PROFILES, Host
from headrace.cards.bridge.tables import PORTS, SOFTWARE, slot_address
from headrace.registers.compile import load_map


def _chain(card: Card) -> list[Any]:
    """A chain of blocks that move to software and back, in mid-traffic, beside packets from software."""
    rng = random.Random(1)
    found: list[Any] = []
    got: list[tuple[bytes, int]] = []
    driver = driver_of(card)
    driver.start()
    graph = ProtocolGraph(driver)
    host = Host(card, driver, PROFILES["pcie"], graph=graph)
    blocks = [("first", Generic(packet_ns=20)), ("check", Crc32()), ("last", Generic(10, 64))]
    graph.add_chain("forward", blocks, Ingress(0), 1)
    graph.add_chain("up", [], Ingress(1), received=lambda packets, now: got.extend((p.payload, now) for p in packets))
    driver.s2h.configure(timeout_ns=5_000)
    for port in range(2):
        driver.setup_port(port, flow_control=True)
        card.flow_control(port, True)
        card.source(port, "queue", timing=rng.choice((1e9, "line")))
        card.sink(port, "memory")
    for step in range(200):
        if step % 10 == 0:
            card.memory.configure(
                read_latency_ns=rng.choice((100, 2000)), write_latency_ns=rng.choice((50, 1000)), stalls=step % 20
            )
            driver.h2s.configure(
                buffer_bytes=rng.choice((2048, 65536)),
                timeout_ns=rng.choice((2_000, 50_000)),
                single=rng.random() < 0.2,
                adaptive=rng.random() < 0.4,
                express=rng.random() < 0.5,
                wait_for_room=True,
            )
        if rng.random() < 0.2:
            host.move(rng.choice(("first", "check", "last")), rng.choice(("sw", "hw")))
        for _ in range(rng.choice((0, 1, 20))):
            card.send(rng.randrange(2), [with_crc(rng.randbytes(rng.randint(1, 1510)))])
        if rng.random() < 0.3:
            critical = rng.random() < 0.5
            address = rng.choice((PORTS[0], SOFTWARE, slot_address(3)))
            driver.s2h.send([Packet(rng.randbytes(rng.randint(1, 1514)), Header(address, 5, 6, critical=critical))])
        host.run(seconds=rng.choice((0, 2e-6, 2e-5, 2e-3)))
        found.append((card.stats().cycles, _out(card), len(got), driver.counters()))
    return [*found, got]


def _registers(card: Card) -> list[Any]:
    """Whatever is written into registers and read from them while frames come."""
    rng = random.Random(2)
    found: list[Any] = []
    assert card.description.registers is not None
    nodes = [(at, node) for _, at, node in load_map(card.description.registers).walk()]
    driver = driver_of(card)
    driver.start()
    for port in range(2):
        driver.setup_port(port)
        driver.classify(port, 7, 0, 0, Header(rng.choice((SOFTWARE, slot_address(port))), 1, 2))
        card.source(port, "queue")
        card.sink(port, "memory")
    for _ in range(300):
        for _ in range(rng.choice((0, 1, 20))):
            card.send(rng.randrange(2), [rng.randbytes(rng.randint(1, 1600))])
        at, node = rng.choice([each for each in nodes if each[1].writable])
        for word in range(max(1, node.width // 32)):
            card.write(at + 4 * word, rng.choice((0, 1, 3, rng.getrandbits(32))))
        card.run(until=rng.choice(("idle", None)), cycles=rng.choice((1, 10, 1000)))
        at, _ = rng.choice(nodes)
        found.append((card.stats().cycles, _out(card), card.read(at), [card.read(at) for at, _ in nodes]))
    return found


def _out(card: Card) -> list[Any]:
    return [[(each.data, each.timestamp_ns) for each in card.received(port)] for port in range(2)]


@pytest.mark.soak
@pytest.mark.parametrize("load", [_chain, _registers])
def test_what_comes_out_and_when_is_the_same_with_gates(load: Callable[[Card], list[Any]]) -> None:
    found = []
    for gates in (0, 1):
        with open_bridge_card({"GATED": gates}, progress=False) as card:
            found.append(load(card))
    for number, (right, mine) in enumerate(zip(*found, strict=True)):
        assert mine == right, f"step {number}"
