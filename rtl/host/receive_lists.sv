// SPDX-License-Identifier: Apache-2.0
// The lists of frames that wait for buffers, one a queue. Half of the cells are queues' own, in equal shares; of the
// others SPARE stay free for frames that come in, and all queues share the rest. A frame enters if its queue is enabled
// and has no more cells with it than its own, or beyond these no more than twice the shared ones that are free then;
// else it is dropped. So one queue alone gets two thirds of what is shared, and many that take all they get leave some.
// The first one of a queue is taken by `pop`, but its cells count until they are freed, and those of the shared ones
// until the queue is looked at: by its next frame or pop, or in its turn when there is neither.
// When a frame comes into an empty list, the queue wants a turn.
// Latency: 2 cycles from a pop to what it found. Throughput: a frame or a pop a cycle, of the same queue in 3; frames
// go first, and every other one lets a pop go.
// Backpressure: frame_ready is low while drops, turns or cells to free aren't taken.
module receive_lists
  import host_pkg::HEADER_BYTES;
  import receive_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned CELLS = 256,
    parameter int unsigned SPARE = 36,      // cells of the longest frame
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               wipe,
    input  logic [QUEUE_W-1:0] wipe_queue,
    input  logic               change_valid,    // the queue is enabled, or not
    input  logic [QUEUE_W-1:0] change_queue,
    input  logic               change_enabled,
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_waiting,   // frames of it are in the list; 1 cycle later

    // verilator lint_off UNUSEDSIGNAL
    input  logic               freed_valid,     // so many cells of the queue's were freed since reset, modulo
    input  logic [QUEUE_W-1:0] freed_queue,
    input  cells_t             freed_cells,
    // verilator lint_on UNUSEDSIGNAL

    input  logic               frame_valid,
    output logic               frame_ready,
    // verilator lint_off UNUSEDSIGNAL
    input  frame_t             frame,           // with the widest numbers
    // verilator lint_on UNUSEDSIGNAL
    input  logic               pop_valid,
    output logic               pop_ready,
    input  logic [QUEUE_W-1:0] pop_queue,
    output logic               popped_valid,    // one cycle, for each pop in turn
    output logic               popped_none,     // else:
    output cell_t              popped_first,
    output bytes_t             popped_total,    // bytes of header and frame
    output logic               popped_valid_sum,

    output logic               turn_valid,
    input  logic               turn_ready,
    output logic [QUEUE_W-1:0] turn_queue,
    output logic               drop_valid,
    input  logic               drop_ready,
    output event_t             drop,
    output logic               free_valid,
    input  logic               free_ready,
    output cell_t              free_first,
    output cells_t             free_cells,
    output logic               rests,        // and nothing is looked at
    output logic               idle
);

  localparam int unsigned CELL_W = $clog2(CELLS);
  localparam int unsigned OWN = CELLS / (2 * QUEUES);
  localparam int unsigned OTHERS = CELLS - OWN * QUEUES;
  localparam int unsigned SHARED = OTHERS > 2 * SPARE ? OTHERS - SPARE : SPARE;  // the longest enters

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "receive_lists: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (CELLS < 16 || CELLS > 4096 || 2 ** CELL_W != CELLS) begin : gen_bad_cells
    $fatal(1, "receive_lists: CELLS must be a power of two from 16 to 4096, not %0d", CELLS);
  end
  if (SPARE < 1 || SPARE > CELLS / 2) begin : gen_bad_spare
    $fatal(1, "receive_lists: SPARE must be 1 to half of CELLS, not %0d", SPARE);
  end

  typedef logic [CELL_W-1:0] at_t;
  typedef logic [CELL_W:0] number_t;
  typedef struct packed {
    number_t frames;
    number_t cells;  // that came in since reset, modulo
    number_t beyond; // as noted: of its cells those that are shared ones
    at_t     head;
    at_t     tail;   // first cells of the first and last frame
  } list_t;

  // ------------------------------------------------------------------------------- one after the other of each queue
  // Stage 1: the queue's words are there. Stage 2: the frame's; what either decision leads to is worked out. Stage 3:
  // it is decided, and noted.
  typedef struct packed {
    logic               pop;
    logic               look;
    logic [QUEUE_W-1:0] owner;
    end_t               what;
    logic               valid_sum;
    at_t                first;
    number_t            cells;
    bytes_t             bytes;
  } work_t;

  logic valid1_q, valid2_q, valid3_q, room, after_frame_q;
  work_t work, work1_q, work2_q;
  // verilator lint_off UNUSEDSIGNAL
  work_t work3_q;  // whether it is a pop, `removes` tells
  // verilator lint_on UNUSEDSIGNAL
  wire frame_conflict = (valid1_q && work1_q.owner == QUEUE_W'(frame.owner))
      || (valid2_q && work2_q.owner == QUEUE_W'(frame.owner));
  wire pop_conflict = (valid1_q && work1_q.owner == pop_queue) || (valid2_q && work2_q.owner == pop_queue);
  wire frame_go = frame_valid && room && !frame_conflict && !wipe;
  wire pop_go = pop_valid && !pop_conflict && !wipe;
  wire pop_first = pop_go && (!frame_go || after_frame_q);
  wire go = frame_go || pop_go;

  number_t shared_q;  // that are free
  logic [QUEUE_W-1:0] look_q;
  wire look_conflict = (valid1_q && work1_q.owner == look_q) || (valid2_q && work2_q.owner == look_q);
  logic some_q;       // some are not
  wire look_go = !go && !look_conflict && !wipe && some_q;
  always_ff @(posedge clk) begin
    some_q <= shared_q != number_t'(SHARED);
    if (look_go) look_q <= 32'(look_q) == QUEUES - 1 ? '0 : look_q + 1'b1;
    if (rst) look_q <= '0;
  end

  assign frame_ready = frame_go && !pop_first;
  assign pop_ready   = pop_first;
  always_comb begin
    work.pop       = pop_first;
    work.look      = !pop_first && !frame_go;
    work.owner     = pop_first ? pop_queue : frame_go ? QUEUE_W'(frame.owner) : look_q;
    work.what      = frame.what;
    work.valid_sum = frame.valid_sum;
    work.first     = at_t'(frame.first);
    work.cells     = number_t'(frame.cells);
    work.bytes     = frame.bytes;
  end

  // What is noted in this cycle is taken from there.
  logic hit_q;
  list_t listed_word, noted_q, list1, list2_q, list3_q, list_next;
  number_t freed1, over2_q;  // over2_q: cells that it has, less OWN; may be below 0
  logic listed2_q, enabled2, valid_sum2;
  at_t next2, next3_q;
  bytes_t total2;
  wire note_pop = work3_q.owner == pop_queue;
  wire note_frame = work3_q.owner == QUEUE_W'(frame.owner);
  wire note_look = work3_q.owner == look_q;
  assign list1 = hit_q ? noted_q : listed_word;

  always_ff @(posedge clk) begin
    valid1_q  <= go || look_go;
    valid2_q  <= valid1_q;
    valid3_q  <= valid2_q;
    work1_q   <= work;
    work2_q   <= work1_q;
    work3_q   <= work2_q;
    hit_q     <= valid3_q && (pop_first ? note_pop : frame_go ? note_frame : note_look);
    noted_q   <= list_next;
    list2_q   <= list1;
    list3_q   <= list2_q;
    next3_q   <= next2;
    listed2_q <= list1.frames != 0;
    over2_q   <= list1.cells - freed1;
    if (go) after_frame_q <= !pop_first;
    if (rst) begin
      valid1_q      <= 1'b0;
      valid2_q      <= 1'b0;
      valid3_q      <= 1'b0;
      after_frame_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ what is decided
  typedef logic [CELL_W+1:0] sum_t;
  wire sum_t over_in2 = {over2_q[CELL_W], over2_q} + sum_t'(work2_q.cells);  // if it enters
  wire whole2 = work2_q.what == WHOLE;
  wire arrives2 = valid2_q && !work2_q.pop && !work2_q.look;
  logic listed3_q, several3_q, arrives3_q, may_enter3_q, removes, own_fits3_q, off3_q;
  sum_t over_in3_q, need3_q;                              // need: shared ones more than noted; may be below 0
  number_t beyond_in3_q, beyond_out3_q, given_in3_q, given_out3_q;  // _in: if it enters; given: to the shared ones
  number_t frames3_q, cells_in3_q;
  bytes_t total3_q;
  always_ff @(posedge clk) begin
    listed3_q      <= listed2_q;
    several3_q     <= list2_q.frames > 1;
    arrives3_q     <= arrives2;
    may_enter3_q   <= arrives2 && whole2 && enabled2;
    removes        <= valid2_q && work2_q.pop && listed2_q;
    off3_q         <= whole2 && !enabled2;
    own_fits3_q    <= $signed(over_in2) <= 0;
    over_in3_q     <= over_in2;
    need3_q        <= over_in2 - sum_t'(list2_q.beyond);
    beyond_in3_q   <= over_in2[CELL_W+1] ? '0 : number_t'(over_in2);
    beyond_out3_q  <= over2_q[CELL_W] ? '0 : over2_q;
    given_in3_q    <= over_in2[CELL_W+1] ? list2_q.beyond : list2_q.beyond - over2_q - work2_q.cells;
    given_out3_q   <= list2_q.beyond - (over2_q[CELL_W] ? '0 : over2_q);
    frames3_q      <= work2_q.pop ? list2_q.frames - 1'b1 : list2_q.frames + 1'b1;
    cells_in3_q    <= list2_q.cells + work2_q.cells;
    total3_q       <= work2_q.bytes + bytes_t'(HEADER_BYTES);
  end

  wire shared_fits = $signed(need3_q) <= $signed(sum_t'(shared_q)) && over_in3_q <= {shared_q, 1'b0};
  wire enters = may_enter3_q && (own_fits3_q || shared_fits);
  wire number_t shared_in = shared_q + given_in3_q;
  wire number_t shared_out = shared_q + given_out3_q;
  always_ff @(posedge clk) begin
    if (valid3_q) shared_q <= enters ? shared_in : shared_out;
    if (rst) shared_q <= number_t'(SHARED);
  end

  always_comb begin
    list_next = list3_q;
    list_next.beyond = enters ? beyond_in3_q : beyond_out3_q;
    if (removes || enters) list_next.frames = frames3_q;
    if (removes) list_next.head = next3_q;
    if (enters) begin
      list_next.cells = cells_in3_q;
      list_next.tail  = work3_q.first;
      if (!listed3_q) list_next.head = work3_q.first;
    end
  end

  ram_fit #(
      .WIDTH($bits(list_t)),
      .DEPTH(QUEUES)
  ) u_lists (
      .clk,
      .wr_en  (wipe || valid3_q),
      .wr_addr(wipe ? wipe_queue : work3_q.owner),
      .wr_data(wipe ? '0 : list_next),
      .rd_en  (1'b1),
      .rd_addr(work.owner),
      .rd_data(listed_word)
  );
  ram_fit #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_waiting (
      .clk,
      .wr_en  (wipe || enters || removes),
      .wr_addr(wipe ? wipe_queue : work3_q.owner),
      .wr_data(!wipe && (enters || several3_q)),
      .rd_en  (1'b1),
      .rd_addr(probe_queue),
      .rd_data(probe_waiting)
  );
  ram_fit #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_enabled (
      .clk,
      .wr_en  (wipe || change_valid),
      .wr_addr(wipe ? wipe_queue : change_queue),
      .wr_data(!wipe && change_enabled),
      .rd_en  (1'b1),
      .rd_addr(work1_q.owner),
      .rd_data(enabled2)
  );
  // With OWN added
  ram_fit #(
      .WIDTH(CELL_W + 1),
      .DEPTH(QUEUES)
  ) u_freed (
      .clk,
      .wr_en  (wipe || freed_valid),
      .wr_addr(wipe ? wipe_queue : freed_queue),
      .wr_data((wipe ? '0 : number_t'(freed_cells)) + number_t'(OWN)),
      .rd_en  (1'b1),
      .rd_addr(work.owner),
      .rd_data(freed1)
  );
  // By a frame's first cell: what it is, and the frame that follows it.
  ram_fit #(
      .WIDTH($bits(bytes_t) + 1),
      .DEPTH(CELLS)
  ) u_frames (
      .clk,
      .wr_en  (enters),
      .wr_addr(work3_q.first),
      .wr_data({work3_q.valid_sum, total3_q}),
      .rd_en  (1'b1),
      .rd_addr(list1.head),
      .rd_data({valid_sum2, total2})
  );
  ram_fit #(
      .WIDTH(CELL_W),
      .DEPTH(CELLS)
  ) u_following (
      .clk,
      .wr_en  (enters && listed3_q),
      .wr_addr(list3_q.tail),
      .wr_data(work3_q.first),
      .rd_en  (1'b1),
      .rd_addr(list1.head),
      .rd_data(next2)
  );

  assign popped_valid     = valid2_q && work2_q.pop;
  assign popped_none      = !listed2_q;
  assign popped_first     = cell_t'(list2_q.head);
  assign popped_total     = total2;
  assign popped_valid_sum = valid_sum2;

  // --------------------------------------------------------------------------------------------------- who is told
  // There is room in each queue for what is under way from `work` on.
  logic [4:0] turns, drops, frees;
  logic [2:0] idles;
  logic turns_ready, drops_ready, frees_ready;
  logic tell_turn_q, tell_drop_q, tell_free_q, off_q;
  logic [QUEUE_W-1:0] owner_q;
  at_t first_q;
  number_t cells_q;
  bytes_t bytes_q;
  always_ff @(posedge clk) begin
    room        <= turns < 8 && drops < 8 && frees < 8;
    tell_turn_q <= enters && !listed3_q;
    tell_drop_q <= arrives3_q && work3_q.what != CUT && !enters;
    tell_free_q <= arrives3_q && !enters && work3_q.cells != 0;
    off_q       <= off3_q;
    owner_q     <= work3_q.owner;
    first_q     <= work3_q.first;
    cells_q     <= work3_q.cells;
    bytes_q     <= work3_q.bytes;
    if (rst) begin
      tell_turn_q <= 1'b0;
      tell_drop_q <= 1'b0;
      tell_free_q <= 1'b0;
    end
  end

  stream_fifo #(
      .WIDTH(QUEUE_W),
      .DEPTH(16)
  ) u_turns (
      .clk,
      .rst,
      .s_valid(tell_turn_q),
      .s_ready(turns_ready),
      .s_data (owner_q),
      .m_valid(turn_valid),
      .m_ready(turn_ready),
      .m_data (turn_queue),
      .count  (turns),
      .idle   (idles[0])
  );
  stream_fifo #(
      .WIDTH($bits(event_t)),
      .DEPTH(16)
  ) u_drops (
      .clk,
      .rst,
      .s_valid(tell_drop_q),
      .s_ready(drops_ready),
      .s_data (event_t'{queue_t'(owner_q), off_q ? EVENT_OFF : EVENT_FULL, bytes_q}),
      .m_valid(drop_valid),
      .m_ready(drop_ready),
      .m_data (drop),
      .count  (drops),
      .idle   (idles[1])
  );
  stream_fifo #(
      .WIDTH(2 * CELL_W + 1),
      .DEPTH(16)
  ) u_frees (
      .clk,
      .rst,
      .s_valid(tell_free_q),
      .s_ready(frees_ready),
      .s_data ({first_q, cells_q}),
      .m_valid(free_valid),
      .m_ready(free_ready),
      .m_data ({free_first[CELL_W-1:0], free_cells[CELL_W:0]}),
      .count  (frees),
      .idle   (idles[2])
  );
  if (CELL_W < 12) begin : gen_rest
    assign free_first[11:CELL_W]   = '0;
    assign free_cells[12:CELL_W+1] = '0;
  end
  assign rests = idle && !some_q && !valid1_q && !valid2_q && !valid3_q;
  assign idle = (!valid1_q || work1_q.look) && (!valid2_q || work2_q.look) && (!valid3_q || work3_q.look)
      && !tell_turn_q && !tell_drop_q && !tell_free_q && &idles;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (turns_ready && drops_ready && frees_ready || !(tell_turn_q || tell_drop_q || tell_free_q))
      else $error("%m: a frame's fate is lost");
      assert (shared_q <= number_t'(SHARED)) else $error("%m: more cells are shared than there are");
    end
  end
`else
  wire unused = &{1'b0, turns_ready, drops_ready, frees_ready};
`endif

endmodule
