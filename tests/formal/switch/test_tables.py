"""Proofs that the exact table keeps its entries and finds them while they move, by induction."""

from soak import soak

from headrace.testing.cases import Bug, Case, Proofs

TABLE = Case("exact_table", {}, induction=3, cover=24)
LARGER = [
    Case("exact_table", {"KEY_W": 2, "MAX_MOVES": 2}, induction=3),
    Case("exact_table", {"RESULT_W": 2, "STASH": 5}, induction=3),
    Case("exact_table", {"TABLES": 4, "ENTRIES": 16, "STASH": 4}, induction=3),
]
# What takes a full table comes about from any state of which the invariants hold; from a reset it is too far away.
ANYWHERE = {"ANYWHERE": 1}
BROKEN = ("exact_table", ANYWHERE, "exact_table")
BUGS = [
    Bug(*BROKEN, "SETTLE = 4;", "SETTLE = 1;", 4),
    Bug(*BROKEN, "&& !clash_q[1] && wiped_q", "&& wiped_q", 4),
    Bug(*BROKEN, "&& wiped_q && asked_q[4]", "&& asked_q[4]", 4),
    soak(Bug(*BROKEN, "&taken && !two_free", "1'b0", 4)),
    Bug(*BROKEN, "state_q == WRITE && evicts_q;", "1'b0 && 1'b1;", 4),
    Bug(*BROKEN, "VISIT_CYCLES - STASH - 2", "VISIT_CYCLES - STASH - 1", 4),
    Bug(*BROKEN, "moves_q <= moves_q + 1'b1;", "moves_q <= moves_q;", 4),
    Bug(*BROKEN, "op_done <= 1'b0;  // comes", "// comes", 4),
]


class TestTables(Proofs):
    cases = (TABLE, *map(soak, LARGER))
    covered = (soak(TABLE), Case("exact_table", ANYWHERE, cover=5))
    bugs = BUGS
