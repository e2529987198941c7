// SPDX-License-Identifier: Apache-2.0
// Two ways to registers, by TLPs and by a window in configuration space, become one, with function and BAR beside: an
// access at a time, in turn if both wait. Each side has one access at a time.
// Latency: 1 cycle from an access to the registers, none from their answer. Throughput: a cycle between two accesses.
// Backpressure: an access waits until the other side's is over.
module pcie_accesses
  import axi_pkg::*;
(
    input  logic        clk,
    input  logic        rst,

    input  logic [1:0][15:0] s_func,
    input  logic [1:0][2:0]  s_bar,
    input  axil_req_t [1:0]  s_req,
    output axil_rsp_t [1:0]  s_rsp,

    output logic [15:0] m_func,
    output logic [2:0]  m_bar,
    output axil_req_t   m_req,
    input  axil_rsp_t   m_rsp,
    output logic        idle
);

  logic busy_q, side_q;                 // whose access is under way, or was the last one
  logic [1:0] asks;
  for (genvar i = 0; i < 2; i++) begin : gen_asks
    assign asks[i] = s_req[i].awvalid || s_req[i].wvalid || s_req[i].arvalid;
  end
  wire over = (m_rsp.bvalid && m_req.bready) || (m_rsp.rvalid && m_req.rready);

  assign m_func = s_func[side_q];
  assign m_bar  = s_bar[side_q];
  assign m_req  = busy_q ? s_req[side_q] : '0;
  always_comb begin
    s_rsp = '0;
    if (busy_q) s_rsp[side_q] = m_rsp;
  end

  always_ff @(posedge clk) begin
    if (busy_q) busy_q <= !over;
    else begin
      busy_q <= asks != '0;
      if (asks[!side_q]) side_q <= !side_q;
    end
    if (rst) begin
      busy_q <= 1'b0;
      side_q <= 1'b0;
    end
  end

  assign idle = !busy_q && asks == '0;

`ifndef SYNTHESIS
  for (genvar i = 0; i < 2; i++) begin : gen_contract
    axil_contract u_contract (
        .clk,
        .rst,
        .req(s_req[i]),
        .rsp(s_rsp[i])
    );
  end
`endif

endmodule
