"""The dashboard's panel of traffic: streams of messages between nodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from headrace.emulator.dashboard import drawing
from headrace.emulator.dashboard.elements import fill, new_table
from headrace.emulator.dashboard.monitor import Monitor


class Traffic:
    """``ask`` asks the emulation, and says what is wrong."""

    def __init__(self, monitor: Monitor, ask: Callable[..., Awaitable[None]]) -> None:
        self._monitor = monitor
        self._ask = ask

    def build(self) -> None:
        """A stream to send, and the table of streams."""
        choices = dict(enumerate(self._monitor.names))
        with ui.row().classes("items-end gap-2 w-full"):
            source, to = (
                ui.select(choices, label=label, with_input=len(choices) > 12)
                .classes("w-24")
                .props(f"data-testid=traffic-{label}")
                for label in ("From", "To")
            )
            kind = ui.select(["telemetry", "command", "image"], value="telemetry", label="Kind").classes("w-28")
            size = ui.number("Bytes", min=1, max=65000, format="%d", placeholder="default").classes("w-24")
            rate = ui.number("kb/s", min=0.01, placeholder="default").classes("w-24")
            lasts = ui.number("Seconds", min=0.1, value=30).classes("w-20")

            async def send() -> None:
                if source.value is None or to.value is None:
                    ui.notify("Choose the nodes From and To.", type="warning")
                    return
                names = self._monitor.names
                asked: dict[str, Any] = {
                    "from": names[source.value], "to": names[to.value], "kind": kind.value,
                    "size": None if size.value is None else int(size.value),
                    "rate_bps": None if rate.value is None else rate.value * 1e3, "duration_s": lasts.value,
                }  # fmt: skip
                given = {key: value for key, value in asked.items() if value is not None}
                await self._ask("traffic", **given)

            ui.button("Send", icon="send", on_click=send).props("no-caps").props("data-testid=send")
        self._streams = new_table(
            "Streams", name="stream", ends="", kind="kind", size="bytes", sent="sent", received="received", lost="lost",
            latency="latency p50/p99", bps="throughput",
        )  # fmt: skip
        self._streams.props("data-testid=streams")

    def show(self) -> None:
        """The streams as they are now."""
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
        fill(self._streams, rows)
