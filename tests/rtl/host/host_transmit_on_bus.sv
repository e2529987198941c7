// SPDX-License-Identifier: Apache-2.0
// host_transmit with flat ports, for its bench; time goes on by time_step a cycle.
module host_transmit_on_bus
  import axi_pkg::*;
  import host_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned QUEUES = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned STORE_KB = 64,
    parameter int unsigned JOBS = 128,
    parameter int unsigned MAX_FRAME = 9216,
    parameter bit SEGMENT = 1'b0,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
    localparam int unsigned JOBS_W = $clog2(JOBS + 1),
    localparam int unsigned FUNCTIONS = (QUEUES + PAIRS - 1) / PAIRS,
    localparam int unsigned FUNCTION_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic                clk,
    input  logic                rst,
    input  logic [        15:0] time_step,
    output logic [        63:0] time_ns,
    output logic [        63:0] wake_ns,
    input  logic                pace_valid,
    input  logic [FUNCTION_W-1:0] pace_function,
    input  logic [        31:0] pace_time,
    input  logic                set_valid,
    input  logic [ QUEUE_W-1:0] set_queue,
    input  logic                set_enabled,
    input  logic                set_checksum,
    input  logic                set_segment,
    input  logic [ QUEUE_W-1:0] probe_queue,
    output logic                probe_quiet,
    output logic                idle,
    input  logic                fresh_valid,
    input  logic [ QUEUE_W-1:0] fresh_queue,
    output logic                open_valid,
    input  logic                open_ready,
    output logic [ QUEUE_W-1:0] open_queue,
    input  logic                buffer_valid,
    output logic                buffer_ready,
    input  logic                buffer_failed,
    input  logic                buffer_last,
    input  logic [        63:0] buffer_addr,
    input  logic [        16:0] buffer_bytes,
    input  logic [        15:0] buffer_id,
    input  logic [        15:0] buffer_slots,
    input  logic                buffer_none,
    output logic                close,
    output logic                m_axi_arvalid,
    input  logic                m_axi_arready,
    output logic [         7:0] m_axi_arid,
    output logic [        63:0] m_axi_araddr,
    output logic [         7:0] m_axi_arlen,
    output logic [         2:0] m_axi_arsize,
    output logic [         1:0] m_axi_arburst,
    output logic [        15:0] m_axi_aruser,
    input  logic                m_axi_rvalid,
    output logic                m_axi_rready,
    input  logic [         7:0] m_axi_rid,
    input  logic [  DATA_W-1:0] m_axi_rdata,
    input  logic [         1:0] m_axi_rresp,
    input  logic                m_axi_rlast,
    output logic                m_axi_writes,
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready,
    output logic [  DATA_W-1:0] m_axis_tdata,
    output logic [DATA_W/8-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic [ QUEUE_W-1:0] m_axis_queue,
    output logic [ QUEUE_W-1:0] room_queue,
    output logic [ JOBS_W-1:0]  room_begun,
    output logic [ JOBS_W-1:0]  room_begun_all,
    input  logic                room,
    output logic                used_valid,
    input  logic                used_ready,
    output logic [ QUEUE_W-1:0] used_queue,
    output logic                used_more,
    output logic [        15:0] used_id,
    output logic [        15:0] used_slots,
    output logic [        31:0] used_bytes,
    output logic                fail_valid,
    output logic [ QUEUE_W-1:0] fail_queue,
    output logic [         2:0] fail_fault,
    output logic                packet,
    output logic                dropped,
    output logic [ QUEUE_W-1:0] event_queue,
    output logic [        16:0] event_bytes
);

  axi_req_t req;
  axi_rsp_t rsp;
  virtq_t set;
  used_t used;

  always_comb begin
    rsp          = '0;
    rsp.arready  = m_axi_arready;
    rsp.rvalid   = m_axi_rvalid;
    rsp.rid      = m_axi_rid;
    rsp.rresp    = m_axi_rresp;
    rsp.rlast    = m_axi_rlast;
    set          = '0;
    set.enabled  = set_enabled;
    set.checksum = set_checksum;
    set.segment  = set_segment;
  end

  always_ff @(posedge clk) begin
    time_ns <= time_ns + 64'(time_step);
    if (rst) time_ns <= 64'd1_000_000;
  end

  assign m_axi_arvalid = req.arvalid;
  assign m_axi_arid    = req.arid;
  assign m_axi_araddr  = req.araddr;
  assign m_axi_arlen   = req.arlen;
  assign m_axi_arsize  = req.arsize;
  assign m_axi_arburst = req.arburst;
  assign m_axi_aruser  = req.aruser;
  assign m_axi_rready  = req.rready;
  assign m_axi_writes  = req.awvalid || req.wvalid;
  assign {used_more, used_id, used_slots, used_bytes} = used;

  host_transmit #(
      .DATA_W(DATA_W),
      .QUEUES(QUEUES),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .STORE_KB(STORE_KB),
      .JOBS(JOBS),
      .MAX_FRAME(MAX_FRAME),
      .SEGMENT(SEGMENT)
  ) u_transmit (
      .clk,
      .rst,
      .time_ns,
      .wake_ns,
      .pace_valid,
      .pace_function,
      .pace_time,
      .set_valid,
      .set_queue,
      .set,
      .probe_queue,
      .probe_quiet,
      .idle,
      .fresh_valid,
      .fresh_queue,
      .open_valid,
      .open_ready,
      .open_queue,
      .buffer_valid,
      .buffer_ready,
      .buffer     (buffer_t'{buffer_failed, buffer_last, buffer_addr, buffer_bytes, buffer_id, buffer_slots}),
      .buffer_none,
      .close,
      .m_axi_req  (req),
      .m_axi_rsp  (rsp),
      .m_axi_rdata,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_queue,
      .room_queue,
      .room_begun,
      .room_begun_all,
      .room,
      .used_valid,
      .used_ready,
      .used_queue,
      .used,
      .fail_valid,
      .fail_queue,
      .fail_fault,
      .packet,
      .dropped,
      .event_queue,
      .event_bytes
  );

endmodule
