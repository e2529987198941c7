"""The controllers of an OpenFlow switch: those it connects to, and those that connect to it."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Sequence
from selectors import EVENT_READ, DefaultSelector
from socket import AF_UNIX, IPPROTO_TCP, TCP_NODELAY, socket
from types import TracebackType
from typing import NamedTuple, Self

from headrace.card.process import Tell
from headrace.cards.switch import endpoints
from headrace.cards.switch.agent import OpenFlowSwitch
from headrace.cards.switch.channel import Channel
from headrace.cards.switch.endpoints import Endpoint, Tls
from headrace.errors import HeadraceError

FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 1.0, 8.0
MESSAGES = 64
"""Of one controller in a row."""
CONNECTIONS = 64
"""Of controllers that connect to the switch."""
TURNED_AWAY = 16
"""More that are told why they are sent away, at once."""
_LATE_S = 1.0  # of the time between two polls, no more counts


class Status(NamedTuple):
    """A controller: where it is, "connecting", "connected" or "waiting", its role, packet-ins that it didn't read,
    and why the last connection ended."""

    name: str
    state: str
    role: str
    packet_ins_lost: int
    why: str


class _Target:
    """A controller that is connected to, again and again."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.channel: Channel | None = None
        self.backoff_s = FIRST_BACKOFF_S
        self.since = self.next_try = 0.0
        self.lost = 0
        self.why = ""

    def ended(self, channel: Channel, now: float) -> None:
        """The next try is later and later, unless the connection was good for longer than the longest wait."""
        if channel.ready and now - self.since > LONGEST_BACKOFF_S:
            self.backoff_s = FIRST_BACKOFF_S
        self.failed(channel.why, now)
        self.lost += channel.packet_ins_lost

    def failed(self, why: str, now: float) -> None:
        """The next try is after twice the time."""
        self.channel, self.why = None, why
        self.next_try = now + self.backoff_s
        self.backoff_s = min(2 * self.backoff_s, LONGEST_BACKOFF_S)


class Controllers:
    """``targets`` as ``tcp:HOST:PORT``, ``listens`` as ``ptcp:PORT``: see ``endpoints``. ``poll`` does all the work;
    ``with`` closes all sockets. ``clock`` gives seconds, ``tell`` gets lines for the user."""

    def __init__(
        self,
        switch: OpenFlowSwitch,
        targets: Sequence[str] = (),
        listens: Sequence[str] = (),
        tls: Tls | None = None,
        clock: Callable[[], float] = time.monotonic,
        tell: Tell | None = None,
    ) -> None:
        """Raises HeadraceError for an address that is none, or can't be listened at, and for TLS without its files."""
        self._switch, self._clock, self._tell = switch, clock, tell or (lambda _: None)
        self._targets = [_Target(endpoints.active(text)) for text in targets]
        passive = [endpoints.passive(text) for text in listens]
        self._client = _context(tls, [target.endpoint for target in self._targets], server=False)
        self._server = _context(tls, passive, server=True)
        self._accepted: dict[Channel, str] = {}
        self._turned_away: list[Channel] = []
        self._crowded = False  # and that has been told
        self._waits: dict[Channel, tuple[int, int]] = {}  # descriptor, and what is waited for
        self.refused = 0  # connections, for too many
        self._now, self._last = 0.0, clock()
        self._selector = DefaultSelector()
        self._listeners: list[tuple[Endpoint, socket]] = []
        try:
            for endpoint in passive:
                link = endpoint.listen()
                self._listeners.append((endpoint, link))
                self._selector.register(link.fileno(), EVENT_READ, (endpoint, link))
        except HeadraceError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes all sockets."""
        for channel in self._channels():
            channel.close("the switch ends")
            channel.link.close()
        for _, link in self._listeners:
            link.close()
        self._selector.close()

    def fileno(self) -> int:
        """For ``select``: readable when there is something to do for ``poll``."""
        return self._selector.fileno()

    @property
    def listening(self) -> list[str]:
        """Addresses as a controller needs them: with the port that was chosen, where none was given."""
        return [
            f"unix:{endpoint.address}" if endpoint.family == AF_UNIX else _shown("ssl" if endpoint.tls else "tcp", link)
            for endpoint, link in self._listeners
        ]

    def status(self) -> list[Status]:
        """Of all controllers."""
        found = []
        for target in self._targets:
            lost = target.lost + (target.channel.packet_ins_lost if target.channel else 0)
            found.append(_status(target.endpoint.text, target.channel, lost, target.why))
        return found + [_status(name, channel, channel.packet_ins_lost, "") for channel, name in self._accepted.items()]

    def poll(self, timeout: float = 0.0) -> int:
        """Waits until there is something to do, for so many seconds at most and never longer than one; does it, and
        says how many messages of controllers that were. Tells them what has happened in the switch."""
        begun = self._clock()
        self._now += min(begun - self._last, _LATE_S)
        self._connect()
        self._update()
        if any(channel.pending for channel in self._channels()):
            timeout = 0.0
        ready = self._selector.select(min(timeout, _LATE_S))
        self._last = self._clock()
        self._now += self._last - begun
        for key, mask in ready:
            if isinstance(key.data, Channel):
                key.data.event(mask, self._now)
            else:
                self._accept(*key.data)
        done = sum(channel.work(MESSAGES, self._now) for channel in self._channels())
        self._switch.poll_events()
        for channel in self._channels():
            channel.check(self._now)
            channel.flush(self._now)
        self._update()
        return done

    def _channels(self) -> list[Channel]:
        targets = [target.channel for target in self._targets if target.channel]
        return [*targets, *self._accepted, *self._turned_away]

    def _connect(self) -> None:
        for target in self._targets:
            if target.channel is None and self._now >= target.next_try:
                try:
                    link = target.endpoint.connect()
                except OSError as error:
                    target.failed(error.strerror or str(error), self._now)
                    continue
                context = self._client if target.endpoint.tls else None
                target.channel = Channel(self._switch, _prompt(link), context, server=False, now=self._now)
                target.since = self._now

    def _accept(self, endpoint: Endpoint, listener: socket) -> None:
        try:
            link, address = listener.accept()
        except OSError:
            return  # who was there has gone
        name = endpoint.text if isinstance(address, (str, bytes)) else f"{address[0]}:{address[1]}"
        unwanted = self._refusal(name) if len(self._accepted) >= CONNECTIONS else ""
        if unwanted and len(self._turned_away) >= TURNED_AWAY:
            link.close()
            return
        link.setblocking(False)
        context = self._server if endpoint.tls else None
        channel = Channel(self._switch, _prompt(link), context, server=True, now=self._now, unwanted=unwanted)
        if unwanted:
            self._turned_away.append(channel)
        else:
            self._accepted[channel] = name
            self._crowded = False

    def _refusal(self, name: str) -> str:
        """Why there's no room for one more controller; the user is told of the first one."""
        self.refused += 1
        why = f"{CONNECTIONS} controllers are connected, which is the most"
        if not self._crowded:
            self._tell(f"{name} is sent away, and so are others that come: {why}")
        self._crowded = True
        return why

    def _update(self) -> None:
        """Forgets channels that have ended, and waits for what the others need."""
        ended = False
        for channel in self._channels():
            descriptor, events = self._waits.get(channel, (-1, 0))
            if channel.closed:
                ended = True
                if self._waits.pop(channel, None) is not None:
                    self._selector.unregister(descriptor)
                channel.link.close()
            elif descriptor < 0:
                self._waits[channel] = channel.link.fileno(), channel.interest
                self._selector.register(*self._waits[channel], channel)
            elif events != channel.interest:
                self._waits[channel] = descriptor, channel.interest
                self._selector.modify(*self._waits[channel], channel)
        if not ended:
            return
        for target in self._targets:
            if target.channel is not None and target.channel.closed:
                target.ended(target.channel, self._now)
        self._accepted = {channel: name for channel, name in self._accepted.items() if not channel.closed}
        self._turned_away = [channel for channel in self._turned_away if not channel.closed]


def _context(tls: Tls | None, found: Sequence[Endpoint], server: bool) -> ssl.SSLContext | None:
    secure = [endpoint.text for endpoint in found if endpoint.tls]
    if secure and tls is None:
        raise HeadraceError(f"{secure[0]} needs a private key, a certificate, and a CA's certificate")
    return tls.context(server) if secure and tls is not None else None


def _prompt(link: socket) -> socket:
    """Small messages don't wait for others."""
    if link.family != AF_UNIX:
        link.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    return link


def _shown(kind: str, link: socket) -> str:
    host, port = link.getsockname()[:2]
    return f"{kind}:[{host}]:{port}" if ":" in host else f"{kind}:{host}:{port}"


def _status(name: str, channel: Channel | None, lost: int, why: str) -> Status:
    if channel is None:
        return Status(name, "waiting", "", lost, why)
    if channel.connection is None or not channel.ready:
        return Status(name, "connecting", "", lost, why)
    return Status(name, "connected", channel.connection.role.name.lower(), lost, why)
