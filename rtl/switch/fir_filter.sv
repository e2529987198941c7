// SPDX-License-Identifier: Apache-2.0
// FIR filter of 4 taps on LANES samples a cycle: y[n] = h[0] x[n] + h[1] x[n-1] + h[2] x[n-2] + h[3] x[n-3].
// Samples are signed numbers of 32 bits, whatever their fixed point is; coefficients are signed with 30 bits behind the
// point, from -2 to just below 2. Sums are exact, then rounded to the nearest number, upwards from the middle between
// two, and saturated. Samples before the first one are 0 or, with `carry`, the last ones of the packet before.
// Latency: 6 cycles. Throughput: 1 beat a cycle. Never stalls.
module fir_filter #(
    parameter int unsigned LANES = 16,
    localparam int unsigned LANE_W = $clog2(LANES)
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [3:0][31:0]       coefficients,
    input  logic                   carry,
    input  logic                   s_valid,
    input  logic                   s_begins,   // a packet's samples begin in this beat, at s_start
    input  logic [LANE_W-1:0]      s_start,
    input  logic [LANES-1:0]       s_lanes,    // which are samples: those of a packet lie together
    input  logic [LANES-1:0][31:0] s_samples,
    output logic [LANES-1:0][31:0] m_samples,
    output logic                   idle
);

  if (LANES < 4 || LANES > 16 || 2 ** $clog2(LANES) != LANES) begin : gen_bad_lanes
    $fatal(1, "fir_filter: LANES must be 4, 8 or 16, not %0d", LANES);
  end

  localparam int unsigned TAPS = 4;
  localparam int unsigned BEFORE = TAPS - 1;  // samples of beats before, the last one next to lane 0
  typedef logic [LANES+BEFORE-1:0][31:0] window_t;

  logic [5:0] valid_q;
  logic [BEFORE-1:0][31:0] recent_q;          // samples, [0] the last one
  window_t window, window_q;

  always_comb begin
    for (int unsigned i = 0; i < LANES; i++) window[BEFORE+i] = s_lanes[i] ? s_samples[i] : '0;
    for (int unsigned i = 0; i < BEFORE; i++) window[BEFORE-1-i] = s_begins ? '0 : recent_q[i];
    for (int unsigned i = 0; i < LANES; i++) begin
      if (s_begins && carry && s_start == LANE_W'(i)) begin
        for (int unsigned k = 0; k < BEFORE; k++) window[BEFORE+i-1-k] = recent_q[k];
      end
    end
  end

  always_ff @(posedge clk) begin
    valid_q <= {valid_q[4:0], s_valid};
    if (s_valid) window_q <= window;
    for (int unsigned i = 0; i < LANES; i++) begin
      if (s_valid && s_lanes[i] && (i == LANES - 1 || !s_lanes[(i+1)%LANES])) begin
        for (int unsigned k = 0; k < BEFORE; k++) recent_q[k] <= window[BEFORE+i-k];
      end
    end
    if (rst) begin
      valid_q  <= '0;
      recent_q <= '0;
    end
  end

  // A product is made of four, each for a multiplier of 18 by 18 bits.
  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
    logic signed [TAPS-1:0][31:0] high_q;         // upper halves
    logic signed [TAPS-1:0][32:0] left_q, right_q;  // of x and lower of h, and the other way round
    logic [TAPS-1:0][31:0] low_q;
    logic signed [33:0] sum_high_q;
    logic signed [34:0] sum_left_q, sum_right_q;
    logic [33:0] sum_low_q;
    logic signed [35:0] middle_q;
    logic signed [67:0] outer_q;
    logic [37:0] total_q;
    logic [31:0] result_q;

    always_ff @(posedge clk) begin
      if (valid_q[0]) begin
        for (int unsigned k = 0; k < TAPS; k++) begin
          high_q[k]  <= 32'($signed(window_q[BEFORE+lane-k][31:16])) * 32'($signed(coefficients[k][31:16]));
          left_q[k]  <= 33'($signed(window_q[BEFORE+lane-k][31:16])) * $signed(33'(coefficients[k][15:0]));
          right_q[k] <= $signed(33'(window_q[BEFORE+lane-k][15:0])) * 33'($signed(coefficients[k][31:16]));
          low_q[k]   <= 32'(window_q[BEFORE+lane-k][15:0]) * 32'(coefficients[k][15:0]);
        end
      end
      if (valid_q[1]) begin
        sum_high_q  <= (34'($signed(high_q[0])) + 34'($signed(high_q[1])))
                       + (34'($signed(high_q[2])) + 34'($signed(high_q[3])));
        sum_left_q  <= (35'($signed(left_q[0])) + 35'($signed(left_q[1])))
                       + (35'($signed(left_q[2])) + 35'($signed(left_q[3])));
        sum_right_q <= (35'($signed(right_q[0])) + 35'($signed(right_q[1])))
                       + (35'($signed(right_q[2])) + 35'($signed(right_q[3])));
        sum_low_q   <= (34'(low_q[0]) + 34'(low_q[1])) + (34'(low_q[2]) + 34'(low_q[3]));
      end
      if (valid_q[2]) begin
        middle_q <= 36'(sum_left_q) + 36'(sum_right_q) + 36'sd8192;  // and a half of the last place
        outer_q  <= (68'(sum_high_q) <<< 32) + $signed(68'(sum_low_q));
      end
      if (valid_q[3]) total_q <= 38'((outer_q + (68'(middle_q) <<< 16)) >>> 30);
      if (valid_q[4]) begin
        result_q <= total_q[31:0];
        if (total_q[37:31] != '0 && total_q[37:31] != '1) result_q <= {total_q[37], {31{!total_q[37]}}};
      end
    end

    assign m_samples[lane] = result_q;
  end

  assign idle = valid_q == '0;

endmodule
