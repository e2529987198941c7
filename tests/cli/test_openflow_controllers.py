"""A switch's connections: to controllers, from controllers, with TLS, with controllers that are gone, silent, deaf or
loud. Time is what the tests say it is."""

from __future__ import annotations

import re
import select
import socket
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from openflow_controller import PROTOCOL, flow_mod, ofproto, output, parser, serialized
from openflow_room import BARRIER, HELLO, Peer, Room, accepted, port_of
from patience import until

from headrace.cards.switch import channel as channels
from headrace.cards.switch import controllers as module
from headrace.cards.switch.endpoints import Endpoint
from headrace.cards.switch.flows import PacketIn
from headrace.errors import HeadraceError

ECHO_REQUEST, ECHO_REPLY = ofproto.OFPT_ECHO_REQUEST, ofproto.OFPT_ECHO_REPLY


@pytest.fixture
def room() -> Iterator[Room]:
    found = Room(listens=["ptcp:0"])
    with found.controllers:
        yield found


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A controller's, that a switch connects to."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        found.setblocking(False)
        yield found


# ------------------------------------------------------------------------------------------------------- connections


def test_a_switch_calls_its_controllers(listener: socket.socket) -> None:
    name = f"tcp:127.0.0.1:{port_of(listener)}"
    room = Room(targets=[name])
    with room.controllers:
        assert [status.state for status in room.controllers.status()] == ["waiting"]
        peer = accepted(room, listener)
        assert [status.state for status in room.controllers.status()] == ["connecting"]
        peer.say(HELLO, BARRIER)
        room.wait(peer, ofproto.OFPT_BARRIER_REPLY)
        assert room.controllers.status() == [(name, "connected", "equal", 0, "")]
    peer.link.setblocking(True)
    assert peer.link.recv(1000) == b""


def test_a_switch_calls_several_controllers(listener: socket.socket) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        room = Room(targets=[f"tcp:127.0.0.1:{port_of(each)}" for each in (listener, other)])
        with room.controllers:
            for peer in [accepted(room, each) for each in (listener, other)]:
                peer.say(HELLO, BARRIER)
                room.wait(peer, ofproto.OFPT_BARRIER_REPLY)
            assert [status.state for status in room.controllers.status()] == ["connected"] * 2


def test_controllers_may_call_in_several_ways(tmp_path: Path) -> None:
    room = Room(listens=["ptcp:0:127.0.0.1", "ptcp:0:[::1]", f"punix:{tmp_path}/s"])
    with room.controllers:
        four, six, local = room.controllers.listening
        assert local == f"unix:{tmp_path}/s"
        links = [socket.create_connection(("127.0.0.1", int(four.rpartition(":")[2])))]
        links.append(socket.create_connection(("::1", int(six.rpartition(":")[2]))))
        links.append(socket.socket(socket.AF_UNIX))
        links[-1].connect(f"{tmp_path}/s")
        for peer in map(Peer, links):
            peer.say(HELLO, BARRIER)
            room.wait(peer, ofproto.OFPT_BARRIER_REPLY)
        assert [status.state for status in room.controllers.status()] == ["connected"] * 3


def test_messages_in_pieces_are_put_together(room: Room) -> None:
    peer = room.call()
    for byte in HELLO + serialized(flow_mod([output(1)])) + BARRIER:
        peer.say(bytes([byte]))
        room.controllers.poll(0.01)
    room.wait(peer, ofproto.OFPT_BARRIER_REPLY)
    assert len(room.datapath.flows) == 1


def test_what_was_said_before_a_controller_hung_up_is_done(room: Room) -> None:
    peer = room.call()
    mods = [serialized(flow_mod([output(1)], in_port=1, priority=n)) for n in range(200)]
    peer.say(HELLO, *mods)
    peer.link.close()
    room.until(lambda: len(room.datapath.flows) == 200 and not room.switch.connections, "200 flows and an end")


def test_who_has_nothing_more_to_say_is_still_answered(room: Room) -> None:
    peer = room.greeted()
    for number in range(1000):
        room.switch.handle(room.switch.connections[0], serialized(flow_mod([output(1)], in_port=1, priority=number)))
    asked = parser.OFPFlowStatsRequest(PROTOCOL, 0, 255, ofproto.OFPP_ANY, ofproto.OFPG_ANY, 0, 0)
    peer.say(serialized(asked) * 50)
    peer.link.shutdown(socket.SHUT_WR)
    answered = 0

    def ended() -> bool:
        nonlocal answered
        answered += sum(len(message) - 16 for message in peer.messages())
        return peer.ended

    room.until(ended, "the end of the answers")
    assert answered == 50 * 1000 * (48 + 16 + 24)
    assert room.switch.connections == []


def test_a_wrong_length_ends_a_connection_with_its_error_and_no_other(room: Room) -> None:
    peer, other = room.greeted(), room.greeted()
    peer.say(b"\x04\x02\x00\x07\x00\x00\x00\x09" + b"x" * 100_000)
    room.until(lambda: len(room.switch.connections) == 1, "the end of the connection")
    (error,) = room.wait(peer, ofproto.OFPT_ERROR)
    assert error[4:12] == b"\0\0\0\x09\0\1\0\6"
    room.until(lambda: (peer.read(), peer.ended)[1], "the end of the socket")
    other.say(BARRIER)
    room.wait(other, ofproto.OFPT_BARRIER_REPLY)


def test_a_wrong_version_is_answered_before_the_end(room: Room) -> None:
    peer = room.call()
    peer.say(b"\x01\x00\x00\x08\x00\x00\x00\x09")
    hello, error = room.wait(peer, ofproto.OFPT_ERROR)
    assert hello[1] == ofproto.OFPT_HELLO
    assert error[8:12] == b"\0\0\0\0"
    assert b"OpenFlow 1.3" in error
    room.until(lambda: (peer.read(), peer.ended)[1], "the end of the socket")
    peer.link.close()
    room.until(lambda: not room.controllers.status(), "the end of the connection")


def test_who_is_too_many_is_sent_away_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (module.CONNECTIONS, module.TURNED_AWAY) == (64, 16)
    monkeypatch.setattr(module, "CONNECTIONS", 2)
    monkeypatch.setattr(module, "TURNED_AWAY", 1)
    told: list[str] = []
    room = Room(listens=["ptcp:0"], tell=told.append)
    with room.controllers:
        peers = [room.greeted(), room.greeted()]
        for turn in range(2):
            extra = room.call()
            extra.say(HELLO)
            (error,) = room.wait(extra, ofproto.OFPT_ERROR)
            assert (error[8:12], error[12:]) == (bytes((0, 0, 0, 1)), b"2 controllers are connected, which is the most")
            room.until(lambda peer=extra: (peer.read(), peer.ended)[1], "the end of the third")
            assert (room.controllers.refused, len(told)) == (turn + 1, 1)
            extra.link.close()
            room.until(lambda: not room.controllers._turned_away, "the end of its socket")
        crowd = [room.call(), room.call()]
        room.until(lambda: (crowd[1].read(), crowd[1].ended)[1], "the end of the fourth")
        assert (room.controllers.refused, crowd[1].data) == (4, b""), "who is one more than can be told"
        assert re.fullmatch(
            r"127.0.0.1:\d+ is sent away, and so are others that come: 2 controllers are connected, which is the most",
            told[0],
        )
        for peer in (peers[0], *crowd):
            peer.link.close()
        room.until(lambda: len(room.switch.connections) == 1, "the end of the first")
        room.until(lambda: not room.controllers._turned_away, "the end of the fourth's socket")
        peers[0] = room.greeted()
        room.wait(room.call(), ofproto.OFPT_ERROR)
        assert len(told) == 2, "it has been otherwise in between"


# ------------------------------------------------------------------------------------------------------------- time


def test_a_controller_that_is_not_there_is_called_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(targets=["tcp:127.0.0.1:1"])
    tries: list[float] = []

    def connect(_: Endpoint) -> socket.socket:
        tries.append(room.clock.now)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(Endpoint, "connect", connect)
    with room.controllers:
        room.pass_time(40)
    assert [later - earlier for earlier, later in pairwise(tries)] == [1, 2, 4, 8, 8, 8, 8]


def test_a_refused_connection_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = port_of(taken)
    room = Room(targets=[f"tcp:127.0.0.1:{port}"])
    with room.controllers:
        room.until(lambda: room.controllers.status()[0].why, "a refusal")
        assert room.controllers.status()[0][1:] == ("waiting", "", 0, "Connection refused")


def test_a_controller_that_comes_back_is_found_again(listener: socket.socket) -> None:
    room = Room(targets=[f"tcp:127.0.0.1:{port_of(listener)}"])
    with room.controllers:
        for _ in range(3):
            peer = accepted(room, listener)
            peer.say(HELLO)
            room.until(lambda: room.controllers.status()[0].state == "connected", "a hello")
            peer.link.close()
            room.until(lambda: room.controllers.status()[0].state == "waiting", "the end")
            assert room.switch.connections == []
            room.pass_time(8)
        peer = accepted(room, listener)


def test_a_good_connection_is_soon_tried_again(listener: socket.socket) -> None:
    room = Room(targets=[f"tcp:127.0.0.1:{port_of(listener)}"])
    with room.controllers:
        for _ in range(3):
            peer = accepted(room, listener)
            peer.say(HELLO)
            room.until(lambda: room.controllers.status()[0].state == "connected", "a hello")
            room.pass_time(4.5)
            peer.say(BARRIER)
            room.wait(peer, ofproto.OFPT_BARRIER_REPLY)
            room.pass_time(4.5)
            peer.link.close()
            room.until(lambda: room.controllers.status()[0].state == "waiting", "the end")
            assert not select.select([listener], [], [], 0)[0]
            room.pass_time(1)


def test_a_silent_controller_is_asked_and_then_dropped(room: Room) -> None:
    peer = room.greeted()
    room.pass_time(4.5)
    assert peer.messages() == []
    room.pass_time(1)
    (probe,) = room.wait(peer, ECHO_REQUEST)
    room.pass_time(9)
    assert peer.messages() == []
    peer.say(probe[:1] + bytes([ECHO_REPLY]) + probe[2:])
    room.until(lambda: not room.controllers._channels()[0]._probed, "the echo")
    room.pass_time(5.5)
    room.wait(peer, ECHO_REQUEST)
    assert len(room.switch.connections) == 1
    room.pass_time(10)
    assert room.switch.connections == []
    room.until(lambda: (peer.read(), peer.ended)[1], "the end of the socket")


def test_a_switch_that_was_busy_drops_nobody(room: Room) -> None:
    """What came meanwhile counts, and what could not come yet doesn't."""
    peer = room.greeted()
    for _ in range(10):
        room.clock.now += 100
        room.controllers.poll()
    assert len(room.switch.connections) == 1
    peer.say(BARRIER)
    room.wait(peer, ofproto.OFPT_BARRIER_REPLY)


def test_half_a_connection_ends(room: Room, listener: socket.socket) -> None:
    silent = room.call()
    room.until(lambda: room.switch.connections, "a connection")
    room.pass_time(channels.HANDSHAKE_S - 1)
    assert len(room.controllers.status()) == 1
    room.pass_time(1)
    assert room.controllers.status() == []
    assert room.switch.connections == []
    room.until(lambda: (silent.read(), silent.ended)[1], "the end of the socket")


# -------------------------------------------------------------------------------------------------- deaf and loud ones


def packet_ins(room: Room, count: int) -> None:
    room.datapath.happened += [PacketIn(bytes(1500), 1500, 1, 1, 0, None)] * count


def test_a_controller_that_does_not_read_loses_packet_ins(room: Room) -> None:
    deaf, other = room.greeted(), room.greeted()
    sent = 0
    while room.controllers.status()[0].packet_ins_lost < 1000:
        packet_ins(room, 100)
        sent += 100
        room.controllers.poll()
        other.messages()
    room.until(lambda: not other.messages(), "the other one's packets")
    assert room.controllers.status()[1].packet_ins_lost == 0
    assert len(room.controllers._channels()[0]._output) < channels.OUTPUT_BYTES + 2000
    lost = room.controllers.status()[0].packet_ins_lost
    kept: list[bytes] = []
    room.until(lambda: (kept.extend(deaf.messages()), len(kept) == sent - lost)[1], "what was kept")
    deaf.say(BARRIER)
    room.wait(deaf, ofproto.OFPT_BARRIER_REPLY)


def test_a_controller_that_asks_and_does_not_read_is_not_answered_further(room: Room) -> None:
    deaf = room.greeted()
    for number in range(3000):
        deaf_mod = flow_mod([output(1)], in_port=1, priority=number)
        room.switch.handle(room.switch.connections[0], serialized(deaf_mod))
    asked = parser.OFPFlowStatsRequest(PROTOCOL, 0, 255, ofproto.OFPP_ANY, ofproto.OFPG_ANY, 0, 0)
    question = serialized(asked)
    deaf.say(*[question] * 100)
    replies = 3000 * 88  # bytes of an answer
    for _ in range(200):
        room.controllers.poll()
    (channel,) = room.controllers._channels()
    assert len(channel._output) < channels.OUTPUT_BYTES + 2 * replies
    # until the kernel has taken all that it will
    room.until(lambda: (room.pass_time(1), not room.switch.connections)[1], "the end of the connection")
    assert len(channel._output) >= channels.OUTPUT_BYTES


def test_more_than_is_bearable_ends_a_connection(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "OUTPUT_LIMIT", 10_000)
    room.greeted()
    (channel,) = room.controllers._channels()
    monkeypatch.setattr(channel, "flush", lambda _: None)
    for _ in range(100):
        room.switch.set_link(1, False)
        room.switch.set_link(1, True)
    room.controllers.poll()
    assert room.switch.connections == []


def test_a_loud_controller_leaves_time_for_others(room: Room) -> None:
    loud, quiet = room.greeted(), room.greeted()
    echo = serialized(parser.OFPEchoRequest(PROTOCOL, b"x"))
    loud.say(echo * 2000)
    quiet.say(BARRIER)
    until(lambda: select.select([room.controllers], [], [], 0)[0], "messages")
    handled = [room.controllers.poll(0.0) for _ in range(3)]
    assert max(handled) <= module.MESSAGES + 1
    assert sum(handled) >= module.MESSAGES
    answered = quiet.messages()
    assert [message[1] for message in answered] == [ofproto.OFPT_BARRIER_REPLY]
    replies: list[bytes] = []
    room.until(lambda: (replies.extend(loud.messages()), len(replies) == 2000)[1], "all echoes")


def test_a_switch_can_wait_for_its_controllers(room: Room) -> None:
    assert not select.select([room.controllers], [], [], 0)[0]
    peer = room.call()
    until(lambda: select.select([room.controllers], [], [], 0)[0], "a connection")
    room.controllers.poll()
    peer.say(HELLO)
    until(lambda: select.select([room.controllers], [], [], 0)[0], "a hello")


# ------------------------------------------------------------------------------------------------------- bad arguments


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"targets": ["127.0.0.1"]}, "a controller is tcp:HOST"),
        ({"targets": ["ptcp:5"]}, "a controller is tcp:HOST"),
        ({"targets": ["tcp:"]}, "a controller is tcp:HOST"),
        ({"targets": ["tcp:127.0.0.1:x"]}, "x is no port"),
        ({"targets": ["tcp:127.0.0.1:65536"]}, "65536 is no port"),
        ({"targets": ["tcp:no.such.host.invalid"]}, "tcp:no.such.host.invalid: "),
        ({"targets": ["ssl:127.0.0.1"]}, "ssl:127.0.0.1 needs a private key"),
        ({"listens": ["pssl:0"]}, "pssl:0 needs a private key"),
        ({"listens": ["tcp:0"]}, "where to listen is ptcp:"),
        ({"listens": ["ptcp:0:192.0.2.1"]}, "ptcp:0:192.0.2.1: "),
        ({"listens": ["punix:/none/at/all"]}, "punix:/none/at/all: No such file"),
    ],
)
def test_what_is_no_address_is_refused(options: dict[str, list[str]], error: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        Room(**options)
    assert error in str(raised.value)


def test_no_port_means_that_of_openflow() -> None:
    from headrace.cards.switch.endpoints import active, passive

    assert active("tcp:127.0.0.1").address == ("127.0.0.1", 6653)
    assert active("tcp:[::1]:7").address == ("::1", 7)
    assert passive("ptcp:").address == ("127.0.0.1", 6653)
    assert passive("pssl:7:10.0.0.1").address == ("10.0.0.1", 7)
