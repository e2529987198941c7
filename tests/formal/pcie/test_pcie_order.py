"""Proofs of the order in which reads are answered, by induction."""

from soak import soak

from headrace.testing.cases import Bug, Case, Proofs

CASES = [
    Case("pcie_read_order", {"ID_W": 1}, induction=1, cover=10),
    soak(Case("pcie_read_order", {"ID_W": 2}, induction=1, cover=10)),
]
ORDER = ("pcie_read_order", {}, "pcie_read_order")
BUGS = [
    Bug(*ORDER, "!alone || (issue && order == hand_order)", "!alone", 7),
    Bug(*ORDER, "over_q && head_q[over_tag_q]", "over_q", 6),
    Bug(*ORDER, "head_q[behind_q] <= !follows_q", "head_q[behind_q] <= 1'b1", 5),
]


class TestOrder(Proofs):
    cases = CASES
    bugs = BUGS
