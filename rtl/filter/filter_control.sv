// SPDX-License-Identifier: Apache-2.0
// The registers of the filter card, and what lies between them and the engine: the instruction loader and the counters.
module filter_control
  import axi_pkg::*;
  import bpf_pkg::*;
  import filter_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CORES = 8,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 65600
) (
    input  logic                        clk,
    input  logic                        rst,

    input  axil_req_t                   axil_req,
    output axil_rsp_t                   axil_rsp,

    output load_t                       load,
    output logic                        flow_control,
    output logic                        active_set,
    input  logic [SETS-1:0]             set_busy,
    input  logic                        ready,
    input  events_t                     events,

    output logic                        measure_read_req,
    output logic [$clog2(MEASURES)-1:0] measure_read_index,
    input  logic                        measure_read_done,
    input  logic [63:0]                 measure_read_packets,
    input  logic [63:0]                 measure_read_bytes
);

  filter_regs_pkg::filter_regs__in_t regs_in;
  filter_regs_pkg::filter_regs__out_t regs_out;

  filter_regs u_regs (
      .clk,
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

  assign flow_control = regs_out.control.flow_control.value;
  assign active_set   = regs_out.control.active_set.value;

  // ------------------------------------------------------------------------------ loader: one cycle after the register
  instr_t instr;
  bpf_decode u_decode (
      .code(regs_out.imem_code.code.value),
      .jt  (regs_out.imem_code.jt.value),
      .jf  (regs_out.imem_code.jf.value),
      .k   (regs_out.imem_k.k.value),
      .instr
  );

  // The address counts up in the cycle of the write: one later, the bus may be writing it.
  logic instr_written_q;
  logic [BASE_W-1:0] instr_addr_q;
  logic [SETS*PROGRAMS-1:0] program_written_q;
  always_ff @(posedge clk) begin
    instr_written_q <= regs_out.imem_code.code.swmod;
    instr_addr_q    <= regs_out.imem_addr.address.value[BASE_W-1:0];
    for (int i = 0; i < int'(SETS * PROGRAMS); i++) program_written_q[i] <= regs_out.program_slot[i].base.swmod;

    load.instr_we <= instr_written_q;
    if (instr_written_q) begin
      load.instr_addr <= instr_addr_q;
      load.instr      <= instr;
    end
    load.program_we <= program_written_q != 0;
    if (program_written_q != 0) begin
      for (int i = 0; i < int'(SETS * PROGRAMS); i++) begin
        if (program_written_q[i]) begin
          load.program_addr <= 3'(i);
          load.prog <= '{
              mode: mode_e'(regs_out.program_slot[i].mode.value),
              reserved: 1'b0,
              length: regs_out.program_slot[i].length.value,
              reserved2: 1'b0,
              base: regs_out.program_slot[i].base.value
          };
        end
      end
    end
    load.budget <= regs_out.budget.instructions.value;
    if (rst) begin
      instr_written_q   <= 1'b0;
      program_written_q <= '0;
      load.instr_we     <= 1'b0;
      load.program_we   <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------- measurement: held by its first word
  logic measure_high_q;
  logic [1:0] measure_word_q;
  wire measure_first = regs_out.measurement.req && regs_out.measurement.addr[3:2] == 0;
  assign measure_read_req   = measure_first;
  assign measure_read_index = regs_out.measurement.addr[4+:$clog2(MEASURES)];
  always_ff @(posedge clk) begin
    measure_word_q <= regs_out.measurement.req ? regs_out.measurement.addr[3:2] : measure_word_q;
    measure_high_q <= regs_out.measurement.req && !measure_first && !rst;
  end
  wire [127:0] measure_entry = {measure_read_bytes, measure_read_packets};

  // ------------------------------------------------------------------------------------------------------ card to host
  always_comb begin
    regs_in.cores.value.next      = CORES;
    regs_in.imem_words.value.next = IMEM_WORDS;
    regs_in.max_frame.value.next  = MAX_FRAME;
    regs_in.data_w.value.next     = DATA_W;

    regs_in.status.ready.next     = ready;
    regs_in.status.set0_busy.next = set_busy[0];
    regs_in.status.set1_busy.next = set_busy[1];
    regs_in.imem_addr.address.incr = regs_out.imem_code.code.swmod;

    for (int port = 0; port < 2; port++) begin
      regs_in.ingress[port].packets.count.incr          = events.ingress[port].packet;
      regs_in.ingress[port].packets.count.incrvalue     = 1'b1;
      regs_in.ingress[port].bytes.count.incr            = events.ingress[port].packet;
      regs_in.ingress[port].bytes.count.incrvalue       = events.ingress[port].bytes;
      regs_in.ingress[port].uninspected.count.incr      = events.ingress[port].uninspected;
      regs_in.ingress[port].uninspected.count.incrvalue = 1'b1;
      regs_in.ingress[port].bad.count.incr              = events.ingress[port].bad;
      regs_in.ingress[port].bad.count.incrvalue         = 1'b1;
      regs_in.ingress[port].held.count.incr             = events.ingress[port].held;
      regs_in.ingress[port].held.count.incrvalue        = 1'b1;
    end

    for (int i = 0; i < int'(PROGRAMS); i++) begin
      regs_in.program_count[i].matched.count.incr      = events.matched[i];
      regs_in.program_count[i].matched.count.incrvalue = 1'b1;
      regs_in.program_count[i].bytes.count.incr        = events.matched[i];
      regs_in.program_count[i].bytes.count.incrvalue   = events.bytes;
      regs_in.program_count[i].errors.count.incr       = events.errors[i];
      regs_in.program_count[i].errors.count.incrvalue  = 1'b1;
    end

    regs_in.inspected.count.incr                 = events.inspected;
    regs_in.inspected.count.incrvalue            = 1'b1;
    regs_in.accepted.count.incr                  = events.accepted;
    regs_in.accepted.count.incrvalue             = 1'b1;
    regs_in.forwarded.count.incr                 = events.forwarded;
    regs_in.forwarded.count.incrvalue            = 1'b1;
    regs_in.monitor_dropped.count.incr           = events.monitor_dropped;
    regs_in.monitor_dropped.count.incrvalue      = 1'b1;
    regs_in.forwarded_bytes.count.incr           = events.forwarded;
    regs_in.forwarded_bytes.count.incrvalue      = events.forwarded_bytes;
    regs_in.slots_used.count.incr                = events.slots_used != 0;
    regs_in.slots_used.count.incrvalue           = events.slots_used;
    regs_in.instructions.count.incr              = events.instructions != 0;
    regs_in.instructions.count.incrvalue         = events.instructions;
    regs_in.measure_out_of_range.count.incr      = events.measure_out_of_range;
    regs_in.measure_out_of_range.count.incrvalue = 1'b1;
    regs_in.monitor_ignored.count.incr           = events.monitor_ignored;
    regs_in.monitor_ignored.count.incrvalue      = 1'b1;

    // The memory is read-only: the register block answers writes itself, but has the input
    regs_in.measurement.wr_ack  = 1'b0;
    regs_in.measurement.rd_ack  = measure_read_done || measure_high_q;
    regs_in.measurement.rd_data = measure_entry[32*measure_word_q+:32];
  end

endmodule
