// SPDX-License-Identifier: Apache-2.0
// The registers of a filter core's threads, and stages 2 and 3 of bpf_execute: A and B of an instruction, and the end
// of the bytes that it loads. Digits at the end of a name are the stage that it belongs to.
// Latency: 2 cycles; what is written in stage 9 is there for the thread's next instruction. Throughput: an instruction
// a cycle. Backpressure: none.
module bpf_operands
  import bpf_pkg::*;
(
    input  logic                       clk,

    input  logic [$clog2(THREADS)-1:0] thread2,
    input  logic                       active2,
    input  logic                       a_set2,       // A has been written; until then it is 0
    input  logic                       x_set2,
    input  instr_t                     instr2,
    input  logic                       active3,
    output instr_t                     instr4,
    output logic [31:0]                a4,
    output logic [31:0]                b4,
    output logic [32:0]                end4,         // first byte after the loaded ones

    input  logic [$clog2(THREADS)-1:0] thread7,
    input  logic                       wire_len_we7, // the thread gets another packet
    input  logic [WIRE_LEN_W-1:0]      wire_len7,
    input  logic [$clog2(THREADS)-1:0] thread9,
    input  logic                       a_we9,
    input  logic                       x_we9,
    input  logic [31:0]                value9
);

  logic [31:0] a2, x2;
  ram_dist #(
      .WIDTH(32),
      .DEPTH(THREADS)
  ) u_a (
      .clk,
      .wr_en  (a_we9),
      .wr_addr(thread9),
      .wr_data(value9),
      .rd_addr(thread2),
      .rd_data(a2)
  );
  ram_dist #(
      .WIDTH(32),
      .DEPTH(THREADS)
  ) u_x (
      .clk,
      .wr_en  (x_we9),
      .wr_addr(thread9),
      .wr_data(value9),
      .rd_addr(thread2),
      .rd_data(x2)
  );

  logic [WIRE_LEN_W-1:0] wire_len2;
  ram_dist #(
      .WIDTH(WIRE_LEN_W),
      .DEPTH(THREADS)
  ) u_wire_len (
      .clk,
      .wr_en  (wire_len_we7),
      .wr_addr(thread7),
      .wr_data(wire_len7),
      .rd_addr(thread2),
      .rd_data(wire_len2)
  );

  instr_t instr3;
  logic [31:0] a3, x3;
  always_ff @(posedge clk) begin
    if (active2) begin
      instr3   <= instr2;
      instr3.k <= instr2.k | (instr2.b_len ? wire_len2 : '0);
      a3       <= a_set2 ? a2 : '0;
      x3       <= x_set2 ? x2 : '0;
    end
    if (active3) begin
      instr4 <= instr3;
      a4     <= a3;
      b4     <= instr3.b_x ? x3 : instr3.k;
      end4   <= {1'b0, instr3.k} + (instr3.b_x ? {1'b0, x3} : '0);
    end
  end

endmodule
