"""What the switch does to a given packet, table by table: followed in its flows, without the card. Which bucket of a
SELECT group a packet takes is the card's hash's: the first one is followed. Meters let everything through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.cards.switch import flows
from headrace.cards.switch.compile import action_set
from headrace.cards.switch.flows import Action, ActionKind, Bucket, Flow, Group, GroupKind, Instructions, Match
from headrace.cards.switch.headers import Headers, TtlError
from headrace.cards.switch.layout import REASON_ACTION, REASON_NO_MATCH, REASON_TTL
from headrace.cards.switch.openflow.oxm import F
from headrace.cards.switch.text import action_text, field_name, field_text, match_text

_REASONS = {REASON_NO_MATCH: "no match", REASON_ACTION: "action", REASON_TTL: "invalid TTL"}


@dataclass(frozen=True)
class Output:
    """A copy that leaves the switch. ``reason``: of one to a controller."""

    port: int
    headers: Headers
    reason: int | None = None


@dataclass
class Step:
    """What happened at a table (``flow`` None: nothing matched), in a bucket of a group, or by the action set."""

    title: str
    table: int | None = None
    flow: Flow | None = None
    lines: list[str] = field(default_factory=list)


@dataclass
class Trace:
    """What was done, and what came out, in order."""

    came: Headers
    in_port: int
    steps: list[Step] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    def text(self) -> str:
        """For people to read."""
        came = {F.IN_PORT: self.in_port} | self.came.fields()
        del came[F.TUNNEL_ID]  # it comes from no port
        lines = [f"packet: {_fields_text(came)}"]
        for step in self.steps:
            lines += ["", step.title, *(f"    {line}" for line in step.lines)]
        lines += ["", *(self._output_text(output) for output in self.outputs)]
        return "\n".join(lines + ["nothing leaves the switch"] * (not self.outputs)) + "\n"

    def _output_text(self, output: Output) -> str:
        where = f"out of port {output.port}"
        if output.reason is not None:
            where = f"to controllers ({_REASONS[output.reason]})"
        return f"{where}: {_changes(self.came, output.headers)}"


def trace(
    flow_entries: Iterable[Flow],
    groups: Mapping[int, Group],
    data: bytes,
    in_port: int,
    ports: int,
    live: Iterable[int] | None = None,
) -> Trace:
    """Follows a packet through flows. ``ports``: how many the switch has; ``live``: those that are, None: all."""
    found = Trace(Headers.read(data), in_port)
    alive = frozenset(range(1, ports + 1) if live is None else live)
    _Walk(flow_entries, groups, ports, alive, found).run()
    return found


class _Walk:
    """A packet on its way."""

    def __init__(
        self,
        flow_entries: Iterable[Flow],
        groups: Mapping[int, Group],
        ports: int,
        live: frozenset[int],
        found: Trace,
    ) -> None:
        self._tables: dict[int, list[Flow]] = {}
        for flow in flow_entries:
            self._tables.setdefault(flow.table, []).append(flow)
        self._groups, self._ports, self._live, self._trace = groups, ports, live, found
        self._headers = found.came
        self._metadata = 0
        self._reason = REASON_ACTION
        self._written: list[tuple[Action, int]] = []  # with the reason why it would go to a controller

    def run(self) -> None:
        """To its end."""
        table: int | None = 0
        try:
            while table is not None:
                flow = self._find(table)
                if flow is None:
                    self._begin(f"table {table}: no flow matches: the packet is dropped", table)
                    return
                cookie = f", cookie {flow.cookie:#x}" if flow.cookie else ""
                self._begin(f"table {table}: priority {flow.priority}{cookie}, {match_text(flow.match)}", table, flow)
                self._instruct(flow, flow.instructions)
                table = flow.instructions.goto
            self._do_set()
        except TtlError:
            self._say("the TTL has run out: the packet ends")
            self._trace.outputs.append(Output(flows.CONTROLLER, self._headers, REASON_TTL))

    def _find(self, table: int) -> Flow | None:
        has = self._headers.fields() | {F.METADATA: self._metadata}
        has |= {F.IN_PORT: self._trace.in_port, F.IN_PHY_PORT: self._trace.in_port}
        found = [flow for flow in self._tables.get(table, ()) if _matches(flow.match, has)]
        return max(found, key=lambda flow: flow.priority, default=None)

    def _begin(self, title: str, table: int | None = None, flow: Flow | None = None) -> None:
        self._trace.steps.append(Step(title, table, flow))

    def _say(self, line: str) -> None:
        self._trace.steps[-1].lines.append(line)

    def _instruct(self, flow: Flow, todo: Instructions) -> None:
        self._reason = REASON_ACTION if flow.priority or flow.match else REASON_NO_MATCH
        if todo.meter is not None:
            self._say(f"meter:{todo.meter}")
        self._do(todo.apply or ())
        if todo.clear:
            self._say("clear_actions")
            self._written.clear()
        for action in todo.write or ():
            self._say(f"write {action_text(action)}")
            self._written.append((action, self._reason))
        if todo.metadata is not None:
            value, mask = todo.metadata
            self._metadata = self._metadata & ~mask | value & mask
            self._say(f"metadata is {self._metadata:#x}")
        if todo.goto is not None:
            self._say(f"goto_table:{todo.goto}")
        elif not self._trace.steps[-1].lines:
            self._say("drop")

    def _do_set(self) -> None:
        if not self._written:
            return
        self._begin("action set:")
        reasons = dict(self._written)
        for action in action_set(action for action, _ in self._written):
            self._reason = reasons[action]
            self._do([action])

    def _do(self, actions: Sequence[Action]) -> None:
        for action in actions:
            self._say(action_text(action))
            if action.kind == ActionKind.OUTPUT:
                self._output(action.value)
            elif action.kind == ActionKind.GROUP:
                self._group(action.value)
            else:
                self._headers = self._headers.edited(action)

    def _output(self, port: int) -> None:
        in_port, outputs = self._trace.in_port, self._trace.outputs
        if port == flows.CONTROLLER:
            outputs.append(Output(port, self._headers, self._reason))
        elif port == flows.IN_PORT:
            outputs.append(Output(in_port, self._headers))
        else:
            to = range(1, self._ports + 1) if port in (flows.ALL, flows.FLOOD) else (port,)
            if to == (in_port,):
                self._say("not sent: the packet came by that port")
            outputs += [Output(number, self._headers) for number in to if number != in_port]

    def _group(self, number: int) -> None:
        group, kept, reason = self._groups[number], self._headers, self._reason
        self._reason = REASON_ACTION
        for index in self._buckets(group):
            self._say(f"bucket {index} of group {number}, {group.kind.name.lower()}:")
            self._do(action_set(group.buckets[index].actions))
            self._headers = kept
        self._reason = reason

    def _buckets(self, group: Group) -> Sequence[int]:
        numbered = list(enumerate(group.buckets))
        if group.kind == GroupKind.SELECT:
            return [number for number, bucket in numbered if bucket.weight][:1]
        if group.kind == GroupKind.FAST_FAILOVER:
            return [number for number, bucket in numbered if self._is_live(bucket)][:1]
        return range(len(numbered))

    def _is_live(self, bucket: Bucket, above: frozenset[int] = frozenset()) -> bool:
        if bucket.watch_port is None and bucket.watch_group is None:
            return True
        number = bucket.watch_group
        if bucket.watch_port in self._live:
            return True
        if number is None or number in above or number not in self._groups:
            return False
        return any(self._is_live(other, above | {number}) for other in self._groups[number].buckets)


def _matches(match: Match, has: Mapping[int, int]) -> bool:
    for number, value, mask in match:
        care = ~0 if mask is None else mask
        if care and (number not in has or (has[number] ^ value) & care):
            return False
    return True


def _fields_text(fields: Mapping[int, int]) -> str:
    return ",".join(f"{field_name(number)}={field_text(number, value)}" for number, value in fields.items())


def _changes(came: Headers, goes: Headers) -> str:
    """What is different of a packet when it goes."""
    before, after = came.fields(), goes.fields()
    changed = {number: value for number, value in after.items() if before.get(number) != value}
    parts = [_fields_text(changed)] if changed else []
    if len(came.tags) != len(goes.tags):
        parts.append(f"{len(goes.tags)} VLAN tags")
    if len(came.labels) != len(goes.labels):
        parts.append(f"{len(goes.labels)} MPLS labels")
    if came.ttl != goes.ttl and goes.ttl is not None:
        parts.append(f"ttl={goes.ttl}")
    return ", ".join(parts) or "as it came"
