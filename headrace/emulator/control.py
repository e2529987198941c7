"""How a running emulation is reached: an abstract UNIX socket, so that no file is left behind, for the same user alone.

One line of JSON there, one back, with a file descriptor beside it where a node is asked for.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any

from headrace.card.lines import Clients
from headrace.errors import HeadraceError

_LONGEST = 1 << 24
_LONGEST_ADDRESS = 108  # bytes of a UNIX socket's (unix(7))
_ANSWER_S = 600.0
_CREDENTIALS = struct.Struct("iII")


class Ended(HeadraceError):
    """The emulation doesn't run, or no longer."""


def _address(name: str) -> str:
    found = f"\0headrace/emulation/{os.geteuid()}/{name}"
    if (over := len(os.fsencode(found)) - _LONGEST_ADDRESS) > 0:
        raise HeadraceError(f"the name {name}: {over} bytes too long", 2)
    return found


def listen(name: str) -> socket.socket:
    """Takes the name of an emulation. Raises HeadraceError when one runs by that name."""
    link = socket.socket(socket.AF_UNIX)
    try:
        link.bind(_address(name))
    except OSError:
        link.close()
        raise HeadraceError(f"an emulation {name} runs already: stop it, or choose another --name") from None
    link.listen(64)
    return link


def is_up(name: str) -> bool:
    """Whether an emulation runs by that name."""
    with socket.socket(socket.AF_UNIX) as link:
        return link.connect_ex(_address(name)) == 0


def ask(name: str, **request: Any) -> dict[str, Any]:
    """What an emulation answers; ``fd`` is a file descriptor that came with it. Raises HeadraceError when none runs,
    (``Ended``), or with what it says is wrong."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(_ANSWER_S)
        try:
            link.connect(_address(name))
        except OSError:
            raise Ended(f"no emulation {name} runs: start one with headrace emulate run") from None
        try:
            link.sendall(json.dumps(request).encode() + b"\n")
            data, descriptors = b"", []
            while not data.endswith(b"\n"):
                part, more, _, _ = socket.recv_fds(link, 1 << 16, 1)
                descriptors += more
                if not part:
                    raise Ended(f"the emulation {name} has ended")
                data += part
        except ConnectionError:
            raise Ended(f"the emulation {name} has ended") from None
        except OSError as error:
            raise HeadraceError(f"the emulation {name}: {error.strerror or error}") from None
    answer: dict[str, Any] = json.loads(data)
    if "error" in answer:
        raise HeadraceError(answer["error"], int(answer.get("exit_code", 1)))
    if descriptors:
        answer["fd"] = descriptors[0]
    return answer


def clients(link: socket.socket) -> Clients:
    """Those who ask an emulation by the socket of ``listen``."""
    return Clients(link, _LONGEST, _is_the_user)


def _is_the_user(client: socket.socket) -> bool:
    peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(peer)[1]) == os.geteuid()
