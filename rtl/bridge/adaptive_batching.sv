// SPDX-License-Identifier: Apache-2.0
// Chooses batch size and timeout of H2S, so that batches are as large as they can be while 99 of 100 packets reach
// software within target_ns: from a packet's arrival in its batch until software has done with the batch, and gives its
// buffer back.
// - service: the longest time of late from a batch's end to its return. Rises at once, falls by 1/64 at the end of each
//   window in which a batch came back. A batch that is still away at a window's end counts with its age.
// - handling: the same without the time for which earlier batches were before it; falls by 1/8.
// - timeout = target - target/16 - service, where service counts as half of the target until a batch has come back;
//   but at least handling * 9/8: shorter ones would give the host more messages than it can handle, and service would
//   grow without end. At least FLOOR_NS, at most most.timeout_ns.
// - bytes = most.bytes, halved (down to 2 KB) while one batch takes the host more than half of the target by itself;
//   at once most.bytes again when a batch closes while another one is away, for then fewer messages help.
// - single when in LONELY windows with packets, one after the other, no two packets came within a timeout: waiting
//   would bring no company. Not while a batch is away: if more packets come by then, they have company. Not any more as
//   soon as a batch closes while another one waits.
// All in units of 2^UNIT_LOG2 = 64 ns. Latency: 4 cycles from an event to what is chosen. All inputs may change in any
// cycle. `watch`: the next end of a window matters, wake up for it.
module adaptive_batching
  import bridge_pkg::*;
#(
    // Batches whose times are known; a later one's counts from when there is room. Software has no more of them.
    parameter int unsigned DEPTH = 32
) (
    input  logic        clk,
    input  logic        rst,
    // The batches under way are younger than 2^32 ns. The last bits are less than a unit.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63:0] time_ns,
    input  logic [31:0] target_ns,
    // verilator lint_on UNUSEDSIGNAL
    input  logic        enable,      // otherwise `most` is chosen
    input  batching_t   most,        // most bytes and longest timeout that may be chosen; single forces it
    input  logic        closed,      // a batch is closed
    input  logic        taken,       // software has taken a batch's message
    input  logic        posted,      // and gives a buffer: when it has batches, it has done with the oldest one
    input  logic        window,      // of the traffic analyser, and of the window that has ended:
    input  logic [31:0] packets,
    input  logic [31:0] gap_min,

    output batching_t   chosen,
    output logic [31:0] service_ns,
    output logic        watch,
    output logic        idle
);

  if (DEPTH < 2 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "adaptive_batching: DEPTH must be a power of two from 2, not %0d", DEPTH);
  end

  localparam int unsigned UNIT_LOG2 = 6, TIME_W = 32 - UNIT_LOG2;
  localparam int unsigned ADDR_W = $clog2(DEPTH);
  localparam int unsigned SERVICE_DECAY = 6, HANDLING_DECAY = 3, FLOOR_SHIFT = 3;
  localparam logic [TIME_W:0] FLOOR = (TIME_W + 1)'(512 >> UNIT_LOG2);
  localparam logic [16:0] LEAST_BYTES = 17'd2048;
  localparam logic [2:0] MOST_SHIFT = 3'd5;
  localparam logic [1:0] LONELY = 2'd3;

  typedef logic [TIME_W-1:0] time_t;

  // Batches that software has not done with
  logic [ADDR_W:0] wr_q, rd_q;
  logic [15:0] crowd_q;           // batches closed for whose time there was no room
  logic [ADDR_W:0] held_q;        // batches that software has
  logic waiting, full, pop, push, crowded, returned;
  time_t head, now, target;

  assign now      = time_ns[31:UNIT_LOG2];
  assign target   = target_ns[31:UNIT_LOG2];
  assign waiting  = wr_q != rd_q;
  assign full     = (wr_q ^ rd_q) == (ADDR_W + 1)'(DEPTH);
  assign returned = posted && held_q != 0;
  assign pop      = returned && waiting;
  assign push     = (closed && (!full || pop)) || (pop && crowd_q != 0);
  assign crowded  = closed && waiting;

  ram_dist #(
      .WIDTH(TIME_W),
      .DEPTH(DEPTH)
  ) u_closes (
      .clk,
      .wr_en  (push),
      .wr_addr(wr_q[ADDR_W-1:0]),
      .wr_data(now),
      .rd_addr(rd_q[ADDR_W-1:0]),
      .rd_data(head)
  );

  // How long the host takes
  time_t start_q;                 // when the host could begin with the oldest one
  time_t age_q, busy_q, service_q, handling_q;
  logic sample_q, ended_q, returned_q, queued_q;
  logic known_q;                  // a batch has come back

  always_ff @(posedge clk) begin
    if (taken && !returned && held_q != (ADDR_W + 1)'(DEPTH)) held_q <= held_q + 1'b1;
    if (returned && !taken) held_q <= held_q - 1'b1;
    if (push) wr_q <= wr_q + 1'b1;
    if (pop) rd_q <= rd_q + 1'b1;
    if (closed && full && !pop) crowd_q <= crowd_q + 1'b1;
    if (pop && crowd_q != 0 && !closed) crowd_q <= crowd_q - 1'b1;
    if (pop || !waiting) start_q <= now;

    sample_q   <= waiting && (returned || window);
    ended_q    <= window && returned_q;
    age_q      <= now - head;
    busy_q     <= now - start_q;
    returned_q <= returned || (returned_q && !window);
    queued_q   <= crowded || (queued_q && !window);
    known_q    <= known_q || pop;

    if (sample_q && age_q > service_q) service_q <= age_q;
    else if (ended_q) service_q <= service_q - (service_q >> SERVICE_DECAY);
    if (sample_q && busy_q > handling_q) handling_q <= busy_q;
    else if (ended_q) handling_q <= handling_q - (handling_q >> HANDLING_DECAY);
    if (rst) begin
      held_q     <= '0;
      wr_q       <= '0;
      rd_q       <= '0;
      crowd_q    <= '0;
      sample_q   <= 1'b0;
      ended_q    <= 1'b0;
      returned_q <= 1'b0;
      queued_q   <= 1'b0;
      known_q    <= 1'b0;
      service_q  <= '0;
      handling_q <= '0;
    end
  end

  // The choice
  logic [TIME_W:0] room_q;        // negative when service has eaten up the target
  logic [TIME_W:0] least_q, timeout;
  time_t timeout_q;
  logic [2:0] shift_q;
  logic [1:0] lonely_q;
  logic long_handling, limited_q;

  assign timeout       = room_q[TIME_W] || room_q < least_q ? least_q : room_q;
  assign long_handling = handling_q > target >> 1;

  always_ff @(posedge clk) begin
    room_q    <= {1'b0, target} - (TIME_W + 1)'(target >> 4) - {1'b0, known_q ? service_q : target >> 1};
    least_q   <= ({1'b0, handling_q} + (TIME_W + 1)'(handling_q >> FLOOR_SHIFT)) | FLOOR;
    limited_q <= most.timeout_ns != 0 && timeout > (TIME_W + 1)'(most.timeout_ns >> UNIT_LOG2);
    timeout_q <= timeout[TIME_W] ? '1 : timeout[TIME_W-1:0];

    if (ended_q && !queued_q) begin
      if (long_handling && shift_q != MOST_SHIFT) shift_q <= shift_q + 1'b1;
      if (!long_handling && shift_q != 0) shift_q <= shift_q - 1'b1;
    end
    if (window && packets != 0) begin
      if (time_t'(gap_min >> UNIT_LOG2) <= time_t'(chosen.timeout_ns >> UNIT_LOG2)) lonely_q <= '0;
      else if (lonely_q != LONELY) lonely_q <= lonely_q + 1'b1;
    end
    if (crowded) begin
      shift_q  <= '0;
      lonely_q <= '0;
    end
    if (rst) begin
      shift_q   <= '0;
      lonely_q  <= '0;
      room_q    <= '0;
      least_q   <= FLOOR;
      timeout_q <= FLOOR[TIME_W-1:0];
      limited_q <= 1'b0;
    end
  end

  logic [16:0] bytes;
  assign bytes = most.bytes >> shift_q;
  always_comb begin
    chosen = most;
    if (enable) begin
      chosen.single     = most.single || (lonely_q == LONELY && !waiting);
      if (!limited_q) chosen.timeout_ns = {timeout_q, UNIT_LOG2'(0)};
      if (bytes >= LEAST_BYTES) chosen.bytes = bytes;
      else if (most.bytes >= LEAST_BYTES) chosen.bytes = LEAST_BYTES;
    end
  end

  // What changed in the last cycles has reached `chosen`.
  logic [2:0] settling_q;
  always_ff @(posedge clk) begin
    settling_q <= {settling_q[1:0], closed || returned || window};
    if (rst) settling_q <= '1;
  end
  assign service_ns = {service_q, UNIT_LOG2'(0)};
  // Beyond the target, the age of what is away says nothing new.
  assign watch      = (waiting && service_q < target) || returned_q || queued_q;
  assign idle       = !closed && !returned && !window && settling_q == 0;

endmodule
