"""A switch's connections: to controllers, from controllers, with TLS, with controllers that are gone, silent, deaf or
loud. Time is what the tests say it is."""

from __future__ import annotations

import select
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from fake_datapath import FakeDatapath
from openflow_controller import PROTOCOL, flow_mod, ofproto, output, parser, serialized, switch
from patience import HANG_S, until

from headrace.cards.switch import channel as channels
from headrace.cards.switch import controllers as module
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.controllers import Controllers
from headrace.cards.switch.endpoints import Endpoint, Tls
from headrace.cards.switch.flows import PacketIn
from headrace.errors import HeadraceError

HELLO = serialized(parser.OFPHello(PROTOCOL))
BARRIER = serialized(parser.OFPBarrierRequest(PROTOCOL))
ECHO_REQUEST, ECHO_REPLY = ofproto.OFPT_ECHO_REQUEST, ofproto.OFPT_ECHO_REPLY


class Clock:
    """Stands still unless it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Peer:
    """A controller's socket, which blocks for no longer than a test may hang."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.link.setblocking(False)
        self.data = b""
        self.ended = False

    def say(self, *messages: bytes) -> None:
        self.link.sendall(b"".join(messages))

    def read(self) -> None:
        try:
            while not self.ended:
                data = self.link.recv(1 << 16)
                self.data += data
                self.ended = not data
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except ConnectionError:
            self.ended = True

    def messages(self) -> list[bytes]:
        """What has arrived as a whole."""
        self.read()
        found = []
        while len(self.data) >= 8 and len(self.data) >= (length := int.from_bytes(self.data[2:4], "big")):
            found.append(self.data[:length])
            self.data = self.data[length:]
        return found


class Room:
    """A switch with its sockets."""

    def __init__(self, **options: object) -> None:
        self.datapath = FakeDatapath(entries=10_000)
        self.switch: OpenFlowSwitch = switch(self.datapath)
        self.clock = Clock()
        self.controllers = Controllers(self.switch, clock=self.clock, **options)  # type: ignore[arg-type]

    def call(self) -> Peer:
        """A controller that connects to the switch."""
        kind, host, port = self.controllers.listening[0].split(":")
        assert kind == "tcp"
        return Peer(socket.create_connection((host, int(port))))

    def greeted(self) -> Peer:
        """One with which hellos are exchanged."""
        peer = self.call()
        peer.say(HELLO)
        known = len(self.switch.connections)
        self.until(lambda: len(self.switch.connections) > known and self.switch.connections[-1].ready, "a hello")
        self.wait(peer, ofproto.OFPT_HELLO)
        return peer

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Polls until the condition is true, without time going by."""
        deadline = time.monotonic() + HANG_S
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            self.controllers.poll(0.01)

    def wait(self, peer: Peer, kind: int) -> list[bytes]:
        """Polls until the peer has a message of a kind; all messages that came."""
        found: list[bytes] = []

        def there() -> bool:
            found.extend(peer.messages())
            return any(message[1] == kind for message in found)

        self.until(there, f"a message of type {kind}")
        return found

    def pass_time(self, seconds: float) -> None:
        """In steps in which the switch is polled."""
        for _ in range(int(seconds * 2)):
            self.clock.now += 0.5
            self.controllers.poll()


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


def accepted(room: Room, listener: socket.socket) -> Peer:
    room.until(lambda: select.select([listener], [], [], 0)[0], "a connection")
    return Peer(listener.accept()[0])


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


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


def test_a_wrong_length_ends_a_connection_with_its_error(room: Room) -> None:
    peer = room.greeted()
    peer.say(b"\x04\x02\x00\x07\x00\x00\x00\x09" + b"x" * 100_000)
    room.until(lambda: not room.switch.connections, "the end of the connection")
    (error,) = room.wait(peer, ofproto.OFPT_ERROR)
    assert error[4:12] == b"\0\0\0\x09\0\1\0\6"
    room.until(lambda: (peer.read(), peer.ended)[1], "the end of the socket")


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


def test_who_is_too_many_is_sent_away(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECTIONS", 2)
    peers = [room.greeted(), room.greeted()]
    extra = room.call()
    room.until(lambda: (extra.read(), extra.ended)[1], "the end of the third")
    assert room.controllers.refused == 1
    peers[0].link.close()
    room.until(lambda: len(room.switch.connections) == 1, "the end of the first")
    room.greeted()


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
    room.pass_time(channels.SILENT_S + 1)
    assert room.switch.connections == []


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


# -------------------------------------------------------------------------------------------------------------- TLS


class Authority:
    """A certificate authority of a test's."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
        self.ca = folder / f"{name}.crt"

    def _openssl(self, *words: str, out: str | None = None, key: str = "-keyout") -> None:
        name = out or self.name
        files = (key, f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}")
        subprocess.run(["openssl", *words, *files], cwd=self.folder, check=True, capture_output=True)

    def issue(self, name: str) -> Tls:
        """A key and a certificate."""
        signer = ("-CA", f"{self.name}.crt", "-CAkey", f"{self.name}.key")
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
        self._openssl("req", "-x509", *curve, *signer, out=name)
        return Tls(self.folder / f"{name}.key", self.folder / f"{name}.crt", self.ca)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"), "ca")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"), "stranger")


def test_ovs_ofctl_calls_over_tls(authority: Authority, tmp_path: Path) -> None:
    room = Room(listens=["pssl:0"], tls=authority.issue("switch"))
    theirs = authority.issue("ofctl")
    with room.controllers:
        address = room.controllers.listening[0]
        assert address.startswith("ssl:127.0.0.1:")
        files = ["-p", str(theirs.private_key), "-c", str(theirs.certificate), "-C", str(theirs.ca)]
        command = ["ovs-ofctl", "-OOpenFlow13", *files, "add-flow", address, "in_port=1,actions=output:2"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            room.until(lambda: process.poll() is not None, "ovs-ofctl")
            assert process.stdout is not None
            assert process.stdout.read() == ""
        assert len(room.datapath.flows) == 1


def server_context(tls: Tls, ca: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls.certificate, tls.private_key)
    context.load_verify_locations(ca)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def handshake(room: Room, link: ssl.SSLSocket) -> str:
    """What went wrong, if something did."""
    outcome: list[str] = []

    def done() -> bool:
        try:
            link.do_handshake()
            outcome.append("")
        except ssl.SSLWantReadError:
            return False
        except OSError as error:
            outcome.append(str(error))
        return True

    room.until(done, "a handshake")
    return outcome[0]


def test_a_switch_calls_over_tls(listener: socket.socket, authority: Authority) -> None:
    room = Room(targets=[f"ssl:127.0.0.1:{port_of(listener)}"], tls=authority.issue("switch"))
    with room.controllers:
        peer = accepted(room, listener)
        context = server_context(authority.issue("controller"), authority.ca)
        peer.link = context.wrap_socket(peer.link, server_side=True, do_handshake_on_connect=False)
        assert handshake(room, peer.link) == ""
        certificate = peer.link.getpeercert()
        assert certificate is not None
        assert certificate["subject"] == ((("commonName", "switch"),),)
        room.wait(peer, ofproto.OFPT_HELLO)
        mods = b"".join(serialized(flow_mod([output(1)], in_port=1, priority=n)) for n in range(2000))
        rest = memoryview(HELLO + mods + BARRIER)

        def said() -> bool:
            nonlocal rest
            try:
                rest = rest[peer.link.send(rest) :]
            except ssl.SSLWantWriteError:
                pass
            return not rest

        room.until(said, "2,000 flow mods")
        room.wait(peer, ofproto.OFPT_BARRIER_REPLY)
        assert len(room.datapath.flows) == 2000
        asked = parser.OFPFlowStatsRequest(PROTOCOL, 0, 255, ofproto.OFPP_ANY, ofproto.OFPG_ANY, 0, 0)
        peer.say(serialized(asked))
        found: list[bytes] = []

        def answered() -> bool:
            found.extend(peer.messages())
            return bool(found) and found[-1][10:12] == b"\0\0"

        room.until(answered, "2,000 flows")
        assert sum(len(message) - 16 for message in found) == 2000 * (48 + 16 + 24)


def test_a_controller_with_a_strangers_certificate_is_refused(
    listener: socket.socket, authority: Authority, stranger: Authority
) -> None:
    room = Room(targets=[f"ssl:127.0.0.1:{port_of(listener)}"], tls=authority.issue("switch"))
    with room.controllers:
        peer = accepted(room, listener)
        context = server_context(stranger.issue("controller"), authority.ca)
        peer.link = context.wrap_socket(peer.link, server_side=True, do_handshake_on_connect=False)
        assert "unknown ca" in handshake(room, peer.link)
        room.until(lambda: room.controllers.status()[0].state == "waiting", "the end")
        assert "certificate verify failed" in room.controllers.status()[0].why
        assert room.switch.connections == []


@pytest.mark.parametrize("certificate", [False, True])
def test_a_caller_without_a_good_certificate_is_refused(
    authority: Authority, stranger: Authority, certificate: bool
) -> None:
    room = Room(listens=["pssl:0"], tls=authority.issue("switch"))
    with room.controllers:
        port = int(room.controllers.listening[0].rpartition(":")[2])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(authority.ca)
        if certificate:
            theirs = stranger.issue("caller")
            context.load_cert_chain(theirs.certificate, theirs.private_key)
        plain = socket.create_connection(("127.0.0.1", port))
        plain.setblocking(False)
        link = context.wrap_socket(plain, do_handshake_on_connect=False)
        room.until(room.controllers._channels, "a connection")
        handshake(room, link)
        room.until(lambda: not room.controllers._channels(), "the end")
        assert room.switch.connections == []


def test_plain_text_where_tls_is_wanted_ends(authority: Authority) -> None:
    room = Room(listens=["pssl:0"], tls=authority.issue("switch"))
    with room.controllers:
        peer = Peer(socket.create_connection(("127.0.0.1", int(room.controllers.listening[0].rpartition(":")[2]))))
        room.until(room.controllers._channels, "a connection")
        peer.say(HELLO)
        room.until(lambda: not room.controllers._channels(), "the end")
        silent = Peer(socket.create_connection(("127.0.0.1", int(room.controllers.listening[0].rpartition(":")[2]))))
        room.until(room.controllers._channels, "another connection")
        room.pass_time(channels.HANDSHAKE_S)
        assert room.controllers._channels() == []
        silent.link.close()


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


def test_bad_files_for_tls_are_named(authority: Authority, tmp_path: Path) -> None:
    good = authority.issue("switch")
    for missing in ("private_key", "certificate", "ca"):
        for path in (tmp_path / "none", tmp_path / "empty"):
            (tmp_path / "empty").write_text("")
            files = {"private_key": good.private_key, "certificate": good.certificate, "ca": good.ca, missing: path}
            with pytest.raises(HeadraceError, match=re_escaped(path)):
                Room(listens=["pssl:0"], tls=Tls(**files))


def re_escaped(path: Path) -> str:
    return str(path).replace(".", r"\.")


def test_no_port_means_that_of_openflow() -> None:
    from headrace.cards.switch.endpoints import active, passive

    assert active("tcp:127.0.0.1").address == ("127.0.0.1", 6653)
    assert active("tcp:[::1]:7").address == ("::1", 7)
    assert passive("ptcp:").address == ("127.0.0.1", 6653)
    assert passive("pssl:7:10.0.0.1").address == ("10.0.0.1", 7)
