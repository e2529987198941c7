// SPDX-License-Identifier: Apache-2.0
// Host memory ports of a card that doesn't use them: `card_no_memory #(.MEM_W(MEM_W)) u_no_memory (.*);` in its top.
// Wires only.
module card_no_memory #(
    parameter int unsigned MEM_W = 64
) (
    output logic [7:0]         m_axi_awid,
    output logic [63:0]        m_axi_awaddr,
    output logic [7:0]         m_axi_awlen,
    output logic [2:0]         m_axi_awsize,
    output logic [1:0]         m_axi_awburst,
    output logic [15:0]        m_axi_awuser,
    output logic               m_axi_awvalid,
    output logic [MEM_W-1:0]   m_axi_wdata,
    output logic [MEM_W/8-1:0] m_axi_wstrb,
    output logic               m_axi_wlast,
    output logic               m_axi_wvalid,
    output logic               m_axi_bready,
    output logic [7:0]         m_axi_arid,
    output logic [63:0]        m_axi_araddr,
    output logic [7:0]         m_axi_arlen,
    output logic [2:0]         m_axi_arsize,
    output logic [1:0]         m_axi_arburst,
    output logic [15:0]        m_axi_aruser,
    output logic               m_axi_arvalid,
    output logic               m_axi_rready
);

  if (MEM_W < 8 || MEM_W > 1024 || 2 ** $clog2(MEM_W) != MEM_W) begin : gen_bad_mem_w
    $fatal(1, "card_no_memory: MEM_W must be a power of two from 8 to 1024, not %0d", MEM_W);
  end

  assign m_axi_awid    = '0;
  assign m_axi_awaddr  = '0;
  assign m_axi_awlen   = '0;
  assign m_axi_awsize  = '0;
  assign m_axi_awburst = '0;
  assign m_axi_awuser  = '0;
  assign m_axi_awvalid = 1'b0;
  assign m_axi_wdata   = '0;
  assign m_axi_wstrb   = '0;
  assign m_axi_wlast   = 1'b0;
  assign m_axi_wvalid  = 1'b0;
  assign m_axi_bready  = 1'b0;
  assign m_axi_arid    = '0;
  assign m_axi_araddr  = '0;
  assign m_axi_arlen   = '0;
  assign m_axi_arsize  = '0;
  assign m_axi_arburst = '0;
  assign m_axi_aruser  = '0;
  assign m_axi_arvalid = 1'b0;
  assign m_axi_rready  = 1'b0;

endmodule
