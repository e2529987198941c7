// SPDX-License-Identifier: Apache-2.0
// Units, their accelerators and broadcast between them, behind the load balancer and its fabric, and the units' access
// to host memory. The ports are eth0, eth1 and the host, which may be several functions. Latency and backpressure:
// rpu_fabric, rpu_unit.
module rpu_engine
  import axi_pkg::*;
  import rpu_pkg::*;
  import rpu_fabric_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned UNITS = 8,
    parameter int unsigned SLOTS = 32,
    parameter int unsigned IMEM_KB = 64,
    parameter int unsigned DMEM_KB = 32,
    parameter int unsigned PMEM_KB = 1024,
    parameter int unsigned STORE_KB = 32,
    parameter logic [63:0] ACCELERATORS = '0,   // of each unit 4 bits: its KIND
    parameter bit ACCELERATOR_SLOTS = 1'b0,     // units of KIND 0 have a slot
    parameter int unsigned FUNCTIONS = 1,       // of the host port
    parameter bit GATED = 1'b0,                 // clock gates: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned PORTS = 3
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic [63:0]                  time_ns,

    input  axil_req_t                    axil_req,
    output axil_rsp_t                    axil_rsp,

    input  logic [PORTS-1:0]             s_axis_tvalid,
    output logic [PORTS-1:0]             s_axis_tready,
    input  logic [PORTS-1:0][DATA_W-1:0] s_axis_tdata,
    input  logic [PORTS-1:0][KEEP_W-1:0] s_axis_tkeep,
    input  logic [PORTS-1:0]             s_axis_tlast,
    input  logic [PORTS-1:0]             s_axis_cut,
    input  logic [VF_W-1:0]              s_axis_vf,    // of the host's packet: its function

    output logic [PORTS-1:0]             m_axis_tvalid,
    input  logic [PORTS-1:0]             m_axis_tready,
    output logic [PORTS-1:0][DATA_W-1:0] m_axis_tdata,
    output logic [PORTS-1:0][KEEP_W-1:0] m_axis_tkeep,
    output logic [PORTS-1:0]             m_axis_tlast,
    output logic [PORTS-1:0]             m_axis_cut,
    output logic [VF_W-1:0]              m_axis_vf,
    input  logic [PORTS-1:0]             out_dropped,  // behind m_axis: a packet was dropped

    output axi_req_t                     axi_req,      // host memory
    output logic [DATA_W-1:0]            axi_wdata,
    output logic [KEEP_W-1:0]            axi_wstrb,
    input  axi_rsp_t                     axi_rsp,
    input  logic [DATA_W-1:0]            axi_rdata,

    output logic                         idle,
    output logic [63:0]                  wake_ns
);

  localparam logic [63:0] NEVER = '1;

  settings_t settings;
  table_write_t table_write;
  source_event_t [SOURCES-1:0] source_event;
  unit_event_t [UNITS-1:0] unit_event;
  unit_status_t [UNITS-1:0] unit_status;
  logic fabric_idle, control_idle, broadcast_idle, dram_idle;

  logic [UNITS-1:0] rx_tvalid, rx_tready, rx_tlast, tx_tvalid, tx_tready, tx_tlast;
  logic [UNITS-1:0][DATA_W-1:0] rx_tdata, tx_tdata;
  logic [UNITS-1:0][KEEP_W-1:0] rx_tkeep, tx_tkeep;
  unit_rx_t [UNITS-1:0] rx_tuser;
  unit_tx_t [UNITS-1:0] tx_tuser;
  logic [UNITS-1:0] release_valid, release_ready;
  release_t [UNITS-1:0] released;
  logic [UNITS-1:0] core_rst;

  logic dram_req_tvalid, dram_req_tready, dram_req_tlast, dram_req_cut;
  logic dram_rsp_tvalid, dram_rsp_tready, dram_rsp_tlast;
  logic [DATA_W-1:0] dram_req_tdata, dram_rsp_tdata;
  logic [KEEP_W-1:0] dram_req_tkeep, dram_rsp_tkeep;
  owner_t dram_req_owner, dram_rsp_owner;
  logic [UNITS-1:0][LIFE_W-1:0] life;
  logic [UNITS-1:0] dram_error;
  dram_event_t read_event, write_event;

  rpu_fabric #(
      .DATA_W(DATA_W),
      .UNITS(UNITS),
      .SLOTS(SLOTS),
      .STORE_KB(STORE_KB),
      .FUNCTIONS(FUNCTIONS)
  ) u_fabric (
      .clk,
      .rst,
      .settings,
      .table_write,
      .flush         (core_rst),
      .source_event,
      .unit_event,
      .unit_status,
      .idle          (fabric_idle),
      .s_axis_tvalid,
      .s_axis_tready,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_cut,
      .s_axis_vf,
      .m_axis_tvalid,
      .m_axis_tready,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_cut,
      .m_axis_vf,
      .rx_axis_tvalid(rx_tvalid),
      .rx_axis_tready(rx_tready),
      .rx_axis_tdata (rx_tdata),
      .rx_axis_tkeep (rx_tkeep),
      .rx_axis_tlast (rx_tlast),
      .rx_axis_tuser (rx_tuser),
      .tx_axis_tvalid(tx_tvalid),
      .tx_axis_tready(tx_tready),
      .tx_axis_tdata (tx_tdata),
      .tx_axis_tkeep (tx_tkeep),
      .tx_axis_tlast (tx_tlast),
      .tx_axis_tuser (tx_tuser),
      .dram_req_tvalid,
      .dram_req_tready,
      .dram_req_tdata,
      .dram_req_tkeep,
      .dram_req_tlast,
      .dram_req_cut,
      .dram_req_owner,
      .dram_rsp_tvalid,
      .dram_rsp_tready,
      .dram_rsp_tdata,
      .dram_rsp_tkeep,
      .dram_rsp_tlast,
      .dram_rsp_owner,
      .life,
      .release_valid,
      .release_ready,
      .release_s     (released)
  );

  logic dram_clk;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(9)
  ) u_dram_gate (
      .clk,
      .rst,
      .work   (dram_req_tvalid || axi_rsp.rvalid || axi_rsp.bvalid || !dram_idle),
      .watched({dram_req_tready, dram_rsp_tvalid, axi_req.arvalid, axi_req.awvalid, axi_req.wvalid, axi_req.rready,
                read_event.valid, write_event.valid, dram_idle}),
      .gated  (dram_clk)
  );
  rpu_dram #(
      .DATA_W(DATA_W),
      .UNITS(UNITS)
  ) u_dram (
      .clk(dram_clk),
      .rst,
      .life,
      .s_axis_tvalid(dram_req_tvalid),
      .s_axis_tready(dram_req_tready),
      .s_axis_tdata (dram_req_tdata),
      .s_axis_tkeep (dram_req_tkeep),
      .s_axis_tlast (dram_req_tlast),
      .s_axis_cut   (dram_req_cut),
      .s_axis_owner (dram_req_owner),
      .m_axis_tvalid(dram_rsp_tvalid),
      .m_axis_tready(dram_rsp_tready),
      .m_axis_tdata (dram_rsp_tdata),
      .m_axis_tkeep (dram_rsp_tkeep),
      .m_axis_tlast (dram_rsp_tlast),
      .m_axis_owner (dram_rsp_owner),
      .axi_req,
      .axi_wdata,
      .axi_wstrb,
      .axi_rsp,
      .axi_rdata,
      .read_event,
      .write_event,
      .idle         (dram_idle)
  );

  logic [UNITS-1:0] poke, evict, unit_idle, watch, host_valid, host_ready, host_rvalid;
  logic [UNITS-1:0] isolate, accel_closed, accel_idle, accel_asked, accel_irq, accel_tvalid, too_long;
  logic [UNITS-1:0][15:0] slot_bytes;
  logic [UNITS-1:0] debug_valid, debug_ready, broadcast_valid, broadcast_ready, message_valid, message_ready;
  logic [UNITS-1:0][63:0] debug_in, debug_out, unit_wake_ns;
  core_status_t [UNITS-1:0] core_status;
  logic [UNITS-1:0][31:0] error_addr, error_pc, program_counter, host_rdata, debug_rdata, accel_identification;
  traffic_t [UNITS-1:0] rx_traffic, tx_traffic;
  logic host_write, debug_write;
  logic [31:0] host_addr, host_wdata, debug_wdata;
  logic [7:0] debug_addr;
  word_t [UNITS-1:0] broadcast;
  word_t message;

  function automatic traffic_t traffic(logic valid, logic ready, logic last, logic [$clog2(KEEP_W):0] bytes);
    traffic        = '0;
    traffic.packet = valid && ready && last;
    traffic.stall  = valid && !ready;
    traffic.bytes  = valid && ready ? 8'(bytes) : '0;
  endfunction

  logic accel_clk;  // of all accelerators
  clock_gate #(
      .GATED(GATED),
      .HOLD(8),     // between an access or a word of a table and its end
      .WATCHED(UNITS * 35)
  ) u_accel_gate (
      .clk,
      .rst,
      .work   (|{accel_asked, ~accel_idle, isolate, core_rst}),
      .watched({accel_identification, accel_closed, accel_idle, accel_irq}),
      .gated  (accel_clk)
  );

  for (genvar u = 0; u < UNITS; u++) begin : gen_unit
    localparam int unsigned KIND = 32'(ACCELERATORS[4*u+:4]);
    logic accel_there, reg_valid, reg_ready, reg_write, load_valid, job_valid, job_ready;
    logic [15:0] reg_addr;
    logic [31:0] reg_wdata, reg_rdata, load_data;
    logic [3:0] reg_wstrb;
    logic [23:0] load_addr;
    accel_job_t job;
    logic accel_tready, accel_tlast;
    logic [DATA_W-1:0] accel_tdata;
    logic [KEEP_W-1:0] accel_tkeep;

    rpu_unit #(
        .DATA_W(DATA_W),
        .IMEM_KB(IMEM_KB),
        .DMEM_KB(DMEM_KB),
        .PMEM_KB(PMEM_KB),
        .SLOTS(SLOTS),
        .FUNCTIONS(FUNCTIONS),
        .GATED(GATED)
    ) u_unit (
        .clk,
        .rst,
        .core_rst       (core_rst[u]),
        .time_ns,
        .core_id        (8'(u)),
        .s_axis_tvalid  (rx_tvalid[u]),
        .s_axis_tready  (rx_tready[u]),
        .s_axis_tdata   (rx_tdata[u]),
        .s_axis_tkeep   (rx_tkeep[u]),
        .s_axis_tlast   (rx_tlast[u]),
        .s_axis_tuser   (rx_tuser[u]),
        .m_axis_tvalid  (tx_tvalid[u]),
        .m_axis_tready  (tx_tready[u]),
        .m_axis_tdata   (tx_tdata[u]),
        .m_axis_tkeep   (tx_tkeep[u]),
        .m_axis_tlast   (tx_tlast[u]),
        .m_axis_tuser   (tx_tuser[u]),
        .release_valid  (release_valid[u]),
        .release_ready  (release_ready[u]),
        .released       (released[u]),
        .broadcast_valid(broadcast_valid[u]),
        .broadcast_ready(broadcast_ready[u]),
        .broadcast      (broadcast[u]),
        .message_valid  (message_valid[u]),
        .message_ready  (message_ready[u]),
        .message,
        .host_valid     (host_valid[u]),
        .host_ready     (host_ready[u]),
        .host_write,
        .host_addr,
        .host_wdata,
        .host_rvalid    (host_rvalid[u]),
        .host_rdata     (host_rdata[u]),
        .debug_valid    (debug_valid[u]),
        .debug_ready    (debug_ready[u]),
        .debug_write,
        .debug_addr,
        .debug_wdata,
        .debug_rdata    (debug_rdata[u]),
        .accel_there,
        .reg_valid,
        .reg_ready,
        .reg_write,
        .reg_addr,
        .reg_wdata,
        .reg_wstrb,
        .reg_rdata,
        .load_valid,
        .load_addr,
        .load_data,
        .job_valid,
        .job_ready,
        .job,
        .accel_tvalid   (accel_tvalid[u]),
        .accel_tready,
        .accel_tdata,
        .accel_tkeep,
        .accel_tlast,
        .accel_irq      (accel_irq[u]),
        .dram_error     (dram_error[u]),
        .poke           (poke[u]),
        .evict          (evict[u]),
        .debug_in       (debug_in[u]),
        .debug_out      (debug_out[u]),
        .status         (core_status[u]),
        .error_addr     (error_addr[u]),
        .error_pc       (error_pc[u]),
        .program_counter(program_counter[u]),
        .slot_bytes     (slot_bytes[u]),
        .too_long       (too_long[u]),
        .watch          (watch[u]),
        .wake_ns        (unit_wake_ns[u]),
        .idle           (unit_idle[u])
    );

    rpu_accelerator #(
        .DATA_W(DATA_W),
        .KIND(KIND == 0 && ACCELERATOR_SLOTS ? 15 : KIND)
    ) u_accelerator (
        .clk           (accel_clk),
        .rst           (rst || core_rst[u]),
        .isolate       (isolate[u]),
        .there         (accel_there),
        .closed        (accel_closed[u]),
        .identification(accel_identification[u]),
        .reg_valid,
        .reg_ready,
        .reg_write,
        .reg_addr,
        .reg_wdata,
        .reg_wstrb,
        .reg_rdata,
        .load_valid,
        .load_addr,
        .load_data,
        .job_valid,
        .job_ready,
        .job,
        .s_axis_tvalid (accel_tvalid[u]),
        .s_axis_tready (accel_tready),
        .s_axis_tdata  (accel_tdata),
        .s_axis_tkeep  (accel_tkeep),
        .s_axis_tlast  (accel_tlast),
        .irq           (accel_irq[u]),
        .idle          (accel_idle[u])
    );
    assign accel_asked[u] = reg_valid || load_valid || job_valid || accel_tvalid[u];

    // Packets alone, and a cycle late, which no counter minds.
    wire rx_packets = rx_tvalid[u] && rx_tuser[u].port != PORT_DRAM;
    wire tx_packets = tx_tvalid[u] && (tx_tuser[u].port != PORT_DRAM || tx_tuser[u].to_unit);
    logic [$clog2(KEEP_W):0] rx_bytes, tx_bytes;
    keep_bytes #(.KEEP_W(KEEP_W)) u_rx_bytes (.keep(rx_tkeep[u]), .bytes(rx_bytes));
    keep_bytes #(.KEEP_W(KEEP_W)) u_tx_bytes (.keep(tx_tkeep[u]), .bytes(tx_bytes));
    always_ff @(posedge clk) begin
      rx_traffic[u] <= traffic(rx_packets, rx_tready[u], rx_tlast[u], rx_bytes);
      tx_traffic[u] <= traffic(tx_packets, tx_tready[u], tx_tlast[u], tx_bytes);
    end
  end

  rpu_broadcast #(
      .UNITS(UNITS)
  ) u_broadcast (
      .clk,
      .rst,
      .asleep (core_rst),
      .s_valid(broadcast_valid),
      .s_ready(broadcast_ready),
      .s_word (broadcast),
      .m_valid(message_valid),
      .m_ready(message_ready),
      .m_word (message),
      .idle   (broadcast_idle)
  );

  rpu_control #(
      .DATA_W(DATA_W),
      .UNITS(UNITS),
      .SLOTS(SLOTS),
      .IMEM_KB(IMEM_KB),
      .DMEM_KB(DMEM_KB),
      .PMEM_KB(PMEM_KB)
  ) u_control (
      .clk,
      .rst,
      .axil_req,
      .axil_rsp,
      .settings,
      .table_write,
      .source_event,
      .unit_event,
      .unit_status,
      .out_dropped,
      .read_event,
      .write_event,
      .core_rst,
      .poke,
      .evict,
      .isolate,
      .accel_closed,
      .accel_identification,
      .dram_error,
      .debug_in,
      .debug_out,
      .core_status,
      .error_addr,
      .error_pc,
      .program_counter,
      .slot_bytes,
      .too_long,
      .unit_idle,
      .rx_traffic,
      .tx_traffic,
      .host_valid,
      .host_ready,
      .host_write,
      .host_addr,
      .host_wdata,
      .host_rvalid,
      .host_rdata,
      .debug_valid,
      .debug_ready,
      .debug_write,
      .debug_addr,
      .debug_wdata,
      .debug_rdata,
      .idle        (control_idle)
  );

  assign idle = fabric_idle && control_idle && broadcast_idle && dram_idle && unit_idle == '1 && accel_idle == '1
      && rx_tvalid == '0;

  always_comb begin
    wake_ns = NEVER;
    for (int u = 0; u < UNITS; u++)
      if (watch[u] && unit_wake_ns[u] < wake_ns) wake_ns = unit_wake_ns[u];
  end

endmodule
