"""What actions become in programs of the switch card, and which ones are refused with which error."""

from __future__ import annotations

import pytest

from headrace.cards.switch import flows
from headrace.cards.switch.compile import Code, FlowCode, flow_code, group_code, packet_out_code, slots
from headrace.cards.switch.flows import (
    Action,
    ActionKind,
    Bucket,
    Flow,
    Group,
    GroupKind,
    Instructions,
    Oxm,
    RefusedError,
)
from headrace.cards.switch.layout import ACTION, NO_TABLE, Act

K = ActionKind
EDIT, DEC, PUSH, POP = Action(K.SET_FIELD, 5, 3), Action(K.DEC_NW_TTL), Action(K.PUSH_VLAN, 0x8100), Action(K.POP_VLAN)
POP_MPLS, SET_IP = Action(K.POP_MPLS, 0x0800), Action(K.SET_FIELD, 9, 12)
BASE = 100


class Numbering:
    """Groups and meters lie at their numbers plus 1; there is no group 13 and no meter 13."""

    ports, tables, custom = 4, 4, 3

    def group_index(self, number: int) -> int:
        if number == 13:
            raise RefusedError(2, 9, "no such group")
        return number + 1

    def meter_index(self, number: int) -> int:
        if number == 13:
            raise RefusedError(12, 3, "no such meter")
        return number + 1


def to(port: int, max_length: int = 0) -> Action:
    return Action(K.OUTPUT, port, max_length)


def program(code: Code) -> list[str]:
    """Its words as text, at addresses from BASE on."""
    return [text(ACTION.unpack(word)) for word in code.words(BASE)]


def text(word: dict[str, int]) -> str:
    field = f".{word['field']}" if word["field"] else ""
    value = f" {word['value']:#x}" if word["value"] else ""
    out = f" out {word['port'] + 1}" if word["out"] else ""
    return (
        Act(word["op"]).name.lower()
        + field
        + value
        + out
        + (" keep" if word["keep"] else "")
        + (" last" * word["last"])
    )


def compiled(table: int = 1, priority: int = 1, match: flows.Match = (), **instructions: object) -> FlowCode:
    flow = Flow(table, priority, match, Instructions(**instructions))  # type: ignore[arg-type]
    return flow_code(flow, flow.instructions, Numbering())


APPLIED = [
    ([], []),
    ([to(1)], ["output 0x1 last"]),
    ([to(1), to(3)], ["output 0x5 last"]),
    ([to(1), to(1)], ["output 0x1", "output 0x1 last"]),
    ([to(flows.FLOOD)], ["output 0xf last"]),
    ([to(flows.ALL), to(2)], ["output 0xf", "output 0x2 last"]),
    ([to(flows.IN_PORT), to(2)], [f"output {1 << 64:#x}", "output 0x2 last"]),
    ([EDIT, to(2)], ["set_field.3 0x5 out 2 last"]),
    ([EDIT, to(2), to(3)], ["set_field.3 0x5", "output 0x6 last"]),
    ([EDIT, Action(K.SET_FIELD, 6, 4), DEC, to(2)], ["set_field.3 0x5", "set_field.4 0x6", "dec_nw_ttl out 2 last"]),
    ([to(3), POP, to(1)], ["output 0x4", "pop_vlan out 1 last"]),
    ([DEC, to(flows.IN_PORT)], ["dec_nw_ttl", f"output {1 << 64:#x} last"]),
    ([to(flows.CONTROLLER, 128), to(1)], ["controller 0x1ffff", "output 0x1 last"]),
    ([Action(K.SET_FIELD, 0x1005, 6)], ["set_field.6 0x5 last"]),
    ([Action(K.SET_QUEUE, 1), to(1)], ["output 0x1 last"]),
    ([Action(K.GROUP, 7)], ["group 0x8 last"]),
    ([Action(K.EXPERIMENTER, 3), to(1)], ["custom 0x3 out 1 last"]),
    ([POP_MPLS, PUSH, to(1)], ["pop_mpls 0x800", "push_vlan 0x8100 out 1 last"]),
    ([POP_MPLS, SET_IP, to(1)], ["pop_mpls 0x800", "resubmit 0x66000f last", "set_field.12 0x9 out 1 last"]),
]


@pytest.mark.parametrize(("actions", "words"), APPLIED)
def test_actions_take_few_words(actions: list[Action], words: list[str]) -> None:
    assert program(compiled(apply=tuple(actions)).code) == words


def test_the_packet_comes_anew_where_the_header_below_labels_is_needed() -> None:
    code = compiled(apply=(POP_MPLS, SET_IP, to(1)))
    assert program(code.code)[1] == f"resubmit {(BASE + 2) << 16 | NO_TABLE:#x} last"
    gone_on = compiled(apply=(to(2), POP_MPLS), goto=2, write=(to(1),))
    assert program(gone_on.code) == [
        "output 0x2",
        "pop_mpls 0x800",
        f"resubmit {(BASE + 3) << 16 | 2:#x} last",
        "output 0x1 keep last",
    ]
    assert (gone_on.effects, gone_on.next) == ((), NO_TABLE)
    without = compiled(apply=(POP_MPLS,), goto=2)
    assert program(without.code) == ["pop_mpls 0x800", "resubmit 0x2 last"]
    edited = compiled(apply=(POP_MPLS, SET_IP), goto=2)
    assert program(edited.code) == [
        "pop_mpls 0x800",
        f"resubmit {(BASE + 2) << 16 | NO_TABLE:#x} last",
        "set_field.12 0x9",
        "resubmit 0x2 last",
    ]


def test_instructions_are_done_in_their_order() -> None:
    all_of_them = compiled(meter=2, apply=(EDIT,), clear=True, write=(to(2), to(3), EDIT), metadata=(1, 3), goto=2)
    assert program(all_of_them.code) == [
        "meter 0x3",
        "clear",
        "set_field.3 0x5",
        "set_field.3 0x5 keep",
        "output 0x4 keep last",
    ]
    assert all_of_them.next == 2
    assert [(int(effect.op), effect.field, effect.value) for effect in all_of_them.effects] == [(0, 3, 5)]
    assert program(compiled(metadata=(1, 1), goto=2).code) == []


def test_what_an_only_flow_writes_is_done_at_once() -> None:
    assert program(compiled(table=0, write=(to(2), EDIT)).code) == ["set_field.3 0x5 out 2 last"]
    assert program(compiled(clear=True, write=(to(2), Action(K.GROUP, 1))).code) == ["clear", "group 0x2 last"]
    assert program(compiled(write=(to(2),)).code) == ["output 0x2 keep last"]


def test_effects_are_what_later_tables_can_see() -> None:
    actions = (DEC, PUSH, Action(K.SET_FIELD, 0x1005, 6), to(1), Action(K.PUSH_MPLS, 0x8847), POP)
    found = compiled(apply=actions, goto=3).effects
    assert [(int(effect.op), effect.field, effect.value) for effect in found] == [
        (1, 0, 0x8100),
        (0, 6, 5),
        (3, 0, 0x8847),
        (2, 0, 0),
    ]
    assert compiled(apply=actions).effects == ()


def test_a_table_miss_says_so_to_controllers() -> None:
    host = to(flows.CONTROLLER, flows.MAX_LENGTH)
    assert program(compiled(priority=0, apply=(host,)).code) == ["controller 0xffff last"]
    assert program(compiled(priority=0, match=(Oxm(0, 1),), apply=(host,)).code) == ["controller 0x1ffff last"]


REFUSED = [
    (Instructions(apply=(to(5),)), 2, 4),
    (Instructions(apply=(to(0),)), 2, 4),
    (Instructions(apply=(to(flows.NORMAL),)), 2, 4),
    (Instructions(apply=(to(flows.LOCAL),)), 2, 4),
    (Instructions(apply=(to(flows.TABLE),)), 2, 4),
    (Instructions(apply=(Action(K.PUSH_PBB, 0x88E7),)), 2, 0),
    (Instructions(write=(Action(K.POP_PBB),)), 2, 0),
    (Instructions(apply=(Action(K.PUSH_VLAN, 0x0800),)), 2, 5),
    (Instructions(apply=(Action(K.PUSH_MPLS, 0x8100),)), 2, 5),
    (Instructions(apply=(Action(K.EXPERIMENTER, 0x100),)), 2, 5),
    (Instructions(apply=(Action(K.SET_FIELD, 1, 0),)), 2, 13),
    (Instructions(apply=(Action(K.SET_FIELD, 1, 2),)), 2, 13),
    (Instructions(apply=(Action(K.SET_FIELD, 1, 37),)), 2, 13),
    (Instructions(apply=(Action(K.GROUP, 13),)), 2, 9),
    (Instructions(meter=13), 12, 3),
    (Instructions(goto=1), 3, 2),
    (Instructions(goto=4), 3, 2),
    (Instructions(write=(POP_MPLS, SET_IP), goto=2), 2, 11),
]


@pytest.mark.parametrize(("instructions", "kind", "code"), REFUSED)
def test_what_the_card_can_not_do_is_refused(instructions: Instructions, kind: int, code: int) -> None:
    with pytest.raises(RefusedError) as error:
        flow_code(Flow(1, 1, (), instructions), instructions, Numbering())
    assert (error.value.kind, error.value.code) == (kind, code)


def test_a_packet_out_begins_at_its_actions_or_at_the_first_table() -> None:
    code, table = packet_out_code([Action(K.SET_QUEUE, 1), to(flows.TABLE)], Numbering())
    assert (program(code), table) == ([], 0)
    code, table = packet_out_code([EDIT, to(flows.TABLE), to(1)], Numbering())
    assert (program(code), table) == (["set_field.3 0x5", "resubmit", "output 0x1 last"], NO_TABLE)
    assert packet_out_code([], Numbering()) == (Code(), NO_TABLE)
    code, table = packet_out_code([Action(K.SET_FIELD, flows.TABLE, 12)], Numbering())
    assert (len(code), table) == (1, NO_TABLE)


# ------------------------------------------------------------------------------------------------------- groups


def group(kind: GroupKind, *buckets: Bucket, watched: list[frozenset[int] | None] | None = None) -> list[str]:
    watched = [None for _ in buckets] if watched is None else watched
    counts = range(21, 21 + len(buckets))
    return program(group_code(Group(1, kind, buckets), Numbering(), 20, counts, watched))


def test_all_buckets_get_the_packet_as_it_was() -> None:
    assert group(GroupKind.ALL, Bucket((to(1), EDIT)), Bucket((to(2),)), Bucket(())) == [
        "count 0x14",
        *("save", "count 0x15", "set_field.3 0x5 out 1", "restore"),
        *("count 0x16", "output 0x2"),
        "count 0x17 last",
    ]


def test_one_bucket_is_selected_by_weight() -> None:
    assert group(GroupKind.SELECT, Bucket((to(1),), 2), Bucket((to(2),), 0), Bucket((EDIT, to(3)), 4)) == [
        *("count 0x14", "select 0x3", f"jump {BASE + 5:#x}", f"jump {BASE + 7:#x}", f"jump {BASE + 7:#x}"),
        *("count 0x15", "output 0x1 last"),
        *("save", "count 0x17", "set_field.3 0x5 out 3", "restore last"),
    ]
    assert group(GroupKind.SELECT, Bucket((to(1),), 0)) == ["count 0x14 last"]


def test_weights_share_the_slots() -> None:
    assert slots([10, 20, 0, 30]) == [1, 2, 0, 3]
    assert slots([1, 999, 0]) == [1, 63, 0]
    assert slots([1000, 1001]) in ([32, 32], [31, 33])
    assert slots([7] * 64) == [1] * 64
    for weights in ([3, 100, 101], [1] * 63 + [1000], [65535, 1, 1, 30000], list(range(1, 60))):
        found = slots(weights)
        assert sum(found) == 64 and min(found) >= 1
    with pytest.raises(RefusedError) as error:
        slots(list(range(1, 66)))
    assert (error.value.kind, error.value.code) == (6, 4)


def test_the_first_live_bucket_gets_the_packet() -> None:
    buckets = [Bucket((to(port),)) for port in (1, 2, 3)]
    watched = [frozenset({1}), frozenset({2, 3}), None]
    words = group(GroupKind.FAST_FAILOVER, *buckets, watched=watched)
    assert follow(words, live={1}) == ["count 0x15", "output 0x1 last"]
    assert follow(words, live={2}) == follow(words, live={3}) == ["count 0x16", "output 0x2 last"]
    assert follow(words, live=set()) == ["count 0x17", "output 0x4 last"]
    none = group(GroupKind.FAST_FAILOVER, *buckets[:2], watched=[frozenset({1}), frozenset()])
    assert follow(none, live={2}) == ["none last"]


def follow(words: list[str], live: set[int]) -> list[str]:
    """What is done of a group's program but its count and the way there."""
    at, done = 1, []
    while True:
        op, *rest = words[at].split()
        value = int(rest[0], 16) if rest and rest[0] != "last" else 0
        at += 1
        if op == "jump":
            at = value - BASE
        elif op == "unless_live":
            at = at if value >> 16 in live else (value & 0xFFFF) - BASE
        else:
            done.append(words[at - 1])
        if rest[-1:] == ["last"]:
            return done


def test_groups_of_groups_are_refused() -> None:
    with pytest.raises(RefusedError) as error:
        group(GroupKind.ALL, Bucket((Action(K.GROUP, 1),)))
    assert (error.value.kind, error.value.code) == (6, 5)


def test_a_bucket_may_need_the_header_below_labels() -> None:
    assert group(GroupKind.ALL, Bucket((POP_MPLS, SET_IP, to(1))), Bucket((to(2),))) == [
        *(
            "count 0x14",
            "save",
            "count 0x15",
            "pop_mpls 0x800",
            f"resubmit {(BASE + 8) << 16 | NO_TABLE:#x}",
            "restore",
        ),
        *("count 0x16", "output 0x2 last"),
        "set_field.12 0x9 out 1 last",
    ]
