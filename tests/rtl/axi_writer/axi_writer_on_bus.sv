// SPDX-License-Identifier: Apache-2.0
// axi_writer with the signals that bus models want beside: IDs, and reads that there are none of.
module axi_writer_on_bus #(
    parameter int unsigned MEM_W = 64,
    parameter int unsigned BURST = 16,
    parameter int unsigned LEN_W = 16
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               cmd_valid,
    output logic               cmd_ready,
    input  logic [63:0]        cmd_addr,
    input  logic [LEN_W-1:0]   cmd_bytes,
    input  logic               s_axis_tvalid,
    output logic               s_axis_tready,
    input  logic [MEM_W-1:0]   s_axis_tdata,
    input  logic [MEM_W/8-1:0] s_axis_tkeep,
    input  logic               s_axis_tlast,
    input  logic               s_axis_tuser,
    output logic [0:0]         m_axi_awid,
    output logic [63:0]        m_axi_awaddr,
    output logic [7:0]         m_axi_awlen,
    output logic [2:0]         m_axi_awsize,
    output logic [1:0]         m_axi_awburst,
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output logic [MEM_W-1:0]   m_axi_wdata,
    output logic [MEM_W/8-1:0] m_axi_wstrb,
    output logic               m_axi_wlast,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    input  logic [0:0]         m_axi_bid,
    input  logic [1:0]         m_axi_bresp,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready,
    output logic [63:0]        m_axi_araddr,
    output logic [7:0]         m_axi_arlen,
    output logic [2:0]         m_axi_arsize,
    output logic [1:0]         m_axi_arburst,
    output logic               m_axi_arvalid,
    input  logic               m_axi_arready,
    input  logic [MEM_W-1:0]   m_axi_rdata,
    input  logic [1:0]         m_axi_rresp,
    input  logic               m_axi_rlast,
    input  logic               m_axi_rvalid,
    output logic               m_axi_rready,
    output logic               done,
    output logic               done_error,
    output logic               idle
);

  assign m_axi_awid = '0;
  assign {m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_arvalid, m_axi_rready} = '0;
  axi_writer #(.MEM_W(MEM_W), .BURST(BURST), .LEN_W(LEN_W)) dut (.*);

endmodule
