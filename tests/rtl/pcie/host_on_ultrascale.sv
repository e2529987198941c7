// SPDX-License-Identifier: Apache-2.0
// The function engine behind PCI Express and the shim for UltraScale+, with the ports that the model of the integrated
// block wants. What a function sends comes back to it, once there is room.
module host_on_ultrascale
  import pcie_pkg::*, axi_pkg::*;
#(
    parameter int unsigned DATA_W = 256,
    parameter int unsigned FUNCTIONS = 2,
    localparam int unsigned LANES = DATA_W / 32,
    localparam int unsigned RQ_USER_W = DATA_W == 512 ? 137 : 62,
    localparam int unsigned RC_USER_W = DATA_W == 512 ? 161 : 75,
    localparam int unsigned CQ_USER_W = DATA_W == 512 ? 183 : 88,
    localparam int unsigned CC_USER_W = DATA_W == 512 ? 81 : 33
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic [63:0]          time_ns,
    input  logic [22:0]          timeout,
    output logic [DATA_W-1:0]    m_axis_rq_tdata,
    output logic [LANES-1:0]     m_axis_rq_tkeep,
    output logic [RQ_USER_W-1:0] m_axis_rq_tuser,
    output logic                 m_axis_rq_tlast,
    output logic                 m_axis_rq_tvalid,
    input  logic                 m_axis_rq_tready,
    input  logic [DATA_W-1:0]    s_axis_rc_tdata,
    input  logic [LANES-1:0]     s_axis_rc_tkeep,
    input  logic [RC_USER_W-1:0] s_axis_rc_tuser,
    input  logic                 s_axis_rc_tlast,
    input  logic                 s_axis_rc_tvalid,
    output logic                 s_axis_rc_tready,
    input  logic [DATA_W-1:0]    s_axis_cq_tdata,
    input  logic [LANES-1:0]     s_axis_cq_tkeep,
    input  logic [CQ_USER_W-1:0] s_axis_cq_tuser,
    input  logic                 s_axis_cq_tlast,
    input  logic                 s_axis_cq_tvalid,
    output logic                 s_axis_cq_tready,
    output logic [DATA_W-1:0]    m_axis_cc_tdata,
    output logic [LANES-1:0]     m_axis_cc_tkeep,
    output logic [CC_USER_W-1:0] m_axis_cc_tuser,
    output logic                 m_axis_cc_tlast,
    output logic                 m_axis_cc_tvalid,
    input  logic                 m_axis_cc_tready,
    input  logic                 user_lnk_up,
    input  logic [1:0]           cfg_max_payload,
    input  logic [2:0]           cfg_max_read_req,
    input  logic [7:0]           cfg_fc_nph,
    output logic [2:0]           cfg_fc_sel,
    input  logic [3:0]           cfg_interrupt_msix_enable,
    input  logic [3:0]           cfg_interrupt_msix_mask,
    input  logic                 cfg_valid,
    output logic                 cfg_ready,
    input  logic [15:0]          cfg_func,
    input  logic [9:0]           cfg_number,
    input  logic [3:0]           cfg_wstrb,
    input  logic [31:0]          cfg_wdata,
    output logic                 cfg_hit,
    output logic [31:0]          cfg_rdata,
    input  logic                 flr_valid,
    output logic                 flr_ready,
    input  logic [15:0]          flr_func,
    output logic                 flr_done,
    output logic [15:0]          flr_done_func,
    output logic                 passed,        // a packet has come back
    output logic                 failed,
    output logic                 timed_out,
    output logic                 unexpected,
    output logic                 refused,
    output logic                 irq_refused,
    output logic                 idle
);

  credit_limit_t limit;
  request_t req_header;
  completion_t cpl_header;
  access_t access_header;
  answer_t answer_header;
  logic [2:0] max_read_size, max_payload;
  logic req_valid, req_ready, req_last, cpl_valid, cpl_last, access_valid, access_ready, access_last;
  logic answer_valid, answer_ready, core_idle, shim_idle;
  logic [DATA_W-1:0] req_data, cpl_data, access_data, answer_data;

  logic tvalid, tready, tlast;
  logic [DATA_W-1:0] tdata;
  logic [DATA_W/8-1:0] tkeep;
  logic [$clog2(FUNCTIONS)-1:0] queue;

  // The model has physical functions only: function N is its Nth.
  host_pcie #(
      .FUNCTIONS(FUNCTIONS),
      .DATA_W(DATA_W)
  ) u_host (
      .*,
      .msix_enabled (cfg_interrupt_msix_enable[FUNCTIONS:0]),
      .msix_masked  (cfg_interrupt_msix_mask[FUNCTIONS:0]),
      .s_axis_tvalid(tvalid),
      .s_axis_tready(tready),
      .s_axis_tdata (tdata),
      .s_axis_tkeep (tkeep),
      .s_axis_tlast (tlast),
      .s_axis_queue (queue),
      .m_axis_tvalid(tvalid),
      .m_axis_tready(tready),
      .m_axis_tdata (tdata),
      .m_axis_tkeep (tkeep),
      .m_axis_tlast (tlast),
      .m_axis_queue (queue),
      .idle         (core_idle)
  );
  pcie_ultrascale #(
      .DATA_W  (DATA_W),
      .FIRST_VF(1)
  ) u_shim (
      .*,
      .idle(shim_idle)
  );
  assign passed = tvalid && tready && tlast;
  assign idle   = core_idle && shim_idle;

endmodule
