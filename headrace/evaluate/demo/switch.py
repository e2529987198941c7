# SPDX-License-Identifier: Apache-2.0
"""Flows of two tables whose counters are compared with tcpdump's counts, and hosts that ping each other through the
card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from headrace.cards.switch.card import open_switch_card
from headrace.cards.switch.controllers import Controllers
from headrace.cards.switch.ofctl import load_flows
from headrace.cards.switch.service import Service
from headrace.evaluate.demo import Setting, Shown, live, tcpdump
from headrace.evaluate.demo.views import table, verdict
from headrace.evaluate.loads.switch import Switch
from headrace.evaluate.loads.switch_network import hosts_at

FLOWS = {
    "table=0,priority=30,tcp,tp_dst=80,actions=goto_table:1": "ip and tcp dst port 80",
    "table=0,priority=20,udp,tp_dst=53,actions=push_vlan:0x8100,set_field:4149->vlan_vid,output:2": (
        "ip and udp dst port 53"
    ),
    "table=0,priority=10,icmp,actions=output:2": "icmp",
    "table=1,priority=10,ip,actions=dec_ttl,output:2": "ip and tcp dst port 80",
}
"""As ovs-ofctl reads them, and what tcpdump calls the packets that they take; by table and priority."""
CARD: dict[str, Any] = {
    "PORTS": 2, "TABLES": 2, "DATA_W": 256, "EXACT": 64, "TERNARY": 16, "NARROW": 1, "PROGRAM_WORDS": 1024,
    "METERS": 16,
}  # fmt: skip
"""A small one: it is built in a minute."""


def run(setting: Setting) -> Shown:
    """The traffic goes into port 1, without loss; what port 2 sends goes to a file. Raises HeadraceError."""
    folder, capture = setting.folder, setting.traffic.path
    setting.build("switch", CARD)
    flows, output = folder / "flows.txt", folder / "switched.pcap"
    flows.write_text("".join(f"{flow}\n" for flow in FLOWS))
    with open_switch_card(parameters=CARD, progress=False) as card:
        switch = Switch(card)
        switch.hold()
        load_flows(switch.agent, flows)
        card.source(0, f"pcap:{capture}")
        card.sink(1, f"pcap:{output}")
        ports = card.run().stats.ports
        with Controllers(switch.agent) as controllers:
            found = Service(switch.agent, switch.datapath, controllers, switch.hardware).flows()
    theirs = [tcpdump.count(capture, expression) for expression in FLOWS.values()]
    sent = sum(row["packets"] for row in found if "output" in row["instructions"])
    same = [row["packets"] for row in found] == theirs and ports[1].tx_frames == sent
    rows = table("table", "match", "instructions", "packets", "tcpdump's", numbers=["packets", "tcpdump's"])
    for row, count in zip(found, theirs, strict=True):
        equal = verdict(row["packets"] == count, f"{count:,}", f"{count:,}")
        rows.add_row(str(row["table"]), row["match"], row["instructions"], f"{row['packets']:,}", equal)
    setting.tell("pinging through it")
    answered, ping = pinged(folder)
    view = Group(
        f"{ports[0].rx_frames:,} packets came in at port 1, {ports[1].tx_frames:,} left at port 2 into {output}.",
        "",
        rows,
        "",
        ping,
    )
    return Shown(same and answered, view)


def pinged(folder: Path) -> tuple[bool, RenderableType]:
    """Two hosts, in network namespaces at the ports' TAP devices: whether all pings are answered, and in which time."""
    if reason := live.why_not("ping"):
        return True, Text(f"ping through the card: skipped: {reason}", "yellow")
    flows = folder / "between.txt"
    flows.write_text("in_port=1,actions=output:2\nin_port=2,actions=output:1\n")
    words = ["switch", "run", "--flows", str(flows), "--port", "1=tap:h1", "--port", "2=tap:h2"]
    with hosts_at(words, CARD, ["h1", "h2"]) as ((one, other), _):
        answered, ms = live.round_trip(one, other)
    good = answered == live.PINGS
    said = verdict(good, f"{answered} of {live.PINGS} pings", f"{answered} of {live.PINGS} pings")
    return good, Text.assemble(
        f"{one.address} to {other.address}, through the running card: ", said, f" answered, round trip {ms:.1f} ms"
    )
