"""Clock gates change nothing but a model's speed: the same comes out at the same time, with them and without. Without
them a simulation checks as well that each could have been closed."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Any

import pytest

from headrace.card import Card
from headrace.card.packet_memory import Packets
from headrace.cards.capture.driver import CaptureSettings
from headrace.cards.capture.run import driver_of, filter_driver_of, open_capture_card
from headrace.engines.filter import Slot
from headrace.errors import BusError
from headrace.net import bpf
from headrace.registers.compile import load_map

LOT = 0x2_0000_0000  # where the packets lie
NOWHERE = 0x9_0000_0000


def _settings(rng: random.Random) -> CaptureSettings:
    return CaptureSettings(
        ring_bytes=rng.choice((1 << 12, 1 << 16)),
        descriptor_slots=rng.choice((16, 256)),
        snaplen=rng.choice((0, 60, 65_600)),
        watermark=rng.choice((None, 1, 2000)),
        timeout_ns=rng.choice((0, 500, 20_000)),
        wait_for_room=rng.random() < 0.5,
        flow_control=rng.random() < 0.5,
    )


def _posted(rng: random.Random, now_ns: int) -> Packets:
    """Some packets of host memory, of this second and of others, and some that nobody can read."""
    lot = Packets(rng.randint(1, 30))
    for number in range(len(lot)):
        length = rng.choice((rng.randint(1, 100), rng.randint(1, 3000)))
        lot.address[number] = LOT + rng.randrange(1 << 16) if rng.random() < 0.95 else NOWHERE
        lot.timestamp_ns[number] = rng.choice((now_ns, rng.randrange(1 << 60)))
        lot.length[number] = lot.wire_length[number] = length
    return lot


def _captured(card: Card) -> list[Any]:
    """Frames of both ports and packets of host memory, in bursts and one by one, into rings of many kinds."""
    rng = random.Random(1)
    found: list[Any] = []
    driver = driver_of(card)
    card.memory.map(LOT, 1 << 17)
    card.memory.write(LOT, rng.randbytes(1 << 17))
    if driver.cores:
        filter_driver_of(card).load({0: Slot(bpf.compile("less 500"))})
    for port in range(2):
        card.source(port, "queue")
    for step in range(400):
        if step % 20 == 0:
            card.memory.configure(
                read_latency_ns=rng.choice((0, 100, 2000)),
                write_latency_ns=rng.choice((0, 1000)),
                stalls=step % 40 // 4,
            )
            driver.setup(settings := _settings(rng))
            for port in range(2):
                card.flow_control(port, settings.flow_control)
            card.skip_idle(rng.random() < 0.7)
        for _ in range(rng.choice((0, 0, 1, 20))):
            card.send(rng.randrange(2), [rng.randbytes(rng.randint(60, 1514))])
        if rng.random() < 0.3:
            times = rng.random() < 0.7
            driver.post(_posted(rng, card.stats().time_ns), times)
            driver.doorbell()
        card.run(until=rng.choice(("idle", "interrupt", None)), cycles=rng.choice((1, 10, 100, 3000)))
        end = driver.available()[1] if rng.random() < 0.5 else None
        if end is not None:
            assert driver.ring is not None
            ring = hash(card.memory.read(driver.ring.address, driver.ring.size))
            counted = (driver.packets_read(), driver.counters(), card.regs.capture.packet_cycles.read())
            found.append((end, ring, counted, driver.errors()))
            if rng.random() < 0.6:
                driver.release(end)
            if rng.random() < 0.5:
                driver.arm()
        found.append((card.stats().cycles, card.irqs()))
    return found


def _registers(card: Card) -> list[Any]:
    """Whatever is written into registers and read from them while frames come."""
    rng = random.Random(2)
    found: list[Any] = []
    assert card.description.registers is not None
    nodes = [(at, node) for _, at, node in load_map(card.description.registers).walk()]
    driver = driver_of(card)

    def read(at: int) -> int | None:
        try:
            return card.read(at)
        except BusError:  # of filters that aren't there
            return None

    driver.setup(CaptureSettings(ring_bytes=1 << 16))
    for port in range(2):
        card.source(port, "queue")
    for _ in range(300):
        for _ in range(rng.choice((0, 1, 20))):
            card.send(rng.randrange(2), [rng.randbytes(rng.randint(60, 1514))])
        at, node = rng.choice([each for each in nodes if each[1].writable])
        for word in range(max(1, node.width // 32)):
            with contextlib.suppress(BusError):
                card.write(at + 4 * word, rng.choice((0, 1, 3, rng.getrandbits(32))))
        card.run(until=None, cycles=rng.choice((1, 10, 1000)))
        at, _ = rng.choice(nodes)
        found.append((card.stats().cycles, card.irqs(), read(at), [read(at) for at, _ in nodes]))
    return found


@pytest.mark.soak
@pytest.mark.parametrize("cores", [0, 2])
@pytest.mark.parametrize("load", [_captured, _registers])
def test_what_comes_out_and_when_is_the_same_with_gates(load: Callable[[Card], list[Any]], cores: int) -> None:
    found = []
    for gates in (0, 1):
        with open_capture_card(cores, {"GATED": gates}, progress=False) as card:
            found.append(load(card))
    for number, (right, mine) in enumerate(zip(*found, strict=True)):
        assert mine == right, f"step {number}"
