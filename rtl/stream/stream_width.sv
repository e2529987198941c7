// SPDX-License-Identifier: Apache-2.0
// Changes the width of an AXI-Stream by a whole factor, up or down; frames, tkeep and tuser go along.
// A frame of 0 bytes stays one beat. tkeep must be as the conventions say: all ones but in the last beat, no holes.
// Down: narrow beats carry the tuser of their wide beat; those without bytes are left out.
// Up: a wide beat carries the tuser of its last narrow beat; lanes without bytes hold anything.
// Latency: up 2 cycles from the narrow beat that completes a wide one; down 2 cycles; same width 1 cycle.
// Throughput: 1 beat a cycle on the narrow side. Backpressure: no path from m_axis_tready to s_axis_tready.
module stream_width #(
    parameter int unsigned S_DATA_W = 512,
    parameter int unsigned M_DATA_W = 128,
    parameter int unsigned USER_W = 1,
    localparam int unsigned S_KEEP_W = S_DATA_W / 8,
    localparam int unsigned M_KEEP_W = M_DATA_W / 8
) (
    input  logic                clk,
    input  logic                rst,
    input  logic                s_axis_tvalid,
    output logic                s_axis_tready,
    input  logic [S_DATA_W-1:0] s_axis_tdata,
    input  logic [S_KEEP_W-1:0] s_axis_tkeep,
    input  logic                s_axis_tlast,
    input  logic [USER_W-1:0]   s_axis_tuser,
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready,
    output logic [M_DATA_W-1:0] m_axis_tdata,
    output logic [M_KEEP_W-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic [USER_W-1:0]   m_axis_tuser,
    output logic                idle           // no byte inside
);

  localparam int unsigned WIDE_W = S_DATA_W > M_DATA_W ? S_DATA_W : M_DATA_W;
  localparam int unsigned NARROW_W = S_DATA_W > M_DATA_W ? M_DATA_W : S_DATA_W;

  if (NARROW_W < 8 || NARROW_W % 8 != 0 || WIDE_W % NARROW_W != 0) begin : gen_bad_width
    $fatal(1, "stream_width: S_DATA_W and M_DATA_W must be multiples of 8, one of the other, not %0d and %0d", S_DATA_W,
           M_DATA_W);
  end
  if (USER_W < 1) begin : gen_bad_user_w
    $fatal(1, "stream_width: USER_W must be at least 1, not %0d", USER_W);
  end

  localparam int unsigned RATIO = WIDE_W / NARROW_W;
  localparam int unsigned NARROW_KEEP_W = NARROW_W / 8;
  localparam int unsigned INDEX_W = RATIO > 1 ? $clog2(RATIO) : 1;

  typedef struct packed {
    logic                     last;
    logic [USER_W-1:0]        user;
    logic [NARROW_KEEP_W-1:0] keep;
    logic [NARROW_W-1:0]      data;
  } narrow_t;

  // The narrow side goes through a register slice: it is the cheap one, and it cuts the path from ready to ready.
  narrow_t slice_s, slice_m;
  logic slice_s_valid, slice_s_ready, slice_m_valid, slice_m_ready, slice_idle;

  stream_reg #(
      .WIDTH($bits(narrow_t))
  ) u_slice (
      .clk,
      .rst,
      .s_valid(slice_s_valid),
      .s_ready(slice_s_ready),
      .s_data(slice_s),
      .m_valid(slice_m_valid),
      .m_ready(slice_m_ready),
      .m_data(slice_m),
      .idle(slice_idle)
  );

  if (M_DATA_W > S_DATA_W) begin : gen_up
    // Narrow beats fill the output register lane by lane.
    logic valid_q, last_q;
    logic [USER_W-1:0] user_q;
    logic [RATIO-1:0][NARROW_KEEP_W-1:0] keep_q;
    logic [RATIO-1:0][NARROW_W-1:0] data_q;
    logic [INDEX_W-1:0] index_q;
    logic fill;

    assign slice_s_valid = s_axis_tvalid;
    assign s_axis_tready = slice_s_ready;
    assign slice_s       = '{last: s_axis_tlast, user: s_axis_tuser, keep: s_axis_tkeep, data: s_axis_tdata};
    assign slice_m_ready = m_axis_tready || !valid_q;
    assign fill          = slice_m_valid && slice_m_ready;

    always_ff @(posedge clk) begin
      if (slice_m_ready) valid_q <= slice_m_valid && (slice_m.last || index_q == INDEX_W'(RATIO - 1));
      if (fill) begin
        index_q         <= slice_m.last || index_q == INDEX_W'(RATIO - 1) ? '0 : index_q + 1'b1;
        last_q          <= slice_m.last;
        user_q          <= slice_m.user;
        data_q[index_q] <= slice_m.data;
        if (index_q == '0) keep_q <= '0;
        keep_q[index_q] <= slice_m.keep;
      end
      if (rst) begin
        valid_q <= 1'b0;
        index_q <= '0;
      end
    end

    assign m_axis_tvalid = valid_q;
    assign m_axis_tdata  = data_q;
    assign m_axis_tkeep  = keep_q;
    assign m_axis_tlast  = last_q;
    assign m_axis_tuser  = user_q;
    assign idle          = slice_idle && !valid_q && index_q == '0;
  end else if (M_DATA_W < S_DATA_W) begin : gen_down
    // A wide beat is held while its narrow beats leave, lane 0 first.
    logic ready, valid_q, last_q;
    logic up_q;  // not in reset: nothing is taken there
    logic [USER_W-1:0] user_q;
    logic [RATIO-1:0][NARROW_KEEP_W-1:0] keep_q;
    logic [RATIO-1:0][NARROW_W-1:0] data_q;
    logic [RATIO-1:0] more_q, more_d;  // bit 0: another narrow beat follows the one at lane index_q
    logic [INDEX_W-1:0] index_q;

    // tkeep has no holes: a lane has bytes when its first one is there.
    for (genvar lane = 0; lane < RATIO - 1; lane++) begin : gen_more
      assign more_d[lane] = s_axis_tkeep[(lane+1)*NARROW_KEEP_W];
    end
    assign more_d[RATIO-1] = 1'b0;

    assign ready         = valid_q ? slice_s_ready && !more_q[0] : up_q;
    assign s_axis_tready = ready;
    assign slice_s_valid = valid_q;
    assign slice_s       = '{last: last_q && !more_q[0], user: user_q, keep: keep_q[index_q], data: data_q[index_q]};

    always_ff @(posedge clk) begin
      if (ready) begin
        valid_q <= s_axis_tvalid;
        more_q  <= more_d;
        index_q <= '0;
        last_q  <= s_axis_tlast;
        user_q  <= s_axis_tuser;
        keep_q  <= s_axis_tkeep;
        data_q  <= s_axis_tdata;
      end else if (slice_s_ready) begin
        more_q  <= more_q >> 1;
        index_q <= index_q + 1'b1;
      end
      up_q <= !rst;
      if (rst) valid_q <= 1'b0;
    end

    assign slice_m_ready = m_axis_tready;
    assign m_axis_tvalid = slice_m_valid;
    assign m_axis_tdata  = slice_m.data;
    assign m_axis_tkeep  = slice_m.keep;
    assign m_axis_tlast  = slice_m.last;
    assign m_axis_tuser  = slice_m.user;
    assign idle          = slice_idle && !valid_q;
  end else begin : gen_same
    assign slice_s_valid = s_axis_tvalid;
    assign s_axis_tready = slice_s_ready;
    assign slice_s       = '{last: s_axis_tlast, user: s_axis_tuser, keep: s_axis_tkeep, data: s_axis_tdata};
    assign slice_m_ready = m_axis_tready;
    assign m_axis_tvalid = slice_m_valid;
    assign m_axis_tdata  = slice_m.data;
    assign m_axis_tkeep  = slice_m.keep;
    assign m_axis_tlast  = slice_m.last;
    assign m_axis_tuser  = slice_m.user;
    assign idle          = slice_idle;
  end

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(S_DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );
`endif

endmodule
