"""Whether a switch lists a flow, a group or a meter as it was told."""

from __future__ import annotations

from typing import Any

from headrace.evaluate.conformance.openflow import Connection, datapath, ofp, parser

_LENGTHS = ("len", "length")


def wrong(connection: Connection, message: Any) -> str | None:
    """What the switch lists instead of what this message, carried out, has told it; None if it lists that."""
    if isinstance(message, parser.OFPFlowMod):
        what, request = "flow", parser.OFPFlowStatsRequest(datapath)
        names = ["table_id", "priority", "match", "instructions", "cookie", "idle_timeout", "hard_timeout"]
    elif isinstance(message, parser.OFPGroupMod):
        what, request = "group", parser.OFPGroupDescStatsRequest(datapath)
        names = ["group_id", "type", "buckets"]
    else:
        what, request = "meter", parser.OFPMeterConfigStatsRequest(datapath)
        names = ["meter_id", "flags", "bands"]
    told = _parts(message, names)
    listed = [_parts(entry, names) for entry in connection.statistics(request)]
    if told in listed:
        return None
    return f"the switch lists no {what} {told}, but {listed or 'none'}"


def _parts(entry: Any, names: list[str]) -> dict[str, object]:
    """Of a message or of an entry in a reply: what its attributes say."""
    unsaid = list(_LENGTHS)
    if not getattr(entry, "flags", 0) & ofp.OFPMF_BURST:
        unsaid.append("burst_size")
    return {name: _plain(getattr(entry, name), unsaid) for name in names}


def _plain(value: Any, unsaid: list[str]) -> object:
    """Free of lengths, and of the order of match fields and of instructions, which says nothing."""
    if hasattr(value, "to_jsondict"):
        value = value.to_jsondict()
    if isinstance(value, dict):
        return {key: _plain(entry, unsaid) for key, entry in value.items() if key not in unsaid}
    if isinstance(value, list):
        entries = [_plain(entry, unsaid) for entry in value]
        return sorted(entries, key=repr) if repr(entries).startswith(("[{'OXMTlv", "[{'OFPInstruction")) else entries
    return value
