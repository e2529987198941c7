// SPDX-License-Identifier: Apache-2.0
// First half of accel_matcher: 16 bytes a cycle, it says for each byte which kinds of patterns may end there. Nothing
// that ends there is left out; a little too much passes. Three tables of 512 words, a copy for each byte of a row:
//   1: by the last byte and 1 bit of hash2: bit 31 a pattern of 1 byte, bit hash2[3:0] of 2, bit 16 + min(hash2[3:0],
//      14) of more; 2: by hash3: bit [3:0] of 3 bytes, 16 + [3:0] of 4 or more; 3: by hash4, 1 bit each: of 4 or more
// Latency: 4 cycles. Throughput: 16 bytes a cycle, less in jobs' last beats. Backpressure: m_ready stops it whole.
module matcher_filter
  import matcher_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    localparam int unsigned BYTES_W = $clog2(DATA_W / 8 + 1)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               enable,   // otherwise nothing is found
    input  load_t              load,

    input  logic               s_valid,
    output logic               s_ready,
    input  logic [DATA_W-1:0]  s_data,
    input  logic [BYTES_W-1:0] s_bytes,
    input  logic               s_first,
    input  logic               s_last,
    input  logic [7:0]         s_tag,

    // Each row as it is, at the latest when its candidates are offered
    output logic               row_valid,
    output logic [RING_W-1:0]  row_ring,
    output logic [8*LANES-1:0] row_data,

    output logic               m_valid,
    input  logic               m_ready,
    output candidates_t        m,
    output logic               idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "matcher_filter: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned ROWS = DATA_W / (8 * LANES);
  localparam int unsigned ROW_W = ROWS > 1 ? $clog2(ROWS) : 1;

  wire advance = m_ready;

  // Beats are cut into rows.
  logic [ROW_W-1:0] row_q;
  logic [8*LANES-1:0] data;
  logic [BYTES_W-1:0] left;
  wire cut = left <= BYTES_W'(LANES);
  wire [4:0] bytes = cut ? 5'(left) : 5'(LANES);
  assign left    = s_bytes - BYTES_W'(row_q) * BYTES_W'(LANES);
  assign data    = s_data[row_q*8*LANES+:8*LANES];
  assign s_ready = advance && cut;

  // a: the row and, in lower case, the 3 bytes before it; b: what the tables say; m: the kinds
  typedef struct packed {
    logic [7:0]        tag;
    logic              last;
    logic [4:0]        bytes;
    logic [11:0]       number;
    logic [RING_W-1:0] ring;
  } side_t;

  logic a_valid_q, b_valid_q, m_valid_q;
  side_t a_q, b_q, m_q;
  logic [8*LANES-1:0] a_data_q;
  logic [LANES+2:0][7:0] a_folded_q;
  logic [LANES-1:0][31:0] first, second, third;
  logic [LANES-1:0][3:0] b_in_first_q, b_in_second_q;
  logic [LANES-1:0][4:0] b_in_third_q;
  kinds_t [LANES-1:0] kinds, kinds_q;
  logic [RING_W-1:0] ring_q;

  for (genvar i = 0; i < LANES; i++) begin : gen_lanes
    wire [31:0] key = {a_folded_q[i], a_folded_q[i+1], a_folded_q[i+2], a_folded_q[i+3]};
    wire [4:0] by_first = hash2(key[15:8]);
    wire [12:0] by_second = hash3(key[23:0]);
    wire [13:0] by_third = hash4(key);

    ram_sdp #(
        .WIDTH(32),
        .DEPTH(512)
    ) u_first (
        .clk,
        .wr_en  (load.valid && load.index[21:9] == 13'd0),
        .wr_addr(load.index[8:0]),
        .wr_data(load.data),
        .rd_en  (advance),
        .rd_addr({key[7:0], by_first[4]}),
        .rd_data(first[i])
    );

    ram_sdp #(
        .WIDTH(32),
        .DEPTH(512)
    ) u_second (
        .clk,
        .wr_en  (load.valid && load.index[21:9] == 13'd1),
        .wr_addr(load.index[8:0]),
        .wr_data(load.data),
        .rd_en  (advance),
        .rd_addr(by_second[12:4]),
        .rd_data(second[i])
    );

    ram_sdp #(
        .WIDTH(32),
        .DEPTH(512)
    ) u_third (
        .clk,
        .wr_en  (load.valid && load.index[21:9] == 13'd2),
        .wr_addr(load.index[8:0]),
        .wr_data(load.data),
        .rd_en  (advance),
        .rd_addr(by_third[13:5]),
        .rd_data(third[i])
    );

    always_ff @(posedge clk) begin
      if (advance) begin
        b_in_first_q[i]  <= by_first[3:0];
        b_in_second_q[i] <= by_second[3:0];
        b_in_third_q[i]  <= by_third[4:0];
      end
    end

    wire [14:0] more = first[i][30:16];
    wire longer = more[b_in_first_q[i] == 4'd15 ? 4'd14 : b_in_first_q[i]];
    wire there = enable && 5'(i) < b_q.bytes;
    assign kinds[i][0] = there && first[i][31];
    assign kinds[i][1] = there && first[i][{1'b0, b_in_first_q[i]}];
    assign kinds[i][2] = there && longer && second[i][{1'b0, b_in_second_q[i]}];
    assign kinds[i][3] = there && longer && second[i][{1'b1, b_in_second_q[i]}] && third[i][b_in_third_q[i]];
  end

  always_ff @(posedge clk) begin
    if (advance) begin
      a_valid_q  <= s_valid;
      b_valid_q  <= a_valid_q;
      m_valid_q  <= b_valid_q;
      b_q        <= a_q;
      m_q        <= b_q;
      kinds_q    <= kinds;
      if (s_valid) begin
        row_q           <= cut ? '0 : row_q + 1'b1;
        ring_q          <= ring_q + 1'b1;
        a_data_q        <= data;
        a_folded_q[2:0] <= a_folded_q[LANES+2:LANES];
        for (int unsigned i = 0; i < LANES; i++) a_folded_q[i+3] <= fold(data[8*i+:8]);
        a_q.tag         <= s_tag;
        a_q.last        <= s_last && cut;
        a_q.bytes       <= bytes;
        a_q.number      <= s_first && row_q == '0 ? '0 : a_q.number + 1'b1;
        a_q.ring        <= ring_q;
      end
    end
    if (rst) begin
      a_valid_q <= 1'b0;
      b_valid_q <= 1'b0;
      m_valid_q <= 1'b0;
      row_q     <= '0;
      ring_q    <= '0;
    end
  end

  assign row_valid = a_valid_q;
  assign row_ring  = a_q.ring;
  assign row_data  = a_data_q;
  assign m_valid   = m_valid_q;
  assign m = '{tag: m_q.tag, last: m_q.last, bytes: m_q.bytes, number: m_q.number, ring: m_q.ring, kinds: kinds_q};
  assign idle = !a_valid_q && !b_valid_q && !m_valid_q;

endmodule
