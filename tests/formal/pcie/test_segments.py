"""Proofs that every byte of a write of host memory is in one request, for requests of up to 128 bytes, by induction."""

from soak import soak

from headrace.testing.cases import Bug, Case, Proofs

CASES = [Case("pcie_segments", {}, induction=1, cover=10)]
SEGMENTS = ("pcie_segments", {}, "pcie_segments")
BUGS = [
    Bug(*SEGMENTS, "open_q && !empty && !(b.solid && b.goes_on)", "open_q && !empty && !b.solid", 7),
    Bug(*SEGMENTS, "place2_q.last || !b.to_end || b.bound", "place2_q.last || !b.to_end", 7),
    Bug(*SEGMENTS, "place2_q.last || !b.to_end || b.bound", "!b.to_end || b.bound", 7),
    Bug(*SEGMENTS, "apart_q ? todo_q : b.some", "b.some", 7),
    Bug(*SEGMENTS, "m_free  = place2_q.row + 1'b1", "m_free  = place2_q.row", 7),
    Bug(*SEGMENTS, "segment.last_be = strb2_q[4*last+:4]", "segment.last_be = strb2_q[4*first+:4]", 7),
]


class TestSegments(Proofs):
    cases = CASES
    covered = (soak(*CASES),)
    bugs = BUGS
