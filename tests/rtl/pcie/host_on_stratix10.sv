// SPDX-License-Identifier: Apache-2.0
// The function engine behind PCI Express and the shim for Stratix 10, with the ports that the model of the hard IP
// wants. What a function sends comes back to it, once there is room.
module host_on_stratix10
  import pcie_pkg::*, axi_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 2
) (
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
    input  logic                 cfg_valid,
    output logic                 cfg_ready,
    input  logic [15:0]          cfg_func,
    input  logic [9:0]           cfg_number,
    input  logic [3:0]           cfg_wstrb,
    input  logic [31:0]          cfg_wdata,
    output logic                 cfg_hit,
    output logic [31:0]          cfg_rdata,
    input  logic [FUNCTIONS:0]   flr_pf_active,
    output logic [FUNCTIONS:0]   flr_pf_done,
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
  logic [255:0] req_data, cpl_data, access_data, answer_data;

  logic tvalid, tready, tlast;
  logic [255:0] tdata;
  logic [31:0] tkeep;
  logic [$clog2(FUNCTIONS)-1:0] queue;

  logic [3:0] msix_enabled, msix_masked;
  logic flr_valid, flr_ready, flr_done;
  logic [15:0] flr_func, flr_done_func;

  // The model has physical functions only: function N is its Nth.
  host_pcie #(
      .FUNCTIONS(FUNCTIONS),
      .DATA_W(256)
  ) u_host (
      .*,
      .msix_enabled (msix_enabled[FUNCTIONS:0]),
      .msix_masked  (msix_masked[FUNCTIONS:0]),
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
  pcie_stratix10 #(
      .PHYSICAL(FUNCTIONS + 1)
  ) u_shim (
      .*,
      .link_up(1'b1),  // the model has no such output
      .idle   (shim_idle)
  );
  pcie_stratix10_reset #(
      .FUNCTIONS(FUNCTIONS + 1),
      .PHYSICAL(FUNCTIONS + 1)
  ) u_reset (
      .*,
      .flr_rcvd_vf         (1'b0),
      .flr_rcvd_pf_num     ('0),
      .flr_rcvd_vf_num     ('0),
      .flr_completed_vf    (),
      .flr_completed_pf_num(),
      .flr_completed_vf_num()
  );
  assign passed = tvalid && tready && tlast;
  assign idle   = core_idle && shim_idle;

endmodule
