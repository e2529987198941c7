"""The dashboard's panel of links: a small graph of each PHY that has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from headrace.emulator.dashboard import colours, drawing
from headrace.emulator.dashboard.drawing import View
from headrace.emulator.dashboard.elements import Sparklines
from headrace.emulator.dashboard.monitor import HISTORY, Monitor, Port


class Links:
    """``on_pick`` is told the ends of the link whose graph is clicked."""

    def __init__(self, monitor: Monitor, view: View, on_pick: Callable[[str, str], None]) -> None:
        self._monitor = monitor
        self._view = view
        self._on_pick = on_pick
        self._kind = "bps"
        self._of: int | None = None

    def build(self) -> None:
        """The choice of what they show, and the graphs."""
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

    def show(self) -> None:
        """The next second."""
        self._cells.push(drawing.cells(self._monitor, self._kind, self._of))

    def _picked(self, key: str) -> None:
        node, phy = map(int, key.split(":"))
        found = self._monitor.far_end(Port(node, phy))
        if found is not None:
            self._on_pick(*found[0].nodes)
