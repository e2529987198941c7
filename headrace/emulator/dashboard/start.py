"""The dashboard where no emulation runs: it starts one."""

from __future__ import annotations

from nicegui import background_tasks, ui

from headrace.emulator.dashboard.monitor import Monitor
from headrace.emulator.scenario import FABRICS


class Start:
    """The card in the board's place."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def build(self) -> None:
        """Of a scenario to start here; without one, how to start one."""
        monitor = self._monitor
        with ui.card().classes("mx-auto mt-8 w-full max-w-lg").props("data-testid=start-card"):
            if monitor.scenario is None:
                ui.label(f"No emulation {monitor.name} runs.").classes("text-h6")
                ui.label("Start one, and it appears here:")
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

    def show(self) -> None:
        """How far the building is."""
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
