// SPDX-License-Identifier: Apache-2.0
// Way of packets from the network on chip out of an Ethernet port: their payloads leave as frames, each without a gap.
// Packets that are no frames (no payload, or more than MAX_PACKET bytes) are dropped whole and counted.
// Latency: store and forward, and 1 cycle for the time stamp. Throughput: 1 beat a cycle and 1 cycle a frame.
// Backpressure: s_axis_tready is low while the store, of two frames at least, is full.
module ethernet_tx
  import headrace_pkg::tx_meta_t;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned MAX_PACKET = 1514,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              tx_tvalid,
    input  logic              tx_tready,
    output logic [DATA_W-1:0] tx_tdata,
    output logic [KEEP_W-1:0] tx_tkeep,
    output logic              tx_tlast,
    output tx_meta_t          tx_tuser,      // timestamp_ns: of the cycle before the frame's first beat was offered

    output logic              sent,
    output logic              malformed,
    output logic              idle
);

  localparam int unsigned MAX_BEATS = (MAX_PACKET + KEEP_W - 1) / KEEP_W;
  localparam int unsigned ROWS = 2 ** $clog2(MAX_BEATS > 2 ? 2 * MAX_BEATS : 4);

  logic payload_valid, payload_ready, payload_last, long, empty, unpack_idle;
  logic [DATA_W-1:0] payload_data;
  logic [KEEP_W-1:0] payload_keep;
  logic stored_valid, stored_ready, dropped, store_idle;

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  noc_unpack #(
      .DATA_W(DATA_W),
      .MAX_PACKET(MAX_PACKET)
  ) u_unpack (
      .clk,
      .rst,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .m_axis_tvalid(payload_valid),
      .m_axis_tready(payload_ready),
      .m_axis_tdata (payload_data),
      .m_axis_tkeep (payload_keep),
      .m_axis_tlast (payload_last),
      .m_too_long   (long),
      .m_header     (),
      .malformed    (empty),
      .idle         (unpack_idle)
  );

  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH(ROWS),
      .DROP_WHEN_FULL(1'b0)
  ) u_store (
      .clk,
      .rst,
      .s_axis_tvalid(payload_valid),
      .s_axis_tready(payload_ready),
      .s_axis_tdata (payload_data),
      .s_axis_tkeep (payload_keep),
      .s_axis_tlast (payload_last),
      .s_axis_tuser (1'b0),
      .s_drop       (long),
      .m_axis_tvalid(stored_valid),
      .m_axis_tready(stored_ready),
      .m_axis_tdata (tx_tdata),
      .m_axis_tkeep (tx_tkeep),
      .m_axis_tlast (tx_tlast),
      .m_axis_tuser (),
      .used         (),
      .dropped,
      .idle         (store_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  logic stamped_q, empty_q;
  logic [63:0] stamp_q;
  always_ff @(posedge clk) begin
    if (!stamped_q && stored_valid) stamp_q <= time_ns;
    stamped_q <= stamped_q ? !(tx_tready && tx_tvalid && tx_tlast) : stored_valid;
    empty_q   <= empty;
    if (rst) begin
      stamped_q <= 1'b0;
      empty_q   <= 1'b0;
    end
  end

  assign tx_tvalid    = stored_valid && stamped_q;
  assign stored_ready = tx_tready && stamped_q;
  always_comb begin
    tx_tuser              = '0;
    tx_tuser.timestamp_ns = stamp_q;
  end

  assign sent      = tx_tvalid && tx_tready && tx_tlast;
  assign malformed = empty_q || dropped;
  assign idle      = !s_axis_tvalid && unpack_idle && store_idle && !malformed;

`ifndef SYNTHESIS
  stream_contract #(
      .DATA_W(DATA_W)
  ) u_contract (
      .clk,
      .rst,
      .tvalid(tx_tvalid),
      .tready(tx_tready),
      .tdata (tx_tdata),
      .tkeep (tx_tkeep),
      .tlast (tx_tlast)
  );
`endif

endmodule
