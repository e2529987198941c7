"""Virtual functions of the switch card, whose drivers the harness plays: frames go through host memory, both ways."""

from __future__ import annotations

import random
import socket
import struct

import pytest
from function_card import FUNCTIONS, FunctionCard
from host.segments import TCPV4, TCPV6, segments
from network import add_pair, numbered, own_network, received, send
from patience import until
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from headrace.card.functions import Policy, Side
from headrace.cards.switch.card import CardHardware
from headrace.cards.switch.fields import NARROW_FIELDS
from headrace.cards.switch.flows import Action, ActionKind, Flow, Instructions, RefusedError
from headrace.cards.switch.hardware import HardwareDatapath
from headrace.engines.functions import link_of
from headrace.errors import HeadraceError

SOL_PACKET, PACKET_VNET_HDR = 263, 15  # linux/if_packet.h
BAD_EXP_TYPE = (2, 3)
MEMORIES = [
    {},
    {"read_latency_ns": 1000, "write_latency_ns": 1000, "out_of_order": 5},
    {"read_latency_ns": 300, "write_latency_ns": 100, "stalls": 7, "out_of_order": 3},
]


def some_frames(count: int, seed: int, longest: int = 9216) -> list[bytes]:
    rng = random.Random(seed)
    sizes = [rng.choice((14, 60, 64, 65, 1514, rng.randint(14, 300), rng.randint(14, longest))) for _ in range(count)]
    return [rng.randbytes(size) for size in sizes]


@pytest.mark.parametrize("memory", MEMORIES)
def test_every_frame_arrives_once_and_in_order(functions: FunctionCard, memory: dict[str, int]) -> None:
    functions.card.memory.configure(**memory)
    ports = [functions.link(function, 5e9) for function in range(FUNCTIONS)]
    sent = [some_frames(300, function) for function in range(FUNCTIONS)]
    for port, frames in zip(ports, sent, strict=True):
        functions.card.send(port, frames)
    assert functions.card.run().reason == "idle"
    for function, port in enumerate(ports):
        other = (1, 0, 2)[function]
        assert functions.frames(port) == sent[other]
        counted = functions.functions.counters(Side.TRANSMIT, function)
        assert counted == (300, sum(map(len, sent[function])), 0, 0, 0)
        assert functions.functions.counters(Side.RECEIVE, function) == (300, sum(map(len, sent[other])), 0, 0, 0)
    functions.plugs.close()
    assert not functions.told


def test_a_narrow_card_without_custom_actions_says_so_and_refuses_them(functions: FunctionCard) -> None:
    hardware = CardHardware(functions.card)
    assert (hardware.custom, hardware.fields) == (0, NARROW_FIELDS)
    datapath = HardwareDatapath(hardware)
    for custom in (1, 2, 3):
        instructions = Instructions(apply=(Action(ActionKind.EXPERIMENTER, custom), Action(ActionKind.OUTPUT, 1)))
        with pytest.raises(RefusedError) as refused:
            datapath.check(Flow(0, 1, (), instructions))
        assert (refused.value.kind, refused.value.code) == BAD_EXP_TYPE
    with pytest.raises(HeadraceError, match="CUSTOM=0"):
        hardware.set_filter([1, 0, 0, 0], carry=False)


def test_what_finds_no_room_is_dropped_and_counted(functions: FunctionCard) -> None:
    functions.card.memory.configure(write_bits_per_s=2e9)
    port = functions.link(1)
    sent = some_frames(400, 1, 1514)
    functions.card.source(0, sent, timing=20e9)
    functions.card.run()
    got = functions.frames(port)
    counted = functions.functions.counters(Side.RECEIVE, 1)
    assert counted.dropped_full > 0
    assert counted.packets == len(got) == 400 - counted.dropped_full
    rest = iter(sent)
    assert all(frame in rest for frame in got), "frames are changed, or in another order"


def test_functions_come_and_go_beside_the_traffic_of_others(functions: FunctionCard) -> None:
    card = functions.card
    ports = {function: functions.link(function, 2e9) for function in range(FUNCTIONS)}
    frames = {function: some_frames(500, function) for function in range(FUNCTIONS)}
    for function, port in ports.items():
        card.send(port, frames[function])
    card.run(until=None, cycles=20_000)
    functions.plugs.unplug(1)
    card.run()
    assert functions.frames(ports[2]) == frames[2]
    dropped = functions.functions.counters(Side.RECEIVE, 1).dropped_off
    assert dropped > 0
    again = functions.link(1, 2e9)
    assert again == ports[1]
    card.send(again, frames[1])
    functions.frames(ports[0])
    card.run()
    assert functions.frames(ports[0]) == frames[1]
    dropped = functions.functions.counters(Side.RECEIVE, 1).dropped_off
    functions.functions.set_policy(1, Policy(link_state="disable"))
    card.send(ports[0], frames[0][:20])
    card.run()
    assert functions.functions.counters(Side.RECEIVE, 1).dropped_off == dropped + 20
    with pytest.raises(HeadraceError, match="function 1 is in use"):
        functions.plugs.plug(1, "queue:")
    with pytest.raises(HeadraceError, match="functions 0 to 2"):
        functions.plugs.plug(FUNCTIONS, "queue:")
    functions.plugs.unplug(1)
    with pytest.raises(HeadraceError, match="function 1 is not in use"):
        functions.plugs.unplug(1)


def test_frames_that_cannot_be_sent(functions: FunctionCard) -> None:
    ports = [functions.link(function) for function in (0, 1)]
    frames = [b"\1" * 13, b"\2" * 9217, b"\3" * 14, b"\4" * 9216]
    functions.card.send(ports[0], frames)
    functions.card.run()
    assert functions.frames(ports[1]) == frames[2:]
    assert functions.functions.counters(Side.TRANSMIT, 0)[2] == 2


@pytest.mark.live
def test_a_host_leaves_segmentation_to_the_card(functions: FunctionCard) -> None:
    """What it sends into a TAP device in one piece goes through the queue in one piece, and comes out in segments."""
    rng = random.Random(4)
    other = functions.link(1)
    expected: list[bytes] = []
    with own_network():
        functions.plugs.plug(0, "tap:h0")
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as host:
            host.bind(("h0", 0))
            host.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            for v6 in (False, True, False):
                ip, kind = (IPv6(src="fd00::1", dst="fd00::2"), TCPV6) if v6 else (IP(id=65530, flags="DF"), TCPV4)
                head = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / ip
                frame = bytes(head / TCP(flags="PA", seq=rng.getrandbits(32)) / Raw(rng.randbytes(40_000)))
                host.send(struct.pack("<BBHHHH", 1, kind, len(head) + 20, 1400, len(head), 16) + frame)
                cut = segments(frame, kind, 1400, functions.functions.max_frame)
                assert cut
                expected += cut
        functions.card.stop_sources()
        functions.card.run()
    source = expected[0][6:12]
    assert [frame for frame in functions.frames(other) if frame[6:12] == source] == expected
    assert functions.functions.counters(Side.TRANSMIT, 0).packets < len(expected) / 10


@pytest.mark.live
def test_a_function_at_an_interface_sends_what_comes_in_there_and_not_what_it_has_received(
    functions: FunctionCard,
) -> None:
    other, there, here = functions.link(1), numbered(30), numbered(20)
    with own_network():
        add_pair("card0", "peer0")
        functions.plugs.plug(0, link_of("iface:card0"))
        functions.card.send(other, there)
        until(lambda: functions.card.run(wall_s=0.05) and received("peer0") == 30, "what the function receives")
        send("peer0", here, "card0")
        functions.card.stop_sources()
        functions.card.run()
    assert functions.frames(other) == here
    assert functions.functions.counters(Side.TRANSMIT, 0).packets == 20
