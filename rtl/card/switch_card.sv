// SPDX-License-Identifier: Apache-2.0
// The switch card: an OpenFlow 1.3 switch of PORTS Ethernet ports and, behind them, FUNCTIONS virtual functions, and
// rings in host memory for the host's packets. With LINKS, what leaves by a port goes through an emulated link.
module switch_card
  import headrace_pkg::*;
#(
    parameter int unsigned PORTS = 8,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned TABLES = 4,
    parameter int unsigned EXACT = 4096,
    parameter int unsigned TERNARY = 128,
    parameter bit NARROW = 1'b0,
    parameter bit CUSTOM = 1'b1,
    parameter int unsigned STORE_KB = 16,
    parameter int unsigned PROGRAM_WORDS = 8192,
    parameter int unsigned METERS = 128,
    parameter int unsigned FUNCTIONS = 0,
    parameter bit SEGMENT = 1'b1,           // functions' TCP segmentation
    parameter bit LINKS = 1'b0,
    parameter int unsigned LINK_SLOTS = 1024,
    parameter bit GATED = 1'b0,             // clock gates: see clock_gate
    localparam int unsigned MEM_W = DATA_W
) (
    `include "card_ports.svh"
    output tx_meta_t [PORTS-1:0]           tx_tuser,
    output logic                           idle,
    output logic [63:0]                    wake_ns
);
  import axi_pkg::*;

  localparam int unsigned LANES = PORTS + FUNCTIONS;  // the switch's ports
  // Links, functions, host rings, switch: as in regs/switch_card.rdl
  localparam int unsigned BLOCKS = LINKS ? 4 : 3;
  localparam logic [BLOCKS-1:0][31:0] AXIL_BASES = (32 * BLOCKS)'({32'h8000, 32'h3000, 32'h2000, 32'h0});
  localparam int unsigned RINGS = 3;                  // managers of host memory
  localparam int unsigned BUSES = (LANES + 15) / 16;  // of links
  localparam int unsigned MANAGERS = RINGS + 1 + (LINKS ? BUSES : 0);  // and the functions'
  localparam bit [63:0] WIDTHS = 64'h444_8000;        // of their IDs, the rings' first

  axil_req_t host_req;
  axil_rsp_t host_rsp;
  axil_req_t [BLOCKS-1:0] axil_req;
  axil_rsp_t [BLOCKS-1:0] axil_rsp;
  logic axil_idle;
  axil_ports u_axil_ports (
      .*,
      .req(host_req),
      .rsp(host_rsp)
  );
  axil_split #(
      .BLOCKS(BLOCKS),
      .BASES(AXIL_BASES),
      .MOST(4)
  ) u_axil_split (
      .clk,
      .rst,
      .s_req(host_req),
      .s_rsp(host_rsp),
      .m_req(axil_req),
      .m_rsp(axil_rsp),
      .idle (axil_idle)
  );

  axi_req_t [MANAGERS-1:0] axi_reqs;
  axi_rsp_t [MANAGERS-1:0] axi_rsps;
  logic [MANAGERS-1:0][MEM_W-1:0] wdatas;
  logic [MANAGERS-1:0][MEM_W/8-1:0] wstrbs;
  axi_req_t axi_req;
  axi_rsp_t axi_rsp;
  logic [MEM_W-1:0] wdata, rdata;
  logic [MEM_W/8-1:0] wstrb;
  logic mux_idle;
  logic [MEM_W-1:0] bus_rdata;
  logic bus_asked, bus_clk;
  always_comb begin
    bus_asked = 1'b0;
    for (int unsigned i = 0; i < MANAGERS; i++) begin
      bus_asked |= axi_reqs[i].arvalid || axi_reqs[i].awvalid || axi_reqs[i].wvalid;
    end
  end
  clock_gate #(
      .GATED(GATED),
      .WATCHED($bits(axi_req_t) + 1)
  ) u_bus_gate (
      .clk,
      .rst,
      .work   (bus_asked || axi_rsp.bvalid || axi_rsp.rvalid || !mux_idle),
      .watched({axi_req, mux_idle}),
      .gated  (bus_clk)
  );
  host_bus #(
      .MANAGERS(MANAGERS),
      .MEM_W(MEM_W),
      .READ_WIDTHS(WIDTHS),
      .WRITE_WIDTHS(WIDTHS)
  ) u_bus (
      .clk(bus_clk),
      .rst,
      .s_req  (axi_reqs),
      .s_wdata(wdatas),
      .s_wstrb(wstrbs),
      .s_rsp  (axi_rsps),
      .s_rdata(bus_rdata),
      .m_req  (axi_req),
      .m_wdata(wdata),
      .m_wstrb(wstrb),
      .m_rsp  (axi_rsp),
      .m_rdata(rdata),
      .idle   (mux_idle)
  );
  axi_ports #(
      .MEM_W(MEM_W)
  ) u_axi_ports (
      .*,
      .req(axi_req),
      .rsp(axi_rsp)
  );

  logic [LANES-1:0] lane_rx_valid, lane_rx_ready, lane_rx_last, lane_tx_valid, lane_tx_ready, lane_tx_last, bad;
  logic [LANES-1:0][DATA_W-1:0] lane_rx_data, lane_tx_data;
  logic [LANES-1:0][DATA_W/8-1:0] lane_rx_keep, lane_tx_keep;
  tx_meta_t [LANES-1:0] lane_tx_user;
  logic [LANES-1:0] out_valid, out_ready, out_last;  // of the switch, before the links
  logic [LANES-1:0][DATA_W-1:0] out_data;
  logic [LANES-1:0][DATA_W/8-1:0] out_keep;
  tx_meta_t [LANES-1:0] out_user;
  logic engine_idle, rings_idle, functions_idle, links_idle;
  logic [3:0][63:0] wakes_ns;          // engine, rings, functions, links
  logic [1:0] irqs_valid, irqs_ready;  // rings, functions
  logic [1:0][15:0] irqs_function, irqs_vector;
  logic to_host_valid, to_host_ready, to_host_last;
  logic from_host_valid, from_host_ready, from_host_last, from_host_cut;
  logic [DATA_W-1:0] to_host_data, from_host_data;
  logic [DATA_W/8-1:0] to_host_keep, from_host_keep;
  assign lane_rx_valid[PORTS-1:0] = rx_tvalid;
  assign lane_rx_data[PORTS-1:0]  = rx_tdata;
  assign lane_rx_keep[PORTS-1:0]  = rx_tkeep;
  assign lane_rx_last[PORTS-1:0]  = rx_tlast;
  assign rx_tready                = lane_rx_ready[PORTS-1:0];
  assign tx_tvalid                = lane_tx_valid[PORTS-1:0];
  assign tx_tdata                 = lane_tx_data[PORTS-1:0];
  assign tx_tkeep                 = lane_tx_keep[PORTS-1:0];
  assign tx_tlast                 = lane_tx_last[PORTS-1:0];
  assign tx_tuser                 = lane_tx_user[PORTS-1:0];
  assign lane_tx_ready[PORTS-1:0] = tx_tready;
  always_comb begin
    bad = '0;
    for (int unsigned port = 0; port < PORTS; port++) bad[port] = rx_tuser[port].error;
  end

  switch_engine #(
      .PORTS(LANES),
      .DATA_W(DATA_W),
      .TABLES(TABLES),
      .EXACT(EXACT),
      .TERNARY(TERNARY),
      .NARROW(NARROW),
      .CUSTOM(CUSTOM),
      .STORE_KB(STORE_KB),
      .PROGRAM_WORDS(PROGRAM_WORDS),
      .METERS(METERS),
      .GATED(GATED)
  ) u_engine (
      .clk,
      .rst,
      .time_ns,
      .axil_req(axil_req[0]),
      .axil_rsp(axil_rsp[0]),
      .rx_tvalid(lane_rx_valid),
      .rx_tready(lane_rx_ready),
      .rx_tdata (lane_rx_data),
      .rx_tkeep (lane_rx_keep),
      .rx_tlast (lane_rx_last),
      .rx_error (bad),
      .tx_tvalid(out_valid),
      .tx_tready(out_ready),
      .tx_tdata (out_data),
      .tx_tkeep (out_keep),
      .tx_tlast (out_last),
      .tx_tuser (out_user),
      .from_host_valid,
      .from_host_ready,
      .from_host_data,
      .from_host_keep,
      .from_host_last,
      .from_host_cut,
      .to_host_valid,
      .to_host_ready,
      .to_host_data,
      .to_host_keep,
      .to_host_last,
      .wake_ns (wakes_ns[0]),
      .idle    (engine_idle)
  );

  if (LINKS) begin : gen_links
    localparam int unsigned FRAME_KB = STORE_KB < 16 ? STORE_KB : 16;

    if (LANES > 48) begin : gen_bad_lanes
      $fatal(1, "switch_card: with LINKS there are at most 48 PORTS and FUNCTIONS, not %0d", LANES);
    end

    link_ports #(
        .LINKS(LANES),
        .DATA_W(DATA_W),
        .STORE_KB(STORE_KB),
        .FRAME_KB(FRAME_KB),
        .SLOTS(LINK_SLOTS),
        .GATED(GATED)
    ) u_links (
        .clk,
        .rst,
        .time_ns,
        .axil_req     (axil_req[BLOCKS-1]),
        .axil_rsp     (axil_rsp[BLOCKS-1]),
        .s_axis_tvalid(out_valid),
        .s_axis_tready(out_ready),
        .s_axis_tdata (out_data),
        .s_axis_tkeep (out_keep),
        .s_axis_tlast (out_last),
        .s_error      ('0),
        .tx_tvalid    (lane_tx_valid),
        .tx_tready    (lane_tx_ready),
        .tx_tdata     (lane_tx_data),
        .tx_tkeep     (lane_tx_keep),
        .tx_tlast     (lane_tx_last),
        .tx_tuser     (lane_tx_user),
        .axi_req      (axi_reqs[MANAGERS-1:RINGS+1]),
        .axi_wdata    (wdatas[MANAGERS-1:RINGS+1]),
        .axi_wstrb    (wstrbs[MANAGERS-1:RINGS+1]),
        .axi_rsp      (axi_rsps[MANAGERS-1:RINGS+1]),
        .axi_rdata    (bus_rdata),
        .idle         (links_idle),
        .wake_ns      (wakes_ns[3])
    );
  end else begin : gen_no_links
    assign lane_tx_valid = out_valid;
    assign out_ready     = lane_tx_ready;
    assign lane_tx_data  = out_data;
    assign lane_tx_keep  = out_keep;
    assign lane_tx_last  = out_last;
    assign lane_tx_user  = out_user;
    assign links_idle    = 1'b1;
    assign wakes_ns[3]   = '1;
  end

  logic rings_clk;
  clock_gate #(
      .GATED(GATED),
      .HOLD(4),  // between a register's access and its answer
      .WATCHED($bits(axil_rsp_t) + 68)
  ) u_rings_gate (
      .clk,
      .rst,
      .work   (axil_req[1].awvalid || axil_req[1].wvalid || axil_req[1].arvalid || axil_rsp[1].bvalid ||
               axil_rsp[1].rvalid || to_host_valid || from_host_valid || !rings_idle || time_ns >= wakes_ns[1]),
      .watched({axil_rsp[1], to_host_ready, from_host_valid, irqs_valid[0], wakes_ns[1], rings_idle}),
      .gated  (rings_clk)
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
      .s_axis_cut   (1'b0),
      .m_axis_tvalid(from_host_valid),
      .m_axis_tready(from_host_ready),
      .m_axis_tdata (from_host_data),
      .m_axis_tkeep (from_host_keep),
      .m_axis_tlast (from_host_last),
      .m_axis_cut   (from_host_cut),
      .axi_req      (axi_reqs[RINGS-1:0]),
      .axi_wdata    (wdatas[RINGS-1:0]),
      .axi_wstrb    (wstrbs[RINGS-1:0]),
      .axi_rsp      (axi_rsps[RINGS-1:0]),
      .axi_rdata    (bus_rdata),
      .irq_valid    (irqs_valid[0]),
      .irq_ready    (irqs_ready[0]),
      .irq_function (irqs_function[0]),
      .irq_vector   (irqs_vector[0]),
      .wake_ns      (wakes_ns[1]),
      .idle         (rings_idle)
  );

  if (FUNCTIONS == 0) begin : gen_no_functions
    axil_refuse u_refuse (
        .clk,
        .rst,
        .axil_req(axil_req[2]),
        .axil_rsp(axil_rsp[2]),
        .idle    (functions_idle)
    );
    assign axi_reqs[RINGS]   = '0;
    assign wdatas[RINGS]     = '0;
    assign wstrbs[RINGS]     = '0;
    assign irqs_valid[1]     = 1'b0;
    assign irqs_function[1]  = '0;
    assign irqs_vector[1]    = '0;
    assign wakes_ns[2]       = '1;
  end else begin : gen_functions
    localparam int unsigned QUEUE_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;

    logic up_valid, up_ready, up_last, down_valid, down_ready, down_last, ports_idle, host_idle;
    logic [DATA_W-1:0] up_data, down_data;
    logic [DATA_W/8-1:0] up_keep, down_keep;
    logic [QUEUE_W-1:0] up_queue, down_queue;

    function_ports #(
        .FUNCTIONS(FUNCTIONS),
        .DATA_W(DATA_W)
    ) u_ports (
        .clk,
        .rst,
        .s_axis_tvalid(up_valid),
        .s_axis_tready(up_ready),
        .s_axis_tdata (up_data),
        .s_axis_tkeep (up_keep),
        .s_axis_tlast (up_last),
        .s_axis_queue (up_queue),
        .rx_tvalid    (lane_rx_valid[LANES-1:PORTS]),
        .rx_tready    (lane_rx_ready[LANES-1:PORTS]),
        .rx_tdata     (lane_rx_data[LANES-1:PORTS]),
        .rx_tkeep     (lane_rx_keep[LANES-1:PORTS]),
        .rx_tlast     (lane_rx_last[LANES-1:PORTS]),
        .tx_tvalid    (lane_tx_valid[LANES-1:PORTS]),
        .tx_tready    (lane_tx_ready[LANES-1:PORTS]),
        .tx_tdata     (lane_tx_data[LANES-1:PORTS]),
        .tx_tkeep     (lane_tx_keep[LANES-1:PORTS]),
        .tx_tlast     (lane_tx_last[LANES-1:PORTS]),
        .m_axis_tvalid(down_valid),
        .m_axis_tready(down_ready),
        .m_axis_tdata (down_data),
        .m_axis_tkeep (down_keep),
        .m_axis_tlast (down_last),
        .m_axis_queue (down_queue),
        .idle         (ports_idle)
    );

    host_engine #(
        .FUNCTIONS(FUNCTIONS),
        .DATA_W(DATA_W),
        .SEGMENT(SEGMENT),
        .GATED(GATED)
    ) u_host (
        .clk,
        .rst,
        .time_ns,
        .axil_req     (axil_req[2]),
        .axil_rsp     (axil_rsp[2]),
        .s_axis_tvalid(down_valid),
        .s_axis_tready(down_ready),
        .s_axis_tdata (down_data),
        .s_axis_tkeep (down_keep),
        .s_axis_tlast (down_last),
        .s_axis_queue (down_queue),
        .m_axis_tvalid(up_valid),
        .m_axis_tready(up_ready),
        .m_axis_tdata (up_data),
        .m_axis_tkeep (up_keep),
        .m_axis_tlast (up_last),
        .m_axis_queue (up_queue),
        .axi_req      (axi_reqs[RINGS]),
        .axi_wdata    (wdatas[RINGS]),
        .axi_wstrb    (wstrbs[RINGS]),
        .axi_rsp      (axi_rsps[RINGS]),
        .axi_rdata    (bus_rdata),
        .irq_valid    (irqs_valid[1]),
        .irq_ready    (irqs_ready[1]),
        .irq_function (irqs_function[1]),
        .irq_vector   (irqs_vector[1]),
        .wake_ns      (wakes_ns[2]),
        .idle         (host_idle)
    );
    assign functions_idle = ports_idle && host_idle;
  end

  // Interrupts in turn: what is offered stays.
  typedef struct packed {
    logic [15:0] owner;
    logic [15:0] vector;
  } irq_t;
  logic irq_room, irq_idle, turn_q;
  wire second = irqs_valid[1] && (turn_q || !irqs_valid[0]);
  assign irqs_ready = irq_room ? (second ? 2'b10 : 2'b01) : 2'b00;
  always_ff @(posedge clk) begin
    if (|irqs_valid && irq_room) turn_q <= !second;
    if (rst) turn_q <= 1'b0;
  end
  stream_queue #(
      .WIDTH($bits(irq_t)),
      .DEPTH(2)
  ) u_irqs (
      .clk,
      .rst,
      .s_valid(|irqs_valid),
      .s_ready(irq_room),
      .s_data ({irqs_function[second], irqs_vector[second]}),
      .m_valid(irq_valid),
      .m_ready(irq_ready),
      .m_data ({irq_function, irq_vector}),
      .idle   (irq_idle)
  );

  always_comb begin
    wake_ns = '1;
    for (int unsigned i = 0; i < 4; i++) if (wakes_ns[i] < wake_ns) wake_ns = wakes_ns[i];
  end
  assign idle = engine_idle && rings_idle && functions_idle && links_idle && mux_idle && axil_idle && irq_idle;

endmodule
