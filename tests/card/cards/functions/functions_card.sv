// SPDX-License-Identifier: Apache-2.0
// The function engine alone, for tests of its rates and of what functions share. What a queue sends comes back to it.
// A frame on port 0 says whose memory is silent from then on: bit n of its first 8 bytes, to reads of function n, and
// of the next 8, to writes. Port 0 sends nothing.
module functions_card
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    localparam int unsigned MEM_W = DATA_W
) (
    input  logic                clk,
    input  logic                rst,
    input  logic [63:0]         time_ns,

    input  logic                rx_tvalid,
    output logic                rx_tready,
    // verilator lint_off UNUSEDSIGNAL
    input  logic [DATA_W-1:0]   rx_tdata,
    input  logic [DATA_W/8-1:0] rx_tkeep,
    input  logic                rx_tlast,
    input  rx_meta_t            rx_tuser,
    output logic                tx_tvalid,
    input  logic                tx_tready,
    // verilator lint_on UNUSEDSIGNAL
    output logic [DATA_W-1:0]   tx_tdata,
    output logic [DATA_W/8-1:0] tx_tkeep,
    output logic                tx_tlast,
    output tx_meta_t            tx_tuser,

    input  logic [15:0]         s_axil_awaddr,
    input  logic [2:0]          s_axil_awprot,
    input  logic                s_axil_awvalid,
    output logic                s_axil_awready,
    input  logic [31:0]         s_axil_wdata,
    input  logic [3:0]          s_axil_wstrb,
    input  logic                s_axil_wvalid,
    output logic                s_axil_wready,
    output logic [1:0]          s_axil_bresp,
    output logic                s_axil_bvalid,
    input  logic                s_axil_bready,
    input  logic [15:0]         s_axil_araddr,
    input  logic [2:0]          s_axil_arprot,
    input  logic                s_axil_arvalid,
    output logic                s_axil_arready,
    output logic [31:0]         s_axil_rdata,
    output logic [1:0]          s_axil_rresp,
    output logic                s_axil_rvalid,
    input  logic                s_axil_rready,

    output logic [7:0]          m_axi_awid,
    output logic [63:0]         m_axi_awaddr,
    output logic [7:0]          m_axi_awlen,
    output logic [2:0]          m_axi_awsize,
    output logic [1:0]          m_axi_awburst,
    output logic [15:0]         m_axi_awuser,
    output logic                m_axi_awvalid,
    input  logic                m_axi_awready,
    output logic [MEM_W-1:0]    m_axi_wdata,
    output logic [MEM_W/8-1:0]  m_axi_wstrb,
    output logic                m_axi_wlast,
    output logic                m_axi_wvalid,
    input  logic                m_axi_wready,
    input  logic [7:0]          m_axi_bid,
    input  logic [1:0]          m_axi_bresp,
    input  logic                m_axi_bvalid,
    output logic                m_axi_bready,
    output logic [7:0]          m_axi_arid,
    output logic [63:0]         m_axi_araddr,
    output logic [7:0]          m_axi_arlen,
    output logic [2:0]          m_axi_arsize,
    output logic [1:0]          m_axi_arburst,
    output logic [15:0]         m_axi_aruser,
    output logic                m_axi_arvalid,
    input  logic                m_axi_arready,
    input  logic [7:0]          m_axi_rid,
    input  logic [MEM_W-1:0]    m_axi_rdata,
    input  logic [1:0]          m_axi_rresp,
    input  logic                m_axi_rlast,
    input  logic                m_axi_rvalid,
    output logic                m_axi_rready,

    output logic                irq_valid,
    input  logic                irq_ready,
    output logic [15:0]         irq_function,
    output logic [15:0]         irq_vector,

    output logic                idle,
    output logic [63:0]         wake_ns
);
  import axi_pkg::*;

  localparam int unsigned QUEUES = FUNCTIONS * PAIRS;
  localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1;

  axil_req_t axil_req;
  axil_rsp_t axil_rsp;
  axil_ports u_axil_ports (
      .*,
      .req(axil_req),
      .rsp(axil_rsp)
  );

  axi_req_t engine_req, axi_req;
  axi_rsp_t engine_rsp, axi_rsp;
  logic [MEM_W-1:0] wdata, rdata;
  logic [MEM_W/8-1:0] wstrb;
  axi_ports #(
      .MEM_W(MEM_W)
  ) u_axi_ports (
      .*,
      .req(axi_req),
      .rsp(axi_rsp)
  );

  logic [1:0][FUNCTIONS-1:0] silent_q;  // to reads, to writes
  logic begins_q;
  always_ff @(posedge clk) begin
    if (rx_tvalid) begins_q <= rx_tlast;
    if (rx_tvalid && begins_q) silent_q <= {rx_tdata[64+:FUNCTIONS], rx_tdata[FUNCTIONS-1:0]};
    if (rst) begin
      begins_q <= 1'b1;
      silent_q <= '0;
    end
  end
  assign rx_tready                                = 1'b1;
  assign {tx_tvalid, tx_tdata, tx_tkeep, tx_tlast} = '0;
  assign tx_tuser                                 = '0;

  silent_memory #(
      .FUNCTIONS(FUNCTIONS)
  ) u_silent (
      .clk,
      .rst,
      .silent(silent_q),
      .s_req (engine_req),
      .s_rsp (engine_rsp),
      .m_req (axi_req),
      .m_rsp (axi_rsp)
  );

  logic tvalid, tready, tlast;
  logic [DATA_W-1:0] tdata;
  logic [DATA_W/8-1:0] tkeep;
  logic [QUEUE_W-1:0] number;
  host_engine #(
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .DATA_W(DATA_W)
  ) u_engine (
      .clk,
      .rst,
      .time_ns,
      .axil_req,
      .axil_rsp,
      .s_axis_tvalid(tvalid),
      .s_axis_tready(tready),
      .s_axis_tdata (tdata),
      .s_axis_tkeep (tkeep),
      .s_axis_tlast (tlast),
      .s_axis_queue (number),
      .m_axis_tvalid(tvalid),
      .m_axis_tready(tready),
      .m_axis_tdata (tdata),
      .m_axis_tkeep (tkeep),
      .m_axis_tlast (tlast),
      .m_axis_queue (number),
      .axi_req      (engine_req),
      .axi_wdata    (wdata),
      .axi_wstrb    (wstrb),
      .axi_rsp      (engine_rsp),
      .axi_rdata    (rdata),
      .irq_valid,
      .irq_ready,
      .irq_function,
      .irq_vector,
      .wake_ns,
      .idle
  );

endmodule
