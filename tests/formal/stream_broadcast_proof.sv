// SPDX-License-Identifier: Apache-2.0
module stream_broadcast_proof #(
    parameter int unsigned WIDTH = 2,
    parameter int unsigned OUTPUTS = 3
) (
    input logic               clk,
    input logic               rst,
    input logic [OUTPUTS-1:0] mark,
    input logic               s_valid,
    input logic [WIDTH-1:0]   s_data,
    input logic [OUTPUTS-1:0] m_ready
);

  logic valid, s_ready, idle;
  logic [OUTPUTS-1:0] m_valid;
  logic [WIDTH-1:0] m_data;

  proof_reset u_reset (.clk, .rst, .valid);
  stream_broadcast #(.WIDTH(WIDTH), .OUTPUTS(OUTPUTS)) dut (.*);

  // Words in the slice: 0, 1 or 2; each output lacks them all, or all but the first.
  logic [1:0] in_slice;
  assign in_slice = 2'(dut.u_in.valid_q) + 2'(dut.u_in.valid_q && !dut.u_in.ready_q);

  for (genvar i = 0; i < OUTPUTS; i++) begin : gen_output
    logic followed;
    logic [1:0] count, place;
    logic [WIDTH-1:0] value;

    proof_stable #(.WIDTH(WIDTH)) u_stable (
        .clk, .rst, .valid(m_valid[i] && valid), .ready(m_ready[i]), .data(m_data)
    );
    proof_follow #(.WIDTH(WIDTH), .MAX(2)) u_follow (
        .clk, .rst, .valid, .mark(mark[i]), .push(s_valid && s_ready), .push_data(s_data),
        .pop(m_valid[i] && m_ready[i]), .pop_data(m_data), .count, .followed, .place, .value
    );

    always_comb begin
      if (valid) begin
        // An output that lacks a word is offered it at once, whatever the other outputs do.
        assert (m_valid[i] == (count != 0 && !dut.done_q[i]));
        if (count == 2) assert (m_valid[i]);
        if (idle) assert (count == 0);
        assert (count == in_slice - 2'(dut.done_q[i]));

        if (dut.done_q[i]) assert (in_slice != 0);
        if (followed && 2'(dut.done_q[i]) + place == 0) assert (dut.u_in.data_q == value);
        if (followed && 2'(dut.done_q[i]) + place == 1) assert (dut.u_in.spare_q == value);
      end
    end
  end

  always_comb begin
    if (valid) begin
      // The word at the outputs goes when the last output takes it.
      assert (!(&dut.done_q));
      assert (idle == (in_slice == 0));
      cover (OUTPUTS == 1 || dut.done_q == OUTPUTS'(1));
      cover (OUTPUTS == 1 || $countones(dut.done_q) == int'(OUTPUTS) - 1);
    end
  end

endmodule
