// SPDX-License-Identifier: Apache-2.0
// Makes chains used: writes the used element of each to the place in the ring of its queue that follows the one before
// (VIRTIO 1.2, 2.8.6), 8 bytes; those that wait for the bus and follow each other go in one beat (used_join). Of chains
// that become used together (`more`) the first one's is written when the others' are answered, so that the driver sees
// all of them or none.
// A function's writes have an ID of their own as long as no more than IDS functions have any under way, and never wait
// for each other; beyond that, and only then, functions share IDs.
// Latency: 8 to 17 cycles from a chain to its address on the bus, 12 from the answer to `done`. Throughput: a chain
// every other cycle; of one queue too, with ELEMENTS under way.
// Backpressure: used_ready is low while ELEMENTS are under way. Functions whose memory is slow would fill them all: who
// begins no chain of a queue without `room` leaves some for the others, however many are slow. Half of ELEMENTS are
// functions' own, in equal shares; of the others a function has no more than are free. Answers are always taken.
//
//  used -> taken -> used_place -> the element -> used_order: bus ID -> used_join -> host memory
//           ^                          |             ^                                  | answers
//           |                          v             |                                  v
//           +-- the first of some - used_answer <----+------------------------------ u_answers
//               that go together       +-> done
//  number_pool and key_counts: which elements are free, and how many queues and functions have
module virtq_used
  import axi_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned IDS = 32,
    parameter int unsigned ELEMENTS = 256,
    parameter bit GATED = 1'b0,              // a clock gate: see clock_gate
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned BYTES = DATA_W / 8
) (
    input  logic               clk,
    input  logic               rst,

    input  logic               set_valid,    // at most every other cycle; the queue's chains come 4 cycles later
    input  logic [QUEUE_W-1:0] set_queue,
    // verilator lint_off UNUSEDSIGNAL
    input  virtq_t             set,          // of it what the used elements need
    // verilator lint_on UNUSEDSIGNAL
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_quiet,
    input  logic [QUEUE_W-1:0] place_queue,  // held
    output place_t             place_next,   // of its next used element, 3 cycles later; one after the last when quiet
    input  logic [QUEUE_W-1:0] room_queue,   // held
    input  logic [15:0]        room_begun,   // its chains that are begun, and not used yet
    input  logic [15:0]        room_begun_all,
    output logic               room,         // it may begin one; 4 cycles later, of those begun in the next one

    input  logic               used_valid,
    output logic               used_ready,
    input  logic [QUEUE_W-1:0] used_queue,
    input  used_t              used,

    output logic               done_valid,   // one cycle: the driver can see that they are used
    output logic [QUEUE_W-1:0] done_queue,
    output logic [15:0]        done_count,   // chains, those that became used together counted as one
    output place_t             done_place,   // where they begin
    output logic [16:0]        done_slots,   // how many descriptors they have
    output logic               fail_valid,   // one cycle
    output logic [QUEUE_W-1:0] fail_queue,
    output fault_t             fail_fault,

    // Writes only; data beside
    output axi_req_t           axi_req,
    output logic [DATA_W-1:0]  axi_wdata,
    output logic [BYTES-1:0]   axi_wstrb,
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t           axi_rsp,
    // verilator lint_on UNUSEDSIGNAL
    output logic               idle          // nothing under way; chains that become used together may lack their last
);

  if (QUEUES < 1 || QUEUES > 2 ** 16) begin : gen_bad_queues
    $fatal(1, "virtq_used: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "virtq_used: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (FIRST + QUEUES > 2 ** 16) begin : gen_bad_first
    $fatal(1, "virtq_used: FIRST must leave room for the functions below 65536, not be %0d", FIRST);
  end
  if (DATA_W < 64 || DATA_W > 1024 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "virtq_used: DATA_W must be a power of two from 64 to 1024, not %0d", DATA_W);
  end
  if (IDS < 2 || IDS > 128 || 2 ** $clog2(IDS) != IDS) begin : gen_bad_ids
    $fatal(1, "virtq_used: IDS must be a power of two from 2 to 128, not %0d", IDS);
  end
  if (ELEMENTS < 8 || ELEMENTS > 1024 || 2 ** $clog2(ELEMENTS) != ELEMENTS) begin : gen_bad_elements
    $fatal(1, "virtq_used: ELEMENTS must be a power of two from 8 to 1024, not %0d", ELEMENTS);
  end

  localparam int unsigned FUNCTIONS = (QUEUES + PAIRS - 1) / PAIRS;
  localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;
  localparam int unsigned ELEMENT_W = $clog2(ELEMENTS);
  localparam int unsigned OWN = ELEMENTS / (2 * FUNCTIONS);
  localparam int unsigned ID_W = $clog2(IDS);
  localparam int unsigned LANES = BYTES > 16 ? BYTES / 16 : 1;
  localparam int unsigned LANE_W = LANES > 1 ? $clog2(LANES) : 1;
  typedef logic [QUEUE_W-1:0] queue_t;
  typedef logic [FUNCTION_W-1:0] function_t;
  typedef logic [ELEMENT_W-1:0] element_t;
  typedef logic [ELEMENT_W:0] count_t;

  // Chains begin, and answers are taken, every other cycle: each finds the state that the one before left.
  logic phase_q, turn_q;  // the same, but that turn_q is behind the gate
  always_ff @(posedge clk) phase_q <= !phase_q && !rst;

  // While elements only wait for host memory, the clock rests.
  typedef struct packed {
    queue_t      probe;
    queue_t      place;
    queue_t      room;
    logic [15:0] begun;
    logic [15:0] begun_all;
  } asked_t;
  logic gated, rests;
  asked_t asked_q;
  wire asked_t asked = {probe_queue, place_queue, room_queue, room_begun, room_begun_all};
  clock_gate #(
      .GATED(GATED),
      .HOLD(8),  // until all that is told is of the state that is left
      .WATCHED($bits(place_t) + 8)
  ) u_gate (
      .clk,
      .rst,
      .work   (set_valid || used_valid || axi_rsp.bvalid || asked != asked_q || !rests),
      .watched({place_next, probe_quiet, room, done_valid, fail_valid, axi_req.awvalid, axi_req.wvalid, rests, idle}),
      .gated
  );
  always_ff @(posedge gated) begin
    turn_q  <= !phase_q && !rst;
    asked_q <= asked;
  end

  wire set_on = set_valid && set.enabled;

  // ------------------------------------------------------------------------------------------------------ free entries
  // One is kept at hand for the next chain.
  count_t free_q;
  logic lend_valid, entry_valid_q, over_valid, begins;
  element_t lend, entry_q, over_element;
  wire entry_ready = begins || !entry_valid_q;
  number_pool #(
      .COUNT(ELEMENTS)
  ) u_entries (
      .clk(gated),
      .rst,
      .lend_valid,
      .lend_ready(entry_ready),
      .lend,
      .back_valid(over_valid),
      .back      (over_element),
      .free      (),
      .idle      ()
  );
  always_ff @(posedge gated) begin
    if (entry_ready) begin
      entry_valid_q <= lend_valid;
      entry_q       <= lend;
    end
    free_q <= free_q + count_t'(over_valid) - count_t'(begins);
    if (rst) begin
      entry_valid_q <= 1'b0;
      free_q        <= count_t'(ELEMENTS);
    end
  end

  // ------------------------------------------------------------------------------------------------ 0 a chain is taken
  localparam int unsigned OUT = 8;
  localparam int unsigned IN_FLIGHT = 4;  // elements between here and the queue to the bus
  logic [$clog2(OUT+1)-1:0] out_count;
  logic queues_ready, functions_ready, order_ready, order_rests, failed;
  logic again_valid, takes, again_q1;
  element_t again_element;
  queue_t again_queue, queue_q1;
  function_t used_function, again_function, function_q1;
  place_t again_place;
  logic [15:0] again_id;
  logic [31:0] again_bytes;
  // Known a cycle before: whether any may be taken when it is its turn, and whether that is a new chain.
  logic may_q, new_q, takes_q1;
  always_ff @(posedge gated) begin
    takes_q1 <= takes;
    may_q    <= 32'(out_count) <= OUT - IN_FLIGHT;
    new_q    <= 32'(out_count) <= OUT - IN_FLIGHT && !again_valid &&
        (lend_valid || (entry_valid_q && !takes_q1)) && queues_ready && functions_ready && order_ready;
    if (rst) begin
      may_q <= 1'b0;
      new_q <= 1'b0;
    end
  end
  wire takes_again = phase_q && may_q && !new_q && again_valid;
  assign used_ready = phase_q && new_q;
  assign takes      = takes_again || (used_valid && used_ready);
  wire queue_t take_queue = new_q ? used_queue : again_queue;
  used_t taken;
  always_comb begin
    taken = used;
    if (!new_q) begin
      taken.more  = 1'b0;
      taken.id    = again_id;
      taken.bytes = again_bytes;
    end
  end

  queue_owner #(
      .QUEUES(QUEUES),
      .PAIRS (PAIRS)
  ) u_owner (
      .number(used_queue),
      .owner (used_function)
  );

  // -------------------------------------------------------------------------- 1 its place, 2 the element, 3 the bus ID
  logic makes, made_valid, made_member, made_last, place_idle;
  logic [63:4] made_addr;
  logic [63:0] made_data;
  place_t made_from;
  logic [16:0] made_slots;
  logic [15:0] first_id;
  logic [31:0] first_bytes;
  assign begins = makes && !again_q1;

  used_place #(
      .QUEUES(QUEUES)
  ) u_place (
      .clk(gated),
      .rst,
      .turn      (turn_q),
      .set_valid (set_on),
      .set_queue,
      .set_start (set.start),
      .set_size  (set.size),
      .set_ring  (set.ring[63:4]),
      .place_queue,
      .place_next,
      .take      (takes),
      .take_queue,
      .take_again(takes_again),
      .again_place,
      .taken,
      .failed,
      .makes,
      .made_valid,
      .made_addr,
      .made_data,
      .made_member,
      .made_last,
      .made_from,
      .made_slots,
      .first_id,
      .first_bytes,
      .idle      (place_idle)
  );

  logic again_q2, valid_q3, again_q3, valid_q4, again_q4;
  element_t again_element_q1, element_q2, element_q3, element_q4;
  queue_t queue_q2;
  function_t function_q2, function_q3, function_q4;
  logic [63:4] addr_q3, addr_q4;
  logic [63:0] data_q3, data_q4;
  always_ff @(posedge gated) begin
    again_q1         <= takes_again;
    again_element_q1 <= again_element;
    queue_q1         <= take_queue;
    function_q1      <= new_q ? used_function : again_function;
    again_q2         <= again_q1;
    element_q2       <= again_q1 ? again_element_q1 : entry_q;
    queue_q2         <= queue_q1;
    function_q2      <= function_q1;
    valid_q3         <= made_valid;
    again_q3         <= again_q2;
    element_q3       <= element_q2;
    function_q3      <= function_q2;
    addr_q3          <= made_addr;
    data_q3          <= made_data;
    valid_q4         <= valid_q3;
    again_q4         <= again_q3;
    element_q4       <= element_q3;
    function_q4      <= function_q3;
    addr_q4          <= addr_q3;
    data_q4          <= data_q3;
    if (rst) begin
      valid_q3 <= 1'b0;
      valid_q4 <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------- what is under way
  queue_t over_queue;
  function_t over_function, room_function, room_function_q;
  queue_t probe_queue_q;
  count_t probe_count, room_count, alone_count;
  wire [16:0] claims = 17'(room_count) + 17'(room_begun);
  logic [16:0] unclaimed_q;
  logic shares_q;  // some are left beyond the others' own
  always_ff @(posedge gated) begin
    probe_queue_q   <= probe_queue;
    room_function_q <= room_function;
    probe_quiet     <= queues_ready && probe_count == '0;
    unclaimed_q     <= 17'(free_q) - 17'(room_begun_all);
    shares_q        <= unclaimed_q > 17'(OWN * (FUNCTIONS - 1)) && !unclaimed_q[16];
    room            <= claims == '0 || claims < 17'(OWN) || (claims < unclaimed_q && shares_q);
  end

  queue_owner #(
      .QUEUES(QUEUES),
      .PAIRS (PAIRS)
  ) u_room_owner (
      .number(room_queue),
      .owner (room_function)
  );
  key_counts #(
      .KEYS (QUEUES),
      .WIDTH(ELEMENT_W + 1)
  ) u_queues (
      .clk(gated),
      .rst,
      .ready     (queues_ready),
      .add_valid (begins),
      .add_key   (queue_q1),
      .sub_valid (over_valid),
      .sub_key   (over_queue),
      .look_key  (probe_queue_q),
      .look_count(probe_count)
  );
  key_counts #(
      .KEYS (FUNCTIONS),
      .WIDTH(ELEMENT_W + 1),
      .LOOKS(2)
  ) u_functions (
      .clk(gated),
      .rst,
      .ready     (functions_ready),
      .add_valid (begins),
      .add_key   (function_q1),
      .sub_valid (over_valid),
      .sub_key   (over_function),
      .look_key  ({room_function_q, function_q1}),
      .look_count({room_count, alone_count})
  );

  // -------------------------------------------------------------------------------------------------------- to the bus
  logic [ID_W-1:0] begin_id, out_id, answer_id;
  function_t out_function;
  logic answer_valid, answer_ready, answer_error, answer_room, answer_second, aw_valid, w_valid, join_holds;
  element_t answer_element;
  logic [63:4] out_addr;
  logic [LANE_W-1:0] out_first, out_last, following;
  logic [LANES-1:0][63:0] out_data;

  used_order #(
      .FUNCTIONS(FUNCTIONS),
      .IDS      (IDS),
      .ELEMENTS (ELEMENTS)
  ) u_order (
      .clk(gated),
      .rst,
      .ready         (order_ready),
      .rests         (order_rests),
      .begin_valid   (valid_q3),
      .begin_function(function_q3),
      .begin_alone   (!again_q3 && alone_count == '0),
      .begin_element (element_q3),
      .begin_second  (again_q3),
      .begin_id,
      .end_valid     (answer_valid && answer_ready),
      .end_id        (answer_id),
      .end_element   (answer_element),
      .end_second    (answer_second)
  );

  used_join #(
      .ID_W      (ID_W),
      .FUNCTION_W(FUNCTION_W),
      .ELEMENTS  (ELEMENTS),
      .LANES     (LANES),
      .WRITES    (OUT)
  ) u_join (
      .clk(gated),
      .rst,
      .s_valid    (valid_q4),
      .s_id       (begin_id),
      .s_function (function_q4),
      .s_element  (element_q4),
      .s_alone    (again_q4),
      .s_addr     (addr_q4),
      .s_data     (data_q4),
      .holds      (join_holds),
      .count      (out_count),
      .aw_valid,
      .aw_ready   (axi_rsp.awready),
      .aw_id      (out_id),
      .aw_function(out_function),
      .aw_addr    (out_addr),
      .w_valid,
      .w_ready    (axi_rsp.wready),
      .w_first    (out_first),
      .w_last     (out_last),
      .w_data     (out_data),
      .first      (answer_element),
      .following
  );

  assign axi_req = '{
          awid: 8'(out_id),
          awaddr: {out_addr, 4'd8} & ~64'(BYTES - 1),
          awsize: 3'($clog2(BYTES)),
          awburst: 2'b01,
          awuser: 16'(FIRST) + 16'(out_function),
          awvalid: aw_valid,
          wlast: 1'b1,
          wvalid: w_valid,
          bready: 1'b1,
          default: '0
      };
  always_comb begin
    axi_wdata       = '0;
    for (int unsigned i = 0; i < LANES; i++) begin
      axi_wdata[DATA_W-64-128*(LANES-1-i)+:64] = out_data[i];
    end
    for (int unsigned i = 0; i < BYTES; i++) begin
      axi_wstrb[i] = i / 16 + 1 > 32'(out_first) && i / 16 < 32'(out_last) + 1 && (i % 16 >= 8 || BYTES == 8);
    end
  end

  // ----------------------------------------------------------------------------------------------------------- answers
  // An answer is for all elements of its write, one after the other.
  logic answer_idle, applied_q, amid_q;
  logic [LANE_W-1:0] left_q;
  wire [LANE_W-1:0] left = amid_q ? left_q : following;
  always_ff @(posedge gated) begin
    applied_q <= answer_valid && answer_ready;
    if (applied_q) begin
      amid_q <= left != '0;
      left_q <= left - 1'b1;
    end
    if (rst) begin
      applied_q <= 1'b0;
      amid_q    <= 1'b0;
    end
  end
  logic bvalid_q, berror_q;
  logic [ID_W-1:0] bid_q;
  always_ff @(posedge gated) begin
    bvalid_q <= axi_rsp.bvalid;
    berror_q <= axi_rsp.bresp[1];
    bid_q    <= ID_W'(axi_rsp.bid);
    if (rst) bvalid_q <= 1'b0;
  end
  stream_fifo #(
      .WIDTH(ID_W + 1),
      .DEPTH(ELEMENTS)
  ) u_answers (
      .clk(gated),
      .rst,
      .s_valid(bvalid_q),
      .s_ready(answer_room),
      .s_data ({berror_q, bid_q}),
      .m_valid(answer_valid),
      .m_ready(applied_q && left == '0),
      .m_data ({answer_error, answer_id}),
      .count  (),
      .idle   ()
  );

  used_answer #(
      .QUEUES  (QUEUES),
      .PAIRS   (PAIRS),
      .ELEMENTS(ELEMENTS)
  ) u_answer (
      .clk(gated),
      .rst,
      .turn        (turn_q),
      .set_valid   (set_on),
      .set_queue,
      .failed_queue(take_queue),
      .failed,
      .entry_valid (made_valid && !again_q2),
      .entry_at    (element_q2),
      .entry       ({queue_q2, function_q2, made_member, made_last, made_from, made_slots, first_id, first_bytes}),
      .answer_valid,
      .answer_ready,
      .answer_error,
      .answer_element,
      .answer_second,
      .again_valid,
      .again_ready (takes_again),
      .again_element,
      .again_queue,
      .again_function,
      .again_place,
      .again_id,
      .again_bytes,
      .over_valid,
      .over_element,
      .over_queue,
      .over_function,
      .done_valid,
      .done_queue,
      .done_count,
      .done_place,
      .done_slots,
      .fail_valid,
      .fail_queue,
      .idle        (answer_idle)
  );
  assign fail_fault = FAULT_MEMORY;
  assign rests      = place_idle && answer_idle && queues_ready && functions_ready && order_ready && order_rests &&
      !(takes_q1 || valid_q3 || valid_q4 || join_holds || aw_valid || w_valid || bvalid_q || answer_valid || applied_q);
  assign idle       = free_q == count_t'(ELEMENTS) && place_idle && answer_idle && queues_ready
      && functions_ready && order_ready;

`ifndef SYNTHESIS
  always_ff @(posedge gated) begin
    if (!rst) assert (!bvalid_q || answer_room) else $error("%m: an answer without a write");
  end
`else
  wire unused = &{1'b0, answer_room};
`endif

endmodule
