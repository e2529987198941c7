// SPDX-License-Identifier: Apache-2.0
// bpf_core behind bpf_decode, with the fields of its structs as ports, and counters of what it executes.
module bpf_core_loaded
  import bpf_pkg::*;
#(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned PACKET_KB = 32,
    parameter int unsigned IMEM_WORDS = 1024,
    parameter int unsigned MAX_FRAME = 9216
) (
    input  logic                  clk,
    input  logic                  rst,

    input  logic                  instr_we,
    input  logic [BASE_W-1:0]     instr_addr,
    input  logic [15:0]           code,
    input  logic [7:0]            jt,
    input  logic [7:0]            jf,
    input  logic [31:0]           k,
    input  logic                  program_we,
    input  logic [2:0]            program_addr,
    input  logic [1:0]            program_mode,
    input  logic [LENGTH_W-1:0]   program_length,
    input  logic [BASE_W-1:0]     program_base,
    input  logic [BUDGET_W-1:0]   budget,

    output logic                  in_ready,
    input  logic                  in_valid,
    input  logic [DATA_W-1:0]     in_data,
    input  logic                  in_last,
    input  logic [WIRE_LEN_W-1:0] in_wire_len,
    input  logic [LEN_W-1:0]      in_len,
    input  logic                  in_set,
    input  logic                  in_bad,

    output logic                  finished_valid,
    input  logic                  finished_ready,
    output logic [WIRE_LEN_W-1:0] finished_wire_len,
    output logic [LEN_W-1:0]      finished_len,
    output logic                  finished_set,
    output logic                  finished_bad,
    output logic [PROGRAMS-1:0]   finished_errors,
    output logic [PROGRAMS-1:0]   finished_matched,
    output logic [LEN_W-1:0]      finished_snaplen,
    output logic [MEASURE_W-1:0]  finished_measure,
    output logic [ROW_W-1:0]      finished_row,
    output logic [ID_W-1:0]       finished_id,

    input  logic                  release_en,
    input  logic [ROW_W-1:0]      release_row,
    input  logic [ID_W-1:0]       release_id,
    input  logic                  forward_req,
    input  logic [ROW_W-1:0]      forward_row,
    output logic                  forward_grant,
    output logic [DATA_W-1:0]     forward_data,
    input  logic [ID_W-1:0]       value_id,
    input  logic [SLOT_W-1:0]     value_slot,
    output logic [31:0]           value_data,
    output logic                  idle,

    output logic [31:0]           slots,         // since reset: instructions issued,
    output logic [31:0]           instructions   // and those that completed
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

  finished_t finished;
  logic slot_used, instr_done;
  logic [$clog2(THREADS)-1:0] turn_q;
  always_ff @(posedge clk) turn_q <= rst ? '0 : turn_q + 1'b1;

  bpf_core #(
      .DATA_W(DATA_W),
      .PACKET_KB(PACKET_KB),
      .IMEM_WORDS(IMEM_WORDS),
      .MAX_FRAME(MAX_FRAME)
  ) u_core (
      .clk,
      .rst,
      .turn(turn_q),
      .load,
      .in_ready,
      .in_valid,
      .in_data,
      .in_last,
      .in_packet('{in_wire_len, in_len, in_set, in_bad}),
      .finished_valid,
      .finished,
      .pop      (finished_valid && finished_ready),
      .release_en,
      .release_row,
      .release_id,
      .forward_req,
      .forward_row,
      .forward_grant,
      .forward_data,
      .value_id,
      .value_slot,
      .value_data,
      .slot_used,
      .instr_done,
      .idle
  );

  assign finished_wire_len = finished.pkt.wire_len;
  assign finished_len      = finished.pkt.len;
  assign finished_set      = finished.pkt.set;
  assign finished_bad      = finished.pkt.bad;
  assign finished_errors   = finished.verdict.errors;
  assign finished_matched  = finished.verdict.matched;
  assign finished_snaplen  = finished.verdict.snaplen;
  assign finished_measure  = finished.verdict.measure;
  assign finished_row      = finished.row;
  assign finished_id       = finished.id;

  always_ff @(posedge clk) begin
    slots        <= slots + 32'(slot_used);
    instructions <= instructions + 32'(instr_done);
    if (rst) begin
      slots        <= '0;
      instructions <= '0;
    end
  end

endmodule
