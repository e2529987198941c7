// SPDX-License-Identifier: Apache-2.0
// Sends frames that wait in LANES streams when their time has come; of those whose time has come the earliest first.
// While `hold` is high, since a frame that is there may yet come before the heads, none is chosen.
// Latency: 3 cycles from a frame's time, or its first beat, to the output, and what a stream takes from s_chosen to its
// first beat. Throughput: 1 beat a cycle, and a cycle between frames. Backpressure: a stream waits for its turn.
module link_release
  import headrace_pkg::tx_meta_t;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned LANES = 3,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic [63:0]                  time_ns,
    input  logic [7:0]                   port,           // goes beside each frame
    input  logic                         hold,
    input  logic [LANES-1:0]             s_head_valid,   // a whole frame waits
    input  logic [LANES-1:0][63:0]       s_leave_ns,     // its time
    output logic [LANES-1:0]             s_chosen,       // it goes out: until its last beat
    input  logic [LANES-1:0]             s_axis_tvalid,
    output logic [LANES-1:0]             s_axis_tready,
    input  logic [LANES-1:0][DATA_W-1:0] s_axis_tdata,
    input  logic [LANES-1:0][KEEP_W-1:0] s_axis_tkeep,
    input  logic [LANES-1:0]             s_axis_tlast,
    output logic                         tx_tvalid,
    input  logic                         tx_tready,
    output logic [DATA_W-1:0]            tx_tdata,
    output logic [KEEP_W-1:0]            tx_tkeep,
    output logic                         tx_tlast,
    output tx_meta_t                     tx_tuser,       // timestamp_ns: of the cycle in which the frame was chosen
    output logic                         sent,           // a frame's last beat goes to the output
    output logic [$clog2(KEEP_W):0]      sent_bytes,     // of a beat that goes to the output
    output logic                         still,          // nothing moves before wake_ns
    output logic [63:0]                  wake_ns
);

  if (LANES < 1 || LANES > 16) begin : gen_bad_lanes
    $fatal(1, "link_release: LANES must be 1 to 16, not %0d", LANES);
  end

  localparam int unsigned LANE_W = LANES > 1 ? $clog2(LANES) : 1;
  typedef logic [LANE_W-1:0] lane_t;

  logic busy_q, out_ready, out_idle, any;
  lane_t lane_q, lane;
  logic [63:0] now_q, earliest;
  tx_meta_t user, out_user;
  wire valid = busy_q && s_axis_tvalid[lane_q];
  wire give = valid && out_ready;

  // The earliest of all is chosen: if any is due, it is.
  always_comb begin
    any      = 1'b0;
    lane     = '0;
    earliest = '1;
    for (int unsigned i = 0; i < LANES; i++) begin
      if (s_head_valid[i] && (!any || s_leave_ns[i] < earliest)) begin
        any      = 1'b1;
        lane     = lane_t'(i);
        earliest = s_leave_ns[i];
      end
    end
    s_chosen      = '0;
    s_axis_tready = '0;
    if (busy_q) s_chosen[lane_q] = 1'b1;
    if (busy_q) s_axis_tready[lane_q] = out_ready;
    user              = '0;
    user.port         = port;
    user.timestamp_ns = now_q;
  end
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(give ? s_axis_tkeep[lane_q] : '0), .bytes(sent_bytes));
  wire due = any && earliest <= time_ns;

  assign sent    = give && s_axis_tlast[lane_q];
  assign still   = !busy_q && !due && out_idle;
  assign wake_ns = earliest;

  always_ff @(posedge clk) begin
    if (!busy_q) begin
      busy_q <= due && !hold;
      lane_q <= lane;
      now_q  <= time_ns;
    end else if (sent) begin
      busy_q <= 1'b0;
    end
    if (rst) busy_q <= 1'b0;
  end

  stream_reg #(
      .WIDTH($bits(tx_meta_t) + DATA_W + KEEP_W + 1)
  ) u_out (
      .clk,
      .rst,
      .s_valid(valid),
      .s_ready(out_ready),
      .s_data ({user, s_axis_tlast[lane_q], s_axis_tkeep[lane_q], s_axis_tdata[lane_q]}),
      .m_valid(tx_tvalid),
      .m_ready(tx_tready),
      .m_data ({out_user, tx_tlast, tx_tkeep, tx_tdata}),
      .idle   (out_idle)
  );
  assign tx_tuser = out_user;

endmodule
