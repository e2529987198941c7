// SPDX-License-Identifier: Apache-2.0
// The NIC card: PORTS Ethernet ports and FUNCTIONS virtual functions, each with PAIRS queue pairs. Frames go by MAC and
// VLAN, and over a function's queue pairs by their hash.
module nic_card
  import headrace_pkg::*;
#(
    parameter int unsigned PORTS = 2,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned STATIONS = 1024,
    parameter int unsigned STORE_KB = 32,
    parameter bit SEGMENT = 1'b1,           // functions' TCP segmentation
    parameter bit GATED = 1'b0,             // clock gates: see clock_gate
    localparam int unsigned MEM_W = DATA_W
) (
    `include "card_ports.svh"
    output tx_meta_t [PORTS-1:0]           tx_tuser,
    output logic                           idle,
    output logic [63:0]                    wake_ns
);
  import axi_pkg::*;

  localparam logic [1:0][31:0] AXIL_BASES = {32'h1000, 32'h0};  // functions, NIC: as in regs/nic_card.rdl
  localparam int unsigned QUEUES = FUNCTIONS * PAIRS;
  localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1;

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

  axi_req_t axi_req;
  axi_rsp_t axi_rsp;
  logic [MEM_W-1:0] wdata, rdata;
  logic [MEM_W/8-1:0] wstrb;
  axi_ports #(
      .MEM_W(MEM_W)
  ) u_axi_ports (
      .*,
      .req(axi_req),
      .rsp(axi_rsp)
  );

  logic [PORTS-1:0] bad;
  logic up_valid, up_ready, up_last, down_valid, down_ready, down_last, engine_idle, host_idle;
  logic [DATA_W-1:0] up_data, down_data;
  logic [DATA_W/8-1:0] up_keep, down_keep;
  logic [QUEUE_W-1:0] up_queue, down_queue;
  always_comb begin
    for (int unsigned port = 0; port < PORTS; port++) bad[port] = rx_tuser[port].error;
  end

  nic_engine #(
      .PORTS(PORTS),
      .DATA_W(DATA_W),
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .STATIONS(STATIONS),
      .STORE_KB(STORE_KB),
      .GATED(GATED)
  ) u_engine (
      .clk,
      .rst,
      .time_ns,
      .axil_req        (axil_req[0]),
      .axil_rsp        (axil_rsp[0]),
      .rx_tvalid,
      .rx_tready,
      .rx_tdata,
      .rx_tkeep,
      .rx_tlast,
      .rx_error        (bad),
      .tx_tvalid,
      .tx_tready,
      .tx_tdata,
      .tx_tkeep,
      .tx_tlast,
      .tx_tuser,
      .from_host_tvalid(up_valid),
      .from_host_tready(up_ready),
      .from_host_tdata (up_data),
      .from_host_tkeep (up_keep),
      .from_host_tlast (up_last),
      .from_host_queue (up_queue),
      .to_host_tvalid  (down_valid),
      .to_host_tready  (down_ready),
      .to_host_tdata   (down_data),
      .to_host_tkeep   (down_keep),
      .to_host_tlast   (down_last),
      .to_host_queue   (down_queue),
      .idle            (engine_idle)
  );

  host_engine #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .DATA_W(DATA_W),
      .SEGMENT(SEGMENT),
      .GATED(GATED)
  ) u_host (
      .clk,
      .rst,
      .time_ns,
      .axil_req     (axil_req[1]),
      .axil_rsp     (axil_rsp[1]),
      .s_axis_tvalid(down_valid),
      .s_axis_tready(down_ready),
      .s_axis_tdata (down_data),
      .s_axis_tkeep (down_keep),
      .s_axis_tlast (down_last),
      .s_axis_queue (down_queue),
      .m_axis_tvalid(up_valid),
      .m_axis_tready(up_ready),
      .m_axis_tdata (up_data),
      .m_axis_tkeep (up_keep),
      .m_axis_tlast (up_last),
      .m_axis_queue (up_queue),
      .axi_req,
      .axi_wdata    (wdata),
      .axi_wstrb    (wstrb),
      .axi_rsp,
      .axi_rdata    (rdata),
      .irq_valid,
      .irq_ready,
      .irq_function,
      .irq_vector,
      .wake_ns,
      .idle         (host_idle)
  );

  assign idle = engine_idle && host_idle && axil_idle;

endmodule
