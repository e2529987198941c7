// SPDX-License-Identifier: Apache-2.0
// Compares two keys. Latency: 2 cycles. Throughput: 1 pair a cycle. Never stalls.
module key_equal #(
    parameter int unsigned KEY_W = 264
) (
    input  logic             clk,
    input  logic             valid,  // else they are not equal
    input  logic [KEY_W-1:0] a,
    input  logic [KEY_W-1:0] b,
    output logic             equal
);

  if (KEY_W < 1) begin : gen_bad_key_w
    $fatal(1, "key_equal: KEY_W must be at least 1, not %0d", KEY_W);
  end

  localparam int unsigned GROUPS = (KEY_W + 15) / 16;

  logic [GROUPS-1:0] equal_q;
  logic valid_q;

  always_ff @(posedge clk) begin
    valid_q <= valid;
    if (valid) begin
      automatic logic [GROUPS-1:0][15:0] differ = (16 * GROUPS)'(a ^ b);
      for (int unsigned group = 0; group < GROUPS; group++) equal_q[group] <= differ[group] == '0;
    end
    equal <= valid_q && &equal_q;
  end

endmodule
