"""What makes a flow or a list of actions wrong, whatever hardware there is: as sections 5 and 6 of OpenFlow 1.3.5 say,
and as Open vSwitch reads them."""

from __future__ import annotations

from collections.abc import Container, Iterable

from headrace.cards.switch import flows
from headrace.cards.switch.flows import Action, ActionKind, Instructions, Match, Oxm
from headrace.cards.switch.openflow.errors import BadAction, BadInstruction, BadMatch, MeterModFailed, refused
from headrace.cards.switch.openflow.oxm import FIELDS, VLAN_PRESENT, F

_IP = (0x0800, 0x86DD)
_OF_BOTH_IPS = {F.IP_DSCP, F.IP_ECN, F.IP_PROTO}
_MPLS = (0x8847, 0x8848)
MPLS_ACTIONS = frozenset(
    {
        ActionKind.COPY_TTL_OUT,
        ActionKind.COPY_TTL_IN,
        ActionKind.SET_MPLS_TTL,
        ActionKind.DEC_MPLS_TTL,
        ActionKind.PUSH_MPLS,
        ActionKind.POP_MPLS,
    }
)
"""That a switch without fields of MPLS doesn't have."""
_RESERVED = (flows.IN_PORT, flows.FLOOD, flows.ALL, flows.CONTROLLER)
_SET_ORDER = (
    (ActionKind.COPY_TTL_IN,),
    (ActionKind.POP_VLAN, ActionKind.POP_MPLS),
    (ActionKind.PUSH_MPLS,),
    (ActionKind.PUSH_VLAN,),
    (ActionKind.COPY_TTL_OUT,),
    (ActionKind.DEC_NW_TTL, ActionKind.DEC_MPLS_TTL),
    (ActionKind.SET_FIELD, ActionKind.SET_NW_TTL, ActionKind.SET_MPLS_TTL),
    (ActionKind.SET_QUEUE,),
    (ActionKind.EXPERIMENTER,),
    (ActionKind.GROUP,),
    (ActionKind.OUTPUT,),
)
_PLACE = {kind: place for place, kinds in enumerate(_SET_ORDER) for kind in kinds}
"""In which order an action set is executed."""


class Checks:
    """Of a switch with these ports, tables, match fields, groups and meters; the collections may change."""

    def __init__(
        self,
        ports: Container[int],
        tables: int,
        fields: Container[int],
        groups: Container[int],
        meters: Container[int],
    ) -> None:
        self._ports, self._tables, self._fields = ports, tables, fields
        self._groups, self._meters = groups, meters
        self._ip = _IP if F.IPV6_SRC in fields else _IP[:1]

    def match(self, match: Match) -> None:
        """A port is its own physical port. Raises RefusedError."""
        in_port = None
        not_found = _OF_BOTH_IPS if any(Oxm(F.ETH_TYPE, kind) in match for kind in _IP if kind not in self._ip) else ()
        for field, value, _ in match:
            if field not in self._fields or field in not_found:
                raise refused(BadMatch.BAD_FIELD, f"no field {field}")
            if field == F.IN_PORT:
                in_port = value
                if value != flows.CONTROLLER and value not in self._ports:
                    raise refused(BadMatch.BAD_VALUE, f"no port {value}")
            elif field == F.IN_PHY_PORT and value != in_port:
                raise refused(BadMatch.BAD_VALUE, f"no port {in_port} on port {value}")

    def instructions(self, table: int, match: Match, instructions: Instructions) -> None:
        """Of a flow. Raises RefusedError."""
        if instructions.meter is not None and instructions.meter not in self._meters:
            raise refused(MeterModFailed.INVALID_METER, f"no meter {instructions.meter}")
        if instructions.metadata is not None and F.METADATA not in self._fields:
            raise refused(BadInstruction.UNSUP_METADATA, "no metadata")
        packet = _Packet(match, self._ip)
        for action in instructions.apply or ():
            self._action(action)
            packet.edit(action)
        for action in sorted(instructions.write or (), key=lambda action: _PLACE[action.kind]):
            self._action(action)
            packet.edit(action)
        if instructions.goto is not None and not table < instructions.goto < self._tables:
            raise refused(BadInstruction.BAD_TABLE_ID, f"from table {table} to table {instructions.goto}")

    def actions(self, actions: Iterable[Action], packet_out: bool = False) -> None:
        """Of a bucket or a packet-out, whose packets are not known. Raises RefusedError."""
        for action in actions:
            if not (packet_out and action.kind == ActionKind.OUTPUT and action.value == flows.TABLE):
                self._action(action)

    def _action(self, action: Action) -> None:
        kind, value, number = action
        if kind == ActionKind.OUTPUT:
            if value not in self._ports and value not in _RESERVED:
                raise refused(BadAction.BAD_OUT_PORT, f"no port {value}")
        elif kind == ActionKind.GROUP:
            if value not in self._groups:
                raise refused(BadAction.BAD_OUT_GROUP, f"no group {value}")
        elif kind == ActionKind.SET_QUEUE:
            if value:
                raise refused(BadAction.BAD_QUEUE, f"no queue {value}")
        elif kind == ActionKind.SET_FIELD and number not in self._fields:
            raise refused(BadAction.BAD_SET_TYPE, f"no field {number}")
        elif kind in MPLS_ACTIONS and F.MPLS_LABEL not in self._fields:
            raise refused(BadAction.BAD_TYPE, f"no {kind.name}")


class _Packet:
    """What is known of the packets of a flow, from its match and the actions so far. ``ip``: types whose TTL can be
    changed."""

    def __init__(self, match: Match, ip: Container[int]) -> None:
        self._ip = ip
        self._fields = {field: value for field, value, _ in match}
        self._tags = int(self._fields.get(F.VLAN_VID, 0) & VLAN_PRESENT > 0)

    def edit(self, action: Action) -> None:
        """Raises RefusedError for an action that these packets may not have."""
        kind, value, number = action
        if kind == ActionKind.SET_FIELD:
            self._set(number, value)
        elif kind == ActionKind.PUSH_VLAN:
            self._tags += 1
        elif kind == ActionKind.POP_VLAN:
            self._need(self._tags > 0, action)
            self._tags -= 1
        elif kind == ActionKind.PUSH_MPLS:
            self._become(value)
        elif kind == ActionKind.POP_MPLS:
            self._need(self._type in _MPLS, action)
            self._become(value)
        elif kind in (ActionKind.SET_NW_TTL, ActionKind.DEC_NW_TTL):
            self._need(self._type in self._ip, action)
        elif kind in MPLS_ACTIONS:
            self._need(self._type in _MPLS, action)

    @property
    def _type(self) -> int | None:
        return self._fields.get(F.ETH_TYPE)

    def _become(self, eth_type: int) -> None:
        """What is behind the new type is not known."""
        self._fields = {F.ETH_TYPE: eth_type}

    def _set(self, number: int, value: int) -> None:
        needs = FIELDS[F(number)].needs
        if number in (F.VLAN_VID, F.VLAN_PCP):
            fine = self._tags > 0
        else:
            fine = needs is None or self._fields.get(needs[0], -1) in needs[1]
        self._need(fine, Action(ActionKind.SET_FIELD, value, number))
        self._fields[number] = value

    @staticmethod
    def _need(fine: bool, action: Action) -> None:
        if not fine:
            raise refused(BadAction.MATCH_INCONSISTENT, f"{action.kind.name} {action.number} of other packets")
