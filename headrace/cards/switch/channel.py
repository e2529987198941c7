"""A controller's socket: whole messages in, messages out, without ever waiting for it."""

from __future__ import annotations

import os
import socket
import ssl
from enum import Enum
from selectors import EVENT_READ, EVENT_WRITE

from headrace.cards.switch.agent import Connection, OpenFlowSwitch
from headrace.cards.switch.openflow import replies
from headrace.cards.switch.openflow.constants import HEADER_BYTES
from headrace.cards.switch.openflow.errors import HelloFailed, refused

OUTPUT_BYTES = 1 << 20
"""With more than that to read, a controller's packet-ins are lost, and its messages wait."""
OUTPUT_LIMIT = 1 << 26
"""With more it is dropped."""
HANDSHAKE_S = 10.0
"""That a controller may take from connecting to its hello."""
PROBE_S = 5.0
"""After that time without a word it is asked for one."""
SILENT_S = 15.0
"""After that it is dropped."""
CLOSING_S = 1.0
"""That it may take to read why it's sent away."""

_READ = 1 << 16  # bytes at once
_INPUT_BYTES = 1 << 17  # more is not read ahead; a message is shorter
_LATER = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _State(Enum):
    CONNECTING = 0
    TLS = 1
    OPEN = 2
    CLOSING = 3
    CLOSED = 4


class Channel:
    """A connection, from when it has a socket until it is ``closed``, with ``why``; whoever made it closes the socket.
    ``context`` is None without TLS; ``server``: who connects is the controller. ``unwanted``: why it's sent away as
    soon as it can be told."""

    def __init__(
        self,
        switch: OpenFlowSwitch,
        link: socket.socket,
        context: ssl.SSLContext | None,
        server: bool,
        now: float,
        unwanted: str = "",
    ) -> None:
        self.link = link
        self.connection: Connection | None = None
        self.packet_ins_lost = 0
        self.why = ""
        self._switch, self._context, self._server, self._unwanted = switch, context, server, unwanted
        self._state = _State.CONNECTING
        self._input, self._output = bytearray(), bytearray()
        self._tls_writes = False
        self._ended = False
        self._since = self._alive = now
        self._probed = False
        if server:
            self.event(0, now)

    @property
    def closed(self) -> bool:
        """There is nothing more to do."""
        return self._state == _State.CLOSED

    @property
    def ready(self) -> bool:
        """Both have said hello."""
        return self.connection is not None and self.connection.ready

    @property
    def interest(self) -> int:
        """What to wait for: EVENT_READ, EVENT_WRITE, or both."""
        if self._state == _State.CONNECTING or (self._state == _State.TLS and self._tls_writes):
            return EVENT_WRITE
        reads = self._state != _State.OPEN or (len(self._input) < _INPUT_BYTES and not self._ended)
        return EVENT_READ * reads | EVENT_WRITE * bool(self._output) or EVENT_READ

    @property
    def pending(self) -> bool:
        """There is a message that can be handled now."""
        return self._state == _State.OPEN and self._next_length() is not None and len(self._output) < OUTPUT_BYTES

    def event(self, mask: int, now: float) -> None:
        """Goes on with a socket that has become ready."""
        try:
            if self._state == _State.CONNECTING:
                self._finish_connecting(now)
            if self._state == _State.TLS:
                self._shake_hands(now)
            if self._state == _State.CLOSING and mask & EVENT_READ and not self.link.recv(_READ):
                self.close()
            if self._state == _State.OPEN and mask & EVENT_READ:
                self._read(now)
        except _LATER:
            pass
        except OSError as error:
            self.close(error.strerror or str(error))

    def _finish_connecting(self, now: float) -> None:
        error = self.link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error))
        if self._context is None:
            self._open(now)
        else:
            self.link = self._context.wrap_socket(self.link, self._server, do_handshake_on_connect=False)
            self._state = _State.TLS

    def _shake_hands(self, now: float) -> None:
        assert isinstance(self.link, ssl.SSLSocket)
        self._tls_writes = False
        try:
            self.link.do_handshake()
        except ssl.SSLWantWriteError:
            self._tls_writes = True
            raise
        self._open(now)

    def _open(self, now: float) -> None:
        self._state = _State.OPEN
        if self._unwanted:
            why = refused(HelloFailed.EPERM, self._unwanted)
            self._output += replies.error_text(0, why.kind, why.code, self._unwanted)
            self._send_away(self._unwanted, now)
            return
        self.connection = self._switch.connect(self._send)

    def _read(self, now: float) -> None:
        while len(self._input) < _INPUT_BYTES:
            data = self.link.recv(_READ)
            if not data:
                self._ended = True
                return
            self._alive, self._probed = now, False
            self._input += data

    def _next_length(self) -> int | None:
        """Bytes of the next message, if it's there as a whole; of one with a wrong length those of its header."""
        if len(self._input) < HEADER_BYTES:
            return None
        length = max(HEADER_BYTES, self._input[2] << 8 | self._input[3])
        return length if length <= len(self._input) else None

    def work(self, messages: int, now: float) -> int:
        """Handles that many messages at most; says how many."""
        for done in range(messages):
            length = self._next_length()
            if length is None or not self.pending or self.connection is None:
                if self._ended and not self._output:
                    self.close("closed by the controller")
                return done
            self._alive = now
            message = bytes(self._input[:length])
            del self._input[:length]
            self._switch.handle(self.connection, message)
            if self.connection.closed or message[2:4] < bytes((0, HEADER_BYTES)):  # where would the next one begin?
                self._send_away("no proper hello" if not self.ready else "a message shorter than its header", now)
        return messages

    def _send(self, message: bytes, may_be_lost: bool) -> None:
        if self._state != _State.OPEN:
            return
        if may_be_lost and len(self._output) >= OUTPUT_BYTES:
            self.packet_ins_lost += 1
        else:
            self._output += message

    def flush(self, now: float) -> None:
        """Sends what can be sent."""
        try:
            while self._output and self._state in (_State.OPEN, _State.CLOSING):
                sent = self.link.send(bytes(self._output[:_READ]))
                del self._output[:sent]
                if len(self._output) >= OUTPUT_BYTES:
                    self._alive = now  # it reads, which is all that it can do until it has read enough
            if self._state == _State.CLOSING:
                self.link.shutdown(socket.SHUT_WR)
        except _LATER:
            pass
        except OSError as error:
            self.close(error.strerror or str(error))

    def check(self, now: float) -> None:
        """Probes or drops a controller that has been silent for long."""
        if self._state == _State.CLOSING:
            if now - self._since >= CLOSING_S:
                self.close()
        elif not self.ready:
            if now - self._since >= HANDSHAKE_S:
                self.close("no hello")
        elif len(self._output) > OUTPUT_LIMIT:
            self.close("doesn't read")
        elif now - self._alive >= SILENT_S:
            self.close("doesn't answer")
        elif now - self._alive >= PROBE_S and not self._probed and self.connection is not None:
            self._probed = True
            self.connection.probe()

    def _send_away(self, why: str, now: float) -> None:
        """What has been sent is still to arrive, which it might not where the socket is closed with bytes unread."""
        self._leave(why)
        self._state, self._since = _State.CLOSING, now
        self._input.clear()

    def close(self, why: str = "") -> None:
        """Ends it at once."""
        self._leave(why)
        self._state = _State.CLOSED

    def _leave(self, why: str) -> None:
        self.why = self.why or why
        if self.connection is not None and self._state == _State.OPEN:
            self._switch.disconnect(self.connection)
