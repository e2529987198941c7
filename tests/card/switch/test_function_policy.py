"""What virtual functions may send and are to receive, on the card: by the oracle of who looks at the frames."""

from __future__ import annotations

import dataclasses
import random

import pytest
from function_card import FUNCTIONS, FunctionCard
from scapy.layers.l2 import Dot1Q, Ether

from headrace.card.functions import Policy, PolicyDrops, Side
from headrace.errors import HeadraceError

MAC = "02:00:00:00:00:01"
OTHER = "02:00:00:00:00:02"
GROUP = "01:00:5e:00:00:01"
BURST_NS = 65_536


def frame(src: str, dst: str, vlan: int | None = None, size: int = 100) -> bytes:
    """With bytes that tell one from another; with a tag, if there is a VLAN."""
    head = Ether(src=src, dst=dst, type=0x88B5)
    if vlan is not None:
        head = Ether(src=src, dst=dst, type=0x8100) / Dot1Q(vlan=vlan, type=0x88B5)
    data = bytes(head)
    return data + random.Random(f"{src}{dst}{vlan}").randbytes(size - len(data))


def run(functions: FunctionCard, port: int, frames: list[bytes]) -> None:
    functions.card.send(port, frames)
    assert functions.card.run().reason == "idle"


def test_port_vlan_mac_and_trust(functions: FunctionCard) -> None:
    """What function 0 sends comes to function 1, what the Ethernet port receives too."""
    ports = [functions.link(function) for function in (0, 1)]
    functions.card.source(0, "queue")
    engine = functions.functions
    engine.set_policy(0, Policy(MAC, vlan=7, qos=5, spoofcheck=True))
    plain, spoofed, marked = frame(MAC, OTHER), frame(OTHER, MAC), frame(MAC, OTHER, 7)
    run(functions, ports[0], [plain, spoofed, marked])
    got = functions.frames(ports[1])
    assert got[0][12:14] == b"\x81\0"
    assert [(Ether(data)[Dot1Q].vlan, Ether(data)[Dot1Q].prio) for data in got] == [(7, 5)]
    assert got[0][:12] + got[0][16:] == plain
    assert engine.policy_drops(0) == PolicyDrops(1, 1, 0, 0)

    engine.set_policy(1, Policy(OTHER, vlan=7))
    frames = {vlan: [frame(MAC, dst, vlan) for dst in (OTHER, MAC, GROUP, "ff:ff:ff:ff:ff:ff")] for vlan in (7, 8)}
    run(functions, 0, [*frames[7], *frames[8], frame(MAC, OTHER)])
    assert functions.frames(ports[1]) == [data[:12] + data[16:] for n, data in enumerate(frames[7]) if n != 1]
    assert engine.policy_drops(1) == PolicyDrops(0, 0, 5, 1)
    assert engine.policy_drops(2) == PolicyDrops(0, 0, 0, 0)

    engine.set_policy(1, dataclasses.replace(engine.policy(1), vlan=0, trust=True))
    run(functions, 0, frames[8])
    assert functions.frames(ports[1]) == frames[8]


def test_a_port_vlan_of_802_1ad_leaves_functions_their_own_tags(functions: FunctionCard) -> None:
    ports = [functions.link(function) for function in (0, 1)]
    functions.functions.set_policy(0, Policy(vlan=7, qos=5, proto="802.1ad"))
    own = frame(MAC, OTHER, 3)
    outer = [own[:12] + tag + own[14:] for tag in (b"\x88\xa8", b"\x91\0")]
    run(functions, ports[0], [frame(MAC, OTHER), own, *outer])
    tag = bytes.fromhex("88a8 a007")
    assert functions.frames(ports[1]) == [data[:12] + tag + data[12:] for data in (frame(MAC, OTHER), own)]
    assert functions.functions.policy_drops(0) == PolicyDrops(0, 2, 0, 0)

    functions.functions.set_policy(0, Policy(vlan=7))
    run(functions, ports[0], [own, *outer, frame(MAC, OTHER)])
    assert len(functions.frames(ports[1])) == 1
    assert functions.functions.policy_drops(0) == PolicyDrops(0, 5, 0, 0)


@pytest.mark.parametrize("rate", [1, 100])
def test_a_rate_holds_to_a_thousandth_in_the_cards_time(functions: FunctionCard, rate: int) -> None:
    """And holds up no other function, nor drops anything."""
    slow, fast = functions.link(2), functions.link(0)
    functions.functions.set_policy(2, Policy(rate=rate))
    rng = random.Random(rate)
    frames = [rng.randbytes(rng.choice((64, 512, 1514))) for _ in range(200)]
    others = [rng.randbytes(1000) for _ in range(20)]
    begun = functions.card.stats().time_ns
    functions.card.send(slow, frames)
    functions.card.send(fast, others)
    assert functions.card.run().reason == "idle"
    took = functions.card.stats().time_ns - begun
    got = functions.card.received(slow)
    assert [each.data for each in got] == frames
    assert functions.functions.counters(Side.TRANSMIT, 0).packets == 20
    owed = sum(map(len, frames[:-1])) * 8000 / rate
    assert owed * 0.999 - BURST_NS <= took <= owed * 1.001
    assert functions.functions.counters(Side.TRANSMIT, 2)[:3] == (200, sum(map(len, frames)), 0)


def test_who_has_been_silent_sends_a_burst_at_once(functions: FunctionCard) -> None:
    port, rate = functions.link(0), 1000
    functions.functions.set_policy(0, Policy(rate=rate))
    functions.card.run(until=None, cycles=2 * BURST_NS)
    for count in (5, 20):
        begun = functions.card.stats().time_ns
        run(functions, port, [bytes(1500)] * count)
        took, owed = functions.card.stats().time_ns - begun, 1500 * (count - 1) * 8000 / rate
        assert (took < 10_000) == (owed < BURST_NS)
        assert took >= owed - BURST_NS


def test_the_register_of_a_rate_is_exact_to_its_rounding() -> None:
    for rate in (*range(1, 1_000_000, 997), 1_000_000):
        assert Policy(rate=rate).byte_time * rate / 8000 / (1 << 19) == pytest.approx(1, abs=0.00012 * rate / 1e6)


def test_what_cannot_be_set(functions: FunctionCard) -> None:
    engine = functions.functions
    for policy, message in (
        (Policy("01:00:00:00:00:01"), "group"),
        (Policy("02:00"), "six bytes"),
        (Policy(vlan=4095), "vlan 4095: not 0 to 4094"),
        (Policy(vlan=1, qos=8), "qos 8"),
        (Policy(qos=1), "no port VLAN"),
        (Policy(proto="802.1ad"), "no port VLAN"),
        (Policy(vlan=1, proto="8021q"), "proto 8021q: neither"),
        (Policy(link_state="up"), "state up: not auto"),
        (Policy(rate=1_000_001), "rate"),
        (Policy(spoofcheck=True), "needs a MAC address"),
    ):
        with pytest.raises(HeadraceError, match=message):
            engine.set_policy(0, policy)
        assert engine.policy(0) == Policy()
    with pytest.raises(HeadraceError, match="functions 0 to 2"):
        engine.set_policy(FUNCTIONS, Policy())
