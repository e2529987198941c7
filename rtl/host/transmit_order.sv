// SPDX-License-Identifier: Apache-2.0
// Jobs of host_transmit: gives free ones out, and says which may go to the output: those that are done, and whose
// queue's earlier ones went before. Those of a queue that are done go together, so that one write makes them used,
// until they have RUN_CELLS cells, or the output takes one less than 3 cycles after the one before; else jobs of
// different queues go in the order in which they may.
// A job knows the one of its queue that follows it; the first of a queue follows none that is still here.
// Latency: 6 cycles from done to next_valid, or 7 from when the one before it is gone. Throughput: a job started, one
// done or gone and one ended a cycle.
module transmit_order #(
    parameter int unsigned JOBS = 64,
    parameter int unsigned RUN_CELLS = 8,
    localparam int unsigned JOB_W = $clog2(JOBS)
) (
    input  logic             clk,
    input  logic             rst,

    output logic             job_valid,     // a free one
    output logic [JOB_W-1:0] job,
    input  logic             start,         // it is taken,
    input  logic             start_follows, // and its queue's last one, if it is still here, is start_after
    input  logic [JOB_W-1:0] start_after,

    input  logic             done_valid,    // always taken
    input  logic [JOB_W-1:0] done_job,
    output logic             ready_valid,   // a job waits for nothing but the output from now on
    output logic [JOB_W-1:0] ready_job,
    output logic             next_valid,
    input  logic             next_ready,
    output logic [JOB_W-1:0] next_job,
    input  logic [8:0]       next_cells,    // it has
    input  logic             end_valid,     // it is free again
    input  logic [JOB_W-1:0] end_job
);

  if (JOBS < 16 || JOBS > 256 || 2 ** JOB_W != JOBS) begin : gen_bad_jobs
    $fatal(1, "transmit_order: JOBS must be a power of two from 16 to 256, not %0d", JOBS);
  end
  if (RUN_CELLS < 1 || RUN_CELLS > 256) begin : gen_bad_run_cells
    $fatal(1, "transmit_order: RUN_CELLS must be 1 to 256, not %0d", RUN_CELLS);
  end

  number_pool #(
      .COUNT(JOBS)
  ) u_jobs (
      .clk,
      .rst,
      .lend_valid(job_valid),
      .lend_ready(start),
      .lend      (job),
      .back_valid(end_valid),
      .back      (end_job),
      .free      (),
      .idle      ()
  );

  logic [JOBS-1:0] here_q;                  // started and not gone
  logic [JOBS-1:0] first_q;                 // of those of its queue
  logic [JOBS-1:0] done_q, led_q;           // led: one follows
  logic gone_q, freed_q, stays_1, stays_2, stays_3, start_1, follows_1, start_2, here_2, leaves_2;
  logic [JOB_W-1:0] gone_job_q, follower, follower_q, behind, behind_q, job_1, job_2, after_1, after_2;

  // A start is noted two cycles later; the one before it may be about to be, and who it follows may go meanwhile.
  wire here = here_q[after_1] || (start_2 && job_2 == after_1);
  wire link = here_2 && !leaves_2;
  wire goes = next_valid && next_ready;

  for (genvar i = 0; i < 2; i++) begin : gen_followers
    logic [JOB_W-1:0] found;
    ram_dist #(
        .WIDTH(JOB_W),
        .DEPTH(JOBS)
    ) u_ram (
        .clk,
        .wr_en  (start_2 && link),
        .wr_addr(after_2),
        .wr_data(job_2),
        .rd_addr(i == 0 ? gone_job_q : next_job),
        .rd_data(found)
    );
  end
  assign follower = gen_followers[0].found;
  assign behind   = gen_followers[1].found;

  logic came_valid;
  logic [JOB_W-1:0] came_job;
  logic unused_ready_0, unused_ready_1;
  wire came = came_valid && !freed_q;

  stream_fifo #(
      .WIDTH(JOB_W),
      .DEPTH(JOBS)
  ) u_done (
      .clk,
      .rst,
      .s_valid(done_valid),
      .s_ready(unused_ready_0),
      .s_data (done_job),
      .m_valid(came_valid),
      .m_ready(!freed_q),
      .m_data (came_job),
      .count  (),
      .idle   ()
  );

  // What follows the job at the output, if that is done, and whether the queue's run goes on with it.
  logic head_valid, known_q, led_next_q, follows_q;
  logic [JOB_W-1:0] head_job;
  logic signed [9:0] left_q, left_after_q;  // cells of the run
  wire stays = goes && follows_q;
  wire head_ready = !next_valid || (next_ready && !follows_q);

  always_ff @(posedge clk) begin
    known_q      <= next_valid && !next_ready;
    led_next_q   <= led_q[next_job];
    behind_q     <= behind;
    left_after_q <= left_q - signed'({1'b0, next_cells});
    follows_q    <= known_q && !next_ready && led_next_q && done_q[behind_q] && left_after_q > 0;
    if (goes) left_q <= follows_q ? left_after_q : 10'(RUN_CELLS);
    if (stays) next_job <= behind_q;
    if (head_ready) begin
      next_valid <= head_valid;
      next_job   <= head_job;
    end
    if (rst) begin
      next_valid <= 1'b0;
      known_q    <= 1'b0;
      follows_q  <= 1'b0;
      left_q     <= 10'(RUN_CELLS);
    end
  end

  // One becomes ready when it is done as the first of its queue, or becomes the first when it is done. `stays_3`: it
  // went to the output at once.
  wire push = (freed_q && done_q[follower_q]) || (came && first_q[came_job]);
  wire [JOB_W-1:0] push_job = freed_q ? follower_q : came_job;

  always_ff @(posedge clk) begin
    start_1     <= start;
    job_1       <= job;
    follows_1   <= start_follows;
    after_1     <= start_after;
    start_2     <= start_1;
    job_2       <= job_1;
    after_2     <= after_1;
    here_2      <= follows_1 && here && !(gone_q && gone_job_q == after_1);
    leaves_2    <= goes && next_job == after_1;
    gone_q      <= goes;
    gone_job_q  <= next_job;
    stays_1     <= stays;
    stays_2     <= stays_1;
    stays_3     <= freed_q && stays_2;
    freed_q     <= gone_q && led_q[gone_job_q];
    follower_q  <= follower;
    ready_valid <= push;
    ready_job   <= push_job;
    if (came) done_q[came_job] <= 1'b1;
    if (freed_q) first_q[follower_q] <= 1'b1;
    if (gone_q) here_q[gone_job_q] <= 1'b0;
    if (start_2) begin
      here_q[job_2]  <= 1'b1;
      first_q[job_2] <= !link;
      done_q[job_2]  <= 1'b0;
      led_q[job_2]   <= 1'b0;
    end
    if (start_2 && link) led_q[after_2] <= 1'b1;
    if (rst) begin
      here_q      <= '0;
      start_1     <= 1'b0;
      start_2     <= 1'b0;
      gone_q      <= 1'b0;
      freed_q     <= 1'b0;
      ready_valid <= 1'b0;
    end
  end

  stream_fifo #(
      .WIDTH(JOB_W),
      .DEPTH(JOBS)
  ) u_ready (
      .clk,
      .rst,
      .s_valid(ready_valid && !stays_3),
      .s_ready(unused_ready_1),
      .s_data (ready_job),
      .m_valid(head_valid),
      .m_ready(head_ready),
      .m_data (head_job),
      .count  (),
      .idle   ()
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!start || job_valid) else $error("%m: a job is started that is not there");
      assert (!done_valid || unused_ready_0) else $error("%m: a job is done twice");
      assert (!ready_valid || unused_ready_1) else $error("%m: a job is ready twice");
    end
  end
`else
  wire unused = &{1'b0, unused_ready_0, unused_ready_1};
`endif

endmodule
