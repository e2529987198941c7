// SPDX-License-Identifier: Apache-2.0
// Queues that wait for their turn, each at most once: one that waits already stays where it is.
// Latency: 2 cycles, or 3 with more than 64 queues. Throughput: a queue in and one out a cycle.
// Backpressure: none; there is room for all. A queue put in the cycle in which it goes out has had its turn.
module virtq_fetch_list #(
    parameter int unsigned QUEUES = 16,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               wipe,
    input  logic [QUEUE_W-1:0] wipe_queue,
    input  logic               s_valid,
    input  logic [QUEUE_W-1:0] s_queue,
    output logic               m_valid,
    input  logic               m_ready,
    output logic [QUEUE_W-1:0] m_queue,
    output logic               idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "virtq_fetch_list: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end

  logic waits, unused_ready;
  wire push = s_valid && !waits && !wipe;

  virtq_fetch_flags #(
      .QUEUES(QUEUES)
  ) u_waits (
      .clk,
      .wipe,
      .wipe_queue,
      .set        (push),
      .set_queue  (s_queue),
      .clear      (m_valid && m_ready),
      .clear_queue(m_queue),
      .rd_queue   (s_queue),
      .rd_flag    (waits)
  );
  stream_fifo #(
      .WIDTH(QUEUE_W),
      .DEPTH(QUEUES < 4 ? 4 : QUEUES)
  ) u_order (
      .clk,
      .rst,
      .s_valid(push),
      .s_ready(unused_ready),
      .s_data (s_queue),
      .m_valid,
      .m_ready,
      .m_data (m_queue),
      .count  (),
      .idle
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!push || unused_ready) else $error("%m: a queue waits twice");
  end
`endif

endmodule
