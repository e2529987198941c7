// SPDX-License-Identifier: Apache-2.0
// link_direction with the flat signals that bus models want, and its structs as plain numbers.
module link_direction_on_bus #(
    parameter int unsigned DATA_W = 128,
    parameter int unsigned STORE_KB = 4,
    parameter int unsigned FRAME_KB = 2,
    parameter int unsigned SLOTS = 64,
    parameter int unsigned BURST = 1024 / (DATA_W / 8),
    localparam int unsigned SETTINGS_W = $bits(link_pkg::settings_t)
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [63:0]           time_ns,
    input  logic [SETTINGS_W-1:0] settings,
    input  logic                  hold,
    output logic                  held,
    input  logic                  hold_link,
    input  logic                  memory,
    input  logic [63:0]           base,
    input  logic                  seed_valid,
    input  logic [127:0]          seed,
    input  logic                  table_valid,
    input  logic [11:0]           table_index,
    input  logic [15:0]           table_value,
    input  logic                  s_axis_tvalid,
    output logic                  s_axis_tready,
    input  logic [DATA_W-1:0]     s_axis_tdata,
    input  logic [DATA_W/8-1:0]   s_axis_tkeep,
    input  logic                  s_axis_tlast,
    input  logic                  s_axis_tuser,   // the error
    output logic                  m_axis_tvalid,
    input  logic                  m_axis_tready,
    output logic [DATA_W-1:0]     m_axis_tdata,
    output logic [DATA_W/8-1:0]   m_axis_tkeep,
    output logic                  m_axis_tlast,
    output logic [63:0]           m_axis_tuser,   // the time
    output logic [63:0]           m_axi_awaddr,
    output logic [7:0]            m_axi_awlen,
    output logic [2:0]            m_axi_awsize,
    output logic [1:0]            m_axi_awburst,
    output logic                  m_axi_awvalid,
    input  logic                  m_axi_awready,
    output logic [DATA_W-1:0]     m_axi_wdata,
    output logic [DATA_W/8-1:0]   m_axi_wstrb,
    output logic                  m_axi_wlast,
    output logic                  m_axi_wvalid,
    input  logic                  m_axi_wready,
    input  logic [1:0]            m_axi_bresp,
    input  logic                  m_axi_bvalid,
    output logic                  m_axi_bready,
    output logic [63:0]           m_axi_araddr,
    output logic [7:0]            m_axi_arlen,
    output logic [2:0]            m_axi_arsize,
    output logic [1:0]            m_axi_arburst,
    output logic                  m_axi_arvalid,
    input  logic                  m_axi_arready,
    input  logic [DATA_W-1:0]     m_axi_rdata,
    input  logic [1:0]            m_axi_rresp,
    input  logic                  m_axi_rlast,
    input  logic                  m_axi_rvalid,
    output logic                  m_axi_rready,
    output logic [3:0]            entered,        // received, bad, too long, no room
    output logic [4:0]            decided,        // lost, limited, duplicated, corrupted, reordered
    output logic [1:0]            failed,
    output logic                  sent,
    output logic [31:0]           queued,
    output logic                  idle,
    output logic [63:0]           wake_ns
);

  axi_pkg::axi_req_t req;
  axi_pkg::axi_rsp_t rsp;
  headrace_pkg::tx_meta_t user;

  link_direction #(
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB),
      .FRAME_KB(FRAME_KB),
      .SLOTS(SLOTS)
  ) u_direction (
      .clk,
      .rst,
      .time_ns,
      .port      ('0),
      .settings,
      .hold,
      .held,
      .hold_link,
      .memory,
      .base,
      .seed_valid,
      .seed,
      .table_valid,
      .table_index,
      .table_value,
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_error   (s_axis_tuser),
      .tx_tvalid (m_axis_tvalid),
      .tx_tready (m_axis_tready),
      .tx_tdata  (m_axis_tdata),
      .tx_tkeep  (m_axis_tkeep),
      .tx_tlast  (m_axis_tlast),
      .tx_tuser  (user),
      .axi_req   (req),
      .axi_wdata (m_axi_wdata),
      .axi_wstrb (m_axi_wstrb),
      .axi_rsp   (rsp),
      .axi_rdata (m_axi_rdata),
      .entered,
      .decided,
      .failed,
      .sent,
      .sent_bytes(),
      .queued,
      .idle,
      .wake_ns
  );

  assign m_axis_tuser  = user.timestamp_ns;
  assign m_axi_awaddr  = req.awaddr;
  assign m_axi_awlen   = req.awlen;
  assign m_axi_awsize  = req.awsize;
  assign m_axi_awburst = req.awburst;
  assign m_axi_awvalid = req.awvalid;
  assign m_axi_wlast   = req.wlast;
  assign m_axi_wvalid  = req.wvalid;
  assign m_axi_bready  = req.bready;
  assign m_axi_araddr  = req.araddr;
  assign m_axi_arlen   = req.arlen;
  assign m_axi_arsize  = req.arsize;
  assign m_axi_arburst = req.arburst;
  assign m_axi_arvalid = req.arvalid;
  assign m_axi_rready  = req.rready;
  assign rsp           = '{
          awready: m_axi_awready,
          wready: m_axi_wready,
          bid: '0,
          bresp: m_axi_bresp,
          bvalid: m_axi_bvalid,
          arready: m_axi_arready,
          rid: '0,
          rresp: m_axi_rresp,
          rlast: m_axi_rlast,
          rvalid: m_axi_rvalid
      };

endmodule
