"""The dashboard's dialog of one link: large graphs of it, and jamming it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from headrace.emulator.dashboard import drawing
from headrace.emulator.dashboard.drawing import View
from headrace.emulator.dashboard.monitor import Monitor


class LinkDialog:
    """``turn_jam`` jams a link, or no longer."""

    def __init__(self, monitor: Monitor, view: View, turn_jam: Callable[[str], Awaitable[None]]) -> None:
        self._monitor = monitor
        self._view = view
        self._turn_jam = turn_jam
        self._open: tuple[str, str] | None = None

    def build(self) -> None:
        """It is closed."""
        self._dialog = ui.dialog().on_value_change(lambda event: self._closed(event.value))

    def open(self, a: str, b: str) -> None:
        """Large graphs of a link."""
        self._open = (a, b)
        self._dialog.clear()
        with self._dialog, ui.card().classes("w-full max-w-2xl"):
            with ui.row().classes("w-full items-center"):
                ui.label(f"{a} - {b}").classes("text-h6")
                ui.space()
                ui.button("Jam or end the jam", icon="wifi_off", on_click=lambda: self._turn_jam(f"{a}:{b}")).props(
                    "dense no-caps color=pink"
                ).props("data-testid=jam-link")
                ui.button(icon="close", on_click=self._dialog.close).props("flat dense round")
            self._words = ui.label().classes("text-body2")
            self._graph = (
                ui.echart({"series": []}).classes("w-full").style("height:350px").props("data-testid=link-graph")
            )
        self._dialog.open()
        self.show()

    def forget(self) -> None:
        """Shows no link any more."""
        self._open = None

    def _closed(self, is_open: bool) -> None:
        if not is_open:
            self._open = None

    def show(self) -> None:
        """The link as it is now, if the dialog is open."""
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
