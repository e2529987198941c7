"""A small OpenFlow 1.3 controller, which adds and deletes flows (OpenFlow 1.3.5, section 7)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from pathlib import Path

from headrace.cards.switch.openflow.actions import encode_instructions
from headrace.cards.switch.openflow.constants import ANY_GROUP, HEADER_BYTES, NO_BUFFER, VERSION, FlowCommand, Kind
from headrace.cards.switch.openflow.oxm import encode_match
from headrace.emulator.fabric.cabling import Rule
from headrace.errors import HeadraceError

_HEADER = struct.Struct("!BBHI")
_FLOW_MOD = struct.Struct("!QQBBHHHIIIHxx")
_ANY_PORT = 0xFFFF_FFFF
_ANSWER_S = 60.0


class Controller:
    """A connection to a switch that listens at a UNIX socket."""

    def __init__(self, path: Path) -> None:
        """Raises HeadraceError."""
        self._link = socket.socket(socket.AF_UNIX)
        self._link.settimeout(_ANSWER_S)
        self._data = b""
        self._number = 0
        try:
            self._link.connect(str(path))
        except OSError as error:
            raise HeadraceError(f"no switch at {path}: {error.strerror}") from None
        self._send(Kind.HELLO)
        while self._message()[0] != Kind.HELLO:
            pass

    def fileno(self) -> int:
        """Readable when the switch says something."""
        return self._link.fileno()

    def close(self) -> None:
        """Leaves the switch."""
        self._link.close()

    def change(self, deleted: Iterable[Rule], added: Iterable[Rule]) -> None:
        """First the one, then the other; waits until that is done. Raises HeadraceError with what the switch
        refuses."""
        for command, rules in ((FlowCommand.DELETE_STRICT, deleted), (FlowCommand.ADD, added)):
            for rule in rules:
                self._flow(command, rule)
        self._number += 1
        number = self._number
        self._send(Kind.BARRIER_REQUEST, number=number)
        while self._message()[::2] != (Kind.BARRIER_REPLY, number):
            pass

    def attend(self) -> None:
        """Answers what has come. Raises HeadraceError when the switch has gone."""
        self._link.setblocking(False)
        try:
            while True:
                self._message()
        except BlockingIOError:
            pass
        finally:
            self._link.settimeout(_ANSWER_S)

    def _flow(self, command: FlowCommand, rule: Rule) -> None:
        mod = _FLOW_MOD.pack(0, 0, rule.table, command, 0, 0, 1, NO_BUFFER, _ANY_PORT, ANY_GROUP, 0)
        instructions = encode_instructions(rule.instructions) if command == FlowCommand.ADD else b""
        self._send(Kind.FLOW_MOD, mod + encode_match(rule.match) + instructions)

    def _send(self, kind: Kind, body: bytes = b"", number: int = 0) -> None:
        try:
            self._link.sendall(_HEADER.pack(VERSION, kind, HEADER_BYTES + len(body), number) + body)
        except OSError as error:
            raise HeadraceError(f"the switch has gone: {error.strerror or error}") from None

    def _message(self) -> tuple[int, bytes, int]:
        """The next message: its kind, its body, its number. Echo requests are answered."""
        while True:
            if len(self._data) >= HEADER_BYTES:
                _, kind, length, number = _HEADER.unpack_from(self._data)
                if len(self._data) >= max(length, HEADER_BYTES):
                    body, self._data = self._data[HEADER_BYTES:length], self._data[max(length, HEADER_BYTES) :]
                    if kind == Kind.ERROR:
                        what, code = struct.unpack_from("!HH", body)
                        raise HeadraceError(f"the switch refuses a flow: error type {what}, code {code}")
                    if kind == Kind.ECHO_REQUEST:
                        self._send(Kind.ECHO_REPLY, body, number)
                    return kind, body, number
            try:
                data = self._link.recv(1 << 16)
            except BlockingIOError:
                raise
            except OSError as error:
                raise HeadraceError(f"the switch has gone: {error.strerror or error}") from None
            if not data:
                raise HeadraceError("the switch has gone")
            self._data += data
