// SPDX-License-Identifier: Apache-2.0
// Checks in every simulation what a stream owes to the part that takes it: what is offered stays, unchanged, until it
// is taken. Nothing of it is synthesised.
module offer_contract #(
    parameter int unsigned WIDTH = 1
) (
    input logic             clk,
    input logic             rst,
    input logic             valid,
    input logic             ready,
    input logic [WIDTH-1:0] data
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "offer_contract: WIDTH must be at least 1, not %0d", WIDTH);
  end

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  logic held_q;
  logic [WIDTH-1:0] offered, data_q;
  wire waits = valid && !ready;

  always_comb begin
    offered = 'x;  // so that a simulator puts the data together only while an offer waits
    if (waits || held_q) offered = data;
  end

  always_ff @(posedge clk) begin
    held_q <= waits && !rst;
    if (waits && !held_q) data_q <= offered;
    if (checks && held_q) begin
      assert (valid && offered == data_q)
      else $error("%m: what was offered went or changed before it was taken");
    end
  end
`endif

endmodule
