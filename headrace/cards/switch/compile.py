"""Programs for the card: what the instructions of a flow, the buckets of a group or a packet-out do to a packet.

The header below an MPLS label is known only when the packet comes anew: where it is needed behind POP_MPLS, the packet
is resubmitted, and what is behind is done then. The action set does not go along: what earlier tables have written is
done with the packet as it is at POP_MPLS, and an action set that isn't one flow's can't need the header itself.
Tables don't see what a DSCP remark of a meter changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import NamedTuple, Protocol

from headrace.cards.switch import flows
from headrace.cards.switch.flows import Action, ActionKind, Bucket, Flow, Group, GroupKind, Instructions
from headrace.cards.switch.layout import (
    ACTION,
    EFFECT,
    NO_TABLE,
    REASON_ACTION,
    REASON_NO_MATCH,
    Act,
    EffectOp,
)
from headrace.cards.switch.openflow.errors import BadAction, BadInstruction, GroupModFailed, refused
from headrace.cards.switch.openflow.oxm import FIELDS, UNSETTABLE, F

SELECT_SLOTS = 64
HAIRPIN = 1 << 64
"""In the value of ``Act.OUTPUT``: to in_port."""
CUSTOM = 0xFF

_EDITS = {
    ActionKind.COPY_TTL_OUT: Act.COPY_TTL_OUT,
    ActionKind.COPY_TTL_IN: Act.COPY_TTL_IN,
    ActionKind.SET_MPLS_TTL: Act.SET_MPLS_TTL,
    ActionKind.DEC_MPLS_TTL: Act.DEC_MPLS_TTL,
    ActionKind.PUSH_VLAN: Act.PUSH_VLAN,
    ActionKind.POP_VLAN: Act.POP_VLAN,
    ActionKind.PUSH_MPLS: Act.PUSH_MPLS,
    ActionKind.POP_MPLS: Act.POP_MPLS,
    ActionKind.SET_NW_TTL: Act.SET_NW_TTL,
    ActionKind.DEC_NW_TTL: Act.DEC_NW_TTL,
    ActionKind.SET_FIELD: Act.SET_FIELD,
    ActionKind.EXPERIMENTER: Act.CUSTOM,
}
_EDIT_OPS = frozenset(_EDITS.values())
_TELLING = (Act.CONTROLLER, Act.GROUP, Act.DEC_NW_TTL, Act.DEC_MPLS_TTL)
_SET_ORDER = (
    ActionKind.COPY_TTL_IN,
    ActionKind.POP_VLAN,
    ActionKind.POP_MPLS,
    ActionKind.PUSH_MPLS,
    ActionKind.PUSH_VLAN,
    ActionKind.COPY_TTL_OUT,
    ActionKind.DEC_MPLS_TTL,
    ActionKind.DEC_NW_TTL,
    ActionKind.SET_MPLS_TTL,
    ActionKind.SET_NW_TTL,
    ActionKind.SET_FIELD,
    ActionKind.SET_QUEUE,
    ActionKind.EXPERIMENTER,
    ActionKind.GROUP,
    ActionKind.OUTPUT,
)
"""OpenFlow 1.3.5, 5.10. A kind that is not here is none that the switch knows."""
_TAGS = {ActionKind.PUSH_VLAN: (0x8100, 0x88A8), ActionKind.PUSH_MPLS: (0x8847, 0x8848)}
_OUTER = {F.ETH_DST, F.ETH_SRC, F.VLAN_VID, F.VLAN_PCP, F.TUNNEL_ID}
"""Fields that don't lie behind MPLS labels."""


class Numbering(Protocol):
    """What numbers of OpenFlow are in the card; raises RefusedError for those that are not there."""

    ports: int
    tables: int
    custom: int  # the custom actions that it has, a bit each

    def group_index(self, number: int) -> int:
        """Of a group, in the group table."""

    def meter_index(self, number: int) -> int:
        """Of a meter."""


class Word(NamedTuple):
    """A word of a program. ``out``: a port to send a copy to behind it; ``target``: the block whose address goes into
    the value."""

    op: Act
    value: int = 0
    field: int = 0
    out: int | None = None
    keep: bool = False
    target: int | None = None


@dataclass
class Code:
    """A program: blocks of words, each of which ends the program; the first one is where it begins."""

    blocks: list[list[Word]] = field(default_factory=list)

    def __len__(self) -> int:
        """Words."""
        return sum(map(len, self.blocks))

    @property
    def tells(self) -> bool:
        """Whether copies for the host may come of it, which name the program."""
        return any(word.op in _TELLING for block in self.blocks for word in block)

    def addresses(self, base: int) -> list[int]:
        """Of the blocks of a program at ``base``."""
        found = []
        for block in self.blocks:
            found.append(base)
            base += len(block)
        return found

    def words(self, base: int) -> list[int]:
        """Of ``layout.ACTION``, for a program at ``base``."""
        addresses = self.addresses(base)
        return [
            _packed(word, addresses, last=number == len(block) and word.op != Act.JUMP)
            for block in self.blocks
            for number, word in enumerate(block, 1)
        ]


def _packed(word: Word, addresses: Sequence[int], last: bool) -> int:
    value = word.value
    if word.target is not None:
        value |= addresses[word.target] << (16 if word.op == Act.RESUBMIT else 0)
    out = {} if word.out is None else {"out": 1, "port": word.out - 1}
    return ACTION.pack(last=last, keep=word.keep, op=word.op, field=word.field, value=value, **out)


class Effect(NamedTuple):
    """What later tables see of an action."""

    op: EffectOp
    field: int = 0
    value: int = 0


def effect_words(effects: Sequence[Effect]) -> list[int]:
    """Of ``layout.EFFECT``."""
    end = len(effects) - 1
    return [
        EFFECT.pack(last=number == end, op=effect.op, field=effect.field, value=effect.value)
        for number, effect in enumerate(effects)
    ]


@dataclass(frozen=True)
class FlowCode:
    """What a flow's entry points to: its program, which may be empty, effects, and the next table."""

    code: Code
    effects: tuple[Effect, ...]
    next: int


def action_set(actions: Iterable[Action]) -> list[Action]:
    """The actions that are left of those written, in the order in which an action set is done."""
    kept: dict[tuple[ActionKind, int], Action] = {}
    for action in actions:
        kept[action.kind, action.number if action.kind == ActionKind.SET_FIELD else 0] = action
    if (ActionKind.GROUP, 0) in kept:
        kept.pop((ActionKind.OUTPUT, 0), None)
    for kind, _ in kept:
        _check_kind(kind)
    return sorted(kept.values(), key=lambda action: _SET_ORDER.index(action.kind))


def _check_kind(kind: ActionKind) -> None:
    if kind not in _SET_ORDER:
        raise refused(BadAction.BAD_TYPE, f"{kind.name} is not supported")


# ------------------------------------------------------------------------------------------------------- actions


@dataclass(frozen=True)
class _Compiler:
    """Of actions. ``reason``: why packets go to controllers; ``from_host``: of a packet-out."""

    numbering: Numbering
    reason: int = REASON_ACTION
    from_host: bool = False

    def words(self, actions: Iterable[Action]) -> list[Word]:
        """Actions that are done at once, in few words: outputs without an edit between them are one, and one to a
        single port goes with the edit before it."""
        words: list[Word] = []
        for word in self.each(actions):
            before = words[-1] if words else Word(Act.NONE)
            together = before.value | word.value
            apart = before.value & word.value or together & HAIRPIN
            if word.op == before.op == Act.OUTPUT and not apart:
                words[-1] = Word(Act.OUTPUT, together)
            else:
                words.append(word)
        merged: list[Word] = []
        for word in words:
            single = word.op == Act.OUTPUT and word.value < HAIRPIN and word.value.bit_count() == 1
            if single and merged and merged[-1].op in _EDIT_OPS and merged[-1].out is None:
                merged[-1] = merged[-1]._replace(out=word.value.bit_length())
            else:
                merged.append(word)
        return merged

    def each(self, actions: Iterable[Action]) -> list[Word]:
        """A word for each action but SET_QUEUE: there is one queue."""
        return [self._word(action) for action in actions if action.kind != ActionKind.SET_QUEUE]

    def _word(self, action: Action) -> Word:
        kind, value = action.kind, action.value
        _check_kind(kind)
        if kind == ActionKind.OUTPUT:
            return self._output(value)
        if kind == ActionKind.GROUP:
            return Word(Act.GROUP, self.numbering.group_index(value))
        if kind == ActionKind.SET_FIELD:
            if action.number not in FIELDS or action.number in UNSETTABLE:
                raise refused(BadAction.BAD_SET_TYPE, f"field {action.number} can't be set")
            bits = 12 if action.number == F.VLAN_VID else FIELDS[F(action.number)].bits
            return Word(Act.SET_FIELD, value & (1 << bits) - 1, action.number)
        if value not in _TAGS.get(kind, (value,)):
            raise refused(BadAction.BAD_ARGUMENT, f"{kind.name} with type {value:#06x}")
        if kind == ActionKind.EXPERIMENTER and value > CUSTOM:
            raise refused(BadAction.BAD_ARGUMENT, f"custom actions {value:#x}")
        if kind == ActionKind.EXPERIMENTER and value & ~self.numbering.custom:
            raise refused(BadAction.BAD_EXP_TYPE, f"the card has no custom actions {value:#x}")
        return Word(_EDITS[kind], value)

    def _output(self, port: int) -> Word:
        if port == flows.CONTROLLER:  # the whole packet, whatever max_len says: there are no buffers for the rest
            return Word(Act.CONTROLLER, self.reason << 16 | flows.MAX_LENGTH)
        if port == flows.IN_PORT:
            return Word(Act.OUTPUT, HAIRPIN)
        if port in (flows.FLOOD, flows.ALL):
            return Word(Act.OUTPUT, (1 << self.numbering.ports) - 1)
        if port == flows.TABLE and self.from_host:
            return _resubmit(None, 0)
        if 1 <= port <= self.numbering.ports:
            return Word(Act.OUTPUT, 1 << port - 1)
        raise refused(BadAction.BAD_OUT_PORT, f"port {port:#x} can't be sent to")


def _effects(words: Iterable[Word]) -> tuple[Effect, ...]:
    ops = {
        Act.SET_FIELD: EffectOp.SET,
        Act.PUSH_VLAN: EffectOp.PUSH_VLAN,
        Act.POP_VLAN: EffectOp.POP_VLAN,
        Act.PUSH_MPLS: EffectOp.PUSH_MPLS,
    }
    return tuple(Effect(ops[word.op], word.field, word.value) for word in words if word.op in ops)


def _looks_below(action: Action) -> bool:
    """Whether an action behind POP_MPLS needs the header that has come up."""
    if action.kind == ActionKind.SET_FIELD:
        return action.number not in _OUTER
    return action.kind not in (ActionKind.OUTPUT, ActionKind.SET_QUEUE, ActionKind.PUSH_VLAN, ActionKind.POP_VLAN)


def _parts(actions: Sequence[Action], going_on: bool = False) -> list[Sequence[Action]]:
    """Actions, cut behind each POP_MPLS where the packet must be resubmitted; ``going_on``: to another table."""
    parts, start = [], 0
    for at, action in enumerate(actions, 1):
        if action.kind == ActionKind.POP_MPLS and (going_on or any(map(_looks_below, actions[at:]))):
            parts.append(actions[start:at])
            start = at
    return [*parts, actions[start:]]


def _resubmit(target: int | None, table: int = NO_TABLE) -> Word:
    return Word(Act.RESUBMIT, table, target=target)


def _chain(blocks: list[list[Word]], first: int = 0, table: int = NO_TABLE) -> list[list[Word]]:
    """Blocks, each but the last one resubmitting the packet to the next, from ``table`` on for the last one.
    ``first``: the number of the second one, less 1."""
    chained = [block[:] for block in blocks]
    last = len(chained) - 1
    for number, block in enumerate(chained[:last], 1):
        block.append(_resubmit(first + number if blocks[number] else None, table if number == last else NO_TABLE))
    return chained if chained[last] else chained[:last]


# ------------------------------------------------------------------------------------------------- what has actions


def flow_code(flow: Flow, instructions: Instructions, numbering: Numbering) -> FlowCode:
    """What a flow does with these instructions. Raises RefusedError for what the card can't."""
    goto = instructions.goto
    if goto is not None and not flow.table < goto < numbering.tables:
        raise refused(BadInstruction.BAD_TABLE_ID, f"table {goto} does not follow table {flow.table}")
    compiler = _Compiler(numbering, REASON_ACTION if flow.priority or flow.match else REASON_NO_MATCH)
    done, written = list(instructions.apply or ()), action_set(instructions.write or ())
    if goto is None and (instructions.clear or flow.table == 0):  # the action set is this flow's alone
        done, written = done + written, []
    parts = _parts(done, goto is not None)
    if len(_parts(written)) > 1:
        raise refused(BadAction.UNSUPPORTED_ORDER, "actions that need the header below in an action set")

    blocks = [compiler.words(part) for part in parts]
    if len(parts) > 1 and goto is not None and _effects(blocks[-1]):
        blocks.append([])  # it goes on when it has been edited
    blocks[-1] += [word._replace(keep=True) for word in compiler.each(written)]
    before = []
    if instructions.meter is not None:
        before.append(Word(Act.METER, numbering.meter_index(instructions.meter)))
    if instructions.clear and flow.table:  # no action looks at the action set, so this may as well be first
        before.append(Word(Act.CLEAR))
    blocks[0] = before + blocks[0]
    following = NO_TABLE if goto is None else goto
    if len(blocks) > 1:
        return FlowCode(Code(_chain(blocks, table=following)), (), NO_TABLE)
    effects = () if goto is None else _effects(compiler.each(done))
    return FlowCode(Code([block for block in blocks if block]), effects, following)


def packet_out_code(actions: Sequence[Action], numbering: Numbering) -> tuple[Code, int]:
    """What is done with a packet from a controller: a program, which may be empty, and the table that it starts at."""
    if [action[:2] for action in actions if action.kind != ActionKind.SET_QUEUE] == [(ActionKind.OUTPUT, flows.TABLE)]:
        return Code(), 0
    compiler = _Compiler(numbering, from_host=True)
    blocks = [compiler.words(part) for part in _parts(actions)]
    return Code([] if blocks == [[]] else _chain(blocks)), NO_TABLE


def group_code(
    group: Group, numbering: Numbering, count: int, counts: Sequence[int], watched: Sequence[frozenset[int] | None]
) -> Code:
    """What a group does. ``count``, ``counts``: numbers of its counter and its buckets'; ``watched``: ports of which
    one must be live for a bucket to be, None: it always is."""
    code = Code([[Word(Act.COUNT, count)]])
    bodies = [
        _bucket_words(bucket, number, numbering, code) for bucket, number in zip(group.buckets, counts, strict=True)
    ]
    if group.kind == GroupKind.SELECT:
        _select(code, [bucket.weight for bucket in group.buckets], bodies)
    elif group.kind == GroupKind.FAST_FAILOVER:
        _fail_over(code, watched, bodies)
    else:
        code.blocks[0] += [word for body in bodies for word in body]
    return code


def _bucket_words(bucket: Bucket, count: int, numbering: Numbering, code: Code) -> list[Word]:
    """Of a bucket, behind which the packet is as it was; appends to ``code`` what is done when it is resubmitted."""
    actions = action_set(bucket.actions)
    if any(action.kind == ActionKind.GROUP for action in actions):
        raise refused(GroupModFailed.CHAINING_UNSUPPORTED, "a bucket with a group")
    compiler = _Compiler(numbering)
    blocks = _chain([compiler.words(part) for part in _parts(actions)], len(code.blocks) - 1)
    code.blocks += blocks[1:]
    words = [Word(Act.COUNT, count), *(blocks[0] if blocks else [])]
    return [Word(Act.SAVE), *words, Word(Act.RESTORE)] if any(word.op in _EDIT_OPS for word in words) else words


def slots(weights: Sequence[int], most: int = SELECT_SLOTS) -> list[int]:
    """How many slots each bucket of a SELECT group has: as its weight, exactly if ``most`` slots are enough.
    Raises RefusedError for more buckets than slots."""
    divisor = gcd(*weights)
    total = sum(weights)
    if not total:
        return [0 for _ in weights]
    if total // divisor <= most:
        return [weight // divisor for weight in weights]
    if sum(map(bool, weights)) > most:
        raise refused(GroupModFailed.OUT_OF_BUCKETS, f"more than {most} buckets to select from")
    found = [max(1, weight * most // total) if weight else 0 for weight in weights]
    while (missing := most - sum(found)) != 0:  # less than one for each bucket
        step = 1 if missing > 0 else -1
        free = [number for number, slot in enumerate(found) if slot + step > 0 and weights[number]]
        chosen = max(free, key=lambda number: step * (weights[number] * most - found[number] * total))
        found[chosen] += step
    return found


def _select(code: Code, weights: Sequence[int], bodies: Sequence[list[Word]]) -> None:
    jumps = []
    for number, body in zip(slots(weights), bodies, strict=True):
        if number:
            jumps += [Word(Act.JUMP, target=len(code.blocks))] * number
            code.blocks.append(body)
    if jumps:
        code.blocks[0] += [Word(Act.SELECT, len(jumps)), *jumps]


def _fail_over(code: Code, watched: Sequence[frozenset[int] | None], bodies: Sequence[list[Word]]) -> None:
    """Looks at the buckets in turn, from the last one on to know where to go on."""
    code.blocks.append([Word(Act.NONE)])
    for ports, body in zip(reversed(watched), reversed(bodies), strict=True):
        following = len(code.blocks) - 1
        if ports is None:
            code.blocks.append(body)
        elif not ports:
            continue
        elif len(ports) == 1:
            code.blocks.append([_unless_live(min(ports), following), *body])
        else:
            bucket = len(code.blocks)
            code.blocks.append(body)
            for port in sorted(ports):
                code.blocks.append([_unless_live(port, following), Word(Act.JUMP, target=bucket)])
                following = len(code.blocks) - 1
    code.blocks[0] += code.blocks.pop()


def _unless_live(port: int, target: int) -> Word:
    return Word(Act.UNLESS_LIVE, port << 16, target=target)
