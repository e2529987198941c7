# SPDX-License-Identifier: Apache-2.0
"""What the controller of an emulation attends to in one turn, where one answer waits for what another was to say."""

from __future__ import annotations

import selectors
import socket
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from headrace.card.lines import Clients
from headrace.emulator import kernel
from headrace.emulator.node import Node
from headrace.emulator.world import World


def test_a_message_that_a_step_has_heard_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    listener, client = socket.socketpair()
    node: Any = Mock(spec=Node, fileno=ours.fileno)
    heard: list[bytes] = []

    def hear(_: object) -> None:
        ours.settimeout(0)  # instead of waiting for ever
        heard.append(ours.recv(100))

    def serve(*_: object) -> None:
        """A request to step, which waits for the node's answer."""
        listener.recv(1)
        hear(node)

    clients: Any = Mock(spec=Clients, fileno=listener.fileno, serve=serve)
    monkeypatch.setattr(kernel, "ended_children", lambda: [])
    world: Any = SimpleNamespace(_links=Mock(), _nodes=[node], _clients=clients, _answer=None, _hear=hear)
    with selectors.DefaultSelector() as selector, ours, theirs, listener, client:
        keys = [
            selector.register(clients, selectors.EVENT_READ),
            selector.register(ours, selectors.EVENT_READ, node),
        ]
        client.send(b"\1")
        theirs.send(b"stepped")
        World._attend(world, [(key, selectors.EVENT_READ) for key in keys], Mock())
        assert heard == [b"stepped"]
        theirs.close()
        World._attend(world, [(keys[1], selectors.EVENT_READ)], Mock())
        assert heard == [b"stepped", b""]  # the end of a connection is heard
