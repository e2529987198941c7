"""The dashboard's jams: what is jammed, and jamming it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import background_tasks, ui

from headrace.emulator.dashboard.monitor import Monitor


class Jams:
    """``ask`` asks the emulation, and says what is wrong."""

    def __init__(self, monitor: Monitor, ask: Callable[..., Awaitable[None]]) -> None:
        self._monitor = monitor
        self._ask = ask

    def build(self) -> None:
        """A row below the map."""
        with ui.row().classes("w-full items-center gap-2"):
            self._switch = ui.switch("A click jams").props("dense color=pink").props("data-testid=click-jams")
            self._loss = ui.slider(min=0.05, max=1, step=0.05, value=1).classes("w-28").props("data-testid=loss")
            ui.label().bind_text_from(
                self._loss, "value", lambda loss: "no link" if loss >= 1 else f"loss {loss:.0%}"
            ).classes("text-caption w-16")
            self._chips = ui.row().classes("gap-1")
        self._shown: list[Any] = []

    @property
    def take_clicks(self) -> bool:
        """A click on the map jams what is clicked."""
        return bool(self._switch.value)

    def show(self) -> None:
        """What is jammed now."""
        state = self._monitor.state
        shown = _grouped(state["jams"], self._monitor.names) if state else []
        shown += [(":".join(phy), 1.0) for phy in state["lost_phys"]] if state else []
        if shown == self._shown:
            return
        self._shown = shown
        self._chips.clear()
        with self._chips:
            for target, loss in shown:
                words = f"{target} {loss:.0%}" if loss < 1 else target
                chip = (
                    ui.chip(words, icon="wifi_off", removable=True, color="pink-3")
                    .props("dense")
                    .props("data-testid=jam")
                )
                chip.on_value_change(lambda _, target=target: background_tasks.create(self._jam(target, 0.0)))

    async def turn(self, target: str) -> None:
        """Jams a node or a link ``A:B``, or no longer."""
        state = self._monitor.state
        jams = dict(_grouped(state["jams"], self._monitor.names)) if state else {}
        pairs = {":".join(jam["nodes"]) for jam in state["jams"]} if state else set()
        await self._jam(target, 0.0 if target in jams or target in pairs else self._loss.value)

    async def _jam(self, target: str, loss: float) -> None:
        await self._ask("jam", targets=[target], loss=loss)


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
