// SPDX-License-Identifier: Apache-2.0
// The filter engine: ports 0 and 1 pass through to each other, N cores run classic-BPF programs on what passes, and
// what a filter accepts comes out at the monitor port in order of arrival.
//
// Passthrough latency: 1 cycle, whatever the filters do; its only backpressure is that of the port it sends to, or,
// with flow_control on, the wait for a core before a frame's first beat. A frame that no core can take passes
// uninspected.
// Conservation: packets = inspected + uninspected + in flight; accepted = forwarded + monitor_dropped + in flight.
//
//  ports 0, 1 -+-> stream_reg -> ports 1, 0
//              +-> filter_tap -> bpf_core x CORES -- verdicts --> filter_order -+-> filter_monitor -> monitor port
//                      ^           +-- rows, values --------------------------- | ----^
//                filter_dispatch: core                                          +-> measure_counters
module filter_engine
  import bpf_pkg::*;
  import filter_pkg::*;
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CORES = 8,
    parameter int unsigned PACKET_KB = 128,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 65600,
    parameter bit          GATED = 1'b0  // clock gates: see clock_gate
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic [63:0]                        time_ns,

    input  logic [1:0]                         rx_tvalid,
    output logic [1:0]                         rx_tready,
    input  logic [1:0][DATA_W-1:0]             rx_tdata,
    input  logic [1:0][DATA_W/8-1:0]           rx_tkeep,
    input  logic [1:0]                         rx_tlast,
    input  rx_meta_t [1:0]                     rx_tuser,

    output logic [2:0]                         tx_tvalid,   // port 2: the monitor
    input  logic [2:0]                         tx_tready,
    output logic [2:0][DATA_W-1:0]             tx_tdata,
    output logic [2:0][DATA_W/8-1:0]           tx_tkeep,
    output logic [2:0]                         tx_tlast,
    output filter_user_t [2:0]                 tx_tuser,
    output logic [LEN_W-1:0]                   monitor_len, // bytes of the frame at the monitor port, on every beat

    input  load_t                              load,
    input  logic                               flow_control,
    input  logic                               active_set,
    output logic [SETS-1:0]                    set_busy,
    output logic                               ready,
    output events_t                            events,

    input  logic                               measure_read_req,
    input  logic [$clog2(MEASURES)-1:0]        measure_read_index,
    output logic                               measure_read_done,
    output logic [63:0]                        measure_read_packets,
    output logic [63:0]                        measure_read_bytes,

    output logic                               idle
);

  localparam int unsigned CORE_W = CORES > 1 ? $clog2(CORES) : 1;

  if (CORES < 1 || CORES > 64) begin : gen_bad_cores
    $fatal(1, "filter_engine: CORES must be 1 to 64, not %0d", CORES);
  end

  // ---------------------------------------------------------------------------------------------- passthrough and taps
  typedef struct packed {
    rx_meta_t            meta;
    logic                last;
    logic [DATA_W/8-1:0] keep;
    logic [DATA_W-1:0]   data;
  } beat_t;

  logic [1:0] sop, offered, start, beat, held, slice_ready;
  logic [1:0][CORE_W-1:0] offered_core;
  logic [1:0][CORES-1:0] tap_valid;
  logic [1:0][DATA_W-1:0] tap_data;
  logic [1:0] tap_last;
  packet_t [1:0] tap_packet;
  ingress_events_t [1:0] tap_events;

  logic [1:0] in_tvalid, pass_idle, tap_idle;
  for (genvar port = 0; port < 2; port++) begin : gen_port
    logic port_clk;
    clock_gate #(
        .GATED(GATED),
        .WATCHED($bits(ingress_events_t) + CORES + 4)
    ) u_gate (
        .clk,
        .rst,
        .work   (rx_tvalid[port] || !pass_idle[port] || !tap_idle[port]),
        .watched({slice_ready[port], tx_tvalid[1-port], sop[port], tap_valid[port], tap_events[port], tap_idle[port]}),
        .gated  (port_clk)
    );
    stream_whole u_whole (
        .clk(port_clk),
        .rst,
        .s_valid(rx_tvalid[port]),
        .s_ready(rx_tready[port]),
        .s_last (rx_tlast[port]),
        .m_valid(in_tvalid[port]),
        .m_ready(slice_ready[port] && !held[port])
    );

    assign held[port]  = flow_control && sop[port] && !offered[port];
    assign beat[port]  = in_tvalid[port] && slice_ready[port] && !held[port];
    assign start[port]     = beat[port] && sop[port] && offered[port];

    beat_t out;
    stream_reg #(
        .WIDTH($bits(beat_t))
    ) u_pass (
        .clk(port_clk),
        .rst,
        .s_valid(in_tvalid[port] && !held[port]),
        .s_ready(slice_ready[port]),
        .s_data (beat_t'{rx_tuser[port], rx_tlast[port], rx_tkeep[port], rx_tdata[port]}),
        .m_valid(tx_tvalid[1-port]),
        .m_ready(tx_tready[1-port]),
        .m_data (out),
        .idle   (pass_idle[port])
    );
    assign tx_tdata[1-port] = out.data;
    assign tx_tkeep[1-port] = out.keep;
    assign tx_tlast[1-port] = out.last;
    always_comb begin
      tx_tuser[1-port]               = '0;
      tx_tuser[1-port].meta.error    = out.meta.error;
      tx_tuser[1-port].meta.cut      = out.meta.cut;
      tx_tuser[1-port].meta.wire_len = out.meta.wire_len;
      tx_tuser[1-port].meta.port     = 8'(port);
    end

    filter_tap #(
        .DATA_W(DATA_W),
        .MAX_FRAME(MAX_FRAME),
        .CORES(CORES)
    ) u_tap (
        .clk(port_clk),
        .rst,
        .beat        (beat[port]),
        .data        (rx_tdata[port]),
        .keep        (rx_tkeep[port]),
        .last        (rx_tlast[port]),
        .meta        (rx_tuser[port]),
        .sop         (sop[port]),
        .offered     (offered[port]),
        .offered_core(CORES'(1) << offered_core[port]),
        .active_set,
        .core_valid  (tap_valid[port]),
        .core_data   (tap_data[port]),
        .core_last   (tap_last[port]),
        .core_packet (tap_packet[port]),
        .events      (tap_events[port]),
        .idle        (tap_idle[port])
    );

`ifndef SYNTHESIS
    stream_contract #(
        .DATA_W(DATA_W),
        .STAYS (1'b0)
    ) u_contract (
        .clk(port_clk),
        .rst,
        .tvalid(rx_tvalid[port]),
        .tready(rx_tready[port]),
        .tdata (rx_tdata[port]),
        .tkeep (rx_tkeep[port]),
        .tlast (rx_tlast[port])
    );
`endif
  end

  logic [CORES-1:0] core_ready, core_listed, core_idle;
  logic dispatch_idle, measure_idle;
  filter_dispatch #(
      .CORES(CORES)
  ) u_dispatch (
      .clk,
      .rst,
      .core_ready,
      .core_listed,
      .wanted      (in_tvalid & sop & slice_ready),
      .taken       (start),
      .offered,
      .offered_core,
      .idle        (dispatch_idle)
  );

  // ------------------------------------------------------------------------------------------------------------- cores
  logic [CORES-1:0] finished_valid, pop, release_en, forward_req, forward_grant, slot_used, instr_done;
  finished_t finished[CORES];
  logic [ROW_W-1:0] release_row, forward_row;
  logic [ID_W-1:0] release_id, value_id;
  logic [SLOT_W-1:0] value_slot;
  logic [CORES-1:0][31:0] value_data;
  logic [CORES-1:0][DATA_W-1:0] forward_data;

  logic [$clog2(THREADS)-1:0] turn_q;
  always_ff @(posedge clk) turn_q <= rst ? '0 : turn_q + 1'b1;

  for (genvar i = 0; i < CORES; i++) begin : gen_core
    logic in_valid, in_last;
    logic [DATA_W-1:0] in_data;
    packet_t in_packet;
    always_comb begin
      {in_last, in_data, in_packet} = 'x;  // nobody looks then
      in_valid = tap_valid[0][i] || tap_valid[1][i];
      if (in_valid) begin
        in_last   = tap_last[tap_valid[1][i]];
        in_data   = tap_data[tap_valid[1][i]];
        in_packet = tap_packet[tap_valid[1][i]];
      end
    end
    assign core_listed[i] = in_valid && in_last;

    logic core_clk;
    clock_gate #(
        .GATED(GATED),
        .WATCHED($bits(finished_t) + 5)
    ) u_gate (
        .clk,
        .rst,
        .work   (in_valid || load.instr_we || load.program_we || !core_idle[i]),
        .watched({core_ready[i], finished_valid[i], finished[i], slot_used[i], instr_done[i], core_idle[i]}),
        .gated  (core_clk)
    );
    bpf_core #(
        .DATA_W(DATA_W),
        .PACKET_KB(PACKET_KB),
        .IMEM_WORDS(IMEM_WORDS),
        .MAX_FRAME(MAX_FRAME)
    ) u_core (
        .clk(core_clk),
        .rst,
        .turn(turn_q),
        .load,
        .in_ready      (core_ready[i]),
        .in_valid,
        .in_data,
        .in_last,
        .in_packet,
        .finished_valid(finished_valid[i]),
        .finished      (finished[i]),
        .pop           (pop[i]),
        .release_en    (release_en[i]),
        .release_row,
        .release_id,
        .forward_req   (forward_req[i]),
        .forward_row,
        .forward_grant (forward_grant[i]),
        .forward_data  (forward_data[i]),
        .value_id,
        .value_slot,
        .value_data    (value_data[i]),
        .slot_used     (slot_used[i]),
        .instr_done    (instr_done[i]),
        .idle          (core_idle[i])
    );
  end

  // -------------------------------------------------------------------------------------------------- order of arrival
  logic out_valid, out_port, monitor_ready, measure_wait, order_idle;
  finished_t out;
  logic [CORE_W-1:0] out_core;
  logic [63:0] out_time_ns;

  filter_order #(
      .CORES(CORES)
  ) u_order (
      .clk,
      .rst,
      .arrived     (start),
      .arrived_core(offered_core),
      .arrived_set (active_set),
      .time_ns,
      .finished_valid,
      .finished,
      .pop,
      .stall       (!monitor_ready || measure_wait),
      .out_valid,
      .out_finished(out),
      .out_core,
      .out_port,
      .out_time_ns,
      .set_busy,
      .idle        (order_idle)
  );

  // ---------------------------------------------------------------------------------------------- monitor, measurement
  logic monitor_idle, forwarded, monitor_dropped;
  logic [BYTES_W-1:0] forwarded_bytes;

  logic monitor_clk;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(2 * CORES + 5)
  ) u_monitor_gate (
      .clk,
      .rst,
      .work   ((out_valid && out.verdict.matched != 0) || !monitor_idle),
      .watched({forward_req, release_en, monitor_ready, tx_tvalid[2], forwarded, monitor_dropped, monitor_idle}),
      .gated  (monitor_clk)
  );
  filter_monitor #(
      .DATA_W(DATA_W),
      .CORES(CORES),
      .STORE_KB(PACKET_KB)
  ) u_monitor (
      .clk(monitor_clk),
      .rst,
      .flow_control,
      .in_valid   (out_valid && out.verdict.matched != 0),
      .in_ready   (monitor_ready),
      .in_finished(out),
      .in_core    (out_core),
      .in_port    (out_port),
      .in_time_ns (out_time_ns),
      .forward_req,
      .forward_row,
      .forward_grant,
      .forward_data,
      .value_id,
      .value_slot,
      .value_data,
      .release_en,
      .release_row,
      .release_id,
      .tx_tvalid  (tx_tvalid[2]),
      .tx_tready  (tx_tready[2]),
      .tx_tdata   (tx_tdata[2]),
      .tx_tkeep   (tx_tkeep[2]),
      .tx_tlast   (tx_tlast[2]),
      .tx_tuser   (tx_tuser[2]),
      .tx_len     (monitor_len),
      .forwarded,
      .forwarded_bytes,
      .dropped    (monitor_dropped),
      .idle       (monitor_idle)
  );

  logic [SETS-1:0][PROGRAMS-1:0] measures_q;  // slots that hold a measurement
  always_ff @(posedge clk) begin
    if (load.program_we) measures_q[load.program_addr[2]][load.program_addr[1:0]] <= load.prog.mode == MEASURE;
    if (rst) measures_q <= '0;
  end
  wire in_range = out.verdict.measure < MEASURE_W'(MEASURES);
  wire measured = out_valid && !out.pkt.bad && measures_q[out.pkt.set] != 0;

  logic measure_clk;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(132)
  ) u_measure_gate (
      .clk,
      .rst,
      .work   (measured || measure_read_req || !measure_idle),
      .watched({ready, measure_wait, measure_read_done, measure_read_packets, measure_read_bytes, measure_idle}),
      .gated  (measure_clk)
  );
  measure_counters #(
      .BYTES_W(WIRE_LEN_W)
  ) u_measure (
      .clk(measure_clk),
      .rst,
      .ready,
      .count_valid (measured && in_range),
      .count_index (out.verdict.measure[MEASURE_W-2:0]),
      .count_bytes (out.pkt.wire_len),
      .read_req    (measure_read_req),
      .read_index  (measure_read_index),
      .read_wait   (measure_wait),
      .read_done   (measure_read_done),
      .read_packets(measure_read_packets),
      .read_bytes  (measure_read_bytes),
      .idle        (measure_idle)
  );

  // ------------------------------------------------------------------------------------------------------------ events
  always_ff @(posedge clk) begin
    events <= '0;
    for (int port = 0; port < 2; port++) begin
      events.ingress[port]      <= tap_events[port];
      events.ingress[port].held <= held[port] && in_tvalid[port];
    end
    events.inspected            <= out_valid;
    events.accepted             <= out_valid && out.verdict.matched != 0;
    events.matched              <= out_valid ? out.verdict.matched : '0;
    events.errors               <= out_valid ? out.verdict.errors : '0;
    events.bytes                <= out.pkt.wire_len;
    events.forwarded            <= forwarded;
    events.forwarded_bytes      <= forwarded_bytes;
    events.monitor_dropped      <= monitor_dropped;
    events.slots_used           <= SLOTS_W'($countones(slot_used));
    events.instructions         <= SLOTS_W'($countones(instr_done));
    events.measure_out_of_range <= measured && !in_range;
    if (rst) events <= '0;
  end

  wire events_idle = !(events.ingress[0].packet || events.ingress[1].packet || events.inspected || events.forwarded
      || events.monitor_dropped);
  // A packet that comes when idle has been high finds a core, even if time stood still meanwhile.
  logic cores;  // all of them are idle
  always_comb begin
    idle  = rx_tvalid == '0 && order_idle;
    cores = 'x;  // nobody looks then
    if (idle) begin
      cores = core_idle == '1;
      idle  = cores && pass_idle == '1 && tap_idle == '1 && dispatch_idle && monitor_idle && measure_idle
          && events_idle;
    end
  end

endmodule
