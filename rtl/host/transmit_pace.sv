// SPDX-License-Identifier: Apache-2.0
// Holds functions to their rates. Each has a time from which on it may begin a packet; a packet moves it on by its
// bytes times `set_time`, the time of a byte in 2**-19 ns. So over long runs the rate is exact, down to the rounding of
// that number: 0.005 % at 400 Gb/s, less below. A function that has sent less may catch up on BURST_NS.
// A visit of a queue asks whether its function is early; the queue of one that is comes to `park`, and back in turn
// when its time has come. Queues of a function share its rate. A function without one (0) is never early.
// Latency: `early` is there 2 cycles after `visit`; of a function with a rate it is high with a charge and for 4 cycles
// after it, and follows it then. A queue that parks comes back within QUEUES + 5 cycles for each parked queue after its
// time.
// Throughput: a charge every other cycle. A set, at most one in 32 cycles, forgets what its function owes.
module transmit_pace
  import host_pkg::*;
  import transmit_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned BURST_NS = 65536,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned FUNCTIONS = (QUEUES + PAIRS - 1) / PAIRS,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   wipe,          // of wipe_queue and its function; nothing else goes on
    input  logic [QUEUE_W-1:0]     wipe_queue,
    input  logic [63:0]            time_ns,

    input  logic                   set_valid,
    input  logic [FUNCTION_W-1:0]  set_function,
    input  logic [BYTE_TIME_W-1:0] set_time,

    input  logic                   visit,         // begins; the next one no earlier than 4 cycles later
    input  logic [QUEUE_W-1:0]     visit_queue,
    output logic                   early,         // its function may not begin a packet now
    output logic                   charging,      // that is so for what it has begun, whose time isn't counted yet
    input  logic                   charge_next,   // there is a charge in the next cycle
    input  logic                   charge,        // it has begun one
    input  logic [FRAME_W-1:0]     charge_bytes,
    input  logic                   park,          // it waits for its time
    input  logic [QUEUE_W-1:0]     park_queue,
    output logic                   back_valid,
    input  logic                   back_ready,
    output logic [QUEUE_W-1:0]     back_queue,

    output logic [63:0]            wake_ns,       // no queue comes back before; all ones: none is parked
    output logic                   rests,         // none is parked
    output logic                   idle           // queues may be parked
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "transmit_pace: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (BURST_NS < 1 || BURST_NS > 1_000_000_000) begin : gen_bad_burst_ns
    $fatal(1, "transmit_pace: BURST_NS must be 1 to 1000000000, not %0d", BURST_NS);
  end

  localparam int unsigned HALF_W = BYTE_TIME_W / 2;
  localparam int unsigned PART_W = FRAME_W + HALF_W;
  localparam int unsigned PRODUCT_W = FRAME_W + BYTE_TIME_W;

  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [FUNCTION_W-1:0] function_t;
  typedef struct packed {
    logic [63:0]                   whole;
    logic [BYTE_TIME_FRACTION-1:0] fraction;
  } due_t;

  // -------------------------------------------------------------------------------------------- what RAMs know of all
  logic set_q, write_q;         // a set that waits; the due time of the function that is visited has changed
  function_t set_function_q;
  logic [BYTE_TIME_W-1:0] set_time_q;
  logic first_q, other_q;       // cycles of a visit; other_q: the second one, of a function that isn't here
  logic due_wr;
  function_t due_at, visit_function, next_function_q, here_q, scan_function;
  due_t due_new, due_q, found_due, other_due_q;
  // verilator lint_off UNUSEDSIGNAL
  due_t scan_due;               // its fraction makes no cycle
  // verilator lint_on UNUSEDSIGNAL
  logic [BYTE_TIME_W-1:0] found_time, other_time_q, time_q;
  wire set_now = set_q && !write_q && !first_q && !other_q && !wipe;

  assign due_wr  = wipe || write_q || set_now;
  assign due_at  = wipe ? function_t'(wipe_queue) : write_q ? here_q : set_function_q;
  assign due_new = write_q && !wipe ? due_q : '0;

  queue_owner #(
      .QUEUES(QUEUES),
      .PAIRS (PAIRS)
  ) u_owner (
      .number(visit_queue),
      .owner (visit_function)
  );

  ram_through #(
      .WIDTH(BYTE_TIME_W),
      .DEPTH(FUNCTIONS)
  ) u_times (
      .clk,
      .wr_en  (wipe || set_now),
      .wr_addr(wipe ? function_t'(wipe_queue) : set_function_q),
      .wr_data(wipe ? '0 : set_time_q),
      .rd_addr(visit_function),
      .rd_data(found_time)
  );
  ram_through #(
      .WIDTH($bits(due_t)),
      .DEPTH(FUNCTIONS)
  ) u_dues (
      .clk,
      .wr_en  (due_wr),
      .wr_addr(due_at),
      .wr_data(due_new),
      .rd_addr(visit_function),
      .rd_data(found_due)
  );
  ram_through #(
      .WIDTH($bits(due_t)),
      .DEPTH(FUNCTIONS)
  ) u_parked_dues (
      .clk,
      .wr_en  (due_wr),
      .wr_addr(due_at),
      .wr_data(due_new),
      .rd_addr(scan_function),
      .rd_data(scan_due)
  );

  // ----------------------------------------------------------------------------------------- the function visited now
  // Its due time is in registers, and right there even if its charges are not yet in the RAM.
  logic charge_q, parts_q, product_valid_q, busy_q, behind_q, early_q, early_other_q, paced_q;
  logic [FRAME_W-1:0] bytes_q;
  logic [PART_W-1:0] low_q, high_q;
  logic [PRODUCT_W-1:0] product_q;
  logic [63:0] floor_q;         // what lies before is forgotten
  due_t base_q;                 // due_q, or what isn't forgotten of it

  always_ff @(posedge clk) begin
    if (set_valid) begin
      set_q          <= 1'b1;
      set_function_q <= set_function;
      set_time_q     <= set_time;
    end else if (set_now) begin
      set_q <= 1'b0;
    end

    first_q       <= visit;
    other_q       <= first_q && next_function_q != here_q;
    other_due_q   <= found_due;
    other_time_q  <= found_time;
    early_q       <= (other_q ? other_due_q.whole : due_q.whole) > time_ns;
    early_other_q <= found_due.whole > time_ns;
    paced_q       <= (other_q ? other_time_q : time_q) != '0;
    if (visit) next_function_q <= visit_function;

    charge_q        <= charge;
    bytes_q         <= charge_bytes;
    parts_q         <= charge_q;
    low_q           <= PART_W'(bytes_q) * PART_W'(time_q[HALF_W-1:0]);
    high_q          <= PART_W'(bytes_q) * PART_W'(time_q[BYTE_TIME_W-1:HALF_W]);
    product_valid_q <= parts_q;
    product_q       <= {high_q, {HALF_W{1'b0}}} + PRODUCT_W'(low_q);
    floor_q         <= time_ns < 64'(BURST_NS) ? '0 : time_ns - 64'(BURST_NS);
    behind_q        <= due_q.whole < floor_q && !product_valid_q;
    write_q         <= product_valid_q;
    busy_q          <= paced_q && (charge_next || charge || charge_q || parts_q || product_valid_q);
    base_q          <= behind_q ? '{whole: floor_q, fraction: '0} : due_q;
    if (product_valid_q) due_q <= base_q + ($bits(due_t))'(product_q);
    if (other_q) begin
      here_q   <= next_function_q;
      due_q    <= other_due_q;
      time_q   <= other_time_q;
      behind_q <= 1'b0;
    end
    if (set_now && set_function_q == here_q) begin
      due_q    <= '0;
      base_q   <= '0;
      time_q   <= set_time_q;
      behind_q <= 1'b0;
    end
    if (rst) begin
      set_q           <= 1'b0;
      first_q         <= 1'b0;
      other_q         <= 1'b0;
      charge_q        <= 1'b0;
      parts_q         <= 1'b0;
      product_valid_q <= 1'b0;
      write_q         <= 1'b0;
      busy_q          <= 1'b0;
      early_q         <= 1'b0;
      next_function_q <= '0;
      here_q          <= '0;
      due_q           <= '0;
      time_q          <= '0;
    end
  end
  assign early    = other_q ? early_other_q : early_q || busy_q;
  assign charging = busy_q;

  // --------------------------------------------------------------------------- parked queues, one after the other
  // A round over all of them in which none came says when the earliest is due.
  typedef enum logic [2:0] {
    LOOK, READ, COMPARE, TEST, GIVE
  } state_t;
  state_t state_q;
  queue_t at_q;
  logic parked, due_now_q, less_q, any_q, seen_q, news_q, settled_q;
  logic [63:0] found_q, least_q, wake_q;
  wire bit_clear = state_q == GIVE && back_ready && !park;
  wire ends = 32'(at_q) == QUEUES - 1;
  assign rests = settled_q && !any_q && at_q == '0;
  wire next = (state_q == LOOK && !parked && !rests) || (state_q == TEST && !due_now_q) || bit_clear;
  wire news = park || set_now;

  ram_dist #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_parked (
      .clk,
      .wr_en  (park || bit_clear || wipe),
      .wr_addr(wipe ? wipe_queue : park ? park_queue : at_q),
      .wr_data(park && !wipe),
      .rd_addr(at_q),
      .rd_data(parked)
  );

  queue_owner #(
      .QUEUES(QUEUES),
      .PAIRS (PAIRS)
  ) u_scan_owner (
      .number(at_q),
      .owner (scan_function)
  );

  // found_q is the RAM's word in READ's cycle, one after the address; a round's end has a cycle of its own in which
  // least_q is whole.
  logic wrap_q;
  always_ff @(posedge clk) begin
    wrap_q <= next && ends;
    unique case (state_q)
      LOOK: if (parked && !rests) state_q <= READ;
      READ: begin
        found_q <= scan_due.whole;
        state_q <= COMPARE;
      end
      COMPARE: begin
        due_now_q <= found_q <= time_ns;
        less_q    <= !seen_q || found_q < least_q;
        state_q   <= TEST;
      end
      TEST: begin
        if (!due_now_q) begin
          seen_q <= 1'b1;
          if (less_q) least_q <= found_q;
        end
        state_q <= due_now_q ? GIVE : LOOK;
      end
      default: if (bit_clear) state_q <= LOOK;
    endcase
    if (next) at_q <= ends ? '0 : at_q + 1'b1;
    if (wrap_q) begin
      settled_q <= !news_q;
      any_q     <= seen_q;
      wake_q    <= least_q;
      seen_q    <= 1'b0;
      news_q    <= 1'b0;
    end
    if (news) begin
      settled_q <= 1'b0;
      news_q    <= 1'b1;
    end
    if (rst || wipe) begin
      state_q   <= LOOK;
      at_q      <= '0;
      wrap_q    <= 1'b0;
      seen_q    <= 1'b0;
      any_q     <= 1'b0;
      news_q    <= 1'b0;
      settled_q <= 1'b1;
    end
  end

  assign back_valid = state_q == GIVE && !park;
  assign back_queue = at_q;
  assign wake_ns    = settled_q && any_q ? wake_q : '1;
  assign idle       = settled_q && (!any_q || time_ns < wake_q) && !set_q && !charge_q && !parts_q &&
      !product_valid_q && !write_q && !set_valid;

endmodule
