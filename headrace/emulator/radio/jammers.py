"""Jammers: senders of noise, which stand or move, and are on at times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headrace.emulator.movement import Movement, read_movement
from headrace.emulator.movement.base import LOCAL, Frame
from headrace.emulator.tables import MOST_DB, Values


@dataclass(frozen=True)
class Jammer:
    """``power_dbm``: radiated, antenna and all, for radios with a model of path loss. ``range_m`` and ``loss``: how far
    it reaches and the part of the frames that is lost there, for those that have only a range. ``channel``: None: all.
    ``on_s``: from when to when it is on; empty: always."""

    name: str
    movement: Movement
    power_dbm: float | None
    range_m: float | None
    loss: float
    channel: int | None
    on_s: tuple[tuple[float, float], ...]

    def on(self, time_s: float) -> bool:
        """Whether it is on."""
        return not self.on_s or any(begin <= time_s < end for begin, end in self.on_s)

    def described(self, time_s: float) -> dict[str, Any]:
        """As plain data, at a time."""
        return {
            "name": self.name,
            "position_m": self.movement.at(time_s)[0].tolist(),
            "on": self.on(time_s),
            "power_dbm": self.power_dbm,
            "range_m": self.range_m,
            "channel": self.channel,
        }


def read_jammer(
    table: Mapping[str, Any],
    name: str,
    folder: Path,
    channels: int,
    frame: Frame = LOCAL,
    strict: bool = False,
) -> Jammer:
    """From a scenario's table; ``frame``: the nodes'; ``strict``: see ``read_movement``. Raises HeadraceError with the
    key."""
    values = Values(table, f"jammers.{name}")
    values.only("position", "movement", "power_dbm", "range_m", "loss", "channel", "on_s")
    if ("position" in table) == ("movement" in table):
        raise values.wrong("position", "there must be either a position or a movement")
    if "position" in table:
        place = values.row("position", 2, 3, what="a place of 2 or 3 numbers")
        marks = {"frame": "earth" if frame.earth else "local"}
        moves = read_movement({"kind": "static", "positions": [place.tolist()], **marks}, folder, [name], values.where)
    else:
        moving = values.need("movement", dict, "a table")
        moves = read_movement(moving, folder, [name], f"{values.where}.movement", strict)
        origins = {frame.origin_deg, moves.frame.origin_deg} - {None}
        if moves.frame.earth != frame.earth or len(origins) > 1:
            raise values.wrong("movement", "not in the nodes' frame, or with another origin")
    power = values.number("power_dbm", least=-MOST_DB, most=MOST_DB) if "power_dbm" in table else None
    reach = values.number("range_m", above=0, endless=True) if "range_m" in table else None
    if (power is None) == (reach is None):
        raise values.wrong("power_dbm", "there must be either power_dbm or range_m")
    channel = values.whole("channel", 0) if "channel" in table else None
    if channel is not None and channel >= channels:
        raise values.wrong("channel", f"there are {channels}, from 0")
    on_s = values.rows("on_s", 2, what="pairs of times") if "on_s" in table else np.empty((0, 2))
    if (on_s[:, 0] >= on_s[:, 1]).any():
        raise values.wrong("on_s", "it ends before it begins")
    return Jammer(
        name,
        moves,
        power,
        reach,
        values.number("loss", 1.0, above=0, most=1),
        channel,
        tuple((float(begin), float(end)) for begin, end in on_s),
    )
