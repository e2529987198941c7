// SPDX-License-Identifier: Apache-2.0
// Finds out which beats of a packet a copy is made of, and reads them one after the other. What comes behind the front
// moves by `shift` words: whole beats, and lanes of one. The copy's beat b consists of words of the packet's beat
// b - whole, in lanes from that number of lanes on, and of the one before. Where the packet is ahead, shift is negative
// and no multiple of a beat, that pair is what is read in the copy's step and in the one that follows.
// Latency: 3 cycles from an order, whose packet is there, to its first step. Throughput: a step a cycle, without gaps
// between copies; a copy has one for each of its beats and of those of its packet behind the front, whichever are more.
// Backpressure: a step with a beat to send waits for `room`.
module copy_steps
  import editor_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,
    localparam int unsigned BYTE_W = $clog2(DATA_W / 8),
    localparam int unsigned SIZE_W = $clog2(STORE_KB * 1024),
    localparam int unsigned ADDR_W = SIZE_W - BYTE_W
) (
    input  logic              clk,
    input  logic              rst,
    input  logic              order_valid,
    output logic              order_ready,
    input  order_t            order,
    input  logic              packet_valid,
    output logic              packet_ready,
    input  logic [SIZE_W-1:0] packet_end,    // its bytes less 1
    input  logic              room,
    output logic              step_valid,
    output step_t             step,
    output logic [ADDR_W-1:0] step_addr,
    output logic              free_valid,    // with the last step of a packet
    output logic [  ADDR_W:0] free_to
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "copy_steps: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (STORE_KB < 1 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "copy_steps: STORE_KB must be a power of two from 1 to 1024, not %0d", STORE_KB);
  end

  localparam int unsigned LANE_W = BYTE_W - 2;
  localparam int unsigned LEFT_W = ADDR_W + 2;

  typedef logic [ADDR_W:0] place_t;  // with the bit that changes with each round of the store

  typedef struct packed {
    logic   sends;
    logic   frees;
    place_t from;
    place_t to;     // behind its packet
  } span_t;

  logic measured_q, placed_q, copy_q, measured_ready, placed_ready, copy_ready;

  // --------------------------------------------------------------------------- the copy's packet, and how far it moves
  span_t measured_span_q;
  shift_t measured_shift_q;
  logic short_q;
  logic [SIZE_W-1:0] end_q;
  place_t base_q;

  wire place_t behind = base_q + {1'b0, packet_end[SIZE_W-1:BYTE_W]} + 1'b1;
  wire shift_t words_cut = shift_t'(8'(order.cut - 8'd14) >> 2);

  assign order_ready    = packet_valid && measured_ready;
  assign packet_ready   = order_valid && measured_ready && order.frees;
  assign measured_ready = !measured_q || placed_ready;

  always_ff @(posedge clk) begin
    if (measured_ready) measured_q <= order_valid && packet_valid;
    if (order_valid && order_ready) begin
      measured_span_q  <= '{sends: order.sends, frees: order.frees, from: base_q, to: behind};
      measured_shift_q <= shift_t'(order.tags) + shift_t'(order.labels) - words_cut;
      short_q          <= packet_end < SIZE_W'(order.cut) - 1'b1;
      end_q            <= packet_end;
      if (order.frees) base_q <= behind;
    end
    if (rst) begin
      measured_q <= 1'b0;
      base_q     <= '0;
    end
  end

  // --------------------------------------------------------------------------------------------------- where beats end
  span_t placed_span_q;
  shift_t placed_shift_q;
  logic none_q, ahead_q, more_q;
  logic [ADDR_W-1:0] beats_q;  // less 1; with more_q one more when moved by lanes
  logic [BYTE_W-1:0] rest_q;

  wire shift_t shift = short_q ? '0 : measured_shift_q;

  assign placed_ready = !placed_q || copy_ready;

  always_ff @(posedge clk) begin
    if (placed_ready) placed_q <= measured_q;
    if (measured_q && placed_ready) begin
      placed_span_q    <= measured_span_q;
      placed_shift_q   <= shift;
      none_q           <= short_q;
      ahead_q          <= shift < 0 && shift[LANE_W-1:0] != '0;
      beats_q          <= end_q[SIZE_W-1:BYTE_W];
      {more_q, rest_q} <= {1'b0, end_q[BYTE_W-1:0]} + {1'b0, shift[LANE_W-1:0], 2'b00};
    end
    if (rst) placed_q <= 1'b0;
  end

  // ----------------------------------------------------------------------------------------------- the steps of a copy
  step_t step_q;
  logic ends_q;
  logic tail_q;  // the last step has no beat to send
  logic [LEFT_W-1:0] left_q;
  logic [ADDR_W-1:0] addr_q;
  logic frees_q, sends_q;
  place_t to_q;

  wire [LEFT_W-1:0] whole = LEFT_W'(placed_shift_q >>> LANE_W);
  wire [LEFT_W-1:0] left = placed_span_q.sends ? {2'b0, beats_q} + whole + LEFT_W'(ahead_q || more_q) : '0;

  assign copy_ready = !copy_q || (step_valid && ends_q);

  always_ff @(posedge clk) begin
    if (copy_ready) copy_q <= placed_q;
    if (placed_q && copy_ready) begin
      step_q <= '{
          first: 1'b1,
          ahead: ahead_q,
          none: none_q,
          shift: word_t'(placed_shift_q),
          rest: 6'(rest_q),
          default: '0
      };
      left_q  <= left;
      ends_q  <= left == '0;
      tail_q  <= ahead_q && !more_q;
      addr_q  <= placed_span_q.from[ADDR_W-1:0] - ADDR_W'(whole) - ADDR_W'(ahead_q);
      sends_q <= placed_span_q.sends;
      frees_q <= placed_span_q.frees;
      to_q    <= placed_span_q.to;
    end else if (step_valid) begin
      step_q.first <= 1'b0;
      if (step_q.beat != '1) step_q.beat <= step_q.beat + 1'b1;
      left_q <= left_q - 1'b1;
      ends_q <= left_q == LEFT_W'(1);
      addr_q <= addr_q + 1'b1;
    end
    if (rst) copy_q <= 1'b0;
  end

  always_comb begin
    step       = step_q;
    step.sends = sends_q && !(ends_q && tail_q);
    step.last  = tail_q ? left_q == LEFT_W'(1) : ends_q;
    step.waits = step_q.ahead && !ends_q;
  end

  assign step_valid = copy_q && (room || !step.sends);
  assign step_addr  = addr_q;
  assign free_valid = step_valid && ends_q && frees_q;
  assign free_to    = to_q;

endmodule
