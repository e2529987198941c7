"""Where controllers are, as Open vSwitch writes it, and sockets for that."""

from __future__ import annotations

import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import HeadraceError

PORT = 6653
"""That of OpenFlow."""
_FORMS = "tcp:HOST[:PORT], ssl:HOST[:PORT] or unix:FILE"
_PASSIVE_FORMS = "ptcp:[PORT][:ADDRESS], pssl:[PORT][:ADDRESS] or punix:FILE"


@dataclass(frozen=True)
class Endpoint:
    """An address to connect to, or to listen at. ``text`` as it was given."""

    text: str
    family: socket.AddressFamily
    address: tuple[str, int] | str
    tls: bool

    def connect(self) -> socket.socket:
        """A socket that is connecting, and doesn't block. Raises OSError."""
        link = socket.socket(self.family)
        link.setblocking(False)
        try:
            link.connect(self.address)
        except BlockingIOError:
            pass
        except OSError:
            link.close()
            raise
        return link

    def listen(self) -> socket.socket:
        """A socket that doesn't block. Raises HeadraceError."""
        link = socket.socket(self.family)
        try:
            link.setblocking(False)
            if self.family != socket.AF_UNIX:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            link.bind(self.address)
            link.listen()
        except OSError as error:
            link.close()
            raise HeadraceError(f"{self.text}: {error.strerror or error}") from None
        return link


def active(text: str) -> Endpoint:
    """A controller to connect to; a host's name is looked up now, once. Raises HeadraceError."""
    kind, _, rest = text.partition(":")
    if kind == "unix" and rest:
        return Endpoint(text, socket.AF_UNIX, rest, False)
    host, port = _host_and_port(rest)
    if kind not in ("tcp", "ssl") or not host:
        raise HeadraceError(f"{text}: a controller is {_FORMS}")
    return _looked_up(text, host, _number(text, port), kind == "ssl")


def passive(text: str) -> Endpoint:
    """Where to wait for controllers; without an address only for those of this machine. Raises HeadraceError."""
    kind, _, rest = text.partition(":")
    if kind == "punix" and rest:
        return Endpoint(text, socket.AF_UNIX, os.fspath(rest), False)
    if kind not in ("ptcp", "pssl"):
        raise HeadraceError(f"{text}: where to listen is {_PASSIVE_FORMS}")
    port, _, host = rest.partition(":")
    return _looked_up(text, host.strip("[]") or "127.0.0.1", _number(text, port), kind == "pssl")


def _host_and_port(text: str) -> tuple[str, str]:
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = text.partition(":")
    return host, port


def _number(text: str, port: str) -> int:
    if not port:
        return PORT
    if not port.isdecimal() or int(port) > 0xFFFF:
        raise HeadraceError(f"{text}: {port} is no port")
    return int(port)


def _looked_up(text: str, host: str, port: int, tls: bool) -> Endpoint:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise HeadraceError(f"{text}: {error}") from None
    return Endpoint(text, family, (str(address[0]), port), tls)


@dataclass(frozen=True)
class Tls:
    """Files in PEM: the switch's private key and certificate, and the certificates of those who sign controllers'.
    As with Open vSwitch, it counts who has signed a certificate, not which host's name is in it."""

    private_key: Path
    certificate: Path
    ca: Path

    def context(self, server: bool) -> ssl.SSLContext:
        """For one side. Raises HeadraceError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.private_key, password=_no_password)
            context.load_verify_locations(self.ca)
        except (OSError, ValueError) as error:  # SSLError is an OSError
            files = f"{self.private_key}, {self.certificate}, {self.ca}"
            raise HeadraceError(f"{files}: {error.strerror if isinstance(error, OSError) else error}") from None
        return context


def _no_password() -> str:
    raise ValueError("the private key needs a password")
