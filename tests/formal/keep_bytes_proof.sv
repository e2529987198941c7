// SPDX-License-Identifier: Apache-2.0
// The count is right for every tkeep without holes.
module keep_bytes_proof #(
    parameter int unsigned KEEP_W = 8,
    localparam int unsigned BYTES_W = $clog2(KEEP_W + 1)
) (
    input logic               clk,
    input logic [BYTES_W-1:0] count  // free
);

  logic [KEEP_W-1:0] keep;
  logic [BYTES_W-1:0] bytes;

  keep_bytes #(.KEEP_W(KEEP_W)) dut (.*);

  always_comb begin
    for (int unsigned i = 0; i < KEEP_W; i++) keep[i] = BYTES_W'(i) < count;
    assume (count <= BYTES_W'(KEEP_W));
    assert (bytes == count);
    cover (bytes == '0);
    cover (keep == '1);
  end

endmodule
