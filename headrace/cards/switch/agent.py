"""An OpenFlow 1.3 switch on top of a datapath: what it answers to controllers and tells them. Sockets are in
``controllers``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from headrace.cards.switch import flows
from headrace.cards.switch.checks import Checks
from headrace.cards.switch.flow_tables import FlowTables
from headrace.cards.switch.flows import Count, Datapath, Expired, Flow, Group, PacketIn, RefusedError
from headrace.cards.switch.groups import GroupTable, MeterEntry, MeterTable
from headrace.cards.switch.openflow import replies, requests
from headrace.cards.switch.openflow.constants import (
    ALL_TABLES,
    NO_BUFFER,
    VERSION,
    Capability,
    FlowFlag,
    Kind,
    PacketInReason,
    PortReason,
    Removal,
    Role,
)
from headrace.cards.switch.openflow.errors import (
    BadRequest,
    HelloFailed,
    RoleRequestFailed,
    SwitchConfigFailed,
    TableModFailed,
    refused,
)
from headrace.cards.switch.openflow.oxm import F
from headrace.cards.switch.openflow.requests import AsyncConfig, Request
from headrace.cards.switch.ports import PortInfo, Ports
from headrace.cards.switch.statistics import Statistics

_CAPABILITIES = (
    Capability.FLOW_STATS
    | Capability.TABLE_STATS
    | Capability.PORT_STATS
    | Capability.GROUP_STATS
    | Capability.QUEUE_STATS
)
_DEPRECATED_TABLE_CONFIG = 3
_DEFAULT_MISS_SEND_LEN = 128
_NO_COOKIE = _NO_ELECTION = 0xFFFF_FFFF_FFFF_FFFF
_ALL_PORT_REASONS = sum(1 << reason for reason in PortReason)
_DEFAULT_ASYNC = AsyncConfig(
    (1 << PacketInReason.NO_MATCH | 1 << PacketInReason.ACTION, 0),
    (_ALL_PORT_REASONS, _ALL_PORT_REASONS),
    (sum(1 << reason for reason in Removal), 0),
)
_CHANGES = frozenset((Kind.PACKET_OUT, Kind.FLOW_MOD, Kind.GROUP_MOD, Kind.PORT_MOD, Kind.TABLE_MOD, Kind.METER_MOD))
"""What a slave may not do."""
_ETHERNET_HEADER = 14


class Listener(Protocol):
    """Who is told what happens in a switch."""

    def packet_in(self, packet: PacketIn) -> None:
        """A packet that the switch has sent to its controllers."""

    def flow_removed(self, flow: Flow, why: Removal, count: Count, age_ns: int) -> None:
        """A flow that was removed, whether or not it asked for that to be told."""

    def port_status(self, reason: PortReason, port: replies.Port) -> None:
        """What has become of a port."""


class Connection:
    """A controller, as the switch knows it. ``send`` takes a message, and whether it may be lost if the controller
    doesn't read. ``closed``: nothing more is to be done for it, but what has been sent may still arrive. ``flow_mods``:
    how many it has sent; ``refused``: what was wrong with the last message that was refused."""

    def __init__(self, send: Callable[[bytes, bool], None]) -> None:
        self._send = send
        self.ready = False  # both have said hello
        self.closed = False
        self.flow_mods = 0
        self.refused = ""  # why the last message that was
        self.role = Role.EQUAL
        self.asked = _DEFAULT_ASYNC
        self.miss_send_len = _DEFAULT_MISS_SEND_LEN

    def send(self, *messages: bytes) -> None:
        """Messages that must not be lost."""
        for message in messages:
            self._send(message, False)

    def probe(self) -> None:
        """Asks for a sign of life."""
        self.send(replies.message(Kind.ECHO_REQUEST, 0))

    def packet_in(self, packet: PacketIn) -> None:
        """As ``Listener`` says."""
        if not self._wants(self.asked.packet_in, packet.reason):
            return
        message = replies.packet_in(
            packet.in_port,
            {F.METADATA: packet.metadata, F.TUNNEL_ID: packet.tunnel_id},
            packet.reason,
            packet.flow.table if packet.flow else 0,
            packet.flow.cookie if packet.flow else _NO_COOKIE,
            packet.data,
            packet.total,
        )
        self._send(message, True)

    def flow_removed(self, flow: Flow, why: Removal, count: Count, age_ns: int) -> None:
        """As ``Listener`` says."""
        if flow.flags & FlowFlag.SEND_FLOW_REM and self._wants(self.asked.flow_removed, why):
            timeouts = (flow.idle_s, flow.hard_s)
            self.send(
                replies.flow_removed(flow.cookie, flow.priority, why, flow.table, age_ns, timeouts, count, flow.match)
            )

    def port_status(self, reason: PortReason, port: replies.Port) -> None:
        """As ``Listener`` says."""
        if self._wants(self.asked.port_status, reason):
            self.send(replies.port_status(reason, port))

    def _wants(self, masks: tuple[int, int], reason: int) -> bool:
        return self.ready and not self.closed and bool(masks[self.role == Role.SLAVE] >> reason & 1)


class OpenFlowSwitch:
    """The switch. ``ports`` are numbered as the datapath's."""

    def __init__(
        self,
        datapath: Datapath,
        datapath_id: int,
        ports: Sequence[PortInfo],
        *,
        description: str = "",
    ) -> None:
        self.datapath, self.datapath_id = datapath, datapath_id
        self.ports = Ports(datapath, ports)
        self.groups: dict[int, Group] = {}
        self.meters: dict[int, MeterEntry] = {}
        self.checks = Checks(self.ports, datapath.tables, datapath.fields, self.groups, self.meters)
        self.flow_tables = FlowTables(datapath, self.checks, self._flow_removed)
        self._group_table = GroupTable(datapath, self.groups, self.flow_tables, self.checks, self.ports)
        self._meter_table = MeterTable(datapath, self.meters, self.flow_tables)
        self._statistics = Statistics(
            datapath,
            description,
            self.ports,
            self.flow_tables,
            self.groups,
            self._group_table,
            self.meters,
            self._meter_table,
        )
        self.connections: list[Connection] = []
        self.listeners: list[Listener] = []
        self._election: int | None = None

    def connect(self, send: Callable[[bytes, bool], None]) -> Connection:
        """A new controller, which is said hello to."""
        connection = Connection(send)
        self.connections.append(connection)
        connection.send(replies.hello(0))
        return connection

    def disconnect(self, connection: Connection) -> None:
        """A controller has gone."""
        connection.closed = True
        self.connections.remove(connection)

    def handle(self, connection: Connection, message: bytes) -> None:
        """Does what a whole message says. What is wrong with it is answered with OpenFlow's error."""
        connection.flow_mods += message[1:2] == bytes((Kind.FLOW_MOD,))
        try:
            kind, request = requests.decode(message)
            xid = int.from_bytes(message[4:8], "big")
            if not connection.ready:
                self._greet(connection, kind, xid, request)
            elif connection.role == Role.SLAVE and kind in _CHANGES:
                raise refused(BadRequest.IS_SLAVE, "a slave may not change anything")
            else:
                self._do(connection, kind, xid, request)
        except RefusedError as error:
            connection.closed |= not connection.ready
            connection.refused = str(error)
            if message[1:2] != bytes((Kind.ERROR,)):
                connection.send(replies.error(error.kind, error.code, message))

    def poll_events(self) -> None:
        """Tells controllers what has happened in the datapath."""
        for event in tuple(self.datapath.events()):  # what is done about one may change what is there
            if isinstance(event, Expired):
                self.flow_tables.expire(event)
            else:
                for listener in self._all_listeners():
                    listener.packet_in(event)

    def set_link(self, number: int, up: bool, name: str = "") -> None:
        """Says that a port's link is up, or down, and what the port is called now, unless that is empty."""
        if self.ports.set_link(number, up, name):
            self._port_status(number)

    def packet_out(self, packet: requests.PacketOut) -> None:
        """Sends a packet. Raises RefusedError."""
        in_port = flows.CONTROLLER if packet.in_port == flows.ANY else packet.in_port
        if packet.buffer != NO_BUFFER:
            raise refused(BadRequest.BUFFER_UNKNOWN, f"no buffer {packet.buffer}")
        if in_port != flows.CONTROLLER and in_port not in self.ports:
            raise refused(BadRequest.BAD_PORT, f"no port {in_port}")
        if len(packet.data) < _ETHERNET_HEADER:
            raise refused(BadRequest.BAD_PACKET, f"a packet of {len(packet.data)} bytes")
        self.checks.actions(packet.actions, packet_out=True)
        self.datapath.packet_out(packet.data, in_port, packet.actions)

    def _greet(self, connection: Connection, kind: Kind, xid: int, request: Request) -> None:
        """The first message of a controller must be a hello that offers our version."""
        if isinstance(request, requests.Hello):
            versions = request.versions
            if request.version >= VERSION if versions is None else VERSION in versions:
                connection.ready = True
                return
        connection.closed = True
        if kind != Kind.ERROR:
            why = refused(HelloFailed.INCOMPATIBLE, "this switch speaks OpenFlow 1.3")
            connection.send(replies.error_text(xid, why.kind, why.code, str(why)))

    def _do(self, connection: Connection, kind: Kind, xid: int, request: Request) -> None:
        match request:
            case requests.FlowMod():
                self.flow_tables.apply(request)
            case requests.PacketOut():
                self.packet_out(request)
            case requests.GroupMod():
                self._group_table.apply(request)
            case requests.MeterMod():
                self._meter_table.apply(request)
            case requests.PortMod():
                if self.ports.modify(request):
                    self._port_status(request.port)
            case requests.TableMod():
                self._check_table_mod(request)
            case requests.Multipart():
                connection.send(*self._statistics.answer(xid, request))
            case requests.QueueGetConfig():
                connection.send(self._statistics.queue_config(xid, request.port))
            case requests.RoleRequest():
                self._elect(connection, request)
                election = _NO_ELECTION if self._election is None else self._election
                connection.send(replies.role(xid, connection.role, election))
            case requests.AsyncConfig():
                connection.asked = request
            case requests.SetConfig():
                if request.flags:
                    raise refused(SwitchConfigFailed.BAD_FLAGS, "fragments are treated as they are")
                connection.miss_send_len = request.miss_send_len
            case requests.Experimenter():
                raise refused(BadRequest.BAD_EXPERIMENTER, f"experimenter {request.experimenter:#010x}")
            case requests.Bytes() if kind == Kind.ECHO_REQUEST:
                connection.send(replies.message(Kind.ECHO_REPLY, xid, request.data))
            case requests.Nothing():
                connection.send(self._plain_answer(connection, kind, xid))

    def _plain_answer(self, connection: Connection, kind: Kind, xid: int) -> bytes:
        if kind == Kind.FEATURES_REQUEST:
            return replies.features(xid, self.datapath_id, self.datapath.tables, _CAPABILITIES)
        if kind == Kind.GET_CONFIG_REQUEST:
            return replies.config(xid, 0, connection.miss_send_len)
        if kind == Kind.GET_ASYNC_REQUEST:
            return replies.async_config(xid, connection.asked)
        # What came before a barrier is done: the datapath's methods come back when the hardware has changed.
        return replies.message(Kind.BARRIER_REPLY, xid)

    def _check_table_mod(self, mod: requests.TableMod) -> None:
        """There is nothing to configure; bits of earlier versions are passed over."""
        if mod.table >= self.datapath.tables and mod.table != ALL_TABLES:
            raise refused(TableModFailed.BAD_TABLE, f"table {mod.table}")
        if mod.config & ~_DEPRECATED_TABLE_CONFIG:
            raise refused(TableModFailed.BAD_CONFIG, f"configuration {mod.config:#x}")

    def _elect(self, connection: Connection, request: requests.RoleRequest) -> None:
        """Section 6.3.5: an election is as new as its number is ahead of the last one's, modulo 2^64."""
        if request.role not in tuple(Role):
            raise refused(RoleRequestFailed.BAD_ROLE, f"role {request.role}")
        role = Role(request.role)
        if role in (Role.MASTER, Role.SLAVE):
            if self._election is not None and (request.generation - self._election) >> 63 & 1:
                raise refused(RoleRequestFailed.STALE, f"election {request.generation}")
            self._election = request.generation
        if role == Role.MASTER:
            for other in self.connections:
                if other.role == Role.MASTER:
                    other.role = Role.SLAVE
        if role != Role.NOCHANGE:
            connection.role = role

    def _all_listeners(self) -> list[Listener]:
        return [*self.connections, *self.listeners]

    def _flow_removed(self, flow: Flow, why: Removal, count: Count, age_ns: int) -> None:
        for listener in self._all_listeners():
            listener.flow_removed(flow, why, count, age_ns)

    def _port_status(self, number: int) -> None:
        for listener in self._all_listeners():
            listener.port_status(PortReason.MODIFY, self.ports.describe(number))
