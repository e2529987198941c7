// SPDX-License-Identifier: Apache-2.0
// Which lanes of a beat of a frame lie before a byte of the frame. Combinational.
module lanes_below
  import offload_pkg::*;
#(
    parameter int unsigned BYTES = 64,
    localparam int unsigned LANE_W = $clog2(BYTES)
) (
    input  logic [PLACE_W-1:0]        place,
    input  logic [PLACE_W-LANE_W-1:0] beat,   // its number in the frame
    output logic [BYTES-1:0]          lanes
);

  if (BYTES < 2 || BYTES > 128 || 2 ** LANE_W != BYTES) begin : gen_bad_bytes
    $fatal(1, "lanes_below: BYTES must be a power of two from 2 to 128, not %0d", BYTES);
  end

  wire [PLACE_W-LANE_W-1:0] at = place[PLACE_W-1:LANE_W];
  assign lanes = {BYTES{beat < at}} | ({BYTES{beat == at}} & ~({BYTES{1'b1}} << place[LANE_W-1:0]));

endmodule
