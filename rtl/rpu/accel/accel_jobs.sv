// SPDX-License-Identifier: Apache-2.0
// The way of an accelerator to packet memory: queues jobs, hands them on, and gives the beats that come back in order,
// each with its job's tag. A job of 0 bytes isn't read: it becomes one beat without bytes at its place.
// Latency: 1 cycle from a beat to its output. Throughput: 1 beat a cycle, from job to job too.
// Backpressure: start_ready is a register; s_axis_tready follows m_ready within the cycle.
module accel_jobs
  import rpu_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned TAG_W = 32,
    parameter int unsigned JOBS = 8,        // that may wait for their last beat
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned BYTES_W = $clog2(KEEP_W + 1)
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               start_valid,
    output logic               start_ready,
    input  accel_job_t         start_job,   // len may be 0
    input  logic [TAG_W-1:0]   start_tag,

    output logic               job_valid,
    input  logic               job_ready,
    output accel_job_t         job,

    input  logic               s_axis_tvalid,
    output logic               s_axis_tready,
    input  logic [DATA_W-1:0]  s_axis_tdata,
    input  logic [KEEP_W-1:0]  s_axis_tkeep,
    input  logic               s_axis_tlast,

    output logic               m_valid,
    input  logic               m_ready,
    output logic [DATA_W-1:0]  m_data,      // 0 beyond m_bytes
    (* fsm_encoding = "none" *)  // no states, though Yosys would take its few values for some and search for hours
    output logic [BYTES_W-1:0] m_bytes,
    output logic               m_first,
    output logic               m_last,
    output logic [TAG_W-1:0]   m_tag,

    output logic               idle         // every job has left
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "accel_jobs: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (TAG_W < 1) begin : gen_bad_tag_w
    $fatal(1, "accel_jobs: TAG_W must be at least 1, not %0d", TAG_W);
  end
  if (JOBS < 4 || 2 ** $clog2(JOBS) != JOBS) begin : gen_bad_jobs
    $fatal(1, "accel_jobs: JOBS must be a power of two from 4, not %0d", JOBS);
  end

  logic reads_ready, order_ready, order_valid, order_empty, reads_idle, order_idle;
  logic [TAG_W-1:0] order_tag;
  logic accept, take, last;
  wire empty = start_job.len == '0;
  wire start = start_valid && start_ready;

  assign start_ready = reads_ready && order_ready;

  stream_queue #(
      .WIDTH($bits(accel_job_t)),
      .DEPTH(JOBS)
  ) u_reads (
      .clk,
      .rst,
      .s_valid(start && !empty),
      .s_ready(reads_ready),
      .s_data (start_job),
      .m_valid(job_valid),
      .m_ready(job_ready),
      .m_data (job),
      .idle   (reads_idle)
  );

  stream_queue #(
      .WIDTH(TAG_W + 1),
      .DEPTH(JOBS)
  ) u_order (
      .clk,
      .rst,
      .s_valid(start),
      .s_ready(order_ready),
      .s_data ({empty, start_tag}),
      .m_valid(order_valid),
      .m_ready(take && last),
      .m_data ({order_empty, order_tag}),
      .idle   (order_idle)
  );

  assign accept        = m_ready || !m_valid;
  assign s_axis_tready = accept && order_valid && !order_empty;
  assign take          = accept && order_valid && (order_empty || s_axis_tvalid);
  assign last          = order_empty || s_axis_tlast;

  logic [DATA_W-1:0] data;
  logic [BYTES_W-1:0] beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_axis_tkeep), .bytes(beat_bytes));
  wire [BYTES_W-1:0] bytes = order_empty ? '0 : beat_bytes;
  always_comb begin
    for (int unsigned i = 0; i < KEEP_W; i++) begin
      data[8*i+:8] = s_axis_tkeep[i] && !order_empty ? s_axis_tdata[8*i+:8] : '0;
    end
  end

  logic first_q;
  always_ff @(posedge clk) begin
    if (accept) begin
      m_valid <= take;
      m_data  <= data;
      m_bytes <= bytes;
      m_first <= first_q;
      m_last  <= last;
      m_tag   <= order_tag;
    end
    if (take) first_q <= last;
    if (rst) begin
      m_valid <= 1'b0;
      first_q <= 1'b1;
    end
  end

  assign idle = reads_idle && order_idle && !m_valid;

  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );

endmodule
