// SPDX-License-Identifier: Apache-2.0
// Stores of units into the broadcast region go to all other units, one after the other in the same order everywhere.
// Latency: 1 cycle, when no other store is under way. Throughput: a store every 2 cycles.
// Backpressure: a unit's store waits for those of others, which take turns, until all have taken it.
module rpu_broadcast
  import rpu_pkg::*;
#(
    parameter int unsigned UNITS = 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic  [UNITS-1:0] asleep,      // in reset: takes nothing, sends nothing

    input  logic  [UNITS-1:0] s_valid,
    output logic  [UNITS-1:0] s_ready,
    input  word_t [UNITS-1:0] s_word,

    output logic  [UNITS-1:0] m_valid,
    input  logic  [UNITS-1:0] m_ready,
    output word_t             m_word,      // for all of them
    output logic              idle
);

  if (UNITS < 1 || UNITS > 16) begin : gen_bad_units
    $fatal(1, "rpu_broadcast: UNITS must be 1 to 16, not %0d", UNITS);
  end

  localparam int unsigned UNIT_W = UNITS > 1 ? $clog2(UNITS) : 1;

  logic [UNITS-1:0] left_q;        // have not taken the word yet
  logic [UNIT_W-1:0] turn_q;       // whose store may come

  assign s_ready = left_q == '0 ? UNITS'(1) << turn_q : '0;
  assign m_valid = left_q;

  always_ff @(posedge clk) begin
    left_q <= left_q & ~m_ready & ~asleep;
    if (left_q == '0) begin
      if (s_valid[turn_q]) begin
        left_q         <= ~asleep;
        left_q[turn_q] <= 1'b0;
        m_word         <= s_word[turn_q];
      end
      turn_q <= 32'(turn_q) == UNITS - 1 ? '0 : turn_q + 1'b1;
    end
    if (rst) begin
      left_q <= '0;
      turn_q <= '0;
    end
  end

  assign idle = s_valid == '0 && left_q == '0;

endmodule
