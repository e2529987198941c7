// SPDX-License-Identifier: Apache-2.0
// Passes the words of a stream on.
// Latency: 1 cycle. Throughput: 1 word a cycle.
// Backpressure: s_ready follows m_ready within the cycle.
module my_block #(
    parameter int unsigned WIDTH = 32
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             s_valid,
    output logic             s_ready,
    input  logic [WIDTH-1:0] s_data,
    input  logic             s_last,
    output logic             m_valid,
    input  logic             m_ready,
    output logic [WIDTH-1:0] m_data,
    output logic             m_last,
    output logic             idle      // no word inside
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "my_block: WIDTH must be at least 1, not %0d", WIDTH);
  end

  logic valid_q, last_q;
  logic [WIDTH-1:0] data_q;

  assign s_ready = m_ready || !valid_q;

  always_ff @(posedge clk) begin
    if (s_ready) begin
      valid_q <= s_valid;
      data_q  <= s_data;
      last_q  <= s_last;
    end
    if (rst) valid_q <= 1'b0;
  end

  assign m_valid = valid_q;
  assign m_data  = data_q;
  assign m_last  = last_q;
  assign idle    = !valid_q;

endmodule
