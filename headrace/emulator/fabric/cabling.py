"""Ports of a fabric on switches that cables join, each switch with each: what a link is in flows of OpenFlow.

Frames to a port of another switch go over the cable between the two, in a VLAN whose number is that of the port there;
with one switch there is no cable, and port N of the fabric is port N + 1 of the switch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from headrace.cards.switch.flows import Action, ActionKind, Instructions, Match, Oxm
from headrace.cards.switch.openflow.oxm import VLAN_PRESENT, F
from headrace.emulator.fabric import Ends

_VLAN_TYPE = 0x8100
FROM_CABLE_TABLE = 1
"""Of flows for what comes over a cable."""


class Place(NamedTuple):
    """A port of a switch; switches are counted from 0, ports from 1."""

    switch: int
    port: int


class Rule(NamedTuple):
    """A flow, and whose it is."""

    switch: int
    table: int
    match: Match
    instructions: Instructions


class Cabling(NamedTuple):
    """``ports`` of a fabric on some switches: the first ports of each switch are at cables, one to each other switch.

    The fabric's ports follow, as many on each switch or one less, in their order."""

    ports: int
    switches: int

    @property
    def cables(self) -> int:
        """That each switch has."""
        return self.switches - 1

    @property
    def most(self) -> int:
        """Ports of the fabric on one switch."""
        return -(-self.ports // self.switches)

    def place(self, port: int) -> Place:
        """Of a port of the fabric."""
        switch = port * self.switches // self.ports
        first = -(-switch * self.ports // self.switches)
        return Place(switch, self.cables + 1 + port - first)

    def cable(self, here: int, there: int) -> Place:
        """The end at the switch ``here`` of its cable to another one."""
        return Place(here, there + 1 - (there > here))

    def ends(self) -> Iterator[tuple[Place, Place]]:
        """Of all cables."""
        for here, there in itertools.combinations(range(self.switches), 2):
            yield self.cable(here, there), self.cable(there, here)

    def always(self) -> Iterator[Rule]:
        """Whatever the links are."""
        for place in itertools.chain.from_iterable(self.ends()):
            yield Rule(place.switch, 0, _from(place), Instructions(goto=FROM_CABLE_TABLE))

    def link(self, ends: Ends) -> Iterator[Rule]:
        """Between two ports of the fabric."""
        for source, destination in (ends, ends[::-1]):
            here, there = self.place(source), self.place(destination)
            if here.switch == there.switch:
                yield Rule(here.switch, 0, _from(here), _out(there))
                continue
            vlan = Oxm(F.VLAN_VID, VLAN_PRESENT | there.port)
            tagged = (Action(ActionKind.PUSH_VLAN, _VLAN_TYPE), Action(ActionKind.SET_FIELD, vlan.value, F.VLAN_VID))
            yield Rule(here.switch, 0, _from(here), _out(self.cable(here.switch, there.switch), *tagged))
            entry = self.cable(there.switch, here.switch)
            arrived = (*_from(entry), vlan)
            yield Rule(there.switch, FROM_CABLE_TABLE, arrived, _out(there, Action(ActionKind.POP_VLAN)))


def _from(place: Place) -> Match:
    return (Oxm(F.IN_PORT, place.port),)


def _out(place: Place, *before: Action) -> Instructions:
    return Instructions(apply=(*before, Action(ActionKind.OUTPUT, place.port)))
