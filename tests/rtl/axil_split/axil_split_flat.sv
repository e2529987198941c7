// SPDX-License-Identifier: Apache-2.0
// axil_split with flat ports for a bench: block i begins at FIRST + (i - 1) * STEP.
module axil_split_flat
  import axi_pkg::*;
#(
    parameter int unsigned BLOCKS = 2,
    parameter int unsigned FIRST = 32'h8000,
    parameter int unsigned STEP = 4,
    parameter int unsigned MOST = 1
) (
    input  logic                    clk,
    input  logic                    rst,

    input  logic [31:0]             s_axil_awaddr,
    input  logic [2:0]              s_axil_awprot,
    input  logic                    s_axil_awvalid,
    output logic                    s_axil_awready,
    input  logic [31:0]             s_axil_wdata,
    input  logic [3:0]              s_axil_wstrb,
    input  logic                    s_axil_wvalid,
    output logic                    s_axil_wready,
    output logic [1:0]              s_axil_bresp,
    output logic                    s_axil_bvalid,
    input  logic                    s_axil_bready,
    input  logic [31:0]             s_axil_araddr,
    input  logic [2:0]              s_axil_arprot,
    input  logic                    s_axil_arvalid,
    output logic                    s_axil_arready,
    output logic [31:0]             s_axil_rdata,
    output logic [1:0]              s_axil_rresp,
    output logic                    s_axil_rvalid,
    input  logic                    s_axil_rready,

    output logic [BLOCKS-1:0][31:0] m_axil_awaddr,
    output logic [BLOCKS-1:0][2:0]  m_axil_awprot,
    output logic [BLOCKS-1:0]       m_axil_awvalid,
    input  logic [BLOCKS-1:0]       m_axil_awready,
    output logic [BLOCKS-1:0][31:0] m_axil_wdata,
    output logic [BLOCKS-1:0][3:0]  m_axil_wstrb,
    output logic [BLOCKS-1:0]       m_axil_wvalid,
    input  logic [BLOCKS-1:0]       m_axil_wready,
    input  logic [BLOCKS-1:0][1:0]  m_axil_bresp,
    input  logic [BLOCKS-1:0]       m_axil_bvalid,
    output logic [BLOCKS-1:0]       m_axil_bready,
    output logic [BLOCKS-1:0][31:0] m_axil_araddr,
    output logic [BLOCKS-1:0][2:0]  m_axil_arprot,
    output logic [BLOCKS-1:0]       m_axil_arvalid,
    input  logic [BLOCKS-1:0]       m_axil_arready,
    input  logic [BLOCKS-1:0][31:0] m_axil_rdata,
    input  logic [BLOCKS-1:0][1:0]  m_axil_rresp,
    input  logic [BLOCKS-1:0]       m_axil_rvalid,
    output logic [BLOCKS-1:0]       m_axil_rready,

    output logic                    idle
);

  function automatic logic [BLOCKS-1:0][31:0] bases();
    for (int unsigned i = 0; i < BLOCKS; i++) bases[i] = i == 0 ? 32'd0 : FIRST + (i - 1) * STEP;
  endfunction

  axil_req_t s_req;
  axil_rsp_t s_rsp;
  axil_req_t [BLOCKS-1:0] m_req;
  axil_rsp_t [BLOCKS-1:0] m_rsp;

  axil_ports #(
      .ADDR_W(32)
  ) u_ports (
      .*,
      .req(s_req),
      .rsp(s_rsp)
  );

  axil_split #(
      .BLOCKS(BLOCKS),
      .BASES (bases()),
      .MOST  (MOST)
  ) u_split (
      .*
  );

  for (genvar i = 0; i < BLOCKS; i++) begin : gen_block
    assign m_axil_awaddr[i]  = m_req[i].awaddr;
    assign m_axil_awprot[i]  = m_req[i].awprot;
    assign m_axil_awvalid[i] = m_req[i].awvalid;
    assign m_axil_wdata[i]   = m_req[i].wdata;
    assign m_axil_wstrb[i]   = m_req[i].wstrb;
    assign m_axil_wvalid[i]  = m_req[i].wvalid;
    assign m_axil_bready[i]  = m_req[i].bready;
    assign m_axil_araddr[i]  = m_req[i].araddr;
    assign m_axil_arprot[i]  = m_req[i].arprot;
    assign m_axil_arvalid[i] = m_req[i].arvalid;
    assign m_axil_rready[i]  = m_req[i].rready;
    assign m_rsp[i] = '{
            awready: m_axil_awready[i],
            wready: m_axil_wready[i],
            bresp: m_axil_bresp[i],
            bvalid: m_axil_bvalid[i],
            arready: m_axil_arready[i],
            rdata: m_axil_rdata[i],
            rresp: m_axil_rresp[i],
            rvalid: m_axil_rvalid[i]
        };
  end

endmodule
