// SPDX-License-Identifier: Apache-2.0
// The RPU card: two Ethernet ports and RISC-V packet processors behind a load balancer, which reach host memory, and
// rings there for the host's packets or, in their place, FUNCTIONS virtual functions.
module rpu_card
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned UNITS = 8,
    parameter int unsigned SLOTS = 32,
    parameter int unsigned IMEM_KB = 64,
    parameter int unsigned DMEM_KB = 32,
    parameter int unsigned PMEM_KB = 1024,
    parameter int unsigned STORE_KB = 32,
    parameter int unsigned ACCELERATORS_LOW = 0,
    parameter int unsigned ACCELERATORS_HIGH = 0,
    parameter bit ACCELERATOR_SLOTS = 1'b1,
    parameter int unsigned FUNCTIONS = 0,
    parameter bit GATED = 1'b0,  // clock gates: see clock_gate
    localparam int unsigned PORTS = 2,
    localparam int unsigned MEM_W = DATA_W
) (
    `include "card_ports.svh"
    output tx_meta_t [PORTS-1:0]           tx_tuser,
    output logic                           idle,
    output logic [63:0]                    wake_ns
);
  import axi_pkg::*;
  import rpu_pkg::*;

  localparam bit RINGS = FUNCTIONS == 0;
  // Host rings or functions, RPUs: as in regs/rpu_card.rdl
  localparam logic [1:0][31:0] AXIL_BASES = {RINGS ? 32'h2000 : 32'h3000, 32'h0};

  axil_req_t host_req;
  axil_rsp_t host_rsp;
  axil_req_t [1:0] axil_req;
  axil_rsp_t [1:0] axil_rsp;
  logic axil_idle;
  axil_ports u_axil_ports (
      .*,
      .req(host_req),
      .rsp(host_rsp)
  );
  axil_split #(
      .BLOCKS(2),
      .BASES(AXIL_BASES)
  ) u_axil_split (
      .clk,
      .rst,
      .s_req(host_req),
      .s_rsp(host_rsp),
      .m_req(axil_req),
      .m_rsp(axil_rsp),
      .idle (axil_idle)
  );

  axi_req_t axi_req, units_req;
  axi_rsp_t axi_rsp, units_rsp;
  logic [MEM_W-1:0] wdata, rdata, units_wdata, units_rdata;
  logic [MEM_W/8-1:0] wstrb, units_wstrb;
  axi_ports #(
      .MEM_W(MEM_W)
  ) u_axi_ports (
      .*,
      .req(axi_req),
      .rsp(axi_rsp)
  );

  // The host port is port 2 of the engine.
  logic [PORTS-1:0] bad, out_tvalid, out_tready, out_tlast, out_cut, out_dropped, out_idle;
  logic [PORTS-1:0][DATA_W-1:0] out_tdata;
  logic [PORTS-1:0][DATA_W/8-1:0] out_tkeep;
  logic engine_idle, host_idle, mux_idle, to_host_dropped;
  logic [63:0] engine_wake_ns, host_wake_ns;
  logic to_host_valid, to_host_ready, to_host_last, to_host_cut;
  logic from_host_valid, from_host_ready, from_host_last, from_host_cut;
  logic [DATA_W-1:0] to_host_data, from_host_data;
  logic [DATA_W/8-1:0] to_host_keep, from_host_keep;
  logic [VF_W-1:0] to_host_vf, from_host_vf;
  always_comb begin
    for (int port = 0; port < PORTS; port++) bad[port] = rx_tuser[port].error;
  end

  rpu_engine #(
      .DATA_W(DATA_W),
      .UNITS(UNITS),
      .SLOTS(SLOTS),
      .IMEM_KB(IMEM_KB),
      .DMEM_KB(DMEM_KB),
      .PMEM_KB(PMEM_KB),
      .STORE_KB(STORE_KB),
      .ACCELERATORS({ACCELERATORS_HIGH, ACCELERATORS_LOW}),
      .ACCELERATOR_SLOTS(ACCELERATOR_SLOTS),
      .FUNCTIONS(RINGS ? 1 : FUNCTIONS),
      .GATED(GATED)
  ) u_engine (
      .clk,
      .rst,
      .time_ns,
      .axil_req     (axil_req[0]),
      .axil_rsp     (axil_rsp[0]),
      .s_axis_tvalid({from_host_valid, rx_tvalid}),
      .s_axis_tready({from_host_ready, rx_tready}),
      .s_axis_tdata ({from_host_data, rx_tdata}),
      .s_axis_tkeep ({from_host_keep, rx_tkeep}),
      .s_axis_tlast ({from_host_last, rx_tlast}),
      .s_axis_cut   ({from_host_cut, bad}),
      .s_axis_vf    (from_host_vf),
      .m_axis_tvalid({to_host_valid, out_tvalid}),
      .m_axis_tready({to_host_ready, out_tready}),
      .m_axis_tdata ({to_host_data, out_tdata}),
      .m_axis_tkeep ({to_host_keep, out_tkeep}),
      .m_axis_tlast ({to_host_last, out_tlast}),
      .m_axis_cut   ({to_host_cut, out_cut}),
      .m_axis_vf    (to_host_vf),
      .out_dropped  ({to_host_dropped, out_dropped}),
      .axi_req      (units_req),
      .axi_wdata    (units_wdata),
      .axi_wstrb    (units_wstrb),
      .axi_rsp      (units_rsp),
      .axi_rdata    (units_rdata),
      .wake_ns      (engine_wake_ns),
      .idle         (engine_idle)
  );

  if (RINGS) begin : gen_rings
    localparam int unsigned MANAGERS = 4;  // of host memory: units, and three of the rings

    axi_req_t [MANAGERS-1:0] axi_reqs;
    axi_rsp_t [MANAGERS-1:0] axi_rsps;
    logic [MANAGERS-1:0][MEM_W-1:0] wdatas;
    logic [MANAGERS-1:0][MEM_W/8-1:0] wstrbs;
    assign axi_reqs[0] = units_req;
    assign wdatas[0]   = units_wdata;
    assign wstrbs[0]   = units_wstrb;
    assign units_rsp   = axi_rsps[0];
    assign units_rdata = rdata;

    logic asked, rings_clk;  // of the rings and their way to host memory, which units share
    always_comb begin
      asked = 1'b0;
      for (int unsigned i = 0; i < MANAGERS; i++) begin
        asked |= axi_reqs[i].arvalid || axi_reqs[i].awvalid || axi_reqs[i].wvalid;
      end
    end
    clock_gate #(
        .GATED(GATED),
        .HOLD(4),  // between a register's access and its answer
        .WATCHED($bits(axil_rsp_t) + 72)
    ) u_rings_gate (
        .clk,
        .rst,
        .work   (axil_req[1].awvalid || axil_req[1].wvalid || axil_req[1].arvalid || axil_rsp[1].bvalid ||
                 axil_rsp[1].rvalid || to_host_valid || from_host_valid || asked || axi_rsp.rvalid || axi_rsp.bvalid ||
                 !host_idle || !mux_idle || time_ns >= host_wake_ns),
        .watched({axil_rsp[1], to_host_ready, from_host_valid, irq_valid, host_wake_ns, axi_req.arvalid,
                  axi_req.awvalid, axi_req.wvalid, host_idle, mux_idle}),
        .gated  (rings_clk)
    );
    axi_mux #(
        .MANAGERS(MANAGERS),
        .MEM_W(MEM_W)
    ) u_mux (
        .clk(rings_clk),
        .rst,
        .s_req  (axi_reqs),
        .s_wdata(wdatas),
        .s_wstrb(wstrbs),
        .s_rsp  (axi_rsps),
        .m_req  (axi_req),
        .m_wdata(wdata),
        .m_wstrb(wstrb),
        .m_rsp  (axi_rsp),
        .idle   (mux_idle)
    );

    host_rings #(
        .DATA_W(DATA_W)
    ) u_rings (
        .clk(rings_clk),
        .rst,
        .time_ns,
        .axil_req     (axil_req[1]),
        .axil_rsp     (axil_rsp[1]),
        .s_axis_tvalid(to_host_valid),
        .s_axis_tready(to_host_ready),
        .s_axis_tdata (to_host_data),
        .s_axis_tkeep (to_host_keep),
        .s_axis_tlast (to_host_last),
        .s_axis_cut   (to_host_cut),
        .m_axis_tvalid(from_host_valid),
        .m_axis_tready(from_host_ready),
        .m_axis_tdata (from_host_data),
        .m_axis_tkeep (from_host_keep),
        .m_axis_tlast (from_host_last),
        .m_axis_cut   (from_host_cut),
        .axi_req      (axi_reqs[3:1]),
        .axi_wdata    (wdatas[3:1]),
        .axi_wstrb    (wstrbs[3:1]),
        .axi_rsp      (axi_rsps[3:1]),
        .axi_rdata    (rdata),
        .irq_valid,
        .irq_ready,
        .irq_function,
        .irq_vector,
        .wake_ns      (host_wake_ns),
        .idle         (host_idle)
    );
    assign from_host_vf    = '0;
    assign to_host_dropped = 1'b0;  // the rings count what they drop
    wire unused = &{1'b0, to_host_vf};
  end else begin : gen_functions
    localparam bit [63:0] WIDTHS = 64'h80;  // of the IDs with which units and functions reach host memory
    localparam int unsigned QUEUE_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;

    logic [MEM_W-1:0] functions_wdata;
    logic [MEM_W/8-1:0] functions_wstrb;
    axi_req_t functions_req;
    axi_rsp_t functions_rsp;
    host_bus #(
        .MANAGERS(2),
        .MEM_W(MEM_W),
        .READ_WIDTHS(WIDTHS),
        .WRITE_WIDTHS(WIDTHS)
    ) u_bus (
        .clk,
        .rst,
        .s_req  ({functions_req, units_req}),
        .s_wdata({functions_wdata, units_wdata}),
        .s_wstrb({functions_wstrb, units_wstrb}),
        .s_rsp  ({functions_rsp, units_rsp}),
        .s_rdata(units_rdata),
        .m_req  (axi_req),
        .m_wdata(wdata),
        .m_wstrb(wstrb),
        .m_rsp  (axi_rsp),
        .m_rdata(rdata),
        .idle   (mux_idle)
    );

    // Whole packets: a unit's reset may have cut one off.
    logic whole_valid, whole_ready, whole_last, store_idle, functions_idle;
    logic [DATA_W-1:0] whole_data;
    logic [DATA_W/8-1:0] whole_keep;
    logic [QUEUE_W-1:0] whole_queue, up_queue;
    // verilator lint_off PINCONNECTEMPTY
    packet_fifo #(
        .DATA_W(DATA_W),
        .USER_W(QUEUE_W),
        .DEPTH(STORE_KB * 1024 / (DATA_W / 8)),
        .DROP_WHEN_FULL(1'b0)
    ) u_store (
        .clk,
        .rst,
        .s_axis_tvalid(to_host_valid),
        .s_axis_tready(to_host_ready),
        .s_axis_tdata (to_host_data),
        .s_axis_tkeep (to_host_keep),
        .s_axis_tlast (to_host_last),
        .s_axis_tuser (QUEUE_W'(to_host_vf)),
        .s_drop       (to_host_cut),
        .m_axis_tvalid(whole_valid),
        .m_axis_tready(whole_ready),
        .m_axis_tdata (whole_data),
        .m_axis_tkeep (whole_keep),
        .m_axis_tlast (whole_last),
        .m_axis_tuser (whole_queue),
        .used         (),
        .dropped      (to_host_dropped),
        .idle         (store_idle)
    );
    // verilator lint_on PINCONNECTEMPTY

    host_engine #(
        .FUNCTIONS(FUNCTIONS),
        .DATA_W(DATA_W),
        .GATED(GATED)
    ) u_functions (
        .clk,
        .rst,
        .time_ns,
        .axil_req     (axil_req[1]),
        .axil_rsp     (axil_rsp[1]),
        .s_axis_tvalid(whole_valid),
        .s_axis_tready(whole_ready),
        .s_axis_tdata (whole_data),
        .s_axis_tkeep (whole_keep),
        .s_axis_tlast (whole_last),
        .s_axis_queue (whole_queue),
        .m_axis_tvalid(from_host_valid),
        .m_axis_tready(from_host_ready),
        .m_axis_tdata (from_host_data),
        .m_axis_tkeep (from_host_keep),
        .m_axis_tlast (from_host_last),
        .m_axis_queue (up_queue),
        .axi_req      (functions_req),
        .axi_wdata    (functions_wdata),
        .axi_wstrb    (functions_wstrb),
        .axi_rsp      (functions_rsp),
        .axi_rdata    (units_rdata),
        .irq_valid,
        .irq_ready,
        .irq_function,
        .irq_vector,
        .wake_ns      (host_wake_ns),
        .idle         (functions_idle)
    );
    assign from_host_cut = 1'b0;
    assign from_host_vf  = VF_W'(up_queue);
    assign host_idle     = functions_idle && store_idle && !to_host_valid && !to_host_dropped;
  end

  assign idle    = engine_idle && host_idle && mux_idle && axil_idle && out_idle == '1;
  assign wake_ns = engine_wake_ns < host_wake_ns ? engine_wake_ns : host_wake_ns;

  for (genvar p = 0; p < PORTS; p++) begin : gen_port
    rpu_port_tx #(
        .DATA_W(DATA_W),
        .STORE_KB(STORE_KB),
        .PORT(p)
    ) u_tx (
        .clk,
        .rst,
        .time_ns,
        .s_axis_tvalid(out_tvalid[p]),
        .s_axis_tready(out_tready[p]),
        .s_axis_tdata (out_tdata[p]),
        .s_axis_tkeep (out_tkeep[p]),
        .s_axis_tlast (out_tlast[p]),
        .s_cut        (out_cut[p]),
        .tx_tvalid    (tx_tvalid[p]),
        .tx_tready    (tx_tready[p]),
        .tx_tdata     (tx_tdata[p]),
        .tx_tkeep     (tx_tkeep[p]),
        .tx_tlast     (tx_tlast[p]),
        .tx_tuser     (tx_tuser[p]),
        .dropped      (out_dropped[p]),
        .idle         (out_idle[p])
    );
  end

endmodule
