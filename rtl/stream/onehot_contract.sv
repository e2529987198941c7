// SPDX-License-Identifier: Apache-2.0
// Checks in every simulation that of several signals no two are high at once, while valid is; with NONE 0 also that one
// is. Nothing of it is synthesised.
module onehot_contract #(
    parameter int unsigned WIDTH = 2,
    parameter bit          NONE = 1'b1
) (
    input logic             clk,
    input logic             rst,
    input logic             valid,
    input logic [WIDTH-1:0] select
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "onehot_contract: WIDTH must be at least 1, not %0d", WIDTH);
  end

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks && valid) begin
      assert ((select & (select - 1'b1)) == '0) else $error("%m: two are selected");
      assert (NONE || select != '0) else $error("%m: none is selected");
    end
  end
`endif

endmodule
