"""Functions that other processes drive over vhost-user, by an independent front end."""

from __future__ import annotations

import os
import random
import re
import struct
from pathlib import Path

import pytest
from function_card import FunctionCard
from host.packed import Buffer
from host.segments import TCPV4, TCPV6, segments, some_headers
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from vhost_front_end import GUEST, PACKED, SIZE, USER, FrontEnd

from headrace.card.functions import Side
from headrace.errors import HeadraceError

CSUM, GUEST_CSUM, HOST_TSO4, HOST_TSO6 = 1 << 0, 1 << 1, 1 << 11, 1 << 12


@pytest.fixture
def socket_path(tmp_path: Path) -> Path:
    return tmp_path / "vhost.sock"


def connect(functions: FunctionCard, path: Path, settings: str = "", sealed: bool = True) -> FrontEnd:
    functions.plugs.plug(0, f"vhost:{path}{settings}")
    return FrontEnd(path, functions.plugs.poll, sealed)


def pump(functions: FunctionCard) -> None:
    """Until nothing is under way: doorbells are seen in runs."""
    functions.card.run(until=None, cycles=30_000)


def test_frames_through_memory_of_another_process(functions: FunctionCard, socket_path: Path) -> None:
    other = functions.link(1)
    guest = connect(functions, socket_path)
    guest.start()
    rng = random.Random(1)
    guest.post(8)
    sent, expected = [], []
    for turn in range(20):
        frame = rng.randbytes(rng.choice((60, 100, 1514)))
        guest.send(frame, pieces=rng.choice((1, 2, 5)))
        sent.append(frame)
        back = rng.randbytes(rng.choice((60, 1514)))
        functions.card.send(other, [back])
        pump(functions)
        assert guest.received() == [back], turn
        expected.append(back)
        assert len(guest.drivers[1].used()) == 1
        assert guest.called(0) and guest.called(1)
        guest.post(1)
    assert functions.frames(other) == sent
    guest.close()
    functions.plugs.poll()
    assert functions.told == ["function 0: its front end has gone"]
    functions.plugs.close()
    assert not socket_path.exists()


def test_frames_of_64_kb_leave_as_segments(functions: FunctionCard, socket_path: Path) -> None:
    other = functions.link(1)
    guest = connect(functions, socket_path)
    guest.start(PACKED | CSUM | HOST_TSO4 | HOST_TSO6)
    rng = random.Random(2)
    expected: list[bytes] = []
    for v6 in (False, True):
        for size, count in ((1448, 65_535 - 120), (700, 9000), (1448, 100)):
            data = bytes(some_headers(rng, v6) / Raw(rng.randbytes(count)))
            kind = TCPV6 if v6 else TCPV4
            guest.send(data, rng.choice((1, 3, 12)), struct.pack("<BBHHHHH", 1, kind, 0, size, 34, 16, 0))
            guest.send(b"\1" * 60)
            cut = segments(data, kind, size, functions.functions.max_frame)
            assert cut
            expected += [*cut, b"\1" * 60]
            pump(functions)
            guest.drivers[1].used()
    assert functions.frames(other) == expected
    assert functions.functions.counters(Side.TRANSMIT, 0).dropped == 0


def test_a_guest_is_told_of_checksums_that_are_right_if_it_wants(functions: FunctionCard, socket_path: Path) -> None:
    other = functions.link(1)
    right = bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP() / TCP() / Raw(b"text"))
    for features, flags in ((PACKED | GUEST_CSUM, [2, 0, 2]), (PACKED, [0, 0, 0])):
        guest = connect(functions, socket_path)
        guest.start(features)
        guest.post(4)
        functions.card.send(other, [right, right[:-1] + b"T", right])
        pump(functions)
        assert [data[0] for data in guest.received_whole()] == flags
        guest.close()
        functions.plugs.unplug(0)


def test_a_queue_stops_and_goes_on_where_it_was(functions: FunctionCard, socket_path: Path) -> None:
    other = functions.link(1)
    guest = connect(functions, socket_path)
    guest.start()
    for n in range(5):
        guest.send(bytes((n,)) * 60)
    pump(functions)
    base = guest.stop(1)
    assert base == 5 | 1 << 15
    guest.drivers[1].used()
    guest.send(b"\5" * 60)
    pump(functions)
    assert len(functions.frames(other)) == 5
    guest.begin(1, base)
    pump(functions)
    assert functions.frames(other) == [b"\5" * 60]


def test_the_next_front_end_begins_anew(functions: FunctionCard, socket_path: Path) -> None:
    other = functions.link(1)
    first = connect(functions, socket_path)
    first.start()
    first.send(b"\1" * 60)
    pump(functions)
    first.close()
    functions.plugs.poll()
    second = FrontEnd(socket_path, functions.plugs.poll)
    second.start(bases=(3 | 1 << 15, 0))
    second.post(4)
    second.send(b"\2" * 60)
    functions.card.send(other, [b"\3" * 60])
    pump(functions)
    assert functions.frames(other) == [b"\1" * 60, b"\2" * 60]
    assert second.received() == [b"\3" * 60]


def test_a_queue_that_lies_fails_alone_and_signals_its_eventfd(functions: FunctionCard, socket_path: Path) -> None:
    other, third = functions.link(1), functions.link(2)
    guest = connect(functions, socket_path)
    guest.start()
    errors = os.eventfd(0, os.EFD_NONBLOCK)
    guest.ask(14, struct.pack("<Q", 1), [errors])
    guest.drivers[1].add([Buffer(GUEST + SIZE, 60)])  # behind its memory
    guest.send(b"\1" * 60)
    functions.card.send(third, [b"\7" * 60] * 10)
    pump(functions)
    functions.plugs.poll()
    assert functions.told == ["function 0: its transmit queue has failed: host memory answered with an error"]
    assert functions.frames(third) == [b"\7" * 60] * 10
    assert not functions.frames(other)
    assert functions.functions.counters(Side.TRANSMIT, 0).packets == 0
    assert os.eventfd_read(errors) == 1
    os.close(errors)
    guest.post(1)
    functions.card.send(other, [b"\3" * 60])
    pump(functions)
    assert guest.received() == [b"\3" * 60]
    guest.close()
    functions.plugs.poll()


FOREIGN = [
    (struct.pack("<III", 99, 1, 0), "message 99 is not known"),
    (struct.pack("<III", 1, 2, 0), "message 1 with flags 0x2"),
    (struct.pack("<III", 2, 1, 1 << 20), "message 2 with flags 0x1 and 1048576 bytes"),
    (struct.pack("<IIIQ", 2, 1, 8, 1 << 32), "does not take packed virtqueues"),
    (struct.pack("<IIIQ", 2, 1, 8, 1 << 34 | 1 << 50), "features"),
    (struct.pack("<IIIII", 8, 1, 8, 7, 16), "queue 7: a function has 2"),
    (struct.pack("<IIIQ", 12, 1, 8, 0), "0 eventfds for a queue"),
    (struct.pack("<IIII", 5, 1, 4, 3), "3 ranges of memory with 0 files|unpack_from"),
    (struct.pack("<III", 8, 1, 2) + b"xx", "unpack"),
]


@pytest.mark.parametrize(("message", "told"), FOREIGN)
def test_messages_that_cannot_be(functions: FunctionCard, socket_path: Path, message: bytes, told: str) -> None:
    guest = connect(functions, socket_path)
    guest.link.sendall(message)
    functions.plugs.poll()
    (line,) = functions.told
    assert line.startswith("function 0: its front end is refused: ")
    assert re.search(told, line), line
    guest.close()
    FrontEnd(socket_path, functions.plugs.poll).start()
    assert len(functions.told) == 1


def test_memory_that_may_shrink_takes_trust(functions: FunctionCard, socket_path: Path) -> None:
    guest = connect(functions, socket_path, sealed=False)
    guest.ask(1, answers=True)
    guest.number(2, PACKED)
    region = struct.pack("<IIQQQQ", 1, 0, GUEST, SIZE, USER, 0)
    guest.ask(5, region, [guest.memory.fd])
    assert "its memory: " in functions.told[0]
    functions.plugs.unplug(0)
    connect(functions, socket_path, ",trusted", sealed=False).start()
    assert len(functions.told) == 1


def test_sockets_that_cannot_be(functions: FunctionCard, tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="No such file or directory"):
        functions.plugs.plug(0, f"vhost:{tmp_path}/none/x")
    with pytest.raises(HeadraceError, match="not vhost:SOCKET"):
        functions.plugs.plug(0, "vhost:")
    with pytest.raises(HeadraceError, match="not vhost:SOCKET"):
        functions.plugs.plug(0, f"vhost:{tmp_path}/x,sure")
    functions.plugs.plug(0, f"vhost:{tmp_path}/x")
    with pytest.raises(HeadraceError, match="another program listens there"):
        functions.plugs.plug(1, f"vhost:{tmp_path}/x")
