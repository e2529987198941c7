// SPDX-License-Identifier: Apache-2.0
// What comes to one unit: of the heads that have a packet for it one at a time, in turn, whole packets, through a short
// queue. While `flush` is high the queue is emptied and what comes is thrown away; a packet whose slot is of before the
// last flush is thrown away too.
// Latency: 1 cycle. Throughput: 1 beat a cycle, with no gap between packets.
// Backpressure: from a register of the queue and the choice of the head to s_ready.
module rpu_unit_feed #(
    parameter int unsigned HEADS = 5,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned USER_W = 16,
    parameter int unsigned DEPTH = 32,   // beats of the queue
    parameter logic [7:0] COUNTED = '1,  // heads whose packets `discarded` tells of
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic                         flush,
    input  logic [HEADS-1:0]             s_request,  // the packet is for this unit
    input  logic [HEADS-1:0]             s_stale,    // its slot is no more
    input  logic [HEADS-1:0]             s_valid,
    output logic [HEADS-1:0]             s_ready,
    input  logic [HEADS-1:0][DATA_W-1:0] s_data,
    input  logic [HEADS-1:0][KEEP_W-1:0] s_keep,
    input  logic [HEADS-1:0]             s_last,
    input  logic [HEADS-1:0][USER_W-1:0] s_user,
    output logic                         m_axis_tvalid,
    input  logic                         m_axis_tready,
    output logic [DATA_W-1:0]            m_axis_tdata,
    output logic [KEEP_W-1:0]            m_axis_tkeep,
    output logic                         m_axis_tlast,
    output logic [USER_W-1:0]            m_axis_tuser,
    output logic                         discarded,  // a packet has been thrown away
    output logic                         idle
);

  if (HEADS < 1 || HEADS > 8) begin : gen_bad_heads
    $fatal(1, "rpu_unit_feed: HEADS must be 1 to 8, not %0d", HEADS);
  end
  if (DATA_W < 8 || DATA_W % 8 != 0) begin : gen_bad_data_w
    $fatal(1, "rpu_unit_feed: DATA_W must be a multiple of 8, not %0d", DATA_W);
  end
  if (USER_W < 1) begin : gen_bad_user_w
    $fatal(1, "rpu_unit_feed: USER_W must be at least 1, not %0d", USER_W);
  end
  if (DEPTH < 2 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "rpu_unit_feed: DEPTH must be a power of two from 2, not %0d", DEPTH);
  end

  localparam int unsigned HEAD_W = HEADS > 1 ? $clog2(HEADS) : 1;
  typedef struct packed {
    logic              last;
    logic [USER_W-1:0] user;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  // The head of the packet that is coming in; between packets, the one that had its turn last.
  logic begun_q, discarded_q, queue_ready, queue_valid, queue_idle;
  logic [HEAD_W-1:0] chosen_q, chosen;
  wire [HEADS-1:0] ask = s_request & s_valid;

  always_comb begin
    chosen = chosen_q;
    if (!begun_q) begin
      for (int i = int'(HEADS) - 1; i >= 0; i--) if (ask[i]) chosen = HEAD_W'(i);
      for (int i = int'(HEADS) - 1; i >= 0; i--) if (ask[i] && HEAD_W'(i) > chosen_q) chosen = HEAD_W'(i);
    end
  end

  wire [HEADS-1:0] counted = HEADS'(COUNTED);
  wire offered = ask[chosen];
  wire throw = flush || s_stale[chosen];
  wire taken = offered && (queue_ready || throw);
  beat_t queued, out;

  assign s_ready = HEADS'(queue_ready || throw) << chosen;

  always_ff @(posedge clk) begin
    if (taken) begin
      begun_q  <= !s_last[chosen];
      chosen_q <= chosen;
    end
    discarded_q <= taken && throw && s_last[chosen] && counted[chosen];
    if (rst) begin
      begun_q     <= 1'b0;
      chosen_q    <= '0;
      discarded_q <= 1'b0;
    end
  end

  stream_queue #(
      .WIDTH($bits(beat_t)),
      .DEPTH(DEPTH)
  ) u_queue (
      .clk,
      .rst    (rst || flush),
      .s_valid(offered && !throw),
      .s_ready(queue_ready),
      .s_data ({s_last[chosen], s_user[chosen], s_keep[chosen], s_data[chosen]}),
      .m_valid(queue_valid),
      .m_ready(m_axis_tready),
      .m_data (queued),
      .idle   (queue_idle)
  );

  always_comb begin
    out = 'x;  // so that a simulator looks only at beats that are there
    if (queue_valid) out = queued;
  end
  assign m_axis_tvalid = queue_valid && !flush;
  assign m_axis_tdata  = out.data;
  assign m_axis_tkeep  = out.keep;
  assign m_axis_tlast  = out.last;
  assign m_axis_tuser  = out.user;
  assign discarded     = discarded_q;
  assign idle          = queue_idle && !begun_q;

endmodule
