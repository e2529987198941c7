// SPDX-License-Identifier: Apache-2.0
// Frames that leave soon, the earliest one first. They lie in a ring of cells in the order in which they came, their
// times in a heap; a cell is free again when it and those before it have been read. Frames of the same time come out in
// any order. Whoever gives a frame has been promised room for it.
// Latency: a frame is at the head 2 cycles after its last beat, and what link_heap takes; its first beat is out 3
// cycles after it was chosen. Throughput: 1 beat a cycle, and for a frame what link_heap takes for a push and a pop.
// Backpressure: s_axis_tready comes from a register, low while the heap is behind.
module link_soon #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned DEPTH = 512,       // beats, of which frames may have all but one cell
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned COUNT_W = $clog2(DEPTH) + 1
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               promise,        // of room for a frame of promise_beats
    input  logic [COUNT_W-1:0] promise_beats,
    output logic [COUNT_W-1:0] room,           // beats that nobody has been promised
    input  logic               s_axis_tvalid,
    output logic               s_axis_tready,
    input  logic [DATA_W-1:0]  s_axis_tdata,
    input  logic [KEEP_W-1:0]  s_axis_tkeep,
    input  logic               s_axis_tlast,
    input  logic [63:0]        s_leave_ns,
    output logic               head_valid,
    output logic [63:0]        head_ns,
    output logic               settled,        // no frame that is in whole can still come before the head
    // The head goes out, or one that has come before it meanwhile: from then until its first beat, at most its last.
    input  logic               chosen,
    output logic               m_axis_tvalid,
    input  logic               m_axis_tready,
    output logic [DATA_W-1:0]  m_axis_tdata,
    output logic [KEEP_W-1:0]  m_axis_tkeep,
    output logic               m_axis_tlast,
    output logic               idle            // nothing moves until a frame comes or is chosen
);

  if (DATA_W < 8 || DATA_W % 8 != 0) begin : gen_bad_data_w
    $fatal(1, "link_soon: DATA_W must be a multiple of 8, not %0d", DATA_W);
  end
  if (DEPTH < 8 || DEPTH > 2 ** 20 || 2 ** $clog2(DEPTH) != DEPTH) begin : gen_bad_depth
    $fatal(1, "link_soon: DEPTH must be a power of two from 8 to 1048576, not %0d", DEPTH);
  end

  localparam int unsigned CELLS = DEPTH < 256 ? DEPTH : 256;
  localparam int unsigned CELL = DEPTH / CELLS;  // beats
  localparam int unsigned ADDR_W = $clog2(DEPTH);
  localparam int unsigned CELL_W = $clog2(CELLS);
  typedef logic [ADDR_W-1:0] addr_t;
  typedef logic [CELL_W-1:0] cell_t;
  typedef logic [COUNT_W-1:0] count_t;
  typedef struct packed {
    cell_t  first;
    count_t beats;
  } place_t;

  function automatic count_t whole_cells(count_t beats);
    return (beats + count_t'(CELL - 1)) & ~count_t'(CELL - 1);
  endfunction
  function automatic cell_t cell_of(addr_t at);
    return cell_t'(at >> $clog2(CELL));
  endfunction

  // --------------------------------------------------------------------------------------------------------- frames in
  addr_t start_q;  // of the frame that comes in
  count_t in_q;    // its beats so far
  logic note_ready, note_valid, note_taken, notes_idle;
  logic [63:0] note_ns;
  place_t note;
  wire taken = s_axis_tvalid && s_axis_tready;
  wire ends = taken && s_axis_tlast;
  wire count_t beats = in_q + 1'b1;

  assign s_axis_tready = note_ready;

  always_ff @(posedge clk) begin
    if (taken) in_q <= s_axis_tlast ? '0 : beats;
    if (ends) start_q <= start_q + addr_t'(whole_cells(beats));
    if (rst) begin
      in_q    <= '0;
      start_q <= '0;
    end
  end

  stream_queue #(
      .WIDTH(64 + $bits(place_t)),
      .DEPTH(2)
  ) u_notes (
      .clk,
      .rst,
      .s_valid(ends),
      .s_ready(note_ready),
      .s_data ({s_leave_ns, cell_of(start_q), beats}),
      .m_valid(note_valid),
      .m_ready(note_taken),
      .m_data ({note_ns, note}),
      .idle   (notes_idle)
  );

  // -------------------------------------------------------------------------------------------------------- frames out
  logic heap_valid, heap_idle, busy_q, rd_en, store_idle;
  place_t head;
  addr_t rd_q;
  count_t left_q;  // beats of the frame that goes out, still to be read
  wire begins = chosen && heap_valid && !busy_q;
  wire done = m_axis_tvalid && m_axis_tready && m_axis_tlast;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  link_heap #(
      .DEPTH (CELLS),
      .REST_W($bits(place_t))
  ) u_heap (
      .clk,
      .rst,
      .push_valid(note_valid),
      .push_ready(note_taken),
      .push_time (note_ns),
      .push_rest (note),
      .head_valid(heap_valid),
      .head_ready(chosen && !busy_q),
      .head_time (head_ns),
      .head_rest (head),
      .empty     (),
      .idle      (heap_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  fifo_store #(
      .WIDTH(1 + KEEP_W + DATA_W),
      .DEPTH(DEPTH),
      .BLOCK_RAM(1'b1)
  ) u_store (
      .clk,
      .rst,
      .wr_en   (taken),
      .wr_addr (start_q + addr_t'(in_q)),
      .wr_data ({s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .rd_avail(left_q != '0),
      .rd_addr (rd_q),
      .rd_en,
      .idle    (store_idle),
      .m_valid (m_axis_tvalid),
      .m_ready (m_axis_tready),
      .m_data  ({m_axis_tlast, m_axis_tkeep, m_axis_tdata})
  );

  always_ff @(posedge clk) begin
    if (done) busy_q <= 1'b0;
    if (rd_en) begin
      rd_q   <= rd_q + 1'b1;
      left_q <= left_q - 1'b1;
    end
    if (begins) begin
      busy_q <= 1'b1;
      rd_q   <= addr_t'(head.first) << $clog2(CELL);
      left_q <= head.beats;
    end
    if (rst) begin
      busy_q <= 1'b0;
      left_q <= '0;
    end
  end

  // -------------------------------------------------------------------------------------------------------------- room
  count_t room_q;
  logic [CELLS-1:0] read_q;  // cells that have been read and aren't free yet
  cell_t oldest_q;
  wire frees = read_q[oldest_q];
  wire cell_ends = rd_en && (left_q == count_t'(1) || cell_of(rd_q + 1'b1) != cell_of(rd_q));

  always_ff @(posedge clk) begin
    if (cell_ends) read_q[cell_of(rd_q)] <= 1'b1;
    if (frees) begin
      read_q[oldest_q] <= 1'b0;
      oldest_q         <= oldest_q + 1'b1;
    end
    room_q <= room_q + (frees ? count_t'(CELL) : '0) - (promise ? whole_cells(promise_beats) : '0);
    if (rst) begin
      read_q   <= '0;
      oldest_q <= '0;
      room_q   <= count_t'(DEPTH - CELL);  // the heap has a place less than there are cells
    end
  end

  assign room       = room_q;
  assign head_valid = heap_valid && !busy_q;
  assign settled    = heap_idle && notes_idle;
  assign idle       = settled && !busy_q && store_idle && !frees;

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(s_axis_tvalid),
      .tready(s_axis_tready),
      .tdata (s_axis_tdata),
      .tkeep (s_axis_tkeep),
      .tlast (s_axis_tlast)
  );

  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) begin
      assert (!promise || whole_cells(promise_beats) <= room_q) else $error("%m: room is promised that isn't there");
    end
  end
`endif

endmodule
