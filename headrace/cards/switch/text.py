"""Matches, actions and flows as users read them, in the words of OpenFlow and ovs-ofctl."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from headrace.cards.switch import flows
from headrace.cards.switch.flows import Action, ActionKind, Instructions, Match
from headrace.cards.switch.openflow.oxm import FIELDS, F

_IPV4 = (F.IPV4_SRC, F.IPV4_DST, F.ARP_SPA, F.ARP_TPA)
_HEX = (F.METADATA, F.VLAN_VID, F.IPV6_FLABEL, F.TUNNEL_ID, F.IPV6_EXTHDR)
CUSTOM = ("FIR", "CRC")
"""Custom actions, by their bits."""
_PORTS = {
    flows.IN_PORT: "in_port",
    flows.TABLE: "table",
    flows.NORMAL: "normal",
    flows.FLOOD: "flood",
    flows.ALL: "all",
    flows.CONTROLLER: "controller",
    flows.LOCAL: "local",
}


def port_text(port: int) -> str:
    """A port's number, or the name of a reserved one."""
    return _PORTS.get(port, str(port))


def field_text(number: int, value: int) -> str:
    """The value of a field."""
    if number not in FIELDS:
        return f"{value:#x}"
    if FIELDS[F(number)].bits == 128:
        return str(IPv6Address(value))
    if FIELDS[F(number)].bits == 48:
        return value.to_bytes(6, "big").hex(":")
    if number in _IPV4:
        return str(IPv4Address(value))
    if number == F.ETH_TYPE:
        return f"{value:#06x}"
    return f"{value:#x}" if number in _HEX else port_text(value)


def field_name(number: int) -> str:
    """The name of a field."""
    return F(number).name.lower() if number in FIELDS else f"oxm_{number}"


def match_text(match: Match) -> str:
    """A match; "any" without fields."""
    return ",".join(_oxm_text(*oxm) for oxm in match) or "any"


def _oxm_text(number: int, value: int, mask: int | None) -> str:
    text = f"{field_name(number)}={field_text(number, value)}"
    return text if mask is None else f"{text}/{field_text(number, mask)}"


def action_text(action: Action) -> str:
    """An action."""
    kind, value = action.kind, action.value
    match kind:
        case ActionKind.OUTPUT:
            return f"controller:{action.number}" if value == flows.CONTROLLER else f"output:{port_text(value)}"
        case ActionKind.SET_FIELD:
            return f"set_field:{field_text(action.number, value)}->{field_name(action.number)}"
        case ActionKind.PUSH_VLAN | ActionKind.PUSH_MPLS | ActionKind.POP_MPLS | ActionKind.PUSH_PBB:
            return f"{kind.name.lower()}:{value:#06x}"
        case ActionKind.GROUP | ActionKind.SET_QUEUE | ActionKind.SET_NW_TTL | ActionKind.SET_MPLS_TTL:
            return f"{kind.name.lower()}:{value}"
        case ActionKind.EXPERIMENTER:
            return ",".join(name for bit, name in enumerate(CUSTOM) if value >> bit & 1)
    return kind.name.lower()


def actions_text(actions: tuple[Action, ...]) -> str:
    """A list of actions; "drop" without any."""
    return ",".join(map(action_text, actions)) or "drop"


def instructions_text(instructions: Instructions) -> str:
    """What a flow does; "drop" if nothing."""
    parts = []
    if instructions.meter is not None:
        parts.append(f"meter:{instructions.meter}")
    if instructions.apply:
        parts.append(actions_text(instructions.apply))
    if instructions.clear:
        parts.append("clear_actions")
    if instructions.write:
        parts.append(f"write_actions({actions_text(instructions.write)})")
    if instructions.metadata is not None:
        value, mask = instructions.metadata
        parts.append(f"write_metadata:{value:#x}/{mask:#x}")
    if instructions.goto is not None:
        parts.append(f"goto_table:{instructions.goto}")
    return ",".join(parts) or "drop"
