// SPDX-License-Identifier: Apache-2.0
// What my_block promises in every cycle, whatever comes in and however its output stalls.
module my_block_proof #(
    parameter int unsigned WIDTH = 2
) (
    input logic             clk,
    input logic             rst,
    input logic             mark,
    input logic             s_valid,
    input logic [WIDTH-1:0] s_data,
    input logic             s_last,
    input logic             m_ready
);

  logic valid, s_ready, m_valid, m_last, idle;
  logic [WIDTH-1:0] m_data;

  proof_reset u_reset (.clk, .rst, .valid);
  my_block #(.WIDTH(WIDTH)) dut (.*);

  // A word that is offered stays until it is taken.
  proof_stable #(
      .WIDTH(WIDTH + 1)
  ) u_stable (
      .clk,
      .rst,
      .valid(m_valid && valid),
      .ready(m_ready),
      .data ({m_last, m_data})
  );

  // No word is lost, doubled, changed or overtaken.
  logic followed;
  logic [1:0] count, place;
  logic [WIDTH:0] value;
  proof_follow #(
      .WIDTH(WIDTH + 1),
      .MAX  (1)
  ) u_follow (
      .clk,
      .rst,
      .valid,
      .mark,
      .push     (s_valid && s_ready && valid),
      .push_data({s_last, s_data}),
      .pop      (m_valid && m_ready && valid),
      .pop_data ({m_last, m_data}),
      .count,
      .followed,
      .place,
      .value
  );

  // What the registers hold.
  always_comb begin
    if (valid) begin
      assert (count == 2'(m_valid));
      assert (idle == !m_valid);
      if (followed) assert ({m_last, m_data} == value);
    end
  end

endmodule
