// SPDX-License-Identifier: Apache-2.0
// The link card: PORTS Ethernet ports in pairs, 0 and 1, 2 and 3, ..., with an emulated link between the two of each:
// a WAN emulator. What comes in by a port leaves by the other one of its pair.
module link_card
  import headrace_pkg::*;
#(
    parameter int unsigned PORTS = 2,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 32,
    parameter int unsigned FRAME_KB = 16,
    parameter int unsigned SLOTS = 4096,
    parameter bit GATED = 1'b0,              // clock gates: see clock_gate
    localparam int unsigned MEM_W = DATA_W
) (
    `include "card_ports.svh"
    output tx_meta_t [PORTS-1:0]           tx_tuser,
    output logic                           idle,
    output logic [63:0]                    wake_ns
);
  import axi_pkg::*;

  if (PORTS < 2 || PORTS > 8 || PORTS % 2 != 0) begin : gen_bad_ports
    $fatal(1, "link_card: PORTS must be 2, 4, 6 or 8, not %0d", PORTS);
  end

  axil_req_t axil_req;
  axil_rsp_t axil_rsp;
  axil_ports u_axil_ports (
      .*,
      .req(axil_req),
      .rsp(axil_rsp)
  );

  axi_req_t axi_req;
  axi_rsp_t axi_rsp;
  logic [MEM_W-1:0] wdata, rdata;
  logic [MEM_W/8-1:0] wstrb;
  axi_ports #(
      .MEM_W(MEM_W)
  ) u_axi_ports (
      .*,
      .req(axi_req),
      .rsp(axi_rsp)
  );

  // A direction has the number of the port that it comes from.
  logic [PORTS-1:0] bad, out_tvalid, out_tready, out_tlast;
  logic [PORTS-1:0][DATA_W-1:0] out_tdata;
  logic [PORTS-1:0][DATA_W/8-1:0] out_tkeep;
  tx_meta_t [PORTS-1:0] out_tuser;
  for (genvar port = 0; port < PORTS; port++) begin : gen_port
    localparam int unsigned OTHER = port ^ 1;
    assign bad[port]         = rx_tuser[port].error;
    assign tx_tvalid[OTHER]  = out_tvalid[port];
    assign out_tready[port]  = tx_tready[OTHER];
    assign tx_tdata[OTHER]   = out_tdata[port];
    assign tx_tkeep[OTHER]   = out_tkeep[port];
    assign tx_tlast[OTHER]   = out_tlast[port];
    assign tx_tuser[OTHER]   = out_tuser[port];
  end

  link_ports #(
      .LINKS(PORTS),
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB),
      .FRAME_KB(FRAME_KB),
      .SLOTS(SLOTS),
      .GATED(GATED)
  ) u_links (
      .clk,
      .rst,
      .time_ns,
      .axil_req,
      .axil_rsp,
      .s_axis_tvalid(rx_tvalid),
      .s_axis_tready(rx_tready),
      .s_axis_tdata (rx_tdata),
      .s_axis_tkeep (rx_tkeep),
      .s_axis_tlast (rx_tlast),
      .s_error      (bad),
      .tx_tvalid    (out_tvalid),
      .tx_tready    (out_tready),
      .tx_tdata     (out_tdata),
      .tx_tkeep     (out_tkeep),
      .tx_tlast     (out_tlast),
      .tx_tuser     (out_tuser),
      .axi_req,
      .axi_wdata    (wdata),
      .axi_wstrb    (wstrb),
      .axi_rsp,
      .axi_rdata    (rdata),
      .idle,
      .wake_ns
  );

  assign irq_valid    = 1'b0;
  assign irq_function = '0;
  assign irq_vector   = '0;

endmodule
