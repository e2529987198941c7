"""The dashboard's panel of routes: the way from one node to another."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from headrace.emulator.dashboard.drawing import View
from headrace.emulator.dashboard.monitor import Monitor


class Routes:
    """``on_choice`` is called when other nodes are chosen."""

    def __init__(self, monitor: Monitor, view: View, on_choice: Callable[[], None]) -> None:
        self._monitor = monitor
        self._view = view
        self._on_choice = on_choice

    def build(self) -> None:
        """The choice of two nodes, and the way."""
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
                    on_change=self._choose,
                )
                .classes("w-32")
                .props(f"data-testid={label}")
                for label, value in (("From", source), ("To", destination))
            ]
        self._way = ui.label().classes("text-body1 q-mt-sm").props("data-testid=way")
        ui.label("From the present routing tables of the nodes' kernels.").classes("text-caption opacity-70")

    def _choose(self) -> None:
        source, destination = (end.value for end in self._ends)
        chosen = source is not None and destination is not None and source != destination
        self._view.route = (source, destination) if chosen else None
        self.show()
        self._on_choice()

    def show(self) -> None:
        """The way as it is now."""
        if self._view.route is None:
            self._way.text = "Choose two nodes: the map shows the way."
            return
        path, arrives = self._monitor.route(*self._view.route)
        way = " → ".join(self._monitor.names[node] for node in path)
        hops = len(path) - 1
        self._way.text = f"{way}: {hops} hop{'s' if hops != 1 else ''}" if arrives else f"{way}: no route on from there"
