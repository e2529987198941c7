"""The dashboard's map: nodes and links, flat or in space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments, SceneClickEventArguments

from headrace.emulator.dashboard import colours, drawing
from headrace.emulator.dashboard.drawing import View
from headrace.emulator.dashboard.elements import Network
from headrace.emulator.dashboard.monitor import Monitor

_MAP_VH = 72


class NetworkMap:
    """``on_click`` is told the node that is clicked, or the link, as ``A:B``."""

    def __init__(self, monitor: Monitor, view: View, on_click: Callable[[str], None]) -> None:
        self._monitor = monitor
        self._view = view
        self._on_click = on_click
        self._kind = "2D"

    def build(self) -> None:
        """Needs an emulation that runs."""
        monitor, view = self._monitor, self._view
        with ui.row().classes("w-full items-center gap-2 no-wrap"):
            ui.toggle(["2D", "3D"], value=self._kind, on_change=lambda event: self._choose(event.value)).props(
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
        self._flat = (ui.echart(options, on_point_click=self._clicked).classes("map").style(_shape(view.aspect))).props(
            "data-testid=map"
        )
        self._scene: Any = None
        self._holder = ui.element("div").classes("w-full")
        self._choose(self._kind)

    def _choose(self, kind: str) -> None:
        self._kind = kind
        self._flat.set_visibility(kind == "2D")
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
                self._scene.on("init", self.show)
        self.show()

    def show(self) -> None:
        """Where all is now."""
        if self._monitor.state is None:
            return
        if self._scene is not None:
            self._network.show(*drawing.network_3d(self._monitor, self._view))
        else:
            self._flat.options.clear()
            self._flat.options.update(drawing.map_options(self._monitor, self._view))
            self._flat.style(_shape(self._view.aspect))
            self._flat.update()

    def _clicked(self, event: EChartPointClickEventArguments) -> None:
        if event.data_type == "edge":
            self._on_click(cast("dict[str, str]", event.data)["key"])
        else:
            self._on_click(event.name)

    def _clicked_3d(self, event: SceneClickEventArguments) -> None:
        for hit in event.hits:
            kind, _, what = str(hit.object_id).partition(":")
            if kind in ("node", "link"):
                self._on_click(self._monitor.names[int(what)] if kind == "node" else what)
                return


def _shape(aspect: float) -> str:
    """Of a map: as wide as there is room, unless it were higher than the screen."""
    return f"aspect-ratio:{aspect:.3f};height:auto;width:min(100%,{_MAP_VH * aspect:.1f}vh)"
