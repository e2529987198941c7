// SPDX-License-Identifier: Apache-2.0
// Gives every word of one stream to OUTPUTS streams. Each takes it when it likes; the next word comes when all have it.
// m_data is shared: it belongs to every output whose m_valid is high.
// Latency: 1 cycle. Throughput: 1 word a cycle while all outputs are ready.
// Backpressure: the slowest output stalls the input; s_ready is a register. No m_valid depends on an m_ready within a
// cycle, so that outputs may be joined again behind this part.
module stream_broadcast #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned OUTPUTS = 2
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               s_valid,
    output logic               s_ready,
    input  logic [WIDTH-1:0]   s_data,
    output logic [OUTPUTS-1:0] m_valid,
    input  logic [OUTPUTS-1:0] m_ready,
    output logic [WIDTH-1:0]   m_data,
    output logic               idle      // no word inside
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "stream_broadcast: WIDTH must be at least 1, not %0d", WIDTH);
  end
  if (OUTPUTS < 1) begin : gen_bad_outputs
    $fatal(1, "stream_broadcast: OUTPUTS must be at least 1, not %0d", OUTPUTS);
  end

  logic valid, ready;
  logic [OUTPUTS-1:0] done_q;  // outputs that have the word at m_data already
  logic [OUTPUTS-1:0] done_d;

  stream_reg #(
      .WIDTH(WIDTH)
  ) u_in (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data,
      .m_valid(valid),
      .m_ready(ready),
      .m_data,
      .idle
  );

  assign m_valid = {OUTPUTS{valid}} & ~done_q;
  assign done_d  = done_q | m_ready;
  assign ready   = &done_d;

  always_ff @(posedge clk) begin
    done_q <= valid && !ready ? done_d : '0;
    if (rst) done_q <= '0;
  end

endmodule
