// SPDX-License-Identifier: Apache-2.0
// An OpenFlow 1.3 switch: packets of all ports, one after the other, are parsed, looked up in TABLES flow tables, and
// copied, edited, to the ports, the host, or the parser again.
//
// Packets wait whole in their port's input store, then beat for beat in the editor's store until their copies are
// made; all parts keep them in order. They are dropped in full input stores, where flows or meters say so, and in full
// output queues.
// Throughput: a beat a cycle, a packet a cycle of one beat, one word of actions and one copy.
// Backpressure: none at rx, but where a port holds its link off.
//
//  ports -> ingress_port -----+
//  host --> packet_from_host -+-> stream_arbiter -+-> switch_parser -+---- beats --> the store of packet_editor
//  again ---------------------+                   |                  | fields, layers
//                                                 +---------> switch_join --> switch_table x TABLES -> action_processor
//                                                                     +--------------------------------^ | copies
//  ports <- egress_queue <-+                                                                             v
//  host <-- packet_fifo <--+-- egress_split <-- custom_actions (CUSTOM) <------------------------- packet_editor
//  again <- packet_fifo <--+
//  Beside action_processor: meter_bank, counter_bank. Registers: switch_control.
module switch_engine
  import axi_pkg::*;
  import headrace_pkg::tx_meta_t;
  import switch_pkg::*;
  import table_pkg::*;
#(
    parameter int unsigned PORTS = 8,
    parameter int unsigned DATA_W = 512,
    parameter int unsigned TABLES = 8,
    parameter int unsigned EXACT = 4096,
    parameter int unsigned TERNARY = 128,
    parameter int unsigned CHUNK_W = 5,
    parameter bit NARROW = 1'b0,
    parameter bit CUSTOM = 1'b1,            // custom actions: FIR filter and CRC
    parameter int unsigned EFFECTS = 256,
    parameter int unsigned PROGRAM_WORDS = 8192,
    parameter int unsigned GROUPS = 256,
    parameter int unsigned COUNTERS = 1024,
    parameter int unsigned METERS = 128,
    parameter int unsigned STORE_KB = 16,   // of a port's packets, each way
    parameter bit GATED = 1'b0,             // clock gates: see clock_gate
    localparam int unsigned KEEP_W = DATA_W / 8
) (
    input  logic                            clk,
    input  logic                            rst,
    input  logic     [63:0]                 time_ns,

    input  axil_req_t                       axil_req,
    output axil_rsp_t                       axil_rsp,

    input  logic     [PORTS-1:0]            rx_tvalid,
    output logic     [PORTS-1:0]            rx_tready,
    input  logic     [PORTS-1:0][DATA_W-1:0] rx_tdata,
    input  logic     [PORTS-1:0][KEEP_W-1:0] rx_tkeep,
    input  logic     [PORTS-1:0]            rx_tlast,
    input  logic     [PORTS-1:0]            rx_error,
    output logic     [PORTS-1:0]            tx_tvalid,
    input  logic     [PORTS-1:0]            tx_tready,
    output logic     [PORTS-1:0][DATA_W-1:0] tx_tdata,
    output logic     [PORTS-1:0][KEEP_W-1:0] tx_tkeep,
    output logic     [PORTS-1:0]            tx_tlast,
    output tx_meta_t [PORTS-1:0]            tx_tuser,

    input  logic                            from_host_valid,
    output logic                            from_host_ready,
    input  logic     [DATA_W-1:0]           from_host_data,
    input  logic     [KEEP_W-1:0]           from_host_keep,
    input  logic                            from_host_last,
    input  logic                            from_host_cut,
    output logic                            to_host_valid,
    input  logic                            to_host_ready,
    output logic     [DATA_W-1:0]           to_host_data,
    output logic     [KEEP_W-1:0]           to_host_keep,
    output logic                            to_host_last,

    output logic     [63:0]                 wake_ns,
    output logic                            idle
);

  if (PORTS < 1 || PORTS > PORTS_MAX) begin : gen_bad_ports
    $fatal(1, "switch_engine: PORTS must be 1 to %0d, not %0d", PORTS_MAX, PORTS);
  end
  if (TABLES < 1 || TABLES > TABLES_MAX) begin : gen_bad_tables
    $fatal(1, "switch_engine: TABLES must be 1 to %0d, not %0d", TABLES_MAX, TABLES);
  end

  localparam int unsigned INPUTS = PORTS + 2;  // then the host, and copies that come again
  localparam int unsigned HOST = PORTS;
  localparam int unsigned AGAIN = PORTS + 1;

  // -------------------------------------------------------------------------------------------------------- registers
  logic [PORTS_MAX-1:0] enabled, receiving, hold, live, quiet;
  logic [TABLES-1:0] flow_valid, flow_ready, flow_done, entry_read, entry_valid, looked_up, matched;
  logic [TABLES-1:0] expired_valid, expired_ready;
  flow_command_t flow;
  table_answer_t [TABLES-1:0] flow_answer;
  flow_count_t entry_count[TABLES];
  expiry_t [TABLES-1:0] expired;
  logic program_write, group_write, config_valid, config_ready, clear_valid, clear_ready;
  logic [PROGRAM_W-1:0] program_address, group_program;
  action_t program_word;
  logic [15:0] group_number, config_number, clear_number;
  logic [ENTRY_W-1:0] count_number;
  meter_t config_meter;
  logic action_read, action_read_valid, meter_read, meter_read_valid;
  logic [1:0][63:0] action_count;
  logic [2+2*METER_BANDS-1:0][63:0] meter_count;  // packets, bytes; of each band, too
  logic port_read;
  logic [63:0] port_count;
  logic [1:0] entered, finished;
  logic host_copied, host_taken, host_dropped, again_dropped, custom_dropped, from_host_dropped, control_idle;
  logic [3:0][31:0] fir_coefficients;
  logic fir_carry;

  logic control_clk;
  clock_gate #(
      .GATED(GATED),
      .HOLD(4),  // between a register's access and its answer
      .WATCHED($bits(axil_rsp_t) + 2 * TABLES + 7)
  ) u_control_gate (
      .clk,
      .rst,
      .work   (axil_req.awvalid || axil_req.wvalid || axil_req.arvalid || axil_rsp.bvalid || axil_rsp.rvalid ||
               !control_idle || |{looked_up, matched, expired_valid, flow_done} ||
               |{host_taken, host_copied, host_dropped, again_dropped, custom_dropped, from_host_dropped}),
      .watched({axil_rsp, flow_valid, entry_read, program_write, group_write, config_valid, clear_valid, action_read,
                meter_read, control_idle}),
      .gated  (control_clk)
  );
  switch_control #(
      .PORTS(PORTS),
      .TABLES(TABLES),
      .EXACT(EXACT),
      .TERNARY(TERNARY),
      .EFFECTS(EFFECTS),
      .PROGRAM_WORDS(PROGRAM_WORDS),
      .GROUPS(GROUPS),
      .COUNTERS(COUNTERS),
      .METERS(METERS),
      .NARROW(NARROW),
      .CUSTOM(CUSTOM)
  ) u_control (
      .clk(control_clk),
      .rst,
      .axil_req,
      .axil_rsp,
      .enabled,
      .receiving,
      .hold,
      .live,
      .quiet,
      .flow_valid,
      .flow_ready,
      .flow,
      .flow_done,
      .flow_answer,
      .program_write,
      .program_address,
      .program_word,
      .group_write,
      .group_number,
      .group_program,
      .meter_valid(config_valid),
      .meter_ready(config_ready),
      .meter_number(config_number),
      .meter(config_meter),
      .clear_valid,
      .clear_ready,
      .clear_number,
      .entry_read,
      .count_number,
      .entry_valid,
      .entry_count,
      .action_read,
      .action_valid(action_read_valid),
      .action_count,
      .meter_read,
      .meter_count_valid(meter_read_valid),
      .meter_count,
      .port_read,
      .port_count,
      .looked_up,
      .matched,
      .expired_valid,
      .expired_ready,
      .expired,
      .entered,
      .finished,
      .host_copied,
      .host_taken,
      .host_dropped,
      .resubmit_dropped(again_dropped),
      .custom_dropped,
      .from_host_dropped,
      .fir_coefficients,
      .fir_carry,
      .idle(control_idle)
  );

  // -------------------------------------------------------------------------------------------------------- what comes
  logic [INPUTS-1:0] in_valid, in_ready, in_last, in_idle;
  logic [INPUTS-1:0][DATA_W-1:0] in_data;
  logic [INPUTS-1:0][KEEP_W-1:0] in_keep;
  source_t [INPUTS-1:0] in_source;
  received_t [PORTS-1:0] received;
  logic [PORTS_MAX-1:0] port_valid;  // what goes
  logic [PORTS-1:0] out_idle;
  logic host_valid, again_valid, host_idle;

  for (genvar i = 0; i < PORTS; i++) begin : gen_ingress
    logic port_clk;  // of both ways and their counters
    clock_gate #(
        .GATED(GATED),
        .WATCHED($bits(received_t) + 5)
    ) u_gate (
        .clk,
        .rst,
        .work   (rx_tvalid[i] || !in_idle[i] || port_valid[i] || !out_idle[i]),
        .watched({received[i], rx_tready[i], in_valid[i], in_idle[i], tx_tvalid[i], out_idle[i]}),
        .gated  (port_clk)
    );
    ingress_port #(
        .DATA_W(DATA_W),
        .STORE_KB(STORE_KB)
    ) u_ingress (
        .clk(port_clk),
        .rst,
        .receiving    (receiving[i]),
        .hold         (hold[i]),
        .s_axis_tvalid(rx_tvalid[i]),
        .s_axis_tready(rx_tready[i]),
        .s_axis_tdata (rx_tdata[i]),
        .s_axis_tkeep (rx_tkeep[i]),
        .s_axis_tlast (rx_tlast[i]),
        .s_error      (rx_error[i]),
        .m_axis_tvalid(in_valid[i]),
        .m_axis_tready(in_ready[i]),
        .m_axis_tdata (in_data[i]),
        .m_axis_tkeep (in_keep[i]),
        .m_axis_tlast (in_last[i]),
        .received     (received[i]),
        .idle         (in_idle[i])
    );
    assign in_source[i] = '{in_port: PORT_W'(i + 1), default: '0};
  end

  logic host_clk;  // of both ways, and of what comes again
  clock_gate #(
      .GATED(GATED),
      .WATCHED(10)
  ) u_host_gate (
      .clk,
      .rst,
      .work   (from_host_valid || host_valid || again_valid || !in_idle[HOST] || !in_idle[AGAIN] || !host_idle),
      .watched({from_host_ready, to_host_valid, from_host_dropped, host_dropped, again_dropped,
                in_valid[AGAIN:HOST], in_idle[AGAIN:HOST], host_idle}),
      .gated  (host_clk)
  );
  packet_from_host #(
      .DATA_W(DATA_W),
      .STORE_KB(STORE_KB)
  ) u_from_host (
      .clk(host_clk),
      .rst,
      .s_axis_tvalid(from_host_valid),
      .s_axis_tready(from_host_ready),
      .s_axis_tdata (from_host_data),
      .s_axis_tkeep (from_host_keep),
      .s_axis_tlast (from_host_last),
      .s_axis_cut   (from_host_cut),
      .m_axis_tvalid(in_valid[HOST]),
      .m_axis_tready(in_ready[HOST]),
      .m_axis_tdata (in_data[HOST]),
      .m_axis_tkeep (in_keep[HOST]),
      .m_axis_tlast (in_last[HOST]),
      .m_source     (in_source[HOST]),
      .taken        (host_taken),
      .dropped      (from_host_dropped),
      .idle         (in_idle[HOST])
  );

  logic packet_valid, packet_ready, packet_last, arbiter_idle;
  logic [DATA_W-1:0] packet_data;
  logic [KEEP_W-1:0] packet_keep;
  source_t packet_source;
  logic packet_fresh;  // it comes by a port
  logic stored_valid, stored_ready, stored_last, head_valid, head_ready, parser_idle;
  logic first_valid, first_ready, join_idle;
  logic [TABLES:0] lookup_valid, lookup_ready;
  logic [INPUTS-1:0][$bits(source_t):0] in_user;
  always_comb for (int unsigned i = 0; i < INPUTS; i++) in_user[i] = {i < PORTS, in_source[i]};
  logic parser_clk;  // of the arbiter, the parser and what joins its heads
  clock_gate #(
      .GATED(GATED),
      .WATCHED(INPUTS + 8)
  ) u_parser_gate (
      .clk,
      .rst,
      .work   (in_valid != '0 || !arbiter_idle || !parser_idle || !join_idle),
      .watched({in_ready, packet_valid, stored_valid, head_valid, lookup_valid[0], first_valid, arbiter_idle,
                parser_idle, join_idle}),
      .gated  (parser_clk)
  );
  stream_arbiter #(
      .INPUTS(INPUTS),
      .DATA_W(DATA_W),
      .USER_W($bits(source_t) + 1)
  ) u_arbiter (
      .clk(parser_clk),
      .rst,
      .s_axis_tvalid(in_valid),
      .s_axis_tready(in_ready),
      .s_axis_tdata (in_data),
      .s_axis_tkeep (in_keep),
      .s_axis_tlast (in_last),
      .s_axis_tuser (in_user),
      .m_axis_tvalid(packet_valid),
      .m_axis_tready(packet_ready),
      .m_axis_tdata (packet_data),
      .m_axis_tkeep (packet_keep),
      .m_axis_tlast (packet_last),
      .m_axis_tuser ({packet_fresh, packet_source}),
      .idle         (arbiter_idle)
  );

  // -------------------------------------------------------------------------------------------------------- the parser
  logic [DATA_W-1:0] stored_data;
  logic [KEEP_W-1:0] stored_keep;
  match_t head_match;
  layers_t head_layers;
  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  switch_parser #(
      .DATA_W(DATA_W),
      .NARROW(NARROW)
  ) u_parser (
      .clk(parser_clk),
      .rst,
      .s_axis_tvalid(packet_valid),
      .s_axis_tready(packet_ready),
      .s_axis_tdata (packet_data),
      .s_axis_tkeep (packet_keep),
      .s_axis_tlast (packet_last),
      .s_axis_tuser (packet_source.in_port),
      .m_axis_tvalid(stored_valid),
      .m_axis_tready(stored_ready),
      .m_axis_tdata (stored_data),
      .m_axis_tkeep (stored_keep),
      .m_axis_tlast (stored_last),
      .m_axis_tuser (),
      .m_head_valid (head_valid),
      .m_head_ready (head_ready),
      .m_head_match (head_match),
      .m_head_layers(head_layers),
      .idle         (parser_idle)
  );
  // verilator lint_on PINCONNECTEMPTY

  // -------------------------------------------------------------------------------------------------------- the tables
  lookup_t [TABLES:0] lookup;
  logic [TABLES:0][TABLES-1:0][PROGRAM_W-1:0] programs;
  match_t first_fields;
  layers_t first_layers;
  logic [BYTES_W-1:0] first_bytes;
  logic [PROGRAM_W-1:0] first_program;
  logic [TABLES-1:0] table_idle, table_rests;
  logic [TABLES-1:0][63:0] table_wake_ns;

  assign programs[0] = '0;

  switch_join #(
      .DATA_W(DATA_W),
      .NARROW(NARROW)
  ) u_join (
      .clk(parser_clk),
      .rst,
      .beat_valid  (packet_valid && packet_ready),
      .beat_keep   (packet_keep),
      .beat_last   (packet_last),
      .beat_source (packet_source),
      .head_valid,
      .head_ready,
      .head_match,
      .head_layers,
      .lookup_valid(lookup_valid[0]),
      .lookup_ready(lookup_ready[0]),
      .lookup      (lookup[0]),
      .first_valid,
      .first_ready,
      .first_fields,
      .first_layers,
      .first_bytes,
      .first_program,
      .idle        (join_idle)
  );

  for (genvar i = 0; i < TABLES; i++) begin : gen_table
    logic table_clk;
    clock_gate #(
        .GATED(GATED),
        .WATCHED($bits(lookup_t) + 64 + 11)
    ) u_gate (
        .clk,
        .rst,
        .work   (lookup_valid[i] || flow_valid[i] || entry_read[i] || !table_rests[i]),
        .watched({lookup_ready[i], lookup_valid[i+1], lookup[i+1], flow_ready[i], flow_done[i], entry_valid[i],
                  expired_valid[i], looked_up[i], matched[i], table_wake_ns[i], table_idle[i], table_rests[i], 1'b0}),
        .gated  (table_clk)
    );
    switch_table #(
        .TABLES(TABLES),
        .EXACT(EXACT),
        .TERNARY(TERNARY),
        .EFFECTS(EFFECTS),
        .CHUNK_W(CHUNK_W),
        .NARROW(NARROW)
    ) u_table (
        .clk(table_clk),
        .rst,
        .own_number   (TABLE_W'(i)),
        .time_ns,
        .s_valid      (lookup_valid[i]),
        .s_ready      (lookup_ready[i]),
        .s_lookup     (lookup[i]),
        .s_programs   (programs[i]),
        .m_valid      (lookup_valid[i+1]),
        .m_ready      (lookup_ready[i+1]),
        .m_lookup     (lookup[i+1]),
        .m_programs   (programs[i+1]),
        .op_valid     (flow_valid[i]),
        .op_ready     (flow_ready[i]),
        .op           (flow),
        .op_done      (flow_done[i]),
        .op_answer    (flow_answer[i]),
        .count_read   (entry_read[i]),
        .count_number,
        .count_valid  (entry_valid[i]),
        .count        (entry_count[i]),
        .expired_valid(expired_valid[i]),
        .expired_ready(expired_ready[i]),
        .expired      (expired[i]),
        .looked_up    (looked_up[i]),
        .matched      (matched[i]),
        .wake_ns      (table_wake_ns[i]),
        .rests        (table_rests[i]),
        .idle         (table_idle[i])
    );
  end

  // ------------------------------------------------------------------------------------------------------- the actions
  logic run_ready, copy_valid, copy_ready, actions_idle, meter_valid, meter_ready, meter_answer, meter_drop;
  logic count_valid, meters_idle, counters_idle;
  logic [15:0] meter_number, counted_number;
  logic [BYTES_W-1:0] meter_bytes, counted_bytes;
  logic [2:0] meter_raise;
  copy_t copy, copy_made;

  assign lookup_ready[TABLES] = first_valid && run_ready;
  assign first_ready          = lookup_valid[TABLES] && run_ready;

  logic actions_clk;  // of meters and counters too
  clock_gate #(
      .GATED(GATED),
      .WATCHED(9)
  ) u_actions_gate (
      .clk,
      .rst,
      .work   (lookup_valid[TABLES] || copy_valid || !actions_idle || !meters_idle || !counters_idle ||
               |{program_write, group_write, config_valid, clear_valid, action_read, meter_read}),
      .watched({run_ready, copy_valid, config_ready, clear_ready, action_read_valid, meter_read_valid, actions_idle,
                meters_idle, counters_idle}),
      .gated  (actions_clk)
  );
  action_processor #(
      .TABLES(TABLES),
      .PROGRAM_WORDS(PROGRAM_WORDS),
      .GROUPS(GROUPS),
      .NARROW(NARROW)
  ) u_actions (
      .clk(actions_clk),
      .rst,
      .s_valid      (lookup_valid[TABLES] && first_valid),
      .s_ready      (run_ready),
      .s_fields     (first_fields),
      .s_layers     (first_layers),
      .s_bytes      (first_bytes),
      .s_metadata   (lookup[TABLES].fields.metadata),
      .s_first      (first_program),
      .s_programs   (programs[TABLES]),
      .m_valid      (copy_valid),
      .m_ready      (copy_ready),
      .m_copy       (copy_made),
      .write_valid  (program_write),
      .write_address(program_address),
      .write_word   (program_word),
      .group_write,
      .group_number,
      .group_program,
      .enabled,
      .live,
      .quiet,
      .meter_valid,
      .meter_ready,
      .meter_number,
      .meter_bytes,
      .meter_answer,
      .meter_drop,
      .meter_raise,
      .count_valid,
      .count_number (counted_number),
      .count_bytes  (counted_bytes),
      .idle         (actions_idle)
  );

  // No RAM keeps ports that are not there.
  always_comb begin
    copy = 'x;  // nobody looks then
    if (copy_valid) begin
      copy       = copy_made;
      copy.ports = copy_made.ports & {PORTS_MAX{1'b1}} >> (PORTS_MAX - PORTS);
    end
  end

  meter_bank #(
      .METERS(METERS)
  ) u_meters (
      .clk(actions_clk),
      .rst,
      .time_ns,
      .meter_valid,
      .meter_ready,
      .meter_number,
      .meter_bytes,
      .meter_answer,
      .meter_drop,
      .meter_raise,
      .config_valid,
      .config_ready,
      .config_number,
      .config_meter,
      .read        (meter_read),
      .read_number (count_number),
      .read_valid  (meter_read_valid),
      .packets     (meter_count[0]),
      .bytes       (meter_count[1]),
      .band_packets({meter_count[4], meter_count[2]}),
      .band_bytes  ({meter_count[5], meter_count[3]}),
      .idle        (meters_idle)
  );

  counter_bank #(
      .COUNTERS(COUNTERS)
  ) u_counters (
      .clk(actions_clk),
      .rst,
      .count_valid,
      .count_number(counted_number),
      .count_bytes (counted_bytes),
      .clear_valid,
      .clear_ready,
      .clear_number,
      .read        (action_read),
      .read_number (count_number),
      .read_valid  (action_read_valid),
      .packets     (action_count[0]),
      .bytes       (action_count[1]),
      .idle        (counters_idle)
  );

  // -------------------------------------------------------------------------------------------------------- the copies
  logic made_valid, made_ready, made_last, editor_idle;
  logic [DATA_W-1:0] made_data;
  logic [KEEP_W-1:0] made_keep;
  sent_t made_sent;
  logic editor_clk;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(4)
  ) u_editor_gate (
      .clk,
      .rst,
      .work   (stored_valid || copy_valid || !editor_idle),
      .watched({stored_ready, copy_ready, made_valid, editor_idle}),
      .gated  (editor_clk)
  );
  packet_editor #(
      .DATA_W(DATA_W),
      .STORE_KB(4 * STORE_KB),
      .NARROW(NARROW)
  ) u_editor (
      .clk(editor_clk),
      .rst,
      .s_axis_tvalid(stored_valid),
      .s_axis_tready(stored_ready),
      .s_axis_tdata (stored_data),
      .s_axis_tkeep (stored_keep),
      .s_axis_tlast (stored_last),
      .s_copy_valid (copy_valid),
      .s_copy_ready (copy_ready),
      .s_copy       (copy),
      .m_axis_tvalid(made_valid),
      .m_axis_tready(made_ready),
      .m_axis_tdata (made_data),
      .m_axis_tkeep (made_keep),
      .m_axis_tlast (made_last),
      .m_copy       (made_sent),
      .idle         (editor_idle)
  );

  logic sent_valid, sent_ready, sent_last, custom_idle;
  logic [DATA_W-1:0] sent_data;
  logic [KEEP_W-1:0] sent_keep;
  sent_t sent, sent_made;
  localparam sent_t SENT_KEPT = '{ports: {PORTS_MAX{1'b1}} >> (PORTS_MAX - PORTS), default: '1};
  assign sent = sent_made & SENT_KEPT;
  if (CUSTOM) begin : gen_custom
    logic custom_clk;
    clock_gate #(
        .GATED(GATED),
        .WATCHED(4)
    ) u_gate (
        .clk,
        .rst,
        .work   (made_valid || !custom_idle),
        .watched({made_ready, sent_valid, custom_dropped, custom_idle}),
        .gated  (custom_clk)
    );
    custom_actions #(
        .DATA_W(DATA_W),
        .USER_W($bits(sent_t)),
        .STORE_KB(STORE_KB)
    ) u_custom (
        .clk(custom_clk),
        .rst,
        .coefficients (fir_coefficients),
        .carry        (fir_carry),
        .s_axis_tvalid(made_valid),
        .s_axis_tready(made_ready),
        .s_axis_tdata (made_data),
        .s_axis_tkeep (made_keep),
        .s_axis_tlast (made_last),
        .s_axis_tuser (made_sent),
        .s_custom     (made_sent.custom[1:0]),
        .s_payload_at (made_sent.payload_at),
        .m_axis_tvalid(sent_valid),
        .m_axis_tready(sent_ready),
        .m_axis_tdata (sent_data),
        .m_axis_tkeep (sent_keep),
        .m_axis_tlast (sent_last),
        .m_axis_tuser (sent_made),
        .dropped      (custom_dropped),
        .idle         (custom_idle)
    );
  end else begin : gen_no_custom
    assign sent_valid     = made_valid;
    assign made_ready     = sent_ready;
    assign sent_data      = made_data;
    assign sent_keep      = made_keep;
    assign sent_last      = made_last;
    assign sent_made      = made_sent;
    assign custom_dropped = 1'b0;
    assign custom_idle    = 1'b1;
  end

  logic out_last, host_last, split_idle;
  logic [DATA_W-1:0] out_data, host_data;
  logic [KEEP_W-1:0] out_keep, host_keep;
  source_t again_source;
  logic split_clk;
  clock_gate #(
      .GATED(GATED),
      .WATCHED(PORTS_MAX + 4)
  ) u_split_gate (
      .clk,
      .rst,
      .work   (sent_valid || !split_idle),
      .watched({sent_ready, port_valid, host_valid, again_valid, split_idle}),
      .gated  (split_clk)
  );
  egress_split #(
      .DATA_W(DATA_W)
  ) u_split (
      .clk(split_clk),
      .rst,
      .s_axis_tvalid(sent_valid),
      .s_axis_tready(sent_ready),
      .s_axis_tdata (sent_data),
      .s_axis_tkeep (sent_keep),
      .s_axis_tlast (sent_last),
      .s_sent       (sent),
      .port_valid,
      .host_valid,
      .again_valid,
      .m_data       (out_data),
      .m_keep       (out_keep),
      .m_last       (out_last),
      .again_source,
      .host_data,
      .host_keep,
      .host_last,
      .idle         (split_idle)
  );

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  packet_fifo #(
      .DATA_W(DATA_W),
      .DEPTH (4 * STORE_KB * 1024 / KEEP_W)
  ) u_to_host (
      .clk(host_clk),
      .rst,
      .s_axis_tvalid(host_valid),
      .s_axis_tready(),
      .s_axis_tdata (host_data),
      .s_axis_tkeep (host_keep),
      .s_axis_tlast (host_last),
      .s_axis_tuser (1'b0),
      .s_drop       (1'b0),
      .m_axis_tvalid(to_host_valid),
      .m_axis_tready(to_host_ready),
      .m_axis_tdata (to_host_data),
      .m_axis_tkeep (to_host_keep),
      .m_axis_tlast (to_host_last),
      .m_axis_tuser (),
      .used         (),
      .dropped      (host_dropped),
      .idle         (host_idle)
  );

  packet_fifo #(
      .DATA_W(DATA_W),
      .USER_W($bits(source_t)),
      .DEPTH (STORE_KB * 1024 / KEEP_W)
  ) u_again (
      .clk(host_clk),
      .rst,
      .s_axis_tvalid(again_valid),
      .s_axis_tready(),
      .s_axis_tdata (out_data),
      .s_axis_tkeep (out_keep),
      .s_axis_tlast (out_last),
      .s_axis_tuser (again_source),
      .s_drop       (1'b0),
      .m_axis_tvalid(in_valid[AGAIN]),
      .m_axis_tready(in_ready[AGAIN]),
      .m_axis_tdata (in_data[AGAIN]),
      .m_axis_tkeep (in_keep[AGAIN]),
      .m_axis_tlast (in_last[AGAIN]),
      .m_axis_tuser (in_source[AGAIN]),
      .used         (),
      .dropped      (again_dropped),
      .idle         (in_idle[AGAIN])
  );
  // verilator lint_on PINCONNECTEMPTY

  // Outputs that nobody needs here stay open.
  // verilator lint_off PINCONNECTEMPTY
  logic [63:0] port_counts[PORTS];
  for (genvar i = 0; i < PORTS; i++) begin : gen_port
    logic gone, dropped;
    logic [BYTES_W-1:0] gone_bytes;
    egress_queue #(
        .DATA_W(DATA_W),
        .QUEUE_KB(STORE_KB),
        .PORT(i)
    ) u_queue (
        .clk(gen_ingress[i].port_clk),
        .rst,
        .time_ns,
        .s_axis_tvalid(port_valid[i]),
        .s_axis_tdata (out_data),
        .s_axis_tkeep (out_keep),
        .s_axis_tlast (out_last),
        .s_take       (1'b1),
        .tx_tvalid    (tx_tvalid[i]),
        .tx_tready    (tx_tready[i]),
        .tx_tdata     (tx_tdata[i]),
        .tx_tkeep     (tx_tkeep[i]),
        .tx_tlast     (tx_tlast[i]),
        .tx_tuser     (tx_tuser[i]),
        .sent         (gone),
        .sent_bytes   (gone_bytes),
        .dropped,
        .dropped_bytes(),
        .idle         (out_idle[i])
    );

    port_counters u_counters (
        .clk(gen_ingress[i].port_clk),
        .rst,
        .rx_valid  (received[i].taken),
        .rx_bytes  (received[i].bytes),
        .rx_dropped(received[i].dropped),
        .rx_error  (received[i].errored),
        .tx_valid  (gone),
        .tx_bytes  (gone_bytes),
        .tx_dropped(dropped),
        .read      (port_read),
        .select    (4'(count_number[2:0])),
        .value     (port_counts[i])
    );
  end
  // verilator lint_on PINCONNECTEMPTY
  always_comb begin
    port_count = 'x;  // nobody looks then
    if (port_read) begin
      port_count = '0;
      for (int unsigned i = 0; i < PORTS; i++) if (count_number[15:3] == 13'(i)) port_count = port_counts[i];
    end
  end

  // --------------------------------------------------------------------------------------------------------- the whole
  logic inside_q;
  wire arrives = packet_valid && packet_ready && packet_fresh && !inside_q;
  wire copied = copy_valid && copy_ready;
  assign host_copied = copied && copy.host;
  assign entered  = 2'(arrives) + 2'(host_taken) + 2'(copied && copy.resubmit);
  assign finished = 2'(copied && copy.last) + 2'(again_dropped) + 2'(from_host_dropped);
  always_ff @(posedge parser_clk) begin
    if (packet_valid && packet_ready) inside_q <= !packet_last;
    if (rst) inside_q <= 1'b0;
  end

  assign idle = control_idle && &in_idle && arbiter_idle && parser_idle && join_idle && &table_idle && actions_idle &&
      meters_idle && counters_idle && editor_idle && custom_idle && split_idle && host_idle && &out_idle;

  always_comb begin
    wake_ns = '1;
    for (int unsigned i = 0; i < TABLES; i++) if (table_wake_ns[i] < wake_ns) wake_ns = table_wake_ns[i];
  end

endmodule
