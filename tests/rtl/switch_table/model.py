"""A flow table as OpenFlow 1.3 has it: dictionaries and linear search."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass, replace

from headrace.cards.switch.layout import EFFECT, ENTRY, FLOW_COMMAND, LOOKUP, MATCH, NO_TABLE, EffectOp, FlowOp

# Fields of a narrow key.
NARROW = (
    *("in_port", "eth_dst", "eth_src", "eth_type", "vlan", "vlan_vid", "vlan_pcp", "l3", "l4", "ip_dscp", "ip_ecn"),
    *("ip_proto", "l4_src", "l4_dst"),
)
NARROW_BITS = MATCH.pack(**{name: MATCH.ones(name) for name in NARROW}, src=0xFFFFFFFF, dst=0xFFFFFFFF)
ALL_BITS = (1 << MATCH.width) - 1

# OXM field: the member that has it, and its bits.
OXM = {
    **{2: ("metadata", 64), 3: ("eth_dst", 48), 4: ("eth_src", 48), 5: ("eth_type", 16), 6: ("vlan_vid", 12)},
    **{7: ("vlan_pcp", 3), 8: ("ip_dscp", 6), 9: ("ip_ecn", 2), 10: ("ip_proto", 8), 11: ("src", 32), 12: ("dst", 32)},
    **{13: ("l4_src", 16), 14: ("l4_dst", 16), 15: ("l4_src", 16), 16: ("l4_dst", 16), 17: ("l4_src", 16)},
    **{18: ("l4_dst", 16), 19: ("l4_src", 16), 20: ("l4_dst", 16), 21: ("l4_src", 16), 22: ("src", 32)},
    **{23: ("dst", 32), 24: ("link", 48), 25: ("target", 48), 26: ("src", 128), 27: ("dst", 128), 28: ("label", 20)},
    **{29: ("l4_src", 16), 30: ("l4_dst", 16), 31: ("target", 128), 32: ("link", 48), 33: ("link", 48)},
    **{34: ("label", 20), 35: ("ip_dscp", 3), 36: ("ip_ecn", 1), 38: ("tunnel_id", 64)},
}
WHOLE = (35, 36)  # members that have nothing else then
MPLS = (0x8847, 0x8848)


@dataclass(frozen=True)
class Effect:
    op: EffectOp
    field: int = 0
    value: int = 0
    last: bool = True


def with_effect(packet: dict[str, int], effect: Effect) -> dict[str, int]:
    """The members of a lookup, those of its fields among them, after an effect."""
    out = dict(packet)
    match effect.op:
        case EffectOp.SET if effect.field in OXM:
            name, bits = OXM[effect.field]
            ones = (1 << bits) - 1
            out[name] = effect.value & ones | (0 if effect.field in WHOLE else packet[name] & ~ones)
        case EffectOp.PUSH_VLAN:
            out["tags"] = min(packet["tags"] + 1, 3)
            out["inner"] = packet["vlan_pcp"] << 13 | packet["vlan_vid"]
            out["vlan"] = 1
        case EffectOp.POP_VLAN:
            out["tags"] = max(packet["tags"] - 1, 0)
            there = packet["tags"] > 1
            out["vlan"] = int(there)
            out["vlan_vid"] = packet["inner"] & 0xFFF if there else 0
            out["vlan_pcp"] = packet["inner"] >> 13 if there else 0
        case EffectOp.PUSH_MPLS:
            labelled = packet["l3"] and packet["eth_type"] in MPLS
            for name in ("l4", "nd", "ip_proto", "src", "dst", "l4_src", "l4_dst", "target", "link", "exthdr"):
                out[name] = 0
            out["eth_type"], out["l3"] = effect.value & 0xFFFF, 1
            out["label"] = packet["label"] if labelled else 0
            out["ip_dscp"] = packet["ip_dscp"] & 7 if labelled else 0  # MPLS_TC
            out["ip_ecn"] = int(not labelled)  # MPLS_BOS
    return out


@dataclass(frozen=True)
class Flow:
    """An entry of the ternary part."""

    value: int
    mask: int
    rank: int
    number: int


@dataclass(frozen=True)
class Table:
    """What a table has at a moment. Nothing of it changes: an operation makes another one."""

    number: int
    bits: int  # of match_t that are looked at
    mask: int = 0
    exact: dict[int, tuple[int, int]] = dataclasses.field(default_factory=dict)  # key: rank, number
    ternary: dict[int, Flow] = dataclasses.field(default_factory=dict)  # by index
    entries: dict[int, int] = dataclasses.field(default_factory=dict)  # entry_t
    effects: dict[int, Effect] = dataclasses.field(default_factory=dict)

    def key(self, fields: int) -> int:
        """Of the exact part."""
        return fields & self.mask & self.bits

    def found(self, fields: int) -> int | None:
        """The number of the entry that a packet hits."""
        best = self.exact.get(self.key(fields))
        for _, flow in sorted(self.ternary.items()):
            if not (fields ^ flow.value) & flow.mask & self.bits:
                if best is None or flow.rank > best[0]:
                    best = (flow.rank, flow.number)
                break
        return best[1] if best else None

    def passed(self, lookup: int, programs: tuple[int, ...]) -> tuple[int, tuple[int, ...], int]:
        """What becomes of a packet: its lookup_t, its programs and how many effects it had."""
        packet = LOOKUP.unpack(lookup)
        if packet["next"] != self.number:
            return lookup, programs, 0
        number = self.found(packet["fields"])
        entry = {"next": NO_TABLE, "program_at": 0, "metadata_mask": 0, "metadata": 0, "effect": 0}
        if number is not None:
            entry = ENTRY.unpack(self.entries[number])
        packet["next"] = entry["next"]
        mask, metadata = (MATCH.pack(metadata=entry[name]) for name in ("metadata_mask", "metadata"))
        packet["fields"] = packet["fields"] & ~mask | metadata & mask
        at, count = entry["effect"], 0
        if at:
            packet |= MATCH.unpack(packet["fields"])
        while at:
            packet, count = with_effect(packet, self.effects[at]), count + 1
            at = 0 if self.effects[at].last or at + 1 not in self.effects else at + 1
        if count:
            packet["fields"] = MATCH.pack(**{name: packet.pop(name) for name in MATCH.members})
        left = list(programs)
        left[self.number] = entry["program_at"]
        return LOOKUP.pack(**packet), tuple(left), count


@dataclass(frozen=True)
class Operation:
    """A flow_command_t."""

    op: FlowOp
    number: int = 0
    rank: int = 0
    index: int = 0
    clear_index: int = 0
    value: int = 0
    mask: int = 0
    entry: int = 0
    effect: Effect = Effect(EffectOp.SET)

    def states(self, table: Table) -> list[Table]:
        """The states that a table goes through, the last one being that which it has then."""
        key = table.key(self.value)
        match self.op:
            case FlowOp.SET_ENTRY | FlowOp.CHANGE_ENTRY:
                return [replace(table, entries=table.entries | {self.number: self.entry})]
            case FlowOp.SET_EFFECT:
                return [replace(table, effects=table.effects | {self.index: self.effect})]
            case FlowOp.SET_MASK:
                return [replace(table, mask=self.mask)]
            case FlowOp.EXACT_INSERT | FlowOp.EXACT_CHANGE:
                return [replace(table, exact=table.exact | {key: (self.rank, self.number)})]
            case FlowOp.EXACT_ADD:
                written = replace(table, entries=table.entries | {self.number: self.entry})
                return [written, replace(written, exact=table.exact | {key: (self.rank, self.number)})]
            case FlowOp.EXACT_REMOVE:
                return [replace(table, exact={k: to for k, to in table.exact.items() if k != key})]
        states, after = [], dict(table.ternary)
        if self.op == FlowOp.TERNARY_ADD:
            table = replace(table, entries=table.entries | {self.number: self.entry})
            states.append(table)
        if self.op != FlowOp.TERNARY_CLEAR:  # what was there goes first
            after.pop(self.index, None)
            states.append(replace(table, ternary=dict(after)))
            after[self.index] = Flow(self.value, self.mask, self.rank, self.number)
        clears = self.op in (FlowOp.TERNARY_CLEAR, FlowOp.TERNARY_MOVE)
        if clears and (self.op, self.index) != (FlowOp.TERNARY_MOVE, self.clear_index):
            after.pop(self.clear_index, None)
        return [*states, replace(table, ternary=after)]

    def pack(self) -> int:
        """The word."""
        effect = EFFECT.pack(
            last=int(self.effect.last), op=self.effect.op, field=self.effect.field, value=self.effect.value
        )
        members = {name: getattr(self, name) for name in FLOW_COMMAND.members}
        return FLOW_COMMAND.pack(**members | {"effect": effect})


def fields(names: tuple[str, ...], values: int = 3) -> int:
    """A match_t in which each of `names` has one of a few values."""
    return MATCH.pack(**{name: random.randrange(values) * 0x9E3779B97F4A7C15 & MATCH.ones(name) for name in names})
