// SPDX-License-Identifier: Apache-2.0
// The function engine behind PCI Express: FUNCTIONS virtio network devices as drivers find them on the bus, their
// packets as streams, TLPs towards the shim of a hard IP. BAR 0 of function 0 has the engine's registers
// (regs/host.rdl). IDs of reads count in whole, so that no two of the engine's are answered in order for nothing.
// Latency, throughput and backpressure: host_engine, pcie_functions.
module host_pcie
  import pcie_pkg::*, axi_pkg::*;
#(
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned DATA_W = 256,
    parameter int unsigned TAGS = 64,
    parameter int unsigned READ_BYTES = 512,
    parameter int unsigned VECTORS = 4,
    parameter int unsigned QUEUE_SIZE = 256,
    parameter int unsigned STORE_KB = 64,
    parameter int unsigned MAX_FRAME = 9216,
    parameter logic [4:0][7:0] PLACES = {8'h48, 8'hE4, 8'hD4, 8'hC0, 8'hB0},  // of virtio's capabilities
    parameter logic [7:0] NEXT = 8'h00,          // capability behind them
    localparam int unsigned FIRST = 1,
    localparam int unsigned NUMBERS = FIRST + FUNCTIONS,
    localparam int unsigned QUEUES = FUNCTIONS * PAIRS,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
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

    input  logic                 s_axis_tvalid,  // to drivers
    output logic                 s_axis_tready,
    input  logic [DATA_W-1:0]    s_axis_tdata,
    input  logic [DATA_W/8-1:0]  s_axis_tkeep,
    input  logic                 s_axis_tlast,
    input  logic [QUEUE_W-1:0]   s_axis_queue,
    output logic                 m_axis_tvalid,  // from drivers
    input  logic                 m_axis_tready,
    output logic [DATA_W-1:0]    m_axis_tdata,
    output logic [DATA_W/8-1:0]  m_axis_tkeep,
    output logic                 m_axis_tlast,
    output logic [QUEUE_W-1:0]   m_axis_queue,

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

  axil_req_t axil_req;
  axil_rsp_t axil_rsp;
  axi_req_t axi_req;
  axi_rsp_t axi_rsp;
  logic [DATA_W-1:0] axi_wdata, axi_rdata;
  logic [DATA_W/8-1:0] axi_wstrb;
  logic irq_valid, irq_ready, engine_idle, functions_idle;
  logic [15:0] irq_function, irq_vector;

  pcie_functions #(
      .DATA_W(DATA_W),
      .TAGS(TAGS),
      .READ_BYTES(READ_BYTES),
      .ID_W(8),
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .VECTORS(VECTORS),
      .QUEUE_SIZE(QUEUE_SIZE),
      .PLACES(PLACES),
      .NEXT(NEXT)
  ) u_functions (
      .*,
      .irq_func(irq_function),
      .idle    (functions_idle)
  );

  host_engine #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .FIRST(FIRST),
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB),
      .MAX_FRAME(MAX_FRAME)
  ) u_engine (
      .*,
      .wake_ns(),
      .idle   (engine_idle)
  );

  assign idle = functions_idle && engine_idle;

endmodule
