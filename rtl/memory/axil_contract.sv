// SPDX-License-Identifier: Apache-2.0
// Checks in every simulation that what AXI4-Lite asks for stays, unchanged, until it is taken. Nothing of it is
// synthesised.
module axil_contract
  import axi_pkg::*;
(
    input logic      clk,
    input logic      rst,
    // Answers are not watched.
    // verilator lint_off UNUSEDSIGNAL
    input axil_req_t req,
    input axil_rsp_t rsp
    // verilator lint_on UNUSEDSIGNAL
);

  offer_contract #(
      .WIDTH(32 + 3)
  ) u_write (
      .clk,
      .rst,
      .valid(req.awvalid),
      .ready(rsp.awready),
      .data ({req.awprot, req.awaddr})
  );
  offer_contract #(
      .WIDTH(32 + 4)
  ) u_data (
      .clk,
      .rst,
      .valid(req.wvalid),
      .ready(rsp.wready),
      .data ({req.wstrb, req.wdata})
  );
  offer_contract #(
      .WIDTH(32 + 3)
  ) u_read (
      .clk,
      .rst,
      .valid(req.arvalid),
      .ready(rsp.arready),
      .data ({req.arprot, req.araddr})
  );

endmodule
