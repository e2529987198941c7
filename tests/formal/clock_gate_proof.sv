// SPDX-License-Identifier: Apache-2.0
// The clock is free, and what may change with it comes from registers of it. The gate opens with `work` and stays open
// for HOLD cycles; while clk is high, nothing opens or closes it.
module clock_gate_proof #(
    parameter int unsigned HOLD = 2
) (
    input logic clk,
    input logic works,
    input logic resets
);

  logic work, rst, gated, ticks_q;
  logic [HOLD-1:0] before_q;  // work in the cycles before
  wire awake = work || rst;

  clock_gate #(.GATED(1'b1), .HOLD(HOLD)) dut (.clk, .rst, .work, .watched('0), .gated);

  logic started_q = 1'b0;
  always_ff @(posedge clk) begin
    started_q <= 1'b1;
    work      <= works;
    rst       <= resets;
    before_q  <= HOLD'({before_q, awake});
    ticks_q   <= awake || before_q != '0;
  end

  always_comb begin
    if (!started_q) assume (!clk && dut.gen_gate.work_q == {before_q, awake});
    assert (gated == (clk && ticks_q));
    cover (gated && !work && !rst);
    cover (started_q && clk && !gated);
    cover (gated && work && before_q == HOLD'(1));

    if (!clk) assert (dut.gen_gate.work_q == {before_q, awake});
    else assert (dut.gen_gate.work_q[HOLD-1:0] == before_q && ticks_q == (dut.gen_gate.work_q != '0));
  end

endmodule
