// SPDX-License-Identifier: Apache-2.0
// A direction of an emulated link with its registers (regs/link.rdl). Latency, throughput and backpressure: see
// link_direction.
module link_engine
  import axi_pkg::*;
  import headrace_pkg::tx_meta_t;
  import link_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned STORE_KB = 32,
    parameter int unsigned FRAME_KB = 16,
    parameter int unsigned SLOTS = 4096,
    parameter bit GATED = 1'b0,               // a clock gate: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic              clk,
    input  logic              rst,
    input  logic [63:0]       time_ns,
    input  logic [7:0]        port,           // goes beside each frame
    // verilator lint_off UNUSEDSIGNAL
    input  axil_req_t         axil_req,
    // verilator lint_on UNUSEDSIGNAL
    output axil_rsp_t         axil_rsp,

    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic [KEEP_W-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_error,        // with the last beat
    output logic              tx_tvalid,
    input  logic              tx_tready,
    output logic [DATA_W-1:0] tx_tdata,
    output logic [KEEP_W-1:0] tx_tkeep,
    output logic              tx_tlast,
    output tx_meta_t          tx_tuser,

    output axi_req_t          axi_req,
    output logic [DATA_W-1:0] axi_wdata,
    output logic [KEEP_W-1:0] axi_wstrb,
    input  axi_rsp_t          axi_rsp,
    input  logic [DATA_W-1:0] axi_rdata,
    output logic              idle,
    output logic [63:0]       wake_ns
);

  link_regs_pkg::link_regs__in_t regs_in;
  link_regs_pkg::link_regs__out_t regs_out;

  settings_t settings;
  logic [3:0][31:0] seed;
  logic held, table_q, seed_q, direction_idle, sent;
  logic [1:0] failed;
  logic [$clog2(KEEP_W):0] sent_bytes;
  logic [31:0] queued;
  entered_t entered;
  decided_t decided;

  logic gated;
  clock_gate #(
      .GATED(GATED),
      .HOLD(4),  // from a register's access to what it leads to
      .WATCHED($bits(axil_rsp_t) + 2)
  ) u_gate (
      .clk,
      .rst,
      .work   (!axil_quiet(axil_req, axil_rsp) || table_q || seed_q || |{entered, decided, failed, sent_bytes}),
      .watched({axil_rsp, table_q, seed_q}),
      .gated
  );

  link_regs u_regs (
      .clk(gated),
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
      .hwif_in       (regs_in),
      .hwif_out      (regs_out)
  );

  // A register that is written has its new value a cycle after swmod.
  always_ff @(posedge gated) begin
    table_q <= regs_out.entry.value.swmod;
    seed_q  <= regs_out.seed[3].value.swmod;
    if (rst) begin
      table_q <= 1'b0;
      seed_q  <= 1'b0;
    end
  end

  always_comb begin
    settings = '{
        delay_ns: regs_out.delay.ns.value,
        jitter_ns: regs_out.jitter.ns.value,
        jitter_step: regs_out.jitter_step.value.value,
        shaped: regs_out.jitter.shaped.value,
        byte_time: {regs_out.byte_time_high.value.value, regs_out.byte_time_low.value.value},
        overhead: regs_out.byte_time_high.overhead.value,
        limit: regs_out.limit.frames.value,
        loss: loss_t'(regs_out.loss.model.value),
        p: regs_out.loss_p.value.value,
        r: regs_out.loss_r.value.value,
        bad_loss: regs_out.loss_bad.value.value,
        good_loss: regs_out.loss_good.value.value,
        duplicate: regs_out.duplicate.value.value,
        corrupt: regs_out.corrupt.value.value,
        reorder: regs_out.reorder.value.value,
        gap: regs_out.gap.frames.value,
        rho: '0,
        lead_ns: regs_out.lead.ns.value
    };
    for (int unsigned k = 0; k < KINDS; k++) settings.rho[k] = regs_out.correlation[k].value.value;
    for (int unsigned k = 0; k < 4; k++) seed[k] = regs_out.seed[k].value.value;

    regs_in                                = '{default: '0};
    regs_in.sizes.slots.next               = 24'(SLOTS);
    regs_in.sizes.frame_kb.next            = 8'(FRAME_KB);
    regs_in.status.held.next               = held;
    regs_in.queued.frames.next             = queued;
    regs_in.received.count.incr            = entered.received;
    regs_in.received.count.incrvalue       = 1'b1;
    regs_in.bad.count.incr                 = entered.bad;
    regs_in.bad.count.incrvalue            = 1'b1;
    regs_in.too_long.count.incr            = entered.too_long;
    regs_in.too_long.count.incrvalue       = 1'b1;
    regs_in.no_room.count.incr             = entered.no_room;
    regs_in.no_room.count.incrvalue        = 1'b1;
    regs_in.lost.count.incr                = decided.lost;
    regs_in.lost.count.incrvalue           = 1'b1;
    regs_in.limited.count.incr             = decided.limited;
    regs_in.limited.count.incrvalue        = 1'b1;
    regs_in.duplicated.count.incr          = decided.duplicated;
    regs_in.duplicated.count.incrvalue     = 1'b1;
    regs_in.corrupted.count.incr           = decided.corrupted;
    regs_in.corrupted.count.incrvalue      = 1'b1;
    regs_in.reordered.count.incr           = decided.reordered;
    regs_in.reordered.count.incrvalue      = 1'b1;
    regs_in.failed.count.incr              = failed != '0;
    regs_in.failed.count.incrvalue         = failed;
    regs_in.sent.count.incr                = sent;
    regs_in.sent.count.incrvalue           = 1'b1;
    regs_in.sent_bytes.count.incr          = sent_bytes != '0;
    regs_in.sent_bytes.count.incrvalue     = 7'(sent_bytes);
  end

  link_direction #(
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB),
      .FRAME_KB(FRAME_KB),
      .SLOTS(SLOTS),
      .GATED(GATED)
  ) u_direction (
      .clk,
      .rst,
      .time_ns,
      .port,
      .settings,
      .hold       (regs_out.control.hold.value),
      .held,
      .hold_link  (regs_out.control.hold_link.value),
      .memory     (regs_out.control.memory.value),
      .base       ({regs_out.base_high.value.value, regs_out.base_low.value.value}),
      .seed_valid (seed_q),
      .seed,
      .table_valid(table_q),
      .table_index(regs_out.entry.index.value),
      .table_value(regs_out.entry.value.value),
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_error,
      .tx_tvalid,
      .tx_tready,
      .tx_tdata,
      .tx_tkeep,
      .tx_tlast,
      .tx_tuser,
      .axi_req,
      .axi_wdata,
      .axi_wstrb,
      .axi_rsp,
      .axi_rdata,
      .entered,
      .decided,
      .failed,
      .sent,
      .sent_bytes,
      .queued,
      .idle       (direction_idle),
      .wake_ns
  );

  assign idle = direction_idle && axil_quiet(axil_req, axil_rsp) && !table_q && !seed_q;

endmodule
