// SPDX-License-Identifier: Apache-2.0
// The registers of the capture engine (regs/capture.rdl), what follows from them, and its interrupts.
module capture_control
  import axi_pkg::*;
  import capture_pkg::*;
#(
    parameter int unsigned MEM_W = 512,
    parameter int unsigned BURST = 16,
    parameter int unsigned CORES = 0,
    parameter int unsigned SLOTS = 32,
    parameter bit          GATED = 1'b0     // a clock gate: see clock_gate
) (
    input  logic                           clk,
    input  logic                           rst,
    input  logic [63:0]                    time_ns,

    input  axil_req_t                      axil_req,
    output axil_rsp_t                      axil_rsp,

    output logic                           restart,
    output logic                           enable,
    output logic                           wait_for_room,
    output logic                           flow_control,
    output logic [LEN_W-1:0]               snaplen,
    output logic [63:0]                    ring_base,
    output logic [4:0]                     ring_log2,
    output logic [31:0]                    consumer,
    input  logic [31:0]                    producer,
    output logic [63:0]                    descriptor_base,
    output logic [4:0]                     descriptor_log2,
    output logic [31:0]                    descriptor_head,
    input  logic [31:0]                    descriptor_tail,
    input  logic [31:0]                    packets_read,
    input  logic                           write_error,
    input  logic                           descriptor_error,
    input  logic                           busy,
    input  events_t                        events,
    input  port_events_t [1:0]             port_events,

    output logic                           irq_valid,
    input  logic                           irq_ready,
    output logic [15:0]                    irq_function,
    output logic [15:0]                    irq_vector,
    output logic                           idle
);

  capture_regs_pkg::capture_regs__in_t regs_in;
  capture_regs_pkg::capture_regs__out_t regs_out;

  logic gated, resting;
  logic [1:0] disarm;
  clock_gate #(
      .GATED(GATED),
      .HOLD(4),  // from a register's access to what it leads to
      .WATCHED($bits(axil_rsp_t) + 5 + LEN_W + 5)
  ) u_gate (
      .clk,
      .rst,
      .work   (!axil_quiet(axil_req, axil_rsp) || busy || !resting),
      .watched({axil_rsp, restart, enable, wait_for_room, flow_control, resting, snaplen, ring_log2}),
      .gated
  );

  capture_regs u_regs (
      .clk(gated),
      .rst,
      .s_axil_awaddr  (axil_req.awaddr[15:0]),
      .s_axil_awprot  (axil_req.awprot),
      .s_axil_awvalid (axil_req.awvalid),
      .s_axil_awready (axil_rsp.awready),
      .s_axil_wdata   (axil_req.wdata),
      .s_axil_wstrb   (axil_req.wstrb),
      .s_axil_wvalid  (axil_req.wvalid),
      .s_axil_wready  (axil_rsp.wready),
      .s_axil_bresp   (axil_rsp.bresp),
      .s_axil_bvalid  (axil_rsp.bvalid),
      .s_axil_bready  (axil_req.bready),
      .s_axil_araddr  (axil_req.araddr[15:0]),
      .s_axil_arprot  (axil_req.arprot),
      .s_axil_arvalid (axil_req.arvalid),
      .s_axil_arready (axil_rsp.arready),
      .s_axil_rdata   (axil_rsp.rdata),
      .s_axil_rresp   (axil_rsp.rresp),
      .s_axil_rvalid  (axil_rsp.rvalid),
      .s_axil_rready  (axil_req.rready),
      .hwif_in (regs_in),
      .hwif_out(regs_out)
  );

  // ------------------------------------------------------------------------------------------------------ host to card
  // The limits of the engine are enforced here.
  localparam logic [4:0] RING_LOG2_MIN = 5'd8;
  localparam logic [4:0] DESCRIPTOR_LOG2_MIN = 5'd2;
  localparam logic [4:0] DESCRIPTOR_LOG2_MAX = 5'd16;

  function automatic logic [4:0] clamp(logic [4:0] log2, logic [4:0] low, logic [4:0] high);
    return log2 < low ? low : log2 > high ? high : log2;
  endfunction

  always_ff @(posedge gated) begin
    restart         <= regs_out.control.restart.value || rst;
    enable          <= regs_out.control.enable.value && !rst;
    wait_for_room   <= regs_out.control.wait_for_room.value;
    flow_control    <= regs_out.control.flow_control.value;
    snaplen         <= regs_out.snaplen.bytes.value < MAX_CAPTURED ? regs_out.snaplen.bytes.value : MAX_CAPTURED;
    ring_base       <= {regs_out.ring_base.high.value, regs_out.ring_base.low.value[31:6], 6'd0};
    ring_log2       <= clamp(regs_out.ring_size.log2.value, RING_LOG2_MIN, '1);
    descriptor_base <= {regs_out.descriptor_base.high.value, regs_out.descriptor_base.low.value[31:6], 6'd0};
    descriptor_log2 <= clamp(regs_out.descriptor_size.log2.value, DESCRIPTOR_LOG2_MIN, DESCRIPTOR_LOG2_MAX);
  end
  assign consumer        = regs_out.consumer.bytes.value;
  assign descriptor_head = regs_out.descriptor_head.slots.value;

  // ---------------------------------------------------------------------------------------------------------- measures
  logic [31:0] cycles_q, last_cycles_q, since_packet_q, packet_cycles_q, wraps_q;
  logic turn_q;  // the bit of producer that changes when the ring begins anew
  wire turn = 1'(producer >> ring_log2);
  wire [31:0] offset = producer & ((32'd1 << ring_log2) - 1);
  always_ff @(posedge clk) since_packet_q <= events.packet ? 32'd1 : since_packet_q + 1'b1;
  always_ff @(posedge gated) begin
    cycles_q <= busy ? cycles_q + 1'b1 : '0;
    if (events.record) begin
      last_cycles_q   <= cycles_q + 1'b1;
      packet_cycles_q <= since_packet_q + 1'b1;
    end
    turn_q  <= turn;
    wraps_q <= wraps_q + 32'(turn != turn_q);
    if (restart) begin
      last_cycles_q   <= '0;
      packet_cycles_q <= '0;
      turn_q          <= 1'b0;
      wraps_q         <= '0;
    end
  end

  // ------------------------------------------------------------------------------------------------------ card to host
  always_comb begin
    regs_in.mem_w.value.next       = MEM_W;
    regs_in.burst.value.next       = BURST;
    regs_in.cores.value.next       = CORES;
    regs_in.descriptors.value.next = SLOTS;

    regs_in.status.busy.next             = busy || restart;
    regs_in.status.write_error.next      = write_error;
    regs_in.status.descriptor_error.next = descriptor_error;
    regs_in.producer.bytes.next          = producer;
    regs_in.consumer.bytes.hwclr         = restart;
    regs_in.last_address.address.next    = ring_base | 64'(offset);
    regs_in.wraps.value.next             = wraps_q;
    regs_in.descriptor_head.slots.hwclr  = restart;
    regs_in.descriptor_tail.value.next   = descriptor_tail;
    regs_in.packets_read.value.next      = packets_read;
    regs_in.last_cycles.value.next       = last_cycles_q;
    regs_in.packet_cycles.value.next     = packet_cycles_q;

    regs_in.interrupt.data.next  = 1'b0;
    regs_in.interrupt.data.we    = disarm[0];
    regs_in.interrupt.error.next = 1'b0;
    regs_in.interrupt.error.we   = disarm[1];

    for (int i = 0; i < 2; i++) begin
      regs_in.port[i].frames.count.incr = port_events[i].frame;
      regs_in.port[i].frames.count.incrvalue = 1'b1;
      regs_in.port[i].bytes.count.incr = port_events[i].frame;
      regs_in.port[i].bytes.count.incrvalue = port_events[i].bytes;
      regs_in.port[i].bad.count.incr = port_events[i].bad;
      regs_in.port[i].bad.count.incrvalue = 1'b1;
      regs_in.port[i].oversize.count.incr = port_events[i].oversize;
      regs_in.port[i].oversize.count.incrvalue = 1'b1;
      regs_in.port[i].disabled.count.incr = port_events[i].disabled;
      regs_in.port[i].disabled.count.incrvalue = 1'b1;
      regs_in.port[i].overflow.count.incr = port_events[i].overflow;
      regs_in.port[i].overflow.count.incrvalue = 1'b1;
      regs_in.port[i].held.count.incr = port_events[i].held;
      regs_in.port[i].held.count.incrvalue = 1'b1;
    end

    regs_in.busy_cycles.count.incr      = busy;
    regs_in.busy_cycles.count.incrvalue = 1'b1;
    regs_in.memory_packets.count.incr      = events.packet;
    regs_in.memory_packets.count.incrvalue = 1'b1;
    regs_in.read_errors.count.incr      = events.read_error;
    regs_in.read_errors.count.incrvalue = 1'b1;
    regs_in.records.count.incr      = events.record;
    regs_in.records.count.incrvalue = 1'b1;
    regs_in.record_bytes.count.incr      = events.record;
    regs_in.record_bytes.count.incrvalue = events.record_bytes;
    regs_in.ring_full.count.incr      = events.ring_full;
    regs_in.ring_full.count.incrvalue = 1'b1;
    regs_in.too_long.count.incr      = events.too_long;
    regs_in.too_long.count.incrvalue = 1'b1;
    regs_in.after_error.count.incr      = events.after_error != 0;
    regs_in.after_error.count.incrvalue = events.after_error;
  end

  logic interrupt_idle;
  capture_interrupt u_interrupt (
      .clk,
      .rst       (restart),
      .time_ns,
      .producer,
      .consumer,
      .watermark (regs_out.watermark.bytes.value),
      .timeout_ns(regs_out.timeout.ns.value),
      .error     (write_error || descriptor_error),
      .armed     ({regs_out.interrupt.error.value, regs_out.interrupt.data.value}),
      .disarm,
      .irq_valid,
      .irq_ready,
      .irq_function,
      .irq_vector,
      .idle      (interrupt_idle)
  );

  assign resting = !restart && !regs_out.control.restart.value && turn == turn_q && events == '0 &&
      port_events == '0 && disarm == '0;
  assign idle    = interrupt_idle && resting;

endmodule
