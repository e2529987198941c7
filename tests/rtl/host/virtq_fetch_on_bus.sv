// SPDX-License-Identifier: Apache-2.0
// virtq_fetch with flat ports, for benches.
module virtq_fetch_on_bus
  import axi_pkg::*, host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    parameter bit WRITABLE = 1'b0,
    parameter int unsigned DEPTH = 64,
    parameter int unsigned READS = 16,
    parameter int unsigned BURST = 32,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                clk,
    input  logic                rst,
    input  logic                set_valid,
    input  logic [QUEUE_W-1:0]  set_queue,
    input  logic                set_enabled,
    input  logic                set_indirect,
    input  logic [15:0]         set_start,
    input  logic [15:0]         set_size,
    input  logic [63:0]         set_ring,
    input  logic [63:0]         set_driver,
    input  logic [63:0]         set_device,
    input  logic [QUEUE_W-1:0]  probe_queue,
    output logic                probe_quiet,
    input  logic                bell_valid,
    input  logic [QUEUE_W-1:0]  bell_queue,
    output logic [7:0]          m_axi_arid,
    output logic [63:0]         m_axi_araddr,
    output logic [7:0]          m_axi_arlen,
    output logic [2:0]          m_axi_arsize,
    output logic [1:0]          m_axi_arburst,
    output logic [15:0]         m_axi_aruser,
    output logic                m_axi_arvalid,
    input  logic                m_axi_arready,
    input  logic [7:0]          m_axi_rid,
    input  logic [DATA_W-1:0]   m_axi_rdata,
    input  logic [1:0]          m_axi_rresp,
    input  logic                m_axi_rlast,
    input  logic                m_axi_rvalid,
    output logic                m_axi_rready,
    output logic [7:0]          m_axi_awid,
    output logic [63:0]         m_axi_awaddr,
    output logic [7:0]          m_axi_awlen,
    output logic [2:0]          m_axi_awsize,
    output logic [1:0]          m_axi_awburst,
    output logic [15:0]         m_axi_awuser,
    output logic                m_axi_awvalid,
    input  logic                m_axi_awready,
    output logic [DATA_W-1:0]   m_axi_wdata,
    output logic [DATA_W/8-1:0] m_axi_wstrb,
    output logic                m_axi_wlast,
    output logic                m_axi_wvalid,
    input  logic                m_axi_wready,
    input  logic [7:0]          m_axi_bid,
    input  logic [1:0]          m_axi_bresp,
    input  logic                m_axi_bvalid,
    output logic                m_axi_bready,
    output logic                fresh_valid,
    output logic [QUEUE_W-1:0]  fresh_queue,
    input  logic                open_valid,
    output logic                open_ready,
    input  logic [QUEUE_W-1:0]  open_queue,
    output logic                buffer_valid,
    input  logic                buffer_ready,
    output logic                buffer_failed,
    output logic                buffer_last,
    output logic [63:0]         buffer_addr,
    output logic [16:0]         buffer_bytes,
    output logic [15:0]         buffer_id,
    output logic [15:0]         buffer_slots,
    output logic                buffer_none,
    input  logic                close,
    output logic                idle
);

  virtq_t set;
  always_comb begin
    set          = '0;
    set.enabled  = set_enabled;
    set.indirect = set_indirect;
    set.start    = set_start;
    set.size     = set_size;
    set.ring     = set_ring;
    set.driver   = set_driver;
    set.device   = set_device;
  end

  axi_req_t req;
  axi_rsp_t rsp;
  assign {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_aruser, m_axi_arvalid} =
      {req.arid, req.araddr, req.arlen, req.arsize, req.arburst, req.aruser, req.arvalid};
  assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awuser, m_axi_awvalid} =
      {req.awid, req.awaddr, req.awlen, req.awsize, req.awburst, req.awuser, req.awvalid};
  assign {m_axi_rready, m_axi_bready, m_axi_wlast, m_axi_wvalid} = {req.rready, req.bready, req.wlast, req.wvalid};
  assign rsp.arready = m_axi_arready;
  assign rsp.rid     = m_axi_rid;
  assign rsp.rresp   = m_axi_rresp;
  assign rsp.rlast   = m_axi_rlast;
  assign rsp.rvalid  = m_axi_rvalid;
  assign rsp.awready = m_axi_awready;
  assign rsp.wready  = m_axi_wready;
  assign rsp.bid     = m_axi_bid;
  assign rsp.bresp   = m_axi_bresp;
  assign rsp.bvalid  = m_axi_bvalid;

  buffer_t buffer;
  assign {buffer_failed, buffer_last, buffer_addr, buffer_bytes, buffer_id, buffer_slots} = buffer;

  virtq_fetch #(
      .QUEUES  (QUEUES),
      .PAIRS   (PAIRS),
      .FIRST   (FIRST),
      .DATA_W  (DATA_W),
      .WRITABLE(WRITABLE),
      .DEPTH   (DEPTH),
      .READS   (READS),
      .BURST   (BURST)
  ) dut (
      .m_req  (req),
      .m_wdata(m_axi_wdata),
      .m_wstrb(m_axi_wstrb),
      .m_rsp  (rsp),
      .m_rdata(m_axi_rdata),
      .*
  );

endmodule
