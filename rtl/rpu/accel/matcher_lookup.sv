// SPDX-License-Identifier: Apache-2.0
// Of each row's candidates, one after the other: which patterns are to be compared? Those of the bucket of the bytes
// before and at the candidate; most of what passed the filter by chance has none. A job's end goes along.
// Latency: 5 cycles. Throughput: 1 candidate, or a row without any, a cycle. Backpressure: m_ready stops it whole.
module matcher_lookup
  import matcher_pkg::*;
#(
    parameter int unsigned ROWS = 4096,
    localparam int unsigned ROW_W = $clog2(ROWS),
    localparam int unsigned COUNT_W = $clog2(ROWS + 1)
) (
    input  logic               clk,
    input  logic               rst,
    input  load_t              load,

    input  logic               row_valid,
    input  logic [RING_W-1:0]  row_ring,
    input  logic [8*LANES-1:0] row_data,

    input  logic               s_valid,
    output logic               s_ready,
    input  candidates_t        s,

    output logic               m_valid,
    input  logic               m_ready,
    output logic               m_end,       // of a job; otherwise compare:
    output logic [1:0]         m_kind,
    output logic [ROW_W-1:0]   m_row,       // the first row of patterns
    output logic [COUNT_W-1:0] m_count,     // and their number
    output logic [RING_W+3:0]  m_last,      // with the bytes that end here
    output logic [15:0]        m_position,
    output logic [7:0]         m_tag,
    output logic               idle
);

  if (ROWS < 64 || ROWS > 4096 || 2 ** $clog2(ROWS) != ROWS) begin : gen_bad_rows
    $fatal(1, "matcher_lookup: ROWS must be a power of two from 64 to 4096, not %0d", ROWS);
  end

  typedef struct packed {
    logic              ends;
    logic [1:0]        kind;
    logic [RING_W+3:0] last;
    logic [15:0]       position;
    logic [7:0]        tag;
  } item_t;

  // The row in work: its first byte with a candidate, of that the lowest kind
  logic valid_q;
  candidates_t row_q;
  logic [3:0] lane;
  logic [1:0] kind;
  logic any, more, advance;
  kinds_t [LANES-1:0] after;

  always_comb begin
    any  = 1'b0;
    lane = '0;
    for (int i = LANES - 1; i >= 0; i--) begin
      if (row_q.kinds[i] != '0) begin
        any  = 1'b1;
        lane = 4'(i);
      end
    end
    kind = 2'd3;
    for (int i = 2; i >= 0; i--) if (row_q.kinds[lane][i]) kind = 2'(i);
    after             = row_q.kinds;
    after[lane][kind] = 1'b0;
    more              = any && (after != '0 || row_q.last);
  end

  // a: candidate; b, c: the bytes there; d: the bucket
  logic a_valid_q, b_valid_q, c_valid_q, d_valid_q;
  item_t a_q, b_q, c_q, d_q;
  logic [63:0] window;
  logic [31:0] key, mask;
  logic [ROW_W-1:0] found_row;
  logic [COUNT_W-1:0] found_count;

  assign advance = m_ready || !m_valid;
  assign s_ready = advance && (!valid_q || !more);

  always_ff @(posedge clk) begin
    if (advance) begin
      a_valid_q    <= valid_q && (any || row_q.last);
      a_q.ends     <= !any;
      a_q.kind     <= kind;
      a_q.last     <= {row_q.ring, lane};
      a_q.position <= {row_q.number, 4'd0} + (any ? 16'(lane) + 16'd1 : 16'(row_q.bytes));
      a_q.tag      <= row_q.tag;
      b_valid_q    <= a_valid_q;
      b_q          <= a_q;
      c_valid_q    <= b_valid_q;
      c_q          <= b_q;
      d_valid_q    <= c_valid_q;
      d_q          <= c_q;
      row_q.kinds  <= after;
      if (s_ready) begin
        valid_q <= s_valid;
        row_q   <= s;
      end
    end
    if (rst) begin
      valid_q   <= 1'b0;
      a_valid_q <= 1'b0;
      b_valid_q <= 1'b0;
      c_valid_q <= 1'b0;
      d_valid_q <= 1'b0;
    end
  end

  matcher_window u_window (
      .clk,
      .wr_en  (row_valid),
      .wr_row (row_ring),
      .wr_data(row_data),
      .advance,
      .rd_last(a_q.last),
      .window
  );

  always_comb begin
    mask = 32'hFFFF_FFFF >> 8 * (5'd3 - 5'(c_q.kind));
    key  = {fold(window[39:32]), fold(window[47:40]), fold(window[55:48]), fold(window[63:56])} & mask;
  end

  ram_sdp #(
      .WIDTH(COUNT_W + ROW_W),
      .DEPTH(BUCKETS)
  ) u_buckets (
      .clk,
      .wr_en  (load.valid && load.index[21:11] == 11'd1),
      .wr_addr(load.index[10:0]),
      .wr_data({load.data[16+:COUNT_W], load.data[ROW_W-1:0]}),
      .rd_en  (advance),
      .rd_addr(bucket(key, c_q.kind)),
      .rd_data({found_count, found_row})
  );

  assign m_valid    = d_valid_q && (d_q.ends || found_count != '0);
  assign m_end      = d_q.ends;
  assign m_kind     = d_q.kind;
  assign m_row      = found_row;
  assign m_count    = found_count;
  assign m_last     = d_q.last;
  assign m_position = d_q.position;
  assign m_tag      = d_q.tag;
  assign idle       = !valid_q && !a_valid_q && !b_valid_q && !c_valid_q && !d_valid_q;

endmodule
