"""Tables, and what NiceGUI doesn't have: many small graphs on one canvas, and a network in a 3D scene."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.scene.scene_object3d import Object3D

_HERE = Path(__file__).parent


class Sparklines(Element, component=_HERE / "sparklines.js"):
    """``history``: so many values a graph has; ``on_pick`` is told the key of a cell that is clicked; ``on_ready`` is
    called whenever the browser has it anew, to be given everything."""

    def __init__(self, history: int, on_pick: Callable[[str], None], on_ready: Callable[[], None]) -> None:
        super().__init__()
        self._props["history"] = history
        self.on("pick", lambda event: on_pick(event.args))
        self.on("ready", on_ready)

    def reset(self, cells: list[dict[str, Any]], values: dict[str, Any], log: bool, colour: str) -> None:
        """Other cells, with their past."""
        self.run_method("reset", cells, values, log, colour)

    def push(self, cells: list[dict[str, Any]]) -> None:
        """The next second."""
        self.run_method("push", cells)


class Network(Object3D, component=_HERE / "network.js"):
    """Nodes by their names. ``size``: of the grid on the ground. A click on one hits ``node:INDEX`` or ``link:KEY``."""

    def __init__(self, names: list[str], colour: str, label: str, size: float) -> None:
        super().__init__(names, colour, label, size)

    def show(self, places: list[Any], links: list[Any], colours: list[str], glide_ms: float) -> None:
        """Where all goes now."""
        self.run_method("update", places, links, colours, glide_ms)


def new_table(title: str, **columns: str) -> ui.table:
    """An empty one; each column has its key and its title."""
    head = [{"name": key, "label": label, "field": key, "align": "left"} for key, label in columns.items()]
    return (
        ui.table(columns=head, rows=[], row_key=next(iter(columns)), title=title).props("dense flat").classes("w-full")
    )


def fill(table: ui.table, rows: list[dict[str, Any]]) -> None:
    """Gives a table other rows, where they are others."""
    if table.rows != rows:
        table.rows = rows
