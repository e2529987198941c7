// SPDX-License-Identifier: Apache-2.0
// Accelerator: internet checksum (RFC 1071) of pieces of packet memory. Registers: accel_results, "CSUM".
// RESULT [15:0] is the checksum as a half word to store into a packet as it is, [31:16] the same as a number (its bytes
// swapped). START, 32 bits, is added to the sum: what was summed before, in half words as loads of the core give them,
// such as those of a pseudo header; over pieces, ~RESULT & 0xFFFF of those before, all of an even length.
// Latency: 7 cycles from a job's last beat to its result. Throughput: 1 beat a cycle, from job to job too.
// Backpressure: none on the stream; up to 8 jobs whose results are not yet read. There are no tables to load.
module accel_checksum
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              reg_valid,
    input  logic              reg_write,
    input  logic [15:0]       reg_addr,
    input  logic [31:0]       reg_wdata,
    input  logic [3:0]        reg_wstrb,
    output logic              reg_ready,
    output logic [31:0]       reg_rdata,

    // verilator lint_off UNUSEDSIGNAL
    input  logic              load_valid,
    input  logic [23:0]       load_addr,
    input  logic [31:0]       load_data,
    // verilator lint_on UNUSEDSIGNAL

    output logic              job_valid,
    input  logic              job_ready,
    output accel_job_t        job,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              interrupt,
    output logic              idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "accel_checksum: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned JOBS = 8;
  localparam int unsigned HALVES = DATA_W / 16;
  localparam int unsigned PARTS = HALVES / 4;  // sums of 4 half words
  localparam int unsigned SUM_W = 16 + $clog2(HALVES);

  logic start_valid, start_ready, beat_valid, beat_first, beat_last, jobs_idle, results_idle;
  logic [31:0] start_value, beat_start, result;
  logic [DATA_W-1:0] beat_data;
  logic result_valid;
  accel_job_t start_job;

  accel_results #(
      .IDENTIFICATION("CSUM"),
      .JOBS          (JOBS)
  ) u_results (
      .clk,
      .rst,
      .reg_valid,
      .reg_write,
      .reg_addr,
      .reg_wdata,
      .reg_wstrb,
      .reg_ready,
      .reg_rdata,
      .start_valid,
      .start_ready,
      .start_job,
      .start_value,
      .result_valid,
      .result,
      .interrupt,
      .idle(results_idle)
  );

  accel_jobs #(
      .DATA_W(DATA_W),
      .TAG_W (32),
      .JOBS  (JOBS)
  ) u_jobs (
      .clk,
      .rst,
      .start_valid,
      .start_ready,
      .start_job,
      .start_tag(start_value),
      .job_valid,
      .job_ready,
      .job,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .m_valid  (beat_valid),
      .m_ready  (1'b1),
      .m_data   (beat_data),
      .m_bytes  (),
      .m_first  (beat_first),
      .m_last   (beat_last),
      .m_tag    (beat_start),
      .idle     (jobs_idle)
  );

  typedef struct packed {
    logic        first;
    logic        last;
    logic [16:0] start;
  } side_t;

  // a: sums of 4 half words; b: of the beat; c: with the beats before, at most 2**31 of them all; d, e: carries folded
  logic a_valid_q, b_valid_q, c_done_q, d_done_q, e_done_q;
  side_t a_q, b_q;
  logic [PARTS-1:0][17:0] parts, parts_q;
  logic [SUM_W-1:0] sum, sum_q;
  logic [31:0] total_q;
  logic [16:0] once_q;
  logic [15:0] twice_q;

  always_comb begin
    parts = '0;
    for (int unsigned i = 0; i < HALVES; i++) parts[i/4] += 18'(beat_data[16*i+:16]);
    sum = '0;
    for (int unsigned i = 0; i < PARTS; i++) sum += SUM_W'(parts_q[i]);
  end

  always_ff @(posedge clk) begin
    a_valid_q <= beat_valid;
    a_q       <= '{first: beat_first, last: beat_last, start: 17'(beat_start[31:16]) + 17'(beat_start[15:0])};
    parts_q   <= parts;
    b_valid_q <= a_valid_q;
    b_q       <= a_q;
    sum_q     <= sum;
    if (b_valid_q) total_q <= (b_q.first ? 32'(b_q.start) : total_q) + 32'(sum_q);
    c_done_q  <= b_valid_q && b_q.last;
    once_q    <= 17'(total_q[31:16]) + 17'(total_q[15:0]);
    d_done_q  <= c_done_q;
    twice_q   <= once_q[15:0] + 16'(once_q[16]);
    e_done_q  <= d_done_q;
    if (rst) begin
      a_valid_q <= 1'b0;
      b_valid_q <= 1'b0;
      c_done_q  <= 1'b0;
      d_done_q  <= 1'b0;
      e_done_q  <= 1'b0;
    end
  end

  assign result_valid = e_done_q;
  assign result       = ~{twice_q[7:0], twice_q[15:8], twice_q};
  assign idle         = jobs_idle && results_idle;

endmodule
