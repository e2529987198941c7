// SPDX-License-Identifier: Apache-2.0
// Takes a TLP's header, of 3 or 4 DWs, from the front of its data, which move down by as many lanes.
// Latency: 1 cycle after the beat with a beat's last DW. Throughput: 1 beat a cycle.
// Backpressure: s_ready is low for a cycle after a TLP whose end needs a beat of its own, and one cycle after m_ready.
module pcie_frame_in #(
    parameter int unsigned DATA_W = 256,
    parameter int unsigned BESIDE_W = 1
) (
    input  logic                clk,
    input  logic                rst,

    input  logic                s_valid,
    output logic                s_ready,
    input  logic [DATA_W-1:0]   s_data,
    input  logic                s_last,
    input  logic                s_long,    // with the first beat, as the next two: the header has 4 DWs
    input  logic [10:0]         s_dwords,  // of data
    input  logic [BESIDE_W-1:0] s_beside,

    output logic                m_valid,
    input  logic                m_ready,
    output logic [127:0]        m_header,  // DW 0 lowest
    output logic [BESIDE_W-1:0] m_beside,
    output logic [DATA_W-1:0]   m_data,
    output logic                m_last,

    output logic                idle
);

  localparam int unsigned LANES = DATA_W / 32;

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_frame_in: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (BESIDE_W < 1) begin : gen_bad_beside_w
    $fatal(1, "pcie_frame_in: BESIDE_W must be at least 1, not %0d", BESIDE_W);
  end

  // Of the TLP: its header, what of its data is here (from lane 0 on) and how many DWs have not gone out.
  logic within_q, extra_q, long_q, room;
  logic [10:0] left_q;
  logic [127:0] header_q;
  logic [BESIDE_W-1:0] beside_q;
  logic [DATA_W-1:0] held_q, above, data;
  wire first = !within_q && !extra_q;
  wire long = first ? s_long : long_q;
  wire [10:0] left = first ? s_dwords : left_q;
  wire whole = left <= 11'(LANES);        // a beat takes all of it
  // A first beat goes out by itself where nothing follows.
  wire gives = extra_q || (s_valid && (!first || s_last));
  wire takes = s_valid && s_ready;

  assign s_ready = !extra_q && (room || (first && !s_last));
  assign above   = long ? s_data >> 128 : s_data >> 96;
  always_comb begin
    data = held_q;
    if (first) data = above;
    else if (!extra_q && long) data[DATA_W-1-:128] = s_data[127:0];
    else if (!extra_q) data[DATA_W-1-:96] = s_data[95:0];
  end

  always_ff @(posedge clk) begin
    if (extra_q && room) extra_q <= 1'b0;
    if (takes) begin
      within_q <= !s_last;
      extra_q  <= s_last && !first && !whole;
      held_q   <= above;
      if (first) begin
        header_q <= s_data[127:0];
        beside_q <= s_beside;
        long_q   <= s_long;
        left_q   <= s_dwords;
      end else begin
        left_q <= left_q - 11'(LANES);
      end
    end
    if (rst) begin
      within_q <= 1'b0;
      extra_q  <= 1'b0;
    end
  end

  logic out_idle;
  stream_reg #(
      .WIDTH(128 + BESIDE_W + DATA_W + 1)
  ) u_out (
      .clk,
      .rst,
      .s_valid(gives),
      .s_ready(room),
      .s_data ({first ? s_data[127:0] : header_q, first ? s_beside : beside_q, data, whole}),
      .m_valid,
      .m_ready,
      .m_data ({m_header, m_beside, m_data, m_last}),
      .idle   (out_idle)
  );
  assign idle = out_idle && !within_q && !extra_q;

endmodule
