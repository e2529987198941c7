// SPDX-License-Identifier: Apache-2.0
// Packs the beats of records into words without a gap between records: byte 0 of a beat goes to the next free lane.
// A word comes out when it is full; the one that is being filled can be looked at.
// Latency: 2 cycles. Throughput: 1 word and 1 beat a cycle; a beat that fills two words takes two.
// Backpressure: s_ready is a register; what is in the stages waits there.
module byte_packer #(
    parameter int unsigned MEM_W = 64,
    parameter int unsigned IN_W = 64,       // of a beat: less than two words
    localparam int unsigned BYTES = MEM_W / 8,
    localparam int unsigned IN_BYTES = IN_W / 8,
    localparam int unsigned IN_COUNT_W = $clog2(IN_BYTES + 1),
    localparam int unsigned COUNT_W = $clog2(BYTES + 1),
    localparam int unsigned LANE_W = $clog2(BYTES)
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic                  rewind,       // nothing is inside: the next byte goes to rewind_lane
    input  logic [LANE_W-1:0]     rewind_lane,

    input  logic                  s_valid,
    output logic                  s_ready,
    input  logic [IN_W-1:0]       s_data,
    input  logic [IN_COUNT_W-1:0] s_count,      // bytes

    output logic [MEM_W-1:0]      word,         // the oldest word
    output logic [COUNT_W-1:0]    word_count,   // its bytes so far, while it is not full
    output logic                  word_full,
    input  logic                  word_ready,   // it is taken, if it is full
    output logic                  idle
);

  if (MEM_W < 16 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "byte_packer: MEM_W must be a power of two from 16 to 1024, not %0d", MEM_W);
  end
  if (IN_W < MEM_W || IN_W >= 2 * MEM_W || IN_W % 8 != 0) begin : gen_bad_in_w
    $fatal(1, "byte_packer: IN_W must be whole bytes, MEM_W at least and less than two of it, not %0d", IN_W);
  end

  localparam int unsigned SUM_W = $clog2(BYTES + IN_BYTES);
  localparam int unsigned CHUNKS = (IN_BYTES + BYTES - 1) / BYTES;  // words that a beat fills from lane 0 on

  // Stage 1: bytes are rotated to their lanes, those that go beyond a word into the lowest lanes.
  typedef struct packed {
    logic [LANE_W-1:0]            lane;  // of the beat's first byte
    logic [SUM_W-1:0]             sum;   // bytes from lane 0 of its first word to the beat's end
    logic [CHUNKS-1:0][MEM_W-1:0] data;
  } placed_t;

  logic [LANE_W-1:0] lane_q;  // of the next beat
  wire [SUM_W-1:0] sum = SUM_W'(lane_q) + SUM_W'(s_count);
  wire [CHUNKS-1:0][MEM_W-1:0] chunks = (CHUNKS * MEM_W)'(s_data);
  logic [CHUNKS-1:0][MEM_W-1:0] rotated;
  for (genvar i = 0; i < CHUNKS; i++) begin : gen_rotate
    wire [2*MEM_W-1:0] twice = {chunks[i], chunks[i]} << (8 * 32'(lane_q));
    assign rotated[i] = twice[2*MEM_W-1:MEM_W];
  end

  logic placed_idle, words_idle;
  logic placed_valid, done;   // done: the beat in this stage goes on, all of it
  placed_t placed;
  stream_reg #(
      .WIDTH($bits(placed_t))
  ) u_placed (
      .clk,
      .rst,
      .s_valid,
      .s_ready,
      .s_data (placed_t'{lane_q, sum, rotated}),
      .m_valid(placed_valid),
      .m_ready(done),
      .m_data (placed),
      .idle   (placed_idle)
  );
  always_ff @(posedge clk) begin
    if (s_valid && s_ready) lane_q <= sum[LANE_W-1:0];
    if (rewind) lane_q <= rewind_lane;
    if (rst) lane_q <= '0;
  end

  // Stage 2: full words, and the one that is being filled. Below the first byte's lane, each word has what went beyond
  // the one before.
  logic words_ready, second_q;  // second_q: the beat's first word is out, it fills another one
  logic [MEM_W-1:0] full_word, part_q;
  logic [COUNT_W-1:0] part_count_q;
  wire fills = 32'(placed.sum) >= BYTES;
  wire fills_two = 32'(placed.sum) >= 2 * BYTES;

  // A function is worked out where it is called, only for a beat.
  function automatic logic [MEM_W-1:0] filled(int unsigned k);
    logic [MEM_W-1:0] fresh = {MEM_W{1'b1}} << (8 * 32'(placed.lane));
    logic [MEM_W-1:0] rest = k == 0 ? part_q : placed.data[(k+CHUNKS-1)%CHUNKS];
    return k == CHUNKS ? rest : rest ^ ((placed.data[k%CHUNKS] ^ rest) & fresh);
  endfunction

  wire step = placed_valid && words_ready;
  assign done = step && (!fills_two || second_q);
  stream_reg #(
      .WIDTH(MEM_W)
  ) u_words (
      .clk,
      .rst,
      .s_valid(placed_valid && fills),
      .s_ready(words_ready),
      .s_data (second_q ? filled(1) : filled(0)),
      .m_valid(word_full),
      .m_ready(word_ready),
      .m_data (full_word),
      .idle   (words_idle)
  );

  always_ff @(posedge clk) begin
    if (step) second_q <= fills_two && !second_q;
    if (done) begin
      part_q       <= fills_two ? filled(CHUNKS) : fills ? filled(1) : filled(0);
      part_count_q <= COUNT_W'(placed.sum[LANE_W-1:0]);
    end
    if (rewind) part_count_q <= COUNT_W'(rewind_lane);
    if (rst) begin
      second_q     <= 1'b0;
      part_count_q <= '0;
    end
  end

  assign word       = word_full ? full_word : part_q;
  assign word_count = part_count_q;
  assign idle       = placed_idle && words_idle;

endmodule
