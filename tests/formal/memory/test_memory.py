"""Proofs of the parts around memories, by induction."""

from soak import soak

from headrace.testing.cases import Bug, Case, Proofs

CASES = [Case("ram_update", {"STEPS": steps}, induction=steps + 4) for steps in (1, 2, 3)]
LARGER = [Case("ram_update", {"STEPS": 2, "DEPTH": depth, "WIDTH": 2}, induction=6) for depth in (1, 8)]
TRIED = [*CASES, *map(soak, LARGER)]
STRAIGHT = ("ram_update", {"STEPS": 1}, "ram_update")
CHOSEN = ("ram_update", {"STEPS": 2}, "ram_update")
KEPT = ("ram_update", {"STEPS": 3}, "ram_update")
BUGS = [
    Bug(*STRAIGHT, "if (follows_q[1][1]) old = result_q;", ""),
    Bug(*STRAIGHT, "if (follows_q[1][2]) old = before_q;", ""),
    Bug(*CHOSEN, "follows_q[STEPS][1] ? result_q : chosen_q", "chosen_q"),
    Bug(*CHOSEN, "if (follows_q[STEPS-1][2]) chosen_q <= result_q;", ""),
    Bug(*CHOSEN, "if (follows_q[STEPS-1][3]) chosen_q <= before_q;", ""),
    Bug(*CHOSEN, "valid && write}", "valid}"),
    Bug(*KEPT, "follows_q[STEPS-1][STEPS+1] ? earlier_q : word_q", "word_q"),
    Bug(*KEPT, "valid_q[STEPS+2]) earlier_q", "valid_q[STEPS+1]) earlier_q"),
]


class TestMemory(Proofs):
    cases = TRIED
    bugs = BUGS
