"""Proofs of the book of a unit's slots, by induction: whatever is released, taken and flushed, it stays right."""

from headrace.testing.cases import Bug, Case, Proofs

CASES = [Case("rpu_slot_book", {"SLOTS": slots}, induction=2, cover=12) for slots in (1, 3, 4)]
BOOK = ("rpu_slot_book", {}, "rpu_slot_book")
BUGS = [
    Bug(*BOOK, "freed = one && in_range && taken_q[index]", "freed = one && in_range"),
    Bug(*BOOK, "~(SLOTS'(1) << lowest)) | freed_mask", "~(SLOTS'(1) << lowest))"),
    Bug(*BOOK, "(snapshot ? taken_q | take_mask : old_q)", "(snapshot ? taken_q : old_q)"),
    Bug(*BOOK, "offered_q && !flush;", "offered_q;"),
    Bug(*BOOK, "pool_q[i] <= 8'(i) < release_s.slot", "pool_q[i] <= 8'(i) <= release_s.slot"),
    Bug(*BOOK, "if (all || (flush && !flush_q))", "if (all || flush)"),
]


class TestSlotBook(Proofs):
    cases = CASES
    bugs = BUGS
