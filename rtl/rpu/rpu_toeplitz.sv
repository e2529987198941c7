// SPDX-License-Identifier: Apache-2.0
// Toeplitz hash of a tuple of up to 288 bits, as receive side scaling defines it. A shorter tuple is filled up with
// zeros, which change nothing.
// Latency: 2 cycles. Throughput: 1 tuple a cycle. Never stalls.
module rpu_toeplitz
  import rpu_fabric_pkg::*;
(
    input  logic               clk,
    input  logic               rst,
    input  logic [  KEY_W-1:0] key,      // the first byte in the highest bits
    input  logic               s_valid,
    input  logic [TUPLE_W-1:0] s_tuple,  // likewise
    output logic               m_valid,
    output logic [       31:0] m_hash,
    output logic               idle
);

  localparam int unsigned GROUPS = TUPLE_W / 32;

  logic [GROUPS-1:0][31:0] part_q;
  logic [1:0] valid_q;
  logic [31:0] hash_q;

  // Each bit of the tuple that is set adds the 32 bits of the key that begin at its place.
  always_ff @(posedge clk) begin
    valid_q <= {valid_q[0], s_valid};
    if (s_valid) begin
      for (int unsigned group = 0; group < GROUPS; group++) begin
        automatic logic [31:0] sum = '0;
        for (int unsigned i = 32 * group; i < 32 * group + 32; i++) begin
          if (s_tuple[TUPLE_W-1-i]) sum ^= key[KEY_W-1-i-:32];
        end
        part_q[group] <= sum;
      end
    end
    if (valid_q[0]) begin
      automatic logic [31:0] sum = '0;
      for (int unsigned group = 0; group < GROUPS; group++) sum ^= part_q[group];
      hash_q <= sum;
    end
    if (rst) valid_q <= '0;
  end

  assign m_valid = valid_q[1];
  assign m_hash  = hash_q;
  assign idle    = valid_q == '0;

endmodule
