"""A switch with its sockets, and controllers' sockets, for tests. Time is what a test says it is."""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Callable

from fake_datapath import FakeDatapath
from openflow_controller import PROTOCOL, ofproto, parser, serialized, switch
from patience import HANG_S

from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.controllers import Controllers

HELLO = serialized(parser.OFPHello(PROTOCOL))
BARRIER = serialized(parser.OFPBarrierRequest(PROTOCOL))


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


def accepted(room: Room, listener: socket.socket) -> Peer:
    room.until(lambda: select.select([listener], [], [], 0)[0], "a connection")
    return Peer(listener.accept()[0])


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])
