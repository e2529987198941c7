// SPDX-License-Identifier: Apache-2.0
// Finds the memory writes in a stream of AXI4 write beats, of which only the strobes come here: runs of bytes without a
// hole, each split at multiples of max_payload and at the end of its burst. A beat with holes becomes a write for each
// of its DWs. A burst's last segment `ends` it; one without any DW does so when nothing is left to be written.
// Latency: 2 cycles from the beat that a segment ends with. Throughput: a beat a cycle; one more where a segment ends
// with the bus' last lane and the next beat doesn't go on, and for each DW of a beat with holes.
// Backpressure: s_ready follows m_ready in the same cycle.
module pcie_segments
  import pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned ROW_W = 8,
    localparam int unsigned BYTES = DATA_W / 8,
    localparam int unsigned LANE_W = $clog2(DATA_W / 32),
    localparam int unsigned ADDR_W = 64 - $clog2(BYTES)
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [2:0]        max_payload,  // 128 bytes << that

    input  logic              s_valid,
    output logic              s_ready,
    input  logic [BYTES-1:0]  s_strb,
    input  logic              s_last,
    input  logic [ADDR_W-1:0] s_beat,       // address
    input  logic [ROW_W-1:0]  s_row,        // where its data are
    input  logic [15:0]       s_func,
    input  logic [7:0]        s_id,

    output logic              m_valid,
    input  logic              m_ready,
    output request_t          m_header,     // none with no DWs
    output logic [ROW_W-1:0]  m_row,        // of the first DW, and its lane
    output logic [LANE_W-1:0] m_lane,
    output logic [ROW_W-1:0]  m_free,       // rows before this one are not needed after this segment
    output logic              m_ends,
    output logic [7:0]        m_id,

    output logic              idle
);

  localparam int unsigned LANES = DATA_W / 32;

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_segments: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (ROW_W < 2) begin : gen_bad_row_w
    $fatal(1, "pcie_segments: ROW_W must be at least 2, not %0d", ROW_W);
  end

  typedef logic [LANE_W-1:0] lane_t;
  typedef struct packed {
    logic              last;
    logic [ADDR_W-1:0] beat;
    logic [ROW_W-1:0]  row;
    logic [15:0]       func;
    logic [7:0]        id;
  } place_t;
  // A beat as far as its strobes are understood.
  typedef struct packed {
    logic             solid;      // one run of bytes
    logic             goes_on;    // begins with the first byte
    logic             to_end;     // ends with the last one
    logic             bound;      // no write goes beyond it
    lane_t            first;
    lane_t            last;
    logic [LANES-1:0] some;       // DWs with bytes
  } shape_t;
  typedef struct packed {
    logic [15:0]      func;
    logic [63:2]      addr;
    logic [ROW_W-1:0] row;
    logic [10:0]      dwords;
    logic [3:0]       first_be;
    logic [3:0]       last_be;
  } segment_t;

  function automatic lane_t lowest(logic [LANES-1:0] set);
    lowest = '0;
    for (int i = int'(LANES) - 1; i >= 0; i--) if (set[i]) lowest = lane_t'(i);
  endfunction
  function automatic lane_t highest(logic [LANES-1:0] set);
    highest = '0;
    for (int i = 0; i < int'(LANES); i++) if (set[i]) highest = lane_t'(i);
  endfunction

  // --------------------------------------------------------------------------------------------- stage 1: the strobes
  logic take, flow, one_q, two_q;
  logic [BYTES-1:0] strb_q, strb2_q;
  place_t place_q, place2_q;
  shape_t shape, b;
  wire [BYTES-1:0] starts = strb_q & ~(strb_q << 1);
  wire [4:0] bound_beats = 5'(max_payload) + 5'd7 - 5'($clog2(BYTES));  // log2
  wire [ADDR_W-1:0] below = ~(~ADDR_W'(0) << bound_beats);

  assign flow    = !two_q || take;
  assign s_ready = flow || !one_q;

  always_comb begin
    for (int i = 0; i < int'(LANES); i++) shape.some[i] = strb_q[4*i+:4] != 0;
    shape.solid   = (starts & (starts - 1'b1)) == '0;
    shape.goes_on = strb_q[0];
    shape.to_end  = strb_q[BYTES-1];
    shape.bound   = (place_q.beat & below) == below;
    shape.first   = lowest(shape.some);
    shape.last    = highest(shape.some);
  end

  always_ff @(posedge clk) begin
    if (s_ready) begin
      one_q   <= s_valid;
      strb_q  <= s_strb;
      place_q <= '{last: s_last, beat: s_beat, row: s_row, func: s_func, id: s_id};
    end
    if (flow) begin
      two_q    <= one_q;
      b        <= shape;
      strb2_q  <= strb_q;
      place2_q <= place_q;
    end
    if (rst) begin
      one_q <= 1'b0;
      two_q <= 1'b0;
    end
  end

  // -------------------------------------------------------------------------------------------- stage 2: the segments
  logic open_q, apart_q;               // a segment goes on; DWs of a beat with holes are left
  logic [LANES-1:0] todo_q;
  segment_t open_segment_q, fresh, segment;
  wire [LANES-1:0] todo = apart_q ? todo_q : b.some;
  wire [LANES-1:0] rest = todo & (todo - 1'b1);
  wire empty = b.some == '0;
  wire interrupts = open_q && !empty && !(b.solid && b.goes_on);
  wire lane_t first = b.solid ? b.first : lowest(todo);
  wire lane_t last = b.solid ? b.last : first;
  wire closes = place2_q.last || !b.to_end || b.bound;
  wire [10:0] count = 11'(last) - 11'(first) + 1'b1;
  wire pushed = m_valid && m_ready;

  assign fresh = '{
          func: place2_q.func,
          addr: {place2_q.beat, first},
          row: place2_q.row,
          dwords: count,
          first_be: strb2_q[4*first+:4],
          last_be: count == 11'd1 ? 4'h0 : strb2_q[4*last+:4]
      };
  always_comb begin
    segment = open_q ? open_segment_q : fresh;
    if (open_q && !empty && !interrupts) begin
      segment.dwords  = open_segment_q.dwords + count;
      segment.last_be = strb2_q[4*last+:4];
    end
    if (!open_q && empty) segment.dwords = '0;
  end

  always_comb begin
    m_valid = two_q;
    take    = two_q && m_ready;
    m_ends  = place2_q.last;
    m_free  = place2_q.row + 1'b1;
    if (empty) begin
      m_valid = two_q && (open_q || place2_q.last);
      take    = two_q && (m_ready || !m_valid);
    end else if (interrupts) begin
      take   = 1'b0;
      m_ends = 1'b0;
      m_free = place2_q.row;
    end else if (b.solid) begin
      m_valid = two_q && closes;
      take    = two_q && (m_ready || !m_valid);
    end else if (rest != '0) begin
      take   = 1'b0;
      m_ends = 1'b0;
      m_free = place2_q.row;
    end
  end

  always_ff @(posedge clk) begin
    if (pushed) begin
      open_q  <= 1'b0;
      apart_q <= !empty && !interrupts && !b.solid && rest != '0;
      todo_q  <= rest;
    end
    if (two_q && !empty && !interrupts && b.solid && !closes) begin
      open_q         <= 1'b1;
      open_segment_q <= segment;
    end
    if (rst) begin
      open_q  <= 1'b0;
      apart_q <= 1'b0;
    end
  end

  assign m_header = '{
          write: 1'b1,
          func: segment.func,
          tag: '0,
          addr: {segment.addr, 2'b00},
          dwords: segment.dwords,
          first_be: segment.first_be,
          last_be: segment.last_be
      };
  assign m_row  = segment.row;
  assign m_lane = segment.addr[2+:LANE_W];
  assign m_id   = place2_q.id;
  assign idle   = !one_q && !two_q;

endmodule
