// SPDX-License-Identifier: Apache-2.0
// Answers every access with an error: it stands where a block of registers was left out.
// Latency: 1 cycle.
module axil_refuse
  import axi_pkg::*;
(
    input  logic      clk,
    input  logic      rst,
    // What is asked doesn't matter.
    // verilator lint_off UNUSEDSIGNAL
    input  axil_req_t axil_req,
    // verilator lint_on UNUSEDSIGNAL
    output axil_rsp_t axil_rsp,
    output logic      idle
);

  logic write_q, read_q;
  wire write = axil_req.awvalid && axil_req.wvalid && !write_q;
  wire read = axil_req.arvalid && !read_q;
  wire wrote = write_q && axil_req.bready;
  wire was_read = read_q && axil_req.rready;

  assign axil_rsp = '{
          awready: write,
          wready: write,
          bresp: SLVERR,
          bvalid: write_q,
          arready: !read_q,
          rdata: '0,
          rresp: SLVERR,
          rvalid: read_q
      };
  assign idle = !axil_req.awvalid && !axil_req.wvalid && !axil_req.arvalid && !write_q && !read_q;

  always_ff @(posedge clk) begin
    write_q <= write || (write_q && !wrote);
    read_q  <= read || (read_q && !was_read);
    if (rst) begin
      write_q <= 1'b0;
      read_q  <= 1'b0;
    end
  end

endmodule
