// SPDX-License-Identifier: Apache-2.0
// Writes pieces of frames into host memory, each a burst: header and frame, out of the cells, turned to the lanes of
// the piece's address. Pieces of a frame come in order, with others between them when it was put aside; where it
// stopped is kept by queue. After a frame's last piece its cells are given back.
// A beat of the bus has bytes of two beats of header and frame at most: the one that was read last and the one before.
// Latency: 12 cycles from a piece to its first data. Throughput: 1 beat a cycle, a piece in 2; one that goes on with a
// frame put aside takes 6 more. Backpressure: piece_ready is low while a piece waits behind the one at hand, and while
// 16 addresses wait for the bus.
module receive_shift
  import axi_pkg::*, receive_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned CELL_BEATS = CELL_BYTES / BYTES,
    localparam int unsigned BEAT_W = $clog2(CELL_BEATS)
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              piece_valid,
    output logic              piece_ready,
    input  piece_t            piece,

    output logic              rd_en,
    output cell_t             rd_cell,
    output logic [BEAT_W-1:0] rd_beat,
    input  logic [DATA_W-1:0] rd_data,     // a cycle later
    output logic              next_en,     // goes first
    output cell_t             next_of,
    input  cell_t             next_cell,   // a cycle later
    output logic              free_valid,
    input  logic              free_ready,
    output cell_t             free_first,
    output cells_t            free_cells,

    output axi_req_t          axi_req,     // addresses and data to write; answers are another's
    output logic [DATA_W-1:0] axi_wdata,
    output logic [ BYTES-1:0] axi_wstrb,
    // verilator lint_off UNUSEDSIGNAL
    input  axi_rsp_t          axi_rsp,
    // verilator lint_on UNUSEDSIGNAL
    output logic              idle
);

  if (QUEUES < 1 || QUEUES > 65536) begin : gen_bad_queues
    $fatal(1, "receive_shift: QUEUES must be 1 to 65536, not %0d", QUEUES);
  end
  if (PAIRS < 1 || PAIRS > 8) begin : gen_bad_pairs
    $fatal(1, "receive_shift: PAIRS must be 1 to 8, not %0d", PAIRS);
  end
  if (FIRST + QUEUES > 2 ** 16) begin : gen_bad_first
    $fatal(1, "receive_shift: FIRST must leave room for the functions below 65536, not be %0d", FIRST);
  end
  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "receive_shift: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned LANE_W = $clog2(BYTES);
  localparam int unsigned WAITING = 16;
  localparam int unsigned CREDIT_W = $clog2(WAITING + 1);
  localparam int unsigned ID_W = QUEUE_W < $clog2(MOST_IDS) ? QUEUE_W : $clog2(MOST_IDS);
  localparam int unsigned HEADER = 12;
  typedef logic [LANE_W-1:0] lane_t;

  // ------------------------------------------------------------------------------------ the piece that comes next
  logic next_valid_q, take, aw_ready;
  // verilator lint_off UNUSEDSIGNAL
  piece_t next_q;             // its bytes are next_beats_q and the like
  // verilator lint_on UNUSEDSIGNAL
  logic [5:0] next_beats_q;   // that it has beside its first
  lane_t next_end_q;          // lane of its last byte
  logic [LANE_W:0] next_count_q;  // bytes of its first beat
  wire lane_t start = piece.addr[LANE_W-1:0];
  wire [10:0] span_end = 11'(start) + {1'b0, piece.bytes} - 1'b1;
  wire [LANE_W:0] span = (LANE_W + 1)'(BYTES) - {1'b0, start};
  assign piece_ready = !next_valid_q && aw_ready;
  wire come = piece_valid && piece_ready;
  wire begins_header = next_q.starts && next_q.at <= bytes_t'(HEADER);
  wire reads = next_q.writes && !next_q.fixes;

  always_ff @(posedge clk) begin
    if (take) next_valid_q <= 1'b0;
    if (come) begin
      next_valid_q <= 1'b1;
      next_q       <= piece;
      next_beats_q <= 6'(span_end >> LANE_W);
      next_end_q   <= span_end[LANE_W-1:0];
      next_count_q <= piece.bytes <= 10'(span) ? piece.bytes[LANE_W:0] : span;
    end
    if (rst) next_valid_q <= 1'b0;
  end

  // ---------------------------------------------------------------------------------------- a piece, beat after beat
  logic active_q, free_room;
  // verilator lint_off UNUSEDSIGNAL
  piece_t piece_q;
  // verilator lint_on UNUSEDSIGNAL
  logic header_q;             // the next beat is the header's first
  logic [2:0] reload_q;       // cycles until the frame goes on
  logic waits_q;              // some
  lane_t lane_q, byte_q;      // where the next byte goes, and where it is in its beat of header and frame
  lane_t end_q;               // lane of the piece's last byte
  logic [5:0] beats_q;        // of the piece after this one
  logic done_q;               // it is the last, or the piece has none
  logic [LANE_W:0] count_q;   // bytes of the beat
  logic [CREDIT_W-1:0] credits_q;
  logic credit_q;             // some
  wire [LANE_W+1:0] byte_end = {2'b0, byte_q} + {1'b0, count_q};
  wire go = active_q && !waits_q && (!piece_q.writes || credit_q) && (!done_q || !piece_q.ends || free_room);
  wire beat = go && piece_q.writes;
  wire back = axi_req.wvalid && axi_rsp.wready;
  assign take = next_valid_q && (!active_q || (go && done_q));

  always_ff @(posedge clk) begin
    if (reload_q != 0) reload_q <= reload_q - 1'b1;
    waits_q <= reload_q > 1;
    if (beat) begin
      beats_q  <= beats_q - 1'b1;
      done_q   <= beats_q == 1;
      count_q  <= beats_q == 1 ? {1'b0, end_q} + 1'b1 : (LANE_W + 1)'(BYTES);
      lane_q   <= '0;
      byte_q   <= lane_t'(byte_end);
      header_q <= 1'b0;
    end
    if (go && done_q) active_q <= 1'b0;
    if (take) begin
      active_q <= 1'b1;
      piece_q  <= next_q;
      header_q <= reads && begins_header;
      reload_q <= reads && next_q.starts && !begins_header ? 3'd6 : 3'd0;
      waits_q  <= reads && next_q.starts && !begins_header;
      lane_q   <= next_q.addr[LANE_W-1:0];
      byte_q   <= lane_t'(next_q.at) - lane_t'(HEADER);
      end_q    <= next_end_q;
      beats_q  <= next_beats_q;
      done_q   <= !next_q.writes || next_beats_q == 0;
      count_q  <= next_count_q;
    end
    credits_q <= credits_q - CREDIT_W'(beat) + CREDIT_W'(back);
    credit_q  <= credits_q[CREDIT_W-1:1] != 0 || back || (credits_q[0] && !beat);
    if (rst) begin
      active_q  <= 1'b0;
      reload_q  <= '0;
      waits_q   <= 1'b0;
      credits_q <= CREDIT_W'(WAITING);
      credit_q  <= 1'b1;
    end
  end

  // ------------------------------------------------------------------------------- stage 1: the cell's beat is read
  typedef struct packed {
    logic       fixes;
    logic [7:0] value;
    logic       last;
    lane_t      lane;        // of the first byte
    logic [LANE_W:0] lanes;  // where they end
    lane_t      newest;      // place of the last byte in its beat: what is beyond is from the beat before
    lane_t      turn;        // place of what goes to lane 0
  } beat_t;

  logic beat1_q, read1_q, header1_q, reload1_q, save1_q, valid_sum1_q;
  beat_t beat1_data_q;
  cell_t first1_q;
  logic [QUEUE_W-1:0] queue1_q;
  typedef struct packed {
    cell_t             number;
    logic [BEAT_W-1:0] beat;
  } place_t;
  place_t kept, kept_q;  // where the queue's frame was read last

  wire reload = reload_q == 3;
  always_ff @(posedge clk) begin
    beat1_q      <= beat;
    read1_q      <= (beat && !piece_q.fixes && (byte_q == 0 || 32'(byte_end) > BYTES)) || reload;
    header1_q    <= beat && header_q;
    reload1_q    <= reload;
    save1_q      <= beat && done_q && !piece_q.fixes;
    valid_sum1_q <= piece_q.valid_sum;
    first1_q     <= piece_q.first;
    queue1_q     <= QUEUE_W'(piece_q.owner);
    kept_q       <= kept;
    beat1_data_q <= '{
      fixes: piece_q.fixes,
      value: piece_q.value,
      last: done_q,
      lane: lane_q,
      lanes: {1'b0, lane_q} + count_q,
      newest: lane_t'(byte_end - 1'b1),
      turn: byte_q - lane_q
    };
    if (rst) begin
      beat1_q   <= 1'b0;
      read1_q   <= 1'b0;
      reload1_q <= 1'b0;
      save1_q   <= 1'b0;
    end
  end

  // The next place; if its cell has ended, it is in the one that follows, which is known once its link was read.
  place_t at, next_place_q, before_q;
  logic ended_q, link_q;      // link_q: a link comes in this cycle
  cell_t link_cell_q;
  wire place_t following = '{number: ended_q ? link_cell_q : next_place_q.number, beat: next_place_q.beat};
  assign at = header1_q ? '{number: first1_q, beat: '0} : reload1_q ? kept_q : following;

  assign rd_en   = read1_q;
  assign rd_cell = at.number;
  assign rd_beat = at.beat;

  always_ff @(posedge clk) begin
    next_en <= read1_q && (at.beat == 0 || reload1_q);
    next_of <= at.number;
    link_q  <= next_en;
    if (link_q) link_cell_q <= next_cell;
    if (read1_q) before_q <= at;
    if (read1_q || header1_q) begin
      next_place_q <= '{number: at.number, beat: at.beat + BEAT_W'(read1_q)};
      ended_q      <= read1_q && at.beat == BEAT_W'(CELL_BEATS - 1);
    end
    if (rst) begin
      next_en <= 1'b0;
      link_q  <= 1'b0;
    end
  end

  ram_fit #(
      .WIDTH($bits(place_t)),
      .DEPTH(QUEUES)
  ) u_kept (
      .clk,
      .wr_en  (save1_q),
      .wr_addr(queue1_q),
      .wr_data(read1_q ? at : before_q),
      .rd_en  (reload_q == 4),
      .rd_addr(QUEUE_W'(piece_q.owner)),
      .rd_data(kept)
  );

  // ------------------------------------------------------------------------------------ stages 2 to 6: the bus' beat
  logic beat2_q, read2_q, header2_q, valid_sum2_q, beat3_q, beat4_q, beat5_q, beat6_q;
  // verilator lint_off UNUSEDSIGNAL
  beat_t data2_q, data3_q, data4_q, data5_q;  // each stage uses some of it
  // verilator lint_on UNUSEDSIGNAL
  logic [DATA_W-1:0] newest_q, older_q, merged_q, half_q, turned_q;
  logic [BYTES-1:0] strobes_q;
  logic last6_q;
  localparam int unsigned HALF = LANE_W / 2;
  localparam lane_t FINE = lane_t'(2 ** HALF - 1);

  // virtio-net header: DATA_VALID in the flags, num_buffers 1
  wire [8*HEADER-1:0] header = {16'd1, 72'd0, 6'd0, valid_sum2_q, 1'b0};
  wire [DATA_W-1:0] older = header2_q ? {header, (DATA_W - 8 * HEADER)'(0)} : newest_q;

  function automatic logic [DATA_W-1:0] turn(logic [DATA_W-1:0] data, lane_t places);
    // verilator lint_off UNUSEDSIGNAL
    logic [2*DATA_W-1:0] twice;
    // verilator lint_on UNUSEDSIGNAL
    twice = {data, data} >> {places, 3'b000};
    return twice[DATA_W-1:0];
  endfunction

  always_ff @(posedge clk) begin
    {beat6_q, beat5_q, beat4_q, beat3_q, beat2_q} <= {beat5_q, beat4_q, beat3_q, beat2_q, beat1_q};
    read2_q                                       <= read1_q;
    header2_q                                     <= header1_q;
    valid_sum2_q                                  <= valid_sum1_q;
    if (read2_q) older_q <= older;
    if (read2_q || header2_q) newest_q <= read2_q ? rd_data : older;
    {data5_q, data4_q, data3_q, data2_q}          <= {data4_q, data3_q, data2_q, beat1_data_q};
    if (beat3_q) begin
      automatic logic [DATA_W-1:0] beyond = {{(DATA_W - 8) {1'b1}}, 8'd0} << {data3_q.newest, 3'b000};
      merged_q <= data3_q.fixes ? {BYTES{data3_q.value}} : (newest_q & ~beyond) | (older_q & beyond);
    end
    if (beat4_q) half_q <= turn(merged_q, data4_q.fixes ? '0 : data4_q.turn & FINE);
    if (beat5_q) begin
      turned_q  <= turn(half_q, data5_q.fixes ? '0 : data5_q.turn & ~FINE);
      strobes_q <= ({BYTES{1'b1}} << data5_q.lane) & ~({BYTES{1'b1}} << data5_q.lanes);
      last6_q   <= data5_q.last;
    end
    if (rst) begin
      {beat6_q, beat5_q, beat4_q, beat3_q, beat2_q} <= '0;
      read2_q                                       <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------------- the bus
  typedef struct packed {
    logic [ID_W-1:0]    id;
    logic [63:LANE_W]   word;
    logic [5:0]         len;   // 32 beats at most
    logic [QUEUE_W-1:0] owner;
  } address_t;
  address_t address, new_address;
  logic address_valid, beats_ready, beats_idle, addresses_idle, wvalid, wlast, frees_idle;
  assign new_address = '{
    id: ID_W'(piece.owner),
    word: piece.addr[63:LANE_W],
    len: 6'(span_end >> LANE_W),
    owner: QUEUE_W'(piece.owner)
  };

  // An address goes when its first data are there: nobody waits for the cells behind it.
  logic begins_q;
  logic [CREDIT_W-1:0] begun_q;  // bursts with data and without an address
  logic some_begun_q;
  wire begin_now = beat6_q && begins_q;
  wire address_goes = axi_req.awvalid && axi_rsp.awready;
  always_ff @(posedge clk) begin
    if (beat6_q) begins_q <= last6_q;
    begun_q      <= begun_q + CREDIT_W'(begin_now) - CREDIT_W'(address_goes);
    some_begun_q <= begun_q[CREDIT_W-1:1] != 0 || begin_now || (begun_q[0] && !address_goes);
    if (rst) begin
      begins_q     <= 1'b1;
      begun_q      <= '0;
      some_begun_q <= 1'b0;
    end
  end

  stream_fifo #(
      .WIDTH($bits(address_t)),
      .DEPTH(WAITING)
  ) u_addresses (
      .clk,
      .rst,
      .s_valid(come && piece.writes),
      .s_ready(aw_ready),
      .s_data (new_address),
      .m_valid(address_valid),
      .m_ready(address_goes),
      .m_data (address),
      .count  (),
      .idle   (addresses_idle)
  );
  stream_fifo #(
      .WIDTH(DATA_W + BYTES + 1),
      .DEPTH(WAITING)
  ) u_beats (
      .clk,
      .rst,
      .s_valid(beat6_q),
      .s_ready(beats_ready),
      .s_data ({last6_q, strobes_q, turned_q}),
      .m_valid(wvalid),
      .m_ready(axi_rsp.wready),
      .m_data ({wlast, axi_wstrb, axi_wdata}),
      .count  (),
      .idle   (beats_idle)
  );
  stream_queue #(
      .WIDTH($bits(cell_t) + $bits(cells_t)),
      .DEPTH(4)
  ) u_frees (
      .clk,
      .rst,
      .s_valid(go && done_q && piece_q.ends),
      .s_ready(free_room),
      .s_data ({piece_q.first, piece_q.cells}),
      .m_valid(free_valid),
      .m_ready(free_ready),
      .m_data ({free_first, free_cells}),
      .idle   (frees_idle)
  );

  assign axi_req = '{
          awid: 8'(address.id),
          awaddr: {address.word, LANE_W'(0)},
          awlen: 8'(address.len),
          awsize: 3'(LANE_W),
          awburst: 2'b01,
          awuser: 16'(FIRST + 32'(address.owner) / PAIRS),
          awvalid: address_valid && some_begun_q,
          wlast: wlast,
          wvalid: wvalid,
          bready: 1'b1,
          default: '0
      };
  assign idle = !next_valid_q && !active_q && credits_q == CREDIT_W'(WAITING) && beats_idle && addresses_idle
      && frees_idle && !save1_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!beat6_q || beats_ready) else $error("%m: a beat is lost");
      assert (!come || !piece.writes || (piece.bytes != 0 && piece.bytes <= 10'(BURST_BYTES)))
      else $error("%m: a piece of no bytes, or too many");
    end
  end
`else
  wire unused = &{1'b0, beats_ready};
`endif

endmodule
