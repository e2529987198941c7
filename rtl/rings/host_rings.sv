// SPDX-License-Identifier: Apache-2.0
// A card's host port as two rings of descriptors in host memory (regs/host_rings.rdl): the host posts buffers for what
// the card sends, and packets for the card. An interrupt for each ring tells what is done: vector 0 what was received
// from the card, 1 what was sent to it.
// Latency and backpressure: ring_receive, ring_transmit.
module host_rings
  import axi_pkg::*, ring_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 64,
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [63:0]            time_ns,

    input  axil_req_t              axil_req,
    output axil_rsp_t              axil_rsp,

    input  logic                   s_axis_tvalid,   // from the card
    output logic                   s_axis_tready,
    input  logic [DATA_W-1:0]      s_axis_tdata,
    input  logic [KEEP_W-1:0]      s_axis_tkeep,
    input  logic                   s_axis_tlast,
    input  logic                   s_axis_cut,
    output logic                   m_axis_tvalid,   // to the card
    input  logic                   m_axis_tready,
    output logic [DATA_W-1:0]      m_axis_tdata,
    output logic [KEEP_W-1:0]      m_axis_tkeep,
    output logic                   m_axis_tlast,
    output logic                   m_axis_cut,

    output axi_req_t [2:0]         axi_req,         // receive; descriptors and packets to transmit
    output logic [2:0][DATA_W-1:0] axi_wdata,
    output logic [2:0][KEEP_W-1:0] axi_wstrb,
    input  axi_rsp_t [2:0]         axi_rsp,
    input  logic [DATA_W-1:0]      axi_rdata,

    output logic                   irq_valid,
    input  logic                   irq_ready,
    output logic [15:0]            irq_function,
    output logic [15:0]            irq_vector,
    output logic [63:0]            wake_ns,         // when a timer rings; all ones: none runs
    output logic                   idle
);

  host_rings_regs_pkg::host_rings_regs__in_t regs_in;
  host_rings_regs_pkg::host_rings_regs__out_t regs_out;

  host_rings_regs u_regs (
      .clk,
      .rst,
      .s_axil_awaddr (axil_req.awaddr[15:0]),
      .s_axil_awprot (axil_req.awprot),
      .s_axil_awvalid(axil_req.awvalid),
      .s_axil_awready(axil_rsp.awready),
      .s_axil_wdata  (axil_req.wdata),
      .s_axil_wstrb  (axil_req.wstrb),
      .s_axil_wvalid (axil_req.wvalid),
      .s_axil_wready (axil_rsp.wready),
      .s_axil_bresp  (axil_rsp.bresp),
      .s_axil_bvalid (axil_rsp.bvalid),
      .s_axil_bready (axil_req.bready),
      .s_axil_araddr (axil_req.araddr[15:0]),
      .s_axil_arprot (axil_req.arprot),
      .s_axil_arvalid(axil_req.arvalid),
      .s_axil_arready(axil_rsp.arready),
      .s_axil_rdata  (axil_rsp.rdata),
      .s_axil_rresp  (axil_rsp.rresp),
      .s_axil_rvalid (axil_rsp.rvalid),
      .s_axil_rready (axil_req.rready),
      .hwif_in (regs_in),
      .hwif_out(regs_out)
  );

  // Ring 0: from the card; ring 1: to the card
  ring_t [1:0] ring;
  logic [1:0] on, active, busy, part_idle, armed, disarm, irq_valids, irq_idle, watch;
  logic [1:0][31:0] done, enough, timeout_ns;
  logic [1:0][63:0] ring_wake_ns;
  ring_event_t [1:0] happened;

  always_comb begin
    ring[0] = '{
        base: {regs_out.receive.base[1].value.value, regs_out.receive.base[0].value.value},
        log2: regs_out.receive.entries.log2.value,
        posted: regs_out.receive.posted.count.value
    };
    ring[1] = '{
        base: {regs_out.transmit.base[1].value.value, regs_out.transmit.base[0].value.value},
        log2: regs_out.transmit.entries.log2.value,
        posted: regs_out.transmit.posted.count.value
    };
    on         = {regs_out.transmit.control.on.value, regs_out.receive.control.on.value};
    armed      = {regs_out.transmit.interrupt.armed.value, regs_out.receive.interrupt.armed.value};
    enough     = {regs_out.transmit.enough.packets.value, regs_out.receive.enough.packets.value};
    timeout_ns = {regs_out.transmit.timeout.time_ns.value, regs_out.receive.timeout.time_ns.value};

    regs_in                                    = '{default: '0};
    regs_in.receive.control.busy.next          = busy[0];
    regs_in.receive.done.value.next            = done[0];
    regs_in.receive.interrupt.armed.hwclr      = disarm[0];
    regs_in.receive.packets.count.incr         = happened[0].packet;
    regs_in.receive.packets.count.incrvalue    = 1'b1;
    regs_in.receive.errors.count.incr          = happened[0].failed;
    regs_in.receive.errors.count.incrvalue     = 1'b1;
    regs_in.receive.too_long.count.incr        = happened[0].too_long;
    regs_in.receive.too_long.count.incrvalue   = 1'b1;
    regs_in.receive.dropped.count.incr         = happened[0].dropped;
    regs_in.receive.dropped.count.incrvalue    = 1'b1;
    regs_in.transmit.control.busy.next         = busy[1];
    regs_in.transmit.done.value.next           = done[1];
    regs_in.transmit.interrupt.armed.hwclr     = disarm[1];
    regs_in.transmit.packets.count.incr        = happened[1].packet;
    regs_in.transmit.packets.count.incrvalue   = 1'b1;
    regs_in.transmit.errors.count.incr         = happened[1].failed;
    regs_in.transmit.errors.count.incrvalue    = 1'b1;
    regs_in.transmit.too_long.count.incr       = happened[1].too_long;
    regs_in.transmit.too_long.count.incrvalue  = 1'b1;
    regs_in.transmit.dropped.count.incr        = happened[1].dropped;
    regs_in.transmit.dropped.count.incrvalue   = 1'b1;
  end

  ring_receive #(
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB)
  ) u_receive (
      .clk,
      .rst,
      .time_ns,
      .on       (on[0]),
      .ring     (ring[0]),
      .active   (active[0]),
      .done     (done[0]),
      .happened (happened[0]),
      .busy     (busy[0]),
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_cut,
      .axi_req  (axi_req[0]),
      .axi_wdata(axi_wdata[0]),
      .axi_wstrb(axi_wstrb[0]),
      .axi_rsp  (axi_rsp[0]),
      .axi_rdata,
      .idle     (part_idle[0])
  );

  ring_transmit #(
      .DATA_W(DATA_W)
  ) u_transmit (
      .clk,
      .rst,
      .on      (on[1]),
      .ring    (ring[1]),
      .active  (active[1]),
      .done    (done[1]),
      .happened(happened[1]),
      .busy    (busy[1]),
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_cut,
      .axi_req (axi_req[2:1]),
      .axi_rsp (axi_rsp[2:1]),
      .axi_rdata,
      .idle    (part_idle[1])
  );
  assign axi_wdata[2:1] = '0;
  assign axi_wstrb[2:1] = '0;

  // Interrupts: what is offered stays.
  for (genvar r = 0; r < 2; r++) begin : gen_interrupt
    ring_interrupt u_interrupt (
        .clk,
        .rst,
        .time_ns,
        .done      (done[r]),
        .on        (active[r]),
        .enough    (enough[r]),
        .timeout_ns(timeout_ns[r]),
        .armed     (armed[r]),
        .disarm    (disarm[r]),
        .irq_valid (irq_valids[r]),
        .irq_ready (irq_ready && irq_valid && irq_vector == 16'(r)),
        .watch     (watch[r]),
        .wake_ns   (ring_wake_ns[r]),
        .idle      (irq_idle[r])
    );
  end
  logic second_q;
  always_ff @(posedge clk) begin
    if (!irq_valid || irq_ready) second_q <= 1'b0;
    else second_q <= irq_vector[0];
    if (rst) second_q <= 1'b0;
  end
  assign irq_valid    = irq_valids != '0;
  assign irq_function = '0;
  assign irq_vector   = 16'(second_q || !irq_valids[0]);

  always_comb begin
    wake_ns = '1;
    for (int i = 0; i < 2; i++) if (watch[i] && ring_wake_ns[i] < wake_ns) wake_ns = ring_wake_ns[i];
  end
  assign idle = &part_idle && &irq_idle;

endmodule
