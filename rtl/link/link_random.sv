// SPDX-License-Identifier: Apache-2.0
// Random numbers of 32 bits: LFSR113 (P. L'Ecuyer, "Tables of maximally equidistributed combined LFSR generators",
// Mathematics of Computation 68, 1999), period about 2**113. The same seed gives the same numbers.
// `value` is there all the time; `draw` goes on to the next one. Latency: 1 cycle.
module link_random (
    input  logic              clk,
    input  logic              rst,
    input  logic              seed_valid,
    input  logic [3:0][31:0]  seed,        // any numbers
    input  logic              draw,
    output logic [31:0]       value
);

  localparam logic [3:0][31:0] LEAST = {32'd128, 32'd16, 32'd8, 32'd2};  // bits without which a part would stay 0

  // A part of the generator: bits of (z << q) ^ z from s on come below, what is above moves up by t.
  function automatic logic [31:0] next(logic [31:0] z, int unsigned q, int unsigned s, int unsigned t,
                                       logic [31:0] least);
    return ((z & ~(least - 1'b1)) << t) ^ (((z << q) ^ z) >> s);
  endfunction

  logic [3:0][31:0] state_q;
  assign value = state_q[0] ^ state_q[1] ^ state_q[2] ^ state_q[3];

  always_ff @(posedge clk) begin
    if (draw) begin
      state_q[0] <= next(state_q[0], 6, 13, 18, LEAST[0]);
      state_q[1] <= next(state_q[1], 2, 27, 2, LEAST[1]);
      state_q[2] <= next(state_q[2], 13, 21, 7, LEAST[2]);
      state_q[3] <= next(state_q[3], 3, 12, 13, LEAST[3]);
    end
    if (seed_valid) state_q <= seed | LEAST;
    if (rst) state_q <= LEAST;
  end

endmodule
