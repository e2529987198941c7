# SPDX-License-Identifier: Apache-2.0
"""Parameters and ports of a block as Verilog, VHDL and IP packagers can have them: plain numbers and plain vectors.

A port that is a structure, an enumeration or an array of such becomes one vector for each of its fields; an array of
vectors becomes one vector, with element 0 in the lowest bits. Widths stay expressions of the block's parameters where
Verilog-2005 can say them, and are numbers elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """A parameter of the block. ``width``: 0 of a number, else bits of a vector; None: a string."""

    name: str
    width: int | None
    default: str
    """Verilog, of numbers and of parameters before this one."""
    value: int | str
    """With the parameters that were chosen."""
    comment: str = ""
    allowed: str = ""
    """Its values, where the block refuses others."""


@dataclass(frozen=True)
class Part:
    """A plain port: a whole port of the block, or a field of one."""

    name: str
    direction: str  # "input", "output" or "inout"
    size: str  # in bits, as Verilog; "1" of a single bit
    bits: int  # with the parameters that were chosen
    path: str = ""  # within the port, with [i0], [i1]... for indices
    loops: tuple[tuple[str, str], ...] = ()  # (number of elements, lowest index) of each
    element: str = ""  # size of one element
    cast: str = ""  # the enumeration


@dataclass(frozen=True)
class Port:
    """A port of the block and what it becomes. ``type`` is its own, ``array`` its dimensions where it isn't plain."""

    name: str
    direction: str
    parts: tuple[Part, ...]
    comment: str = ""
    type: str = ""
    array: str = ""


@dataclass(frozen=True)
class Interface:
    """What a block's users see."""

    parameters: tuple[Parameter, ...]
    ports: tuple[Port, ...]

    @property
    def parts(self) -> list[Part]:
        """All plain ports."""
        return [part for port in self.ports for part in port.parts]

    @property
    def clocks(self) -> list[str]:
        """Clocks that come in: every one in Headrace is called ``clk`` or ``..._clk``."""
        return [
            part.name for part in self.parts if part.direction == "input" and re.fullmatch(r"(\w+_)?clk", part.name)
        ]
