// SPDX-License-Identifier: Apache-2.0
// axil_refuse with flat ports for a bench. What is asked doesn't matter.
module axil_refuse_flat
  import axi_pkg::*;
(
    input  logic        clk,
    input  logic        rst,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [1:0]  s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [1:0]  s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    output logic        idle
);

  axil_rsp_t rsp;
  axil_refuse dut (
      .clk,
      .rst,
      .axil_req('{
          awvalid: s_axil_awvalid,
          wvalid: s_axil_wvalid,
          bready: s_axil_bready,
          arvalid: s_axil_arvalid,
          rready: s_axil_rready,
          default: '0
      }),
      .axil_rsp(rsp),
      .idle
  );
  assign s_axil_awready = rsp.awready;
  assign s_axil_wready  = rsp.wready;
  assign s_axil_bresp   = rsp.bresp;
  assign s_axil_bvalid  = rsp.bvalid;
  assign s_axil_arready = rsp.arready;
  assign s_axil_rdata   = rsp.rdata;
  assign s_axil_rresp   = rsp.rresp;
  assign s_axil_rvalid  = rsp.rvalid;

endmodule
