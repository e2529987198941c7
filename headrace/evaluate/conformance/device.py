"""What a switch under test must let a program do: speak OpenFlow, and put frames in at its ports and take them out."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Protocol

PORTS = (1, 2, 3)
"""The OpenFlow ports that a test needs."""


class Device(Protocol):
    """A switch, its datapath empty, with ``PORTS``.

    Once ``settle`` has returned, a message that was then sent over OpenFlow is answered after all packet-ins.
    """

    name: str

    def connect(self) -> socket.socket:
        """A new stream to the switch, on which it speaks OpenFlow."""

    def send(self, port: int, frames: Sequence[bytes], every_ns: float = 0) -> None:
        """Frames come in at a port, without FCS: one each so many nanoseconds of the switch's own time."""

    def settle(self) -> None:
        """Back when no frame is left inside."""

    def received(self, port: int) -> list[bytes]:
        """The frames that have come out of a port since this was last asked."""

    def enforce(self) -> None:
        """Back when all changes hold that a barrier has confirmed. Where the switch is honest this does nothing."""
