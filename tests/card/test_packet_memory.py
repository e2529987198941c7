"""Packets in host memory: where they lie, when their memory is used again, and what is said when there are no more."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from network import add_pair, ip, numbered, own_network, send
from patience import HANG_S, until

from headrace.card import CaptureError, Card, CardError
from headrace.card.packet_memory import PacketMemory, Packets

Open = Callable[..., Card]
ADDRESS = 0x1_2345_0000


def capture(path: Path, packets: list[bytes], magic: int = 0xA1B23C4D) -> str:
    records = [struct.pack("<IIII", 1000 + n, n, len(p), len(p) + n % 2 * 100) + p for n, p in enumerate(packets)]
    path.write_bytes(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, 1) + b"".join(records))
    return f"pcap:{path}"


def some_packets(count: int, longest: int = 300) -> list[bytes]:
    rng = random.Random(count)
    return [rng.randbytes(rng.choice([0, 1, 60, 64, rng.randint(0, longest)])) for _ in range(count)]


def places(packets: Packets) -> list[tuple[int, int]]:
    return list(zip(packets.address, packets.length, strict=True))


def contents(card: Card, packets: Packets) -> list[bytes]:
    return [card.memory.read(*place) for place in places(packets)]


def test_packets_lie_one_behind_the_other_with_their_times_and_lengths(loop: Open, tmp_path: Path) -> None:
    card, packets = loop(), some_packets(100)
    with PacketMemory(card, capture(tmp_path / "in.pcap", packets), ADDRESS, 1 << 20) as memory:
        found = memory.take(1000)
        assert len(found) == 100
        assert contents(card, found) == packets
        assert list(found.timestamp_ns) == [(1000 + n) * 10**9 + n for n in range(100)]
        assert list(found.wire_length) == [len(p) + n % 2 * 100 for n, p in enumerate(packets)]
        ends = [ADDRESS, *map(sum, places(found))]
        assert list(found.address) == ends[:-1]
        assert memory.at_end and memory.taken == 100 and len(memory.take(10)) == 0


def test_the_limit_is_kept(loop: Open) -> None:
    with PacketMemory(loop(), "gen:count=10", ADDRESS, 4096) as memory:
        assert [len(memory.take(n)) for n in (0, 4, 4, 4, 4)] == [0, 4, 4, 2, 0]


@pytest.mark.parametrize("size", [301, 1000, 4096])
def test_memory_is_used_again_only_when_it_has_been_released(loop: Open, tmp_path: Path, size: int) -> None:
    """Packets are looked at just before they are released, in steps of any size."""
    card, packets, rng = loop(), some_packets(2000), random.Random(size)
    with PacketMemory(card, capture(tmp_path / "in.pcap", packets), ADDRESS, size) as memory:
        waiting, seen, residues = [], [], set()
        while not (memory.at_end and not waiting):
            waiting += places(memory.take(rng.randint(1, 20)))
            assert memory.taken == len(waiting)
            count = rng.randint(0, len(waiting))
            seen += [card.memory.read(*place) for place in waiting[:count]]
            residues |= {address % 8 for address, _ in waiting}
            memory.release(count)
            del waiting[:count]
        assert seen == packets
        assert residues == set(range(8))


def test_a_full_memory_takes_no_more_until_some_is_released(loop: Open) -> None:
    card = loop()
    with PacketMemory(card, "gen:size=100", ADDRESS, 1050) as memory:
        assert len(memory.take(100)) == 10 and len(memory.take(100)) == 0
        assert not memory.at_end and not memory.wait(1000)
        memory.release(3)
        assert memory.wait(1000)
        again = memory.take(100)
        assert list(again.address) == [ADDRESS, ADDRESS + 100, ADDRESS + 200]  # not the last 50 bytes
        memory.release(10)
        assert memory.taken == 0


def test_more_than_is_taken_can_not_be_released(loop: Open) -> None:
    with PacketMemory(loop(), "gen:count=5", ADDRESS, 4096) as memory:
        memory.take(3)
        with pytest.raises(CardError, match="^4 packets to release, but 3 are taken$"):
            memory.release(4)


def test_a_packet_that_is_larger_than_the_memory_is_an_error_and_counted(loop: Open, tmp_path: Path) -> None:
    card, packets = loop(), [bytes(60), bytes(2000), b"x" * 60]
    with PacketMemory(card, capture(tmp_path / "in.pcap", packets), ADDRESS, 1000) as memory:
        assert len(memory.take(10)) == 1
        with pytest.raises(CardError, match="^a packet of 2000 bytes does not fit into 1000 bytes of packet memory$"):
            memory.take(10)
        assert memory.missed == 1
        assert contents(card, memory.take(10)) == packets[2:]


def test_a_broken_capture_is_an_error_once_all_before_it_is_taken(loop: Open, tmp_path: Path) -> None:
    card, packets = loop(), some_packets(20)
    link = capture(tmp_path / "in.pcap", [*packets, bytes(100)])
    file = tmp_path / "in.pcap"
    file.write_bytes(file.read_bytes()[:-10])
    with PacketMemory(card, link, ADDRESS, 1 << 20) as memory:
        assert contents(card, memory.take(100)) == packets
        assert not memory.at_end
        with pytest.raises(CaptureError, match="in.pcap: packet 21 at byte "):
            memory.take(100)
        assert memory.at_end and len(memory.take(100)) == 0


def test_the_card_reads_the_memory_and_can_not_write_it(loop: Open) -> None:
    """The range is there while the packet memory is open, and nothing else can be mapped there."""
    card = loop()
    with PacketMemory(card, "gen:count=1", ADDRESS, 4096) as memory:
        memory.take(1)
        with pytest.raises(CardError, match="overlaps"):
            card.memory.map(ADDRESS, 16)
        with pytest.raises(CardError, match="overlaps"):
            PacketMemory(card, "gen:count=1", ADDRESS + 100, 4096)
    with pytest.raises(IndexError):
        card.memory.read(ADDRESS, 1)
    memory.close()
    with pytest.raises(CardError, match="no packet memory is open"):
        memory.take(1)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("null", "'null' has no packets for the host's memory"),
        ("port:1", "'port:1' has no packets for the host's memory"),
        ("pcap:/absent", "/absent: No such file"),
        ("iface:absent", "iface:absent: no such interface"),
    ],
)
def test_a_source_that_can_not_be_opened_leaves_nothing_mapped(loop: Open, link: str, message: str) -> None:
    card = loop()
    with pytest.raises(CardError, match=message):
        PacketMemory(card, link, ADDRESS, 4096)
    card.memory.map(ADDRESS, 4096)


@pytest.mark.live
@pytest.mark.parametrize("kind", ["iface", "xdp"])
def test_live_packets_wait_for_their_turn_and_their_memory_goes_round(loop: Open, kind: str) -> None:
    with own_network():
        add_pair("card0", "peer0")
        card, packets = loop(), numbered(300)
        with PacketMemory(card, f"{kind}:card0", ADDRESS, 64 * 4096) as memory:
            assert len(memory.take(10)) == 0 and not memory.at_end
            began = time.monotonic()
            assert not memory.wait(100) and time.monotonic() - began > 0.09
            seen, times = [], []
            for start in range(0, 300, 30):
                send("peer0", packets[start : start + 30])
                while len(seen) < start + 30:
                    assert memory.wait(2000)
                    found = memory.take(100)
                    assert all(ADDRESS <= address < ADDRESS + 64 * 4096 for address in found.address)
                    seen += contents(card, found)
                    times += found.timestamp_ns
                    memory.release(len(found))
            assert seen == packets
            assert times == sorted(times) and abs(times[-1] - time.time_ns()) < 10**9
            assert memory.missed == 0


@pytest.mark.live
def test_packets_that_find_no_memory_are_counted(loop: Open) -> None:
    with own_network():
        add_pair("card0", "peer0")
        with PacketMemory(loop(), "xdp:card0", ADDRESS, 16 * 4096) as memory:  # 12 of them for packets of 2,048 bytes
            send("peer0", numbered(100))
            until(lambda: memory.missed == 76, "what is missed")
            assert len(memory.take(100)) == 24
            memory.release(24)
            send("peer0", numbered(5))
            until(lambda: memory.waiting == 5, "packets")
            assert len(memory.take(100)) == 5


@pytest.mark.live
def test_packets_of_several_chunks_are_put_together_as_there_is_room(loop: Open) -> None:
    """8,000 bytes each, into a last quarter of 64 KB: 8 at a time; a short one between them waits for its turn."""
    with own_network():
        add_pair("card0", "peer0")
        for name in ("card0", "peer0"):
            ip("link", "set", name, "mtu", "9000")
        rng = random.Random(3)
        packets = [rng.randbytes(12) + b"\x88\xb5" + rng.randbytes(46 if n % 4 == 3 else 7986) for n in range(40)]
        card, seen = loop(), []
        with PacketMemory(card, "xdp:card0", ADDRESS, 256 << 10) as memory:
            for start in range(0, 40, 20):
                send("peer0", packets[start : start + 20], "card0")
                until(lambda: memory.waiting >= 15 * 5 + 5, "their chunks")
                for lack in (True, False):
                    found = memory.take(100)
                    assert len(found) == 10 and (not lack or not memory.wait(HANG_S))
                    seen += contents(card, found)
                    memory.release(len(found))
            assert memory.missed == 0
        assert seen == packets


@pytest.mark.live
def test_packets_that_are_longer_than_the_memory_for_them_are_counted(loop: Open) -> None:
    with own_network():
        add_pair("card0", "peer0")
        for name in ("card0", "peer0"):
            ip("link", "set", name, "mtu", "9000")
        with PacketMemory(loop(), "xdp:card0", ADDRESS, 32 << 10) as memory:  # 8 KB for those of several chunks
            send("peer0", [bytes(9000), *numbered(1)], "card0")
            until(lambda: memory.waiting == 7, "their chunks")
            assert len(memory.take(10)) == 1 and memory.missed == 1


@pytest.mark.live
def test_a_stopped_source_that_is_asked_for_nothing_still_has_its_packets(loop: Open) -> None:
    with own_network():
        add_pair("card0", "peer0")
        card = loop()
        with PacketMemory(card, "xdp:card0", ADDRESS, 1 << 20) as memory:
            send("peer0", numbered(5))
            until(lambda: memory.waiting == 5, "packets")
            card.stop_sources()
            assert len(memory.take(0)) == 0 and not memory.at_end and memory.waiting == 5
            assert len(memory.take(10)) == 5 and len(memory.take(10)) == 0 and memory.at_end


@pytest.mark.live
def test_xdp_in_memory_that_is_given_has_no_other_size(loop: Open) -> None:
    with own_network():
        add_pair("card0", "peer0")
        with pytest.raises(CardError, match="buffer=1: the memory for the packets has 2097152 bytes"):
            PacketMemory(loop(), "xdp:card0,buffer=1", ADDRESS, 2 << 20)


@pytest.mark.live
@pytest.mark.parametrize("kind", ["iface", "xdp"])
def test_a_live_source_ends_with_its_interface_or_when_it_is_stopped(loop: Open, kind: str) -> None:
    with own_network():
        add_pair("card0", "peer0")
        card, packets = loop(), numbered(50)
        with PacketMemory(card, f"{kind}:card0", ADDRESS, 1 << 20) as memory:
            send("peer0", packets)
            card.stop_sources()
            assert contents(card, memory.take(100)) == packets
            assert len(memory.take(1)) == 0 and memory.at_end
        with PacketMemory(card, f"{kind}:card0", ADDRESS, 1 << 20) as memory:
            send("peer0", packets)
            ip("link", "del", "card0")
            assert contents(card, memory.take(100)) == packets
            with pytest.raises(CaptureError, match=f"^{kind}:card0: "):
                memory.take(100)
            assert memory.at_end
