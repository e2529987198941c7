// SPDX-License-Identifier: Apache-2.0
// Says which queue is looked at next, and at what: takes a queue whose turn it is, and begins a fetch for it if there
// is one to begin. A queue has a turn when it is set, when its fetch has ended, when its consumer took buffers
// (`turn`), and when its doorbell rings (`bell`); the latter wait in a list of their own, so that a driver who rings
// all the time delays no other queue by more than every second turn. What a turn finds no place for, because the
// queue's fetch is under way or its buffers have no room, comes up again when that has changed.
// Latency: 4 cycles from a turn to the fetch, and 2 or 3 in the list. Throughput: a turn in 2 cycles.
// Backpressure: none; a turn waits until one of the READS fetches is free.
module virtq_fetch_turns
  import host_pkg::*, virtq_fetch_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned DEPTH = 32,
    parameter int unsigned READS = 16,
    parameter int unsigned BURST = 16,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               wipe,
    input  logic [QUEUE_W-1:0] wipe_queue,
    input  logic               hold,         // what is kept of a queue is being written: no reading in this cycle

    input  logic               bell_valid,
    input  logic [QUEUE_W-1:0] bell_queue,
    input  logic               turn_valid,
    input  logic [QUEUE_W-1:0] turn_queue,

    output logic [QUEUE_W-1:0] now_queue,    // whose turn it is
    output logic               read,         // with the data of RAMs in the next cycle, and the others in this one
    input  queue_t             config_data,
    input  progress_t          progress_data,
    input  logic               mid,          // the consumer has taken some of a chain
    input  logic [7:0]         taken,
    output logic [QUEUE_W-1:0] place_queue,  // whose turn it was two cycles earlier
    input  logic [1:0]         busy,         // a fetch is under way: of place_queue, of now_queue

    input  logic               free_valid,   // one cycle: a fetch is over
    output logic               fetch_valid,  // one cycle, and none in the next
    output logic [QUEUE_W-1:0] fetch_queue,
    output fetch_t             fetch,
    output job_t               job,
    output logic               idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "virtq_fetch_turns: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "virtq_fetch_turns: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (FIRST + (QUEUES - 1) / PAIRS > 65535) begin : gen_bad_first
    $fatal(1, "virtq_fetch_turns: FIRST must leave all functions 16 bits, not %0d", FIRST);
  end
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : gen_bad_data_w
    $fatal(1, "virtq_fetch_turns: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (READS < 1 || READS > 128) begin : gen_bad_reads
    $fatal(1, "virtq_fetch_turns: READS must be 1 to 128, not %0d", READS);
  end
  if (BURST < 4 || BURST > 32 || 2 ** $clog2(BURST) != BURST) begin : gen_bad_burst
    $fatal(1, "virtq_fetch_turns: BURST must be a power of two from 4 to 32, not %0d", BURST);
  end
  if (DEPTH < BURST || DEPTH > 128 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "virtq_fetch_turns: DEPTH must be a power of two from BURST to 128, not %0d", DEPTH);
  end

  localparam int unsigned LANES = DATA_W / (8 * DESCRIPTOR_BYTES);
  localparam int unsigned BURST_W = $clog2(BURST);
  localparam int unsigned HALF = BURST / 2;

  // ----------------------------------------------------------------------------------------------------------- turns
  logic turn_waits, bell_waits, turn_taken, bell_taken, turns_idle, bells_idle;
  logic [QUEUE_W-1:0] turn_next, bell_next;

  virtq_fetch_list #(
      .QUEUES(QUEUES)
  ) u_turns (
      .clk,
      .rst,
      .wipe,
      .wipe_queue,
      .s_valid(turn_valid),
      .s_queue(turn_queue),
      .m_valid(turn_waits),
      .m_ready(turn_taken),
      .m_queue(turn_next),
      .idle   (turns_idle)
  );
  virtq_fetch_list #(
      .QUEUES(QUEUES)
  ) u_bells (
      .clk,
      .rst,
      .wipe,
      .wipe_queue,
      .s_valid(bell_valid),
      .s_queue(bell_queue),
      .m_valid(bell_waits),
      .m_ready(bell_taken),
      .m_queue(bell_next),
      .idle   (bells_idle)
  );

  // A doorbell is remembered until a look at the ring begins.
  logic rung;
  virtq_fetch_flags #(
      .QUEUES(QUEUES)
  ) u_rung (
      .clk,
      .wipe,
      .wipe_queue,
      .set        (bell_valid && !wipe),
      .set_queue  (bell_queue),
      .clear      (fetch_valid),
      .clear_queue(fetch_queue),
      .rd_queue   (now_queue),
      .rd_flag    (rung)
  );

  // ---------------------------------------------------------------------------------------------------------- a turn
  // Steps: RAMs are read; what they say is kept; where the descriptors lie; how many of them to read, and the fetch
  // begins. A turn is chosen when the first is free: so each step has its registers for two cycles. Another turn of the
  // queue may be one step of these ahead: then the fetch that it began shows in `busy` by the third.
  localparam int unsigned FREE_W = $clog2(READS + 1);
  logic read_q, keep_q, place_q, count_q, bell_last_q;
  logic [FREE_W-1:0] free_q;  // fetches that neither are under way nor may be begun by a turn
  logic some_q, begun_q, freed_q;
  logic [QUEUE_W-1:0] keep_queue_q;
  wire choose = !read_q && some_q && !wipe;
  wire step = read_q && !hold;
  assign bell_taken = choose && bell_waits && !(turn_waits && bell_last_q);
  assign turn_taken = choose && turn_waits && !bell_taken;
  assign read       = read_q;

  queue_t config_q;
  progress_t progress_q;
  logic busy_q, mid_q, rung_q, want_q, room_q;
  logic [7:0] taken_q;
  logic [15:0] user_q, left_q;
  logic [59:0] addr_q;
  logic [5:0] to_end_q;
  wire [7:0] held = progress_q.put - taken_q;
  wire [BURST_W-1:0] place_low = progress_q.in_table ? BURST_W'(progress_q.entry)
      : BURST_W'(config_q.ring) + BURST_W'(progress_q.place.index);
  wire all = progress_q.in_table || progress_q.eager;
  wire [4:0] first = 5'(32'(addr_q) % LANES);
  wire [5:0] count = left_q < 16'(to_end_q) ? 6'(left_q) : to_end_q;

  always_ff @(posedge clk) begin
    if (step) read_q <= 1'b0;
    if (bell_taken || turn_taken) begin
      read_q      <= 1'b1;
      bell_last_q <= bell_taken;
      now_queue   <= bell_taken ? bell_next : turn_next;
    end
    if (step) begin
      keep_queue_q <= now_queue;
      busy_q       <= busy[0];
      mid_q        <= mid;
      rung_q       <= rung;
      taken_q      <= taken;
    end
    if (keep_q) begin
      place_queue <= keep_queue_q;
      config_q    <= config_data;
      progress_q  <= progress_data;
    end
    if (place_q) begin
      fetch_queue <= place_queue;
      user_q      <= 16'(FIRST) + 16'(place_queue) / 16'(PAIRS);
      addr_q      <= progress_q.in_table ? progress_q.entry : config_q.ring + 60'(progress_q.place.index);
      left_q      <= progress_q.in_table ? progress_q.entries : config_q.size - 16'(progress_q.place.index);
      to_end_q    <= all ? 6'(BURST) - 6'(place_low) : 6'(HALF) - 6'(32'(place_low) % HALF);
      room_q      <= held <= 8'(DEPTH - BURST);
      // A queue that is not enabled reads what is left of the chain that its consumer has begun, and no other.
      want_q <= !busy_q && !busy[1] && !progress_q.stopped &&
          (config_q.enabled ? progress_q.slots != 0 || progress_q.mode != REST || rung_q
                            : progress_q.slots != 0 && mid_q);
    end
    keep_q  <= step;
    place_q <= keep_q;
    count_q <= place_q;
    // A turn counts when the next one may be chosen; what it leaves, and what ends, a cycle later.
    begun_q <= bell_taken || turn_taken;
    freed_q <= free_valid;
    some_q  <= free_q > FREE_W'(begun_q);
    free_q  <= free_q - FREE_W'(begun_q) + FREE_W'(count_q && !fetch_valid) + FREE_W'(freed_q);
    if (rst) begin
      read_q      <= 1'b0;
      keep_q      <= 1'b0;
      place_q     <= 1'b0;
      count_q     <= 1'b0;
      begun_q     <= 1'b0;
      freed_q     <= 1'b0;
      some_q      <= 1'b0;
      free_q      <= FREE_W'(READS);
      bell_last_q <= 1'b0;
    end
  end

  // The driver is told once that it needn't notify, with the look that follows one that found something.
  wire enable = progress_q.mode == CONFIRM && config_q.enabled;
  wire quieten = progress_q.mode == POLL && !progress_q.off && config_q.enabled;

  assign fetch_valid = count_q && want_q && room_q;
  always_comb begin
    fetch.indirect = config_q.indirect;
    fetch.size     = config_q.size;
    fetch.count    = count;
    fetch.first    = first;
    fetch.from     = progress_q;
    fetch.from.off = (progress_q.off || quieten) && !enable;
    job.write      = enable || quieten;
    job.enable     = enable;
    job.device     = config_q.device;
    job.addr       = addr_q;
    job.beats      = 8'((32'(first) + 32'(count) - 1) / LANES);
    job.wrap       = progress_q.place.wrap;
    job.user       = user_q;
  end
  assign idle = turns_idle && bells_idle && !read_q && !keep_q && !place_q && !count_q;

endmodule
