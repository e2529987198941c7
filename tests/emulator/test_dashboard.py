"""The dashboard without a browser: who gets in, what is drawn, and what the command says when something is wrong."""

from __future__ import annotations

import asyncio
import math
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from emulator_bench import scenario

from headrace.cli import main
from headrace.emulator import control
from headrace.emulator.dashboard import colours, drawing
from headrace.emulator.dashboard.access import Guard, is_loopback
from headrace.emulator.dashboard.drawing import View, si
from headrace.emulator.dashboard.monitor import HISTORY, Monitor, Port, best_route
from headrace.emulator.probe import Route

# ------------------------------------------------------------------------------------------------------ who gets in


def asked(guard: Guard, kind: str = "http", query: str = "", path: str = "/", **headers: str) -> dict[str, Any]:
    """The first thing that is sent back: ``passed`` by the application itself."""
    said: list[dict[str, Any]] = []
    scope = {
        "type": kind, "path": path, "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in ({"host": "localhost:1"} | headers).items()],
    }  # fmt: skip

    async def send(message: Any) -> None:
        said.append(dict(message))

    async def receive() -> Any:
        return {}

    asyncio.run(guard(scope, receive, send))
    return said[0]


async def application(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "passed"})


def test_without_a_token_this_machine_gets_in() -> None:
    guard = Guard(application, None, 1, only_here=True)
    for host in ("localhost:1", "127.0.0.1:1", "[::1]:1"):
        assert asked(guard, host=host)["type"] == "passed"


def test_other_sites_pages_do_not_get_in() -> None:
    guard = Guard(application, None, 1, only_here=True)
    assert asked(guard, host="evil.example:1")["status"] == 403  # a name of theirs for this machine
    assert asked(guard, origin="http://evil.example")["status"] == 403
    assert asked(guard, "websocket", origin="http://evil.example")["type"] == "websocket.close"
    assert asked(guard, "websocket", origin="http://localhost:1")["type"] == "passed"


def test_a_token_comes_by_the_address_once_and_then_by_cookie() -> None:
    guard = Guard(application, "secret", 1, only_here=False)
    assert asked(guard)["status"] == 401
    assert asked(guard, query="token=other")["status"] == 401
    assert asked(guard, "websocket")["type"] == "websocket.close"
    assert asked(guard, "websocket", query="token=secret")["type"] == "websocket.close"  # pages have the cookie
    let_in = asked(guard, query="token=secret&a=b", path="//evil.example")
    headers = dict(let_in["headers"])
    assert let_in["status"] == 303
    assert headers[b"location"] == b"/evil.example?a=b"
    cookie = headers[b"set-cookie"].decode()
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    for kind in ("http", "websocket"):
        assert asked(guard, kind, cookie=cookie.partition(";")[0])["type"] == "passed"
        assert asked(guard, kind, cookie="headrace-1=other")["type"] != "passed"


def test_loopback_is_known_by_name_and_number() -> None:
    assert [is_loopback(host) for host in ("localhost", "127.0.0.9", "::1")] == [True] * 3
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.com", "")] == [False] * 5


# ------------------------------------------------------------------------------------------------------ what is drawn


def monitor(bytes_sent: Mapping[tuple[int, int], int], jams: list[dict[str, Any]] | None = None) -> Monitor:
    """Of three nodes in a line with two PHYs each, of which some have sent so many bytes in about a second."""
    found = Monitor("none")
    way = {"rate_bps": 1e6, "loss": 0.1}

    def state(sent: Mapping[tuple[int, int], int]) -> dict[str, Any]:
        return {
            "nodes": [
                {"name": f"n{n + 1}", "address": f"10.0.0.{n + 1}", "position_m": [100.0 * n, 50.0 * n, 5.0 * n]}
                for n in range(3)
            ],
            "links": [
                {"nodes": ["n1", "n2"], "phys": ["phy0", "phy0"], "distance_m": 100.0, **way, "back": way},
                {"nodes": ["n2", "n3"], "phys": ["phy1", "phy0"], "distance_m": 100.0, **way, "back": way},
            ],
            "counters": [[{"sent_bytes": sent.get((node, phy), 0)} for phy in range(2)] for node in range(3)],
            "jams": jams or [], "obstacles": [], "jammers": [],
        }  # fmt: skip

    found._note(state({}))
    found._counted_s -= 1.0  # a second ago
    found._note(state(bytes_sent))
    return found


def test_links_have_the_colour_of_their_busier_direction() -> None:
    found = {line.key: line for line in drawing.lines(monitor({(0, 0): 10_000, (1, 0): 100_000, (2, 0): 30_000}))}
    assert found["n1:n2"].colour == colours.of_load(0.8)
    assert found["n2:n3"].colour == colours.of_load(0.24)
    assert found["n1:n2"].width > found["n2:n3"].width


def test_loads_have_five_colours() -> None:
    loads = (0, 0.005, 0.01, 0.24, 0.25, 0.5, 0.75, 3)
    found = [colours.of_load(load) for load in loads]
    assert len(set(found)) == 5
    assert [words for words, _ in colours.legend()] == ["idle", "to 25%", "to 50%", "to 75%", "more"]


def test_jammed_links_stay_on_the_map_where_there_would_be_one() -> None:
    jams = [
        {"nodes": ["n1", "n2"], "loss": 0.5, "link": True},
        {"nodes": ["n1", "n3"], "loss": 1.0, "link": False},
    ]
    shown = monitor({}, jams)
    found = {line.key: line for line in drawing.lines(shown)}
    assert {key: line.dashed for key, line in found.items()} == {"n1:n2": True, "n2:n3": False}
    jams[1]["link"] = True  # if it were not for the jam
    assert drawing.lines(shown)[-1].key == "n1:n3"


def test_a_metre_is_as_long_both_ways_and_the_area_only_grows() -> None:
    view = View()
    for positions in ([[0, 0], [1000, 200]], [[0, 0], [100, 100]], [[-50, 0], [900, 700]]):
        view.widen(positions)
        low, high = view.bounds()
        assert (high[0] - low[0]) / (high[1] - low[1]) == pytest.approx(view.aspect)
        assert all(low[axis] < place[axis] < high[axis] for place in positions for axis in (0, 1))
    assert view.low[0] < -50 and view.high[0] > 1000 and view.high[1] > 700


def test_nodes_that_stand_on_one_point_have_a_map_too() -> None:
    view = View()
    view.widen([[5.0, 5.0], [5.0, 5.0]])
    low, high = view.bounds()
    assert low[0] < 5 < high[0] and low[1] < 5 < high[1]


def test_the_way_is_that_of_the_kernels_tables() -> None:
    shown = monitor({})
    shown.routes = {
        0: [Route("10.0.0.0", 24, "10.0.0.2", "phy0", 0)],
        1: [Route("10.0.0.3", 32, "10.0.0.3", "phy1", 0), Route("10.0.0.1", 32, "", "phy0", 0)],
    }
    assert shown.route(0, 2) == ([0, 1, 2], True)
    assert shown.route(1, 0) == ([1, 0], True)
    assert shown.route(2, 0) == ([2], False)
    shown.routes[1] = [Route("10.0.0.0", 24, "10.0.0.1", "phy0", 0)]
    assert shown.route(0, 2) == ([0, 1], False)  # round and round


def test_the_longest_prefix_wins_then_the_lowest_metric() -> None:
    table = [Route("0.0.0.0", 0, "10.0.0.9", "phy0", 0), Route("10.0.1.0", 24, "a", "phy1", 9),
             Route("10.0.1.0", 24, "b", "phy2", 5)]  # fmt: skip
    assert best_route(table, "10.0.1.7") == table[2]
    assert best_route(table, "10.0.2.7") == table[0]
    assert best_route(table[1:], "10.0.2.7") is None


def test_every_phy_has_a_cell_with_a_link_or_without() -> None:
    shown = monitor({(0, 0): 1000})
    cells = {cell["key"]: cell for cell in drawing.cells(shown, "bps")}
    assert len(cells) == 6
    assert cells["0:0"]["label"] == "n1:0 → n2"
    assert cells["0:0"]["value"] == pytest.approx(8000, rel=0.2)  # in a second and a bit
    assert cells["0:1"]["text"] == "no link"
    assert [cell["key"] for cell in drawing.cells(shown, "latency_s", 2)] == ["2:0", "2:1"]
    assert all(len(values) == HISTORY for values in drawing.past(shown, "bps").values())


def test_graphs_of_a_link_have_both_directions() -> None:
    options = drawing.link_options(monitor({}), (Port(0, 0), Port(1, 0)), ("there", "back"), dark=False)
    assert [each["name"] for each in options["series"]] == ["there", "back"] * 2


def test_numbers_are_written_with_prefixes() -> None:
    assert [si(value, "s") for value in (0, 1.5e-6, 0.02, math.nan)] == ["0 s", "1.5 µs", "20 ms", "-"]
    assert [si(value, "b/s") for value in (1, 999, 1234, 2e6, 54e6, 3e9)] == [
        "1 b/s", "999 b/s", "1.23 kb/s", "2 Mb/s", "54 Mb/s", "3 Gb/s",
    ]  # fmt: skip


# --------------------------------------------------------------------------------------------- what the command says


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["emulate", "dashboard", *arguments])
    return code, capsys.readouterr().err


def test_without_an_emulation_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    code, line = said(capsys, "--name", "none-such")
    assert code == 1
    assert line == ("headrace: no emulation none-such runs: give a SCENARIO, or start one with headrace emulate run\n")


def test_a_name_that_is_taken_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, [(0, 0), (1, 0)])
    with control.listen("dashboard-taken"):
        code, line = said(capsys, str(path), "--name", "dashboard-taken")
    assert code == 1
    assert "runs already" in line and line.count("\n") == 1


def test_a_wrong_scenario_is_told_before_anything_is_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, [(0, 0), (1, 0)], "phys = 0")
    code, line = said(capsys, str(path), "--name", "dashboard-wrong")
    assert code == 2
    assert "phys" in line and line.count("\n") == 1


def test_a_port_in_use_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, [(0, 0), (1, 0)])
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, line = said(capsys, str(path), "--name", "dashboard-port", "--port", str(port))
    assert code == 1
    assert line == f"headrace: 127.0.0.1:{port}: Address already in use: choose another --port\n"


def test_an_address_that_is_not_here_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = scenario(tmp_path, [(0, 0), (1, 0)])
    code, line = said(capsys, str(path), "--name", "dashboard-host", "--host", "192.0.2.1")
    assert code == 1
    assert "192.0.2.1:8080" in line and line.count("\n") == 1


def test_a_token_that_no_address_can_have_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for token in ("", "a b", "ä", "a&b"):
        code, line = said(capsys, "--token", token)
        assert code == 2
        assert line == "headrace: --token: letters, digits, - and _\n"


@pytest.mark.parametrize("host", ["0.0.0.0", "", None])
def test_on_other_addresses_it_asks_for_the_token_of_the_address_that_it_prints(
    host: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guards: list[Guard] = []
    monkeypatch.setattr("headrace.emulator.dashboard.server.run", lambda *words: guards.append(words[2](application)))
    with control.listen("dashboard-token"):
        words = [] if host is None else ["--host", host]
        code, told = said(capsys, "--name", "dashboard-token", "--port", "0", *words)
    assert code == 0
    if host is None:
        assert "?" not in told and "//127.0.0.1:" in told
        return
    query = told.strip().partition("?")[2]
    assert asked(guards[0])["status"] == 401 and asked(guards[0], query=query)["status"] == 303


def test_without_nicegui_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "nicegui", None)
    code, line = said(capsys)
    assert code == 1
    assert line == "headrace: emulate needs nicegui: pip install 'headrace[dashboard]'\n"
