// SPDX-License-Identifier: Apache-2.0
// Checks in every simulation of what can't wait that a valid is never high without its ready: what comes finds room,
// what is taken is there. Nothing of it is synthesised.
module ready_contract #(
    parameter int unsigned WIDTH = 1  // so many of each
) (
    input logic             clk,
    input logic             rst,
    input logic [WIDTH-1:0] valid,
    input logic [WIDTH-1:0] ready
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "ready_contract: WIDTH must be at least 1, not %0d", WIDTH);
  end

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) assert ((valid & ~ready) == '0) else $error("%m: no room, or nothing there, of %b", valid & ~ready);
  end
`endif

endmodule
