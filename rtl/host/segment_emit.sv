// SPDX-License-Identifier: Apache-2.0
// Second half of `segment`: puts each segment's headers before its data: those of the frame that was cut, with lengths,
// identification, sequence number, flags and checksums of its own. Other frames pass.
// Latency: 2 cycles; of a segment 6 more, unless another one goes out meanwhile. Throughput: a beat a cycle.
// Backpressure: m_axis may stall for any time.
module segment_emit
  import offload_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned QUEUES = 16,
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned LANE_W = $clog2(BYTES),
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned HEAD_W = $clog2(SERIES_BYTES / BYTES)
) (
    input  logic                       clk,
    input  logic                       rst,

    input  logic                       series_valid,
    input  series_t                    series,
    output logic                       series_ready,  // its last segment is read
    output logic                       series_done,   // its headers are needed no more
    input  logic                       segment_valid,
    output logic                       segment_ready,
    input  segment_t                   segment,
    output logic [SERIES_W+HEAD_W-1:0] header_at,
    input  logic [DATA_W-1:0]          header,        // in the same cycle

    input  logic                       s_valid,
    output logic                       s_ready,
    input  part_t                      s_part,
    input  logic                       s_last,
    input  logic [LANE_W:0]            s_lanes,
    input  logic [QUEUE_W-1:0]         s_queue,
    input  logic [DATA_W-1:0]          s_data,

    output logic                       m_axis_tvalid,
    input  logic                       m_axis_tready,
    output logic [DATA_W-1:0]          m_axis_tdata,
    output logic [BYTES-1:0]           m_axis_tkeep,
    output logic                       m_axis_tlast,
    output logic [QUEUE_W-1:0]         m_axis_queue,
    output logic                       gone,          // all of a frame that came, or it is dropped; in their order
    output logic                       idle
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "segment_emit: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned WORDS = BYTES / 2;
  localparam logic [15:0] CWR = 16'h0080, PSH_FIN = 16'h0009;

  // What a segment's headers become
  typedef struct packed {
    logic                last;
    logic                v6;
    logic [SERIES_W-1:0] slot;
    logic [6:0]          ip;
    logic [6:0]          l4;
    logic [6:0]          bytes;
    logic [15:0]         ip_bytes;   // as IP's header has it
    logic [15:0]         id;
    logic [15:0]         ip_check;
    logic [31:0]         sequence_number;
    logic [15:0]         flags;
    logic [15:0]         l4_check;
  } plan_t;

  // ----------------------------------------------------------------------------------------- the next segment's plan
  logic [3:0] step_q;
  logic begin_q;                     // the next segment is the first one of its series
  logic [SERIES_W-1:0] slot_q;
  logic [15:0] id_q, l4_bytes_q, data_sum_q;
  logic [31:0] sequence_q;
  logic [23:0] ip_sum_q, l4_sum_q;
  logic [16:0] data_folded;
  plan_t plan_q, plan;
  logic plan_ready, plan_valid, plan_pop, plans_idle, looks;
  wire [15:0] id = begin_q ? series.id : id_q;
  wire [31:0] sequence_number = begin_q ? series.sequence_number : sequence_q;
  wire [15:0] headers = 16'(series.bytes) - 16'(series.ip) - (series.v6 ? 16'd40 : 16'd0);
  assign looks         = step_q == '0 && segment_valid && series_valid;
  assign segment_ready = looks;
  assign series_ready  = looks && segment.last;
  assign data_folded   = 17'(segment.sum[15:0]) + 17'(segment.sum[31:16]);

  function automatic logic [23:0] folded(logic [23:0] sum);
    return 24'(sum[15:0]) + 24'(sum[23:16]);
  endfunction

  always_ff @(posedge clk) begin
    step_q <= step_q[3] && !plan_ready ? step_q : {step_q[2:0], looks};
    if (looks) begin
      begin_q    <= segment.last;
      id_q       <= id + 1'b1;
      sequence_q <= sequence_number + 32'(segment.bytes);
      slot_q     <= slot_q + SERIES_W'(segment.last);
      plan_q <= '{last: segment.last, v6: series.v6, slot: slot_q, ip: series.ip, l4: series.l4, bytes: series.bytes,
                  ip_bytes: headers + segment.bytes, id: id, ip_check: '0, sequence_number: sequence_number,
                  flags: series.flags & ~(segment.last ? 16'd0 : PSH_FIN) & ~(begin_q ? 16'd0 : CWR), l4_check: '0};
      l4_bytes_q <= 16'(series.bytes) - 16'(series.l4) + segment.bytes;
      data_sum_q <= data_folded[15:0] + 16'(data_folded[16]);
      ip_sum_q   <= series.ip_sum;
      l4_sum_q   <= series.l4_sum;
    end
    if (step_q[0]) begin
      ip_sum_q <= ip_sum_q + 24'(plan_q.ip_bytes) + 24'(plan_q.id);
      l4_sum_q <= (l4_sum_q + 24'(plan_q.sequence_number[31:16]) + 24'(plan_q.sequence_number[15:0])) +
                  (24'(plan_q.flags) + 24'(l4_bytes_q) + 24'(data_sum_q) + 24'(TCP));
    end
    if (step_q[1] || step_q[2]) begin
      ip_sum_q <= folded(ip_sum_q);
      l4_sum_q <= folded(l4_sum_q);
    end
    if (rst) begin
      step_q  <= '0;
      begin_q <= 1'b1;
      slot_q  <= '0;
    end
  end

  plan_t planned;
  always_comb begin
    planned          = plan_q;
    planned.ip_check = ~ip_sum_q[15:0];
    planned.l4_check = ~l4_sum_q[15:0];
  end

  stream_queue #(
      .WIDTH($bits(plan_t)),
      .DEPTH(2)
  ) u_plans (
      .clk,
      .rst,
      .s_valid(step_q[3]),
      .s_ready(plan_ready),
      .s_data (planned),
      .m_valid(plan_valid),
      .m_ready(plan_pop),
      .m_data (plan),
      .idle   (plans_idle)
  );

  // -------------------------------------------------------------------------------- headers, and data or a whole frame
  logic [HEAD_W:0] beat_q;           // of the segment's; behind its headers it stays
  logic valid_1, none_1, last_1, final_1, final_2, dropped_q;
  logic [HEAD_W-1:0] beat_1;
  logic [LANE_W:0] lanes_1, below_1;
  logic [QUEUE_W-1:0] queue_1;
  logic [DATA_W-1:0] data_1, header_1;
  plan_t plan_1;
  wire go = !m_axis_tvalid || m_axis_tready;
  wire cut = s_part == PART_SEGMENT;
  wire [HEAD_W:0] full_beats = (HEAD_W + 1)'(plan.bytes[6:LANE_W]);
  wire only_header = cut && beat_q < full_beats;
  wire first = cut && beat_q == full_beats;
  wire there = s_valid && (!cut || plan_valid);

  assign s_ready     = go && there && !only_header;
  assign plan_pop    = s_ready && cut && s_last;
  assign series_done = plan_pop && plan.last;
  assign header_at   = {plan.slot, beat_q[HEAD_W-1:0]};

  always_ff @(posedge clk) begin
    if (go) begin
      valid_1 <= there && s_part != PART_NONE;
      none_1  <= there && s_part == PART_NONE;
      if (there) begin
        last_1  <= s_last && !only_header;
        final_1 <= !cut || plan.last;
        beat_1  <= beat_q[HEAD_W-1:0];
        lanes_1 <= only_header ? (LANE_W + 1)'(BYTES) : s_lanes;
        below_1 <= only_header ? (LANE_W + 1)'(BYTES) : first ? (LANE_W + 1)'(plan.bytes[LANE_W-1:0]) : '0;
        queue_1 <= s_queue;
        data_1  <= s_data;
      end
      if (there && cut) begin
        header_1 <= header;
        plan_1   <= plan;
      end
      if (there && cut) beat_q <= plan_pop ? '0 : beat_q + (HEAD_W + 1)'(beat_q <= full_beats);
    end
    if (rst) begin
      valid_1 <= 1'b0;
      none_1  <= 1'b0;
      beat_q  <= '0;
    end
  end

  // Words of the headers that differ from the frame's, and which word of the beat each is, if it is in it
  localparam int unsigned PATCHES = 7;
  function automatic logic [DATA_W-1:0] patched(logic [DATA_W-1:0] beat);
    logic [PATCHES-1:0][15:0] patches;
    logic [PATCHES-1:0][6:0] places;
    logic [PATCHES-1:0][WORDS-1:0] here;
    patches = {plan_1.ip_bytes, plan_1.id, plan_1.ip_check, plan_1.sequence_number, plan_1.flags, plan_1.l4_check};
    places = {plan_1.ip + (plan_1.v6 ? 7'd4 : 7'd2), plan_1.ip + 7'd4, plan_1.ip + 7'd10, plan_1.l4 + 7'd4,
              plan_1.l4 + 7'd6, plan_1.l4 + 7'd12, plan_1.l4 + 7'd16};
    for (int unsigned i = 0; i < PATCHES; i++) begin
      here[i] = WORDS'(places[i][6:LANE_W] == beat_1) << places[i][LANE_W-1:1];
    end
    if (plan_1.v6) here[5:4] = '0;
    patched = beat;
    for (int unsigned i = 0; i < WORDS; i++) begin
      for (int unsigned j = 0; j < PATCHES; j++) begin
        if (here[j][i]) patched[16*i+:16] = {patches[j][7:0], patches[j][15:8]};
      end
    end
  endfunction

  always_ff @(posedge clk) begin
    dropped_q <= go && none_1;
    if (go) m_axis_tvalid <= valid_1;
    if (go && valid_1) begin
      m_axis_tlast <= last_1;
      m_axis_queue <= queue_1;
      m_axis_tkeep <= ~({BYTES{1'b1}} << lanes_1);
      m_axis_tdata <= data_1;
      final_2      <= final_1;
      if (below_1 != '0) begin
        automatic logic [DATA_W-1:0] beyond = {DATA_W{1'b1}} << {below_1, 3'b000};
        m_axis_tdata <= (patched(header_1) & ~beyond) | (data_1 & beyond);
      end
    end
    if (rst) begin
      m_axis_tvalid <= 1'b0;
      dropped_q     <= 1'b0;
    end
  end

  assign gone = dropped_q || (m_axis_tvalid && m_axis_tready && m_axis_tlast && final_2);
  assign idle = step_q == '0 && plans_idle && !valid_1 && !none_1 && !m_axis_tvalid && !dropped_q;

endmodule
