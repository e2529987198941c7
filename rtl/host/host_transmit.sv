// SPDX-License-Identifier: Apache-2.0
// Transmit side of virtual functions: takes the chains of descriptors that virtq_fetch delivers, reads the packets that
// they hold from host memory, as many as JOBS at once and data in any order, and sends their frames. Buffers may be of
// any number, length and alignment; checksums are put in where the driver asks for it. Frames of a queue go out in
// order, those of different queues as they are complete.
// With SEGMENT, frames of up to 65,600 bytes are cut into segments of TCP where the driver asks for it (`segment`);
// the store must have room for two of them. They count as one packet each, of the bytes that the driver gave.
// Dropped, counted and used: frames shorter than 14 bytes or longer than MAX_FRAME, those to be cut into segments
// that can't be, and those whose checksum lies outside. An error of host memory, or a failed buffer, fails the queue:
// its chain and those after it are dropped and not used, until the queue is set again.
// A queue is set max(QUEUES, JOBS) + 4 cycles after a reset at the earliest; until then `idle` is low.
// A function with a rate (pace_*) begins no packet that comes too early: its driver waits, others don't.
// Latency: 28 to 43 cycles beside host memory's, 9 more with SEGMENT. Throughput: a beat of host memory and one of
// m_axis a cycle, a packet in 5 cycles, of one queue alone in 8; at most JOBS packets or a share of the cells are under
// way.
// Backpressure: m_axis may stall for any time; then no more is read than the cells hold. rready is low for a cycle
// at a time, when a packet's last data make two beats. A queue that waits for its memory holds up no other.
//
//  buffers -> transmit_gather -- pieces --> transmit_reads --> host memory
//                 | jobs   | chains             | expected        |
//                 v        v                    v                 v data
//  transmit_order      u_chains          transmit_assemble <------+
//    ^        |            |                    | beats: -> cell_store ------------------+
//    | done   | next       |                    v                                       v
//    +--------|------------|------------- transmit_sum                           transmit_output -> segment -> m_axis
//             +------------+-> transmit_verdict ------------- going --------------------^ |         (SEGMENT)
//                                                                                         +-> used
//  transmit_room counts the cells that queues have.
module host_transmit
  import axi_pkg::*;
  import host_pkg::*;
  import transmit_pkg::*;
  import offload_pkg::request_t, offload_pkg::LONGEST_CUT;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned STORE_KB = 64,
    parameter int unsigned JOBS = 128,
    parameter int unsigned MAX_FRAME = 9216,
    parameter bit SEGMENT = 1'b0,
    parameter bit GATED = 1'b0,       // clock gates: see clock_gate
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned JOBS_W = $clog2(JOBS + 1),
    localparam int unsigned FUNCTIONS = (QUEUES + PAIRS - 1) / PAIRS,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [63:0]        time_ns,

    input  logic               set_valid,
    input  logic [QUEUE_W-1:0] set_queue,
    // verilator lint_off UNUSEDSIGNAL
    input  virtq_t             set,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_quiet,
    output logic               idle,
    output logic [63:0]        wake_ns,      // no function may send before; all ones: none waits for its time

    input  logic               pace_valid,   // sets a function's rate: transmit_pace
    input  logic [FUNCTION_W-1:0] pace_function,
    input  logic [BYTE_TIME_W-1:0] pace_time,

    input  logic               fresh_valid,
    input  logic [QUEUE_W-1:0] fresh_queue,
    output logic               open_valid,
    input  logic               open_ready,
    output logic [QUEUE_W-1:0] open_queue,
    input  logic               buffer_valid,
    output logic               buffer_ready,
    input  buffer_t            buffer,
    input  logic               buffer_none,
    output logic               close,

    output axi_req_t           m_axi_req,    // reads only; arid is below JOBS
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t           m_axi_rsp,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [ DATA_W-1:0] m_axi_rdata,

    output logic               m_axis_tvalid,
    input  logic               m_axis_tready,
    output logic [ DATA_W-1:0] m_axis_tdata,
    output logic [  BYTES-1:0] m_axis_tkeep,
    output logic               m_axis_tlast,
    output logic [QUEUE_W-1:0] m_axis_queue, // the same on each beat of a frame

    output logic [QUEUE_W-1:0] room_queue,   // virtq_used
    output logic [ JOBS_W-1:0] room_begun,
    output logic [ JOBS_W-1:0] room_begun_all,
    input  logic               room,
    output logic               used_valid,
    input  logic               used_ready,
    output logic [QUEUE_W-1:0] used_queue,
    output used_t              used,
    output logic               fail_valid,
    output logic [QUEUE_W-1:0] fail_queue,
    output fault_t             fail_fault,
    output logic               packet,       // is sent, of event_queue
    output logic               dropped,
    output logic [QUEUE_W-1:0] event_queue,
    output logic [FRAME_W-1:0] event_bytes   // of the frame, with packet
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "host_transmit: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (STORE_KB < 4 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "host_transmit: STORE_KB must be a power of two from 4 to 1024, not %0d", STORE_KB);
  end

  localparam int unsigned CELLS = STORE_KB * 1024 / CELL_BYTES;
  localparam int unsigned CELL_BEATS = CELL_BYTES / BYTES;
  localparam int unsigned CELL_W = $clog2(CELLS);
  localparam int unsigned CELLS_W = $clog2(CELLS + 1);
  localparam int unsigned BEAT_W = $clog2(CELL_BEATS);
  localparam int unsigned JOB_W = $clog2(JOBS);
  localparam int unsigned LANE_W = $clog2(BYTES);
  localparam int unsigned LONGEST = SEGMENT ? LONGEST_CUT : MAX_FRAME;
  localparam int unsigned INDEX_W = $clog2((LONGEST + BYTES - 1) / BYTES + 2);
  localparam int unsigned WIPES = QUEUES > JOBS ? QUEUES : JOBS;
  localparam int unsigned WIPE_W = $clog2(WIPES);

  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [JOB_W-1:0] job_t;
  typedef logic [CELLS_W-1:0] cells_t;

  // The clock of all but `segment`
  logic gated, rests, frame_tvalid;
  queue_t probe_queue_q;
  clock_gate #(
      .GATED(GATED),
      .HOLD(4),  // until probe_quiet is of the state that is left
      .WATCHED(9)
  ) u_gate (
      .clk,
      .rst,
      .work   (set_valid || pace_valid || fresh_valid || m_axi_rsp.rvalid || probe_queue != probe_queue_q || !rests),
      .watched({probe_quiet, open_valid, m_axi_req.arvalid, frame_tvalid, used_valid, fail_valid, packet, dropped,
                rests}),
      .gated
  );
  always_ff @(posedge gated) probe_queue_q <= probe_queue;

  // After a reset, RAMs are wiped.
  logic wipe_q;
  logic [WIPE_W-1:0] wipe_at_q;
  wire queue_t wipe_queue = queue_t'(wipe_at_q);
  wire job_t wipe_job = job_t'(wipe_at_q);

  always_ff @(posedge gated) begin
    wipe_at_q <= wipe_at_q + 1'b1;
    if (wipe_at_q == WIPE_W'(WIPES - 1)) wipe_q <= 1'b0;
    if (rst) begin
      wipe_q    <= 1'b1;
      wipe_at_q <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------ chains to reads
  logic look, crowded, job_valid, start, start_own, start_follows, chain_valid, piece_valid, piece_ready, visit, freed;
  logic [JOBS_W-1:0] look_jobs, look_own, jobs, shared, started_jobs, ended_jobs;
  cells_t look_cells, cells, reserve, give_back, waiting_q;
  job_t job, start_after, chain_job, piece_job, came_of, asked_of, next_job, ready_job, end_job, done_job;
  chain_t chain, record_chain;
  piece_t piece;
  logic [BURST_W:0] came, asked;
  queue_t look_queue, visit_queue, next_queue, record_queue_q, end_queue;
  logic gather_rests, gather_idle, room_idle, over_valid, end_valid;
  logic [8:0] over_cells, end_cells;
  job_t over_job;
  queue_t over_queue;

  transmit_gather #(
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .JOBS(JOBS),
      .CELLS(CELLS),
      .MAX_FRAME(LONGEST)
  ) u_gather (
      .clk(gated),
      .rst,
      .time_ns,
      .pace_valid,
      .pace_function,
      .pace_time,
      .wake_ns,
      .wipe        (wipe_q),
      .wipe_queue,
      .wipe_job,
      .set_valid,
      .set_queue,
      .set_enabled (set.enabled),
      .set_checksum(set.checksum),
      .fail_valid,
      .fail_queue,
      .fresh_valid,
      .fresh_queue,
      .open_valid,
      .open_ready,
      .open_queue,
      .buffer_valid,
      .buffer_ready,
      .buffer,
      .buffer_none,
      .close,
      .look,
      .look_queue,
      .look_jobs,
      .look_own,
      .look_cells,
      .shared,
      .cells,
      .crowded,
      .reserve,
      .give_back,
      .used_room   (room),
      .begun_jobs  (room_begun),
      .job_valid,
      .job,
      .start,
      .start_own,
      .start_follows,
      .start_after,
      .chain_valid,
      .chain_job,
      .chain,
      .piece_valid,
      .piece_ready,
      .piece_job,
      .piece,
      .came_of,
      .came,
      .asked_of,
      .asked,
      .probe_queue,
      .probe_jobs  (started_jobs),
      .visit,
      .visit_queue,
      .owner_of    (next_job),
      .owner       (next_queue),
      .rests       (gather_rests),
      .idle        (gather_idle)
  );

  transmit_room #(
      .QUEUES(QUEUES),
      .JOBS(JOBS),
      .CELLS(CELLS),
      .OWN(JOBS / (2 * QUEUES))
  ) u_room (
      .clk(gated),
      .rst,
      .wipe       (wipe_q),
      .wipe_queue,
      .start,
      .start_own,
      .start_job  (job),
      .reserve,
      .give_back,
      .freed,
      .waiting    (waiting_q),
      .end_valid,
      .end_job,
      .end_queue,
      .end_cells  (cells_t'(end_cells)),
      .jobs,
      .shared,
      .cells,
      .crowded,
      .look,
      .look_queue,
      .look_jobs,
      .look_own,
      .look_cells,
      .probe_queue,
      .probe_jobs (ended_jobs),
      .idle       (room_idle)
  );

  logic note, token_valid, token_ready, reads_idle, arvalid;
  job_t note_job, token_job, arid;
  logic [BURST_W-1:0] note_slot;
  burst_t note_burst;
  logic [63:0] araddr;
  logic [7:0] arlen;
  logic [15:0] aruser;

  transmit_reads #(
      .DATA_W(DATA_W),
      .JOBS(JOBS)
  ) u_reads (
      .clk(gated),
      .rst,
      .s_valid(piece_valid),
      .s_ready(piece_ready),
      .s_job  (piece_job),
      .s_piece(piece),
      .note,
      .note_job,
      .note_slot,
      .note_burst,
      .token_valid,
      .token_ready,
      .token_job,
      .arvalid,
      .arready(m_axi_rsp.arready),
      .arid,
      .araddr,
      .arlen,
      .aruser,
      .idle   (reads_idle)
  );

  logic rready;
  assign m_axi_req = '{
          arvalid: arvalid,
          arid: 8'(arid),
          araddr: araddr,
          arlen: arlen,
          arsize: 3'(LANE_W),
          arburst: 2'b01,
          aruser: aruser,
          rready: rready,
          bready: 1'b1,
          default: '0
      };

  // -------------------------------------------------------------------------------------------------- data to cells
  logic alloc_valid, alloc_ready, link, write, beat_valid, beat_header, assemble_done, record_en, assemble_idle;
  logic [CELL_W-1:0] alloc_cell, link_cell, link_next, write_cell, record_cell, next_of, next_cell, read_cell;
  logic [BEAT_W-1:0] write_beat, read_beat;
  logic [INDEX_W-1:0] beat_index, record_beats;
  logic [LANE_W:0] beat_lanes;
  logic [DATA_W-1:0] beat_data, read_data;
  job_t beat_job;
  logic record_error, next_en, read, unused_error, sum_done, sum_idle;
  header_t record_header;
  logic [31:0] record_sum;
  logic [CELLS_W-1:0] unused_free;
  logic unused_store_idle;

  transmit_assemble #(
      .DATA_W(DATA_W),
      .JOBS(JOBS),
      .CELLS(CELLS),
      .INDEX_W(INDEX_W)
  ) u_assemble (
      .clk(gated),
      .rst,
      .wipe        (wipe_q),
      .wipe_job,
      .note,
      .note_job,
      .note_slot,
      .note_burst,
      .token_valid,
      .token_ready,
      .token_job,
      .came_of,
      .came,
      .asked_of,
      .asked,
      .rvalid      (m_axi_rsp.rvalid),
      .rready,
      .rid         (job_t'(m_axi_rsp.rid)),
      .rdata       (m_axi_rdata),
      .rerror      (m_axi_rsp.rresp >= SLVERR),
      .rlast       (m_axi_rsp.rlast),
      .alloc_valid,
      .alloc_ready,
      .alloc_cell,
      .link,
      .link_cell,
      .link_next,
      .write,
      .write_cell,
      .write_beat,
      .beat_valid,
      .beat_header,
      .beat_index,
      .beat_lanes,
      .beat_data,
      .done        (assemble_done),
      .done_error  (unused_error),
      .beat_job,
      .record_en,
      .record_job  (next_job),
      .record_cell,
      .record_beats,
      .record_error,
      .idle        (assemble_idle)
  );

  cell_store #(
      .DATA_W(DATA_W),
      .CELLS(CELLS),
      .CELL_BEATS(CELL_BEATS)
  ) u_store (
      .clk(gated),
      .rst,
      .alloc_valid,
      .alloc_ready,
      .alloc_cell,
      .free_valid(freed),
      .free_cell (read_cell),
      .free      (unused_free),
      .link_en   (link),
      .link_cell,
      .link_next,
      .next_en,
      .next_of,
      .next_cell,
      .wr_en     (write),
      .wr_cell   (write_cell),
      .wr_beat   (write_beat),
      .wr_data   (beat_data),
      .rd_en     (read),
      .rd_cell   (read_cell),
      .rd_beat   (read_beat),
      .rd_data   (read_data),
      .idle      (unused_store_idle)
  );

  transmit_sum #(
      .DATA_W(DATA_W),
      .JOBS(JOBS),
      .INDEX_W(INDEX_W)
  ) u_sum (
      .clk(gated),
      .rst,
      .s_valid      (beat_valid),
      .s_done       (assemble_done),
      .s_job        (beat_job),
      .s_header     (beat_header),
      .s_index      (beat_index),
      .s_lanes      (beat_lanes),
      .s_data       (beat_data),
      .done         (sum_done),
      .done_job,
      .record_en,
      .record_job   (next_job),
      .record_header,
      .record_sum,
      .idle         (sum_idle)
  );

  // -------------------------------------------------------------------------------------------------- frames go out
  logic ready_valid, next_valid, next_ready;
  logic [8:0] ready_cells, next_cells;

  transmit_order #(
      .JOBS(JOBS)
  ) u_order (
      .clk(gated),
      .rst,
      .job_valid,
      .job,
      .start,
      .start_follows,
      .start_after,
      .done_valid(sum_done),
      .done_job,
      .ready_valid,
      .ready_job,
      .next_valid,
      .next_ready,
      .next_job,
      .next_cells,
      .end_valid,
      .end_job
  );

  ram_fit #(
      .WIDTH($bits(chain_t)),
      .DEPTH(JOBS)
  ) u_chains (
      .clk(gated),
      .wr_en  (chain_valid),
      .wr_addr(chain_job),
      .wr_data(chain),
      .rd_en  (record_en),
      .rd_addr(next_job),
      .rd_data(record_chain)
  );

  for (genvar i = 0; i < 2; i++) begin : gen_cells
    logic [8:0] found;
    ram_dist #(
        .WIDTH(9),
        .DEPTH(JOBS)
    ) u_ram (
        .clk(gated),
        .wr_en  (chain_valid),
        .wr_addr(chain_job),
        .wr_data(chain.cells),
        .rd_addr(i == 0 ? ready_job : next_job),
        .rd_data(found)
    );
  end
  assign ready_cells = gen_cells[0].found;
  assign next_cells  = gen_cells[1].found;

  always_ff @(posedge gated) begin
    if (record_en) record_queue_q <= next_queue;
    waiting_q <= ready_valid ? cells_t'(ready_cells) : '0;
    if (rst) waiting_q <= '0;
  end

  logic verdict_valid, verdict_ready, verdict_patch, verdict_idle, output_idle;
  job_t verdict_job;
  queue_t verdict_queue;
  chain_t verdict_chain;
  logic [CELL_W-1:0] verdict_cell;
  logic [INDEX_W-1:0] verdict_beats;
  logic [FRAME_W-1:0] verdict_place;
  logic [15:0] verdict_value;
  request_t verdict_request, frame_request;
  logic verdict_packet, verdict_dropped, frame_tready, frame_tlast, gone, segment_idle, tell_q;
  logic going_valid, going_ready, going_idle;
  typedef struct packed {
    job_t               job;
    queue_t             from;
    chain_t             chain;
    logic [CELL_W-1:0]  first;
    logic [INDEX_W-1:0] beats;
    logic               patch;
    logic [FRAME_W-1:0] place;
    logic [15:0]        value;
    request_t           request;
  } going_t;
  going_t going;
  queue_t verdict_of, frame_queue;
  logic [FRAME_W-1:0] verdict_bytes;
  logic [DATA_W-1:0] frame_tdata;
  logic [BYTES-1:0] frame_tkeep;

  transmit_verdict #(
      .QUEUES(QUEUES),
      .JOBS(JOBS),
      .CELL_W(CELL_W),
      .INDEX_W(INDEX_W),
      .MAX_FRAME(MAX_FRAME),
      .SEGMENT(SEGMENT)
  ) u_verdict (
      .clk(gated),
      .rst,
      .wipe        (wipe_q),
      .wipe_queue,
      .set_valid,
      .set_queue,
      .set_enabled (set.enabled),
      .set_segment (set.segment),
      .next_valid,
      .next_ready,
      .next_job,
      .record_en,
      .record_queue(record_queue_q),
      .record_chain,
      .record_header,
      .record_sum,
      .record_cell,
      .record_beats,
      .record_error,
      .m_valid     (verdict_valid),
      .m_ready     (verdict_ready),
      .m_job       (verdict_job),
      .m_queue     (verdict_queue),
      .m_chain     (verdict_chain),
      .m_cell      (verdict_cell),
      .m_beats     (verdict_beats),
      .m_patch     (verdict_patch),
      .m_place     (verdict_place),
      .m_value     (verdict_value),
      .m_request   (verdict_request),
      .fail_valid,
      .fail_queue,
      .fail_fault,
      .packet      (verdict_packet),
      .dropped     (verdict_dropped),
      .event_queue (verdict_of),
      .event_bytes (verdict_bytes),
      .idle        (verdict_idle)
  );

  stream_reg #(
      .WIDTH($bits(going_t))
  ) u_going (
      .clk(gated),
      .rst,
      .s_valid(verdict_valid),
      .s_ready(verdict_ready),
      .s_data ({verdict_job, verdict_queue, verdict_chain, verdict_cell, verdict_beats, verdict_patch, verdict_place,
                verdict_value, verdict_request}),
      .m_valid(going_valid),
      .m_ready(going_ready),
      .m_data (going),
      .idle   (going_idle)
  );

  transmit_output #(
      .DATA_W(DATA_W),
      .QUEUES(QUEUES),
      .JOBS(JOBS),
      .CELLS(CELLS),
      .INDEX_W(INDEX_W),
      .SEGMENT(SEGMENT)
  ) u_output (
      .clk(gated),
      .rst,
      .s_valid  (going_valid),
      .s_ready  (going_ready),
      .s_job    (going.job),
      .s_queue  (going.from),
      .s_chain  (going.chain),
      .s_cell   (going.first),
      .s_beats  (going.beats),
      .s_patch  (going.patch),
      .s_place  (going.place),
      .s_value  (going.value),
      .s_request(going.request),
      .next_en,
      .next_of,
      .next_cell,
      .read,
      .read_cell,
      .read_beat,
      .read_data,
      .freed,
      .m_axis_tvalid (frame_tvalid),
      .m_axis_tready (frame_tready),
      .m_axis_tdata  (frame_tdata),
      .m_axis_tkeep  (frame_tkeep),
      .m_axis_tlast  (frame_tlast),
      .m_axis_queue  (frame_queue),
      .m_axis_request(frame_request),
      .gone,
      .used_valid,
      .used_ready,
      .used_queue,
      .used,
      .end_valid(over_valid),
      .end_job  (over_job),
      .end_queue(over_queue),
      .end_cells(over_cells),
      .idle   (output_idle)
  );
  always_ff @(posedge gated) begin
    end_valid <= over_valid;
    end_job   <= over_job;
    end_queue <= over_queue;
    end_cells <= over_cells;
    if (rst) end_valid <= 1'b0;
  end

  // What became of a frame to be cut is told when nothing else is.
  if (SEGMENT) begin : gen_segment
    logic judged, judged_good, told_good_q, tells, segment_clk;
    queue_t judged_queue, told_queue_q;
    logic [FRAME_W-1:0] judged_bytes, told_bytes_q;

    clock_gate #(
        .GATED(GATED),
        .WATCHED(5)
    ) u_segment_gate (
        .clk,
        .rst,
        .work   (frame_tvalid || !segment_idle),
        .watched({frame_tready, m_axis_tvalid, gone, judged, segment_idle}),
        .gated  (segment_clk)
    );
    segment #(
        .DATA_W(DATA_W),
        .QUEUES(QUEUES),
        .MAX_FRAME(MAX_FRAME)
    ) u_segment (
        .clk(segment_clk),
        .rst,
        .s_axis_tvalid (frame_tvalid),
        .s_axis_tready (frame_tready),
        .s_axis_tdata  (frame_tdata),
        .s_axis_tkeep  (frame_tkeep),
        .s_axis_tlast  (frame_tlast),
        .s_axis_queue  (frame_queue),
        .s_axis_request(frame_request),
        .m_axis_tvalid,
        .m_axis_tready,
        .m_axis_tdata,
        .m_axis_tkeep,
        .m_axis_tlast,
        .m_axis_queue,
        .gone,
        .judged,
        .judged_good,
        .judged_queue,
        .judged_bytes,
        .idle          (segment_idle)
    );

    assign tells       = tell_q && !verdict_packet && !verdict_dropped;
    assign packet      = verdict_packet || (tells && told_good_q);
    assign dropped     = verdict_dropped || (tells && !told_good_q);
    assign event_queue = tells ? told_queue_q : verdict_of;
    assign event_bytes = tells ? told_bytes_q : verdict_bytes;

    always_ff @(posedge gated) begin
      if (tells) tell_q <= 1'b0;
      if (judged) begin
        tell_q       <= 1'b1;
        told_good_q  <= judged_good;
        told_queue_q <= judged_queue;
        told_bytes_q <= judged_bytes;
      end
      if (rst) tell_q <= 1'b0;
    end
`ifndef SYNTHESIS
    always_ff @(posedge gated) if (!rst) assert (!judged || !tell_q || tells) else $error("%m: an event is lost");
`endif
  end else begin : gen_whole
    assign m_axis_tvalid = frame_tvalid;
    assign m_axis_tdata  = frame_tdata;
    assign m_axis_tkeep  = frame_tkeep;
    assign m_axis_tlast  = frame_tlast;
    assign m_axis_queue  = frame_queue;
    assign frame_tready  = m_axis_tready;
    assign gone          = frame_tvalid && frame_tready && frame_tlast;
    assign packet        = verdict_packet;
    assign dropped       = verdict_dropped;
    assign event_queue   = verdict_of;
    assign event_bytes   = verdict_bytes;
    assign segment_idle  = 1'b1;
    assign tell_q        = 1'b0;
    wire unused = &{1'b0, frame_request};
  end

  // A queue is quiet while no visit is under way and as many of its jobs ended as began.
  logic visited_q, quiet_q;
  wire visited = visit && visit_queue == probe_queue;
  always_ff @(posedge gated) begin
    visited_q <= visited;
    quiet_q   <= started_jobs == ended_jobs && !visited && !visited_q && !wipe_q;
  end
  assign probe_quiet = quiet_q;

  assign room_queue     = visit_queue;
  assign room_begun_all = JOBS_W'(JOBS) - jobs;

  wire rest_idle = !wipe_q && room_idle && reads_idle && assemble_idle && sum_idle && verdict_idle && going_idle &&
                   output_idle && !end_valid;
  assign rests = rest_idle && gather_rests && !tell_q;
  assign idle  = rest_idle && gather_idle && segment_idle;

endmodule
