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

  // The recent samples lie before the first one of the beat, in places that each leave another rest by BEFORE.
  logic [LANE_W-1:0] first;
  logic [1:0] phase;                          // what its place leaves
  logic [BEFORE-1:0][31:0] turned;            // recent samples, by what theirs leave
  logic [LANES+BEFORE-1:0] recent;            // places that have one
  logic [LANES-1:0] last;                     // sample of the beat
  logic [BEFORE-1:0][31:0] latest;            // and those before it

  always_comb begin
    {first, phase, recent, turned, window, last, latest} = 'x;  // nobody looks then
    if (s_valid) begin
      first  = s_begins ? s_start : '0;
      phase  = '0;
      recent = '0;
      for (int unsigned i = 0; i < LANES; i++) begin
        if (first == LANE_W'(i)) begin
          phase = 2'(i % BEFORE);
          recent[i+:BEFORE] = {BEFORE{!s_begins || carry}};
        end
      end
      for (int unsigned i = 0; i < BEFORE; i++) begin
        turned[i] = recent_q[(2*BEFORE-1-i)%BEFORE];
        if (phase == 2'd1) turned[i] = recent_q[(2*BEFORE-i)%BEFORE];
        if (phase == 2'd2) turned[i] = recent_q[(2*BEFORE+1-i)%BEFORE];
      end
      for (int unsigned i = 0; i < LANES + BEFORE; i++) begin
        window[i] = recent[i] ? turned[i%BEFORE] : '0;
        if (i >= BEFORE) window[i] |= s_lanes[(i-BEFORE)%LANES] ? s_samples[(i-BEFORE)%LANES] : '0;
      end
      last   = s_lanes & ~(s_lanes >> 1);
      latest = '0;
      for (int unsigned i = 0; i < LANES; i++) begin
        for (int unsigned k = 0; k < BEFORE; k++) latest[k] |= last[i] ? window[BEFORE+i-k] : '0;
      end
    end
  end

  always_ff @(posedge clk) begin
    valid_q <= {valid_q[4:0], s_valid};
    if (s_valid) window_q <= window;
    if (s_valid && s_lanes != '0) recent_q <= latest;
    if (rst) begin
      valid_q  <= '0;
      recent_q <= '0;
    end
  end

  // A product is made of four, each for a multiplier of 18 by 18 bits; those of upper and of lower halves lie side by
  // side. No more than two numbers are added in a cycle: of three Yosys makes LUTs, of two a carry chain.
  // verilator lint_off UNUSEDSIGNAL
  logic signed [49:0] total_q[LANES];               // those behind the point have rounded
  // verilator lint_on UNUSEDSIGNAL

  for (genvar lane = 0; lane < LANES; lane++) begin : gen_lanes
    logic signed [TAPS-1:0][63:0] outer_q;          // both upper halves, both lower ones
    logic signed [TAPS-1:0][32:0] left_q, right_q;  // upper half of x and lower of h, and the other way round
    logic signed [1:0][64:0] outer_pair_q;
    logic signed [1:0][33:0] left_pair_q, right_pair_q;
    logic signed [34:0] left_sum_q, right_sum_q, rest_q;
    // verilator lint_off UNUSEDSIGNAL
    logic signed [65:0] outer_sum_q;                // its low 16 bits add to nothing,
    logic signed [49:0] most_q;                     // and have no place here
    // verilator lint_on UNUSEDSIGNAL

    always_ff @(posedge clk) begin
      if (valid_q[0]) begin
        for (int unsigned k = 0; k < TAPS; k++) begin
          outer_q[k] <= {
            32'($signed(window_q[BEFORE+lane-k][31:16])) * 32'($signed(coefficients[k][31:16])),
            32'(window_q[BEFORE+lane-k][15:0]) * 32'(coefficients[k][15:0])
          };
          left_q[k]  <= 33'($signed(window_q[BEFORE+lane-k][31:16])) * $signed(33'(coefficients[k][15:0]));
          right_q[k] <= $signed(33'(window_q[BEFORE+lane-k][15:0])) * 33'($signed(coefficients[k][31:16]));
        end
      end
      if (valid_q[1]) begin
        for (int unsigned i = 0; i < 2; i++) begin
          outer_pair_q[i] <= 65'($signed(outer_q[2*i])) + 65'($signed(outer_q[2*i+1]));
          left_pair_q[i]  <= 34'($signed(left_q[2*i])) + 34'($signed(left_q[2*i+1]));
          right_pair_q[i] <= 34'($signed(right_q[2*i])) + 34'($signed(right_q[2*i+1]));
        end
      end
      if (valid_q[2]) begin
        outer_sum_q <= 66'($signed(outer_pair_q[0])) + 66'($signed(outer_pair_q[1]));
        left_sum_q  <= 35'($signed(left_pair_q[0])) + 35'($signed(left_pair_q[1]));
        right_sum_q <= 35'($signed(right_pair_q[0])) + 35'($signed(right_pair_q[1]));
      end
      if (valid_q[3]) begin
        most_q <= $signed(outer_sum_q[65:16]) + 50'(left_sum_q);
        rest_q <= right_sum_q + 35'sd8192;  // a half of the last place
      end
      if (valid_q[4]) total_q[lane] <= most_q + 50'(rest_q);
    end
  end

  function automatic logic [31:0] saturated(logic [49:14] total);
    automatic logic fits = total[49:45] == '0 || total[49:45] == '1;
    return fits ? total[45:14] : {total[49], {31{!total[49]}}};
  endfunction

  always_comb begin
    m_samples = 'x;  // nobody looks then
    if (valid_q[5]) for (int unsigned i = 0; i < LANES; i++) m_samples[i] = saturated(total_q[i][49:14]);
  end

  assign idle = valid_q == '0;

endmodule
