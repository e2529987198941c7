"""Proofs of the store of packets: a beat is read as it came until it is freed, and each packet's end is told once,
by induction.
"""

from headrace.testing.cases import Bug, Case, Proofs

STORE = Case("packet_store", {}, induction=1)
# A full store comes about from any state of which the invariants hold; from a reset it is too far away.
ANYWHERE = Case("packet_store", {"ANYWHERE": 1}, cover=4)
BROKEN = ("packet_store", {"ANYWHERE": 1}, "packet_store")
BUGS = [
    Bug(*BROKEN, "((push ? wr_next : wr_q) ^ tail_q)", "(wr_q ^ tail_q)", 3),
    Bug(*BROKEN, "whole_q <= push && s_axis_tlast;", "whole_q <= s_axis_tlast;", 3),
    Bug(*BROKEN, "{1'b0, keep_q}", "{keep_q, 1'b1}", 3),
    Bug(*BROKEN, ".wr_addr(wr_q[ADDR_W-1:0])", ".wr_addr(wr_next[ADDR_W-1:0])", 3),
]


class TestStore(Proofs):
    cases = (STORE,)
    covered = (ANYWHERE,)
    bugs = BUGS
