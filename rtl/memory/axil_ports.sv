// SPDX-License-Identifier: Apache-2.0
// Joins the AXI4-Lite ports of a card's top to the structs inside: `axil_ports u_axil_ports (.*, .req(..), .rsp(..));`
// Wires only.
module axil_ports
  import axi_pkg::*;
#(
    parameter int unsigned ADDR_W = 16
) (
    input  logic [ADDR_W-1:0] s_axil_awaddr,
    input  logic [2:0]        s_axil_awprot,
    input  logic              s_axil_awvalid,
    output logic              s_axil_awready,
    input  logic [31:0]       s_axil_wdata,
    input  logic [3:0]        s_axil_wstrb,
    input  logic              s_axil_wvalid,
    output logic              s_axil_wready,
    output logic [1:0]        s_axil_bresp,
    output logic              s_axil_bvalid,
    input  logic              s_axil_bready,
    input  logic [ADDR_W-1:0] s_axil_araddr,
    input  logic [2:0]        s_axil_arprot,
    input  logic              s_axil_arvalid,
    output logic              s_axil_arready,
    output logic [31:0]       s_axil_rdata,
    output logic [1:0]        s_axil_rresp,
    output logic              s_axil_rvalid,
    input  logic              s_axil_rready,

    output axil_req_t         req,
    input  axil_rsp_t         rsp
);

  if (ADDR_W < 1 || ADDR_W > 32) begin : gen_bad_addr_w
    $fatal(1, "axil_ports: ADDR_W must be 1 to 32, not %0d", ADDR_W);
  end

  assign req = '{
          awaddr: 32'(s_axil_awaddr),
          awprot: s_axil_awprot,
          awvalid: s_axil_awvalid,
          wdata: s_axil_wdata,
          wstrb: s_axil_wstrb,
          wvalid: s_axil_wvalid,
          bready: s_axil_bready,
          araddr: 32'(s_axil_araddr),
          arprot: s_axil_arprot,
          arvalid: s_axil_arvalid,
          rready: s_axil_rready
      };

  assign s_axil_awready = rsp.awready;
  assign s_axil_wready  = rsp.wready;
  assign s_axil_bresp   = rsp.bresp;
  assign s_axil_bvalid  = rsp.bvalid;
  assign s_axil_arready = rsp.arready;
  assign s_axil_rdata   = rsp.rdata;
  assign s_axil_rresp   = rsp.rresp;
  assign s_axil_rvalid  = rsp.rvalid;

endmodule
