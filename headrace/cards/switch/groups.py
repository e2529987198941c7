"""The groups and meters of an OpenFlow switch: what group and meter mods do, sections 6.5 to 6.7 of OpenFlow 1.3.5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from typing import NamedTuple

from headrace.cards.switch.checks import Checks
from headrace.cards.switch.flow_tables import Filter, FlowTables
from headrace.cards.switch.flows import ActionKind, Bucket, Datapath, Flow, Group, GroupKind, Meter
from headrace.cards.switch.openflow.constants import (
    ALL_GROUPS,
    ALL_METERS,
    MAX_GROUP,
    MAX_METER,
    Command,
    MeterFlag,
    Removal,
)
from headrace.cards.switch.openflow.errors import GroupModFailed, MeterModFailed, refused
from headrace.cards.switch.openflow.requests import GroupMod, MeterMod


class GroupTable:
    """All groups; ``groups`` has them by number."""

    def __init__(
        self,
        datapath: Datapath,
        groups: dict[int, Group],
        flow_tables: FlowTables,
        checks: Checks,
        ports: Container[int],
    ) -> None:
        self._datapath, self._groups, self._flow_tables = datapath, groups, flow_tables
        self._checks, self._ports = checks, ports

    def apply(self, mod: GroupMod) -> None:
        """Does what a group mod says, or raises RefusedError and does nothing."""
        if mod.command == Command.DELETE:
            self._delete(mod.number)
        elif mod.command in (Command.ADD, Command.MODIFY):
            self._set(mod)
        else:
            raise refused(GroupModFailed.BAD_COMMAND, f"command {mod.command}")

    def references(self) -> Counter[int]:
        """How many flows send packets to each group."""
        lists = [flow.instructions.apply or () for flow in self._flow_tables]
        lists += [flow.instructions.write or () for flow in self._flow_tables]
        return Counter(
            number for actions in lists for number in {a.value for a in actions if a.kind == ActionKind.GROUP}
        )

    def _set(self, mod: GroupMod) -> None:
        number = mod.number
        old = self._groups.get(number)
        if number > MAX_GROUP:
            raise refused(GroupModFailed.INVALID_GROUP, f"group {number:#x}")
        if mod.command == Command.ADD and old is not None:
            raise refused(GroupModFailed.GROUP_EXISTS, f"group {number}")
        if mod.command == Command.MODIFY and old is None:
            raise refused(GroupModFailed.UNKNOWN_GROUP, f"group {number}")
        if old is None and len(self._groups) >= self._datapath.groups:
            raise refused(GroupModFailed.OUT_OF_GROUPS, f"{len(self._groups)} groups")
        if mod.kind not in tuple(GroupKind):
            raise refused(GroupModFailed.BAD_TYPE, f"type {mod.kind}")
        kind = GroupKind(mod.kind)
        if kind == GroupKind.INDIRECT and len(mod.buckets) != 1:
            raise refused(GroupModFailed.INVALID_GROUP, f"an indirect group with {len(mod.buckets)} buckets")
        if self._reaches(mod.buckets, number):
            raise refused(GroupModFailed.LOOP, f"group {number} watches itself")
        for bucket in mod.buckets:
            self._check(kind, bucket)
        group = Group(number, kind, mod.buckets, old.created_ns if old else self._datapath.now_ns())
        self._datapath.set_group(group)
        self._groups[number] = group

    def _check(self, kind: GroupKind, bucket: Bucket) -> None:
        port, group = bucket.watch_port, bucket.watch_group
        watches = port is not None or group is not None
        if bucket.weight and kind != GroupKind.SELECT:
            raise refused(GroupModFailed.INVALID_GROUP, "a bucket with a weight that isn't selected by it")
        if kind == GroupKind.FAST_FAILOVER and not watches:
            raise refused(GroupModFailed.INVALID_GROUP, "a bucket that watches nothing")
        if kind != GroupKind.FAST_FAILOVER and watches:
            raise refused(GroupModFailed.WATCH_UNSUPPORTED, "a bucket that is used dead or alive watches something")
        if (port is not None and port not in self._ports) or (group is not None and group not in self._groups):
            raise refused(GroupModFailed.BAD_WATCH, "a bucket watches what is not there")
        if any(action.kind == ActionKind.GROUP for action in bucket.actions):
            raise refused(GroupModFailed.CHAINING_UNSUPPORTED, "a bucket with a group")
        self._checks.actions(bucket.actions)

    def _reaches(self, buckets: tuple[Bucket, ...], number: int) -> bool:
        """Whether buckets watch a group, or one that does. There are no loops among the groups."""
        return any(
            next_one == number or (next_one in self._groups and self._reaches(self._groups[next_one].buckets, number))
            for next_one in _watched(buckets)
        )

    def _delete(self, number: int) -> None:
        if number == ALL_GROUPS:
            chosen = dict(self._groups)
        elif number in self._groups:
            chosen = {number: self._groups[number]}
            if any(number in _watched(group.buckets) for group in self._groups.values()):
                raise refused(GroupModFailed.CHAINED_GROUP, f"another group watches group {number}")
        else:
            return
        for one in chosen:
            self._flow_tables.remove(self._flow_tables.select(Filter(out_group=one)), Removal.GROUP_DELETE)
        while chosen:
            used = {one for group in chosen.values() for one in _watched(group.buckets)}
            for one in chosen.keys() - used:
                self._datapath.remove_group(one)
                del self._groups[one], chosen[one]


def _watched(buckets: tuple[Bucket, ...]) -> set[int]:
    """The groups that they watch."""
    return {bucket.watch_group for bucket in buckets if bucket.watch_group is not None}


class MeterEntry(NamedTuple):
    """A meter, and the flags that it was made with."""

    meter: Meter
    flags: int


class MeterTable:
    """All meters; ``meters`` has them by number."""

    def __init__(self, datapath: Datapath, meters: dict[int, MeterEntry], flow_tables: FlowTables) -> None:
        self._datapath, self._meters, self._flow_tables = datapath, meters, flow_tables

    def apply(self, mod: MeterMod) -> None:
        """Does what a meter mod says, or raises RefusedError and does nothing."""
        if mod.command == Command.DELETE:
            for number in list(self._meters) if mod.number == ALL_METERS else [mod.number]:
                self._delete(number)
        elif mod.command in (Command.ADD, Command.MODIFY):
            self._set(mod)
        else:
            raise refused(MeterModFailed.BAD_COMMAND, f"command {mod.command}")

    def flows(self, number: int) -> Iterator[Flow]:
        """Those whose packets go through a meter."""
        return (flow for flow in self._flow_tables if flow.instructions.meter == number)

    def _set(self, mod: MeterMod) -> None:
        old = self._meters.get(mod.number)
        if not 0 < mod.number <= MAX_METER:
            raise refused(MeterModFailed.INVALID_METER, f"meter {mod.number:#x}")
        if mod.command == Command.ADD and old is not None:
            raise refused(MeterModFailed.METER_EXISTS, f"meter {mod.number}")
        if mod.command == Command.MODIFY and old is None:
            raise refused(MeterModFailed.UNKNOWN_METER, f"meter {mod.number}")
        both = MeterFlag.KBPS | MeterFlag.PKTPS
        if mod.flags & ~sum(MeterFlag) or mod.flags & both == both:
            raise refused(MeterModFailed.BAD_FLAGS, f"flags {mod.flags:#x}")
        if old is None and len(self._meters) >= self._datapath.meters:
            raise refused(MeterModFailed.OUT_OF_METERS, f"{len(self._meters)} meters")
        if len(mod.bands) > self._datapath.bands:
            raise refused(MeterModFailed.OUT_OF_BANDS, f"{len(mod.bands)} bands")
        created_ns = old.meter.created_ns if old else self._datapath.now_ns()
        meter = Meter(mod.number, mod.bands, bool(mod.flags & MeterFlag.PKTPS), created_ns)
        self._datapath.set_meter(meter)
        self._meters[mod.number] = MeterEntry(meter, mod.flags)

    def _delete(self, number: int) -> None:
        if number in self._meters:
            self._flow_tables.remove(list(self.flows(number)), Removal.DELETE)
            self._datapath.remove_meter(number)
            del self._meters[number]
