"""Proofs of what goes into a crossing of clocks, by induction: each frame goes whole, or is counted once."""

from headrace.testing.cases import Bug, Case, Proofs

CASES = [Case("stream_elastic", {"DROP_WHEN_FULL": drop}, induction=2, cover=12) for drop in (0, 1)]
ELASTIC = ("stream_elastic", {}, "stream_elastic")
BUGS = [
    Bug(*ELASTIC, "skip_q   <= skip || no_room", "skip_q <= no_room"),
    Bug(*ELASTIC, "skip_q    <= 1'b1", "skip_q <= 1'b0"),
    Bug(*ELASTIC, "(abort_q || no_room)", "no_room"),
    Bug(*ELASTIC, "(inside_q && skip_q)", "skip_q"),
    Bug(*ELASTIC, "if (no_room && inside_q) abort_q", "if (no_room) abort_q"),
    Bug(*ELASTIC, "if (cross_ready) abort_q", "abort_q"),
    Bug("stream_elastic", {"DROP_WHEN_FULL": 0}, "stream_elastic", "if (!DROP_WHEN_FULL) inside_q <= 1'b0;", ""),
]


class TestElastic(Proofs):
    cases = CASES
    bugs = BUGS
