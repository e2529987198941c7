// SPDX-License-Identifier: Apache-2.0
// PCI Express transactions of a card, without a vendor's name: its host memory (AXI4), its registers (AXI4-Lite) and
// its interrupts on one side, four streams of TLPs on the other, which a shim for the hard IP turns into the IP's own.
// What each part does says pcie_read, pcie_write, pcie_registers and pcie_interrupt. Accesses to BAR MSIX_BAR, of
// 2 * PENDING bytes, are the MSI-X table's, all others the card's. Beside those by TLPs there may be others by a window
// in configuration space, in turn with them.
// Backpressure: completions are never held up, so that the IP may promise room for all of them.
module pcie_core
  import pcie_pkg::*, axi_pkg::*;
#(
    parameter int unsigned DATA_W = 256,
    parameter int unsigned TAGS = 64,
    parameter int unsigned READ_BYTES = 512,
    parameter int unsigned ID_W = 6,
    parameter int unsigned ROWS = 65536 / DATA_W,
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned VECTORS = 4,
    parameter int unsigned PENDING = 2048,
    parameter int unsigned ADDR_W = 16,
    parameter int unsigned MSIX_BAR = 2,
    localparam int unsigned FUNC_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic [63:0]          time_ns,

    // What the IP knows of the link and the functions
    input  credit_limit_t        limit,
    input  logic [2:0]           max_read_size,
    input  logic [2:0]           max_payload,
    input  logic [22:0]          timeout,        // of a read, in 1024 ns; 0: never
    input  logic [FUNCTIONS-1:0] msix_enabled,
    input  logic [FUNCTIONS-1:0] msix_masked,
    input  logic                 clear_valid,    // a function that is reset
    output logic                 clear_ready,
    input  logic [FUNC_W-1:0]    clear_func,

    // The card
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
    input  logic [15:0]          window_func,    // access by configuration space
    input  logic [2:0]           window_bar,
    input  axil_req_t            window_req,
    output axil_rsp_t            window_rsp,
    output logic [15:0]          func,           // beside an access to registers
    output logic [2:0]           bar,
    output axil_req_t            axil_req,
    input  axil_rsp_t            axil_rsp,
    input  logic                 irq_valid,
    output logic                 irq_ready,
    input  logic [15:0]          irq_func,
    input  logic [15:0]          irq_vector,

    // The hard IP
    output logic                 req_valid,
    input  logic                 req_ready,
    output request_t             req_header,
    output logic [DATA_W-1:0]    req_data,
    output logic                 req_last,
    input  logic                 cpl_valid,
    input  completion_t          cpl_header,
    input  logic [DATA_W-1:0]    cpl_data,
    input  logic                 cpl_last,
    input  logic                 access_valid,
    output logic                 access_ready,
    input  access_t              access_header,
    input  logic [DATA_W-1:0]    access_data,
    input  logic                 access_last,
    output logic                 answer_valid,
    input  logic                 answer_ready,
    output answer_t              answer_header,
    output logic [DATA_W-1:0]    answer_data,

    // Events to be counted
    output logic                 failed,
    output logic                 timed_out,
    output logic                 unexpected,
    output logic                 refused,
    output logic                 irq_refused,
    output logic                 idle
);

  if (2 ** $clog2(PENDING) != PENDING) begin : gen_bad_pending
    $fatal(1, "pcie_core: PENDING must be a power of two, not %0d", PENDING);
  end
  if (MSIX_BAR > 5) begin : gen_bad_msix_bar
    $fatal(1, "pcie_core: MSIX_BAR must be 0 to 5, not %0d", MSIX_BAR);
  end

  logic read_valid, read_ready, write_valid, write_ready, write_last, msg_valid, msg_ready;
  request_t read_header, write_header, msg_header;
  logic [DATA_W-1:0] write_data;
  logic [31:0] msg_data;
  axil_req_t tlp_req, register_req, msix_req;
  axil_rsp_t tlp_rsp, register_rsp, msix_rsp;
  logic [15:0] tlp_func;
  logic [2:0] tlp_bar;
  logic read_idle, write_idle, registers_idle, accesses_idle, interrupt_idle, requests_idle;
  wire msix = bar == 3'(MSIX_BAR);

  pcie_read #(
      .DATA_W(DATA_W),
      .TAGS(TAGS),
      .READ_BYTES(READ_BYTES),
      .ID_W(ID_W)
  ) u_read (
      .clk,
      .rst,
      .time_ns,
      .limit,
      .max_read_size,
      .timeout,
      .s_axi_arid,
      .s_axi_araddr,
      .s_axi_arlen,
      .s_axi_arsize,
      .s_axi_arburst,
      .s_axi_aruser,
      .s_axi_arvalid,
      .s_axi_arready,
      .s_axi_rid,
      .s_axi_rdata,
      .s_axi_rresp,
      .s_axi_rlast,
      .s_axi_rvalid,
      .s_axi_rready,
      .req_valid (read_valid),
      .req_ready (read_ready),
      .req_header(read_header),
      .cpl_valid,
      .cpl_header,
      .cpl_data,
      .cpl_last,
      .failed,
      .timed_out,
      .unexpected,
      .idle      (read_idle)
  );

  pcie_write #(
      .DATA_W(DATA_W),
      .ROWS(ROWS)
  ) u_write (
      .clk,
      .rst,
      .limit,
      .max_payload,
      .s_axi_awid,
      .s_axi_awaddr,
      .s_axi_awlen,
      .s_axi_awsize,
      .s_axi_awburst,
      .s_axi_awuser,
      .s_axi_awvalid,
      .s_axi_awready,
      .s_axi_wdata,
      .s_axi_wstrb,
      .s_axi_wlast,
      .s_axi_wvalid,
      .s_axi_wready,
      .s_axi_bid,
      .s_axi_bresp,
      .s_axi_bvalid,
      .s_axi_bready,
      .msg_valid,
      .msg_ready,
      .msg_header,
      .msg_data,
      .req_valid (write_valid),
      .req_ready (write_ready),
      .req_header(write_header),
      .req_data  (write_data),
      .req_last  (write_last),
      .idle      (write_idle)
  );

  pcie_requests #(
      .DATA_W(DATA_W)
  ) u_requests (
      .clk,
      .rst,
      .read_valid,
      .read_ready,
      .read_header,
      .write_valid,
      .write_ready,
      .write_header,
      .write_data,
      .write_last,
      .m_valid (req_valid),
      .m_ready (req_ready),
      .m_header(req_header),
      .m_data  (req_data),
      .m_last  (req_last),
      .idle    (requests_idle)
  );

  pcie_registers #(
      .DATA_W(DATA_W),
      .ADDR_W(ADDR_W)
  ) u_registers (
      .clk,
      .rst,
      .access_valid,
      .access_ready,
      .access_header,
      .access_data,
      .access_last,
      .answer_valid,
      .answer_ready,
      .answer_header,
      .answer_data,
      .func    (tlp_func),
      .bar     (tlp_bar),
      .axil_req(tlp_req),
      .axil_rsp(tlp_rsp),
      .refused,
      .idle    (registers_idle)
  );

  pcie_accesses u_accesses (
      .clk,
      .rst,
      .s_func({window_func, tlp_func}),
      .s_bar ({window_bar, tlp_bar}),
      .s_req ({window_req, tlp_req}),
      .s_rsp ({window_rsp, tlp_rsp}),
      .m_func(func),
      .m_bar (bar),
      .m_req (register_req),
      .m_rsp (register_rsp),
      .idle  (accesses_idle)
  );

  always_comb begin
    axil_req = register_req;
    msix_req = register_req;
    // Above its size a BAR's address is the host's choice.
    msix_req.awaddr &= 2 * PENDING - 1;
    msix_req.araddr &= 2 * PENDING - 1;
    if (msix) {axil_req.awvalid, axil_req.wvalid, axil_req.arvalid} = '0;
    else {msix_req.awvalid, msix_req.wvalid, msix_req.arvalid} = '0;
  end
  assign register_rsp = msix ? msix_rsp : axil_rsp;

  pcie_interrupt #(
      .FUNCTIONS(FUNCTIONS),
      .VECTORS(VECTORS),
      .PENDING(PENDING)
  ) u_interrupt (
      .clk,
      .rst,
      .enabled   (msix_enabled),
      .masked    (msix_masked),
      .clear_valid,
      .clear_ready,
      .clear_func,
      .irq_valid,
      .irq_ready,
      .irq_func,
      .irq_vector,
      .func,
      .axil_req  (msix_req),
      .axil_rsp  (msix_rsp),
      .req_valid (msg_valid),
      .req_ready (msg_ready),
      .req_header(msg_header),
      .req_data  (msg_data),
      .refused   (irq_refused),
      .idle      (interrupt_idle)
  );

  assign idle = read_idle && write_idle && requests_idle && registers_idle && accesses_idle &&
      interrupt_idle;

endmodule
