// Packs the beats of records into words without a gap between records: byte 0 of a beat goes to the next free lane.
// A word comes out when it is full; the one that is being filled can be looked at.
// Latency: 2 cycles. Throughput: 1 beat a cycle. Backpressure: 1 word waits in each of its two stages.
module byte_packer #(
    parameter int unsigned MEM_W = 64,
    localparam int unsigned BYTES = MEM_W / 8,
    localparam int unsigned COUNT_W = $clog2(BYTES + 1),
    localparam int unsigned LANE_W = $clog2(BYTES)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               rewind,    // nothing is inside: the next byte goes to rewind_lane
    input  logic [LANE_W-1:0]  rewind_lane,

    input  logic               s_valid,
    output logic               s_ready,
    input  logic [MEM_W-1:0]   s_data,
    input  logic [COUNT_W-1:0] s_count,   // bytes: all, but in the last beat of a record

    output logic [MEM_W-1:0]   word,      // the oldest word
    output logic [COUNT_W-1:0] word_count,  // its bytes so far
    input  logic               word_ready,  // it is taken; only when full
    output logic               idle
);

  // Stage 1: lanes are rotated to their place.
  logic valid_q;
  logic [LANE_W-1:0] lane_q, beat_lane_q;  // of the next beat, of the beat in this stage
  logic [COUNT_W-1:0] count_q;
  logic [MEM_W-1:0] rotated_q;
  wire [2*MEM_W-1:0] twice = {s_data, s_data} << (8 * 32'(lane_q));
  logic merge;  // stage 1 goes into stage 2

  assign s_ready = !valid_q || merge;
  always_ff @(posedge clk) begin
    if (merge) valid_q <= 1'b0;
    if (s_valid && s_ready) begin
      valid_q     <= 1'b1;
      rotated_q   <= twice[2*MEM_W-1:MEM_W];
      beat_lane_q <= lane_q;
      count_q     <= s_count;
      lane_q      <= lane_q + LANE_W'(s_count);
    end
    if (rewind) lane_q <= rewind_lane;
    if (rst) begin
      valid_q <= 1'b0;
      lane_q  <= '0;
    end
  end

  // Stage 2: a full word, and the one that is being filled.
  logic full_q;
  logic [MEM_W-1:0] full_word_q, part_q, merged;
  logic [COUNT_W-1:0] part_count_q;
  wire [COUNT_W:0] sum = (COUNT_W + 1)'(beat_lane_q) + (COUNT_W + 1)'(count_q);
  wire fills = sum >= (COUNT_W + 1)'(BYTES);

  always_comb begin
    for (int i = 0; i < int'(BYTES); i++) merged[8*i+:8] = i < int'(32'(beat_lane_q)) ? part_q[8*i+:8] : rotated_q[8*i+:8];
  end

  assign merge = valid_q && (!full_q || word_ready);
  always_ff @(posedge clk) begin
    if (word_ready) full_q <= 1'b0;
    if (merge) begin
      if (fills) begin
        full_q       <= 1'b1;
        full_word_q  <= merged;
        part_q       <= rotated_q;
        part_count_q <= COUNT_W'(sum - (COUNT_W + 1)'(BYTES));
      end else begin
        part_q       <= merged;
        part_count_q <= COUNT_W'(sum);
      end
    end
    if (rewind) begin
      full_q       <= 1'b0;
      part_count_q <= COUNT_W'(rewind_lane);
    end
    if (rst) begin
      full_q       <= 1'b0;
      part_count_q <= '0;
    end
  end

  assign word       = full_q ? full_word_q : part_q;
  assign word_count = full_q ? COUNT_W'(BYTES) : part_count_q;
  assign idle       = !valid_q && !full_q;

endmodule
