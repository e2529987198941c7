"""Two ports of 100 Gb/s at 250 MHz, through units that are always ready."""

import itertools
import math
import random
from typing import Any

import cocotb
from rpu_fabric.cards import FLOW_HASH, LEAST_LOADED, ROUND_ROBIN, Card
from rpu_fabric.flows import frame

from headrace.testing.streams import SOAK, Stalls, behaviour

GBIT, MHZ = 100, 250


def cycles_a_packet(size: int, width: int = 512) -> float:
    """At the rate of the line, with 24 bytes of FCS, preamble and gap; a beat a cycle is more than some sizes allow."""
    return max((size + 24) * 8 * MHZ / (GBIT * 1000), math.ceil(8 * size / width))


def line(size: int, width: int) -> Stalls:
    """Stalls between packets of a line at its rate, each of which then takes as many cycles as it has beats."""
    beats = math.ceil(8 * size / width)
    begun = now = 0.0
    while True:
        # Called when a packet could begin: now; the packet after it can't before its beats are over.
        if now >= begun:
            begun = max(begun, now - 1) + cycles_a_packet(size)
            yield False
            now += beats
        else:
            yield True
            now += 1


POLICIES, SIZES = (ROUND_ROBIN, LEAST_LOADED, FLOW_HASH), (60, 64, 65, 1500)
# Most packets with every policy, the other sizes with one
USUAL = [*((policy, 60) for policy in POLICIES), *zip(POLICIES, SIZES[1:], strict=True)]


@behaviour()
@cocotb.parametrize((("policy", "size"), list(itertools.product(POLICIES, SIZES)) if SOAK else USUAL))
async def two_full_lines_pass_without_loss(dut: Any, policy: int, size: int) -> None:
    card = Card(dut, slots=32)
    card.settings.policy = policy
    for unit in card.units:
        unit.answer = lambda _, arrival: (1 - arrival.port, arrival.data)
    await card.start()
    count = 600 if size < 100 else 40
    packets = [
        frame(f"10.{port}.0.1", f"10.0.{random.randrange(256)}.{random.randrange(256)}", (1, 2))[:38]
        + number.to_bytes(4, "big")
        + bytes(size - 42)
        for port in range(2)
        for number in range(count)
    ]
    for port in range(2):
        card.queues[port].extend(packets[port * count : (port + 1) * count])
        card.gaps[port] = line(size, card.width)
    begin = card.cycle
    await card.until(lambda: not any(card.queues), 4 * count * math.ceil(cycles_a_packet(size)))
    sent = card.cycle - begin
    await card.empty()
    assert sent < 1.02 * count * cycles_a_packet(size) + 10, "the source of the test is too slow"
    assert not card.dropped[0] and not card.dropped[1]
    for port in range(2):
        assert sorted(card.out[port]) == sorted(packets[(1 - port) * count :][:count])
        cycles = card.out_cycles[port]
        # As fast as they came, and soon.
        assert cycles[-1] - begin < count * cycles_a_packet(size) + 100 + 20 * math.ceil(8 * size / card.width)
    dut._log.info("policy %d, %d bytes: %.3f cycles a packet", policy, size, sent / count)


@behaviour()
async def packets_of_one_beat_leave_without_gaps(dut: Any) -> None:
    """When all units have some."""
    card = Card(dut, slots=32)
    for unit in card.units:
        unit.answer = lambda _, arrival: (1, arrival.data)
        unit.work = lambda: max(0, 900 - card.cycle)
    await card.start()
    card.queues[0].extend(number.to_bytes(8, "big") * 7 for number in range(20 * card.count))
    await card.empty()
    cycles = card.out_cycles[1]
    assert len(cycles) == 20 * card.count
    busy = cycles[: -2 * card.count]  # at the end there may be one unit with some
    assert busy[-1] - busy[0] + 1 == len(busy)


@behaviour()
async def a_packet_alone_is_soon_there(dut: Any) -> None:
    card = Card(dut, slots=2)
    await card.start()
    card.queues[0].append(bytes(60))
    begin = card.cycle + 1  # it is taken at the end of the first cycle
    await card.empty()
    [arrival] = [arrival for unit in card.units for arrival in unit.arrivals]
    assert arrival.cycle - begin == 10
