"""The dashboard's page: a map, and panels beside it, or below it on a narrow screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from nicegui import background_tasks, ui
from nicegui.events import EChartPointClickEventArguments, SceneClickEventArguments

from headrace.emulator.dashboard import colours, drawing
from headrace.emulator.dashboard.drawing import View
from headrace.emulator.dashboard.elements import Network, Sparklines
from headrace.emulator.dashboard.monitor import HISTORY, Monitor, Port, connections
from headrace.emulator.scenario import FABRICS
from headrace.errors import HeadraceError

_LOOK_S = 0.25
_ASK_S = 2.0
_MAP_VH = 72
_STYLE = """
.nicegui-content { padding: 0.5rem; gap: 0.5rem; }
.body--light { background: #f4f6f8; }
.body--dark { background: #0d1117; }
.body--dark .q-card { background: #161b22; }
.board { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.5rem; width: 100%; }
.board > * { min-width: 0; }
@media (min-width: 1000px) { .board { grid-template-columns: minmax(0, 13fr) minmax(0, 9fr); align-items: start; } }
.map { width: 100%; height: auto; margin: 0 auto; }
.q-tab { min-height: 40px; padding: 0 10px; }
.q-header .q-btn { padding: 4px; }
.q-tab-panel { padding: 0.5rem 0 0 0; }
"""


class Page:
    """One browser's page on an emulation."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._view = View()
        self._tick = -1
        self._phase: tuple[Any, ...] = ()
        self._map_kind = "2D"
        self._kind = "bps"
        self._of: int | None = None
        self._open: tuple[str, str] | None = None

    async def build(self) -> None:
        """All of it; what the browser prefers, dark or light, is asked there."""
        ui.add_css(_STYLE)
        self._dark = ui.dark_mode(None)
        with ui.header().classes("items-center q-py-xs q-px-sm gap-2 no-wrap").style(f"background:{colours.ROUTE}"):
            ui.label("Headrace").classes("text-bold text-subtitle1")
            self._name = ui.label(self._monitor.name).classes("opacity-80 gt-xs")
            self._clock = ui.label().classes("ellipsis text-body2").props("data-testid=clock")
            ui.space()
            self._hold = _button("pause", "Hold", self._toggle_hold).props("data-testid=hold")
            self._next = _button("skip_next", "Next step", self._step).props("data-testid=step")
            self._stop = _button("stop", "Stop the emulation", self._ask_stop).props("data-testid=stop")
            _button("dark_mode", "Dark or light", self._toggle_dark)
        self._body = ui.element("div").classes("w-full")
        self._dialog = ui.dialog().on_value_change(lambda event: self._closed(event.value))
        await ui.context.client.connected()
        self._view.dark = bool(await ui.run_javascript("document.body.classList.contains('body--dark')", timeout=60))
        self._look()
        ui.timer(_LOOK_S, self._look)
        ui.timer(_ASK_S, self._show_processes)

    # -------------------------------------------------------------------------------------------------- what is new

    def _look(self) -> None:
        monitor = self._monitor
        phase = (tuple(monitor.names), self._view.dark) if monitor.state else (monitor.building.busy,)
        if phase != self._phase:
            self._phase, self._tick = phase, -1
            self._body.clear()
            with self._body:
                if monitor.state:
                    self._build_board()
                else:
                    self._open = None
                    self._build_start()
        if monitor.tick != self._tick or monitor.building.busy:
            self._tick = monitor.tick
            self._show()

    def _show(self) -> None:
        monitor = self._monitor
        for button in (self._hold, self._next, self._stop):
            button.set_visibility(monitor.state is not None)
        state = monitor.state
        if state is None:
            self._clock.text = "building" if monitor.building.busy else "not running"
            self._show_start()
            return
        self._hold.props(f"icon={'play_arrow' if state['hold'] else 'pause'}")
        self._next.set_visibility(state["hold"])
        self._clock.text = (
            f"{state['time_s']:g} s, step {state['step']}, {state['fabric']}, reach {state['coverage']:.0%}"
            + (", over" if state["done"] else "")
        )
        self._show_map()
        self._show_cells()
        self._show_node()
        self._show_route()
        self._show_traffic()
        self._show_jams()
        self._show_link()

    # ------------------------------------------------------------------------------------------- building a scenario

    def _build_start(self) -> None:
        monitor = self._monitor
        with ui.card().classes("mx-auto mt-8 w-full max-w-lg").props("data-testid=start-card"):
            if monitor.scenario is None:
                ui.label(f"No emulation {monitor.name} runs.").classes("text-h6")
                ui.label("Start one, and it shows here:")
                ui.code(f"headrace emulate run SCENARIO --name {monitor.name}", language="bash").classes("w-full")
                return
            ui.label(monitor.scenario.name).classes("text-h6")
            busy = monitor.building.busy
            with ui.row().classes("items-center w-full"):
                names: dict[str | None, str] = {None: "the scenario's", **{each: each for each in FABRICS}}
                fabric = ui.select(names, value=None, label="Fabric")
                fabric.classes("w-40").set_enabled(not busy)
                hold = ui.checkbox("Hold at each step")
                hold.set_enabled(not busy)
                ui.space()
                begin = ui.button("Build and run", icon="play_arrow").props("data-testid=start")
                begin.set_enabled(not busy)
                begin.on_click(lambda: background_tasks.create(monitor.start(fabric.value, hold.value)))
            self._progress = ui.linear_progress(0, show_value=False).props("instant-feedback")
            self._part = ui.label().classes("text-body2")
            self._error = ui.label().classes("text-negative").props("data-testid=error")

    def _show_start(self) -> None:
        building = self._monitor.building
        if self._monitor.scenario is None:
            return
        self._progress.set_visibility(building.busy)
        self._progress.props(add="indeterminate" if not building.done else "", remove="indeterminate")
        if not building.done:
            self._progress.props("indeterminate")
        self._progress.value = building.done / building.of if building.of else 0
        counts = f": {building.done} of {building.of}" if building.done else ""
        slow = "; the card's model takes minutes the first time" if building.part == "fabric rtl" else ""
        self._part.text = f"building {building.part}{counts}{slow}" if building.busy else ""
        self._error.text = building.error

    # ------------------------------------------------------------------------------------------------------ the board

    def _build_board(self) -> None:
        names = self._monitor.names
        if self._view.node is not None and self._view.node >= len(names):
            self._view.node = None
        if self._view.route is not None and max(self._view.route) >= len(names):
            self._view.route = None
        with ui.element("div").classes("board"):
            with ui.card().classes("p-2 gap-1"):
                self._build_map()
                self._build_jams()
            with ui.card().classes("p-2 gap-0"):
                with ui.tabs().props("dense no-caps inline-label outside-arrows mobile-arrows") as self._tabs:
                    ui.tab("links", "Links", icon="show_chart")
                    ui.tab("nodes", "Nodes", icon="memory")
                    ui.tab("routes", "Routes", icon="route")
                    if self._monitor.knows_traffic:
                        ui.tab("traffic", "Traffic", icon="send")
                with ui.tab_panels(self._tabs, value="links", animated=False).classes("w-full bg-transparent"):
                    with ui.tab_panel("links"):
                        self._build_cells()
                    with ui.tab_panel("nodes"):
                        self._build_node()
                    with ui.tab_panel("routes"):
                        self._build_route()
                    if self._monitor.knows_traffic:
                        with ui.tab_panel("traffic"):
                            self._build_traffic()

    def _build_map(self) -> None:
        monitor, view = self._monitor, self._view
        with ui.row().classes("w-full items-center gap-2 no-wrap"):
            ui.toggle(["2D", "3D"], value=self._map_kind, on_change=lambda event: self._map(event.value)).props(
                "dense no-caps"
            ).props("data-testid=map-kind")
            with ui.row().classes("gap-x-2 gap-y-0 text-caption items-center"):
                ui.label("load")
                assert monitor.state is not None
                down = [("down", colours.DOWN)] if "hosts" in monitor.state else []
                for words, colour in [*colours.legend(), ("jammed", colours.JAMMED), *down]:
                    with ui.row().classes("gap-1 items-center no-wrap"):
                        ui.element("div").style(f"width:12px;height:4px;background:{colour}")
                        ui.label(words)
        options = drawing.map_options(monitor, view)
        self._map_2d = (
            ui.echart(options, on_point_click=self._clicked).classes("map").style(_shape(view.aspect))
        ).props("data-testid=map")
        self._scene: Any = None
        self._holder = ui.element("div").classes("w-full")
        self._map(self._map_kind)

    def _map(self, kind: str) -> None:
        self._map_kind = kind
        self._map_2d.set_visibility(kind == "2D")
        self._holder.clear()
        self._scene = None
        if kind == "3D":
            with self._holder:
                camera = ui.scene.perspective_camera(fov=45)
                camera.x, camera.y, camera.z = 0, -9.5, 7.5
                self._scene = ui.scene(
                    900, 600, grid=False, camera=camera, on_click=self._clicked_3d, click_events=["click"],
                    background_color=colours.ground(self._view.dark),
                ).classes("map").style("height:60vh").props("data-testid=scene")  # fmt: skip
                with self._scene:
                    self._network = Network(
                        self._monitor.names, colours.NODE, colours.text(self._view.dark), drawing.SIZE_3D
                    )
                self._scene.on("init", self._show_map)
        self._show_map()

    def _show_map(self) -> None:
        if self._monitor.state is None:
            return
        if self._scene is not None:
            self._network.show(*drawing.network_3d(self._monitor, self._view))
        else:
            self._map_2d.options.clear()
            self._map_2d.options.update(drawing.map_options(self._monitor, self._view))
            self._map_2d.style(_shape(self._view.aspect))
            self._map_2d.update()

    def _clicked(self, event: EChartPointClickEventArguments) -> None:
        if event.data_type == "edge":
            self._take(cast("dict[str, str]", event.data)["key"])
        else:
            self._take(event.name)

    def _clicked_3d(self, event: SceneClickEventArguments) -> None:
        for hit in event.hits:
            kind, _, what = str(hit.object_id).partition(":")
            if kind in ("node", "link"):
                self._take(self._monitor.names[int(what)] if kind == "node" else what)
                return

    def _take(self, target: str) -> None:
        """A click on a node, or on a link ``A:B``."""
        if self._click_jams.value:
            background_tasks.create(self._turn_jam(target))
            return
        a, colon, b = target.partition(":")
        if colon:
            self._show_dialog(a, b)
        else:
            self._select(self._monitor.names.index(a))
            self._tabs.set_value("nodes")

    # ------------------------------------------------------------------------------------------------------- jamming

    def _build_jams(self) -> None:
        with ui.row().classes("w-full items-center gap-2"):
            self._click_jams = ui.switch("A click jams").props("dense color=pink").props("data-testid=click-jams")
            self._loss = ui.slider(min=0.05, max=1, step=0.05, value=1).classes("w-28").props("data-testid=loss")
            ui.label().bind_text_from(
                self._loss, "value", lambda loss: "no link" if loss >= 1 else f"loses {loss:.0%}"
            ).classes("text-caption w-16")
            self._jams = ui.row().classes("gap-1")
        self._jams_shown: list[Any] = []

    def _show_jams(self) -> None:
        state = self._monitor.state
        shown = _grouped(state["jams"], self._monitor.names) if state else []
        shown += [(":".join(phy), 1.0) for phy in state["lost_phys"]] if state else []
        if shown == self._jams_shown:
            return
        self._jams_shown = shown
        self._jams.clear()
        with self._jams:
            for target, loss in shown:
                words = f"{target} {loss:.0%}" if loss < 1 else target
                chip = (
                    ui.chip(words, icon="wifi_off", removable=True, color="pink-3")
                    .props("dense")
                    .props("data-testid=jam")
                )
                chip.on_value_change(lambda _, target=target: background_tasks.create(self._jam(target, 0.0)))

    async def _turn_jam(self, target: str) -> None:
        state = self._monitor.state
        jams = dict(_grouped(state["jams"], self._monitor.names)) if state else {}
        pairs = {":".join(jam["nodes"]) for jam in state["jams"]} if state else set()
        await self._jam(target, 0.0 if target in jams or target in pairs else self._loss.value)

    async def _jam(self, target: str, loss: float) -> None:
        await self._tried(lambda: self._monitor.ask("jam", targets=[target], loss=loss))

    # --------------------------------------------------------------------------------------------------------- links

    def _build_cells(self) -> None:
        choices: dict[int | None, str] = {None: "all nodes", **dict(enumerate(self._monitor.names))}
        with ui.row().classes("w-full items-center gap-2"):
            kinds = {"bps": "bits per second", "latency_s": "latency"}
            self._kinds = ui.toggle(kinds, value=self._kind, on_change=lambda event: self._change(kind=event.value))
            self._kinds.props("dense no-caps").props("data-testid=kind")
            ui.select(choices, value=self._of, on_change=lambda event: self._change(of=event.value)).props(
                "dense options-dense borderless"
            ).classes("w-24")
        self._cells = Sparklines(HISTORY, self._picked, self._reset_cells).props("data-testid=cells")
        ui.keyboard(on_key=self._key)

    def _key(self, event: Any) -> None:
        if event.key == " " and event.action.keydown and not event.action.repeat:
            self._kinds.set_value("latency_s" if self._kind == "bps" else "bps")

    def _change(self, **what: Any) -> None:
        self._kind = what.get("kind", self._kind)
        self._of = what.get("of", self._of)
        self._reset_cells()

    def _reset_cells(self) -> None:
        colour = colours.ROUTE if self._kind == "bps" else colours.LOADS[-1][1]
        if self._view.dark:
            colour = colours.LOADS[0][1] if self._kind == "bps" else colours.LOADS[2][1]
        monitor = self._monitor
        self._cells.reset(
            drawing.cells(monitor, self._kind, self._of), drawing.past(monitor, self._kind, self._of),
            self._kind == "latency_s", colour,
        )  # fmt: skip

    def _show_cells(self) -> None:
        self._cells.push(drawing.cells(self._monitor, self._kind, self._of))

    def _picked(self, key: str) -> None:
        node, phy = map(int, key.split(":"))
        found = self._monitor.far_end(Port(node, phy))
        if found is not None:
            self._show_dialog(*found[0].nodes)

    def _show_dialog(self, a: str, b: str) -> None:
        """Large graphs of a link."""
        self._open = (a, b)
        self._dialog.clear()
        with self._dialog, ui.card().classes("w-full max-w-2xl"):
            with ui.row().classes("w-full items-center"):
                ui.label(f"{a} - {b}").classes("text-h6")
                ui.space()
                ui.button("Jam, or no longer", icon="wifi_off", on_click=lambda: self._turn_jam(f"{a}:{b}")).props(
                    "dense no-caps color=pink"
                ).props("data-testid=jam-link")
                ui.button(icon="close", on_click=self._dialog.close).props("flat dense round")
            self._words = ui.label().classes("text-body2")
            self._graph = (
                ui.echart({"series": []}).classes("w-full").style("height:350px").props("data-testid=link-graph")
            )
        self._dialog.open()
        self._show_link()

    def _closed(self, is_open: bool) -> None:
        if not is_open:
            self._open = None

    def _show_link(self) -> None:
        if self._open is None:
            return
        link = self._monitor.links.get(self._open)
        a, b = self._open
        if link is None:
            self._words.text = "no link at the moment"
            return
        there, back = (self._monitor.latency_s(end) for end in link.ends)
        self._words.text = (
            f"{link.distance_m:.0f} m; there and back: "
            f"{' and '.join(drawing.si(way.rate_bps, 'b/s') for way in link.ways)}, "
            f"loss {' and '.join(f'{way.loss:.2g}' for way in link.ways)}, "
            f"latency {drawing.si(there, 's')} and {drawing.si(back, 's')}"
        )
        words = (f"{a} → {b}", f"{b} → {a}")
        self._graph.options.clear()
        self._graph.options.update(drawing.link_options(self._monitor, link.ends, words, self._view.dark))
        self._graph.update()

    # --------------------------------------------------------------------------------------------------------- nodes

    def _build_node(self) -> None:
        choices = dict(enumerate(self._monitor.names))
        self._which = ui.select(choices, value=self._view.node, label="Node", with_input=len(choices) > 12)
        self._which.classes("w-40").props("data-testid=node").on_value_change(lambda event: self._select(event.value))
        self._about = ui.label().classes("text-body2").props("data-testid=about")
        self._phys = _table("PHYs", phy="PHY", to="to", out="sends", back="receives", latency="latency",
                            metres="distance", loss="loss", frames="frames out/in", octets="bytes out/in")  # fmt: skip
        self._phys.props("data-testid=phys")
        self._table = _table("Routing table", to="to", via="via", phy="PHY", metric="metric").props(
            "data-testid=routing-table"
        )
        self._programs = _table("Programs", name="program", state="state")
        self._processes = _table("Processes of the node's own", role="process", peers="connected to", counts="counts")
        self._own_routes = _table("Their routes", to="to node", via="via", phy="PHY", hops="hops")

    def _select(self, node: int | None) -> None:
        self._view.node = node
        if self._which.value != node:
            self._which.set_value(node)
        self._show_node()
        self._show_map()

    def _show_node(self) -> None:
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
        _fill(self._phys, rows)
        names = {each["address"]: each["name"] for each in monitor.state["nodes"]}
        _fill(
            self._table,
            [
                {
                    "to": names.get(route.destination, f"{route.destination}/{route.prefix}"),
                    "via": names.get(route.gateway, route.gateway) or "beside it",
                    "phy": route.interface,
                    "metric": route.metric,
                }
                for route in monitor.routes.get(node, [])
            ],
        )
        _fill(self._programs, [{"name": name, "state": state} for name, state in told["programs"].items()])

    async def _show_processes(self) -> None:
        """What the node's own processes say, where it has some; they are asked only while they are looked at."""
        node = self._view.node
        if node is None or not self._monitor.knows_traffic or self._tabs.value != "nodes":
            return  # a node is chosen on a board alone
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
            _fill(table, found)
            table.set_visibility(bool(found))

    # -------------------------------------------------------------------------------------------------------- routes

    def _build_route(self) -> None:
        choices = dict(enumerate(self._monitor.names))
        source, destination = self._view.route or (None, None)
        with ui.row().classes("items-center gap-2 w-full"):
            self._ends = [
                ui.select(
                    choices,
                    value=value,
                    label=label,
                    clearable=True,
                    with_input=len(choices) > 12,
                    on_change=self._choose_route,
                )
                .classes("w-32")
                .props(f"data-testid={label}")
                for label, value in (("From", source), ("To", destination))
            ]
        self._way = ui.label().classes("text-body1 q-mt-sm").props("data-testid=way")
        ui.label("By the routing tables of the nodes' kernels, as they are now.").classes("text-caption opacity-70")

    def _choose_route(self) -> None:
        source, destination = (end.value for end in self._ends)
        chosen = source is not None and destination is not None and source != destination
        self._view.route = (source, destination) if chosen else None
        self._show_route()
        self._show_map()

    def _show_route(self) -> None:
        if self._view.route is None:
            self._way.text = "Choose two nodes: the map shows the way."
            return
        path, arrives = self._monitor.route(*self._view.route)
        way = " → ".join(self._monitor.names[node] for node in path)
        hops = len(path) - 1
        self._way.text = f"{way}: {hops} hop{'s' if hops != 1 else ''}" if arrives else f"{way}: no route on from there"

    # ------------------------------------------------------------------------------------------------------- traffic

    def _build_traffic(self) -> None:
        choices = dict(enumerate(self._monitor.names))
        with ui.row().classes("items-end gap-2 w-full"):
            source, to = (
                ui.select(choices, label=label, with_input=len(choices) > 12)
                .classes("w-24")
                .props(f"data-testid=traffic-{label}")
                for label in ("From", "To")
            )
            kind = ui.select(["telemetry", "command", "image"], value="telemetry", label="Kind").classes("w-28")
            size = ui.number("Bytes", min=1, max=65000, format="%d", placeholder="the kind's").classes("w-24")
            rate = ui.number("kb/s", min=0.01, placeholder="the kind's").classes("w-24")
            lasts = ui.number("Seconds", min=0.1, value=30).classes("w-20")

            async def send() -> None:
                if source.value is None or to.value is None:
                    ui.notify("From which node, and to which?", type="warning")
                    return
                names = self._monitor.names
                asked: dict[str, Any] = {
                    "from": names[source.value], "to": names[to.value], "kind": kind.value,
                    "size": None if size.value is None else int(size.value),
                    "rate_bps": None if rate.value is None else rate.value * 1e3, "duration_s": lasts.value,
                }  # fmt: skip
                given = {key: value for key, value in asked.items() if value is not None}
                await self._tried(lambda: self._monitor.ask("traffic", **given))

            ui.button("Send", icon="send", on_click=send).props("no-caps").props("data-testid=send")
        self._streams = _table(
            "Streams", name="stream", ends="", kind="kind", size="bytes", sent="sent", received="received", lost="lost",
            latency="latency p50/p99", bps="throughput",
        )  # fmt: skip
        self._streams.props("data-testid=streams")

    def _show_traffic(self) -> None:
        if not self._monitor.knows_traffic:
            return
        assert self._monitor.state is not None
        rows = []
        for each in self._monitor.state["traffic"]:
            latency = each["latency_s"]
            quantiles = (drawing.si(latency[key], "s") for key in ("p50", "p99")) if latency else ()
            rows.append(
                {key: each[key] for key in ("name", "kind", "size", "sent", "received", "lost")}
                | {
                    "ends": f"{each['from']} → {each['to']}",
                    "latency": " / ".join(quantiles),
                    "bps": drawing.si(each["throughput_bps"], "b/s"),
                }
            )
        _fill(self._streams, rows)

    # ------------------------------------------------------------------------------------------------------- running

    async def _toggle_hold(self) -> None:
        state = self._monitor.state
        if state is not None:
            await self._tried(lambda: self._monitor.ask("hold", on=not state["hold"]))

    async def _step(self) -> None:
        await self._tried(lambda: self._monitor.ask("step"))

    async def _ask_stop(self) -> None:
        with ui.dialog() as dialog, ui.card():
            ui.label(f"Stop the emulation {self._monitor.name}, with all that runs in it?")
            with ui.row():
                ui.button("Stop it", on_click=lambda: dialog.submit(True)).props("color=negative no-caps").props(
                    "data-testid=sure"
                )
                ui.button("Leave it", on_click=lambda: dialog.submit(False)).props("flat no-caps")
        if await dialog:
            await self._tried(self._monitor.stop)

    async def _tried(self, act: Callable[[], Awaitable[Any]]) -> None:
        """Does it, and says what is wrong."""
        try:
            await act()
        except HeadraceError as error:
            with self._body:
                ui.notify(str(error), type="negative")
        else:
            await self._monitor.refresh()

    def _toggle_dark(self) -> None:
        self._view.dark = not self._view.dark
        self._dark.set_value(self._view.dark)


def _shape(aspect: float) -> str:
    """Of a map: as wide as there is room, unless it were higher than the screen."""
    return f"aspect-ratio:{aspect:.3f};height:auto;width:min(100%,{_MAP_VH * aspect:.1f}vh)"


def _button(icon: str, words: str, act: Callable[[], Any]) -> ui.button:
    return ui.button(icon=icon, on_click=act).props(f'flat dense round color=white aria-label="{words}"').tooltip(words)


def _table(title: str, **columns: str) -> ui.table:
    head = [{"name": key, "label": label, "field": key, "align": "left"} for key, label in columns.items()]
    return (
        ui.table(columns=head, rows=[], row_key=next(iter(columns)), title=title).props("dense flat").classes("w-full")
    )


def _fill(table: ui.table, rows: list[dict[str, Any]]) -> None:
    if table.rows != rows:
        table.rows = rows


def _grouped(jams: list[dict[str, Any]], names: list[str]) -> list[tuple[str, float]]:
    """What is jammed and its loss: nodes where that goes for all their pairs, and pairs beside."""
    loss = {frozenset(jam["nodes"]): jam["loss"] for jam in jams}
    found: list[tuple[str, float]] = []
    for name in names:
        own = [loss.get(frozenset((name, other))) for other in names if other != name]
        if len(own) > 1 and own[0] is not None and own.count(own[0]) == len(own):
            found.append((name, own[0]))
    whole = {name for name, _ in found}
    pairs = [(":".join(jam["nodes"]), jam["loss"]) for jam in jams if not whole & set(jam["nodes"])]
    return [*found, *pairs]
