"""Proofs of the parts that hand out turns and numbers, by induction."""

from soak import soak

from headrace.testing.cases import Bug, Case, Proofs

CASES = [
    *(Case("number_pool", {"COUNT": count}, induction=2) for count in (4, 5)),
    Case("turn_list", {"ITEMS": 3, "NEWCOMERS": 0}, induction=2, cover=16),
    Case("turn_list", {"ITEMS": 2, "NEWCOMERS": 1}, induction=2, cover=12),
]
LARGER = [Case("turn_list", {"ITEMS": items, "NEWCOMERS": first}, induction=2) for items, first in ((4, 0), (3, 1))]
POOL = ("number_pool", {}, "number_pool")
TURNS = ("turn_list", {}, "turn_list")
FIRST = ("turn_list", {"ITEMS": 2, "NEWCOMERS": 1}, "turn_list")
BUGS = [
    Bug(*POOL, "lend_ready && !some_new)", "lend_ready)"),
    Bug(*POOL, "if (taken && some_new) new_q", "if (taken && some_new && !back_valid) new_q"),
    Bug("number_pool", {"COUNT": 5}, "number_pool", "new_q != COUNT_W'(COUNT)", "new_q != COUNT_W'(COUNT - 1)", 16),
    Bug(*TURNS, "known_valid_q && !(push && known_item_q == found_item_q)", "known_valid_q"),
    Bug(*TURNS, "{1'b0, behind} < count && found", "found"),
    Bug(*TURNS, "found[place_first_q] == found_item_q && ", ""),
    Bug(*FIRST, "&& !(|takes && m_item == known_item_q)", ""),
    Bug(*FIRST, "since <= TURN_W'(ITEMS) || taken_q", "since <= TURN_W'(ITEMS)"),
    Bug(*FIRST, "since <= TURN_W'(ITEMS) || taken_q", "taken_q"),
]


class TestHost(Proofs):
    cases = (*CASES, *map(soak, LARGER))
    bugs = BUGS
