// SPDX-License-Identifier: Apache-2.0
// pcie_core behind the shim for Stratix 10, with the ports that models of buses and of the hard IP want.
module pcie_on_stratix10
  import pcie_pkg::*, axi_pkg::*;
(
    input  logic                 clk,
    input  logic                 rst,
    input  logic [63:0]          time_ns,
    input  logic [22:0]          timeout,
    input  logic [255:0]         rx_st_data,
    input  logic [2:0]           rx_st_empty,
    input  logic                 rx_st_sop,
    input  logic                 rx_st_eop,
    input  logic                 rx_st_valid,
    output logic                 rx_st_ready,
    input  logic [2:0]           rx_st_bar_range,
    input  logic                 rx_st_vf_active,
    input  logic [1:0]           rx_st_func_num,
    input  logic [10:0]          rx_st_vf_num,
    output logic [255:0]         tx_st_data,
    output logic                 tx_st_sop,
    output logic                 tx_st_eop,
    output logic                 tx_st_valid,
    output logic                 tx_st_err,
    output logic                 tx_st_vf_active,
    input  logic                 tx_st_ready,
    input  logic [7:0]           tx_ph_cdts,
    input  logic [11:0]          tx_pd_cdts,
    input  logic [7:0]           tx_nph_cdts,
    input  logic [1:0]           tl_cfg_func,
    input  logic [4:0]           tl_cfg_add,
    input  logic [31:0]          tl_cfg_ctl,
    input  logic [7:0]           s_axi_awid,
    input  logic [63:0]          s_axi_awaddr,
    input  logic [7:0]           s_axi_awlen,
    input  logic [2:0]           s_axi_awsize,
    input  logic [1:0]           s_axi_awburst,
    input  logic [15:0]          s_axi_awuser,
    input  logic                 s_axi_awvalid,
    output logic                 s_axi_awready,
    input  logic [255:0]    s_axi_wdata,
    input  logic [31:0]  s_axi_wstrb,
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
    output logic [255:0]    s_axi_rdata,
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
  logic [255:0] req_data, cpl_data, access_data, answer_data;

  logic [3:0] msix_enabled, msix_masked;
  pcie_core #(
      .DATA_W(256),
      .FUNCTIONS(4)
  ) u_core (
      .*,
      .window_func('0),
      .window_bar ('0),
      .window_req ('0),
      .window_rsp (),
      .clear_valid(1'b0),
      .clear_ready(),
      .clear_func ('0),
      .idle       (core_idle)
  );
  // The model has physical functions only.
  pcie_stratix10 #(
      .PHYSICAL(2)
  ) u_shim (
      .*,
      .link_up(1'b1),  // the model has no such output
      .idle   (shim_idle)
  );
  assign idle = core_idle && shim_idle;

endmodule
