"""What an OpenFlow switch answers to multipart requests: section 7.3.5 of OpenFlow 1.3.5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version

from headrace.cards.switch import flows
from headrace.cards.switch.checks import MPLS_ACTIONS
from headrace.cards.switch.flow_tables import Filter, FlowTables
from headrace.cards.switch.flows import ActionKind, Datapath, Flow, Group
from headrace.cards.switch.groups import GroupTable, MeterEntry, MeterTable
from headrace.cards.switch.openflow import multipart, replies
from headrace.cards.switch.openflow.constants import ALL_GROUPS, ALL_METERS, ALL_TABLES, ANY_QUEUE, Part
from headrace.cards.switch.openflow.errors import (
    BadRequest,
    MeterModFailed,
    QueueOpFailed,
    TableFeaturesFailed,
    refused,
)
from headrace.cards.switch.openflow.multipart import FlowRequest, QueueRequest
from headrace.cards.switch.openflow.oxm import F
from headrace.cards.switch.openflow.requests import Multipart
from headrace.cards.switch.ports import Ports

_ACTIONS = tuple(
    kind for kind in ActionKind if kind not in (ActionKind.PUSH_PBB, ActionKind.POP_PBB, ActionKind.EXPERIMENTER)
)
_ALL_METADATA = 0xFFFF_FFFF_FFFF_FFFF


class Statistics:
    """Of the parts of a switch."""

    def __init__(
        self,
        datapath: Datapath,
        description: str,
        ports: Ports,
        flow_tables: FlowTables,
        groups: dict[int, Group],
        group_table: GroupTable,
        meters: dict[int, MeterEntry],
        meter_table: MeterTable,
    ) -> None:
        self._datapath, self._description = datapath, description
        self._ports, self._flow_tables = ports, flow_tables
        self._groups, self._group_table = groups, group_table
        self._meters, self._meter_table = meters, meter_table
        mpls = F.MPLS_LABEL in datapath.fields
        self._actions = [kind for kind in _ACTIONS if mpls or kind not in MPLS_ACTIONS]

    def answer(self, xid: int, request: Multipart) -> Iterable[bytes]:
        """The messages of the answer. Raises RefusedError."""
        kind, body = multipart.decode(request)
        match kind, body:
            case Part.DESC, _:
                software = f"headrace {version('headrace')}"
                parts = [multipart.desc("Headrace", "switch card", software, "none", self._description)]
            case Part.FLOW, FlowRequest():
                parts = self._flows(self._select(body))
            case Part.AGGREGATE, FlowRequest():
                parts = [multipart.aggregate(self._datapath.count(self._select(body)))]
            case Part.TABLE, _:
                active = self._flow_tables.active()
                numbers = range(self._datapath.tables)
                parts = [multipart.table(n, active[n], self._datapath.count_table(n)) for n in numbers]
            case Part.PORT_STATS, int():
                parts = [
                    multipart.port(n, self._datapath.count_port(n), self._port_age())
                    for n in self._chosen_ports(body, BadRequest.BAD_PORT)
                ]
            case Part.QUEUE, QueueRequest():
                parts = self._queues(body)
            case Part.GROUP, int():
                parts = self._group_counters(body)
            case Part.GROUP_DESC, _:
                parts = [multipart.group_desc(group) for group in self._groups.values()]
            case Part.GROUP_FEATURES, _:
                parts = [multipart.group_features(self._datapath.groups, self._actions)]
            case Part.METER, int():
                parts = self._meter_counters(body)
            case Part.METER_CONFIG, int():
                parts = [multipart.meter_config(*entry) for entry in self._chosen_meters(body)]
            case Part.METER_FEATURES, _:
                parts = [multipart.meter_features(self._datapath.meters, self._datapath.bands)]
            case Part.TABLE_FEATURES, _:
                if body or request.more:
                    raise refused(TableFeaturesFailed.EPERM, "what tables can do is as it is")
                parts = [self._table_features(number) for number in range(self._datapath.tables)]
            case _:
                parts = [replies.port(self._ports.describe(number)) for number in self._ports.numbers]
        return multipart.reply(xid, kind, parts)

    def _select(self, request: FlowRequest) -> list[Flow]:
        if request.table != ALL_TABLES and request.table >= self._datapath.tables:
            raise refused(BadRequest.BAD_TABLE_ID, f"table {request.table}")
        table, out_port, out_group, cookie, mask, match = request
        return self._flow_tables.select(Filter(table, match, None, cookie, mask, out_port, out_group))

    def _flows(self, chosen: Sequence[Flow]) -> list[bytes]:
        now = self._datapath.now_ns()
        counts = self._datapath.count(chosen)
        return [multipart.flow(flow, count, now) for flow, count in zip(chosen, counts, strict=True)]

    def _port_age(self) -> int:
        return self._datapath.now_ns() - self._ports.created_ns

    def _chosen_ports(self, number: int, error: BadRequest | QueueOpFailed) -> Sequence[int]:
        if number == flows.ANY:
            return self._ports.numbers
        if number not in self._ports:
            raise refused(error, f"no port {number}")
        return (number,)

    def queue_config(self, xid: int, port: int) -> bytes:
        """The answer to QUEUE_GET_CONFIG. Raises RefusedError."""
        return replies.queues(xid, port, self._chosen_ports(port, QueueOpFailed.BAD_PORT))

    def _queues(self, request: QueueRequest) -> list[bytes]:
        ports = self._chosen_ports(request.port, QueueOpFailed.BAD_PORT)
        if request.queue not in (0, ANY_QUEUE):
            raise refused(QueueOpFailed.BAD_QUEUE, f"no queue {request.queue}")
        return [multipart.queue(n, self._datapath.count_port(n), self._port_age()) for n in ports]

    def _group_counters(self, number: int) -> list[bytes]:
        references = self._group_table.references()
        now = self._datapath.now_ns()
        return [
            multipart.group(group, references[group.number], *self._datapath.count_group(group.number), now)
            for group in self._groups.values()
            if number in (ALL_GROUPS, group.number)
        ]

    def _chosen_meters(self, number: int) -> Iterable[MeterEntry]:
        if number == ALL_METERS:
            return self._meters.values()
        if number not in self._meters:
            raise refused(MeterModFailed.UNKNOWN_METER, f"no meter {number}")
        return (self._meters[number],)

    def _meter_counters(self, number: int) -> list[bytes]:
        now = self._datapath.now_ns()
        users = Counter(flow.instructions.meter for flow in self._flow_tables)
        return [
            multipart.meter(meter, users[meter.number], self._datapath.count_meter(meter.number), now)
            for meter, _ in self._chosen_meters(number)
        ]

    def _table_features(self, number: int) -> bytes:
        tables, entries, fields = self._datapath.tables, self._datapath.entries, self._datapath.fields
        metadata = _ALL_METADATA if F.METADATA in fields else 0
        return multipart.table_features(number, tables, entries, sorted(fields), self._actions, metadata)
