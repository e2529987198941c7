// SPDX-License-Identifier: Apache-2.0
// What changed in a packet, as checksums see it (RFC 1624): the sum of its new 16-bit words less that of its old ones,
// in ones' complement, and the sum of those among the new ones that are marked, which are at most 4 bytes in a row.
// Latency: 6 cycles from a packet's last beat. Throughput: 1 beat a cycle, of packets of one beat too. Never stalls.
module checksum_delta #(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              s_valid,
    input  logic              s_first,   // beat of a packet
    input  logic              s_last,
    input  logic [DATA_W-1:0] s_old,
    input  logic [DATA_W-1:0] s_new,
    input  logic [KEEP_W-1:0] s_marked,
    output logic              m_valid,
    output logic [15:0]       m_delta,
    output logic [15:0]       m_marked,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "checksum_delta: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned WORDS = DATA_W / 16;
  localparam int unsigned PARTS = WORDS / 4;
  localparam int unsigned SUM_W = 17 + $clog2(WORDS);
  localparam int unsigned TOTAL_W = 34;  // of packets of 128 KB

  // a: words; b: sums of 4; c: of the beat; d: with the beats before; e, f: carries folded
  logic [2:0] first_q;
  logic [5:0] last_q;
  logic [2:0] valid_q;
  logic [WORDS-1:0][16:0] words_q;
  logic [PARTS-1:0][18:0] parts, parts_q;
  logic [SUM_W-1:0] sum, sum_q;
  logic [TOTAL_W-1:0] total_q;
  logic [18:0] once_q;
  logic [15:0] delta_q;
  logic [31:0] marked, marked_a_q, marked_b_q, marked_c_q, marked_q;
  logic [16:0] marked_once_q;
  logic [15:0] marked_sum_q;

  function automatic logic [15:0] folded(logic [18:0] number);
    logic [16:0] once;
    once = 17'(number[15:0]) + 17'(number[18:16]);
    return once[15:0] + 16'(once[16]);
  endfunction

  always_comb begin
    marked = '0;
    for (int unsigned i = 0; i < KEEP_W; i++) if (s_marked[i]) marked[8*(i%4)+:8] |= s_new[8*i+:8];
    parts = '0;
    for (int unsigned i = 0; i < WORDS; i++) parts[i/4] += 19'(words_q[i]);
    sum = '0;
    for (int unsigned i = 0; i < PARTS; i++) sum += SUM_W'(parts_q[i]);
  end

  always_ff @(posedge clk) begin
    valid_q <= {valid_q[1:0], s_valid};
    first_q <= {first_q[1:0], s_first};
    last_q  <= {last_q[4:0], s_valid && s_last};
    if (s_valid) begin
      for (int unsigned i = 0; i < WORDS; i++) words_q[i] <= 17'(s_new[16*i+:16]) + {1'b0, ~s_old[16*i+:16]};
      marked_a_q <= marked;
    end
    if (valid_q[0]) begin
      parts_q    <= parts;
      marked_b_q <= marked_a_q;
    end
    if (valid_q[1]) begin
      sum_q      <= sum;
      marked_c_q <= marked_b_q;
    end
    if (valid_q[2]) begin
      total_q  <= (first_q[2] ? '0 : total_q) + TOTAL_W'(sum_q);
      marked_q <= (first_q[2] ? '0 : marked_q) | marked_c_q;
    end
    if (last_q[3]) begin
      once_q        <= 19'(total_q[15:0]) + 19'(total_q[31:16]) + 19'(total_q[33:32]);
      marked_once_q <= 17'(marked_q[15:0]) + 17'(marked_q[31:16]);
    end
    if (last_q[4]) begin
      delta_q      <= folded(once_q);
      marked_sum_q <= folded(19'(marked_once_q));
    end
    if (rst) begin
      valid_q <= '0;
      last_q  <= '0;
    end
  end

  assign m_valid  = last_q[5];
  assign m_delta  = delta_q;
  assign m_marked = marked_sum_q;
  assign idle     = valid_q == '0 && last_q == '0;

endmodule
