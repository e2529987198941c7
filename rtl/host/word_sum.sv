// SPDX-License-Identifier: Apache-2.0
// The sum of a beat's words of 16 bits, the first byte of each the upper one, of those bytes that count.
// Latency: 2 cycles. Throughput: a beat a cycle. Never stalls. The sum stays until that of the next beat.
module word_sum #(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned BYTES = DATA_W / 8
) (
    input  logic              clk,
    input  logic              valid,  // a beat; without it, nothing is summed
    input  logic [DATA_W-1:0] data,
    input  logic [BYTES-1:0]  counts,
    output logic [21:0]       sum
);

  if (DATA_W < 64 || DATA_W > 1024 || DATA_W % 64 != 0) begin : gen_bad_data_w
    $fatal(1, "word_sum: DATA_W must be a multiple of 64 from 64 to 1024, not %0d", DATA_W);
  end

  localparam int unsigned WORDS = BYTES / 2;
  localparam int unsigned GROUPS = WORDS / 4;

  logic valid_q;
  logic [GROUPS-1:0][17:0] groups_q;

  function automatic logic [17:0] word(int unsigned i);
    return {2'd0, data[16*i+:8] & {8{counts[2*i]}}, data[16*i+8+:8] & {8{counts[2*i+1]}}};
  endfunction

  always_ff @(posedge clk) begin
    valid_q <= valid;
    if (valid) begin
      for (int unsigned i = 0; i < GROUPS; i++) begin
        groups_q[i] <= (word(4 * i) + word(4 * i + 1)) + (word(4 * i + 2) + word(4 * i + 3));
      end
    end
    if (valid_q) begin
      automatic logic [21:0] total = '0;
      for (int unsigned i = 0; i < GROUPS; i++) total += 22'(groups_q[i]);
      sum <= total;
    end
  end

endmodule
