// SPDX-License-Identifier: Apache-2.0
// Finds the UDP payload in beats of packets with custom actions: it ends where the UDP header says, or where the packet
// does. Beats come out two bytes on: from byte 2 of one to byte 1 of the next, which is waited for.
// Latency: 1 cycle to beat_*, 4 to span, with which the patch of a packet comes beside its last beat.
// Throughput: 1 beat a cycle. Never stalls.
module payload_finder
  import custom_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              s_valid,
    input  logic [DATA_W-1:0] s_data,
    input  logic [KEEP_W-1:0] s_keep,
    input  logic              s_last,
    input  logic              s_fir,         // these three the same on each beat of a packet
    input  logic              s_crc,
    input  logic [7:0]        s_payload_at,  // with one of these: 4 * n + 2

    output logic              beat_valid,
    output logic [DATA_W-1:0] beat_data,
    output logic [15:0]       beat_head,     // bytes 0 and 1 of the beat as it came, and the rest as it came
    output logic [KEEP_W-1:0] beat_keep,
    output logic              beat_last,
    output logic              beat_custom,   // with a custom action

    output logic              span_valid,    // of beats with a custom action only
    output span_t             span,
    output logic              patch_valid,
    output patch_t            patch,         // but for what comes of the actions
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "payload_finder: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned BYTE_W = LANE_W + 2;
  localparam int unsigned BEAT_W = PLACE_W - BYTE_W;
  localparam logic [OFFSET_W-1:0] WHOLE = OFFSET_W'(KEEP_W);

  typedef logic [OFFSET_W-1:0] offset_t;
  typedef logic [BEAT_W-1:0] beat_t;
  typedef logic [PLACE_W-1:0] place_t;

  // ---------------------------------------------------------------------------------- the beat that waits for the next
  typedef struct packed {
    logic              last;
    logic              fir;
    logic              crc;
    logic [7:0]        payload_at;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } held_t;

  logic held_valid_q;
  held_t held_q;
  offset_t held_bytes_q;
  beat_t number_q;

  logic [$clog2(KEEP_W+1)-1:0] bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_keep), .bytes(bytes));

  assign beat_custom = held_q.fir || held_q.crc;
  assign beat_valid  = held_valid_q && (held_q.last || !beat_custom || s_valid);
  always_comb begin
    beat_data = 'x;  // nobody looks then
    if (beat_valid) beat_data = {held_q.last ? 16'd0 : s_data[15:0], held_q.data[DATA_W-1:16]};
  end
  assign beat_head   = held_q.data[15:0];
  assign beat_keep   = held_q.keep;
  assign beat_last   = held_q.last;

  always_ff @(posedge clk) begin
    held_valid_q <= s_valid || (held_valid_q && !beat_valid);
    if (s_valid) begin
      held_q <= '{
          last: s_last,
          fir: s_fir,
          crc: s_crc,
          payload_at: s_payload_at,
          keep: s_keep,
          data: s_data
      };
      held_bytes_q <= offset_t'(bytes);
    end
    if (beat_valid) number_q <= held_q.last ? '0 : number_q + 1'b1;
    if (rst) begin
      held_valid_q <= 1'b0;
      number_q     <= '0;
    end
  end

  // --------------------------------------------------------------------- step 1: length and checksum of the UDP header
  typedef struct packed {
    logic       valid;
    logic       last;
    logic       fir;
    logic       crc;
    logic       known;       // the UDP header has been seen
    logic [7:0] payload_at;
    beat_t      number;
    offset_t    bytes;
  } step_t;

  step_t step1_q, step2_q;
  logic [31:0] header_q;  // the second half of the UDP header, its first byte in the low bits
  beat_t header_beat;
  logic [LANE_W-1:0] header_lane;
  assign {header_beat, header_lane} = (BEAT_W + LANE_W)'(held_q.payload_at[7:2]) - 1'b1;

  always_ff @(posedge clk) begin
    step1_q.valid <= beat_valid && beat_custom;
    if (beat_valid && beat_custom) begin
      step1_q.last       <= held_q.last;
      step1_q.fir        <= held_q.fir;
      step1_q.crc        <= held_q.crc;
      step1_q.known      <= number_q >= header_beat;
      step1_q.payload_at <= held_q.payload_at;
      step1_q.number     <= number_q;
      if (!held_q.last) step1_q.bytes <= s_keep[1] ? WHOLE : WHOLE - 1'b1;
      else step1_q.bytes <= held_bytes_q < 2 ? '0 : held_bytes_q - 7'd2;
      if (number_q == header_beat) header_q <= beat_data[32*header_lane+:32];
    end
    if (rst) step1_q.valid <= 1'b0;
  end

  // ----------------------------------------------------------------------------------------- step 2: the payload's end
  logic whole_q, tailed_q;        // the length in the UDP header is that of a header at least; and 4 bytes
  logic [15:0] checksum_q;
  place_t stop_q, tail_q;
  wire [15:0] udp_length = {header_q[7:0], header_q[15:8]};
  wire place_t start1 = place_t'({step1_q.payload_at[7:2], 2'd0});

  always_ff @(posedge clk) begin
    step2_q.valid <= step1_q.valid;
    if (step1_q.valid) begin
      step2_q    <= step1_q;
      whole_q    <= udp_length >= 16'd8;
      tailed_q   <= udp_length >= 16'd12;
      checksum_q <= header_q[31:16];
      stop_q     <= start1 + place_t'(udp_length) - place_t'(8);
      tail_q     <= start1 + place_t'(udp_length) - place_t'(12);
    end
    if (rst) step2_q.valid <= 1'b0;
  end

  // ---------------------------------------------------------------------------------------------- step 3: in this beat
  function automatic offset_t in_beat(beat_t number, place_t place);
    beat_t beat;
    beat    = place[PLACE_W-1:BYTE_W];
    in_beat = number < beat ? WHOLE : number == beat ? offset_t'(place[BYTE_W-1:0]) : '0;
  endfunction

  logic span_valid_q, whole3_q, tailed3_q;
  logic short_q;  // the beat before should have had more of the payload: the last one has a byte only
  span_t span_q;
  patch_t patch_q;
  wire place_t start2 = place_t'({step2_q.payload_at[7:2], 2'd0});
  wire beat_t start_beat = start2[PLACE_W-1:BYTE_W];
  wire beat_t tail_beat = tail_q[PLACE_W-1:BYTE_W];

  always_ff @(posedge clk) begin
    span_valid_q <= step2_q.valid;
    if (step2_q.valid) begin
      span_q.first  <= step2_q.number == '0;
      span_q.last   <= step2_q.last;
      span_q.fir    <= step2_q.fir && step2_q.known && whole_q;
      span_q.crc    <= step2_q.crc && step2_q.known && tailed_q;
      span_q.begins <= step2_q.number == start_beat;
      span_q.folds  <= step2_q.number >= start_beat && step2_q.number <= tail_beat;
      span_q.ends   <= step2_q.number == tail_beat;
      span_q.start  <= in_beat(step2_q.number, start2);
      span_q.tail   <= in_beat(step2_q.number, tail_q);
      span_q.stop   <= in_beat(step2_q.number, stop_q);
      span_q.bytes  <= step2_q.bytes;
      whole3_q      <= step2_q.known && whole_q;
      tailed3_q     <= step2_q.known && step2_q.crc && tailed_q;
      patch_q       <= '{
          summed: checksum_q != '0,
          checksum: checksum_q,
          payload_at: step2_q.payload_at,
          crc: 1'b0,
          crc_word: '0,
          crc_at: tail_q + place_t'(2)
      };
    end
    if (span_valid_q) short_q <= !span_q.last && span_q.stop > span_q.bytes;
    if (rst) begin
      span_valid_q <= 1'b0;
      short_q      <= 1'b0;
    end
  end

  assign span_valid  = span_valid_q;
  assign span        = span_q;
  assign patch_valid = span_valid_q && span_q.last;
  always_comb begin
    patch        = patch_q;
    patch.summed = patch_q.summed && whole3_q;
    patch.crc    = tailed3_q && span_q.stop <= span_q.bytes && !short_q;  // not if its end is not there
  end
  assign idle = !held_valid_q && !step1_q.valid && !step2_q.valid && !span_valid_q;

endmodule
