// SPDX-License-Identifier: Apache-2.0
// Register slice: cuts every combinational path between its two sides.
// Latency: 1 cycle. Throughput: 1 word a cycle.
// Backpressure: s_ready is a register; the word that arrives while the output stalls waits in a second register.
module stream_reg #(
    parameter int unsigned WIDTH = 32
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             s_valid,
    output logic             s_ready,
    input  logic [WIDTH-1:0] s_data,
    output logic             m_valid,
    input  logic             m_ready,
    output logic [WIDTH-1:0] m_data,
    output logic             idle      // no word inside
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "stream_reg: WIDTH must be at least 1, not %0d", WIDTH);
  end

  // ready_q is low in reset, when valid_q is low too, and while spare_q holds a word, when valid_q is high.
  logic ready_q, valid_q;
  logic [WIDTH-1:0] data_q, spare_q;
  logic advance;

  assign advance = m_ready || !valid_q;

  always_ff @(posedge clk) begin
    ready_q <= advance || (ready_q && !s_valid);
    if (advance) valid_q <= ready_q ? s_valid : valid_q;
    if (s_valid || !ready_q) begin
      automatic logic [WIDTH-1:0] word = ready_q ? s_data : spare_q;
      if (advance) data_q <= word;
      if (ready_q) spare_q <= word;
    end
    if (rst) begin
      ready_q <= 1'b0;
      valid_q <= 1'b0;
    end
  end

  assign s_ready = ready_q;
  assign m_valid = valid_q;
  assign m_data  = data_q;
  assign idle    = !valid_q;

endmodule
