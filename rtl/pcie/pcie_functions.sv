// SPDX-License-Identifier: Apache-2.0
// A card's way to the host: its ports for host memory, registers and interrupts on one side, TLPs on the other, with
// FUNCTIONS virtio network devices in between, functions FIRST and up. Functions below are the card's own: their BARs
// are the card's registers, but MSIX_BAR, and of function 0 CONFIG_BAR, by which software gives the devices their
// configuration. cfg_* are accesses of the devices' registers in configuration space, if the IP hands them over.
// What the parts do, their latency and backpressure say pcie_core, virtio_registers, virtio_window and virtio_bus.
module pcie_functions
  import pcie_pkg::*, axi_pkg::*, virtio_pkg::*;
#(
    parameter int unsigned DATA_W = 256,
    parameter int unsigned TAGS = 64,
    parameter int unsigned READ_BYTES = 512,
    parameter int unsigned ID_W = 6,
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned FIRST = 1,
    parameter int unsigned VECTORS = 4,
    parameter int unsigned QUEUE_SIZE = 256,
    parameter int unsigned MSIX_BAR = 2,
    parameter int unsigned CONFIG_BAR = 4,
    parameter logic [4:0][7:0] PLACES = {8'h48, 8'hE4, 8'hD4, 8'hC0, 8'hB0},  // of virtio's capabilities
    parameter logic [7:0] NEXT = 8'h00,        // capability behind them
    parameter logic [31:0] HOST_BASE = 32'h0,  // of the function engine among the card's registers
    localparam int unsigned NUMBERS = FIRST + FUNCTIONS,
    localparam int unsigned NUMBERS_W = $clog2(NUMBERS)
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic [63:0]          time_ns,

    // What the IP knows of the link and the functions
    input  credit_limit_t        limit,
    input  logic [2:0]           max_read_size,
    input  logic [2:0]           max_payload,
    input  logic [22:0]          timeout,        // of a read, in 1024 ns; 0: never
    input  logic [NUMBERS-1:0]   msix_enabled,
    input  logic [NUMBERS-1:0]   msix_masked,
    input  logic                 flr_valid,      // a function is to be reset
    output logic                 flr_ready,
    input  logic [15:0]          flr_func,
    output logic                 flr_done,       // one cycle, for each that was taken
    output logic [15:0]          flr_done_func,
    input  logic                 cfg_valid,      // configuration space
    output logic                 cfg_ready,
    input  logic [15:0]          cfg_func,
    input  logic [9:0]           cfg_number,
    input  logic [3:0]           cfg_wstrb,
    input  logic [31:0]          cfg_wdata,
    output logic                 cfg_hit,
    output logic [31:0]          cfg_rdata,

    // The card: its host memory, registers and interrupts, whose function 0 is its own
    input  axi_req_t             axi_req,
    input  logic [DATA_W-1:0]    axi_wdata,
    input  logic [DATA_W/8-1:0]  axi_wstrb,
    output axi_rsp_t             axi_rsp,
    output logic [DATA_W-1:0]    axi_rdata,
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

  if (CONFIG_BAR == MSIX_BAR) begin : gen_bad_bars
    $fatal(1, "pcie_functions: CONFIG_BAR must not be MSIX_BAR, %0d", MSIX_BAR);
  end

  logic [NUMBERS_W-1:0] clear_func;
  logic [15:0] func, window_func, host_irq_func, host_irq_vector, fault_queue;
  logic [2:0] bar, window_bar;
  axil_req_t access_req, window_req, virtio_req, software_req;
  axil_rsp_t access_rsp, window_rsp, virtio_rsp, software_rsp;
  logic clear_valid, clear_ready, host_irq_valid, host_irq_ready, tell_valid, tell_done, quiet, fault_valid;
  logic core_idle, window_idle, registers_idle, bus_idle;
  tell_t tell;

  pcie_core #(
      .DATA_W(DATA_W),
      .TAGS(TAGS),
      .READ_BYTES(READ_BYTES),
      .ID_W(ID_W),
      .FUNCTIONS(NUMBERS),
      .VECTORS(VECTORS),
      .MSIX_BAR(MSIX_BAR)
  ) u_core (
      .*,
      .s_axi_awid    (axi_req.awid),
      .s_axi_awaddr  (axi_req.awaddr),
      .s_axi_awlen   (axi_req.awlen),
      .s_axi_awsize  (axi_req.awsize),
      .s_axi_awburst (axi_req.awburst),
      .s_axi_awuser  (axi_req.awuser),
      .s_axi_awvalid (axi_req.awvalid),
      .s_axi_wlast   (axi_req.wlast),
      .s_axi_wvalid  (axi_req.wvalid),
      .s_axi_bready  (axi_req.bready),
      .s_axi_arid    (axi_req.arid),
      .s_axi_araddr  (axi_req.araddr),
      .s_axi_arlen   (axi_req.arlen),
      .s_axi_arsize  (axi_req.arsize),
      .s_axi_arburst (axi_req.arburst),
      .s_axi_aruser  (axi_req.aruser),
      .s_axi_arvalid (axi_req.arvalid),
      .s_axi_rready  (axi_req.rready),
      .s_axi_awready (axi_rsp.awready),
      .s_axi_wready  (axi_rsp.wready),
      .s_axi_bid     (axi_rsp.bid),
      .s_axi_bresp   (axi_rsp.bresp),
      .s_axi_bvalid  (axi_rsp.bvalid),
      .s_axi_arready (axi_rsp.arready),
      .s_axi_rid     (axi_rsp.rid),
      .s_axi_rresp   (axi_rsp.rresp),
      .s_axi_rlast   (axi_rsp.rlast),
      .s_axi_rvalid  (axi_rsp.rvalid),
      .s_axi_wdata   (axi_wdata),
      .s_axi_wstrb   (axi_wstrb),
      .s_axi_rdata   (axi_rdata),
      .axil_req      (access_req),
      .axil_rsp      (access_rsp),
      .irq_valid     (host_irq_valid),
      .irq_ready     (host_irq_ready),
      .irq_func      (host_irq_func),
      .irq_vector    (host_irq_vector),
      .idle          (core_idle)
  );

  virtio_window #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .MSIX_BAR(MSIX_BAR),
      .PLACES(PLACES),
      .NEXT(NEXT)
  ) u_window (
      .clk,
      .rst,
      .cfg_valid,
      .cfg_ready,
      .cfg_func,
      .cfg_number,
      .cfg_wstrb,
      .cfg_wdata,
      .cfg_hit,
      .cfg_rdata,
      .flr_done,
      .flr_done_func,
      .func    (window_func),
      .bar     (window_bar),
      .axil_req(window_req),
      .axil_rsp(window_rsp),
      .idle    (window_idle)
  );

  // The card's registers, or those of the devices
  wire software = 32'(func) < FIRST && bar != 3'(CONFIG_BAR);
  always_comb begin
    software_req = access_req;
    virtio_req   = access_req;
    if (software) {virtio_req.awvalid, virtio_req.wvalid, virtio_req.arvalid} = '0;
    else {software_req.awvalid, software_req.wvalid, software_req.arvalid} = '0;
  end
  assign access_rsp = software ? software_rsp : virtio_rsp;

  virtio_registers #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .VECTORS(VECTORS),
      .QUEUE_SIZE(QUEUE_SIZE),
      .CONFIG_BAR(CONFIG_BAR)
  ) u_registers (
      .clk,
      .rst,
      .func,
      .bar,
      .axil_req    (virtio_req),
      .axil_rsp    (virtio_rsp),
      .msix_enabled,
      .s_irq_valid (irq_valid),
      .s_irq_ready (irq_ready),
      .s_irq_func  (irq_func),
      .s_irq_vector(irq_vector),
      .m_irq_valid (host_irq_valid),
      .m_irq_ready (host_irq_ready),
      .m_irq_func  (host_irq_func),
      .m_irq_vector(host_irq_vector),
      .flr_valid,
      .flr_ready,
      .flr_func,
      .flr_done,
      .flr_done_func,
      .clear_valid,
      .clear_ready,
      .clear_func,
      .tell_valid,
      .tell,
      .tell_done,
      .quiet,
      .fault_valid,
      .fault_queue,
      .idle        (registers_idle)
  );

  virtio_bus #(
      .HOST_BASE(HOST_BASE)
  ) u_bus (
      .clk,
      .rst,
      .tell_valid,
      .tell,
      .tell_done,
      .quiet,
      .fault_valid,
      .fault_queue,
      .s_req(software_req),
      .s_rsp(software_rsp),
      .m_req(axil_req),
      .m_rsp(axil_rsp),
      .idle (bus_idle)
  );

  assign idle = core_idle && window_idle && registers_idle && bus_idle;

endmodule
