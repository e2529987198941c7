// SPDX-License-Identifier: Apache-2.0
// The switch card: an OpenFlow 1.3 switch of PORTS Ethernet ports, and rings in host memory for the host's packets.
module switch_card
  import headrace_pkg::*;
#(
    parameter int unsigned PORTS = 8,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned TABLES = 8,
    parameter int unsigned EXACT = 4096,
    parameter int unsigned TERNARY = 128,
    parameter bit NARROW = 1'b0,
    parameter int unsigned STORE_KB = 16,
    parameter int unsigned PROGRAM_WORDS = 8192,
    parameter int unsigned METERS = 128,
    localparam int unsigned MEM_W = DATA_W
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic [63:0]                    time_ns,

    input  logic [PORTS-1:0]               rx_tvalid,
    output logic [PORTS-1:0]               rx_tready,
    input  logic [PORTS-1:0][DATA_W-1:0]   rx_tdata,
    input  logic [PORTS-1:0][DATA_W/8-1:0] rx_tkeep,
    input  logic [PORTS-1:0]               rx_tlast,
    input  rx_meta_t [PORTS-1:0]           rx_tuser,
    output logic [PORTS-1:0]               tx_tvalid,
    input  logic [PORTS-1:0]               tx_tready,
    output logic [PORTS-1:0][DATA_W-1:0]   tx_tdata,
    output logic [PORTS-1:0][DATA_W/8-1:0] tx_tkeep,
    output logic [PORTS-1:0]               tx_tlast,
    output tx_meta_t [PORTS-1:0]           tx_tuser,

    input  logic [15:0]                    s_axil_awaddr,
    input  logic [2:0]                     s_axil_awprot,
    input  logic                           s_axil_awvalid,
    output logic                           s_axil_awready,
    input  logic [31:0]                    s_axil_wdata,
    input  logic [3:0]                     s_axil_wstrb,
    input  logic                           s_axil_wvalid,
    output logic                           s_axil_wready,
    output logic [1:0]                     s_axil_bresp,
    output logic                           s_axil_bvalid,
    input  logic                           s_axil_bready,
    input  logic [15:0]                    s_axil_araddr,
    input  logic [2:0]                     s_axil_arprot,
    input  logic                           s_axil_arvalid,
    output logic                           s_axil_arready,
    output logic [31:0]                    s_axil_rdata,
    output logic [1:0]                     s_axil_rresp,
    output logic                           s_axil_rvalid,
    input  logic                           s_axil_rready,

    output logic [7:0]                     m_axi_awid,
    output logic [63:0]                    m_axi_awaddr,
    output logic [7:0]                     m_axi_awlen,
    output logic [2:0]                     m_axi_awsize,
    output logic [1:0]                     m_axi_awburst,
    output logic [15:0]                    m_axi_awuser,
    output logic                           m_axi_awvalid,
    input  logic                           m_axi_awready,
    output logic [MEM_W-1:0]               m_axi_wdata,
    output logic [MEM_W/8-1:0]             m_axi_wstrb,
    output logic                           m_axi_wlast,
    output logic                           m_axi_wvalid,
    input  logic                           m_axi_wready,
    input  logic [7:0]                     m_axi_bid,
    input  logic [1:0]                     m_axi_bresp,
    input  logic                           m_axi_bvalid,
    output logic                           m_axi_bready,
    output logic [7:0]                     m_axi_arid,
    output logic [63:0]                    m_axi_araddr,
    output logic [7:0]                     m_axi_arlen,
    output logic [2:0]                     m_axi_arsize,
    output logic [1:0]                     m_axi_arburst,
    output logic [15:0]                    m_axi_aruser,
    output logic                           m_axi_arvalid,
    input  logic                           m_axi_arready,
    input  logic [7:0]                     m_axi_rid,
    input  logic [MEM_W-1:0]               m_axi_rdata,
    input  logic [1:0]                     m_axi_rresp,
    input  logic                           m_axi_rlast,
    input  logic                           m_axi_rvalid,
    output logic                           m_axi_rready,

    output logic                           irq_valid,
    input  logic                           irq_ready,
    output logic [15:0]                    irq_function,
    output logic [15:0]                    irq_vector,

    output logic                           idle,
    output logic [63:0]                    wake_ns
);
  import axi_pkg::*;

  localparam logic [1:0][31:0] AXIL_BASES = {32'h2000, 32'h0};  // host rings, switch: as in regs/switch_card.rdl
  localparam int unsigned MANAGERS = 3;                         // of host memory: the rings

  axil_req_t host_req;
  axil_rsp_t host_rsp;
  axil_req_t [1:0] axil_req;
  axil_rsp_t [1:0] axil_rsp;
  logic axil_idle;
  axil_ports u_axil_ports (
      .*,
      .req(host_req),
      .rsp(host_rsp)
  );
  axil_split #(
      .BLOCKS(2),
      .BASES(AXIL_BASES)
  ) u_axil_split (
      .clk,
      .rst,
      .s_req(host_req),
      .s_rsp(host_rsp),
      .m_req(axil_req),
      .m_rsp(axil_rsp),
      .idle (axil_idle)
  );

  axi_req_t [MANAGERS-1:0] axi_reqs;
  axi_rsp_t [MANAGERS-1:0] axi_rsps;
  logic [MANAGERS-1:0][MEM_W-1:0] wdatas;
  logic [MANAGERS-1:0][MEM_W/8-1:0] wstrbs;
  axi_req_t axi_req;
  axi_rsp_t axi_rsp;
  logic [MEM_W-1:0] wdata, rdata;
  logic [MEM_W/8-1:0] wstrb;
  logic mux_idle;
  axi_mux #(
      .MANAGERS(MANAGERS),
      .MEM_W(MEM_W)
  ) u_mux (
      .clk,
      .rst,
      .s_req  (axi_reqs),
      .s_wdata(wdatas),
      .s_wstrb(wstrbs),
      .s_rsp  (axi_rsps),
      .m_req  (axi_req),
      .m_wdata(wdata),
      .m_wstrb(wstrb),
      .m_rsp  (axi_rsp),
      .idle   (mux_idle)
  );
  axi_ports #(
      .MEM_W(MEM_W)
  ) u_axi_ports (
      .*,
      .req(axi_req),
      .rsp(axi_rsp)
  );

  logic [PORTS-1:0] bad;
  logic engine_idle, rings_idle;
  logic [63:0] engine_wake_ns, rings_wake_ns;
  logic to_host_valid, to_host_ready, to_host_last;
  logic from_host_valid, from_host_ready, from_host_last, from_host_cut;
  logic [DATA_W-1:0] to_host_data, from_host_data;
  logic [DATA_W/8-1:0] to_host_keep, from_host_keep;
  always_comb begin
    for (int unsigned port = 0; port < PORTS; port++) bad[port] = rx_tuser[port].error;
  end

  switch_engine #(
      .PORTS(PORTS),
      .DATA_W(DATA_W),
      .TABLES(TABLES),
      .EXACT(EXACT),
      .TERNARY(TERNARY),
      .NARROW(NARROW),
      .STORE_KB(STORE_KB),
      .PROGRAM_WORDS(PROGRAM_WORDS),
      .METERS(METERS)
  ) u_engine (
      .clk,
      .rst,
      .time_ns,
      .axil_req(axil_req[0]),
      .axil_rsp(axil_rsp[0]),
      .rx_tvalid,
      .rx_tready,
      .rx_tdata,
      .rx_tkeep,
      .rx_tlast,
      .rx_error(bad),
      .tx_tvalid,
      .tx_tready,
      .tx_tdata,
      .tx_tkeep,
      .tx_tlast,
      .tx_tuser,
      .from_host_valid,
      .from_host_ready,
      .from_host_data,
      .from_host_keep,
      .from_host_last,
      .from_host_cut,
      .to_host_valid,
      .to_host_ready,
      .to_host_data,
      .to_host_keep,
      .to_host_last,
      .wake_ns (engine_wake_ns),
      .idle    (engine_idle)
  );

  rpu_host_rings #(
      .DATA_W(DATA_W)
  ) u_rings (
      .clk,
      .rst,
      .time_ns,
      .axil_req     (axil_req[1]),
      .axil_rsp     (axil_rsp[1]),
      .s_axis_tvalid(to_host_valid),
      .s_axis_tready(to_host_ready),
      .s_axis_tdata (to_host_data),
      .s_axis_tkeep (to_host_keep),
      .s_axis_tlast (to_host_last),
      .s_axis_cut   (1'b0),
      .m_axis_tvalid(from_host_valid),
      .m_axis_tready(from_host_ready),
      .m_axis_tdata (from_host_data),
      .m_axis_tkeep (from_host_keep),
      .m_axis_tlast (from_host_last),
      .m_axis_cut   (from_host_cut),
      .axi_req      (axi_reqs),
      .axi_wdata    (wdatas),
      .axi_wstrb    (wstrbs),
      .axi_rsp      (axi_rsps),
      .axi_rdata    (rdata),
      .irq_valid,
      .irq_ready,
      .irq_function,
      .irq_vector,
      .wake_ns      (rings_wake_ns),
      .idle         (rings_idle)
  );

  assign idle    = engine_idle && rings_idle && mux_idle && axil_idle;
  assign wake_ns = engine_wake_ns < rings_wake_ns ? engine_wake_ns : rings_wake_ns;

endmodule
