// SPDX-License-Identifier: Apache-2.0
// Jobs and cells that are free, and those that a queue's ended packets gave back: what host_transmit begins packets by.
// Of the jobs OWN are each queue's own, and the rest are shared: a job is of the one kind or the other.
// Cells count as taken when they are reserved, and as free when the output has read them.
// Latency: counts follow a start or a reservation after 1 cycle, and what becomes free after 2; a queue's counts come a
// cycle after look, a probed one's always.
module transmit_room #(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned JOBS = 64,
    parameter int unsigned CELLS = 256,
    parameter int unsigned OWN = 2,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned JOB_W = $clog2(JOBS),
    localparam int unsigned JOBS_W = $clog2(JOBS + 1),
    localparam int unsigned CELLS_W = $clog2(CELLS + 1)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               wipe,          // of wipe_queue
    input  logic [QUEUE_W-1:0] wipe_queue,

    input  logic               start,         // a job
    input  logic               start_own,     // the queue's own
    input  logic [JOB_W-1:0]   start_job,
    input  logic [CELLS_W-1:0] reserve,       // cells, in any cycle
    input  logic [CELLS_W-1:0] give_back,     // of those, not needed after all
    input  logic               freed,         // a cell
    input  logic [CELLS_W-1:0] waiting,       // cells of a packet that waits for nothing but the output now
    input  logic               end_valid,     // a job: one in two cycles
    input  logic [JOB_W-1:0]   end_job,
    input  logic [QUEUE_W-1:0] end_queue,
    input  logic [CELLS_W-1:0] end_cells,

    output logic [ JOBS_W-1:0] jobs,          // free ones
    output logic [ JOBS_W-1:0] shared,        // of these, not queues' own
    output logic [CELLS_W-1:0] cells,         // not reserved
    output logic               crowded,       // packets that wait for the output take a quarter of the cells
    input  logic               look,
    input  logic [QUEUE_W-1:0] look_queue,
    output logic [ JOBS_W-1:0] look_jobs,     // of the queue's, how many ended, modulo
    output logic [ JOBS_W-1:0] look_own,
    output logic [CELLS_W-1:0] look_cells,
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic [ JOBS_W-1:0] probe_jobs,
    output logic               idle           // all is free
);

  if (OWN * QUEUES > JOBS) begin : gen_bad_own
    $fatal(1, "transmit_room: OWN must leave each queue so many of %0d jobs, not be %0d", JOBS, OWN);
  end

  logic [JOBS_W-1:0] jobs_q, shared_q;
  logic [CELLS_W-1:0] cells_q, waiting_q;
  logic crowded_q, end_own, freed_q, add_q, add_own_q, start_q, start_own_q;
  logic [JOB_W-1:0] start_job_q;

  assign jobs    = jobs_q;
  assign shared  = shared_q;
  assign cells   = cells_q;
  assign crowded = crowded_q;
  assign idle    = jobs_q == JOBS_W'(JOBS) && cells_q == CELLS_W'(CELLS);

  always_ff @(posedge clk) begin
    start_q     <= start;
    start_own_q <= start_own;
    start_job_q <= start_job;
    freed_q     <= freed;
    jobs_q      <= jobs_q + JOBS_W'(add_q) - JOBS_W'(start);
    shared_q    <= shared_q + JOBS_W'(add_q && !add_own_q) - JOBS_W'(start && !start_own);
    cells_q     <= cells_q + give_back + CELLS_W'(freed_q) - reserve;
    waiting_q   <= waiting_q + waiting - CELLS_W'(freed_q);
    crowded_q   <= waiting_q >= CELLS_W'(CELLS / 4);
    if (rst) begin
      jobs_q    <= JOBS_W'(JOBS);
      shared_q  <= JOBS_W'(JOBS - OWN * QUEUES);
      cells_q   <= CELLS_W'(CELLS);
      waiting_q <= '0;
      crowded_q <= 1'b0;
      freed_q   <= 1'b0;
      start_q   <= 1'b0;
    end
  end

  ram_dist #(
      .WIDTH(1),
      .DEPTH(JOBS)
  ) u_own (
      .clk,
      .wr_en  (start_q),
      .wr_addr(start_job_q),
      .wr_data(start_own_q),
      .rd_addr(end_job),
      .rd_data(end_own)
  );

  // ------------------------------------------------------------------------------------- what each queue's gave back
  localparam int unsigned WIDTH = 2 * JOBS_W + CELLS_W;

  logic conflict_q;
  logic [QUEUE_W-1:0] add_queue_q;
  logic [CELLS_W-1:0] add_cells_q, sum_cells, found_cells;
  logic [JOBS_W-1:0] sum_jobs, sum_own, found_jobs, found_own;
  logic [WIDTH-1:0] written_q;
  wire wr_en = wipe || add_q;
  wire [QUEUE_W-1:0] wr_addr = wipe ? wipe_queue : add_queue_q;
  wire [WIDTH-1:0] wr_data = wipe ? '0 : {sum_jobs + 1'b1, sum_own + JOBS_W'(add_own_q),
                                               sum_cells + add_cells_q};

  always_ff @(posedge clk) begin
    add_q       <= end_valid;
    add_own_q   <= end_own;
    add_queue_q <= end_queue;
    add_cells_q <= end_cells;
    written_q   <= wr_data;
    conflict_q  <= wr_en && wr_addr == look_queue;
    if (rst) add_q <= 1'b0;
  end

  ram_fit #(
      .WIDTH(WIDTH),
      .DEPTH(QUEUES)
  ) u_sums (
      .clk,
      .wr_en,
      .wr_addr,
      .wr_data,
      .rd_en  (end_valid),
      .rd_addr(end_queue),
      .rd_data({sum_jobs, sum_own, sum_cells})
  );

  ram_fit #(
      .WIDTH(WIDTH),
      .DEPTH(QUEUES)
  ) u_look (
      .clk,
      .wr_en,
      .wr_addr,
      .wr_data,
      .rd_en  (look),
      .rd_addr(look_queue),
      .rd_data({found_jobs, found_own, found_cells})
  );

  ram_fit #(
      .WIDTH(JOBS_W),
      .DEPTH(QUEUES)
  ) u_probe (
      .clk,
      .wr_en,
      .wr_addr,
      .wr_data(wr_data[WIDTH-1-:JOBS_W]),
      .rd_en  (1'b1),
      .rd_addr(probe_queue),
      .rd_data(probe_jobs)
  );

  assign {look_jobs, look_own, look_cells} = conflict_q ? written_q : {found_jobs, found_own, found_cells};

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!end_valid || !add_q) else $error("%m: jobs end in two cycles that follow each other");
      assert (32'(reserve) <= 32'(cells_q)) else $error("%m: cells are reserved that are not free");
    end
  end
`endif

endmodule
