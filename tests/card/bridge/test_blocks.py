"""Functional blocks in software."""

from __future__ import annotations

import zlib

import pytest

from headrace.cards.bridge.blocks import Crc32, Generic, SoftwareBlock, with_crc
from headrace.cards.bridge.formats import Address, Header, Packet
from headrace.errors import HeadraceError

HEADER = Header(Address(0, 2), 1, 2)


def packets(*payloads: bytes) -> list[Packet]:
    return [Packet(payload, HEADER) for payload in payloads]


def test_packets_take_their_time_one_after_the_other() -> None:
    block = Generic(packet_ns=100, byte_ns_256=512)
    block.push(packets(bytes(10), bytes(20)), 1000)
    assert block.wake_ns == 1120
    assert block.pull(1119) == []
    assert block.pull(1120) == packets(bytes(10))
    assert block.wake_ns == 1260
    assert block.pull(5000) == packets(bytes(20))
    block.push(packets(bytes(1)), 5000)
    assert (block.wake_ns, block.waiting) == (5102, 1)


def test_packets_that_are_held_begin_when_they_are_released() -> None:
    block = Generic(packet_ns=100)
    block.held = True
    block.push(packets(b"a", b"b"), 0)
    assert block.pull(10_000) == [] and block.wake_ns is None
    block.release(10_000)
    assert block.wake_ns == 10_100
    assert block.pull(10_200) == packets(b"a", b"b")


@pytest.mark.parametrize("size", [0, 1, 3, 60, 1510])
def test_a_right_crc_goes_through_unchanged(size: int) -> None:
    data = bytes(range(256)) * 6
    payload = data[:size] + zlib.crc32(data[:size]).to_bytes(4, "little")
    assert with_crc(data[:size]) == payload
    block = Crc32()
    block.push(packets(payload), 0)
    assert block.pull(0) == packets(payload)


def test_wrong_and_short_packets_are_refused() -> None:
    block = Crc32()
    good = with_crc(b"hello")
    block.push(packets(good, b"x" + good[1:], b"abc", good[:-1] + b"\0"), 0)
    assert block.pull(0) == packets(good)
    assert vars(block.counters) == {"received": 4, "refused": 3, "sent": 1}


def test_a_users_block_changes_packets() -> None:
    class Upper(SoftwareBlock):
        def process(self, payload: bytes) -> bytes | None:
            return payload.upper()

    block = Upper()
    block.push(packets(b"abc"), 0)
    assert block.pull(0) == packets(b"ABC") and block.kind is None


def test_times_that_do_not_fit_are_refused() -> None:
    with pytest.raises(HeadraceError, match="packet_ns -1: must have 32 bits"):
        Generic(-1)
