// SPDX-License-Identifier: Apache-2.0
// Says which queue is looked at next, and at what: takes a queue whose turn it is, and begins a fetch for it if there
// is one to begin. A queue has a turn when it is set, when its fetch has ended, when its consumer took buffers
// (`turn`), and when its doorbell rings (`bell`); the latter wait in a list of their own, so that a driver who rings
// all the time delays no other queue by more than every second turn. What a turn finds no place for, because the
// queue's fetch is under way or its buffers have no room, comes up again when that has changed.
// Latency: 6 cycles from a turn to the fetch, and 2 or 3 in the list. Throughput: a turn in 6 cycles.
// Backpressure: none; a turn waits until one of the READS fetches is free.
module virtq_fetch_turns
  import host_pkg::*, virtq_fetch_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned DEPTH = 32,
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

    output logic [QUEUE_W-1:0] now_queue,     // whose turn it is
    output logic               read,         // with the data of RAMs in the next cycle, and the others in this one
    input  queue_t             config_data,
    input  progress_t          progress_data,
    input  logic               busy,
    input  logic               mid,          // the consumer has taken some of a chain
    input  logic [7:0]         taken,

    input  logic               fetch_ready,
    output logic               fetch_valid,  // one cycle; is ready since it was last
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
  if (BURST < 4 || BURST > 32 || 2 ** $clog2(BURST) != BURST) begin : gen_bad_burst
    $fatal(1, "virtq_fetch_turns: BURST must be a power of two from 4 to 32, not %0d", BURST);
  end
  if (DEPTH < BURST || DEPTH > 128 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "virtq_fetch_turns: DEPTH must be a power of two from BURST to 128, not %0d", DEPTH);
  end

  localparam int unsigned LANES = DATA_W / (8 * DESCRIPTOR_BYTES);
  localparam int unsigned BURST_W = $clog2(BURST);

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
      .clear_queue(now_queue),
      .rd_queue   (now_queue),
      .rd_flag    (rung)
  );

  // ---------------------------------------------------------------------------------------------------------- a turn
  typedef enum logic [2:0] {
    CHOOSE,
    READ,    // RAMs
    KEEP,    // what they say
    PLACE,   // where the descriptors lie
    COUNT,   // how many of them to read
    BEGIN
  } step_t;

  step_t step_q;
  logic bell_last_q;
  wire choose = step_q == CHOOSE && fetch_ready && !wipe;
  assign bell_taken = choose && bell_waits && !(turn_waits && bell_last_q);
  assign turn_taken = choose && turn_waits && !bell_taken;
  assign read       = step_q == READ;

  queue_t config_q;
  progress_t progress_q;
  logic busy_q, mid_q, rung_q, want_q, room_q;
  logic [7:0] taken_q;
  logic [15:0] user_q, left_q;
  logic [59:0] addr_q;
  logic [5:0] count_q;
  wire [7:0] held = progress_q.put - taken_q;
  wire [5:0] to_end = 6'(BURST) - 6'(addr_q[BURST_W-1:0]);
  wire [4:0] first = 5'(32'(addr_q) % LANES);

  always_ff @(posedge clk) begin
    unique case (step_q)
      CHOOSE: begin
        if (bell_taken || turn_taken) begin
          step_q      <= READ;
          bell_last_q <= bell_taken;
          now_queue   <= bell_taken ? bell_next : turn_next;
        end
      end
      READ: begin
        if (!hold) step_q <= KEEP;
        busy_q  <= busy;
        mid_q   <= mid;
        rung_q  <= rung;
        taken_q <= taken;
        user_q  <= 16'(FIRST) + 16'(now_queue) / 16'(PAIRS);
      end
      KEEP: begin
        step_q     <= PLACE;
        config_q   <= config_data;
        progress_q <= progress_data;
      end
      PLACE: begin
        step_q <= COUNT;
        addr_q <= progress_q.in_table ? progress_q.entry : config_q.ring + 60'(progress_q.place.index);
        left_q <= progress_q.in_table ? progress_q.entries : config_q.size - 16'(progress_q.place.index);
        room_q <= held <= 8'(DEPTH - BURST);
        // A queue that is not enabled reads what is left of the chain that its consumer has begun, and no other.
        want_q <= !busy_q && !progress_q.stopped &&
            (config_q.enabled ? progress_q.slots != 0 || progress_q.mode != REST || rung_q
                              : progress_q.slots != 0 && mid_q);
      end
      COUNT: begin
        step_q  <= want_q && room_q ? BEGIN : CHOOSE;
        count_q <= left_q < 16'(to_end) ? 6'(left_q) : to_end;
      end
      default: step_q <= CHOOSE;  // BEGIN
    endcase
    if (rst) begin
      step_q      <= CHOOSE;
      bell_last_q <= 1'b0;
    end
  end

  // The driver is told once that it needn't notify, with the look that follows one that found something.
  wire enable = progress_q.mode == CONFIRM && config_q.enabled;
  wire quieten = progress_q.mode == POLL && !progress_q.off && config_q.enabled;

  assign fetch_valid = step_q == BEGIN;
  always_comb begin
    fetch.indirect = config_q.indirect;
    fetch.size     = config_q.size;
    fetch.count    = count_q;
    fetch.first    = first;
    fetch.from     = progress_q;
    fetch.from.off = (progress_q.off || quieten) && !enable;
    job.write      = enable || quieten;
    job.enable     = enable;
    job.device     = config_q.device;
    job.addr       = addr_q;
    job.beats      = 8'((32'(first) + 32'(count_q) - 1) / LANES);
    job.wrap       = progress_q.place.wrap;
    job.user       = user_q;
  end
  assign idle = turns_idle && bells_idle && step_q == CHOOSE;

endmodule
