// SPDX-License-Identifier: Apache-2.0
// pcie_core behind the shim for UltraScale+, with the ports that models of buses and of the integrated block want.
module pcie_on_ultrascale
  import pcie_pkg::*, axi_pkg::*;
#(
    parameter int unsigned DATA_W = 256,
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
    input  logic [7:0]           s_axi_awid,
    input  logic [63:0]          s_axi_awaddr,
    input  logic [7:0]           s_axi_awlen,
    input  logic [2:0]           s_axi_awsize,
    input  logic [1:0]           s_axi_awburst,
    input  logic [15:0]          s_axi_awuser,
    input  logic                 s_axi_awvalid,
    output logic                 s_axi_awready,
    input  logic [DATA_W-1:0]    s_axi_wdata,
    input  logic [DATA_W/8-1:0]  s_axi_wstrb,
    input  logic                 s_axi_wlast,
    input  logic                 s_axi_wvalid,
    output logic                 s_axi_wready,
    output logic [7:0]           s_axi_bid,
    output logic [1:0]           s_axi_bresp,
    output logic                 s_axi_bvalid,
    input  logic                 s_axi_bready,
    input  logic [7:0]           s_axi_arid,
    input  logic [63:0]          s_axi_araddr,
    input  logic [7:0]           s_axi_arlen,
    input  logic [2:0]           s_axi_arsize,
    input  logic [1:0]           s_axi_arburst,
    input  logic [15:0]          s_axi_aruser,
    input  logic                 s_axi_arvalid,
    output logic                 s_axi_arready,
    output logic [7:0]           s_axi_rid,
    output logic [DATA_W-1:0]    s_axi_rdata,
    output logic [1:0]           s_axi_rresp,
    output logic                 s_axi_rlast,
    output logic                 s_axi_rvalid,
    input  logic                 s_axi_rready,
    output logic [15:0]          func,
    output logic [2:0]           bar,
    output axil_req_t            axil_req,
    input  axil_rsp_t            axil_rsp,
    input  logic                 irq_valid,
    output logic                 irq_ready,
    input  logic [15:0]          irq_func,
    input  logic [15:0]          irq_vector,
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

  // The model has physical functions only: function N is its Nth.
  pcie_core #(
      .DATA_W(DATA_W),
      .FUNCTIONS(4)
  ) u_core (
      .*,
      .msix_enabled(cfg_interrupt_msix_enable),
      .msix_masked (cfg_interrupt_msix_mask),
      .window_func ('0),
      .window_bar  ('0),
      .window_req  ('0),
      .window_rsp  (),
      .clear_valid (1'b0),
      .clear_ready (),
      .clear_func  ('0),
      .idle        (core_idle)
  );
  pcie_ultrascale #(
      .DATA_W  (DATA_W),
      .FIRST_VF(1)
  ) u_shim (
      .*,
      .idle(shim_idle)
  );
  assign idle = core_idle && shim_idle;

endmodule
