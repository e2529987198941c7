"""The dashboard in a real browser, for tests: Debian's Chromium, without a screen."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import HANG_S, until
from playwright.sync_api import Browser, Locator, Page, TimeoutError, expect, sync_playwright

CHROMIUM = shutil.which("chromium")
NO_CHROMIUM = "no chromium: it is in Debian's chromium"

expect.set_options(timeout=HANG_S * 1000)
_SOFTWARE_GL = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


class Dashboard:
    """``headrace emulate dashboard ARGUMENTS`` on a port of its own."""

    def __init__(self, *arguments: str) -> None:
        words = [str(Path(sys.executable).with_name("headrace")), "emulate", "dashboard", *arguments, "--port", "0"]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert "the dashboard is at " in line, line
        self.url = line.split()[-1]

    def interrupt(self) -> str:
        """Ctrl-C; waits for its end and gives what else it has said."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        self.process.wait()
        return said


@contextmanager
def dashboard(*arguments: str) -> Iterator[Dashboard]:
    """One that is ended, with what it has started."""
    found = Dashboard(*arguments)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.interrupt()
        assert found.process.stderr is not None
        found.process.stderr.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*sandbox, *_SOFTWARE_GL])
        yield browser
        browser.close()


def visit(browser: Browser, url: str, size: tuple[int, int] = (1280, 800), **options: Any) -> Page:
    """A page of a browser that knows nothing yet, of a size in pixels. ``page.context.faults`` gets what goes wrong in
    it, and what it asks of anybody else."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
    context.set_default_timeout(HANG_S * 1000)
    page = context.new_page()
    faults: list[str] = []
    origin = url.partition("?")[0]
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on(
        "request", lambda asked: None if asked.url.startswith((origin, "data:", "blob:")) else faults.append(asked.url)
    )
    page.goto(url)
    page.faults = faults  # type: ignore[attr-defined]
    return page


class Map:
    """The map of a page."""

    def __init__(self, page: Page) -> None:
        self._page, self._where = page, page.get_by_test_id("map")
        self._where.locator("canvas").first.wait_for()
        until(self.nodes, "nodes on the map")

    def _chart(self, script: str, *arguments: Any) -> Any:
        """What a script says of ``chart``."""
        body = f"(element, given) => {{ const chart = getElement(element.id.slice(1))?.chart; return {script}; }}"
        return self._where.evaluate(body, arguments)

    def series(self) -> list[dict[str, Any]]:
        """All that is drawn."""
        found: list[dict[str, Any]] = self._chart("JSON.parse(JSON.stringify(chart?.getOption()?.series ?? []))")
        return found

    def _graph(self) -> dict[str, Any]:
        return next((each for each in self.series() if each["type"] == "graph"), {"data": [], "edges": []})

    def nodes(self) -> dict[str, Sequence[float]]:
        """Where nodes are, in metres."""
        return {node["name"]: node["value"] for node in self._graph()["data"]}

    def links(self) -> dict[str, dict[str, Any]]:
        """Links, with how they are drawn."""
        return {edge["key"]: edge["lineStyle"] for edge in self._graph()["edges"]}

    def click(self, *names: str) -> None:
        """On a node, or on the middle of the link of two, until the map has taken a click: what glides may have left
        the place before the button is down."""
        taken = self._chart("element.taken ?? (chart.on('click', () => element.taken++), element.taken = 0)")
        while self._chart("element.taken") == taken:
            places = [self.nodes()[name] for name in names]
            middle = [sum(axis) / len(places) for axis in zip(*places, strict=True)]
            x, y = self._chart("chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, given[0])", middle)
            if self._chart("!!chart.getZr().handler.findHover(given[0], given[1]).target", x, y):
                self._where.click(position={"x": x, "y": y})


def choose(page: Page, label: str, option: str) -> None:
    """In a list. A menu that isn't laid out within 50 ms stays hidden (Quasar gives up): then once more, as people
    do."""
    wanted = page.get_by_role("option", name=option, exact=True)
    while True:
        where = page.get_by_label(label, exact=True)
        where.click()
        if where.get_attribute("readonly") is None:
            where.fill(option)
        page.locator(".q-menu").wait_for(state="attached")
        try:
            wanted.click(timeout=3000)
        except TimeoutError:
            page.keyboard.press("Escape")
            page.locator(".q-menu").wait_for(state="detached")
        else:
            page.locator(".q-menu").wait_for(state="detached")
            return


def text(where: Locator) -> str:
    """What is written there."""
    return where.inner_text()


def grid(folder: Path, more: str = "") -> Path:
    """Six nodes, two rows of three, each linked to those beside it, which all move on evenly."""
    rows = ["time,node,x,y"]
    for number in range(6):
        x, y = 100 * (number % 3), 100 * (number // 3)
        rows += [f"0,n{number + 1},{x},{y}", f"3600,n{number + 1},{x + 7200},{y}"]
    (folder / "moves.csv").write_text("\n".join(rows) + "\n")
    path = folder / "grid.toml"
    path.write_text(
        f'nodes = 6\nrouting = "shortest"\nstep_s = 0.5\n{more}\n[movement]\nkind = "csv"\nfile = "moves.csv"\n'
        "[radio]\nrange_m = 120\nrate_bps = 1e6\n"
    )
    return path
