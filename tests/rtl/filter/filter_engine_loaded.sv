// SPDX-License-Identifier: Apache-2.0
// filter_engine with each port by itself, bpf_decode before its loader, its events counted, and time in clock cycles.
module filter_engine_loaded
  import bpf_pkg::*;
  import filter_pkg::*;
  import headrace_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned CORES = 2,
    parameter int unsigned PACKET_KB = 32,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 9216,
    localparam int unsigned RX_META_W = $bits(rx_meta_t),
    localparam int unsigned TX_META_W = $bits(filter_user_t)
) (
    input  logic                        clk,
    input  logic                        rst,
    output logic [63:0]                 time_ns,

    input  logic                        rx0_tvalid,
    output logic                        rx0_tready,
    input  logic [DATA_W-1:0]           rx0_tdata,
    input  logic [DATA_W/8-1:0]         rx0_tkeep,
    input  logic                        rx0_tlast,
    input  logic [RX_META_W-1:0]        rx0_tuser,
    input  logic                        rx1_tvalid,
    output logic                        rx1_tready,
    input  logic [DATA_W-1:0]           rx1_tdata,
    input  logic [DATA_W/8-1:0]         rx1_tkeep,
    input  logic                        rx1_tlast,
    input  logic [RX_META_W-1:0]        rx1_tuser,

    output logic                        tx0_tvalid,
    input  logic                        tx0_tready,
    output logic [DATA_W-1:0]           tx0_tdata,
    output logic [DATA_W/8-1:0]         tx0_tkeep,
    output logic                        tx0_tlast,
    output logic [TX_META_W-1:0]        tx0_tuser,
    output logic                        tx1_tvalid,
    input  logic                        tx1_tready,
    output logic [DATA_W-1:0]           tx1_tdata,
    output logic [DATA_W/8-1:0]         tx1_tkeep,
    output logic                        tx1_tlast,
    output logic [TX_META_W-1:0]        tx1_tuser,
    output logic                        tx2_tvalid,
    input  logic                        tx2_tready,
    output logic [DATA_W-1:0]           tx2_tdata,
    output logic [DATA_W/8-1:0]         tx2_tkeep,
    output logic                        tx2_tlast,
    output logic [TX_META_W-1:0]        tx2_tuser,

    input  logic                        instr_we,
    input  logic [BASE_W-1:0]           instr_addr,
    input  logic [15:0]                 code,
    input  logic [7:0]                  jt,
    input  logic [7:0]                  jf,
    input  logic [31:0]                 k,
    input  logic                        program_we,
    input  logic [2:0]                  program_addr,
    input  logic [1:0]                  program_mode,
    input  logic [LENGTH_W-1:0]         program_length,
    input  logic [BASE_W-1:0]           program_base,
    input  logic [BUDGET_W-1:0]         budget,
    input  logic                        flow_control,
    input  logic                        active_set,
    output logic [SETS-1:0]             set_busy,
    output logic                        ready,
    output logic                        idle,

    input  logic                        measure_read_req,
    input  logic [$clog2(MEASURES)-1:0] measure_read_index,
    output logic                        measure_read_done,
    output logic [63:0]                 measure_read_packets,
    output logic [63:0]                 measure_read_bytes,

    // Since reset; vectors over ports or programs
    output logic [1:0][31:0]            packets,
    output logic [1:0][31:0]            bytes,
    output logic [1:0][31:0]            uninspected,
    output logic [1:0][31:0]            bad,
    output logic [1:0][31:0]            held,
    output logic [PROGRAMS-1:0][31:0]   matched,
    output logic [PROGRAMS-1:0][31:0]   matched_bytes,
    output logic [PROGRAMS-1:0][31:0]   errors,
    output logic [31:0]                 inspected,
    output logic [31:0]                 accepted,
    output logic [31:0]                 forwarded,
    output logic [31:0]                 forwarded_bytes,
    output logic [31:0]                 monitor_dropped,
    output logic [31:0]                 measure_out_of_range,
    output logic [31:0]                 slots_used,
    output logic [31:0]                 instructions
);

  load_t load;
  assign load.instr_we     = instr_we;
  assign load.instr_addr   = instr_addr;
  assign load.program_we   = program_we;
  assign load.program_addr = program_addr;
  assign load.prog         = '{mode_e'(program_mode), 1'b0, program_length, 1'b0, program_base};
  assign load.budget       = budget;
  bpf_decode u_decode (
      .code,
      .jt,
      .jf,
      .k,
      .instr(load.instr)
  );

  filter_user_t [2:0] tx_tuser;
  assign {tx2_tuser, tx1_tuser, tx0_tuser} = tx_tuser;
  events_t events;
  logic [LEN_W-1:0] unused_monitor_len;

  filter_engine #(
      .DATA_W(DATA_W),
      .CORES(CORES),
      .PACKET_KB(PACKET_KB),
      .IMEM_WORDS(IMEM_WORDS),
      .MAX_FRAME(MAX_FRAME)
  ) u_engine (
      .clk,
      .rst,
      .time_ns,
      .rx_tvalid({rx1_tvalid, rx0_tvalid}),
      .rx_tready({rx1_tready, rx0_tready}),
      .rx_tdata ({rx1_tdata, rx0_tdata}),
      .rx_tkeep ({rx1_tkeep, rx0_tkeep}),
      .rx_tlast ({rx1_tlast, rx0_tlast}),
      .rx_tuser ({rx1_tuser, rx0_tuser}),
      .tx_tvalid({tx2_tvalid, tx1_tvalid, tx0_tvalid}),
      .tx_tready({tx2_tready, tx1_tready, tx0_tready}),
      .tx_tdata ({tx2_tdata, tx1_tdata, tx0_tdata}),
      .tx_tkeep ({tx2_tkeep, tx1_tkeep, tx0_tkeep}),
      .tx_tlast ({tx2_tlast, tx1_tlast, tx0_tlast}),
      .tx_tuser,
      .monitor_len(unused_monitor_len),
      .load,
      .flow_control,
      .active_set,
      .set_busy,
      .ready,
      .events,
      .measure_read_req,
      .measure_read_index,
      .measure_read_done,
      .measure_read_packets,
      .measure_read_bytes,
      .idle
  );

  always_ff @(posedge clk) begin
    time_ns <= time_ns + 1'b1;
    for (int i = 0; i < 2; i++) begin
      packets[i]     <= packets[i] + 32'(events.ingress[i].packet);
      bytes[i]       <= bytes[i] + (events.ingress[i].packet ? 32'(events.ingress[i].bytes) : '0);
      uninspected[i] <= uninspected[i] + 32'(events.ingress[i].uninspected);
      bad[i]         <= bad[i] + 32'(events.ingress[i].bad);
      held[i]        <= held[i] + 32'(events.ingress[i].held);
    end
    for (int i = 0; i < int'(PROGRAMS); i++) begin
      matched[i]       <= matched[i] + 32'(events.matched[i]);
      matched_bytes[i] <= matched_bytes[i] + (events.matched[i] ? events.bytes : '0);
      errors[i]        <= errors[i] + 32'(events.errors[i]);
    end
    inspected            <= inspected + 32'(events.inspected);
    accepted             <= accepted + 32'(events.accepted);
    forwarded            <= forwarded + 32'(events.forwarded);
    forwarded_bytes      <= forwarded_bytes + (events.forwarded ? 32'(events.forwarded_bytes) : '0);
    monitor_dropped      <= monitor_dropped + 32'(events.monitor_dropped);
    measure_out_of_range <= measure_out_of_range + 32'(events.measure_out_of_range);
    slots_used           <= slots_used + 32'(events.slots_used);
    instructions         <= instructions + 32'(events.instructions);
    if (rst) begin
      time_ns              <= '0;
      packets              <= '0;
      bytes                <= '0;
      uninspected          <= '0;
      bad                  <= '0;
      held                 <= '0;
      matched              <= '0;
      matched_bytes        <= '0;
      errors               <= '0;
      inspected            <= '0;
      accepted             <= '0;
      forwarded            <= '0;
      forwarded_bytes      <= '0;
      monitor_dropped      <= '0;
      measure_out_of_range <= '0;
      slots_used           <= '0;
      instructions         <= '0;
    end
  end

endmodule
