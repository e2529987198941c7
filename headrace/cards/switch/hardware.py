"""The switch card as a datapath: keeps the card's tables, programs, groups and meters as it is told."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol

from headrace.cards.switch import flows
from headrace.cards.switch.compile import (
    Code,
    FlowCode,
    Word,
    flow_code,
    group_code,
    packet_out_code,
)
from headrace.cards.switch.fields import HOST_PORT, Key, key_of, port_in_match
from headrace.cards.switch.flows import (
    Action,
    Bucket,
    Count,
    Expired,
    Flow,
    Group,
    Instructions,
    Meter,
    MeterCount,
    PacketIn,
    PortCount,
    PortState,
    RefusedError,
    TableCount,
)
from headrace.cards.switch.layout import ENTRY, NO_TABLE, TICK_NS, Act, FlowOp
from headrace.cards.switch.memory import Numbers, Places, Quarantine
from headrace.cards.switch.openflow.errors import (
    BadAction,
    BadRequest,
    FlowModFailed,
    GroupModFailed,
    MeterModFailed,
    refused,
)
from headrace.cards.switch.registers import SwitchHardware
from headrace.cards.switch.tables import CLAIM, Entry, FlowTable
from headrace.cards.switch.trace import Trace, trace
from headrace.errors import CardError

_PACKET_OUTS = 256
"""Programs of packet-outs that are kept."""
_TURNS = 100_000
_BURST_S = 0.1
_JUMBO_KB = 73  # kilobits of a frame of 9,018 bytes
_NOTHING = Count(0, 0)


@dataclass(eq=False)
class _Program:
    """In the card's memory; address 0: none. ``users``: flows, groups and packet-outs that have it."""

    address: int
    code: Code
    users: int = 1


@dataclass(eq=False)
class _Installed:
    """Of a flow."""

    entry: Entry
    code: FlowCode
    program: _Program
    effect: int
    hard_at: int
    before: Count = _NOTHING  # what the entry had counted when the flow's counters began at 0


@dataclass(eq=False)
class _InstalledGroup:
    """Of a group. ``watched``: of each bucket, the ports of which one must be live; None: it always is."""

    index: int
    count: int
    counts: list[int]
    watched: list[frozenset[int] | None]
    program: _Program


_Text = tuple[tuple[Word, ...], ...]
"""Of a program."""


class _Pool(Protocol):
    def take(self) -> int | None: ...

    def free(self, number: int, /) -> None: ...


class HardwareDatapath:
    """A ``flows.Datapath`` on a card that nothing is known of, but that it has been reset. ``claim``: flows of one mask
    that it takes for a table's exact part to go to them."""

    def __init__(self, hardware: SwitchHardware, claim: int = CLAIM) -> None:
        self._hardware = hardware
        self.ports, self.tables, self.custom = hardware.ports, hardware.tables, hardware.custom
        self.fields = hardware.fields
        self.entries = hardware.exact * 15 // 16 + hardware.ternary - 1  # what fits, be keys alike or not
        self.groups, self.meters, self.bands = hardware.groups, hardware.meters, hardware.bands
        self._quarantine = Quarantine(hardware.entered, hardware.left, self._collect)
        self._program_places = Places(hardware.program_words - 1)
        self._shared: dict[_Text, _Program] = {}
        with ExitStack() as undo:
            drop = self._write_program(Code([[Word(Act.CLEAR)]]), undo)
            undo.pop_all()
        assert drop is not None
        self._tables = [
            FlowTable(hardware, number, self._quarantine, drop.address, claim) for number in range(hardware.tables)
        ]
        self._owners: dict[int, Flow] = {}  # by addresses of programs and of their blocks
        self._packet_outs: OrderedDict[_Text, _Program] = OrderedDict()
        self._counter_numbers = Numbers(0, hardware.counters - 1)
        self._group_numbers = Numbers(0, hardware.groups - 1)
        self._meter_numbers = Numbers(0, hardware.meters - 1)
        self._groups: dict[int, Group] = {}
        self._watchers: dict[int, Group] = {}  # those with a bucket that watches a group
        self._meters: dict[int, Meter] = {}
        self._ports = [PortState() for _ in range(hardware.ports)]
        self._events: deque[PacketIn | Expired] = deque()
        self._timed = False  # there has been a flow with a timeout
        self._write_ports()

    def now_ns(self) -> int:
        """The card's time."""
        return self._hardware.now_ns()

    # ---------------------------------------------------------------------------------------------------- flows

    def check(self, flow: Flow) -> None:
        """Raises RefusedError for a flow that ``add`` would refuse for other reasons than room."""
        self._compile(flow)

    def _compile(self, flow: Flow) -> tuple[Key | None, FlowCode]:
        if not 0 <= flow.table < self.tables:
            raise refused(FlowModFailed.BAD_TABLE_ID, f"there is no table {flow.table}")
        return key_of(flow.match), flow_code(flow, flow.instructions, self)

    def add(self, flow: Flow) -> None:
        """A flow that is not there: its counters begin at 0."""
        key, code = self._compile(flow)
        table = self._tables[flow.table]
        with ExitStack() as undo:
            number = self._take(table.take_number)
            if number is None:
                raise _full(flow)
            undo.callback(table.free_number, number)
            program, effect = self._write_code(flow, code, undo)
            entry = Entry(flow, number, key, flow.priority)
            installed = _Installed(entry, code, program, effect, _hard_at(flow))
            if not table.insert(entry, **_members(installed, flow.instructions)):
                raise _full(flow)
            undo.pop_all()
        flow.installed = installed

    def change(self, flow: Flow, instructions: Instructions) -> None:
        """Other instructions and the timeouts that ``flow`` has now, at once; its counters stay. Sets
        ``flow.instructions``."""
        old: _Installed = flow.installed
        code = flow_code(flow, instructions, self)
        with ExitStack() as undo:
            program, effect = self._write_code(flow, code, undo)
            undo.pop_all()
        installed = _Installed(old.entry, code, program, effect, _hard_at(flow), old.before)
        table = self._tables[flow.table]
        table.write(FlowOp.CHANGE_ENTRY, old.entry.number, **_members(installed, instructions))
        flow.installed, flow.instructions = installed, instructions
        self._quarantine.put(lambda: self._free_program(old.program))
        table.drop_effects(old.code.effects)

    def remove(self, flow: Flow) -> None:
        """Its counters can be read no more."""
        installed: _Installed = flow.installed
        table, number = self._tables[flow.table], installed.entry.number
        table.remove(installed.entry)
        if flow.idle_s or flow.hard_s:  # packets in the card may still have the entry, but it doesn't expire
            forever = _members(installed, flow.instructions) | {"idle": 0, "hard_at": 0}
            table.write(FlowOp.CHANGE_ENTRY, number, **forever)
        flow.installed = None

        def release() -> None:
            table.free_number(number)
            self._free_program(installed.program)

        self._quarantine.put(release)
        table.drop_effects(installed.code.effects)

    def count(self, flows: Sequence[Flow]) -> list[Count]:
        """Of flows that are there."""
        return [self._count(flow) for flow in flows]

    def _count(self, flow: Flow) -> Count:
        found, before = self._count_entry(flow), flow.installed.before
        return Count(found.packets - before.packets, found.bytes - before.bytes, found.used_ns)

    def _count_entry(self, flow: Flow) -> Count:
        return self._hardware.count_entry(flow.table, flow.installed.entry.number)

    def reset_count(self, flow: Flow) -> None:
        """Its counters begin at 0; the time of its last packet stays."""
        flow.installed.before = self._count_entry(flow)

    def _write_code(self, flow: Flow, code: FlowCode, undo: ExitStack) -> tuple[_Program, int]:
        """Puts what a flow does into memories of the card; the addresses of the program and of effects."""
        table = self._tables[flow.table]
        self._timed = self._timed or bool(flow.idle_s or flow.hard_s)
        program = self._write_program(code.code, undo)
        effect = self._take(lambda: table.take_effects(code.effects))
        if program is None or effect is None:
            raise _full(flow)
        undo.callback(table.drop_effects, code.effects)
        if code.code.tells:
            for address in code.code.addresses(program.address):
                self._owners[address] = flow
        return program, effect

    def _tick(self) -> int:
        return self._hardware.now_ns() // TICK_NS

    # ------------------------------------------------------------------------------------------------- programs

    def _write_program(self, code: Code, undo: ExitStack) -> _Program | None:
        """Equal programs are one, but for those that copies for the host name. None: there is no room."""
        if not len(code):
            return _Program(0, code)
        program = self._shared.get(_text(code))
        if program is not None:
            program.users += 1
        else:
            address = self._take(lambda: self._program_places.take(len(code)))
            if address is None:
                return None
            program = _Program(address, code)
            self._hardware.write_program(address, code.words(address))
            if not code.tells:
                self._shared[_text(code)] = program
        undo.callback(self._free_program, program)
        return program

    def _free_program(self, program: _Program) -> None:
        """For a user all of whose packets have run it."""
        program.users -= 1
        if program.address and not program.users:
            for address in program.code.addresses(program.address):
                self._owners.pop(address, None)
            self._shared.pop(_text(program.code), None)
            self._program_places.free(program.address, len(program.code))

    def _take(self, take: Callable[[], int | None]) -> int | None:
        """Takes something that may have to be waited for; None: there is none, and none will come."""
        for _ in range(_TURNS):
            found = take()
            if found is not None or not self._quarantine:
                return found
            self._collect()  # packets that nobody takes keep those behind them in the card
            self._quarantine.sweep()
        raise CardError("packets stay in the switch: it does not come to an end with them")

    def packet_out(self, data: bytes, in_port: int, actions: Sequence[Action]) -> None:
        """Sends a packet; ``in_port`` may be CONTROLLER."""
        port = port_in_match(in_port)
        if port != HOST_PORT and not 1 <= port <= self.ports:
            raise refused(BadRequest.BAD_PORT, f"there is no port {in_port:#x}")
        code, table = packet_out_code(actions, self)
        if table != NO_TABLE or len(code):
            self._hardware.send(data, port, table, self._packet_out_program(code).address)

    def _packet_out_program(self, code: Code) -> _Program:
        """Controllers send packets to the same places all the time: their programs stay for a while."""
        key = _text(code)
        program = self._packet_outs.pop(key, None)
        if program is None:
            with ExitStack() as undo:
                program = self._write_program(code, undo)
                undo.pop_all()
            if program is None:
                raise refused(BadAction.TOO_MANY, "there is no room for the actions")
        self._packet_outs[key] = program
        if len(self._packet_outs) > _PACKET_OUTS:
            _, oldest = self._packet_outs.popitem(last=False)
            self._quarantine.put(lambda: self._free_program(oldest))
        return program

    # --------------------------------------------------------------------------------------------------- groups

    def group_index(self, number: int) -> int:
        """Of a group, in the group table."""
        if number not in self._groups:
            raise refused(BadAction.BAD_OUT_GROUP, f"there is no group {number}")
        return int(self._groups[number].installed.index)

    def set_group(self, group: Group) -> None:
        """A new one, or other buckets for the number (a new ``Group``), whose counters begin at 0."""
        for bucket in group.buckets:
            if bucket.watch_port is not None and not 1 <= bucket.watch_port <= self.ports:
                raise refused(GroupModFailed.BAD_WATCH, f"there is no port {bucket.watch_port:#x} to watch")
        old: _InstalledGroup | None = self._groups[group.number].installed if group.number in self._groups else None
        groups = {**self._groups, group.number: group}
        with ExitStack() as undo:
            counts = [self._need_counter(undo) for _ in group.buckets]
            if old is None:
                index = self._need(self._group_numbers, GroupModFailed.OUT_OF_GROUPS, undo)
                count = self._need_counter(undo)
            else:
                index, count = old.index, old.count
            watched = [_watched(bucket, groups) for bucket in group.buckets]
            installed = self._group_program(group, index, count, counts, watched, undo)
            others = self._changed_watchers(groups, group.number, undo)
            undo.pop_all()
        self._groups[group.number] = group
        self._watchers.pop(group.number, None)
        if any(bucket.watch_group is not None for bucket in group.buckets):
            self._watchers[group.number] = group
        self._hardware.write_group(index, installed.program.address)
        group.installed = installed
        self._install_watchers(others)
        if old is not None:
            self._retire_group(old.program, old.counts)

    def remove_group(self, number: int) -> None:
        """Its flows are removed before."""
        groups = {other: group for other, group in self._groups.items() if other != number}
        with ExitStack() as undo:
            others = self._changed_watchers(groups, number, undo)
            undo.pop_all()
        self._install_watchers(others)
        self._watchers.pop(number, None)
        old: _InstalledGroup = self._groups.pop(number).installed
        self._retire_group(old.program, [old.count, *old.counts])
        self._quarantine.put(lambda: self._group_numbers.free(old.index))

    def count_group(self, number: int) -> tuple[Count, list[Count]]:
        """Of the group, and of each of its buckets."""
        installed: _InstalledGroup = self._groups[number].installed
        return self._hardware.count(installed.count), [self._hardware.count(number) for number in installed.counts]

    def _group_program(
        self,
        group: Group,
        index: int,
        count: int,
        counts: list[int],
        watched: list[frozenset[int] | None],
        undo: ExitStack,
    ) -> _InstalledGroup:
        program = self._write_program(group_code(group, self, count, counts, watched), undo)
        if program is None:
            raise refused(GroupModFailed.OUT_OF_BUCKETS, "there is no room for the buckets' actions")
        return _InstalledGroup(index, count, counts, watched, program)

    def _changed_watchers(
        self, groups: Mapping[int, Group], changed: int, undo: ExitStack
    ) -> list[tuple[Group, _InstalledGroup]]:
        """Groups but ``changed`` that watch other ports when the groups are these, and what they are then."""
        found = []
        for group in self._watchers.values():
            old: _InstalledGroup = group.installed
            watched = [_watched(bucket, groups) for bucket in group.buckets]
            if group.number != changed and watched != old.watched:
                found.append((group, self._group_program(group, old.index, old.count, old.counts, watched, undo)))
        return found

    def _install_watchers(self, others: Sequence[tuple[Group, _InstalledGroup]]) -> None:
        for group, installed in others:
            self._hardware.write_group(installed.index, installed.program.address)
            self._retire_group(group.installed.program, [])
            group.installed = installed

    def _retire_group(self, program: _Program, counts: Sequence[int]) -> None:
        def release() -> None:
            self._free_program(program)
            for number in counts:
                self._counter_numbers.free(number)

        self._quarantine.put(release)

    def _need_counter(self, undo: ExitStack) -> int:
        number = self._need(self._counter_numbers, GroupModFailed.OUT_OF_BUCKETS, undo)
        self._hardware.clear_count(number)
        return number

    def _need(self, pool: _Pool, code: GroupModFailed, undo: ExitStack) -> int:
        number = self._take(pool.take)
        if number is None:
            raise refused(code, "there is no room for the group")
        undo.callback(pool.free, number)
        return number

    # --------------------------------------------------------------------------------------------------- meters

    def meter_index(self, number: int) -> int:
        """Of a meter."""
        if number not in self._meters:
            raise refused(MeterModFailed.UNKNOWN_METER, f"there is no meter {number}")
        return int(self._meters[number].installed)

    def set_meter(self, meter: Meter) -> None:
        """A new one, or other bands for the number."""
        if len(meter.bands) > self.bands:
            raise refused(MeterModFailed.OUT_OF_BANDS, f"a meter has {self.bands} bands at most")
        if meter.number in self._meters:
            index = self.meter_index(meter.number)
        else:
            taken = self._take(self._meter_numbers.take)
            if taken is None:
                raise refused(MeterModFailed.OUT_OF_METERS, "all meters are in use")
            index = taken
        bands = tuple(band if band.burst else band._replace(burst=_burst(band.rate, meter)) for band in meter.bands)
        self._hardware.write_meter(index, replace(meter, bands=bands))
        meter.installed = index
        self._meters[meter.number] = meter

    def remove_meter(self, number: int) -> None:
        """Its flows are removed before."""
        index = self.meter_index(number)
        del self._meters[number]
        self._hardware.write_meter(index, None)
        self._quarantine.put(lambda: self._meter_numbers.free(index))

    def count_meter(self, number: int) -> MeterCount:
        """Since it was set: of the bands that it has, which may be fewer than the card's."""
        arrived, bands = self._hardware.count_meter(self.meter_index(number))
        return MeterCount(arrived, bands[: len(self._meters[number].bands)])

    # ----------------------------------------------------------------------------------------- ports and tables

    def set_port(self, number: int, state: PortState) -> None:
        """From now on."""
        self._ports[number - 1] = state
        self._write_ports()

    def _write_ports(self) -> None:
        def bits(has: Callable[[PortState], bool]) -> int:
            return sum(1 << number for number, state in enumerate(self._ports) if has(state))

        self._hardware.set_ports(
            enabled=bits(lambda port: port.sends),
            receiving=bits(lambda port: port.receives),
            live=bits(lambda port: port.live),
            quiet=bits(lambda port: not port.packet_ins),
        )

    def count_port(self, number: int) -> PortCount:
        """Since the beginning."""
        return self._hardware.count_port(number)

    def count_table(self, number: int) -> TableCount:
        """Since the beginning."""
        return self._tables[number].count()

    # --------------------------------------------------------------------------------------------------- events

    def trace(self, data: bytes, in_port: int) -> Trace:
        """What would be done to a packet, as the flows are now."""
        entries = (entry.flow for table in self._tables for entry in table.entries.values())
        live = [number for number, state in enumerate(self._ports, 1) if state.live]
        return trace(entries, self._groups, data, in_port, self.ports, live)

    def events(self) -> Iterator[PacketIn | Expired]:
        """What has happened since it was last asked."""
        self._collect()
        while self._events:
            event = self._events.popleft()
            if isinstance(event, PacketIn) or self._due(event):
                yield event
            elif (installed := event.flow.installed) is not None:  # its timeouts went as one was told
                members = _members(installed, event.flow.instructions)
                self._tables[event.flow.table].write(FlowOp.CHANGE_ENTRY, installed.entry.number, **members)

    def _due(self, event: Expired) -> bool:
        """Whether its flow is still there, and has come to the end of a timeout that it has now: it may have got
        others, or been used, since it was told."""
        flow = event.flow
        if flow.installed is None:
            return False
        if event.hard:
            return flow.hard_s > 0 and self._tick() >= _hard_at(flow)
        return flow.idle_s > 0 and self._tick() - self._count(flow).used_ns // TICK_NS >= _ticks(flow.idle_s)

    def _collect(self) -> None:
        """Takes what the card has to say, while it is known which flows it means."""
        for data, total, reason, in_port, metadata, tunnel_id, origin in self._hardware.received():
            port = flows.CONTROLLER if in_port == HOST_PORT else in_port
            owner = self._owners.get(origin)
            self._events.append(PacketIn(data, total, reason, port, metadata, owner, tunnel_id))
        for table, number, hard in self._hardware.expired() if self._timed else ():
            if entry := self._tables[table].entries.get(number):
                self._events.append(Expired(entry.flow, hard))


def _full(flow: Flow) -> RefusedError:
    return refused(FlowModFailed.TABLE_FULL, f"table {flow.table} is full")


def _text(code: Code) -> _Text:
    return tuple(map(tuple, code.blocks))


def _burst(rate: int, meter: Meter) -> int:
    """Of a band that leaves it to the switch: what comes in a tenth of a second, and a packet at least."""
    return max(round(_BURST_S * rate), 1 if meter.packets else _JUMBO_KB)


def _hard_at(flow: Flow) -> int:
    """When it ends by its hard timeout, in ticks; 0: never."""
    return flow.created_ns // TICK_NS + _ticks(flow.hard_s) if flow.hard_s else 0


def _ticks(seconds: int) -> int:
    return -(-seconds * 10**9 // TICK_NS)


def _members(installed: _Installed, instructions: Instructions) -> dict[str, int]:
    """Of a flow's entry."""
    value, mask = instructions.metadata or (0, 0)
    return {
        "program_at": installed.program.address,
        "effect": installed.effect,
        "next": installed.code.next,
        "metadata": value & mask,
        "metadata_mask": mask,
        "idle": _ticks(installed.entry.flow.idle_s),
        "hard_at": installed.hard_at & ENTRY.ones("hard_at"),  # the card knows the lower bits of time
    }


def _watched(bucket: Bucket, groups: Mapping[int, Group], seen: frozenset[int] = frozenset()) -> frozenset[int] | None:
    """The ports of which one must be live for a bucket to be; None: it always is."""
    if bucket.watch_port is None and bucket.watch_group is None:
        return None
    ports = frozenset(() if bucket.watch_port is None else (bucket.watch_port,))
    number = bucket.watch_group
    if number is None or number in seen or number not in groups:
        return ports
    for other in groups[number].buckets:
        found = _watched(other, groups, seen | {number})
        if found is None:
            return None
        ports |= found
    return ports
