// SPDX-License-Identifier: Apache-2.0
// Joins the structs inside to the host memory ports of a card's top:
// `axi_ports #(.MEM_W(MEM_W)) u_axi_ports (.*, .req(..), .wdata(..), .wstrb(..), .rsp(..), .rdata(..));`
// Wires only.
module axi_ports
  import axi_pkg::*;
#(
    parameter int unsigned MEM_W = 64
) (
    input  axi_req_t           req,
    input  logic [MEM_W-1:0]   wdata,
    input  logic [MEM_W/8-1:0] wstrb,
    output axi_rsp_t           rsp,
    output logic [MEM_W-1:0]   rdata,

    output logic [7:0]         m_axi_awid,
    output logic [63:0]        m_axi_awaddr,
    output logic [7:0]         m_axi_awlen,
    output logic [2:0]         m_axi_awsize,
    output logic [1:0]         m_axi_awburst,
    output logic [15:0]        m_axi_awuser,
    output logic               m_axi_awvalid,
    input  logic               m_axi_awready,
    output logic [MEM_W-1:0]   m_axi_wdata,
    output logic [MEM_W/8-1:0] m_axi_wstrb,
    output logic               m_axi_wlast,
    output logic               m_axi_wvalid,
    input  logic               m_axi_wready,
    input  logic [7:0]         m_axi_bid,
    input  logic [1:0]         m_axi_bresp,
    input  logic               m_axi_bvalid,
    output logic               m_axi_bready,
    output logic [7:0]         m_axi_arid,
    output logic [63:0]        m_axi_araddr,
    output logic [7:0]         m_axi_arlen,
    output logic [2:0]         m_axi_arsize,
    output logic [1:0]         m_axi_arburst,
    output logic [15:0]        m_axi_aruser,
    output logic               m_axi_arvalid,
    input  logic               m_axi_arready,
    input  logic [7:0]         m_axi_rid,
    input  logic [MEM_W-1:0]   m_axi_rdata,
    input  logic [1:0]         m_axi_rresp,
    input  logic               m_axi_rlast,
    input  logic               m_axi_rvalid,
    output logic               m_axi_rready
);

  if (MEM_W < 8 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "axi_ports: MEM_W must be a power of two from 8 to 1024, not %0d", MEM_W);
  end

  assign m_axi_awid    = req.awid;
  assign m_axi_awaddr  = req.awaddr;
  assign m_axi_awlen   = req.awlen;
  assign m_axi_awsize  = req.awsize;
  assign m_axi_awburst = req.awburst;
  assign m_axi_awuser  = req.awuser;
  assign m_axi_awvalid = req.awvalid;
  assign m_axi_wdata   = wdata;
  assign m_axi_wstrb   = wstrb;
  assign m_axi_wlast   = req.wlast;
  assign m_axi_wvalid  = req.wvalid;
  assign m_axi_bready  = req.bready;
  assign m_axi_arid    = req.arid;
  assign m_axi_araddr  = req.araddr;
  assign m_axi_arlen   = req.arlen;
  assign m_axi_arsize  = req.arsize;
  assign m_axi_arburst = req.arburst;
  assign m_axi_aruser  = req.aruser;
  assign m_axi_arvalid = req.arvalid;
  assign m_axi_rready  = req.rready;

  assign rdata = m_axi_rdata;
  assign rsp   = '{
          awready: m_axi_awready,
          wready: m_axi_wready,
          bid: m_axi_bid,
          bresp: m_axi_bresp,
          bvalid: m_axi_bvalid,
          arready: m_axi_arready,
          rid: m_axi_rid,
          rresp: m_axi_rresp,
          rlast: m_axi_rlast,
          rvalid: m_axi_rvalid
      };

endmodule
