// SPDX-License-Identifier: Apache-2.0
// Lays an edit's patches over the beats of a copy, and adds to its checksums what is to be added (RFC 1624), to a CRC
// the bits that change.
// Latency: 3 cycles. Throughput: a beat a cycle. Never stalls.
module edit_overlay
  import editor_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter bit NARROW = 1'b0,
    localparam int unsigned WORDS = NARROW ? PATCH_WORDS_NARROW : PATCH_WORDS,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              s_valid,
    // The patches are there for the copy.
    // verilator lint_off UNUSEDSIGNAL
    input  step_t             s_step,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [DATA_W-1:0] s_data,
    input  patch_t            front,    // with each of its beats
    input  patch_word_t [WORDS-1:0] l3,
    input  word_t             l3_at,
    input  patch_word_t [WORDS-1:0] l4,
    input  word_t             l4_at,
    input  sum_t              l3_sum,
    input  sum_t              l4_sum,
    input  sum_t              crc_sum,
    input  logic [31:0]       crc,      // what changes of a CRC: its first half belongs to l4_sum
    output logic              m_valid,
    output logic [DATA_W-1:0] m_data,
    output logic [KEEP_W-1:0] m_keep,
    output logic              m_last
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "edit_overlay: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned BYTE_W = LANE_W + 2;

  typedef logic [LANES-1:0][3:0][7:0] words_t;
  typedef logic [4:0] beat_t;

  // Words that share an index come WORDS apart: a round.
  localparam int unsigned INDEX_W = $clog2(WORDS);
  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [4+LANE_W:0] place_t;

  function automatic logic covers(place_t place, word_t at);
    automatic place_t begins = place_t'(at) >> INDEX_W;
    return place >> INDEX_W == (index_t'(place) >= index_t'(at) ? begins : begins + 1'b1);
  endfunction

  // Of most words nothing is replaced: that is asked first, so that a simulator need not look at places and bytes.
  function automatic logic [3:0][7:0] patched(logic [3:0][7:0] word, patch_word_t patch);
    for (int unsigned i = 0; i < 4; i++) patched[i] = patch.enable[i] ? patch.bytes[i] : word[i];
    if (patch.low) patched[2][7:4] = word[2][7:4];
  endfunction

  function automatic logic [15:0] folded(logic [16:0] sum, logic udp);
    automatic logic [15:0] inverse = ~(sum[15:0] + 16'(sum[16]));
    return udp && inverse == '0 ? '1 : inverse;
  endfunction

  wire words_t words = s_data;

  // ------------------------------------------------------------------- a checksum: picked out, added to, and put back
  typedef struct packed {
    logic              there;
    logic [LANE_W-1:0] lane;
    logic              half;
    logic              udp;
    logic              crc;
  } where_t;

  localparam int unsigned SUMS = 3;
  sum_t [SUMS-1:0] sums;
  where_t [SUMS-1:0] picked_q, added_q;
  logic [SUMS-1:0][15:0] deltas, old_q, delta_q;
  logic [SUMS-1:0][16:0] sum_q;
  assign sums   = {crc_sum, l4_sum, l3_sum};
  assign deltas = {crc[15:0], l4_sum.crc ? crc[31:16] : l4_sum.delta, l3_sum.delta};

  // ------------------------------------------------------------------------------------------------------------- beats
  logic [2:0] valid_q;
  words_t patched_q, waiting_q, out_q;
  logic [2:0] last_q;
  logic [1:0][BYTE_W-1:0] rest_q;
  logic [KEEP_W-1:0] keep_q;

  always_ff @(posedge clk) begin
    valid_q <= {valid_q[1:0], s_valid};
    if (s_valid) begin
      for (int unsigned i = 0; i < LANES; i++) begin
        automatic place_t place = {s_step.beat, LANE_W'(i)};
        automatic logic [3:0][7:0] word = words[i];
        if (front[4'(place)].enable != '0) if (place >> 4 == '0) word = patched(word, front[4'(place)]);
        if (l3[index_t'(place)].enable != '0) if (covers(place, l3_at)) word = patched(word, l3[index_t'(place)]);
        if (l4[index_t'(place)].enable != '0) if (covers(place, l4_at)) word = patched(word, l4[index_t'(place)]);
        patched_q[i] <= word;
      end
      for (int unsigned i = 0; i < SUMS; i++) begin
        automatic logic [3:0][7:0] word = words[sums[i].at[LANE_W-1:0]];
        picked_q[i] <= '{
            there: sums[i].there && s_step.beat == beat_t'(sums[i].at >> LANE_W),
            lane: sums[i].at[LANE_W-1:0],
            half: sums[i].half,
            udp: sums[i].udp,
            crc: sums[i].crc
        };
        old_q[i]   <= sums[i].half ? {word[2], word[3]} : {word[0], word[1]};
        delta_q[i] <= deltas[i];
      end
      last_q[0] <= s_step.last;
      rest_q[0] <= s_step.rest[BYTE_W-1:0];
    end
    if (valid_q[0]) begin
      waiting_q <= patched_q;
      for (int unsigned i = 0; i < SUMS; i++) begin
        added_q[i]       <= picked_q[i];
        added_q[i].there <= picked_q[i].there && !(picked_q[i].udp && old_q[i] == '0);
        sum_q[i]         <= {1'b0, ~old_q[i]} + {1'b0, delta_q[i]};
        if (picked_q[i].crc) sum_q[i] <= {1'b0, ~(old_q[i] ^ delta_q[i])};
      end
      last_q[1] <= last_q[0];
      rest_q[1] <= rest_q[0];
    end
    if (valid_q[1]) begin
      out_q <= waiting_q;
      for (int unsigned i = 0; i < SUMS; i++) begin
        automatic logic [15:0] sum = folded(sum_q[i], added_q[i].udp);
        if (added_q[i].there) begin
          for (int unsigned lane = 0; lane < LANES; lane++) begin
            if (added_q[i].lane == LANE_W'(lane)) begin
              if (added_q[i].half) out_q[lane][3:2] <= {sum[7:0], sum[15:8]};
              else out_q[lane][1:0] <= {sum[7:0], sum[15:8]};
            end
          end
        end
      end
      keep_q <= '1;
      if (last_q[1]) for (int unsigned i = 0; i < KEEP_W; i++) keep_q[i] <= BYTE_W'(i) <= rest_q[1];
      last_q[2] <= last_q[1];
    end
    if (rst) valid_q <= '0;
  end

  assign m_valid = valid_q[2];
  assign m_data  = out_q;
  assign m_keep  = keep_q;
  assign m_last  = last_q[2];

endmodule
