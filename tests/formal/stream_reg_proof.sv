// SPDX-License-Identifier: Apache-2.0
module stream_reg_proof #(
    parameter int unsigned WIDTH = 2
) (
    input logic             clk,
    input logic             rst,
    input logic             mark,
    input logic             s_valid,
    input logic [WIDTH-1:0] s_data,
    input logic             m_ready
);

  logic valid, s_ready, m_valid, followed, fresh_q, idle;
  logic [WIDTH-1:0] m_data, value;
  logic [1:0] count, place;

  proof_reset u_reset (.clk, .rst, .valid);
  stream_reg #(.WIDTH(WIDTH)) dut (.*);
  proof_stable #(.WIDTH(WIDTH)) u_stable (.clk, .rst, .valid(m_valid && valid), .ready(m_ready), .data(m_data));
  proof_follow #(.WIDTH(WIDTH), .MAX(2)) u_follow (
      .clk, .rst, .valid, .mark, .push(s_valid && s_ready), .push_data(s_data), .pop(m_valid && m_ready),
          .pop_data(m_data),
      .count, .followed, .place, .value
  );

  always_ff @(posedge clk) fresh_q <= rst;

  always_comb begin
    if (valid) begin
      // One cycle of latency, and room for two words.
      assert (m_valid == (count != 0));
      assert (s_ready == (count < 2 && !fresh_q));
      assert (idle == (count == 0));

      // Where the followed word is.
      if (followed && place == 0) assert (dut.data_q == value);
      if (followed && place == 1) assert (dut.spare_q == value);
    end
  end

endmodule
