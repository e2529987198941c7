// SPDX-License-Identifier: Apache-2.0
// host_bus with its structs as bits, and IDs like the function engine's, or two managers with all IDs there are.
module host_bus_flat
  import axi_pkg::*;
#(
    parameter int unsigned MANAGERS = 7,
    parameter int unsigned MEM_W = 128
) (
    input  logic                                  clk,
    input  logic                                  rst,
    input  logic [MANAGERS*$bits(axi_req_t)-1:0]  s_req,
    input  logic [MANAGERS*MEM_W-1:0]             s_wdata,
    input  logic [MANAGERS*MEM_W/8-1:0]           s_wstrb,
    output logic [MANAGERS*$bits(axi_rsp_t)-1:0]  s_rsp,
    output logic [MEM_W-1:0]                      s_rdata,
    output logic [$bits(axi_req_t)-1:0]           m_req,
    output logic [MEM_W-1:0]                      m_wdata,
    output logic [MEM_W/8-1:0]                    m_wstrb,
    input  logic [$bits(axi_rsp_t)-1:0]           m_rsp,
    input  logic [MEM_W-1:0]                      m_rdata,
    output logic [63:0]                           read_widths,
    output logic [63:0]                           write_widths,
    output logic                                  idle
);

  localparam bit [63:0] READ_WIDTHS = MANAGERS == 2 ? 64'h77 : MANAGERS == 3 ? 64'h850 : 64'h5_ff_f6_44;
  localparam bit [63:0] WRITE_WIDTHS = MANAGERS == 2 ? 64'h7f : MANAGERS == 3 ? 64'h83f : 64'hf_55_6f_44;
  assign read_widths  = READ_WIDTHS;
  assign write_widths = WRITE_WIDTHS;
  host_bus #(
      .MANAGERS(MANAGERS),
      .MEM_W(MEM_W),
      .READ_WIDTHS(READ_WIDTHS),
      .WRITE_WIDTHS(WRITE_WIDTHS)
  ) dut (.*);

endmodule
