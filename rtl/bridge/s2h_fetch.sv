// SPDX-License-Identifier: Apache-2.0
// Fetches posted buffers from host memory into the ring of S2H, row after row (a row is a beat); each buffer begins
// with a row. Buffers begin at pages of 4 KB, so bursts of BURST beats never cross one; the last burst of a buffer may
// be shorter. Room in the ring is reserved before a burst is asked for; what lies before free_row is free.
// Latency: 3 cycles from a post to its first address. Throughput: a beat a cycle, up to 32 bursts under way; a burst in
// 2 cycles. Each buffer is also a job for the sender, in order, from before its first burst on. The jobs without words
// need no reading; of the others, job_complete and job_error are about the oldest one that is not done: it is in the
// ring in whole; a read failed (known a cycle after wr_row passes the beat, and together with job_complete). Both need
// 2 cycles to follow job_done.
module s2h_fetch
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned ROW_W = 13,
    parameter int unsigned BURST = 16,
    parameter int unsigned HOST_BUFFERS = 16
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             enable,        // begin buffers

    input  logic             post_valid,
    output logic             post_ready,
    input  buffer_t          post,

    output logic [63:0]      m_axi_araddr,
    output logic [7:0]       m_axi_arlen,
    output logic             m_axi_arvalid,
    input  logic             m_axi_arready,
    // EXOKAY is no error: bit 0 says nothing.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [1:0]       m_axi_rresp,
    // verilator lint_on UNUSEDSIGNAL
    input  logic             m_axi_rlast,
    input  logic             m_axi_rvalid,

    output logic [ROW_W:0]   wr_row,        // that the next beat goes to
    input  logic [ROW_W:0]   free_row,

    output logic             job_valid,
    input  logic             job_ready,
    output logic [TAG_W-1:0] job_tag,
    output logic [14:0]      job_words,
    input  logic             job_done,      // a job with words is done
    output logic             job_complete,
    output logic             job_error,
    output logic             idle
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "s2h_fetch: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end
  if (BURST < 2 || BURST > 256 || 2 ** $clog2(BURST) != BURST) begin : gen_bad_burst
    $fatal(1, "s2h_fetch: BURST must be a power of two from 2 to 256, not %0d", BURST);
  end
  if (HOST_BUFFERS < 2 || 2 ** $clog2(HOST_BUFFERS) != HOST_BUFFERS) begin : gen_bad_host_buffers
    $fatal(1, "s2h_fetch: HOST_BUFFERS must be a power of two from 2, not %0d", HOST_BUFFERS);
  end
  if (ROW_W <= $clog2(BURST) || ROW_W > 15) begin : gen_bad_row_w
    $fatal(1, "s2h_fetch: ROW_W must be more than a burst takes, and at most 15, not %0d", ROW_W);
  end

  localparam int unsigned LANE_W = $clog2(DATA_W / 32);
  localparam int unsigned BURST_BITS = $clog2(BURST);
  localparam int unsigned BYTES_LOG2 = LANE_W + 2 + BURST_BITS;  // of a burst
  localparam int unsigned BURSTS_W = 15 > LANE_W + BURST_BITS ? 15 - LANE_W - BURST_BITS : 1;
  localparam int unsigned JOBS_W = $clog2(HOST_BUFFERS) + 1;

  typedef logic [ROW_W:0] row_t;

  // Posts become jobs
  logic head_valid, begin_job, job_s_ready;
  buffer_t head;

  stream_queue #(
      .WIDTH($bits(buffer_t)),
      .DEPTH(HOST_BUFFERS)
  ) u_posts (
      .clk,
      .rst,
      .s_valid(post_valid),
      .s_ready(post_ready),
      .s_data (post),
      .m_valid(head_valid),
      .m_ready(begin_job),
      .m_data (head),
      .idle   ()
  );
  stream_queue #(
      .WIDTH(TAG_W + 15),
      .DEPTH(HOST_BUFFERS)
  ) u_jobs (
      .clk,
      .rst,
      .s_valid(begin_job),
      .s_ready(job_s_ready),
      .s_data ({head.tag, head.words}),
      .m_valid(job_valid),
      .m_ready(job_ready),
      .m_data ({job_tag, job_words}),
      .idle   ()
  );

  // Jobs become
  // bursts
  logic busy_q, room_q, arvalid_q, bursts_ready, launch, final_burst;
  logic [BURSTS_W-1:0] bursts_q;       // after this one
  logic [BURST_BITS-1:0] tail_q, len;  // beats - 1 of the last one, of this one
  logic [63:BYTES_LOG2] place_q;       // of this burst, in its own size
  row_t reserved_q, used;
  logic [14:0] last_word;

  assign begin_job   = head_valid && !busy_q && job_s_ready && enable;
  assign last_word   = head.words - 1'b1;
  assign final_burst = bursts_q == 0;
  assign len         = final_burst ? tail_q : '1;
  assign launch      = busy_q && !arvalid_q && room_q && bursts_ready;
  assign used        = reserved_q - free_row;

  always_ff @(posedge clk) begin
    if (begin_job) begin
      busy_q   <= head.words != 0;
      bursts_q <= BURSTS_W'(last_word >> (LANE_W + BURST_BITS));
      tail_q   <= BURST_BITS'(last_word >> LANE_W);
    end
    // Room for a whole burst and one more: simpler than exactly enough.
    room_q <= !used[ROW_W] && !(&used[ROW_W-1:BURST_BITS]);
    if (begin_job) place_q <= (64 - BYTES_LOG2)'({head.page, 12'd0} >> BYTES_LOG2);
    if (launch) begin
      arvalid_q   <= 1'b1;
      m_axi_arlen <= 8'(len);
      reserved_q  <= reserved_q + (ROW_W + 1)'(len) + 1'b1;
    end
    if (arvalid_q && m_axi_arready) begin
      arvalid_q <= 1'b0;
      place_q   <= place_q + 1'b1;
      bursts_q  <= bursts_q - 1'b1;
      if (final_burst) busy_q <= 1'b0;
    end
    if (rst) begin
      busy_q     <= 1'b0;
      arvalid_q  <= 1'b0;
      room_q     <= 1'b0;
      reserved_q <= '0;
    end
  end
  assign m_axi_arvalid = arvalid_q;
  assign m_axi_araddr  = {place_q, BYTES_LOG2'(0)};

  // Beats come in
  logic under_final, bursts_idle, complete, bad;
  stream_queue #(
      .WIDTH(1),
      .DEPTH(32)
  ) u_bursts (
      .clk,
      .rst,
      .s_valid(launch),
      .s_ready(bursts_ready),
      .s_data (final_burst),
      .m_valid(),  // told by idle
      .m_ready(m_axi_rvalid && m_axi_rlast),
      .m_data (under_final),
      .idle   (bursts_idle)
  );

  logic [JOBS_W-1:0] come_q, done_q;  // jobs that are in the ring in whole; that are done
  logic bad_q, kept_bad;              // of the job that comes in; of the one to be done
  row_t wr_row_q;
  assign complete = m_axi_rvalid && m_axi_rlast && under_final;
  assign bad      = bad_q || m_axi_rresp[1];

  always_ff @(posedge clk) begin
    if (m_axi_rvalid) begin
      wr_row_q <= wr_row_q + 1'b1;
      bad_q    <= bad && !complete;
    end
    if (complete) come_q <= come_q + 1'b1;
    if (job_done) done_q <= done_q + 1'b1;
    if (rst) begin
      wr_row_q <= '0;
      bad_q    <= 1'b0;
      come_q   <= '0;
      done_q   <= '0;
    end
  end
  ram_dist #(
      .WIDTH(1),
      .DEPTH(2 ** JOBS_W)
  ) u_bad (
      .clk,
      .wr_en  (complete),
      .wr_addr(come_q),
      .wr_data(bad),
      .rd_addr(done_q),
      .rd_data(kept_bad)
  );
  assign wr_row = wr_row_q;
  always_ff @(posedge clk) begin
    job_complete <= come_q != done_q;
    job_error    <= come_q != done_q ? kept_bad : bad_q;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) assert (rst || !m_axi_rvalid || !bursts_idle) else $error("data that nobody asked for");
`endif

  assign idle = !(head_valid && enable) && !busy_q && bursts_idle && !(job_valid && enable);

endmodule
