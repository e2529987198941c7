// SPDX-License-Identifier: Apache-2.0
// Follows one word, whichever `mark` picks, through a part that holds at most MAX words, and counts what is inside.
// When every word that could be picked comes out in its turn and unchanged, none is lost, doubled, changed or
// overtaken. Words inside are numbered from 0, the next one to leave.
module proof_follow #(
    parameter int unsigned WIDTH = 1,
    parameter int unsigned MAX = 2,
    localparam int unsigned COUNT_W = $clog2(MAX + 2)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               valid,      // from proof_reset
    input  logic               mark,       // free: follow the word that goes in now
    input  logic               push,
    input  logic [WIDTH-1:0]   push_data,
    input  logic               pop,
    input  logic [WIDTH-1:0]   pop_data,
    output logic [COUNT_W-1:0] count,      // words inside
    output logic               followed,   // the word is inside
    output logic [COUNT_W-1:0] place,      // and this is its number
    output logic [WIDTH-1:0]   value
);

  always_ff @(posedge clk) begin
    count <= count + COUNT_W'(push) - COUNT_W'(pop);
    if (followed) begin
      if (pop) place <= place - 1'b1;
      if (pop && place == '0) followed <= 1'b0;
    end else if (push && mark) begin
      followed <= 1'b1;
      value    <= push_data;
      place    <= count - COUNT_W'(pop);
    end
    if (rst) begin
      count    <= '0;
      followed <= 1'b0;
    end
  end

  always_comb begin
    if (valid) begin
      assert (count <= COUNT_W'(MAX));
      if (pop) assert (count != '0);
      if (followed) assert (place < count);
      if (followed && pop && place == '0) assert (pop_data == value);
      cover (count == COUNT_W'(MAX));
      cover (followed && pop && place == '0 && count == COUNT_W'(MAX));
      cover (followed && place == COUNT_W'(MAX - 1));
    end
  end

endmodule
