// SPDX-License-Identifier: Apache-2.0
// The programs and the instruction memory of a filter core, and stages 0 and 1 of bpf_execute: the instruction of the
// thread that comes by. Digits at the end of a name are the stage that it belongs to.
// Latency: 2 cycles. Throughput: an instruction a cycle. Backpressure: none.
module bpf_fetch
  import bpf_pkg::*;
#(
    parameter int unsigned IMEM_WORDS = 1024
) (
    input  logic    clk,
    input  load_t   load,
    input  thread_t thread0,
    input  logic    active1,
    output instr_t  instr2,
    output logic    in_range2,  // it is one of its program's, which has budget left
    output logic    measure2    // the program is a measurement
);

  localparam int unsigned IMEM_W = $clog2(IMEM_WORDS);

  if (IMEM_WORDS < 2 || IMEM_WORDS > (1 << BASE_W)) begin : gen_bad_imem_words
    $fatal(1, "bpf_fetch: IMEM_WORDS must be 2 to %0d, not %0d", 1 << BASE_W, IMEM_WORDS);
  end

  program_t prog0;
  ram_dist #(
      .WIDTH($bits(program_t)),
      .DEPTH(SETS * PROGRAMS)
  ) u_programs (
      .clk,
      .wr_en  (load.program_we),
      .wr_addr(load.program_addr),
      .wr_data(load.prog),
      .rd_addr({thread0.set, thread0.slot}),
      .rd_data(prog0)
  );

  instr_t imem_data;
  ram_sdp #(
      .WIDTH($bits(instr_t)),
      .DEPTH(IMEM_WORDS)
  ) u_imem (
      .clk,
      .wr_en  (load.instr_we && 32'(load.instr_addr) < IMEM_WORDS),
      .wr_addr(load.instr_addr[IMEM_W-1:0]),
      .wr_data(load.instr),
      .rd_en  (thread0.active),
      .rd_addr(IMEM_W'(prog0.base) + IMEM_W'(thread0.pc)),
      .rd_data(imem_data)
  );

  logic in_range1, measure1;
  always_ff @(posedge clk) begin
    if (thread0.active) begin
      in_range1 <= thread0.pc < PC_W'(prog0.length) && thread0.budget != 0;
      measure1  <= prog0.mode == MEASURE;
    end
    if (active1) begin
      in_range2 <= in_range1;
      measure2  <= measure1;
      instr2    <= imem_data;
    end
  end

endmodule
