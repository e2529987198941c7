// SPDX-License-Identifier: Apache-2.0
// Says in a simulation whether checks count: there has been a reset, and there is none now. Before the first reset,
// registers may have any value. Synthesis has no such module: its users have it where SYNTHESIS is not defined.
`ifndef SYNTHESIS
module first_reset (
    input  logic clk,
    input  logic rst,
    output logic checks
);

  // verilator lint_off PROCASSINIT
  logic seen_q = 1'b0;
  // verilator lint_on PROCASSINIT
  always_ff @(posedge clk) if (rst) seen_q <= 1'b1;

  assign checks = seen_q && !rst;

endmodule
`endif
