// SPDX-License-Identifier: Apache-2.0
// Unsigned 32-bit divider that the threads of a core share, one bit a cycle.
// A thread offers its operands every time it comes by (request, with its operands); the divider takes the first that
// comes when it is free, and `nonzero` tells one cycle later whether the divisor was other than 0. After 33 cycles or
// more the owner's next request is answered: `ready` in the same cycle, with quotient and remainder.
module bpf_divider
  import bpf_pkg::*;
(
    input  logic                       clk,
    input  logic                       rst,
    input  logic                       request,
    input  logic [$clog2(THREADS)-1:0] thread,
    input  logic [31:0]                dividend,
    input  logic [31:0]                divisor,
    input  logic                       nonzero,
    output logic                       ready,
    output logic [31:0]                quotient,
    output logic [31:0]                remainder
);

  typedef enum logic [1:0] {FREE, TAKEN, BUSY, DONE} state_e;
  state_e state_q;
  logic [$clog2(THREADS)-1:0] owner_q;
  logic [4:0] step_q;
  logic [31:0] quotient_q, remainder_q, divisor_q;

  always_ff @(posedge clk) begin
    if (state_q == BUSY) begin
      automatic logic [32:0] shifted = {remainder_q, quotient_q[31]};
      automatic logic [33:0] difference = {1'b0, shifted} - {2'b0, divisor_q};
      remainder_q <= difference[33] ? shifted[31:0] : difference[31:0];
      quotient_q  <= {quotient_q[30:0], !difference[33]};
    end else if (state_q == FREE && request) begin
      remainder_q <= '0;
      quotient_q  <= dividend;
      divisor_q   <= divisor;
      owner_q     <= thread;
    end

    if (state_q == BUSY) step_q <= step_q + 1'b1;
    else if (state_q == TAKEN) step_q <= '0;

    unique case (state_q)
      FREE:  if (request) state_q <= TAKEN;
      TAKEN: state_q <= nonzero ? BUSY : FREE;
      BUSY:  if (&step_q) state_q <= DONE;
      DONE:  if (thread == owner_q) state_q <= FREE;  // also if it has given up: its program was replaced meanwhile
    endcase
    if (rst) state_q <= FREE;
  end

  assign ready     = state_q == DONE && request && thread == owner_q;
  assign quotient  = quotient_q;
  assign remainder = remainder_q;

endmodule
