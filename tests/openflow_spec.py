"""An OpenFlow 1.3 switch as the specification has it (1.3.5, chapter 5), over the types that a datapath is told: what
comes out of it for a packet. It knows no hardware; meters let everything through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from openflow_packet import Packet, TtlError

from headrace.cards.switch import flows
from headrace.cards.switch.flows import Action, ActionKind, Bucket, Flow, Group, GroupKind

NO_MATCH, ACTION, TTL = 0, 1, 2

SET_ORDER = (
    (ActionKind.COPY_TTL_IN,),
    (ActionKind.POP_VLAN,),
    (ActionKind.POP_MPLS,),
    (ActionKind.PUSH_MPLS,),
    (ActionKind.PUSH_VLAN,),
    (ActionKind.COPY_TTL_OUT,),
    (ActionKind.DEC_NW_TTL, ActionKind.DEC_MPLS_TTL),
    (ActionKind.SET_NW_TTL, ActionKind.SET_MPLS_TTL, ActionKind.SET_FIELD),
)


class ToController(NamedTuple):
    """A packet-in. ``data``: the whole packet; ``flow``: that sent it, None: a packet-out."""

    reason: int
    data: bytes
    in_port: int
    metadata: int
    flow: Flow | None
    tunnel_id: int


@dataclass
class Outcome:
    """What came out, in order."""

    sent: list[tuple[int, bytes]] = field(default_factory=list)
    to_controller: list[ToController] = field(default_factory=list)

    def by_port(self) -> dict[int, list[bytes]]:
        """What each port sent: the order of what different ports send is nobody's."""
        found: dict[int, list[bytes]] = {}
        for port, data in self.sent:
            found.setdefault(port, []).append(data)
        return found


@dataclass
class _Context:
    packet: Packet
    in_port: int
    metadata: int = 0
    flow: Flow | None = None
    action_set: dict[tuple[int, int], tuple[Action, Flow | None]] = field(default_factory=dict)


class SpecSwitch:
    """A switch with these flows and groups; ``choose``: the bucket of a SELECT group, by its number; ``live``: ports
    that are, None: all."""

    def __init__(
        self,
        ports: int,
        flow_entries: Iterable[Flow],
        groups: Iterable[Group] = (),
        choose: Callable[[Group], int] = lambda _: 0,
        live: Iterable[int] | None = None,
    ) -> None:
        self.ports, self.choose = ports, choose
        self.live = set(range(1, ports + 1) if live is None else live)
        self.groups = {group.number: group for group in groups}
        self.tables: dict[int, list[Flow]] = {}
        for flow in flow_entries:
            self.tables.setdefault(flow.table, []).append(flow)
        for entries in self.tables.values():
            entries.sort(key=lambda flow: -flow.priority)

    def run(self, data: bytes, in_port: int) -> Outcome:
        """A packet that comes in by a port."""
        outcome = Outcome()
        self._from_table(0, _Context(Packet.read(data), in_port), outcome)
        return outcome

    def packet_out(self, data: bytes, in_port: int, actions: Sequence[Action]) -> Outcome:
        """A packet from a controller."""
        outcome = Outcome()
        try:
            self._apply(actions, _Context(Packet.read(data), in_port), outcome, ACTION)
        except TtlError:
            pass
        return outcome

    def matching(self, table: int, packet: Packet, in_port: int, metadata: int) -> Flow | None:
        """The flow of a table that a packet takes."""
        has = packet.fields() | {0: in_port, 1: in_port, 2: metadata}
        return next((flow for flow in self.tables.get(table, ()) if matches(flow.match, has)), None)

    def _from_table(self, table: int | None, context: _Context, outcome: Outcome) -> None:
        try:
            while table is not None:
                flow = self.matching(table, context.packet, context.in_port, context.metadata)
                if flow is None:
                    return
                table = self._instruct(flow, context, outcome)
            self._run_set(context, outcome)
        except TtlError:
            pass

    def _instruct(self, flow: Flow, context: _Context, outcome: Outcome) -> int | None:
        todo, context.flow = flow.instructions, flow
        reason = ACTION if flow.match or flow.priority else NO_MATCH
        self._apply(todo.apply or (), context, outcome, reason)
        if todo.clear:
            context.action_set.clear()
        for action in todo.write or ():
            context.action_set[_place(action)] = (action, flow)
        if todo.metadata:
            value, mask = todo.metadata
            context.metadata = context.metadata & ~mask | value & mask
        return todo.goto

    def _run_set(self, context: _Context, outcome: Outcome) -> None:
        for action, flow in _in_order(context.action_set):
            context.flow = flow
            reason = ACTION if flow is None or flow.match or flow.priority else NO_MATCH
            self._apply([action], context, outcome, reason)

    def _apply(self, actions: Sequence[Action], context: _Context, outcome: Outcome, reason: int) -> None:
        """Raises TtlError for a packet that ends."""
        for action in actions:
            if action.kind == ActionKind.OUTPUT:
                self._output(action, context, outcome, reason)
            elif action.kind == ActionKind.GROUP:
                self._group(self.groups[action.value], context, outcome)
            else:
                try:
                    context.packet = edited(context.packet, action)
                except TtlError:
                    outcome.to_controller.append(self._packet_in(context, TTL))
                    raise

    def _packet_in(self, context: _Context, reason: int) -> ToController:
        data = bytes(context.packet)
        tunnel_id = context.packet.tunnel_id
        return ToController(reason, data, context.in_port, context.metadata, context.flow, tunnel_id)

    def _output(self, action: Action, context: _Context, outcome: Outcome, reason: int) -> None:
        port = action.value
        if port == flows.CONTROLLER:
            outcome.to_controller.append(self._packet_in(context, reason))
        elif port == flows.TABLE:
            self._from_table(0, _Context(context.packet, context.in_port), outcome)
        elif port == flows.IN_PORT:
            outcome.sent.append((context.in_port, bytes(context.packet)))
        else:
            to = range(1, self.ports + 1) if port in (flows.ALL, flows.FLOOD) else (port,)
            outcome.sent += [(number, bytes(context.packet)) for number in to if number != context.in_port]

    def _group(self, group: Group, context: _Context, outcome: Outcome) -> None:
        for bucket in self._buckets(group):
            clone = _Context(context.packet, context.in_port, context.metadata, context.flow)
            clone.action_set = {_place(action): (action, context.flow) for action in bucket.actions}
            for action, _ in _in_order(clone.action_set):
                self._apply([action], clone, outcome, ACTION)

    def _buckets(self, group: Group) -> Sequence[Bucket]:
        if group.kind == GroupKind.SELECT:
            return [group.buckets[self.choose(group)]] if any(bucket.weight for bucket in group.buckets) else []
        if group.kind == GroupKind.FAST_FAILOVER:
            return [bucket for bucket in group.buckets if self._is_live(bucket, ())][:1]
        return group.buckets

    def _is_live(self, bucket: Bucket, above: tuple[int, ...]) -> bool:
        if bucket.watch_port is None and bucket.watch_group is None:
            return True
        if bucket.watch_port in self.live:
            return True
        group = None if bucket.watch_group in above else self.groups.get(bucket.watch_group or -1)
        return group is not None and any(self._is_live(other, (*above, group.number)) for other in group.buckets)


def matches(match: flows.Match, has: dict[int, int]) -> bool:
    """Whether fields, by their numbers, are as a match has them."""
    for number, value, mask in match:
        care = -1 if mask is None else mask
        if care and (number not in has or (has[number] ^ value) & care):
            return False
    return True


def edited(packet: Packet, action: Action) -> Packet:
    """What an action other than output and group makes of a packet. Raises TtlError."""
    match action.kind:
        case ActionKind.SET_FIELD:
            return packet.set_field(action.number, action.value)
        case ActionKind.PUSH_VLAN:
            return packet.push_vlan(action.value)
        case ActionKind.POP_VLAN:
            return packet.pop_vlan()
        case ActionKind.PUSH_MPLS:
            return packet.push_mpls(action.value)
        case ActionKind.POP_MPLS:
            return packet.pop_mpls(action.value)
        case ActionKind.SET_NW_TTL:
            return packet.set_nw_ttl(action.value)
        case ActionKind.DEC_NW_TTL:
            return packet.dec_nw_ttl()
        case ActionKind.SET_MPLS_TTL:
            return packet.set_mpls_ttl(action.value)
        case ActionKind.DEC_MPLS_TTL:
            return packet.dec_mpls_ttl()
        case ActionKind.COPY_TTL_OUT:
            return packet.copy_ttl_out()
        case ActionKind.COPY_TTL_IN:
            return packet.copy_ttl_in()
        case ActionKind.SET_QUEUE:
            return packet
    raise ValueError(action)


def _place(action: Action) -> tuple[int, int]:
    return action.kind, action.number if action.kind == ActionKind.SET_FIELD else 0


def _in_order(
    action_set: dict[tuple[int, int], tuple[Action, Flow | None]],
) -> list[tuple[Action, Flow | None]]:
    kept = list(action_set.values())
    found = [entry for kinds in SET_ORDER for entry in kept if entry[0].kind in kinds]
    last = [entry for entry in kept if entry[0].kind == ActionKind.GROUP]
    return found + (last or [entry for entry in kept if entry[0].kind == ActionKind.OUTPUT])
