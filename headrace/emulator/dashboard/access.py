"""Who may see the dashboard: requests that name this host, and have the token where there is one."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]

_REFUSED = b"headrace: this dashboard needs its token: open the address that headrace emulate dashboard has printed\n"
_STRANGE = b"headrace: this dashboard is not for that host, or asked from another site\n"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address or name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Stands before a web application (ASGI). The token comes once in the address (``?token=``), then by cookie. No
    other site's page gets through: neither under a name of its own for this machine, where it listens only here, nor by
    a request from that page."""

    def __init__(self, app: _App, token: str | None, port: int, only_here: bool) -> None:
        self.app, self._token, self._only_here = app, token, only_here
        self._cookie = f"headrace-{port}"

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """As ASGI says."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        host = headers.get("host", "")
        origin = headers.get("origin")
        strange = self._only_here and not is_loopback(urlsplit(f"//{host}").hostname or "")
        if strange or (origin is not None and urlsplit(origin).netloc != host):
            await _refuse(scope, send, 403, _STRANGE)
        elif self._token is None or self._same(self._of(headers)):
            await self.app(scope, receive, send)
        elif scope["type"] == "http" and self._same(query.pop("token", [""])[0]):
            path = "/" + scope["path"].lstrip("/") + (f"?{urlencode(query, doseq=True)}" if query else "")
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            await _answer(send, 303, b"", [(b"location", path.encode()), (b"set-cookie", cookie.encode())])
        else:
            await _refuse(scope, send, 401, _REFUSED)

    def _same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    def _of(self, headers: dict[str, str]) -> str:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return ""
        return cookies[self._cookie].value if self._cookie in cookies else ""


async def _refuse(scope: _Scope, send: _Send, status: int, why: bytes) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await _answer(send, status, why, [(b"content-type", b"text/plain; charset=utf-8")])


async def _answer(send: _Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    headers = [*headers, (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
