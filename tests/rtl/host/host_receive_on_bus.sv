// SPDX-License-Identifier: Apache-2.0
// host_receive with the signals that bus models want.
module host_receive_on_bus
  import axi_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,
    parameter int unsigned MAX_FRAME = 9216,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned BYTES = DATA_W / 8
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               set_valid,
    input  logic [QUEUE_W-1:0] set_queue,
    input  logic               set_enabled,
    input  logic               set_mergeable,
    input  logic               set_checksum,
    input  logic [QUEUE_W-1:0] probe_queue,
    output logic               probe_quiet,
    input  logic               s_axis_tvalid,
    output logic               s_axis_tready,
    input  logic [ DATA_W-1:0] s_axis_tdata,
    input  logic [  BYTES-1:0] s_axis_tkeep,
    input  logic               s_axis_tlast,
    input  logic [QUEUE_W-1:0] s_axis_queue,
    input  logic               s_axis_cut,
    input  logic               s_axis_valid_sum,
    input  logic               fresh_valid,
    input  logic [QUEUE_W-1:0] fresh_queue,
    output logic               open_valid,
    input  logic               open_ready,
    output logic [QUEUE_W-1:0] open_queue,
    input  logic               buffer_valid,
    output logic               buffer_ready,
    input  logic               buffer_failed,
    input  logic               buffer_last,
    input  logic [       63:0] buffer_addr,
    input  logic [       16:0] buffer_bytes,
    input  logic [       15:0] buffer_id,
    input  logic [       15:0] buffer_slots,
    input  logic               buffer_none,
    output logic               close,
    output logic [QUEUE_W-1:0] room_queue,
    output logic [15:0]        room_begun,
    output logic [15:0]        room_begun_all,
    input  logic               room,
    output logic               used_valid,
    input  logic               used_ready,
    output logic [QUEUE_W-1:0] used_queue,
    output logic               used_more,
    output logic [       15:0] used_id,
    output logic [       15:0] used_slots,
    output logic [       31:0] used_bytes,
    output logic               fail_valid,
    output logic [QUEUE_W-1:0] fail_queue,
    output logic [        2:0] fail_fault,
    output logic [        7:0] m_axi_awid,
    output logic [       63:0] m_axi_awaddr,
    output logic [        7:0] m_axi_awlen,
    output logic [        2:0] m_axi_awsize,
    output logic [        1:0] m_axi_awburst,
    output logic [       15:0] m_axi_awuser,
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output logic [ DATA_W-1:0] m_axi_wdata,
    output logic [  BYTES-1:0] m_axi_wstrb,
    output logic               m_axi_wlast,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    input  logic [        7:0] m_axi_bid,
    input  logic [        1:0] m_axi_bresp,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready,
    output logic               event_valid,
    input  logic               event_ready,
    output logic [QUEUE_W-1:0] event_queue,
    output logic [        1:0] event_kind,
    output logic [       16:0] event_bytes,
    output logic               idle
);

  axi_req_t axi_req;
  axi_rsp_t axi_rsp;
  virtq_t set;
  used_t used;
  always_comb begin
    set           = '0;
    set.enabled   = set_enabled;
    set.mergeable = set_mergeable;
    set.checksum  = set_checksum;
  end
  assign {used_more, used_id, used_slots, used_bytes} = used;

  host_receive #(
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB),
      .MAX_FRAME(MAX_FRAME)
  ) dut (
      .*,
      .buffer   ({buffer_failed, buffer_last, buffer_addr, buffer_bytes, buffer_id, buffer_slots}),
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
