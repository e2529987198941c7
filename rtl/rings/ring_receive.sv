// SPDX-License-Identifier: Apache-2.0
// From the host port into the buffers of a ring: a packet is stored whole, written into the next buffer, and then, once
// that is answered, the buffer's descriptor says so. A packet longer than the next buffer is dropped, and the buffer
// stays for the one behind it. While the ring is off, packets are dropped; cut ones always are, and not counted.
// Latency: store and forward. Throughput: 1 beat a cycle, and a bus write of one beat a packet.
// Backpressure: packets wait while there is no buffer; s_axis_tready then goes low once the store is full.
module ring_receive
  import axi_pkg::*, ring_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,
    input  logic              on,
    input  ring_t             ring,
    output logic              active,
    output logic [31:0]       done,
    output ring_event_t       happened,
    output logic              busy,           // host memory is or may be accessed

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_axis_cut,

    output axi_req_t          axi_req,
    output logic [DATA_W-1:0] axi_wdata,
    output logic [KEEP_W-1:0] axi_wstrb,
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t          axi_rsp,        // without its IDs
    // verilator lint_on UNUSEDSIGNAL
    input  logic [DATA_W-1:0] axi_rdata,
    output logic              idle            // nothing moves; packets may wait for buffers
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "ring_receive: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (STORE_KB < 1 || STORE_KB > 128 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "ring_receive: STORE_KB must be a power of two from 1 to 128, not %0d", STORE_KB);
  end

  localparam int unsigned PACKETS = 64;    // in the store
  localparam int unsigned WRITES = 16;     // packets on their way to memory
  localparam int unsigned COUNT_W = $clog2(WRITES + 1);
  localparam logic [31:0] DONE = 32'd1;
  localparam logic [31:0] FAILED = 32'd2;

  typedef struct packed {
    logic [63:0] time_ns;
    logic [16:0] bytes;
  } packet_t;
  typedef struct packed {
    logic [63:0] place;
    packet_t     packet;
  } write_t;
  typedef struct packed {
    logic        failed;
    logic [63:0] place;
    packet_t     packet;
  } told_t;

  // ------------------------------------------------------------------------------------------------------- the ring
  logic active_q, fetch_idle, writes_idle, begin_now, descriptor_valid, descriptor_ready;
  descriptor_t descriptor;
  assign begin_now = on && !active_q && fetch_idle && writes_idle;
  assign active    = active_q;
  always_ff @(posedge clk) begin
    active_q <= on && (active_q || begin_now);
    if (rst) active_q <= 1'b0;
  end
  ring_fetch #(
      .MEM_W(DATA_W)
  ) u_fetch (
      .clk,
      .rst,
      .active       (active_q),
      .ring,
      .m_axi_araddr (axi_req.araddr),
      .m_axi_arvalid(axi_req.arvalid),
      .m_axi_arready(axi_rsp.arready),
      .m_axi_rdata  (axi_rdata),
      .m_axi_rresp  (axi_rsp.rresp),
      .m_axi_rvalid (axi_rsp.rvalid),
      .m_axi_rready (axi_req.rready),
      .m_valid      (descriptor_valid),
      .m_ready      (descriptor_ready),
      .m_descriptor (descriptor),
      .idle         (fetch_idle)
  );
  assign {axi_req.arid, axi_req.arlen, axi_req.aruser} = '0;
  assign axi_req.arsize  = 3'($clog2(KEEP_W));
  assign axi_req.arburst = 2'b01;

  // ------------------------------------------------------------------------------------------------------- the store
  // What became of a packet is known a cycle after its last beat.
  logic store_ready, lengths_ready, stored_valid, stored_ready, stored_last, store_dropped, store_idle, lengths_idle;
  logic [DATA_W-1:0] stored_data;
  logic [KEEP_W-1:0] stored_keep;
  logic begun_q, ended_q, cut_q, off_q, lengths_fifo_ready;
  logic [$clog2(PACKETS+1)-1:0] lengths_count;
  packet_t coming_q, packet;
  logic packet_valid, packet_ready;
  wire taken = s_axis_tvalid && s_axis_tready;
  assign s_axis_tready = store_ready && lengths_ready;

  logic [$clog2(KEEP_W+1)-1:0] beat_bytes;
  keep_bytes #(.KEEP_W(KEEP_W)) u_bytes (.keep(s_axis_tkeep), .bytes(beat_bytes));

  always_ff @(posedge clk) begin
    ended_q <= taken && s_axis_tlast;
    if (taken) begin
      coming_q.bytes   <= (begun_q ? coming_q.bytes : '0) + 17'(beat_bytes);
      coming_q.time_ns <= time_ns;
      begun_q          <= !s_axis_tlast;
      cut_q            <= s_axis_cut;
      off_q            <= !active_q;
    end
    if (rst) begin
      ended_q <= 1'b0;
      begun_q <= 1'b0;
    end
  end
  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(STORE_KB * 1024 / KEEP_W),
      .DROP_WHEN_FULL(1'b0)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid(s_axis_tvalid && lengths_ready),
      .s_axis_tready(store_ready),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser (1'b0),
      .s_drop       (s_axis_cut || !active_q),
      .m_axis_tvalid(stored_valid),
      .m_axis_tready(stored_ready),
      .m_axis_tdata (stored_data),
      .m_axis_tkeep (stored_keep),
      .m_axis_tlast (stored_last),
      .m_axis_tuser (),
      .used         (),
      .dropped      (store_dropped),
      .idle         (store_idle)
  );
  stream_fifo #(
      .WIDTH($bits(packet_t)),
      .DEPTH(PACKETS)
  ) u_lengths (
      .clk,
      .rst,
      .s_valid(ended_q && !store_dropped),
      .s_ready(lengths_fifo_ready),
      .s_data (coming_q),
      .m_valid(packet_valid),
      .m_ready(packet_ready),
      .m_data (packet),
      .count  (lengths_count),
      .idle   (lengths_idle)
  );
  assign lengths_ready = 32'(lengths_count) < PACKETS - 2;  // those that end now have room

  // ---------------------------------------------------------------------------------------------------- what is next
  // A packet: its beats go to memory, or nowhere. A descriptor without a buffer is told of, and used for nothing.
  // Between packets, those whose data are answered are told of.
  typedef enum logic [1:0] {CHOOSE, WRITE, DISCARD, TELL} state_t;
  state_t state_q;
  logic writer_ready, w_ready, write_done, write_failed, writer_idle, told_valid, told_taken, told_room;
  logic kinds_ready, kind_told, kind_valid, waits_ready, waits_valid;
  logic start_write, start_discard, start_tell, start_skip, too_long;
  logic [COUNT_W-1:0] flying_q;    // packets whose data are not answered or that are not told of
  write_t waiting;
  told_t told;

  wire room = flying_q < COUNT_W'(WRITES) && kinds_ready && waits_ready;
  assign too_long      = 32'(packet.bytes) > descriptor.bytes;
  assign start_tell    = state_q == CHOOSE && told_valid && writer_ready && kinds_ready;
  assign start_skip    = state_q == CHOOSE && !start_tell && descriptor_valid && descriptor.failed && flying_q == '0;
  assign start_write   = state_q == CHOOSE && !start_tell && packet_valid && descriptor_valid && !descriptor.failed
      && !too_long && active_q && room && writer_ready && !told_valid;
  assign start_discard = state_q == CHOOSE && !start_tell && packet_valid
      && (!active_q || (descriptor_valid && !descriptor.failed && too_long));
  assign packet_ready     = start_write || start_discard;
  assign descriptor_ready = start_write || start_skip;

  always_ff @(posedge clk) begin
    case (state_q)
      CHOOSE:
      if (start_tell) state_q <= TELL;
      else if (start_write) state_q <= WRITE;
      else if (start_discard) state_q <= DISCARD;
      TELL: if (w_ready) state_q <= CHOOSE;
      default: if (stored_valid && stored_ready && stored_last) state_q <= CHOOSE;
    endcase
    flying_q <= flying_q + COUNT_W'(start_write) - COUNT_W'(write_done && kind_told);
    if (rst) begin
      state_q  <= CHOOSE;
      flying_q <= '0;
    end
  end
  assign stored_ready = state_q == DISCARD || (state_q == WRITE && w_ready);

  axi_writer #(
      .MEM_W(DATA_W),
      .LEN_W(17)
  ) u_writer (
      .clk,
      .rst,
      .cmd_valid    (start_tell || start_write),
      .cmd_ready    (writer_ready),
      .cmd_addr     (start_tell ? told.place : descriptor.addr),
      .cmd_bytes    (start_tell ? 17'(DESCRIPTOR_W / 8) : packet.bytes),
      .s_axis_tvalid(state_q == TELL || (state_q == WRITE && stored_valid)),
      .s_axis_tready(w_ready),
      .s_axis_tdata (state_q == TELL ? DATA_W'({
        told.failed ? DONE | FAILED : DONE, 32'(told.packet.bytes), told.packet.time_ns
      }) : stored_data),
      .s_axis_tkeep (state_q == TELL ? KEEP_W'(2 ** (DESCRIPTOR_W / 8) - 1) : stored_keep),
      .s_axis_tlast (state_q == TELL || stored_last),
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
      .done         (write_done),
      .done_error   (write_failed),
      .idle         (writer_idle)
  );
  assign {axi_req.awid, axi_req.awuser} = '0;

  // Which of a packet's two writes is answered next
  stream_queue #(
      .WIDTH(1),
      .DEPTH(2 * WRITES)
  ) u_kinds (
      .clk,
      .rst,
      .s_valid(start_tell || start_write),
      .s_ready(kinds_ready),
      .s_data (start_tell),
      .m_valid(kind_valid),
      .m_ready(write_done),
      .m_data (kind_told),
      .idle   ()
  );
  stream_queue #(
      .WIDTH($bits(write_t)),
      .DEPTH(WRITES)
  ) u_waits (
      .clk,
      .rst,
      .s_valid(start_write),
      .s_ready(waits_ready),
      .s_data ({descriptor.place, packet}),
      .m_valid(waits_valid),
      .m_ready(write_done && !kind_told),
      .m_data (waiting),
      .idle   ()
  );
  stream_queue #(
      .WIDTH($bits(told_t)),
      .DEPTH(WRITES)
  ) u_told (
      .clk,
      .rst,
      .s_valid(write_done && !kind_told),
      .s_ready(told_room),
      .s_data ({write_failed, waiting}),
      .m_valid(told_valid),
      .m_ready(told_taken),
      .m_data (told),
      .idle   ()
  );
  assign told_taken = state_q == TELL && w_ready;

  // A packet has failed if either write has: the queue remembers the first one.
  logic failed_q [2**$clog2(WRITES)];
  logic [$clog2(WRITES)-1:0] told_at_q, answered_at_q;
  always_ff @(posedge clk) begin
    if (told_taken) begin
      failed_q[told_at_q] <= told.failed;
      told_at_q           <= told_at_q + 1'b1;
    end
    if (write_done && kind_told) answered_at_q <= answered_at_q + 1'b1;
    if (rst) begin
      told_at_q     <= '0;
      answered_at_q <= '0;
    end
  end

  wire answered = write_done && kind_told;
  wire bad = write_failed || failed_q[answered_at_q];
  always_ff @(posedge clk) begin
    done     <= begin_now ? '0 : done + 32'(answered) + 32'(start_skip);
    happened <= '{
        packet: answered && !bad,
        failed: (answered && bad) || start_skip,
        too_long: (ended_q && store_dropped && !cut_q && !off_q) || (start_discard && active_q),
        dropped: (ended_q && store_dropped && !cut_q && off_q) || (start_discard && !active_q)
    };
    if (rst) begin
      done     <= '0;
      happened <= '0;
    end
  end

  assign writes_idle = state_q == CHOOSE && flying_q == '0 && writer_idle;
  assign busy        = active_q || !fetch_idle || !writes_idle;
  // A packet that waits for a buffer does not move.
  assign idle        = fetch_idle && writes_idle && !ended_q && happened == '0 && !(s_axis_tvalid && s_axis_tready)
      && (packet_valid ? active_q && !descriptor_valid : store_idle && lengths_idle);

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!(ended_q && !store_dropped) || lengths_fifo_ready) else $error("%m: a length is lost");
      assert (!write_done || kind_valid) else $error("%m: a write that nobody asked for");
      assert (!(write_done && !kind_told) || (waits_valid && told_room)) else $error("%m: a write is forgotten");
    end
  end
`else
  wire unused = &{1'b0, kind_valid, waits_valid, told_room, lengths_fifo_ready};
`endif

endmodule
