"""What the maps and graphs show, as plain data for ECharts and three.js."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from headrace.emulator.dashboard import colours
from headrace.emulator.dashboard.monitor import HISTORY, Monitor, Port

SIZE_3D = 10.0
"""The longer side of the area, in units of the 3D scene."""

_GLIDE_S = 1.0
_MARGIN = 0.08
_POLYGON = """(_, api) => {
    const points = [];
    for (let at = 0; !isNaN(api.value(at)); at += 2) points.push(api.coord([api.value(at), api.value(at + 1)]));
    return { type: "polygon", shape: { points }, style: api.style() };
}"""  # of an obstacle, in the browser


@dataclass
class View:
    """What a page looks at. ``route``: from a node to another one, by their indices; ``low``, ``high``: the area so
    far, in metres, which only grows."""

    dark: bool = False
    node: int | None = None
    route: tuple[int, int] | None = None
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def widen(self, positions: Sequence[Sequence[float]]) -> None:
        """Takes positions in, with some room around them."""
        for axis in (0, 1):
            values = [place[axis] for place in positions]
            least, most, known = min(values), max(values), len(self.low) > axis
            if known and self.low[axis] <= least and most <= self.high[axis]:
                continue
            if known:
                least, most = min(least, self.low[axis]), max(most, self.high[axis])
            room = max(_MARGIN * (most - least), 1.0)
            unit = 10 ** math.floor(math.log10(most - least + 2 * room)) / 10
            found = math.floor((least - room) / unit) * unit, math.ceil((most + room) / unit) * unit
            self.low[axis : axis + 1], self.high[axis : axis + 1] = [found[0]], [found[1]]

    @property
    def aspect(self) -> float:
        """Width by height, within what a screen has room for."""
        width, height = (self.high[axis] - self.low[axis] for axis in (0, 1))
        return min(3.0, max(0.75, width / height))

    def bounds(self) -> tuple[list[float], list[float]]:
        """The area with the sides of ``aspect``, so that a metre is as long both ways."""
        low, high = list(self.low), list(self.high)
        width, height = (high[axis] - low[axis] for axis in (0, 1))
        wanted = (height * self.aspect, width / self.aspect)
        for axis, length in enumerate((width, height)):
            if wanted[axis] > length:
                middle = (low[axis] + high[axis]) / 2
                low[axis], high[axis] = middle - wanted[axis] / 2, middle + wanted[axis] / 2
        return low, high


@dataclass(frozen=True)
class Line:
    """A link as it is drawn. ``key``: ``A:B``, as it is jammed."""

    key: str
    nodes: tuple[int, int]
    colour: str
    width: float
    dashed: bool
    words: str


def lines(monitor: Monitor) -> list[Line]:
    """The links, and those that are gone only by being jammed."""
    assert monitor.state is not None
    numbers = {name: index for index, name in enumerate(monitor.names)}
    jams = {(a, b): jam for jam in monitor.state["jams"] for a, b in [jam["nodes"]]}
    found = []
    for (a, b), link in monitor.links.items():
        jammed = (a, b) in jams
        found.append(
            Line(
                f"{a}:{b}",
                (numbers[a], numbers[b]),
                colours.JAMMED if jammed else colours.of_load(link.busier.load),
                2 + 4 * min(1.0, link.busier.load),
                jammed,
                f"{a} - {b}: {si(link.busier.bps, 'b/s')} of {si(link.busier.rate_bps, 'b/s')} "
                f"({link.busier.load:.0%}), {link.distance_m:.0f} m, loss {link.busier.loss:.2g}",
            )
        )
    for (a, b), jam in jams.items():
        if jam["link"] and (a, b) not in monitor.links:
            words = f"{a} - {b}: jammed, no link"
            found.append(Line(f"{a}:{b}", (numbers[a], numbers[b]), colours.JAMMED, 2.0, True, words))
    return found


def _node_colours(monitor: Monitor) -> list[str]:
    """Of nodes; those that are down, or whose pairs are all jammed, have their own."""
    assert monitor.state is not None
    others, counts = len(monitor.names) - 1, dict.fromkeys(monitor.names, 0)
    for jam in monitor.state["jams"]:
        for name in jam["nodes"]:
            counts[name] += 1
    return [
        colours.DOWN if node.get("down") else colours.JAMMED if 0 < others == counts[node["name"]] else colours.NODE
        for node in monitor.state["nodes"]
    ]


def map_options(monitor: Monitor, view: View) -> dict[str, Any]:
    """The map in 2D, for ECharts. Positions in metres, as long both ways; what moves glides there."""
    assert monitor.state is not None
    positions = [node["position_m"] for node in monitor.state["nodes"]]
    view.widen(positions)
    low, high = view.bounds()
    on = _shown_route(monitor, view)
    ink = colours.text(view.dark)
    axis = {
        "type": "value",
        "splitLine": {"lineStyle": {"color": colours.lines(view.dark)}},
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "axisLabel": {"inside": True, "color": ink, "opacity": 0.6, "fontSize": 10, "formatter": "{value} m",
                      "showMinLabel": False, "showMaxLabel": False},
    }  # fmt: skip
    glide = {"animationDuration": 0, "animationDurationUpdate": _GLIDE_S * 1e3, "animationEasingUpdate": "linear"}
    halo = {"color": colours.ROUTE, "width": 12, "opacity": 0.45, "cap": "round"}
    route = [positions[node][:2] for node in on]
    obstacles = [
        {"value": [value for corner in each["corners_m"] for value in corner[:2]], "words": each["name"]}
        for each in monitor.state["obstacles"]
    ]
    jammers = [
        {"id": each["name"], "name": each["name"], "value": each["position_m"][:2],
         "words": f"jammer {each['name']}, {'on' if each['on'] else 'off'}",
         "itemStyle": {"color": colours.JAMMED if each["on"] else colours.IDLE}}
        for each in monitor.state["jammers"]
    ]  # fmt: skip
    return {
        "backgroundColor": "transparent",
        "grid": {"left": 0, "right": 0, "top": 0, "bottom": 0},
        "xAxis": {**axis, "min": low[0], "max": high[0]},
        "yAxis": {**axis, "min": low[1], "max": high[1]},
        "dataZoom": [{"type": "inside", "xAxisIndex": 0, "filterMode": "none"},
                     {"type": "inside", "yAxisIndex": 0, "filterMode": "none"}],
        "tooltip": {"confine": True, "trigger": "item", ":formatter": "(item) => item.data.words ?? ''"},
        "series": [
            {
                "type": "custom", "coordinateSystem": "cartesian2d", "z": 0, ":renderItem": _POLYGON,
                "itemStyle": {"color": colours.OBSTACLE, "opacity": 0.35}, "data": obstacles,
            },
            {
                "type": "lines", "coordinateSystem": "cartesian2d", "silent": True, "z": 1, "lineStyle": halo, **glide,
                "data": [{"coords": [a, b]} for a, b in pairwise(route)],
            },
            {
                "type": "graph", "coordinateSystem": "cartesian2d", "layout": "none", "z": 2, **glide,
                "symbolSize": 13,
                "label": {"show": True, "position": "bottom", "distance": 3, "fontSize": 11, "color": ink},
                "emphasis": {"scale": 1.4, "lineStyle": {"width": 6}},
                "data": [
                    {
                        "id": name, "name": name, "value": place[:2], "words": _node_words(monitor, index),
                        "itemStyle": {"color": colour, "borderColor": colours.SELECTED,
                                      "borderWidth": 3 if index == view.node else 0},
                    }
                    for index, (name, place, colour) in
                    enumerate(zip(monitor.names, positions, _node_colours(monitor), strict=True))
                ],
                "edges": [
                    {
                        "source": monitor.names[line.nodes[0]], "target": monitor.names[line.nodes[1]],
                        "key": line.key, "words": line.words, "value": line.width,
                        "lineStyle": {"color": line.colour, "width": line.width, "opacity": 0.9,
                                      "type": "dashed" if line.dashed else "solid"},
                    }
                    for line in lines(monitor)
                ],
            },
            {
                "type": "scatter", "z": 3, "symbol": "triangle", "symbolSize": 15, "data": jammers, **glide,
                "label": {"show": True, "position": "bottom", "fontSize": 11, "color": ink, "formatter": "{b}"},
            },
        ],
    }  # fmt: skip


def _node_words(monitor: Monitor, index: int) -> str:
    assert monitor.state is not None
    node = monitor.state["nodes"][index]
    place = ", ".join(f"{axis:.0f}" for axis in node["position_m"])
    return f"{node['name']}, {node['address']}: {place} m{on_host(node)}"


def on_host(node: Mapping[str, Any]) -> str:
    """On which one a node is, where there are several."""
    if "host" not in node:
        return ""
    return f", down: its host {node['host']} is lost" if node["down"] else f", on {node['host']}"


def _shown_route(monitor: Monitor, view: View) -> list[int]:
    return monitor.route(*view.route)[0] if view.route else []


def network_3d(monitor: Monitor, view: View) -> tuple[list[Any], list[Any], list[str], float]:
    """What ``network.js`` is told: places, links, the nodes' colours, and how long they glide in ms."""
    assert monitor.state is not None
    positions = [node["position_m"] for node in monitor.state["nodes"]]
    view.widen(positions)
    low, high = view.bounds()
    scale = SIZE_3D / max(high[axis] - low[axis] for axis in (0, 1))
    centre = [(low[axis] + high[axis]) / 2 for axis in (0, 1)]
    floor = min(0.0, *(place[2] for place in positions)) if positions else 0.0
    places = [
        [(place[0] - centre[0]) * scale, (place[1] - centre[1]) * scale, (place[2] - floor) * scale + 0.16]
        for place in positions
    ]
    on = _shown_route(monitor, view)
    hops = {frozenset(pair) for pair in pairwise(on)}
    bars: list[Any] = []
    for line in lines(monitor):
        routed = frozenset(line.nodes) in hops
        width, colour = (0.08, colours.ROUTE) if routed else (0.012 * line.width, line.colour)
        bars.append([line.key, *line.nodes, colour, width, 0.4 if line.dashed else 1.0])
    colour_of = [
        colours.SELECTED if index == view.node else colour for index, colour in enumerate(_node_colours(monitor))
    ]
    return places, bars, colour_of, _GLIDE_S * 1e3


def cells(monitor: Monitor, kind: str, node: int | None = None) -> list[dict[str, Any]]:
    """A small graph for each PHY, by ``sparklines.js``. ``kind``: ``bps`` or ``latency_s``; ``node``: of one only."""
    names, found = monitor.names, []
    far = {}
    for link in monitor.links.values():
        here, there = link.ends
        far[here], far[there] = link.nodes[1], link.nodes[0]
    for port in sorted(monitor.series, key=lambda port: (port.node, port.phy)):
        if node is None or port.node == node:
            value = getattr(monitor.series[port], kind)[-1]
            linked = port in far
            unit = "b/s" if kind == "bps" else "s"
            label = f"{names[port.node]}:{port.phy}"
            found.append(
                {
                    "key": f"{port.node}:{port.phy}",
                    "label": f"{label} → {far[port]}" if linked else label,
                    "text": si(value, unit) if linked else "no link",
                    "value": _number(value),
                    "linked": linked,
                }
            )
    return found


def past(monitor: Monitor, kind: str, node: int | None = None) -> dict[str, list[float | None]]:
    """The values so far of the cells' graphs."""
    return {
        f"{port.node}:{port.phy}": [_number(value) for value in getattr(series, kind)]
        for port, series in monitor.series.items()
        if node is None or port.node == node
    }


def link_options(monitor: Monitor, ends: Sequence[Port], words: Sequence[str], dark: bool) -> dict[str, Any]:
    """Bits per second and latency of both directions of a link, for ECharts. ``words``: what the directions are."""
    ink, grid = colours.text(dark), {"lineStyle": {"color": colours.lines(dark)}}
    strokes = ((colours.ROUTE, "solid"), (colours.LOADS[-1][1], "dashed"))
    found: dict[str, Any] = {
        "backgroundColor": "transparent", "animation": False,
        "legend": {"top": 0, "textStyle": {"color": ink}, "data": list(words)},
        "tooltip": {"trigger": "axis", "confine": True},
        "grid": [{"left": 62, "right": 12, "top": top, "height": 110} for top in (42, 200)],
        "xAxis": [], "yAxis": [], "series": [],
    }  # fmt: skip
    for which, (name, kind, scale) in enumerate((("kb/s", "bps", 1e-3), ("latency, ms", "latency_s", 1e3))):
        found["xAxis"].append(
            {"type": "value", "gridIndex": which, "min": 1 - HISTORY, "max": 0, "splitLine": {"show": False},
             "axisLabel": {"color": ink, "formatter": "{value} s"}}
        )  # fmt: skip
        found["yAxis"].append(
            {"type": "value", "gridIndex": which, "min": 0, "name": name, "nameTextStyle": {"color": ink},
             "splitLine": grid, "axisLabel": {"color": ink}}
        )  # fmt: skip
        for port, words_of, (colour, kind_of_line) in zip(ends, words, strokes, strict=True):
            values = getattr(monitor.series[port], kind) if port in monitor.series else []
            points = [
                [at + 1 - HISTORY, None if math.isnan(value) else round(value * scale, 4)]
                for at, value in enumerate(values)
            ]
            found["series"].append(
                {"type": "line", "name": words_of, "xAxisIndex": which, "yAxisIndex": which, "showSymbol": False,
                 "lineStyle": {"color": colour, "type": kind_of_line}, "itemStyle": {"color": colour},
                 "connectNulls": kind == "latency_s", "data": points}
            )  # fmt: skip
    return found


def si(value: float, unit: str) -> str:
    """A value with three digits and a prefix; NaN: a dash."""
    if math.isnan(value):
        return "-"
    if value == 0:
        return f"0 {unit}"
    power = max(-3, min(4, math.floor(math.log10(abs(value)) / 3 + 1e-12)))
    return f"{value / 1000**power:.3g} {'nµm'[power + 3] if power < 0 else ['', 'k', 'M', 'G', 'T'][power]}{unit}"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
