// SPDX-License-Identifier: Apache-2.0
// virtq_used with the signals that bus models want.
module virtq_used_on_bus
  import axi_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned IDS = 32,
    parameter int unsigned ELEMENTS = 256,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic                  set_valid,
    input  logic [QUEUE_W-1:0]    set_queue,
    input  logic [$bits(virtq_t)-1:0] set,
    input  logic [QUEUE_W-1:0]    probe_queue,
    output logic                  probe_quiet,
    input  logic [QUEUE_W-1:0]    place_queue,
    output logic [15:0]           place_next,
    input  logic [QUEUE_W-1:0]    room_queue,
    input  logic [15:0]           room_begun,
    input  logic [15:0]           room_begun_all,
    output logic                  room,
    input  logic                  used_valid,
    output logic                  used_ready,
    input  logic [QUEUE_W-1:0]    used_queue,
    input  logic                  used_more,
    input  logic [15:0]           used_id,
    input  logic [15:0]           used_slots,
    input  logic [31:0]           used_bytes,
    output logic                  done_valid,
    output logic [QUEUE_W-1:0]    done_queue,
    output logic [15:0]           done_count,
    output logic [15:0]           done_place,
    output logic [16:0]           done_slots,
    output logic                  fail_valid,
    output logic [QUEUE_W-1:0]    fail_queue,
    output logic [2:0]            fail_fault,
    output logic [7:0]            m_axi_awid,
    output logic [63:0]           m_axi_awaddr,
    output logic [7:0]            m_axi_awlen,
    output logic [2:0]            m_axi_awsize,
    output logic [1:0]            m_axi_awburst,
    output logic [15:0]           m_axi_awuser,
    output logic                  m_axi_awvalid,
    input  logic                  m_axi_awready,
    output logic [DATA_W-1:0]     m_axi_wdata,
    output logic [DATA_W/8-1:0]   m_axi_wstrb,
    output logic                  m_axi_wlast,
    output logic                  m_axi_wvalid,
    input  logic                  m_axi_wready,
    input  logic [7:0]            m_axi_bid,
    input  logic [1:0]            m_axi_bresp,
    input  logic                  m_axi_bvalid,
    output logic                  m_axi_bready,
    output logic                  idle
);

  axi_req_t axi_req;
  axi_rsp_t axi_rsp;
  virtq_used #(
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .DATA_W(DATA_W),
      .IDS(IDS),
      .ELEMENTS(ELEMENTS)
  ) dut (
      .*,
      .used     ({used_more, used_id, used_slots, used_bytes}),
      .axi_wdata(m_axi_wdata),
      .axi_wstrb(m_axi_wstrb)
  );

  assign m_axi_awid    = axi_req.awid;
  assign m_axi_awaddr  = axi_req.awaddr;
  assign m_axi_awlen   = axi_req.awlen;
  assign m_axi_awsize  = axi_req.awsize;
  assign m_axi_awburst = axi_req.awburst;
  assign m_axi_awuser  = axi_req.awuser;
  assign m_axi_awvalid = axi_req.awvalid;
  assign m_axi_wlast   = axi_req.wlast;
  assign m_axi_wvalid  = axi_req.wvalid;
  assign m_axi_bready  = axi_req.bready;
  always_comb begin
    axi_rsp         = '0;
    axi_rsp.awready = m_axi_awready;
    axi_rsp.wready  = m_axi_wready;
    axi_rsp.bid     = m_axi_bid;
    axi_rsp.bresp   = m_axi_bresp;
    axi_rsp.bvalid  = m_axi_bvalid;
  end

endmodule
