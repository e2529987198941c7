"""The dashboard as people use it: in a browser, on a desk and on a phone."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, NO_CHROMIUM, Dashboard, Map, choose, chromium, dashboard, grid, text, visit
from emulator_bench import household, living
from patience import until
from playwright.sync_api import Browser, Page, expect

from headrace.emulator import control
from headrace.emulator.client import entering
from headrace.errors import HeadraceError

pytestmark = [pytest.mark.live, pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)]

NAME = "dashboard-test"
LINKS = {"n1:n2", "n2:n3", "n4:n5", "n5:n6", "n1:n4", "n2:n5", "n3:n6"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    with dashboard(str(grid(tmp_path_factory.mktemp("grid"))), "--name", NAME) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def page(running: Dashboard, browser: Browser) -> Iterator[Page]:
    found = visit(browser, running.url)
    yield found
    assert found.faults == []  # type: ignore[attr-defined]
    found.context.close()


def jams() -> dict[str, float]:
    """What the emulation says is jammed."""
    return {":".join(jam["nodes"]): jam["loss"] for jam in control.ask(NAME, command="telemetry")["jams"]}


def test_all_nodes_are_there_and_move(page: Page) -> None:
    shown = Map(page)
    before = shown.nodes()
    assert set(before) == {f"n{number}" for number in range(1, 7)}
    assert set(shown.links()) == LINKS
    until(lambda: all(place[0] > before[name][0] + 1 for name, place in shown.nodes().items()), "nodes that move")
    place = {node["name"]: node["position_m"] for node in control.ask(NAME, command="status")["nodes"]}
    assert all(shown.nodes()[name][1] == place[name][1] for name in place)


def test_the_map_glides_from_step_to_step(page: Page) -> None:
    graph = next(each for each in Map(page).series() if each["type"] == "graph")
    assert graph["animationDurationUpdate"] == 1000
    assert graph["animationEasingUpdate"] == "linear"


def test_a_click_jams_a_link_and_another_one_lets_it_go(page: Page) -> None:
    shown = Map(page)
    page.get_by_test_id("hold").click()
    until(lambda: control.ask(NAME, command="telemetry")["hold"], "holding")
    page.get_by_test_id("click-jams").click()
    shown.click("n2", "n5")
    until(lambda: jams() == {"n2:n5": 1.0}, "the jam")
    linked = {":".join(link["nodes"]) for link in control.ask(NAME, command="status")["links"]}
    assert linked == LINKS - {"n2:n5"}
    until(lambda: shown.links()["n2:n5"]["type"] == "dashed", "a jammed link on the map")
    shown.click("n2", "n5")
    until(lambda: jams() == {}, "the end of the jam")
    page.get_by_test_id("hold").click()
    until(lambda: not control.ask(NAME, command="telemetry")["hold"], "steps that come again")


def test_a_node_is_jammed_with_a_loss_and_freed_by_its_mark(page: Page) -> None:
    shown = Map(page)
    page.get_by_test_id("click-jams").click()
    page.get_by_test_id("loss").click(position={"x": 1, "y": 10})  # the least
    control.ask(NAME, command="hold", on=True)
    for jammed in (True, False, True):
        shown.click("n3")
        wanted = {f"n{a}:n3" if a < 3 else f"n3:n{a}": 0.05 for a in (1, 2, 4, 5, 6) if jammed}
        until(lambda wanted=wanted: jams() == wanted, f"the node's jam: {jammed}")
    control.ask(NAME, command="hold", on=False)
    mark = page.get_by_test_id("jam")
    expect(mark).to_contain_text("n3 5%")
    mark.locator(".q-chip__icon--remove").click()
    until(lambda: jams() == {}, "the end of the jam")


def test_a_phy_that_is_lost_has_a_mark_that_frees_it(page: Page) -> None:
    control.ask(NAME, command="jam", targets=["n6:phy3"], loss=1.0)
    mark = page.get_by_test_id("jam")
    expect(mark).to_contain_text("n6:phy3")
    mark.locator(".q-chip__icon--remove").click()
    until(lambda: control.ask(NAME, command="status")["lost_phys"] == [], "the end of the jam")


def test_a_node_s_phys_connections_and_routes_are_told(page: Page) -> None:
    shown = Map(page)
    control.ask(NAME, command="hold", on=True)
    shown.click("n2")
    control.ask(NAME, command="hold", on=False)
    phys = page.get_by_test_id("phys")
    expect(phys.locator("tbody tr")).to_have_count(4)
    until(lambda: all(f"n{other}" in text(phys) for other in (1, 3, 5)), "its three neighbours")
    until(lambda: "µs" in text(phys) or "ms" in text(phys), "a latency that was measured")
    table = json.loads(subprocess.check_output([*entering(NAME, "n2"), "ip", "-json", "route"]))
    rows = page.get_by_test_id("routing-table").locator("tbody tr")
    expect(rows).to_have_count(len(table))
    assert [text(row).split()[0] for row in rows.all()] == ["n1", "n3", "n4", "n5", "n6"]


def test_the_way_of_packets_is_shown(page: Page) -> None:
    page.get_by_role("tab", name="Routes").click()
    choose(page, "From", "n1")
    choose(page, "To", "n3")
    expect(page.get_by_test_id("way")).to_have_text("n1 → n2 → n3: 2 hops")
    shown = Map(page)

    def halo() -> int:
        return next(len(each["data"]) for each in shown.series() if each["type"] == "lines")

    until(lambda: halo() == 2, "two hops on the map")


def test_the_form_makes_traffic_and_streams_are_listed(page: Page) -> None:
    Map(page)
    page.get_by_role("tab", name="Traffic").click()
    choose(page, "From", "n1")
    choose(page, "To", "n6")
    page.get_by_label("Bytes").fill("500")
    page.get_by_test_id("send").click()

    def received() -> int:
        streams = control.ask(NAME, command="status")["traffic"]
        return sum(
            each["received"] for each in streams if (each["from"], each["to"], each["size"]) == ("n1", "n6", 500)
        )

    until(lambda: received() > 0, "messages that have come")
    expect(page.get_by_test_id("streams").locator("tbody tr")).to_contain_text("n1 → n6")


def test_every_phy_has_a_graph_of_its_own(page: Page) -> None:
    cells = page.get_by_test_id("cells")
    expect(cells).to_have_attribute("data-cells", "24")  # as in the thesis: 24 at 6 nodes
    expect(cells).to_have_attribute("data-linked", "14")
    page.get_by_text("latency", exact=True).click()
    cells.locator("canvas").click(position={"x": 20, "y": 20})
    expect(page.get_by_text("n1 - n2", exact=True)).to_be_visible()
    graph = page.get_by_test_id("link-graph")
    graph.locator("canvas").first.wait_for()

    def measured() -> int:
        series = graph.evaluate("element => getElement(element.id.slice(1)).chart?.getOption()?.series ?? []")
        return sum(point[1] is not None for each in series for point in each["data"])

    until(lambda: measured() > 8, "graphs of a link")


def test_the_network_is_there_in_3d(page: Page) -> None:
    page.get_by_text("3D", exact=True).click()
    scene = page.get_by_test_id("scene")
    count = """element => { let found = {}; window["scene_" + element.id].traverse(part => {
        const kind = String(part.object_id ?? "").split(":")[0];
        found[kind] = (found[kind] ?? 0) + 1; }); return found; }"""
    until(lambda: scene.evaluate(count).get("node") == 6, "six nodes")
    until(lambda: scene.evaluate(count).get("link") == len(LINKS), "their links")
    page.get_by_text("2D", exact=True).click()
    Map(page)


@pytest.mark.parametrize("tab", ["Links", "Nodes", "Routes"])
def test_a_phone_shows_it_in_one_column(tab: str, running: Dashboard, browser: Browser) -> None:
    page = visit(browser, running.url, (390, 844), has_touch=True, is_mobile=True, device_scale_factor=2)
    shown = Map(page)
    page.get_by_role("tab", name=tab).click()
    if tab == "Nodes":
        control.ask(NAME, command="hold", on=True)
        shown.click("n2")
        control.ask(NAME, command="hold", on=False)
        expect(page.get_by_test_id("phys").locator("tbody tr")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    map_box, tab_box = (where.bounding_box() for where in (page.get_by_test_id("map"), page.get_by_role("tablist")))
    assert map_box and tab_box and map_box["y"] + map_box["height"] < tab_box["y"]
    assert page.faults == []  # type: ignore[attr-defined]
    page.context.close()


def test_a_token_is_demanded_where_it_is_set(running: Dashboard, browser: Browser) -> None:
    with dashboard("--name", NAME, "--token", "let-me-in") as guarded:
        bare = guarded.url.split("?")[0]
        for url in (bare, f"{bare}?token=wrong", f"{bare}_nicegui_ws/socket.io/?EIO=4&transport=polling"):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(url)
        page = visit(browser, guarded.url)
        assert set(Map(page).nodes()) == {f"n{number}" for number in range(1, 7)}
        assert "token" not in page.url
        page.context.close()
        assert guarded.interrupt() == ""
    assert control.is_up(NAME)  # it was another's


def test_it_is_stopped_and_built_again_from_the_page(tmp_path: Path, browser: Browser) -> None:
    name = f"{NAME}-again"
    path = grid(tmp_path, "duration_s = 1e5")
    with dashboard(str(path), "--name", name) as own:
        page = visit(browser, own.url)
        Map(page)
        page.get_by_test_id("stop").click()
        page.get_by_test_id("sure").click()
        page.get_by_test_id("start").wait_for()
        until(lambda: not control.is_up(name), "the end of the emulation")
        good = path.read_text()
        path.write_text(good.replace("range_m = 120", "range_m = -1"))
        page.get_by_test_id("start").click()
        expect(page.get_by_test_id("error")).to_contain_text("range_m")
        path.write_text(good)
        page.get_by_text("Hold at each step").click()
        page.get_by_test_id("start").click()
        shown = Map(page)
        assert control.ask(name, command="telemetry")["hold"]
        step = control.ask(name, command="status")["step"]
        page.get_by_test_id("step").click()
        until(lambda: control.ask(name, command="status")["step"] == step + 1, "the next step")
        assert len(shown.nodes()) == 6
        page.context.close()


def test_ctrl_c_ends_it_with_all_that_it_has_started(tmp_path: Path) -> None:
    name = f"{NAME}-end"
    with dashboard(str(grid(tmp_path)), "--name", name) as own:
        until(lambda: control.is_up(name) and control.ask(name, command="telemetry"), "the emulation")
        of = household(own.process.pid)
        assert of.networks
        assert own.interrupt() == ""
        assert own.process.returncode in (0, 130, -signal.SIGINT)
        with pytest.raises(HeadraceError):
            control.ask(name, command="status")
        assert not living(of)
