"""The dashboard: a web page on a running emulation, in a process beside it that can come and go."""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headrace.emulator import control
from headrace.emulator.dashboard.access import Guard, is_loopback
from headrace.errors import HeadraceError

_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class DashboardJob:
    """What to show: the emulation ``name``; with ``scenario`` it is started here, and ends with the dashboard, also
    where it runs over the hosts of a Dask ``cluster``. ``port`` 0: any that is free. Without ``token`` there is none on
    this machine's own addresses, and a random one on others."""

    name: str = "default"
    scenario: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    cluster: str | None = None


def serve(job: DashboardJob, tell: Callable[[str], None]) -> None:
    """Serves it until SIGINT or SIGTERM; ``tell`` is told the address. Raises HeadraceError."""
    import nicegui  # noqa: F401  (where it is missing, that is said first)

    from headrace.emulator import keeper, scenario
    from headrace.emulator.dashboard.monitor import Monitor
    from headrace.emulator.dashboard.server import run

    if job.token is not None and not _TOKEN.fullmatch(job.token):
        raise HeadraceError("--token: letters, digits, - and _", 2)
    if job.scenario is not None:
        if control.is_up(job.name):
            raise HeadraceError(f"an emulation {job.name} runs already: join it without SCENARIO, or choose --name")
        found = scenario.read(job.scenario)
        for line in found.notes:
            tell(line)
        if job.cluster is None:
            keeper.check(found)
    elif not control.is_up(job.name):
        raise HeadraceError(f"no emulation {job.name} runs: give a SCENARIO, or start one with headrace emulate run")
    token = job.token
    if token is None and not is_loopback(job.host):
        token = secrets.token_urlsafe(16)
    with _listen(job.host, job.port) as listener:
        port = listener.getsockname()[1]
        shown = _name_of(job.host)
        tell(f"ready: the dashboard is at http://{shown}:{port}/" + (f"?token={token}" if token else ""))
        monitor = Monitor(job.name, job.scenario, job.cluster)
        run(monitor, listener, lambda app: Guard(app, token, port, is_loopback(job.host)))


def _name_of(host: str) -> str:
    """As a browser is told it."""
    if host in ("0.0.0.0", "::", ""):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _listen(host: str, port: int) -> socket.socket:
    """Raises HeadraceError."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM,
                                                              flags=socket.AI_PASSIVE)[0]  # fmt: skip
        listener = socket.socket(family, kind, number)
    except (OSError, OverflowError) as error:
        raise HeadraceError(f"{host}:{port}: {getattr(error, 'strerror', None) or error}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        with suppress(OSError):
            listener.close()
        raise HeadraceError(f"{host}:{port}: {error.strerror}: choose another --port") from None
    return listener
