// SPDX-License-Identifier: Apache-2.0
// Hashes a key to an address in each of TABLES tables: each bit of the key that is set adds (exclusive or) a constant
// of its own, drawn at random and never 0, to each address (H3; Carter and Wegman, "Universal Classes of Hash
// Functions", 1979). Of keys that differ in few bits, as those of flows do, such sums may lie in half of a table only:
// so bits of the other tables' sums are multiplied and added, which is no longer linear.
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

  localparam int unsigned GROUPS = KEY_W < 1 ? 1 : (KEY_W + 31) / 32;
  localparam int unsigned SUM_W = TABLES * ADDR_W;

  typedef logic [SUM_W-1:0] sum_t;
  typedef sum_t sums_t[128];

  // The constant of a bit
  function automatic sum_t drawn(int unsigned place);
    logic [31:0] mix;
    for (int unsigned t = 0; t < TABLES; t++) begin
      mix = 32'(place * TABLES + t + 1) * 32'h9e37_79b9;
      mix = (mix ^ (mix >> 16)) * 32'h85eb_ca6b;
      mix = (mix ^ (mix >> 13)) * 32'hc2b2_ae35;
      drawn[ADDR_W*t+:ADDR_W] = ADDR_W'(mix >> (32 - ADDR_W));
      if (drawn[ADDR_W*t+:ADDR_W] == '0) drawn[ADDR_W*t+:ADDR_W] = ADDR_W'(1);
    end
  endfunction

  // What four bits of a group add, for each value that they can have: 8 functions of four inputs, and in a simulation
  // 8 looks at a table instead of 32 at a bit.
  function automatic sums_t sums_of(int unsigned group);
    for (int unsigned i = 0; i < 128; i++) begin
      sums_of[i] = '0;
      for (int unsigned j = 0; j < 4; j++) begin
        if (i[j] && 32 * group + 4 * (i / 16) + j < KEY_W) sums_of[i] ^= drawn(32 * group + 4 * (i / 16) + j);
      end
    end
  endfunction

  wire [GROUPS-1:0][31:0] groups = (32 * GROUPS)'(key);
  logic valid_q;

  always_ff @(posedge clk) valid_q <= valid;

  for (genvar group = 0; group < GROUPS; group++) begin : gen_group
    localparam sums_t SUMS = sums_of(group);
    sum_t part_q, total;

    always_ff @(posedge clk) begin
      if (valid) begin
        automatic sum_t sum = '0;
        for (int unsigned i = 0; i < 8; i++) sum ^= SUMS[7'(16*i)+7'(groups[group][4*i+:4])];
        part_q <= sum;
      end
    end

    if (group == 0) begin : gen_first
      assign total = part_q;
    end else begin : gen_next
      assign total = part_q ^ gen_group[group-1].total;
    end
  end

  function automatic logic [ADDR_W-1:0] rotated(logic [ADDR_W-1:0] word, int unsigned by);
    return ADDR_W'({word, word} >> (ADDR_W - by % ADDR_W));
  endfunction

  wire [TABLES-1:0][ADDR_W-1:0] sums = gen_group[GROUPS-1].total;

  always_ff @(posedge clk) begin
    if (valid_q) begin
      automatic logic [TABLES-1:0][ADDR_W-1:0] sum = sums;
      for (int unsigned t = 0; t < TABLES; t++) begin
        addr[t] <= sum[t];
        if (TABLES > 1) addr[t] <= sum[t] ^ (rotated(sum[(t+1)%TABLES], 1) & rotated(sum[(t+2)%TABLES], 3));
      end
    end
  end

endmodule
