"""The machine's network interfaces, as Linux's sysfs shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SYS = Path("/sys/class/net")
_ROUTES = Path("/proc/net/route")
_ETHERNET, _LOOPBACK = 1, 772  # ARPHRD_ETHER, ARPHRD_LOOPBACK: what has Ethernet headers
_UP = 1  # IFF_UP
_DEFAULT_ROUTE = "00000000"


@dataclass(frozen=True)
class Interface:
    """An interface whose packets have Ethernet headers."""

    name: str
    up: bool
    loopback: bool
    default_route: bool


def interfaces() -> list[Interface]:
    """Those that there are, by name; none where there is no sysfs."""
    routes = _default_routes()
    found = []
    for folder in sorted(_SYS.iterdir()) if _SYS.is_dir() else ():
        try:
            kind = int((folder / "type").read_text())
            flags = int((folder / "flags").read_text(), 16)
        except (OSError, ValueError):  # not an interface, or one that has just gone
            continue
        if kind in (_ETHERNET, _LOOPBACK):
            found.append(Interface(folder.name, bool(flags & _UP), kind == _LOOPBACK, folder.name in routes))
    return found


def best_interface(found: Sequence[Interface]) -> Interface | None:
    """The one that a user most probably means: with the default route, else up, else any but the loopback."""
    return max(found, key=lambda one: (one.default_route, one.up and not one.loopback, one.up), default=None)


def _default_routes() -> set[str]:
    try:
        lines = _ROUTES.read_text().splitlines()[1:]
    except OSError:
        return set()
    return {fields[0] for line in lines if (fields := line.split()) and fields[1] == _DEFAULT_ROUTE}
