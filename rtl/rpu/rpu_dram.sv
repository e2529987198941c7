// SPDX-License-Identifier: Apache-2.0
// The units' access to host memory. A request (dram_request_t, and the data of a write behind it) becomes AXI4 bursts;
// what a read finds comes back in parts of up to 4 KB, none across a page's end, each behind a beat that says where
// it belongs (dram_answer_t). A part with an error comes without data.
// A read begins once all writes that came before it have been answered: a unit reads what it wrote. A write may
// overtake reads. `life` counts the resets of units: what was asked for in an earlier life is not told of.
// Latency: 4 cycles from a request to the bus, 4 from the last data of a part to its answer.
// Throughput: 1 beat a cycle each way. Backpressure: requests wait while READS of them or as many commands are under
// way; data of the bus never wait.
module rpu_dram
  import axi_pkg::*, rpu_pkg::*, rpu_fabric_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned UNITS = 8,
    parameter int unsigned READS = 16,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic [UNITS-1:0][LIFE_W-1:0] life,

    input  logic                         s_axis_tvalid,
    output logic                         s_axis_tready,
    input  logic [DATA_W-1:0]            s_axis_tdata,
    input  logic [KEEP_W-1:0]            s_axis_tkeep,
    input  logic                         s_axis_tlast,
    input  logic                         s_axis_cut,   // the beat has no data, and none follow
    input  owner_t                       s_axis_owner,

    output logic                         m_axis_tvalid,
    input  logic                         m_axis_tready,
    output logic [DATA_W-1:0]            m_axis_tdata,
    output logic [KEEP_W-1:0]            m_axis_tkeep,
    output logic                         m_axis_tlast,
    output owner_t                       m_axis_owner,

    output axi_req_t                     axi_req,
    output logic [DATA_W-1:0]            axi_wdata,
    output logic [KEEP_W-1:0]            axi_wstrb,
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t                     axi_rsp,      // without its IDs
    // verilator lint_on UNUSEDSIGNAL
    input  logic [DATA_W-1:0]            axi_rdata,

    output dram_event_t                  read_event,   // of a request's last part, or one that has failed
    output dram_event_t                  write_event,
    output logic                         idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "rpu_dram: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (UNITS < 1 || UNITS > MAX_UNITS) begin : gen_bad_units
    $fatal(1, "rpu_dram: UNITS must be 1 to %0d, not %0d", MAX_UNITS, UNITS);
  end
  if (READS < 2 || 2 ** $clog2(READS) != READS) begin : gen_bad_reads
    $fatal(1, "rpu_dram: READS must be a power of two from 2, not %0d", READS);
  end

  localparam int unsigned PAGE = 4096;
  localparam int unsigned PARTS = 16;      // of reads, under way
  localparam int unsigned WRITES = 16;     // under way
  localparam int unsigned NUMBER_W = 32;    // of writes: a read does not wait for 2^31 of them
  localparam int unsigned INDEX_W = UNITS > 1 ? $clog2(UNITS) : 1;

  typedef struct packed {
    owner_t             owner;
    logic [NUMBER_W-1:0] writes;            // that came before it
    logic               data_memory;
    logic [23:0]        addr;
    logic [4:0]         tag;
    logic [15:0]        len;
    logic [63:0]        dram_addr;
  } read_t;
  typedef struct packed {
    owner_t       owner;
    logic         final_part;
    dram_answer_t answer;
    logic [63:0]  dram_addr;
  } part_t;
  typedef struct packed {
    owner_t      owner;
    logic [63:0] dram_addr;
  } write_t;

  // ---------------------------------------------------------------------------------------------------------- requests
  dram_request_t request;
  logic in_data_q, is_head, write_start, read_start, read_room, write_room, writer_ready, data_ready;
  logic [NUMBER_W-1:0] begun_q, done_q;     // writes
  logic writes_idle, writer_idle, write_done, write_failed, unused_write_valid;
  write_t write;

  assign request       = dram_request_t'(s_axis_tdata[$bits(dram_request_t)-1:0]);
  assign is_head       = s_axis_tvalid && !in_data_q;
  assign read_start    = is_head && request.is_read && read_room;
  assign write_start   = is_head && !request.is_read && write_room && writer_ready;
  assign s_axis_tready = in_data_q ? data_ready : request.is_read ? read_room : write_room && writer_ready;

  always_ff @(posedge clk) begin
    if (s_axis_tvalid && s_axis_tready) in_data_q <= !s_axis_tlast;
    begun_q <= begun_q + NUMBER_W'(write_start);
    done_q  <= done_q + NUMBER_W'(write_done);
    if (rst) begin
      in_data_q <= 1'b0;
      begun_q   <= '0;
      done_q    <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------------------ writes
  stream_queue #(
      .WIDTH($bits(write_t)),
      .DEPTH(WRITES)
  ) u_writes (
      .clk,
      .rst,
      .s_valid(write_start),
      .s_ready(write_room),
      .s_data ({s_axis_owner, request.dram_addr}),
      .m_valid(unused_write_valid),
      .m_ready(write_done),
      .m_data (write),
      .idle   (writes_idle)
  );
  axi_writer #(
      .MEM_W(DATA_W)
  ) u_writer (
      .clk,
      .rst,
      .cmd_valid    (is_head && !request.is_read && write_room),
      .cmd_ready    (writer_ready),
      .cmd_addr     (request.dram_addr),
      .cmd_bytes    (request.len),
      .s_axis_tvalid(s_axis_tvalid && in_data_q),
      .s_axis_tready(data_ready),
      .s_axis_tdata,
      .s_axis_tkeep (s_axis_cut ? '0 : s_axis_tkeep),
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
      .done         (write_done),
      .done_error   (write_failed),
      .idle         (writer_idle)
  );

  // ------------------------------------------------------------------------------------------- reads become parts
  read_t read;
  logic read_valid, read_taken, reads_idle;
  stream_queue #(
      .WIDTH($bits(read_t)),
      .DEPTH(READS)
  ) u_reads (
      .clk,
      .rst,
      .s_valid(read_start),
      .s_ready(read_room),
      .s_data (read_t'{
        s_axis_owner, begun_q, request.data_memory, request.addr, request.tag, request.len, request.dram_addr
      }),
      .m_valid(read_valid),
      .m_ready(read_taken),
      .m_data (read),
      .idle   (reads_idle)
  );

  // to_end_q: bytes to the end of the page, known a cycle after the address
  logic busy_q, known_q, part_room, reader_ready, part_start;
  read_t busy_read_q;
  logic [12:0] to_end_q;
  wire final_part = busy_read_q.len <= 16'(to_end_q);
  wire [15:0] part_len = final_part ? busy_read_q.len : 16'(to_end_q);
  wire [NUMBER_W-1:0] behind = done_q - read.writes;
  assign read_taken = read_valid && !busy_q && !behind[NUMBER_W-1];
  assign part_start = busy_q && known_q && part_room && reader_ready;

  always_ff @(posedge clk) begin
    to_end_q <= 13'(PAGE) - 13'(busy_read_q.dram_addr[11:0]);
    known_q  <= busy_q && !part_start;
    if (read_taken) begin
      busy_q      <= 1'b1;
      busy_read_q <= read;
    end
    if (part_start) begin
      busy_q                <= !final_part;
      busy_read_q.dram_addr <= busy_read_q.dram_addr + 64'(part_len);
      busy_read_q.addr      <= busy_read_q.addr + 24'(part_len);
      busy_read_q.len       <= busy_read_q.len - part_len;
    end
    if (rst) begin
      busy_q  <= 1'b0;
      known_q <= 1'b0;
    end
  end

  logic frame_valid, frame_ready, frame_last, frame_error, reader_idle;
  logic [DATA_W-1:0] frame_data;
  logic [KEEP_W-1:0] frame_keep;
  axi_reader #(
      .MEM_W(DATA_W),
      .BUFFER(PAGE / KEEP_W),
      .COMMANDS(PARTS)
  ) u_reader (
      .clk,
      .rst,
      .cmd_valid     (busy_q && known_q && part_room),
      .cmd_ready     (reader_ready),
      .cmd_addr      (busy_read_q.dram_addr),
      .cmd_bytes     (part_len),
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
      .arrived       (),
      .arrived_direct(),
      .arrived_error (),
      .m_axis_tvalid (frame_valid),
      .m_axis_tready (frame_ready),
      .m_axis_tdata  (frame_data),
      .m_axis_tkeep  (frame_keep),
      .m_axis_tlast  (frame_last),
      .m_axis_tuser  (frame_error),
      .idle          (reader_idle)
  );
  assign {axi_req.awid, axi_req.awuser, axi_req.arid, axi_req.aruser} = '0;

  // ----------------------------------------------------------------------------------------------- parts come back
  // A part's data are kept until all of it is in; parts and what became of them come out in order.
  part_t part;
  logic store_ready, store_idle, data_valid, data_last, result_room, result_valid, failed, unused_part_valid;
  logic parts_idle, results_idle, told_q, answer_taken, part_ends;
  logic [DATA_W-1:0] data;
  logic [KEEP_W-1:0] data_keep;

  stream_queue #(
      .WIDTH($bits(part_t)),
      .DEPTH(PARTS)
  ) u_parts (
      .clk,
      .rst,
      .s_valid(part_start),
      .s_ready(part_room),
      .s_data (part_t'{
        busy_read_q.owner,
        final_part,
        dram_answer_t'{busy_read_q.data_memory, busy_read_q.addr, final_part ? busy_read_q.tag : 5'd0},
        busy_read_q.dram_addr
      }),
      .m_valid(unused_part_valid),
      .m_ready(part_ends),
      .m_data (part),
      .idle   (parts_idle)
  );

  assign frame_ready = store_ready && result_room;
  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(2 * PAGE / KEEP_W),
      .DROP_WHEN_FULL(1'b0)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid(frame_valid && result_room),
      .s_axis_tready(store_ready),
      .s_axis_tdata (frame_data),
      .s_axis_tkeep (frame_keep),
      .s_axis_tlast (frame_last),
      .s_axis_tuser (1'b0),
      .s_drop       (frame_error),
      .m_axis_tvalid(data_valid),
      .m_axis_tready(told_q && m_axis_tready),
      .m_axis_tdata (data),
      .m_axis_tkeep (data_keep),
      .m_axis_tlast (data_last),
      .m_axis_tuser (),
      .used         (),
      .dropped      (),
      .idle         (store_idle)
  );
  stream_queue #(
      .WIDTH(1),
      .DEPTH(PARTS)
  ) u_results (
      .clk,
      .rst,
      .s_valid(frame_valid && frame_ready && frame_last),
      .s_ready(result_room),
      .s_data (frame_error),
      .m_valid(result_valid),
      .m_ready(part_ends),
      .m_data (failed),
      .idle   (results_idle)
  );

  assign m_axis_tvalid = told_q ? data_valid : result_valid;
  assign m_axis_tdata  = told_q ? data : DATA_W'(part.answer);
  assign m_axis_tkeep  = told_q ? data_keep : '1;
  assign m_axis_tlast  = told_q ? data_last : failed;
  assign m_axis_owner  = part.owner;
  assign answer_taken  = m_axis_tvalid && m_axis_tready;
  assign part_ends     = answer_taken && m_axis_tlast;
  always_ff @(posedge clk) begin
    if (answer_taken) told_q <= !m_axis_tlast;
    if (rst) told_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------------------ events
  function automatic logic is_current(owner_t owner);
    return owner.life == life[INDEX_W'(owner.unit)];
  endfunction

  always_ff @(posedge clk) begin
    read_event <= '{
        valid: part_ends && (part.final_part || failed),
        failed: failed,
        unit: 8'(part.owner.unit),
        current: is_current(part.owner),
        addr: part.dram_addr
    };
    write_event <= '{
        valid: write_done,
        failed: write_failed,
        unit: 8'(write.owner.unit),
        current: is_current(write.owner),
        addr: write.dram_addr
    };
    if (rst) begin
      read_event.valid  <= 1'b0;
      write_event.valid <= 1'b0;
    end
  end

  assign idle = !is_head && !in_data_q && writes_idle && writer_idle && reads_idle && !busy_q && reader_idle
      && parts_idle && store_idle && results_idle && !read_event.valid && !write_event.valid;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!write_done || unused_write_valid) else $error("%m: a write that nobody asked for");
      assert (!part_ends || unused_part_valid) else $error("%m: a part that nobody asked for");
    end
  end
`else
  wire unused = &{1'b0, unused_write_valid, unused_part_valid};
`endif

endmodule
