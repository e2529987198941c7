// SPDX-License-Identifier: Apache-2.0
// AXI inside a card: what a manager says is one struct, what it is answered another. Card tops and parts that users
// bind have flat ports; axil_ports and axi_ports join the two.
package axi_pkg;

  // A card that refuses nothing doesn't use it.
  // verilator lint_off UNUSEDPARAM
  localparam logic [1:0] SLVERR = 2'b10;  // this and DECERR, which is more, are errors
  // verilator lint_on UNUSEDPARAM

  // AXI4-Lite with 32-bit data. A block with fewer address bits leaves out the upper ones.
  typedef struct packed {
    logic [31:0] awaddr;
    logic [2:0]  awprot;
    logic        awvalid;
    logic [31:0] wdata;
    logic [3:0]  wstrb;
    logic        wvalid;
    logic        bready;
    logic [31:0] araddr;
    logic [2:0]  arprot;
    logic        arvalid;
    logic        rready;
  } axil_req_t;

  typedef struct packed {
    logic        awready;
    logic        wready;
    logic [1:0]  bresp;
    logic        bvalid;
    logic        arready;
    logic [31:0] rdata;
    logic [1:0]  rresp;
    logic        rvalid;
  } axil_rsp_t;

  // Nothing is offered on the bus; what was taken and not yet answered only the block knows.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic axil_quiet(axil_req_t req, axil_rsp_t rsp);
    return !req.awvalid && !req.wvalid && !rsp.bvalid && !req.arvalid && !rsp.rvalid;
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  // AXI4 to host memory. The data, whose width is a card's choice, go beside: wdata and wstrb with the request, rdata
  // with the response. The user bits are the function number.
  typedef struct packed {
    logic [7:0]  awid;
    logic [63:0] awaddr;
    logic [7:0]  awlen;
    logic [2:0]  awsize;
    logic [1:0]  awburst;
    logic [15:0] awuser;
    logic        awvalid;
    logic        wlast;
    logic        wvalid;
    logic        bready;
    logic [7:0]  arid;
    logic [63:0] araddr;
    logic [7:0]  arlen;
    logic [2:0]  arsize;
    logic [1:0]  arburst;
    logic [15:0] aruser;
    logic        arvalid;
    logic        rready;
  } axi_req_t;

  typedef struct packed {
    logic        awready;
    logic        wready;
    logic [7:0]  bid;
    logic [1:0]  bresp;
    logic        bvalid;
    logic        arready;
    logic [7:0]  rid;
    logic [1:0]  rresp;
    logic        rlast;
    logic        rvalid;
  } axi_rsp_t;

endpackage
