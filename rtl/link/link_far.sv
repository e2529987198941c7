// SPDX-License-Identifier: Apache-2.0
// Frames that wait in host memory: each is written to a slot of its own there, and read again lead_ns before it leaves,
// in the order in which they leave. Those that leave in the order in which they come wait in a list, the others in a
// heap. A frame whose write or read the memory answers with an error is dropped.
// Latency: a frame comes out when it has been written and read, lead_ns before its time at the earliest.
// Throughput: 1 beat a cycle each way; a frame in 2 * log2(SLOTS) cycles through the heap.
// Backpressure: place_ready is low while no more writes can be begun. `open` is low while no slot is free; then nothing
// is to be placed.
module link_far
  import axi_pkg::*;
  import link_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned SLOTS = 4096,
    parameter int unsigned FRAME_KB = 16,      // a slot
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [63:0]        time_ns,
    input  logic [15:0]        lead_ns,
    input  logic [63:0]        base,           // of the slots

    output logic               open,
    input  logic               place_valid,    // a frame, whose beats come after those of the one placed before
    output logic               place_ready,
    input  logic [63:0]        place_leave_ns,
    input  logic [BYTES_W-1:0] place_bytes,
    input  logic               s_axis_tvalid,
    output logic               s_axis_tready,
    input  logic [DATA_W-1:0]  s_axis_tdata,
    input  logic [KEEP_W-1:0]  s_axis_tkeep,
    input  logic               s_axis_tlast,

    output axi_req_t           axi_req,
    output logic [DATA_W-1:0]  axi_wdata,
    output logic [KEEP_W-1:0]  axi_wstrb,
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t           axi_rsp,        // without its IDs
    // verilator lint_on UNUSEDSIGNAL
    input  logic [DATA_W-1:0]  axi_rdata,

    output logic               m_axis_tvalid,
    input  logic               m_axis_tready,
    output logic [DATA_W-1:0]  m_axis_tdata,
    output logic [KEEP_W-1:0]  m_axis_tkeep,
    output logic               m_axis_tlast,
    output logic               m_error,        // with the last beat: the frame is to be dropped
    output logic [63:0]        m_leave_ns,
    output logic               failed,         // a frame could not be written
    output logic               still,          // nothing moves before wake_ns
    output logic [63:0]        wake_ns         // the next frame is read; all ones: none waits
);

  if (SLOTS < 16 || SLOTS > 65536 || 2 ** $clog2(SLOTS) != SLOTS) begin : gen_bad_slots
    $fatal(1, "link_far: SLOTS must be a power of two from 16 to 65536, not %0d", SLOTS);
  end

  localparam int unsigned SLOT_W = $clog2(SLOTS);
  localparam int unsigned SHIFT = 10 + $clog2(FRAME_KB);  // of a slot's number to its address
  localparam int unsigned UNDER_WAY = 16;                 // frames that are being written or read
  localparam int unsigned BUFFER = 8 * 1024 / KEEP_W;     // beats that may be asked for
  localparam int unsigned BURST = 1024 / KEEP_W;

  typedef logic [SLOT_W-1:0] slot_t;
  typedef struct packed {
    slot_t              slot;
    logic [BYTES_W-1:0] bytes;
  } place_t;
  typedef struct packed {
    logic [63:0] at;
    place_t      place;
  } waiting_t;

  function automatic logic [63:0] address_of(logic [63:0] from, slot_t slot);
    return from + (64'(slot) << SHIFT);
  endfunction

  // ------------------------------------------------------------------------------------------------------------- slots
  // Those of frames that were read come before those of frames that could not be written.
  logic lend_valid, arrived, reading_valid, back, fail;
  slot_t lent, reading;
  waiting_t written;
  wire placed = place_valid && place_ready;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  number_pool #(
      .COUNT(SLOTS)
  ) u_slots (
      .clk,
      .rst,
      .lend_valid,
      .lend_ready(placed),
      .lend      (lent),
      .back_valid(back),
      .back      (arrived ? reading : written.place.slot),
      .free      (),
      .idle      ()
  );

  assign back = arrived || fail;

  // ------------------------------------------------------------------------------------------------------------ writes
  logic write_ready, write_room, done, done_error, writer_idle;
  logic written_valid, result_valid, result_error, settle, writing_idle, results_idle;

  assign open        = lend_valid;
  assign place_ready = lend_valid && write_ready && write_room;

  axi_writer #(
      .MEM_W(DATA_W),
      .BURST(BURST),
      .LEN_W(BYTES_W)
  ) u_writer (
      .clk,
      .rst,
      .cmd_valid    (place_valid && lend_valid && write_room),
      .cmd_ready    (write_ready),
      .cmd_addr     (address_of(base, lent)),
      .cmd_bytes    (place_bytes),
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .m_axi_awaddr (axi_req.awaddr),
      .m_axi_awlen  (axi_req.awlen),
      .m_axi_awsize (axi_req.awsize),
      .m_axi_awburst(axi_req.awburst),
      .m_axi_awvalid(axi_req.awvalid),
      .m_axi_awready(axi_rsp.awready),
      .m_axi_wdata  (axi_wdata),
      .m_axi_wstrb  (axi_wstrb),
      .m_axi_wlast  (axi_req.wlast),
      .m_axi_wvalid (axi_req.wvalid),
      .m_axi_wready (axi_rsp.wready),
      .m_axi_bresp  (axi_rsp.bresp),
      .m_axi_bvalid (axi_rsp.bvalid),
      .m_axi_bready (axi_req.bready),
      .done,
      .done_error,
      .idle         (writer_idle)
  );

  stream_queue #(
      .WIDTH($bits(waiting_t)),
      .DEPTH(UNDER_WAY)
  ) u_writing (
      .clk,
      .rst,
      .s_valid(placed),
      .s_ready(write_room),
      .s_data ({place_leave_ns, lent, place_bytes}),
      .m_valid(written_valid),
      .m_ready(settle),
      .m_data (written),
      .idle   (writing_idle)
  );
  stream_queue #(
      .WIDTH(1),
      .DEPTH(UNDER_WAY)
  ) u_results (
      .clk,
      .rst,
      .s_valid(done),
      .s_ready(),  // there are as many at most as are being written
      .s_data (done_error),
      .m_valid(result_valid),
      .m_ready(settle),
      .m_data (result_error),
      .idle   (results_idle)
  );

  // ------------------------------------------------------------------------------------------------- what waits: order
  logic list_room, list_valid, list_pop, list_idle, heap_room, heap_valid, heap_pop, heap_empty, heap_idle;
  logic [63:0] tail_q;  // when the last one of the list leaves
  waiting_t list, heap;
  wire landed = written_valid && result_valid;
  wire in_order = list_idle || written.at >= tail_q;

  assign fail   = landed && result_error && !arrived;
  assign settle = landed && (result_error ? !arrived : in_order ? list_room : heap_room);
  assign failed = fail;

  stream_fifo #(
      .WIDTH($bits(waiting_t)),
      .DEPTH(SLOTS)
  ) u_list (
      .clk,
      .rst,
      .s_valid(landed && !result_error && in_order),
      .s_ready(list_room),
      .s_data (written),
      .m_valid(list_valid),
      .m_ready(list_pop),
      .m_data (list),
      .count  (),
      .idle   (list_idle)
  );
  link_heap #(
      .DEPTH (SLOTS),
      .REST_W($bits(place_t))
  ) u_heap (
      .clk,
      .rst,
      .push_valid(landed && !result_error && !in_order),
      .push_ready(heap_room),
      .push_time (written.at),
      .push_rest (written.place),
      .head_valid(heap_valid),
      .head_ready(heap_pop),
      .head_time (heap.at),
      .head_rest (heap.place),
      .empty     (heap_empty),
      .idle      (heap_idle)
  );

  // The earlier one of both heads, found in one cycle, is looked at in the next.
  logic first_valid_q, from_heap_q, read_ready, leave_ready, slot_ready;
  logic [63:0] first_q, horizon_q;
  logic [1:0] busy_q;  // cycles until what was found is the newest
  waiting_t first;
  wire due = first_valid_q && first_q <= horizon_q;
  wire ask = due && busy_q == '0 && (from_heap_q ? heap_valid : list_valid) && leave_ready && slot_ready;
  wire fetch = ask && read_ready;

  assign first    = from_heap_q ? heap : list;
  assign heap_pop = fetch && from_heap_q;
  assign list_pop = fetch && !from_heap_q;

  always_ff @(posedge clk) begin
    if (settle && !result_error && in_order) tail_q <= written.at;
    first_valid_q <= list_valid || heap_valid;
    from_heap_q   <= heap_valid && (!list_valid || heap.at < list.at);
    first_q       <= heap_valid && (!list_valid || heap.at < list.at) ? heap.at : list.at;
    horizon_q     <= time_ns + 64'(lead_ns);
    busy_q        <= busy_q - 2'(busy_q != '0);
    if (fetch || !heap_idle) busy_q <= 2'd3;
    if (rst) begin
      first_valid_q <= 1'b0;
      busy_q        <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------------------- reads
  logic reader_idle, leaving_idle, reads_idle;

  axi_reader #(
      .MEM_W(DATA_W),
      .BURST(BURST),
      .BUFFER(BUFFER),
      .COMMANDS(UNDER_WAY),
      .LEN_W(BYTES_W)
  ) u_reader (
      .clk,
      .rst,
      .cmd_valid     (ask),
      .cmd_ready     (read_ready),
      .cmd_addr      (address_of(base, first.place.slot)),
      .cmd_bytes     (first.place.bytes),
      .cmd_direct    (1'b0),
      .m_axi_araddr  (axi_req.araddr),
      .m_axi_arlen   (axi_req.arlen),
      .m_axi_arsize  (axi_req.arsize),
      .m_axi_arburst (axi_req.arburst),
      .m_axi_arvalid (axi_req.arvalid),
      .m_axi_arready (axi_rsp.arready),
      .m_axi_rdata   (axi_rdata),
      .m_axi_rresp   (axi_rsp.rresp),
      .m_axi_rlast   (axi_rsp.rlast),
      .m_axi_rvalid  (axi_rsp.rvalid),
      .m_axi_rready  (axi_req.rready),
      .direct_valid  (),
      .direct_data   (),
      .arrived,
      .arrived_direct(),
      .arrived_error (),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser  (m_error),
      .idle          (reader_idle)
  );
  stream_queue #(
      .WIDTH(SLOT_W),
      .DEPTH(2 * UNDER_WAY)
  ) u_reading (
      .clk,
      .rst,
      .s_valid(fetch),
      .s_ready(slot_ready),
      .s_data (first.place.slot),
      .m_valid(reading_valid),
      .m_ready(arrived),
      .m_data (reading),
      .idle   (reads_idle)
  );
  stream_queue #(
      .WIDTH(64),
      .DEPTH(2 * UNDER_WAY)
  ) u_leaving (
      .clk,
      .rst,
      .s_valid(fetch),
      .s_ready(leave_ready),
      .s_data (first.at),
      .m_valid(),
      .m_ready(m_axis_tvalid && m_axis_tready && m_axis_tlast),
      .m_data (m_leave_ns),
      .idle   (leaving_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  assign axi_req.awid   = '0;
  assign axi_req.awuser = '0;
  assign axi_req.arid   = '0;
  assign axi_req.aruser = '0;

  // What is due is not still, even if it waits for the bus.
  wire none = list_idle && heap_empty;
  wire due_now = first_q <= time_ns + 64'(lead_ns);
  assign still = writer_idle && writing_idle && results_idle && heap_idle && busy_q == '0 && reader_idle &&
      leaving_idle && reads_idle && (none ? !first_valid_q : first_valid_q && list_valid == !list_idle && !due_now);
  assign wake_ns = first_valid_q ? first_q - 64'(lead_ns) : '1;

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) begin
      assert (!place_valid || place_bytes <= BYTES_W'(FRAME_KB * 1024)) else $error("%m: a frame longer than a slot");
      assert (!arrived || reading_valid) else $error("%m: a frame that nobody reads");
    end
  end
`else
  wire unused = &{1'b0, reading_valid};
`endif

endmodule
