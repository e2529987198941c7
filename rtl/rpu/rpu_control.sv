// SPDX-License-Identifier: Apache-2.0
// The registers of the RPU card, and what lies between them and the engine: the way into the memories of units, the
// cores' debug ports, the counters.
// Words for memories wait in a short queue; they are written into all selected units, one word after the other.
module rpu_control
  import axi_pkg::*;
  import rpu_pkg::*;
  import rpu_fabric_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned UNITS = 8,
    parameter int unsigned SLOTS = 32,
    parameter int unsigned IMEM_KB = 64,
    parameter int unsigned DMEM_KB = 32,
    parameter int unsigned PMEM_KB = 1024
) (
    input  logic                       clk,
    input  logic                       rst,

    input  axil_req_t                  axil_req,
    output axil_rsp_t                  axil_rsp,

    output settings_t                  settings,
    output table_write_t               table_write,
    input  source_event_t [SOURCES-1:0] source_event,
    input  unit_event_t  [UNITS-1:0]   unit_event,
    input  unit_status_t [UNITS-1:0]   unit_status,
    input  logic [2:0]                 out_dropped,
    input  dram_event_t                read_event,
    input  dram_event_t                write_event,

    output logic [UNITS-1:0]           core_rst,
    output logic [UNITS-1:0]           poke,
    output logic [UNITS-1:0]           evict,
    output logic [UNITS-1:0]           isolate,
    input  logic [UNITS-1:0]           accel_closed,
    input  logic [UNITS-1:0][31:0]     accel_identification,
    output logic [UNITS-1:0]           dram_error,
    output logic [UNITS-1:0][63:0]     debug_in,
    input  logic [UNITS-1:0][63:0]     debug_out,
    input  core_status_t [UNITS-1:0]   core_status,
    input  logic [UNITS-1:0][31:0]     error_addr,
    input  logic [UNITS-1:0][31:0]     error_pc,
    input  logic [UNITS-1:0][31:0]     program_counter,
    input  logic [UNITS-1:0][15:0]     slot_bytes,
    input  logic [UNITS-1:0]           too_long,
    input  logic [UNITS-1:0]           unit_idle,
    input  traffic_t [UNITS-1:0]       rx_traffic,
    input  traffic_t [UNITS-1:0]       tx_traffic,

    output logic [UNITS-1:0]           host_valid,   // a word of a memory
    input  logic [UNITS-1:0]           host_ready,
    output logic                       host_write,
    output logic [31:0]                host_addr,
    output logic [31:0]                host_wdata,
    input  logic [UNITS-1:0]           host_rvalid,
    input  logic [UNITS-1:0][31:0]     host_rdata,

    output logic [UNITS-1:0]           debug_valid,
    input  logic [UNITS-1:0]           debug_ready,
    output logic                       debug_write,
    output logic [7:0]                 debug_addr,
    output logic [31:0]                debug_wdata,
    input  logic [UNITS-1:0][31:0]     debug_rdata,
    output logic                       idle
);

  rpu_regs_pkg::rpu_regs__in_t regs_in;
  rpu_regs_pkg::rpu_regs__out_t regs_out;

  rpu_regs u_regs (
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

  // ------------------------------------------------------------------------------------------------ the load balancer
  logic table_written_q;
  always_comb begin
    settings.policy = policy_e'(regs_out.balancer.policy.value.value);
    settings.enable = regs_out.balancer.enable.units.value;
    settings.open   = regs_out.balancer.open.sources.value;
    settings.hold   = regs_out.balancer.hold.ports.value;
    settings.prefix = regs_out.balancer.prefix.sources.value;
    for (int i = 0; i < SOURCES; i++) settings.receive[i] = regs_out.balancer.receive[i].units.value;
    for (int i = 0; i < 10; i++) settings.key[KEY_W-1-32*i-:32] = regs_out.balancer.key[i].value.value;
    table_write.valid = table_written_q;
    table_write.entry = regs_out.balancer.flow_table.entry.value;
    table_write.unit  = regs_out.balancer.flow_table.unit.value;
  end
  always_ff @(posedge clk) begin
    table_written_q <= regs_out.balancer.flow_table.entry.swmod;
    if (rst) table_written_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------------ memories of units
  typedef struct packed {
    logic             write;
    logic [UNITS-1:0] units;
    logic [31:0]      addr;
    logic [31:0]      data;
  } access_t;

  access_t asked, access;
  logic write_q, read_q, asked_valid, asked_ready, access_valid, access_done, queue_idle;
  logic [UNITS-1:0] done_q;        // have taken the word
  logic waits_q;                   // for the word that is read
  logic [31:0] value_q;

  // The registers hold what was written a cycle later.
  always_ff @(posedge clk) begin
    write_q <= regs_out.memory.write_word.value.swmod;
    read_q  <= regs_out.memory.read_word.start.value;
    if (rst) begin
      write_q <= 1'b0;
      read_q  <= 1'b0;
    end
  end
  wire [UNITS-1:0] selected = regs_out.memory.select.units.value[UNITS-1:0];
  assign asked_valid = (write_q || read_q) && selected != '0;
  assign asked.write = write_q;
  assign asked.units = write_q ? selected : selected & (~selected + 1'b1);
  assign asked.addr  = regs_out.memory.word_address.value.value;
  assign asked.data  = regs_out.memory.write_word.value.value;

  stream_queue #(
      .WIDTH($bits(access_t)),
      .DEPTH(16)
  ) u_accesses (
      .clk,
      .rst,
      .s_valid(asked_valid),
      .s_ready(asked_ready),
      .s_data (asked),
      .m_valid(access_valid),
      .m_ready(access_done),
      .m_data (access),
      .idle   (queue_idle)
  );

  logic [31:0] read_value;
  always_comb begin
    read_value = '0;
    for (int i = 0; i < UNITS; i++) if (host_rvalid[i]) read_value = host_rdata[i];
  end
  assign host_valid  = access_valid && !waits_q ? access.units & ~done_q : '0;
  assign host_write  = access.write;
  assign host_addr   = access.addr;
  assign host_wdata  = access.data;
  wire all_taken = access_valid && !waits_q && (access.units & ~done_q & ~host_ready) == '0;
  assign access_done = access.write ? all_taken : waits_q && host_rvalid != '0;

  always_ff @(posedge clk) begin
    done_q  <= all_taken ? '0 : done_q | (host_valid & host_ready);
    waits_q <= waits_q ? !access_done : all_taken && !access.write;
    if (waits_q && access_done) value_q <= read_value;
    if (rst) begin
      done_q  <= '0;
      waits_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ debug ports
  logic debug_written_q, debug_busy_q, debug_read_q, debug_taken_q;
  logic [31:0] debug_value_q;
  localparam int unsigned UNIT_INDEX_W = UNITS > 1 ? $clog2(UNITS) : 1;
  logic known_unit;
  logic [UNIT_INDEX_W-1:0] debugged;
  assign known_unit = 32'(regs_out.debug.select.unit.value) < UNITS;
  assign debugged   = UNIT_INDEX_W'(regs_out.debug.select.unit.value);
  logic debug_now;
  assign debug_now = debug_busy_q && debug_ready[debugged];
  always_comb begin
    debug_valid = '0;
    if (debug_busy_q) debug_valid[debugged] = 1'b1;
  end
  assign debug_write = !debug_read_q;
  assign debug_addr  = regs_out.debug.select.register.value;
  assign debug_wdata = regs_out.debug.write_word.value.value;

  always_ff @(posedge clk) begin
    debug_written_q <= regs_out.debug.write_word.value.swmod;
    if (debug_written_q || regs_out.debug.read_word.start.value) begin
      debug_busy_q <= known_unit;
      debug_read_q <= !debug_written_q;
    end else if (debug_now) debug_busy_q <= 1'b0;
    debug_taken_q <= debug_now && debug_read_q;
    if (debug_taken_q) debug_value_q <= debug_rdata[debugged];
    if (rst) begin
      debug_written_q <= 1'b0;
      debug_busy_q    <= 1'b0;
      debug_taken_q   <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------ units
  always_comb begin
    for (int i = 0; i < UNITS; i++) begin
      core_rst[i] = regs_out.unit[i].control.reset.value;
      evict[i]    = regs_out.unit[i].control.evict.value;
      poke[i]     = regs_out.unit[i].control.poke.value;
      isolate[i]  = regs_out.unit[i].control.isolate.value;
      debug_in[i] = {regs_out.unit[i].debug_in[1].value.value, regs_out.unit[i].debug_in[0].value.value};
    end
  end

  logic [UNITS-1:0][63:0] dram_address_q;
  always_comb begin
    for (int i = 0; i < UNITS; i++) begin
      dram_error[i] = (read_event.valid && read_event.failed && read_event.current && read_event.unit == 8'(i))
          || (write_event.valid && write_event.failed && write_event.current && write_event.unit == 8'(i));
    end
  end
  always_ff @(posedge clk) begin
    for (int i = 0; i < UNITS; i++) begin
      if (dram_error[i]) begin
        dram_address_q[i] <= read_event.valid && read_event.failed && read_event.unit == 8'(i) ? read_event.addr
            : write_event.addr;
      end
    end
    if (rst) dram_address_q <= '0;
  end

  always_comb begin
    regs_in                         = '{default: '0};
    regs_in.units.value.next        = UNITS;
    regs_in.slots.value.next        = SLOTS;
    regs_in.data_w.value.next       = DATA_W;
    regs_in.memories.imem_kb.next   = 12'(IMEM_KB);
    regs_in.memories.dmem_kb.next   = 12'(DMEM_KB);
    regs_in.pmem_kb.value.next      = PMEM_KB;
    regs_in.memory.word_address.value.we    = asked_valid;
    regs_in.memory.word_address.value.next  = asked.addr + 32'd4;
    regs_in.memory.status.busy.next    = !queue_idle || write_q || read_q;
    regs_in.memory.status.lost.hwset   = asked_valid && !asked_ready;
    regs_in.memory.read_value.value.next    = value_q;
    regs_in.debug.status.busy.next     = debug_busy_q || debug_written_q || debug_taken_q;
    regs_in.debug.read_value.value.next     = debug_value_q;
    regs_in.dram.reads.count.incr             = read_event.valid && !read_event.failed;
    regs_in.dram.reads.count.incrvalue        = 1'b1;
    regs_in.dram.writes.count.incr            = write_event.valid && !write_event.failed;
    regs_in.dram.writes.count.incrvalue       = 1'b1;
    regs_in.dram.read_errors.count.incr       = read_event.valid && read_event.failed;
    regs_in.dram.read_errors.count.incrvalue  = 1'b1;
    regs_in.dram.write_errors.count.incr      = write_event.valid && write_event.failed;
    regs_in.dram.write_errors.count.incrvalue = 1'b1;
    for (int i = 0; i < UNITS; i++) begin
      regs_in.dram.error_address[2*i].value.next   = dram_address_q[i][31:0];
      regs_in.dram.error_address[2*i+1].value.next = dram_address_q[i][63:32];
    end
    for (int i = 0; i < 3; i++) begin
      regs_in.out_dropped[i].count.incr      = out_dropped[i];
      regs_in.out_dropped[i].count.incrvalue = 1'b1;
    end
    for (int i = 0; i < SOURCES; i++) begin
      regs_in.source[i].dropped.count.incr      = source_event[i].dropped;
      regs_in.source[i].dropped.count.incrvalue = 1'b1;
      regs_in.source[i].refused.count.incr      = source_event[i].refused;
      regs_in.source[i].refused.count.incrvalue = 1'b1;
    end
    for (int i = 0; i < UNITS; i++) begin
      regs_in.unit[i].status.flags.next          = core_status[i].flags;
      regs_in.unit[i].status.evict_ready.next    = core_status[i].evict_ready;
      regs_in.unit[i].status.idle.next           = unit_idle[i];
      regs_in.unit[i].status.accel_closed.next   = accel_closed[i];
      regs_in.unit[i].error_address.value.next   = error_addr[i];
      regs_in.unit[i].accelerator.value.next     = accel_identification[i];
      regs_in.unit[i].error_pc.value.next        = error_pc[i];
      regs_in.unit[i].errors_seen.value.next     = 32'(core_status[i].seen);
      regs_in.unit[i].program_counter.value.next = program_counter[i];
      regs_in.unit[i].active.value.next          = core_status[i].active;
      regs_in.unit[i].slots.count.next           = 8'(unit_status[i].slots);
      regs_in.unit[i].slots.outstanding.next     = 8'(unit_status[i].outstanding);
      for (int j = 0; j < 2; j++) regs_in.unit[i].debug_out[j].value.next = debug_out[i][32*j+:32];
      regs_in.unit[i].rx_packets.count.incr      = rx_traffic[i].packet;
      regs_in.unit[i].rx_packets.count.incrvalue = 1'b1;
      regs_in.unit[i].rx_bytes.count.incr        = rx_traffic[i].bytes != '0;
      regs_in.unit[i].rx_bytes.count.incrvalue   = rx_traffic[i].bytes;
      regs_in.unit[i].rx_stalls.count.incr       = rx_traffic[i].stall;
      regs_in.unit[i].rx_stalls.count.incrvalue  = 1'b1;
      regs_in.unit[i].tx_packets.count.incr      = tx_traffic[i].packet;
      regs_in.unit[i].tx_packets.count.incrvalue = 1'b1;
      regs_in.unit[i].tx_bytes.count.incr        = tx_traffic[i].bytes != '0;
      regs_in.unit[i].tx_bytes.count.incrvalue   = tx_traffic[i].bytes;
      regs_in.unit[i].tx_stalls.count.incr       = tx_traffic[i].stall;
      regs_in.unit[i].tx_stalls.count.incrvalue  = 1'b1;
      regs_in.unit[i].slot_bytes.value.next      = 32'(slot_bytes[i]);
      regs_in.unit[i].too_long.count.incr        = too_long[i];
      regs_in.unit[i].too_long.count.incrvalue   = 1'b1;
      regs_in.unit[i].errors.count.incr          = 1'b1;
      regs_in.unit[i].errors.count.incrvalue     = 3'(unit_event[i].bad_port) + 3'(unit_event[i].cut)
          + 3'(unit_event[i].discarded) + 3'(unit_event[i].slot_error);
    end
  end

  assign idle = !table_written_q && queue_idle && !write_q && !read_q
      && !debug_busy_q && !debug_written_q && !debug_taken_q;

endmodule
