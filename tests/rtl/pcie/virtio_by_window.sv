// SPDX-License-Identifier: Apache-2.0
// virtio_registers behind the two ways to them: a BAR, and the window in configuration space.
module virtio_by_window
  import axi_pkg::*, virtio_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned VECTORS = 4,
    parameter int unsigned QUEUE_SIZE = 256,
    localparam int unsigned NUMBERS = FIRST + FUNCTIONS,
    localparam int unsigned NUMBERS_W = $clog2(NUMBERS)
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [15:0]           func,
    input  logic [2:0]            bar,
    input  axil_req_t             axil_req,
    output axil_rsp_t             axil_rsp,
    input  logic [NUMBERS-1:0]    msix_enabled,
    input  logic                  s_irq_valid,
    output logic                  s_irq_ready,
    input  logic [15:0]           s_irq_func,
    input  logic [15:0]           s_irq_vector,
    output logic                  m_irq_valid,
    input  logic                  m_irq_ready,
    output logic [15:0]           m_irq_func,
    output logic [15:0]           m_irq_vector,
    input  logic                  flr_valid,
    output logic                  flr_ready,
    input  logic [15:0]           flr_func,
    output logic                  flr_done,
    output logic [15:0]           flr_done_func,
    output logic                  clear_valid,
    input  logic                  clear_ready,
    output logic [NUMBERS_W-1:0]  clear_func,
    output logic                  tell_valid,
    output tell_t                 tell,
    input  logic                  tell_done,
    input  logic                  quiet,
    input  logic                  fault_valid,
    input  logic [15:0]           fault_queue,
    input  logic                  cfg_valid,
    output logic                  cfg_ready,
    input  logic [15:0]           cfg_func,
    input  logic [9:0]            cfg_number,
    input  logic [3:0]            cfg_wstrb,
    input  logic [31:0]           cfg_wdata,
    output logic                  cfg_hit,
    output logic [31:0]           cfg_rdata,
    output logic                  idle
);

  logic [15:0] window_func, register_func;
  logic [2:0] window_bar, register_bar;
  axil_req_t window_req, register_req;
  axil_rsp_t window_rsp, register_rsp;
  logic window_idle, accesses_idle, registers_idle;

  virtio_window #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .FIRST(FIRST)
  ) u_window (
      .*,
      .func    (window_func),
      .bar     (window_bar),
      .axil_req(window_req),
      .axil_rsp(window_rsp),
      .idle    (window_idle)
  );
  pcie_accesses u_accesses (
      .clk,
      .rst,
      .s_func({window_func, func}),
      .s_bar ({window_bar, bar}),
      .s_req ({window_req, axil_req}),
      .s_rsp ({window_rsp, axil_rsp}),
      .m_func(register_func),
      .m_bar (register_bar),
      .m_req (register_req),
      .m_rsp (register_rsp),
      .idle  (accesses_idle)
  );
  virtio_registers #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .VECTORS(VECTORS),
      .QUEUE_SIZE(QUEUE_SIZE)
  ) u_registers (
      .*,
      .func    (register_func),
      .bar     (register_bar),
      .axil_req(register_req),
      .axil_rsp(register_rsp),
      .idle    (registers_idle)
  );
  assign idle = window_idle && accesses_idle && registers_idle;

endmodule
