"""A datapath in memory, for tests of the OpenFlow agent. Its packets are Ethernet headers: it matches in_port, eth_dst,
eth_src and eth_type, and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headrace.cards.switch import flows
from headrace.cards.switch.flows import (
    Action,
    ActionKind,
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
from headrace.cards.switch.openflow.oxm import FIELDS

SECOND = 1_000_000_000


class FakeDatapath:
    """Time stands still unless a test moves ``time_ns``. What was done last is in ``sent`` (port, packet)."""

    def __init__(self, ports: int = 4, tables: int = 4, entries: int = 100, fields: Iterable[int] = FIELDS) -> None:
        self.ports, self.tables, self.entries, self.fields = ports, tables, entries, frozenset(fields)
        self.groups, self.meters, self.bands = 8, 8, 2
        self.time_ns = 1000 * SECOND
        self.flows: list[Flow] = []
        self._keys: set[tuple[object, ...]] = set()
        self.counts: dict[int, Count] = {}
        self.group_entries: dict[int, Group] = {}
        self.meter_entries: dict[int, Meter] = {}
        self.port_states = {number: PortState() for number in range(1, ports + 1)}
        self.sent: list[tuple[int, bytes]] = []
        self.packet_outs: list[tuple[int, tuple[Action, ...], bytes]] = []
        self.happened: list[PacketIn | Expired] = []
        self.refuses: RefusedError | None = None

    def now_ns(self) -> int:
        return self.time_ns

    def check(self, flow: Flow) -> None:  # noqa: ARG002
        if self.refuses:
            raise self.refuses

    def add(self, flow: Flow) -> None:
        self.check(flow)
        if sum(other.table == flow.table for other in self.flows) >= self.entries:
            raise RefusedError(5, 1, "the table is full")
        assert _key(flow) not in self._keys
        self._keys.add(_key(flow))
        self.flows.append(flow)
        self.counts[id(flow)] = Count(0, 0, self.time_ns)

    def change(self, flow: Flow, instructions: Instructions) -> None:
        self.check(flow)
        assert flow in self.flows
        flow.instructions = instructions

    def remove(self, flow: Flow) -> None:
        self.flows.remove(flow)
        self._keys.remove(_key(flow))
        del self.counts[id(flow)]

    def count(self, flows: Sequence[Flow]) -> list[Count]:
        return [self.counts[id(flow)] for flow in flows]

    def reset_count(self, flow: Flow) -> None:
        self.counts[id(flow)] = Count(0, 0, self.counts[id(flow)].used_ns)

    def set_group(self, group: Group) -> None:
        self.group_entries[group.number] = group

    def remove_group(self, number: int) -> None:
        for flow in self.flows:
            actions = (flow.instructions.apply or ()) + (flow.instructions.write or ())
            assert Action(ActionKind.GROUP, number) not in actions
        del self.group_entries[number]
        left = [
            action for group in self.group_entries.values() for bucket in group.buckets for action in bucket.actions
        ]
        assert Action(ActionKind.GROUP, number) not in left

    def count_group(self, number: int) -> tuple[Count, list[Count]]:
        return Count(30, 3000), [Count(10, 1000) for _ in self.group_entries[number].buckets]

    def set_meter(self, meter: Meter) -> None:
        self.meter_entries[meter.number] = meter

    def remove_meter(self, number: int) -> None:
        assert all(flow.instructions.meter != number for flow in self.flows)
        del self.meter_entries[number]

    def count_meter(self, number: int) -> MeterCount:
        return MeterCount(Count(7, 700), tuple(Count(1, 100) for _ in self.meter_entries[number].bands))

    def set_port(self, number: int, state: PortState) -> None:
        self.port_states[number] = state

    def count_port(self, number: int) -> PortCount:
        return PortCount(*(100 * number + n for n in range(7)))

    def count_table(self, number: int) -> TableCount:
        return TableCount(20 + number, 10 + number)

    def packet_out(self, data: bytes, in_port: int, actions: Sequence[Action]) -> None:
        self.packet_outs.append((in_port, tuple(actions), data))
        self._output(in_port, actions, data, None)

    def events(self) -> Iterator[PacketIn | Expired]:
        for flow in self.flows:
            if flow.hard_s and self.time_ns >= flow.created_ns + flow.hard_s * SECOND:
                self.happened.append(Expired(flow, True))
            elif flow.idle_s and self.time_ns >= self.counts[id(flow)].used_ns + flow.idle_s * SECOND:
                self.happened.append(Expired(flow, False))
        happened, self.happened = self.happened, []
        return iter(happened)

    def receive(self, port: int, data: bytes) -> None:
        """A packet that comes in."""
        fields = {
            0: port,
            3: int.from_bytes(data[:6], "big"),
            4: int.from_bytes(data[6:12], "big"),
            5: int.from_bytes(data[12:14], "big"),
        }
        hits = [
            flow
            for flow in self.flows
            if not flow.table
            and all((fields[o.field] ^ o.value) & (-1 if o.mask is None else o.mask) == 0 for o in flow.match)
        ]
        if hits:
            flow = max(hits, key=lambda flow: flow.priority)
            count = self.counts[id(flow)]
            self.counts[id(flow)] = Count(count.packets + 1, count.bytes + len(data), self.time_ns)
            self._output(port, flow.instructions.apply or (), data, flow)

    def _output(self, in_port: int, actions: Sequence[Action], data: bytes, flow: Flow | None) -> None:
        for action in actions:
            if action.kind != ActionKind.OUTPUT:
                continue
            if action.value == flows.TABLE:
                self.receive(in_port, data)
            elif action.value == flows.CONTROLLER:
                reason = 0 if flow is not None and not flow.priority and not flow.match else 1
                self.happened.append(PacketIn(data[: action.number], len(data), reason, in_port, 0, flow))
            else:
                every = range(1, self.ports + 1) if action.value in (flows.FLOOD, flows.ALL) else (action.value,)
                self.sent += [(port, data) for port in every if port != in_port]


def _key(flow: Flow) -> tuple[object, ...]:
    return flow.table, flow.priority, flow.match
