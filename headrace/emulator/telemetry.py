"""What a dashboard is told of a running emulation, beside its status: how it runs, and what each PHY has carried."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from headrace.emulator.fabric import port_name
from headrace.emulator.linking import Course
from headrace.emulator.scenario import Scenario


class Counters(NamedTuple):
    """What a PHY has carried since the beginning. It has received what the link has neither lost nor held back."""

    sent_frames: int
    sent_bytes: int
    received_frames: int
    received_bytes: int


def counters() -> dict[str, Counters]:
    """Of the PHYs, by the name of the fabric's port at the other end of their cable; in the fabric's network."""
    found = {}
    for line in Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, _, rest = line.partition(":")
        words = [int(word) for word in rest.split()]
        found[name.strip()] = Counters(words[1], words[0], words[9], words[8])
    return found


NOTHING = Counters(0, 0, 0, 0)


def of_phys(scenario: Scenario) -> list[list[dict[str, int]]]:
    """The counters of each node's PHYs; in the fabric's network."""
    found = counters()
    return [
        [found.get(port_name(node * scenario.phys + phy), NOTHING)._asdict() for phy in range(scenario.phys)]
        for node in range(len(scenario.nodes))
    ]


def of(scenario: Scenario, hold: bool, course: Course) -> dict[str, Any]:
    """How it runs, and what is jammed, each pair with whether there could be a link otherwise."""
    return {
        "phys": scenario.phys,
        "step_s": scenario.step_s,
        "duration_s": scenario.duration_s,
        "routing": scenario.routing,
        "hold": hold,
        "jams": [
            {"nodes": [scenario.nodes[node] for node in pair], "loss": loss, "link": pair in course.possible}
            for pair, loss in sorted(course.linking.jams.items())
        ],
    }
