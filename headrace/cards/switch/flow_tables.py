"""The flow entries of an OpenFlow switch: what flow mods do to them, section 6.4 of OpenFlow 1.3.5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from headrace.cards.switch import flows
from headrace.cards.switch.checks import Checks
from headrace.cards.switch.flows import (
    ActionKind,
    Count,
    Datapath,
    Expired,
    Flow,
    Instructions,
    Match,
    Oxm,
    RefusedError,
)
from headrace.cards.switch.openflow.constants import (
    ALL_TABLES,
    ANY_GROUP,
    NO_BUFFER,
    FlowCommand,
    FlowFlag,
    Removal,
)
from headrace.cards.switch.openflow.errors import BadRequest, FlowModFailed, refused
from headrace.cards.switch.openflow.requests import FlowMod

Removed = Callable[[Flow, Removal, Count, int], None]
"""Is told of a flow that was removed: why, its counters, its age in ns."""
_FLAGS = sum(FlowFlag)
_DELETIONS = (FlowCommand.DELETE, FlowCommand.DELETE_STRICT)


class Filter(NamedTuple):
    """Which flows are meant: all that ``match`` covers, with an output to the port and the group unless those are ANY.
    ``priority``: those with just this match and this priority."""

    table: int = ALL_TABLES
    match: Match = ()
    priority: int | None = None
    cookie: int = 0
    cookie_mask: int = 0
    out_port: int = flows.ANY
    out_group: int = ANY_GROUP


class FlowTables:
    """All flow entries, and the datapath that has them."""

    def __init__(self, datapath: Datapath, checks: Checks, removed: Removed) -> None:
        self._datapath, self._checks, self._removed = datapath, checks, removed
        self._tables: list[dict[int, dict[Match, Flow]]] = [{} for _ in range(datapath.tables)]

    def __iter__(self) -> Iterator[Flow]:
        return (flow for number in range(len(self._tables)) for flow in self._of_table(number))

    def _of_table(self, number: int) -> Iterator[Flow]:
        return (flow for same in self._tables[number].values() for flow in same.values())

    def active(self) -> Counter[int]:
        """How many flows each table has."""
        return Counter({number: sum(map(len, table.values())) for number, table in enumerate(self._tables)})

    def apply(self, mod: FlowMod) -> None:
        """Does what a flow mod says, or raises RefusedError and does nothing. Only where the hardware refuses one of
        several changes are those before it done."""
        if mod.flags & ~_FLAGS:
            raise refused(FlowModFailed.BAD_FLAGS, f"flags {mod.flags:#x}")
        if mod.command not in tuple(FlowCommand):
            raise refused(FlowModFailed.BAD_COMMAND, f"command {mod.command}")
        deletion = mod.command in _DELETIONS
        if mod.table >= len(self._tables) and not (deletion and mod.table == ALL_TABLES):
            raise refused(FlowModFailed.BAD_TABLE_ID, f"table {mod.table}")
        self._checks.match(mod.match)
        if not deletion:
            if mod.buffer != NO_BUFFER:
                raise refused(BadRequest.BUFFER_UNKNOWN, f"no buffer {mod.buffer}")
            self._checks.instructions(mod.table, mod.match, mod.instructions)
        if mod.command == FlowCommand.ADD:
            self._add(mod)
            return
        strict = mod.command in (FlowCommand.MODIFY_STRICT, FlowCommand.DELETE_STRICT)
        chosen = Filter(mod.table, mod.match, mod.priority if strict else None, mod.cookie, mod.cookie_mask)
        if deletion:
            self.remove(self.select(chosen._replace(out_port=mod.out_port, out_group=mod.out_group)), Removal.DELETE)
        else:
            self._modify(self.select(chosen), mod)

    def _add(self, mod: FlowMod) -> None:
        same_priority = self._tables[mod.table].get(mod.priority, {})
        old = same_priority.get(mod.match)  # as in Open vSwitch a flow doesn't overlap itself
        checks = old is None and mod.flags & FlowFlag.CHECK_OVERLAP
        if checks and any(_overlap(mod.match, other) for other in same_priority):
            raise refused(FlowModFailed.OVERLAP, "overlaps a flow")
        flow = Flow(
            mod.table,
            mod.priority,
            mod.match,
            mod.instructions,
            mod.cookie,
            mod.flags,
            mod.idle_s,
            mod.hard_s,
            self._datapath.now_ns(),
        )
        if old is None:
            self._datapath.add(flow)
            self._tables[mod.table].setdefault(mod.priority, {})[mod.match] = flow
        else:
            self._replace(old, flow)

    def _replace(self, old: Flow, new: Flow) -> None:
        """The entry stays, so that no packet misses it; all but its counters becomes that of the new one."""
        before = replace(old)
        _tell(old, new)
        try:
            self._datapath.change(old, new.instructions)
        except RefusedError:
            _tell(old, before)
            raise
        if new.flags & FlowFlag.RESET_COUNTS:
            self._datapath.reset_count(old)

    def _modify(self, chosen: Sequence[Flow], mod: FlowMod) -> None:
        for flow in chosen:
            self._checks.instructions(flow.table, flow.match, mod.instructions)
            self._datapath.check(replace(flow, instructions=mod.instructions))
        for flow in chosen:
            self._datapath.change(flow, mod.instructions)
            if mod.flags & FlowFlag.RESET_COUNTS:
                self._datapath.reset_count(flow)

    def select(self, chosen: Filter) -> list[Flow]:
        """The flows that are meant."""
        numbers = range(len(self._tables)) if chosen.table == ALL_TABLES else (chosen.table,)
        found: list[Flow] = []
        for number in numbers:
            if chosen.priority is None:
                found += _covered(self._of_table(number), chosen.match)
            elif flow := self._tables[number].get(chosen.priority, {}).get(chosen.match):
                found.append(flow)
        if chosen.cookie_mask:
            found = [flow for flow in found if not (flow.cookie ^ chosen.cookie) & chosen.cookie_mask]
        if chosen.out_port != flows.ANY:
            found = [flow for flow in found if uses(flow.instructions, ActionKind.OUTPUT, chosen.out_port)]
        if chosen.out_group != ANY_GROUP:
            found = [flow for flow in found if uses(flow.instructions, ActionKind.GROUP, chosen.out_group)]
        return found

    def remove(self, chosen: Sequence[Flow], why: Removal) -> None:
        """Removes flows, and tells of it where they want that."""
        now = self._datapath.now_ns()
        counts = self._datapath.count(chosen)
        for flow, count in zip(chosen, counts, strict=True):
            self._datapath.remove(flow)
            table = self._tables[flow.table]
            del table[flow.priority][flow.match]
            if not table[flow.priority]:
                del table[flow.priority]
            self._removed(flow, why, count, now - flow.created_ns)

    def expire(self, expired: Expired) -> None:
        """Removes a flow whose time has come, unless it's gone, or has been added anew since."""
        flow = expired.flow
        if self._tables[flow.table].get(flow.priority, {}).get(flow.match) is flow:
            self.remove([flow], Removal.HARD_TIMEOUT if expired.hard else Removal.IDLE_TIMEOUT)


def _tell(flow: Flow, of: Flow) -> None:
    """What the datapath needs to know of a flow before its instructions change."""
    flow.cookie, flow.flags, flow.created_ns = of.cookie, of.flags, of.created_ns
    flow.idle_s, flow.hard_s = of.idle_s, of.hard_s


def uses(instructions: Instructions, kind: ActionKind, value: int) -> bool:
    """Whether they output to a port or a group."""
    return any(
        action.kind == kind and action.value == value
        for actions in (instructions.apply, instructions.write)
        for action in actions or ()
    )


def _covered(chosen: Iterable[Flow], general: Match) -> list[Flow]:
    """Flows all packets of which a match has too, as their fields say. The last fields tell flows best apart."""
    found = list(chosen)
    for oxm in reversed(general):
        if oxm.mask is None:
            found = [flow for flow in found if oxm in flow.match]
        else:
            mask = oxm.mask
            found = [flow for flow in found if any(_within(other, oxm, mask) for other in flow.match)]
    return found


def _within(special: Oxm, general: Oxm, mask: int) -> bool:
    return (
        special.field == general.field
        and not (special.value ^ general.value) & mask
        and (special.mask is None or not mask & ~special.mask)
    )


def _overlap(one: Match, other: Match) -> bool:
    """Whether a packet can match both."""
    fields = {field: (value, mask) for field, value, mask in other}
    for field, value, mask in one:
        if field in fields:
            other_value, other_mask = fields[field]
            common = (-1 if mask is None else mask) & (-1 if other_mask is None else other_mask)
            if (value ^ other_value) & common:
                return False
    return True
