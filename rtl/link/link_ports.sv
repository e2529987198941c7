// SPDX-License-Identifier: Apache-2.0
// LINKS directions of emulated links side by side: their registers 0x100 apart, and one way to host memory for each 16
// of them, with IDs of 4 bits. Frames of a direction come in by s_axis and leave by tx of the same number.
module link_ports
  import axi_pkg::*;
  import headrace_pkg::tx_meta_t;
#(
    parameter int unsigned LINKS = 2,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 32,
    parameter int unsigned FRAME_KB = 16,
    parameter int unsigned SLOTS = 4096,
    parameter bit GATED = 1'b0,              // clock gates: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned MOST = LINKS > 16 ? 16 : LINKS > 2 ? LINKS : 2,
    localparam int unsigned BUSES = (LINKS + MOST - 1) / MOST
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic [63:0]                  time_ns,
    input  axil_req_t                    axil_req,
    output axil_rsp_t                    axil_rsp,

    input  logic [LINKS-1:0]             s_axis_tvalid,
    output logic [LINKS-1:0]             s_axis_tready,
    input  logic [LINKS-1:0][DATA_W-1:0] s_axis_tdata,
    input  logic [LINKS-1:0][KEEP_W-1:0] s_axis_tkeep,
    input  logic [LINKS-1:0]             s_axis_tlast,
    input  logic [LINKS-1:0]             s_error,
    output logic [LINKS-1:0]             tx_tvalid,
    input  logic [LINKS-1:0]             tx_tready,
    output logic [LINKS-1:0][DATA_W-1:0] tx_tdata,
    output logic [LINKS-1:0][KEEP_W-1:0] tx_tkeep,
    output logic [LINKS-1:0]             tx_tlast,
    output tx_meta_t [LINKS-1:0]         tx_tuser,

    output axi_req_t [BUSES-1:0]         axi_req,
    output logic [BUSES-1:0][DATA_W-1:0] axi_wdata,
    output logic [BUSES-1:0][KEEP_W-1:0] axi_wstrb,
    input  axi_rsp_t [BUSES-1:0]         axi_rsp,
    input  logic [DATA_W-1:0]            axi_rdata,      // for all of them
    output logic                         idle,
    output logic [63:0]                  wake_ns
);

  if (LINKS < 1 || LINKS > 64) begin : gen_bad_links
    $fatal(1, "link_ports: LINKS must be 1 to 64, not %0d", LINKS);
  end

  typedef logic [LINKS-1:0][31:0] bases_t;
  function automatic bases_t bases();
    for (int unsigned i = 0; i < LINKS; i++) bases[i] = 32'(i) << 8;
  endfunction

  axil_req_t [LINKS-1:0] axil_reqs;
  axil_rsp_t [LINKS-1:0] axil_rsps;
  // Places behind the last direction ask for nothing.
  axi_req_t [BUSES*MOST-1:0] reqs;
  axi_rsp_t [BUSES*MOST-1:0] rsps;
  logic [BUSES*MOST-1:0][DATA_W-1:0] wdatas;
  logic [BUSES*MOST-1:0][KEEP_W-1:0] wstrbs;
  logic [LINKS-1:0] idles;
  logic [LINKS-1:0][63:0] wakes_ns;
  logic [BUSES-1:0] mux_idles;
  logic axil_idle;

  axil_split #(
      .BLOCKS(LINKS),
      .BASES(bases())
  ) u_axil_split (
      .clk,
      .rst,
      .s_req(axil_req),
      .s_rsp(axil_rsp),
      .m_req(axil_reqs),
      .m_rsp(axil_rsps),
      .idle (axil_idle)
  );

  for (genvar i = 0; i < LINKS; i++) begin : gen_link
    link_engine #(
        .DATA_W(DATA_W),
        .STORE_KB(STORE_KB),
        .FRAME_KB(FRAME_KB),
        .SLOTS(SLOTS),
        .GATED(GATED)
    ) u_engine (
        .clk,
        .rst,
        .time_ns,
        .port         (8'(i)),
        .axil_req     (axil_reqs[i]),
        .axil_rsp     (axil_rsps[i]),
        .s_axis_tvalid(s_axis_tvalid[i]),
        .s_axis_tready(s_axis_tready[i]),
        .s_axis_tdata (s_axis_tdata[i]),
        .s_axis_tkeep (s_axis_tkeep[i]),
        .s_axis_tlast (s_axis_tlast[i]),
        .s_error      (s_error[i]),
        .tx_tvalid    (tx_tvalid[i]),
        .tx_tready    (tx_tready[i]),
        .tx_tdata     (tx_tdata[i]),
        .tx_tkeep     (tx_tkeep[i]),
        .tx_tlast     (tx_tlast[i]),
        .tx_tuser     (tx_tuser[i]),
        .axi_req      (reqs[i]),
        .axi_wdata    (wdatas[i]),
        .axi_wstrb    (wstrbs[i]),
        .axi_rsp      (rsps[i]),
        .axi_rdata,
        .idle         (idles[i]),
        .wake_ns      (wakes_ns[i])
    );
  end

  for (genvar i = LINKS; i < BUSES * MOST; i++) begin : gen_nobody
    assign reqs[i]   = '{rready: 1'b1, bready: 1'b1, default: '0};
    assign wdatas[i] = '0;
    assign wstrbs[i] = '0;
  end

  for (genvar i = 0; i < BUSES; i++) begin : gen_bus
    logic [MOST-1:0] asks;
    logic bus_clk;
    for (genvar j = 0; j < MOST; j++) begin : gen_asks
      assign asks[j] = reqs[MOST*i+j].arvalid || reqs[MOST*i+j].awvalid || reqs[MOST*i+j].wvalid;
    end
    clock_gate #(
        .GATED(GATED),
        .WATCHED(4)
    ) u_gate (
        .clk,
        .rst,
        .work   (asks != '0 || !mux_idles[i]),
        .watched({axi_req[i].arvalid, axi_req[i].awvalid, axi_req[i].wvalid, mux_idles[i]}),
        .gated  (bus_clk)
    );
    axi_mux #(
        .MANAGERS(MOST),
        .MEM_W(DATA_W)
    ) u_mux (
        .clk(bus_clk),
        .rst,
        .s_req  (reqs[MOST*i+:MOST]),
        .s_wdata(wdatas[MOST*i+:MOST]),
        .s_wstrb(wstrbs[MOST*i+:MOST]),
        .s_rsp  (rsps[MOST*i+:MOST]),
        .m_req  (axi_req[i]),
        .m_wdata(axi_wdata[i]),
        .m_wstrb(axi_wstrb[i]),
        .m_rsp  (axi_rsp[i]),
        .idle   (mux_idles[i])
    );
  end

  always_comb begin
    wake_ns = '1;
    for (int unsigned i = 0; i < LINKS; i++) if (wakes_ns[i] < wake_ns) wake_ns = wakes_ns[i];
  end
  assign idle = &idles && axil_idle && &mux_idles;

endmodule
