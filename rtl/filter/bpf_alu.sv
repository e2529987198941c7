// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a filter core, stages 4 to 9 of bpf_execute: sum, logic, multiplication and shifts for every thread
// in turn, and a divider that the threads share. Digits at the end of a name are the stage that it belongs to.
//
// result9 is 0 for instructions that are not arithmetic. The comparison of A with B (ge6 and nonzero6, the latter of
// the logic result) and the logic result itself come with stage 6. busy6: a division that has to be issued again.
module bpf_alu
  import bpf_pkg::*;
(
    input  logic                       clk,
    input  logic                       rst,
    input  logic [$clog2(THREADS)-1:0] thread5,
    input  logic                       active4,
    input  instr_t                     instr4,
    input  logic [31:0]                a4,
    input  logic [31:0]                b4,
    input  logic                       divide5,   // the instruction in stage 5 may use the divider, if it is a division
    output logic                       ge6,
    output logic                       nonzero6,
    output logic [31:0]                logic6,
    output logic                       busy6,
    output logic [31:0]                result9
);

  function automatic logic [31:0] reversed(logic [31:0] value);
    for (int i = 0; i < 32; i++) reversed[i] = value[31-i];
  endfunction

  // Stage 4: add, logic, operands of the multiplier. A shift to the left is a multiplication by a power of two; one to
  // the right is the same with all bits reversed.
  logic active5, ge5;
  kind_e kind5, kind6;
  logic [31:0] sum5, logic5, mul_a5, mul_b5;
  always_ff @(posedge clk) begin
    active5 <= active4;
    if (active4) begin
      automatic logic [32:0] sum4 = instr4.sub ? {1'b0, a4} - {1'b0, b4} : {1'b0, a4} + {1'b0, b4};
      automatic logic is_shift4 = instr4.kind == LSH || instr4.kind == RSH;
      kind5 <= instr4.kind;
      sum5  <= sum4[31:0];
      ge5   <= !sum4[32];
      unique case (instr4.op)
        AND:    logic5 <= a4 & b4;
        OR:     logic5 <= a4 | b4;
        XOR:    logic5 <= a4 ^ b4;
        PASS_B: logic5 <= b4;
      endcase
      mul_a5 <= instr4.kind == RSH ? reversed(a4) : a4;
      mul_b5 <= is_shift4 ? (b4[31:5] == 0 ? 32'b1 << b4[4:0] : '0) : b4;
    end
    if (rst) active5 <= 1'b0;
  end

  // Stage 5: partial products, division.
  wire is_div5 = divide5 && (kind5 == DIV || kind5 == MOD);
  logic div_ready5;
  logic [31:0] quotient5, remainder5;
  bpf_divider u_divider (
      .clk,
      .rst,
      .request  (is_div5),
      .thread   (thread5),
      .dividend (mul_a5),
      .divisor  (mul_b5),
      .nonzero  (nonzero6),
      .ready    (div_ready5),
      .quotient (quotient5),
      .remainder(remainder5)
  );

  logic [31:0] sum_or_logic6, divided6, product_low6, product_mid6;
  logic [15:0] product_high6;
  always_ff @(posedge clk) begin
    if (active5) begin
      kind6         <= kind5;
      ge6           <= ge5;
      nonzero6      <= logic5 != 0;
      logic6        <= logic5;
      busy6         <= is_div5 && !div_ready5;
      sum_or_logic6 <= kind5 == SUM ? sum5 : logic5;
      divided6      <= kind5 == MOD ? remainder5 : quotient5;
      product_low6  <= mul_a5[15:0] * mul_b5[15:0];
      product_mid6  <= mul_a5[31:16] * mul_b5[15:0];
      product_high6 <= 16'(mul_a5[15:0] * mul_b5[31:16]);
      if (kind5 != SUM && kind5 != LOGIC) sum_or_logic6 <= '0;
      if (!div_ready5) divided6 <= '0;
    end
  end

  // Stages 6 to 8: the product is added up and, for a shift to the right, turned round.
  logic [31:0] other7, other8, product7, product8, other9, product9;
  logic is_mul7, is_mul8, is_rsh7, is_rsh8;
  always_ff @(posedge clk) begin
    other7   <= sum_or_logic6 | divided6;
    is_mul7  <= kind6 == MUL || kind6 == LSH;
    is_rsh7  <= kind6 == RSH;
    if (kind6 == MUL || kind6 == LSH || kind6 == RSH) begin
      product7 <= {product_low6[31:16] + product_mid6[15:0] + product_high6, product_low6[15:0]};
    end

    other8  <= other7;
    is_mul8 <= is_mul7;
    is_rsh8 <= is_rsh7;
    if (is_mul7 || is_rsh7) product8 <= product7;

    other9   <= other8;
    product9 <= '0;
    if (is_mul8 || is_rsh8) product9 <= is_rsh8 ? reversed(product8) : product8;
  end
  assign result9 = other9 | product9;

endmodule
