// SPDX-License-Identifier: Apache-2.0
// Between a MAC and a card, or between two MACs, on clocks that are nominally equal or not: whole frames only. A frame
// comes out when it is in, so that it never runs dry; the gaps between frames take up what the clocks differ.
// With DROP_WHEN_FULL the input is a MAC that can't wait: s_axis_tready is always high, and a frame that finds no room
// is dropped whole. s_dropped or m_dropped is then high for a cycle of its clock; every lost frame is counted by one of
// them. Without it the input waits, and only frames of more than DEPTH beats are dropped.
// A reset on a live link leaves out the rest of the frame that it falls into: what comes out begins with a frame's
// first beat.
// Latency: that of stream_cdc_fifo and packet_fifo. Throughput: 1 beat a cycle of the slower clock. At a full rate of
// beats the crossing takes frames of up to CROSSING / 2 / difference of the clocks: at 200 ppm of 40,000 beats.
// Resets: both high together, as stream_cdc_fifo says.
module stream_elastic #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned USER_W = 1,
    parameter int unsigned DEPTH = 256,     // beats of the store in m_clk
    parameter int unsigned CROSSING = 16,   // beats of the FIFO between the clocks
    parameter bit          DROP_WHEN_FULL = 1'b1,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              s_clk,
    input  logic              s_rst,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic [USER_W-1:0] s_axis_tuser,
    output logic              s_dropped,

    input  logic              m_clk,
    input  logic              m_rst,
    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,
    output logic [USER_W-1:0] m_axis_tuser,
    output logic              m_dropped,
    output logic              m_idle        // nothing has come over and nothing is left of it
);

  if (DATA_W < 8 || DATA_W % 8 != 0) begin : gen_bad_data_w
    $fatal(1, "stream_elastic: DATA_W must be a multiple of 8, not %0d", DATA_W);
  end
  if (USER_W < 1) begin : gen_bad_user_w
    $fatal(1, "stream_elastic: USER_W must be at least 1, not %0d", USER_W);
  end
  if (DEPTH < 4 || DEPTH > 2 ** 20 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "stream_elastic: DEPTH must be a power of two from 4 to 1048576, not %0d", DEPTH);
  end
  if (CROSSING < 16 || CROSSING > 1024 || 2 ** $clog2(CROSSING) != CROSSING) begin : gen_bad_crossing
    $fatal(1, "stream_elastic: CROSSING must be a power of two from 16 to 1024, not %0d", CROSSING);
  end

  typedef struct packed {
    logic              bad;   // the frame is to be dropped; counts with its last beat
    logic              last;
    logic [USER_W-1:0] user;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  // ------------------------------------------------------------------------------------------------------------- s_clk
  // Amid a frame: what a MAC sends is followed in reset too, which the link knows nothing of. It begins as configured.
  // verilator lint_off PROCASSINIT
  logic inside_q = 1'b0;
  // verilator lint_on PROCASSINIT
  logic skip_q;   // the rest of this frame is left out
  logic abort_q;  // a part of it is over: an end that drops it is owed
  logic cross_valid, cross_ready, skip, taken, no_room;
  beat_t cross_s, cross_m;

  assign s_axis_tready = DROP_WHEN_FULL || skip || cross_ready;
  assign taken         = s_axis_tvalid && s_axis_tready;
  assign skip          = abort_q || (inside_q && skip_q);
  assign cross_valid   = abort_q || (s_axis_tvalid && !skip);
  assign no_room       = taken && !skip && !cross_ready;
  assign cross_s       = '{
          bad: abort_q,
          last: abort_q || s_axis_tlast,
          user: s_axis_tuser,
          keep: s_axis_tkeep,
          data: s_axis_tdata
      };

  always_ff @(posedge s_clk) begin
    if (taken) begin
      inside_q <= !s_axis_tlast;
      skip_q   <= skip || no_room;
    end
    if (cross_ready) abort_q <= 1'b0;
    if (no_room && inside_q) abort_q <= 1'b1;
    s_dropped <= taken && !inside_q && (abort_q || no_room);
    if (s_rst) begin
      skip_q    <= 1'b1;
      abort_q   <= 1'b0;
      s_dropped <= 1'b0;
      if (!DROP_WHEN_FULL) inside_q <= 1'b0;  // an input that waits is reset with this part
    end
  end

  // ------------------------------------------------------------------------------------------------------------- m_clk
  logic over_valid, over_ready, cross_idle, store_idle;
  stream_cdc_fifo #(
      .WIDTH($bits(beat_t)),
      .DEPTH(CROSSING)
  ) u_crossing (
      .s_clk,
      .s_rst,
      .s_valid(cross_valid),
      .s_ready(cross_ready),
      .s_data (cross_s),
      .m_clk,
      .m_rst,
      .m_valid(over_valid),
      .m_ready(over_ready),
      .m_data (cross_m),
      .s_idle (),
      .m_idle (cross_idle)
  );

  packet_fifo #(
      .DATA_W(DATA_W),
      .USER_W(USER_W),
      .DEPTH(DEPTH),
      .DROP_WHEN_FULL(DROP_WHEN_FULL)
  ) u_store (
      .clk          (m_clk),
      .rst          (m_rst),
      .s_axis_tvalid(over_valid),
      .s_axis_tready(over_ready),
      .s_axis_tdata (cross_m.data),
      .s_axis_tkeep (cross_m.keep),
      .s_axis_tlast (cross_m.last),
      .s_axis_tuser (cross_m.user),
      .s_drop       (cross_m.bad),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .used         (),
      .dropped      (m_dropped),
      .idle         (store_idle)
  );

  assign m_idle = cross_idle && store_idle;

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk   (s_clk),
      .rst   (s_rst),
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );
`endif

endmodule
