# SPDX-License-Identifier: Apache-2.0
"""Links of ports that receive and send, such as ``tap:h1`` or ``iface:eth0``."""

from __future__ import annotations

from headrace.errors import HeadraceError
from headrace.net.source import Source, check_link, parse_source

_SINKS = ("pcap", "iface", "xdp", "tap", "memory", "null")


def port_link(text: str) -> Source:
    """The link of a port that forwards packets: of an interface it receives, within 10 ms, what comes in there, and not
    what it sends itself. Raises HeadraceError as ``parse_source``, and for another direction."""
    link = parse_source(text).at_once()
    if link.kind != "iface" or (direction := link.setting("direction")) == "in":
        return link
    if direction is not None:
        raise HeadraceError(f"{text}: a port receives what comes in by its interface: direction=in", 2)
    return link.only("in")


def check_sink(text: str) -> None:
    """Looks at where a port sends to, before a card is built for it. Raises HeadraceError for what can't be."""
    kind = text.partition(":")[0]
    if kind not in _SINKS:
        raise HeadraceError(f"'{text}' is not a sink: use {', '.join(_SINKS)}, as KIND:ARGUMENT", 2)
    check_link(text, output=kind not in ("iface", "xdp"))
