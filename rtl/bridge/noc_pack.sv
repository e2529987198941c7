// SPDX-License-Identifier: Apache-2.0
// Makes packets for the network on chip: puts the header in front of each frame.
// Latency: none: the header goes out while the frame's first beat waits. Throughput: 1 beat a cycle, header beats
// included.
// Backpressure: s_axis_tready is m_axis_tready, low while a header goes out.
module noc_pack
  import bridge_pkg::*;
#(
    parameter int unsigned DATA_W = 64,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  noc_header_t       s_header,      // valid with the first beat, the same until that is taken

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast
);

  if (DATA_W < 32 || DATA_W > 512 || 2 ** $clog2(DATA_W) != DATA_W) begin : gen_bad_data_w
    $fatal(1, "noc_pack: DATA_W must be 32, 64, 128, 256 or 512, not %0d", DATA_W);
  end

  localparam int unsigned HEADER_BEATS = (80 + DATA_W - 1) / DATA_W;
  localparam logic [1:0] PAYLOAD = 2'(HEADER_BEATS);

  logic [1:0] beat_q;  // of the header; then PAYLOAD
  logic [3:0][DATA_W-1:0] header;
  logic payload;

  assign header  = (4 * DATA_W)'(noc_bytes(s_header));
  assign payload = beat_q == PAYLOAD;

  assign s_axis_tready = payload && m_axis_tready;
  assign m_axis_tvalid = s_axis_tvalid;
  assign m_axis_tdata  = payload ? s_axis_tdata : header[beat_q];
  assign m_axis_tkeep  = payload ? s_axis_tkeep : '1;
  assign m_axis_tlast  = payload && s_axis_tlast;

  always_ff @(posedge clk) begin
    if (m_axis_tvalid && m_axis_tready) begin
      if (!payload) beat_q <= beat_q + 1'b1;
      else if (s_axis_tlast) beat_q <= '0;
    end
    if (rst) beat_q <= '0;
  end

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
  always_ff @(posedge clk) begin
    if (!rst && s_axis_tvalid && s_axis_tlast) begin
      assert (s_axis_tkeep[0]) else $error("%m: a payload of no bytes, or whose last beat has none");
    end
  end
`endif

endmodule
