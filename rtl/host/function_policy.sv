// SPDX-License-Identifier: Apache-2.0
// What each function may send and is to receive, as software sets it (policy_t), between its queues and an engine:
// policy_stream each way, and counters of what is dropped. After a reset no function has a
// policy: all frames pass as they are.
// Latency: 4 cycles each way. Throughput: 1 beat a cycle each way. Backpressure: ready of both streams does not wait
// for that of their outputs within the cycle; it is low in the FUNCTIONS cycles after a reset, when none is to be set.
module function_policy
  import host_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned QUEUES = FUNCTIONS * PAIRS,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic                  clk,
    input  logic                  rst,

    input  logic                  set_valid,
    input  logic [FUNCTION_W-1:0] set_function,
    input  policy_t               set,
    input  logic                  read,            // one cycle; the next one after read_valid
    input  logic [FUNCTION_W-1:0] read_function,   // stays until then
    output logic                  read_valid,      // one cycle; the values stay until the next read
    output policy_drops_t         drops,

    input  logic                  sent_tvalid,     // by functions
    output logic                  sent_tready,
    input  logic [DATA_W-1:0]     sent_tdata,
    input  logic [KEEP_W-1:0]     sent_tkeep,
    input  logic                  sent_tlast,
    input  logic [QUEUE_W-1:0]    sent_queue,
    output logic                  m_axis_tvalid,
    input  logic                  m_axis_tready,
    output logic [DATA_W-1:0]     m_axis_tdata,
    output logic [KEEP_W-1:0]     m_axis_tkeep,
    output logic                  m_axis_tlast,
    output logic [QUEUE_W-1:0]    m_axis_queue,

    input  logic                  s_axis_tvalid,   // to functions
    output logic                  s_axis_tready,
    input  logic [DATA_W-1:0]     s_axis_tdata,
    input  logic [KEEP_W-1:0]     s_axis_tkeep,
    input  logic                  s_axis_tlast,
    input  logic [QUEUE_W-1:0]    s_axis_queue,
    output logic                  received_tvalid,
    input  logic                  received_tready,
    output logic [DATA_W-1:0]     received_tdata,
    output logic [KEEP_W-1:0]     received_tkeep,
    output logic                  received_tlast,
    output logic [QUEUE_W-1:0]    received_queue,
    output logic                  idle
);

  if (FUNCTIONS < 1 || FUNCTIONS > 65536) begin : gen_bad_functions
    $fatal(1, "function_policy: FUNCTIONS must be 1 to 65536, not %0d", FUNCTIONS);
  end

  // What is set holds a cycle later; the rules' RAMs give what is being written.
  logic wipe_q, set_now_q;
  logic [FUNCTION_W-1:0] wipe_at_q, set_at_q;
  policy_t set_to_q;

  always_ff @(posedge clk) begin
    set_now_q  <= wipe_q || set_valid;
    set_at_q   <= wipe_q ? wipe_at_q : set_function;
    set_to_q   <= wipe_q ? '0 : set;
    wipe_at_q  <= wipe_at_q + 1'b1;
    if (32'(wipe_at_q) == FUNCTIONS - 1) wipe_q <= 1'b0;
    if (rst) begin
      set_now_q  <= 1'b0;
      wipe_q     <= 1'b1;
      wipe_at_q  <= '0;
    end
  end

  // 0 sent, 1 received
  logic [1:0] event_valid, event_kind, counters_valid, counters_idle, streams_idle;
  logic [1:0][FUNCTION_W-1:0] event_function;

  policy_stream #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .DATA_W(DATA_W)
  ) u_transmit (
      .clk,
      .rst,
      .hold          (wipe_q),
      .set_valid     (set_now_q),
      .set_function  (set_at_q),
      .set           (set_to_q),
      .s_axis_tvalid (sent_tvalid),
      .s_axis_tready (sent_tready),
      .s_axis_tdata  (sent_tdata),
      .s_axis_tkeep  (sent_tkeep),
      .s_axis_tlast  (sent_tlast),
      .s_axis_queue  (sent_queue),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_queue,
      .event_valid   (event_valid[0]),
      .event_function(event_function[0]),
      .event_kind    (event_kind[0]),
      .idle          (streams_idle[0])
  );

  policy_stream #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .DATA_W(DATA_W),
      .RECEIVE(1'b1)
  ) u_receive (
      .clk,
      .rst,
      .hold          (wipe_q),
      .set_valid     (set_now_q),
      .set_function  (set_at_q),
      .set           (set_to_q),
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_queue,
      .m_axis_tvalid (received_tvalid),
      .m_axis_tready (received_tready),
      .m_axis_tdata  (received_tdata),
      .m_axis_tkeep  (received_tkeep),
      .m_axis_tlast  (received_tlast),
      .m_axis_queue  (received_queue),
      .event_valid   (event_valid[1]),
      .event_function(event_function[1]),
      .event_kind    (event_kind[1]),
      .idle          (streams_idle[1])
  );

  logic [1:0][1:0][63:0] counted;
  for (genvar side = 0; side < 2; side++) begin : gen_side
    policy_counters #(
        .FUNCTIONS(FUNCTIONS)
    ) u_counters (
        .clk,
        .rst,
        .wipe          (wipe_q),
        .wipe_function (wipe_at_q),
        .event_valid   (event_valid[side]),
        .event_function(event_function[side]),
        .event_kind    (event_kind[side]),
        .read,
        .read_function,
        .read_valid    (counters_valid[side]),
        .counted       (counted[side]),
        .idle          (counters_idle[side])
    );
  end
  assign drops      = counted;
  assign read_valid = &counters_valid;
  assign idle       = !wipe_q && &streams_idle && &counters_idle;

endmodule
