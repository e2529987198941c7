// SPDX-License-Identifier: Apache-2.0
// How many bytes a beat has by its tkeep, which has no holes. Combinational.
module keep_bytes #(
    parameter int unsigned KEEP_W = 64,
    localparam int unsigned BYTES_W = $clog2(KEEP_W + 1)
) (
    input  logic [ KEEP_W-1:0] keep,
    output logic [BYTES_W-1:0] bytes
);

  if (KEEP_W < 1 || 2 ** $clog2(KEEP_W) != KEEP_W) begin : gen_bad_keep_w
    $fatal(1, "keep_bytes: KEEP_W must be a power of two, not %0d", KEEP_W);
  end

  // By halves: each bit of the count says whether the middle of what is left is kept.
  always_comb begin
    bytes = '0;
    if (keep[KEEP_W-1]) bytes = BYTES_W'(KEEP_W);
    else begin
      for (int unsigned half = KEEP_W / 2; half > 0; half /= 2) begin
        if (keep[32'(bytes)+half-1]) bytes |= BYTES_W'(half);
      end
    end
  end

endmodule
