// SPDX-License-Identifier: Apache-2.0
// Accelerator: CRC-32 (IEEE 802.3, that of zlib) of pieces of packet memory. Registers: accel_results, "CR32". START is
// the CRC of the bytes before, so that one can be continued over pieces: zlib.crc32(data, START); 0 for a new one.
// Latency: 10 cycles from a job's last beat to its result (9 at 128 bits). Throughput: 1 beat a cycle, from job to job
// too.
// Backpressure: none on the stream; up to 8 jobs whose results are not yet read. There are no tables to load.
module accel_crc32
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
    $fatal(1, "accel_crc32: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned JOBS = 8;
  localparam int unsigned BYTES_W = $clog2(KEEP_W + 1);
  localparam int unsigned PART_W = 64;               // bits of a beat that are folded in one cycle
  localparam int unsigned PARTS = DATA_W / PART_W;
  localparam logic [31:0] POLYNOMIAL = 32'hEDB88320;  // least significant bit first

  function automatic logic [31:0] step(logic [31:0] crc);
    return (crc >> 1) ^ (crc[0] ? POLYNOMIAL : '0);
  endfunction
  function automatic logic [31:0] step_back(logic [31:0] crc);
    return crc[31] ? ((crc ^ POLYNOMIAL) << 1) | 32'd1 : crc << 1;
  endfunction

  // Which bits of a beat each bit of the CRC at its end is the parity of. The first 32 stand for the CRC before it too.
  typedef logic [31:0][DATA_W-1:0] taps_t;
  function automatic taps_t beat_taps();
    taps_t taps;
    logic [31:0] crc;
    crc = 32'd1;
    for (int i = DATA_W - 1; i >= 0; i--) begin
      crc = step(crc);
      for (int unsigned bits = 0; bits < 32; bits++) taps[bits][i] = crc[bits];
    end
    return taps;
  endfunction
  localparam taps_t TAPS = beat_taps();

  // Every beat is folded at its full width, zeros behind the last byte; they are taken out again at the end, by powers
  // of two: which bits of the CRC each one 2**power zero bytes earlier is the parity of.
  typedef logic [31:0][31:0] square_t;
  function automatic square_t back_taps(int unsigned power);
    square_t taps;
    logic [31:0] crc;
    for (int unsigned from = 0; from < 32; from++) begin
      crc = 32'd1 << from;
      for (int unsigned steps = 0; steps < 8 * 2 ** power; steps++) crc = step_back(crc);
      for (int unsigned bits = 0; bits < 32; bits++) taps[bits][from] = crc[bits];
    end
    return taps;
  endfunction

  logic start_valid, start_ready, beat_valid, beat_first, beat_last, jobs_idle, results_idle;
  logic [31:0] start_value, beat_start, result;
  logic [DATA_W-1:0] beat_data;
  logic [BYTES_W-1:0] beat_bytes;
  logic result_valid;
  accel_job_t start_job;

  accel_results #(
      .IDENTIFICATION("CR32"),
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
      .m_bytes  (beat_bytes),
      .m_first  (beat_first),
      .m_last   (beat_last),
      .m_tag    (beat_start),
      .idle     (jobs_idle)
  );

  typedef struct packed {
    logic               first;
    logic               last;
    logic [BYTES_W-1:0] spare;  // bytes behind the last one
  } side_t;

  // a: the start value is in the data; b: folded in parts; c: folded; d: with the beats before; then: without zeros
  logic a_valid_q, b_valid_q, c_valid_q, d_done_q;
  side_t a_q, b_q, c_q;
  logic [DATA_W-1:0] a_data_q;
  logic [PARTS-1:0][31:0] parts, parts_q;
  logic [31:0] fold, fold_q, crc_q, crc_d;
  logic [BYTES_W-1:0] spare_q;
  wire [31:0] start = beat_first ? ~beat_start : '0;

  for (genvar p = 0; p < PARTS; p++) begin : gen_parts
    for (genvar i = 0; i < 32; i++) begin : gen_bits
      assign parts[p][i] = ^(a_data_q[PART_W*p+:PART_W] & TAPS[i][PART_W*p+:PART_W]);
    end
  end
  for (genvar i = 0; i < 32; i++) begin : gen_crc
    assign crc_d[i] = fold_q[i] ^ (!c_q.first && ^(crc_q & TAPS[i][31:0]));
  end
  always_comb begin
    fold = '0;
    for (int unsigned i = 0; i < PARTS; i++) fold ^= parts_q[i];
  end

  always_ff @(posedge clk) begin
    a_valid_q <= beat_valid;
    a_q       <= '{first: beat_first, last: beat_last, spare: BYTES_W'(KEEP_W) - beat_bytes};
    a_data_q  <= beat_data ^ DATA_W'(start);
    b_valid_q <= a_valid_q;
    b_q       <= a_q;
    parts_q   <= parts;
    c_valid_q <= b_valid_q;
    c_q       <= b_q;
    fold_q    <= fold;
    d_done_q  <= c_valid_q && c_q.last;
    spare_q   <= c_q.spare;
    if (c_valid_q) crc_q <= crc_d;
    if (rst) begin
      a_valid_q <= 1'b0;
      b_valid_q <= 1'b0;
      c_valid_q <= 1'b0;
      d_done_q  <= 1'b0;
    end
  end

  // Two powers of two a cycle
  localparam int unsigned STAGES = (BYTES_W + 1) / 2;
  logic [STAGES:0] done;
  logic [STAGES:0][31:0] back;
  logic [STAGES:0][BYTES_W-1:0] spare;
  assign done[0]  = d_done_q;
  assign back[0]  = crc_q;
  assign spare[0] = spare_q;

  for (genvar s = 0; s < STAGES; s++) begin : gen_stages
    logic [2:0][31:0] crc;
    assign crc[0] = back[s];
    for (genvar i = 0; i < 2; i++) begin : gen_powers
      localparam int unsigned POWER = 2 * s + i;
      if (POWER < BYTES_W) begin : gen_power
        localparam square_t BACK = back_taps(POWER);
        for (genvar bits = 0; bits < 32; bits++) begin : gen_bits
          assign crc[i+1][bits] = spare[s][POWER] ? ^(crc[i] & BACK[bits]) : crc[i][bits];
        end
      end else begin : gen_none
        assign crc[i+1] = crc[i];
      end
    end
    always_ff @(posedge clk) begin
      back[s+1]  <= crc[2];
      spare[s+1] <= spare[s];
      done[s+1]  <= done[s];
      if (rst) done[s+1] <= 1'b0;
    end
  end

  assign result_valid = done[STAGES];
  assign result       = ~back[STAGES];
  assign idle         = jobs_idle && results_idle;

endmodule
