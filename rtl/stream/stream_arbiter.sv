// SPDX-License-Identifier: Apache-2.0
// Merges INPUTS packet streams into one, whole frames at a time.
// With ROUND_ROBIN the input after the one served last goes first: a waiting input lets each other one pass at most
// once. Without, the lowest input with a frame goes first, and a higher one may starve.
// Latency: 1 cycle. Throughput: 1 beat a cycle, with no gap between frames of the same or different inputs.
// Backpressure: no path from m_axis_tready to s_axis_tready; an input is ready only while it is valid and its turn.
module stream_arbiter #(
    parameter int unsigned INPUTS = 4,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned USER_W = 1,
    parameter bit          ROUND_ROBIN = 1'b1,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                          clk,
    input  logic                          rst,
    input  logic [INPUTS-1:0]             s_axis_tvalid,
    output logic [INPUTS-1:0]             s_axis_tready,
    input  logic [INPUTS-1:0][DATA_W-1:0] s_axis_tdata,
    input  logic [INPUTS-1:0][KEEP_W-1:0] s_axis_tkeep,
    input  logic [INPUTS-1:0]             s_axis_tlast,
    input  logic [INPUTS-1:0][USER_W-1:0] s_axis_tuser,
    output logic                          m_axis_tvalid,
    input  logic                          m_axis_tready,
    output logic [DATA_W-1:0]             m_axis_tdata,
    output logic [KEEP_W-1:0]             m_axis_tkeep,
    output logic                          m_axis_tlast,
    output logic [USER_W-1:0]             m_axis_tuser,
    output logic                          idle           // no beat inside, and of several inputs none amid a frame
);

  if (INPUTS < 1) begin : gen_bad_inputs
    $fatal(1, "stream_arbiter: INPUTS must be at least 1, not %0d", INPUTS);
  end
  if (DATA_W < 8 || DATA_W % 8 != 0) begin : gen_bad_data_w
    $fatal(1, "stream_arbiter: DATA_W must be a multiple of 8, not %0d", DATA_W);
  end
  if (USER_W < 1) begin : gen_bad_user_w
    $fatal(1, "stream_arbiter: USER_W must be at least 1, not %0d", USER_W);
  end

  typedef struct packed {
    logic              last;
    logic [USER_W-1:0] user;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  // Who may be served is prepared in registers, so that the way from tvalid to the data is short. Between frames may_q
  // is all ones; within one it has only the input of the frame, and that one yields to none.
  logic [INPUTS-1:0] may_q;
  logic [INPUTS-1:0][INPUTS-1:0] yields_q, yields_d;  // [i][j]: input i waits while j has a beat
  logic [INPUTS-1:0] grant;                           // one input at most, with a beat
  logic s_valid, s_ready;
  beat_t s_beat, m_beat;

  always_comb begin
    for (int unsigned i = 0; i < INPUTS; i++) begin
      grant[i] = s_axis_tvalid[i] && may_q[i] && (s_axis_tvalid & yields_q[i]) == '0;
    end
  end

  always_comb begin
    s_beat = 'x;  // nobody looks then
    if (s_valid) begin
      s_beat = '0;
      for (int unsigned i = 0; i < INPUTS; i++) begin
        if (grant[i]) s_beat |= {s_axis_tlast[i], s_axis_tuser[i], s_axis_tkeep[i], s_axis_tdata[i]};
      end
    end
  end

  assign s_valid       = |(s_axis_tvalid & may_q);
  assign s_axis_tready = grant & {INPUTS{s_ready}};

  // The order for the next frame: those behind the input that is served now, then those up to it.
  for (genvar i = 0; i < INPUTS; i++) begin : gen_order
    for (genvar j = 0; j < INPUTS; j++) begin : gen_pair
      if (i == j) begin : gen_same
        assign yields_d[i][j] = 1'b0;
      end else if (!ROUND_ROBIN) begin : gen_fixed
        assign yields_d[i][j] = j < i;
      end else if (j < i) begin : gen_lower
        assign yields_d[i][j] = !(|grant[i-1:j]);
      end else begin : gen_higher
        assign yields_d[i][j] = |grant[j-1:i];
      end
    end
  end

  always_ff @(posedge clk) begin
    if (s_valid && s_ready) begin
      may_q    <= s_beat.last ? '1 : grant;
      yields_q <= s_beat.last ? yields_d : '0;
    end
    if (rst) begin
      may_q <= '1;
      for (int unsigned i = 0; i < INPUTS; i++) yields_q[i] <= ~({INPUTS{1'b1}} << i);
    end
  end

  logic out_idle;
  stream_reg #(
      .WIDTH($bits(beat_t))
  ) u_out (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data(s_beat),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data(m_beat),
      .idle(out_idle)
  );

  assign m_axis_tdata = m_beat.data;
  assign m_axis_tkeep = m_beat.keep;
  assign m_axis_tlast = m_beat.last;
  assign m_axis_tuser = m_beat.user;
  assign idle         = out_idle && may_q == '1;

`ifndef SYNTHESIS
  // As offer_contract, whose input would be put together in each cycle.
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  for (genvar i = 0; i < INPUTS; i++) begin : gen_contract
    beat_t held_q;  // what waits
    logic waits_q;

    always_ff @(posedge clk) begin
      waits_q <= s_axis_tvalid[i] && !s_axis_tready[i] && !rst;
      if ((s_axis_tvalid[i] && !s_axis_tready[i]) || waits_q) begin
        automatic beat_t offered = {s_axis_tlast[i], s_axis_tuser[i], s_axis_tkeep[i], s_axis_tdata[i]};
        if (!waits_q) held_q <= offered;
        else if (checks) begin
          assert (s_axis_tvalid[i] && offered == held_q)
          else $error("%m: what was offered went or changed before it was taken");
        end
      end
    end
  end
`endif

endmodule
