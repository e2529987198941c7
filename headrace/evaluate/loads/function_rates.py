"""What clients carry through two functions of a running card, in wall time: DPDK's testpmd, which forwards from one to
the other, and iperf3 between hosts in network namespaces."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.card.control import ask
from headrace.cards.nic.service import CONTROL
from headrace.evaluate.loads import switch_network
from headrace.evaluate.loads.function_clients import address, mac, start_testpmd
from headrace.evaluate.loads.host_card import FCS, parameters
from headrace.evaluate.loads.switch_network import Host, Sent, Streamed, logged, until
from headrace.net.namespaces import host_behind, own_network

BURST = 128
"""Packets that testpmd begins with on either function: half of what its queues take."""
SIZE = 64

_FUNCTIONS = (0, 1)


@dataclass(frozen=True)
class Kind:
    """A card with two functions, each of which sends to the other: the words of ``headrace`` that run it with its files
    in a folder, what functions have got, as its control socket tells, and what starts ``headrace``."""

    name: str
    parameters: Mapping[str, Any]
    words: Callable[[Path], list[str]]
    sent: Callable[[str], Sent]
    headrace: Sequence[str] = tuple(switch_network.HEADRACE)


_SETTINGS = {name: value for name, value in parameters().items() if name != "FUNCTIONS"}


def _switch_words(folder: Path) -> list[str]:
    one, other = (_SETTINGS["PORTS"] + 1 + function for function in _FUNCTIONS)
    flows = folder / "flows"
    flows.write_text(f"in_port={one},actions=output:{other}\nin_port={other},actions=output:{one}\n")
    return ["switch", "run", "--flows", str(flows)]


def _nic_sent(control: str) -> Sent:
    functions = ask(CONTROL, control, {"command": "stats"})["functions"]
    return Sent(sum(each["received"] for each in functions), sum(each["received_bytes"] for each in functions))


SWITCH = Kind("switch", _SETTINGS, _switch_words, switch_network.sent)
NIC = Kind("NIC", {}, lambda _folder: ["nic", "run"], _nic_sent)


@contextmanager
def _running(kind: Kind, folder: Path, links: Sequence[str]) -> Iterator[Callable[[], Sent]]:
    """Such a card; gives what its functions have got so far."""
    control = folder / "control"
    words = [
        word for function, link in zip(_FUNCTIONS, links, strict=True) for word in ("--port", f"vf:{function}={link}")
    ]
    words += [word for name, value in kind.parameters.items() for word in ("-P", f"{name}={value}")]
    command = [*kind.headrace, *kind.words(folder), "--control", str(control), *words]
    with logged(command, folder / "card.log") as alive:
        until(lambda: alive() and control.exists(), "the card")
        yield lambda: kind.sent(str(control))


def forwarded(kind: Kind, seconds: float, pieces: Sequence[int] = (SIZE - FCS,)) -> Streamed:
    """Packets, of 64 bytes or of buffers of these, that testpmd sends round: what one function gets it hands over to
    the other, whose packets the card brings to the first one. Raises HeadraceError."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        sockets = {function: folder / f"vf{function}" for function in _FUNCTIONS}
        sent = stack.enter_context(_running(kind, folder, [f"vhost:{path},trusted" for path in sockets.values()]))
        peers = [f"--eth-peer={one},{mac(other)}" for one, other in zip(_FUNCTIONS, reversed(_FUNCTIONS), strict=True)]
        sizes = ",".join(map(str, pieces))
        words = ["--forward-mode=io", "--tx-first", f"--burst={BURST}", f"--txpkts={sizes}", *peers]
        alive = start_testpmd(stack, sockets, folder / "testpmd.log", *words)
        until(lambda: alive() and sent().packets > 2 * BURST * len(_FUNCTIONS), "packets of testpmd")
        before, start = sent(), time.monotonic()
        time.sleep(seconds)
        after, end = sent(), time.monotonic()
        alive()
        return Streamed(after.packets - before.packets, after.bytes - before.bytes, end - start)


def streamed(kind: Kind, seconds: int, *options: str) -> Streamed:
    """What iperf3 sends between two hosts, as ``switch_network.streamed``. Raises HeadraceError."""
    with tempfile.TemporaryDirectory() as name, own_network(), ExitStack() as stack:
        devices = {function: f"h{function}" for function in _FUNCTIONS}
        sent = stack.enter_context(_running(kind, Path(name), [f"tap:{device}" for device in devices.values()]))
        client, server = (
            Host(address(function), stack.enter_context(host_behind(device, f"{address(function)}/24")))
            for function, device in devices.items()
        )
        return switch_network.streamed(client, server, sent, seconds, *options)
