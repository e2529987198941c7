// SPDX-License-Identifier: Apache-2.0
// A word that is offered stays, unchanged, until it is taken.
module proof_stable #(
    parameter int unsigned WIDTH = 1
) (
    input logic             clk,
    input logic             rst,
    input logic             valid,
    input logic             ready,
    input logic [WIDTH-1:0] data
);

  logic held_q = 1'b0;
  logic [WIDTH-1:0] data_q;

  always_ff @(posedge clk) begin
    held_q <= valid && !ready && !rst;
    data_q <= data;
  end

  always_comb begin
    if (held_q) assert (valid && data == data_q);
    cover (held_q && !ready);
  end

endmodule
