// SPDX-License-Identifier: Apache-2.0
// Functions as ports of an engine that has a stream for each: takes the engine's stream of all functions apart, and
// merges what goes to them, whole frames in turn.
// Latency: none from the functions, 1 cycle to them. Throughput: 1 beat a cycle each way, of all functions together.
// Backpressure: rx_tready of a frame's port holds up the frames of all functions behind it.
module function_ports #(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned QUEUES = FUNCTIONS * PAIRS,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                             clk,
    input  logic                             rst,

    input  logic                             s_axis_tvalid,  // of all functions
    output logic                             s_axis_tready,
    input  logic [DATA_W-1:0]                s_axis_tdata,
    input  logic [KEEP_W-1:0]                s_axis_tkeep,
    input  logic                             s_axis_tlast,
    input  logic [QUEUE_W-1:0]               s_axis_queue,
    output logic [FUNCTIONS-1:0]             rx_tvalid,      // the engine receives
    input  logic [FUNCTIONS-1:0]             rx_tready,
    output logic [FUNCTIONS-1:0][DATA_W-1:0] rx_tdata,
    output logic [FUNCTIONS-1:0][KEEP_W-1:0] rx_tkeep,
    output logic [FUNCTIONS-1:0]             rx_tlast,

    input  logic [FUNCTIONS-1:0]             tx_tvalid,      // the engine sends
    output logic [FUNCTIONS-1:0]             tx_tready,
    input  logic [FUNCTIONS-1:0][DATA_W-1:0] tx_tdata,
    input  logic [FUNCTIONS-1:0][KEEP_W-1:0] tx_tkeep,
    input  logic [FUNCTIONS-1:0]             tx_tlast,
    output logic                             m_axis_tvalid,
    input  logic                             m_axis_tready,
    output logic [DATA_W-1:0]                m_axis_tdata,
    output logic [KEEP_W-1:0]                m_axis_tkeep,
    output logic                             m_axis_tlast,
    output logic [QUEUE_W-1:0]               m_axis_queue,   // a function's first one
    output logic                             idle
);

  if (FUNCTIONS < 1 || FUNCTIONS > 64) begin : gen_bad_functions
    $fatal(1, "function_ports: FUNCTIONS must be 1 to 64, not %0d", FUNCTIONS);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "function_ports: PAIRS must be 1 to 8, not %0d", PAIRS);
  end

  logic [FUNCTIONS-1:0][QUEUE_W-1:0] queues;

  always_comb begin
    for (int unsigned i = 0; i < FUNCTIONS; i++) begin
      queues[i]    = QUEUE_W'(i * PAIRS);
      rx_tvalid[i] = s_axis_tvalid && 32'(s_axis_queue) / PAIRS == i;
      rx_tdata[i]  = s_axis_tdata;
      rx_tkeep[i]  = s_axis_tkeep;
      rx_tlast[i]  = s_axis_tlast;
    end
  end
  assign s_axis_tready = (rx_tvalid & rx_tready) != '0;

  stream_arbiter #(
      .INPUTS(FUNCTIONS),
      .DATA_W(DATA_W),
      .USER_W(QUEUE_W)
  ) u_arbiter (
      .clk,
      .rst,
      .s_axis_tvalid(tx_tvalid),
      .s_axis_tready(tx_tready),
      .s_axis_tdata (tx_tdata),
      .s_axis_tkeep (tx_tkeep),
      .s_axis_tlast (tx_tlast),
      .s_axis_tuser (queues),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser (m_axis_queue),
      .idle
  );

endmodule
