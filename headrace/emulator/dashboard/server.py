"""The web server of the dashboard."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI
from nicegui import ui

from headrace.emulator.dashboard.monitor import Monitor
from headrace.emulator.dashboard.page import Page

_END_S = 2  # that browsers have to take their leave
_RECONNECT_S = 30.0  # of a browser on a busy machine
_ICON = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='6' fill='#0072B2'/><path d='M8 23 16 9l8 14z' fill='none' stroke='#fff' stroke-width='2'/><circle cx='16' cy='9' r='4' fill='#fff'/><circle cx='8' cy='23' r='4' fill='#fff'/><circle cx='24' cy='23' r='4' fill='#fff'/></svg>"  # noqa: E501


def run(monitor: Monitor, listener: socket.socket, guarded: Callable[[Any], Any]) -> None:
    """Serves pages on the socket until SIGINT or SIGTERM. ``guarded`` puts something before the application."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(monitor.watch()), asyncio.create_task(monitor.start())]
        yield
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await monitor.close()

    @ui.page("/", response_timeout=60)
    async def page() -> None:
        await Page(monitor).build()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    title = f"Headrace: {monitor.name}"
    ui.run_with(app, title=title, favicon=_ICON, dark=None, reconnect_timeout=_RECONNECT_S, show_welcome_message=False)
    config = uvicorn.Config(guarded(app), log_level="error", access_log=False, timeout_graceful_shutdown=_END_S)
    with suppress(KeyboardInterrupt):  # uvicorn raises it anew when all is ended
        uvicorn.Server(config).run(sockets=[listener])
