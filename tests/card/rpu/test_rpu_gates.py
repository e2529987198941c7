"""Clock gates change nothing but a model's speed: the same comes out at the same time, with them and without. Without
them a simulation checks as well that each could have been closed."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any, get_args

import pytest

from headrace.card import Card
from headrace.card.rings import Receiver, Ring
from headrace.cards.rpu import elf, program, tables
from headrace.cards.rpu.card import driver_of, open_rpu_card
from headrace.cards.rpu.driver import Policy
from headrace.cards.rpu.swap import swap

PARAMETERS = {"PMEM_KB": 512}
PROGRAMS = Path(__file__).parent / "programs"
UNITS: tuple[Path | str, ...] = (PROGRAMS / "host.c", "crc", "firewall", PROGRAMS / "dram.c")
ACCELERATORS = {1: "crc", 2: "blacklist"}
LIST, LOCAL, WAIT, WRITE, READ = 0x0080_1000, 0x0080_3000, 1, 4, 5  # see dram.c


@pytest.mark.soak
def test_what_comes_out_and_when_is_the_same_with_gates() -> None:
    without, gated = (_ran(gates) for gates in (0, 1))
    for number, (mine, right) in enumerate(zip(gated, without, strict=True)):
        assert mine == right, f"step {number}"


def _ran(gates: int) -> list[Any]:
    """What a card does with random packets of both sides, in bursts and one by one, and the cycles that it takes, while
    units reach host memory, err, are reset and get other accelerators."""
    rng = random.Random(1)
    found: list[Any] = []
    parameters = PARAMETERS | {"GATED": gates}
    with open_rpu_card(len(UNITS), ACCELERATORS, parameters=parameters, progress=False) as card:
        driver = driver_of(card)
        for unit, name in enumerate(UNITS):
            driver.load(elf.read(program.build([name])), [unit])
        driver.boot()
        assert driver.ready()
        driver.load_table(tables.blacklist_words(["10.0.0.0/9"]), [2])
        receiver = Receiver(card, driver.rings.receive, entries=16, buffer=2048)
        ring = Ring(card, driver.rings.transmit, 16)
        place = card.memory.allocate(0x4000)
        for port in range(2):
            card.source(port, "queue", timing="line")
            card.sink(port, "memory")
        for step in range(300):
            if step % 30 == 0:
                card.memory.configure(
                    read_latency_ns=rng.choice((100, 500, 2000)),
                    write_latency_ns=rng.choice((50, 800)),
                    stalls=rng.choice((0, 7)),
                    out_of_order=rng.choice((0, 3)),
                )
                driver.set_policy(rng.choice(get_args(Policy)))
            if step % 50 == 10:
                kind = rng.choice(("crc", "checksum", "none"))
                swap(card, driver, [1], kind, elf.read(program.build(["crc" if kind == "crc" else "forwarder"])))
            if step % 10 == 5:
                _reach_host_memory(card, driver, rng, place)
            for _ in range(rng.choice((0, 1, 1, 40))):
                card.send(rng.randrange(2), [_packet(rng)])
            if rng.random() < 0.3:
                ring.seen += ring.fresh()
                packets = [_packet(rng) for _ in range(min(ring.room, rng.randint(1, 4)))]
                at = place + 0x2000
                for packet in packets:
                    card.memory.write(at, packet)
                    ring.post([at], [len(packet)])
                    at += 0x800
            card.run(until=rng.choice(("idle", None)), cycles=rng.choice((30, 300, 3000)))
            host = receiver.take()
            packets = [card.memory.read(*each) for each in zip(host.address, host.length, strict=True)]
            receiver.release()
            frames = [[(each.data, each.timestamp_ns) for each in card.received(port)] for port in range(2)]
            unit = rng.randrange(len(UNITS))
            told = (driver.state(unit), driver.counters(unit), driver.dram_counters(), driver.source_counters())
            found.append((card.stats().cycles, frames, packets, list(host.timestamp_ns), card.irqs(), told))
    return found


def _packet(rng: random.Random) -> bytes:
    """Ethernet and IPv4, from addresses of which half are on the blacklist."""
    head = bytes(12) + b"\x08\x00\x45" + bytes(11) + bytes((10, rng.randrange(256), 0, 1))
    return head + rng.randbytes(rng.choice((34, 38, 39, 102, rng.randint(34, 1466))))


def _reach_host_memory(card: Card, driver: Any, rng: random.Random, place: int) -> None:
    """Lets unit 3 write and read, or ask for what isn't there."""
    size = rng.choice((1, 64, 300))
    items = [(WRITE, LOCAL, size, 0, place), (READ, LOCAL, size, 1, place), (WAIT, 0, 0, 1, 0)]
    if rng.random() < 0.3:
        items.append((WRITE, 0x0200_0000, size, 0, place))
    words = b"".join(
        struct.pack("<6I", what, at, size, tag, to & 0xFFFF_FFFF, to >> 32) for what, at, size, tag, to in items
    )
    driver.write([3], LIST, words + bytes(4))
    driver.poke(3)
