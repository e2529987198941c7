// SPDX-License-Identifier: Apache-2.0
// The sum of a beat's words of 16 bits, the first byte of each the upper one, of those bytes that count.
// Latency: 2 cycles. Throughput: a beat a cycle. Never stalls.
module word_sum #(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned BYTES = DATA_W / 8
) (
    input  logic              clk,
    input  logic [DATA_W-1:0] data,
    input  logic [BYTES-1:0]  counts,
    output logic [21:0]       sum
);

  if (DATA_W < 64 || DATA_W > 1024 || DATA_W % 64 != 0) begin : gen_bad_data_w
    $fatal(1, "word_sum: DATA_W must be a multiple of 64 from 64 to 1024, not %0d", DATA_W);
  end

  localparam int unsigned WORDS = BYTES / 2;
  localparam int unsigned GROUPS = WORDS / 4;

  logic [WORDS-1:0][15:0] words;
  logic [GROUPS-1:0][17:0] groups_q;
  logic [21:0] total;

  always_comb begin
    for (int unsigned i = 0; i < WORDS; i++) begin
      words[i] = {data[16*i+:8] & {8{counts[2*i]}}, data[16*i+8+:8] & {8{counts[2*i+1]}}};
    end
    total = '0;
    for (int unsigned i = 0; i < GROUPS; i++) total += 22'(groups_q[i]);
  end

  always_ff @(posedge clk) begin
    for (int unsigned i = 0; i < GROUPS; i++) begin
      groups_q[i] <= (18'(words[4*i]) + 18'(words[4*i+1])) + (18'(words[4*i+2]) + 18'(words[4*i+3]));
    end
    sum <= total;
  end

endmodule
