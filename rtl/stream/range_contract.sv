// SPDX-License-Identifier: Apache-2.0
// Checks in every simulation that a number is MOST at most while valid is high. The number of a state is one of those
// that are declared: MOST is the last of them. Nothing of it is synthesised.
module range_contract #(
    parameter int unsigned WIDTH = 2,
    parameter int unsigned MOST = 2
) (
    input logic             clk,
    input logic             rst,
    input logic             valid,
    input logic [WIDTH-1:0] number
);

  if (WIDTH < 1 || WIDTH > 32) begin : gen_bad_width
    $fatal(1, "range_contract: WIDTH must be 1 to 32, not %0d", WIDTH);
  end
  if (64'(MOST) >= 64'd1 << WIDTH) begin : gen_bad_most
    $fatal(1, "range_contract: MOST must fit in WIDTH bits, not be %0d", MOST);
  end

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks && valid) assert (32'(number) <= MOST) else $error("%m: %0d, and not %0d at most", number, MOST);
  end
`endif

endmodule
