"""The dashboard's page: a map, and panels beside it, or below it on a narrow screen.

Each part has a module of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import background_tasks, ui

from headrace.emulator.dashboard import colours
from headrace.emulator.dashboard.drawing import View
from headrace.emulator.dashboard.jams import Jams
from headrace.emulator.dashboard.link_dialog import LinkDialog
from headrace.emulator.dashboard.links import Links
from headrace.emulator.dashboard.monitor import Monitor
from headrace.emulator.dashboard.network_map import NetworkMap
from headrace.emulator.dashboard.nodes import Nodes
from headrace.emulator.dashboard.routes import Routes
from headrace.emulator.dashboard.start import Start
from headrace.emulator.dashboard.traffic import Traffic
from headrace.errors import HeadraceError

_LOOK_S = 0.25
_ASK_S = 2.0
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
        self._start = Start(monitor)
        self._map = NetworkMap(monitor, self._view, self._take)
        self._jams = Jams(monitor, self._ask)
        self._dialog = LinkDialog(monitor, self._view, self._jams.turn)
        self._links = Links(monitor, self._view, self._dialog.open)
        self._nodes = Nodes(monitor, self._view, self._map.show)
        self._routes = Routes(monitor, self._view, self._map.show)
        self._traffic = Traffic(monitor, self._ask)

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
            _button("dark_mode", "Dark or light mode", self._toggle_dark)
        self._body = ui.element("div").classes("w-full")
        self._dialog.build()
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
                    self._dialog.forget()
                    self._start.build()
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
            self._start.show()
            return
        self._hold.props(f"icon={'play_arrow' if state['hold'] else 'pause'}")
        self._next.set_visibility(state["hold"])
        self._clock.text = (
            f"{state['time_s']:g} s, step {state['step']}, {state['fabric']}, reach {state['coverage']:.0%}"
            + (", over" if state["done"] else "")
        )
        self._map.show()
        self._links.show()
        self._nodes.show()
        self._routes.show()
        if monitor.knows_traffic:
            self._traffic.show()
        self._jams.show()
        self._dialog.show()

    # ------------------------------------------------------------------------------------------------------ the board

    def _build_board(self) -> None:
        names = self._monitor.names
        if self._view.node is not None and self._view.node >= len(names):
            self._view.node = None
        if self._view.route is not None and max(self._view.route) >= len(names):
            self._view.route = None
        with ui.element("div").classes("board"):
            with ui.card().classes("p-2 gap-1"):
                self._map.build()
                self._jams.build()
            with ui.card().classes("p-2 gap-0"):
                with ui.tabs().props("dense no-caps inline-label outside-arrows mobile-arrows") as self._tabs:
                    ui.tab("links", "Links", icon="show_chart")
                    ui.tab("nodes", "Nodes", icon="memory")
                    ui.tab("routes", "Routes", icon="route")
                    if self._monitor.knows_traffic:
                        ui.tab("traffic", "Traffic", icon="send")
                with ui.tab_panels(self._tabs, value="links", animated=False).classes("w-full bg-transparent"):
                    with ui.tab_panel("links"):
                        self._links.build()
                    with ui.tab_panel("nodes"):
                        self._nodes.build()
                    with ui.tab_panel("routes"):
                        self._routes.build()
                    if self._monitor.knows_traffic:
                        with ui.tab_panel("traffic"):
                            self._traffic.build()

    async def _show_processes(self) -> None:
        """They are asked only while they are looked at."""
        if self._view.node is not None and self._tabs.value == "nodes":  # a node is chosen on a board alone
            await self._nodes.show_processes()

    def _take(self, target: str) -> None:
        """A click on a node, or on a link ``A:B``."""
        if self._jams.take_clicks:
            background_tasks.create(self._jams.turn(target))
            return
        a, colon, b = target.partition(":")
        if colon:
            self._dialog.open(a, b)
        else:
            self._nodes.select(self._monitor.names.index(a))
            self._tabs.set_value("nodes")

    # ------------------------------------------------------------------------------------------------------- running

    async def _toggle_hold(self) -> None:
        state = self._monitor.state
        if state is not None:
            await self._ask("hold", on=not state["hold"])

    async def _step(self) -> None:
        await self._ask("step")

    async def _ask_stop(self) -> None:
        with ui.dialog() as dialog, ui.card():
            ui.label(f"Stop the emulation {self._monitor.name}, with everything that runs in it?")
            with ui.row():
                ui.button("Stop", on_click=lambda: dialog.submit(True)).props("color=negative no-caps").props(
                    "data-testid=sure"
                )
                ui.button("Cancel", on_click=lambda: dialog.submit(False)).props("flat no-caps")
        if await dialog:
            await self._tried(self._monitor.stop)

    async def _ask(self, command: str, **given: Any) -> None:
        await self._tried(lambda: self._monitor.ask(command, **given))

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


def _button(icon: str, words: str, act: Callable[[], Any]) -> ui.button:
    return ui.button(icon=icon, on_click=act).props(f'flat dense round color=white aria-label="{words}"').tooltip(words)
