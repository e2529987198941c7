"""Pictures of the dashboard for the documentation: ``.venv/bin/python tests/dashboard_pictures.py docs/images``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from browser import Map, choose, chromium, dashboard, visit
from patience import until

from headrace import paths
from headrace.emulator import control

NAME = "pictures"
_SETTLED_S = 45.0  # of the emulation, until there is something to see in graphs


def main() -> None:
    """Takes them."""
    folder = Path(sys.argv[1])
    example = paths.share() / "examples/emulator/wandering.toml"
    with dashboard(str(example), "--name", NAME) as shown, chromium() as browser:
        desk = visit(browser, shown.url, (1280, 720))
        Map(desk)
        until(lambda: control.ask(NAME, command="status")["time_s"] > _SETTLED_S, "traffic")
        desk.get_by_role("tab", name="Routes").click()
        choose(desk, "From", "n1")
        choose(desk, "To", "n30")
        control.ask(NAME, command="jam", targets=["n8:n30"], loss=1.0)
        desk.get_by_role("tab", name="Links").click()
        time.sleep(5)
        desk.screenshot(path=folder / "dashboard.png")
        desk.close()
        phone = visit(browser, shown.url, (390, 844))
        Map(phone)
        phone.get_by_role("tab", name="Nodes").click()
        choose(phone, "Node", "n12")
        phone.get_by_test_id("phys").locator("tbody tr").first.wait_for()
        time.sleep(4)
        phone.screenshot(path=folder / "dashboard-phone.png")
        phone.close()
        space = visit(browser, shown.url, (1280, 720), color_scheme="dark")
        Map(space)
        space.get_by_text("3D", exact=True).click()
        space.get_by_text("latency", exact=True).click()
        space.get_by_test_id("scene").get_by_text("n1", exact=True).wait_for()
        time.sleep(8)
        space.screenshot(path=folder / "dashboard-3d.png")


if __name__ == "__main__":
    main()
