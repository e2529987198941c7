// SPDX-License-Identifier: Apache-2.0
// Receive side of virtual functions: puts frames of any queue into the buffers that the queue's driver has made
// available (VIRTIO 1.2, 5.1.6.4), each behind a virtio-net header, and tells of each chain when all that was written
// is answered. Frames wait in cells, of which half are queues' own, and the others shared by all (receive_lists). What
// finds no room is dropped whole, as is a frame of a queue that is not enabled. A queue without buffers, or with a slow
// memory, holds up no other: what can't go on is put aside. Queues have turns by bytes. See receive_scatter,
// receive_tracker.
// A frame that waits for another chain when its queue is switched off is dropped, its last used chain had `more` then.
// Answers of up to 64 queues don't wait for each other; with more, queues whose numbers are equal modulo 64 do.
// fail: nothing of the queue becomes used any more until it is set again, and its frames are dropped.
// Latency: 30 cycles or so from a frame's last beat to its first address. Throughput: a beat a cycle into the cells and
// out of them; 3 cycles a frame of one buffer, and 9 a turn.
// Backpressure: s_axis_tready does not depend on hosts: it is low in the max(QUEUES, 64) cycles after a reset, in which
// `set` is not to come, and for a few when frames end faster than they can be listed, or than events are taken.
//
//  s_axis -> receive_input -- data --> cell_store ----------------------------------+
//                 | frames                ^ cells that are free: receive_free       |
//                 v                                                                 v
//           receive_lists -- frames --> receive_scatter -- u_pieces --> receive_shift --> host memory
//                 | queues                ^ turns  ^ buffers | runs                              | answers
//                 v                       |                  v                                   |
//  fresh ----> turn_list -----------------+            receive_tracker <-------------------------+
//                 ^                                          |  +-> used
//                 +--- queues that waited for room ----------+
module host_receive
  import axi_pkg::*;
  import host_pkg::*;
  import receive_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,         // number of function 0 beside accesses
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,
    parameter int unsigned MAX_FRAME = 9216,
    parameter bit GATED = 1'b0,               // a clock gate: see clock_gate
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned BYTES = DATA_W / 8
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               set_valid,     // at most every fourth cycle
    input  logic [QUEUE_W-1:0] set_queue,
    // verilator lint_off UNUSEDSIGNAL
    input  virtq_t             set,           // of it what frames need
    // verilator lint_on UNUSEDSIGNAL
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_quiet,   // none of its frames is here, of no chain an answer is missing

    input  logic               s_axis_tvalid,
    output logic               s_axis_tready,
    input  logic [ DATA_W-1:0] s_axis_tdata,
    input  logic [  BYTES-1:0] s_axis_tkeep,
    input  logic               s_axis_tlast,
    input  logic [QUEUE_W-1:0] s_axis_queue,
    input  logic               s_axis_cut,       // with tlast: the frame is dropped, and not counted
    input  logic               s_axis_valid_sum, // with tlast: its checksum is right

    // Of virtq_fetch
    input  logic               fresh_valid,   // at most every other cycle
    input  logic [QUEUE_W-1:0] fresh_queue,
    output logic               open_valid,
    input  logic               open_ready,
    output logic [QUEUE_W-1:0] open_queue,
    input  logic               buffer_valid,
    output logic               buffer_ready,
    input  buffer_t            buffer,
    input  logic               buffer_none,
    output logic               close,

    // Of virtq_used
    output logic [QUEUE_W-1:0] room_queue,
    output logic [15:0]        room_begun,
    output logic [15:0]        room_begun_all,
    input  logic               room,          // 4 cycles later: chains of it may begin
    output logic               used_valid,
    input  logic               used_ready,
    output logic [QUEUE_W-1:0] used_queue,
    output used_t              used,
    output logic               fail_valid,    // one cycle
    output logic [QUEUE_W-1:0] fail_queue,
    output fault_t             fail_fault,

    // Writes only; data beside
    output axi_req_t           axi_req,
    output logic [ DATA_W-1:0] axi_wdata,
    output logic [  BYTES-1:0] axi_wstrb,
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t           axi_rsp,
    // verilator lint_on UNUSEDSIGNAL

    output logic               event_valid,   // what became of a frame
    input  logic               event_ready,
    output logic [QUEUE_W-1:0] event_queue,
    output logic [        1:0] event_kind,    // 0 written; dropped: 1 chain too short, 2 no room, 3 queue not enabled
    output logic [       16:0] event_bytes,
    output logic               idle           // none is under way; frames may wait for buffers
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "host_receive: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (STORE_KB < 4 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "host_receive: STORE_KB must be a power of two from 4 to 1024, not %0d", STORE_KB);
  end
  if (MAX_FRAME < 64 || MAX_FRAME > 65600 || 2 * MAX_FRAME > STORE_KB * 1024) begin : gen_bad_max_frame
    $fatal(1, "host_receive: MAX_FRAME must be 64 to 65600, and half of STORE_KB at most, not %0d", MAX_FRAME);
  end

  localparam int unsigned CELLS = STORE_KB * 1024 / CELL_BYTES;
  localparam int unsigned CELL_W = $clog2(CELLS);
  localparam int unsigned CELL_BEATS = CELL_BYTES / BYTES;
  localparam int unsigned BEAT_W = $clog2(CELL_BEATS);
  localparam int unsigned ID_W = QUEUE_W < $clog2(MOST_IDS) ? QUEUE_W : $clog2(MOST_IDS);
  localparam int unsigned WIPES = QUEUES > 2 ** ID_W ? QUEUES : 2 ** ID_W;
  localparam int unsigned WIPE_W = $clog2(WIPES + 1);

  // While runs only wait for host memory's answers, the clock rests.
  logic gated, rests;
  logic [QUEUE_W-1:0] probe_queue_q;
  clock_gate #(
      .GATED(GATED),
      .HOLD(6),  // until probe_quiet is of the state that is left
      .WATCHED(9)
  ) u_gate (
      .clk,
      .rst,
      .work   (set_valid || s_axis_tvalid || fresh_valid || axi_rsp.bvalid || probe_queue != probe_queue_q || !rests),
      .watched({probe_quiet, s_axis_tready, open_valid, used_valid, fail_valid, event_valid, axi_req.awvalid,
                axi_req.wvalid, rests}),
      .gated
  );
  always_ff @(posedge gated) probe_queue_q <= probe_queue;

  // ------------------------------------------------------------------------------------------- RAMs begin with zeros
  logic [WIPE_W-1:0] wipe_at_q;
  wire wipe = wipe_at_q != WIPE_W'(WIPES);
  wire [QUEUE_W-1:0] wipe_queue = 32'(wipe_at_q) < QUEUES ? QUEUE_W'(wipe_at_q) : '0;
  wire [ID_W-1:0] wipe_id = ID_W'(wipe_at_q);
  always_ff @(posedge gated) begin
    if (wipe) wipe_at_q <= wipe_at_q + 1'b1;
    if (rst) wipe_at_q <= '0;
  end

  // ----------------------------------------------------------------------------------------------------------- cells
  logic give_valid, give_ready, alloc_valid, alloc_ready, cell_free_valid, link_en, next_en, wr_en, rd_en;
  logic [CELL_W-1:0] give_cell, alloc_cell, next_cell;
  // verilator lint_off UNUSEDSIGNAL
  // As wide as the most cells need
  cell_t cell_free, link_cell, next_of, wr_cell, rd_cell, shift_next_of, free_next_of;
  // verilator lint_on UNUSEDSIGNAL
  logic [BEAT_W-1:0] wr_beat, rd_beat;
  logic [DATA_W-1:0] wr_data, rd_data;
  logic shift_next_en, free_next_valid;
  assign next_en = shift_next_en || free_next_valid;
  assign next_of = shift_next_en ? shift_next_of : free_next_of;
  logic store_idle;

  cell_store #(
      .DATA_W(DATA_W),
      .CELLS(CELLS),
      .CELL_BEATS(CELL_BEATS)
  ) u_store (
      .clk(gated),
      .rst,
      .alloc_valid(give_valid),
      .alloc_ready(give_ready),
      .alloc_cell (give_cell),
      .free_valid(cell_free_valid),
      .free_cell (CELL_W'(cell_free)),
      .free      (),
      .link_en,
      .link_cell (CELL_W'(link_cell)),
      .link_next (alloc_cell),
      .next_en,
      .next_of   (CELL_W'(next_of)),
      .next_cell,
      .wr_en,
      .wr_cell   (CELL_W'(wr_cell)),
      .wr_beat,
      .wr_data,
      .rd_en,
      .rd_cell   (CELL_W'(rd_cell)),
      .rd_beat,
      .rd_data,
      .idle      (store_idle)
  );

  // Up to two cells wait to be taken.
  stream_reg #(
      .WIDTH(CELL_W)
  ) u_give (
      .clk(gated),
      .rst,
      .s_valid(give_valid),
      .s_ready(give_ready),
      .s_data (give_cell),
      .m_valid(alloc_valid),
      .m_ready(alloc_ready),
      .m_data (alloc_cell),
      .idle   ()
  );

  logic frame_valid, frame_ready, input_idle;
  frame_t frame;
  receive_input #(
      .DATA_W(DATA_W),
      .MAX_FRAME(MAX_FRAME)
  ) u_input (
      .clk(gated),
      .rst,
      .hold       (wipe),
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_queue(queue_t'(s_axis_queue)),
      .s_axis_cut,
      .s_axis_valid_sum,
      .alloc_valid,
      .alloc_ready,
      .alloc_cell (cell_t'(alloc_cell)),
      .link_en,
      .link_cell,
      .wr_en,
      .wr_cell,
      .wr_beat,
      .wr_data,
      .frame_valid,
      .frame_ready,
      .frame,
      .idle       (input_idle)
  );

  // ----------------------------------------------------------------------------------------------------------- lists
  logic [QUEUE_W-1:0] visited, list_queue, wake_queue, turn_queue, told_queue;
  logic change_enabled, pop_valid, pop_ready, popped_valid, popped_none, popped_sum, freed_valid;
  cell_t popped_first;
  bytes_t popped_total;
  cells_t freed_cells;
  logic list_valid, list_ready, drop_valid, drop_ready, probe_waiting, lists_rest, lists_idle;
  event_t drop;
  logic [1:0] free_valid, free_ready;
  cell_t [1:0] free_first;
  cells_t [1:0] free_cells;
  wire change = set_valid || fail_valid;
  wire [QUEUE_W-1:0] change_queue = set_valid ? set_queue : fail_queue;
  assign change_enabled = set_valid && set.enabled;

  receive_lists #(
      .QUEUES(QUEUES),
      .CELLS(CELLS),
      .SPARE((MAX_FRAME + CELL_BYTES - 1) / CELL_BYTES)
  ) u_lists (
      .clk(gated),
      .rst,
      .wipe,
      .wipe_queue,
      .change_valid    (change),
      .change_queue,
      .change_enabled,
      .probe_queue,
      .probe_waiting,
      .freed_valid,
      .freed_queue     (visited),
      .freed_cells,
      .frame_valid,
      .frame_ready,
      .frame,
      .pop_valid,
      .pop_ready,
      .pop_queue       (visited),
      .popped_valid,
      .popped_none,
      .popped_first,
      .popped_total,
      .popped_valid_sum(popped_sum),
      .turn_valid      (list_valid),
      .turn_ready      (list_ready),
      .turn_queue      (list_queue),
      .drop_valid,
      .drop_ready,
      .drop,
      .free_valid      (free_valid[0]),
      .free_ready      (free_ready[0]),
      .free_first      (free_first[0]),
      .free_cells      (free_cells[0]),
      .rests           (lists_rest),
      .idle            (lists_idle)
  );

  logic free_idle;
  receive_free u_free (
      .clk(gated),
      .rst,
      .s_valid   (free_valid),
      .s_ready   (free_ready),
      .s_first   (free_first),
      .s_cells   (free_cells),
      .next_valid(free_next_valid),
      .next_ready(!shift_next_en),
      .next_of   (free_next_of),
      .next_cell (cell_t'(next_cell)),
      .free_valid(cell_free_valid),
      .free_cell (cell_free),
      .idle      (free_idle)
  );

  // ----------------------------------------------------------------------------------------------------------- turns
  // What can't wait goes first: a queue that was set or failed, then what fetch tells of.
  logic told_valid, told_room, told_idle, wake_valid, turn_valid, turn_ready, turns_idle;
  logic change_q, again_valid, again_ready, more_valid, more_idle;
  logic [QUEUE_W-1:0] change_queue_q, more_queue;
  wire told_go = told_valid && !change_q;
  wire wake_go = wake_valid && !change_q && !told_valid;
  wire more_go = more_valid && !change_q && !told_valid && !wake_valid;
  assign list_ready = !change_q && !told_valid && !wake_valid && !more_valid;
  logic add_q, add_first_q, turn_first;
  logic [QUEUE_W-1:0] add_queue_q;
  always_ff @(posedge gated) begin
    change_q       <= change;
    change_queue_q <= change_queue;
    add_q          <= change_q || told_valid || wake_valid || more_valid || list_valid;
    add_queue_q    <= change_q ? change_queue_q : told_valid ? told_queue : wake_valid ? wake_queue
        : more_valid ? more_queue : list_queue;
    add_first_q    <= list_valid && list_ready;
    if (rst) begin
      change_q <= 1'b0;
      add_q    <= 1'b0;
    end
  end

  stream_reg #(
      .WIDTH(QUEUE_W)
  ) u_more (
      .clk(gated),
      .rst,
      .s_valid(again_valid),
      .s_ready(again_ready),
      .s_data (visited),
      .m_valid(more_valid),
      .m_ready(more_go),
      .m_data (more_queue),
      .idle   (more_idle)
  );

  stream_queue #(
      .WIDTH(QUEUE_W),
      .DEPTH(8)
  ) u_told (
      .clk(gated),
      .rst,
      .s_valid(fresh_valid),
      .s_ready(told_room),
      .s_data (fresh_queue),
      .m_valid(told_valid),
      .m_ready(told_go),
      .m_data (told_queue),
      .idle   (told_idle)
  );
  turn_list #(
      .ITEMS(QUEUES),
      .NEWCOMERS(1'b1)
  ) u_turns (
      .clk(gated),
      .rst,
      .add_valid(add_q),
      .add_item (add_queue_q),
      .add_first(add_first_q),
      .m_valid  (turn_valid),
      .m_ready  (turn_valid && turn_ready),
      .m_item   (turn_queue),
      .m_first  (turn_first),
      .idle     (turns_idle)
  );

  // --------------------------------------------------------------------------------------------------------- scatter
  logic plan_valid, plan_ready, piece_valid, piece_ready, pieces_idle, probe_begun, scatter_idle, shift_idle;
  logic run_room, blocked, begins, ends_valid, ends_ready, fault_valid, fault_ready, done_valid, events_ready;
  piece_t plan, piece;
  run_t begins_run;
  run_end_t ends;
  used_t ends_used;
  fault_t fault;
  event_t done;
  logic done_ready;
  assign room_queue = visited;

  receive_scatter #(
      .QUEUES(QUEUES)
  ) u_scatter (
      .clk(gated),
      .rst,
      .wipe,
      .wipe_queue,
      .set_valid,
      .set_queue,
      .set_enabled     (set.enabled),
      .set_mergeable   (set.mergeable),
      .set_checksum    (set.checksum),
      .fail_valid,
      .fail_queue,
      .probe_queue,
      .probe_begun,
      .turn_valid,
      .turn_ready,
      .turn_queue,
      .turn_urgent     (turn_valid && turn_first),
      .again_valid,
      .again_ready,
      .pop_valid,
      .pop_ready,
      .popped_valid,
      .popped_none,
      .popped_first,
      .popped_total,
      .popped_valid_sum(popped_sum),
      .freed_valid,
      .freed_cells,
      .open_valid,
      .open_ready,
      .open_queue,
      .buffer_valid,
      .buffer_ready,
      .buffer,
      .buffer_none,
      .close,
      .piece_valid     (plan_valid),
      .piece_ready     (plan_ready),
      .piece           (plan),
      .visited,
      .used_room       (room),
      .room            (run_room),
      .blocked,
      .begins,
      .begins_run,
      .ends_valid,
      .ends_ready,
      .ends,
      .ends_used,
      .fault_valid,
      .fault_ready,
      .fault,
      .event_valid     (done_valid),
      .event_ready     (done_ready),
      .what            (done),
      .idle            (scatter_idle)
  );

  stream_queue #(
      .WIDTH($bits(piece_t)),
      .DEPTH(8)
  ) u_pieces (
      .clk(gated),
      .rst,
      .s_valid(plan_valid),
      .s_ready(plan_ready),
      .s_data (plan),
      .m_valid(piece_valid),
      .m_ready(piece_ready),
      .m_data (piece),
      .idle   (pieces_idle)
  );

  receive_shift #(
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .DATA_W(DATA_W)
  ) u_shift (
      .clk(gated),
      .rst,
      .piece_valid,
      .piece_ready,
      .piece,
      .rd_en,
      .rd_cell,
      .rd_beat,
      .rd_data,
      .next_en   (shift_next_en),
      .next_of   (shift_next_of),
      .next_cell (cell_t'(next_cell)),
      .free_valid(free_valid[1]),
      .free_ready(free_ready[1]),
      .free_first(free_first[1]),
      .free_cells(free_cells[1]),
      .axi_req,
      .axi_wdata,
      .axi_wstrb,
      .axi_rsp,
      .idle      (shift_idle)
  );

  logic probe_running, tracker_rests, tracker_idle;
  receive_tracker #(
      .QUEUES(QUEUES)
  ) u_tracker (
      .clk(gated),
      .rst,
      .wipe,
      .wipe_queue,
      .wipe_id,
      .set_valid,
      .set_queue,
      .set_enabled(set.enabled),
      .probe_queue,
      .probe_running,
      .visited,
      .room       (run_room),
      .runs       (room_begun),
      .runs_all   (room_begun_all),
      .blocked,
      .begins,
      .begins_run,
      .burst      (plan_valid && plan_ready && plan.writes),
      .ends_valid,
      .ends_ready,
      .ends,
      .ends_used,
      .fault_valid,
      .fault_ready,
      .fault,
      .bvalid     (axi_rsp.bvalid),
      .bid        (ID_W'(axi_rsp.bid)),
      .bresp      (axi_rsp.bresp),
      .turn_valid (wake_valid),
      .turn_ready (wake_go),
      .turn_queue (wake_queue),
      .used_valid,
      .used_ready,
      .used_queue,
      .used,
      .fail_valid,
      .fail_queue,
      .fail_fault,
      .rests      (tracker_rests),
      .idle       (tracker_idle)
  );

  // ---------------------------------------------------------------------------------------------------------- events
  logic events_idle, waits_valid, waits_idle;
  event_t waits, told_event;
  assign drop_ready = events_ready && !waits_valid;
  stream_reg #(
      .WIDTH($bits(event_t))
  ) u_done (
      .clk(gated),
      .rst,
      .s_valid(done_valid),
      .s_ready(done_ready),
      .s_data (done),
      .m_valid(waits_valid),
      .m_ready(events_ready),
      .m_data (waits),
      .idle   (waits_idle)
  );
  stream_fifo #(
      .WIDTH(QUEUE_W + $bits(kind_t) + $bits(bytes_t)),
      .DEPTH(8)
  ) u_events (
      .clk(gated),
      .rst,
      .s_valid(waits_valid || drop_valid),
      .s_ready(events_ready),
      .s_data ({QUEUE_W'(told_event.owner), told_event.kind, told_event.bytes}),
      .m_valid(event_valid),
      .m_ready(event_ready),
      .m_data ({event_queue, event_kind, event_bytes}),
      .count  (),
      .idle   (events_idle)
  );
  assign told_event = waits_valid ? waits : drop;

  // ---------------------------------------------------------------------------------------------------------- quiet
  logic [2:0] waiting_q, begun_q;
  always_ff @(posedge gated) begin
    waiting_q   <= {waiting_q[1:0], probe_waiting};
    begun_q     <= {begun_q[1:0], probe_begun};
    probe_quiet <= !waiting_q[1] && !begun_q[0] && !probe_running && !wipe;
  end

  wire rest_idle = !wipe && input_idle && lists_idle && free_idle && told_idle && !change_q && more_idle && !add_q
      && turns_idle && scatter_idle && pieces_idle && shift_idle && waits_idle && events_idle;
  assign rests = rest_idle && lists_rest && tracker_rests;
  assign idle  = rest_idle && tracker_idle;

`ifndef SYNTHESIS
  always_ff @(posedge gated) begin
    if (!rst) begin
      assert (!fresh_valid || told_room) else $error("%m: fresh buffers are forgotten");
      assert (!set_valid || !wipe) else $error("%m: a queue is set while the RAMs are wiped");
    end
  end
`endif
  wire unused = &{1'b0, told_room, store_idle, waiting_q, begun_q};

endmodule
