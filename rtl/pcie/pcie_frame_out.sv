// SPDX-License-Identifier: Apache-2.0
// Puts a TLP's header, of 3 or 4 DWs as a hard IP wants it, in front of its data, which move up by as many lanes.
// Latency: 1 cycle. Throughput: 1 beat a cycle; a TLP whose data don't fit behind the header takes one beat more.
// Backpressure: s_ready is low while that beat goes out, and one cycle after m_ready.
module pcie_frame_out #(
    parameter int unsigned DATA_W = 256,
    parameter int unsigned BESIDE_W = 1,
    localparam int unsigned LANES = DATA_W / 32
) (
    input  logic                clk,
    input  logic                rst,

    input  logic                s_valid,
    output logic                s_ready,
    input  logic [127:0]        s_header,  // DW 0 lowest; this and the next three are the same on all beats
    input  logic                s_long,    // the header has 4 DWs
    input  logic [10:0]         s_dwords,  // of data
    input  logic [BESIDE_W-1:0] s_beside,
    input  logic [DATA_W-1:0]   s_data,
    input  logic                s_last,

    output logic                m_valid,
    input  logic                m_ready,
    output logic [DATA_W-1:0]   m_data,
    output logic [LANES-1:0]    m_keep,    // DWs that belong to the TLP, from lane 0 on
    output logic                m_first,
    output logic                m_last,
    output logic [BESIDE_W-1:0] m_beside,

    output logic                idle
);

  if (DATA_W < 128 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "pcie_frame_out: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (BESIDE_W < 1) begin : gen_bad_beside_w
    $fatal(1, "pcie_frame_out: BESIDE_W must be at least 1, not %0d", BESIDE_W);
  end

  // What has not gone out: DWs of the TLP, and the upper lanes of the beat before.
  logic within_q, extra_q, long_q, room;
  logic [11:0] left_q;
  logic [127:0] upper_q;
  logic [BESIDE_W-1:0] beside_q;
  wire valid = s_valid || extra_q;
  wire first = !within_q && !extra_q;
  wire long = extra_q ? long_q : s_long;
  wire [11:0] left = first ? 12'(s_dwords) + (s_long ? 12'd4 : 12'd3) : left_q;
  wire ends = left <= 12'(LANES);
  wire [127:0] lower = first ? s_header : upper_q;
  wire moves = valid && room;
  logic [LANES-1:0] keep;
  logic [DATA_W-1:0] data;

  assign s_ready = room && !extra_q;
  always_comb begin
    for (int i = 0; i < int'(LANES); i++) keep[i] = 12'(i) < left;
    data = long ? DATA_W'({s_data, lower}) : DATA_W'({s_data, lower[95:0]});
  end

  always_ff @(posedge clk) begin
    if (moves) begin
      upper_q  <= s_long ? s_data[DATA_W-1-:128] : 128'(s_data[DATA_W-1-:96]);
      left_q   <= left - 12'(LANES);
      within_q <= !extra_q && !s_last;
      extra_q  <= !extra_q && s_last && !ends;
      long_q   <= s_long;
      beside_q <= s_beside;
    end
    if (rst) begin
      within_q <= 1'b0;
      extra_q  <= 1'b0;
    end
  end

  logic out_idle;
  stream_reg #(
      .WIDTH(BESIDE_W + 2 + LANES + DATA_W)
  ) u_out (
      .clk,
      .rst,
      .s_valid(valid),
      .s_ready(room),
      .s_data ({extra_q ? beside_q : s_beside, first, ends, keep, data}),
      .m_valid,
      .m_ready,
      .m_data ({m_beside, m_first, m_last, m_keep, m_data}),
      .idle   (out_idle)
  );
  assign idle = out_idle && !within_q && !extra_q;

endmodule
