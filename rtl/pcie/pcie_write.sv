// SPDX-License-Identifier: Apache-2.0
// AXI4 writes of host memory become memory write requests: runs of bytes without a hole, split at multiples of
// max_payload (which 4 KB is one of), with byte enables; pcie_segments says which. A request goes out once all of its
// data are here and there are credits for it, without a gap in its data. A burst is answered, always with OKAY, when
// the last of its requests has been handed over: what is requested after that comes after it.
// Bursts are incrementing, of the bus' width or of one beat, and don't cross 4 KB.
// Messages are further writes of one DW (interrupts), which go before those that wait for credits.
// Latency: 9 cycles from a burst's last beat to its last request's first.
// Throughput: a beat a cycle each way; a request a cycle. Backpressure: beats wait for their address, for a free row of
// the store, and for segments to go out; requests for credits and req_ready.
module pcie_write
  import pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned ROWS = 65536 / DATA_W  // beats that are stored
) (
    input  logic                clk,
    input  logic                rst,
    // Of non-posted credits nothing.
    // verilator lint_off UNUSEDSIGNAL
    input  credit_limit_t       limit,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [2:0]          max_payload,  // 128 bytes << that

    input  logic [7:0]          s_axi_awid,
    // Of the first beat the strobes tell where it begins.
    // verilator lint_off UNUSEDSIGNAL
    input  logic [63:0]         s_axi_awaddr,
    // verilator lint_on UNUSEDSIGNAL
    input  logic [7:0]          s_axi_awlen,
    input  logic [2:0]          s_axi_awsize,
    input  logic [1:0]          s_axi_awburst,
    input  logic [15:0]         s_axi_awuser,  // function
    input  logic                s_axi_awvalid,
    output logic                s_axi_awready,
    input  logic [DATA_W-1:0]   s_axi_wdata,
    input  logic [DATA_W/8-1:0] s_axi_wstrb,
    input  logic                s_axi_wlast,
    input  logic                s_axi_wvalid,
    output logic                s_axi_wready,
    output logic [7:0]          s_axi_bid,
    output logic [1:0]          s_axi_bresp,
    output logic                s_axi_bvalid,
    input  logic                s_axi_bready,

    input  logic                msg_valid,
    output logic                msg_ready,
    input  request_t            msg_header,
    input  logic [31:0]         msg_data,

    output logic                req_valid,
    input  logic                req_ready,
    output request_t            req_header,
    output logic [DATA_W-1:0]   req_data,
    output logic                req_last,

    output logic                idle
);

  localparam int unsigned BYTES = DATA_W / 8;
  localparam int unsigned OFFSET_W = $clog2(BYTES);
  localparam int unsigned LANES = DATA_W / 32;
  localparam int unsigned LANE_W = $clog2(LANES);
  localparam int unsigned ROW_W = $clog2(ROWS);
  localparam int unsigned BURSTS = 32;  // that are not answered

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_write: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (ROWS < 2 * PAGE / BYTES || 2 ** ROW_W != ROWS) begin : gen_bad_rows
    $fatal(1, "pcie_write: ROWS must be a power of two with room for 8 KB, not %0d", ROWS);
  end

  typedef logic [ROW_W-1:0] row_t;
  typedef logic [LANE_W-1:0] lane_t;
  localparam int unsigned ADDR_W = 64 - OFFSET_W;

  // ----------------------------------------------------------------------------------------------------- beats come in
  typedef struct packed {
    logic [7:0]        id;
    logic [15:0]       func;
    logic [ADDR_W-1:0] beat;
  } burst_t;
  burst_t next_burst, burst;
  logic burst_valid, bursts_idle, room_q, within_q, segments_ready, beat_taken, answer_taken;
  logic [5:0] open_bursts_q;           // that are not answered
  logic [ADDR_W-1:0] beat_q;
  logic aw_room;
  row_t wr_row_q, free_row_q;
  wire row_t used_rows = wr_row_q - free_row_q;

  assign s_axi_awready = aw_room && !open_bursts_q[5];
  stream_queue #(
      .WIDTH($bits(burst_t)),
      .DEPTH(4)
  ) u_bursts (
      .clk,
      .rst,
      .s_valid(s_axi_awvalid && !open_bursts_q[5]),
      .s_ready(aw_room),
      .s_data ({s_axi_awid, s_axi_awuser, s_axi_awaddr[63:OFFSET_W]}),
      .m_valid(burst_valid),
      .m_ready(beat_taken && s_axi_wlast),
      .m_data (next_burst),
      .idle   (bursts_idle)
  );
  always_comb begin
    burst = next_burst;
    if (within_q) burst.beat = beat_q;
  end
  assign s_axi_wready = burst_valid && room_q && segments_ready;
  assign beat_taken   = s_axi_wvalid && s_axi_wready;

  always_ff @(posedge clk) begin
    if (beat_taken) begin
      within_q <= !s_axi_wlast;
      beat_q   <= burst.beat + 1'b1;
      wr_row_q <= wr_row_q + 1'b1;
    end
    room_q        <= used_rows < row_t'(ROWS - 3);
    open_bursts_q <= open_bursts_q + 6'(s_axi_awvalid && s_axi_awready) - 6'(answer_taken);
    if (rst) begin
      within_q      <= 1'b0;
      wr_row_q      <= '0;
      room_q        <= 1'b0;
      open_bursts_q <= '0;
    end
  end

  typedef struct packed {
    request_t   header;
    row_t       row;
    lane_t      lane;
    row_t       free;
    logic       ends;
    logic [7:0] id;
  } segment_t;
  segment_t found, next_segment;
  logic found_valid, found_ready, next_valid, next_ready, segments_idle, found_idle;
  pcie_segments #(
      .DATA_W(DATA_W),
      .ROW_W (ROW_W)
  ) u_segments (
      .clk,
      .rst,
      .max_payload,
      .s_valid (s_axi_wvalid && burst_valid && room_q),
      .s_ready (segments_ready),
      .s_strb  (s_axi_wstrb),
      .s_last  (s_axi_wlast),
      .s_beat  (burst.beat),
      .s_row   (wr_row_q),
      .s_func  (burst.func),
      .s_id    (burst.id),
      .m_valid (found_valid),
      .m_ready (found_ready),
      .m_header(found.header),
      .m_row   (found.row),
      .m_lane  (found.lane),
      .m_free  (found.free),
      .m_ends  (found.ends),
      .m_id    (found.id),
      .idle    (segments_idle)
  );
  stream_queue #(
      .WIDTH($bits(segment_t)),
      .DEPTH(32)
  ) u_found (
      .clk,
      .rst,
      .s_valid(found_valid),
      .s_ready(found_ready),
      .s_data (found),
      .m_valid(next_valid),
      .m_ready(next_ready),
      .m_data (next_segment),
      .idle   (found_idle)
  );

  // ----------------------------------------------------------------------------------------------------------- credits
  // With each segment the credits that are used once it is out. It waits until the limits reach them: until what is
  // left, modulo the fields' widths, is not negative. That is found out a cycle ahead.
  segment_t segment_q;
  logic segment_valid_q, segment_none_q, segment_msg_q, granted_q, go;
  logic [31:0] segment_data_q;
  logic [7:0] ph_q;
  logic [11:0] pd_q;
  logic [10:0] beats_left_q;           // of the segment, - 1
  wire none = !msg_valid && next_segment.header.dwords == 0;
  wire [10:0] dwords = msg_valid ? 11'd1 : next_segment.header.dwords;
  // A credit of data is for 4 DWs or less: credits are counted twice, so that rounding up is a carry.
  wire [12:0] uses = {3'd0, dwords[10:2], dwords[1:0] != 0};
  wire counts = msg_ready && (next_valid || msg_valid) && !none;
  // verilator lint_off UNUSEDSIGNAL
  wire [7:0] ph_left = limit.ph - ph_q, ph_then = ph_left - 1'b1;
  wire [11:0] pd_left = limit.pd - pd_q;
  wire [12:0] pd_then = {pd_left, 1'b0} - uses;
  // verilator lint_on UNUSEDSIGNAL

  assign msg_ready  = !segment_valid_q || go;
  assign next_ready = msg_ready && !msg_valid;
  always_ff @(posedge clk) begin
    if (msg_ready) begin
      segment_valid_q  <= next_valid || msg_valid;
      segment_none_q   <= none;
      segment_msg_q    <= msg_valid;
      segment_data_q   <= msg_data;
      segment_q        <= next_segment;
      segment_q.header <= msg_valid ? msg_header : next_segment.header;
      beats_left_q     <= none ? '0 : (dwords - 1'b1) >> LANE_W;
    end
    if (counts) begin
      ph_q <= ph_q + 1'b1;
      pd_q <= 12'(({pd_q, 1'b1} + uses) >> 1);
    end
    granted_q <= (limit.ph_infinite || !(counts ? ph_then[7] : ph_left[7]))
        && (limit.pd_infinite || !(counts ? pd_then[12] : pd_left[11]));
    if (rst) begin
      segment_valid_q <= 1'b0;
      ph_q            <= '0;
      pd_q            <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------------- data go out
  // The segment that is sent, its beats through the store's two output registers and u_out.
  typedef struct packed {
    request_t   header;
    logic       last;
    logic       none;                  // no request: an answer alone
    logic       ends;
    logic [7:0] id;
  } beat_t;
  logic sending_q, step, final_step, read_q, next, next_q, advance, out_valid, out_ready, out_idle;
  segment_t send_q;
  logic send_none_q, send_msg_q, read_msg_q, next_msg_q;
  logic send_final_q;                  // its last beat is next
  logic [31:0] send_data_q, read_data_q, next_data_q;
  logic [10:0] send_left_q;
  beat_t read_beat_q, next_beat_q, out_beat;
  logic [DATA_W-1:0] stored, next_data;
  assign next       = advance || !next_q;
  assign step       = sending_q && (next || !read_q);
  assign final_step = step && send_final_q;
  assign go         = segment_valid_q && (granted_q || segment_none_q) && (!sending_q || final_step);

  always_ff @(posedge clk) begin
    if (step) begin
      send_q.row   <= send_q.row + 1'b1;
      send_left_q  <= send_left_q - 1'b1;
      send_final_q <= send_left_q == 11'd1;
      read_msg_q   <= send_msg_q;
      read_data_q  <= send_data_q;
      read_beat_q  <= '{
          header: send_q.header,
          last: final_step,
          none: send_none_q,
          ends: final_step && send_q.ends && !send_msg_q,
          id: send_q.id
      };
    end
    if (final_step) begin
      sending_q <= 1'b0;
      if (!send_msg_q) free_row_q <= send_q.free;
    end
    if (go) begin
      sending_q    <= 1'b1;
      send_q       <= segment_q;
      send_none_q  <= segment_none_q;
      send_msg_q   <= segment_msg_q;
      send_data_q  <= segment_data_q;
      send_left_q  <= beats_left_q;
      send_final_q <= beats_left_q == 0;
    end
    if (next || !read_q) read_q <= sending_q;
    if (next) begin
      next_q      <= read_q;
      next_beat_q <= read_beat_q;
      next_msg_q  <= read_msg_q;
      next_data_q <= read_data_q;
    end
    if (rst) begin
      sending_q  <= 1'b0;
      free_row_q <= '0;
      read_q     <= 1'b0;
      next_q     <= 1'b0;
    end
  end
  always_comb begin
    next_data = stored;
    if (next_msg_q) next_data[31:0] = next_data_q;
  end
  stream_reg #(
      .WIDTH($bits(beat_t) + DATA_W)
  ) u_out (
      .clk,
      .rst,
      .s_valid(next_q),
      .s_ready(advance),
      .s_data ({next_beat_q, next_data}),
      .m_valid(out_valid),
      .m_ready(out_ready),
      .m_data ({out_beat, req_data}),
      .idle   (out_idle)
  );
  assign out_ready  = req_ready || out_beat.none;
  assign req_valid  = out_valid && !out_beat.none;
  assign req_header = out_beat.header;
  assign req_last   = out_beat.last;

  pcie_write_store #(
      .DATA_W(DATA_W),
      .ROWS  (ROWS)
  ) u_store (
      .clk,
      .wr_en  (beat_taken),
      .wr_row (wr_row_q),
      .wr_data(s_axi_wdata),
      .rd_en  (step),
      .rd_row (send_q.row),
      .rd_lane(send_q.lane),
      .rd_next(next),
      .rd_data(stored)
  );

  // ----------------------------------------------------------------------------------------------------------- answers
  logic answer_room, answers_idle;
  wire answer = out_valid && out_ready && out_beat.ends;
  assign answer_taken = s_axi_bvalid && s_axi_bready;
  assign s_axi_bresp  = 2'b00;
  stream_queue #(
      .WIDTH(8),
      .DEPTH(BURSTS)
  ) u_answers (
      .clk,
      .rst,
      .s_valid(answer),
      .s_ready(answer_room),
      .s_data (out_beat.id),
      .m_valid(s_axi_bvalid),
      .m_ready(s_axi_bready),
      .m_data (s_axi_bid),
      .idle   (answers_idle)
  );

  assign idle = bursts_idle && segments_idle && found_idle && !segment_valid_q && !sending_q && !read_q && !next_q
      && out_idle && answers_idle && open_bursts_q == 0;

`ifndef SYNTHESIS
  offer_contract #(
      .WIDTH($bits(request_t) + 32)
  ) u_msg (
      .clk,
      .rst,
      .valid(msg_valid),
      .ready(msg_ready),
      .data ({msg_header, msg_data})
  );

  wire [12:0] burst_end = 13'(s_axi_awaddr[11:OFFSET_W]) + 13'(s_axi_awlen);
  always_ff @(posedge clk) begin
    if (!rst && s_axi_awvalid && s_axi_awready) begin
      assert (s_axi_awburst == 2'b01) else $error("%m: a burst that doesn't increment");
      assert (32'(s_axi_awsize) == OFFSET_W || (32'(s_axi_awsize) < OFFSET_W && s_axi_awlen == 0))
      else $error("%m: beats narrower than the bus");
      assert (32'(burst_end) < PAGE / BYTES) else $error("%m: a burst that crosses 4 KB");
    end
    if (!rst) assert (!answer || answer_room) else $error("%m: more answers than bursts");
  end
`else
  wire unused = &{1'b0, s_axi_awburst, s_axi_awsize, s_axi_awlen, answer_room};
`endif

endmodule
