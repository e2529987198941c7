"""The dashboard's panel of nodes: one node's PHYs, routing table, programs and processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from headrace.emulator.dashboard import drawing
from headrace.emulator.dashboard.drawing import View
from headrace.emulator.dashboard.elements import fill, new_table
from headrace.emulator.dashboard.monitor import Monitor, connections
from headrace.errors import HeadraceError


class Nodes:
    """``on_choice`` is called when another node is chosen."""

    def __init__(self, monitor: Monitor, view: View, on_choice: Callable[[], None]) -> None:
        self._monitor = monitor
        self._view = view
        self._on_choice = on_choice

    def build(self) -> None:
        """The choice of a node, and tables."""
        choices = dict(enumerate(self._monitor.names))
        self._which = ui.select(choices, value=self._view.node, label="Node", with_input=len(choices) > 12)
        self._which.classes("w-40").props("data-testid=node").on_value_change(lambda event: self.select(event.value))
        self._about = ui.label().classes("text-body2").props("data-testid=about")
        self._phys = new_table("PHYs", phy="PHY", to="to", out="sends", back="receives", latency="latency",
                               metres="distance", loss="loss", frames="frames out/in",
                               octets="bytes out/in")  # fmt: skip
        self._phys.props("data-testid=phys")
        self._table = new_table("Routing table", to="to", via="via", phy="PHY", metric="metric").props(
            "data-testid=routing-table"
        )
        self._programs = new_table("Programs", name="program", state="state")
        self._processes = new_table("The node's own processes", role="process", peers="connected to", counts="counts")
        self._own_routes = new_table("Their routes", to="to node", via="via", phy="PHY", hops="hops")

    def select(self, node: int | None) -> None:
        """Chooses a node by its index."""
        self._view.node = node
        if self._which.value != node:
            self._which.set_value(node)
        self.show()
        self._on_choice()

    def show(self) -> None:
        """The node as it is now."""
        monitor, node = self._monitor, self._view.node
        for table in (self._phys, self._table, self._programs):
            table.set_visibility(node is not None)
        if node is None or not self._monitor.knows_traffic or not self._processes.rows:
            for table in (self._processes, self._own_routes):
                table.set_visibility(False)
        if node is None or monitor.state is None:
            self._about.text = "Choose a node here or on the map."
            return
        told = monitor.state["nodes"][node]
        joined = {port.phy: (port, link, name) for port, link, name in connections(monitor.links, node)}
        self._about.text = (
            f"{told['address']}, at "
            + ", ".join(f"{axis:.0f}" for axis in told["position_m"])
            + f" m{drawing.on_host(told)}; "
            + (
                f"{len(joined)} connections: {', '.join(name for _, _, name in joined.values())}"
                if joined
                else "no connections"
            )
        )
        rows = []
        for phy, counters in enumerate(monitor.state["counters"][node]):
            row = {
                "phy": f"phy{phy}",
                "frames": f"{counters['sent_frames']:,}/{counters['received_frames']:,}",
                "octets": f"{drawing.si(counters['sent_bytes'], 'B')}/{drawing.si(counters['received_bytes'], 'B')}",
            }
            if phy in joined:
                port, link, name = joined[phy]
                end = link.ends.index(port)
                row |= {
                    "to": name,
                    "out": f"{drawing.si(link.ways[end].bps, 'b/s')} of {drawing.si(link.ways[end].rate_bps, 'b/s')}",
                    "back": drawing.si(link.ways[1 - end].bps, "b/s"),
                    "latency": drawing.si(monitor.latency_s(port), "s"),
                    "metres": f"{link.distance_m:.0f} m",
                    "loss": f"{link.ways[end].loss:.2g}",
                }
            rows.append(row)
        fill(self._phys, rows)
        names = {each["address"]: each["name"] for each in monitor.state["nodes"]}
        fill(
            self._table,
            [
                {
                    "to": names.get(route.destination, f"{route.destination}/{route.prefix}"),
                    "via": names.get(route.gateway, route.gateway) or "direct",
                    "phy": route.interface,
                    "metric": route.metric,
                }
                for route in monitor.routes.get(node, [])
            ],
        )
        fill(self._programs, [{"name": name, "state": state} for name, state in told["programs"].items()])

    async def show_processes(self) -> None:
        """What the node's own processes say, where it has some."""
        node = self._view.node
        if node is None or not self._monitor.knows_traffic:
            return
        try:
            said = await self._monitor.ask("processes", node=self._monitor.names[node])
        except HeadraceError:
            said = {"processes": []}
        if node != self._view.node or self._monitor.state is None:
            return
        rows = [
            {
                "role": each["role"],
                "peers": " ".join(map(str, each.get("peers", []))),
                "counts": each.get("error")
                or ", ".join(f"{key} {count:,}" for key, count in each.get("counts", {}).items() if count),
            }
            for each in said["processes"]
        ]
        routes: list[Any] = next((each["routes"] for each in said["processes"] if "routes" in each), [])
        for table, found in ((self._processes, rows), (self._own_routes, routes)):
            fill(table, found)
            table.set_visibility(bool(found))
