// SPDX-License-Identifier: Apache-2.0
// Brings bits from another clock domain into that of clk through STAGES flip-flops in a row.
// The bits must come straight from registers; of several bits only one may change at a time (a Gray code).
// Latency: STAGES cycles, one more or less. No reset: the registers follow d.
module cdc_sync #(
    parameter int unsigned WIDTH = 1,
    parameter int unsigned STAGES = 2
) (
    input  logic             clk,
    input  logic [WIDTH-1:0] d,
    output logic [WIDTH-1:0] q
);

  if (WIDTH < 1) begin : gen_bad_width
    $fatal(1, "cdc_sync: WIDTH must be at least 1, not %0d", WIDTH);
  end
  if (STAGES < 2) begin : gen_bad_stages
    $fatal(1, "cdc_sync: STAGES must be at least 2, not %0d", STAGES);
  end

  (* async_reg = "true" *)
  logic [STAGES-1:0][WIDTH-1:0] sync_q;

  always_ff @(posedge clk) sync_q <= {sync_q[STAGES-2:0], d};

  assign q = sync_q[STAGES-1];

endmodule
