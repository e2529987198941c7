// SPDX-License-Identifier: Apache-2.0
// Output queue of a port: keeps those packets of a stream that are for it (s_take) and sends them when they are in
// whole, as a MAC wants them. A packet that finds no room, or is longer than the queue, is dropped whole.
// Latency: store and forward, see packet_fifo; `sent` and `dropped` come a cycle after a packet's last beat.
// Throughput: 1 beat a cycle, for packets of one beat too. Never stalls its input.
module egress_queue
  import headrace_pkg::tx_meta_t;
  import switch_pkg::BYTES_W;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned QUEUE_KB = 32,
    parameter int unsigned PORT = 0,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [63:0]        time_ns,

    input  logic               s_axis_tvalid,
    input  logic [DATA_W-1:0]  s_axis_tdata,
    input  logic [KEEP_W-1:0]  s_axis_tkeep,
    input  logic               s_axis_tlast,
    input  logic               s_take,         // the same on each beat of a packet

    output logic               tx_tvalid,
    input  logic               tx_tready,
    output logic [DATA_W-1:0]  tx_tdata,
    output logic [KEEP_W-1:0]  tx_tkeep,
    output logic               tx_tlast,
    output tx_meta_t           tx_tuser,       // timestamp_ns: of the cycle in which the first beat is first offered

    output logic               sent,           // a packet has gone
    output logic [BYTES_W-1:0] sent_bytes,
    output logic               dropped,
    output logic [BYTES_W-1:0] dropped_bytes,
    output logic               idle
);

  if (QUEUE_KB < 1 || QUEUE_KB > 1024 || 2 ** $clog2(QUEUE_KB) != QUEUE_KB) begin : gen_bad_queue_kb
    $fatal(1, "egress_queue: QUEUE_KB must be a power of two from 1 to 1024, not %0d", QUEUE_KB);
  end

  logic taken, fifo_idle;
  assign taken = s_axis_tvalid && s_take;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(QUEUE_KB * 1024 / KEEP_W)
  ) u_fifo (
      .clk,
      .rst,
      .s_axis_tvalid(taken),
      .s_axis_tready(),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser (1'b0),
      .s_drop       (1'b0),
      .m_axis_tvalid(tx_tvalid),
      .m_axis_tready(tx_tready),
      .m_axis_tdata (tx_tdata),
      .m_axis_tkeep (tx_tkeep),
      .m_axis_tlast (tx_tlast),
      .m_axis_tuser (),
      .used         (),
      .dropped,
      .idle         (fifo_idle)
  );

  byte_counter #(
      .DATA_W(DATA_W)
  ) u_in_bytes (
      .clk,
      .rst,
      .s_valid(taken),
      .s_keep (s_axis_tkeep),
      .s_last (s_axis_tlast),
      .m_ended(),  // `dropped` says when it is asked for
      .m_bytes(dropped_bytes)
  );
  // verilator lint_on PINCONNECTEMPTY

  byte_counter #(
      .DATA_W(DATA_W)
  ) u_out_bytes (
      .clk,
      .rst,
      .s_valid(tx_tvalid && tx_tready),
      .s_keep (tx_tkeep),
      .s_last (tx_tlast),
      .m_ended(sent),
      .m_bytes(sent_bytes)
  );

  logic begun_q;
  logic [63:0] stamp_q;

  always_ff @(posedge clk) begin
    if (!begun_q) stamp_q <= time_ns;
    begun_q <= tx_tvalid && !(tx_tready && tx_tlast);
    if (rst) begun_q <= 1'b0;
  end

  always_comb begin
    tx_tuser              = '0;
    tx_tuser.timestamp_ns = begun_q ? stamp_q : time_ns;
    tx_tuser.port         = 8'(PORT);
  end

  assign idle = fifo_idle && !dropped && !sent;

endmodule
