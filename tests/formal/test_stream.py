"""Proofs of the stream layer: what a part promises, it keeps in every cycle and from every state that it can be in.

Each property is proved by induction: it holds in the first cycles, and it goes on holding when it has held for a few.
The width of the data does not matter to the logic, so narrow words and small memories stand for all.
"""

from soak import soak

from headrace.testing.cases import Bug, Case, Proofs

# stream_width with equal widths is a stream_reg.
CASES = [
    Case("stream_reg", {}),
    *(Case("stream_fifo", {"DEPTH": depth, "BLOCK_RAM": block}) for depth in (4, 5) for block in (0, 1)),
    *(Case("stream_queue", {"DEPTH": depth}) for depth in (2, 4)),
    *(Case("packet_fifo", {"DROP_WHEN_FULL": drop, "BLOCK_RAM": block}) for drop in (0, 1) for block in (0, 1)),
    *(Case("stream_width", {"S_LANES": s, "M_LANES": m}) for s, m in ((2, 1), (1, 2), (3, 1), (1, 3))),
    *(Case("stream_arbiter", {"INPUTS": inputs, "ROUND_ROBIN": 1}) for inputs in (2, 3, 5)),
    Case("stream_arbiter", {"INPUTS": 3, "ROUND_ROBIN": 0}),
    *(Case("stream_broadcast", {"OUTPUTS": outputs}) for outputs in (1, 3)),
    Case("stream_cdc_fifo", {"DEPTH": 4}, induction=6, cover=50, clocks=2),
    *(Case("keep_bytes", {"KEEP_W": width}, induction=1, cover=2) for width in (1, 8, 16)),
    *(Case("clock_gate", {"HOLD": hold}, induction=2, clocks=2) for hold in (1, 2)),
]
# The same logic in further sizes
LARGER = [
    *(Case("stream_fifo", {"DEPTH": 6, "BLOCK_RAM": block}) for block in (0, 1)),
    Case("stream_queue", {"DEPTH": 8}),
    Case("keep_bytes", {"KEEP_W": 64}, induction=1, cover=2),
    Case("stream_width", {"S_LANES": 4, "M_LANES": 2}),
    *(Case("stream_arbiter", {"INPUTS": inputs, "ROUND_ROBIN": 1}) for inputs in (4, 8)),
    Case("stream_arbiter", {"INPUTS": 2, "ROUND_ROBIN": 0}),
    Case("stream_broadcast", {"OUTPUTS": 2}),
]
BUGS = [
    Bug("stream_reg", {}, "stream_reg", "ready_q ? s_data : spare_q", "s_data"),
    Bug("stream_reg", {}, "stream_reg", "ready_q <= advance || (ready_q && !s_valid)", "ready_q <= 1'b1"),
    Bug("stream_fifo", {"DEPTH": 5}, "stream_fifo", "place == place_t'(DEPTH - 1)", "place == place_t'(DEPTH - 2)"),
    Bug("stream_fifo", {"BLOCK_RAM": 1}, "fifo_store", "(advance || !rd_valid_q) rd_valid_q", "(advance) rd_valid_q"),
    Bug("stream_queue", {}, "stream_queue", "wr_q != (pop ? rd_next : rd_q)", "wr_q != rd_q"),
    Bug("stream_queue", {"DEPTH": 2}, "stream_queue", "(push ? wr_next : wr_q)", "wr_q"),
    Bug("packet_fifo", {}, "packet_fifo", "rewind = no_room || discard_q", "rewind = no_room"),
    Bug("packet_fifo", {}, "packet_fifo", ".rd_avail(rd_q != commit_q)", ".rd_avail(rd_q != wr_q)"),
    Bug(
        "packet_fifo",
        {"DROP_WHEN_FULL": 0},
        "packet_fifo",
        "no_room       = (wr_q ^ commit_q) == FULL",
        "no_room = 1'b0",
    ),
    Bug("stream_width", {"S_LANES": 1, "M_LANES": 2}, "stream_width", "if (index_q == '0) keep_q <= '0;", ""),
    Bug("stream_width", {}, "stream_width", "last: last_q && !more_q[0]", "last: last_q"),
    Bug("stream_arbiter", {}, "stream_arbiter", "may_q    <= s_beat.last ? '1 : grant", "may_q <= '1"),
    Bug("stream_arbiter", {}, "stream_arbiter", "!(|grant[i-1:j])", "1'b1"),
    Bug("stream_arbiter", {}, "stream_arbiter", "out_idle && may_q == '1", "out_idle"),
    Bug(
        "stream_width",
        {"S_LANES": 1, "M_LANES": 2},
        "stream_width",
        "slice_idle && !valid_q && index_q == '0",
        "slice_idle",
    ),
    Bug("stream_width", {}, "stream_width", ": up_q;", ": 1'b1;"),
    Bug("stream_broadcast", {}, "stream_broadcast", "done_q <= valid && !ready ? done_d", "done_q <= valid ? done_d"),
    Bug("keep_bytes", {}, "keep_bytes", "bytes = BYTES_W'(KEEP_W)", "bytes = '1", 2),
    Bug("clock_gate", {}, "clock_gate", "always_ff @(negedge clk)", "always_ff @(posedge clk)", clocks=2),
    Bug("clock_gate", {}, "clock_gate", "work_q[HOLD-1:0], work || rst", "work_q[HOLD-1:0], work", clocks=2),
    Bug("stream_cdc_fifo", {}, "stream_cdc_fifo", "pointer_t'(3) <<", "pointer_t'(2) <<", 40, 2),
    Bug("stream_cdc_fifo", {}, "stream_cdc_fifo", "return binary ^ (binary >> 1)", "return binary", 40, 2),
]


class TestStreams(Proofs):
    cases = (*CASES, *map(soak, LARGER))
    bugs = BUGS
