// SPDX-License-Identifier: Apache-2.0
// host_interrupt with the signals that bus models want.
module host_interrupt_on_bus
  import axi_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned READS = 16,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                      clk,
    input  logic                      rst,
    input  logic [63:0]               time_ns,
    input  logic [1:0]                set_valid,
    input  logic [QUEUE_W-1:0]        set_queue,
    input  logic [$bits(virtq_t)-1:0] set,
    input  logic [1:0]                moderate_valid,
    input  logic [QUEUE_W-1:0]        moderate_queue,
    input  logic [15:0]               moderate_packets,
    input  logic [31:0]               moderate_ns,
    input  logic [QUEUE_W-1:0]        probe_queue,
    output logic [1:0]                probe_quiet,
    input  logic                      transmit_done_valid,
    input  logic [QUEUE_W-1:0]        transmit_done_queue,
    input  logic [15:0]               transmit_done_count,
    input  logic [15:0]               transmit_done_place,
    input  logic [16:0]               transmit_done_slots,
    input  logic                      receive_done_valid,
    input  logic [QUEUE_W-1:0]        receive_done_queue,
    input  logic [15:0]               receive_done_count,
    input  logic [15:0]               receive_done_place,
    input  logic [16:0]               receive_done_slots,
    output logic [7:0]                m_axi_arid,
    output logic [63:0]               m_axi_araddr,
    output logic [7:0]                m_axi_arlen,
    output logic [2:0]                m_axi_arsize,
    output logic [1:0]                m_axi_arburst,
    output logic [15:0]               m_axi_aruser,
    output logic                      m_axi_arvalid,
    input  logic                      m_axi_arready,
    input  logic [7:0]                m_axi_rid,
    input  logic [DATA_W-1:0]         m_axi_rdata,
    input  logic [1:0]                m_axi_rresp,
    input  logic                      m_axi_rlast,
    input  logic                      m_axi_rvalid,
    output logic                      m_axi_rready,
    output logic                      irq_valid,
    input  logic                      irq_ready,
    output logic [15:0]               irq_function,
    output logic [15:0]               irq_vector,
    output logic                      transmit_fail_valid,
    output logic                      receive_fail_valid,
    output logic [QUEUE_W-1:0]        transmit_fail_queue,
    output logic [QUEUE_W-1:0]        receive_fail_queue,
    output logic [63:0]               wake_ns,
    output logic                      idle
);

  axi_req_t axi_req;
  axi_rsp_t axi_rsp;
  fault_t [1:0] fault;
  host_interrupt #(
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .DATA_W(DATA_W),
      .READS(READS)
  ) dut (
      .*,
      .done_valid({receive_done_valid, transmit_done_valid}),
      .done_queue({receive_done_queue, transmit_done_queue}),
      .done_count({receive_done_count, transmit_done_count}),
      .done_place({receive_done_place, transmit_done_place}),
      .done_slots({receive_done_slots, transmit_done_slots}),
      .fail_valid({receive_fail_valid, transmit_fail_valid}),
      .fail_queue({receive_fail_queue, transmit_fail_queue}),
      .fail_fault(fault),
      .axi_rdata (m_axi_rdata)
  );

  assign m_axi_arid    = axi_req.arid;
  assign m_axi_araddr  = axi_req.araddr;
  assign m_axi_arlen   = axi_req.arlen;
  assign m_axi_arsize  = axi_req.arsize;
  assign m_axi_arburst = axi_req.arburst;
  assign m_axi_aruser  = axi_req.aruser;
  assign m_axi_arvalid = axi_req.arvalid;
  assign m_axi_rready  = axi_req.rready;
  always_comb begin
    axi_rsp         = '0;
    axi_rsp.arready = m_axi_arready;
    axi_rsp.rid     = m_axi_rid;
    axi_rsp.rresp   = m_axi_rresp;
    axi_rsp.rlast   = m_axi_rlast;
    axi_rsp.rvalid  = m_axi_rvalid;
  end

endmodule
