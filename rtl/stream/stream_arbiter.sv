// Merges INPUTS packet streams into one, whole frames at a time.
// With ROUND_ROBIN the input after the one served last goes first: a waiting input lets each other one pass at most once.
// Without, the lowest input with a frame goes first, and a higher one may starve.
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
    output logic [USER_W-1:0]             m_axis_tuser
);

  if (INPUTS < 1) begin : gen_bad_inputs
    $fatal(1, "stream_arbiter: INPUTS must be at least 1");
  end
  if (DATA_W < 8 || DATA_W % 8 != 0) begin : gen_bad_data_w
    $fatal(1, "stream_arbiter: DATA_W must be a multiple of 8");
  end
  if (USER_W < 1) begin : gen_bad_user_w
    $fatal(1, "stream_arbiter: USER_W must be at least 1");
  end

  typedef struct packed {
    logic              last;
    logic [USER_W-1:0] user;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  logic [INPUTS-1:0] grant;    // one input at most, among those with a beat; while a frame is open, its input
  logic [INPUTS-1:0] owner_q;  // input whose frame is open
  logic open_q;
  logic [INPUTS-1:0] first_q;  // inputs behind the one served last; they go before the others
  beat_t s_beat, m_beat;
  logic s_ready;

  // Each input judges by itself whether one that goes before it has a beat: no chain through the inputs.
  always_comb begin
    for (int unsigned i = 0; i < INPUTS; i++) begin
      logic beaten;
      beaten = 1'b0;
      for (int unsigned j = 0; j < INPUTS; j++) begin
        if (first_q[j] == first_q[i] ? j < i : first_q[j]) beaten |= s_axis_tvalid[j];
      end
      grant[i] = s_axis_tvalid[i] && (open_q ? owner_q[i] : !beaten);
    end
  end

  assign s_axis_tready = grant & {INPUTS{s_ready}};

  always_comb begin
    s_beat = '0;
    for (int unsigned i = 0; i < INPUTS; i++) begin
      if (grant[i]) s_beat |= {s_axis_tlast[i], s_axis_tuser[i], s_axis_tkeep[i], s_axis_tdata[i]};
    end
  end

  always_ff @(posedge clk) begin
    if (s_ready && |grant) begin
      open_q  <= !s_beat.last;
      owner_q <= grant;
    end
    if (rst) open_q <= 1'b0;
  end

  if (ROUND_ROBIN) begin : gen_round_robin
    always_ff @(posedge clk) begin
      if (s_ready && |grant) begin
        for (int unsigned i = 0; i < INPUTS; i++) first_q[i] <= |(grant & ~({INPUTS{1'b1}} << i));
      end
      if (rst) first_q <= '0;
    end
  end else begin : gen_fixed
    assign first_q = '0;
  end

  stream_reg #(
      .WIDTH($bits(beat_t))
  ) u_out (
      .clk,
      .rst,
      .s_valid(|grant),
      .s_ready,
      .s_data(s_beat),
      .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready),
      .m_data(m_beat)
  );

  assign m_axis_tdata = m_beat.data;
  assign m_axis_tkeep = m_beat.keep;
  assign m_axis_tlast = m_beat.last;
  assign m_axis_tuser = m_beat.user;

endmodule
