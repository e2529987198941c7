// SPDX-License-Identifier: Apache-2.0
// axi_reader with the ID signals that bus models want.
module axi_reader_on_bus #(
    parameter int unsigned MEM_W = 64,
    parameter int unsigned BURST = 16,
    parameter int unsigned BUFFER = 64,
    parameter int unsigned COMMANDS = 16,
    parameter int unsigned LEN_W = 17
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               cmd_valid,
    output logic               cmd_ready,
    input  logic [63:0]        cmd_addr,
    input  logic [LEN_W-1:0]   cmd_bytes,
    input  logic               cmd_direct,
    output logic [0:0]         m_axi_arid,
    output logic [63:0]        m_axi_araddr,
    output logic [7:0]         m_axi_arlen,
    output logic [2:0]         m_axi_arsize,
    output logic [1:0]         m_axi_arburst,
    output logic               m_axi_arvalid,
    input  logic               m_axi_arready,
    input  logic [0:0]         m_axi_rid,
    input  logic [MEM_W-1:0]   m_axi_rdata,
    input  logic [1:0]         m_axi_rresp,
    input  logic               m_axi_rlast,
    input  logic               m_axi_rvalid,
    output logic               m_axi_rready,
    output logic               direct_valid,
    output logic [MEM_W-1:0]   direct_data,
    output logic               arrived,
    output logic               arrived_direct,
    output logic               arrived_error,
    output logic               m_axis_tvalid,
    input  logic               m_axis_tready,
    output logic [MEM_W-1:0]   m_axis_tdata,
    output logic [MEM_W/8-1:0] m_axis_tkeep,
    output logic               m_axis_tlast,
    output logic               m_axis_tuser,
    output logic               idle
);

  assign m_axi_arid = '0;
  axi_reader #(.MEM_W(MEM_W), .BURST(BURST), .BUFFER(BUFFER), .COMMANDS(COMMANDS), .LEN_W(LEN_W)) dut (.*);

endmodule
