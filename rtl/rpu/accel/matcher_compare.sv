// SPDX-License-Identifier: Apache-2.0
// Compares the patterns of a bucket with the bytes of a job, exactly, 8 bytes a cycle, and reports those that are equal
// and the job's end, in order.
// Latency: 6 cycles from a bucket to its first row's match. Throughput: 1 row of patterns a cycle.
// Backpressure: it starts no row while `room` is low; up to 5 matches come after that.
module matcher_compare
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
    input  logic               s_end,
    input  logic [1:0]         s_kind,
    input  logic [ROW_W-1:0]   s_row,
    input  logic [COUNT_W-1:0] s_count,
    input  logic [RING_W+3:0]  s_last,
    input  logic [15:0]        s_position,
    input  logic [7:0]         s_tag,

    input  logic               room,
    output logic               match_valid,  // taken at once
    output match_t             match,
    output logic               idle
);

  if (ROWS < 64 || ROWS > 4096 || 2 ** $clog2(ROWS) != ROWS) begin : gen_bad_rows
    $fatal(1, "matcher_compare: ROWS must be a power of two from 64 to 4096, not %0d", ROWS);
  end

  typedef struct packed {
    logic              ends;
    logic [1:0]        kind;
    logic [RING_W+3:0] last;
    logic [15:0]       position;
    logic [7:0]        tag;
  } item_t;

  // a: the row of patterns is there; b, c: the bytes; d: compared
  logic a_valid_q, b_valid_q, c_valid_q, d_valid_q, d_equal_q, same_q;
  item_t a_q, b_q, c_q, d_q;
  control_t control, b_control_q, c_control_q, d_control_q;
  logic [63:0] pattern, b_pattern_q, c_pattern_q, window;
  logic [COUNT_W-1:0] step_q;
  wire start = s_valid && room;
  wire done = s_end || step_q == s_count - 1'b1;
  wire load_row = load.valid && load.index[21:14] == 8'd1;
  wire [ROW_W-1:0] load_place = load.index[ROW_W+1:2];
  wire [ROW_W-1:0] place = s_row + ROW_W'(step_q);

  assign s_ready = room && done;

  ram_sdp #(
      .WIDTH(32),
      .DEPTH(ROWS)
  ) u_lower (
      .clk,
      .wr_en  (load_row && load.index[1:0] == 2'd0),
      .wr_addr(load_place),
      .wr_data(load.data),
      .rd_en  (1'b1),
      .rd_addr(place),
      .rd_data(pattern[31:0])
  );

  ram_sdp #(
      .WIDTH(32),
      .DEPTH(ROWS)
  ) u_upper (
      .clk,
      .wr_en  (load_row && load.index[1:0] == 2'd1),
      .wr_addr(load_place),
      .wr_data(load.data),
      .rd_en  (1'b1),
      .rd_addr(place),
      .rd_data(pattern[63:32])
  );

  ram_sdp #(
      .WIDTH($bits(control_t)),
      .DEPTH(ROWS)
  ) u_control (
      .clk,
      .wr_en  (load_row && load.index[1:0] == 2'd2),
      .wr_addr(load_place),
      .wr_data(load.data[$bits(control_t)-1:0]),
      .rd_en  (1'b1),
      .rd_addr(place),
      .rd_data(control)
  );

  matcher_window u_window (
      .clk,
      .wr_en  (row_valid),
      .wr_row (row_ring),
      .wr_data(row_data),
      .advance(1'b1),
      .rd_last(a_q.last - (RING_W + 4)'({control.step, 3'd0})),
      .window
  );

  // Equal in the bytes that the row has, which the job must have too
  logic [7:0] differs;
  logic equal, same;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) begin
      differs[i] = c_pattern_q[8*i+:8] != (c_control_q.nocase ? fold(window[8*i+:8]) : window[8*i+:8]);
    end
    equal = (differs & (8'hFF << (4'd8 - c_control_q.bytes))) == '0 && c_control_q.kind == c_q.kind &&
            c_q.position >= 16'({c_control_q.step, 3'd0}) + 16'(c_control_q.bytes);
    same = d_equal_q && (d_control_q.step == '0 || same_q);
  end

  always_ff @(posedge clk) begin
    if (start) step_q <= done ? '0 : step_q + 1'b1;
    a_valid_q   <= start;
    a_q         <= '{ends: s_end, kind: s_kind, last: s_last, position: s_position, tag: s_tag};
    b_valid_q   <= a_valid_q;
    b_q         <= a_q;
    b_control_q <= control;
    b_pattern_q <= pattern;
    c_valid_q   <= b_valid_q;
    c_q         <= b_q;
    c_control_q <= b_control_q;
    c_pattern_q <= b_pattern_q;
    d_valid_q   <= c_valid_q;
    d_q         <= c_q;
    d_control_q <= c_control_q;
    d_equal_q   <= equal;
    if (d_valid_q) same_q <= same;
    match_valid <= d_valid_q && (d_q.ends || (d_control_q.last && same));
    match       <= '{tag: d_q.tag, position: d_q.position, id: d_q.ends ? '0 : d_control_q.id};
    if (rst) begin
      step_q      <= '0;
      a_valid_q   <= 1'b0;
      b_valid_q   <= 1'b0;
      c_valid_q   <= 1'b0;
      d_valid_q   <= 1'b0;
      match_valid <= 1'b0;
    end
  end
  assign idle = !a_valid_q && !b_valid_q && !c_valid_q && !d_valid_q && !match_valid;

endmodule
