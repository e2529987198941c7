// SPDX-License-Identifier: Apache-2.0
// Fetches the buffers that drivers have made available in packed virtqueues (VIRTIO 1.2, 2.8), for all queues of one
// side of the functions: reads descriptors ahead, follows chains and indirect tables, and gives the buffers out, queue
// by queue, as a flat list. A queue that is polled is told not to notify; before it rests it is told to notify again,
// and looked at once more.
// A fetch reads up to BURST descriptors, as many as the ring, or table, has up to the next multiple of BURST of them in
// memory, in whole beats, once there is room for BURST buffers; up to half of that after a fetch that saw the end of
// what was available. Of a queue one fetch is under way, of all READS: each
// has an ID of its own, so that none waits for another's memory. A table must lie at a multiple of 16.
// A queue that is not enabled begins no chain: buffers that were fetched and not taken are thrown away, but for the
// rest of a chain that the consumer has begun.
// Latency: 11 to 13 cycles and the bus's from a doorbell to the first address, and 12 from the last data to `fresh`,
// and one more each descriptor; 5 from a visit's begin to the first buffer; 4 from probe_queue to probe_quiet.
// Throughput: a turn in 2 cycles, a descriptor a cycle and 4 cycles a fetch; a buffer a cycle in a visit. Of one queue
// BURST descriptors in the memory's latency and 35 cycles: chains of one descriptor each; of chains of several, half.
// Backpressure: bells and `set` are always taken, the latter not in the first max(QUEUES, READS) cycles after a reset,
// and not more often than each fourth cycle. rready and bready are always high.
//
//  bells -> virtq_fetch_turns -- fetches --> virtq_fetch_bus <-> host memory
//             ^    ^                              | descriptors
//             |    |                              v
//             |    +--- where the next begins -- virtq_fetch_parse -- buffers --> virtq_fetch_visit <-> consumer
//             +----------------------------------------- room again ------------------+
//  u_config, u_progress and u_busy: what is set of each queue, where it is, whether a fetch of it is under way
module virtq_fetch
  import axi_pkg::*, host_pkg::*, virtq_fetch_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,       // number of function 0 beside accesses
    parameter int unsigned DATA_W = 512,
    parameter bit WRITABLE = 1'b0,          // the card writes the buffers
    parameter int unsigned DEPTH = 64,      // buffers kept of a queue
    parameter int unsigned READS = 16,
    parameter int unsigned BURST = 32,
    parameter bit GATED = 1'b0,             // a clock gate: see clock_gate
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned BYTES = DATA_W / 8
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               set_valid,   // one cycle: the queue's state is what `set` says
    input  logic [QUEUE_W-1:0] set_queue,
    // verilator lint_off UNUSEDSIGNAL
    input  virtq_t             set,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_quiet, // nothing of that queue is begun, given that it is not enabled
    input  logic               bell_valid,
    input  logic [QUEUE_W-1:0] bell_queue,

    output axi_req_t           m_req,
    output logic [DATA_W-1:0]  m_wdata,
    output logic [BYTES-1:0]   m_wstrb,
    input  axi_rsp_t           m_rsp,
    input  logic [DATA_W-1:0]  m_rdata,

    output logic               fresh_valid, // one cycle: the queue has buffers that it had not before
    output logic [QUEUE_W-1:0] fresh_queue,
    input  logic               open_valid,  // a visit begins
    output logic               open_ready,
    input  logic [QUEUE_W-1:0] open_queue,
    output logic               buffer_valid,
    input  logic               buffer_ready,
    output buffer_t            buffer,
    output logic               buffer_none, // the visit is open, and no further buffer is known of
    input  logic               close,       // one cycle: the visit ends, at the earliest in the cycle after its begin
    output logic               idle
);

  localparam int unsigned BEATS = BURST * DESCRIPTOR_BYTES / BYTES;
  localparam int unsigned BEAT_W = BEATS > 1 ? $clog2(BEATS) : 1;
  localparam int unsigned SLOT_W = $clog2(READS);
  localparam int unsigned WIPES = QUEUES > READS ? QUEUES : READS;
  localparam int unsigned WIPE_W = $clog2(WIPES + 1);

  // While fetches only wait for host memory, the clock rests.
  logic gated, rests;
  logic [QUEUE_W-1:0] probe_queue_q;
  clock_gate #(
      .GATED(GATED),
      .HOLD(6),  // until probe_quiet is of the state that is left
      .WATCHED(10)
  ) u_gate (
      .clk,
      .rst,
      .work   (set_valid || bell_valid || open_valid || m_rsp.rvalid || m_rsp.bvalid || probe_queue != probe_queue_q ||
               !rests),
      .watched({probe_quiet, m_req.arvalid, m_req.awvalid, m_req.wvalid, fresh_valid, open_ready, buffer_valid,
                buffer_none, rests, idle}),
      .gated
  );

  // ------------------------------------------------------------------------------------------- RAMs begin with zeros
  logic [WIPE_W-1:0] wipe_at_q;
  wire wipe = wipe_at_q != WIPE_W'(WIPES);
  wire [QUEUE_W-1:0] wipe_queue = QUEUE_W'(32'(wipe_at_q) < QUEUES ? wipe_at_q : '0);
  wire [SLOT_W-1:0] wipe_slot = SLOT_W'(wipe_at_q);
  always_ff @(posedge gated) begin
    if (wipe) wipe_at_q <= wipe_at_q + 1'b1;
    if (rst) wipe_at_q <= '0;
  end

  // --------------------------------------------------------------------------------------------- what queues are like
  wire restart = set_valid && set.enabled;
  logic [QUEUE_W-1:0] turn_queue, place_queue, fetch_queue, end_queue;
  logic turn_read, probe_busy, fetch_valid, end_valid;
  logic [1:0] busy;
  queue_t config_set, config_data;
  progress_t progress_set, progress_data, end_progress;

  assign config_set = '{
    enabled: set.enabled,
    indirect: set.indirect,
    size: set.size,
    ring: set.ring[63:4],
    device: set.device[63:2]
  };
  always_comb begin
    progress_set       = '0;
    progress_set.mode  = CONFIRM;  // whatever the structure says
    progress_set.off   = 1'b1;
    progress_set.place = set.start;
  end

  ram_fit #(
      .WIDTH($bits(queue_t)),
      .DEPTH(QUEUES)
  ) u_config (
      .clk(gated),
      .wr_en  (set_valid || wipe),
      .wr_addr(wipe ? wipe_queue : set_queue),
      .wr_data(wipe ? '0 : config_set),
      .rd_en  (turn_read),
      .rd_addr(turn_queue),
      .rd_data(config_data)
  );
  ram_fit #(
      .WIDTH($bits(progress_t)),
      .DEPTH(QUEUES)
  ) u_progress (
      .clk(gated),
      .wr_en  (restart || end_valid || wipe),
      .wr_addr(wipe ? wipe_queue : restart ? set_queue : end_queue),
      .wr_data(wipe ? '0 : restart ? progress_set : end_progress),
      .rd_en  (turn_read),
      .rd_addr(turn_queue),
      .rd_data(progress_data)
  );

  virtq_fetch_flags #(
      .QUEUES(QUEUES),
      .READERS(3)
  ) u_busy (
      .clk(gated),
      .wipe,
      .wipe_queue,
      .set        (fetch_valid),
      .set_queue  (fetch_queue),
      .clear      (end_valid),
      .clear_queue(end_queue),
      .rd_queue   ({place_queue, turn_queue, probe_queue_q}),
      .rd_flag    ({busy, probe_busy})
  );

  logic probe_mid;
  logic [2:0] quiet_q;
  assign probe_quiet = quiet_q[2];
  always_ff @(posedge gated) begin
    probe_queue_q <= probe_queue;
    quiet_q       <= {quiet_q[1:0], !probe_busy && !probe_mid && !wipe};
  end

  // ----------------------------------------------------------------------------------------------------------- turns
  // The consumer's turns come first, then that of a queue that was set, then the one after a fetch, which can wait.
  logic visit_turn, set_turn_q, mid, turns_idle;
  logic [QUEUE_W-1:0] visit_queue, set_queue_q;
  logic [7:0] taken;
  fetch_t fetch;
  job_t job;
  wire end_hold = set_valid || set_turn_q || visit_turn;
  always_ff @(posedge gated) begin
    if (!visit_turn) set_turn_q <= 1'b0;
    if (restart) begin
      set_turn_q  <= 1'b1;
      set_queue_q <= set_queue;
    end
    if (rst) set_turn_q <= 1'b0;
  end

  virtq_fetch_turns #(
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .DATA_W(DATA_W),
      .DEPTH(DEPTH),
      .READS(READS),
      .BURST(BURST)
  ) u_turns (
      .clk(gated),
      .rst,
      .wipe,
      .wipe_queue,
      .hold      (set_valid),
      .bell_valid,
      .bell_queue,
      .turn_valid(visit_turn || set_turn_q || end_valid),
      .turn_queue(visit_turn ? visit_queue : set_turn_q ? set_queue_q : end_queue),
      .now_queue (turn_queue),
      .read      (turn_read),
      .config_data,
      .progress_data,
      .mid,
      .taken,
      .place_queue,
      .busy,
      .free_valid(end_valid),
      .fetch_valid,
      .fetch_queue,
      .fetch,
      .job,
      .idle      (turns_idle)
  );

  // --------------------------------------------------------------------------------------------------------- fetches
  logic [SLOT_W-1:0] job_slot, done_slot, rd_slot, end_slot;
  logic rd_en;
  logic [BEAT_W-1:0] rd_beat;
  logic [DATA_W-1:0] rd_data;
  logic done_valid, done_ready, done_failed, end_fresh, bus_rests, bus_idle, parse_idle;
  logic [5:0] done_seen;
  logic [QUEUE_W-1:0] done_queue;
  fetch_t done_fetch;

  virtq_fetch_bus #(
      .DATA_W(DATA_W),
      .READS (READS),
      .BURST (BURST)
  ) u_bus (
      .clk(gated),
      .rst,
      .wipe,
      .wipe_slot,
      .job_valid (fetch_valid),
      .job_slot,
      .job,
      .done_valid,
      .done_ready,
      .done_slot,
      .done_failed,
      .done_seen,
      .free_valid(end_valid),
      .free_slot (end_slot),
      .rd_en,
      .rd_slot,
      .rd_beat,
      .rd_data,
      .m_req,
      .m_wdata,
      .m_wstrb,
      .m_rsp,
      .m_rdata,
      .rests     (bus_rests),
      .idle      (bus_idle)
  );
  ram_dist #(
      .WIDTH(QUEUE_W + $bits(fetch_t)),
      .DEPTH(READS)
  ) u_fetches (
      .clk(gated),
      .wr_en  (fetch_valid),
      .wr_addr(job_slot),
      .wr_data({fetch_queue, fetch}),
      .rd_addr(done_slot),
      .rd_data({done_queue, done_fetch})
  );

  logic put_valid;
  logic [QUEUE_W-1:0] put_queue;
  logic [7:0] put_place;
  buffer_t put_buffer;
  virtq_fetch_parse #(
      .QUEUES(QUEUES),
      .DATA_W(DATA_W),
      .READS(READS),
      .BURST(BURST),
      .WRITABLE(WRITABLE)
  ) u_parse (
      .clk(gated),
      .rst,
      .hold        (end_hold),
      .done_valid,
      .done_ready,
      .done_slot,
      .done_failed,
      .done_seen,
      .done_queue,
      .done_fetch,
      .rd_en,
      .rd_slot,
      .rd_beat,
      .rd_data,
      .buffer_valid(put_valid),
      .buffer_queue(put_queue),
      .buffer_place(put_place),
      .buffer      (put_buffer),
      .end_valid,
      .end_queue,
      .end_slot,
      .end_progress,
      .end_fresh,
      .idle        (parse_idle)
  );

  // -------------------------------------------------------------------------------------------------------- consumer
  // A visit that is open knows of new buffers before `fresh` is said.
  logic visit_idle;
  logic [2:0] fresh_q;
  logic [2:0][QUEUE_W-1:0] fresh_queue_q;
  assign fresh_valid = fresh_q[2];
  assign fresh_queue = fresh_queue_q[2];
  always_ff @(posedge gated) begin
    fresh_q       <= {fresh_q[1:0], end_valid && end_fresh};
    fresh_queue_q <= {fresh_queue_q[1:0], end_queue};
    if (rst) fresh_q <= '0;
  end

  virtq_fetch_visit #(
      .QUEUES(QUEUES),
      .DEPTH (DEPTH)
  ) u_visit (
      .clk(gated),
      .rst,
      .wipe,
      .wipe_queue,
      .set_valid,
      .set_queue,
      .set_enabled(set.enabled),
      .wr_valid   (put_valid),
      .wr_queue   (put_queue),
      .wr_place   (put_place),
      .wr_buffer  (put_buffer),
      .end_valid,
      .end_queue,
      .end_put    (end_progress.put),
      .ask_queue  (turn_queue),
      .taken,
      .mid,
      .probe_queue(probe_queue_q),
      .probe_mid,
      .turn_valid (visit_turn),
      .turn_queue (visit_queue),
      .open_valid,
      .open_ready,
      .open_queue,
      .buffer_valid,
      .buffer_ready,
      .buffer,
      .buffer_none,
      .close,
      .idle       (visit_idle)
  );

  assign rests = !wipe && turns_idle && bus_rests && parse_idle && visit_idle && !set_turn_q && fresh_q == '0;
  assign idle  = rests && bus_idle;

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  logic [QUEUES-1:0] fetches_q;
  always_ff @(posedge gated) begin
    if (end_valid) fetches_q[end_queue] <= 1'b0;
    if (fetch_valid) fetches_q[fetch_queue] <= 1'b1;
    if (rst) fetches_q <= '0;
    if (checks) begin
      assert (!fetch_valid || !fetches_q[fetch_queue]) else $error("%m: two fetches of a queue");
      assert (!set_valid || !wipe) else $error("%m: a queue is set right after the reset");
      assert (!restart || !set_turn_q) else $error("%m: queues are set too fast");
      assert (!set_valid || !set.enabled || set.ring[3:0] == 0) else $error("%m: a ring at no multiple of 16");
      assert (!set_valid || !set.enabled || (set.size != 0 && set.size <= 16'd32768)) else $error("%m: a ring's size");
    end
  end
`endif

endmodule
