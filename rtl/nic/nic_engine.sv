// SPDX-License-Identifier: Apache-2.0
// The NIC: PORTS Ethernet ports, and the functions of a host_engine, whose frames come in one stream and go in another.
// Each direction has a way of its own (nic_path): what waits for an Ethernet port's link delays no frame from one.
// Latency: store and forward, see ingress_port, nic_path and rpu_port_tx. Throughput: 1 beat a cycle each way, of all
// ports together; what functions send to each other goes both ways.
// Backpressure: rx_tready as in ingress_port. from_host_tready is low while frames from functions have no room: a
// port's link that is slower than what they send holds all of them up.
module nic_engine
  import axi_pkg::*;
  import headrace_pkg::tx_meta_t;
  import nic_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned PORTS = 2,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned FUNCTIONS = 16,
    parameter int unsigned PAIRS = 1,
    parameter int unsigned STATIONS = 1024,
    parameter int unsigned STORE_KB = 32,    // of each port and way
    parameter bit GATED = 1'b0,              // clock gates: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8,
    localparam int unsigned QUEUES = FUNCTIONS * PAIRS,
    localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1
) (
    input  logic                         clk,
    input  logic                         rst,
    input  logic [63:0]                  time_ns,
    input  axil_req_t                    axil_req,
    output axil_rsp_t                    axil_rsp,

    input  logic [PORTS-1:0]             rx_tvalid,
    output logic [PORTS-1:0]             rx_tready,
    input  logic [PORTS-1:0][DATA_W-1:0] rx_tdata,
    input  logic [PORTS-1:0][KEEP_W-1:0] rx_tkeep,
    input  logic [PORTS-1:0]             rx_tlast,
    input  logic [PORTS-1:0]             rx_error,          // with the last beat
    output logic [PORTS-1:0]             tx_tvalid,
    input  logic [PORTS-1:0]             tx_tready,
    output logic [PORTS-1:0][DATA_W-1:0] tx_tdata,
    output logic [PORTS-1:0][KEEP_W-1:0] tx_tkeep,
    output logic [PORTS-1:0]             tx_tlast,
    output tx_meta_t [PORTS-1:0]         tx_tuser,

    input  logic                         from_host_tvalid,
    output logic                         from_host_tready,
    input  logic [DATA_W-1:0]            from_host_tdata,
    input  logic [KEEP_W-1:0]            from_host_tkeep,
    input  logic                         from_host_tlast,
    input  logic [QUEUE_W-1:0]           from_host_queue,
    output logic                         to_host_tvalid,
    input  logic                         to_host_tready,
    output logic [DATA_W-1:0]            to_host_tdata,
    output logic [KEEP_W-1:0]            to_host_tkeep,
    output logic                         to_host_tlast,
    output logic [QUEUE_W-1:0]           to_host_queue,
    output logic                         idle
);

  if (PORTS < 1 || PORTS > MAX_PORTS) begin : gen_bad_ports
    $fatal(1, "nic_engine: PORTS must be 1 to %0d, not %0d", MAX_PORTS, PORTS);
  end
  if (STORE_KB < 16 || STORE_KB > 1024 || 2 ** $clog2(STORE_KB) != STORE_KB) begin : gen_bad_store_kb
    $fatal(1, "nic_engine: STORE_KB must be a power of two from 16 to 1024, not %0d", STORE_KB);
  end

  localparam int unsigned DEPTH = STORE_KB * 1024 / KEEP_W;  // no frame that gets so far has more beats

  typedef struct packed {
    logic              last;
    logic [KEEP_W-1:0] keep;
    logic [DATA_W-1:0] data;
  } beat_t;

  // Ways: 0 from Ethernet ports, 1 from functions
  logic [1:0] in_valid, in_ready, out_valid, out_ready, op_readies, op_dones, path_idle;
  beat_t [1:0] in_beat, out_beat;
  origin_t [1:0] origin;
  copy_t [1:0] copy;
  path_event_t [1:0] path_told;

  // --------------------------------------------------------------------------------------------------------- registers
  logic [MAX_PORTS-1:0] enabled, hold;
  vf_write_t vf_write;
  pair_write_t pair_write;
  logic [rpu_fabric_pkg::KEY_W-1:0] hash_key;
  logic op_valid, control_idle;
  table_op_t op;
  station_t op_station;
  logic [VF_W-1:0] op_vf;
  table_answer_t [1:0] op_answers;
  port_event_t [PORTS-1:0] port_told;
  logic control_clk;
  clock_gate #(
      .GATED(GATED),
      .HOLD(4),  // between a register's access and its answer
      .WATCHED($bits(axil_rsp_t) + 4)
  ) u_control_gate (
      .clk,
      .rst,
      .work   (!axil_quiet(axil_req, axil_rsp) || !control_idle),
      .watched({axil_rsp, vf_write.valid, pair_write.valid, op_valid, control_idle}),
      .gated  (control_clk)
  );

  // Both ways have a table, with the same operations from the same reset on: they answer the same at the same time.
  nic_control #(
      .PORTS(PORTS),
      .FUNCTIONS(FUNCTIONS),
      .PAIRS(PAIRS),
      .STATIONS(STATIONS)
  ) u_control (
      .clk(control_clk),
      .rst,
      .axil_req,
      .axil_rsp,
      .enabled,
      .hold,
      .vf_write,
      .pair_write,
      .hash_key,
      .op_valid,
      .op_ready (op_readies[0]),
      .op,
      .op_station,
      .op_vf,
      .op_done  (op_dones[0]),
      .op_answer(op_answers[0]),
      .port_told,
      .path_told,
      .idle     (control_idle)
  );

  // ---------------------------------------------------------------------------------------------------- Ethernet ports
  logic [PORTS-1:0] port_valid, port_ready, send_valid, send_ready, ingress_idle, egress_idle;
  logic [PORTS-1:0][DATA_W-1:0] port_data;
  logic [PORTS-1:0][KEEP_W-1:0] port_keep;
  logic [PORTS-1:0] port_last;
  logic [PORTS-1:0][PORT_W-1:0] numbers;
  logic [PORT_W-1:0] in_port;
  logic ports_idle;

  for (genvar p = 0; p < PORTS; p++) begin : gen_port
    // verilator lint_off UNUSEDSIGNAL
    switch_pkg::received_t received;
    // verilator lint_on UNUSEDSIGNAL

    assign numbers[p] = PORT_W'(p);

    logic port_clk;  // of both its ways
    clock_gate #(
        .GATED(GATED),
        .WATCHED(6)
    ) u_gate (
        .clk,
        .rst,
        .work   (rx_tvalid[p] || !ingress_idle[p] || send_valid[p] || !egress_idle[p]),
        .watched({rx_tready[p], port_valid[p], received.taken, tx_tvalid[p], ingress_idle[p], egress_idle[p]}),
        .gated  (port_clk)
    );

    ingress_port #(
        .DATA_W(DATA_W),
        .STORE_KB(STORE_KB)
    ) u_ingress (
        .clk(port_clk),
        .rst,
        .receiving    (enabled[p]),
        .hold         (hold[p]),
        .s_axis_tvalid(rx_tvalid[p]),
        .s_axis_tready(rx_tready[p]),
        .s_axis_tdata (rx_tdata[p]),
        .s_axis_tkeep (rx_tkeep[p]),
        .s_axis_tlast (rx_tlast[p]),
        .s_error      (rx_error[p]),
        .m_axis_tvalid(port_valid[p]),
        .m_axis_tready(port_ready[p]),
        .m_axis_tdata (port_data[p]),
        .m_axis_tkeep (port_keep[p]),
        .m_axis_tlast (port_last[p]),
        .received,
        .idle         (ingress_idle[p])
    );

    rpu_port_tx #(
        .DATA_W(DATA_W),
        .STORE_KB(STORE_KB),
        .PORT(p)
    ) u_egress (
        .clk(port_clk),
        .rst,
        .time_ns,
        .s_axis_tvalid(send_valid[p]),
        .s_axis_tready(send_ready[p]),
        .s_axis_tdata (out_beat[1].data),
        .s_axis_tkeep (out_beat[1].keep),
        .s_axis_tlast (out_beat[1].last),
        .s_cut        (1'b0),
        .tx_tvalid    (tx_tvalid[p]),
        .tx_tready    (tx_tready[p]),
        .tx_tdata     (tx_tdata[p]),
        .tx_tkeep     (tx_tkeep[p]),
        .tx_tlast     (tx_tlast[p]),
        .tx_tuser     (tx_tuser[p]),
        .dropped      (),                  // no frame is longer than the store
        .idle         (egress_idle[p])
    );

    assign send_valid[p] = out_valid[1] && copy[1].to_port && 32'(copy[1].port) == p;
    assign port_told[p] = '{
            received: received.taken || received.errored,
            bad: received.errored,
            dropped: received.dropped,
            sent: tx_tvalid[p] && tx_tready[p] && tx_tlast[p]
        };
  end

  logic [1:0] way_clk;  // of way 0 and what comes in by ports; of way 1
  stream_arbiter #(
      .INPUTS(PORTS),
      .DATA_W(DATA_W),
      .USER_W(PORT_W)
  ) u_ports (
      .clk(way_clk[0]),
      .rst,
      .s_axis_tvalid(port_valid),
      .s_axis_tready(port_ready),
      .s_axis_tdata (port_data),
      .s_axis_tkeep (port_keep),
      .s_axis_tlast (port_last),
      .s_axis_tuser (numbers),
      .m_axis_tvalid(in_valid[0]),
      .m_axis_tready(in_ready[0]),
      .m_axis_tdata (in_beat[0].data),
      .m_axis_tkeep (in_beat[0].keep),
      .m_axis_tlast (in_beat[0].last),
      .m_axis_tuser (in_port),
      .idle         (ports_idle)
  );
  assign origin[0] = '{drop: 1'b0, from_vf: 1'b0, vf: '0, port: in_port};

  // --------------------------------------------------------------------------------------------------------- functions
  localparam int unsigned ADDR_W = FUNCTIONS > 1 ? $clog2(FUNCTIONS) : 1;

  wire [VF_W-1:0] sender = VF_W'(32'(from_host_queue) / PAIRS);
  // verilator lint_off UNUSEDSIGNAL
  vf_t vf;
  // verilator lint_on UNUSEDSIGNAL
  ram_dist #(
      .WIDTH($bits(vf_t)),
      .DEPTH(FUNCTIONS)
  ) u_senders (
      .clk(control_clk),
      .wr_en  (vf_write.valid),
      .wr_addr(vf_write.number[ADDR_W-1:0]),
      .wr_data(vf_write.vf),
      .rd_addr(sender[ADDR_W-1:0]),
      .rd_data(vf)
  );
  assign in_valid[1]      = from_host_tvalid;
  assign in_beat[1]       = '{last: from_host_tlast, keep: from_host_tkeep, data: from_host_tdata};
  assign from_host_tready = in_ready[1];
  assign origin[1]        = '{drop: !vf.enabled, from_vf: 1'b1, vf: sender, port: vf.uplink};

  for (genvar way = 0; way < 2; way++) begin : gen_way
    clock_gate #(
        .GATED(GATED),
        .WATCHED(5)
    ) u_gate (
        .clk,
        .rst,
        .work   (in_valid[way] || (way == 0 && (port_valid != '0 || !ports_idle)) || !path_idle[way] ||
                 op_valid || vf_write.valid || pair_write.valid),
        .watched({in_ready[way], out_valid[way], op_readies[way], op_dones[way], path_idle[way]}),
        .gated  (way_clk[way])
    );
    nic_path #(
        .DATA_W(DATA_W),
        .FUNCTIONS(FUNCTIONS),
        .PAIRS(PAIRS),
        .STATIONS(STATIONS),
        .DEPTH(DEPTH)
    ) u_path (
        .clk(way_clk[way]),
        .rst,
        .vf_write,
        .pair_write,
        .hash_key,
        .op_valid,
        .op_ready     (op_readies[way]),
        .op,
        .op_station,
        .op_vf,
        .op_done      (op_dones[way]),
        .op_answer    (op_answers[way]),
        .s_axis_tvalid(in_valid[way]),
        .s_axis_tready(in_ready[way]),
        .s_axis_tdata (in_beat[way].data),
        .s_axis_tkeep (in_beat[way].keep),
        .s_axis_tlast (in_beat[way].last),
        .s_origin     (origin[way]),
        .m_axis_tvalid(out_valid[way]),
        .m_axis_tready(out_ready[way]),
        .m_axis_tdata (out_beat[way].data),
        .m_axis_tkeep (out_beat[way].keep),
        .m_axis_tlast (out_beat[way].last),
        .m_copy       (copy[way]),
        .told         (path_told[way]),
        .idle         (path_idle[way])
    );
  end

  // To functions, from both ways
  logic [1:0] host_valid, host_ready;
  logic [1:0][QUEUE_W-1:0] queues;
  logic host_idle, host_clk;

  always_comb begin
    for (int unsigned way = 0; way < 2; way++) begin
      host_valid[way] = out_valid[way] && !copy[way].to_port;
      queues[way]     = QUEUE_W'(32'(copy[way].vf) * PAIRS + 32'(copy[way].pair));
    end
  end
  assign out_ready = {copy[1].to_port ? |(send_valid & send_ready) : host_ready[1], host_ready[0]};

  clock_gate #(
      .GATED(GATED),
      .WATCHED(2)
  ) u_host_gate (
      .clk,
      .rst,
      .work   (host_valid != '0 || !host_idle),
      .watched({to_host_tvalid, host_idle}),
      .gated  (host_clk)
  );
  stream_arbiter #(
      .INPUTS(2),
      .DATA_W(DATA_W),
      .USER_W(QUEUE_W)
  ) u_host (
      .clk(host_clk),
      .rst,
      .s_axis_tvalid(host_valid),
      .s_axis_tready(host_ready),
      .s_axis_tdata ({out_beat[1].data, out_beat[0].data}),
      .s_axis_tkeep ({out_beat[1].keep, out_beat[0].keep}),
      .s_axis_tlast ({out_beat[1].last, out_beat[0].last}),
      .s_axis_tuser (queues),
      .m_axis_tvalid(to_host_tvalid),
      .m_axis_tready(to_host_tready),
      .m_axis_tdata (to_host_tdata),
      .m_axis_tkeep (to_host_tkeep),
      .m_axis_tlast (to_host_tlast),
      .m_axis_tuser (to_host_queue),
      .idle         (host_idle)
  );

  assign idle = control_idle && &ingress_idle && &egress_idle && ports_idle && &path_idle && host_idle;

`ifndef SYNTHESIS
  logic checks;
  first_reset u_first_reset (.clk, .rst, .checks);

  always_ff @(posedge clk) begin
    if (checks) assert (op_readies != 2'b01 && op_readies != 2'b10 && op_dones != 2'b01 && op_dones != 2'b10)
      else $error("%m: the tables of both ways differ");
  end
`endif

endmodule
