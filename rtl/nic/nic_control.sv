// SPDX-License-Identifier: Apache-2.0
// The registers of the NIC (regs/nic.rdl): operations on the table of stations, settings of functions, counters. After
// a reset all functions are disabled, and all indirection tables set to pair 0. Accesses wait for that, and for
// operations.
module nic_control
  import axi_pkg::*;
  import nic_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned PORTS = 2,
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned STATIONS = 1024
) (
    input  logic                             clk,
    input  logic                             rst,
    input  axil_req_t                        axil_req,
    output axil_rsp_t                        axil_rsp,

    output logic [MAX_PORTS-1:0]             enabled,
    output logic [MAX_PORTS-1:0]             hold,
    output vf_write_t                        vf_write,
    output pair_write_t                      pair_write,
    output logic [rpu_fabric_pkg::KEY_W-1:0] hash_key,
    output logic                             op_valid,
    input  logic                             op_ready,
    output table_op_t                        op,
    output station_t                         op_station,
    output logic [VF_W-1:0]                  op_vf,
    input  logic                             op_done,
    input  table_answer_t                    op_answer,

    input  port_event_t [PORTS-1:0]          port_told,
    input  path_event_t [1:0]                path_told,
    output logic                             idle
);

  nic_regs_pkg::nic_regs__in_t regs_in;
  nic_regs_pkg::nic_regs__out_t regs_out;

  logic wipe_q, starts_q, operates_q;
  wire starts = regs_out.station.start.insert.value || regs_out.station.start.change.value ||
      regs_out.station.start.remove.value;
  wire busy = wipe_q || starts || starts_q || operates_q;
  axil_rsp_t regs_rsp;
  always_comb begin
    axil_rsp         = regs_rsp;
    axil_rsp.awready = regs_rsp.awready && !busy;
    axil_rsp.wready  = regs_rsp.wready && !busy;
    axil_rsp.arready = regs_rsp.arready && !busy;
  end

  nic_regs u_regs (
      .clk,
      .rst,
      .s_axil_awaddr (axil_req.awaddr[15:0]),
      .s_axil_awprot (axil_req.awprot),
      .s_axil_awvalid(axil_req.awvalid && !busy),
      .s_axil_awready(regs_rsp.awready),
      .s_axil_wdata  (axil_req.wdata),
      .s_axil_wstrb  (axil_req.wstrb),
      .s_axil_wvalid (axil_req.wvalid && !busy),
      .s_axil_wready (regs_rsp.wready),
      .s_axil_bresp  (regs_rsp.bresp),
      .s_axil_bvalid (regs_rsp.bvalid),
      .s_axil_bready (axil_req.bready),
      .s_axil_araddr (axil_req.araddr[15:0]),
      .s_axil_arprot (axil_req.arprot),
      .s_axil_arvalid(axil_req.arvalid && !busy),
      .s_axil_arready(regs_rsp.arready),
      .s_axil_rdata  (regs_rsp.rdata),
      .s_axil_rresp  (regs_rsp.rresp),
      .s_axil_rvalid (regs_rsp.rvalid),
      .s_axil_rready (axil_req.rready),
      .hwif_in (regs_in),
      .hwif_out(regs_out)
  );

  // ---------------------------------------------------------------------------------------------- functions and tables
  localparam int unsigned WIPE_W = VF_W + HASH_W;
  localparam int unsigned LAST = PAIRS == 1 ? FUNCTIONS - 1 : (FUNCTIONS << HASH_W) - 1;

  logic [WIPE_W-1:0] wipe_at_q;
  logic set_q, pair_set_q;

  always_ff @(posedge clk) begin
    wipe_at_q  <= wipe_at_q + 1'b1;
    if (32'(wipe_at_q) == LAST) wipe_q <= 1'b0;
    set_q      <= regs_out.vf.setting.enabled.swmod;
    pair_set_q <= regs_out.vf.indirection.entry.swmod;
    if (rst) begin
      wipe_at_q  <= '0;
      wipe_q     <= 1'b1;
      set_q      <= 1'b0;
      pair_set_q <= 1'b0;
    end
  end

  always_comb begin
    vf_write.valid          = set_q && 32'(regs_out.vf.select.item.value) < FUNCTIONS;
    vf_write.number         = regs_out.vf.select.item.value;
    vf_write.vf.enabled     = regs_out.vf.setting.enabled.value;
    vf_write.vf.promiscuous = regs_out.vf.setting.promiscuous.value;
    vf_write.vf.uplink      = regs_out.vf.setting.uplink.value;
    vf_write.vf.vlan        = regs_out.vf.setting.vlan.value;
    pair_write = '{
        valid: pair_set_q && 32'(regs_out.vf.select.item.value) < FUNCTIONS,
        number: regs_out.vf.select.item.value,
        hash: regs_out.vf.indirection.entry.value,
        pair: regs_out.vf.indirection.pair.value
    };
    if (32'(vf_write.vf.uplink) >= PORTS) vf_write.vf.uplink = '0;
    if (32'(pair_write.pair) >= PAIRS) pair_write.pair = '0;
    if (wipe_q) begin
      vf_write   = '{valid: 32'(wipe_at_q) < FUNCTIONS, number: wipe_at_q[VF_W-1:0], vf: '0};
      pair_write = '{valid: 1'b1, number: wipe_at_q[WIPE_W-1:HASH_W], hash: wipe_at_q[HASH_W-1:0], pair: '0};
    end
  end

  // The registers say what the operation is about: they don't change while it is under way.
  table_op_t op_q;
  table_answer_t answer_q;
  always_ff @(posedge clk) begin
    starts_q <= starts || (starts_q && !op_ready);
    if (starts) op_q <= REMOVE;
    if (regs_out.station.start.change.value) op_q <= CHANGE;
    if (regs_out.station.start.insert.value) op_q <= INSERT;
    if (starts_q && op_ready) operates_q <= 1'b1;
    if (op_done) begin
      operates_q <= 1'b0;
      answer_q   <= op_answer;
    end
    if (rst) begin
      starts_q   <= 1'b0;
      operates_q <= 1'b0;
    end
  end
  assign op_valid        = starts_q;
  assign op              = op_q;
  assign op_station.port = regs_out.station.mac_high.port.value;
  assign op_station.vlan = regs_out.station.mac_high.vlan.value;
  assign op_station.mac  = {regs_out.station.mac_high.mac.value, regs_out.station.mac_low.value.value};
  assign op_vf           = regs_out.station.owner.vf.value;
  assign enabled         = regs_out.ports.enabled.value;
  assign hold            = regs_out.ports.hold.value;

  always_comb begin
    regs_in                            = '{default: '0};
    regs_in.sizes.ports.next           = 4'(PORTS);
    regs_in.sizes.pairs.next           = 4'(PAIRS);
    regs_in.sizes.functions.next       = 16'(FUNCTIONS);
    regs_in.stations.value.next        = STATIONS;
    regs_in.station.answer.result.next = answer_q;
    for (int unsigned i = 0; i < 10; i++) hash_key[32*(9-i)+:32] = regs_out.hash_key[i].value.value;
    for (int unsigned i = 0; i < PORTS; i++) begin
      regs_in.port[i].received.count.incr = port_told[i].received;
      regs_in.port[i].bad.count.incr      = port_told[i].bad;
      regs_in.port[i].no_room.count.incr  = port_told[i].dropped;
      regs_in.port[i].sent.count.incr     = port_told[i].sent;
    end
    for (int unsigned i = 0; i < MAX_PORTS; i++) begin
      regs_in.port[i].received.count.incrvalue = 1'b1;
      regs_in.port[i].bad.count.incrvalue      = 1'b1;
      regs_in.port[i].no_room.count.incrvalue  = 1'b1;
      regs_in.port[i].sent.count.incrvalue     = 1'b1;
    end
    for (int unsigned i = 0; i < 2; i++) begin
      regs_in.path[i].received.count.incr          = path_told[i].received;
      regs_in.path[i].received.count.incrvalue     = 1'b1;
      regs_in.path[i].extra.count.incr             = path_told[i].extra;
      regs_in.path[i].extra.count.incrvalue        = 1'b1;
      regs_in.path[i].to_functions.count.incr      = path_told[i].to_vf;
      regs_in.path[i].to_functions.count.incrvalue = 1'b1;
      regs_in.path[i].to_ports.count.incr          = path_told[i].to_port;
      regs_in.path[i].to_ports.count.incrvalue     = 1'b1;
      regs_in.path[i].dropped.count.incr           = path_told[i].dropped;
      regs_in.path[i].dropped.count.incrvalue      = 1'b1;
    end
  end

  assign idle = !busy && !set_q && !pair_set_q && port_told == '0 && path_told == '0;

endmodule
