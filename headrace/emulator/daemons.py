"""Routing daemons of others, unmodified, in the nodes: ``routing = "babeld"`` and its like.

Each is some programs with a configuration that is the same in all nodes: it takes the node's address from the
environment and the PHYs from ``/proc/net/dev``. What a daemon's own tools (``birdc``, ``vtysh``, ``batmand -c``) look
for is where they look for it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from headrace.errors import HeadraceError

_PATH = "/usr/sbin:/sbin:/usr/lib/frr"
_BEGIN = f"PATH=$PATH:{_PATH}\nphys=$(sed -n 's/^ *\\(phy[0-9]*\\):.*/\\1/p' /proc/net/dev)"
_UPDATE_HELLOS = 4


class Daemon(NamedTuple):
    """``scripts``: of sh, one a program, in which HELLO_S, UPDATE_S, HELLO_MS and UPDATE_MS stand for its timers.
    ``families``: what it routes. ``whole_seconds``: it has no shorter ones."""

    package: str
    scripts: Mapping[str, str]
    families: tuple[int, ...] = (4, 6)
    whole_seconds: bool = False


# "allow" stands before "deny", as the first rule that matches is taken.
_BABELD = """
{
  echo 'skip-kernel-setup true'
  echo 'random-id true'
  echo 'link-detect true'
  echo 'default type wireless hello-interval HELLO_S update-interval UPDATE_S'
  printf 'interface %s\\n' $phys
  echo 'redistribute local if lo allow'
  echo 'redistribute local deny'
} >/run/headrace/babeld.conf
exec babeld -c /run/headrace/babeld.conf -I /run/babeld.pid -S /run/babeld.state
"""

_BIRD = """
mkdir -p /run/bird
cat >/run/headrace/bird.conf <<END
router id $HEADRACE_ADDRESS;
protocol device { scan time 1; }
protocol direct { ipv4; ipv6; interface "lo"; }
protocol kernel { ipv4 { import none; export where source = RTS_BABEL; }; }
protocol kernel { ipv6 { import none; export where source = RTS_BABEL; }; }
protocol babel {
  ipv4 { import all; export all; };
  ipv6 { import all; export all; };
  interface "phy*" { type wireless; hello interval HELLO_MS ms; update interval UPDATE_MS ms; };
}
END
exec bird -f -c /run/headrace/bird.conf -s /run/bird/bird.ctl
"""

# It wants a group frrvty, and to be in it; where there is no other user, root's is the only one.
_ZEBRA = """
mkdir -p /run/frr
sed 's/^frrvty:.*/frrvty:x:0:/' /etc/group >/run/headrace/group
mount --bind /run/headrace/group /etc/group
: >/run/headrace/zebra.conf
exec zebra -u root -g root -f /run/headrace/zebra.conf -P 0 --log stdout
"""


def _ospf(program: str, interface: str, router: str) -> str:
    return f"""
{{
  printf 'interface lo\\n {interface} area 0\\n'
  for phy in $phys; do
    printf 'interface %s\\n {interface} area 0\\n {interface} network point-to-point\\n' "$phy"
    printf ' {interface} hello-interval HELLO_S\\n {interface} dead-interval UPDATE_S\\n'
  done
  printf 'router {router}\\n {router} router-id %s\\n' "$HEADRACE_ADDRESS"
}} >/run/headrace/{program}.conf
until [ -S /run/frr/zserv.api ]; do sleep 0.05; done
exec {program} -u root -g root -f /run/headrace/{program}.conf -P 0 --log stdout
"""


# It broadcasts, which takes a broadcast address.
_BATMAND = """
for phy in $phys; do
  ip address flush dev "$phy" scope global
  ip address add "$HEADRACE_ADDRESS/8" broadcast 10.255.255.255 dev "$phy" noprefixroute
done
exec batmand -d 3 -o HELLO_MS $phys
"""

DAEMONS: Mapping[str, Daemon] = {
    "babeld": Daemon("babeld", {"babeld": _BABELD}),
    "bird": Daemon("bird2", {"bird": _BIRD}),
    "frr": Daemon(
        "frr",
        {
            "zebra": _ZEBRA,
            "ospfd": _ospf("ospfd", "ip ospf", "ospf"),
            "ospf6d": _ospf("ospf6d", "ipv6 ospf6", "ospf6"),
        },
        whole_seconds=True,
    ),
    "batmand": Daemon("batmand", {"batmand": _BATMAND}, families=(4,)),
}
"""By what a scenario's ``routing`` says. babeld and bird speak Babel, frr OSPF (versions 2 and 3), batmand
B.A.T.M.A.N. III."""


def update_s(hello_s: float) -> float:
    """Seconds between a daemon's updates, or after which a silent neighbour is dead (OSPF)."""
    return _UPDATE_HELLOS * hello_s


def programs(routing: str, hello_s: float) -> dict[str, tuple[str, ...]]:
    """The programs of a daemon and their words; ``hello_s``: seconds between its hellos. Raises HeadraceError."""
    daemon = DAEMONS[routing]
    if daemon.whole_seconds and hello_s != int(hello_s):
        raise HeadraceError(f"hello_s: {routing} takes whole seconds", 2)
    values = {
        "HELLO_S": f"{hello_s:g}",
        "UPDATE_S": f"{update_s(hello_s):g}",
        "HELLO_MS": str(round(hello_s * 1e3)),
        "UPDATE_MS": str(round(update_s(hello_s) * 1e3)),
    }
    found: dict[str, tuple[str, ...]] = {}
    for name, script in daemon.scripts.items():
        filled = re.sub("|".join(values), lambda word: values[word[0]], script)
        found[name] = ("sh", "-c", _BEGIN + filled)
    return found


def check(routing: str) -> None:
    """Raises HeadraceError where a daemon is not installed."""
    if routing in DAEMONS:
        for program in DAEMONS[routing].scripts:
            if shutil.which(program, path=f"{os.environ.get('PATH', os.defpath)}:{_PATH}") is None:
                raise HeadraceError(
                    f"routing {routing}: {program} is not installed: it is in Debian's {DAEMONS[routing].package}"
                )
