// SPDX-License-Identifier: Apache-2.0
// Ethernet port on the network on chip: frames become packets, with the header that the IDP table gives for a key in
// them, and payloads of packets become frames; nothing is stripped or added. See ethernet_rx and ethernet_tx.
module ethernet_block
  import bridge_pkg::*;
  import headrace_pkg::rx_meta_t;
  import headrace_pkg::tx_meta_t;
#(
    parameter int unsigned DATA_W = 64,
    parameter int unsigned STORE_KB = 64,      // of received frames
    parameter int unsigned MAX_PACKET = 1514,
    parameter bit          GATED = 1'b0,  // clock gates: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,
    input  noc_address_t      here,
    input  table_write_t      table_write,
    input  port_settings_t    settings,

    input  logic              rx_tvalid,
    output logic              rx_tready,
    input  logic [DATA_W-1:0] rx_tdata,
    input  logic [KEEP_W-1:0] rx_tkeep,
    input  logic              rx_tlast,
    input  rx_meta_t          rx_tuser,

    output logic              tx_tvalid,
    input  logic              tx_tready,
    output logic [DATA_W-1:0] tx_tdata,
    output logic [KEEP_W-1:0] tx_tkeep,
    output logic              tx_tlast,
    output tx_meta_t          tx_tuser,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic [KEEP_W-1:0] m_axis_tkeep,
    output logic              m_axis_tlast,

    output port_events_t      events,
    output logic              idle
);

  logic rx_idle, tx_idle;

  logic rx_clk;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(6)
  ) u_rx_gate (
      .clk,
      .rst,
      .work   (table_write.valid || !rx_idle),
      .watched({rx_tready, m_axis_tvalid, events.frame, events.overflow, events.unknown, rx_idle}),
      .gated  (rx_clk)
  );
  ethernet_rx #(
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB),
      .MAX_PACKET(MAX_PACKET)
  ) u_rx (
      .clk(rx_clk),
      .rst,
      .here,
      .table_write,
      .enable      (settings.enable),
      .flow_control(settings.flow_control),
      .key_offset  (settings.key_offset),
      .rx_tvalid,
      .rx_tready,
      .rx_tdata,
      .rx_tkeep,
      .rx_tlast,
      .rx_tuser,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .frame       (events.frame),
      .frame_bytes (events.frame_bytes),
      .bad         (events.bad),
      .disabled    (events.disabled),
      .too_long    (events.too_long),
      .overflow    (events.overflow),
      .unknown     (events.unknown),
      .held        (events.held),
      .idle        (rx_idle)
  );

  logic tx_clk;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(5)
  ) u_tx_gate (
      .clk,
      .rst,
      .work   (!tx_idle),
      .watched({s_axis_tready, tx_tvalid, events.sent, events.tx_malformed, tx_idle}),
      .gated  (tx_clk)
  );
  ethernet_tx #(
      .DATA_W(DATA_W),
      .MAX_PACKET(MAX_PACKET)
  ) u_tx (
      .clk(tx_clk),
      .rst,
      .time_ns,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .tx_tvalid,
      .tx_tready,
      .tx_tdata,
      .tx_tkeep,
      .tx_tlast,
      .tx_tuser,
      .sent     (events.sent),
      .malformed(events.tx_malformed),
      .idle     (tx_idle)
  );

  assign idle = rx_idle && tx_idle;

endmodule
