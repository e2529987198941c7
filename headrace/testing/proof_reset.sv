// SPDX-License-Identifier: Apache-2.0
// Reset as every proof has it: high in the first cycle, free afterwards. `valid` is low until the state means
// something.
module proof_reset (
    input  logic clk,
    input  logic rst,
    output logic valid
);

  logic started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (started_q || rst);
  assign valid = started_q;

endmodule
