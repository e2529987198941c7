// SPDX-License-Identifier: Apache-2.0
// What the answers to writes of used elements make: the first element of chains that become used together is written
// when all the others are, and chains are done in the order of the ring. What is answered between a first element's
// writing and its answer is done together with that.
// An error fails the queue: nothing of it is done or written any more until it is set again.
// Latency: 5 cycles from an answer to `done`. Throughput: an answer every other cycle, in those with `turn`.
// Backpressure: answers wait while `again` does.
module used_answer
  import host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned ELEMENTS = 256,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned FUNCTIONS = (QUEUES + PAIRS - 1) / PAIRS,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1,
    localparam int unsigned ELEMENT_W = $clog2(ELEMENTS),
    localparam int unsigned ENTRY_W = QUEUE_W + FUNCTION_W + 2 + 16 + 17 + 16 + 32
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic                  turn,
    input  logic                  set_valid,       // as in used_place
    input  logic [QUEUE_W-1:0]    set_queue,
    input  logic [QUEUE_W-1:0]    failed_queue,
    output logic                  failed,          // 1 cycle later

    input  logic                  entry_valid,     // an element that begins
    input  logic [ELEMENT_W-1:0]  entry_at,
    input  logic [ENTRY_W-1:0]    entry,           // {queue, function, member, last, from, slots, first's ID and bytes}

    input  logic                  answer_valid,
    output logic                  answer_ready,
    input  logic                  answer_error,
    input  logic [ELEMENT_W-1:0]  answer_element,  // 1 cycle later; the second time after it came again
    input  logic                  answer_second,

    output logic                  again_valid,
    input  logic                  again_ready,
    output logic [ELEMENT_W-1:0]  again_element,
    output logic [QUEUE_W-1:0]    again_queue,
    output logic [FUNCTION_W-1:0] again_function,
    output place_t                again_place,
    output logic [15:0]           again_id,
    output logic [31:0]           again_bytes,

    output logic                  over_valid,      // the element's entry is free
    output logic [ELEMENT_W-1:0]  over_element,
    output logic [QUEUE_W-1:0]    over_queue,
    output logic [FUNCTION_W-1:0] over_function,

    output logic                  done_valid,
    output logic [QUEUE_W-1:0]    done_queue,
    output logic [15:0]           done_count,
    output place_t                done_place,
    output logic [16:0]           done_slots,
    output logic                  fail_valid,
    output logic [QUEUE_W-1:0]    fail_queue,
    output logic                  idle
);

  if (QUEUES < 1 || QUEUES > 2 ** 16) begin : gen_bad_queues
    $fatal(1, "used_answer: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "used_answer: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (ELEMENTS < 8 || ELEMENTS > 1024 || 2 ** ELEMENT_W != ELEMENTS) begin : gen_bad_elements
    $fatal(1, "used_answer: ELEMENTS must be a power of two from 8 to 1024, not %0d", ELEMENTS);
  end

  typedef logic [ELEMENT_W-1:0] element_t;
  typedef struct packed {
    logic [QUEUE_W-1:0]    number;
    logic [FUNCTION_W-1:0] owner;
    logic                  member;
    logic                  last;
    place_t                from;
    logic [16:0]           slots;
    logic [15:0]           first_id;
    logic [31:0]           first_bytes;
  } entry_t;
  typedef struct packed {
    logic               failed;
    logic [ELEMENT_W:0] firsts;    // elements that came again and are not answered yet
    element_t           youngest;  // of them, by the entry of the last one beside it
  } state_t;
  typedef struct packed {
    logic [16:0]        slots;
    logic [ELEMENT_W:0] count;
  } sum_t;
  typedef struct packed {
    element_t              element;
    logic [QUEUE_W-1:0]    number;
    logic [FUNCTION_W-1:0] owner;
    place_t                place;
    logic [15:0]           id;
    logic [31:0]           bytes;
  } again_t;

  // A set waits for the cycle in which no answer writes.
  logic set_q;
  logic [QUEUE_W-1:0] set_queue_q;
  wire set_writes = set_q && turn;
  always_ff @(posedge clk) begin
    set_q <= set_valid || (set_q && !turn);
    if (set_valid) set_queue_q <= set_queue;
    if (rst) set_q <= 1'b0;
  end

  // ---------------------------------------------------------------------------------- 0 answer, 1 element, 2 its entry
  localparam int unsigned AGAIN = 8;
  localparam int unsigned IN_FLIGHT = 3;  // answers between here and the queue of those that come again
  logic [$clog2(AGAIN+1)-1:0] again_count;
  logic valid_q1, valid_q2, valid_q3, valid_q4, error_q1, error_q2, error_q3, second_q2, second_q3;
  element_t element_q2, element_q3;
  entry_t found, entry_q3;
  assign answer_ready = turn && 32'(again_count) <= AGAIN - IN_FLIGHT;

  always_ff @(posedge clk) begin
    valid_q1   <= answer_valid && answer_ready;
    error_q1   <= answer_error;
    valid_q2   <= valid_q1;
    error_q2   <= error_q1;
    element_q2 <= answer_element;
    second_q2  <= answer_second;
    valid_q3   <= valid_q2;
    error_q3   <= error_q2;
    element_q3 <= element_q2;
    second_q3  <= second_q2;
    entry_q3   <= found;
    valid_q4   <= valid_q3;
    if (rst) begin
      valid_q1 <= 1'b0;
      valid_q2 <= 1'b0;
      valid_q3 <= 1'b0;
      valid_q4 <= 1'b0;
    end
  end

  ram_fit #(
      .WIDTH(ENTRY_W),
      .DEPTH(ELEMENTS)
  ) u_entries (
      .clk,
      .wr_en  (entry_valid),
      .wr_addr(entry_at),
      .wr_data(entry),
      .rd_en  (valid_q1),
      .rd_addr(answer_element),
      .rd_data(found)
  );

  // ---------------------------------------------------------------------------------------------- 3 state of its queue
  state_t state, state_d, state_data;
  sum_t sum, sum_d;
  wire fails = state.failed || error_q3;
  wire single = !entry_q3.member && !entry_q3.last;
  wire comes_again = entry_q3.last && !second_q3 && !fails;
  wire waits = single && state.firsts != '0;  // for the first element before it
  wire over = valid_q3 && !comes_again;
  wire state_wr = set_writes || valid_q3;
  wire [QUEUE_W-1:0] state_at = set_writes ? set_queue_q : entry_q3.number;

  always_comb begin
    state_d        = state;
    state_d.failed = fails;
    if (comes_again) begin
      state_d.firsts   = state.firsts + 1'b1;
      state_d.youngest = element_q3;
    end else if (second_q3) begin
      state_d.firsts = state.firsts - 1'b1;
    end
    state_data = set_writes ? '0 : state_d;
  end

  ram_fit #(
      .WIDTH($bits(state_t)),
      .DEPTH(QUEUES)
  ) u_state (
      .clk,
      .wr_en  (state_wr),
      .wr_addr(state_at),
      .wr_data(state_data),
      .rd_en  (valid_q2),
      .rd_addr(found.number),
      .rd_data(state)
  );
  ram_through #(
      .WIDTH(1),
      .DEPTH(QUEUES)
  ) u_failed (
      .clk,
      .wr_en  (state_wr),
      .wr_addr(state_at),
      .wr_data(state_data.failed),
      .rd_addr(failed_queue),
      .rd_data(failed)
  );

  assign over_valid    = over;
  assign over_element  = element_q3;
  assign over_queue    = entry_q3.number;
  assign over_function = entry_q3.owner;

  again_t again_in, again;
  logic again_room;
  assign again_in = '{
          element: element_q3,
          number: entry_q3.number,
          owner: entry_q3.owner,
          place: entry_q3.from,
          id: entry_q3.first_id,
          bytes: entry_q3.first_bytes
      };
  stream_fifo #(
      .WIDTH($bits(again_t)),
      .DEPTH(AGAIN)
  ) u_again (
      .clk,
      .rst,
      .s_valid(valid_q3 && comes_again),
      .s_ready(again_room),
      .s_data (again_in),
      .m_valid(again_valid),
      .m_ready(again_ready),
      .m_data (again),
      .count  (again_count),
      .idle   ()
  );
  assign again_element  = again.element;
  assign again_queue    = again.number;
  assign again_function = again.owner;
  assign again_place    = again.place;
  assign again_id       = again.id;
  assign again_bytes    = again.bytes;

  // ----------------------------------------------------------------------------------- 4 what is done together with it
  logic opens_q4, waits_q4, second_q4, says_q4;
  element_t at_q4;
  entry_t entry_q4;
  ram_fit #(
      .WIDTH($bits(sum_t)),
      .DEPTH(ELEMENTS)
  ) u_sums (
      .clk,
      .wr_en  (valid_q4 && (opens_q4 || waits_q4)),
      .wr_addr(at_q4),
      .wr_data(sum_d),
      .rd_en  (valid_q3),
      .rd_addr(waits ? state.youngest : element_q3),
      .rd_data(sum)
  );

  always_comb begin
    sum_d.slots = (opens_q4 ? '0 : sum.slots) + entry_q4.slots;
    sum_d.count = (opens_q4 ? '0 : sum.count) + 1'b1;
  end

  always_ff @(posedge clk) begin
    opens_q4   <= comes_again;
    waits_q4   <= waits;
    second_q4  <= second_q3;
    says_q4    <= (second_q3 || (single && !waits)) && !fails;
    at_q4      <= waits ? state.youngest : element_q3;
    entry_q4   <= entry_q3;
    done_valid <= valid_q4 && says_q4;
    done_queue <= entry_q4.number;
    done_place <= entry_q4.from;
    done_count <= second_q4 ? 16'(sum.count) : 16'd1;
    done_slots <= second_q4 ? sum.slots : entry_q4.slots;
    fail_valid <= valid_q3 && error_q3 && !state.failed;
    fail_queue <= entry_q3.number;
    if (rst) begin
      done_valid <= 1'b0;
      fail_valid <= 1'b0;
    end
  end

  assign idle = !set_q && !valid_q1 && !valid_q2 && !valid_q3 && !valid_q4 && !done_valid && !fail_valid
      && !again_valid;

  wire unused = &{1'b0, again_room, entry_q4.owner, entry_q4.member, entry_q4.last, entry_q4.first_id,
                  entry_q4.first_bytes};

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!valid_q3 || !comes_again || again_room) else $error("%m: no room to come again");
  end
`endif

endmodule
