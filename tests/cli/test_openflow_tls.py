"""A switch's connections over TLS: who may call, who may be called, and who not."""

from __future__ import annotations

import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from openflow_controller import PROTOCOL, flow_mod, ofproto, output, parser, serialized
from openflow_room import BARRIER, HELLO, Peer, Room, accepted, port_of

from headrace.cards.switch import channel as channels
from headrace.cards.switch.endpoints import Tls
from headrace.errors import HeadraceError

NEW_KEY = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A controller's, that a switch connects to."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        found.setblocking(False)
        yield found


class Authority:
    """A certificate authority of a test's."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.ca = folder / f"{name}.crt"
        self._make(name)

    def _make(self, name: str, *signer: str) -> None:
        files = ("-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}")
        subprocess.run(["openssl", *NEW_KEY, *files, *signer], cwd=self.folder, check=True, capture_output=True)

    def issue(self, name: str) -> Tls:
        """A key and a certificate."""
        self._make(name, "-CA", f"{self.name}.crt", "-CAkey", f"{self.name}.key")
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
