// SPDX-License-Identifier: Apache-2.0
// What the answers to writes of used elements make: the first element of chains that become used together is written
// when all the others are, and chains are done in the order of the ring. What is answered between a first element's
// writing and its answer is done together with that.
// An error fails the queue: nothing of it is done or written any more until it is set again.
// Latency: 9 cycles from an answer to `done`. Throughput: an answer every other cycle, in those with `turn`.
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

  // ---------------------------------------------------------------------------------- 0 answer, 1 element, 3 its entry
  localparam int unsigned AGAIN = 16;
  localparam int unsigned IN_FLIGHT = 5;  // answers between here and the queue of those that come again
  logic [$clog2(AGAIN+1)-1:0] again_count;
  logic ready_q, error_q1, error_q2, error_q3, error_q4, error_q5, second_q2, second_q3, second_q4, second_q5;
  logic [8:1] valid_q;  // in which stages there is an answer
  element_t element_q2, element_q3, element_q4, element_q5;
  entry_t found, entry_q4, entry_q5;
  assign answer_ready = ready_q;

  always_ff @(posedge clk) begin
    ready_q    <= !turn && 32'(again_count) <= AGAIN - IN_FLIGHT;
    valid_q    <= {valid_q[7:1], answer_valid && answer_ready};
    error_q1   <= answer_error;
    error_q2   <= error_q1;
    element_q2 <= answer_element;
    second_q2  <= answer_second;
    error_q3   <= error_q2;
    element_q3 <= element_q2;
    second_q3  <= second_q2;
    error_q4   <= error_q3;
    element_q4 <= element_q3;
    second_q4  <= second_q3;
    entry_q4   <= found;
    error_q5   <= error_q4;
    element_q5 <= element_q4;
    second_q5  <= second_q4;
    entry_q5   <= entry_q4;
    if (rst) begin
      ready_q <= 1'b0;
      valid_q <= '0;
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
      .rd_en  (valid_q[2]),
      .rd_addr(element_q2),
      .rd_data(found)
  );

  // ---------------------------------------------------------------------------------------------- 5 state of its queue
  state_t state, state_d, state_data;
  wire fails = state.failed || error_q5;
  wire single = !entry_q5.member && !entry_q5.last;
  wire comes_again = entry_q5.last && !second_q5 && !fails;
  wire waits = single && state.firsts != '0;  // for the first element before it
  wire over = valid_q[5] && !comes_again;
  wire state_wr = set_writes || valid_q[5];
  wire [QUEUE_W-1:0] state_at = set_writes ? set_queue_q : entry_q5.number;

  always_comb begin
    state_d        = state;
    state_d.failed = fails;
    if (comes_again) begin
      state_d.firsts   = state.firsts + 1'b1;
      state_d.youngest = element_q5;
    end else if (second_q5) begin
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
      .rd_en  (valid_q[4]),
      .rd_addr(entry_q4.number),
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
  assign over_element  = element_q5;
  assign over_queue    = entry_q5.number;
  assign over_function = entry_q5.owner;

  again_t again_in, again;
  logic again_room;
  assign again_in = '{
          element: element_q5,
          number: entry_q5.number,
          owner: entry_q5.owner,
          place: entry_q5.from,
          id: entry_q5.first_id,
          bytes: entry_q5.first_bytes
      };
  stream_fifo #(
      .WIDTH($bits(again_t)),
      .DEPTH(AGAIN)
  ) u_again (
      .clk,
      .rst,
      .s_valid(valid_q[5] && comes_again),
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

  // ----------------------------------------------------------------------------------- 6 what is done together with it
  typedef struct packed {
    logic               opens;
    logic               waits;
    logic               second;
    logic               says;     // that it is done
    logic               fails;    // its queue, as the first one
    element_t           at;
    logic [QUEUE_W-1:0] number;
    place_t             from;
    logic [16:0]        slots;
  } end_t;
  end_t end_q6, end_q7, end_q8;
  sum_t sum, sum_q8, sum_d;
  ram_through #(
      .WIDTH($bits(sum_t)),
      .DEPTH(ELEMENTS)
  ) u_sums (
      .clk,
      .wr_en  (valid_q[8] && (end_q8.opens || end_q8.waits)),
      .wr_addr(end_q8.at),
      .wr_data(sum_d),
      .rd_addr(end_q6.at),
      .rd_data(sum)
  );

  always_comb begin
    sum_d.slots = (end_q8.opens ? '0 : sum_q8.slots) + end_q8.slots;
    sum_d.count = (end_q8.opens ? '0 : sum_q8.count) + 1'b1;
  end

  always_ff @(posedge clk) begin
    end_q6.opens  <= comes_again;
    end_q6.waits  <= waits;
    end_q6.second <= second_q5;
    end_q6.says   <= (second_q5 || (single && !waits)) && !fails;
    end_q6.fails  <= error_q5 && !state.failed;
    end_q6.at     <= waits ? state.youngest : element_q5;
    end_q6.number <= entry_q5.number;
    end_q6.from   <= entry_q5.from;
    end_q6.slots  <= entry_q5.slots;
    end_q7        <= end_q6;
    end_q8        <= end_q7;
    sum_q8        <= sum;
    done_valid    <= valid_q[8] && end_q8.says;
    done_queue    <= end_q8.number;
    done_place    <= end_q8.from;
    done_count    <= end_q8.second ? 16'(sum_q8.count) : 16'd1;
    done_slots    <= end_q8.second ? sum_q8.slots : end_q8.slots;
    fail_valid    <= valid_q[7] && end_q7.fails;
    fail_queue    <= end_q7.number;
    if (rst) begin
      done_valid <= 1'b0;
      fail_valid <= 1'b0;
    end
  end

  assign idle = !set_q && valid_q == '0 && !done_valid && !fail_valid && !again_valid;

  wire unused = &{1'b0, again_room, end_q8.fails};

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) assert (!valid_q[5] || !comes_again || again_room) else $error("%m: no room to come again");
  end
`endif

endmodule
