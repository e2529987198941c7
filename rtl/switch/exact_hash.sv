// SPDX-License-Identifier: Apache-2.0
// Hashes a key to an address in each of TABLES tables: each bit of the key that is set adds (exclusive or) a constant
// of its own, drawn at random and never 0, to each address (H3; Carter and Wegman, "Universal Classes of Hash
// Functions", 1979). Two keys that differ in one bit so never have the same address.
// Latency: 2 cycles, from `valid` on; the addresses stay until the next key's. Throughput: 1 key a cycle. Never stalls.
module exact_hash #(
    parameter int unsigned KEY_W = 264,
    parameter int unsigned TABLES = 4,
    parameter int unsigned ADDR_W = 10
) (
    input  logic                          clk,
    input  logic                          valid,
    input  logic [ KEY_W-1:0]             key,
    output logic [TABLES-1:0][ADDR_W-1:0] addr
);

  if (KEY_W < 1) begin : gen_bad_key_w
    $fatal(1, "exact_hash: KEY_W must be at least 1, not %0d", KEY_W);
  end
  if (TABLES < 1) begin : gen_bad_tables
    $fatal(1, "exact_hash: TABLES must be at least 1, not %0d", TABLES);
  end
  if (ADDR_W < 1 || ADDR_W > 32) begin : gen_bad_addr_w
    $fatal(1, "exact_hash: ADDR_W must be 1 to 32, not %0d", ADDR_W);
  end

  localparam int unsigned GROUPS = (KEY_W + 31) / 32;

  typedef logic [KEY_W-1:0][TABLES-1:0][ADDR_W-1:0] constants_t;

  function automatic constants_t constants();
    constants_t drawn;
    logic [31:0] mix;
    for (int unsigned i = 0; i < KEY_W; i++) begin
      for (int unsigned t = 0; t < TABLES; t++) begin
        mix = 32'(i * TABLES + t + 1) * 32'h9e37_79b9;
        mix = (mix ^ (mix >> 16)) * 32'h85eb_ca6b;
        mix = (mix ^ (mix >> 13)) * 32'hc2b2_ae35;
        drawn[i][t] = ADDR_W'(mix >> (32 - ADDR_W));
        if (drawn[i][t] == '0) drawn[i][t] = ADDR_W'(1);
      end
    end
    return drawn;
  endfunction

  localparam constants_t CONSTANTS = constants();

  logic [GROUPS-1:0][TABLES-1:0][ADDR_W-1:0] part_q;

  logic valid_q;

  always_ff @(posedge clk) valid_q <= valid;

  always_ff @(posedge clk) begin
    if (valid) begin
      for (int unsigned group = 0; group < GROUPS; group++) begin
        automatic logic [TABLES-1:0][ADDR_W-1:0] sum = '0;
        for (int unsigned i = 32 * group; i < 32 * group + 32 && i < KEY_W; i++) if (key[i]) sum ^= CONSTANTS[i];
        part_q[group] <= sum;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (valid_q) begin
      automatic logic [TABLES-1:0][ADDR_W-1:0] sum = '0;
      for (int unsigned group = 0; group < GROUPS; group++) sum ^= part_q[group];
      addr <= sum;
    end
  end

endmodule
