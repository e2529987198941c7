"""Colours that colour-blind people tell apart (Okabe and Ito, Color Universal Design, 2008), on light and on dark."""

from __future__ import annotations

IDLE = "#8C96A3"
LOADS = ((0.01, "#56B4E9"), (0.25, "#009E73"), (0.5, "#E69F00"), (0.75, "#D55E00"))
"""From which load on a link has a colour; below the first one it is ``IDLE``."""

JAMMED = "#CC79A7"
DOWN = "#6B7280"
OBSTACLE = "#8A7F5C"
ROUTE = "#0072B2"
NODE = "#3D7EA6"
SELECTED = "#F0C000"


def of_load(load: float) -> str:
    """The colour of a link."""
    return next((colour for least, colour in reversed(LOADS) if load >= least), IDLE)


def legend() -> list[tuple[str, str]]:
    """Colours with what they mean."""
    bounds = [least for least, _ in LOADS]
    ends = [f"to {bound:.0%}" for bound in bounds[1:]] + ["more"]
    return [("idle", IDLE), *((words, colour) for words, (_, colour) in zip(ends, LOADS, strict=True))]


def text(dark: bool) -> str:
    """Of writing in drawings."""
    return "#C9D1D9" if dark else "#3A424C"


def lines(dark: bool) -> str:
    """Of a grid."""
    return "#2A3139" if dark else "#E4E8EC"


def ground(dark: bool) -> str:
    """Behind a drawing."""
    return "#161B22" if dark else "#FFFFFF"
